"""A problem that meets every assumption of the theorems: smooth densities, bounded from below and above, on a cube."""

import math

import numpy as np

from bayesfloor._types import Codes, Floats
from bayesfloor.problems.families import Distribution, draw_labels
from bayesfloor.problems.problems import Problem

__all__ = ["smooth_cube"]


def smooth_cube(n_features: int, swing: float = 0.45) -> Problem:
    """Rows uniform on [0, 1]^d, two classes with posterior 1/2 + swing cos(pi x_1); floor 1/2 - 2 swing / pi, exactly.

    Examples
    --------
    >>> print(smooth_cube(3))
    smooth_cube(3): d = 3, 2 classes, floor 0.2135 exactly
    """

    def posterior(X: Floats) -> Floats:
        first = 0.5 + swing * np.cos(np.pi * X[:, 0])
        return np.stack([first, 1 - first], axis=1)

    def draw(n: int, rng: np.random.Generator) -> tuple[Floats, Codes]:
        X = rng.random((n, n_features))
        return X, draw_labels(posterior(X), rng)

    floor = 0.5 - 2 * swing / math.pi
    distribution = Distribution(n_features, np.array([0.5, 0.5]), draw, posterior, floor)
    return Problem(f"smooth_cube({n_features})", distribution, floor, 0.0)
