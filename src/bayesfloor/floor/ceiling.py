"""The certified ceiling: a classifier that was fixed before it saw the held-out rows, and its errors there."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from .._types import Codes, Counts, Floats, Mask, RowNumbers
from ..library.pool import Pool, Stage
from ..library.training import reweight
from ..rows.draws import one_of_each
from ..utils.intervals import ConfidenceInterval, upper_limit

__all__ = [
    "Certificate",
    "HeldOut",
    "Test",
    "ceiling",
    "cut_interval",
    "cutting_level",
    "group_limit",
    "held_out_errors",
]


_BETS = np.array([0.25, 0.5, 1.0, 2.0, 4.0])  # times the bet that would be best for errors at random


@dataclass(frozen=True)
class Certificate:
    """What the ceiling was counted on.

    Attributes
    ----------
    classifier : {"library", "constant", "scores"}
        The pooled library, or always naming one class where the library was seen to do no better; the class with the
        largest of the user's scores.
    label : object
        That class.
    errors, tested : int
        Among the held-out rows that count.
    units : {"rows", "groups"}
        What is independent: with groups of unequal size all their rows count, each group as one observation.
    """

    classifier: str
    label: object
    errors: int
    tested: int
    units: str = "rows"


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Errors on held-out rows of a classifier that no choice made on them has touched; classes by their codes.

    Attributes
    ----------
    wrong, tested : ndarray of shape (C,), or (groups, C)
        Errors and rows of each class; of each group, if rows come in groups of unequal size.
    constant : int or None
        The class that is always named, if that is the classifier.
    largest, bet : float
        Rows of the largest group; what to stake on each group (see `group_limit`).
    """

    wrong: Counts
    tested: Counts
    constant: int | None = None
    largest: float = 1.0
    bet: float = 1.0

    def with_classes(self, codes: Codes) -> "HeldOut":
        """The same with the classes in another order: class c has had the code ``codes[c]``."""
        constant = None if self.constant is None else int(np.flatnonzero(codes == self.constant)[0])
        return HeldOut(self.wrong[..., codes], self.tested[..., codes], constant, self.largest, self.bet)

    def certificate(self, classes: tuple[object, ...]) -> Certificate:
        """In plain values."""
        kind, label = ("library", None) if self.constant is None else ("constant", classes[self.constant])
        units = "rows" if self.wrong.ndim == 1 else "groups"
        return Certificate(kind, label, int(self.wrong.sum()), int(self.tested.sum()), units)


def ceiling(held: HeldOut, priors: Floats | None, confidence_level: float) -> float | None:
    """Upper limit of the classifier's error rate, and so of the floor; None if nothing was tested.

    For given class shares the sum of the classes' limits, each at level 1 - (1 - level) / C. Naming the class with the
    largest share errs no more than 1 - 1/C (or 1 - the largest given share): no floor is above that.
    """
    if not held.tested.sum():
        return None
    n_classes = held.tested.shape[-1]
    if priors is None:
        return min(_limit(held, held.wrong.sum(axis=-1), held.tested.sum(axis=-1), confidence_level), 1 - 1 / n_classes)
    level = 1 - (1 - confidence_level) / n_classes
    limits = [_limit(held, held.wrong[..., c], held.tested[..., c], level) for c in range(n_classes)]
    return float(min(priors @ limits, 1 - priors.max()))


def cutting_level(confidence_level: float) -> float:
    """Level of the ceiling that cuts off an interval: it has a tenth of the interval's risk.

    The arm has half of the risk already: a ceiling with as much again would miss floors where held-out rows were easy
    by chance, and it hardly ever ends before the arm does.

    Examples
    --------
    >>> round(cutting_level(0.95), 4)
    0.995
    """
    return 1 - (1 - confidence_level) / 10


def cut_interval(
    floor: float, low: float, high: float, limit: Callable[[float], float | None], confidence_level: float
) -> tuple[float, ConfidenceInterval]:
    """An estimate and its interval, neither above what was certified.

    Parameters
    ----------
    floor, low, high : float
        As estimated.
    limit : function of a confidence level
        The certified limit at that level; None if there is none.
    confidence_level : float

    Examples
    --------
    >>> cut_interval(0.1, 0.05, 0.3, lambda level: 0.2 if level > 0.99 else 0.15, 0.95)
    (0.1, ConfidenceInterval(low=0.05, high=0.2, confidence_level=0.95))
    """
    certified, most = limit(confidence_level), limit(cutting_level(confidence_level))
    if certified is not None and most is not None:
        floor, high = min(floor, certified), min(high, most)
    return floor, ConfidenceInterval(min(low, floor), max(high, floor), confidence_level)


def _limit(held: HeldOut, wrong: Counts, tested: Counts, level: float) -> float:
    if not tested.sum():
        return 1.0
    if wrong.ndim == 0:
        return upper_limit(int(wrong), int(tested), level)
    return group_limit(wrong, tested, held.largest, held.bet, level)


def group_limit(
    wrong: Counts | Floats, sizes: Counts | Floats, largest: float, bet: float, confidence_level: float
) -> float:
    r"""Upper limit of a row-weighted error rate from groups of unequal size, valid for any number of them.

    With S errors among the M rows of a group the error rate is t = E[S] / E[M], so that E[M (t - S/M)] = 0: who bets on
    it wins nothing in the mean. With stakes 0 < b <= 1 of which no group can cost more than all,

    .. math:: \prod_g \left(1 + b \frac{M_g}{M_{max}} (t - S_g / M_g)\right)

    has mean 1, and so has its mean over several b. That it reaches 1 / (1 - level) has probability at most 1 - level
    (Markov): the smallest t for which it does is the limit. Groups are taken to be no larger than the largest seen.

    Parameters
    ----------
    wrong, sizes : ndarray of shape (groups,)
    largest : float
        Rows of the largest group.
    bet : float
        Around which the stakes lie; any number fixed beforehand is valid, a good one makes the limit narrow.
    confidence_level : float

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sizes = rng.integers(1, 9, 200)
    >>> round(group_limit(rng.binomial(sizes, 0.2), sizes, 8, 0.3, 0.95), 3)
    0.268
    """
    weights, shares = sizes / largest, wrong / np.maximum(sizes, 1)
    stakes = np.minimum(1.0, bet * _BETS)[:, None]
    needed = np.log(len(_BETS)) - np.log1p(-confidence_level)

    def wealth(t: float) -> float:
        with np.errstate(divide="ignore"):  # a stake may be lost whole
            return float(logsumexp(np.log1p(stakes * weights * (t - shares)).sum(axis=1)))

    low, high = 0.0, 1.0
    if wealth(high) < needed:
        return 1.0
    while high - low > 1e-9:  # each factor rises with t
        middle = (low + high) / 2
        low, high = (low, middle) if wealth(middle) >= needed else (middle, high)
    return high


def held_out_errors(
    whole: Stage,
    half: Stage,
    y: Codes,
    fold: Codes,
    row_weights: Floats,
    change: Floats,
    rng: np.random.Generator,
    groups: Codes | None = None,
) -> HeldOut:
    """Count the errors on held-out rows of a classifier that no choice made on them has touched: see `Test`."""
    return Test.of(whole, half, y, fold, row_weights, change, rng, groups).errors()


@dataclass(frozen=True, eq=False)
class Test:
    """A classifier that was fixed before it saw the held-out rows: what it says of them, and of the rows that fixed it.

    The models of fold 0 have not seen the held-out rows, nor have those of the half stage, which decide on the other
    rows, the free ones, whatever is to be decided: settings, weights, thresholds, and whether the library is used at
    all.

    Attributes
    ----------
    free, held : ndarray of shape (rows, C)
        Class probabilities: of the half stage for the free rows, of all rows that are not held out for the held-out
        ones. Of groups of equal size one random held-out row counts, of unequal size all rows of each.
    y_free, y_held : ndarray
    free_weights, held_weights : ndarray
        Of rows in an average over the wanted class shares; their sum is 1.
    groups : ndarray or None
        Group of each held-out row, if they are of unequal size.
    largest, bet : float
        As in `HeldOut`.
    """

    __test__ = False  # no case of pytest

    free: Floats
    y_free: Codes
    free_weights: Floats
    held: Floats
    y_held: Codes
    held_weights: Floats
    groups: Codes | None = None
    largest: float = 1.0
    bet: float = 1.0

    @classmethod
    def of(
        cls,
        whole: Stage,
        half: Stage,
        y: Codes,
        fold: Codes,
        row_weights: Floats,
        change: Floats,
        rng: np.random.Generator,
        groups: Codes | None = None,
    ) -> "Test":
        """Of the stages of all rows and of half of them.

        Probabilities are multiplied by `change`, for other class shares than those here.
        """
        free, held = np.flatnonzero(fold != 0), np.flatnonzero(fold == 0)
        pool = Pool.fit(half, y, free)
        size, bet, group = 1.0, 1.0, None
        if groups is not None:
            sizes = np.bincount(groups)
            if sizes.min() == sizes.max():
                held = np.intersect1d(held, one_of_each(groups, rng))
            else:
                size, bet = float(sizes.max()), _bet(sizes[np.unique(groups[free])], len(np.unique(groups[held])))
                group = np.unique(groups[held], return_inverse=True)[1]
        return cls(
            reweight(pool.predict(half, free), change),
            y[free],
            row_weights[free] / row_weights[free].sum(),
            reweight(pool.predict(whole, held), change),
            y[held],
            row_weights[held] / max(row_weights[held].sum(), 1e-300),
            group,
            size,
            bet,
        )

    def with_classes(self, codes: Codes) -> "Test":
        """The same with the classes in another order: class c has had the code ``codes[c]``."""
        new = np.argsort(codes)
        return replace(
            self, free=self.free[:, codes], y_free=new[self.y_free], held=self.held[:, codes], y_held=new[self.y_held]
        )

    def errors(self) -> HeldOut:
        """Errors on the held-out rows.

        Where the library errs as often on the free ones as always naming the largest class, that is the classifier.
        """
        n_classes, weights, truth = self.free.shape[1], self.free_weights, self.y_held
        missed = self.free.argmax(axis=1) != self.y_free
        largest = int(np.bincount(self.y_free, weights=weights, minlength=n_classes).argmax())
        constant = largest if weights @ missed >= weights @ (self.y_free != largest) else None
        wrong = (largest if constant is not None else self.held.argmax(axis=1)) != truth
        if self.groups is None:
            tested = np.bincount(truth, minlength=n_classes)
            return HeldOut(np.bincount(truth[wrong], minlength=n_classes), tested, constant)
        table = np.zeros((2, int(self.groups.max()) + 1, n_classes), dtype=np.int64)
        np.add.at(table[0], (self.groups, truth), wrong)
        np.add.at(table[1], (self.groups, truth), 1)
        return HeldOut(table[0], table[1], constant, self.largest, self.bet)

    def limit(
        self,
        losses: Floats,
        free_losses: Floats,
        confidence_level: float,
        *,
        two_valued: bool,
        rows: Mask | None = None,
    ) -> float:
        """Upper limit of a mean loss between 0 and 1, from what each held-out row has lost; of some of the rows only.

        Clopper and Pearson's where a loss is 0 or 1 (`two_valued`), otherwise that of betting (`group_limit`): the
        losses of the free rows say what to stake.
        """
        rows = np.ones(len(losses), dtype=bool) if rows is None else rows
        n = int(rows.sum())
        if not n:
            return 1.0
        if self.groups is not None:
            sizes = np.bincount(self.groups[rows])
            return group_limit(
                np.bincount(self.groups[rows], weights=losses[rows]), sizes, self.largest, self.bet, confidence_level
            )
        if two_valued:
            return upper_limit(int(losses[rows].sum()), n, confidence_level)
        spread = max(float(free_losses.var()) if len(free_losses) else 0.25, 1 / n)
        bet = float(np.sqrt(2 * np.log(1 / (1 - confidence_level)) / (n * spread)))
        return group_limit(losses[rows], np.ones(n), 1.0, bet, confidence_level)


def _bet(free_sizes: RowNumbers, n_held: int) -> float:
    """The stake that grows fastest at a 95 % limit if errors fall at random: from the sizes of the other groups."""
    spread = float(((free_sizes / free_sizes.max()) ** 2).mean()) / 8
    return float(np.sqrt(2 * np.log(20) / (n_held * spread)))
