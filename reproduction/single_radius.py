"""One ball per point: the rate of Theorem 4."""

from typing import Any

from .convergence import measure_rates, shown_slope
from .experiment import Experiment, Line, Results, Settings
from .measure import Entrant, Task
from .wording import ADAPTIVE, percent, plural, table

__all__ = ["EXPERIMENT"]

_DIMENSIONS = (1, 2, 3, 4, 6)
_TASKS: dict[str, Task] = {f"d = {d}": ("smooth_cube", {"n_features": d}) for d in _DIMENSIONS}
_LABELS = ("one ball", ADAPTIVE)


def run(settings: Settings) -> Results:
    """Mean squared errors over N on cubes, where every assumption of the theorem holds."""
    sizes = (100, 200) if settings.quick else (125, 250, 500, 1000, 2000, 4000)
    repetitions = 3 if settings.quick else 20
    entrants = {"one ball": Entrant("one ball", sizes, repetitions), ADAPTIVE: Entrant("adaptive", sizes, repetitions)}
    return {"tasks": measure_rates(settings, "one radius", _TASKS, entrants)}


def draw(results: Results) -> Any:
    """Mean squared error over N, a panel per learner."""
    from .figures import rates

    return rates(results["tasks"], _LABELS)


def judge(results: Results) -> str:
    """Each slope beside the theorem's bound."""
    rows, kept, broken, faster, balls, ensembles = [], [], [], [], [], []
    for title, task in results["tasks"].items():
        ball, ensemble = (task["curves"][label] for label in _LABELS)
        bound = -2 / (task["n_features"] + 1)
        verdict = "kept"
        if ball["slope_low"] > bound:
            verdict = "not kept"
            broken.append(title)
        else:
            kept.append(title)
            if ball["slope_high"] < bound:
                verdict = "kept, and faster"
                faster.append(title)
        bias = ball["value"]["mean"][-1] - task["truth"]
        share = min(1.0, bias**2 / ball["value"]["mse"][-1])
        (ensembles if ensemble["times_oracle"][-1] < ball["times_oracle"][-1] else balls).append(title)
        rows.append(
            [
                title,
                f"{bound:+.2f}",
                shown_slope(ball),
                verdict,
                f"{100 * bias:+.2f} ({percent(share, 0)})",
                f"{ball['times_oracle'][-1]:.1f}",
                shown_slope(ensemble),
                f"{ensemble['times_oracle'][-1]:.1f}",
            ]
        )
    header = [
        "problem",
        "bound of Theorem 4",
        "slope of log MSE, one ball",
        "bound",
        "bias at the largest N, points (its share of the MSE)",
        "times oracle there",
        "slope, adaptive learner",
        "times oracle there",
    ]
    task = next(iter(results["tasks"].values()))
    curve = task["curves"][_LABELS[0]]
    text = (
        f"Rows uniform on a cube, posterior 1/2 + 0.45 cos(pi x_1), floor {percent(task['truth'], 2)}: densities are "
        "smooth and bounded from both sides, as the theorem asks, and the side of the cube is the unit of length. N = "
        f"{curve['n'][0]:,} to {curve['n'][-1]:,}, {plural(curve['repetitions'], 'sample')} per size; one radius "
        "N^(-1/(d+1)), which balances the two parts of the bound. "
        f"The bound is kept for {', '.join(kept) or 'none'}"
    )
    text += f", and broken at these N for {', '.join(broken)}. " if broken else ". "
    if faster:
        text += (
            f"Faster than it, for {', '.join(faster)}: a bound need not be reached, and it is one of the bias; where "
            "that is a small share of the mean squared error the variance decides, which falls as 1/N. "
        )
    text += (
        "On the same samples, at the largest N, the adaptive learner has the smaller mean squared error for "
        f"{', '.join(ensembles) or 'none'}, the single ball for {', '.join(balls) or 'none'}. The single ball's radius "
        "is in the unit that suits this problem, the side of the cube, which no data tell; the adaptive learner has "
        "found its own."
    )
    return f"{table(header, rows)}\n\n{text}"


def index(results: Results) -> list[Line]:
    """Whether the bound is kept where few ties are near."""
    slopes = {
        title: (task["curves"]["one ball"], -2 / (task["n_features"] + 1)) for title, task in results["tasks"].items()
    }
    kept = [title for title, (ball, bound) in slopes.items() if ball["slope_low"] <= bound]
    return [
        Line(
            "Theorem 4",
            "with one radius the mean squared error falls as N^(-2/(d+1)); on a cube, little mass near ties",
            f"kept for {len(kept)} of {len(slopes)}: {', '.join(kept) or 'none'}",
            "no single radius",
            "as printed",
            "as printed" if len(kept) == len(slopes) else "in part",
        )
    ]


EXPERIMENT = Experiment(
    "single_radius",
    "One radius: Theorem 4",
    "Theorem 4: with a single radius r the bias is O(r) + O(1 / (N r^d)) and the variance O(1/N), so that at the best "
    "radius, N^(-1/(d+1)), the mean squared error falls as N^(-2/(d+1)).",
    run,
    draw,
    judge,
    index,
)
