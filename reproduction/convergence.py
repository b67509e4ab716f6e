"""Measured rates of convergence against the O(1/N) of Theorem 8."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .experiment import Experiment, Line, Results, Settings
from .measure import Entrant, Task, drop_values, measure
from .wording import ADAPTIVE, AUTHORS, PRINTED, percent, plural, reproduced, table

__all__ = ["EXPERIMENT", "FACTOR", "LABELS", "measure_rates", "parametric_line", "shown_slope", "slope"]

_TASKS: dict[str, Task] = {
    **{f"d = {d}": ("gaussians_4d", {"n_features": d}) for d in (1, 2, 4, 6, 10, 20)},
    "noise in d = 2": ("pure_noise", {"n_features": 2, "n_classes": 2}),
}
LABELS = (PRINTED, AUTHORS, ADAPTIVE)
FACTOR = 2.0  # a mean squared error up to so many times the oracle's counts as parametric


def slope(sizes: Any, squared_errors: Any, random_state: int = 0) -> tuple[float, float, float]:
    """Slope of log MSE over log N, with a 95 % interval from 400 bootstrap samples of the repetitions.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sizes = [100, 400, 1600]
    >>> found = slope(sizes, [rng.normal(0, n**-0.5, 200) ** 2 for n in sizes])
    >>> found[1] < -1 < found[2]
    True
    """
    rng, logs = np.random.default_rng(random_state), np.log(np.asarray(sizes, dtype=float))
    table = np.asarray(squared_errors, dtype=float)

    def fitted(mse: Any) -> float:
        return float(np.polyfit(logs, np.log(np.maximum(mse, 1e-300)), 1)[0])

    drawn = [fitted([row[rng.integers(0, len(row), len(row))].mean() for row in table]) for _ in range(400)]
    return fitted(table.mean(axis=1)), float(np.percentile(drawn, 2.5)), float(np.percentile(drawn, 97.5))


def measure_rates(
    settings: Settings, stage: str, problems: Mapping[str, Task], entrants: Mapping[str, Entrant]
) -> Results:
    """As `measure`; each curve has its slope, and its mean squared errors as multiples of the oracle's."""
    tasks = measure(settings, stage, problems, entrants, raw=True)
    for task in tasks.values():
        for curve in task["curves"].values():
            squared = [(np.array(values) - task["truth"]) ** 2 for values in curve["value"]["values"]]
            curve["slope"], curve["slope_low"], curve["slope_high"] = slope(curve["n"], squared, settings.seed)
            oracle = task["truth"] * (1 - task["truth"]) / np.array(curve["n"])
            curve["times_oracle"] = (np.array(curve["value"]["mse"]) / oracle).tolist()
    drop_values(tasks)
    return tasks


def shown_slope(curve: Results) -> str:
    """Slope with its interval."""
    return f"{curve['slope']:+.2f} [{curve['slope_low']:+.2f}, {curve['slope_high']:+.2f}]"


def run(settings: Settings) -> Results:
    """Mean squared errors over N, their slopes, and multiples of the oracle's."""
    sizes = (100, 200) if settings.quick else (125, 250, 500, 1000, 2000, 4000)
    repetitions = 3 if settings.quick else 40
    entrants = {
        PRINTED: Entrant(PRINTED, sizes, repetitions),
        AUTHORS: Entrant(AUTHORS, sizes, repetitions),
        ADAPTIVE: Entrant("adaptive", sizes, repetitions),
    }
    return {"tasks": measure_rates(settings, "convergence", _TASKS, entrants)}


def draw(results: Results) -> Any:
    """Mean squared error over N, a panel per learner."""
    from .figures import rates

    return rates(results["tasks"], LABELS)


def judge(results: Results) -> str:
    """Slopes, and where the rate stops holding."""
    parts = []
    for label in LABELS:
        rows, holds = [], []
        for title, task in results["tasks"].items():
            curve = task["curves"][label]
            times = curve["times_oracle"]
            within = [n for n, t in zip(curve["n"], times, strict=True) if t <= FACTOR]
            beyond = [n for n, t in zip(curve["n"], times, strict=True) if t > FACTOR]
            where = f"at N = {', '.join(f'{n:,}' for n in within)}" if within else "nowhere"
            rows.append(
                [
                    title,
                    shown_slope(curve),
                    f"{times[0]:.1f}",
                    f"{times[-1]:.1f}",
                    where if beyond else "at every N",
                    percent(curve["empty"]["mean"][-1], 0) if "empty" in curve else "",
                ]
            )
            if not beyond:
                holds.append(title)
        header = [
            "problem",
            "slope of log MSE",
            "times oracle, smallest N",
            "largest N",
            f"within {FACTOR:g} times the oracle",
            "empty balls, largest N",
        ]
        parts += [f"**{label}**", table(header, rows)]
        parts.append(
            f"Method {label}: the parametric rate is met at every N for {', '.join(holds) or 'none of these'}, and "
            f"fails somewhere for {', '.join(t for t in results['tasks'] if t not in holds) or 'none'}."
        )
    task = next(iter(results["tasks"].values()))
    parts.append(
        f"Two Gaussians 2 apart (floor {percent(task['truth'], 1)}) in d dimensions, and two classes of pure noise; "
        f"{plural(task['curves'][LABELS[0]]['repetitions'], 'sample')} per size. The oracle counts the errors of the "
        "Bayes classifier on the sample: its MSE is E(1 - E)/N, slope -1. A slope near 0 means that what is left is "
        "bias, which more rows hardly remove: where balls are empty the estimate is 0 and the MSE the squared truth, "
        "and the N from which on the theorem would show is out of reach. A slope steeper than -1 is a bias that fades."
    )
    return "\n\n".join(parts)


def index(results: Results) -> list[Line]:
    """For which dimensions the rate shows."""
    claim = "with d vanishing moments the ensemble's mean squared error is O(1/N) in every dimension"
    return [parametric_line("Theorem 8", claim, results["tasks"])]


def parametric_line(place: str, claim: str, tasks: Results) -> Line:
    """A line about how many problems have a mean squared error within a multiple of the oracle's at every N."""
    kept = [
        [title for title, task in tasks.items() if max(task["curves"][label]["times_oracle"]) <= FACTOR]
        for label in LABELS
    ]
    return Line(
        place,
        f"{claim}; measured: within {FACTOR:g} times the oracle's at every N, of {len(tasks)} problems",
        *(f"{len(titles)} of {len(tasks)}" for titles in kept),
        reproduced(*(len(titles) == len(tasks) for titles in kept)),
    )


EXPERIMENT = Experiment(
    "convergence",
    "Rates of convergence (Theorem 8)",
    "Theorem 8: with d vanishing moments the ensemble's mean squared error is O(1/N) whatever the dimension.",
    run,
    draw,
    judge,
    index,
)
