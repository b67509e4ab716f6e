"""Missing values in rows of numbers: filled with the median of their column, and marked by a column of their own."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._types import Counts, Floats, Mask
from ..utils.checks import listed
from .blocks import Blocks, Part, reference_rows, rows_at

__all__ = ["FilledRows", "Gaps", "gap_note", "median", "unlabelled_note"]


@dataclass(frozen=True, eq=False)
class Gaps:
    """How rows with missing values become complete: as the encoder of tables does it, without a table.

    Attributes
    ----------
    given : tuple of str
        Names of the columns that came in.
    n_rows : int
    n_missing : ndarray
        Missing values of each column.
    medians : ndarray
        Of each column; NaN for one without values, which is left out.
    """

    given: tuple[str, ...]
    n_rows: int
    n_missing: Counts
    medians: Floats

    @classmethod
    def of_matrix(cls, matrix: Floats, names: Sequence[str]) -> "Gaps | None":
        """Gaps of rows in memory; None if there are none."""
        n_missing = np.isnan(matrix).sum(axis=0)
        return cls._of(n_missing, matrix[reference_rows(len(matrix))], names, len(matrix)) if n_missing.any() else None

    @classmethod
    def of_blocks(cls, blocks: Blocks, names: Sequence[str]) -> "Gaps | None":
        """The same of rows in blocks: their medians are those of the same rows as in memory."""
        n_missing = blocks.total(_count_missing)
        if not n_missing.any():
            return None
        return cls._of(n_missing, rows_at(blocks, reference_rows(blocks.n_samples))[0], names, blocks.n_samples)

    @classmethod
    def _of(cls, n_missing: Counts, reference: Floats, names: Sequence[str], n_rows: int) -> "Gaps":
        present = [column[~np.isnan(column)] for column in reference.T]
        medians = np.array([median(values) if len(values) else np.nan for values in present])
        return cls(tuple(names), n_rows, n_missing, medians)

    @cached_property
    def _kept(self) -> Mask:
        return ~np.isnan(self.medians)

    @cached_property
    def _marked(self) -> Mask:
        return self._kept & (self.n_missing > 0)

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """For each complete column the one that it was made of: a mark follows its column."""
        times = self._kept.astype(np.int64) + self._marked
        return tuple(name for name, n in zip(self.given, times.tolist(), strict=True) for _ in range(n))

    @property
    def names(self) -> list[str]:
        """Of the complete columns."""
        names = []
        for name, kept, marked in zip(self.given, self._kept, self._marked, strict=True):
            names += [name] if kept else []
            names += [f"{name} missing"] if marked else []
        return names

    def fill(self, X: Floats) -> Floats:
        """Complete columns of any of the rows.

        Examples
        --------
        >>> X = np.array([[1.0, np.nan], [np.nan, np.nan], [3.0, np.nan], [8.0, np.nan]])
        >>> gaps = Gaps.of_matrix(X, ["a", "b"])
        >>> gaps.names, gaps.fill(X).tolist()
        (['a', 'a missing'], [[1.0, 0.0], [3.0, 1.0], [3.0, 0.0], [8.0, 0.0]])
        """
        absent = np.isnan(X)
        after = np.cumsum(self._kept.astype(np.int64) + self._marked)  # places up to each column
        complete = np.empty((len(X), len(self.sources)))
        complete[:, (after - 1 - self._marked)[self._kept]] = np.where(absent, self.medians, X)[:, self._kept]
        complete[:, (after - 1)[self._marked]] = absent[:, self._marked]
        return complete

    def fill_part(self, part: Part) -> Floats:
        """Complete columns of a block."""
        return self.fill(part.X)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know, in the words that are used of tables."""
        notes = []
        empty = [f"{name!r} (no values)" for name, kept in zip(self.given, self._kept, strict=True) if not kept]
        if empty:
            notes.append(f"columns left out: {listed(empty, 8)}")
        marked = {self.given[j]: int(self.n_missing[j]) for j in np.flatnonzero(self._marked)}
        if marked:
            notes.append(gap_note(marked, self.n_rows))
        return tuple(notes)


@dataclass(frozen=True, eq=False)
class FilledRows:
    """Rows of an array or file, completed when they are read."""

    X: Any
    gaps: Gaps

    @property
    def dtype(self) -> Any:
        """Of the numbers."""
        return np.dtype(np.float64)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self.X.shape[0]), len(self.gaps.sources)

    def __getitem__(self, rows: slice) -> Floats:
        return self.gaps.fill(np.asarray(self.X[rows], dtype=np.float64))


def _count_missing(part: Part) -> Counts:
    return np.isnan(part.X).sum(axis=0)


def gap_note(n_missing: dict[str, int], n_rows: int) -> str:
    """What is said of missing values, given their number by column.

    Examples
    --------
    >>> gap_note({"age": 1, "size": 2}, 4)
    "missing values filled with the median and marked by a column of their own: 'size' 50.0%, 'age' 25.0%"
    """
    most_first = sorted(n_missing.items(), key=lambda column: -column[1])
    shares = [f"{name if len(name) <= 60 else f'{name[:57]}...'!r} {n / n_rows:.1%}" for name, n in most_first]
    return f"missing values filled with the median and marked by a column of their own: {listed(shares, 8)}"


def unlabelled_note(n_unlabelled: int, n_rows: int) -> list[str]:
    """What a reader should know of rows without a label."""
    return [f"{n_unlabelled:,} of {n_rows:,} rows without a label dropped"] if n_unlabelled else []


def median(values: Floats) -> float:
    """The middle value; of two near 1.8e308 numpy's mean would be infinite.

    Examples
    --------
    >>> median(np.array([1.0, 2.0])), median(np.array([1.6e308, 1.6e308]))
    (1.5, 1.6e+308)
    """
    with np.errstate(over="ignore"):
        middle = float(np.median(values))
    return middle if np.isfinite(middle) else float(np.ldexp(np.median(np.ldexp(values, -2)), 2))
