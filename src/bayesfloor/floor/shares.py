"""Test rows with other class shares than the training rows: the floor at their shares, and signs of drift."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest, chi2_contingency, fisher_exact

from .._types import Codes, Counts, Floats
from ..utils.intervals import ConfidenceInterval
from .decisions import NAME_ONE
from .result import FloorResult

__all__ = ["FloorAt", "drift", "floor_at", "shares_differ"]

_CHANCE = 1e-3  # class shares that are less likely than this are other shares
_BLOCKS, _DRIFT_CHANCE = 10, 1e-4
_FEWEST = 5  # rows of a class that a block is expected to have: rarer classes are taken together
_SORTED = 0.5  # of the runs of equal labels that chance makes: rows with fewer were sorted by class, perhaps in parts
_MOST_ROWS = 10**7  # beyond it the training rows leave no noise, and exact tests take long


@dataclass(frozen=True)
class FloorAt:
    """The floor at some class shares.

    Attributes
    ----------
    floor : float
    interval : ConfidenceInterval
    error : float
        Of the stacked ensemble.
    n : int
        Independent rows that these were counted on.
    """

    floor: float
    interval: ConfidenceInterval
    error: float
    n: int


def shares_differ(result: FloorResult, counts: Counts) -> bool:
    """Whether test rows with these class counts have other class shares than the floor is for, beyond chance.

    An exact test for each class, corrected for their number (Bonferroni): Fisher's for two samples, or the binomial one
    where class shares were given.
    """
    n_test, n_classes = int(counts.sum()), len(counts)
    rows = min(_MOST_ROWS, max(1, round(float(result.evidence["n"]))))
    given = bool(result.settings.get("priors"))
    smallest = 1.0
    for k, share in zip(counts.tolist(), result.priors, strict=True):
        if given:
            p = binomtest(k, n_test, min(max(share, 0.0), 1.0)).pvalue
        else:
            own = min(rows, max(0, round(share * rows)))
            p = fisher_exact([[k, n_test - k], [own, rows - own]])[1]
        smallest = min(smallest, float(p))
    return smallest * n_classes < _CHANCE


def floor_at(result: FloorResult, shares: Floats) -> FloorAt | None:
    """The floor at other class shares if nothing else changes, from out-of-fold predictions; None without them.

    The posterior of class c is multiplied by the ratio of its shares, and rows count by that of their class.
    """
    said = result.predictions
    if said is not None:
        moved = said.with_shares(shares)
        most = 1 - float(shares.max())  # of naming the largest class
        evidence, judged = moved.lowest(NAME_ONE, np.eye(len(shares)), most)
        interval = ConfidenceInterval(
            min(judged.low, judged.floor), max(judged.high, judged.floor), said.confidence_level
        )
        return FloorAt(judged.floor, interval, evidence.error, moved.n)
    memorised = any(doubt.code == "scores-of-training-rows" for doubt in (*result.doubts, *result.muted))
    if result.posterior is None or result.labels is None or result.learning_curve or memorised:
        return None
    from ._from_scores import scores_at

    floor, interval, error, n = scores_at(result, shares)
    return FloorAt(floor, interval, error, n)


def drift(labels: Codes, dates: Mapping[str, Floats], groups: Codes | None = None) -> str | None:
    """What the class shares drift with: the order of the rows, or the name of a column of dates; None if nothing.

    Ten blocks of consecutive rows are tested for equal class shares; of each group the first row alone counts, since
    rows of a group are alike. Rows that were sorted by class, as a whole or in parts, do not drift.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> steady, rising = rng.random(2000) < 0.3, rng.random(2000) < np.linspace(0.2, 0.4, 2000)
    >>> drift(steady.astype(int), {}), drift(rising.astype(int), {}), drift(np.sort(steady.astype(int)), {})
    (None, 'the order of the rows', None)
    """
    counted = np.arange(len(labels)) if groups is None else np.sort(np.unique(groups, return_index=True)[1])
    own = labels[counted]
    shares = np.bincount(own) / len(own)
    runs, expected = np.count_nonzero(np.diff(own)) + 1, 1 + (len(own) - 1) * (1 - (shares**2).sum())
    if runs > _SORTED * expected and _shares_change(own):
        return "the order of the rows"
    # Rows of one date in an order that knows nothing of their labels.
    shuffled = np.random.default_rng(0).permutation(len(counted))
    for name, values in sorted(dates.items()):
        if _shares_change(own[np.lexsort((shuffled, values[counted]))]):
            return name
    return None


def _shares_change(labels: Codes) -> bool:
    block = np.arange(len(labels)) * _BLOCKS // len(labels)
    table = np.zeros((_BLOCKS, int(labels.max()) + 1), dtype=np.int64)
    np.add.at(table, (block, labels), 1)
    common = table.sum(axis=0) >= _FEWEST * _BLOCKS
    table = np.column_stack([table[:, common], table[:, ~common].sum(axis=1)])
    table = table[:, table.sum(axis=0) >= _FEWEST * _BLOCKS]
    return table.shape[1] > 1 and float(chi2_contingency(table)[1]) < _DRIFT_CHANCE
