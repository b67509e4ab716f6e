"""The estimator that the paper's authors published as code, which is not the one they printed.

Their repository (mrtnoshad/Bayes_Error_Estimator) answers what the paper's Figure 2 shows; the printed method does not.
It differs from the print in four points, all kept here so that both can be compared fairly:

- radii are 1.0 to 1.5 times a distance taken from the data, so the weights extrapolate to 1.0 times that distance and
  not to radius 0;
- the ensemble averages estimates of the *error*, where Remark 7 averages density ratios;
- counts, which carry the class shares already, are multiplied by the shares again;
- classes are taken in the order of their labels.
"""

from typing import Any

import numpy as np
from scipy.optimize import linprog

from .._types import BallCounts, Codes, Floats
from ..counting._ball_counts import BallCounter
from ..rows.dataset import validate
from ..rows.scaling import safe_exponent
from ..utils.checks import check_choice, check_positive, check_whole, draw_seed
from .radii import mean_neighbour_distance
from .weights import chebyshev_weights, uniform_weights

__all__ = ["authors_code"]


_NEIGHBOUR = 9
_LOOKED_AT = 1000  # rows whose neighbours are measured
_FEW_ROWS, _FEW_COLUMNS = 2000, 10  # below both the distance is the bandwidth of a density estimate
_BANDWIDTHS = np.linspace(0.2, 1.5, 15)
_FOLDS = 20


def authors_code(
    X: Any,
    y: Any,
    random_state: Any = 0,
    *,
    weights: str = "chebyshev",
    n_nodes: int = 3,
    alpha: float = 0.5,
    n_jobs: int | None = None,
) -> float:
    """Bayes error by the estimator in the authors' published code, features as they are.

    Parameters
    ----------
    X : array-like of shape (N, d)
    y : array-like of shape (N,)
    random_state : int, RandomState or None, default 0
        Draws the folds that choose a bandwidth; without effect from 2,000 rows or ten columns on.
    weights : {"chebyshev", "arithmetic", "uniform"}, default "chebyshev"
    n_nodes : int, default 3
        Number of radii; at least 3 for the first two kinds of weights.
    alpha : float, default 0.5
        The radii lie between 1 and 1 + alpha times the base distance. Their code has 0.5 written into it; that this is
        the paper's alpha is our reading.
    n_jobs : int, optional
        Threads; None means all cores.

    Returns
    -------
    float
        As their code answers: it may be negative, or above the error of naming the largest class, and it depends on
        the order of the classes, beyond 1,000 rows on that of the rows, and on the units of the columns.

    References
    ----------
    .. [1] M. Noshad, https://github.com/mrtnoshad/Bayes_Error_Estimator

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 1000)
    >>> X = rng.normal(size=(1000, 10)) + 5 * y[:, None] * np.eye(10)[0]   # the true floor is 0.0062
    >>> round(authors_code(X, y), 3)
    0.006
    """
    check_choice("weights", weights, ("chebyshev", "arithmetic", "uniform"))
    check_whole("n_nodes", n_nodes, 1 if weights == "uniform" else 3, 64)
    check_positive("alpha", alpha)
    data = validate(X, y)
    points = np.ldexp(data.X, -safe_exponent(data.X))  # its unit does not matter, and squares stay finite
    nodes, weight = _ensemble(weights, n_nodes, points.shape[1])
    radii = base_radius(points, draw_seed(random_state), n_jobs) * (1 + alpha * nodes)
    counts = BallCounter(points, data.labels, data.n_classes, n_jobs).counts(radii)
    return float(weight @ _errors(counts, data.labels))


def base_radius(points: Floats, seed: int, n_jobs: int | None = None) -> float:
    """Distance in whose multiples the radii are: to the ninth neighbour, or for small tables a kernel's bandwidth."""
    n, d = points.shape
    if n >= _FEW_ROWS or d >= _FEW_COLUMNS:
        return mean_neighbour_distance(points, _NEIGHBOUR, np.arange(min(n, _LOOKED_AT)), n_jobs)
    return _bandwidth(points, np.random.default_rng(seed).permutation(n) % min(_FOLDS, n), n_jobs)


def _bandwidth(points: Floats, fold: Codes, n_jobs: int | None) -> float:
    """Width of a top-hat kernel under which the points of each fold are likeliest, given those of the others."""
    n, d = points.shape
    widths = _BANDWIDTHS * float(np.linalg.norm(points.std(axis=0)))
    if widths[0] == 0:
        return 1.0  # all points coincide: any radius holds all of them
    counts = BallCounter(points, np.zeros(n, dtype=np.int64), 1, n_jobs).counts(widths, None, None, fold)[:, 0]
    with np.errstate(divide="ignore"):  # a point that no kernel reaches has the likelihood 0
        # Density: points within the width, over its d-th power; what does not depend on the width is left out.
        likelihood = np.log(counts).sum(axis=0) - n * d * np.log(widths)
    return float(widths[likelihood.argmax()])


def _ensemble(kind: str, n_nodes: int, n_features: int) -> tuple[Floats, Floats]:
    """Nodes in (0, 1] and their weights."""
    if kind == "chebyshev":
        return chebyshev_weights(n_nodes, n_nodes - 2)
    if kind == "uniform":
        return uniform_weights(n_nodes)
    return relaxed_arithmetic_weights(n_nodes, n_features)


def relaxed_arithmetic_weights(n_nodes: int, n_features: int) -> tuple[Floats, Floats]:
    """Nodes l / L and weights by the code's linear programme: moments are kept small, not made to vanish.

    Minimises e subject to sum w = 1, |w_l| <= e / 2, and sum_l w_l l^(i/d') <= 2 e for i = 1 .. L - 1.

    Examples
    --------
    >>> nodes, weights = relaxed_arithmetic_weights(3, 10)
    >>> nodes.round(2).tolist(), round(float(weights.sum()), 9)
    ([0.33, 0.67, 1.0], 1.0)
    """
    steps = np.arange(1, n_nodes + 1, dtype=np.float64)
    root = n_nodes - 2 if n_nodes <= n_features + 1 else n_features
    moments = steps ** (np.arange(1, n_nodes)[:, None] / root)
    # Variables are w_1 .. w_L and e.
    limits = np.vstack(
        [
            np.hstack([moments, np.full((n_nodes - 1, 1), -2.0)]),
            np.hstack([np.eye(n_nodes), np.full((n_nodes, 1), -0.5)]),
            np.hstack([-np.eye(n_nodes), np.full((n_nodes, 1), -0.5)]),
        ]
    )
    found = linprog(
        np.append(np.zeros(n_nodes), 1.0),
        A_ub=limits,
        b_ub=np.zeros(len(limits)),
        A_eq=np.append(np.ones(n_nodes), 0.0)[None],
        b_eq=[1.0],
        bounds=(None, None),
    )
    return steps / n_nodes, np.asarray(found.x[:-1])


def _errors(counts: BallCounts, own: Codes) -> Floats:
    """Estimate of the error at each radius; the first class has no terms."""
    n, n_classes, n_radii = counts.shape
    priors = np.bincount(own, minlength=n_classes) / n
    kept = np.zeros(n_radii)
    for k in range(1, n_classes):
        around = counts[own == k] * priors[:, None]
        around[:, k] += priors[k]  # the centre counts for its own class
        ratio = around[:, :k].max(axis=1) / around[:, k]
        kept += priors[k] * np.maximum(0.0, 1.0 - ratio).mean(axis=0)
    return np.asarray(1 - priors[0] - kept)
