"""Put the points into units in which squared distances neither overflow nor vanish.

Medians do not depend on the order of the rows, and the scale is rounded because the last bits of a sum do: otherwise
those bits would decide ties at a radius.
"""

import numpy as np
from numpy.typing import NDArray

from .validate import row_keys

__all__ = ["class_keys", "order_by_content", "safe_exponent", "standardize"]

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

# Significant bits kept of a scale: far fewer than the order of a sum can change (the last few of 53), and
# enough that a change of units moves no count one would notice.
_BITS = 32
# Values farther from the median than this many robust standard deviations do not widen the scale: one
# entry of 1e20 must not flatten its column.
_OUTLYING = 20.0
# No ball reaches this far, and no square of it overflows.
_FAR = 1e140
_LARGEST = 490


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
    n, d = X.shape
    if d == 0:
        return X.copy(), 1.0
    points, deviation = np.empty_like(X), np.empty(d)
    quarters = np.unique([(n - 1) // 4, (n - 1) // 2, (3 * (n - 1) + 3) // 4])
    for q in range(d):
        # A quarter of each value: the difference of two numbers near 1.8e308 must not overflow.
        column = np.ldexp(X[:, q], -2)
        ranked = np.partition(column, quarters)
        points[:, q] = column - ranked[quarters[len(quarters) // 2]]
        robust = (ranked[quarters[-1]] - ranked[quarters[0]]) / 1.349
        scale = robust if robust > 0 else np.abs(points[:, q]).max() / _OUTLYING
        inner = np.clip(points[:, q] / scale, -_OUTLYING, _OUTLYING)
        deviation[q] = scale * inner.std()
    if unit_variance:
        with np.errstate(over="ignore"):
            points /= _rounded(deviation)
        unit = 1.0
    else:
        exponent = min(int(np.frexp(deviation.max())[1]), 1020)
        with np.errstate(over="ignore"):
            points = np.ldexp(points, -exponent)
        unit = float(np.ldexp(1.0, exponent + 2))
    return np.clip(points, -_FAR, _FAR), unit


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


def class_keys(keys: NDArray[np.uint64], labels: Rows, n_classes: int) -> NDArray[np.uint64]:
    """One number per class that depends on its rows and not on its name: the sum of their keys."""
    sums = np.zeros(n_classes, dtype=np.uint64)
    np.add.at(sums, labels, keys)
    return sums


def order_by_content(points: Floats, labels: Rows, n_classes: int) -> Rows:
    """Rows sorted by distance from the middle, ties by a hash of their values, copies by their class.

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
    return np.lexsort((class_keys(keys, labels, n_classes)[labels], keys, rank))
