"""Random problems with known floor: what the rule of the learned floor is trained on.

`random_problem(seed)` draws a family, its parameters, noise columns, a rotation, label noise and a size, and returns a
sample with its exact posterior's floor. The public problems of `bayesfloor.problems.problems` are not among them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import expit, gammaln, log_softmax, logsumexp, ndtri
from scipy.stats import chi2, norm

from bayesfloor.problems.families import draw_labels

Draw = Callable[[int, np.random.Generator], tuple[np.ndarray, np.ndarray]]
Generator = np.random.Generator


@dataclass(frozen=True)
class Drawn:
    """A sample, its floor, and what the true Bayes classifier errs on it."""

    X: np.ndarray
    y: np.ndarray
    family: str
    floor: float
    oracle: float


def softmax(scores: np.ndarray) -> np.ndarray:
    """Probabilities from unnormalised logarithms."""
    return np.exp(log_softmax(scores, axis=1))


def log_uniform(rng: Generator, low: float, high: float) -> float:
    """A number whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def some_features(rng: Generator, low: int, high: int) -> int:
    """A dimension."""
    return round(log_uniform(rng, low, high))


def some_classes(rng: Generator) -> int:
    """A number of classes: mostly few, sometimes 20."""
    return int(rng.choice([2, 2, 2, 2, 3, 3, 4, 5, 7, 10, 20]))


def some_priors(rng: Generator, n_classes: int) -> np.ndarray:
    """Class shares: half the time equal, otherwise uneven, none below about 1 %."""
    kind = rng.random()
    if kind < 0.5:
        return np.full(n_classes, 1 / n_classes)
    shares = np.maximum(rng.dirichlet(np.full(n_classes, 3.0 if kind < 0.85 else 0.7)), 0.01)
    return shares / shares.sum()


def some_covariance(rng: Generator, d: int) -> np.ndarray:
    """Identity, diagonal, or low rank plus diagonal."""
    kind = rng.random()
    if kind < 0.35:
        return np.eye(d)
    if kind < 0.55:
        return np.diag(np.exp(rng.normal(0, 0.7, d)))
    A = rng.normal(size=(d, int(rng.integers(1, min(d, 5) + 1)))) * log_uniform(rng, 0.3, 2)
    return A @ A.T + np.diag(np.exp(rng.normal(0, 0.4, d)))


def clouds(means, covariances, shares, owner, n_classes: int, dof: float | None = None) -> Draw:
    """Gaussian (or, with `dof`, Student) components that belong to classes."""
    means, owner = np.asarray(means, dtype=float), np.asarray(owner)
    factors = [np.linalg.cholesky(c) for c in covariances]
    d = means.shape[1]

    def posterior(X: np.ndarray) -> np.ndarray:
        logs = np.empty((len(X), len(means)))
        for j, (mean, share) in enumerate(zip(means, shares, strict=True)):
            L = factors[j % len(factors)]
            squared = (solve_triangular(L, (X - mean).T, lower=True) ** 2).sum(axis=0)
            energy = squared / 2 if dof is None else (dof + d) / 2 * np.log1p(squared / dof)
            logs[:, j] = np.log(share) - np.log(np.diag(L)).sum() - energy
        return softmax(np.stack([logsumexp(logs[:, owner == c], axis=1) for c in range(n_classes)], axis=1))

    def draw(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        component, X = rng.choice(len(means), n, p=shares), rng.normal(size=(n, d))
        if dof is not None:
            X /= np.sqrt(rng.chisquare(dof, n) / dof)[:, None]
        for j, mean in enumerate(means):
            X[component == j] = mean + X[component == j] @ factors[j % len(factors)].T
        return X, posterior(X)

    return draw


def shared_gaussians(rng: Generator) -> Draw:
    """One covariance; means in a row, anywhere, or apart in few features only."""
    n_classes, d, apart, kind = some_classes(rng), some_features(rng, 1, 200), log_uniform(rng, 0.5, 6), rng.random()
    means = np.zeros((n_classes, d))
    if kind < 0.3:
        means[:, 0] = 0.7 * apart * np.arange(n_classes)
    else:
        k = d if kind < 0.6 else max(1, int(d * rng.uniform(0.05, 0.5)))
        means[:, :k] = rng.normal(size=(n_classes, k)) * apart / np.sqrt(2 * k)
    return clouds(means, [some_covariance(rng, d)], some_priors(rng, n_classes), np.arange(n_classes), n_classes)


def unequal_gaussians(rng: Generator) -> Draw:
    """Covariances that differ in size, in the features' variances, or in everything."""
    n_classes, d, kind = some_classes(rng), some_features(rng, 1, 60), rng.random()
    means = rng.normal(size=(n_classes, d)) * log_uniform(rng, 0.3, 4) / np.sqrt(2 * d)
    if kind < 0.35:
        means *= rng.random() < 0.4
        step = log_uniform(rng, 0.3, 2.2) / np.sqrt(d)
        covariances = [np.eye(d) * (1 + step * c) ** 2 for c in range(n_classes)]
    elif kind < 0.65:
        spread = log_uniform(rng, 0.2, 1)
        covariances = [np.diag(np.exp(rng.normal(0, spread, d))) for _ in range(n_classes)]
    else:
        covariances = [some_covariance(rng, d) for _ in range(n_classes)]
    return clouds(means, covariances, some_priors(rng, n_classes), np.arange(n_classes), n_classes)


def mixtures(rng: Generator) -> Draw:
    """Several modes per class."""
    n_classes, d, apart = some_classes(rng), some_features(rng, 1, 12), log_uniform(rng, 0.7, 4)
    priors, unlike = some_priors(rng, n_classes), rng.random() < 0.5
    means, owner, shares = [], [], []
    for c in range(n_classes):
        parts = rng.dirichlet(np.full(int(rng.integers(1, 7)), 3.0))
        means.extend(rng.normal(size=(len(parts), d)) * apart)
        owner += [c] * len(parts)
        shares += list(priors[c] * parts)
    width = log_uniform(rng, 0.3, 1)
    covariances = (
        [some_covariance(rng, d) * log_uniform(rng, 0.3, 1.5) for _ in means] if unlike else [np.eye(d) * width]
    )
    return clouds(means, covariances, np.array(shares) / sum(shares), owner, n_classes)


def radial(rng: Generator) -> Draw:
    """Shells around the centre, with sharp or blurred edges."""
    n_classes, d = int(rng.choice([2, 3, 4, 6])), some_features(rng, 2, 30)
    edges = np.concatenate([[0], np.cumsum(some_priors(rng, n_classes))])
    blur = 0 if rng.random() < 0.4 else log_uniform(rng, 0.02, 0.3)

    def draw(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        X = rng.normal(size=(n, d))
        place = chi2.cdf((X**2).sum(axis=1), d)[:, None]
        if blur == 0:
            return X, np.eye(n_classes)[np.searchsorted(edges[1:-1], place[:, 0])]
        outside = np.maximum(np.maximum(edges[:-1] - place, place - edges[1:]), 0)
        return X, softmax(-3 * outside / blur)

    return draw


def students(rng: Generator) -> Draw:
    """Heavy tails."""
    n_classes, d = some_classes(rng), some_features(rng, 1, 40)
    means = rng.normal(size=(n_classes, d)) * log_uniform(rng, 0.7, 6) / np.sqrt(2 * d)
    own = rng.random() < 0.5
    covariances = [np.eye(d) * log_uniform(rng, 0.5, 2) for _ in means] if own else [some_covariance(rng, d)]
    dof = float(rng.choice([1.5, 2, 3, 5]))
    return clouds(means, covariances, some_priors(rng, n_classes), np.arange(n_classes), n_classes, dof)


def products(rng: Generator) -> Draw:
    """Independent Rayleigh, gamma or beta features."""
    n_classes, d = int(rng.choice([2, 2, 3, 3, 4, 6])), some_features(rng, 1, 60)
    priors, kind = some_priors(rng, n_classes), rng.choice(["rayleigh", "gamma", "beta"])
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


def binary(rng: Generator) -> Draw:
    """Independent binary features."""
    n_classes, d = some_classes(rng), some_features(rng, 4, 100)
    tilt = 3 * log_uniform(rng, 0.3, 2) / np.sqrt(d)
    on = np.clip(expit(rng.normal(size=(n_classes, d)) * tilt + rng.normal(0, 0.7, d)), 1e-6, 1 - 1e-6)
    priors = some_priors(rng, n_classes)

    def draw(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        X = (rng.random((n, d)) < on[rng.choice(n_classes, n, p=priors)]).astype(float)
        return X, softmax(X @ np.log(on / (1 - on)).T + np.log1p(-on).sum(axis=1) + np.log(priors))

    return draw


def mixed(rng: Generator) -> Draw:
    """Binary and Gaussian features, which may interact."""
    n_classes, k, d = some_classes(rng), some_features(rng, 2, 20), some_features(rng, 1, 15)
    priors, apart = some_priors(rng, n_classes), log_uniform(rng, 0.3, 2)
    on = expit(rng.normal(size=(n_classes, k)) * 2 * apart / np.sqrt(k))
    means = rng.normal(size=(n_classes, d)) * 1.5 * apart / np.sqrt(d)
    widths = np.exp(rng.normal(0, 0.3, (n_classes, d)))
    moved = rng.normal(size=(n_classes, d)) * apart * (rng.random() < 0.4)

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


def boards(rng: Generator) -> Draw:
    """Checkerboards with label noise, uniform or Gaussian."""
    n_classes, k = int(rng.choice([2, 2, 2, 3, 4])), int(rng.choice([1, 2, 2, 2, 3]))
    cells = 2 if k == 3 else int(rng.choice([2, 3, 4]))
    noise, gaussian = rng.choice([0, 0.1, 0.25, 0.4]) * (1 - 1 / n_classes), rng.random() < 0.3

    def draw(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        U = rng.random((n, k))
        P = np.full((n, n_classes), noise / (n_classes - 1))
        P[np.arange(n), np.floor(U * cells).astype(int).sum(axis=1) % n_classes] = 1 - noise
        return (ndtri(U) if gaussian else U), P

    return draw


def curves(rng: Generator) -> Draw:
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
    shares = np.repeat(some_priors(rng, n_classes) / len(t), len(t))
    owner, width = np.repeat(np.arange(n_classes), len(t)), log_uniform(rng, 0.08, 0.45)
    return clouds(np.vstack(means), [np.eye(2) * width**2], shares / shares.sum(), owner, n_classes)


def networks(rng: Generator) -> Draw:
    """Posterior of a small random network of a few of the features."""
    n_classes, d, hidden = some_classes(rng), some_features(rng, 2, 30), int(rng.choice([3, 6, 12, 25]))
    k = min(d, int(rng.integers(1, 8)))
    first = np.zeros((d, hidden))
    first[:k] = rng.normal(size=(k, hidden)) * log_uniform(rng, 0.7, 3) / np.sqrt(k)
    bias, second = rng.normal(size=hidden), rng.normal(size=(hidden, n_classes))
    second *= 2 * log_uniform(rng, 0.5, 8) / np.sqrt(hidden)
    uniform, smooth = rng.random() < 0.4, rng.random() < 0.5

    def draw(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        X = rng.uniform(-1.7, 1.7, (n, d)) if uniform else rng.normal(size=(n, d))
        inner = X @ first + bias
        return X, softmax((np.tanh(inner) if smooth else np.maximum(inner, 0)) @ second)

    return draw


def nothing_or_all(rng: Generator) -> Draw:
    """No signal, or classes far apart."""
    n_classes, d = some_classes(rng), some_features(rng, 1, 100)
    priors = some_priors(rng, n_classes)
    if rng.random() < 0.5:
        return lambda n, rng: (rng.normal(size=(n, d)), np.tile(priors, (n, 1)))
    means = rng.normal(size=(n_classes, d)) * log_uniform(rng, 5, 12) / np.sqrt(2 * d)
    return clouds(means, [np.eye(d)], priors, np.arange(n_classes), n_classes)


def partly_noisy(rng: Generator) -> Draw:
    """Pure noise in a part of the space, hardly any elsewhere: the errors stay, however much is learned."""
    n_classes, d, share = int(rng.choice([2, 2, 2, 3, 4, 6])), some_features(rng, 2, 20), float(rng.uniform(0.2, 0.8))
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


PARTLY_NOISY = 100_000  # seeds from here on draw from this family alone: those before stay as they were

FAMILIES: dict[Callable[[Generator], Draw], float] = {
    shared_gaussians: 1.3,
    unequal_gaussians: 1.2,
    mixtures: 1.4,
    radial: 0.8,
    students: 0.7,
    products: 1.0,
    binary: 0.9,
    mixed: 0.8,
    boards: 0.9,
    curves: 0.9,
    networks: 1.2,
    nothing_or_all: 0.6,
}
_WITH_NOISE = {
    mixtures: 0.5,
    boards: 0.5,
    curves: 0.5,
    unequal_gaussians: 0.15,
    students: 0.15,
    mixed: 0.15,
    products: 0.15,
    networks: 0.15,
}
_TURNED = {shared_gaussians, unequal_gaussians, mixtures, students, networks, curves, boards}


def disguised(draw: Draw, family: Callable, rng: Generator) -> Draw:
    """The same problem behind noise columns, a rotation and label noise, each now and then."""
    extra = int(rng.choice([1, 3, 8, 20])) if rng.random() < _WITH_NOISE.get(family, 0) else 0
    turn = family in _TURNED and rng.random() < 0.3
    rho = float(rng.uniform(0.05, 0.6)) if rng.random() < 0.25 else 0.0
    d = draw(5, rng)[0].shape[1] + extra
    rotation = np.linalg.qr(rng.normal(size=(d, d)))[0] if turn else None

    def drawn(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        X, P = draw(n, rng)
        if extra:
            X = np.hstack([X, rng.normal(size=(n, extra)) * X.std()])
        if rotation is not None:
            X = X @ rotation
        return X, (1 - rho) * P + rho / P.shape[1]

    return drawn


def exact_floor(draw: Draw, rng: Generator, std: float = 4e-4) -> float:
    """Mean of 1 - max posterior over up to 400,000 draws."""
    errors = np.empty(0)
    while len(errors) < 400_000:
        errors = np.concatenate([errors, 1 - draw(10_000, rng)[1].max(axis=1)])
        if len(errors) >= 20_000 and errors.std() / np.sqrt(len(errors)) < std:
            break
    return float(errors.mean())


def random_problem(seed: int, sizes: tuple[int, ...] = (600, 1500, 1500, 1500, 1500, 3500, 5000)) -> Drawn:
    """Sample of a random problem; every class has eight rows at least."""
    rng = np.random.default_rng([seed, 2026])
    shares = np.array(list(FAMILIES.values()))
    family = list(FAMILIES)[rng.choice(len(FAMILIES), p=shares / shares.sum())]
    if seed >= PARTLY_NOISY:
        family = partly_noisy
    n = int(rng.choice(sizes))
    while True:
        draw = disguised(family(rng), family, rng)
        X, P = draw(n, rng)
        y = draw_labels(P, rng)
        if np.bincount(y, minlength=P.shape[1]).min() < 8:
            continue
        floor = exact_floor(draw, rng)
        if floor < 0.002 and family is not nothing_or_all and rng.random() < 0.6:
            continue  # perfectly separable: little to learn from
        return Drawn(X, y, family.__name__, floor, float((P.argmax(axis=1) != y).mean()))
