"""Plug-in estimators: posteriors or density ratios are estimated and put into the formula of the Bayes error."""

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from .._types import Floats, RowNumbers
from ..balls.risk import symmetric_terms
from .votes import arranged, sample_votes

__all__ = ["kde_plugin", "knn_plugin", "nearest_neighbour_ratio"]


# Bandwidths tried: from twice Scott's down to a 16th, for a class may be far narrower than all points together.
_WIDEST = 2.0
_N_BANDWIDTHS = 11
_BLOCK = 2**20  # distances held at a time


def knn_plugin(X: Any, y: Any, random_state: Any = 0, *, k: int | None = None, n_jobs: int | None = None) -> float:
    """Mean of 1 - max_c q_c(x), the posteriors q being class shares among the k nearest other points.

    The largest of noisy shares is too large on average, so the estimate is low for small k (Fukunaga and Kessell 1973).

    Examples
    --------
    >>> round(knn_plugin([[0.0], [1.0], [3.0], [3.5], [7.0], [8.0]], [0, 0, 0, 1, 1, 1], k=3), 4)
    0.3056
    """
    votes = sample_votes(arranged(X, y), k, n_jobs)
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
    sample = arranged(X, y)
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
    sample = arranged(X, y)
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
