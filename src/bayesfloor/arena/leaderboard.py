"""Results of the arena: records, the leaderboard, and ways to show them."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from .._text import printable
from ..utils.files import JsonRecord

__all__ = ["ArenaResult", "Record", "Row"]


@dataclass(frozen=True)
class Record:
    """One estimator on one sample."""

    estimator: str
    problem: str
    n: int
    seed: int
    truth: float
    estimate: float
    low: float | None
    high: float | None
    seconds: float
    failure: str | None

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What makes it the same run."""
        return self.estimator, self.problem, self.n, self.seed

    @property
    def off(self) -> float:
        """Estimate minus truth."""
        return self.estimate - self.truth

    def to_dict(self) -> dict[str, Any]:
        """Plain values; an estimate that failed is None."""
        return {**asdict(self), "estimate": None if self.failure else self.estimate}

    def __post_init__(self) -> None:
        if self.estimate is None:  # as read from a file
            object.__setattr__(self, "estimate", float("nan"))


@dataclass(frozen=True)
class Row:
    """One line of the leaderboard.

    `times_oracle` is the mean absolute error as a multiple of the oracle's on the same samples; `worst` the largest
    mean absolute error on one problem and size; coverage and width only for estimators that give an interval.
    """

    estimator: str
    mean_absolute_error: float
    times_oracle: float
    bias: float
    rmse: float
    worst: float
    worst_problem: str
    coverage: float | None
    median_width: float | None
    median_seconds: float
    n_runs: int
    n_failures: int


@dataclass(frozen=True)
class ArenaResult(JsonRecord):
    """What the arena has found: all records in a fixed order.

    Examples
    --------
    >>> record = Record("guess", "moons", 500, 0, 0.1, 0.12, low=None, high=None, seconds=0.1, failure=None)
    >>> print(ArenaResult((record,)).to_markdown().splitlines()[-1][:34])
    | guess | 0.0200 |  | +0.0200 | 0.
    """

    records: tuple[Record, ...]

    def leaderboard(self) -> list[Row]:
        """One row per estimator: those that answered every time first, the most accurate on top.

        An estimator must not rise by failing on what is hard: whoever failed stands below all who did not.
        """
        estimators = dict.fromkeys(record.estimator for record in self.records)
        oracle = {(r.problem, r.n, r.seed): abs(r.off) for r in self.records if r.estimator == "oracle"}
        rows = [_row(name, [r for r in self.records if r.estimator == name], oracle) for name in estimators]
        return sorted(
            rows, key=lambda row: (row.n_failures > 0, np.isnan(row.mean_absolute_error), row.mean_absolute_error)
        )

    def by_problem(self) -> dict[tuple[str, int], dict[str, float]]:
        """Mean of estimate minus truth for each problem and size, by estimator; failures left out."""
        collected: dict[tuple[str, int], dict[str, list[float]]] = {}
        for r in self.records:
            cell = collected.setdefault((r.problem, r.n), {}).setdefault(r.estimator, [])
            if not r.failure:
                cell.append(r.off)
        return {
            key: {name: float(np.mean(offs)) if offs else float("nan") for name, offs in cells.items()}
            for key, cells in collected.items()
        }

    def failures(self) -> list[str]:
        """Distinct failures in words, with how often each happened."""
        seen: dict[tuple[str, str], list[str]] = {}
        for r in self.records:
            if r.failure:
                seen.setdefault((r.estimator, r.failure), []).append(r.problem)
        return [
            _cell(f"{name} on {', '.join(dict.fromkeys(where))} ({len(where)} runs): {message}")
            for (name, message), where in seen.items()
        ]

    def frame(self) -> Any:
        """All records as a pandas frame."""
        import pandas as pd

        return pd.DataFrame([asdict(record) for record in self.records])

    def to_json(self) -> str:
        """Leaderboard and records for machines, as JSON text; `save` writes it to a file."""
        board = [{k: _plain(v) for k, v in asdict(row).items()} for row in self.leaderboard()]
        return json.dumps(
            {
                "schema": 1,
                "bayesfloor": version("bayesfloor"),
                "leaderboard": board,
                "records": [r.to_dict() for r in self.records],
            },
            indent=1,
        )

    def to_markdown(self) -> str:
        """The leaderboard as a table."""
        lines = [
            "| estimator | mean abs. error | x oracle | bias | RMSE | worst problem | coverage | width | s | failed |",
            "|---|---|---|---|---|---|---|---|---|---|",
        ]
        for row in self.leaderboard():
            name = _cell(row.estimator)
            if np.isnan(row.mean_absolute_error):
                lines.append(f"| {name} | | | | | | | | | {row.n_failures} of {row.n_failures} |")
                continue
            coverage = "" if row.coverage is None else f"{100 * row.coverage:.0f} %"
            width = "" if row.median_width is None else f"{row.median_width:.3f}"
            times = "" if np.isnan(row.times_oracle) else f"{row.times_oracle:.2f}"
            failed = f"{row.n_failures} of {row.n_runs + row.n_failures}" if row.n_failures else ""
            lines.append(
                f"| {name} | {row.mean_absolute_error:.4f} | {times} | {row.bias:+.4f} | {row.rmse:.4f} | "
                f"{row.worst:.3f} {_cell(row.worst_problem)} | {coverage} | {width} | {row.median_seconds:.2f} "
                f"| {failed} |"
            )
        return "\n".join(lines)

    def problem_table(self) -> str:
        """Mean of estimate minus truth per problem as a table, in hundredths."""
        order = [row.estimator for row in self.leaderboard()]
        truths = {(r.problem, r.n): r.truth for r in self.records}
        lines = ["| problem | N | floor | " + " | ".join(map(_cell, order)) + " |", "|---" * (len(order) + 3) + "|"]
        for (problem, n), cells in self.by_problem().items():
            shown = ["" if np.isnan(cells.get(name, np.nan)) else f"{100 * cells[name]:+.1f}" for name in order]
            lines.append(f"| {_cell(problem)} | {n} | {truths[problem, n]:.4f} | " + " | ".join(shown) + " |")
        return "\n".join(lines)

    def plot(self, ax: Any = None) -> Any:
        """Draw every estimator's error on every problem; see `plots.plot_leaderboard`."""
        return plot_leaderboard(self, ax=ax)

    def __str__(self) -> str:
        return self.to_markdown()


def _row(name: str, records: Sequence[Record], oracle: dict[tuple[str, int, int], float]) -> Row:
    answered = [r for r in records if not r.failure]
    n_failures = len(records) - len(answered)
    if not answered:
        nan = float("nan")
        return Row(name, nan, nan, nan, nan, nan, "", None, None, nan, 0, n_failures)
    off = np.array([r.off for r in answered])
    rival = [oracle[r.problem, r.n, r.seed] for r in answered if (r.problem, r.n, r.seed) in oracle]
    times = np.abs(off).mean() / np.mean(rival) if rival and np.mean(rival) > 0 else float("nan")
    cells: dict[tuple[str, int], list[float]] = {}
    for r in answered:
        cells.setdefault((r.problem, r.n), []).append(abs(r.off))
    worst = max(cells, key=lambda cell: float(np.mean(cells[cell])))
    with_interval = [(r.low, r.high, r.truth) for r in answered if r.low is not None and r.high is not None]
    return Row(
        estimator=name,
        mean_absolute_error=float(np.abs(off).mean()),
        times_oracle=float(times),
        bias=float(off.mean()),
        rmse=float(np.sqrt((off**2).mean())),
        worst=float(np.mean(cells[worst])),
        worst_problem=worst[0],
        coverage=float(np.mean([low <= t <= high for low, high, t in with_interval])) if with_interval else None,
        median_width=float(np.median([high - low for low, high, _ in with_interval])) if with_interval else None,
        median_seconds=float(np.median([r.seconds for r in answered])),
        n_runs=len(answered),
        n_failures=n_failures,
    )


def _cell(text: str) -> str:
    """Text as one cell of a table: no bars, no line breaks, no tags."""
    return printable(" ".join(text.split())).replace("|", "/").replace("<", "&lt;").replace(">", "&gt;")


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and np.isnan(value) else value


def plot_leaderboard(result: ArenaResult, *, ax: Any = None) -> Any:
    """Mean of estimate minus truth: a row per estimator, best on top, a column per problem.

    Red is too high, blue too low, white right; cells over 3 points off carry the figure. What failed has a cross.

    Parameters
    ----------
    result : ArenaResult
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    import matplotlib.pyplot as plt

    rows, cells = result.leaderboard(), result.by_problem()
    several = len({n for _, n in cells}) > 1
    table = np.array([[100 * cell.get(row.estimator, np.nan) for cell in cells.values()] for row in rows])
    if ax is None:
        size = (3.5 + 0.42 * len(cells), 1.8 + 0.36 * len(rows))
        _, ax = plt.subplots(figsize=size, layout="constrained")
    limit = 15.0
    ax.set_facecolor("0.85")
    image = ax.imshow(table, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
    for i, j in np.argwhere(np.abs(table) >= 3):
        colour = "white" if abs(table[i, j]) > 0.6 * limit else "black"
        ax.text(j, i, f"{table[i, j]:+.0f}", ha="center", va="center", fontsize=7, color=colour)
    for i, j in np.argwhere(np.isnan(table)):
        ax.text(j, i, "x", ha="center", va="center", fontsize=7, color="0.3")
    ax.set_xticks(
        range(len(cells)), [f"{name}, {n}" if several else name for name, n in cells], rotation=55, ha="right"
    )
    labels = [f"{row.estimator}  ({100 * row.mean_absolute_error:.1f})" for row in rows]
    ax.set_yticks(range(len(rows)), labels)
    ax.tick_params(length=0, labelsize=8)
    ax.set_title("Estimate minus true floor, in points (in brackets: mean absolute error)", fontsize=10)
    ax.figure.colorbar(image, ax=ax, shrink=0.6, extend="both", label="points")
    return ax
