"""Figures in words: tables and sentences made from results."""

from collections.abc import Sequence
from typing import Any

from .experiment import Results

__all__ = ["at_end", "closest", "figure_table", "on_printed_rule", "percent", "plural", "table"]

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
        for figure in [f for f in ("value", "lower", "upper") if f in curve]:
            means = dict(zip(curve["n"], curve[figure]["mean"], strict=True))
            cells = [percent(means[n], digits) if n in means else "" for n in sizes]
            rmse = f"{at_end(curve, figure, 'mse') ** 0.5:.4f}" if figure == "value" else ""
            empty = percent(at_end(curve, "empty"), 0) if "empty" in curve else ""
            name = label if figure == "value" else f"{label}, {figure}"
            rows.append([name, *cells, rmse, empty, curve["repetitions"]])
    header = ["mean", *(f"N = {n:,}" for n in sizes), "RMSE at the largest N", "empty balls there", "samples"]
    return table(header, rows)


def on_printed_rule(task: Results, label: str = "printed rule") -> str:
    """What the printed rule gives, plainly."""
    curve, truth = task["curves"][label], task["truth"]
    largest, empty = max(curve["value"]["mean"]), min(curve["empty"]["mean"])
    value = at_end(curve)
    if largest == 0:
        share = "all" if empty == 1 else f"at least {percent(empty, 1)}"
        return (
            f"The printed rule answers 0 at every N: {share} of its balls are empty. It says nothing about these data."
        )
    if empty > _MOSTLY:
        return (
            f"The printed rule answers {percent(value, 2)} at the largest N where the truth is {percent(truth, 2)}; "
            f"at least {percent(empty, 0)} of its balls are empty, and an empty ball counts as no error."
        )
    return (
        f"The printed rule answers {percent(value, 2)} at the largest N (truth {percent(truth, 2)}); "
        f"{percent(at_end(curve, 'empty'), 0)} of its balls are empty there."
    )


def closest(task: Results, labels: Sequence[str]) -> str:
    """Which of these is nearest to the truth at the largest size, those aside whose balls are mostly empty."""
    curves = {label: task["curves"][label] for label in labels if label in task["curves"]}
    off = {label: at_end(curve) - task["truth"] for label, curve in curves.items()}
    silent = {label for label, curve in curves.items() if "empty" in curve and at_end(curve, "empty") > _MOSTLY}
    best = min(off.keys() - silent, key=lambda label: abs(off[label]), default="none")
    listed = ", ".join(
        f"{label} {100 * value:+.2f}{' (empty balls)' if label in silent else ''}" for label, value in off.items()
    )
    return f"Mean distance from the truth at the largest N, in points: {listed}. Closest, empty balls aside: {best}."
