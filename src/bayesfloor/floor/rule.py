"""What the scores say about the floor, in a handful of numbers, and the rule that combines them.

Near the boundary between two classes, noise of variance s^2 in an estimated posterior lowers the mean of 1 - max (the
plug-in) by about g s^2, g being the density of rows at the boundary, and raises the error of the rule that follows it
by as much. The library's error and its plug-in therefore enclose the floor, but for what the library cannot represent;
that shows in how both fall with the number of training rows.
"""

import json
import math
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from .._types import Counts, Floats
from ..errors import ParameterError

__all__ = [
    "BALL_CLASSES",
    "DIMENSIONS",
    "Evidence",
    "Judgement",
    "ScoreSpace",
    "check_carried",
    "highest_level",
    "judge",
    "shrunk_shares",
]


_SURELY = 3.0  # standard errors
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
    error, plugin : float
        Of the pooled library trained on four fifths: share of errors, and mean of 1 - largest probability.
    half_error, half_plugin, quarter_error, quarter_plugin : float
        The same with half and a quarter of the training rows.
    ball : float
        Epsilon-ball ensemble in the space of the scores.
    raw : float or None
        The same in the features themselves, where there are few and its balls can carry it.
    claimed : float
        What is at stake where the half and the whole stage name different classes: the mean, over all rows, of the
        difference between the two classes in the mean of the two posteriors. It is near the error that a training set
        of this size costs, and less noisy than a difference of two counts of errors.
    unsettled : float
        The part of it that labels confirm. With m the (signed) difference in a row and v = 1, 0 or -1 by whether the
        label is the first class, neither or the second: claimed (sum m v + 5) / (sum m^2 + 5), the slope of v on m,
        held to 1 by five rows' worth. Where labels are noise the stages differ often, but nothing is won.
    """

    n: int
    n_features: int
    n_classes: int
    majority: float
    shrunk_majority: float
    error: float
    plugin: float
    half_error: float
    half_plugin: float
    quarter_error: float
    quarter_plugin: float
    ball: float
    raw: float | None
    claimed: float
    unsettled: float

    @property
    def sampling(self) -> float:
        """Standard error of a share of errors among so many rows."""
        return float(np.sqrt(max(self.error * (1 - self.error), 1 / self.n) / self.n))

    @property
    def signal(self) -> float:
        """From 0, the library does no better than naming the largest class, to 1, it surely does."""
        return float(np.clip((self.majority - self.error) / (_SURELY * self.sampling), 0, 1))

    def terms(self) -> dict[str, float]:
        """Corrections of the error that the rule weighs; balls where the score space has one or two dimensions."""
        return {
            "ball": self.ball - self.error if self.n_classes <= BALL_CLASSES else 0.0,
            "half": self.half_error - self.error,
            "quarter": self.quarter_error - self.half_error,
            "claimed": self.claimed,
            "unsettled": self.unsettled,
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Judgement:
    """The floor and its interval."""

    floor: float
    low: float
    high: float


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


def judge(evidence: Evidence, confidence_level: float) -> Judgement:
    """Combine the figures by the stored rule, and widen by what its residuals were on simulated problems."""
    rule = _rule()
    terms = evidence.terms()
    shift = sum(weight * terms[name] for name, weight in rule["weights"].items())
    signal = evidence.signal  # there is nothing to correct in pure noise
    judged = signal * (evidence.error + shift) + (1 - signal) * evidence.shrunk_majority
    floor = float(np.clip(judged, 0.0, evidence.shrunk_majority))
    scale = spread(evidence, rule["doubts"])
    below, above = (float(np.interp(confidence_level, rule["levels"], rule[side])) for side in ("below", "above"))
    # The largest share is itself only known up to sampling noise: the interval may pass it, the floor may not.
    return Judgement(floor, max(0.0, floor - below * scale), min(1 - 1 / evidence.n_classes, floor + above * scale))


def spread(evidence: Evidence, doubts: dict[str, float]) -> float:
    """Scale of the residual: sampling noise, and doubt that grows with what the correction rests on."""
    terms = evidence.terms()
    doubt = sum(weight * terms[name] ** 2 for name, weight in doubts.items())
    return float(np.sqrt(evidence.sampling**2 + evidence.signal**2 * doubt))


def highest_level() -> float:
    """The largest confidence level of an interval that the simulated problems can carry."""
    return math.floor(1000 * (1 - 2 * BEYOND / _rule()["n_problems"])) / 1000


def check_carried(confidence_level: float, *, one_sided: bool = False) -> None:
    """Refuse a level whose quantiles would rest on fewer than four residuals each."""
    most = (1 + highest_level()) / 2 if one_sided else highest_level()
    if confidence_level > most:
        raise ParameterError(
            f"confidence_level {confidence_level:g} is more than the evidence carries: the interval's quantiles come "
            f"from {_rule()['n_problems']} simulated problems, of which {BEYOND} at least must lie beyond each end; "
            f"{most:g} is the most{', one-sided' * one_sided}"
        )


@cache
def _rule() -> dict[str, Any]:
    """Weights found on simulated problems by benchmarks/train_floor.py."""
    return dict(json.loads(files(__package__).joinpath("floor_rule.json").read_text(encoding="utf-8")))
