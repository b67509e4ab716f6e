"""How far a model is from the floor, with uncertainty on both sides."""

import math
import numbers
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from .._text import printable, printed
from .._types import Codes, Counts
from ..errors import DataError, DataTypeError, ParameterError
from ..library.arrangement import EFFORTS
from ..rows.dataset import is_sparse
from ..rows.gaps import unlabelled_note
from ..rows.labels import encode_labels, plain, present_labels
from ..rows.sparse import check_structure
from ..utils.checks import MOST, brief, listed, real_from
from ..utils.intervals import ConfidenceInterval, check_level, score_interval
from .doubts import (
    SEVERITIES,
    Doubt,
    check_codes,
    model_beats_library,
    model_below_floor,
    nothing_found,
    other_class_shares,
    training_rows,
)
from .records import Noted
from .result import FloorResult
from .rule import check_carried
from .shares import FloorAt, floor_at, shares_differ

__all__ = ["Comparison", "compare"]


_CLOSE, _CLOSE_SHARE = 0.02, 0.25  # a model is at the floor if it can be no further from it, in points or as a share
# With these, and with any serious one, the floor may lie well below its estimate: structure that more rows, other
# models or the columns themselves would show. What an old result doubted is not known.
_TOO_HIGH = ("still-falling", "few-rows-per-column", "floor-of-scores", "unknown")
_OTHER_SHARES = "other-class-shares"
_UNCHECKED = "this assumes that the test rows have the class shares of the training rows, whose class shares drift with"
_MORE_ROWS = "more rows to estimate the floor from"


@dataclass(frozen=True)
class Comparison(Noted):
    """A model beside the floor.

    Attributes
    ----------
    error, n_test : float, int
        Share of errors of the model, on so many rows that it had not seen.
    error_interval : ConfidenceInterval
        Of Wilson: what the model would err on endless data.
    floor, floor_interval : float, ConfidenceInterval
        Of the result; where the test rows have other class shares, at their shares, as `notes` then say.
    excess, excess_interval : float, ConfidenceInterval
        Error minus floor.
    verdict : {"room", "at the floor", "cannot tell", "below the floor"}
        The interval of the excess lies above 0 (there is room for a better model), includes it, or lies below. Where it
        includes 0 but reaches more than two points, and more than a quarter of the floor, above it, or where the floor
        itself may have been estimated too high (`doubts`), nothing was shown: "cannot tell". It does not depend on
        `within`: `compare` and `gate` have one verdict.
    doubts : tuple of Doubt
        Signs that the floor was estimated too high (`reasons`: in words): its learning curve still falls, it has few
        rows per column or is that of scores, nothing was found that beats naming one class, or the model errs less than
        all classifiers of the estimate together, or than the floor, beyond the chance of its test. Or the model and the
        floor cannot be compared ("other-class-shares"): then the verdict is "cannot tell".
    notes : tuple of str
        What may make the two figures hard to compare.
    floor_remedy : str
        What would narrow the floor's interval. More rows only where models were trained on all there are, or where
        most of the interval is sampling noise.
    within : float or None
        The largest gap to the floor that `gate` lets pass, if that was asked for (see `allowed`, `is_allowed`).
    result : FloorResult or None
        What it was compared with; not kept in JSON.

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
    doubts: tuple[Doubt, ...] = ()
    notes: tuple[str, ...] = ()
    floor_remedy: str = _MORE_ROWS
    within: float | None = None
    result: FloorResult | None = field(default=None, compare=False, repr=False)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The doubts in words."""
        return tuple(doubt.sentence for doubt in self.doubts)

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
        if not self.is_comparable:
            return "cannot tell: the test rows have other class shares"
        if self.verdict == "cannot tell" and self.is_close:
            return "cannot tell: near the estimated floor, which may be too high"
        if self.verdict == "cannot tell":
            return f"cannot tell: {self._may_be}"
        if self.verdict == "below the floor":
            return "below the floor: the floor was estimated too high, or the test has leaked"
        return self.verdict

    @property
    def sentence(self) -> str:
        """The verdict, and what it means."""
        if self.within is None:
            return self._meaning
        return f"{self._meaning} The gap is {self.allowance}."

    @property
    def allowed(self) -> float:
        """The largest gap that `gate` lets pass: `within`, or two points or a quarter of the floor if not given."""
        return _close(self.floor) if self.within is None else self.within

    @property
    def is_allowed(self) -> bool:
        """Whether the gap is shown to be at most `allowed`, with no sign that the floor was estimated too high."""
        return self.verdict != "below the floor" and not self.doubts and self.excess_interval.high <= self.allowed

    @property
    def allowance(self) -> str:
        """How the gap compares with what is allowed, in words."""
        limit = f"the {100 * self.allowed:.3g} points allowed"
        if self.is_allowed:
            return f"shown to be within {limit}"
        if self.verdict == "room" and self.excess_interval.low > self.allowed:
            return f"shown to be more than {limit}"
        return f"not shown to be within {limit}"

    @property
    def _meaning(self) -> str:
        if self.verdict == "room":
            return f"Room of {self._points}: the same data allow a better model."
        if self.verdict == "below the floor":
            return self._below
        if not self.is_comparable:
            return f"Cannot tell: {next(doubt for doubt in self.doubts if doubt.code == _OTHER_SHARES)}."
        left = f"{100 * self.excess_interval.high:.1f}"
        if self.verdict == "cannot tell" and self.is_close:
            return (
                f"Cannot tell: the difference to the estimated floor is {self._points}, but that floor may be too "
                f"high: {'; '.join(self.reasons)}."
            )
        if self.verdict == "cannot tell":
            besides = f" Besides, the floor may be too high: {'; '.join(self.reasons)}." if self.doubts else ""
            return (
                f"Cannot tell: the model is {self._may_be}. The difference is {self._points}; {self.missing} would "
                f"tell.{besides}"
            )
        return (
            f"At the floor: no room can be shown. The difference is {self._points}; up to {left} points may be left, "
            f"and {self.missing} would tell."
        )

    @property
    def _may_be(self) -> str:
        return f"at the floor, or up to {100 * self.excess_interval.high:.1f} points above it"

    @property
    def _below(self) -> str:
        signs = f", and there are signs of it: {'; '.join(self.reasons)}" if self.doubts else ""
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
    def is_comparable(self) -> bool:
        """Whether the floor is one for the class shares of the test rows, as far as these are known."""
        return all(doubt.code != _OTHER_SHARES for doubt in self.doubts)

    @property
    def is_close(self) -> bool:
        """Whether the intervals alone, without the doubts, would say "at the floor"."""
        low, high = self.excess_interval.low, self.excess_interval.high
        return low <= 0 and high <= _close(self.floor)

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
        return "more test rows" if of_test > of_floor else self.floor_remedy

    def to_dict(self) -> dict[str, Any]:
        """Plain values; the excess also under its names of version 0.1, `room` and `room_interval`."""
        values = asdict(replace(self, result=None))
        del values["result"]
        return {
            **values,
            "room": values["excess"],
            "room_interval": values["excess_interval"],
            "doubts": list(values["doubts"]),
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
        return printed([*lines, *(f"- note: {note}" for note in self.notes)])

    def __repr__(self) -> str:
        return printable(f"Comparison(error={self.error:.4f}, floor={self.floor:.4f}, {self.headline})")

    def _repr_html_(self) -> str:
        from ..report.notebook import comparison_html

        return comparison_html(self)


def compare(
    result: FloorResult,
    *,
    error: float | None = None,
    n_test: int | None = None,
    y_true: Any = None,
    y_pred: Any = None,
    model: Any = None,
    X: Any = None,
    y: Any = None,
    within: float | None = None,
    ignore: Iterable[str] | str = (),
    confidence_level: float | None = None,
) -> Comparison:
    """Say how far a model is from the floor: its test error, or its predictions, beside an estimate.

    Both sides are uncertain: the model's error by the finite test, the floor by its interval. Their intervals are
    combined by the lengths of their arms, squared and added (the MOVER method of Zou and Donner, 2008):

        low = excess - sqrt((error - error_low)^2 + (floor_high - floor)^2),   high likewise.

    This takes the two as independent. If the model was tested on the rows that the floor was estimated from, a sample
    with many hard rows raises both; the difference then varies less than that, and the interval is wider than it
    need be.

    Where the labels of the test rows are known, and their class shares differ from those of the floor beyond chance
    (one in a thousand), the floor is estimated for the shares of the test rows, from the out-of-fold predictions of the
    result. That is right if only the shares have changed, not what the rows of a class are like; `notes` say so. There
    is no verdict if the result keeps no such predictions (it was read from JSON), or if the class shares of the
    training rows drift with their order or with a date: then more than the shares may have changed.

    Parameters
    ----------
    result : FloorResult
        Of `estimate`, `from_scores`, or read back from JSON.
    error, n_test : float, int
        Share of errors of the model on so many rows that it has not seen.
    y_true, y_pred : array-like of shape (n_test,)
        Instead: labels of those rows, and what the model said. Labels read from a text file match by their spelling.
    model, X, y
        Instead: a fitted classifier with ``predict``, rows that it has not seen, as it takes them, and their labels; of
        a frame `y` may be the name of a column.
    within : float, optional
        The largest gap to the floor that `gate` lets pass, as a share: 0.02 for two points. The comparison then says
        whether the gap is shown to be within it; the verdict stays the same.
    ignore : sequence of str
        Codes of doubts that do not count: see `FloorResult.mute`.
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
    codes = check_codes(ignore)
    result = result.mute(codes)
    if within is not None:
        within = check_within(within)
    if any(value is not None for value in (model, X, y)):
        if any(value is not None for value in (error, n_test, y_true, y_pred)):
            raise ParameterError("give one of error= and n_test=, y_true= and y_pred=, or model=, X= and y=")
        y_true, y_pred = _predict(model, X, y)
    given_error, given_labels = (error, n_test), (y_true, y_pred)
    dropped: tuple[str, ...] = ()
    if all(value is None for value in given_labels) and not all(value is None for value in given_error):
        share, tested = _check_error(error, n_test)
        counts = None
    elif all(value is None for value in given_error) and not all(value is None for value in given_labels):
        share, tested, counts, dropped = _count_errors(result, y_true, y_pred)
    else:
        raise ParameterError("give error= and n_test=, or y_true= and y_pred=, or model=, X= and y=")
    known, notes, apart = _floor_for(result, counts, codes)
    notes = (*dropped, *notes)
    floor, floor_interval = known.floor, at_level(known.floor, known.interval, level)
    error_interval = score_interval(share, tested, level)
    excess = share - floor
    low = excess - math.hypot(share - error_interval.low, floor_interval.high - floor)
    high = excess + math.hypot(error_interval.high - share, floor - floor_interval.low)
    verdict = "room" if low > 0 else "below the floor" if high < 0 else "at the floor"
    found = (*apart, *_doubts(result, known, error_interval))
    if verdict == "at the floor" and error_interval.high < floor:
        found += (model_below_floor(error_interval.high),)
    doubts = tuple(doubt for doubt in found if doubt.code not in codes)
    if apart or (verdict == "at the floor" and (doubts or high > _close(floor))):
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
        floor_remedy=_floor_remedy(result),
        within=within,
        result=result,
    )


def check_within(within: Any) -> float:
    """A distance from the floor, as a share above 0."""
    share = real_from(within)
    if share is None or not 0 < share < 1:
        hint = (
            f"; if you mean {share:g} points, give {share / 100:g}" if share is not None and 1 <= share <= 100 else ""
        )
        raise ParameterError(f"within must be a share above 0 and below 1, got {brief(within)}{hint}")
    return share


def _close(floor: float) -> float:
    """How far above the floor a model may be at most to be called at it."""
    return max(_CLOSE, _CLOSE_SHARE * floor)


def _predict(model: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Labels, and what a fitted model says of the rows."""
    for name, value in (("model", model), ("X", X), ("y", y)):
        if value is None:
            raise ParameterError(f"{name} is missing: give the fitted model, test rows and their labels")
    if not callable(getattr(model, "predict", None)):
        raise DataTypeError(f"model must have a method predict, as a fitted classifier has; got {type(model).__name__}")
    if isinstance(y, str):
        if not hasattr(X, "columns") or y not in list(X.columns):
            raise ParameterError(f"y={y!r} names no column of X: give one label per row")
        y, X = X[y], X.drop(columns=y) if hasattr(X, "iloc") else X.drop(y)
    if is_sparse(X):
        check_structure(X)  # the model's library may follow its indices unchecked
    try:
        said = np.asarray(model.predict(X))
    except Exception as error:  # whatever the model's library raises
        raise DataError(f"the model could not predict these rows ({type(error).__name__}: {error})") from error
    if said.ndim == 2 and said.shape[1] == 1:
        said = said[:, 0]
    if said.ndim != 1:
        raise DataError(f"the model's predict must give one label per row, got an array of shape {said.shape}")
    return y, said


def _floor_remedy(result: FloorResult) -> str:
    rows = result.settings.get("rows", result.evidence.get("n"))  # version 0.1 did not save the former
    if not result.learning_curve or rows is None:
        return _MORE_ROWS
    trained = max(point.n_train for point in result.learning_curve)
    training = training_rows(trained, int(rows), result.settings.get("effort", "balanced"))
    if training.everything or result.sampling_width > (result.interval.high - result.interval.low) / 2:
        return _MORE_ROWS  # they are few for what was learned, or for what it was counted on
    if training.can_have_more:
        return "a floor estimated with effort='thorough'"
    if trained < EFFORTS["thorough"]:
        return f"{_MORE_ROWS}, with effort='thorough',"
    return "a floor estimated with your model among classifiers="


def _floor_for(
    result: FloorResult, counts: Counts | None, codes: tuple[str, ...]
) -> tuple[FloorAt, tuple[str, ...], tuple[Doubt, ...]]:
    """The floor for test rows with these class counts, what to note about it, and why it cannot be compared with."""
    own = FloorAt(result.floor, result.interval, float(result.evidence["error"]), int(result.evidence["n"]))
    drifts_with = result.settings.get("drift")
    if counts is None and drifts_with is not None:
        return own, (f"{_UNCHECKED} {drifts_with}: give y_true and y_pred (--predictions) to check it",), ()
    if counts is None or not shares_differ(result, counts):
        return own, (), ()
    shares = counts / counts.sum()
    worst = int(np.abs(shares - np.array(result.priors)).argmax())
    differ = (
        "the test rows have other class shares than the floor was estimated for "
        f"({result.classes[worst]}: {shares[worst]:.1%} instead of {result.priors[worst]:.1%})"
    )
    if _OTHER_SHARES in codes:
        return own, (f"{differ}; the two are comparable only for equal shares",), ()
    moved = None
    if drifts_with is not None:
        obstacle = (
            f"the class shares of the training rows drift with {drifts_with}: more than the shares may have changed. "
            "Estimate the floor from rows of the same period as the test rows"
        )
    elif (shares == 1).any():
        obstacle = "all of them are of one class. Test the model on rows of several classes"
    else:
        moved = floor_at(result, shares)
        obstacle = (
            "a saved result keeps no predictions to estimate the floor at their shares from. Compare with the data "
            "themselves (the file in place of --result; in Python the result of estimate)"
        )
    if moved is None:
        return own, (), (other_class_shares(differ, obstacle),)
    return moved, (f"{differ}; the floor is that at their shares, assuming that only the shares have changed",), ()


def _doubts(result: FloorResult, known: FloorAt, error_interval: ConfidenceInterval) -> tuple[Doubt, ...]:
    """Signs that the floor was estimated too high, the model's own among them."""
    found = [doubt for doubt in result.doubts if doubt.code in _TOO_HIGH or SEVERITIES[doubt.code] == "serious"]
    if result.certificate is not None and result.certificate.classifier == "constant":
        found.append(nothing_found())
    if result.learning_curve:
        seen = score_interval(known.error, known.n, error_interval.confidence_level)
        if seen.low > error_interval.high:
            found.append(model_beats_library(known.error))
    return tuple(found)


def _check_error(error: Any, n_test: Any) -> tuple[float, int]:
    if error is None or n_test is None:
        missing = "error" if error is None else "n_test"
        raise ParameterError(f"{missing} is missing: give the share of errors and the number of rows it was counted on")
    share, tested = real_from(error), real_from(n_test)
    if share is None or not 0 <= share <= 1:
        hint = f"; if you mean {share:g} %, give {share / 100:g}" if share is not None and 1 < share <= 100 else ""
        raise ParameterError(f"error must be a share between 0 and 1, got {brief(error)}{hint}")
    if tested is None or not 1 <= tested <= MOST or tested % 1:
        raise ParameterError(f"n_test must be a whole number of rows, at least 1; got {brief(n_test)}")
    return share, int(tested)


def _count_errors(result: FloorResult, y_true: Any, y_pred: Any) -> tuple[float, int, Counts, tuple[str, ...]]:
    """Share of errors, number of rows, rows of each class, and a note on rows without a label, which do not count."""
    if y_true is None or y_pred is None:
        raise ParameterError(f"{'y_true' if y_true is None else 'y_pred'} is missing: give labels and predictions")
    with _about("y_true"):
        labels, labelled, n = present_labels(y_true)
    truth, said = _codes(result, "y_true", labels), _codes(result, "y_pred", y_pred)
    if n != len(said):
        raise DataError(f"y_true has {n} labels but y_pred has {len(said)}: they must have equal length")
    said = said if labelled is None else said[labelled]
    counts = np.bincount(truth, minlength=len(result.classes))
    return float((truth != said).mean()), len(truth), counts, tuple(unlabelled_note(n - len(truth), n))


@contextmanager
def _about(name: str) -> Iterator[None]:
    """Errors about labels speak of y: here it has another name."""
    try:
        yield
    except (DataError, DataTypeError) as error:
        raise type(error)(str(error).replace("y ", f"{name} ", 1)) from None


def _codes(result: FloorResult, name: str, labels: Any) -> Codes:
    """Position of each label among the classes of the result."""
    with _about(name):
        found, codes = encode_labels(labels)
    if not len(codes):
        raise DataError(f"{name} is empty: give one label per test row")
    exact: dict[Any, int] = {label: i for i, label in enumerate(result.classes)}
    spelled = {str(label): i for i, label in enumerate(result.classes)}
    numeric = {float(label): i for label, i in exact.items() if _is_number(label) and abs(label) < 2**1000}
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
    return isinstance(label, numbers.Real) and not isinstance(label, bool | np.bool_ | np.timedelta64)


def _as_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def at_level(centre: float, interval: ConfidenceInterval, level: float) -> ConfidenceInterval:
    if level == interval.confidence_level:
        return interval
    stretch = float(ndtri((1 + level) / 2) / ndtri((1 + interval.confidence_level) / 2))
    low, high = centre - stretch * (centre - interval.low), centre + stretch * (interval.high - centre)
    return ConfidenceInterval(max(0.0, low), min(1.0, high), level)


def _without_sign_of_zero(text: str) -> str:
    return "0.0" if text == "-0.0" else text
