"""What every callback checks before training: the rule, the metric, the framework."""

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from ..errors import ParameterError
from ..floor.excess import check_rows, check_share
from ..utils.checks import listed
from .rule import FloorStopping

__all__ = ["check_unused", "checked_metric", "framework", "metric_of_set", "named_metric"]

# Their names hold "err" or "acc", and yet they are no share of wrong or right answers on validation rows.
_NOT_COMPARABLE = re.compile(r"(^|[^a-z])d?train|squared|absolute|top[_-]?[k\d]|balanced")
_TRAINING_SET = re.compile(r"(^|[^a-z])d?train", re.IGNORECASE)


def check_unused(stopping: Any) -> None:
    """Refuse a rule that would end this training after a round, since it has ended another one."""
    if not isinstance(stopping, FloorStopping):
        raise ParameterError(f"stopping must be a FloorStopping, got {type(stopping).__name__}")
    if stopping.stopped:
        raise ParameterError(
            f"this FloorStopping has stopped a training already ({stopping.status}, after {len(stopping.history)} "
            "rounds): make a new one for each training"
        )


def checked_metric(
    stopping: Any, n_samples: Any, metric: Any, metric_is: str | None
) -> tuple[Callable[[Any], float], int]:
    """How to turn the metric into an error, and the number of validation rows; refused before training."""
    check_unused(stopping)
    rows = check_rows("n_samples", n_samples)
    if not isinstance(metric, str) or not metric:
        raise ParameterError(f"metric must be the name of a metric, got {metric!r}")
    if metric_is is None:
        name = metric.lower()
        is_error, is_accuracy = "err" in name, "acc" in name
        if is_error == is_accuracy or _NOT_COMPARABLE.search(name):
            raise ParameterError(
                f"metric {metric!r} does not look like an error or an accuracy on validation rows, and only those can "
                "be compared with the floor: name one of them, or say what it is by metric_is='error' or 'accuracy'"
            )
        metric_is = "error" if is_error else "accuracy"
    if metric_is not in ("error", "accuracy"):
        raise ParameterError(f"metric_is must be 'error' or 'accuracy', got {metric_is!r}")

    def error_from(value: Any) -> float:
        share = check_share(f"metric {metric!r}", value)
        return share if metric_is == "error" else round(1 - share, 9)  # 1 - 0.9 is not 0.1

    return error_from, rows


def named_metric(values: Mapping[str, Any], metric: str) -> Any:
    """The metric of this name, or an error with the names that there are."""
    if metric not in values:
        names = listed(sorted(map(str, values)), 10)
        raise ParameterError(f"there is no metric {metric!r}; there is {names or 'none at all: log one in validation'}")
    return values[metric]


def metric_of_set(values: Mapping[tuple[str, str], Any], data: str | None, metric: str) -> Any:
    """The metric of one validation set, which must be named if several have it."""
    fitting = [key for key in values if key[1] == metric and data in (None, key[0])]
    if len(fitting) == 1 and (data is not None or not _TRAINING_SET.search(fitting[0][0])):
        return values[fitting[0]]
    names = listed([f"{m!r} of {d!r}" for d, m in values], 10)
    if not fitting:
        wanted = repr(metric) if data is None else f"{metric!r} of {data!r}"
        raise ParameterError(f"there is no metric {wanted}; there is {names or 'none at all: pass a validation set'}")
    if len(fitting) == 1:
        raise ParameterError(
            f"the only set, {fitting[0][0]!r}, has the name of training rows: pass a validation set, or say "
            f"data={fitting[0][0]!r} if it is one"
        )
    raise ParameterError(f"several sets have the metric {metric!r}: say which by data=...; there is {names}")


def framework(module: str, package: str | None = None) -> Any:
    """A framework, or an error that says how to get it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise  # the framework is there, but something it needs is not
        package = package or module
        raise ImportError(f"this callback needs {module}: pip install {package}", name=module) from None
