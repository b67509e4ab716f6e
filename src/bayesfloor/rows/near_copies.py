"""Rows that differ by rounding alone, such as a float32 export joined to its float64 original.

Random projections make points in a few dimensions of the rows; near-copies are close together there. How close is close
enough depends on the data: within a tolerance there must be several groups of points for every point that has a
neighbour a little beyond it. Chance has it the other way round, however dense or uneven the points are: five times the
distance makes at least five times as many pairs.
"""

from dataclasses import dataclass, replace

import numpy as np

from .._types import Floats, Keys, Mask, RowNumbers
from .keys import row_keys
from .scaling import Standard

__all__ = ["Projection", "cell_keys", "join_near_copies"]

# In standard deviations. The first is coarser than six digits; the last is as fine as sums of float64 are.
_TOLERANCES = 10.0 ** np.arange(-4, -13.5, -0.5)
_BEYOND = 5  # times the tolerance
_EXCESS = 3  # groups for each point with a neighbour beyond: chance makes one at most, and in sparse data an eighth
_FEWEST = 8  # groups: chance puts a pair of five within the tolerance, and eight of eight in one case of 400,000
_VERSIONS = 8  # of one record, exact copies not counted: more are measurements that lie together, as those of a session
_DIRECTIONS = 4  # N points are about N^(-1/4) apart: far more than a tolerance, even if there are millions
_WIDEST = 1e8  # deviations: values farther out do not make a column wider
_CONSTANT = 3e5  # deviations from 0: there a column is constant but for rounding, to six digits or finer
_DECIMALS = 3  # of counts, prices and the like
_CELL = 0.01  # wide beside the tolerances, so that near-copies share it, and narrow beside the range of the points


@dataclass(frozen=True, eq=False)
class Projection:
    """Rows as points in a few dimensions.

    Attributes
    ----------
    is_decimal : ndarray of shape (d,)
        Columns of decimal numbers, such as counts and prices: values that differ were meant to.
    standard : Standard
        Medians and deviations of the other columns.
    """

    is_decimal: Mask
    standard: Standard

    @classmethod
    def of(cls, X: Floats) -> "Projection":
        """From rows that show what the columns are like."""
        with np.errstate(over="ignore"):
            # float32 turns decimal numbers into others, and whole ones beyond 2^24 into other whole ones.
            is_decimal = ((np.round(X, _DECIMALS) == X) & (np.abs(X) < 2**24)).all(axis=0)
            others = X[:, ~is_decimal]
            standard = Standard.of(others, unit_variance=True)
            # Most values of a column may be one and the same, and noise. Then the others say how wide the column is,
            # but not marks of missing values such as 1e30.
            sizes = np.minimum(np.abs(standard.apply(others)), _WIDEST).mean(axis=0)
            deviations = standard.deviations * np.maximum(1.0, sizes / 10)
            # A column may be constant here and vary elsewhere.
            deviations = np.where(np.isfinite(deviations), deviations, 1.0)
            # Rounding is relative to the size of values far from 0; but the times of one day, counted from 1970, agree
            # in four digits and are not equal.
            away = np.abs(standard.medians) / deviations
            deviations = np.where(away < _CONSTANT, deviations * np.clip(away / 10, 1.0, 10.0), np.inf)
        return cls(is_decimal, replace(standard, deviations=deviations))

    def values(self, X: Floats, tolerance: float = 0.0) -> Floats:
        """Decimal numbers as whole ones, the other columns in deviations, rounded to multiples of the tolerance.

        Large deviations become logarithms: they are rounded relative to their size.
        """
        others = np.arcsinh(self.standard.apply(X[:, ~self.is_decimal]))
        values = np.empty_like(X)
        values[:, ~self.is_decimal] = np.rint(others / tolerance) * tolerance if tolerance else others
        with np.errstate(over="ignore"):
            values[:, self.is_decimal] = np.rint(X[:, self.is_decimal] * 10**_DECIMALS)
        return values

    def points(self, X: Floats) -> Floats:
        """Coordinates of each row, shape (N, directions)."""
        values, d = self.values(X), X.shape[1]
        # Rows with other decimal numbers are far away: each direction has 16 bits of their hash, as a number below 64.
        keys = row_keys(values[:, self.is_decimal])[:, None] >> np.arange(0, 64, 16, dtype=np.uint64)
        points = (keys & np.uint64(0xFFFF)).astype(np.float64) / 1024
        rng = np.random.default_rng(0x5EED)
        weights = rng.uniform(0.5, 1.0, (d, _DIRECTIONS)) * rng.choice([-1.0, 1.0], (d, _DIRECTIONS))
        for j in np.flatnonzero(~self.is_decimal):  # the last bits of a matrix product depend on the number of rows
            points += values[:, j, None] * weights[j]
        return points


def cell_keys(points: Floats) -> Keys:
    """Equal keys for points in one cell of a grid: those of near-copies nearly always share it."""
    return row_keys(np.floor(points / _CELL))


def join_near_copies(keys: Keys, points: Floats) -> tuple[Keys, float] | None:
    """The keys with one key for rows that differ by rounding alone, and the tolerance; None if there are none.

    Parameters
    ----------
    keys : ndarray of shape (N,)
        Equal for equal rows. Near-copies get the smallest of their keys.
    points : ndarray of shape (N, directions)
        By `Projection.points`.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> both = np.concatenate([X, X.astype(np.float32)])
    >>> joined, tolerance = join_near_copies(row_keys(both), Projection.of(both).points(both))
    >>> len(np.unique(joined))
    50
    """
    _, first, row = np.unique(row_keys(points), return_index=True, return_inverse=True)
    distinct = points[first]
    distance = _nearest(distinct, _TOLERANCES[0])[0]
    found, best = None, 0
    for tolerance in _TOLERANCES:
        has_near = distance < tolerance
        if has_near.sum() < 2 * _FEWEST:
            break
        group, apart = _groups(distinct[has_near], tolerance)
        sizes = np.bincount(group)
        is_record = (sizes > 1) & (sizes <= _VERSIONS)
        n_records, is_beyond = int(is_record.sum()), (apart < _BEYOND * tolerance) | (sizes > _VERSIONS)
        n_beyond = int((distance[~has_near] < _BEYOND * tolerance).sum() + is_beyond.sum())
        # Coarser tolerances join different records, finer ones leave versions beside their record.
        n_joined = int(sizes[is_record].sum()) - n_records
        if n_records >= max(_FEWEST, _EXCESS * n_beyond) and n_joined - n_beyond >= best:
            best = n_joined - n_beyond
            record = np.full(len(distinct), -1)
            record[has_near] = np.where(is_record[group], group, -1)
            found = record[row], float(tolerance)
    if found is None:
        return None
    record, tolerance = found
    smallest = np.full(record.max() + 1, np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(smallest, record[record >= 0], keys[record >= 0])
    return np.where(record >= 0, smallest[record], keys), tolerance


def _nearest(points: Floats, tolerance: float) -> tuple[Floats, RowNumbers]:
    """Distance of the nearest other point, and its number; infinity where it is farther than any that counts."""
    from scipy.spatial import cKDTree

    distance, nearest = cKDTree(points).query(points, k=2, p=np.inf, distance_upper_bound=_BEYOND * tolerance)
    return distance[:, 1], nearest[:, 1]


def _groups(points: Floats, tolerance: float) -> tuple[RowNumbers, Floats]:
    """Group of each point, and how far the first point of each group is from that of the nearest other one.

    Nearest points are joined, and then the first points of groups, until all of these are apart: where points are
    dense, groups do not become chains.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    group = np.arange(len(points))
    while True:
        first = np.unique(group, return_index=True)[1]
        distance, nearest = _nearest(points[first], tolerance)
        near = np.flatnonzero(distance < tolerance)
        if not len(near):
            return group, distance
        links = coo_array((np.ones(len(near), dtype=np.int8), (near, nearest[near])), shape=(len(first), len(first)))
        group = np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)[group]
