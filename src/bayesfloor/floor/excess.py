"""An observed error against the floor: what is known of either, and limits of the excess."""

import math
from functools import lru_cache
from typing import Any

from scipy.special import betaincinv, ndtri

from ..errors import ParameterError
from ..utils.checks import MOST, brief
from ..utils.intervals import ConfidenceInterval, check_level
from .result import FloorResult
from .rule import check_carried

__all__ = [
    "check_one_sided",
    "check_rows",
    "check_share",
    "error_limit",
    "floor_reach",
    "known_floor",
    "points",
    "reach_above",
]


def reach_above(error: float, below: float, n: int, level: float) -> float:
    """How far above the observed excess its upper limit lies."""
    return float(((error_limit(error, n, level) - error) ** 2 + below**2) ** 0.5)


@lru_cache(maxsize=10_000)  # the limit at the floor is asked for in each round
def error_limit(error: float, n: int, level: float) -> float:
    """Clopper-Pearson limit at a level (above 0.5 an upper one), also between whole numbers of errors."""
    wrong = error * n
    if level > 0.5:
        return 1.0 if wrong >= n else float(betaincinv(wrong + 1, n - wrong, level))
    return 0.0 if wrong <= 0 else float(betaincinv(wrong, n - wrong + 1, level))


def floor_reach(floor: float, interval: ConfidenceInterval, level: float) -> tuple[float, float]:
    """How far the floor may lie below and above its estimate, one-sided at `level`."""
    scale = float(ndtri(level) / ndtri((1 + interval.confidence_level) / 2))
    return (floor - interval.low) * scale, (interval.high - floor) * scale


def known_floor(floor: Any, interval: Any, confidence_level: float) -> tuple[float, ConfidenceInterval]:
    """A floor and its interval, from a result or from numbers."""
    if isinstance(floor, FloorResult):
        if interval is not None:
            raise ParameterError("interval belongs to a floor given as a number: a result brings its own")
        if floor.learning_curve:
            check_carried(confidence_level, one_sided=True)
        return floor.floor, floor.interval
    value = check_share("floor", floor)
    if interval is None:
        raise ParameterError(
            f"a floor without interval cannot be compared with: give interval=(low, high) beside {value:g}, or a result"
        )
    if not isinstance(interval, ConfidenceInterval):
        try:
            low, high = interval
        except Exception:
            raise ParameterError(
                f"interval must be (low, high) or a ConfidenceInterval, got {brief(interval)}"
            ) from None
        low, high = check_share("low end of interval", low), check_share("high end of interval", high)
        interval = ConfidenceInterval(low, high, confidence_level)
    check_level(interval.confidence_level)  # 95 for 0.95 would make every limit NaN, and no limit is ever met
    if not interval.low <= value <= interval.high:
        raise ParameterError(
            f"interval must run from low to high with the floor inside, got ({interval.low:g}, {interval.high:g}) "
            f"for a floor of {value:g}"
        )
    return value, interval


def points(share: float) -> str:
    """A share of rows in percentage points, as words.

    Examples
    --------
    >>> points(0.01), points(0.025)
    ('1 point', '2.5 points')
    """
    number = f"{100 * share:g}"
    return f"{number} point{'' if number == '1' else 's'}"


def check_share(name: str, value: Any) -> float:
    """A number in [0, 1], or an error that names it; numbers in tensors and arrays are taken out."""
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        share = float(value)
    except OverflowError:
        share = math.inf
    except Exception:  # tensors and masked values have errors of their own
        raise ParameterError(f"{name} must be a number between 0 and 1, got {brief(value)}") from None
    if -1e-6 <= share <= 1 + 1e-6:  # means of float32 may be off by a hair
        return min(max(share, 0.0), 1.0)
    if 1 < share <= 100:
        raise ParameterError(f"{name} must be a share, not a percentage: {share:g} % is {share / 100:g}")
    raise ParameterError(f"{name} must lie between 0 and 1, got {share:g}")


def check_rows(name: str, value: Any) -> int:
    """A number of rows: whole, at least 1."""
    try:
        rows = int(value)
        whole = bool(rows == value) and not isinstance(value, bool | str | bytes)
    except Exception:
        whole = False
    if not whole or not 1 <= rows <= MOST:
        raise ParameterError(f"{name} must be a whole number of rows, 1 or more; got {brief(value)}")
    return rows


def check_one_sided(confidence_level: Any) -> None:
    """Refuse a level that no one-sided limit can have."""
    check_level(confidence_level)
    if confidence_level <= 0.5:
        raise ParameterError(
            f"confidence_level must be above 0.5, since it is one-sided; got {brief(confidence_level)}"
        )
