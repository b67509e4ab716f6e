"""The two drawings of the paper: the ball of Figure 1, and the four shells of Figure 3(a)."""

from typing import Any

import numpy as np

from bayesfloor import ball_counts

from .experiment import Experiment, Line, Results, Settings
from .wording import table

__all__ = ["EXPERIMENT"]

_RADIUS = 0.45
_SHOWN = 800  # points of the shells


def run(settings: Settings) -> Results:
    """Points around one centre, counted; and a two-dimensional Gaussian cut into four classes of equal size."""
    rng = np.random.default_rng(settings.seed)
    y = rng.integers(0, 2, 60)
    X = 0.5 * rng.normal(size=(60, 2)) + np.stack([0.6 * y, np.zeros(60)], axis=1)
    # A centre of class 2 between the classes, so that its ball holds some of both.
    centre = int(min(np.flatnonzero(y == 1), key=lambda row: abs(X[row, 0] - 0.3) + abs(X[row, 1])))
    counts = ball_counts(X, y, [_RADIUS], queries=[centre])[0, :, 0]
    points = rng.normal(size=(_SHOWN, 2))
    distance = np.linalg.norm(points, axis=1)
    shell = np.searchsorted(np.quantile(distance, [0.25, 0.5, 0.75]), distance)
    return {
        "ball": {
            "points": X.tolist(),
            "labels": y.tolist(),
            "centre": centre,
            "radius": _RADIUS,
            "counts": counts.tolist(),
            "sizes": np.bincount(y).tolist(),
        },
        "shells": {"points": points.tolist(), "labels": shell.tolist()},
    }


def draw(results: Results) -> Any:
    """A panel each."""
    from .figures import ball_and_shells

    return ball_and_shells(results["ball"], results["shells"])


def judge(results: Results) -> str:
    """The counts of the ball and the ratio they make."""
    ball = results["ball"]
    (n_first, n_second), (size_first, size_second) = ball["counts"], ball["sizes"]
    ratio = _ratio(ball)
    rows = [
        ["points of class 1 in the ball", n_first],
        ["points of class 2 in the ball, its centre included", n_second + 1],
        ["eta = N_2 / N_1", f"{size_second} / {size_first}"],
        ["U, estimate of f_1 / f_2 at the centre", f"{ratio:.2f}"],
    ]
    return (
        f"{table(['Figure 1', 'value'], rows)}\n\nFigure 3(a): a Gaussian cut into four classes of equal size by the "
        "distance from its mean, here in two dimensions."
    )


def _ratio(ball: Results) -> float:
    (n_first, n_second), (size_first, size_second) = ball["counts"], ball["sizes"]
    return float(size_second / size_first * n_first / (n_second + 1))


def index(results: Results) -> list[Line]:
    """Drawings claim nothing in numbers."""
    ratio = f"drawn; U = {_ratio(results['ball']):.2f}"
    return [
        Line("Figure 1", "the epsilon-ball around a point (a drawing)", ratio, "", "", "drawn"),
        Line("Figure 3(a)", "four classes with concentric distributions (a drawing)", "drawn", "", "", "drawn"),
    ]


EXPERIMENT = Experiment(
    "drawings",
    "The ball and the shells (Figures 1 and 3(a))",
    "A ball around a point of the second class holds points of both; a Gaussian is cut into four concentric classes.",
    run,
    draw,
    judge,
    index,
)
