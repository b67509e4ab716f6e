"""What the scores say about the floor, in a handful of numbers, and the rule that combines them.

Near the boundary between two classes, noise of variance s^2 in an estimated posterior lowers the mean of 1 - max (the
plug-in) by about g s^2, g being the density of rows at the boundary, and raises the error of the rule that follows it
by as much. The library's error and its plug-in therefore enclose the floor, but for what the library cannot represent;
that shows in how both fall with the number of training rows.
"""

import json
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy.special import ndtri

from .._types import Counts, Floats
from ..errors import ParameterError
from ..utils.intervals import share_error
from .curve import Curve

__all__ = [
    "BALL_CLASSES",
    "DIMENSIONS",
    "Evidence",
    "Judgement",
    "ScoreSpace",
    "arm",
    "check_carried",
    "doubt_arms",
    "highest_level",
    "judge",
    "point",
    "shrunk_shares",
    "unsettled_weight",
]


_SURELY = 3.0  # standard errors
# Where `Evidence.persistence` and `Evidence.late` of a curve begin to count, and count in full; set by hand, on curves
# of real tables and of problems with a known floor.
_UNSLOWED = (0.3, 0.7), (0.05, 0.3)
_UNENDING = (0.5, 0.8), (0.1, 0.25)
_SURE_EXCESS = 1.25  # of an error's sampling noise, at the interval's level
DIMENSIONS = 4  # balls stay full up to about so many
BEYOND = 4  # residuals beyond each end of an interval, so that its quantile is no single problem's
BALL_CLASSES = 3  # ... and are as good as the best up to two
_CLASSES = 5  # up to so many classes the scores are taken whole, C - 1 dimensions


@dataclass(frozen=True)
class Evidence:
    """Figures that the floor is judged from; errors are of rows that the models had not seen.

    Attributes
    ----------
    n, n_features, n_classes : int
    majority : float
        Error of always naming the largest class, as counted here.
    shrunk_majority : float
        The same for class shares shrunk toward equal ones by what sampling noise would make of equal ones: the largest
        of several counted shares is too large on average.
    error, plugin, loss : float
        Of the pooled library trained on four fifths: share of errors, mean of 1 - largest probability, mean log-loss.
    half_error, half_plugin, half_loss, quarter_error, quarter_plugin, quarter_loss, eighth_error, eighth_loss : float
        The same with half, a quarter and an eighth of the training rows.
    ball : float
        Epsilon-ball ensemble in the space of the scores.
    raw : float or None
        The same in the features themselves, where there are few and its balls can carry it.
    claimed, unsettled : float
        What is at stake where the models of half and of all rows name different classes, as their posteriors claim and
        as labels confirm: see `curve.stakes`. It is near the error that a training set of this size costs, and less
        noisy than a difference of two counts of errors.
    half_unsettled, quarter_unsettled : float
        The same of a quarter and half, and of an eighth and a quarter.
    repeated : float
        What is claimed to be at stake where models of other folds name different classes; 0 if there was one choice.
    pictures : bool
        Whether rows are pictures.
    """

    n: int
    n_features: int
    n_classes: int
    majority: float
    shrunk_majority: float
    error: float
    plugin: float
    loss: float
    half_error: float
    half_plugin: float
    half_loss: float
    quarter_error: float
    quarter_plugin: float
    quarter_loss: float
    eighth_error: float
    eighth_loss: float
    ball: float
    raw: float | None
    claimed: float
    unsettled: float
    half_unsettled: float
    quarter_unsettled: float
    repeated: float
    pictures: bool = False

    @classmethod
    def of(cls, curve: Curve, **others: Any) -> Self:
        """Of a learning curve, and what else there is."""
        unsettled = curve.unsettled.mean(axis=0)
        return cls(
            error=curve.error(1.0),
            plugin=curve.plugin(1.0),
            loss=curve.loss(1.0),
            half_error=curve.error(0.5),
            half_plugin=curve.plugin(0.5),
            half_loss=curve.loss(0.5),
            quarter_error=curve.error(0.25),
            quarter_plugin=curve.plugin(0.25),
            quarter_loss=curve.loss(0.25),
            eighth_error=curve.error(0.125),
            eighth_loss=curve.loss(0.125),
            claimed=float(curve.claimed[:, 0].mean()),
            unsettled=float(unsettled[0]),
            half_unsettled=float(unsettled[1]),
            quarter_unsettled=float(unsettled[2]),
            repeated=float(curve.repeated[1]),
            **others,
        )

    def with_more(self, rows: float, training: float) -> "Evidence":
        """As it might be with so many times the rows, and so many times those that models are trained on.

        What is left to learn is taken to fall with the square root of the training rows.
        """
        left = training**-0.5
        to_error = {
            name: self.error + (getattr(self, name) - self.error) * left
            for name in ("half_error", "quarter_error", "eighth_error", "ball")
        }
        to_loss = {
            name: self.loss + (getattr(self, name) - self.loss) * left
            for name in ("half_loss", "quarter_loss", "eighth_loss")
        }
        stakes = {
            name: getattr(self, name) * left
            for name in ("claimed", "unsettled", "half_unsettled", "quarter_unsettled", "repeated")
        }
        return replace(self, n=round(rows * self.n), **to_error, **to_loss, **stakes)

    @property
    def sampling(self) -> float:
        """Standard error of a share of errors among so many rows."""
        return share_error(self.error, self.n)

    @property
    def signal(self) -> float:
        """From 0, the library does no better than naming the largest class, to 1, it surely does."""
        return float(np.clip((self.majority - self.error) / (_SURELY * self.sampling), 0, 1))

    def terms(self) -> dict[str, float]:
        """Corrections of the error that the rule weighs."""
        return {"unsettled": self.unsettled}

    def signs(self) -> dict[str, float]:
        """What the interval widens with, all in the unit of an error, none negative.

        - sampling: standard error of the share of errors;
        - claimed, unsettled: what is at stake between half and all rows;
        - unslowed: what may still be learned, where the curve hardly slows down: at most as much as was learned;
        - columns: the error times columns per row, at most 1;
        - hidden: the part of the error where nothing surely beats naming the largest class.
        """
        return {
            "sampling": self.sampling,
            "claimed": self.claimed,
            "unsettled": max(0.0, self.unsettled),
            "unslowed": self.unslowed * self._to_learn,
            "columns": self.error * min(1.0, self.n_features / self.n),
            "hidden": (1 - self.signal) * self.error,
        }

    @property
    def unslowed(self) -> float:
        """From 0, the curve slows down as curves do that end soon, to 1, it hardly does."""
        return self._goes_on(*_UNSLOWED)

    @property
    def unending(self) -> float:
        """What may still be learned where the curve does not slow down at all: as much as was."""
        return self._goes_on(*_UNENDING) * self._to_learn

    @property
    def _to_learn(self) -> float:
        """As much as was learned, at most the error.

        Labels that are replaced by uniform draws shrink it as they shrink what there is to learn, and leave
        `persistence` and `late` where they are.
        """
        return self.signal * max(0.0, min(self.error, self.majority - self.error))

    def _goes_on(self, persistence: tuple[float, float], late: tuple[float, float]) -> float:
        return _ramp(self.persistence, *persistence) * _ramp(self.late, *late)

    @property
    def persistence(self) -> float:
        """Product of the ratios of successive falls of the log-loss: from 0, it has ended, to 1, it does not slow."""
        losses = [self.eighth_loss, self.quarter_loss, self.half_loss, self.loss]
        falls = -np.diff(losses)
        if falls[-1] <= 0:
            return 0.0
        ratios = [fall / before if before > 0 else 1.0 for before, fall in pairwise(falls)]
        return float(np.clip(ratios, 0, 1).prod())

    @property
    def late(self) -> float:
        """Share of what was learned that came with the last three doublings of the rows."""
        learned = max(self.majority - self.error, _SURELY * self.sampling)
        return max(0.0, self.eighth_error - self.error) / learned if learned > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Judgement:
    """The floor and its interval."""

    floor: float
    low: float
    high: float


def _ramp(value: float, start: float, end: float) -> float:
    return float(np.clip((value - start) / (end - start), 0, 1))


def shrunk_shares(counts: Counts) -> Floats:
    """Class shares shrunk toward equal ones (James and Stein), by as much as the counts could be equal but for chance.

    Examples
    --------
    >>> shrunk_shares(np.array([510, 490])), shrunk_shares(np.array([1200, 300])).round(2)
    (array([0.5, 0.5]), array([0.8, 0.2]))
    """
    n_classes, n = len(counts), counts.sum()
    even = n / n_classes
    chi_squared = float(((counts - even) ** 2).sum() / even)
    kept = max(0.0, 1 - (n_classes - 1) / chi_squared) if chi_squared > 0 else 0.0
    return np.asarray((even + kept * (counts - even)) / n)


@dataclass(frozen=True, eq=False)
class ScoreSpace:
    """Coordinates in which balls are drawn: C - 1 log-odds, or the principal directions of many.

    Twice the log-odds of two classes; up to five classes all C - 1 dimensions of the centred log-probabilities; beyond,
    the four directions that carry most, since balls in more are empty and classes that compete anywhere do so in few.
    """

    mean: Floats
    axes: Floats

    @classmethod
    def of(cls, P: Floats) -> "ScoreSpace":
        """Directions that carry most of these probabilities.

        Examples
        --------
        >>> ScoreSpace.of(np.full((3, 7), 1 / 7)).n_columns
        4
        """
        n_classes = P.shape[1]
        if n_classes == 2:
            return cls(np.zeros(2), np.array([[2.0], [0.0]]))
        logs = _centred_logs(P)
        mean = logs.mean(axis=0)
        logs -= mean
        _, vectors = np.linalg.eigh(logs.T @ logs)
        kept = n_classes - 1 if n_classes <= _CLASSES else DIMENSIONS
        return cls(mean, vectors[:, ::-1][:, :kept])

    @property
    def n_columns(self) -> int:
        """Number of coordinates."""
        return self.axes.shape[1]

    def apply(self, P: Floats) -> Floats:
        """Coordinates of these probabilities."""
        return np.asarray((_centred_logs(P) - self.mean) @ self.axes)


def _centred_logs(P: Floats) -> Floats:
    logs = np.log(np.maximum(P, 1e-4))
    return np.asarray(logs - logs.mean(axis=1, keepdims=True))


def judge(evidence: Evidence, confidence_level: float, most: float | None = None) -> Judgement:
    """Combine the figures by the stored rule; the interval is as wide as problems with a known floor have shown.

    It ends at `most`: if not given, at the error of naming one of classes that are equally frequent.
    """
    rule = _rule()
    floor = point(evidence, rule["weights"])
    below, above = (arm(evidence, rule[side], rule["levels"], confidence_level) for side in ("below", "above"))
    # A curve that does not slow down at all says nothing of where it ends; problems with a known floor have few such.
    below = max(below, evidence.unending)
    # Nor does a curve that hardly slows down say that it will go on: it may end here, at the library's error.
    above = max(above, evidence.unslowed * (evidence.error - floor))
    if evidence.pictures:
        above = min(above, _reach_of_error(evidence, floor, confidence_level))
    # The largest share is itself only known up to sampling noise: the interval may pass it, the floor may not.
    most = 1 - 1 / evidence.n_classes if most is None else most
    return Judgement(floor, max(0.0, floor - below), min(most, floor + above))


def _reach_of_error(evidence: Evidence, floor: float, confidence_level: float) -> float:
    """How far above the floor the library's error may be: no classifier errs less than the floor.

    Sampling noise comes on top, and fades out as the error rises above the floor by more than that noise: an error that
    far above it is not so high by chance.
    """
    excess, noise = evidence.error - floor, _noise(evidence, confidence_level)
    return excess + noise * (1 - _ramp(excess, noise, _SURE_EXCESS * noise))


def point(evidence: Evidence, weights: dict[str, float]) -> float:
    """The floor: the error, less what it costs that there are no more rows."""
    terms = evidence.terms()
    shift = sum(weight * terms[name] for name, weight in weights.items())
    signal = evidence.signal  # there is nothing to correct in pure noise
    judged = signal * (evidence.error + shift) + (1 - signal) * evidence.shrunk_majority
    return float(np.clip(judged, 0.0, evidence.shrunk_majority))


def unsettled_weight() -> float:
    """What the rule takes off an error for what is unsettled between models of half and of all rows."""
    return -float(_rule()["weights"]["unsettled"])


def arm(evidence: Evidence, side: dict[str, Any], levels: list[float], confidence_level: float) -> float:
    """Length of an arm of the interval: a sum of signs, times a factor by level; never less than sampling noise."""
    signs = evidence.signs()
    length = sum(weight * signs[name] for name, weight in side["signs"].items())
    return max(_noise(evidence, confidence_level), float(np.interp(confidence_level, levels, side["factors"])) * length)


def _noise(evidence: Evidence, confidence_level: float) -> float:
    return float(ndtri((1 + confidence_level) / 2)) * evidence.sampling


def doubt_arms(evidence: Evidence, error: float, claimed: float, unsettled: float) -> tuple[float, float]:
    """Lengths of both arms at 95 % for a part of the rows with these figures, but for sampling noise.

    What the part cannot tell by itself, how much was learned and how surely, is as of all rows.
    """
    whole = evidence.signs()
    share = error / evidence.error if evidence.error > 0 else 0.0
    signs = {name: share * value for name, value in whole.items()}
    signs.update(sampling=0.0, claimed=claimed, unsettled=max(0.0, unsettled))
    below, above = (sum(w * signs[name] for name, w in _rule()[side]["signs"].items()) for side in ("below", "above"))
    corrected = unsettled_weight() * signs["unsettled"]
    return max(float(below), share * evidence.unending), max(float(above), evidence.unslowed * corrected)


def highest_level() -> float:
    """The largest confidence level of an interval that the problems with a known floor can carry."""
    return float(_rule()["levels"][-1])


def check_carried(confidence_level: float, *, one_sided: bool = False) -> None:
    """Refuse a level whose quantiles would rest on fewer than four residuals each."""
    most = (1 + highest_level()) / 2 if one_sided else highest_level()
    if confidence_level > most:
        raise ParameterError(
            f"confidence_level {confidence_level:g} is more than the evidence carries: the interval's quantiles come "
            f"from {_rule()['n_problems']} problems with a known floor, of which {BEYOND} at least must lie beyond "
            f"each end; {most:g} is the most{', one-sided' * one_sided}"
        )


@cache
def _rule() -> dict[str, Any]:
    """Weights found on problems with a known floor by benchmarks/train_floor.py."""
    return dict(json.loads(files(__package__).joinpath("floor_rule.json").read_text(encoding="utf-8")))
