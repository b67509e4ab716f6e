"""Labelled rows in blocks, wherever they live: what is asked of all rows is asked block by block, and added up."""

import contextlib
import errno
import functools
import operator
import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._types import Codes, Counts, Floats, RowNumbers
from ..errors import DataError, DataTypeError
from ..utils.parallel import Progress, run_tasks

__all__ = ["LARGE", "ArrayBlocks", "Blocks", "Part", "RowFile", "draw_rows", "reference_rows", "rows_at"]

Result = TypeVar("Result")

# Tables beyond so many rows are worked on in blocks, and what depends on the order of all rows (medians, ranks) is
# taken from so many of them: the same ones whether the rows lie in memory, on disk or on a cluster.
LARGE = 65_536
BLOCK_ROWS = 16_384
_FEWEST = 5  # rows of each class that a sample holds, if there are so many


@dataclass(frozen=True, eq=False)
class Part:
    """A block: its number, the number of its first row, its rows and the codes of their classes."""

    number: int
    start: int
    X: Floats
    codes: Codes


class Blocks(ABC):
    """Labelled rows in blocks.

    Attributes
    ----------
    sizes : ndarray
        Rows of each block; some may be 0.
    n_columns : int
    n_classes : int
    """

    sizes: Counts
    n_columns: int
    n_classes: int

    @abstractmethod
    def each(self, work: Callable[[Part], Result], stage: str = "", progress: Progress | None = None) -> list[Result]:
        """Results of `work` for every block, in order: small ones, since all of them come back."""

    @abstractmethod
    def derive(
        self, work: Callable[[Part], Floats], n_columns: int, stage: str = "", progress: Progress | None = None
    ) -> "Blocks":
        """Blocks with other columns for the same rows and classes; they stay where they are made."""

    def total(self, work: Callable[[Part], Any], stage: str = "", progress: Progress | None = None) -> Any:
        """Sum of the results of `work`."""
        return functools.reduce(operator.add, self.each(work, stage, progress))

    @abstractmethod
    def pick(self, numbers: RowNumbers) -> "Blocks":
        """Blocks of some of the rows, by ascending numbers."""

    def close(self) -> None:  # noqa: B027 - most have nothing to let go
        """Let go of what `derive` has made."""

    @property
    def whole(self) -> tuple[Floats, Codes] | None:
        """All rows and codes, if they lie in memory as one block."""
        return None

    @property
    def n_samples(self) -> int:
        """Rows of all blocks."""
        return int(self.sizes.sum())

    @property
    def starts(self) -> RowNumbers:
        """Number of each block's first row."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.int64)


@dataclass(frozen=True)
class RowFile:
    """Rows of numbers in a file, one after the other; read, not mapped, so that what was read need not stay."""

    path: Path
    dtype: str
    n_rows: int
    n_columns: int
    offset: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n_rows, self.n_columns

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        kind = np.dtype(self.dtype)
        start, stop, _ = rows.indices(self.n_rows)
        at = self.offset + start * self.n_columns * kind.itemsize
        values = np.fromfile(self.path, kind, (stop - start) * self.n_columns, offset=at)
        if len(values) != (stop - start) * self.n_columns:
            raise DataError(f"{self.path.name} has become shorter while it was read")
        return values.reshape(stop - start, self.n_columns)

    @classmethod
    def of_map(cls, mapped: "np.memmap[Any, Any]") -> "RowFile | None":
        """The same rows as a memory-mapped array, if they lie one after the other in its file."""
        if mapped.ndim != 2 or not mapped.flags.c_contiguous or getattr(mapped, "filename", None) is None:
            return None
        # What was written into a private map ("c") is in memory alone, and a map outlives the name of its file.
        if mapped.mode == "c" or not Path(str(mapped.filename)).is_file():
            return None
        # A slice of a map keeps the offset of the whole: where it begins is seen from the addresses.
        base: Any = mapped
        while isinstance(base.base, np.memmap):
            base = base.base
        skipped = mapped.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        n_rows, n_columns = mapped.shape
        return cls(Path(str(base.filename)), mapped.dtype.str, n_rows, n_columns, int(base.offset) + skipped)


@dataclass(frozen=True, eq=False)
class PickedRows:
    """Some rows of an array or file, by ascending numbers."""

    X: Any
    numbers: RowNumbers

    @property
    def dtype(self) -> Any:
        """Of the numbers."""
        return self.X.dtype

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.numbers), int(self.X.shape[1])

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        wanted = self.numbers[rows]
        if not len(wanted):
            return np.asarray(self.X[0:0])
        return np.asarray(self.X[int(wanted[0]) : int(wanted[-1]) + 1][wanted - wanted[0]])


class ArrayBlocks(Blocks):
    """Rows of an array, in memory or on disk, worked on by threads.

    Parameters
    ----------
    X : ndarray of numbers, or RowFile
    codes : ndarray of shape (N,)
    n_classes : int
    threads : int
    block_rows : int
    most_bytes : int, optional
        What is derived goes to a temporary file if it is larger.
    """

    def __init__(
        self,
        X: Any,
        codes: Codes,
        n_classes: int,
        *,
        threads: int = 1,
        block_rows: int = BLOCK_ROWS,
        most_bytes: int | None = None,
    ) -> None:
        if isinstance(X, np.memmap):
            X = RowFile.of_map(X) or X
        kind = np.dtype(X.dtype)
        if kind.kind not in "biuf":
            raise DataTypeError(f"X holds values of type {kind}: convert every column to numbers first")
        if len(codes) != X.shape[0]:
            raise DataError(f"X has {X.shape[0]} rows but y has {len(codes)} labels: they must have equal length")
        self.X, self.codes, self.n_classes = X, codes, n_classes
        self._threads, self._block_rows, self._most_bytes = threads, block_rows, most_bytes
        self._temporary: Path | None = None
        self.n_columns = int(X.shape[1])
        edges = np.append(np.arange(0, len(codes), block_rows), len(codes))
        self.sizes = np.diff(edges)
        self._slices = [slice(int(a), int(b)) for a, b in pairwise(edges)]

    @property
    def whole(self) -> tuple[Floats, Codes] | None:
        """All rows and codes, if they lie in memory as one block."""
        is_whole = len(self._slices) == 1 and isinstance(self.X, np.ndarray) and self.X.dtype == np.float64
        return (self.X, self.codes) if is_whole else None

    def recut(self, block_rows: int) -> "ArrayBlocks":
        """The same rows in blocks of another size."""
        return ArrayBlocks(self.X, self.codes, self.n_classes, threads=self._threads, block_rows=block_rows)

    def pick(self, numbers: RowNumbers) -> "ArrayBlocks":
        """Some of the rows; those of a file stay there."""
        return ArrayBlocks(
            PickedRows(self.X, numbers),
            self.codes[numbers],
            self.n_classes,
            threads=self._threads,
            block_rows=self._block_rows,
            most_bytes=self._most_bytes,
        )

    def part(self, number: int) -> Part:
        """One block."""
        rows = self._slices[number]
        with np.errstate(over="ignore"):
            X = np.ascontiguousarray(self.X[rows], dtype=np.float64)
        return Part(number, rows.start, X, self.codes[rows])

    def each(self, work: Callable[[Part], Result], stage: str = "", progress: Progress | None = None) -> list[Result]:
        """Results of `work` for every block, in order."""
        results: list[Any] = [None] * len(self._slices)

        def one(number: int) -> None:
            results[number] = work(self.part(number))

        run_tasks(one, range(len(self._slices)), self._threads, progress, stage)
        return results

    def derive(
        self, work: Callable[[Part], Floats], n_columns: int, stage: str = "", progress: Progress | None = None
    ) -> "ArrayBlocks":
        """Blocks with other columns, in memory or, if they are too large for it, in a temporary file."""
        size = 8 * self.n_samples * n_columns
        on_disk = self._most_bytes is not None and size > self._most_bytes
        with contextlib.ExitStack() as undo:
            if on_disk:
                handle, name = tempfile.mkstemp(prefix="bayesfloor-")
                os.close(handle)
                undo.callback(os.unlink, name)
                X: Any = RowFile(Path(name), "<f8", self.n_samples, n_columns)
            else:
                X = np.empty((self.n_samples, n_columns))

            def put(part: Part) -> None:
                made = work(part)
                if on_disk:
                    with open(name, "r+b") as file:  # each thread with a place of its own in it
                        file.seek(8 * n_columns * part.start)
                        file.write(np.ascontiguousarray(made, dtype="<f8").data)
                else:
                    X[part.start : part.start + len(made)] = made

            try:
                self.each(put, stage, progress)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                raise DataError(
                    f"the disk of {Path(name).parent} is full: {size / 2**30:.1f} GiB are needed there for a time; "
                    "make room, or name another folder (TMPDIR)"
                ) from None
            found = ArrayBlocks(
                X,
                self.codes,
                self.n_classes,
                threads=self._threads,
                block_rows=self._block_rows,
                most_bytes=self._most_bytes,
            )
            if on_disk:
                found._temporary = Path(name)
            undo.pop_all()
        return found

    def close(self) -> None:
        """Remove the temporary file, if there is one."""
        if self._temporary is not None:
            self._temporary.unlink(missing_ok=True)


# --- rows by number -----------------------------------------------------------------------------------------


def rows_at(blocks: Blocks, numbers: RowNumbers, view: Callable[[Floats], Any] | None = None) -> tuple[Any, RowNumbers]:
    """Rows of these ascending numbers, seen through `view` where they are, and the codes of their classes.

    All rows of a single block in memory are that block itself, not a copy.
    """
    if view is None and blocks.whole is not None and len(numbers) == blocks.n_samples:
        return blocks.whole
    edges = np.append(blocks.starts, blocks.n_samples)
    bounds = np.searchsorted(numbers, edges)
    wanted = [numbers[a:b] - start for a, b, start in zip(bounds[:-1], bounds[1:], edges[:-1], strict=True)]
    found = blocks.each(functools.partial(_pick, wanted=wanted, view=view))
    return np.concatenate([X for X, _ in found]), np.concatenate([codes for _, codes in found])


def _pick(part: Part, wanted: Sequence[RowNumbers], view: Callable[[Floats], Any] | None) -> tuple[Any, RowNumbers]:
    rows = wanted[part.number]
    return part.X[rows] if view is None else view(part.X[rows]), part.codes[rows]


def reference_rows(n: int) -> RowNumbers:
    """Rows that stand for all where medians or ranks are asked for: all of them up to `LARGE`."""
    if n <= LARGE:
        return np.arange(n)
    return np.sort(np.random.default_rng([0, n]).choice(n, LARGE, replace=False))


def class_counts(part: Part, n_classes: int) -> RowNumbers:
    """Rows of each class in a block, as one row."""
    return np.bincount(part.codes, minlength=n_classes)[None]


def draw_rows(blocks: Blocks, n: int, rng: np.random.Generator) -> tuple[RowNumbers, RowNumbers, RowNumbers]:
    """Numbers of `n` rows drawn at random and of a few more of rare classes; rows of each class; how many are further.

    A plain draw: rows taken by the shares of their classes would leave to the others just what the shares of all rows
    say, and no longer be independent of them. Every class then gets five rows, if it has so many.
    """
    per_block = np.concatenate(blocks.each(functools.partial(class_counts, n_classes=blocks.n_classes)))
    counts = per_block.sum(axis=0)
    plain = np.sort(rng.choice(int(counts.sum()), min(n, int(counts.sum())), replace=False))
    found = np.bincount(rows_at(blocks, plain, _no_columns)[1], minlength=blocks.n_classes)
    lacking = np.maximum(np.minimum(_FEWEST, counts) - found, 0)
    numbers = [plain]
    for c in np.flatnonzero(lacking):
        own = np.concatenate(blocks.each(functools.partial(_rows_of_class, c=int(c))))
        numbers.append(rng.permutation(np.setdiff1d(own, plain))[: lacking[c]])
    return np.sort(np.concatenate(numbers)), counts, lacking


def _no_columns(X: Floats) -> Floats:
    return X[:, :0]


def _rows_of_class(part: Part, c: int) -> RowNumbers:
    return np.flatnonzero(part.codes == c) + part.start
