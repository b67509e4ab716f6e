"""The library: unlike classifiers that learn the scores in which the floor is estimated.

Each learner is a function of a `Fold` and returns, for one or several settings of it, log-probabilities of the rows to
be predicted. Settings that share most of their work (a path of penalties, several numbers of neighbours) come from one
call; which of them is used is decided later, on rows that did not train them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import log_softmax

from .fold import COMPONENTS, WIDE, Fold, log_probabilities, standardized

__all__ = ["LIBRARY"]

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Scores = dict[str, Floats]

_FAR = 8.0  # of squared distances from the centre, in units of their mean


def _from_scores(scores: Floats) -> Floats:
    return log_probabilities(np.exp(log_softmax(scores, axis=1)))


# --- linear models ------------------------------------------------------------------------------------------


def _logistic(fold: Fold, A: Floats, B: Floats, penalties: Sequence[float], name: str) -> Scores:
    from sklearn.linear_model import LogisticRegression

    found = {}
    for c in penalties:
        model = LogisticRegression(C=c, max_iter=60, tol=1e-3).fit(A, fold.y)
        found[f"{name} {c:g}"] = log_probabilities(model.predict_proba(B), model.classes_, fold.n_classes)
    return found


def linear(fold: Fold) -> Scores:
    """Logistic regression."""
    # Of very many columns the weaker penalties cost most and gain nothing.
    penalties = (0.01, 0.3, 10.0) if fold.X.shape[1] <= WIDE else (0.01,)
    return _logistic(fold, *standardized(fold.X, fold.T), penalties, "linear")


def quadratic(fold: Fold) -> Scores:
    """Logistic regression on squares, products (of up to ten columns) and the distance from the centre."""
    (Z, T), (R, S) = fold.standard, fold.radial
    d = Z.shape[1]
    first, second = np.triu_indices(d, 1) if d <= 10 else (np.empty(0, int), np.empty(0, int))

    def expanded(rows: Floats, radial: Floats) -> Floats:
        products = np.clip(rows[:, first] * rows[:, second], -10, 10)
        distance = radial[:, :1] * d
        parts = [rows, np.minimum(rows**2, 16), np.minimum(distance, _FAR * d), np.log(distance + 0.1 * d)]
        return np.hstack([*parts, np.minimum(radial[:, -1:], _FAR), products])

    return _logistic(fold, *standardized(expanded(Z, R), expanded(T, S)), (0.01, 0.3, 10.0), "quadratic")


def additive(fold: Fold) -> Scores:
    """Logistic regression on curves of each column's ranks, and on hinges of the distance from the centre."""
    (Z, T), (R, S) = fold.standard, fold.radial
    if Z.shape[1] > 128:
        return {}
    degree = 4 if Z.shape[1] <= 40 else 2
    hinges = np.linspace(-1, 0.8, 10)

    def expanded(rows: Floats, radial: Floats) -> Floats:
        U, V = _ranks(Z, rows), _ranks(R, radial)
        legendre = [U, 1.5 * U**2 - 0.5, 2.5 * U**3 - 1.5 * U, (35 * U**4 - 30 * U**2 + 3) / 8][:degree]
        bends = [np.maximum(V - at, 0) for at in hinges]
        return np.hstack([*legendre, np.log((1.02 - U) / (1.02 + U)) / 2, *bends])

    return _logistic(fold, *standardized(expanded(Z, R), expanded(T, S)), (0.02, 0.3, 5.0), "additive")


def distance(fold: Fold) -> Scores:
    """Logistic regression on hinges of the distance from the centre alone."""
    R, S = fold.radial
    hinges = np.linspace(-1, 0.8, 20)

    def bent(radial: Floats) -> Floats:
        return np.hstack([np.maximum(_ranks(R, radial) - at, 0) for at in hinges])

    return _logistic(fold, *standardized(bent(R), bent(S)), (1.0, 30.0), "distance")


def _ranks(reference: Floats, rows: Floats) -> Floats:
    """Place of each value among the reference column, from -1 to 1."""
    ranks = np.empty_like(rows)
    for j in range(rows.shape[1]):
        ordered = np.sort(reference[:, j])
        low, high = np.searchsorted(ordered, rows[:, j], "left"), np.searchsorted(ordered, rows[:, j], "right")
        ranks[:, j] = (low + high) / len(ordered) - 1
    return ranks


# --- densities ----------------------------------------------------------------------------------------------


def gaussian(fold: Fold) -> Scores:
    """Gaussians per class with covariances from one shared matrix to each class's own, shrunk as the rows demand."""
    Z, T = fold.standard
    (n, d), counts = Z.shape, fold.counts
    means = np.stack([Z[fold.y == c].mean(axis=0) if counts[c] else np.zeros(d) for c in range(fold.n_classes)])
    residuals = Z - means[fold.y]
    pooled = residuals.T @ residuals / max(n - fold.n_classes, 1) + 1e-3 * np.eye(d)
    shrink = min(0.9, d / n * 0.5 + 0.01)
    shared = (1 - shrink) * pooled + shrink * np.trace(pooled) / d * np.eye(d)
    own = []
    for c in range(fold.n_classes):
        rows = residuals[fold.y == c]
        own.append(rows.T @ rows / max(counts[c] - 1, 1))
    weight = np.where(counts > 1, np.clip(d / np.maximum(counts, 1), 0.02, 0.7), 1.0)
    variances = [(np.diag(S) * k + np.diag(pooled) * 4) / (k + 4) for S, k in zip(own, counts, strict=True)]
    L = np.linalg.cholesky(shared)
    sizes = [np.trace(solve_triangular(L, solve_triangular(L, S, lower=True).T, lower=True)) / d for S in own]
    spheres = [max(size, 0.05) * shared if k > 1 else shared for size, k in zip(sizes, counts, strict=True)]
    distances = _DistancesTo(T, means, fold.prior)
    return {
        "gaussian shared": distances.scores([shared] * fold.n_classes),
        "gaussian own": distances.scores([(1 - w) * S + w * shared for S, w in zip(own, weight, strict=True)]),
        "gaussian half": distances.scores([0.4 * S + 0.6 * shared for S in own]),
        "gaussian diagonal": distances.scores([np.diag(v) for v in variances]),
        "sphere": distances.scores(spheres),
        "sphere heavy": distances.scores(spheres, heavy=True),
    }


@dataclass(eq=False)
class _DistancesTo:
    T: Floats
    means: Floats
    prior: Floats

    def scores(self, covariances: Sequence[Floats], heavy: bool = False) -> Floats:
        """Log-probabilities under Gaussians, or under heavy-tailed (Student, 3 degrees) distributions."""
        scores, d = np.empty((len(self.T), len(self.means))), self.T.shape[1]
        for c, covariance in enumerate(covariances):
            L = np.linalg.cholesky(covariance)
            squared = (solve_triangular(L, (self.T - self.means[c]).T, lower=True) ** 2).sum(axis=0)
            energy = (3 + d) / 2 * np.log1p(squared / 3) if heavy else squared / 2
            scores[:, c] = np.log(self.prior[c]) - np.log(np.diag(L)).sum() - energy
        return _from_scores(scores)


def mixtures(fold: Fold) -> Scores:
    """A few Gaussians per class."""
    from sklearn.mixture import GaussianMixture

    Z, T = fold.standard
    d = Z.shape[1]
    if d > 30 or fold.n_classes > 10 or fold.counts.min() < 2:
        return {}
    scores = np.empty((len(T), fold.n_classes))
    for c, count in enumerate(fold.counts):
        k = int(np.clip(count // (4 * d + 10), 1, 3))
        model = GaussianMixture(
            k, covariance_type="full" if count > 4 * k * d else "diag", reg_covar=0.03, max_iter=25, tol=1e-2,
            init_params="k-means++", random_state=fold.seed,
        )  # fmt: skip
        scores[:, c] = model.fit(Z[fold.y == c]).score_samples(T) + np.log(fold.prior[c])
    return {"mixtures": _from_scores(scores)}


# --- neighbours and kernels ---------------------------------------------------------------------------------


def neighbours(fold: Fold) -> Scores:
    """Shares of the classes among the k nearest rows."""
    return _neighbours(fold, *fold.standard, "neighbours")


def weighted_neighbours(fold: Fold) -> Scores:
    """The same in columns stretched by their importance."""
    return _neighbours(fold, *fold.weighted, "weighted neighbours")


def _neighbours(fold: Fold, Z: Floats, T: Floats, name: str) -> Scores:
    from .nearest import nearest_labels

    ks = [k for k in (5, 15, 45, 135) if k < fold.n // 3]
    if not ks:
        return {}
    found, _ = nearest_labels(Z, fold.y, ks[-1], queries=T, n_jobs=1)
    votes = {k: np.empty((len(T), fold.n_classes)) for k in ks}
    for c in range(fold.n_classes):
        among = np.cumsum(found == c, axis=1)
        for k in ks:
            votes[k][:, c] = among[:, k - 1]
    return {f"{name} {k}": log_probabilities((votes[k] + fold.prior) / (k + 1)) for k in ks}


def kernel(fold: Fold) -> Scores:
    """Ridge regression of the class indicators on a Gaussian kernel at some of the rows (Nystroem), several widths."""
    Z, T = fold.weighted
    rng = np.random.default_rng(fold.seed)
    most = 500 if fold.X.shape[1] <= WIDE else 1000
    n_landmarks = min(fold.n // 2, int(np.clip(fold.n // 8, 200, most)))
    landmarks = Z[rng.permutation(fold.n)[:n_landmarks]]
    to_train, to_predict = _squared(Z, landmarks), _squared(T, landmarks)
    between = _squared(landmarks, landmarks)
    scale = float(np.median(between[np.triu_indices(n_landmarks, 1)])) or 1.0
    targets = np.eye(fold.n_classes)[fold.y] - fold.prior
    found = {}
    for width in (0.3, 1.2, 5.0):
        values, vectors = np.linalg.eigh(np.exp(-width / scale * between))
        keep = values > 1e-5
        map_ = vectors[:, keep] / np.sqrt(values[keep])
        A = np.exp(-width / scale * to_train) @ map_
        centre = A.mean(axis=0)
        A -= centre
        values, vectors = np.linalg.eigh(A.T @ A)
        projected = vectors.T @ (A.T @ targets)
        B = (np.exp(-width / scale * to_predict) @ map_ - centre) @ vectors
        for ridge in (0.1, 1.0, 10.0):
            P = B @ (projected / (np.maximum(values, 0) + ridge)[:, None]) + fold.prior
            found[f"kernel {width:g} {ridge:g}"] = log_probabilities(np.clip(P, 3e-3, 1))
    return found


def _squared(A: Floats, B: Floats) -> Floats:
    return np.maximum((A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2 * A @ B.T, 0)


# --- interactions -------------------------------------------------------------------------------------------

_BINS, _PAIRS, _MOST_COLUMNS = 8, 3, 40


def interactions(fold: Fold) -> Scores:
    """The pairs of columns that tell more together than apart: cells of both, and neighbours in both alone.

    Greedy trees do not find a checkerboard among columns of noise, because no single column tells anything.
    """
    Z, T = fold.standard
    if not 3 <= Z.shape[1] <= _MOST_COLUMNS:
        return {}
    bins, places = _binned(Z, Z), _binned(Z, T)
    pairs = _strongest_pairs(bins, fold.y, fold.n_classes)
    cells = [np.eye(_BINS**2)[b[:, i] * _BINS + b[:, j]] for b in (bins, places) for i, j in pairs]
    half = len(pairs)
    found = _logistic(fold, np.hstack(cells[:half]), np.hstack(cells[half:]), (0.05, 0.5), "cells")
    best = list(pairs[0])
    return {**found, **_neighbours(fold, Z[:, best], T[:, best], "neighbours in a pair")}


def _binned(reference: Floats, rows: Floats) -> Rows:
    return np.minimum((_ranks(reference, rows) + 1) / 2 * _BINS, _BINS - 1).astype(np.int64)


def _strongest_pairs(bins: Rows, y: Rows, n_classes: int) -> list[tuple[int, int]]:
    """Pairs by mutual information with the class beyond that of the two columns by themselves."""

    def information(codes: Rows, n_codes: int) -> float:
        table = np.bincount(codes * n_classes + y, minlength=n_codes * n_classes).reshape(n_codes, n_classes) / len(y)
        expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0)
        return float((table[table > 0] * np.log(table[table > 0] / expected[table > 0])).sum())

    d = bins.shape[1]
    single = [information(bins[:, j], _BINS) for j in range(d)]
    gains = {
        (i, j): information(bins[:, i] * _BINS + bins[:, j], _BINS**2) - single[i] - single[j]
        for i in range(d)
        for j in range(i)
    }
    return sorted(gains, key=lambda pair: -gains[pair])[:_PAIRS]


# --- trees --------------------------------------------------------------------------------------------------


def trees(fold: Fold) -> Scores:
    """Extremely randomised trees."""
    P = fold.forest.predict_proba(fold.with_radial[1])
    P = np.exp(log_probabilities(P, fold.forest.classes_, fold.n_classes))
    return {"trees": log_probabilities(0.98 * P + 0.02 * fold.prior)}


def boosting(fold: Fold) -> Scores:
    """Histogram gradient boosting, small; of very many columns those that matter most to the trees."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    A, B = fold.with_radial
    if A.shape[1] > WIDE:
        kept = np.sort(np.argsort(-fold.forest.feature_importances_, kind="stable")[:COMPONENTS])
        A, B = A[:, kept], B[:, kept]
    model = HistGradientBoostingClassifier(
        max_iter=max(15, min(60, 240 // fold.n_classes)),
        learning_rate=0.1 if fold.n_classes <= 4 else 0.15,
        max_leaf_nodes=10,
        min_samples_leaf=max(5, min(20, fold.n // (20 * fold.n_classes) + 3)),
        l2_regularization=1.0,
        early_stopping=False,
        random_state=fold.seed,
    ).fit(A, fold.y)
    P = model.predict_proba(B)
    return {"boosting": log_probabilities(P, model.classes_, fold.n_classes)}


def network(fold: Fold) -> Scores:
    """Two hidden layers, two strengths of weight decay; few rounds, since more only made the small ones certain."""
    from sklearn.neural_network import MLPClassifier

    if fold.effort == "fast":
        return {}
    Z, T = (rows.astype(np.float32) for rows in fold.standard)
    found = {}
    for decay in (0.6, 4.0):
        model = MLPClassifier(
            (64, 64),
            alpha=decay,
            batch_size=min(100, fold.n),
            learning_rate_init=8e-3,
            max_iter=int(np.clip(15_000 // fold.n, 10, 15)),
            random_state=fold.seed,
        ).fit(Z, fold.y)
        P = model.predict_proba(T).astype(np.float64)
        found[f"network {decay:g}"] = log_probabilities(P, model.classes_, fold.n_classes)
    return found


LIBRARY: dict[str, Callable[[Fold], Scores]] = {
    "linear": linear,
    "quadratic": quadratic,
    "additive": additive,
    "distance": distance,
    "gaussian": gaussian,
    "mixtures": mixtures,
    "neighbours": neighbours,
    "weighted neighbours": weighted_neighbours,
    "kernel": kernel,
    "interactions": interactions,
    "trees": trees,
    "boosting": boosting,
    "network": network,
}
