"""How far a training curve may still fall: what the curves that fit its last rounds have ahead of them."""

import math
from functools import lru_cache

import numpy as np
from scipy.special import stdtrit

from .._types import Floats

__all__ = ["FEWEST_ROUNDS", "further_fall"]

FEWEST_ROUNDS = 10  # three parameters and an autocorrelation leave little to fewer
_WINDOW = 4 / 5  # of the rounds: the first are forgotten in time, and the rate of the fall is still seen
_MOST_POINTS = 256  # in a fit; of longer windows, neighbouring rounds are averaged: boosting may take thousands
_PARAMETERS = 3  # level, height, rate
# Rates, in windows: from a fall that is over within the window to one that is as good as a line. So many that one of
# them fits a curve without noise: what a coarse grid misses would count as noise that wanders.
_TIME_CONSTANTS = np.geomspace(0.15, 6, 48)
_DISTANCES = 1 + np.geomspace(0.05, 6, 48)


def further_fall(errors: Floats, level: float) -> float | None:
    """Upper limit, one-sided at `level`, of how far the errors of a training may still fall; None below ten rounds.

    A line through the last rounds does not do: it goes on falling where a curve levels off, and of a slow fall it shows
    what the next rounds bring, not what all of them will. So two families are fitted to the last four fifths of the
    rounds (ten at least), by least squares: exponentials, a + b exp(-k/c), and hyperbolas, a + b / (k + c), which level
    off much later; both are lines for a large c. A curve (b, c) fits if its sum of squares is above the least by no
    more than t^2 times the noise (a profile likelihood). t is the two-sided quantile of Student: the rate is chosen,
    too, and with the one-sided quantile the limit held in 91 % instead of 95. It is the largest of

    - the fall of the curves that fit, over as many further rounds as were looked at;
    - where no curve that fits is flat or rises, so that the fall is beyond doubt: the fall of each c's best curve, to
      its end.

    The noise is that of the residuals, and larger by (1 + r) / (1 - r) if they have an autocorrelation r: models that
    keep most of their mistakes from round to round wander. No limit is above the last error.

    Examples
    --------
    >>> errors = 0.1 + 0.3 * np.exp(-np.arange(40) / 8)   # without noise; 0.0023 above its end
    >>> round(further_fall(errors, 0.95), 4)
    0.0027
    """
    rounds = len(errors)
    if rounds < FEWEST_ROUNDS:
        return None
    window = max(FEWEST_ROUNDS, math.ceil(_WINDOW * rounds))
    in_one = math.ceil(window / _MOST_POINTS)
    window //= in_one  # from here on in units of so many rounds
    means = errors[-window * in_one :].reshape(window, in_one).mean(axis=1)
    centred = means - means.mean()
    shapes, soon = _curves(window)
    norms = (shapes**2).sum(axis=1)
    heights = shapes @ centred / norms
    squares = np.maximum(centred @ centred - heights**2 * norms, 0.0)
    best = int(squares.argmin())
    least = squares[best]
    noise = least / (window - _PARAMETERS)
    if least > 0:
        residuals = centred - heights[best] * shapes[best]
        # White noise has an autocorrelation of about -3 / window in the residuals of a fit with three parameters.
        r = residuals[1:] @ residuals[:-1] / least + _PARAMETERS / window
        r = min(max(r, 0.0), 1 - 1 / window)  # more cannot be told from 1 in a window
        noise *= (1 + r) / (1 - r)
    slack = stdtrit(window - _PARAMETERS, (1 + level) / 2) ** 2 * noise + least - squares
    fits = slack >= 0
    reach = np.sqrt(np.maximum(slack, 0.0) / norms)
    limit = (soon * (heights + reach))[fits].max()
    if (heights > reach)[fits].all():
        limit = max(limit, heights[fits].max())  # a curve of height b has b ahead of it
    return float(min(limit, errors[-1]))


@lru_cache(maxsize=_MOST_POINTS)  # for those who simulate many trainings
def _curves(window: int) -> tuple[Floats, Floats]:
    """Curves that have 1 ahead of them, less their mean, and how much of it they fall in the next window."""
    age = np.arange(window - 1.0, -1.0, -1.0)
    constants = window * _TIME_CONSTANTS[:, None]
    distances = window * _DISTANCES[:, None]
    shapes = np.vstack([np.exp(age / constants), distances / (distances - age)])  # 1 in the last round
    soon = np.vstack([-np.expm1(-window / constants), window / (distances + window)])[:, 0]
    return shapes - shapes.mean(axis=1, keepdims=True), soon
