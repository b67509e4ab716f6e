"""How far a model is from the floor, with uncertainty on both sides."""

import math
import numbers
import warnings
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import chisquare

from .._types import Codes
from ..errors import DataError, DataTypeError, ParameterError
from ..rows.labels import encode_labels, plain
from ..utils.checks import listed
from ..utils.intervals import ConfidenceInterval, check_level, score_interval
from .doubts import SEVERITIES
from .result import FloorResult
from .rule import check_carried

__all__ = ["Comparison", "compare"]


_CLOSE, _CLOSE_SHARE = 0.02, 0.25  # a model is at the floor if it can be no further from it, in points or as a share
_CHANCE = 1e-3  # class shares less likely than this are not those of the floor
# With these, and with any serious one, the floor may lie well below its estimate: structure that more rows, other
# models or the columns themselves would show. What an old result doubted is not known.
_TOO_HIGH = ("still-falling", "few-rows-per-column", "floor-of-scores", "unknown")


@dataclass(frozen=True)
class Comparison:
    """A model beside the floor.

    Attributes
    ----------
    error, n_test : float, int
        Share of errors of the model, on so many rows that it had not seen.
    error_interval : ConfidenceInterval
        Of Wilson: what the model would err on endless data.
    floor, floor_interval : float, ConfidenceInterval
    excess, excess_interval : float, ConfidenceInterval
        Error minus floor.
    verdict : {"room", "at the floor", "cannot tell", "below the floor"}
        The interval of the excess lies above 0 (there is room for a better model), includes it, or lies below. Where it
        includes 0 but reaches more than two points, and more than a quarter of the floor, above it, or where the floor
        itself may have been estimated too high (`doubts`), nothing was shown: "cannot tell".
    doubts : tuple of str
        Signs that the floor was estimated too high: its learning curve still falls, it has few rows per column or is
        that of scores, nothing was found that beats naming one class, or the model errs less than the whole library, or
        than the floor, beyond the chance of its test.
    notes : tuple of str
        What may make the two figures hard to compare.

    Examples
    --------
    >>> from bayesfloor import compare, from_scores, problems
    >>> problem = problems.get("gaussians_4d")   # the true floor is 0.1587
    >>> X, y = problem.sample(1000, random_state=0)
    >>> comparison = compare(from_scores(problem.posterior(X), y), error=0.3, n_test=1000)
    >>> comparison.verdict, 0.3 - 0.1587 in comparison.excess_interval
    ('room', True)
    """

    error: float
    n_test: int
    error_interval: ConfidenceInterval
    floor: float
    floor_interval: ConfidenceInterval
    excess: float
    excess_interval: ConfidenceInterval
    verdict: str
    doubts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def room(self) -> float:
        """Deprecated name of `excess`."""
        warnings.warn("Comparison.room is now called excess", DeprecationWarning, stacklevel=2)
        return self.excess

    @property
    def room_interval(self) -> ConfidenceInterval:
        """Deprecated name of `excess_interval`."""
        warnings.warn("Comparison.room_interval is now called excess_interval", DeprecationWarning, stacklevel=2)
        return self.excess_interval

    @property
    def headline(self) -> str:
        """The verdict in a few words."""
        if self.verdict == "room":
            return f"room of {self._points}"
        if self.verdict == "cannot tell" and self.is_close:
            return "cannot tell: near the estimated floor, which may be too high"
        if self.verdict == "cannot tell":
            return f"cannot tell: at the floor, or up to {100 * self.excess_interval.high:.1f} points above it"
        if self.verdict == "below the floor":
            return "below the floor: the floor was estimated too high, or the test has leaked"
        return self.verdict

    @property
    def sentence(self) -> str:
        """The verdict, and what it means."""
        if self.verdict == "room":
            return f"Room of {self._points}: the same data allow a better model."
        if self.verdict == "below the floor":
            return self._below
        left = f"{100 * self.excess_interval.high:.1f}"
        if self.verdict == "cannot tell" and self.is_close:
            return (
                f"Cannot tell: the difference to the estimated floor is {self._points}, but that floor may be too "
                f"high: {'; '.join(self.doubts)}."
            )
        if self.verdict == "cannot tell":
            besides = f" Besides, the floor may be too high: {'; '.join(self.doubts)}." if self.doubts else ""
            return (
                f"Cannot tell: the model is at the floor, or up to {left} points above it. The difference is "
                f"{self._points}; {self.missing} would tell.{besides}"
            )
        return (
            f"At the floor: no room can be shown. The difference is {self._points}; up to {left} points may be left, "
            f"and {self.missing} would tell."
        )

    @property
    def _below(self) -> str:
        signs = f", and there are signs of it: {'; '.join(self.doubts)}" if self.doubts else ""
        return (
            f"Below the floor: the model errs {-100 * self.excess:.1f} points less than the estimate "
            f"({-100 * self.excess_interval.high:.1f} to {-100 * self.excess_interval.low:.1f}). Most likely the floor "
            f"was estimated too high{signs}. Otherwise the model knows more than it should: test rows or copies of "
            "them in training, a column that gives the label away, columns that the floor was not given. Rows "
            "collected after training tell the two apart: there a leak shows as a higher error, a floor that is too "
            "high does not. So does estimate(..., classifiers=[model]), which trains the model on other rows than it "
            "tests it on."
        )

    @property
    def is_close(self) -> bool:
        """Whether the intervals alone, without the doubts, would say "at the floor"."""
        return self.excess_interval.low <= 0 and self.excess_interval.high <= max(_CLOSE, _CLOSE_SHARE * self.floor)

    @property
    def _range(self) -> str:
        low, high = (f"{100 * value:.1f}" for value in (self.excess_interval.low, self.excess_interval.high))
        return f"{_without_sign_of_zero(low)} to {_without_sign_of_zero(high)}"

    @property
    def _points(self) -> str:
        return f"{_without_sign_of_zero(f'{100 * self.excess:.1f}')} points ({self._range})"

    @property
    def missing(self) -> str:
        """What would narrow the interval of the excess most."""
        of_test = self.error_interval.high - self.error_interval.low
        of_floor = self.floor_interval.high - self.floor_interval.low
        return "more test rows" if of_test > of_floor else "more rows to estimate the floor from"

    def to_dict(self) -> dict[str, Any]:
        """Plain values; the excess also under its names of version 0.1, `room` and `room_interval`."""
        values = asdict(self)
        return {
            **values,
            "room": values["excess"],
            "room_interval": values["excess_interval"],
            "doubts": list(self.doubts),
            "notes": list(self.notes),
            "headline": self.headline,
            "sentence": self.sentence,
        }

    def __str__(self) -> str:
        level = f"{100 * self.excess_interval.confidence_level:g}%"
        model, floor = self.error_interval, self.floor_interval
        tested = f"{self.n_test:,} test rows"
        lines = [
            f"model  {self.error:.2%}   {level} interval {model.low:.2%} to {model.high:.2%}, {tested}",
            f"floor  {self.floor:.2%}   {level} interval {floor.low:.2%} to {floor.high:.2%}",
            "",
            self.sentence,
        ]
        return "\n".join([*lines, *(f"- note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def compare(
    result: FloorResult,
    *,
    error: float | None = None,
    n_test: int | None = None,
    y_true: Any = None,
    y_pred: Any = None,
    confidence_level: float | None = None,
) -> Comparison:
    """Say how far a model is from the floor: its test error, or its predictions, beside an estimate.

    Both sides are uncertain: the model's error by the finite test, the floor by its interval. Their intervals are
    combined by the lengths of their arms, squared and added (the MOVER method of Zou and Donner, 2008):

        low = excess - sqrt((error - error_low)^2 + (floor_high - floor)^2),   high likewise.

    This takes the two as independent. If the model was tested on the rows that the floor was estimated from, a sample
    with many hard rows raises both; the difference then varies less than that, and the interval is wider than it
    need be.

    Parameters
    ----------
    result : FloorResult
        Of `estimate`, `from_scores`, or read back from JSON.
    error, n_test : float, int
        Share of errors of the model on so many rows that it has not seen.
    y_true, y_pred : array-like of shape (n_test,)
        Instead: labels of those rows, and what the model said. Labels read from a text file match by their spelling.
    confidence_level : float, optional
        Default: that of the result. For another the arms of the floor's interval are stretched as those of a
        normal distribution.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from bayesfloor import estimate, problems
    >>> X, y = problems.get("gaussians_4d").sample(600, random_state=0)
    >>> result = estimate(X, y, effort="fast", n_jobs=1)
    >>> compare(result, error=0.35, n_test=2000).verdict
    'room'
    >>> compare(result, error=0.02, n_test=2000).headline
    'below the floor: the floor was estimated too high, or the test has leaked'
    """
    if not isinstance(result, FloorResult):
        raise DataTypeError(f"compare needs a FloorResult, as estimate returns it; got {type(result).__name__}")
    level = result.interval.confidence_level if confidence_level is None else confidence_level
    check_level(level)
    if result.learning_curve and confidence_level is not None:
        check_carried(level)
    given_error, given_labels = (error, n_test), (y_true, y_pred)
    if all(value is None for value in given_labels) and not all(value is None for value in given_error):
        share, tested = _check_error(error, n_test)
        notes: tuple[str, ...] = ()
    elif all(value is None for value in given_error) and not all(value is None for value in given_labels):
        share, tested, notes = _count_errors(result, y_true, y_pred)
    else:
        raise ParameterError("give either error= and n_test=, or y_true= and y_pred=")
    floor, floor_interval = result.floor, _at_level(result.floor, result.interval, level)
    error_interval = score_interval(share, tested, level)
    excess = share - floor
    low = excess - math.hypot(share - error_interval.low, floor_interval.high - floor)
    high = excess + math.hypot(error_interval.high - share, floor - floor_interval.low)
    verdict = "room" if low > 0 else "below the floor" if high < 0 else "at the floor"
    doubts = _doubts(result, error_interval)
    if verdict == "at the floor" and error_interval.high < floor:
        doubts += (f"the model itself shows that the floor is not above {error_interval.high:.1%}",)
    if verdict == "at the floor" and (doubts or high > max(_CLOSE, _CLOSE_SHARE * floor)):
        verdict = "cannot tell"
    return Comparison(
        error=share,
        n_test=tested,
        error_interval=error_interval,
        floor=floor,
        floor_interval=floor_interval,
        excess=excess,
        excess_interval=ConfidenceInterval(max(-1.0, low), min(1.0, high), level),
        verdict=verdict,
        doubts=doubts,
        notes=notes,
    )


def _doubts(result: FloorResult, error_interval: ConfidenceInterval) -> tuple[str, ...]:
    """Signs that the floor was estimated too high, the model's own among them."""
    found = [
        doubt.sentence for doubt in result.doubts if doubt.code in _TOO_HIGH or SEVERITIES[doubt.code] == "serious"
    ]
    if result.certificate is not None and result.certificate.classifier == "constant":
        found.append("nothing in the library was seen to err less than naming one class: it may have missed structure")
    pool, rows = result.evidence.get("error"), result.evidence.get("n")
    if result.learning_curve and pool is not None and rows is not None:
        seen = score_interval(pool, rows, error_interval.confidence_level)
        if seen.low > error_interval.high:
            found.append(
                f"the model errs less than the library that the floor rests on ({pool:.1%}), beyond chance: there is "
                "structure that the library has not found"
            )
    return tuple(found)


def _check_error(error: Any, n_test: Any) -> tuple[float, int]:
    if error is None or n_test is None:
        missing = "error" if error is None else "n_test"
        raise ParameterError(f"{missing} is missing: give the share of errors and the number of rows it was counted on")
    if not _is_number(error) or not 0 <= error <= 1:
        hint = f"; if you mean {error:g} %, give {error / 100:g}" if _is_number(error) and 1 < error <= 100 else ""
        raise ParameterError(f"error must be a share between 0 and 1, got {error!r}{hint}")
    if not _is_number(n_test) or not n_test >= 1 or n_test != n_test // 1:  # NaN and infinity are no such number
        raise ParameterError(f"n_test must be a whole number of rows, at least 1; got {n_test!r}")
    return float(error), int(n_test)


def _count_errors(result: FloorResult, y_true: Any, y_pred: Any) -> tuple[float, int, tuple[str, ...]]:
    if y_true is None or y_pred is None:
        raise ParameterError(f"{'y_true' if y_true is None else 'y_pred'} is missing: give labels and predictions")
    truth, said = _codes(result, "y_true", y_true), _codes(result, "y_pred", y_pred)
    if len(truth) != len(said):
        raise DataError(f"y_true has {len(truth)} labels but y_pred has {len(said)}: they must have equal length")
    counts = np.bincount(truth, minlength=len(result.classes))
    expected = np.array(result.priors) * len(truth)
    notes: tuple[str, ...] = ()
    if (expected > 0).all() and chisquare(counts, expected * counts.sum() / expected.sum()).pvalue < _CHANCE:
        worst = int(np.abs(counts / len(truth) - np.array(result.priors)).argmax())
        notes = (
            "the classes have other shares in the test than the floor was estimated for "
            f"({result.classes[worst]}: {counts[worst] / len(truth):.1%} instead of {result.priors[worst]:.1%}); "
            "the two are comparable only for equal shares",
        )
    return float((truth != said).mean()), len(truth), notes


def _codes(result: FloorResult, name: str, labels: Any) -> Codes:
    """Position of each label among the classes of the result."""
    try:
        found, codes = encode_labels(labels)
    except (DataError, DataTypeError) as error:  # they speak of y
        raise type(error)(str(error).replace("y ", f"{name} ", 1)) from None
    if not len(codes):
        raise DataError(f"{name} is empty: give one label per test row")
    exact: dict[Any, int] = {label: i for i, label in enumerate(result.classes)}
    spelled = {str(label): i for i, label in enumerate(result.classes)}
    numeric = {float(label): i for label, i in exact.items() if _is_number(label)}
    position = []
    unknown = []
    for label in plain(found):
        at = exact.get(label, spelled.get(str(label)))
        if at is None and isinstance(label, str) and numeric:  # "1.0" in a file for the class 1
            at = numeric.get(_as_number(label))
        position.append(-1 if at is None else at)
        if at is None:
            unknown.append(repr(label))
    if unknown:
        known = listed([repr(label) for label in result.classes])
        raise DataError(f"{name} has labels that the floor was not estimated for: {listed(unknown)}; it knows {known}")
    return np.array(position, dtype=np.int64)[codes]


def _is_number(label: Any) -> bool:
    return isinstance(label, numbers.Real) and not isinstance(label, bool | np.bool_)


def _as_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _at_level(centre: float, interval: ConfidenceInterval, level: float) -> ConfidenceInterval:
    if level == interval.confidence_level:
        return interval
    stretch = float(ndtri((1 + level) / 2) / ndtri((1 + interval.confidence_level) / 2))
    low, high = centre - stretch * (centre - interval.low), centre + stretch * (interval.high - centre)
    return ConfidenceInterval(max(0.0, low), min(1.0, high), level)


def _without_sign_of_zero(text: str) -> str:
    return "0.0" if text == "-0.0" else text
