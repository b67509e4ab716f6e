"""Differences of two floors on the same rows, paired row by row.

Two classifiers that are tested on the same rows err on mostly the same ones. With d the share of rows on which exactly
one of them errs, the difference D of their shares of errors has the variance (d - D^2)/N: far less than that of two
samples. What the learning from so many rows costs nearly cancels in the difference, and what does not is corrected as
the rule of the floor corrects a single error.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from .._types import Codes, Floats, Mask
from ..utils.intervals import ConfidenceInterval
from .rule import unsettled_weight

__all__ = ["Difference", "Errors", "RowWeights", "difference", "mean_difference"]

_SURELY = 3.0  # standard errors of a difference from which on it is corrected in full
# Other training rows would have made other models, which counting the errors of these cannot see: what 95 % of 600
# losses in random problems need (`benchmarks/columns.py calibrate`: 1.11).
_TRAINED = 1.15
_ADDED = 2.0  # rows on which one of the two errs, added to those that were counted


@dataclass(frozen=True, eq=False)
class RowWeights:
    """What rows count, all adding up to 1, and which of them are one observation.

    Attributes
    ----------
    weights : ndarray of shape (N,)
    units : ndarray of shape (N,), optional
        Group of each row.
    """

    weights: Floats
    units: Codes | None = None

    def mean(self, values: Floats | Mask) -> float:
        """Average."""
        return float(self.weights @ values)

    def variance(self, values: Floats) -> float:
        """Variance of the average: for rows of equal weight and values -1, 0 and 1 it is (d - D^2)/N."""
        parts = self.weights * (values - self.mean(values))
        sums = parts if self.units is None else np.bincount(self.units, parts)
        return float(sums @ sums)

    @cached_property
    def of_one(self) -> float:
        """What a single observation adds to a variance: 1/N^2 for rows of equal weight."""
        sums = self.weights if self.units is None else np.bincount(self.units, self.weights)
        return float(sums @ sums) / max(1, int((sums > 0).sum()))


@dataclass(frozen=True, eq=False)
class Errors:
    """Which rows a pool of classifiers gets wrong, and what is unsettled between models of half and of all rows.

    Attributes
    ----------
    wrong : ndarray of bool
    unsettled : float
        See `curve.stakes`; 0 where nothing is corrected.
    missing : float
        By how much these errors are known to be counted too few: the largest of several counted class shares is too
        large on average, and the error of naming it too small.
    """

    wrong: Mask
    unsettled: float = 0.0
    missing: float = 0.0

    @property
    def excess(self) -> float:
        """How far these errors are above the floor, by the rule."""
        return unsettled_weight() * max(0.0, self.unsettled)


@dataclass(frozen=True)
class Difference:
    """A difference of two floors: a signed estimate and an interval.

    Attributes
    ----------
    value : float
    interval : ConfidenceInterval
    discordant : float
        Share of rows on which exactly one of the two errs; of other losses, on which the two differ.
    standard_error : float
        Of the difference of the two shares of errors, or mean losses.
    """

    value: float
    interval: ConfidenceInterval
    discordant: float
    standard_error: float

    @property
    def is_above_zero(self) -> bool:
        """Whether the interval shows that there is a difference."""
        return self.interval.low > 0


def difference(
    more: Errors, fewer: Errors, rows: RowWeights, confidence_level: float, *, least: float = 0.0
) -> Difference:
    """How much higher the floor is that `more` comes from; the interval ends at `least`, the estimate does not.

    The correction of the rule is weighed by how surely there is a difference at all: where two pools hardly differ,
    what is unsettled in each is the same but for chance. The interval is that of Bonett and Price (2012) for paired
    shares, who add a row to each kind of those that one of the two gets wrong, so that no difference among N rows is
    not taken for none among all; corrections are as uncertain as they are large.
    """
    gaps = more.wrong.astype(np.float64) - fewer.wrong
    raw, variance = rows.mean(gaps), rows.variance(gaps) + _ADDED * rows.of_one
    error = float(np.sqrt(variance))
    sure = min(1.0, abs(raw) / (_SURELY * error))
    correction = sure * (fewer.excess - more.excess)
    shift = more.missing - fewer.missing
    value = raw + correction + shift
    z = float(ndtri((1 + confidence_level) / 2))
    arm = _TRAINED * float(np.hypot(z * error, np.hypot(correction, shift)))
    # An estimate below the least possible is there by chance, and says no more than the least would.
    low, high = max(least, value - arm), max(least, value) + arm
    interval = ConfidenceInterval(low, high, confidence_level)
    return Difference(value, interval, rows.mean(np.abs(gaps)), error)


def mean_difference(more: Floats, fewer: Floats, rows: RowWeights, confidence_level: float) -> Difference:
    """How much higher the mean of `more` is, of losses of the same rows; the interval ends at 0, as of `difference`.

    Examples
    --------
    >>> rows = RowWeights(np.full(4, 0.25))
    >>> mean_difference(np.array([0.3, 0.2, 0.4, 0.1]), np.array([0.1, 0.1, 0.1, 0.1]), rows, 0.95).value.__round__(3)
    0.15
    """
    gaps = more - fewer
    value, error = rows.mean(gaps), float(np.sqrt(rows.variance(gaps)))
    arm = _TRAINED * float(ndtri((1 + confidence_level) / 2)) * error
    interval = ConfidenceInterval(max(0.0, value - arm), max(0.0, value) + arm, confidence_level)
    return Difference(value, interval, rows.mean(gaps != 0), error)
