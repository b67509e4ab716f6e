"""The benchmark learner against XGBoost, random forest and a network."""

from importlib.util import find_spec
from typing import Any

from .experiment import Experiment, Results, Settings
from .measure import Entrant, Task, measure, missing_frameworks
from .wording import at_end, closest, figure_table, on_printed_rule, percent, plural

__all__ = ["EXPERIMENT"]

_TASKS: dict[str, Task] = {
    "four concentric shells, 20-d": ("shells_20d", {}),
    "four Gaussians in a row, 100-d, 5 apart": ("gaussian_row", {}),
}
_HIDDEN = (64, 64, 10)  # the paper's [20, 64, 64, 10, 4]
_CLASSIFIERS = ("XGBoost", "random forest", "network")


def run(settings: Settings) -> Results:
    """Errors of the classifiers on fresh rows, and estimates of the floor, over N."""
    sizes = (100, 200) if settings.quick else (250, 500, 1000, 2000, 4000)
    few, many = (1, 2) if settings.quick else (3, 10)
    n_epochs = 3 if settings.quick else 150
    entrants = {
        "printed rule": Entrant("printed rule", sizes, many),
        "adaptive learner": Entrant("adaptive", sizes, many),
        "learned floor": Entrant("learned floor", sizes[-1:] if settings.quick else sizes, few),
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
        errors = {name: at_end(task["curves"][name]) for name in _CLASSIFIERS if name in task["curves"]}
        best = min(errors, key=lambda name: errors[name])
        learned = task["curves"]["learned floor"]
        floor, ceiling, covered = at_end(learned), at_end(learned, "ceiling"), at_end(learned, "covered")
        side = "below" if floor <= errors[best] else "above"
        text = (
            f"The best classifier at the largest N is {best} with {percent(errors[best], 2)}; the learned floor, "
            f"{percent(floor, 2)}, is {side} it, and its ceiling {percent(ceiling, 2)}. "
            f"Its interval covers the truth in {percent(covered, 0)} of {plural(learned['repetitions'], 'sample')}."
        )
        if task["truth"] == 0:
            text += (
                " Here a truth of 0 makes an estimator of 0 look perfect: rules whose balls are empty are right by "
                "accident, as the other problems show."
            )
        nearest = closest(task, ["printed rule", "adaptive learner", "learned floor"])
        parts += [f"**{title}**, floor {percent(task['truth'], 2)}", figure_table(task)]
        parts.append(f"{on_printed_rule(task)} {text} {nearest}")
    parts.append(
        f"Classifiers are tested on 10,000 fresh rows. The network has three hidden layers (64, 64, 10) and "
        f"{results['n_epochs']} epochs; the paper's count of five includes input and output."
    )
    return "\n\n".join(parts)


EXPERIMENT = Experiment(
    "classifiers",
    "Against XGBoost, random forest and a network",
    "Four concentric shells in 20 dimensions, and four Gaussians 5 apart in 100: the errors of XGBoost, random forest "
    "and a network over N, beside the benchmark learner's estimate of what they could reach.",
    run,
    draw,
    judge,
)
