"""Scores made probabilities by an increasing map of them, cross-fitted.

Scores that rank rows well may be far from probabilities, and not by a temperature alone. An increasing map brings them
back, and ranks are all that it needs: with two classes the answer is the same, to the last digit, for every strictly
increasing distortion of the log-odds.

A map of ranks has to be steep where few rows lie between the classes and flat where many do. So it is fitted in two
steps. Isotonic regression, which follows any increasing curve but is rough, says how much each score tells: p (1 - p),
the Fisher information about the log-odds there. The share v of the information below a score gives it the coordinate
logit(v), which is the log-odds themselves where scores lie evenly along them, and not far from them elsewhere. There
the map is piecewise linear with knots one unit apart, its steps not negative, by penalised likelihood.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, logit
from scipy.stats import rankdata

from .._types import Codes, Floats, Mask
from .pool import N_FOLDS, assign_units, spaced

__all__ = ["Recalibration", "recalibrate", "score_ranks"]


_KNOTS = np.arange(-4.0, 5.0)  # logit(v): 1.8 % of the information lie beyond each end
_STEPS = len(_KNOTS) - 1
_ENTRIES = 200_000  # rows x classes that decide the map


def score_ranks(logs: Floats) -> Floats:
    """Ranks of logarithmic scores, each less the mean of the two largest of its row; of two classes the first's alone.

    Where two classes compete, half of their log-odds, whatever the scores of the others: what is normalised over all
    classes after a distortion, or not at all, is still a function of it. A score that no other distinguishes from
    itself in another row, such as a probability of 0, is a tie like any other.

    Parameters
    ----------
    logs : ndarray of shape (N, C)
        Not below the logarithm of the smallest float.

    Returns
    -------
    ndarray of shape (N, C), or (N, 1) if C = 2
        Among all rows and classes; ties get the mean of their ranks.

    Examples
    --------
    >>> score_ranks(np.log([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8], [0.5, 0.5]])).ravel()
    array([4. , 2.5, 1. , 2.5])
    """
    with np.errstate(over="ignore"):  # what is infinite has a rank
        if logs.shape[1] == 2:
            return rankdata(logs[:, :1] - logs[:, 1:], axis=0)
        largest = np.partition(logs, -2, axis=1)[:, -2:] / 2  # halved first: their sum must be finite
        return np.asarray(rankdata(logs - largest.sum(axis=1, keepdims=True)).reshape(logs.shape))


@dataclass(frozen=True, eq=False)
class Recalibration:
    """An increasing map of ranks, shared by all classes, and a shift for each class.

    Attributes
    ----------
    ranks, coordinates : ndarray
        Ascending: where the information about the log-odds lies.
    heights : ndarray of shape (knots,)
        Of the map at its knots.
    shifts : ndarray of shape (C,)
    """

    ranks: Floats
    coordinates: Floats
    heights: Floats
    shifts: Floats

    @classmethod
    def fit(cls, ranks: Floats, y: Codes, n_classes: int) -> "Recalibration":
        """Of these rows: ranks as of `score_ranks`.

        Neighbouring steps are held to each other as by a normal prior whose standard deviation is one unit of
        log-odds per unit of the coordinate: ten rows hardly bend the map, a thousand do as they like.
        """
        n, columns = ranks.shape
        known = np.arange(columns)  # of two classes the first's alone: a shared map would have to be odd
        at, coordinates = _information(ranks.ravel(), (y[:, None] == known).ravel())
        z = np.interp(ranks, at, coordinates)
        # Steps from the middle, so that the map of the other class is the mirror image.
        ramps = np.clip(z[:, :, None] - _KNOTS[:-1], 0, 1) - np.clip(-_KNOTS[:-1], 0, 1)
        rows = np.arange(n)

        def loss(theta: Floats) -> tuple[float, Floats]:
            steps, shifts = theta[:_STEPS], theta[_STEPS:]
            logs = np.zeros((n, n_classes))
            logs[:, known] = ramps @ steps
            logs = log_softmax(logs + shifts, axis=1)
            residual = np.exp(logs)
            residual[rows, y] -= 1
            bend = np.diff(steps)
            slope = np.concatenate([np.tensordot(residual[:, known], ramps, 2), residual.sum(axis=0) + 0.01 * shifts])
            slope[: _STEPS - 1] -= bend
            slope[1:_STEPS] += bend
            value = -logs[rows, y].sum() + bend @ bend / 2 + 0.01 * shifts @ shifts / 2  # shifts: not determined else
            return float(value) / n, slope / n

        start = np.concatenate([np.ones(_STEPS), np.zeros(n_classes)])
        limits = [(0, None)] * _STEPS + [(None, None)] * n_classes
        found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": 200}).x
        heights = np.concatenate([[0.0], np.cumsum(found[:_STEPS])])
        return cls(at, coordinates, heights - np.interp(0.0, _KNOTS, heights), found[_STEPS:])

    def locate(self, ranks: Floats) -> Floats:
        """Coordinates of these ranks: they grow with them, even where the map is flat."""
        return np.interp(ranks, self.ranks, self.coordinates)

    def predict(self, ranks: Floats) -> Floats:
        """Log-probabilities of rows with these ranks."""
        logs = np.zeros((len(ranks), len(self.shifts)))
        logs[:, : ranks.shape[1]] = np.interp(self.locate(ranks), _KNOTS, self.heights)
        return np.asarray(log_softmax(logs + self.shifts, axis=1))


def _information(ranks: Floats, own: Mask) -> tuple[Floats, Floats]:
    """Distinct ranks, and logit of the share of the information that lies below each."""
    from sklearn.isotonic import isotonic_regression

    at, position, times = np.unique(ranks, return_inverse=True, return_counts=True)
    hits = np.bincount(position, weights=own)
    level = isotonic_regression(hits / times, sample_weight=times)
    block = np.concatenate([[0], np.cumsum(np.diff(level) > 0)])
    rows, hits = np.bincount(block, weights=times), np.bincount(block, weights=hits)
    share = ((hits + 0.5) / (rows + 1))[block]  # a block of a hundred misses is not certain either
    information = share * (1 - share) * times
    below = np.cumsum(information) - information / 2
    return at, logit(below / information.sum())


def recalibrate(
    ranks: Floats, y: Codes, n_classes: int, rng: np.random.Generator, groups: Codes | None = None
) -> tuple[Floats, Floats]:
    """Probabilities and coordinates of all rows, each by a map that was fitted to other rows.

    Rows of one group stay together.

    Cost: a sort of rows x classes, and five fits to `_ENTRIES` of them at most.

    Examples
    --------
    >>> from scipy.special import expit
    >>> rng = np.random.default_rng(0)
    >>> log_odds = rng.normal(0, 2, 3000)
    >>> y = (rng.random(3000) < expit(log_odds)).astype(np.int64)
    >>> distorted = np.stack([np.zeros(3000), np.arctan(log_odds) + 1], axis=1)
    >>> P, coordinates = recalibrate(score_ranks(distorted), y, 2, rng)
    >>> bool(np.abs(P[:, 1] - expit(log_odds)).mean() < 0.03)
    True
    """
    part = assign_units(len(y), rng, groups)
    P, coordinates = np.empty((len(y), n_classes)), np.empty_like(ranks)
    for k in range(N_FOLDS):
        rest, rows = spaced(np.flatnonzero(part != k), max(1_000, _ENTRIES // ranks.shape[1])), part == k
        fitted = Recalibration.fit(ranks[rest], y[rest], n_classes)
        P[rows], coordinates[rows] = np.exp(fitted.predict(ranks[rows])), fitted.locate(ranks[rows])
    return P, coordinates
