"""Where the rows of a large table come from: memory, a mapped file, a table on disk, or a cluster."""

import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Codes, Floats, RowNumbers
from ..errors import DataError, ParameterError
from ..library.arrangement import EFFORTS
from ..rows.blocks import BLOCK_ROWS, ArrayBlocks, Blocks, Part, RowFile, rows_at
from ..rows.cluster import dask_module, is_dask
from ..rows.dataset import Dataset, dataset_of, validate
from ..rows.labels import check_class_sizes, encode_labels
from ..utils.parallel import Workers, n_threads
from .request import Request
from .run import Run

__all__ = ["BlockTable", "FileRows", "Gathered", "opened", "table_of"]


_GROUPS = "groups are kept together on one machine only: estimate on a sample of them"


@dataclass(frozen=True, eq=False)
class BlockTable:
    """Rows in blocks, and what is known about them.

    Attributes
    ----------
    blocks : Blocks
        Columns as they came, finite; codes into `classes`.
    classes : ndarray
    names : sequence of str
        Of the columns.
    remarks : tuple of str
    whole : Dataset, optional
        All rows, if they are at hand.
    row_numbers : ndarray, optional
    workers : Workers, optional
        Where models are trained, if not on this machine.
    """

    blocks: Blocks
    classes: NDArray[Any]
    names: tuple[str, ...]
    remarks: tuple[str, ...] = ()
    whole: Dataset | None = None
    row_numbers: RowNumbers | None = None
    workers: Workers | None = None


@dataclass(frozen=True, eq=False)
class Gathered:
    """Rows that were few enough to be brought here."""

    X: Floats
    y: NDArray[Any]
    names: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    def dataset(self) -> Dataset:
        """Checked."""
        return dataset_of(self.X, list(self.names), *encode_labels(self.y))


def table_of(
    data: Dataset, request: Request, run: Run, remarks: tuple[str, ...] = (), row_numbers: RowNumbers | None = None
) -> BlockTable:
    """Rows in memory, checked."""
    blocks = _blocks(data.X, data.labels, data.n_classes, request, run)
    kept = tuple(name for name in data.feature_names if name not in data.constant_columns)
    if len(kept) != data.X.shape[1]:  # a constant column and another have one name
        kept = tuple(f"column {j}" for j in range(data.X.shape[1]))
    return BlockTable(blocks, data.classes, kept, remarks, data, row_numbers)


def _blocks(X: Any, codes: Codes, n_classes: int, request: Request, run: Run) -> ArrayBlocks:
    """As many rows at a time as memory allows."""
    threads = n_threads(request.n_jobs)
    size = run.rows_at_a_time(threads, int(X.shape[1]))
    return ArrayBlocks(X, codes, n_classes, threads=threads, block_rows=size, most_bytes=run.memory // 8)


@dataclass(frozen=True)
class FileRows:
    """A table in a file, to be read in blocks; `drop` and `keep` as in `read_table`."""

    path: Path
    target: str | int | None = None
    drop: Sequence[str] = ()
    keep: Sequence[str] = ()

    def is_large(self, run: Run) -> bool:
        """Whether reading it whole would take too much of the memory."""
        from ..tables.open import table_bytes

        return table_bytes(self.path) > run.memory // 3


@contextmanager
def opened(
    X: Any, y: Any, target: Any, groups: Any, request: Request, run: Run
) -> Iterator[BlockTable | Gathered | None]:
    """Rows on a cluster, in a mapped file, or in a file too large for memory; None: the ordinary way."""
    if isinstance(X, str | os.PathLike) and y is None:
        X = FileRows(Path(X), target)
    if is_dask(X) or run.cluster is not None:
        if groups is not None:
            raise ParameterError(_GROUPS)
        if run.checkpoint is not None:
            raise ParameterError("a checkpoint is of rows on this machine: leave it out for Dask collections")
        with _on_cluster(X, y, target, request, run) as table:
            yield table
    elif groups is None and isinstance(X, FileRows) and X.is_large(run):
        with tempfile.TemporaryDirectory(prefix="bayesfloor-") as folder:
            yield _table_on_disk(X, folder, request, run)
    elif (
        groups is None
        and target is None
        and isinstance(X, np.memmap)
        and X.ndim == 2
        and run.n_fitted(len(X), EFFORTS[request.effort]) < len(X)
    ):
        yield _mapped_table(X, y, request, run)
    else:
        yield None


@contextmanager
def _on_cluster(X: Any, y: Any, target: Any, request: Request, run: Run) -> Iterator[BlockTable | Gathered]:
    """Rows on the workers of a cluster; few enough of them come here, and are worked on in the ordinary way."""
    from ..rows.cluster import connect
    from ..rows.dask_blocks import blocks_from_dask
    from ..rows.dask_workers import DaskWorkers

    with connect(run.cluster) as client:
        _check_sendable(request)
        if isinstance(X, FileRows):
            X, target = _frame_of_file(X)
        elif not is_dask(X):
            X, y, target = *_scattered(X, y, target), None
        blocks, classes, names, notes = blocks_from_dask(
            X, y, target=target, client=client, progress=request.progress, block_rows=run.block_rows or BLOCK_ROWS
        )
        with contextlib.closing(blocks):
            n = blocks.n_samples
            if run.n_fitted(n, EFFORTS[request.effort]) < n:
                yield BlockTable(blocks, classes, tuple(names), notes, workers=DaskWorkers(client))
            else:
                rows, codes = rows_at(blocks, np.arange(n))
                yield Gathered(rows, classes[codes], tuple(names), notes)


def _check_sendable(request: Request) -> None:
    """Refuse, before rows are read, classifiers that cannot go to the workers."""
    cloudpickle = dask_module("cloudpickle")
    for name, model in request.classifiers.items():
        try:
            cloudpickle.dumps(model)
        except Exception as error:
            raise ParameterError(f"classifier {name!r} cannot be sent to the workers of a cluster: {error}") from None


def _frame_of_file(file: FileRows) -> tuple[Any, str]:
    """A Dask frame of the columns that are used, and the name of the target; workers read the file."""
    frames = dask_module("dask.dataframe")
    suffix = file.path.suffix.lower()
    if not file.path.exists():  # a folder of Parquet files will do
        raise DataError(f"there is no file {file.path} here: this machine and the workers must be able to read it")
    if suffix in (".parquet", ".pq"):
        frame = frames.read_parquet(str(file.path))
    elif suffix in (".csv", ".tsv"):
        frame = frames.read_csv(str(file.path), sep="\t" if suffix == ".tsv" else ",")
    else:
        raise DataError(f"workers of a cluster read Parquet and CSV: save {file.path.name} as one of them")
    from ..tables.selection import chosen_columns
    from ..tables.table_file import InMemory

    chosen = chosen_columns(InMemory(frame._meta), file.path.name, file.target, file.drop, file.keep, None)
    return frame[[*chosen.features, chosen.label]], chosen.label


def _scattered(X: Any, y: Any, target: Any) -> tuple[Any, Any]:
    """Rows at hand, in blocks for the workers."""
    arrays = dask_module("dask.array")
    if target is not None or hasattr(X, "columns"):
        from ..tables.table import as_arrays

        X, y, groups, *_ = as_arrays(X, y, target, None)
        if groups is not None:  # those of a Table
            raise ParameterError(_GROUPS)
    data = validate(X, y)
    size = max(1, 2**26 // (8 * data.X.shape[1]))
    return arrays.from_array(np.asarray(data.X), chunks=(size, -1)), data.classes[data.labels]


def _mapped_table(X: Any, y: Any, request: Request, run: Run) -> BlockTable:
    classes, codes = encode_labels(y)
    blocks = _blocks(X, codes, len(classes), request, run)
    check_class_sizes(classes, np.bincount(codes, minlength=len(classes)))
    names = tuple(f"column {j}" for j in range(blocks.n_columns))
    _check_finite(blocks, names)
    return BlockTable(blocks, classes, names)


def _table_on_disk(file: FileRows, folder: str, request: Request, run: Run) -> BlockTable:
    from ..tables.on_disk import encode_to_disk

    disk = encode_to_disk(
        file.path,
        folder,
        target=file.target,
        drop=file.drop,
        keep=file.keep,
        random_state=request.seed,
        progress=request.progress,
    )
    rows = RowFile(disk.X_path, "<f8", disk.n_rows, disk.n_features)
    blocks = _blocks(rows, np.fromfile(disk.labels_path, "<i8"), len(disk.classes), request, run)
    numbers = np.delete(np.arange(disk.n_file_rows), disk.unlabelled) if len(disk.unlabelled) else None
    return BlockTable(blocks, disk.classes, disk.features, tuple(disk.notes), row_numbers=numbers)


def _check_finite(blocks: Blocks, names: tuple[str, ...]) -> None:
    """Refuse NaN and infinity, with their number and the first place."""
    found = [flaw for flaw in blocks.each(_flaws, "reading") if flaw is not None]
    if found:
        row, column = found[0][2], found[0][3]
        what = " and ".join(
            f"{n} {kind}"
            for n, kind in ((sum(f[0] for f in found), "NaN"), (sum(f[1] for f in found), "infinity"))
            if n
        )
        raise DataError(
            f"X contains {what} (values that are missing, infinite or too large for float64); the first is in row "
            f"{row}, {names[column]}. Impute or drop them"
        )


def _flaws(part: Part) -> tuple[int, int, int, int] | None:
    finite = np.isfinite(part.X)
    if finite.all():
        return None
    row, column = np.argwhere(~finite)[0]
    return int(np.isnan(part.X).sum()), int(np.isinf(part.X).sum()), part.start + int(row), int(column)
