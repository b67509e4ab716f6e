"""Results read back from JSON: nothing in them is taken on trust."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import DataError
from ..library.arrangement import EFFORTS
from ..tables.open import path_of
from ..utils.checks import MOST, brief, check_choice, check_fraction, check_number, check_text, check_whole
from ..utils.intervals import Bound, ConfidenceInterval
from .abstention import DeclinePoint
from .ceiling import Certificate
from .costs import CostFloor
from .doubts import SEVERITIES, unknown_doubt
from .metrics import Metric
from .records import Limits, read_fields, read_record, write_record
from .result import CurvePoint, Estimate, FloorResult, LearnerScore
from .rule import Evidence

__all__ = ["read_file", "read_result"]

_ROUNDING = 1e-6
# That can be read: 1 has no certificate, 1 and 2 have sentences for doubts, 1 to 3 no costs, metrics and declining.
# 1 to 4 have text or lists for labels that JSON lacks, and Brier scores of two classes that are twice as large.
_SCHEMAS = (1, 2, 3, 4, 5)
_SHARE = (-_ROUNDING, 1 + _ROUNDING)
_LIMITS: Limits = {
    FloorResult: {"floor": (0, 1), "ceiling": (0, 1), "priors": _SHARE, "pair_error": _SHARE},
    Estimate: {"value": _SHARE},
    Bound: {"lower": _SHARE, "upper": _SHARE},
    LearnerScore: {"error": _SHARE, "log_loss": (-_ROUNDING, math.inf), "weight": (0, math.inf)},
    CurvePoint: {"n_train": (1, MOST), "error": _SHARE, "plugin": _SHARE},
    Certificate: {"tested": (1, MOST)},
    DeclinePoint: dict.fromkeys(("share", "error", "low", "high", "doubt", "limits"), _SHARE),
    Metric: dict.fromkeys(("value", "reached", "trivial"), (0.0, math.inf)),
    CostFloor: {"shares": _SHARE},
    Evidence: {
        **dict.fromkeys(
            ("majority", "shrunk_majority", "plugin", "half_plugin", "quarter_plugin", "ball", "raw"), _SHARE
        ),
        **dict.fromkeys(("error", "half_error", "quarter_error", "eighth_error"), _SHARE),
        **dict.fromkeys(("n", "n_features"), (1, MOST)),
    },
}
_SHARES_BY_NAME = ("balanced accuracy", "top-2 error", "AUC", "F1")  # metrics that are at most 1


# What commands print beside a result with --json.
_BESIDE = ("comparison", "columns", "by", "abstention")


def read_file(path: str | Path) -> FloorResult:
    """The result in a file that `FloorResult.save` or a command with --json has written."""
    path = path_of(path)
    if not path.is_file():
        raise DataError(f"there is no file {path}")
    try:
        values = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path.name} is no JSON ({error})") from None
    values = values.get("result", values) if isinstance(values, dict) else values
    if isinstance(values, dict):
        values = {name: value for name, value in values.items() if name not in _BESIDE}
    try:
        return _result(values)
    except DataError as error:
        raise DataError(f"{path.name}: {error}") from None


def read_result(text: str) -> FloorResult:
    """A result as `FloorResult.to_json` writes it, of this version or an older one."""
    try:
        return _result(json.loads(check_text("text", text)))
    except (ValueError, RecursionError) as error:
        if isinstance(text, str) and text.lower().endswith(".json"):
            raise DataError("from_json reads JSON text: use FloorResult.load for a file") from None
        raise _no_result(error) from None


def _result(values: Any) -> FloorResult:
    try:
        schema = values.pop("schema")
        if type(schema) is int and schema > max(_SCHEMAS):
            raise DataError(f"this result was saved by a newer version of bayesfloor (schema {schema}): upgrade")
        if type(schema) is not int or schema not in _SCHEMAS:
            raise KeyError("schema")
        if schema < 3:
            sentences = [check_text("a reason", sentence) for sentence in values.pop("reasons")]
            values["doubts"] = [write_record(unknown_doubt(sentence)) for sentence in sentences]
        if schema < 5:
            _rename_labels(values)
        result: FloorResult = read_record(FloorResult, values, _LIMITS)
        _check(result)
        return result if schema > 4 else _with_halved_brier_scores(result)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError) as error:
        raise _no_result(error) from None


def _no_result(error: Exception) -> DataError:
    if isinstance(error, DataError):
        return error
    about = error.args[0] if isinstance(error, KeyError) and error.args else error
    return DataError(f"this is not a result of bayesfloor ({brief(str(about), 200)[1:-1]})")


def _rename_labels(values: dict[str, Any]) -> None:
    """Labels of older results as they are written now: tuples were lists."""
    values["classes"] = [{"tuple": label} if isinstance(label, list) else label for label in values["classes"]]
    for record in (values.get("certificate"), *values.get("yardsticks", ())):
        if isinstance(record, dict) and isinstance(record.get("label"), list):
            record["label"] = {"tuple": record["label"]}
    if isinstance(values.get("cost"), dict):
        values["cost"]["classes"] = values["classes"]


def _with_halved_brier_scores(result: FloorResult) -> FloorResult:
    """Brier scores of two classes as they are counted now: once, not over both classes."""
    if len(result.classes) > 2:
        return result
    return replace(
        result,
        yardsticks=tuple(
            replace(
                metric,
                value=metric.value / 2,
                interval=replace(metric.interval, low=metric.interval.low / 2, high=metric.interval.high / 2),
                reached=None if metric.reached is None else metric.reached / 2,
                trivial=metric.trivial / 2,
                figures={name: value / 2 for name, value in metric.figures.items()},
            )
            if metric.name == "Brier score"
            else metric
            for metric in result.yardsticks
        ),
    )


def _check(result: FloorResult) -> None:
    """Refuse figures that no estimate can have found together."""
    n = len(result.classes)
    if n < 2 or len(set(result.classes)) < n:
        raise ValueError(f"there must be two or more different classes, got {brief(result.classes)}")
    sizes = [len(row) for row in result.pair_error]  # none where a page had no room for them
    if len(result.priors) != n or (sizes and sizes != [n] * n):
        raise ValueError(f"{n} classes, {len(result.priors)} priors, {len(result.pair_error)} rows of pairs")
    if abs(sum(result.priors) - 1) > _ROUNDING:
        raise ValueError(f"priors must add up to 1, not to {sum(result.priors)}")
    _check_inside("floor", result.floor, result.interval, 0, 1)
    for bound in result.bounds:
        if bound.lower > bound.upper:
            raise ValueError(f"the lower bound {bound.lower} of {bound.name} is above the upper one {bound.upper}")
    _check_dicts(result)
    if result.ceiling is not None and result.ceiling < result.floor:
        raise ValueError(f"the ceiling {result.ceiling} is below the floor {result.floor}")
    if result.pair_error and abs(sum(result.class_error) - result.floor) > _ROUNDING:
        raise ValueError(f"shares of the classes add up to {sum(result.class_error)}, not to {result.floor}")
    if result.floor > result.majority_error + _ROUNDING:
        raise ValueError(f"the floor {result.floor} is above the error of naming the largest class")
    if not result.learners:
        raise ValueError("there must be a learner")
    if result.certificate is not None:
        _check_certificate(result, result.certificate)
    _check_parts(result)


def _check_dicts(result: FloorResult) -> None:
    """Evidence, settings, and figures of doubts: what is computed with, or looked at, is what it must be."""
    evidence, settings = result.evidence, result.settings
    known = read_fields(Evidence, evidence, _LIMITS)
    for name, value in evidence.items():
        if isinstance(value, str | list):
            raise TypeError(f"{name} must be a number, got {brief(value)}")
    if not {"n", "error"} <= set(known) or known.get("n_classes", len(result.classes)) != len(result.classes):
        raise ValueError(f"evidence must have n, error, and as many classes as there are: {brief(evidence)}")
    check_whole("rows", settings.get("rows", 1), 1)
    check_fraction("confidence_level", settings.get("confidence_level", 0.95))
    check_number("seconds", settings.get("seconds", 0), 0)
    check_choice("effort", settings.get("effort", "balanced"), tuple(EFFORTS))
    check_text("bayesfloor", settings.get("bayesfloor", ""))
    left_behind = settings.get("left_behind", [])
    if not isinstance(left_behind, list) or not all(isinstance(name, str) for name in left_behind):
        raise TypeError(f"left_behind must be a list of names, got {brief(left_behind)}")
    for doubt in (*result.doubts, *result.muted):
        if doubt.code not in SEVERITIES or doubt.severity not in SEVERITIES.values():
            raise ValueError(f"there is no doubt {brief(doubt.code)} that is {brief(doubt.severity)}")
        for name in ("half_error", "error", "training_rows", "training_rows_possible"):
            check_number(name, doubt.figures.get(name, 0), 0)


def _check_certificate(result: FloorResult, certificate: Certificate) -> None:
    """What the ceiling was counted on."""
    check_choice("classifier", certificate.classifier, ("library", "constant", "scores"))
    check_choice("units", certificate.units, ("rows", "groups"))
    if result.ceiling is None or certificate.errors > certificate.tested:
        raise ValueError(f"{certificate.errors} errors among {certificate.tested} rows certify nothing")
    is_constant = certificate.classifier == "constant"
    if certificate.label not in (result.classes if is_constant else (None,)):
        raise ValueError(f"{brief(certificate.label)} is not the class that is always named")
    if is_constant and "majority" not in result.evidence:
        raise KeyError("evidence needs majority")


def _check_parts(result: FloorResult) -> None:
    """Costs, metrics and what is known about declining."""
    n = len(result.classes)
    for metric in result.yardsticks:
        most = 1 + _ROUNDING if metric.name in _SHARES_BY_NAME else math.inf
        _check_inside(metric.name, metric.value, metric.interval, 0, most)
        for value in (metric.trivial, metric.reached or 0.0):
            check_number(metric.name, value, 0, most)
        if metric.label is not None and metric.label not in result.classes:
            raise ValueError(f"{brief(metric.label)} is none of the classes")
    for point in result.declining:
        if not point.low <= point.error <= point.high:
            raise ValueError(f"the error {point.error} with {point.share} declined lies outside its interval")
        sizes = {len(counts) for counts in (point.declined, point.wrong, point.tested)}
        if len(sizes) > 1 or not sizes <= {0, 1, *([n] if result.settings.get("priors") else [])}:
            raise ValueError(f"these are no counts: {point}")
        for declined, wrong, tested in zip(point.declined, point.wrong, point.tested, strict=True):
            if declined + wrong > tested:
                raise ValueError(f"these are no counts: {point}")
    if result.declining:
        result.abstention()
    if result.cost is not None:
        cost = result.cost
        _check_inside("lowest cost", cost.floor, cost.interval, -math.inf, math.inf)
        if cost.ceiling is not None and cost.ceiling < cost.floor:
            raise ValueError(f"the ceiling {cost.ceiling} is below the lowest cost {cost.floor}")
        if {len(cost.shares), len(cost.matrix)} != {len(cost.decisions)} or {len(r) for r in cost.matrix} != {n}:
            raise ValueError("costs must have a row for each decision and a column for each class")
        if cost.classes != result.classes or cost.constant not in cost.decisions:
            raise ValueError("classes of the costs must be those of the result, and the best decision one of them")


def _check_inside(name: str, value: float, interval: ConfidenceInterval, least: float, most: float) -> None:
    check_fraction("confidence_level", interval.confidence_level)
    ends = (least - _ROUNDING, interval.low - _ROUNDING, value, interval.high + _ROUNDING, most + 2 * _ROUNDING)
    if list(ends) != sorted(ends):  # sums of shares may be off by rounding
        raise ValueError(f"{name} {value} is outside its interval, or that is none: {interval.low} to {interval.high}")
