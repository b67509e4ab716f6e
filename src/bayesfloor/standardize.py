"""Put the points into units in which squared distances neither overflow nor vanish.

Rounded shift and scale make the outcome independent of the order of the rows: sums taken in another
order differ in the last bits, and without the rounding those bits would decide ties at a radius.
"""

import numpy as np
from numpy.typing import NDArray

from .validate import row_keys

__all__ = ["order_by_content", "standardize"]

Floats = NDArray[np.float64]

# Significant bits kept of a shift or a scale: far fewer than the order of a sum can change (the last few
# of 53), and enough that a change of units moves no count one would notice.
_BITS = 32


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
    if X.shape[1] == 0:
        return X, 1.0
    # A power of two per column brings the largest entry to [4, 8): no sum or square can overflow.
    exponents = np.frexp(np.abs(X).max(axis=0))[1] - 3
    points = np.ldexp(X, -exponents)
    # The shift is as fine as the spread needs, so that 1e8 + noise keeps its noise.
    spread = points.max(axis=0) - points.min(axis=0)
    grid = np.ldexp(1.0, np.frexp(spread)[1] - _BITS)
    points -= np.round(points.mean(axis=0) / grid) * grid
    # The shift may leave a tiny spread: bring that to [4, 8) as well before squaring.
    exponents_left = np.frexp(np.abs(points).max(axis=0))[1] - 3
    points = np.ldexp(points, -exponents_left)
    if unit_variance:
        deviation = np.sqrt(np.mean(points**2, axis=0) - np.mean(points, axis=0) ** 2)
        return points / _rounded(deviation), 1.0
    total = exponents + exponents_left
    points = np.ldexp(points, total - total.max())
    return points, float(np.ldexp(1.0, total.max()))


def _rounded(values: Floats) -> Floats:
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.round(np.ldexp(mantissa, _BITS)), exponent - _BITS))


def order_by_content(points: Floats, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows sorted by distance from the mean, ties by a hash of their values, copies by their class.

    Random or systematic choices among rows start from this order, so that they depend neither on the order
    in which the rows came nor, but for rounding, on rotations of the data.

    Examples
    --------
    >>> order_by_content(np.array([[5.0], [0.0], [-4.0]]), np.array([0, 0, 1]))
    array([1, 2, 0])
    """
    squared = ((points - points.mean(axis=0)) ** 2).sum(axis=1)
    # Rounded, because the last bits of a mean depend on the order of its terms.
    rank = np.round(squared / max(squared.mean(), np.finfo(np.float64).tiny), 9)
    # Among copies of one point the rarer class first: class sizes do not depend on the classes' names.
    class_size = np.bincount(labels)[labels]
    return np.lexsort((labels, class_size, row_keys(points), rank))
