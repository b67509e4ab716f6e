"""The printed radius rule with a unit of length: an invention of this package, to see what the print lacks."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import pdist

from bayesfloor._types import Floats
from bayesfloor.counting._ball_counts import BallCounter

__all__ = ["PaperRadiiWithUnit"]


@dataclass(frozen=True)
class PaperRadiiWithUnit:
    """Radius = xi (N / C)^(-1 / 2d) times the mean distance between two points, with xi in (0, alpha].

    The printed rule gives other answers in metres than in millimetres. Neither the paper nor its authors' code has this
    unit: it is a guess at what could be meant, and other units fill the balls more or less (the experiment "units").
    """

    alpha: float = 0.5

    def node_interval(self) -> tuple[float, float]:
        """The paper's xi."""
        return 0.0, self.alpha

    def defaults(self, n_features: int) -> tuple[int, int]:
        """As printed: L = d + 1 nodes, d vanishing moments."""
        return n_features + 1, n_features

    def radii(self, nodes: Floats, counter: BallCounter, order: int, unit: float) -> Floats:
        """Radius of each xi; the mean distance is that of up to 500 points."""
        n_samples, n_features = counter.points.shape
        some = np.linspace(0, n_samples - 1, min(n_samples, 500)).astype(np.int64)
        shrink = float(n_samples / counter.n_classes) ** (-1 / (2 * max(1, n_features)))
        return nodes * float(pdist(counter.points[some]).mean()) * shrink
