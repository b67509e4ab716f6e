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

from .._types import Floats
from .fold import COMPONENTS, WIDE, Fold, Models, Scale, Unseen, from_scores, log_probabilities
from .kernel_ridge import kernel, laplace, squared_distances
from .logistic import Logistic, fit_path

__all__ = ["FOREST", "KINDS", "LIBRARY", "MOST_SETTINGS", "ON_TREES", "SLOWEST", "Learner", "steps"]

Learner = Callable[[Fold], Models]

FOREST = "forest of many rows"  # joins the library where there are many rows
_FAR = 8.0  # of squared distances from the centre, in units of their mean
_MOST_MOMENTS = 1_000_000  # entries of the covariances of all classes: of more, classes are not given their own


# --- linear models ------------------------------------------------------------------------------------------


def _logistic(fold: Fold, columns: Callable[[Unseen], Floats], penalties: Sequence[float], name: str) -> Models:
    """Logistic regression on columns made of the rows."""

    def predict(unseen: Unseen, model: Logistic) -> Floats:
        P = model.predict(unseen.once(name, lambda: columns(unseen)))
        return log_probabilities(P, model.classes, fold.n_classes)

    penalties = [c for c in penalties if fold.wants(f"{name} {c:g}")]
    models = fit_path(columns(fold.own), fold.y, penalties) if penalties else []
    return {f"{name} {c:g}": partial(predict, model=model) for c, model in zip(penalties, models, strict=True)}


def _standardize(fold: Fold, expanded: Callable[[Unseen], Floats], name: str) -> Callable[[Unseen], Floats]:
    """The same columns, standardized by the training rows."""
    key = f"{name}, expanded"  # by name: learners of one fold may be trained side by side
    scale = Scale.of(fold.own.once(key, lambda: expanded(fold.own)))
    return lambda unseen: scale.apply(unseen.once(key, lambda: expanded(unseen)))


def linear(fold: Fold) -> Models:
    """Logistic regression, where `quadratic` is not there or does not see all columns."""
    wide = fold.X.shape[1] > WIDE
    if not wide and not fold.parts.keys() - {"given"}:  # what users' classifiers see
        return {}
    # Of very many columns the weaker penalties cost most and gain nothing.
    return _logistic(fold, lambda unseen: unseen.scaled, (0.01,) if wide else (0.01, 0.3), "linear")


def quadratic(fold: Fold) -> Models:
    """Logistic regression on squares, products (of up to ten columns) and the distance from the centre."""
    d, bend = fold.own.standard.shape[1], fold.varied
    first, second = np.triu_indices(d, 1) if d <= 10 else (np.empty(0, int), np.empty(0, int))

    def expanded(unseen: Unseen) -> Floats:
        rows, radial = unseen.standard, unseen.radial
        products = np.clip(rows[:, first] * rows[:, second], -10, 10)
        distance = radial[:, :1] * d
        parts = [rows, np.minimum(rows[:, bend] ** 2, 16), np.minimum(distance, _FAR * d), np.log(distance + 0.1 * d)]
        return np.hstack([*parts, np.minimum(radial[:, -1:], _FAR), products])

    return _logistic(fold, _standardize(fold, expanded, "quadratic"), (0.01, 0.3), "quadratic")


def additive(fold: Fold) -> Models:
    """Logistic regression on curves of each column's ranks, and on hinges of the distance from the centre."""
    Z, R, bend = fold.own.standard, fold.own.radial, fold.varied
    if Z.shape[1] > 128:
        return {}
    degree = 4 if len(bend) <= 40 else 2
    hinges = np.linspace(-1, 0.8, 10)
    places, distances = _Ranks(Z[:, bend]), _Ranks(R)
    flat = np.setdiff1d(np.arange(Z.shape[1]), bend)

    def expanded(unseen: Unseen) -> Floats:
        U, V = places.of(unseen.standard[:, bend]), distances.of(unseen.radial)
        legendre = [U, 1.5 * U**2 - 0.5, 2.5 * U**3 - 1.5 * U, (35 * U**4 - 30 * U**2 + 3) / 8][:degree]
        bends = [np.maximum(V - at, 0) for at in hinges]
        return np.hstack([unseen.standard[:, flat], *legendre, np.log((1.02 - U) / (1.02 + U)) / 2, *bends])

    return _logistic(fold, _standardize(fold, expanded, "additive"), (0.02, 0.3), "additive")


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
    variances = np.stack([(np.diag(S) * k + np.diag(pooled) * 4) / (k + 4) for S, k in zip(own, counts, strict=True)])
    L = np.linalg.cholesky(shared)
    sizes = [np.trace(solve_triangular(L, solve_triangular(L, S, lower=True).T, lower=True)) / d for S in own]
    spheres = np.where(counts > 1, np.maximum(sizes, 0.05), 1.0)

    def unlike(covariances: Sequence[Floats]) -> Callable[[Unseen], Floats]:
        """Of classes with a matrix each."""
        factors = [np.asarray(np.linalg.cholesky(covariance), dtype=np.float64) for covariance in covariances]
        volumes = np.array([np.log(np.diag(factor)).sum() for factor in factors])

        def squared(unseen: Unseen) -> Floats:
            T = unseen.standard
            pairs = zip(means, factors, strict=True)
            return np.stack([(solve_triangular(F, (T - m).T, lower=True) ** 2).sum(axis=0) for m, F in pairs], axis=1)

        return partial(_density_scores, squared=squared, volumes=volumes, prior=fold.prior)

    def alike(scales: Floats, heavy: bool = False) -> Callable[[Unseen], Floats]:
        """Of classes that have one matrix, each times a number: rows are turned once for all of them."""
        centres = solve_triangular(L, means.T, lower=True)

        def from_centres(unseen: Unseen) -> Floats:
            return squared_distances(solve_triangular(L, unseen.standard.T, lower=True).T, centres.T)

        def squared(unseen: Unseen) -> Floats:
            return unseen.once("distances from means", lambda: from_centres(unseen)) / scales

        volumes = d / 2 * np.log(scales)
        return partial(_density_scores, squared=squared, volumes=volumes, prior=fold.prior, heavy=heavy and d)

    def diagonal(unseen: Unseen) -> Floats:
        T, precisions = unseen.standard, 1 / variances
        constant = (means**2 * precisions).sum(axis=1)
        return np.maximum(T**2 @ precisions.T - 2 * T @ (means * precisions).T + constant, 0)

    found: Models = {
        "gaussian shared": alike(np.ones(fold.n_classes)),
        "gaussian diagonal": partial(
            _density_scores, squared=diagonal, volumes=np.log(variances).sum(axis=1) / 2, prior=fold.prior
        ),
        "sphere": alike(spheres),
        "sphere heavy": alike(spheres, heavy=True),
    }
    if fold.n_classes * d**2 <= _MOST_MOMENTS:
        found["gaussian own"] = unlike([(1 - w) * S + w * shared for S, w in zip(own, weight, strict=True)])
        found["gaussian half"] = unlike([0.4 * S + 0.6 * shared for S in own])
    return found


def _density_scores(
    unseen: Unseen, squared: Callable[[Unseen], Floats], volumes: Floats, prior: Floats, heavy: int = 0
) -> Floats:
    """Log-probabilities from squared distances, under Gaussians, or Student's distribution (3 degrees) in d columns."""
    distances = squared(unseen)
    energy = (3 + heavy) / 2 * np.log1p(distances / 3) if heavy else distances / 2
    return from_scores(np.log(prior) - volumes - energy)


# --- neighbours ---------------------------------------------------------------------------------


def neighbours(fold: Fold) -> Models:
    """Shares of the classes among the k nearest rows."""
    return _neighbours(fold, lambda unseen: unseen.standard, "neighbours")


def weighted_neighbours(fold: Fold) -> Models:
    """The same in columns stretched by their importance."""
    return _neighbours(fold, lambda unseen: unseen.weighted, "weighted neighbours")


def _neighbours(fold: Fold, columns: Callable[[Unseen], Floats], name: str) -> Models:
    from ..counting._nearest import nearest_labels

    ks = [k for k in (5, 15, 45) if k < fold.n // 3 and fold.wants(f"{name} {k}")]
    if not ks:
        return {}
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


# --- trees --------------------------------------------------------------------------------------------------


_LEAVES = (1, 3, 10)  # rows: pure leaves where classes hardly overlap, larger ones where they do


def trees(fold: Fold) -> Models:
    """Extremely randomised trees, grown to the end and pruned to leaves of several sizes."""
    leaves = [leaf for leaf in _LEAVES if fold.wants(f"trees {leaf}")]
    if not leaves:
        return {}
    forest, n_trees = fold.forest, len(fold.forest.trees)

    def predict(unseen: Unseen, at: int) -> Floats:
        means = unseen.once("trees", lambda: forest.predict(unseen.with_radial, leaves))
        P = np.zeros((len(unseen.X), fold.n_classes))
        P[:, forest.classes] = n_trees * means[at]
        return log_probabilities((P + fold.prior) / (n_trees + 1))

    return {f"trees {leaf}": partial(predict, at=at) for at, leaf in enumerate(leaves)}


def _columns_that_matter(fold: Fold, n_columns: int) -> Any:
    """All columns, or of very many those that matter most to the trees."""
    if n_columns <= WIDE:
        return slice(None)
    return np.sort(np.argsort(-fold.forest.importances, kind="stable")[:COMPONENTS])


def boosting(fold: Fold) -> Models:
    """Histogram gradient boosting, small; of very many columns those that matter most to the trees."""
    from .boosting import fit_boosting

    A = fold.own.with_radial
    kept = _columns_that_matter(fold, A.shape[1])
    model = fit_boosting(
        A[:, kept],
        fold.y,
        n_rounds=max(15, min(60, 240 // fold.n_classes)),
        shrinkage=0.1 if fold.n_classes <= 4 else 0.15,
        n_leaves=10,
        min_rows=max(5, min(20, fold.n // (20 * fold.n_classes) + 3)),
        penalty=1.0,
    )

    def predict(unseen: Unseen) -> Floats:
        return log_probabilities(model.predict_proba(unseen.with_radial[:, kept]), model.classes, fold.n_classes)

    return {"boosting": predict}


def network(fold: Fold) -> Models:
    """Two hidden layers, two strengths of weight decay; few rounds, since more only made the small ones certain."""
    from .network import Network, train_network

    if fold.effort == "fast":
        return {}
    found: Models = {}
    for decay in (4.0, 0.6):
        if not fold.wants(f"network {decay:g}"):
            continue
        rounds = int(np.clip(15_000 // fold.n, 10, 15))
        model = train_network(fold.own.standard, fold.y, fold.n_classes, decay=decay, rounds=rounds, seed=fold.seed)

        def predict(unseen: Unseen, model: Network = model) -> Floats:
            return log_probabilities(model.predict(unseen.standard))

        found[f"network {decay:g}"] = predict
    return found


LIBRARY: dict[str, Learner] = {
    "linear": linear,
    "quadratic": quadratic,
    "additive": additive,
    "gaussian": gaussian,
    "neighbours": neighbours,
    "weighted neighbours": weighted_neighbours,
    "kernel": kernel,
    "laplace": laplace,
    "trees": trees,
    "boosting": boosting,
    "network": network,
}

# Settings of all learners together, of a table of up to 256 columns.
MOST_SETTINGS = {"fast": 26, "balanced": 29, "thorough": 29}

# Learners that need the trees of a fold, to predict or to weigh columns by.
ON_TREES = ("weighted neighbours", "kernel", "trees", "boosting")

# Learners by the time that scoring a row takes, the longest first.
SLOWEST = ("neighbours", "weighted neighbours", "laplace", "kernel", FOREST, "trees", "boosting", "network")

# What a learner is like: the race (race.py) leaves one of each kind. Those not named are kinds of their own: trees,
# boosting, kernels and networks see with many rows what they do not with few.
KINDS = {
    **dict.fromkeys(("linear", "quadratic", "additive"), "linear models"),
    **dict.fromkeys(("neighbours", "weighted neighbours"), "neighbours"),
    **dict.fromkeys(("kernel", "laplace", "kernel of patches", "kernel of pixels"), "kernels"),
}


# Learners whose settings are a path from the least to the most flexible.
_PATHS = ("linear", "quadratic", "additive", "network", "sparse linear")


def steps(learner: str, settings: Sequence[str]) -> list[list[str]]:
    """Settings of a learner that are trained together, from the least to the most flexible.

    Examples
    --------
    >>> steps("linear", ["linear 0.01", "linear 0.3"])
    [['linear 0.01'], ['linear 0.3']]
    >>> steps("neighbours", ["neighbours 5", "neighbours 15"])
    [['neighbours 5', 'neighbours 15']]
    """
    found: dict[str, list[str]] = {}
    for name in settings:
        if learner == "kernel":
            step = name.rpartition(" ")[0]  # all ridges of a width
        elif learner in _PATHS:
            step = name
        else:
            step = learner
        found.setdefault(step, []).append(name)
    return list(found.values())
