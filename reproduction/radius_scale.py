"""How the estimate depends on the scale alpha of the printed radii."""

from typing import Any

from .experiment import Experiment, Results, Settings
from .measure import Entrant, Task, measure
from .wording import at_end, percent, plural, table

__all__ = ["EXPERIMENT"]

_TASKS: dict[str, Task] = {
    "two Gaussians (2I, 5 apart), 10-d": ("gaussians_10d", {"variance": 2.0}),
    "two Gaussians (2I, 5 apart), 50-d": ("gaussians_50d", {}),
    "two Gaussians (2I, 5 apart), 100-d": ("gaussians_100d", {"shift": 5.0, "variance": 2.0}),
    "three beta classes, 50-d": ("beta_50d", {}),
}
_ALPHAS = (0.1, 0.3, 0.5, 1.0)
_RULES = ("printed rule", "printed rule with a unit")


def run(settings: Settings) -> Results:
    """Both forms of the rule at every alpha, beside the learners that have no alpha."""
    sizes = (100, 200) if settings.quick else (250, 500, 1000, 2000, 4000)
    entrants = {
        f"{rule}, alpha {alpha}": Entrant(rule, sizes, 1 if settings.quick else 5, {"alpha": alpha})
        for rule in _RULES
        for alpha in _ALPHAS
    }
    entrants["adaptive learner"] = Entrant("adaptive", sizes, 1 if settings.quick else 5)
    if not settings.quick:
        entrants["learned floor"] = Entrant("learned floor", (1000, 4000), 3)
    return {"tasks": measure(settings, "scale of the radii", _TASKS, entrants)}


def draw(results: Results) -> Any:
    """A panel per problem."""
    from .figures import estimates_by_alpha

    return estimates_by_alpha(results["tasks"], _RULES, _ALPHAS)


def judge(results: Results) -> str:
    """Means at the largest N: a column per alpha."""
    rows, zeros, spreads, close = [], [], [], 0
    for title, task in results["tasks"].items():
        curves = task["curves"]
        for rule in _RULES:
            ends = [curves[f"{rule}, alpha {alpha}"] for alpha in _ALPHAS]
            cells = [f"{percent(at_end(c), 2)} ({percent(at_end(c, 'empty'), 0)})" for c in ends]
            rows.append([title, percent(task["truth"], 2), rule, *cells])
            if rule == _RULES[0] and all(max(c["value"]["mean"]) == 0 for c in ends):
                zeros.append(title)
            if rule == _RULES[1]:
                off = {alpha: at_end(c) - task["truth"] for alpha, c in zip(_ALPHAS, ends, strict=True)}
                _, near = min((abs(value), alpha) for alpha, value in off.items())
                close += abs(off[near]) <= 0.1 * task["truth"]
                spreads.append(f"{title}: alpha {near}, off by {100 * off[near]:+.2f} points")
        others = [
            f"{label} {percent(at_end(curves[label]), 2)}"
            for label in ("adaptive learner", "learned floor")
            if label in curves
        ]
        rows.append([title, percent(task["truth"], 2), "without alpha", ", ".join(others), "", "", ""])
    first = next(iter(results["tasks"].values()))["curves"][f"{_RULES[0]}, alpha {_ALPHAS[0]}"]
    header = ["problem", "floor", "rule", *(f"alpha {alpha}" for alpha in _ALPHAS)]
    text = (
        f"In brackets: share of empty balls, by weight; N = {first['n'][-1]:,}, "
        f"{plural(first['repetitions'], 'sample')}. The printed rule is 0 at every N and every alpha on "
        f"{len(zeros)} of {len(results['tasks'])} problems: where lengths have no unit, no alpha up to 1 need be large "
        f"enough. With a unit the closest alphas are: {'; '.join(spreads)}. Within a tenth of the truth some alpha "
        f"comes on {close} of {len(results['tasks'])} problems, and only the truth, which a user does not have, tells "
        "which."
    )
    return f"{table(header, rows)}\n\n{text}"


EXPERIMENT = Experiment(
    "scaling",
    "The scale of the radii",
    "Estimates over N for alpha = 0.1, 0.3, 0.5 and 1.0 on Gaussians (covariance 2I, 5 apart) in 10, 50 and 100 "
    "dimensions and three beta classes in 50: alpha between 0.3 and 0.5 is recommended.",
    run,
    draw,
    judge,
)
