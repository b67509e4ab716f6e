"""The figures of a result as tables: rows of plain values, or pandas frames of them."""

from typing import Any

import numpy as np

from ..errors import ParameterError
from ..floor._compare import Comparison
from ..floor.result import FloorResult

__all__ = [
    "estimates_frame",
    "estimates_rows",
    "extrapolation",
    "floor_frame",
    "floor_rows",
    "hardest_frame",
    "hardest_rows",
    "learning_curve_frame",
    "learning_curve_rows",
    "pairs_frame",
    "pairs_rows",
    "suspects_frame",
    "suspects_rows",
]

Record = dict[str, Any]


def floor_rows(result: FloorResult, comparison: Comparison | None = None) -> list[Record]:
    """Floor, ceiling, model and the largest class on one scale, each with its interval."""
    floor, interval = result.floor, result.interval
    if comparison is not None and comparison.floor != floor:  # the test rows have other class shares
        floor, interval = comparison.floor, comparison.floor_interval
    rows = [
        _record("floor", floor, interval.low, interval.high),
        _record("largest class", result.majority_error, None, None),
    ]
    if result.ceiling is not None:
        rows.insert(1, _record("ceiling", result.ceiling, None, None))
    if comparison is not None:
        model = comparison.error_interval
        rows.insert(-1, _record("model", comparison.error, model.low, model.high))
    return rows


def learning_curve_rows(result: FloorResult) -> list[Record]:
    """Training rows, error and plug-in of the library, fewest rows first."""
    points = sorted(result.learning_curve, key=lambda point: point.n_train)
    return [{"n_train": p.n_train, "error": p.error, "plugin": p.plugin} for p in points]


def extrapolation(result: FloorResult) -> tuple[float, float] | None:
    """Coefficients a and b of floor + a n^-b through the learning curve; None where it does not fall towards the floor.

    The floor is the result's own: the curve shows how it fits the points and is no further evidence.
    """
    rows = [row for row in learning_curve_rows(result) if row["error"] > result.floor]
    if len(rows) < 2:
        return None
    n, above = (np.log([row[key] - shift for row in rows]) for key, shift in (("n_train", 0), ("error", result.floor)))
    slope, constant = np.polyfit(n, above, 1)
    return None if slope >= -0.01 else (float(np.exp(constant)), float(-slope))


def estimates_rows(result: FloorResult) -> list[Record]:
    """Estimates, ceiling and bounds, with what each rests on and where it contradicts the others."""
    floor = result.interval
    rows: list[Record] = []
    for entry in result.estimates:
        ends = (floor.low, floor.high) if entry.name == "floor" else (entry.value, entry.value)
        rows.append(_row(entry.name, "estimate", entry.value, *ends, entry.rests_on, ""))
    level = f"{100 * floor.confidence_level:g}%"
    rests_on = f"certified with {level} confidence: a classifier erred no more on rows that no choice had touched"
    if result.certificate is not None and result.certificate.units == "groups":
        rests_on += "; if no group is larger than the largest here"
    if not result.bounds and not result.learning_curve:
        rests_on = f"with {level} confidence your scores' own class errs no more, if they are out-of-sample"
    if result.ceiling is not None:
        rows.append(_row("ceiling", "certified", result.ceiling, 0.0, result.ceiling, rests_on, ""))
    for bound in result.bounds:
        conflict = ""
        if bound.applies and result.ceiling is not None and bound.lower > result.ceiling:
            conflict = "does not hold: its lower limit is above the ceiling"
        elif bound.applies and bound.lower > floor.high:
            conflict = "its lower limit is above the floor's interval"
        elif bound.applies and bound.upper < floor.low:
            conflict = "its upper limit is below the floor's interval"
        rows.append(_row(bound.name, "bound", None, bound.lower, bound.upper, bound.rests_on, conflict))
    return rows


def pairs_rows(result: FloorResult, n: int | None = None) -> list[Record]:
    """Ordered pairs of classes that lose to each other, by their share of the floor, largest first."""
    table = np.array(result.pair_error, dtype=np.float64)
    if table.ndim != 2 or not table.sum():
        return []
    order = np.argsort(-table, axis=None, kind="stable")[: n or table.size]
    places = [divmod(int(at), len(table)) for at in order]
    total = table.sum()
    return [
        {"class": result.classes[i], "taken for": result.classes[j], "error": table[i, j], "share": table[i, j] / total}
        for i, j in places
        if table[i, j] > 0
    ]


def hardest_rows(result: FloorResult, n: int = 20) -> list[Record]:
    """The most ambiguous rows: their label, the two likeliest classes, the chance that the best is wrong."""
    found = []
    for at in result.hardest_positions(n):
        P = _posterior(result)[at]
        first, second = (int(c) for c in np.argsort(-P, kind="stable")[:2])
        found.append(
            {
                "row": result.row_number(at),
                "label": _label(result, at),
                "likeliest": result.classes[first],
                "second": result.classes[second],
                "doubt": float(1 - P.max()),
            }
        )
    return found


def suspects_rows(result: FloorResult, n: int | None = 20) -> list[Record]:
    """Rows whose label looks wrong: the label given, its probability, and the class that looks right."""
    found = []
    posterior = result.label_posterior()
    for at in result.suspect_positions(n):
        P = posterior[at]
        own, looks = float(P[result.labels[at]]), result.classes[int(P.argmax())]  # type: ignore[index]
        found.append(
            {
                "row": result.row_number(at),
                "label": _label(result, at),
                "probability": own,
                "looks like": looks,
                "its": float(P.max()),
            }
        )
    return found


def floor_frame(result: FloorResult, comparison: Comparison | None = None) -> Any:
    """Data of `plot_floor` as a pandas frame."""
    return _frame(floor_rows(result, comparison), ["name", "value", "low", "high"])


def learning_curve_frame(result: FloorResult) -> Any:
    """Data of `plot_learning_curve` as a pandas frame."""
    return _frame(learning_curve_rows(result), ["n_train", "error", "plugin"])


def estimates_frame(result: FloorResult) -> Any:
    """Data of `plot_estimates` as a pandas frame."""
    return _frame(estimates_rows(result), ["name", "kind", "value", "low", "high", "rests_on", "conflict"])


def pairs_frame(result: FloorResult, n: int | None = None) -> Any:
    """Data of `plot_pairs` as a pandas frame: a row per ordered pair of classes, largest first."""
    return _frame(pairs_rows(result, n), ["class", "taken for", "error", "share"])


def hardest_frame(result: FloorResult, n: int = 20) -> Any:
    """The most ambiguous rows, as a pandas frame with the index of the user's own, if there was one."""
    return _with_index(result, _frame(hardest_rows(result, n), ["row", "label", "likeliest", "second", "doubt"]))


def suspects_frame(result: FloorResult, n: int | None = 20) -> Any:
    """Rows whose label looks wrong, as a pandas frame with the index of the user's own, if there was one."""
    return _with_index(result, _frame(suspects_rows(result, n), ["row", "label", "probability", "looks like", "its"]))


def _with_index(result: FloorResult, frame: Any) -> Any:
    """Rows under the names that the user has for them; otherwise their numbers."""
    rows = frame["row"].to_numpy(dtype=np.int64)
    return frame.set_axis(rows if result.index is None else result.index.take(rows), axis=0)


def _frame(rows: list[Record], columns: list[str]) -> Any:
    try:
        import pandas as pd
    except ImportError:
        raise ParameterError("frames need pandas: pip install pandas") from None
    return pd.DataFrame(rows, columns=columns)


def _record(name: str, value: float, low: float | None, high: float | None) -> Record:
    return {"name": name, "value": value, "low": low, "high": high}


def _row(name: str, kind: str, value: float | None, low: float, high: float, rests_on: str, conflict: str) -> Record:
    return {**_record(name, value, low, high), "kind": kind, "rests_on": rests_on, "conflict": conflict}  # type: ignore[arg-type]


def _posterior(result: FloorResult) -> Any:
    assert result.posterior is not None  # hardest_positions has checked it
    return result.posterior


def _label(result: FloorResult, row: int) -> Any:
    return None if result.labels is None else result.classes[int(result.labels[row])]
