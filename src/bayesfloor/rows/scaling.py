"""Put the points into units in which squared distances neither overflow nor vanish.

Medians do not depend on the order of the rows, and the scale is rounded because the last bits of a sum do: otherwise
those bits would decide ties at a radius.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .._types import Codes, Floats, RowNumbers
from .blocks import LARGE, reference_rows
from .keys import row_keys

__all__ = ["Standard", "class_keys", "order_by_content", "safe_exponent", "spread_out", "standardize"]


# Significant bits kept of a scale: far fewer than the order of a sum can change (the last few of 53), and
# enough that a change of units moves no count one would notice.
_BITS = 32
# Values farther from the median than this many robust standard deviations do not widen the scale: one
# entry of 1e20 must not flatten its column.
_OUTLYING = 20.0
# No ball reaches this far, and no square of it overflows.
_FAR = 1e140
_LARGEST = 490
# Exponents of a column's largest value beyond which it is multiplied by a power of two first: differences of numbers
# near 1.8e308 overflow, and those near 1e-308 have no digits left.
_TOP, _BOTTOM = 1020, -500
_NOTHING = 2.0**-960  # beside values of more than 2^-500: rows that differ by less are equal


@dataclass(frozen=True, eq=False)
class Standard:
    """Medians and deviations of columns, and how points are made of them.

    Attributes
    ----------
    shifts : ndarray of shape (d,)
        Columns are multiplied by so many powers of two before anything else.
    medians, deviations : ndarray of shape (d,)
        Of the columns so multiplied.
    unit_variance : bool
    """

    shifts: NDArray[np.int64]
    medians: Floats
    deviations: Floats
    unit_variance: bool

    @classmethod
    def of(cls, X: Floats, *, unit_variance: bool) -> "Standard":
        """Of these rows, finite and with no constant column."""
        n, d = X.shape
        medians, deviations = np.empty(d), np.empty(d)
        shifts = np.zeros(d, dtype=np.int64)
        quarters = np.unique([(n - 1) // 4, (n - 1) // 2, (3 * (n - 1) + 3) // 4])
        for q in range(d):
            exponent = int(np.frexp(np.abs(X[:, q]).max())[1])
            shifts[q] = -2 if exponent > _TOP else -exponent if exponent < _BOTTOM else 0
            column = np.ldexp(X[:, q], shifts[q])
            ranked = np.partition(column, quarters)
            medians[q] = ranked[quarters[len(quarters) // 2]]
            column -= medians[q]
            robust = (ranked[quarters[-1]] - ranked[quarters[0]]) / 1.349
            scale = robust if robust > _NOTHING else np.abs(column).max() / _OUTLYING
            # Of a sample a column may be constant though it varies elsewhere: it then counts for nothing.
            with np.errstate(over="ignore"):  # what is so far away is clipped
                clipped = np.clip(column / scale, -_OUTLYING, _OUTLYING) if scale > 0 else column
            deviations[q] = scale * clipped.std() if scale > 0 else np.inf
        return cls(shifts, medians, deviations, unit_variance)

    @property
    def exponents(self) -> NDArray[np.int64]:
        """Of each deviation in the units of its column: it is below two to the power of this.

        Examples
        --------
        >>> Standard.of(np.array([[0.0, 0.0], [1.0, 5e-324]]), unit_variance=True).exponents.tolist()
        [0, -1074]
        """
        return np.frexp(self.deviations[np.isfinite(self.deviations)])[1] - self.shifts[np.isfinite(self.deviations)]

    @property
    def _exponent(self) -> int:
        return min(int(self.exponents.max(initial=-1080)), 1022) if len(self.exponents) else 0

    @property
    def unit(self) -> float:
        """Length of one unit of the points in the units of the columns; 1 if each has its own."""
        return 1.0 if self.unit_variance or not len(self.medians) else float(np.ldexp(1.0, self._exponent))

    def __getitem__(self, columns: RowNumbers) -> "Standard":
        """Of these columns, in this order."""
        return replace(
            self, shifts=self.shifts[columns], medians=self.medians[columns], deviations=self.deviations[columns]
        )

    def apply(self, X: Floats) -> Floats:
        """Points."""
        if not len(self.medians):
            return X.copy()
        points = np.empty_like(X)
        with np.errstate(over="ignore"):
            for q, median in enumerate(self.medians):
                points[:, q] = np.ldexp(X[:, q], self.shifts[q]) - median
            if self.unit_variance:
                points /= _rounded(self.deviations)
            else:
                points = np.ldexp(points, -(self._exponent + self.shifts))
        return np.clip(points, -_FAR, _FAR)


def standardize(X: Floats, *, unit_variance: bool) -> tuple[Floats, float]:
    """Centre the columns of `X` and bring them to a safe scale.

    Parameters
    ----------
    X : ndarray of shape (N, d)
        Finite, with no constant column.
    unit_variance : bool
        Divide each column by its own standard deviation (then the units of the features do not matter);
        otherwise divide all columns by one common power of two, which changes no comparison of distances.

    Returns
    -------
    points : ndarray of shape (N, d)
    unit : float
        Length of one unit of `points` in the units of `X`; 1 if `unit_variance`.

    Examples
    --------
    >>> points, unit = standardize(np.array([[0.0], [1e300], [2e300]]), unit_variance=True)
    >>> points.ravel().round(4)
    array([-1.2247,  0.    ,  1.2247])
    """
    reference = X if len(X) <= LARGE else X[reference_rows(len(X))]
    standard = Standard.of(reference, unit_variance=unit_variance)
    return standard.apply(X), standard.unit


def _rounded(values: Floats) -> Floats:
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.round(np.ldexp(mantissa, _BITS)), exponent - _BITS))


def safe_exponent(*matrices: Floats) -> int:
    """Power of two to divide by so that squared distances neither overflow nor vanish; mostly 0.

    The largest value is brought to 2^490, whose square is finite: what is 300 orders of magnitude smaller still
    counts.

    Examples
    --------
    >>> safe_exponent(np.array([[3.0]])), safe_exponent(np.array([[2.0**600]]))
    (0, 111)
    """
    largest = max(float(np.abs(matrix).max(initial=0.0)) for matrix in matrices)
    exponent = int(np.frexp(largest)[1])
    if exponent > _LARGEST:
        return exponent - _LARGEST
    return exponent if exponent < -_LARGEST else 0


def class_keys(keys: NDArray[np.uint64], labels: Codes, n_classes: int) -> NDArray[np.uint64]:
    """One number per class that depends on its rows and not on its name: the sum of their keys."""
    sums = np.zeros(n_classes, dtype=np.uint64)
    np.add.at(sums, labels, keys)
    return sums


def order_by_content(points: Floats, labels: Codes, n_classes: int, groups: Codes | None = None) -> RowNumbers:
    """Rows sorted by distance from the middle, ties by a hash of their values, copies by their class and group.

    Random or systematic choices among rows start from this order, so that they depend neither on the order in
    which rows and classes came nor, but for rounding, on rotations of the data.

    Examples
    --------
    >>> order_by_content(np.array([[5.0], [0.0], [-4.0]]), np.array([0, 0, 1]), 2)
    array([1, 2, 0])
    """
    near = np.clip(points, -1e6, 1e6)  # beyond, the order no longer matters
    squared = ((near - near.mean(axis=0)) ** 2).sum(axis=1)
    # Rounded, because the last bits of a mean depend on the order of its terms.
    rank = np.round(squared / max(squared.mean(), np.finfo(np.float64).tiny), 9)
    keys = row_keys(np.round(near, 6))  # of copies in other units the last bits differ
    ties = () if groups is None else (groups,)
    return np.lexsort((*ties, class_keys(keys, labels, n_classes)[labels], keys, rank))


def spread_out(points: Floats, labels: Codes, n_classes: int, n: int) -> RowNumbers:
    """Up to `n` rows, evenly spaced over the rows sorted by their distance from the mean.

    Examples
    --------
    >>> spread_out(np.arange(5.0)[:, None], np.array([0, 1, 0, 1, 0]), 2, 2)
    array([2, 4])
    """
    if len(points) <= n:
        return np.arange(len(points))
    order = order_by_content(points, labels, n_classes)
    return order[np.linspace(0, len(points) - 1, n).round().astype(np.int64)]
