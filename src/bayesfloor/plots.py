"""Pictures. Each function draws on the axes it is given and returns them; the only module that imports matplotlib."""

from typing import Any

import numpy as np

from .leaderboard import ArenaResult

__all__ = ["plot_leaderboard", "svg"]


def plot_leaderboard(result: ArenaResult, *, ax: Any = None) -> Any:
    """Mean of estimate minus truth: a row per estimator, best on top, a column per problem.

    Red is too high, blue too low, white right; cells over 3 points off carry the figure. What failed has a cross.

    Parameters
    ----------
    result : ArenaResult
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    import matplotlib.pyplot as plt

    rows, cells = result.leaderboard(), result.by_problem()
    several = len({n for _, n in cells}) > 1
    table = np.array([[100 * cell.get(row.estimator, np.nan) for cell in cells.values()] for row in rows])
    if ax is None:
        size = (3.5 + 0.42 * len(cells), 1.8 + 0.36 * len(rows))
        _, ax = plt.subplots(figsize=size, layout="constrained")
    limit = 15.0
    ax.set_facecolor("0.85")
    image = ax.imshow(table, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
    for i, j in np.argwhere(np.abs(table) >= 3):
        colour = "white" if abs(table[i, j]) > 0.6 * limit else "black"
        ax.text(j, i, f"{table[i, j]:+.0f}", ha="center", va="center", fontsize=7, color=colour)
    for i, j in np.argwhere(np.isnan(table)):
        ax.text(j, i, "x", ha="center", va="center", fontsize=7, color="0.3")
    ax.set_xticks(
        range(len(cells)), [f"{name}, {n}" if several else name for name, n in cells], rotation=55, ha="right"
    )
    labels = [f"{row.estimator}  ({100 * row.mean_absolute_error:.1f})" for row in rows]
    ax.set_yticks(range(len(rows)), labels)
    ax.tick_params(length=0, labelsize=8)
    ax.set_title("Estimate minus true floor, in points (in brackets: mean absolute error)", fontsize=10)
    ax.figure.colorbar(image, ax=ax, shrink=0.6, extend="both", label="points")
    return ax


def svg(ax: Any) -> bytes:
    """The figure of these axes as an SVG file, the same bytes each time; the figure is closed."""
    import io

    import matplotlib.pyplot as plt

    buffer = io.BytesIO()
    with plt.rc_context({"svg.hashsalt": "bayesfloor"}):
        ax.figure.savefig(buffer, format="svg", metadata={"Date": None})
    plt.close(ax.figure)
    return buffer.getvalue()
