"""All pictures, under the name they are imported by."""

from .arena.leaderboard import plot_leaderboard
from .report.pictures import (
    page_svg,
    plot_abstention,
    plot_estimates,
    plot_floor,
    plot_learning_curve,
    plot_pairs,
    plot_subgroups,
    svg,
)

__all__ = [
    "page_svg",
    "plot_abstention",
    "plot_estimates",
    "plot_floor",
    "plot_leaderboard",
    "plot_learning_curve",
    "plot_pairs",
    "plot_subgroups",
    "svg",
]
