"""Ensemble weights: nodes in [low, high], and weights that extrapolate a polynomial to zero.

A weighted sum of base estimates at the nodes s_i cancels the terms s, s^2, ..., s^order of their bias
if sum w_i = 1 and sum w_i s_i^k = 0 for k = 1..order, that is, if the weights reproduce every polynomial
of degree <= order at 0. Of all such weights the ones of least norm add the least noise (Noshad, Xu and
Hero, arXiv 1909.07192, Theorem 8). In a basis p_0, ..., p_m that is orthonormal over the nodes they are

    w_i = sum_k p_k(0) p_k(s_i),

which for Chebyshev nodes has a closed form (Theorem 9; the basis is T_k), and for equally spaced nodes is computed in
exact rational arithmetic (the basis is Gram's polynomials): floating point loses every digit there.

The paper says that the arithmetic weights "decrease monotonically" (Figure 6) and that the ensemble is "a convex
combination" (proof of Theorem 10). Neither holds: for n_nodes = order + 1 they are (-1)^(l-1) binom(n_nodes, l),
which reaches 2e29 at 101 nodes, and both kinds have negative weights.
"""

import warnings
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from .._types import Floats
from ..errors import BayesfloorWarning, ParameterError
from ..utils.checks import brief, check_number, check_whole, numbers_from

__all__ = ["arithmetic_weights", "chebyshev_weights", "minimum_norm_weights", "uniform_weights"]


# A weighted sum of float64 numbers near 1 is off by about sum |w| * 2^-53.
_TOLERATED_LOSS = 1e-3
MOST_NODES = 4096  # weights of high order need a matrix of nodes times moments, and exact ones take long


def chebyshev_weights(n_nodes: int, order: int, low: float = 0.0, high: float = 1.0) -> tuple[Floats, Floats]:
    """Chebyshev nodes on [low, high] and their minimum-norm weights, in closed form.

    Parameters
    ----------
    n_nodes : int
        Number of nodes L.
    order : int
        Number of vanishing moments m, at most ``n_nodes - 1``.
    low, high : float
        Ends of the interval, ``0 <= low < high``.

    Returns
    -------
    nodes, weights : ndarray of shape (n_nodes,)
        Nodes ascending.

    Notes
    -----
    With x_i = cos((i + 1/2) pi / L) and x_0 = -(high + low) / (high - low), the place of 0,
    ``w_i = (2/L) sum_{k=0..m} T_k(x_0) T_k(x_i) - 1/L``. The paper's equation (25) is the case low = 0, m = d.

    Examples
    --------
    >>> nodes, weights = chebyshev_weights(4, 2)
    >>> bool(abs(weights @ (5 - 3 * nodes + 2 * nodes**2) - 5) < 1e-12)
    True
    """
    n_nodes, order, low, high = _check(n_nodes, order, low, high)
    # Ascending nodes: the angle runs from pi down to 0.
    angle = (np.arange(n_nodes)[::-1] + 0.5) * np.pi / n_nodes
    nodes = (high + low) / 2 + (high - low) / 2 * np.cos(angle)
    k = np.arange(order + 1)
    with np.errstate(over="ignore", invalid="ignore"):
        # T_k(-x) = (-1)^k T_k(x), and T_k(x) = cosh(k arccosh x) for x >= 1.
        at_zero = (-1.0) ** k * np.cosh(k * np.arccosh((high + low) / (high - low)))
        weights = 2 / n_nodes * (np.cos(np.outer(angle, k)) @ at_zero) - 1 / n_nodes
    _warn_if_lossy("Chebyshev", weights, order)
    return nodes, weights


def arithmetic_weights(n_nodes: int, order: int, low: float = 0.0, high: float = 1.0) -> tuple[Floats, Floats]:
    """Equally spaced nodes on (low, high] and their minimum-norm weights, correctly rounded.

    Parameters
    ----------
    n_nodes : int
        Number of nodes L.
    order : int
        Number of vanishing moments m, at most ``n_nodes - 1``.
    low, high : float
        Ends of the interval; the nodes are ``low + (high - low) l / L`` for l = 1..L.

    Returns
    -------
    nodes, weights : ndarray of shape (n_nodes,)
        Nodes ascending.

    Warns
    -----
    BayesfloorWarning
        If the weights are so large that a float64 sum of weighted values has no correct digits left.

    Examples
    --------
    >>> nodes, weights = arithmetic_weights(4, 3)
    >>> nodes.tolist(), weights.tolist()
    ([0.25, 0.5, 0.75, 1.0], [4.0, -6.0, 4.0, -1.0])
    """
    n_nodes, order, low, high = _check(n_nodes, order, low, high)
    nodes = low + (high - low) * np.arange(1, n_nodes + 1) / n_nodes
    # In units of the spacing the nodes are 1..L and zero sits at -low L / (high - low).
    zero = -Fraction(low) * n_nodes / (Fraction(high) - Fraction(low))
    points = [zero, *map(Fraction, range(1, n_nodes + 1))]
    # Monic Gram polynomials: P_{k+1} = (x - (L+1)/2) P_k - b_k P_{k-1}, with b_k = |P_k|^2 / |P_{k-1}|^2.
    middle = Fraction(n_nodes + 1, 2)
    previous, current, norm = [Fraction(0)] * len(points), [Fraction(1)] * len(points), Fraction(n_nodes)
    exact = [Fraction(0)] * n_nodes
    for k in range(order + 1):
        factor = current[0] / norm
        exact = [w + factor * p for w, p in zip(exact, current[1:], strict=True)]
        b = Fraction(k**2 * (n_nodes**2 - k**2), 4 * (4 * k**2 - 1)) if k else Fraction(0)
        b_next = Fraction((k + 1) ** 2 * (n_nodes**2 - (k + 1) ** 2), 4 * (4 * (k + 1) ** 2 - 1))
        following = [(x - middle) * p - b * q for x, p, q in zip(points, current, previous, strict=True)]
        previous, current, norm = current, following, norm * b_next
    weights = np.array([_to_float(w) for w in exact])
    _warn_if_lossy("arithmetic", weights, order)
    return nodes, weights


def uniform_weights(n_nodes: int, low: float = 0.0, high: float = 1.0) -> tuple[Floats, Floats]:
    """Equally spaced nodes on (low, high], all with the same weight: a plain average.

    Examples
    --------
    >>> nodes, weights = uniform_weights(4)
    >>> weights.tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    n_nodes, _, low, high = _check(n_nodes, 0, low, high)
    return low + (high - low) * np.arange(1, n_nodes + 1) / n_nodes, np.full(n_nodes, 1 / n_nodes)


def minimum_norm_weights(nodes: ArrayLike, order: int) -> Floats:
    """Minimum-norm weights with `order` vanishing moments at any distinct positive nodes.

    Nodes that are radii make the moments r, r^2, ... vanish, as printed; nodes that are squared radii r^2, r^4, ....
    Solved by least squares in the Chebyshev basis of the nodes' range: monomials are hopeless there.

    Parameters
    ----------
    nodes : array-like of shape (L,)
    order : int
        At most L - 1.

    Examples
    --------
    >>> minimum_norm_weights([1.0, 2.0], 1)
    array([ 2., -1.])
    """
    given, nodes = nodes, numbers_from("nodes", nodes)
    if nodes.ndim != 1 or not len(nodes) or not np.isfinite(nodes).all() or not (nodes > 0).all():
        raise ParameterError(f"nodes must be a list of positive, finite numbers, got {brief(given)}")
    _check(len(nodes), order, 0.0, 1.0)
    low, high = nodes.min(), nodes.max()
    if len(nodes) == 1 or order == 0:
        return np.full(len(nodes), 1 / len(nodes))
    if low == high:
        raise ParameterError(f"nodes must differ for order {order}, all are {low}")
    to_basis = np.polynomial.chebyshev.chebvander
    system = to_basis((2 * nodes - low - high) / (high - low), order).T
    target = to_basis(np.array([-(high + low) / (high - low)]), order)[0]
    weights = np.linalg.lstsq(system, target, rcond=None)[0]
    if not np.allclose(system @ weights, target, rtol=1e-6, atol=0):
        raise ParameterError(f"{len(nodes)} nodes of which some nearly coincide cannot reach order {order}")
    _warn_if_lossy("minimum-norm", weights, order)
    return np.asarray(weights)


def _check(n_nodes: int, order: int, low: float, high: float) -> tuple[int, int, float, float]:
    """Return the arguments as plain numbers: exact arithmetic knows no numpy integers."""
    n_nodes = check_whole("n_nodes", n_nodes, 1, MOST_NODES)
    order = check_whole("order", order, 0, n_nodes - 1, "n_nodes less 1")
    low, high = check_number("low", low, 0), check_number("high", high, 0, 1e300)  # times the nodes it is finite
    if not low < high:
        raise ParameterError(f"low and high must satisfy 0 <= low < high, got low={low}, high={high}")
    return n_nodes, order, low, high


def _to_float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _warn_if_lossy(kind: str, weights: Floats, order: int) -> None:
    size = np.abs(weights).sum()
    if not np.isfinite(size):
        raise ParameterError(f"{kind} weights of order {order} overflow on these nodes: lower the order")
    if size * 2.0**-53 > _TOLERATED_LOSS:
        warnings.warn(
            f"{kind} weights of order {order} reach {np.abs(weights).max():.1e}: a float64 sum weighted with them "
            "has no correct digits. Use Chebyshev nodes or a lower order",
            BayesfloorWarning,
            stacklevel=3,
        )
