"""Results read back from JSON: nothing in them is taken on trust."""

import json
import math
from typing import Any

from ..errors import DataError
from ..utils.checks import brief, check_fraction, check_number, check_whole
from ..utils.intervals import Bound, ConfidenceInterval
from .abstention import DeclinePoint
from .ceiling import Certificate
from .costs import CostFloor
from .doubts import SEVERITIES, Doubt, unknown_doubt
from .metrics import Metric
from .result import CurvePoint, Estimate, FloorResult, LearnerScore

__all__ = ["read_result"]

_ROUNDING = 1e-6
# That can be read: 1 has no certificate, 1 and 2 have sentences for doubts, 1 to 3 no costs, metrics and declining.
_SCHEMAS = (1, 2, 3, 4)
_KINDS: dict[str, Any] = {
    "estimates": Estimate,
    "bounds": Bound,
    "learners": LearnerScore,
    "learning_curve": CurvePoint,
}


def read_result(text: str) -> FloorResult:
    """A result as `FloorResult.to_json` writes it, of this version or an older one."""
    try:
        values = json.loads(text)
        schema = values.pop("schema")
        if type(schema) is not int or schema not in _SCHEMAS:
            raise KeyError("schema")
        if schema < 3:
            values["doubts"] = tuple(map(unknown_doubt, values.pop("reasons")))
        else:
            values["doubts"] = tuple(Doubt(**entry) for entry in values["doubts"])
            values["muted"] = tuple(Doubt(**entry) for entry in values.get("muted", ()))
        if values.get("certificate") is not None:
            values["certificate"] = Certificate(**values["certificate"])
        values["interval"] = ConfidenceInterval(**values["interval"])
        for name, kind in _KINDS.items():
            values[name] = tuple(kind(**entry) for entry in values[name])
        for name in ("classes", "priors", "notes"):
            values[name] = tuple(values[name])
        values["pair_error"] = tuple(map(tuple, values["pair_error"]))
        if values.get("cost") is not None:
            values["cost"] = CostFloor(**_tuples(values["cost"], interval=ConfidenceInterval))
        values["yardsticks"] = tuple(
            Metric(**_tuples(entry, interval=ConfidenceInterval)) for entry in values.get("yardsticks", ())
        )
        values["declining"] = tuple(DeclinePoint(**_tuples(entry)) for entry in values.get("declining", ()))
        result = FloorResult(**values)
        _check(result)
        return result
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError) as error:
        raise DataError(f"this is not a result of bayesfloor ({brief(error)})") from None


def _tuples(entry: dict[str, Any], **kinds: Any) -> dict[str, Any]:
    """Lists of a record as tuples, and records in it as what they are."""
    read = {name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()}
    if "matrix" in read:
        read["matrix"] = tuple(map(tuple, read["matrix"]))
    return {**read, **{name: kind(**entry[name]) for name, kind in kinds.items()}}


def _check(result: FloorResult) -> None:
    """Refuse figures that no estimate can have found; of what was read, before anyone rests on it."""
    n = len(result.classes)
    check_fraction("confidence_level", result.interval.confidence_level)
    low, high = (check_number(name, getattr(result.interval, name), 0, 1) for name in ("low", "high"))
    if not low <= check_number("floor", result.floor, 0, 1) <= high:
        raise ValueError(f"the floor {result.floor} lies outside its interval")
    if result.ceiling is not None:
        check_number("ceiling", result.ceiling, 0, 1)
    sizes = [len(row) for row in result.pair_error]  # none where a page had no room for them
    if n < 2 or len(result.priors) != n or (sizes and sizes != [n] * n):
        raise ValueError(f"{n} classes, {len(result.priors)} priors, {len(result.pair_error)} rows of pairs")
    for value in (*result.priors, *(value for row in result.pair_error for value in row)):
        check_number("a share of a class", value, -1e-9, 1 + 1e-9)
    for kind, records in ((CurvePoint, result.learning_curve), (LearnerScore, result.learners), (Bound, result.bounds)):
        for record in records:
            _check_fields(kind, record)
    for doubt in result.doubts:
        _check_fields(Doubt, doubt)
        if doubt.code not in SEVERITIES:
            raise ValueError(f"there is no doubt {brief(doubt.code)}")
    if not isinstance(result.evidence, dict) or not isinstance(result.settings, dict) or not result.learners:
        raise TypeError("evidence and settings must be objects, and there must be a learner")
    for name in ("error", "n", "majority", "shrunk_majority"):
        if name in result.evidence or name in ("error", "n"):
            check_number(name, result.evidence[name], 0)
    if result.pair_error and abs(sum(result.class_error) - result.floor) > _ROUNDING:
        raise ValueError(f"shares of the classes add up to {sum(result.class_error)}, not to {result.floor}")
    if result.floor > result.majority_error + _ROUNDING:
        raise ValueError(f"the floor {result.floor} is above the error of naming the largest class")
    _check_parts(result)
    json.dumps(result.to_dict(), allow_nan=False)  # numbers like 1e999 are read as infinite
    str(result)  # what it prints rests on more than these


def _check_parts(result: FloorResult) -> None:
    """Costs, metrics and what is known about declining."""
    n = len(result.classes)
    for metric in result.yardsticks:
        _check_fields(Metric, metric)
        _check_inside(metric.name, metric.value, metric.interval, 0)
        for value in (metric.reached, *metric.figures.values()):
            if value is not None:
                check_number(metric.name, value, 0)
    for point in result.declining:
        for name in ("share", "error", "low", "high", "doubt"):
            check_number(name, getattr(point, name), -_ROUNDING, 1 + _ROUNDING)
        sizes = {len(counts) for counts in (point.declined, point.wrong, point.tested)}
        if len(sizes) > 1 or not sizes <= {0, 1, n}:
            raise ValueError(f"these are no counts: {point}")
        for declined, wrong, tested in zip(point.declined, point.wrong, point.tested, strict=True):
            if not 0 <= check_whole("rows declined", declined, 0) + check_whole("errors", wrong, 0) <= tested:
                raise ValueError(f"these are no counts: {point}")
        for limit in point.limits or ():
            check_number("a limit", limit, 0, 1)
    if result.declining:
        result.abstention()
    if result.cost is not None:
        cost = result.cost
        _check_fields(CostFloor, cost)
        _check_inside("lowest cost", cost.floor, cost.interval, -math.inf)
        if {len(cost.shares), len(cost.matrix)} != {len(cost.decisions)} or {len(r) for r in cost.matrix} != {n}:
            raise ValueError("costs must have a row for each decision and a column for each class")
        for value in (*cost.shares, *(value for row in cost.matrix for value in row), cost.ceiling):
            if value is not None:
                check_number("a cost", value, -math.inf)
        if not all(isinstance(name, str) for name in cost.decisions) or len(cost.classes) != n:
            raise TypeError("decisions must have names, and classes must be those of the result")


def _check_inside(name: str, value: float, interval: ConfidenceInterval, least: float) -> None:
    low, value, high = (check_number(name, number, least) for number in (interval.low, value, interval.high))
    if not low <= value <= high:
        raise ValueError(f"{name} {value} lies outside its interval")


def _check_fields(kind: type, record: Any) -> None:
    """Numbers where a record has numbers, text where it has text."""
    for name, annotation in kind.__annotations__.items():
        value = getattr(record, name)
        if annotation in (int, float):
            check_number(name, value, -math.inf)
        elif annotation is str and not isinstance(value, str):
            raise TypeError(f"{name} must be text, got {brief(value)}")
