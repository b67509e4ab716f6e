"""The unit of length that the printed rule lacks, from far too small to far too large."""

from typing import Any

from .experiment import Experiment, Line, Results, Settings
from .measure import Entrant, Task, measure
from .wording import percent, plural, table

__all__ = ["EXPERIMENT"]

_TASKS: dict[str, Task] = {
    "two Gaussians, 4-d, 2 apart": ("gaussians_4d", {}),
    "two Gaussians, 10-d, 5 apart": ("gaussians_10d", {}),
    "three Rayleigh classes (2, 4, 6), 10-d": ("rayleigh_10d", {}),
    "three Rayleigh classes (0.7, 1.0, 1.3), 30-d": ("rayleigh_30d", {}),
    "three beta classes, 50-d": ("beta_50d", {}),
    "two Gaussians, 100-d, 2 apart": ("gaussians_100d", {}),
}
_ALPHA = 0.5  # the upper end of what the paper recommends
# The largest weights sit on the smallest radii, down to about alpha (2 / d)^2: only a huge unit fills those.
_UNITS = tuple(2.0**i for i in range(-1, 16))
_CLOSE = 0.1  # of the truth


def run(settings: Settings) -> Results:
    """The printed radii at each unit, in mean distances between two points."""
    units = (0.5, 64.0, 32768.0) if settings.quick else _UNITS
    n, repetitions = (150, 2) if settings.quick else (1000, 3)
    entrants = {
        f"unit {unit:g}": Entrant("printed radii with a unit", (n,), repetitions, {"alpha": _ALPHA * unit})
        for unit in units
    }
    tasks = measure(settings, "unit of length", _TASKS, entrants)
    return {"n": n, "repetitions": repetitions, "units": list(units), "alpha": _ALPHA, "tasks": tasks}


def draw(results: Results) -> Any:
    """A panel per problem: estimate and empty balls over the unit."""
    from .figures import estimates_by_unit

    return estimates_by_unit(results["tasks"], results["units"])


def _means(task: Results, units: list[float], figure: str = "value") -> list[float]:
    return [task["curves"][f"unit {unit:g}"][figure]["mean"][0] for unit in units]


def judge(results: Results) -> str:
    """The best case, how narrow it is, and what the best unit of one problem does to the others."""
    units, tasks = results["units"], results["tasks"]
    rows, best = [], {}
    for title, task in tasks.items():
        means, truth = _means(task, units), task["truth"]
        at = min(range(len(units)), key=lambda i: abs(means[i] - truth))
        best[title] = units[at]
        close = [f"{unit:g}" for unit, mean in zip(units, means, strict=True) if abs(mean - truth) <= _CLOSE * truth]
        rows.append(
            [
                title,
                percent(truth, 2),
                f"{percent(min(means), 2)} to {percent(max(means), 2)}",
                f"{units[at]:g}",
                percent(means[at], 2),
                percent(_means(task, units, "empty")[at], 0),
                ", ".join(close) or "none",
            ]
        )
    header = ["problem", "floor", "answers", "best unit", "answer there", "empty balls there", "within a tenth at"]
    reached = sum(row[-1] != "none" for row in rows)
    swept = [
        title
        for title, task in tasks.items()
        if min(_means(task, units)) < task["truth"] / 2 and max(_means(task, units)) > 2 * task["truth"]
    ]
    text = (
        f"N = {results['n']:,}, {plural(results['repetitions'], 'sample')}, alpha = {results['alpha']:g}; the unit is "
        "a multiple of the mean distance between two points, and a unit twice as large is the same as twice the alpha. "
        "The unit is an invention of this package: neither the paper nor its authors' code has one. "
        f"Of {len(units)} units some one brings the printed radii within a tenth of the truth on {reached} of "
        f"{len(tasks)} problems: that is its best case. On {len(swept)} of {len(tasks)} the answers run from below "
        "half of the truth to above twice of it, so that any figure in between could be had. "
    )
    worst, crossed = _transferred(tasks, units, best)
    text += (
        f"The best units are {', '.join(f'{unit:g}' for unit in sorted(set(best.values())))}. Taking the best one of "
        f"another problem is within a tenth of the truth in {crossed} of {len(tasks) * (len(tasks) - 1)} cases; the "
        f"worst is {worst}. Neither the data nor the share of empty balls say which unit to take: only the truth "
        "tells, which a user does not have."
    )
    return f"{table(header, rows)}\n\n{text}"


def index(results: Results) -> list[Line]:
    """No line: the paper has no such experiment."""
    return []


def _transferred(tasks: Results, units: list[float], best: dict[str, float]) -> tuple[str, int]:
    """The unit of each problem on every other one: the worst answer in words, and how many are close."""
    close, worst, words = 0, -1.0, ""
    for title, task in tasks.items():
        means = dict(zip(units, _means(task, units), strict=True))
        for other in tasks.keys() - {title}:
            off = abs(means[best[other]] - task["truth"]) / task["truth"]
            close += off <= _CLOSE
            if off > worst:
                worst = off
                words = (
                    f"{title} with the unit {best[other]:g}: {percent(means[best[other]], 2)} where the floor is "
                    f"{percent(task['truth'], 2)}"
                )
    return words, close


EXPERIMENT = Experiment(
    "units",
    "The unit of length",
    "Radii are xi N^(-1/2d) with xi up to alpha between 0.3 and 0.5: a number without a unit, on data whose distances "
    "have one.",
    run,
    draw,
    judge,
    index,
)
