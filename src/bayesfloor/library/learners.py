"""The library: unlike classifiers that learn the scores in which the floor is estimated.

Each learner is a function of a `Fold` and returns, for one or several settings of it, a function that gives rows not
seen their log-probabilities. Settings that share most of their work (a path of penalties, several numbers of
neighbours) come from one call; which of them is used is decided later, on rows that did not train them.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import log_softmax

from .._types import Codes, Floats
from .fold import COMPONENTS, WIDE, Fold, Scale, Unseen, log_probabilities

__all__ = ["FOREST", "LIBRARY", "MOST_SETTINGS", "Learner", "Models", "n_landmarks"]

Models = dict[str, Callable[[Unseen], Floats]]
Learner = Callable[[Fold], Models]

FOREST = "forest of many rows"  # joins the library where there are many rows
_FAR = 8.0  # of squared distances from the centre, in units of their mean


def _from_scores(scores: Floats) -> Floats:
    return log_probabilities(np.exp(log_softmax(scores, axis=1)))


# --- linear models ------------------------------------------------------------------------------------------


def _logistic(fold: Fold, columns: Callable[[Unseen], Floats], penalties: Sequence[float], name: str) -> Models:
    """Logistic regression on columns made of the rows."""
    from sklearn.linear_model import LogisticRegression

    found: Models = {}
    A = columns(fold.own)
    for c in penalties:
        model = LogisticRegression(C=c, max_iter=60, tol=1e-3).fit(A, fold.y)

        def predict(unseen: Unseen, model: LogisticRegression = model) -> Floats:
            P = model.predict_proba(unseen.once(name, lambda: columns(unseen)))
            return log_probabilities(P, model.classes_, fold.n_classes)

        found[f"{name} {c:g}"] = predict
    return found


def _standardize(fold: Fold, expanded: Callable[[Unseen], Floats]) -> Callable[[Unseen], Floats]:
    """The same columns, standardized by the training rows."""
    scale = Scale.of(expanded(fold.own))
    return lambda unseen: scale.apply(expanded(unseen))


def linear(fold: Fold) -> Models:
    """Logistic regression."""
    # Of very many columns the weaker penalties cost most and gain nothing.
    penalties = (0.01, 0.3, 10.0) if fold.X.shape[1] <= WIDE else (0.01,)
    return _logistic(fold, lambda unseen: unseen.scaled, penalties, "linear")


def quadratic(fold: Fold) -> Models:
    """Logistic regression on squares, products (of up to ten columns) and the distance from the centre."""
    d = fold.own.standard.shape[1]
    first, second = np.triu_indices(d, 1) if d <= 10 else (np.empty(0, int), np.empty(0, int))

    def expanded(unseen: Unseen) -> Floats:
        rows, radial = unseen.standard, unseen.radial
        products = np.clip(rows[:, first] * rows[:, second], -10, 10)
        distance = radial[:, :1] * d
        parts = [rows, np.minimum(rows**2, 16), np.minimum(distance, _FAR * d), np.log(distance + 0.1 * d)]
        return np.hstack([*parts, np.minimum(radial[:, -1:], _FAR), products])

    return _logistic(fold, _standardize(fold, expanded), (0.01, 0.3, 10.0), "quadratic")


def additive(fold: Fold) -> Models:
    """Logistic regression on curves of each column's ranks, and on hinges of the distance from the centre."""
    Z, R = fold.own.standard, fold.own.radial
    if Z.shape[1] > 128:
        return {}
    degree = 4 if Z.shape[1] <= 40 else 2
    hinges = np.linspace(-1, 0.8, 10)
    places, distances = _Ranks(Z), _Ranks(R)

    def expanded(unseen: Unseen) -> Floats:
        U, V = places.of(unseen.standard), distances.of(unseen.radial)
        legendre = [U, 1.5 * U**2 - 0.5, 2.5 * U**3 - 1.5 * U, (35 * U**4 - 30 * U**2 + 3) / 8][:degree]
        bends = [np.maximum(V - at, 0) for at in hinges]
        return np.hstack([*legendre, np.log((1.02 - U) / (1.02 + U)) / 2, *bends])

    return _logistic(fold, _standardize(fold, expanded), (0.02, 0.3, 5.0), "additive")


def distance(fold: Fold) -> Models:
    """Logistic regression on hinges of the distance from the centre alone."""
    distances = _Ranks(fold.own.radial)
    hinges = np.linspace(-1, 0.8, 20)

    def bent(unseen: Unseen) -> Floats:
        return np.hstack([np.maximum(distances.of(unseen.radial) - at, 0) for at in hinges])

    return _logistic(fold, _standardize(fold, bent), (1.0, 30.0), "distance")


class _Ranks:
    """Place of values among the columns of a reference, from -1 to 1."""

    def __init__(self, reference: Floats) -> None:
        self._ordered = np.sort(reference, axis=0)

    def of(self, rows: Floats) -> Floats:
        """Place of each value among its column."""
        ranks = np.empty_like(rows)
        for j in range(rows.shape[1]):
            ordered = self._ordered[:, j]
            low, high = np.searchsorted(ordered, rows[:, j], "left"), np.searchsorted(ordered, rows[:, j], "right")
            ranks[:, j] = (low + high) / len(ordered) - 1
        return ranks


# --- densities ----------------------------------------------------------------------------------------------


def gaussian(fold: Fold) -> Models:
    """Gaussians per class with covariances from one shared matrix to each class's own, shrunk as the rows demand."""
    Z = fold.own.standard
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

    def densities(covariances: Sequence[Floats], heavy: bool = False) -> Callable[[Unseen], Floats]:
        factors = [np.asarray(np.linalg.cholesky(covariance), dtype=np.float64) for covariance in covariances]
        return partial(_density_scores, means=means, factors=factors, prior=fold.prior, heavy=heavy)

    return {
        "gaussian shared": densities([shared] * fold.n_classes),
        "gaussian own": densities([(1 - w) * S + w * shared for S, w in zip(own, weight, strict=True)]),
        "gaussian half": densities([0.4 * S + 0.6 * shared for S in own]),
        "gaussian diagonal": densities([np.diag(v) for v in variances]),
        "sphere": densities(spheres),
        "sphere heavy": densities(spheres, heavy=True),
    }


def _density_scores(unseen: Unseen, means: Floats, factors: Sequence[Floats], prior: Floats, heavy: bool) -> Floats:
    """Log-probabilities under Gaussians, or under heavy-tailed (Student, 3 degrees) distributions."""
    T = unseen.standard
    scores, d = np.empty((len(T), len(means))), T.shape[1]
    for c, L in enumerate(factors):
        squared = (solve_triangular(L, (T - means[c]).T, lower=True) ** 2).sum(axis=0)
        energy = (3 + d) / 2 * np.log1p(squared / 3) if heavy else squared / 2
        scores[:, c] = np.log(prior[c]) - np.log(np.diag(L)).sum() - energy
    return _from_scores(scores)


def mixtures(fold: Fold) -> Models:
    """A few Gaussians per class."""
    from sklearn.mixture import GaussianMixture

    Z = fold.own.standard
    d = Z.shape[1]
    if d > 30 or fold.n_classes > 10 or fold.counts.min() < 2:
        return {}
    models = []
    for c, count in enumerate(fold.counts):
        k = int(np.clip(count // (4 * d + 10), 1, 3))
        model = GaussianMixture(
            k,
            covariance_type="full" if count > 4 * k * d else "diag",
            reg_covar=0.03,
            max_iter=25,
            tol=1e-2,
            init_params="k-means++",
            random_state=fold.seed,
        )
        models.append(model.fit(Z[fold.y == c]))

    def predict(unseen: Unseen) -> Floats:
        return _from_scores(
            np.stack([m.score_samples(unseen.standard) + np.log(fold.prior[c]) for c, m in enumerate(models)], axis=1)
        )

    return {"mixtures": predict}


# --- neighbours and kernels ---------------------------------------------------------------------------------


def neighbours(fold: Fold) -> Models:
    """Shares of the classes among the k nearest rows."""
    return _neighbours(fold, lambda unseen: unseen.standard, "neighbours")


def weighted_neighbours(fold: Fold) -> Models:
    """The same in columns stretched by their importance."""
    return _neighbours(fold, lambda unseen: unseen.weighted, "weighted neighbours")


def _neighbours(fold: Fold, columns: Callable[[Unseen], Floats], name: str) -> Models:
    from ..counting._nearest import nearest_labels

    ks = [k for k in (5, 15, 45, 135) if k < fold.n // 3]
    Z = columns(fold.own)

    def votes(unseen: Unseen) -> dict[int, Floats]:
        T = columns(unseen)
        found, _ = nearest_labels(Z, fold.y, ks[-1], queries=T, n_jobs=1)
        counted = {k: np.empty((len(T), fold.n_classes)) for k in ks}
        for c in range(fold.n_classes):
            among = np.cumsum(found == c, axis=1)
            for k in ks:
                counted[k][:, c] = among[:, k - 1]
        return counted

    def predict(unseen: Unseen, k: int) -> Floats:
        return log_probabilities((unseen.once(name, lambda: votes(unseen))[k] + fold.prior) / (k + 1))

    return {f"{name} {k}": partial(predict, k=k) for k in ks}


def kernel(fold: Fold) -> Models:
    """Ridge regression of the class indicators on a Gaussian kernel at some of the rows (Nystroem), several widths."""
    Z = fold.own.weighted
    rng = np.random.default_rng(fold.seed)
    landmarks = Z[rng.permutation(fold.n)[: n_landmarks(*fold.X.shape)]]
    to_train, between = _squared(Z, landmarks), _squared(landmarks, landmarks)
    scale = float(np.median(between[np.triu_indices(len(landmarks), 1)])) or 1.0
    targets = np.eye(fold.n_classes)[fold.y] - fold.prior

    def predict(unseen: Unseen, width: float, coefficients: Floats, offset: Floats) -> Floats:
        def responses() -> Floats:
            squared = unseen.once("distances to landmarks", lambda: _squared(unseen.weighted, landmarks))
            return np.exp(-width / scale * squared)

        P = unseen.once(f"kernel {width:g}", responses) @ coefficients + offset
        return log_probabilities(np.clip(P, 3e-3, 1))

    found: Models = {}
    for width in (0.3, 1.2, 5.0):
        values, vectors = np.linalg.eigh(np.exp(-width / scale * between))
        keep = values > 1e-5
        map_ = vectors[:, keep] / np.sqrt(values[keep])
        A = np.exp(-width / scale * to_train) @ map_
        centre = A.mean(axis=0)
        A -= centre
        values, vectors = np.linalg.eigh(A.T @ A)
        projected = vectors.T @ (A.T @ targets)
        for ridge in (0.1, 1.0, 10.0):
            # (k M - m) V D p is k times one matrix with a column per class: rows cost their kernel and little more.
            solved = vectors @ (projected / (np.maximum(values, 0) + ridge)[:, None])
            found[f"kernel {width:g} {ridge:g}"] = partial(
                predict, width=width, coefficients=map_ @ solved, offset=fold.prior - centre @ solved
            )
    return found


def n_landmarks(n: int, d: int) -> int:
    """Rows at which the kernel of so many training rows and columns stands."""
    return min(n // 2, int(np.clip(n // 8, 200, 500 if d <= WIDE else 1000)))


def _squared(A: Floats, B: Floats) -> Floats:
    return np.maximum((A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2 * A @ B.T, 0)


# --- interactions -------------------------------------------------------------------------------------------

_BINS, _PAIRS, _MOST_COLUMNS = 8, 3, 40


def interactions(fold: Fold) -> Models:
    """The pairs of columns that tell more together than apart: cells of both, and neighbours in both alone.

    Greedy trees do not find a checkerboard among columns of noise, because no single column tells anything.
    """
    Z = fold.own.standard
    if not 3 <= Z.shape[1] <= _MOST_COLUMNS:
        return {}
    places = _Ranks(Z)
    pairs = _strongest_pairs(_bin(places, Z), fold.y, fold.n_classes)

    def cells(unseen: Unseen) -> Floats:
        bins = _bin(places, unseen.standard)
        return np.hstack([np.eye(_BINS**2)[bins[:, i] * _BINS + bins[:, j]] for i, j in pairs])

    best = list(pairs[0])
    return {
        **_logistic(fold, cells, (0.05, 0.5), "cells"),
        **_neighbours(fold, lambda unseen: np.ascontiguousarray(unseen.standard[:, best]), "neighbours in a pair"),
    }


def _bin(places: _Ranks, rows: Floats) -> Codes:
    return np.minimum((places.of(rows) + 1) / 2 * _BINS, _BINS - 1).astype(np.int64)


def _strongest_pairs(bins: Codes, y: Codes, n_classes: int) -> list[tuple[int, int]]:
    """Pairs by mutual information with the class beyond that of the two columns by themselves."""

    def information(codes: Codes, n_codes: int) -> float:
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


def trees(fold: Fold) -> Models:
    """Extremely randomised trees."""

    def predict(unseen: Unseen) -> Floats:
        P = fold.forest.predict_proba(unseen.with_radial)
        P = np.exp(log_probabilities(P, fold.forest.classes_, fold.n_classes))
        return log_probabilities(0.98 * P + 0.02 * fold.prior)

    return {"trees": predict}


def boosting(fold: Fold) -> Models:
    """Histogram gradient boosting, small; of very many columns those that matter most to the trees."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    A = fold.own.with_radial
    kept: Any = slice(None)
    if A.shape[1] > WIDE:
        kept = np.sort(np.argsort(-fold.forest.feature_importances_, kind="stable")[:COMPONENTS])
    model = HistGradientBoostingClassifier(
        max_iter=max(15, min(60, 240 // fold.n_classes)),
        learning_rate=0.1 if fold.n_classes <= 4 else 0.15,
        max_leaf_nodes=10,
        min_samples_leaf=max(5, min(20, fold.n // (20 * fold.n_classes) + 3)),
        l2_regularization=1.0,
        early_stopping=False,
        random_state=fold.seed,
    ).fit(A[:, kept], fold.y)

    def predict(unseen: Unseen) -> Floats:
        return log_probabilities(model.predict_proba(unseen.with_radial[:, kept]), model.classes_, fold.n_classes)

    return {"boosting": predict}


def network(fold: Fold) -> Models:
    """Two hidden layers, two strengths of weight decay; few rounds, since more only made the small ones certain."""
    from sklearn.neural_network import MLPClassifier

    if fold.effort == "fast":
        return {}
    found: Models = {}
    for decay in (0.6, 4.0):
        model = MLPClassifier(
            (64, 64),
            alpha=decay,
            batch_size=min(100, fold.n),
            learning_rate_init=8e-3,
            max_iter=int(np.clip(15_000 // fold.n, 10, 15)),
            random_state=fold.seed,
        ).fit(fold.own.standard.astype(np.float32), fold.y)

        def predict(unseen: Unseen, model: MLPClassifier = model) -> Floats:
            # In double precision, so that a row's score does not depend on the rows it comes with.
            return log_probabilities(model.predict_proba(unseen.standard), model.classes_, fold.n_classes)

        found[f"network {decay:g}"] = predict
    return found


LIBRARY: dict[str, Learner] = {
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

# Settings of all learners together, where every one of them applies.
MOST_SETTINGS = {"fast": 43, "balanced": 45, "thorough": 45}
