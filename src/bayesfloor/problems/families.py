"""Families of distributions whose posterior is known exactly; each function returns a `Distribution`.

A family gives its Bayes error in closed form, or by a sum or one-dimensional integral, where there is one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincc, gammaln, log_softmax, logsumexp, ndtr, stdtr

from .._types import Codes, Floats
from ..errors import ParameterError
from ..utils.checks import brief, check_number, check_positive, check_whole

__all__ = [
    "Distribution",
    "beta_products",
    "checkerboard",
    "class_clouds",
    "gaussian_pair",
    "gaussian_row",
    "gaussian_scales",
    "led_digits",
    "mixed_columns",
    "moons",
    "pure_noise",
    "random_mixture",
    "rayleigh_products",
    "separated_boxes",
    "shells",
    "sparse_gaussians",
    "student_pair",
    "unequal_gaussians",
    "xor",
]

Generator = np.random.Generator


@dataclass(frozen=True)
class Distribution:
    """How to draw rows with labels, and the exact posterior.

    `draw(n, rng)` gives X and y, `posterior(X)` an (n, C) array; `exact_error` is None where only simulation tells.
    `kind` says what rows are that are no columns: "images", arrays of shape (n, H, W), or "texts", whose `n_features`
    is the number of words.
    """

    n_features: int
    priors: Floats
    draw: Callable[[int, Generator], tuple[Floats, Codes]]
    posterior: Callable[[Floats], Floats]
    exact_error: float | None
    kind: str | None = None


def from_densities(
    n_features: int,
    priors: Floats,
    draw_features: Callable[[Codes, Generator], Floats],
    log_densities: Callable[[Floats], Floats],
    exact_error: float | None = None,
) -> Distribution:
    """Labels first, then features given the labels; the posterior by Bayes' rule."""

    def draw(n: int, rng: Generator) -> tuple[Floats, Codes]:
        y = rng.choice(len(priors), size=n, p=priors).astype(np.int64)
        return draw_features(y, rng), y

    def posterior(X: Floats) -> Floats:
        return np.asarray(np.exp(log_softmax(log_densities(X) + np.log(priors), axis=1)))

    return Distribution(n_features, priors, draw, posterior, exact_error)


def draw_labels(P: Floats, rng: Generator) -> Codes:
    """One label for each row of probabilities."""
    chosen = (rng.random(len(P))[:, None] >= np.cumsum(P, axis=1)).sum(axis=1)
    return np.minimum(chosen, P.shape[1] - 1)  # a cumulative sum may end just below 1


# --- Gaussians ----------------------------------------------------------------------------------------------


def class_clouds(
    means: Floats, deviations: Floats, shares: Floats, owner: Codes, exact_error: float | None = None
) -> Distribution:
    """Mixtures of Gaussians with independent features: component j has mean, deviation per feature, share, class."""
    n_components, d = means.shape
    n_classes = int(owner.max()) + 1
    priors = np.bincount(owner, weights=shares, minlength=n_classes).astype(np.float64)
    within = [np.flatnonzero(owner == c) for c in range(n_classes)]

    def draw_features(y: Codes, rng: Generator) -> Floats:
        component = np.empty(len(y), dtype=np.int64)
        for c, members in enumerate(within):
            component[y == c] = rng.choice(members, size=int((y == c).sum()), p=shares[members] / priors[c])
        return means[component] + deviations[component] * rng.standard_normal((len(y), d))

    def log_densities(X: Floats) -> Floats:
        logs = np.empty((len(X), n_components))
        for j in range(n_components):
            z = (X - means[j]) / deviations[j]
            logs[:, j] = -0.5 * np.einsum("ij,ij->i", z, z) - np.log(deviations[j]).sum() + np.log(shares[j])
        return np.stack([logsumexp(logs[:, m], axis=1) - np.log(priors[c]) for c, m in enumerate(within)], axis=1)

    return from_densities(d, priors, draw_features, log_densities, exact_error)


def _one_cloud_each(means: Floats, deviations: Floats, priors: Floats, exact_error: float | None) -> Distribution:
    return class_clouds(means, deviations, priors, np.arange(len(means)), exact_error)


def two_gaussian_error(distance: float, prior: float) -> float:
    """Bayes error of two unit Gaussians so far apart; `prior` is the second one's share."""
    if distance == 0:
        return min(prior, 1 - prior)
    shift = np.log(prior / (1 - prior)) / distance
    return float((1 - prior) * ndtr(-distance / 2 + shift) + prior * ndtr(-distance / 2 - shift))


def gaussian_pair(n_features: int = 4, shift: float = 2.0, variance: float = 1.0, prior: float = 0.5) -> Distribution:
    """Two Gaussians with covariance `variance` I, apart in the first feature; `prior` is the second one's share."""
    d = check_whole("n_features", n_features, 1)
    shift, variance = check_number("shift", shift, 0), check_positive("variance", variance)
    prior = check_number("prior", prior, 1e-6, 1 - 1e-6)
    means = np.zeros((2, d))
    means[1, 0] = shift
    error = two_gaussian_error(shift / np.sqrt(variance), prior)
    return _one_cloud_each(means, np.full((2, d), np.sqrt(variance)), np.array([1 - prior, prior]), error)


def gaussian_row(n_features: int = 100, n_classes: int = 4, shift: float = 5.0, variance: float = 1.0) -> Distribution:
    """Gaussians at 0, shift, 2 shift, ... on the first feature's axis: neighbours err into each other."""
    d, n_classes = check_whole("n_features", n_features, 1), check_whole("n_classes", n_classes, 2)
    shift, variance = check_positive("shift", shift), check_positive("variance", variance)
    means = np.zeros((n_classes, d))
    means[:, 0] = shift * np.arange(n_classes)
    error = 2 * (n_classes - 1) / n_classes * float(ndtr(-shift / (2 * np.sqrt(variance))))
    return _one_cloud_each(means, np.full((n_classes, d), np.sqrt(variance)), np.full(n_classes, 1 / n_classes), error)


def gaussian_scales(n_features: int = 10, scales: Sequence[float] = (1.0, 1.5)) -> Distribution:
    """Gaussians with one mean and different spreads: only the distance from the centre tells."""
    d, s = check_whole("n_features", n_features, 1), _check_scales("scales", scales)
    priors = np.full(len(s), 1 / len(s))
    # |x|^2 / (2 s^2) is Gamma(d/2): everything happens on that line.
    error = _gamma_error(priors, d / 2, 1 / (2 * s**2))
    return _one_cloud_each(np.zeros((len(s), d)), np.repeat(s[:, None], d, axis=1), priors, error)


def unequal_gaussians(n_features: int = 5, shift: float = 1.5, ratio: float = 2.0, prior: float = 0.3) -> Distribution:
    """Two Gaussians with different covariances: the second has deviations from 1/ratio to ratio."""
    d = check_whole("n_features", n_features, 1)
    shift, ratio = check_number("shift", shift, 0), check_number("ratio", ratio, 1)
    prior = check_number("prior", prior, 1e-6, 1 - 1e-6)
    means, deviations = np.zeros((2, d)), np.ones((2, d))
    means[1] = shift / np.sqrt(d)
    deviations[1] = ratio ** np.linspace(-1, 1, d) if d > 1 else ratio
    return _one_cloud_each(means, deviations, np.array([1 - prior, prior]), None)


def sparse_gaussians(n_features: int = 100, n_informative: int = 5, shift: float = 1.0) -> Distribution:
    """Two Gaussians apart in a few features; the others are noise."""
    d, k = check_whole("n_features", n_features, 1), check_whole("n_informative", n_informative, 1)
    shift = check_number("shift", shift, 0)
    if k > d:
        raise ParameterError(f"n_informative must be at most n_features = {d}, got {k}")
    means = np.zeros((2, d))
    means[1, :k] = shift
    return _one_cloud_each(means, np.ones((2, d)), np.full(2, 0.5), two_gaussian_error(shift * np.sqrt(k), 0.5))


def xor(n_features: int = 10, separation: float = 1.5) -> Distribution:
    """Class by the sign of the product of two features; the others are noise."""
    d, s = check_whole("n_features", n_features, 2), check_number("separation", separation, 0)
    means = np.zeros((4, d))
    means[:, :2] = s * np.array([[1, 1], [-1, -1], [1, -1], [-1, 1]])
    # The two signs are misread independently, and one misreading flips the product.
    wrong = float(ndtr(-s))
    return class_clouds(means, np.ones((4, d)), np.full(4, 0.25), np.array([0, 0, 1, 1]), 2 * wrong * (1 - wrong))


def random_mixture(
    n_features: int = 2, n_classes: int = 3, n_components: int = 3, spread: float = 2.5, layout: int = 0
) -> Distribution:
    """Classes with several modes each, at places drawn once for a given `layout`; unequal shares and widths."""
    d, n_classes = check_whole("n_features", n_features, 1), check_whole("n_classes", n_classes, 2)
    n_components, layout = check_whole("n_components", n_components, 1), check_whole("layout", layout, 0)
    rng, n_all = np.random.default_rng([layout, d, n_classes, n_components]), n_classes * n_components
    # Distances between places grow with sqrt(d): divided out, so that `spread` means the same in any dimension.
    means = check_positive("spread", spread) * np.sqrt(2 / d) * rng.standard_normal((n_all, d))
    deviations = rng.uniform(0.6, 1.4, (n_all, d))
    shares = rng.dirichlet(np.full(n_all, 10.0))
    return class_clouds(means, deviations, shares, np.arange(n_all) % n_classes)


def moons(noise: float = 0.3, n_centres: int = 40) -> Distribution:
    """Two interleaving half circles, each a row of Gaussians of deviation `noise` along its arc."""
    noise, k = check_positive("noise", noise), check_whole("n_centres", n_centres, 2)
    angle = np.pi * (np.arange(k) + 0.5) / k
    upper = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    means = np.vstack([upper, [1.0, 0.5] - upper])
    return class_clouds(means, np.full((2 * k, 2), noise), np.full(2 * k, 0.5 / k), np.repeat([0, 1], k))


def pure_noise(n_features: int = 5, n_classes: int = 3) -> Distribution:
    """Labels that have nothing to do with the features: the floor is 1 - 1/C."""
    d, n_classes = check_whole("n_features", n_features, 1), check_whole("n_classes", n_classes, 2)
    priors = np.full(n_classes, 1 / n_classes)
    return _one_cloud_each(np.zeros((n_classes, d)), np.ones((n_classes, d)), priors, 1 - 1 / n_classes)


# --- other densities ----------------------------------------------------------------------------------------


def rayleigh_products(n_features: int = 10, scales: Sequence[float] = (2.0, 4.0, 6.0)) -> Distribution:
    """Independent Rayleigh features with one scale per class."""
    d, s = check_whole("n_features", n_features, 1), _check_scales("scales", scales)
    priors = np.full(len(s), 1 / len(s))

    def draw_features(y: Codes, rng: Generator) -> Floats:
        return s[y][:, None] * np.sqrt(2 * rng.standard_exponential((len(y), d)))

    def log_densities(X: Floats) -> Floats:  # up to sum log x, which all classes share
        total = np.einsum("ij,ij->i", X, X)[:, None]
        logs = np.asarray(-total / (2 * s**2) - 2 * d * np.log(s))
        logs[(X <= 0).any(axis=1)] = 0.0  # outside the support nothing speaks for any class
        return logs

    # sum x^2 / (2 s^2) is Gamma(d).
    return from_densities(d, priors, draw_features, log_densities, _gamma_error(priors, d, 1 / (2 * s**2)))


def beta_products(
    n_features: int = 50, shapes: Sequence[tuple[float, float]] = ((3, 1), (3, 1.5), (3, 2))
) -> Distribution:
    """Independent beta features with one pair of shapes per class."""
    d = check_whole("n_features", n_features, 1)
    if not isinstance(shapes, Sequence) or len(shapes) < 2:
        raise ParameterError(f"shapes must have one pair per class, two at least, got {brief(shapes)}")
    try:
        pairs = [(first, second) for first, second in shapes]
    except (TypeError, ValueError):
        raise ParameterError(f"shapes must be pairs of numbers, one per class; got {brief(shapes)}") from None
    # Below 0.1 most draws round to 0 or 1, where densities are infinite.
    a, b = np.array([[check_number("shapes", v, 0.1, 1e6) for v in pair] for pair in pairs]).T
    priors = np.full(len(a), 1 / len(a))

    def draw_features(y: Codes, rng: Generator) -> Floats:
        return rng.beta(a[y][:, None], b[y][:, None], size=(len(y), d))

    def log_densities(X: Floats) -> Floats:
        inside = np.clip(X, 1e-300, 1 - 2.0**-53)
        left, right = np.log(inside).sum(axis=1)[:, None], np.log1p(-inside).sum(axis=1)[:, None]
        return np.asarray((a - 1) * left + (b - 1) * right + d * (gammaln(a + b) - gammaln(a) - gammaln(b)))

    return from_densities(d, priors, draw_features, log_densities)


def student_pair(n_features: int = 5, shift: float = 2.0, dof: float = 2.0) -> Distribution:
    """Two multivariate Student distributions, apart in the first feature: heavy tails, same plane between them."""
    d, shift, dof = (
        check_whole("n_features", n_features, 1),
        check_number("shift", shift, 0),
        check_number("dof", dof, 0.5),
    )
    means = np.zeros((2, d))
    means[1, 0] = shift

    def draw_features(y: Codes, rng: Generator) -> Floats:
        widths = np.sqrt(dof / rng.chisquare(dof, len(y)))
        return means[y] + widths[:, None] * rng.standard_normal((len(y), d))

    def log_densities(X: Floats) -> Floats:
        squared = np.stack([((X - mean) ** 2).sum(axis=1) for mean in means], axis=1)
        return np.asarray(-(dof + d) / 2 * np.log1p(squared / dof))

    return from_densities(d, np.full(2, 0.5), draw_features, log_densities, float(stdtr(dof, -shift / 2)))


def shells(n_features: int = 20, n_classes: int = 4) -> Distribution:
    """A standard Gaussian cut into shells of equal probability by the distance from its centre: floor 0."""
    from scipy.special import chdtri

    d, n_classes = check_whole("n_features", n_features, 1), check_whole("n_classes", n_classes, 2)
    edges = chdtri(d, 1 - np.arange(1, n_classes) / n_classes)

    def posterior(X: Floats) -> Floats:
        return np.eye(n_classes)[np.searchsorted(edges, np.einsum("ij,ij->i", X, X))]

    def draw(n: int, rng: Generator) -> tuple[Floats, Codes]:
        X = rng.standard_normal((n, d))
        return X, posterior(X).argmax(axis=1)

    return Distribution(d, np.full(n_classes, 1 / n_classes), draw, posterior, 0.0)


def separated_boxes(n_features: int = 2, n_classes: int = 3, gap: float = 0.2) -> Distribution:
    """Uniform on boxes in a row with gaps between them: floor 0."""
    d, n_classes = check_whole("n_features", n_features, 1), check_whole("n_classes", n_classes, 2)
    gap = check_positive("gap", gap)

    def posterior(X: Floats) -> Floats:
        box = np.clip(np.round((X[:, 0] - 0.5) / (1 + gap)), 0, n_classes - 1)
        return np.eye(n_classes)[box.astype(np.int64)]

    def draw(n: int, rng: Generator) -> tuple[Floats, Codes]:
        y = rng.integers(0, n_classes, n)
        X = rng.random((n, d))
        X[:, 0] += y * (1 + gap)
        return X, y

    return Distribution(d, np.full(n_classes, 1 / n_classes), draw, posterior, 0.0)


def checkerboard(cells: int = 4, noise: float = 0.1, n_features: int = 2) -> Distribution:
    """Uniform on a square of `cells` x `cells` fields in two colours, each label wrong with probability `noise`."""
    cells, d = check_whole("cells", cells, 2), check_whole("n_features", n_features, 2)
    noise = check_number("noise", noise, 0, 0.5)
    if cells % 2:
        raise ParameterError(f"cells must be even, so that both colours cover as much, got {cells}")

    def posterior(X: Floats) -> Floats:
        field = np.floor(X[:, :2] * cells).sum(axis=1) % 2
        first = np.where(field == 0, 1 - noise, noise)
        return np.stack([first, 1 - first], axis=1)

    def draw(n: int, rng: Generator) -> tuple[Floats, Codes]:
        X = rng.random((n, d))
        return X, draw_labels(posterior(X), rng)

    return Distribution(d, np.full(2, 0.5), draw, posterior, noise)


# --- discrete and mixed columns -----------------------------------------------------------------------------

_SEGMENTS = np.array(
    [
        [1, 1, 1, 0, 1, 1, 1],
        [0, 0, 1, 0, 0, 1, 0],
        [1, 0, 1, 1, 1, 0, 1],
        [1, 0, 1, 1, 0, 1, 1],
        [0, 1, 1, 1, 0, 1, 0],
        [1, 1, 0, 1, 0, 1, 1],
        [1, 1, 0, 1, 1, 1, 1],
        [1, 0, 1, 0, 0, 1, 0],
        [1, 1, 1, 1, 1, 1, 1],
        [1, 1, 1, 1, 0, 1, 1],
    ],
    dtype=np.float64,
)


def led_digits(noise: float = 0.1, n_irrelevant: int = 0) -> Distribution:
    """Ten digits on seven segments, each wrong with probability `noise` (Breiman et al. 1984)."""
    noise, extra = check_number("noise", noise, 1e-6, 0.5), check_whole("n_irrelevant", n_irrelevant, 0)
    on = np.where(_SEGMENTS == 1, 1 - noise, noise)
    return _binary_columns(on, np.full((10, extra), 0.5), np.full(10, 0.1))


def _binary_columns(on: Floats, irrelevant: Floats, priors: Floats) -> Distribution:
    """Independent binary features that are on with a probability per class; the floor by enumeration."""
    k, all_on = on.shape[1], np.hstack([on, irrelevant])

    def draw_features(y: Codes, rng: Generator) -> Floats:
        return np.asarray(rng.random((len(y), all_on.shape[1])) < all_on[y], dtype=np.float64)

    def log_densities(X: Floats) -> Floats:
        return np.asarray(X[:, :k] @ np.log(on).T + (1 - X[:, :k]) @ np.log1p(-on).T)

    joint = np.exp(log_densities(_patterns(k))) * priors
    return from_densities(all_on.shape[1], priors, draw_features, log_densities, float(1 - joint.max(axis=1).sum()))


def mixed_columns(n_binary: int = 6, n_continuous: int = 2, shift: float = 1.0, tilt: float = 0.7) -> Distribution:
    """Two classes: binary features, on with probability `tilt` or 1 - `tilt`, beside Gaussian ones `shift` apart."""
    k, d = check_whole("n_binary", n_binary, 1, 16), check_whole("n_continuous", n_continuous, 1)
    shift, tilt = check_number("shift", shift, 0), check_number("tilt", tilt, 0.5, 1 - 1e-6)
    on = np.array([[1 - tilt] * k, [tilt] * k])

    def draw_features(y: Codes, rng: Generator) -> Floats:
        binary = rng.random((len(y), k)) < on[y]
        return np.hstack([binary, rng.standard_normal((len(y), d)) + shift * y[:, None]])

    def log_densities(X: Floats) -> Floats:
        binary = X[:, :k] @ np.log(on).T + (1 - X[:, :k]) @ np.log1p(-on).T
        squared = np.stack([(X[:, k:] ** 2).sum(axis=1), ((X[:, k:] - shift) ** 2).sum(axis=1)], axis=1)
        return np.asarray(binary - squared / 2)

    # Given the pattern of the binary columns there remain two Gaussians with the pattern's own shares.
    patterns = _patterns(k)
    joint = 0.5 * np.exp(patterns @ np.log(on).T + (1 - patterns) @ np.log1p(-on).T)
    share = joint.sum(axis=1)
    errors = [two_gaussian_error(shift * np.sqrt(d), p) for p in joint[:, 1] / share]
    return from_densities(k + d, np.full(2, 0.5), draw_features, log_densities, float(share @ errors))


def _patterns(k: int) -> Floats:
    """All rows of k zeros and ones."""
    return np.asarray((np.arange(2**k)[:, None] >> np.arange(k)) & 1, dtype=np.float64)


# --- sums on a line, and checks -----------------------------------------------------------------------------


def _gamma_error(priors: Floats, shape: float, rates: Floats) -> float:
    """Bayes error of Gamma(shape, rate) distributions, one per class.

    log(p rate^shape) - rate t are straight lines in t: each class wins on one interval, between the crossings of the
    upper envelope.
    """
    heights = np.log(priors) + shape * np.log(rates)
    error = 1.0
    for c in range(len(rates)):
        low, high = 0.0, np.inf
        for other in range(len(rates)):
            slope = rates[other] - rates[c]
            if slope == 0:
                if heights[other] > heights[c] or (heights[other] == heights[c] and other < c):
                    high = -1.0
                continue
            crossing = (heights[other] - heights[c]) / slope
            low, high = (max(low, crossing), high) if slope > 0 else (low, min(high, crossing))
        if high > low:
            error -= priors[c] * (gammaincc(shape, rates[c] * low) - gammaincc(shape, rates[c] * high))
    return float(max(0.0, error))


def _check_scales(name: str, values: Sequence[float]) -> Floats:
    if not isinstance(values, Sequence | np.ndarray):
        raise ParameterError(f"{name} must have one number per class, two at least; got {brief(values)}")
    scales = np.array([check_number(name, value, 1e-6, 1e6) for value in values])
    if len(scales) < 2:
        raise ParameterError(f"{name} must have one number per class, two at least; got {brief(values)}")
    return scales
