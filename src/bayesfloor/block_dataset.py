"""What `validate` says of a table, said of rows in blocks: constant columns, copies, and a sample of the rows."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .blocks import LARGE, Blocks, Part, class_counts, reference_rows, rows_at
from .labels import check_class_sizes
from .validate import Dataset, column_keys, first_occurrence, is_continuous, row_keys

__all__ = ["block_dataset", "chosen_columns", "repeated_shares"]

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]
Mask = NDArray[np.bool_]


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
    ranges = np.array([found for found in blocks.each(_ranges) if found is not None])
    varies = ranges[:, 0].min(axis=0) < ranges[:, 1].max(axis=0)
    reference = reference_rows(n)
    X, labels = rows_at(blocks, np.arange(n) if reference is None else reference)
    X = np.ascontiguousarray(X[:, varies])
    kept = np.flatnonzero(varies)
    first = first_occurrence(column_keys(X))
    pairs = [(int(kept[i]), int(kept[first[i]])) for i in np.flatnonzero(first != np.arange(len(kept)))]
    if pairs:
        differ = np.any(blocks.each(partial(_differ, pairs=pairs)), axis=0).tolist()
        pairs = [pair for pair, other in zip(pairs, differ, strict=True) if not other]
    share, copied = repeated_shares(blocks, X, varies)
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
        copied_share=copied,
    )
    return data, varies


def chosen_columns(part: Part, chosen: Mask) -> Floats:
    """Some of the columns of a block."""
    return np.ascontiguousarray(part.X[:, chosen])


def repeated_shares(blocks: Blocks, sample: Floats, varies: Mask) -> tuple[float, float]:
    """Share of rows that repeat an earlier one, and the same if, by a sample, they must be copies (else 0)."""
    share = _repeated_share(blocks, varies)
    is_copied = share > 0 and is_continuous(sample, len(np.unique(row_keys(sample))))
    return share, share if is_copied else 0.0


def _repeated_share(blocks: Blocks, varies: Mask) -> float:
    """Share of rows that repeat an earlier one, from about `LARGE` of them.

    Which rows are looked at depends on a hash of their values, so that of copies either all are seen or none.
    """
    every = np.uint64(-(-blocks.n_samples // LARGE))
    found = blocks.each(partial(_hashed, varies=varies, every=every))
    distinct = len(np.unique(np.concatenate([keys for keys, _ in found])))
    seen = sum(n for _, n in found)
    return 1 - distinct / seen if seen else 0.0


def _hashed(part: Part, varies: Mask, every: np.uint64) -> tuple[Keys, int]:
    keys = row_keys(np.ascontiguousarray(part.X[:, varies]))
    # By the upper bits: the lowest ones of a sum of products are not as well mixed.
    seen = keys[(keys >> np.uint64(20)) % every == 0]
    return np.unique(seen), len(seen)


def _ranges(part: Part) -> Floats | None:
    return np.stack([part.X.min(axis=0), part.X.max(axis=0)]) if len(part.X) else None


def _differ(part: Part, pairs: list[tuple[int, int]]) -> list[bool]:
    return [bool((part.X[:, a] != part.X[:, b]).any()) for a, b in pairs]
