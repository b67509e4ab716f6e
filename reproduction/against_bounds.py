"""The benchmark learner against the Henze-Penrose bounds."""

from typing import Any

from .experiment import Experiment, Results, Settings
from .measure import Entrant, Task, measure
from .wording import at_end, closest, figure_table, on_printed_rule, percent

__all__ = ["EXPERIMENT"]

_TASKS: dict[str, Task] = {
    "two Gaussians, 10-d, 5 apart": ("gaussians_10d", {}),
    "three Rayleigh classes (2, 4, 6), 10-d": ("rayleigh_10d", {}),
}


def run(settings: Settings) -> Results:
    """Estimates and bounds over N."""
    sizes = (100, 200) if settings.quick else (250, 500, 1000, 2000, 4000)
    few, many = (1, 2) if settings.quick else (5, 20)
    entrants = {
        "printed rule": Entrant("printed rule", sizes, many),
        "printed rule with a unit": Entrant("printed rule with a unit", sizes, many),
        "adaptive learner": Entrant("adaptive", sizes, many),
        "learned floor": Entrant("learned floor", sizes[-1:] if settings.quick else sizes, few),
        "Henze-Penrose": Entrant("Henze-Penrose", sizes, many),
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
        bound = task["curves"]["Henze-Penrose"]
        lower, upper, truth = at_end(bound, "lower"), at_end(bound, "upper"), task["truth"]
        kept = "contain the truth"
        if not lower <= truth <= upper:
            side, place = ("lower", "above") if lower > truth else ("upper", "below")
            kept = f"miss the truth: the {side} one is {place} it"
        text = f"The Henze-Penrose bounds at the largest N, {percent(lower, 2)} to {percent(upper, 2)}, {kept}."
        nearest = closest(task, ["printed rule", "printed rule with a unit", "adaptive learner", "learned floor"])
        parts += [f"**{title}**, floor {percent(truth, 2)}", figure_table(task)]
        parts.append(f"{on_printed_rule(task)} {text} {nearest}")
    return "\n\n".join(parts)


EXPERIMENT = Experiment(
    "bounds",
    "Against the Henze-Penrose bounds",
    "On two 10-d Gaussians 5 apart, and on three 10-d Rayleigh classes with scales 2, 4 and 6, the benchmark learner "
    "comes to the true Bayes error as N grows to 4,000, while the Henze-Penrose bounds stay on either side of it.",
    run,
    draw,
    judge,
)
