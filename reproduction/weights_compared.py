"""Chebyshev, arithmetic and uniform weights: error and spread over N."""

from typing import Any

from .experiment import Experiment, Results, Settings
from .measure import Entrant, Task, measure
from .wording import at_end, percent, plural, table

__all__ = ["EXPERIMENT"]

_TASKS: dict[str, Task] = {
    "two Gaussians, 4-d, 2 apart": ("gaussians_4d", {}),
    "two Gaussians, 100-d, 2 apart": ("gaussians_100d", {}),
}
_KINDS = ("chebyshev", "arithmetic", "uniform")
_RULES = {
    "printed rule": "printed rule",
    "printed rule with a unit": "printed rule with a unit",
    "adaptive learner": "adaptive",
}


def run(settings: Settings) -> Results:
    """Every rule with every kind of weights, and the learned floor at the largest N."""
    sizes = (100, 200) if settings.quick else (100, 200, 400, 800, 1600, 3200)
    entrants = {
        f"{rule}, {kind}": Entrant(method, sizes, 2 if settings.quick else 20, {"weights": kind})
        for rule, method in _RULES.items()
        for kind in _KINDS
    }
    if not settings.quick:
        entrants["learned floor"] = Entrant("learned floor", sizes[-1:], 4)
    return {"tasks": measure(settings, "kinds of weights", _TASKS, entrants)}


def draw(results: Results) -> Any:
    """MSE above, mean with band below; a column per problem and rule."""
    from .figures import kinds_of_weights

    return kinds_of_weights(results["tasks"], tuple(_RULES), _KINDS)


def judge(results: Results) -> str:
    """Mean squared error at the largest N by rule and kind."""
    parts = []
    for title, task in results["tasks"].items():
        truth, curves = task["truth"], task["curves"]
        n = max(curves[f"adaptive learner, {_KINDS[0]}"]["n"])
        oracle = (truth * (1 - truth) / n) ** 0.5
        rows, sentences = [], []
        for rule in _RULES:
            of_kind = {kind: curves[f"{rule}, {kind}"] for kind in _KINDS}
            rmse = {kind: at_end(curve, "value", "mse") ** 0.5 for kind, curve in of_kind.items()}
            for kind, curve in of_kind.items():
                rows.append(
                    [rule, kind, percent(at_end(curve), 2), f"{rmse[kind]:.4f}", percent(at_end(curve, "empty"), 0)]
                )
            best, worst = min(rmse, key=lambda k: rmse[k]), max(rmse, key=lambda k: rmse[k])
            if rmse[worst] - rmse[best] < 1e-3 * max(rmse[worst], 1e-12):
                sentences.append(f"With the {rule} the weights make no difference.")
            else:
                sentences.append(
                    f"With the {rule} {best} weights are best ({rmse[best]:.4f}), {worst} worst ({rmse[worst]:.4f})."
                )
        if "learned floor" in curves:
            floor = curves["learned floor"]
            rows.append(
                ["learned floor", "", percent(at_end(floor), 2), f"{at_end(floor, 'value', 'mse') ** 0.5:.4f}", ""]
            )
        reached = [row[0] + ", " + row[1] for row in rows if float(row[3]) <= 2 * oracle]
        sentences.append(
            f"Within twice the RMSE of someone who knows the Bayes classifier ({oracle:.4f}) are: "
            f"{'; '.join(name.removesuffix(', ') for name in reached) or 'none'}."
        )
        repetitions = plural(curves[f"printed rule, {_KINDS[0]}"]["repetitions"], "sample")
        parts.append(f"**{title}**, floor {percent(truth, 2)}, N = {n:,}, {repetitions}")
        parts += [table(["radii", "weights", "mean", "RMSE", "empty balls"], rows), " ".join(sentences)]
    return "\n\n".join(parts)


EXPERIMENT = Experiment(
    "ensembles",
    "Chebyshev, arithmetic and uniform weights",
    "Mean squared error, and mean with 95 % band, over N for two Gaussians 2 apart in 4 and in 100 dimensions, in "
    "favour of optimal weights at Chebyshev nodes.",
    run,
    draw,
    judge,
)
