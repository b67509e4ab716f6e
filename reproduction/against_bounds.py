"""The benchmark learner against the Henze-Penrose bounds: Figures 2 and 11."""

from typing import Any

from .experiment import Experiment, Line, Results, Settings
from .measure import Entrant, Task, measure
from .wording import (
    ADAPTIVE,
    AUTHORS,
    LEARNED,
    PRINTED,
    at_end,
    at_truth,
    closest,
    figure_table,
    on_print,
    percent,
    reproduced,
)

__all__ = ["EXPERIMENT"]

_TASKS: dict[str, Task] = {
    "two Gaussians, 10-d, 5 apart": ("gaussians_10d", {}),
    "three Rayleigh classes (2, 4, 6), 10-d": ("rayleigh_10d", {}),
}
_PLACES = dict(zip(_TASKS, ("Figure 2", "Figure 11"), strict=True))


def run(settings: Settings) -> Results:
    """Estimates and bounds over N."""
    sizes = (100, 200) if settings.quick else (250, 500, 1000, 2000, 4000)
    few, many = (1, 2) if settings.quick else (20, 50)
    entrants = {
        PRINTED: Entrant(PRINTED, sizes, few),
        AUTHORS: Entrant(AUTHORS, sizes, many),
        ADAPTIVE: Entrant("adaptive", sizes, few),
        LEARNED: Entrant(LEARNED, sizes[-1:] if settings.quick else sizes, few),
        "Henze-Penrose": Entrant("Henze-Penrose", sizes, few),
        "oracle": Entrant("oracle", sizes, many),
    }
    return {"tasks": measure(settings, "against bounds", _TASKS, entrants)}


def draw(results: Results) -> Any:
    """A panel per problem."""
    from .figures import curves_by_size

    return curves_by_size(results["tasks"])


def judge(results: Results) -> str:
    """Tables, and what holds at the largest N."""
    parts = []
    for title, task in results["tasks"].items():
        lower, upper = _bounds(task)
        kept = "contain the floor"
        if not lower <= task["truth"] <= upper:
            side, place = ("lower", "above") if lower > task["truth"] else ("upper", "below")
            kept = f"miss the floor: the {side} one is {place} it"
        text = f"The Henze-Penrose bounds at the largest N, {percent(lower, 2)} to {percent(upper, 2)}, {kept}."
        bound = task["curves"]["Henze-Penrose"]
        if "printed lower" in bound:
            text += f" The lower bound as printed would be {percent(at_end(bound, 'printed lower'), 1)}."
        nearest = closest(task, [PRINTED, AUTHORS, ADAPTIVE, LEARNED])
        parts += [f"**{_PLACES[title]}: {title}**, floor {percent(task['truth'], 2)}", figure_table(task)]
        parts.append(f"{on_print(task)} {text} {nearest}")
    return "\n\n".join(parts)


def _bounds(task: Results) -> tuple[float, float]:
    bound = task["curves"]["Henze-Penrose"]
    return at_end(bound, "lower"), at_end(bound, "upper")


def index(results: Results) -> list[Line]:
    """Whether the estimate comes to the floor, with bounds that stay away."""
    lines = []
    for title, task in results["tasks"].items():
        (lower, upper), truth = _bounds(task), task["truth"]
        holds = {label: at_truth(task, label) for label in (PRINTED, AUTHORS, LEARNED)}
        cells = {label: percent(at_end(task["curves"][label]), 2) for label in holds}
        lines.append(
            Line(
                _PLACES[title],
                f"{title}: the estimate converges to the floor ({percent(truth, 2)}), the Henze-Penrose bounds keep a "
                f"large bias (measured: {percent(lower, 2)} and {percent(upper, 2)})",
                cells[PRINTED],
                cells[AUTHORS],
                cells[LEARNED],
                reproduced(*holds.values()),
            )
        )
    return lines


EXPERIMENT = Experiment(
    "bounds",
    "Against the Henze-Penrose bounds (Figures 2 and 11)",
    "On two 10-d Gaussians 5 apart, and on three 10-d Rayleigh classes with scales 2, 4 and 6, the benchmark learner "
    "comes to the true Bayes error as N grows to 4,000, while the Henze-Penrose bounds stay on either side of it.",
    run,
    draw,
    judge,
    index,
)
