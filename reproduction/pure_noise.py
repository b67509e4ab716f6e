"""A counterexample to Theorem 4: on balanced pure noise one radius converges more slowly than its bound."""

import math
from typing import Any

import numpy as np

from .convergence import measure_rates, shown_slope
from .experiment import Experiment, Line, Results, Settings
from .measure import Entrant, Task
from .wording import plural, table

__all__ = ["EXPERIMENT"]

_DIMENSIONS = (1, 2, 3)
# Both on the unit cube, with densities between 0.1 and 1.9: without a swing the posterior is 1/2 everywhere.
_PROBLEMS: dict[str, dict[str, float]] = {"pure noise": {"swing": 0.0}, "smooth": {}}
_TASKS: dict[str, Task] = {
    f"{name}, d = {d}": ("smooth_cube", {"n_features": d, **parameters})
    for name, parameters in _PROBLEMS.items()
    for d in _DIMENSIONS
}
_LABEL = "one ball"


def run(settings: Settings) -> Results:
    """Mean squared errors over N, where every row is a tie and where few are."""
    sizes = (100, 200) if settings.quick else (125, 250, 500, 1000, 2000, 4000, 8000, 16000)
    entrants = {_LABEL: Entrant(_LABEL, sizes, 5 if settings.quick else 100)}
    return {"tasks": measure_rates(settings, "pure noise", _TASKS, entrants)}


def draw(results: Results) -> Any:
    """Mean squared error over N, a panel per dimension, with the bound's slope and what the kink alone makes."""
    from .figures import _legend_below, _panels, _sizes, _tidy

    figure, axes = _panels(1, len(_DIMENSIONS), width=4.2, height=4.2, sharey=True)
    looks = {"pure noise": ("#D55E00", "o"), "smooth": ("#0072B2", "s")}
    for ax, d in zip(axes[0], _DIMENSIONS, strict=True):
        for name, (colour, marker) in looks.items():
            curve = results["tasks"][f"{name}, d = {d}"]["curves"][_LABEL]
            sizes, mse = np.array(curve["n"]), np.array(curve["value"]["mse"])
            ax.plot(sizes, mse, color=colour, marker=marker, ms=5, label=name)
            bound = mse[0] * (sizes / sizes[0]) ** _claimed(d)
            ax.plot(sizes, bound, color=colour, ls="--", lw=1, label=f"slope of the bound ({name})")
        kink = [kink_bias(n, d) ** 2 for n in sizes]
        ax.plot(sizes, kink, color="black", ls=":", label="pure noise, predicted from the kink")
        ax.set_yscale("log")
        _sizes(ax, sizes.tolist())
        _tidy(ax, f"d = {d}, bound {_claimed(d):+.2f}")
    axes[0, 0].set_ylabel("mean squared error")
    _legend_below(figure, axes[0])
    return figure


def _claimed(d: int) -> float:
    """Slope of the mean squared error by Theorem 4 at the radius that balances its bound."""
    return -2 / (d + 1)


def kink_bias(n: int, d: int) -> float:
    """Bias on balanced pure noise with radius n^(-1/(d+1)), edges of the cube aside: -1 / sqrt(2 pi V_d n r^d).

    A ratio there is nearly normal around 1 with variance 4 / (V_d n r^d), V_d being the volume of the unit ball, and
    the mean of max(0, 1 - u) over a normal u around 1 is its standard deviation over sqrt(2 pi).

    Examples
    --------
    >>> round(kink_bias(4000, 1), 4)
    -0.0355
    """
    volume = math.pi ** (d / 2) / math.gamma(d / 2 + 1)
    return -1 / math.sqrt(2 * math.pi * volume * float(n) ** (1 / (d + 1)))


def judge(results: Results) -> str:
    """Slopes on both problems beside the bound."""
    rows: list[list[str]] = []
    kept: dict[str, list[str]] = {name: [] for name in _PROBLEMS}
    broken: dict[str, list[str]] = {name: [] for name in _PROBLEMS}
    for d in _DIMENSIONS:
        cells = [f"{d}", f"{_claimed(d):+.2f}"]
        for name in _PROBLEMS:
            curve = results["tasks"][f"{name}, d = {d}"]["curves"][_LABEL]
            is_broken = curve["slope_low"] > _claimed(d)
            (broken if is_broken else kept)[name].append(f"d = {d}")
            cells += [shown_slope(curve), "broken" if is_broken else "kept"]
        task = results["tasks"][f"pure noise, d = {d}"]
        curve = task["curves"][_LABEL]
        bias = curve["value"]["mean"][-1] - task["truth"]
        cells += [f"{-1 / (d + 1):+.2f}", f"{100 * bias:+.2f}", f"{100 * kink_bias(curve['n'][-1], d):+.2f}"]
        rows.append(cells)
    header = [
        "d",
        "bound of Theorem 4",
        "slope of log MSE, pure noise",
        "bound",
        "slope, smooth",
        "bound",
        "slope predicted from the kink",
        "bias on noise at the largest N, points",
        "predicted",
    ]
    text = (
        "Rows uniform on the unit cube; *pure noise* has the posterior 1/2 everywhere, *smooth* 1/2 + 0.45 cos(pi "
        f"x_1). Both meet A.1 and A.2 on the cube. N = {curve['n'][0]:,} to {curve['n'][-1]:,}, "
        f"{plural(curve['repetitions'], 'sample')} per size, one radius N^(-1/(d+1)); brackets are 95 % bootstrap "
        f"intervals. On pure noise the bound is broken for {', '.join(broken['pure noise']) or 'no d'}; on the smooth "
        f"problem it is kept for {', '.join(kept['smooth']) or 'no d'}. The reason is the kink of t at ratio 1: where "
        "classes tie, the noise of a ratio, of order (N r^d)^(-1/2), does not average out but becomes bias. On pure "
        "noise every row is a tie, on the smooth problem few are near one. Balls that the faces of the cube cut hold "
        "fewer rows: hence a bias beyond the predicted one, and steeper slopes, while the radius is large."
    )
    return f"{table(header, rows)}\n\n{text}"


def index(results: Results) -> list[Line]:
    """Whether the bound is kept where every row is a tie."""
    slopes = {d: results["tasks"][f"pure noise, d = {d}"]["curves"][_LABEL] for d in _DIMENSIONS}
    kept = [d for d, curve in slopes.items() if curve["slope_low"] <= _claimed(d)]
    return [
        Line(
            "Theorem 4, ties",
            f"slopes {', '.join(f'{_claimed(d):+.2f}' for d in _DIMENSIONS)} for d = 1, 2, 3; on balanced pure noise",
            ", ".join(f"{curve['slope']:+.2f}" for curve in slopes.values()),
            "no single radius",
            "as printed",
            "as printed" if len(kept) == len(slopes) else "in part" if kept else "by none: false without a margin",
        )
    ]


EXPERIMENT = Experiment(
    "pure_noise",
    "A counterexample to Theorem 4",
    "Theorem 4: for densities that are Lipschitz continuous and bounded from both sides, one radius r has a bias of "
    "O(r) + O(1 / (N r^d)), so that at r = N^(-1/(d+1)) the mean squared error falls as N^(-2/(d+1)).",
    run,
    draw,
    judge,
    index,
)
