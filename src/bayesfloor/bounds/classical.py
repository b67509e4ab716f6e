"""Point estimators of the Bayes error from the literature, for comparison.

All are called as ``estimator(X, y, random_state=0)`` and return a number. Features are brought to unit variance, so
that their units do not matter; votes and distances that tie favour no class and no row (see `votes`).
"""

import numbers
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._types import Floats
from ..balls.learner import BenchmarkLearner
from ..errors import BayesfloorWarning, ParameterError
from .bounds import bhattacharyya, cover_hart, cover_hart_lower, henze_penrose, mahalanobis, nearest_neighbour_bounds
from .plugins import kde_plugin, knn_plugin, nearest_neighbour_ratio
from .votes import Sample, arranged, nearest_votes, odd_near_root, sample_votes, vote_error

__all__ = [
    "ESTIMATORS",
    "benchmark_learner",
    "best_knn_error",
    "best_knn_midpoint",
    "bhattacharyya_midpoint",
    "cover_hart_midpoint",
    "cross_validated_error",
    "henze_penrose_midpoint",
    "kde_plugin",
    "knn_bounds_midpoint",
    "knn_error",
    "knn_extrapolation",
    "knn_plugin",
    "mahalanobis_upper",
    "nearest_neighbour_ratio",
    "paper_learner",
]


_PARTS = (8, 6, 4, 3, 2, 1)  # the data are cut into so many parts for the extrapolation
_REPEATS = 3


def knn_error(X: Any, y: Any, random_state: Any = 0, *, k: int | None = None, n_jobs: int | None = None) -> float:
    """Leave-one-out error of the majority of the k nearest neighbours; k is near sqrt(N) and odd by default.

    Examples
    --------
    >>> round(knn_error([[0.0], [1.0], [3.0], [3.5], [7.0], [8.0]], [0, 0, 0, 1, 1, 1], k=1), 4)
    0.3333
    """
    sample = arranged(X, y)
    return vote_error(sample_votes(sample, k, n_jobs), sample.labels, _seed(random_state))


def best_knn_error(X: Any, y: Any, random_state: Any = 0, *, n_jobs: int | None = None) -> float:
    """Smallest leave-one-out error over k = 1, 3, 5, 9, 17, ... up to 2 sqrt(N): optimistic, being a minimum.

    Examples
    --------
    >>> round(best_knn_error([[0.0], [1.0], [3.0], [3.5], [7.0], [8.0]], [0, 0, 0, 1, 1, 1]), 4)  # k = 3: only 3.5
    0.1667
    """
    return _best_knn_error(arranged(X, y), _seed(random_state), n_jobs)


def _best_knn_error(sample: Sample, seed: int, n_jobs: int | None) -> float:
    n = len(sample.labels)
    ladder = [k for k in (1, *(2**i + 1 for i in range(1, 30))) if k <= min(max(1, 2 * np.sqrt(n)), n - 1)]
    votes = nearest_votes(sample.points, sample.labels, sample.n_classes, ladder, n_jobs)
    return min(vote_error(some, sample.labels, seed) for some in votes)


def best_knn_midpoint(X: Any, y: Any, random_state: Any = 0, *, n_jobs: int | None = None) -> float:
    """Midpoint of `best_knn_error` and its Cover-Hart map.

    Examples
    --------
    >>> round(best_knn_midpoint([[0.0], [1.0], [3.0], [3.5], [7.0], [8.0]], [0, 0, 0, 1, 1, 1]), 4)
    0.1292
    """
    sample = arranged(X, y)
    error = _best_knn_error(sample, _seed(random_state), n_jobs)
    return (cover_hart_lower(error, sample.n_classes) + error) / 2


def knn_extrapolation(
    X: Any, y: Any, random_state: Any = 0, *, exponent: float | None = None, n_jobs: int | None = None
) -> float:
    """k-NN error of parts of the data, N/8 to N rows, extrapolated to infinitely many (Snapp and Xu 1995).

    Fits e(n) = E + a n^(-exponent) with a >= 0 by least squares, k being the same for all n (odd, near sqrt(N/8)). By
    default the exponent is that of smooth densities, 2/d, but at most 1 and at least 1/4: less multiplies the noise
    and, measured on Gaussians of 10 to 50 features, leaves an estimate that is far too low.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 1000)
    >>> X = rng.normal(size=(1000, 2)) + 2 * y[:, None] * [1, 0]
    >>> round(knn_extrapolation(X, y), 2)  # the true floor is 0.159
    0.17
    """
    if exponent is not None and not (isinstance(exponent, numbers.Real) and exponent > 0):
        raise ParameterError(f"exponent must be None or a positive number, got {exponent!r}")
    sample = arranged(X, y)
    n, d = sample.points.shape
    power = min(1.0, max(0.25, 2 / d)) if exponent is None else float(exponent)
    # Parts of fewer than four rows have no votes to speak of.
    parts = [m for m in _PARTS if n // m >= 4]
    errors = _errors_of_parts(sample, parts, odd_near_root(n // parts[0]), _seed(random_state), n_jobs)
    slow = np.array([float(m) for m in parts]) ** power  # (n / size)^power
    slope = max(0.0, float(np.cov(slow, errors)[0, 1] / slow.var(ddof=1))) if len(parts) > 1 else 0.0
    return min(sample.most, max(0.0, float(errors.mean() - slope * slow.mean())))


def _errors_of_parts(sample: Sample, parts: list[int], k: int, seed: int, n_jobs: int | None) -> Floats:
    """Mean k-NN error when the data are cut into so many random parts, each part by itself."""
    rng = np.random.default_rng(seed)
    errors = np.empty(len(parts))
    for i, n_parts in enumerate(parts):
        found = []
        for _ in range(_REPEATS if n_parts > 1 else 1):
            for rows in np.array_split(rng.permutation(len(sample.labels)), n_parts):
                labels = sample.labels[rows]
                (votes,) = nearest_votes(sample.points[rows], labels, sample.n_classes, [k], n_jobs)
                found.append(vote_error(votes, labels, int(rng.integers(2**31))))
        errors[i] = np.mean(found)
    return errors


def henze_penrose_midpoint(X: Any, y: Any, random_state: Any = 0, *, n_jobs: int | None = None) -> float:
    """Midpoint of `bounds.henze_penrose`.

    Examples
    --------
    >>> round(henze_penrose_midpoint([[0.0], [1.0], [3.0], [3.5], [7.0], [8.0]], [0, 0, 0, 1, 1, 1]), 4)
    0.1292
    """
    return henze_penrose(X, y, n_jobs=n_jobs).midpoint


def cover_hart_midpoint(X: Any, y: Any, random_state: Any = 0, *, n_jobs: int | None = None) -> float:
    """Midpoint of `bounds.cover_hart`.

    Examples
    --------
    >>> round(cover_hart_midpoint([[0.0], [1.0], [3.0], [3.5], [7.0], [8.0]], [0, 0, 0, 1, 1, 1]), 4)
    0.2723
    """
    return cover_hart(X, y, n_jobs=n_jobs).midpoint


def knn_bounds_midpoint(
    X: Any, y: Any, random_state: Any = 0, *, k: int | None = None, n_jobs: int | None = None
) -> float:
    """Midpoint of `bounds.nearest_neighbour_bounds`.

    Examples
    --------
    >>> round(knn_bounds_midpoint([[0.0], [1.0], [3.0], [3.5], [7.0], [8.0]], [0, 0, 0, 1, 1, 1], k=1), 4)
    0.25
    """
    return nearest_neighbour_bounds(X, y, k, n_jobs=n_jobs).midpoint


def bhattacharyya_midpoint(X: Any, y: Any, random_state: Any = 0) -> float:
    """Midpoint of `bounds.bhattacharyya`.

    Examples
    --------
    >>> round(bhattacharyya_midpoint([[-1.0], [1.0], [3.0], [5.0]], [0, 0, 1, 1]), 4)  # B = exp(-4^2 / 16)
    0.1095
    """
    return bhattacharyya(X, y).midpoint


def mahalanobis_upper(X: Any, y: Any, random_state: Any = 0) -> float:
    """Upper limit of `bounds.mahalanobis`.

    Examples
    --------
    >>> round(mahalanobis_upper([[-1.0], [1.0], [3.0], [5.0]], [0, 0, 1, 1]), 4)
    0.1667
    """
    return mahalanobis(X, y).upper


def cross_validated_error(X: Any, y: Any, random_state: Any = 0, *, classifier: Any = None) -> float:
    """Error of a classifier in five shuffled, stratified folds; default a forest of 300 trees.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 1000)
    >>> X = rng.normal(size=(1000, 2)) + 2 * y[:, None] * [1, 0]
    >>> round(cross_validated_error(X, y, classifier=LogisticRegression()), 2)  # the true floor is 0.159
    0.16
    """
    from sklearn.base import clone
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import StratifiedKFold

    sample, seed = arranged(X, y), _seed(random_state)
    model = RandomForestClassifier(300, random_state=seed) if classifier is None else classifier
    points = np.clip(sample.points, -1e6, 1e6)  # in standard deviations: trees hold numbers in single precision
    n_folds = min(5, int(np.bincount(sample.labels).min()))
    errors = 0
    for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(points, sample.labels):
        fitted = clone(model).fit(points[train], sample.labels[train])
        errors += int((fitted.predict(points[test]) != sample.labels[test]).sum())
    return errors / len(sample.labels)


def benchmark_learner(X: Any, y: Any, random_state: Any = 0, *, n_jobs: int | None = None) -> float:
    """`BenchmarkLearner` with radii from the data, whatever it thinks of its own reliability.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 1000)
    >>> X = rng.normal(size=(1000, 2)) + 2 * y[:, None] * [1, 0]
    >>> round(benchmark_learner(X, y), 2), round(paper_learner(X, y), 2)  # the true floor is 0.159
    (0.16, 0.01)
    """
    return _learned(BenchmarkLearner(random_state=random_state, n_jobs=n_jobs), X, y)


def paper_learner(X: Any, y: Any, random_state: Any = 0, *, n_jobs: int | None = None) -> float:
    """`BenchmarkLearner` with the radii of the paper, on features of unit variance.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> paper_learner(rng.normal(size=(1000, 20)), rng.integers(0, 2, 1000))  # pure noise, but all balls are empty
    0.0
    """
    return _learned(BenchmarkLearner(radii="paper", random_state=random_state, n_jobs=n_jobs), X, y)


def _learned(learner: BenchmarkLearner, X: Any, y: Any) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesfloorWarning)
        return learner.fit(X, y).bayes_error_


def _seed(random_state: Any) -> int:
    return int(check_random_state(random_state).randint(2**31))


ESTIMATORS: dict[str, Callable[..., float]] = {
    "benchmark learner": benchmark_learner,
    "benchmark learner, paper's radii": paper_learner,
    "k-NN error": knn_error,
    "best k-NN error": best_knn_error,
    "best k-NN error, Cover-Hart midpoint": best_knn_midpoint,
    "k-NN plug-in": knn_plugin,
    "kernel density plug-in": kde_plugin,
    "k-NN extrapolation": knn_extrapolation,
    "nearest-neighbour ratio": nearest_neighbour_ratio,
    "Henze-Penrose midpoint": henze_penrose_midpoint,
    "Cover-Hart midpoint": cover_hart_midpoint,
    "k-NN bounds midpoint": knn_bounds_midpoint,
    "Bhattacharyya midpoint": bhattacharyya_midpoint,
    "Mahalanobis upper bound": mahalanobis_upper,
    "cross-validated forest": cross_validated_error,
}
