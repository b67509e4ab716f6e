"""Which equal rows are copies of one record, and which coincide because their columns have few values.

Two rows that agree in a value which no different row shares, in a column where values hardly ever meet by chance, are
one record written down twice. Rows of discrete columns, or pixels with many zeros, agree by chance.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Identifier", "copied_records", "identifiers"]

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]
Rows = NDArray[np.int64]

_IMPLAUSIBLE = 10  # times as many repeated rows as chance would make
_MOST_TIMES, _MOST_SHARE = 20, 1 / 20  # a value that more rows have is a point mass, such as 0, and no record
_FEW_DISTINCT = 1 / 10  # where fewer of the rows are distinct, the columns are discrete whatever their values look like
_TOGETHER = 3  # columns that may identify a record together
_TRIED = 8  # columns, those with most values


@dataclass(frozen=True)
class Identifier:
    """Columns by which records can be told apart, and the number of cells that their values fall into."""

    columns: tuple[int, ...]
    cells: float

    def coincidences(self, n: int) -> float:
        """Pairs among `n` rows that chance puts into one cell."""
        return n * (n - 1) / 2 / self.cells


def identifiers(distinct: Floats, n: int) -> list[Identifier]:
    """Columns, or sets of a few, in which fewer than one in ten of `n` rows meets another by chance.

    Parameters
    ----------
    distinct : ndarray of shape (m, d)
        The distinct rows, or a part of them: how often different rows agree does not depend on copies.
    n : int
        Rows in all, copies included.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> identifiers(np.stack([rng.normal(size=50), rng.integers(0, 9, 50)], axis=1), 100)
    [Identifier(columns=(0,), cells=inf)]
    >>> identifiers(rng.integers(0, 9, (50, 2)) + 0.0, 100)
    []
    """
    m, d = distinct.shape
    found: list[Identifier] = []
    coarse: list[tuple[int, float, Rows]] = []
    span = np.ptp(distinct, axis=0)
    whole = (distinct == np.round(distinct)).all(axis=0) & (span < n)  # pixels and codes: no need to look closer
    for j in np.flatnonzero(span > 0):
        values, code = np.unique(distinct[:, j], return_inverse=True)
        cells = float(span[j]) + 1 if whole[j] else _cells(values, distinct[:, j])
        if np.isfinite(cells):
            coarse.append((int(j), cells, code))
        if cells > n * _IMPLAUSIBLE / 2 and len(values) >= min(m, 2 * np.sqrt(n)):
            found.append(Identifier((int(j),), cells))
    coarse.sort(key=lambda column: -(column[2].max() + 1))
    together = _together(coarse[:_TRIED], d)
    found += [entry for entry in together if entry.cells > n * _IMPLAUSIBLE / 2]
    return sorted(found, key=lambda entry: -entry.cells)[:_TRIED]


def _cells(values: Floats, column: Floats) -> float:
    """Number of places on the grid that the values lie on, over their central range; infinite if there is no grid."""
    gaps = np.diff(values)
    step = float(gaps.min())
    # Only near neighbours: over many steps the rounding of decimal fractions adds up.
    ratios = gaps[gaps < 1000 * step] / step
    if np.abs(ratios - np.round(ratios)).max() > 1e-3:
        return np.inf
    low, high = np.quantile(column, [0.05, 0.95])
    return float(high - low) / step / 0.9 + 1


def _together(coarse: Sequence[tuple[int, float, Rows]], d: int) -> list[Identifier]:
    """Two and three columns together, each further one the best at telling apart pairs that agree in the others.

    How many cells it adds is estimated from such pairs alone, so that a column that repeats another adds none. All
    columns together would prove nothing: distinct rows never agree there.
    """
    if not coarse:
        return []
    j, cells, code = coarse[0]
    chosen, rest, pairs, found = [j], list(coarse[1:]), _agreeing(code), []
    while rest and len(chosen) < min(_TOGETHER, d - 1):
        joint = [np.unique(code * (other.max() + 1) + other, return_inverse=True)[1] for _, _, other in rest]
        left = [_agreeing(both) for both in joint]
        best = int(np.argmin(left))
        cells *= max(1.0, pairs / (left[best] + 1))
        chosen.append(rest.pop(best)[0])
        code, pairs = joint[best], left[best]
        found.append(Identifier(tuple(chosen), cells))
    return found


def _agreeing(code: Rows) -> float:
    """Pairs of rows with the same code."""
    counts = np.bincount(code).astype(np.float64)
    return float((counts * (counts - 1) / 2).sum())


def copied_records(keys: Keys, identified: Sequence[tuple[Identifier, Keys]]) -> Rows | None:
    """Record of each row, 0 or more; copies of one record share it. None if there are no copies.

    A record is one that is there several times and has, in some identifying columns, values that no different row has;
    provided such rows are many more than chance would make.

    Parameters
    ----------
    keys : ndarray of shape (N,)
        Equal for equal rows.
    identified : sequence of (Identifier, ndarray of shape (N,))
        With a key of each row's values in those columns.

    Examples
    --------
    >>> keys = np.array([7, 7, 8, 9, 9], dtype=np.uint64)
    >>> column = np.array([1, 1, 2, 2, 2], dtype=np.uint64)  # 8 and 9 agree here: 9 may be there twice by chance
    >>> copied_records(keys, [(Identifier((0,), np.inf), column)])
    array([0, 0, 1, 2, 3])
    """
    n = len(keys)
    _, first, record, times = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    if len(first) == n or len(first) < _FEW_DISTINCT * n:
        return None
    repeated = (times > 1) & (times <= max(_MOST_TIMES, _MOST_SHARE * n))
    copied = np.zeros(len(first), dtype=bool)
    for identifier, values in identified:
        _, value, shared = np.unique(values[first], return_inverse=True, return_counts=True)
        alone = repeated & (shared[value] == 1)
        if (times[alone] - 1).sum() > _IMPLAUSIBLE * identifier.coincidences(n):
            copied |= alone
    if not copied.any():
        return None
    # Rows that are no copies become records of their own.
    own = np.where(copied[record], record, len(first) + np.arange(n))
    return np.unique(own, return_inverse=True)[1].astype(np.int64)
