"""Confidence intervals."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

__all__ = ["ConfidenceInterval", "sampling_variance", "score_interval"]

Floats = NDArray[np.float64]
Sizes = NDArray[np.int64]


@dataclass(frozen=True)
class ConfidenceInterval:
    """An interval and the level it was made for."""

    low: float
    high: float
    confidence_level: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"[{self.low:.4f}, {self.high:.4f}] at {100 * self.confidence_level:g}%"


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
    estimate: float, class_errors: Floats, class_counts: Sizes, target_priors: Floats | None
) -> tuple[float, float]:
    """Variance of the estimate over samples, and the sample size to go by where it is zero.

    Theorem 2 of the paper with its proof repaired: the variance is that of *the Bayes classifier's error
    indicator*. The spread of the per-sample terms is the wrong plug-in, two to four times too small: each
    point also moves its neighbours' ratios (the cross terms that the printed proof drops are O(1)).

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
