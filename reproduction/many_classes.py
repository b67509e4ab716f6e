"""Many classes: the rate of the multi-class theorem, and which class decides it."""

from typing import Any

import numpy as np

from .convergence import FACTOR, LABELS, measure_rates, parametric_line, shown_slope
from .experiment import Experiment, Line, Results, Settings
from .measure import Entrant, Task
from .wording import ADAPTIVE, AUTHORS, PRINTED, percent, plural, table

__all__ = ["EXPERIMENT"]

_TASKS: dict[str, Task] = {
    f"{c} classes, d = {d}": ("gaussian_row", {"n_features": d, "n_classes": c, "shift": 2.0})
    for c, d in ((3, 1), (3, 2), (3, 4), (3, 10), (5, 2), (10, 2))
}
_SMALL: dict[str, Task] = {"3 classes, d = 2": _TASKS["3 classes, d = 2"]}
_SMALLEST = 50


def run(settings: Settings) -> Results:
    """All classes growing together; then all but one, which stays small."""
    sizes = (100, 200) if settings.quick else (250, 500, 1000, 2000, 4000)
    repetitions = 3 if settings.quick else 20
    entrants = {
        PRINTED: Entrant(PRINTED, sizes, repetitions),
        AUTHORS: Entrant(AUTHORS, sizes, repetitions),
        ADAPTIVE: Entrant("adaptive", sizes, repetitions),
    }
    tasks = measure_rates(settings, "many classes", _TASKS, entrants)
    larger = (60, 120) if settings.quick else (50, 100, 200, 400, 800, 1600)
    repetitions = 5 if settings.quick else 100
    entrants = {
        ADAPTIVE: Entrant("small class", larger, repetitions, {"smallest": _SMALLEST}),
        "oracle": Entrant("oracle, small class", larger, repetitions, {"smallest": _SMALLEST}),
    }
    small = measure_rates(settings, "one class small", _SMALL, entrants)
    return {"tasks": tasks, "small": small, "smallest": _SMALLEST}


def draw(results: Results) -> Any:
    """Mean squared error over N, a panel per learner, and one for the class that stays small."""
    from .figures import rates_of_classes

    return rates_of_classes(results["tasks"], LABELS, results["small"], results["smallest"])


def judge(results: Results) -> str:
    """Slopes, and what a class that does not grow does to them."""
    parts = []
    for label in LABELS:
        rows, parametric = [], []
        for title, task in results["tasks"].items():
            curve = task["curves"][label]
            holds = max(curve["times_oracle"]) <= FACTOR
            if holds:
                parametric.append(title)
            rows.append(
                [
                    title,
                    percent(task["truth"], 2),
                    shown_slope(curve),
                    "yes" if curve["slope_low"] <= -1 else "no",
                    f"{curve['times_oracle'][0]:.1f}",
                    f"{curve['times_oracle'][-1]:.1f}",
                    percent(curve["empty"]["mean"][-1], 0) if "empty" in curve else "",
                ]
            )
        header = [
            "problem",
            "floor",
            "slope of log MSE",
            "1/N or faster is possible",
            "times oracle, smallest N",
            "largest N",
            "empty balls, largest N",
        ]
        parts += [f"**{label}**", table(header, rows)]
        parts.append(
            f"Method {label}: the mean squared error is within {FACTOR:g} times the oracle's at every N for "
            f"{', '.join(parametric) or 'none of these'}."
        )
    first = next(iter(results["tasks"].values()))["curves"][LABELS[0]]
    parts.append(
        "Gaussians in a row, 2 apart, classes of equal shares; N = "
        f"{first['n'][0]:,} to {first['n'][-1]:,}, {plural(first['repetitions'], 'sample')} per size."
    )
    return "\n\n".join([*parts, *_judge_small(results)])


def _judge_small(results: Results) -> list[str]:
    (task,) = results["small"].values()
    rows = []
    for label, curve in task["curves"].items():
        cells = [f"{1e4 * mse:.2f}" for mse in curve["value"]["mse"]]
        rows.append([label, *cells, shown_slope(curve)])
    larger = task["curves"]["oracle"]["n"]
    header = ["mean squared error, x 10,000", *(f"{n:,} rows" for n in larger), "slope over the larger classes"]
    curve = task["curves"][ADAPTIVE]
    growth, fall = larger[-1] / larger[0], curve["value"]["mse"][0] / curve["value"]["mse"][-1]
    follows = curve["slope_low"] <= -1
    verdict = (
        "The rate follows the largest class."
        if follows
        else "It does not follow the largest class: what the small class leaves unknown stays, however many rows "
        "the others have. Under the theorem's own assumption, classes in fixed shares, the choice is one of a constant."
    )
    return [
        f"**One class stays at {results['smallest']} rows**, the others grow; floor for equal shares",
        table(header, rows),
        f"The larger classes grow {growth:g}-fold, and the mean squared error of the adaptive learner falls "
        f"{fall:.1f}-fold (that of the oracle "
        f"{np.divide(*np.array(task['curves']['oracle']['value']['mse'])[[0, -1]]):.1f}-fold). {verdict}",
    ]


def index(results: Results) -> list[Line]:
    """For how many problems the rate shows."""
    claim = "for any number of classes the mean squared error is O(1/N*)"
    return [parametric_line("Theorem 10", claim, results["tasks"])]


EXPERIMENT = Experiment(
    "many_classes",
    "Many classes (Theorem 10)",
    "Theorem 10: with d vanishing moments the mean squared error is O(1/N*) for any number of classes, N* being the "
    "number of rows of one of them. Which one it must be, and what happens with a larger one, is shown below.",
    run,
    draw,
    judge,
    index,
)
