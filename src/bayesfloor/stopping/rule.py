"""When to stop training: once the model's error is at the floor and no longer falls, with the doubts counted."""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from ..errors import BayesfloorWarning, ParameterError
from ..floor.excess import (
    check_one_sided,
    check_rows,
    check_share,
    error_limit,
    floor_reach,
    known_floor,
    points,
    reach_above,
)
from ..floor.result import FloorResult
from ..utils.checks import brief, check_whole, numbers_from
from ..utils.intervals import ConfidenceInterval
from .fall import FEWEST_ROUNDS, further_fall

__all__ = ["FloorStopping", "RowsNeeded", "TrainingRound", "first_round_within", "validation_rows_needed"]

_IN_A_ROW = 3  # looks that must agree before the rule stops
_HAIR = 1e-7  # 0.16 - 0.15 is above 0.01 in floating point, and many metrics are float32
_ALARM = 0.02  # "below the floor" accuses the data: it takes this share of the risk of the count (99.9 % for 95 %)


@dataclass(frozen=True)
class TrainingRound:
    """A look at the model: its error, limits of the excess over the floor (each one-sided), and what may come.

    `further_fall` is the upper limit of how far the error may still fall; None in the first nine rounds.
    """

    number: int
    error: float
    n_samples: int
    excess: float
    low: float
    high: float
    further_fall: float | None


class RowsNeeded(NamedTuple):
    """Validation rows: the fewest the rule can decide with, and as many as it takes to decide promptly.

    None where the floor's own interval is too wide for any number of rows.
    """

    fewest: int | None
    advised: int | None


def first_round_within(model_errors: ArrayLike, interval: ConfidenceInterval | tuple[float, float]) -> int | None:
    """Round, from 1, in which a model's error first is at or below the upper end of an interval; None if none is.

    The stopping rule of "Learning to Benchmark": stop once the model's error is within the confidence interval of the
    estimated floor. It guards neither against noise in the errors nor against a floor that was estimated too high, and
    a floor that is too low never stops the training; `FloorStopping` handles these cases.

    Examples
    --------
    >>> first_round_within([0.31, 0.18, 0.12, 0.11], (0.09, 0.13))
    3
    """
    ends = [interval.low, interval.high] if isinstance(interval, ConfidenceInterval) else _shares("interval", interval)
    if len(ends) != 2 or not ends[0] <= ends[1]:
        raise ParameterError(f"interval must be (low, high) with low at most high, got {brief(interval)}")
    errors = _shares("model_errors", model_errors)
    return next((number for number, error in enumerate(errors, start=1) if error <= ends[1]), None)


def _shares(name: str, values: Any) -> list[float]:
    numbers = numbers_from(name, values)
    if numbers.ndim != 1:
        raise ParameterError(f"{name} must be a list of numbers between 0 and 1, got {brief(values)}")
    return [check_share(f"each of {name}", value) for value in numbers]


class FloorStopping:
    r"""Stop once the model is at the floor and no longer falls: a rule for any training loop, one for each training.

    After each round `update` takes the error on validation rows. The excess over the floor has the limits of Zou and
    Donner (2008): with the exact (Clopper-Pearson) limit u of the error e, and the lower end l of the floor f,

    .. math:: e - f + \sqrt{(u - e)^2 + (f - l)^2}

    where f - l is first brought to the one-sided confidence level. The rule stops when, three rounds in a row,

    - the model is at the floor: the observed excess is at most `min_delta` and its upper limit at most 2 `min_delta`;
    - it no longer falls: the upper limit of how far it may still fall is at most `min_delta`.

    So `min_delta` is what is not worth training for, and an excess above twice that is what the confidence level
    guards against. The second condition guards against a floor that was estimated too high: a model on its way to
    4.5 % passes 10 %, too. That a fall is not significant would prove nothing; that it is small is shown, by curves
    that level off, exponentially or as hyperbolas, fitted to the last four fifths of the rounds. Of those that fit,
    the limit counts what they may fall in as many further rounds; and where the fall is beyond doubt, all that they
    have ahead. Ten rounds are the fewest that it can be told from.

    Three in a row is what makes many looks safe. With the same validation rows in every round the looks err together:
    they are one look, wrong with probability 1 - level. With fresh rows each time they err separately: K rounds
    at 2 `min_delta` stop wrongly with probability at most K (1 - level)^3, 1.2 % in 100 rounds. What lies between is
    not covered by either argument: a model that stays at 2 `min_delta` for 100 rounds while its own mistakes move
    slowly over the same rows is stopped wrongly about twice as often as the level says, with few rows (measured in
    `benchmarks/results/stopping.md`). A `confidence_level` of 0.99 keeps that case, too, below 5 %; the interval of
    an estimate carries 0.995 at most, one-sided.

    An error that is below the floor beyond doubt (upper limit of the excess below 0, with a fiftieth of the risk in the
    validation count: 99.9 % instead of 95 %), three rounds in a row, is called "below the floor", with a warning: the
    floor was estimated too high, or validation rows have leaked into training or are easier than the data. Training
    goes on, since such a floor is no reason to stop; `patience` may still end it.

    **Validation rows.** With z the one-sided normal quantile and h = z sd(f), the rule can decide at all from about
    z^2 f (1 - f) / ((2 min_delta)^2 - h^2) rows, and decides promptly from z^2 g (1 - g) / (min_delta^2 - h^2),
    g = f + min_delta; with fewer it says "cannot decide" at the first round, and at construction if the floor is known
    too badly for any number of rows. At 95 %, for a floor known to +- min_delta / 2, the fewest rows and those to be
    prompt:

    ===== ============== ============== ===============
    floor min_delta 0.02 min_delta 0.01 min_delta 0.005
    ===== ============== ============== ===============
    0.02  109 / 475      290 / 1282     861 / 3863
    0.10  226 / 1009     773 / 3506     2822 / 12933
    0.30  417 / 1882     1579 / 7222    6131 / 28245
    ===== ============== ============== ===============

    `validation_rows_needed` computes them exactly.

    Parameters
    ----------
    floor : FloorResult or float
        An estimate, or a number together with `interval`.
    interval : ConfidenceInterval or (low, high), optional
        Of a floor given as a number; a pair is taken to be two-sided at `confidence_level`.
    min_delta : float
        Excess over the floor that is not worth further training.
    patience : int, optional
        Stop as "stalled", too, when the error has not fallen by more than its noise for so many rounds. Off by default:
        whether to sit out a plateau is a question about the optimiser, which the floor cannot answer.
    confidence_level : float
        One-sided, of the limits of the excess and of the further fall.

    Attributes
    ----------
    status : str
        "training", "at the floor", "below the floor", "stalled" or "cannot decide".
    stopped : bool
        Stays True once the rule has stopped.
    reason : str
        The status in a sentence.
    doubts : tuple of str
        What speaks against the floor, by its own account (`reasons` of a result).
    history : tuple of TrainingRound

    Examples
    --------
    >>> stopping = FloorStopping(0.10, (0.095, 0.105), min_delta=0.01)
    >>> errors = [0.31, 0.18, 0.134, 0.117, 0.109, 0.106, 0.104, 0.103, 0.104, 0.103, 0.102, 0.103, 0.102, 0.103]
    >>> for error in errors:
    ...     if stopping.update(error, n_samples=20_000):
    ...         break
    >>> len(stopping.history), stopping.status
    (14, 'at the floor')
    >>> print(stopping)  # doctest: +NORMALIZE_WHITESPACE
    round 14: error 10.30% on 20,000 rows, 0.30 points above the floor (10.00%), at most 0.85 with 95% confidence
    at the floor: observed at most 1 point above it for 3 rounds; with 95% confidence at most 2 above it, and 0.58 to
    fall in as many rounds again: the data are the limit now
    """

    def __init__(
        self,
        floor: FloorResult | float,
        interval: ConfidenceInterval | Sequence[float] | None = None,
        *,
        min_delta: float = 0.01,
        patience: int | None = None,
        confidence_level: float = 0.95,
    ) -> None:
        check_one_sided(confidence_level)
        self.floor, self.interval = known_floor(floor, interval, confidence_level)
        self.doubts = floor.reasons if isinstance(floor, FloorResult) else ()
        self.min_delta = _check_delta(min_delta)
        self.confidence_level = float(confidence_level)
        self.patience = None if patience is None else check_whole("patience", patience, 1)
        self._below, self._above = floor_reach(self.floor, self.interval, self.confidence_level)
        self._warned: set[str] = set()
        self._start()
        if self.status == "cannot decide":  # said before a first round that may take hours
            self._warn(self.reason, stacklevel=3)

    def _start(self) -> None:
        self.status, self.stopped = "training", False
        self.reason = "no round seen yet"
        if self._below >= 2 * self.min_delta:
            self.status = "cannot decide"
            self.reason = (
                f"no number of validation rows can tell an excess of {points(2 * self.min_delta)} from none, since the "
                f"floor itself is known no better than {self.interval}: min_delta must be above "
                f"{_rounded_up(self._below / 2):.4f}"
            )
        self._rounds: list[TrainingRound] = []
        self._runs = {"at the floor": 0, "below the floor": 0}
        self._reference: TrainingRound | None = None

    @property
    def history(self) -> tuple[TrainingRound, ...]:
        """All rounds so far."""
        return tuple(self._rounds)

    def update(self, error: float, n_samples: int) -> bool:
        """Take in a round's validation error; True means stop.

        Parameters
        ----------
        error : float
            Share of the validation rows that the model gets wrong.
        n_samples : int
            Number of validation rows. Rows that are copies of each other count once.

        Returns
        -------
        bool
        """
        look = self._look(check_share("error", error), check_rows("n_samples", n_samples))
        self._rounds.append(look)
        decidable = self._reach_at_floor(look.n_samples) <= 2 * self.min_delta
        below = self._is_below(look)
        at = decidable and not below and self._is_at(look)
        for name, holds in (("at the floor", at and self._is_level(look)), ("below the floor", below)):
            self._runs[name] = self._runs[name] + 1 if holds else 0
        if self._fallen(look):
            self._reference = look
        self._judge(look, decidable, at)
        return self.stopped

    def _look(self, error: float, n: int) -> TrainingRound:
        excess = error - self.floor
        up = error_limit(error, n, self.confidence_level) - error
        down = error - error_limit(error, n, 1 - self.confidence_level)
        return TrainingRound(
            number=len(self._rounds) + 1,
            error=error,
            n_samples=n,
            excess=excess,
            low=excess - (down**2 + self._above**2) ** 0.5,
            high=excess + (up**2 + self._below**2) ** 0.5,
            further_fall=further_fall(np.array([*(r.error for r in self._rounds), error]), self.confidence_level),
        )

    def _is_at(self, look: TrainingRound) -> bool:
        return look.excess <= self.min_delta + _HAIR and look.high <= 2 * self.min_delta + _HAIR

    def _is_level(self, look: TrainingRound) -> bool:
        return look.further_fall is not None and look.further_fall <= self.min_delta + _HAIR

    def _is_below(self, look: TrainingRound) -> bool:
        if look.high >= 0:  # spares the stricter limit
            return False
        # The stricter level is for the validation count alone: no quantile that far out is known of the floor.
        level = 1 - _ALARM * (1 - self.confidence_level)
        return look.excess + reach_above(look.error, self._below, look.n_samples, level) < 0

    def _reach_at_floor(self, n: int) -> float:
        """Upper limit of the excess if the error were observed exactly at the floor."""
        return reach_above(self.floor, self._below, n, self.confidence_level)

    def _fallen(self, look: TrainingRound) -> bool:
        """Whether the error is lower than at the reference by more than the noise of their difference."""
        if self._reference is None:
            return True
        rounds = (self._reference, look)
        variance = sum(r.error * (1 - r.error) / r.n_samples for r in rounds)
        return self._reference.error - look.error > float(ndtri(self.confidence_level)) * variance**0.5

    def _judge(self, look: TrainingRound, decidable: bool, at: bool) -> None:
        below = self._runs["below the floor"] >= _IN_A_ROW
        if self.stopped:  # stays so, but what comes after may still show that the floor is wrong
            if below and self.status != "below the floor":
                self._report_below(look)
        elif self._runs["at the floor"] >= _IN_A_ROW:
            self._stop_at_floor(look)
        elif self.patience is not None and look.number - self._since() >= self.patience:
            self._stop_stalled(look)
        elif below:
            self._report_below(look)
        elif not decidable:
            new = len(self._rounds) == 1 or self._rounds[-2].n_samples != look.n_samples
            if self.status != "cannot decide" or new:
                self.status, self.reason = "cannot decide", self._undecidable(look.n_samples)
            self._warn(self.reason)
        else:
            self.status = "training"
            self.reason = f"{_points(look.excess)} the floor, {self._missing(look, at)}"

    def _missing(self, look: TrainingRound, at: bool) -> str:
        """What a stop still lacks."""
        if not at:
            return f"at most {100 * look.high:.2f}: not there yet"
        if look.further_fall is None:
            return f"near enough, but it takes {FEWEST_ROUNDS} rounds to tell whether it still falls: not stopped"
        if not self._is_level(look):
            return f"near enough, but may still fall by up to {100 * look.further_fall:.2f}: not stopped"
        return f"near enough and no longer falling: for {self._runs['at the floor']} of {_IN_A_ROW} rounds"

    def _since(self) -> int:
        assert self._reference is not None
        return self._reference.number

    def _stop_at_floor(self, look: TrainingRound) -> None:
        assert look.further_fall is not None
        self.status, self.stopped = "at the floor", True
        self.reason = (
            f"observed at most {points(self.min_delta)} above it for {_IN_A_ROW} rounds; with "
            f"{100 * self.confidence_level:g}% confidence at most {200 * self.min_delta:g} above it, and "
            f"{100 * max(0.0, look.further_fall):.2f} to fall in as many rounds again: the data are the limit now"
        )
        if error_limit(look.error, look.n_samples, self.confidence_level) < self.floor:
            self.reason += "; the model itself shows that the floor was estimated too high"
        if self.doubts:
            self.reason += f", if the floor is right, which has doubts about itself: {'; '.join(self.doubts)}"

    def _stop_stalled(self, look: TrainingRound) -> None:
        self.status, self.stopped = "stalled", True
        limit = "the model, not the data, is the limit"
        if self._is_below(look):
            limit = "the floor was estimated too high, or validation rows have leaked into training"
        elif look.low <= 0:
            limit = f"too close to tell from the floor with {look.n_samples:,} rows"
        self.reason = (
            f"stalled at {look.error:.2%}, {_points(look.excess)} the floor, for {self.patience} rounds: {limit}"
        )

    def _report_below(self, look: TrainingRound) -> None:
        """Not a stop: a floor that is too high says nothing about when to stop."""
        self.status = "below the floor"
        self.reason = (
            f"{_points(look.excess)} the floor, beyond what chance explains: most likely the floor was estimated too "
            "high; otherwise validation rows have leaked into training, or are easier than the data. Estimate it again "
            "from more rows, with effort='thorough' or with this model among classifiers="
        )
        self._warn(f"error {look.error:.2%} is {self.reason}", stacklevel=5)

    def _undecidable(self, n: int) -> str:
        needed = validation_rows_needed(
            self.floor, self.interval, min_delta=self.min_delta, confidence_level=self.confidence_level
        )
        text = (
            f"with {n:,} validation rows an excess of {points(2 * self.min_delta)} cannot be told from none: "
            f"min_delta {_rounded_up(self._reach_at_floor(n) / 2):.4f} is the least that can be decided"
        )
        if needed.fewest is None:
            return f"{text}; more rows would not do, since the floor itself is known no better than {self.interval}"
        rows = f"{needed.fewest:,} rows" if needed.advised is None else f"{needed.fewest:,} rows ({needed.advised:,} "
        return f"{text}; {rows}" + ("" if needed.advised is None else "to be prompt)") + " would do"

    def _warn(self, message: str, stacklevel: int = 4) -> None:
        if self.status not in self._warned:
            self._warned.add(self.status)
            warnings.warn(f"{self.status}: {message}", BayesfloorWarning, stacklevel=stacklevel)

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint has to keep: the errors seen, as plain numbers."""
        return {"errors": [r.error for r in self._rounds], "n_samples": [r.n_samples for r in self._rounds]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a checkpoint; warnings are not repeated."""
        self._start()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BayesfloorWarning)
            for error, n_samples in zip(state["errors"], state["n_samples"], strict=True):
                self.update(error, n_samples)

    def __str__(self) -> str:
        if not self._rounds:
            return f"floor {self.floor:.2%} {self.interval}: {self.reason}"
        last = self._rounds[-1]
        return (
            f"round {last.number}: error {last.error:.2%} on {last.n_samples:,} rows, {_points(last.excess)} the floor "
            f"({self.floor:.2%}), at most {100 * last.high:.2f} with {100 * self.confidence_level:g}% confidence\n"
            f"{self.status}: {self.reason}"
        )


def validation_rows_needed(
    floor: FloorResult | float,
    interval: ConfidenceInterval | Sequence[float] | None = None,
    *,
    min_delta: float = 0.01,
    confidence_level: float = 0.95,
) -> RowsNeeded:
    """How many validation rows `FloorStopping` needs; its parameters are explained there.

    Returns
    -------
    RowsNeeded
        `fewest`: an error observed exactly at the floor is enough to stop. `advised`: an error observed `min_delta`
        above it is, so that more rows hardly make the rule quicker.

    Examples
    --------
    >>> validation_rows_needed(0.10, (0.095, 0.105), min_delta=0.01)
    RowsNeeded(fewest=773, advised=3506)
    >>> validation_rows_needed(0.10, (0.07, 0.13), min_delta=0.01)
    RowsNeeded(fewest=None, advised=None)
    """
    check_one_sided(confidence_level)
    floor, interval = known_floor(floor, interval, confidence_level)
    delta = _check_delta(min_delta)
    below, _ = floor_reach(floor, interval, confidence_level)

    def fewest(observed: float, reach: float) -> int | None:
        if below >= reach or reach_above(observed, below, 10**12, confidence_level) > reach:
            return None
        few, many = 0, 1
        while reach_above(observed, below, many, confidence_level) > reach:
            few, many = many, 2 * many
        while many - few > 1:
            middle = (few + many) // 2
            few, many = (
                (few, middle) if reach_above(observed, below, middle, confidence_level) <= reach else (middle, many)
            )
        return many

    return RowsNeeded(fewest(floor, 2 * delta), fewest(min(1.0, floor + delta), delta))


def _check_delta(min_delta: Any) -> float:
    delta = check_share("min_delta", min_delta)
    if not 0 < delta < 0.5:
        raise ParameterError(f"min_delta must be above 0 and below 0.5, a share of rows (0.01 is a point); got {delta}")
    return delta


def _rounded_up(delta: float) -> float:
    """To four digits, and never down: less would not be enough."""
    return math.ceil(1e4 * delta) / 1e4


def _points(excess: float) -> str:
    return f"{100 * abs(excess):.2f} points {'above' if excess >= 0 else 'below'}"
