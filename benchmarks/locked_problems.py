"""Families locked away: the form of the rule is chosen without ever looking at problems of these.

Each is a function of a generator and of the number of rows that will be drawn, and returns a function that draws rows
with their exact posterior. This file uses nothing of `random_problems`, whose ranges may be changed to train better;
the pieces that both files need come first.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy.linalg import solve_triangular, toeplitz
from scipy.special import expit

Draw = Callable[[int, np.random.Generator], tuple[np.ndarray, np.ndarray]]
Generator = np.random.Generator


# --- pieces -------------------------------------------------------------------------------------------------


def softmax(scores: np.ndarray) -> np.ndarray:
    """Probabilities from unnormalised logarithms."""
    P = np.exp(scores - scores.max(axis=1, keepdims=True))
    return P / P.sum(axis=1, keepdims=True)


def log_uniform(rng: Generator, low: float, high: float) -> float:
    """A number whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def widest(rows: int) -> int:
    """Most columns that a problem of so many rows may have: no estimate should take more than minutes."""
    return 100 if rows > 10_000 else min(2000, 3_000_000 // rows)


def some_features(rng: Generator, low: int, high: int, rows: int, wide: float = 0.0) -> int:
    """A number of columns from `low` to `high`; with probability `wide` from 500 to 2,000, if the rows allow it."""
    if rng.random() < wide and widest(rows) > 500:
        return round(log_uniform(rng, 501, widest(rows)))
    return round(log_uniform(rng, low, min(high, widest(rows))))


def some_classes(rng: Generator, rows: int, most: int = 60) -> int:
    """A number of classes: mostly few, now and then 30 or 60; 25 rows for each."""
    shares = {2: 36, 3: 17, 4: 10, 5: 9, 7: 9, 10: 8, 20: 5, 30: 3, 60: 3}
    numbers = [c for c in shares if c <= min(most, rows // 25)]
    weights = np.array([shares[c] for c in numbers])
    return int(rng.choice(numbers, p=weights / weights.sum()))


def some_priors(rng: Generator, n_classes: int, rows: int) -> np.ndarray:
    """Class shares: equal, uneven, or with rare classes, down to 0.3 % where that is ten rows."""
    kind, least = rng.random(), max(0.003, 10 / rows)
    if kind < 0.45:
        return np.full(n_classes, 1 / n_classes)
    shares = rng.dirichlet(np.full(n_classes, 0.7 if 0.75 <= kind < 0.87 else 3.0))
    if kind >= 0.87:
        rare = rng.permutation(n_classes)[: rng.integers(1, max(2, n_classes // 2 + 1))]
        shares[rare] = [log_uniform(rng, 0.002, 0.02) for _ in rare]
    for _ in range(20):  # what the rare classes get is taken from the others, which may then be too rare in turn
        shares = np.maximum(shares / shares.sum(), least)
    return shares / shares.sum()


def shifts(scores: np.ndarray, priors: np.ndarray) -> np.ndarray:
    """What to add to the scores of the classes so that these come out with about the shares asked for."""
    shift = np.log(priors)
    for _ in range(60):
        shift += np.log(priors) - np.log(softmax(scores + shift).mean(axis=0) + 1e-12)
    return shift


def gaussian_scores(Z: np.ndarray, factors: list[np.ndarray]) -> np.ndarray:
    """Logarithmic densities, but a constant, of centred Gaussians; a factor is the Cholesky factor of a covariance."""
    scores = np.empty((len(Z), len(factors)))
    for c, L in enumerate(factors):
        inverse = solve_triangular(L, np.eye(len(L)), lower=True)
        scores[:, c] = -((Z @ inverse.T) ** 2).sum(axis=1) / 2 - np.log(np.diag(L)).sum()
    return scores


# --- families -----------------------------------------------------------------------------------------------


def embedded(rng: Generator, rows: int) -> Draw:
    """Two to four hidden variables decide; the columns are many smooth functions of them, which can be undone.

    Each step has as many outputs as inputs or more, by a matrix of full rank, and each bend is strictly increasing: no
    two places become one, so the posterior given the columns is the one given the hidden variables.
    """
    n_classes, hidden, d = some_classes(rng, rows, 10), int(rng.integers(2, 5)), some_features(rng, 10, 60, rows)
    widths = [hidden, int(rng.integers(hidden, d + 1)), d]
    bend = [np.arcsinh, lambda u: u + 0.9 * np.sin(u), lambda u: np.logaddexp(0, 2 * u) + 0.2 * u][rng.integers(3)]
    steps = [(rng.normal(size=(a, b)) * np.sqrt(2 / a), rng.normal(size=b)) for a, b in pairwise(widths)]
    last = np.linalg.qr(rng.normal(size=(d, d)))[0]
    first, second = np.triu_indices(hidden)
    # Squares and products, and cubes: regions that are no half-spaces.
    weights = rng.normal(size=(2 * hidden + len(first), n_classes)) * log_uniform(rng, 0.4, 4)

    def scores(Z: np.ndarray) -> np.ndarray:
        return np.hstack([Z, (Z**3 - 3 * Z) / 3, Z[:, first] * Z[:, second]]) @ weights

    shift = shifts(scores(rng.normal(size=(4000, hidden))), some_priors(rng, n_classes, rows))

    def draw(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        Z = rng.normal(size=(n, hidden))
        X = Z
        for matrix, offset in steps:
            X = bend(X @ matrix + offset)
        return X @ last, softmax(scores(Z) + shift)

    return draw


def counts(rng: Generator, rows: int) -> Draw:
    """Counts of words, Poisson or more scattered, with rates that depend on the class; most words are rare."""
    n_classes, d = some_classes(rng, rows), some_features(rng, 10, 300, rows, wide=0.12)
    priors, length = some_priors(rng, n_classes, rows), log_uniform(rng, 10, 300)
    usual = rng.permutation(1 / np.arange(1, d + 1) ** rng.uniform(0.3, 1.2))
    usual *= length / usual.sum()
    told = rng.random(d) < rng.choice([0.1, 0.3, 1.0])
    told[rng.integers(d)] = True
    # The spread of the logarithmic ratio of two classes is about `apart`, however many words there are.
    apart = log_uniform(rng, 0.7, 5) / np.sqrt(2 * usual[told].sum())
    rates = usual * np.exp(np.clip(rng.normal(size=(n_classes, d)) * apart, -3, 3) * told)
    scatter = None if rng.random() < 0.5 else log_uniform(rng, 0.5, 10)  # shape of the gamma that mixes the rates

    def draw(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        mean = rates[rng.choice(n_classes, n, p=priors)]
        if scatter is None:
            X = rng.poisson(mean).astype(float)
            return X, softmax(X @ np.log(rates).T - rates.sum(axis=1) + np.log(priors))
        X = rng.negative_binomial(scatter, scatter / (scatter + mean)).astype(float)
        scores = X @ np.log(rates / (scatter + rates)).T - scatter * np.log1p(rates / scatter).sum(axis=1)
        return X, softmax(scores + np.log(priors))

    return draw


def autocovariances(kind: str, first: float, second: float, length: int) -> np.ndarray:
    """Of a stationary process with unit innovations.

    Parameters
    ----------
    kind : {"autoregressive", "moving"}
    first, second : float
        Partial autocorrelations (within -1 and 1) of an autoregressive process; weights of the last two innovations of
        a moving average.
    length : int
        Number of lags, with lag 0.
    """
    found = np.zeros(max(length, 3))
    if kind == "moving":
        found[:3] = 1 + first**2 + second**2, first + first * second, second
    else:
        found[:2] = 1, first
        for lag in range(2, length):
            found[lag] = first * (1 - second) * found[lag - 1] + second * found[lag - 2]
        found /= (1 - first**2) * (1 - second**2)
    return found[:length]


def autoregressive(rng: Generator, rows: int) -> Draw:
    """Series of 10 to 60 numbers whose classes differ in how each depends on the last two; Gaussian likelihood."""
    n_classes, d = some_classes(rng, rows, 7), some_features(rng, 10, 60, rows)
    priors, own_kinds, alike = some_priors(rng, n_classes, rows), rng.random() < 0.3, rng.random() < 0.5
    one_kind, order = rng.choice(["autoregressive", "moving"]), int(rng.integers(1, 3))
    middle, spread = rng.normal(0, 0.5, 2), log_uniform(rng, 0.8, 7) / np.sqrt(d)
    factors = []
    for _ in range(n_classes):
        kind = rng.choice(["autoregressive", "moving"]) if own_kinds else one_kind
        first, second = 0.97 * np.tanh(middle + spread * rng.normal(size=2)) * [1, order == 2]
        covariance = toeplitz(autocovariances(kind, first, second, d))
        # In half of the problems all classes have variance 1, and only the order of the numbers tells.
        factors.append(np.linalg.cholesky(covariance / covariance[0, 0] if alike else covariance))

    def draw(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        c, X = rng.choice(n_classes, n, p=priors), rng.normal(size=(n, d))
        for k, L in enumerate(factors):
            X[c == k] = X[c == k] @ L.T
        return X, softmax(gaussian_scores(X, factors) + np.log(priors))

    return draw


def ordinal(rng: Generator, rows: int) -> Draw:
    """Ordered classes, cut from a score with logistic noise; the columns may be answers from 1 to 5."""
    n_classes = int(rng.choice([c for c in (3, 3, 4, 5, 5, 7, 10) if c <= rows // 25]))
    d, priors = some_features(rng, 2, 80, rows, wide=0.05), some_priors(rng, n_classes, rows)
    answers, k = rng.random() < 0.5, int(rng.integers(1, min(d, 8) + 1))
    weights, shared = rng.normal(size=k), rng.choice([0, 0.3, 0.6])
    strength, bent = log_uniform(rng, 0.5, 15) / np.linalg.norm(weights), rng.choice([0, 0, 0.3])

    def columns(n: int, d: int, rng: Generator) -> np.ndarray:
        X = np.sqrt(shared) * rng.normal(size=(n, 1)) + np.sqrt(1 - shared) * rng.normal(size=(n, d))
        return np.clip(np.round(3 + 1.2 * X), 1, 5) if answers else X

    def score(X: np.ndarray) -> np.ndarray:
        inner = (X[:, :k] - 3 * answers) @ weights
        return strength * (inner + bent * inner**2)

    probe = score(columns(20_000, k, rng)) + rng.logistic(size=20_000)
    cuts = np.quantile(probe, np.cumsum(priors)[:-1])

    def draw(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        X = columns(n, d, rng)
        below = expit(cuts - score(X)[:, None])
        return X, np.diff(np.hstack([np.zeros((n, 1)), below, np.ones((n, 1))]), axis=1)

    return draw


def gaussian_process(rng: Generator, rows: int) -> Draw:
    """Scores that are random smooth functions of all columns, with a stretch of its own for each, at several scales."""
    n_classes, d = some_classes(rng, rows, 10), some_features(rng, 2, 8, rows)
    frequencies, weights = [], []
    stretch = np.exp(rng.normal(0, 0.5, d)) / np.sqrt(d)
    for _ in range(int(rng.integers(2, 5))):
        scale = log_uniform(rng, 0.3, 3)
        frequencies.append(rng.normal(size=(d, 100)) * stretch[:, None] / scale)
        weights.append(rng.normal(size=(100, n_classes)) * scale ** rng.uniform(0.3, 1.0))
    W, V = np.hstack(frequencies), np.vstack(weights)
    V *= log_uniform(rng, 1.5, 15) * np.sqrt(2 / (V**2).sum(axis=0).mean())
    phase, uniform = rng.uniform(0, 2 * np.pi, W.shape[1]), rng.random() < 0.3

    def columns(n: int, rng: Generator) -> np.ndarray:
        return rng.uniform(-1.7, 1.7, (n, d)) if uniform else rng.normal(size=(n, d))

    shift = shifts(np.cos(columns(4000, rng) @ W + phase) @ V, some_priors(rng, n_classes, rows))

    def draw(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        X = columns(n, rng)
        return X, softmax(np.cos(X @ W + phase) @ V + shift)

    return draw


def voronoi(rng: Generator, rows: int) -> Draw:
    """The class of the nearest of 30 to 300 places, and label noise."""
    n_classes, d = some_classes(rng, rows, 10), some_features(rng, 2, 6, rows)
    places = rng.random((round(log_uniform(rng, 30, min(300, max(31, rows / 8)))), d))
    owner = rng.permutation(np.arange(len(places)) % n_classes)
    noise = (0 if rng.random() < 0.3 else rng.uniform(0.02, 0.6)) * (1 - 1 / n_classes)
    table = np.eye(n_classes)[owner] * (1 - noise * n_classes / (n_classes - 1)) + noise / (n_classes - 1)

    def draw(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        X = rng.random((n, d))
        return X, table[(X @ places.T - (places**2).sum(axis=1) / 2).argmax(axis=1)]

    return draw


def copula_scores(X: np.ndarray, factors: list[np.ndarray], tails: np.ndarray) -> np.ndarray:
    """Logarithmic densities, but a constant, of sinh(tail * arcsinh(z)) for Gaussian z with unit variances.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    factors : list of ndarray of shape (d, d)
        Cholesky factors of the correlation matrices, one for each class.
    tails : ndarray of shape (C, d)
        Above 1, the tails are heavier than Gaussian.
    """
    scores = np.empty((len(X), len(factors)))
    for c, L in enumerate(factors):
        inner = np.arcsinh(X) / tails[c]
        slope = np.log(np.cosh(inner) / tails[c]) - np.log1p(X**2) / 2
        scores[:, c] = gaussian_scores(np.sinh(inner), [L])[:, 0] + slope.sum(axis=1)
    return scores


def copulas(rng: Generator, rows: int) -> Draw:
    """Classes that differ in how the columns go together, which have heavy tails; these may differ a little, too."""
    n_classes, d, k = some_classes(rng, rows, 7), some_features(rng, 3, 40, rows), int(rng.integers(1, 4))
    priors, spread, own = some_priors(rng, n_classes, rows), log_uniform(rng, 0.8, 5) / np.sqrt(d), rng.random() < 0.4
    usual, rest, factors = rng.normal(0, 0.7, (d, k)), rng.uniform(0.3, 1, d), []
    for _ in range(n_classes):
        A = usual + spread * rng.normal(size=(d, k))
        covariance = A @ A.T + np.diag(rest)
        size = np.sqrt(np.diag(covariance))
        factors.append(np.linalg.cholesky(covariance / np.outer(size, size)))
    tails = np.exp(rng.uniform(0, np.log(4), d) + own * rng.normal(size=(n_classes, d)) * spread / 3)

    def draw(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        c, Z = rng.choice(n_classes, n, p=priors), rng.normal(size=(n, d))
        for j, L in enumerate(factors):
            Z[c == j] = Z[c == j] @ L.T
        X = np.sinh(tails[c] * np.arcsinh(Z))
        return X, softmax(copula_scores(X, factors, tails) + np.log(priors))

    return draw


def groups_of_classes(rng: Generator, rows: int) -> Draw:
    """10 to 60 classes in groups (fewer if there are few rows); what tells the classes of a group tells no others.

    Some columns tell the groups, and each group has columns of its own for its classes. Errors are Laplacian.
    """
    n_classes = round(log_uniform(rng, min(10, rows // 25), min(60, rows // 25)))
    groups = int(rng.integers(2, max(3, min(8, n_classes // 2) + 1)))
    group, priors = np.sort(np.arange(n_classes) % groups), some_priors(rng, n_classes, rows)
    k, own = int(rng.integers(1, 6)), int(rng.integers(1, 5))
    places = np.zeros((n_classes, k + groups * own))
    places[:, :k] = (rng.normal(size=(groups, k)) * log_uniform(rng, 2, 12) / np.sqrt(k))[group]
    apart = log_uniform(rng, 1, 10) / np.sqrt(own)
    for c, g in enumerate(group):
        places[c, k + g * own : k + (g + 1) * own] = rng.normal(size=own) * apart

    def draw(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        X = places[rng.choice(n_classes, n, p=priors)] + rng.laplace(size=(n, places.shape[1]))
        return X, softmax(np.stack([-np.abs(X - place).sum(axis=1) for place in places], axis=1) + np.log(priors))

    return draw


LOCKED: dict[str, Callable[[Generator, int], Draw]] = {
    family.__name__: family
    for family in (embedded, counts, autoregressive, ordinal, gaussian_process, voronoi, copulas, groups_of_classes)
}
