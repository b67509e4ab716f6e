"""What `validate` says of a table, said of rows in blocks: constant columns, copies, and a sample of the rows."""

import contextlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Codes, Floats, Keys, Mask
from ..utils.parallel import Progress
from .blocks import BLOCK_ROWS, LARGE, ArrayBlocks, Blocks, Part, class_counts, reference_rows, rows_at
from .cluster import is_dask
from .copies import copies_in_blocks, varying
from .dataset import Dataset, dataset_of, validate
from .keys import column_digests, column_keys, digest, first_occurrence, row_keys
from .labels import check_class_sizes

__all__ = ["block_dataset", "block_digest", "chosen_columns", "fingerprint", "open_blocks", "varying_columns"]


@contextlib.contextmanager
def open_blocks(X: Any, y: Any, progress: Progress | None = None) -> Iterator[tuple[Blocks, Dataset]]:
    """Rows of numbers and their labels, checked: in memory as one block, or on the cluster of a Dask collection.

    Yields
    ------
    blocks : Blocks
        Columns that vary.
    data : Dataset
    """
    if not is_dask(X):
        data = validate(X, y)
        yield ArrayBlocks(data.X, data.labels, data.n_classes, block_rows=data.n_samples), data
        return
    from .dask_blocks import blocks_from_dask

    held, classes, names, _ = blocks_from_dask(X, y, progress=progress)
    blocks: Blocks = held
    with contextlib.ExitStack() as undo:
        undo.enter_context(contextlib.closing(blocks))
        if blocks.n_samples <= LARGE:
            rows, codes = rows_at(blocks, np.arange(blocks.n_samples))
            data = dataset_of(rows, names, classes, codes)
            yield ArrayBlocks(data.X, data.labels, data.n_classes, block_rows=data.n_samples), data
            return
        data, varies = block_dataset(blocks, classes, names)
        if not varies.all():
            blocks = blocks.derive(partial(chosen_columns, chosen=varies), int(varies.sum()))
            undo.enter_context(contextlib.closing(blocks))
        yield blocks, data


def block_dataset(blocks: Blocks, classes: NDArray[Any], names: list[str]) -> tuple[Dataset, Mask]:
    """Data set whose `X` is a sample of the rows, and which columns vary (those of its `X`).

    Parameters
    ----------
    blocks : Blocks
        Finite numbers.
    classes : ndarray of shape (C,)
    names : list of str
        Of the columns.
    """
    n = blocks.n_samples
    counts = blocks.total(partial(class_counts, n_classes=len(classes)))[0]
    check_class_sizes(classes, counts)
    varies = varying_columns(blocks)
    X, labels = rows_at(blocks, reference_rows(n))
    X = np.ascontiguousarray(X[:, varies])
    kept = np.flatnonzero(varies)
    first = first_occurrence(column_keys(X))
    pairs = [(int(kept[i]), int(kept[first[i]])) for i in np.flatnonzero(first != np.arange(len(kept)))]
    if pairs:
        differ = np.any(blocks.each(partial(_differ, pairs=pairs)), axis=0).tolist()
        pairs = [pair for pair, other in zip(pairs, differ, strict=True) if not other]
    share, records = copies_in_blocks(blocks, varies)
    X.flags.writeable = labels.flags.writeable = False
    data = Dataset(
        X=X,
        labels=labels,
        classes=classes,
        class_counts=counts,
        feature_names=tuple(names),
        n_columns=len(names),
        constant_columns=tuple(name for name, keep in zip(names, varies, strict=True) if not keep),
        duplicate_columns=tuple((names[a], names[b]) for a, b in pairs),
        n_duplicate_rows=round(share * n),
        copied_share=0.0 if records is None else 1 - (int(records.max()) + 1) / n,
    )
    return data, varies


def varying_columns(blocks: Blocks) -> Mask:
    """Columns that are not constant."""
    ranges = np.array([found for found in blocks.each(_ranges) if found is not None])
    return np.asarray(ranges[:, 0].min(axis=0) < ranges[:, 1].max(axis=0))


def block_digest(blocks: Blocks, varies: Mask) -> int:
    """One number for all rows and classes.

    It depends neither on the order of rows and columns nor on how they are cut into blocks.
    """
    columns = blocks.total(partial(_digests, varies=varies))
    return digest(columns, np.zeros(len(columns), dtype=np.int64))


def fingerprint(blocks: Blocks, groups: Codes | None = None) -> str:
    """Hash of all rows, in their order, with their classes and groups; however they are cut into blocks."""
    if isinstance(blocks, ArrayBlocks):
        blocks = blocks.recut(BLOCK_ROWS)  # rows are copied
    return f"{int(blocks.total(partial(_positional_digest, groups=groups), 'reading')) % 2**64:016x}"


def chosen_columns(part: Part, chosen: Mask) -> Floats:
    """Some of the columns of a block."""
    return np.ascontiguousarray(part.X[:, chosen])


def _digests(part: Part, varies: Mask) -> Keys:
    return column_digests(varying(part, varies), part.codes)


def _positional_digest(part: Part, groups: Codes | None) -> int:
    numbers = np.arange(part.start, part.start + len(part.X))
    belonging = part.codes[:, None] if groups is None else np.stack([part.codes, groups[numbers]], axis=1)
    return digest(row_keys(np.column_stack([part.X, belonging])), numbers)


def _ranges(part: Part) -> Floats | None:
    return np.stack([part.X.min(axis=0), part.X.max(axis=0)]) if len(part.X) else None


def _differ(part: Part, pairs: list[tuple[int, int]]) -> list[bool]:
    return [bool((part.X[:, a] != part.X[:, b]).any()) for a, b in pairs]
