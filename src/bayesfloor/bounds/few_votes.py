"""Few votes per item: how much too large the largest share is, on average."""

from functools import cache

import numpy as np
from scipy.special import gammaincc
from scipy.stats import binom, nbinom

from .._types import Codes, Floats

__all__ = ["vote_correction"]


_MOST_VOTES = 200  # above, the correction is computed for so many votes and scaled: it falls as 1/m


def vote_correction(counts: Codes) -> Floats:
    """What to add to each item's 1 - (largest share of m votes).

    Let g(m) be the expected largest count of m votes, averaged over items. Where the posteriors have a smooth density
    at ties, g(m) = m max(p) + b + o(1): the slope of g is free of the leading bias b/m. Every vote kept with
    probability 1/2 gives g at m/2 in closed form, as the thinned counts are independent. What the slope still misses
    is known for Dirichlet posteriors, and taken from the one that shows the same agreement between two votes.

    Tried on posteriors of many shapes (beta, Dirichlet, constant, tied, human votes) with 2 to 50 votes: leaving out
    one vote does nothing for two classes and m odd; exact subsampling to m/2 depends on parity; a second
    extrapolation is noisy; a fitted Dirichlet by itself stays wrong at any m where the posteriors are not Dirichlet.
    """
    n_classes = counts.shape[1]
    votes = counts.sum(axis=1)
    agreement = (counts * (counts - 1.0)).sum(axis=1) / (votes * (votes - 1.0))
    mean = float(agreement.mean())
    if mean == 1:  # unanimous everywhere: nothing to extrapolate
        return np.zeros(len(counts))
    few = np.minimum(votes, _MOST_VOTES)
    scaled = np.rint(counts * (few / votes)[:, None]).astype(np.int64)
    slope = (scaled.max(axis=1) - _thinned_top(scaled)) / (few / 2)
    sizes, place = np.unique(few, return_inverse=True)
    # A Dirichlet exists for agreements strictly between 1/C and 1.
    least, most = 1 / n_classes + 1e-4, 1 - 1e-9
    centre = min(max(mean, least), most)
    low, high = max(centre - 1e-3, least), min(centre + 1e-3, most)
    missed, below, above = (_missed_by_slope(a, n_classes, sizes)[place] for a in (centre, low, high))
    # The agreement is estimated too: its effect through the Dirichlet belongs to the spread of the items.
    sensitivity = float((above - below).mean()) / (high - low)
    correction = scaled.max(axis=1) / few - slope + missed + sensitivity * (agreement - mean)
    return correction * (few / votes)


def _thinned_top(counts: Codes) -> Floats:
    """Expected largest count of each row when every vote is kept with probability 1/2.

    Examples
    --------
    >>> _thinned_top(np.array([[1, 1], [0, 2]]))
    array([0.75, 1.  ])
    """
    patterns, place = np.unique(-np.sort(-counts, axis=1), axis=0, return_inverse=True)
    patterns = patterns[:, patterns.any(axis=0)]
    top = np.arange(patterns.max())
    at_most = binom.cdf(top, np.arange(len(top) + 1)[:, None], 0.5)  # count before, count after
    expected = np.zeros(len(patterns))
    for t in top:
        expected += 1 - at_most[patterns, t].prod(axis=1)
    return expected[place.ravel()]


def _missed_by_slope(agreement: float, n_classes: int, votes: Codes) -> Floats:
    """Slope less E[max p] under the symmetric Dirichlet with this agreement of two votes, for each number of votes."""
    concentration = (1 - agreement) / (n_classes * agreement - 1)
    most = int(votes.max())
    top = _dirichlet_top(concentration, n_classes, most)
    thinned = binom.pmf(np.arange(most + 1), votes[:, None], 0.5) @ top
    return (top[votes] - thinned) / (votes / 2) - _dirichlet_max(concentration, n_classes)


def _dirichlet_top(concentration: float, n_classes: int, most: int) -> Floats:
    """Expected largest count of 0..`most` votes whose probabilities are symmetric Dirichlet.

    The counts are negative binomials given their total, so P(largest <= t) comes from a truncated C-fold convolution.
    """
    count = np.arange(most + 1)
    keep = n_classes * concentration / (n_classes * concentration + most / 2)  # any value does; this one is safe
    single = nbinom.pmf(count, concentration, keep)
    total = nbinom.pmf(count, n_classes * concentration, keep)
    expected = np.zeros(most + 1)
    for t in range(most):
        square, power, n = np.where(count <= t, single, 0.0), np.eye(1, most + 1)[0], n_classes
        while n:
            if n % 2:
                power = np.convolve(power, square)[: most + 1]
            square, n = np.convolve(square, square)[: most + 1], n // 2
        expected += 1 - np.minimum(power / total, 1)
    return expected


def _dirichlet_max(concentration: float, n_classes: int) -> float:
    """E[max p] of a symmetric Dirichlet: the largest of C gamma variables has mean C a E[max p].

    Examples
    --------
    >>> round(_dirichlet_max(1.0, 3), 12) == round(11 / 18, 12)
    True
    """
    node, weight = _quadrature()
    reach = concentration + 12 * np.sqrt(concentration) + 40
    with np.errstate(divide="ignore"):  # far below a large concentration all of the mass lies above
        # 1 - F^C without cancellation; nodes cubed, because F is steep near 0 for a small concentration.
        above = -np.expm1(n_classes * np.log1p(-gammaincc(concentration, reach * node**3)))
    return float((above * weight * 3 * node**2).sum() * reach / (n_classes * concentration))


@cache
def _quadrature() -> tuple[Floats, Floats]:
    """Gauss-Legendre on [0, 1]: enough nodes for every concentration that `_vote_correction` asks for."""
    node, weight = np.polynomial.legendre.leggauss(400)
    return (node + 1) / 2, weight / 2
