"""Random problems with known floor: the evidence for the rule of the learned floor.

`draw_problem(family, number)` draws a size, the family's parameters, noise columns, a rotation and label noise, and
returns a sample with the floor of its exact posterior. The rule is trained on `FAMILIES`; its form is chosen without
looking at `LOCKED` (in `locked_problems`); of `HOPELESS` it is known beforehand that nothing can see their structure at
these sizes, and they stand apart. The public problems of `bayesfloor.problems.problems` are not among them.
"""

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import expit, gammaln, ndtri
from scipy.stats import chi2, norm

from bayesfloor.problems.families import draw_labels
from locked_problems import (
    LOCKED,
    Draw,
    Generator,
    log_uniform,
    shifts,
    softmax,
    some_classes,
    some_features,
    some_priors,
    widest,
)


@dataclass(frozen=True)
class Drawn:
    """A sample, its floor, what the true Bayes classifier errs on it, and the standard error of the floor."""

    X: np.ndarray
    y: np.ndarray
    family: str
    floor: float
    oracle: float
    floor_error: float


# --- the older families: densities, boards, networks --------------------------------------------------------


def some_covariance(rng: Generator, d: int) -> np.ndarray:
    """Identity or diagonal (then the variances alone), or low rank plus diagonal."""
    kind = rng.random()
    if kind < 0.35:
        return np.ones(d)
    if kind < 0.55:
        return np.exp(rng.normal(0, 0.7, d))
    A = rng.normal(size=(d, int(rng.integers(1, min(d, 5) + 1)))) * log_uniform(rng, 0.3, 2)
    return A @ A.T + np.diag(np.exp(rng.normal(0, 0.4, d)))


def clouds(means, covariances, shares, owner, n_classes: int, dof: float | None = None) -> Draw:
    """Gaussian (or, with `dof`, Student) components that belong to classes.

    A covariance is a matrix or, if the columns are independent, their variances; there is one for each component, or
    one for all.
    """
    means, shares, belongs = np.asarray(means, dtype=float), np.asarray(shares), np.eye(n_classes)[np.asarray(owner)]
    roots = [np.sqrt(c) if c.ndim == 1 else np.linalg.cholesky(c) for c in covariances]
    inverses = [1 / r if r.ndim == 1 else solve_triangular(r, np.eye(len(r)), lower=True) for r in roots]
    sizes = np.log(shares) - [np.log(r if r.ndim == 1 else np.diag(r)).sum() for r in roots]
    d = means.shape[1]

    def by(Z: np.ndarray, matrix: np.ndarray) -> np.ndarray:
        return Z * matrix if matrix.ndim == 1 else Z @ matrix.T

    def draw(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        component, Z = rng.choice(len(means), n, p=shares), rng.normal(size=(n, d))
        if dof is not None:
            Z /= np.sqrt(rng.chisquare(dof, n) / dof)[:, None]
        if len(roots) == 1:  # distances are those in the space where all clouds are round: one product for all
            centres = by(means, inverses[0])
            Z += centres[component]
            X = by(Z, roots[0])
            squared = (Z**2).sum(axis=1)[:, None] - 2 * Z @ centres.T + (centres**2).sum(axis=1)
        else:
            X, squared = np.empty((n, d)), np.empty((n, len(means)))
            for j, root in enumerate(roots):
                X[component == j] = means[j] + by(Z[component == j], root)
            for j, inverse in enumerate(inverses):
                squared[:, j] = (by(X - means[j], inverse) ** 2).sum(axis=1)
        energy = squared / 2 if dof is None else (dof + d) / 2 * np.log1p(np.maximum(squared, 0) / dof)
        return X, softmax(sizes - energy) @ belongs

    return draw


def shared_gaussians(rng: Generator, rows: int) -> Draw:
    """One covariance; means in a row, anywhere, or apart in few features only."""
    n_classes, d = some_classes(rng, rows), some_features(rng, 1, 200, rows, wide=0.12)
    apart, kind, means = log_uniform(rng, 0.5, 6), rng.random(), np.zeros((n_classes, d))
    if kind < 0.3:
        means[:, 0] = 0.7 * apart * np.arange(n_classes)
    else:
        k = d if kind < 0.6 else max(1, int(d * rng.uniform(0.05, 0.5)))
        means[:, :k] = rng.normal(size=(n_classes, k)) * apart / np.sqrt(2 * k)
    priors = some_priors(rng, n_classes, rows)
    return clouds(means, [some_covariance(rng, d)], priors, np.arange(n_classes), n_classes)


def unequal_gaussians(rng: Generator, rows: int) -> Draw:
    """Covariances that differ in size, in the features' variances, or in everything."""
    n_classes, d, kind = some_classes(rng, rows), some_features(rng, 1, 60, rows), rng.random()
    means = rng.normal(size=(n_classes, d)) * log_uniform(rng, 0.3, 4) / np.sqrt(2 * d)
    if kind < 0.35:
        means *= rng.random() < 0.4
        step = log_uniform(rng, 0.3, 2.2) / np.sqrt(d)
        covariances = [np.full(d, (1 + step * c) ** 2) for c in range(n_classes)]
    elif kind < 0.75:
        spread = min(1, log_uniform(rng, 0.5, 5) / np.sqrt(d))
        covariances = [np.exp(rng.normal(0, spread, d)) for _ in range(n_classes)]
    else:
        covariances = [some_covariance(rng, d) for _ in range(n_classes)]
    return clouds(means, covariances, some_priors(rng, n_classes, rows), np.arange(n_classes), n_classes)


def mixtures(rng: Generator, rows: int) -> Draw:
    """Several modes per class."""
    n_classes, d, apart = some_classes(rng, rows), some_features(rng, 1, 20, rows), log_uniform(rng, 0.7, 4)
    priors, unlike, means, owner, shares = some_priors(rng, n_classes, rows), rng.random() < 0.5, [], [], []
    for c in range(n_classes):
        parts = rng.dirichlet(np.full(int(rng.integers(1, 7 if n_classes <= 10 else 3)), 3.0))
        means.extend(rng.normal(size=(len(parts), d)) * apart / np.sqrt(max(1, d / 4)))
        owner += [c] * len(parts)
        shares += list(priors[c] * parts)
    width = log_uniform(rng, 0.3, 1)
    covariances = (
        [some_covariance(rng, d) * log_uniform(rng, 0.3, 1.5) for _ in means] if unlike else [np.full(d, width)]
    )
    return clouds(means, covariances, np.array(shares) / sum(shares), owner, n_classes)


def radial(rng: Generator, rows: int) -> Draw:
    """Shells around the centre, with sharp or blurred edges."""
    n_classes, d = int(rng.choice([2, 3, 4, 6])), some_features(rng, 2, 50, rows)
    edges = np.concatenate([[0], np.cumsum(some_priors(rng, n_classes, rows))])
    blur = 0 if rng.random() < 0.4 else log_uniform(rng, 0.02, 0.3)

    def draw(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        X = rng.normal(size=(n, d))
        place = chi2.cdf((X**2).sum(axis=1), d)[:, None]
        if blur == 0:
            return X, np.eye(n_classes)[np.searchsorted(edges[1:-1], place[:, 0])]
        outside = np.maximum(np.maximum(edges[:-1] - place, place - edges[1:]), 0)
        return X, softmax(-3 * outside / blur)

    return draw


def students(rng: Generator, rows: int) -> Draw:
    """Heavy tails."""
    n_classes, d = some_classes(rng, rows), some_features(rng, 1, 100, rows, wide=0.05)
    means = rng.normal(size=(n_classes, d)) * log_uniform(rng, 0.7, 6) / np.sqrt(2 * d)
    own = rng.random() < 0.5
    covariances = [np.full(d, log_uniform(rng, 0.5, 2)) for _ in means] if own else [some_covariance(rng, d)]
    dof = float(rng.choice([1.5, 2, 3, 5]))
    return clouds(means, covariances, some_priors(rng, n_classes, rows), np.arange(n_classes), n_classes, dof)


def products(rng: Generator, rows: int) -> Draw:
    """Independent Rayleigh, gamma or beta features."""
    n_classes, d = int(rng.choice([2, 2, 3, 3, 4, 6])), some_features(rng, 1, 150, rows, wide=0.1)
    priors, kind = some_priors(rng, n_classes, rows), rng.choice(["rayleigh", "gamma", "beta"])
    step = 2 * log_uniform(rng, 0.1, 1.5) / np.sqrt(d)
    alike = rng.random() < 0.5
    shape = (np.arange(n_classes)[:, None] * np.ones(d) if alike else rng.normal(size=(n_classes, d))) * step
    scale, a = np.exp(shape), 1 + np.exp(-shape[::-1])

    def log_density(X: np.ndarray, c: int) -> np.ndarray:
        if kind == "rayleigh":
            return (-2 * np.log(scale[c]) - X**2 / (2 * scale[c] ** 2)).sum(axis=1)
        if kind == "gamma":
            return ((a[c] - 1) * np.log(X) - X / scale[c] - gammaln(a[c]) - a[c] * np.log(scale[c])).sum(axis=1)
        constant = gammaln(3 + scale[c]) - gammaln(scale[c])
        return (2 * np.log(X) + (scale[c] - 1) * np.log1p(-X) + constant).sum(axis=1)

    def draw(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        c = rng.choice(n_classes, n, p=priors)
        if kind == "rayleigh":
            X = rng.rayleigh(scale[c])
        elif kind == "gamma":
            X = np.maximum(rng.gamma(a[c], scale[c]), 1e-12)
        else:
            X = np.clip(rng.beta(3.0, scale[c]), 1e-9, 1 - 1e-9)
        return X, softmax(np.stack([log_density(X, k) + np.log(priors[k]) for k in range(n_classes)], axis=1))

    return draw


def binary(rng: Generator, rows: int) -> Draw:
    """Independent binary features."""
    n_classes, d = some_classes(rng, rows), some_features(rng, 4, 200, rows, wide=0.1)
    tilt = 3 * log_uniform(rng, 0.3, 2) / np.sqrt(d)
    on = np.clip(expit(rng.normal(size=(n_classes, d)) * tilt + rng.normal(0, 0.7, d)), 1e-6, 1 - 1e-6)
    priors = some_priors(rng, n_classes, rows)

    def draw(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        X = (rng.random((n, d)) < on[rng.choice(n_classes, n, p=priors)]).astype(float)
        return X, softmax(X @ np.log(on / (1 - on)).T + np.log1p(-on).sum(axis=1) + np.log(priors))

    return draw


def mixed(rng: Generator, rows: int) -> Draw:
    """Binary and Gaussian features, which may interact."""
    n_classes, k, d = some_classes(rng, rows), some_features(rng, 2, 40, rows), some_features(rng, 1, 30, rows)
    priors, apart = some_priors(rng, n_classes, rows), log_uniform(rng, 0.3, 2)
    on = expit(rng.normal(size=(n_classes, k)) * 2 * apart / np.sqrt(k))
    means = rng.normal(size=(n_classes, d)) * 1.5 * apart / np.sqrt(d)
    widths = np.exp(rng.normal(0, 0.3 / np.sqrt(max(1, d / 8)), (n_classes, d)))
    moved = rng.normal(size=(n_classes, d)) * apart * (rng.random() < 0.4) / np.sqrt(max(1, d / 8))

    def draw(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        c = rng.choice(n_classes, n, p=priors)
        B = (rng.random((n, k)) < on[c]).astype(float)
        G = means[c] + moved[c] * B[:, :1] + widths[c] * rng.normal(size=(n, d))
        scores = B @ np.log(on / (1 - on)).T + np.log1p(-on).sum(axis=1) + np.log(priors)
        for j in range(n_classes):
            z = (G - means[j] - moved[j] * B[:, :1]) / widths[j]
            scores[:, j] -= (z**2 / 2 + np.log(widths[j])).sum(axis=1)
        return np.hstack([B, G]), softmax(scores)

    return draw


def boards(rng: Generator, rows: int) -> Draw:
    """Checkerboards with label noise, uniform or Gaussian."""
    n_classes, k = int(rng.choice([2, 2, 2, 3, 4])), int(rng.choice([1, 2, 2, 2, 3]))
    cells = 2 if k == 3 else int(rng.choice([2, 3, 4, 6]))
    n_classes = min(n_classes, k * (cells - 1) + 1)  # as many as there are diagonals
    noise, gaussian = rng.choice([0, 0.1, 0.25, 0.4]) * (1 - 1 / n_classes), rng.random() < 0.3

    def draw(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        U = rng.random((n, k))
        P = np.full((n, n_classes), noise / (n_classes - 1))
        P[np.arange(n), np.floor(U * cells).astype(int).sum(axis=1) % n_classes] = 1 - noise
        return (ndtri(U) if gaussian else U), P

    return draw


def curves(rng: Generator, rows: int) -> Draw:
    """Moons, spirals, circles: a row of Gaussians along each."""
    kind, t = rng.choice(["moons", "spirals", "circles"]), np.linspace(0.02, 1, 60)
    n_classes = 2 if kind == "moons" else int(rng.choice([2, 2, 3, 4]))
    means = []
    for c in range(n_classes):
        if kind == "moons":
            arc = np.stack([np.cos(np.pi * t), np.sin(np.pi * t)], axis=1)
            means.append(arc if c == 0 else [1.0, 0.5] - arc)
        elif kind == "spirals":
            angle = 3 * np.pi * t + 2 * np.pi * c / n_classes
            means.append(2 * t[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1))
        else:
            means.append(0.7 * (c + 1) * np.stack([np.cos(2 * np.pi * t), np.sin(2 * np.pi * t)], axis=1))
    shares = np.repeat(some_priors(rng, n_classes, rows) / len(t), len(t))
    owner, width = np.repeat(np.arange(n_classes), len(t)), log_uniform(rng, 0.08, 0.45)
    return clouds(np.vstack(means), [np.full(2, width**2)], shares / shares.sum(), owner, n_classes)


def networks(rng: Generator, rows: int) -> Draw:
    """Posterior of a small random network of a few of the features."""
    n_classes, d = some_classes(rng, rows), some_features(rng, 2, 60, rows)
    hidden, k = int(rng.choice([3, 6, 12, 25])), min(d, int(rng.integers(1, 8)))
    first = rng.normal(size=(k, hidden)) * log_uniform(rng, 0.7, 3) / np.sqrt(k)
    bias, second = rng.normal(size=hidden), rng.normal(size=(hidden, n_classes))
    second *= 2 * log_uniform(rng, 0.5, 8) / np.sqrt(hidden)
    uniform, smooth = rng.random() < 0.4, rng.random() < 0.5

    def columns(n: int, rng: Generator) -> np.ndarray:
        return rng.uniform(-1.7, 1.7, (n, d)) if uniform else rng.normal(size=(n, d))

    def scores(X: np.ndarray) -> np.ndarray:
        inner = X[:, :k] @ first + bias
        return (np.tanh(inner) if smooth else np.maximum(inner, 0)) @ second

    shift = shifts(scores(columns(4000, rng)), some_priors(rng, n_classes, rows))

    def draw(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        X = columns(n, rng)
        return X, softmax(scores(X) + shift)

    return draw


def nothing_or_all(rng: Generator, rows: int) -> Draw:
    """No signal, or classes far apart."""
    n_classes, d = some_classes(rng, rows), some_features(rng, 1, 200, rows, wide=0.08)
    priors = some_priors(rng, n_classes, rows)
    if rng.random() < 0.5:
        return lambda n, rng: (rng.normal(size=(n, d)), np.tile(priors, (n, 1)))
    means = rng.normal(size=(n_classes, d)) * log_uniform(rng, 5, 12) / np.sqrt(2 * d)
    return clouds(means, [np.ones(d)], priors, np.arange(n_classes), n_classes)


def partly_noisy(rng: Generator, rows: int) -> Draw:
    """Pure noise in a part of the space, hardly any elsewhere: the errors stay, however much is learned."""
    n_classes, d = int(rng.choice([2, 2, 2, 3, 4, 6])), some_features(rng, 2, 40, rows)
    share = float(rng.uniform(0.2, 0.8))
    where, how = rng.choice(["half", "middle", "flag"]), rng.choice(["line", "regions", "curve"])
    rest = float(rng.choice([0, 0, 0.05]))
    k = int(rng.integers(1, min(d, 4) + 1))
    first, second = rng.normal(size=(k, 8)), rng.normal(size=(8, n_classes))
    axis = rng.normal(size=k) / np.sqrt(k)

    def draw(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        X = rng.normal(size=(n, d))
        inner = X[:, -k:]
        if how == "line":  # classes in a row
            place = norm.cdf(inner @ axis / np.linalg.norm(axis))
            named = np.minimum((place * n_classes).astype(int), n_classes - 1)
        else:
            hidden = np.maximum(inner @ first, 0) if how == "regions" else np.tanh(2 * inner @ first)
            named = (hidden @ second).argmax(axis=1)
        if where == "flag":
            flag = rng.random(n) < share
            X = np.hstack([X, flag[:, None] * 1.0])
        else:
            place = norm.cdf(X[:, 0]) if where == "half" else chi2.cdf((X**2).sum(axis=1), d)
            flag = place < share
        P = np.full((n, n_classes), rest / (n_classes - 1))
        P[np.arange(n), named] = 1 - rest
        P[flag] = 1 / n_classes
        return X, P

    return draw


# --- the newer families: trees, rules, parities, texture -----------------------------------------------------


def random_tree(rng: Generator, depth: int, d: int) -> Callable[[np.ndarray], np.ndarray]:
    """A complete tree on columns within 0 and 1; the function returned numbers the leaves that rows fall into.

    A cell is cut in its middle part, so that none gets too small. A column of zeros and ones is divided by any cut.
    """
    low, high, levels = np.zeros((1, d)), np.ones((1, d)), []
    for level in range(depth):
        cell, column = np.arange(2**level), rng.integers(d, size=2**level)
        start, end = low[cell, column], high[cell, column]
        cut = start + (end - start) * rng.uniform(0.3, 0.7, 2**level)
        levels.append((column, cut))
        low, high = np.repeat(low, 2, axis=0), np.repeat(high, 2, axis=0)
        high[2 * cell, column] = low[2 * cell + 1, column] = cut

    def find_leaves(U: np.ndarray) -> np.ndarray:
        leaf, at = np.zeros(len(U), dtype=int), np.arange(len(U))
        for column, cut in levels:
            leaf = 2 * leaf + (U[at, column[leaf]] > cut[leaf])
        return leaf

    return find_leaves


def random_list(rng: Generator, n_rules: int, d: int) -> Callable[[np.ndarray], np.ndarray]:
    """A list of conjunctions of one to three thresholds; the function returned numbers the first that holds for a row.

    Rows for which none holds get the number after the last.
    """
    conditions = []
    for _ in range(n_rules):
        columns = rng.permutation(d)[: rng.integers(1, 4)]
        conditions.append((columns, rng.uniform(0.2, 0.8, len(columns)), rng.random(len(columns)) < 0.5))

    def find_rules(U: np.ndarray) -> np.ndarray:
        found = np.full(len(U), n_rules)
        for number, (columns, cuts, above) in reversed(list(enumerate(conditions))):
            found[((U[:, columns] > cuts) == above).all(axis=1)] = number
        return found

    return find_rules


def rules(rng: Generator, rows: int) -> Draw:
    """The class is what a decision list or tree says, on numbers and flags: floor 0 but for label noise."""
    n_classes, flags = int(rng.choice([2, 2, 2, 3, 4, 6])), int(rng.integers(0, 16))
    d, gaussian = flags + some_features(rng, 2, 40, rows), rng.random() < 0.5
    on = rng.uniform(0.2, 0.8, flags)
    if rng.random() < 0.5:
        n_rules = round(log_uniform(rng, max(2, n_classes), 30))
        find, n_named = random_list(rng, n_rules, d), n_rules + 1
    else:
        depth = int(rng.integers(3, 8))
        find, n_named = random_tree(rng, depth, d), 2**depth
    named = rng.permutation(np.arange(n_named) % n_classes)

    def draw(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        U = rng.random((n, d))
        U[:, :flags] = U[:, :flags] < on
        P = np.eye(n_classes)[named[find(U)]]
        if gaussian:
            U[:, flags:] = ndtri(U[:, flags:])
        return U, P

    return draw


def parity(rng: Generator, k: int, d: int) -> Draw:
    """Two classes by whether an even number of k columns is on; the others are noise, and so are some labels."""
    noise = 0.0 if rng.random() < 0.25 else float(rng.uniform(0, 0.3))
    bits = rng.random() < 0.5
    told = rng.permutation(d)[:k]

    def draw(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        X = rng.integers(0, 2, (n, d)).astype(float) if bits else rng.normal(size=(n, d))
        odd = (X[:, told] > 0).sum(axis=1) % 2
        return X, np.where(np.arange(2) == odd[:, None], 1 - noise, noise)

    return draw


def short_parities(rng: Generator, rows: int) -> Draw:
    """Exclusive or of two or three bits or signs, among noise columns."""
    k = int(rng.choice([2, 2, 3]))
    return parity(rng, k, some_features(rng, k + 1, 40 if k == 2 else 15, rows))


def nominal(rng: Generator, rows: int) -> Draw:
    """Columns with several levels, as one column of zeros and ones for each level; alone or two together they tell."""
    n_classes, m, most = some_classes(rng, rows), round(log_uniform(rng, 2, 20)), int(rng.choice([4, 8, 30]))
    levels = np.minimum(rng.integers(2, most + 1, m), max(2, widest(rows) // m))
    usual, priors = [rng.dirichlet(np.full(k, 2.0)) for k in levels], some_priors(rng, n_classes, rows)
    strength, pairs = log_uniform(rng, 0.5, 4), rng.random() < 0.5
    effects = [strength / np.sqrt(m) * rng.normal(size=(k, n_classes)) for k in levels]
    together = strength * rng.normal(size=(levels[0], levels[1], n_classes))

    def pick(U: np.ndarray, shares: np.ndarray) -> np.ndarray:
        return (U[:, None] > np.cumsum(shares, axis=-1)[..., :-1]).sum(axis=1)

    def encode(codes: list[np.ndarray]) -> np.ndarray:
        return np.hstack([np.eye(k)[code] for k, code in zip(levels, codes, strict=True)])

    def draw_given_class(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        c, scores, codes = rng.choice(n_classes, n, p=priors), np.tile(np.log(priors), (n, 1)), []
        for share, effect in zip(usual, effects, strict=True):
            given = softmax(np.log(share) + effect.T)
            codes.append(pick(rng.random(n), given[c]))
            scores += np.log(given[:, codes[-1]].T)
        return encode(codes), softmax(scores)

    if not pairs:
        return draw_given_class

    def draw_columns(n: int, rng: Generator) -> tuple[list[np.ndarray], np.ndarray]:
        codes = [pick(rng.random(n), share) for share in usual]
        scores = together[codes[0], codes[1]]
        return codes, scores + sum(effect[code] for effect, code in zip(effects, codes, strict=True)) / 2

    shift = shifts(draw_columns(4000, rng)[1], priors)

    def draw_given_columns(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        codes, scores = draw_columns(n, rng)
        return encode(codes), softmax(scores + shift)

    return draw_given_columns


def stumps(rng: Generator, rows: int) -> Draw:
    """A posterior that is constant in each of many cells: one deep tree, or a sum of shallow ones.

    Every level of the deep tree adds to the scores, hardly less than the one before, so more rows keep showing more.
    """
    n_classes, d = some_classes(rng, rows, 10), some_features(rng, 2, 40, rows)
    k, strength = min(d, int(rng.integers(2, 11))), log_uniform(rng, 1.5, 10)
    trees, tables = [], []
    if rng.random() < 0.6:
        depth, fade = int(rng.integers(6, 15)), rng.uniform(0.8, 1)
        trees.append(random_tree(rng, depth, k))
        steps = [rng.normal(size=(2**level, n_classes)) * fade**level for level in range(1, depth + 1)]
        size = np.sqrt((fade ** (2 * np.arange(1, depth + 1))).sum())
        tables.append(sum(np.repeat(step, 2**depth // len(step), axis=0) for step in steps) / size)
    else:
        depth, n_trees = int(rng.integers(1, 4)), round(log_uniform(rng, 10, 80))
        for _ in range(n_trees):
            trees.append(random_tree(rng, depth, k))
            tables.append(rng.normal(size=(2**depth, n_classes)) / np.sqrt(n_trees))

    def scores(U: np.ndarray) -> np.ndarray:
        return strength * sum(table[find(U)] for find, table in zip(trees, tables, strict=True))

    shift = shifts(scores(rng.random((4000, d))), some_priors(rng, n_classes, rows))

    def draw(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        U = rng.random((n, d))
        return U, softmax(scores(U) + shift)

    return draw


def fine_texture(rng: Generator, rows: int) -> Draw:
    """Scores are sums of waves, the finer the lower by a power: the curve of learning falls steadily and slowly."""
    n_classes, k = some_classes(rng, rows, 7), int(rng.integers(1, 4))
    d, waves = some_features(rng, k, 15, rows), 80
    finest = log_uniform(rng, 300, 30_000) ** (1 / k) / 2  # its crests and troughs are as many as rows might be
    frequency, power = np.geomspace(0.3, finest, waves), rng.uniform(0.2, 0.8)
    direction = rng.normal(size=(k, waves))
    W = 2 * np.pi * frequency * direction / np.linalg.norm(direction, axis=0)
    phase, V = rng.uniform(0, 2 * np.pi, waves), rng.normal(size=(waves, n_classes)) * frequency[:, None] ** -power
    V *= log_uniform(rng, 1.5, 12) * np.sqrt(2 / (V**2).sum(axis=0).mean())
    shift = shifts(np.sin(rng.random((4000, k)) @ W + phase) @ V, some_priors(rng, n_classes, rows))

    def draw(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        U = rng.random((n, d))
        return U, softmax(np.sin(U[:, :k] @ W + phase) @ V + shift)

    return draw


def long_parities(rng: Generator, rows: int) -> Draw:
    """Exclusive or of 6 to 12 bits or signs among so many that no two rows are near in all of those that count."""
    return parity(rng, int(rng.integers(6, 13)), some_features(rng, 50, 100, rows))


Family = Callable[[Generator, int], Draw]


def by_name(*families: Family) -> dict[str, Family]:
    """Families by the names of their functions."""
    return {family.__name__: family for family in families}


FAMILIES = by_name(
    shared_gaussians,
    unequal_gaussians,
    mixtures,
    radial,
    students,
    products,
    binary,
    mixed,
    boards,
    curves,
    networks,
    nothing_or_all,
    partly_noisy,
    rules,
    short_parities,
    nominal,
    stumps,
    fine_texture,
)
HOPELESS = by_name(long_parities)
ALL = {**FAMILIES, **LOCKED, **HOPELESS}

# --- a problem of a family ----------------------------------------------------------------------------------

NOISE_COLUMNS = {  # how often there are some that tell nothing, beside those that the family has itself
    "mixtures": 0.5,
    "boards": 0.5,
    "curves": 0.5,
    "unequal_gaussians": 0.15,
    "students": 0.15,
    "mixed": 0.15,
    "products": 0.15,
    "networks": 0.15,
    "radial": 0.1,
    "partly_noisy": 0.1,
    "rules": 0.1,
    "stumps": 0.1,
    "fine_texture": 0.1,
    "embedded": 0.2,
    "gaussian_process": 0.3,
    "voronoi": 0.3,
    "copulas": 0.15,
    "groups_of_classes": 0.1,
}
MANY = 0.05  # how often there are so many of them that the columns are more than 500
TURNED = {"shared_gaussians", "unequal_gaussians", "mixtures", "students", "networks", "curves", "boards"}
LABEL_NOISE = {"rules": 0.4, "short_parities": 0.0, "long_parities": 0.0, "voronoi": 0.0}  # others: 0.25


def disguised(draw: Draw, family: str, rows: int, rng: Generator) -> tuple[Draw, float]:
    """The same problem behind noise columns, a rotation and label noise, each now and then; the share of noise labels.

    Two columns at least.
    """
    probe, _ = draw(300, rng)
    d, extra = probe.shape[1], 0
    if family in NOISE_COLUMNS and rng.random() < MANY and widest(rows) > 500:
        extra = round(log_uniform(rng, 501, widest(rows))) - d
    elif rng.random() < NOISE_COLUMNS.get(family, 0):
        extra = int(rng.choice([1, 3, 8, 20, 60]))
    extra = max(min(extra, widest(rows) - d), 2 - d, 0)
    turn = family in TURNED and d + extra <= 300 and rng.random() < 0.3
    rho = float(rng.uniform(0.05, 0.6)) if rng.random() < LABEL_NOISE.get(family, 0.25) else 0.0
    rotation = np.linalg.qr(rng.normal(size=(d + extra, d + extra)))[0] if turn else None
    size = np.median(probe.std(axis=0))

    def drawn(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        X, P = draw(n, rng)
        if extra:
            X = np.hstack([X, rng.normal(size=(n, extra)) * size])
        if rotation is not None:
            X = X @ rotation
        return X, (1 - rho) * P + rho / P.shape[1]

    return drawn, rho


def exact_floor(draw: Draw, rho: float, rows: int, rng: Generator) -> tuple[float, float]:
    """Mean of 1 - largest posterior, and its standard error, of the problem before it is disguised.

    Columns that tell nothing do not change the floor, and of `rho` noise labels it is known how they do. Draws until
    the standard error is a tenth of the standard deviation that the oracle's error has on so many rows, or 2e-5: only
    at 20 million rows or 4,000 million numbers it would stop before. No array has more than about 5 million numbers.
    """
    X, P = draw(2, rng)
    n_classes, width = P.shape[1], max(X.shape[1], P.shape[1])
    block, most = min(10_000, 5_000_000 // width), min(20_000_000, 4_000_000_000 // width)
    n, total, squares = 0, 0.0, 0.0
    while True:
        error = 1 - draw(block, rng)[1].max(axis=1)
        n, total, squares = n + block, total + error.sum(), squares + (error**2).sum()
        mean = total / n
        floor = mean + rho * (1 - 1 / n_classes - mean)
        # Where hardly any draw errs the spread of the draws says nothing: at least what one more would change.
        std = (1 - rho) * max(math.sqrt(max(0.0, squares / n - mean**2) / n), 1 / n)
        if n >= 20_000 and (std <= max(0.1 * math.sqrt(floor * (1 - floor) / rows), 2e-5) or n >= most):
            return float(floor), std


def some_rows(rng: Generator) -> int:
    """A number of rows: from 150 to 10,000 with median about 1,500, in one problem of 25 up to 50,000."""
    if rng.random() < 0.04:
        return round(log_uniform(rng, 10_000, 50_000))
    return round(log_uniform(rng, 150, 1500) if rng.random() < 0.5 else log_uniform(rng, 1500, 10_000))


FEWEST = 5  # rows of each class
TRIES = 1000  # beyond any need: most problems have enough rows of each class at once


def start(family: str, number: int) -> Generator:
    """The generator that all of a problem comes from."""
    return np.random.default_rng([zlib.crc32(family.encode()), number, 2027])


def _draw_sample(family: str, number: int) -> tuple[Drawn, Draw, Draw, float, Generator]:
    """A sample with enough rows of each class, its floor still unknown, and what the floor is found from."""
    rng = start(family, number)
    rows = some_rows(rng)
    for _ in range(TRIES):
        plain = ALL[family](rng, rows)
        draw, rho = disguised(plain, family, rows, rng)
        X, P = draw(rows, rng)
        y = draw_labels(P, rng)
        if np.bincount(y, minlength=P.shape[1]).min() >= FEWEST:
            oracle = float((P.argmax(axis=1) != y).mean())
            return Drawn(X, y, family, math.nan, oracle, math.nan), draw, plain, rho, rng
    raise RuntimeError(f"{family} {number}: no sample of {rows} rows has {FEWEST} of each class")


def family_draw(family: str, number: int) -> Draw:
    """What draws rows of a problem and their posterior: more of them than the problem's sample."""
    return _draw_sample(family, number)[1]


def draw_problem(family: str, number: int) -> Drawn:
    """A random problem of a family: always the same for the same number; every class has five rows at least.

    The floor is known to a tenth of the oracle's standard deviation on the sample, or to 2e-5 (`floor_error`).
    """
    sample, _, plain, rho, rng = _draw_sample(family, number)
    floor, error = exact_floor(plain, rho, len(sample.y), rng)
    return replace(sample, floor=floor, floor_error=error)
