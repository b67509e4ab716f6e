"""The benchmark learner against XGBoost, random forest and a network: Figures 3 and 12."""

from importlib.util import find_spec
from typing import Any

from .experiment import Experiment, Line, Results, Settings
from .measure import Entrant, Task, measure, missing_frameworks
from .wording import (
    ADAPTIVE,
    AUTHORS,
    LEARNED,
    PRINTED,
    at_end,
    closest,
    figure_table,
    is_silent,
    on_print,
    percent,
    plural,
    reproduced,
)

__all__ = ["EXPERIMENT"]

_TASKS: dict[str, Task] = {
    "four concentric shells, 20-d": ("shells_20d", {}),
    "four Gaussians in a row, 100-d, 5 apart": ("gaussian_row", {}),
}
_PLACES = dict(zip(_TASKS, ("Figure 3(b)", "Figure 12"), strict=True))
_HIDDEN = (64, 64, 10)  # the paper's [20, 64, 64, 10, 4], read as input, three hidden layers and output
_CLASSIFIERS = ("XGBoost", "random forest", "network")


def run(settings: Settings) -> Results:
    """Errors of the classifiers on fresh rows, and estimates of the floor, over N."""
    sizes = (100, 200) if settings.quick else (250, 500, 1000, 2000, 4000)
    few, many = (1, 2) if settings.quick else (3, 20)
    n_epochs = 3 if settings.quick else 150
    entrants = {
        PRINTED: Entrant(PRINTED, sizes, few),
        AUTHORS: Entrant(AUTHORS, sizes, many),
        ADAPTIVE: Entrant("adaptive", sizes, many),
        LEARNED: Entrant(LEARNED, sizes[-1:] if settings.quick else sizes, many),
        "random forest": Entrant("random forest", sizes, few, {"n_trees": 30 if settings.quick else 300}),
    }
    if find_spec("xgboost") is not None:
        entrants["XGBoost"] = Entrant("XGBoost", sizes, few)
    if find_spec("torch") is not None:
        entrants["network"] = Entrant("network", sizes, few, {"hidden": _HIDDEN, "n_epochs": n_epochs})
    tasks = measure(settings, "against classifiers", _TASKS, entrants)
    return {"tasks": tasks, "n_epochs": n_epochs, "notes": missing_frameworks()}


def draw(results: Results) -> Any:
    """A panel per problem."""
    from .figures import curves_by_size

    return curves_by_size(results["tasks"], log_above=1.0)


def judge(results: Results) -> str:
    """Tables; whether a classifier has come below the estimate of the floor."""
    parts = [f"- {note}" for note in results["notes"]]
    for title, task in results["tasks"].items():
        best, error = _best(task)
        learned = task["curves"][LEARNED]
        floor, ceiling, covered = at_end(learned), at_end(learned, "ceiling"), at_end(learned, "covered")
        side = "below" if floor <= error else "above"
        text = (
            f"The best classifier at the largest N is {best} with {percent(error, 2)}; the learned floor, "
            f"{percent(floor, 2)}, is {side} it, and its certified error {percent(ceiling, 2)}. "
            f"Its interval covers the floor in {percent(covered, 0)} of {plural(learned['repetitions'], 'sample')}."
        )
        if task["truth"] == 0:
            text += (
                " Here a floor of 0 makes an estimator of 0 look perfect: methods whose balls are empty are right by "
                "accident, as the other problems show."
            )
        nearest = closest(task, [PRINTED, AUTHORS, ADAPTIVE, LEARNED])
        parts += [f"**{_PLACES[title]}: {title}**, floor {percent(task['truth'], 2)}", figure_table(task)]
        parts.append(f"{on_print(task)} {text} {nearest}")
    parts.append(
        f"Classifiers are tested on 10,000 fresh rows. The network has three hidden layers (64, 64, 10) and "
        f"{results['n_epochs']} epochs: we take the paper's list of five layers to count input and output."
    )
    return "\n\n".join(parts)


def _best(task: Results) -> tuple[str, float]:
    """The classifier with the least error at the largest N."""
    errors = {name: at_end(task["curves"][name]) for name in _CLASSIFIERS if name in task["curves"]}
    return min(errors.items(), key=lambda entry: entry[1])


def index(results: Results) -> list[Line]:
    """Whether the estimate is nearer to the floor than the best classifier's error."""
    lines = []
    for title, task in results["tasks"].items():
        (name, error), truth = _best(task), task["truth"]
        holds, cells = {}, {}
        for label in (PRINTED, AUTHORS, LEARNED):
            curve = task["curves"][label]
            holds[label] = not is_silent(curve) and abs(at_end(curve) - truth) < abs(error - truth)
            cells[label] = percent(at_end(curve), 2) + (" (empty balls)" if is_silent(curve) else "")
        lines.append(
            Line(
                _PLACES[title],
                f"{title}: the estimate predicts the floor ({percent(truth, 2)}) better than classifiers do (best: "
                f"{name}, {percent(error, 2)})",
                *cells.values(),
                reproduced(*holds.values()),
            )
        )
    return lines


EXPERIMENT = Experiment(
    "classifiers",
    "Against XGBoost, random forest and a network (Figures 3 and 12)",
    "Four concentric shells in 20 dimensions, and four Gaussians 5 apart in 100: the errors of XGBoost, random forest "
    "and a network over N, beside the benchmark learner's estimate of what they could reach.",
    run,
    draw,
    judge,
    index,
)
