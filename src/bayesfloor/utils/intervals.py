"""Confidence intervals, and limits with what they rest on."""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtri

from .._text import printed
from .._types import Counts, Floats
from ..errors import ParameterError
from .checks import MOST, brief, check_fraction, real_from

__all__ = [
    "Bound",
    "ConfidenceInterval",
    "check_level",
    "lower_limit",
    "sampling_variance",
    "score_interval",
    "share_error",
    "upper_limit",
]


@dataclass(frozen=True)
class ConfidenceInterval:
    """An interval and the level it was made for.

    Examples
    --------
    >>> interval = ConfidenceInterval(0.1, 0.2, 0.95)
    >>> 0.15 in interval, 0.25 in interval
    (True, False)
    >>> print(interval)
    [0.1000, 0.2000] at 95%
    """

    low: float
    high: float
    confidence_level: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"[{self.low:.4f}, {self.high:.4f}] at {100 * self.confidence_level:g}%"


@dataclass(frozen=True)
class Bound:
    """Limits of the Bayes error and what they rest on.

    Attributes
    ----------
    name : str
    lower, upper : float
        A lower limit of 0 is none.
    rests_on : str
        What is assumed, and whether it holds only asymptotically.
    applies : bool
        False where it is known beforehand that what it rests on does not hold: for comparison only.

    Examples
    --------
    >>> print(Bound("Cover-Hart", 0.1, 0.18, "holds only asymptotically"))
    Cover-Hart: between 10.00% and 18.00%
      holds only asymptotically
    """

    name: str
    lower: float
    upper: float
    rests_on: str
    applies: bool = True

    @property
    def midpoint(self) -> float:
        """Middle of the two limits: a point estimate without further merit."""
        return (self.lower + self.upper) / 2

    def __str__(self) -> str:
        limits = f"between {self.lower:.2%} and {self.upper:.2%}" if self.lower > 0 else f"at most {self.upper:.2%}"
        return printed([f"{self.name}: {limits}", f"  {self.rests_on}"])


def check_level(confidence_level: float) -> None:
    """Refuse a confidence level that is none."""
    check_fraction("confidence_level", confidence_level)


def share_error(share: float, n: int) -> float:
    """Standard error of a share that was counted among so many; where none was counted, as of one.

    Examples
    --------
    >>> round(share_error(0.2, 400), 6), share_error(0.0, 400)
    (0.02, 0.0025)
    """
    return float(np.sqrt(max(share * (1 - share), 1 / n) / n))


def score_interval(estimate: float, n_effective: float, confidence_level: float) -> ConfidenceInterval:
    """Interval of the central limit theorem for an error rate, with variance E (1 - E) / n.

    All E with ``|estimate - E| <= z sqrt(E (1 - E) / n)``: the variance is taken at the E in question
    (Wilson 1927) rather than at the estimate, so that an estimate of 0 does not get an interval of width 0.

    Examples
    --------
    >>> interval = score_interval(0.16, 1000, 0.95)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.1386, 0.184)
    """
    z = float(ndtri((1 + confidence_level) / 2))
    centre = (estimate + z**2 / (2 * n_effective)) / (1 + z**2 / n_effective)
    half = z / (1 + z**2 / n_effective) * np.sqrt(estimate * (1 - estimate) / n_effective + z**2 / (4 * n_effective**2))
    # Rounding must not push the estimate itself out.
    low, high = min(max(0.0, centre - half), estimate), max(min(1.0, centre + half), estimate)
    return ConfidenceInterval(float(low), float(high), confidence_level)


def sampling_variance(
    estimate: float, class_errors: Floats, class_counts: Counts, target_priors: Floats | None
) -> tuple[float, float]:
    """Variance of the estimate over samples, and the sample size to go by where it is zero.

    Theorem 5 of the paper with its proof repaired: the variance is that of *the Bayes classifier's error
    indicator*. The spread of the per-sample terms is the wrong plug-in. It is too small by a factor that depends on
    the overlap and has no upper limit: each point also moves its neighbours' ratios (the cross terms that Lemma 16
    drops are O(1)).

    Parameters
    ----------
    estimate : float
    class_errors : ndarray of shape (C,)
        Error rate e_k within each class.
    class_counts : ndarray of shape (C,)
        Samples N_k per class.
    target_priors : ndarray of shape (C,) or None
        Class shares q_k that were given rather than estimated; None for i.i.d. rows.

    Examples
    --------
    >>> sampling_variance(0.5, np.array([0.5, 0.5]), np.array([50, 50]), None)
    (0.0025, 100.0)
    """
    if target_priors is None:
        n_samples = float(class_counts.sum())
        return estimate * (1 - estimate) / n_samples, n_samples
    # sum_k q_k^2 e_k (1 - e_k) / N_k
    variance = (target_priors**2 * class_errors * (1 - class_errors) / class_counts).sum()
    return float(variance), float(1 / (target_priors**2 / class_counts).sum())


def upper_limit(errors: int, n: int, confidence_level: float) -> float:
    """Largest error rate that `errors` among `n` independent trials do not refute.

    The one-sided limit of Clopper and Pearson (1934): the rate p with P(Bin(n, p) <= errors) = 1 - level. It is
    exact in the sense that, whatever the true rate, the limit falls below it with probability at most 1 - level.

    Examples
    --------
    >>> round(upper_limit(3, 100, 0.95), 5)
    0.07571
    >>> round(upper_limit(0, 100, 0.95), 5)  # 1 - 0.05^(1/100), the "rule of three"
    0.02951
    """
    _check_trials(errors, n, confidence_level)
    return 1.0 if errors == n else float(betaincinv(errors + 1, n - errors, confidence_level))


def lower_limit(errors: int, n: int, confidence_level: float) -> float:
    """Smallest error rate that `errors` among `n` independent trials do not refute.

    The counterpart of `upper_limit`: the rate p with P(Bin(n, p) >= errors) = 1 - level.

    Examples
    --------
    >>> round(lower_limit(3, 100, 0.95), 5)
    0.00823
    >>> lower_limit(0, 100, 0.95)
    0.0
    """
    _check_trials(errors, n, confidence_level)
    return 0.0 if errors == 0 else float(betaincinv(errors, n - errors + 1, 1 - confidence_level))


def _check_trials(errors: int, n: int, confidence_level: float) -> None:
    wrong, trials = real_from(errors), real_from(n)
    if wrong is None or trials is None or not 0 <= wrong <= trials <= MOST or trials < 1 or wrong % 1 or trials % 1:
        raise ParameterError(
            f"errors and n must be whole numbers with 0 <= errors <= n and n >= 1, got {brief(errors)}, {brief(n)}"
        )
    check_level(confidence_level)
