"""Where the rows of an estimate come from.

Rows are always blocks: an array in memory, rows of a file, or the partitions of a Dask collection.
"""

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._types import Codes, Floats, RowNumbers
from ..errors import DataError, ParameterError
from ..library.arrangement import EFFORTS, check_groups, read_groups
from ..library.representation import RawRows, fingerprints
from ..rows.blocks import BLOCK_ROWS, LARGE, ArrayBlocks, Blocks, Part, RowFile, rows_at
from ..rows.cluster import dask_module, is_dask
from ..rows.dataset import Dataset, as_array, dataset_of, feature_matrix, is_sparse, not_finite
from ..rows.gaps import FilledRows, Gaps, unlabelled_note
from ..rows.labels import check_class_sizes, encode_labels, present_labels
from ..rows.sparse import SparseRows, checked_matrix, columns_of
from ..rows.texts import is_text_list
from ..utils.parallel import n_threads
from .labelled_rows import LabelledRows, one_block
from .raw import find_pictures, is_pictures, is_sparse_or_text, open_raw
from .settings import Request, Run

if TYPE_CHECKING:
    from ..rows.dask_blocks import Reader

__all__ = ["FileRows", "frame_index", "named_labels", "number_rows", "open_rows", "rows_of"]


@dataclass(frozen=True)
class FileRows:
    """A table in a file; `drop`, `keep`, `header` and `dtypes` as in `read_table`."""

    path: Path
    target: str | int | None = None
    drop: Sequence[str] = ()
    keep: Sequence[str] = ()
    header: bool | None = None
    dtypes: Mapping[str, str] | None = None

    def is_large(self, run: Run) -> bool:
        """Whether reading it whole would take too much of the memory."""
        from ..tables.open import table_bytes
        from ..tables.sparse_files import has_sparse_rows

        if has_sparse_rows(self.path):
            return False
        return table_bytes(self.path) > run.memory // 3


@contextmanager
def open_rows(
    X: Any, y: Any, target: Any, groups: Any, request: Request, run: Run, dtypes: Any = None
) -> Iterator[LabelledRows]:
    """Rows as the user gave them, checked; what was opened for them is closed at the end."""
    y, target = named_labels(X, y, target)
    if y is None:
        X = find_pictures(X, request.kind, request.progress)
    remarks: tuple[str, ...] = ()
    if is_pictures(X):
        X, y, request, remarks, files = _given_pictures(X, y, target, request)
    else:
        files = None
    if dtypes is not None and (files is not None or not _has_named_columns(X, target)):
        raise ParameterError("dtypes names columns of a file or a frame, of a Dask frame with target: leave it out")
    if isinstance(X, str | os.PathLike) and y is None:
        X = FileRows(Path(X), target, dtypes=dtypes)
    _check_all_are_learned_from(groups, run)
    if request.kind is not None and (is_dask(X) or run.cluster is not None):
        raise ParameterError(f"kind={request.kind!r} works on this machine alone: leave out the cluster")
    if run.cluster is not None and is_sparse_or_text(X.path if isinstance(X, FileRows) else X):
        raise ParameterError("sparse rows and texts are worked on on this machine alone: leave out the cluster")
    if is_dask(X) or run.cluster is not None:
        with _rows_on_cluster(X, y, target, groups, request, run, dtypes) as rows:
            yield rows
    elif groups is None and isinstance(X, FileRows) and X.is_large(run):
        with tempfile.TemporaryDirectory(prefix="bayesfloor-") as folder:
            yield _rows_on_disk(X, folder, request, run)
    elif (
        groups is None
        and target is None
        and isinstance(X, np.memmap)
        and X.ndim == 2
        and run.n_fitted(len(X), EFFORTS[request.effort]) < len(X)
    ):
        yield _mapped_rows(X, y, request, run)
    else:
        rows = _rows_in_memory(X, y, target, groups, request, run, dtypes)
        yield rows if files is None else replace(rows, index=files, notes=(*remarks, *rows.notes))


def _given_pictures(
    pictures: Any, y: Any, target: Any, request: Request
) -> tuple[Any, Any, Request, tuple[str, ...], Any]:
    """Pictures that were read: arrays, what is asked for, remarks, and the files as an index."""
    if y is not None or target is not None:
        raise ParameterError("pictures that were read have their labels: leave out y and target")
    return pictures.images, pictures.y, replace(request, kind="images"), pictures.notes, pictures.index


def named_labels(X: Any, y: Any, target: Any) -> tuple[Any, Any]:
    """Labels and target, where the second argument may be the name of a column."""
    if not isinstance(y, str):
        return y, target
    if target is not None:
        raise ParameterError("give the labels once: as target, a column of the frame, or as y")
    if isinstance(X, str | os.PathLike | FileRows) or hasattr(X, "columns"):
        return None, y
    raise ParameterError(f"y={y!r} is one text, not one label per row: only a file or a frame has columns with names")


def frame_index(X: Any) -> Any:
    """Index of a pandas frame, or of the one that a table was made of; None for anything else."""
    index = getattr(X, "index", None)
    return index if hasattr(index, "take") and not is_dask(X) else None


def _check_all_are_learned_from(groups: Any, run: Run) -> None:
    if groups is not None and run.sample_rows is not None:
        raise ParameterError("groups need all rows to be cross-fitted: leave out sample_rows, or the groups")


# --- on this machine ----------------------------------------------------------------------------------------


def _has_named_columns(X: Any, target: Any) -> bool:
    """Whether types of columns can be stated."""
    if is_dask(X):
        return hasattr(X, "columns") and target is not None
    return isinstance(X, str | os.PathLike) or hasattr(X, "columns")


def _rows_in_memory(
    X: Any, y: Any, target: Any, groups: Any, request: Request, run: Run, dtypes: Any = None
) -> LabelledRows:
    notes: tuple[str, ...] = ()
    row_numbers, index = None, frame_index(X)
    if isinstance(X, FileRows):
        from ..tables.table import read_table

        named = groups if isinstance(groups, str) else None
        X = read_table(
            X.path,
            target=X.target,
            drop=X.drop,
            keep=X.keep,
            groups=named,
            header=X.header,
            dtypes=X.dtypes,
            progress=request.progress,
        )
        target = dtypes = None
    source = X
    if target is not None or isinstance(X, str | os.PathLike) or hasattr(X, "columns"):
        from ..tables.table import as_arrays  # pandas: only where there is a table

        X, y, groups, notes, row_numbers = as_arrays(X, y, target, groups, dtypes)
        _check_all_are_learned_from(groups, run)  # those of a Table
    # Tables are complete; in a sparse matrix 0 is what most entries are, and NaN no sign that people use.
    may_have_gaps = not hasattr(X, "columns") and not is_sparse(X)
    if is_sparse(X):
        if request.kind is None:
            X = columns_of(checked_matrix(X, n_labels=len(y) if hasattr(y, "__len__") else None))
    elif is_text_list(X):  # words of a text without a label are not counted
        texts = list(X)
        y, labelled, n = present_labels(y, len(texts))
        if labelled is not None:
            X, groups, row_numbers = [texts[row] for row in labelled], groups_at(groups, labelled, n), labelled
            notes = (*notes, *unlabelled_note(n - len(labelled), n))
    opened = open_raw(X, request.kind)
    raw = None
    if opened is not None:
        raw, remarks = opened
        X, notes = fingerprints(raw.rows), (*notes, *remarks)
    found = number_rows(X, y, groups, gaps=may_have_gaps)
    if found.labelled is not None:
        raw, row_numbers = None if raw is None else raw[found.labelled], found.labelled
    data = dataset_of(found.X, found.names, *encode_labels(found.y))
    if raw is not None and isinstance(raw.rows, SparseRows):  # fingerprints tell equal rows, but not which are copies
        data = data.with_records(*raw.rows.records(data.labels))
    codes = None if found.groups is None else check_groups(found.groups, data.n_samples)
    rows = _checked_rows(data, codes, (*notes, *found.notes), row_numbers, request, run, raw)
    return replace(rows, index=index, source=source, gaps=found.gaps)


@dataclass(frozen=True, eq=False)
class NumberRows:
    """Complete rows of numbers that have a label, as `number_rows` makes them."""

    X: Floats
    names: list[str]
    y: Any
    groups: Any
    labelled: RowNumbers | None
    gaps: Gaps | None
    notes: tuple[str, ...]


def number_rows(X: Any, y: Any, groups: Any = None, *, gaps: bool = True) -> NumberRows:
    """Rows of an array without those that have no label, and with missing values filled.

    Parameters
    ----------
    X : array-like of shape (N, d)
    y : array-like of shape (N,)
    groups : array-like of shape (N,), optional
    gaps : bool
        Whether values may be missing; infinite ones are refused in any case.
    """
    matrix, names = feature_matrix(X, gaps=gaps)
    y, labelled, n = present_labels(y, len(matrix))
    notes: list[str] = []
    if labelled is not None:
        matrix, groups = matrix[labelled], groups_at(groups, labelled, n)
        notes += unlabelled_note(n - len(labelled), n)
    found = Gaps.of_matrix(matrix, names)
    if found is not None and not found.sources:
        raise DataError(f"X has no values: all {matrix.size:,} entries are missing (NaN)")
    if found is None:
        return NumberRows(matrix, names, y, groups, labelled, None, tuple(notes))
    return NumberRows(found.fill(matrix), found.names, y, groups, labelled, found, (*notes, *found.notes))


def groups_at(groups: Any, rows: RowNumbers, n: int) -> Any:
    """Groups of some of `n` rows."""
    if groups is None:
        return None
    values = as_array(groups, "groups")
    if values.shape[:1] != (n,):
        given = len(values) if values.ndim else 1
        raise DataError(f"there are {n} rows but {given} groups: they must have equal length")
    return read_groups(values, n)[rows]  # before rows go: it names the row of a group that is missing


def _checked_rows(
    data: Dataset,
    groups: Codes | None,
    notes: tuple[str, ...],
    row_numbers: RowNumbers | None,
    request: Request,
    run: Run,
    raw: RawRows | None = None,
) -> LabelledRows:
    """Rows in memory as one block, or, where they are only scored, as several."""
    rows = replace(rows_of(data, groups), notes=notes, row_numbers=row_numbers, raw=raw)
    if rows.n_fitted(request, run) == data.n_samples:
        return rows
    return replace(rows, blocks=_blocks(data.X, data.labels, data.n_classes, request, run))


def rows_of(data: Dataset, groups: Codes | None) -> LabelledRows:
    """Rows in memory as one block."""
    names = tuple(name for name in data.feature_names if name not in data.constant_columns)
    if len(names) != data.X.shape[1]:  # a constant column and another have one name
        names = tuple(f"column {j}" for j in range(data.X.shape[1]))
    return LabelledRows(one_block(data), data.classes, names, data=data, groups=groups)


def _blocks(X: Any, codes: Codes, n_classes: int, request: Request, run: Run) -> ArrayBlocks:
    """As many rows at a time as memory allows."""
    threads = n_threads(request.n_jobs)
    size = run.rows_at_a_time(threads, int(X.shape[1]))
    return ArrayBlocks(X, codes, n_classes, threads=threads, block_rows=size, most_bytes=run.memory // 8)


def _mapped_rows(X: Any, y: Any, request: Request, run: Run) -> LabelledRows:
    y, labelled, n = present_labels(y, len(X))
    classes, codes = encode_labels(y)
    check_class_sizes(classes, np.bincount(codes, minlength=len(classes)))
    every = codes if labelled is None else np.zeros(n, dtype=np.int64)
    blocks = _blocks(X, every, len(classes), request, run)
    names = [f"column {j}" for j in range(blocks.n_columns)]
    _refuse_infinite(blocks, names)
    notes: tuple[str, ...] = ()
    if labelled is not None:
        every[labelled] = codes
        blocks, notes = blocks.pick(labelled), tuple(unlabelled_note(n - len(labelled), n))
    gaps = Gaps.of_blocks(blocks, names)
    if gaps is not None:
        blocks = _blocks(FilledRows(blocks.X, gaps), codes, len(classes), request, run)
        names, notes = gaps.names, (*notes, *gaps.notes)
    return LabelledRows(blocks, classes, tuple(names), notes, row_numbers=labelled, gaps=gaps)


def _rows_on_disk(file: FileRows, folder: str, request: Request, run: Run) -> LabelledRows:
    from ..tables.on_disk import encode_to_disk

    disk = encode_to_disk(
        file.path,
        folder,
        target=file.target,
        drop=file.drop,
        keep=file.keep,
        header=file.header,
        dtypes=file.dtypes,
        random_state=request.seed,
        progress=request.progress,
    )
    X = RowFile(disk.X_path, "<f8", disk.n_rows, disk.n_features)
    codes = np.fromfile(disk.labels_path, "<i8")
    numbers = np.delete(np.arange(disk.n_file_rows), disk.unlabelled) if len(disk.unlabelled) else None
    blocks = _blocks(X, codes, len(disk.classes), request, run)
    rows = LabelledRows(blocks, disk.classes, disk.features, tuple(disk.notes), row_numbers=numbers)
    return _gather(rows, request, run)


def _gather(rows: LabelledRows, request: Request, run: Run) -> LabelledRows:
    """Bring rows into memory if the library learns from all of them."""
    n = rows.blocks.n_samples
    if rows.n_fitted(request, run) < n:
        return rows
    X, codes = rows_at(rows.blocks, np.arange(n))
    data = dataset_of(X, list(rows.names), rows.classes, codes)
    found = _checked_rows(data, rows.groups, rows.notes, rows.row_numbers, request, run)
    # Of a small table models are trained sooner than they are sent.
    return replace(found, client=rows.client if n > LARGE else None, gaps=rows.gaps)


def _refuse_infinite(blocks: Blocks, names: Sequence[str]) -> None:
    """Refuse infinite values, with their number and the first place."""
    found = [flaw for flaw in blocks.each(_infinite, "reading") if flaw is not None]
    if found:
        _, row, column = found[0]
        raise not_finite(0, sum(n for n, _, _ in found), f"row {row}, {names[column]}", gaps=True)


def _infinite(part: Part) -> tuple[int, int, int] | None:
    infinite = np.isinf(part.X)
    if not infinite.any():
        return None
    row, column = np.argwhere(infinite)[0]
    return int(infinite.sum()), part.start + int(row), int(column)


# --- on a cluster -------------------------------------------------------------------------------------------


@contextmanager
def _rows_on_cluster(
    X: Any, y: Any, target: Any, groups: Any, request: Request, run: Run, dtypes: Any
) -> Iterator[LabelledRows]:
    """Rows on the workers of a cluster; where the library learns from all of them, they come here."""
    from ..rows.cluster import connect
    from ..rows.dask_blocks import Reader

    with connect(run.cluster) as client, contextlib.ExitStack() as undo:
        _check_sendable(request)
        reader = Reader(client, request.progress)
        if is_dask(X) or isinstance(X, FileRows):
            rows = _dask_rows(X, y, target, groups, reader, request, run, dtypes)
            with contextlib.closing(rows.blocks):
                gathered = _gather(rows, request, run)
                if gathered is rows:
                    yield rows
                    return
            yield gathered
            return
        rows = _rows_in_memory(X, y, target, groups, request, run, dtypes)
        if rows.n_fitted(request, run) < rows.blocks.n_samples:
            blocks = undo.enter_context(contextlib.closing(_send(rows, reader, run)))
            rows = replace(rows, blocks=blocks, client=client)
        yield rows


def _dask_rows(
    X: Any, y: Any, target: Any, groups: Any, reader: "Reader", request: Request, run: Run, dtypes: Any
) -> LabelledRows:
    """Rows of a Dask collection, or of a file that the workers read."""
    from ..rows.dask_rows import delayed_rows

    named = groups if isinstance(groups, str) else None
    row_numbers, belonging = None, None
    is_table = isinstance(X, FileRows) or (hasattr(X, "columns") and getattr(X, "ndim", 0) == 2 and target is not None)
    if is_table:
        if y is not None:
            raise ParameterError("give the labels once: as target, a column of the frame, or as y")
        from ..tables.on_dask import encode_file_on_dask, encode_on_dask

        options: dict[str, Any] = {
            "groups": named,
            "random_state": request.seed,
            "ask": reader.ask,
            "persist": reader.keep,
        }
        if isinstance(X, FileRows):
            options |= {"target": X.target, "drop": X.drop, "keep": X.keep, "dtypes": X.dtypes}
            table = encode_file_on_dask(X.path, header=X.header, **options)
        else:
            table = encode_on_dask(X, target=target, dtypes=dtypes, **options)
        row_numbers, belonging = table.row_numbers, table.groups
        partitions, sizes, classes, notes = table.partitions, table.sizes, table.classes, table.notes
        names, n_rows = table.features, table.n_rows
    else:
        if named is not None:
            raise ParameterError(f"groups={named!r} names a column: name the labels with target, too")
        found = delayed_rows(X, y, target, reader.keep, reader.ask, gaps=True)
        partitions, sizes, classes, notes = found.rows, found.sizes, found.classes, found.notes
        names, n_rows, row_numbers = tuple(found.names), int(found.sizes.sum()), found.labelled
    if groups is not None and named is None:
        belonging = reader.ask([groups])[0] if is_dask(groups) else groups
        if row_numbers is not None:
            belonging = groups_at(belonging, row_numbers, n_rows)
    size = run.block_rows or BLOCK_ROWS
    blocks = reader.hold(partitions, sizes, len(names), len(classes), size)
    gaps = None
    if not is_table:
        blocks = blocks if row_numbers is None else blocks.pick(row_numbers)
        gaps = Gaps.of_blocks(blocks, names)
    if gaps is not None:
        blocks = blocks.derive(gaps.fill_part, len(gaps.names), "filling gaps")
        names, notes = tuple(gaps.names), (*notes, *gaps.notes)
    codes = None if belonging is None else check_groups(belonging, blocks.n_samples)
    rows = LabelledRows(blocks, classes, names, notes, groups=codes, row_numbers=row_numbers, client=reader.client)
    return replace(rows, gaps=gaps)


def _check_sendable(request: Request) -> None:
    """Refuse, before rows are read, classifiers that cannot go to the workers."""
    cloudpickle = dask_module("cloudpickle")
    for name, model in request.classifiers.items():
        try:
            cloudpickle.dumps(model)
        except Exception as error:
            raise ParameterError(f"classifier {name!r} cannot be sent to the workers of a cluster: {error}") from None


def _send(rows: LabelledRows, reader: "Reader", run: Run) -> Blocks:
    """Rows in memory, sent to the workers in blocks."""
    assert rows.data is not None
    from ..rows.dask_rows import delayed_rows

    data = rows.data
    size = max(1, 2**26 // (8 * data.X.shape[1]))
    array = dask_module("dask.array").from_array(np.asarray(data.X), chunks=(size, -1))
    found = delayed_rows(array, data.labels, None, reader.keep, reader.ask)
    return reader.hold(found.rows, found.sizes, data.X.shape[1], data.n_classes, run.block_rows or BLOCK_ROWS)
