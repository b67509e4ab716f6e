"""Point estimators of the Bayes error from the literature, for comparison.

All are called as ``estimator(X, y, random_state=0)`` and return a number. Features are brought to unit variance, so
that their units do not matter; votes and distances that tie favour no class and no row (see `votes`).
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from .._types import Floats, RowNumbers
from ..balls.authors_code import authors_code
from ..balls.error import symmetric_terms
from ..balls.learner import BenchmarkLearner
from ..errors import BayesfloorWarning, ParameterError
from ..utils.checks import brief, check_positive, draw_seed
from .bounds import (
    Bound,
    bhattacharyya,
    cover_hart,
    cover_hart_lower,
    henze_penrose,
    mahalanobis,
    nearest_neighbour_bounds,
)
from .votes import Sample, arrange, nearest_votes, odd_near_root, sample_votes, vote_error

__all__ = [
    "ESTIMATORS",
    "authors_code",
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
# Bandwidths tried: from twice Scott's down to a 16th, for a class may be far narrower than all points together.
_WIDEST = 2.0
_N_BANDWIDTHS = 11
_BLOCK = 2**20  # distances held at a time


def knn_error(X: Any, y: Any, random_state: Any = 0, *, k: int | None = None, n_jobs: int | None = None) -> float:
    """Leave-one-out error of the majority of the k nearest neighbours; k is near sqrt(N) and odd by default.

    Examples
    --------
    >>> round(knn_error([[0.0], [1.0], [3.0], [3.5], [7.0], [8.0]], [0, 0, 0, 1, 1, 1], k=1), 4)
    0.3333
    """
    sample = arrange(X, y)
    return vote_error(sample_votes(sample, k, n_jobs), sample.labels, draw_seed(random_state))


def best_knn_error(X: Any, y: Any, random_state: Any = 0, *, n_jobs: int | None = None) -> float:
    """Smallest leave-one-out error over k = 1, 3, 5, 9, 17, ... up to 2 sqrt(N): optimistic, being a minimum.

    Examples
    --------
    >>> round(best_knn_error([[0.0], [1.0], [3.0], [3.5], [7.0], [8.0]], [0, 0, 0, 1, 1, 1]), 4)  # k = 3: only 3.5
    0.1667
    """
    return _best_knn_error(arrange(X, y), draw_seed(random_state), n_jobs)


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
    sample = arrange(X, y)
    error = _best_knn_error(sample, draw_seed(random_state), n_jobs)
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
    if exponent is not None:
        exponent = check_positive("exponent", exponent)
    sample = arrange(X, y)
    n, d = sample.points.shape
    power = min(1.0, max(0.25, 2 / d)) if exponent is None else float(exponent)
    # Parts of fewer than four rows have no votes to speak of.
    parts = [m for m in _PARTS if n // m >= 4]
    errors = _errors_of_parts(sample, parts, odd_near_root(n // parts[0]), draw_seed(random_state), n_jobs)
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


def _from_bound(name: str, bound: Callable[..., Bound], end: str) -> Callable[..., float]:
    """An estimator that takes the midpoint or the upper end of what a function of `bounds` finds.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [3.0], [3.5], [7.0], [8.0]], [0, 0, 0, 1, 1, 1]
    >>> round(henze_penrose_midpoint(X, y), 4), round(cover_hart_midpoint(X, y), 4)
    (0.1292, 0.2723)
    >>> round(knn_bounds_midpoint(X, y, k=1), 4)
    0.25
    >>> X, y = [[-1.0], [1.0], [3.0], [5.0]], [0, 0, 1, 1]
    >>> round(bhattacharyya_midpoint(X, y), 4), round(mahalanobis_upper(X, y), 4)  # B = exp(-4^2 / 16)
    (0.1095, 0.1667)
    """

    def estimator(X: Any, y: Any, random_state: Any = 0, **options: Any) -> float:
        return float(getattr(bound(X, y, **options), end))

    # By its own name, so that processes can be told which one to run.
    estimator.__name__ = estimator.__qualname__ = name
    estimator.__doc__ = (
        f"{'Midpoint' if end == 'midpoint' else 'Upper limit'} of `bounds.{bound.__name__}`, with its options."
    )
    return estimator


henze_penrose_midpoint = _from_bound("henze_penrose_midpoint", henze_penrose, "midpoint")
cover_hart_midpoint = _from_bound("cover_hart_midpoint", cover_hart, "midpoint")
knn_bounds_midpoint = _from_bound("knn_bounds_midpoint", nearest_neighbour_bounds, "midpoint")
bhattacharyya_midpoint = _from_bound("bhattacharyya_midpoint", bhattacharyya, "midpoint")
mahalanobis_upper = _from_bound("mahalanobis_upper", mahalanobis, "upper")


def knn_plugin(X: Any, y: Any, random_state: Any = 0, *, k: int | None = None, n_jobs: int | None = None) -> float:
    """Mean of 1 - max_c q_c(x), the posteriors q being class shares among the k nearest other points.

    The largest of noisy shares is too large on average, so the estimate is low for small k (Fukunaga and Kessell 1973).

    Examples
    --------
    >>> round(knn_plugin([[0.0], [1.0], [3.0], [3.5], [7.0], [8.0]], [0, 0, 0, 1, 1, 1], k=3), 4)
    0.3056
    """
    votes = sample_votes(arrange(X, y), k, n_jobs)
    return float(1 - (votes.expected().max(axis=1) / votes.k).mean())


def nearest_neighbour_ratio(
    X: Any, y: Any, random_state: Any = 0, *, k: int | None = None, n_jobs: int | None = None
) -> float:
    """Density ratios n_c / (n_own + 1) among the k nearest of all points (Noshad, Moon, Sekeh and Hero 2017).

    The ratios become an error as in the benchmark learner, averaged over all class orders (`risk.symmetric_terms`).

    Examples
    --------
    >>> round(nearest_neighbour_ratio([[0.0], [1.0], [3.0], [3.5], [7.0], [8.0]], [0, 0, 0, 1, 1, 1], k=3), 4)
    0.2222
    """
    sample = arrange(X, y)
    counts, row = sample_votes(sample, k, n_jobs).expected(), np.arange(len(sample.labels))
    ratios = counts / (counts[row, sample.labels] + 1)[:, None]
    return min(sample.most, float(symmetric_terms(ratios, sample.labels).sum(axis=1).mean()))


def kde_plugin(X: Any, y: Any, random_state: Any = 0) -> float:
    """Mean of 1 - max_c q_c(x), the posteriors q from a Gaussian kernel density per class.

    Each class has the bandwidth, of a ladder around Scott's n^(-1/(d+4)), under which its points, each left out in
    turn, are likeliest. A point is left out of its own class's density: otherwise it vouches for itself.
    Smoothing flattens the posteriors: the estimate tends to be high.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 1000)
    >>> X = rng.normal(size=(1000, 2)) + 2 * y[:, None] * [1, 0]
    >>> round(kde_plugin(X, y), 2), round(kde_plugin(X * [1000, 0.1], y), 2)  # the true floor is 0.159
    (0.19, 0.19)
    """
    sample = arrange(X, y)
    everyone = np.arange(len(sample.labels))
    log_joint = np.empty((len(everyone), sample.n_classes))
    for c in range(sample.n_classes):
        members = np.flatnonzero(sample.labels == c)
        widest = _WIDEST * len(members) ** (-1 / (sample.points.shape[1] + 4))
        own = _log_kernel_sums(sample.points, members, members, widest, _N_BANDWIDTHS)
        best = int(own.sum(axis=0).argmax())
        log_joint[:, [c]] = _log_kernel_sums(sample.points, everyone, members, widest / np.sqrt(2.0) ** best, 1)
        # The share N_c / N times the mean over N_c kernels, or over the N_c - 1 others: only there N_c does not cancel.
        log_joint[members, c] = own[:, best] + np.log(len(members) / (len(members) - 1))
    return float(1 - np.exp(log_joint.max(axis=1) - logsumexp(log_joint, axis=1)).mean())


def _log_kernel_sums(points: Floats, at: RowNumbers, members: RowNumbers, widest: float, n_bandwidths: int) -> Floats:
    """Log of the summed Gaussian kernels of `members` at the rows `at`, each row itself left out.

    One column per bandwidth, each sqrt(2) times narrower than the one before: its kernels are the squares of those.
    """
    sums = np.empty((len(at), n_bandwidths))
    step = max(1, _BLOCK // len(members))
    for start in range(0, len(at), step):
        rows = at[start : start + step]
        exponents = cdist(points[rows], points[members], "sqeuclidean") * (-0.5 / widest**2)
        exponents[rows[:, None] == members] = -np.inf
        largest = exponents.max(axis=1)
        kernels = np.exp(exponents - largest[:, None])  # the nearest point's is 1: no sum underflows
        for b in range(n_bandwidths):
            width = points.shape[1] * (np.log(widest) - b * np.log(2) / 2)
            sums[start : start + step, b] = np.log(kernels.sum(axis=1)) + 2.0**b * largest - width
            np.square(kernels, out=kernels)
    return sums


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

    sample, seed = arrange(X, y), draw_seed(random_state)
    model = RandomForestClassifier(300, random_state=seed) if classifier is None else classifier
    if not hasattr(model, "fit") or isinstance(model, type):
        raise ParameterError(f"classifier must be a scikit-learn classifier, got {brief(classifier)}")
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


ESTIMATORS: dict[str, Callable[..., float]] = {
    "benchmark learner": benchmark_learner,
    "benchmark learner, paper's radii": paper_learner,
    "authors' code": authors_code,
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
