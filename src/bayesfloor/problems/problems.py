"""Problems whose floor is known: the yardstick for every estimator."""

import difflib
import inspect
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._types import Codes, Floats
from ..errors import DataError, ParameterError
from ..rows.dataset import feature_matrix
from ..rows.keys import row_keys
from ..rows.texts import text_list
from ..utils.checks import brief, check_number, check_text, check_whole, generator_from, numbers_from
from . import families
from .best_values import best_values
from .families import Distribution, draw_labels
from .pictures import PICTURES
from .texts import TEXTS

__all__ = ["KINDS", "Problem", "from_posterior", "get", "label_noise", "names", "simulated_error"]


LARGEST_STD = 2e-4  # standard error up to which a floor found by simulation counts as known

# Name: family and its parameters. The first nine are those of the paper.
_REGISTRY: dict[str, tuple[Callable[..., Distribution], dict[str, Any]]] = {
    "gaussians_4d": (families.gaussian_pair, {"n_features": 4, "shift": 2.0}),
    "gaussians_10d": (families.gaussian_pair, {"n_features": 10, "shift": 5.0}),
    "gaussians_50d": (families.gaussian_pair, {"n_features": 50, "shift": 5.0, "variance": 2.0}),
    "gaussians_100d": (families.gaussian_pair, {"n_features": 100, "shift": 2.0}),
    "gaussian_row": (families.gaussian_row, {}),
    "rayleigh_10d": (families.rayleigh_products, {}),
    "rayleigh_30d": (families.rayleigh_products, {"n_features": 30, "scales": (0.7, 1.0, 1.3)}),
    "beta_50d": (families.beta_products, {}),
    "shells_20d": (families.shells, {}),
    "unequal_gaussians": (families.unequal_gaussians, {}),
    "gaussian_scales": (families.gaussian_scales, {}),
    "mixture_2d": (families.random_mixture, {}),
    "mixture_10d": (families.random_mixture, {"n_features": 10, "n_classes": 4, "n_components": 2}),
    "twenty_classes": (families.random_mixture, {"n_features": 10, "n_classes": 20, "n_components": 1}),
    "checkerboard": (families.checkerboard, {}),
    "moons": (families.moons, {}),
    "xor": (families.xor, {}),
    "twonorm": (families.sparse_gaussians, {"n_features": 20, "n_informative": 20, "shift": 4 / math.sqrt(20)}),
    "sparse": (families.sparse_gaussians, {}),
    "heavy_tails": (families.student_pair, {}),
    "led": (families.led_digits, {}),
    "mixed_columns": (families.mixed_columns, {}),
    "imbalanced": (families.gaussian_pair, {"n_features": 5, "shift": 3.0, "prior": 0.01}),
    "separated": (families.separated_boxes, {}),
    "pure_noise": (families.pure_noise, {}),
}
# By the kind of their rows: those that are no columns have a list, and a heading in the arena, of their own.
KINDS: dict[str | None, dict[str, tuple[Callable[..., Distribution], dict[str, Any]]]] = {
    None: _REGISTRY,
    "images": PICTURES,
    "texts": TEXTS,
}


@dataclass(frozen=True, eq=False)
class Problem:
    """Labelled data to draw, with the exact posterior and the floor.

    Attributes
    ----------
    name : str
    n_features, n_classes : int
    priors : ndarray of shape (C,)
    bayes_error : float
        The floor.
    bayes_error_std : float
        Its standard error; 0 where it is known in closed form, by a finite sum or by an integral.

    Examples
    --------
    >>> problem = get("gaussians_4d")
    >>> round(problem.bayes_error, 4), problem.bayes_error_std
    (0.1587, 0.0)
    >>> X, y = problem.sample(1000, random_state=0)
    >>> X.shape, problem.posterior(X).shape
    ((1000, 4), (1000, 2))
    """

    name: str
    distribution: Distribution
    bayes_error: float
    bayes_error_std: float

    @property
    def kind(self) -> str | None:
        """What rows are, if not columns: "images", arrays of shape (n, H, W), or "texts"."""
        return self.distribution.kind

    @property
    def n_features(self) -> int:
        """Number of columns, of pixels, or of different words."""
        return self.distribution.n_features

    @property
    def n_classes(self) -> int:
        """Number of classes, with labels 0..C-1."""
        return len(self.priors)

    @property
    def priors(self) -> Floats:
        """Class shares."""
        return self.distribution.priors

    def sample(self, n: int, random_state: Any = None) -> tuple[Floats, Codes]:
        """Draw n labelled rows.

        `random_state` is a seed, a numpy RandomState or None, as in scikit-learn; also a sequence of seeds, or a
        `numpy.random.Generator`.
        """
        return self.distribution.draw(check_whole("n", n, 1), generator_from(random_state))

    def posterior(self, X: ArrayLike) -> Floats:
        """Exact class probabilities at each row of X, shape (n, C)."""
        if self.kind == "texts":
            return self.distribution.posterior(text_list(X))
        points = numbers_from("X", X)
        if not np.isfinite(points).all():
            raise DataError(f"X has {int((~np.isfinite(points)).sum())} values that are missing or infinite")
        if self.kind == "images" and points.ndim > 1:
            points = points.reshape(len(points), int(np.prod(points.shape[1:])))
        if points.ndim != 2 or points.shape[1] != self.n_features:
            raise DataError(
                f"{self.name} has {self.n_features} features: X must be (n, {self.n_features}), "
                f"got shape {points.shape}"
            )
        return self.distribution.posterior(points)

    def oracle_error(self, X: ArrayLike, y: ArrayLike) -> float:
        """Share of errors that the true Bayes classifier makes on this sample; asymptotically nothing does better."""
        return float((self.posterior(X).argmax(axis=1) != np.asarray(y)).mean())

    def metrics(self, n: int = 200_000, random_state: Any = 0) -> dict[str, tuple[float, float]]:
        """The best value by other yardsticks, and its standard error: averages of the exact posterior over n rows.

        Balanced accuracy, top-2 error (from three classes on), log-loss, Brier score, AUC and F1 of each class. The
        Brier score of two classes is the mean of (p - y)^2, as in scikit-learn; of more it is summed over classes.

        Examples
        --------
        >>> value, std = get("gaussians_4d").metrics(20_000)["AUC"]   # exactly 0.9214
        >>> abs(value - 0.9214) < 4 * std
        True
        """
        rng = generator_from(random_state)
        block = max(1000, check_whole("n", n, 20_000) // 20)
        return best_values(lambda: self.posterior(self.sample(block, rng)[0]), 20)

    def __str__(self) -> str:
        known = "exactly" if self.bayes_error_std == 0 else f"+- {self.bayes_error_std:.1g}"
        return f"{self.name}: d = {self.n_features}, {self.n_classes} classes, floor {self.bayes_error:.4f} {known}"


def names(kind: str | None = None) -> list[str]:
    """Names of the problems, for `get`.

    Parameters
    ----------
    kind : {None, "images", "texts"}
        Of rows: columns, pictures, or texts.

    Examples
    --------
    >>> "twonorm" in names()
    True
    """
    if (kind is not None and not isinstance(kind, str)) or kind not in KINDS:
        raise ParameterError(f"kind must be None or one of {', '.join(filter(None, KINDS))}; got {brief(kind)}")
    return list(KINDS[kind])


def get(name: str, **parameters: Any) -> Problem:
    """Problem of this name, or a variant of it with other parameters.

    The floor of a variant is computed on demand; where that takes a simulation, `bayes_error_std` is its
    standard error, at most 2e-4.

    Examples
    --------
    >>> print(get("gaussians_4d", shift=5, variance=2))
    gaussians_4d(shift=5, variance=2): d = 4, 2 classes, floor 0.0385 exactly
    """
    everything = {known: entry for problems in KINDS.values() for known, entry in problems.items()}
    if not isinstance(name, str) or name not in everything:
        near = difflib.get_close_matches(str(name), everything, n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(everything)}"
        raise ParameterError(f"there is no problem named {brief(name)}: {hint}")
    family, defaults = everything[name]
    known = inspect.signature(family).parameters
    for parameter in parameters:
        if parameter not in known:
            raise ParameterError(f"{name} has no parameter {parameter!r}; it has: {', '.join(known)}")
    distribution = family(**{**defaults, **parameters})
    listed = ", ".join(f"{key}={value!r}" for key, value in parameters.items())
    if distribution.exact_error is not None:
        error, std = distribution.exact_error, 0.0
    elif not parameters and name in _stored():
        error, std = _stored()[name]
    else:
        error, std = simulated_error(distribution, LARGEST_STD)
    return Problem(f"{name}({listed})" if listed else name, distribution, error, std)


@cache
def _stored() -> dict[str, tuple[float, float]]:
    """Floors found by simulation, written by benchmarks/problem_truths.py."""
    text = files(__package__).joinpath("problem_truths.json").read_text(encoding="utf-8")
    return {name: (entry["bayes_error"], entry["bayes_error_std"]) for name, entry in json.loads(text).items()}


def simulated_error(distribution: Distribution, largest_std: float, random_state: Any = 0) -> tuple[float, float]:
    """Mean of 1 - max posterior over as many draws as bring its standard error down to `largest_std`."""
    rng = generator_from(random_state)
    block = max(1000, min(100_000, 10_000_000 // distribution.n_features))
    n, total, squares = 0, 0.0, 0.0
    while True:
        X, _ = distribution.draw(block, rng)
        error = 1 - distribution.posterior(X).max(axis=1)
        n, total, squares = n + block, total + error.sum(), squares + (error**2).sum()
        # Where hardly any draw errs the spread of the draws says nothing: at least what one more would change.
        std = max(math.sqrt(max(0.0, squares / n - (total / n) ** 2) / n), 1 / n)
        if n >= 200_000 and std <= largest_std:
            return total / n, std


def label_noise(problem: Problem, rho: float) -> Problem:
    """Problem whose labels are replaced, with probability rho, by a uniform draw over all classes.

    Its floor is R + rho (1 - 1/C - R), exactly.

    Examples
    --------
    >>> noisy = label_noise(get("gaussians_4d"), 0.2)
    >>> round(noisy.bayes_error, 4)
    0.2269
    """
    if not isinstance(problem, Problem):
        raise ParameterError(f"problem must be one of bayesfloor.problems, got {brief(problem)}")
    rho = check_number("rho", rho, 0, 1)
    clean, n_classes = problem.distribution, problem.n_classes

    def draw(n: int, rng: np.random.Generator) -> tuple[Floats, Codes]:
        X, y = clean.draw(n, rng)
        return X, np.where(rng.random(n) < rho, rng.integers(0, n_classes, n), y)

    def posterior(X: Floats) -> Floats:
        return (1 - rho) * clean.posterior(X) + rho / n_classes

    floor = problem.bayes_error + rho * (1 - 1 / n_classes - problem.bayes_error)
    priors = (1 - rho) * clean.priors + rho / n_classes
    noisy = replace(clean, priors=priors, draw=draw, posterior=posterior, exact_error=None)
    return Problem(f"{problem.name} + {rho!r} noise", noisy, floor, (1 - rho) * problem.bayes_error_std)


def from_posterior(X: ArrayLike, P: ArrayLike, name: str = "given posterior") -> Problem:
    """Real features with a stated posterior: rows are drawn without replacement, labels from the posterior.

    Parameters
    ----------
    X : array-like of shape (N, d)
    P : array-like of shape (N, C)
        Class probabilities of each row. Rows with equal features get the mean of theirs: nobody can tell them apart.
    name : str

    Returns
    -------
    Problem
        Its floor is exact for the N rows: mean of 1 - max P. `posterior` knows these rows and no others.

    Examples
    --------
    >>> problem = from_posterior([[0.0], [1.0]], [[0.9, 0.1], [0.4, 0.6]])
    >>> round(problem.bayes_error, 3)
    0.25
    """
    check_text("name", name)
    points = feature_matrix(X)[0].copy()
    given = _check_probabilities(P, len(points))
    keys, group = np.unique(row_keys(points), return_inverse=True)
    size = np.bincount(group)
    shares = np.stack([np.bincount(group, weights=column) / size for column in given.T], axis=1)
    shares /= shares.sum(axis=1, keepdims=True)

    def posterior(Q: Floats) -> Floats:
        wanted = row_keys(Q)
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        unknown = np.flatnonzero(keys[at] != wanted)
        if len(unknown):
            raise DataError(f"{name}: the posterior is known for the given rows only; row {unknown[0]} is none of them")
        return shares[at]

    def draw(n: int, rng: np.random.Generator) -> tuple[Floats, Codes]:
        if n > len(points):
            raise ParameterError(f"{name} has {len(points)} rows, drawn without replacement: {n} are too many")
        chosen = rng.permutation(len(points))[:n]
        return points[chosen], draw_labels(shares[group[chosen]], rng)

    floor = float(1 - shares[group].max(axis=1).mean())
    distribution = Distribution(points.shape[1], shares[group].mean(axis=0), draw, posterior, floor)
    return Problem(name, distribution, floor, 0.0)


def _check_probabilities(P: ArrayLike, n: int) -> Floats:
    given = numbers_from("P", P)
    if given.ndim != 2 or given.shape[1] < 2 or len(given) != n:
        raise DataError(f"P must have one row per row of X ({n}) and a column per class, got shape {given.shape}")
    wrong = np.flatnonzero(~(given >= 0).all(axis=1))
    if len(wrong):
        raise DataError(f"P has a negative or missing probability in row {wrong[0]}: {given[wrong[0]].tolist()}")
    sums = given.sum(axis=1)
    wrong = np.flatnonzero(np.abs(sums - 1) > 1e-6)
    if len(wrong):
        raise DataError(
            f"P does not sum to 1 in {len(wrong)} rows, the first is row {wrong[0]} with {sums[wrong[0]]:.6g}"
        )
    return given
