"""Figures in words: tables and sentences made from results."""

from collections.abc import Sequence
from typing import Any

from .experiment import Results

__all__ = [
    "ADAPTIVE",
    "AUTHORS",
    "LEARNED",
    "PRINTED",
    "at_end",
    "at_truth",
    "closest",
    "figure_table",
    "is_silent",
    "on_print",
    "percent",
    "plural",
    "reproduced",
    "table",
]

# The paper's method as printed, its authors' code, and two of this package: its estimator with radii from the data, and
# `estimate`.
PRINTED, AUTHORS, ADAPTIVE, LEARNED = "as printed", "authors' code", "adaptive learner", "learned floor"

_MOSTLY = 0.5  # above this share of empty balls an estimate is made of silence


def percent(value: float, digits: int = 1) -> str:
    """Share as percent.

    Examples
    --------
    >>> percent(0.1234), percent(0.0062, 2)
    ('12.3 %', '0.62 %')
    """
    return f"{100 * value:.{digits}f} %"


def plural(n: int, word: str) -> str:
    """Number and word.

    Examples
    --------
    >>> plural(1, "sample"), plural(20, "sample")
    ('1 sample', '20 samples')
    """
    return f"{n:,} {word}{'' if n == 1 else 's'}"


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Markdown table.

    Examples
    --------
    >>> print(table(["N", "floor"], [[100, "1 %"]]))
    | N | floor |
    |---|---|
    | 100 | 1 % |
    """
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in (header, *rows)]
    return "\n".join([lines[0], "|---" * len(header) + "|", *lines[1:]])


def at_end(curve: Results, figure: str = "value", statistic: str = "mean") -> float:
    """Figure of a curve at its largest size."""
    return float(curve[figure][statistic][-1])


def figure_table(task: Results, digits: int = 2) -> str:
    """A row per curve: mean at each size, RMSE at the largest, share of empty balls there."""
    sizes = sorted({n for curve in task["curves"].values() for n in curve["n"]})
    rows = []
    for label, curve in task["curves"].items():
        for figure in [f for f in ("value", "lower", "upper", "printed lower") if f in curve]:
            means = dict(zip(curve["n"], curve[figure]["mean"], strict=True))
            cells = [percent(means[n], digits) if n in means else "" for n in sizes]
            rmse = f"{at_end(curve, figure, 'mse') ** 0.5:.4f}" if figure == "value" else ""
            empty = percent(at_end(curve, "empty"), 0) if "empty" in curve else ""
            name = label if figure == "value" else f"{label}, {figure}"
            rows.append([name, *cells, rmse, empty, curve["repetitions"]])
    header = ["mean", *(f"N = {n:,}" for n in sizes), "RMSE at the largest N", "empty balls there", "samples"]
    return table(header, rows)


def on_print(task: Results) -> str:
    """What the printed method gives, plainly."""
    curve, truth = task["curves"][PRINTED], task["truth"]
    largest, empty = max(map(abs, curve["value"]["mean"])), min(curve["empty"]["mean"])
    value = at_end(curve)
    if largest == 0:
        share = "all" if empty == 1 else f"at least {percent(empty, 1)}"
        return f"As printed the method answers 0 at every N: {share} of its balls are empty."
    if empty > _MOSTLY:
        return (
            f"As printed the method answers {percent(value, 2)} at the largest N where the floor is "
            f"{percent(truth, 2)}; at least {percent(empty, 0)} of its balls are empty, and an empty ball counts as no "
            "error."
        )
    return (
        f"As printed the method answers {percent(value, 2)} at the largest N (floor {percent(truth, 2)}); "
        f"{percent(at_end(curve, 'empty'), 0)} of its balls are empty there."
    )


def closest(task: Results, labels: Sequence[str]) -> str:
    """Which of these is nearest to the truth at the largest size, those aside whose balls are mostly empty."""
    curves = {label: task["curves"][label] for label in labels if label in task["curves"]}
    off = {label: at_end(curve) - task["truth"] for label, curve in curves.items()}
    silent = {label for label, curve in curves.items() if is_silent(curve)}
    best = min(off.keys() - silent, key=lambda label: abs(off[label]), default="none")
    listed = ", ".join(
        f"{label} {100 * value:+.2f}{' (empty balls)' if label in silent else ''}" for label, value in off.items()
    )
    return f"Mean distance from the floor at the largest N, in points: {listed}. Closest, empty balls aside: {best}."


def is_silent(curve: Results) -> bool:
    """Whether most balls are empty at the largest size: a right answer is then an accident."""
    return "empty" in curve and at_end(curve, "empty") > _MOSTLY


def at_truth(task: Results, label: str) -> bool:
    """Whether a mean at the largest size is the floor: within two standard errors of the oracle there, no accident."""
    curve, truth = task["curves"][label], task["truth"]
    n = curve["n"][-1]
    return not is_silent(curve) and abs(at_end(curve) - truth) <= 2 * (truth * (1 - truth) / n) ** 0.5


def reproduced(printed: bool | None, authors: bool | None, here: bool | None) -> str:
    """Verdict in words; None where a method does not apply.

    Examples
    --------
    >>> reproduced(False, True, True), reproduced(False, None, False)
    ("by the authors' code and here", 'by none')
    """
    named = [(printed, "as printed"), (authors, "by the authors' code"), (here, "here")]
    found = [name for holds, name in named if holds]
    asked = [holds for holds, _ in named if holds is not None]
    if not found:
        return "by none"
    if len(asked) == len(found) and len(asked) > 1:
        return "by all" if len(asked) == 3 else f"{found[0]} and {found[1]}"
    return f"{', '.join(found[:-1])} and {found[-1]}" if len(found) > 1 else f"{found[0]} alone"
