"""The floor from more than one opinion per item: soft labels and votes; repeated labels and equal rows.

Here no neighbours are needed. Class probabilities of an item give its share of the floor directly, 1 - max
(Ishida et al., arXiv 2202.00395); two labels of one item bound it, by how often they disagree.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincc
from scipy.stats import binom, nbinom

from .._types import Codes, Counts, Floats, RandomSeed
from ..errors import DataError, ParameterError
from ..rows.dataset import as_array, number_table
from ..rows.labels import encode_labels, plain
from ..utils.checks import MOST, brief, numbers_from, seed_from
from ..utils.intervals import ConfidenceInterval, check_level, score_interval
from .label_pairs import LabelBounds, duplicate_bounds, repeated_label_bounds

__all__ = [
    "LabelBounds",
    "SoftLabelResult",
    "calibrated_soft_label_error",
    "duplicate_bounds",
    "repeated_label_bounds",
    "soft_label_error",
]


_SUM_TOLERANCE = 1e-3  # probabilities printed with three or four digits still pass
_VOTE_TOLERANCE = 0.05  # so do shares of votes
_FOLDS = 5
_MOST_VOTES = 200  # above, the correction is computed for so many votes and scaled: it falls as 1/m


@dataclass(frozen=True)
class SoftLabelResult:
    """The floor estimated from class probabilities.

    Attributes
    ----------
    error : float
        The estimate, within [0, 1 - 1/C].
    interval : ConfidenceInterval
    plain : float
        The mean of 1 - max as the probabilities came in, without any correction.
    standard_error : float
        Of the sampling of items and, where a correction was made, of that correction.
    n_items : int
    rests_on : str
        What has to hold for the estimate to be right.
    """

    error: float
    interval: ConfidenceInterval
    plain: float
    standard_error: float
    n_items: int
    rests_on: str


def soft_label_error(
    P: ArrayLike, n_votes: int | ArrayLike | None = None, *, confidence_level: float = 0.95
) -> SoftLabelResult:
    """Floor from the class probabilities, or from several votes, of each item: the mean of 1 - max.

    Parameters
    ----------
    P : array-like of shape (n, C)
        Class probabilities of each item; rows add up to 1. With `n_votes`, shares of votes or the counts themselves.
    n_votes : int or array-like of shape (n,), optional
        Votes per item, at least 2. The largest share of few votes exceeds the largest probability on average; that
        is corrected.
    confidence_level : float, default 0.95

    Returns
    -------
    SoftLabelResult

    Notes
    -----
    The interval covers the sampling of items. The correction is right to leading order only, so a third of it
    counts as one more standard error. The worst case are items that all have the same probabilities: away from a tie
    they need no correction, at a tie more than this one, and few votes cannot tell.

    Examples
    --------
    >>> round(soft_label_error([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]]).error, 6)
    0.266667
    >>> rng = np.random.default_rng(0)
    >>> counts = rng.binomial(5, rng.random(4000))  # five votes per item; the floor is 1/4
    >>> result = soft_label_error(np.stack([counts, 5 - counts], axis=1), n_votes=5)
    >>> round(result.plain, 2), round(result.error, 2), 0.25 in result.interval
    (0.2, 0.25, True)
    """
    check_level(confidence_level)
    shares, counts = _probabilities(P, n_votes)
    values = 1 - shares.max(axis=1)
    plain_error, extra = float(values.mean()), 0.0
    rests_on = "the probabilities are the true ones of each item, and the items are a random sample"
    if counts is not None:
        values = values + _vote_correction(counts)
        extra = (float(values.mean()) - plain_error) / 3
        rests_on = (
            "votes on an item are independent draws from its class probabilities, and the items are a random sample; "
            "the largest share is corrected for the number of votes"
        )
    most = 1 - 1 / shares.shape[1]
    error = min(max(float(values.mean()), 0.0), most)
    standard_error = float(np.hypot(values.std(ddof=1) / np.sqrt(len(values)), extra))
    # Most items tend to be certain and few are not: Wilson's interval with the size that gives this standard error
    # respects the skewness, and does not shrink to a point where all items are certain.
    n_effective = float(len(values))
    if error > 0:
        n_effective = error * (1 - error) / standard_error**2 if standard_error > 0 else np.inf
    interval = _cap(score_interval(error, n_effective, confidence_level), most)
    return SoftLabelResult(error, interval, plain_error, standard_error, len(values), rests_on)


def calibrated_soft_label_error(
    P: ArrayLike,
    y: Any,
    *,
    classes: Sequence[Hashable] | None = None,
    confidence_level: float = 0.95,
    random_state: RandomSeed = 0,
) -> SoftLabelResult:
    """Floor from class probabilities that are distorted (overconfident, say), with the help of one label per item.

    Each column is brought back to frequencies by isotonic regression of "the label is this class" on it, fitted on
    the other items (Ushio, Ishida and Sugiyama, arXiv 2505.20761, for two classes); rows are made to add up to 1.
    The estimate is halfway between the mean of 1 - max, which is too low by the noise of the fits, and the error of
    the classes they name, which is too high by it.

    Parameters
    ----------
    P : array-like of shape (n, C)
        Distorted class probabilities; rows add up to 1.
    y : array-like of shape (n,)
        Labels of any kind.
    classes : sequence of C labels, optional
        The label of each column; default the sorted labels in `y`.
    confidence_level : float, default 0.95
    random_state : int, RandomState or None, default 0
        Draws the folds.

    Returns
    -------
    SoftLabelResult
        Its interval is the one of the Bayes classifier's error indicator, with variance E (1 - E) / n. It covers
        sampling noise: with many classes and few items per class, some bias towards low errors is left.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(4000)  # the floor is 1/4
    >>> sharp = p**3 / (p**3 + (1 - p) ** 3)
    >>> y = np.where(rng.random(4000) < p, "yes", "no")
    >>> result = calibrated_soft_label_error(np.stack([1 - sharp, sharp], axis=1), y)
    >>> round(result.plain, 2), round(result.error, 2), 0.25 in result.interval
    (0.11, 0.26, True)
    """
    from sklearn.isotonic import IsotonicRegression

    check_level(confidence_level)
    seed = seed_from(random_state)
    shares, _ = _probabilities(P, None)
    codes = _column_codes(y, classes, shares.shape[1])
    n = len(shares)
    if n != len(codes):
        raise DataError(f"P has {n} rows but y has {len(codes)} labels: they must have equal length")
    fold = np.random.default_rng(seed).permutation(n) % min(_FOLDS, n)
    calibrated = np.empty_like(shares)
    for held_out in (fold == f for f in range(min(_FOLDS, n))):
        for c in range(shares.shape[1]):
            fit = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
            fit.fit(shares[~held_out, c], codes[~held_out] == c)
            calibrated[held_out, c] = fit.predict(shares[held_out, c])
    sums = calibrated.sum(axis=1, keepdims=True)
    # Where every column says "not this class", nothing was learnt: the item keeps what it came with.
    calibrated = np.where(sums > 0, calibrated / np.where(sums > 0, sums, 1), shares)
    # Noise in the fits makes the largest probability too large, and the class it names wrong too often: where the
    # posteriors have a smooth density at ties, by the same amount to leading order. The mean of both is free of it.
    named = (calibrated + 1e-9 * shares).argmax(axis=1)  # isotonic fits are steps: ties go by the column itself
    most = 1 - 1 / shares.shape[1]
    error = min(float((1 - calibrated.max(axis=1) + (named != codes)).mean() / 2), most)
    return SoftLabelResult(
        error=error,
        interval=_cap(score_interval(error, n, confidence_level), most),
        plain=float((1 - shares.max(axis=1)).mean()),
        standard_error=float(np.sqrt(error * (1 - error) / n)),
        n_items=n,
        rests_on="the true probability of each class rises with its column, on which alone it depends; the items are "
        "a random sample, and each label is a draw from the item's class probabilities",
    )


def _column_codes(y: Any, classes: Sequence[Hashable] | None, n_columns: int) -> Codes:
    """Column of P that each label belongs to."""
    found, codes = encode_labels(y)
    if classes is None:
        if len(found) != n_columns:
            raise DataError(
                f"P has {n_columns} columns but y has {len(found)} different labels: name the columns with classes="
            )
        return codes
    try:
        column = {label: c for c, label in enumerate(classes)}
        n_given = len(classes)
    except TypeError:  # not iterable, or labels that cannot be looked up
        raise ParameterError(f"classes must be a list of labels, one per column of P, got {brief(classes)}") from None
    if len(column) != n_columns or n_given != n_columns:
        raise ParameterError(
            f"classes must hold {n_columns} different labels, one per column of P, got {brief(classes)}"
        )
    unknown = [label for label in plain(found) if label not in column]
    if unknown:
        raise DataError(f"y contains {unknown[0]!r}, which is not among classes: add it, or drop those rows")
    return np.array([column[label] for label in plain(found)], dtype=np.int64)[codes]


def _probabilities(P: ArrayLike, n_votes: int | ArrayLike | None) -> tuple[Floats, Counts | None]:
    """Rows that add up to 1 and, with `n_votes`, the counts behind them."""
    given: Any = P if hasattr(P, "columns") else as_array(P, "P")
    shape = tuple(given.shape)
    if len(shape) != 2:
        raise DataError(
            f"P must have one row per item and one column per class, got shape {shape}; for two classes pass "
            "np.stack([1 - p, p], axis=1)"
        )
    if shape[1] < 2:
        raise DataError(f"P has {shape[1]} columns: at least two classes are needed")
    if shape[0] < 2:
        raise DataError(f"P has {shape[0]} rows: at least two items are needed")
    table, _ = number_table(given, "P")
    bad = np.argwhere(~(np.isfinite(table) & (table >= 0)))
    if len(bad):
        row, column = bad[0]
        raise DataError(f"P holds {table[row, column]} in row {row}, column {column}: probabilities must be in [0, 1]")
    sums = table.sum(axis=1)
    votes = None if n_votes is None else _vote_numbers(n_votes, len(table))
    total = np.ones(len(table)) if votes is None or np.abs(sums - 1).max() <= _SUM_TOLERANCE else votes
    wrong = np.flatnonzero(np.abs(sums - total) > _SUM_TOLERANCE)
    if len(wrong):
        hint = " or, for counts, to n_votes" if n_votes is not None else "; counts need n_votes"
        raise DataError(f"row {wrong[0]} of P adds up to {sums[wrong[0]]:g}: it must add up to 1{hint}")
    shares = table / sums[:, None]
    if votes is None:
        return shares, None
    counts = np.rint(shares * votes[:, None])
    off = np.abs(shares * votes[:, None] - counts).max(axis=1)
    wrong = np.flatnonzero((off > _VOTE_TOLERANCE) | (counts.sum(axis=1) != votes))
    if len(wrong):
        row = wrong[0]
        raise DataError(
            f"row {row} of P, {np.round(table[row], 4).tolist()}, is not made of {votes[row]:g} whole votes: check "
            "n_votes, or leave it out if P holds probabilities"
        )
    return counts / votes[:, None], counts.astype(np.int64)


def _vote_numbers(n_votes: int | ArrayLike, n: int) -> Floats:
    votes = numbers_from("n_votes", n_votes)
    if votes.shape not in ((), (n,)):
        raise ParameterError(f"n_votes must be one number, or one per row of P ({n}), got shape {votes.shape}")
    votes = np.broadcast_to(votes, (n,))
    bad = np.flatnonzero(~(np.isfinite(votes) & (votes == np.rint(votes)) & (votes >= 1) & (votes <= MOST)))
    if len(bad):
        least = f"from 2 to {MOST}" if votes[bad[0]] > MOST else "of at least 2"
        raise ParameterError(f"n_votes must be whole numbers {least}, got {votes[bad[0]]:g} for row {bad[0]}")
    single = np.flatnonzero(votes == 1)
    if len(single):
        raise DataError(
            f"row {single[0]} has a single vote: one vote cannot show whether another would differ. Drop such rows, or "
            "estimate the floor from features and labels"
        )
    return votes


def _cap(interval: ConfidenceInterval, most: float) -> ConfidenceInterval:
    return ConfidenceInterval(min(interval.low, most), min(interval.high, most), interval.confidence_level)


# --- few votes: how much too large the largest share is, on average ---------------------------------------------------


def _vote_correction(counts: Counts) -> Floats:
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


def _thinned_top(counts: Counts) -> Floats:
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


def _missed_by_slope(agreement: float, n_classes: int, votes: Counts) -> Floats:
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
