"""The learning curve: what the pooled library errs, doubts and decides otherwise at each size of the training set."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._types import Codes, Floats
from ..library.cross_fit import STAGES
from .decisions import NAME_ONE, Decisions

__all__ = ["FRACTIONS", "PAIRS", "Curve", "confirmed_share", "row_stakes", "stakes", "summarise"]

FRACTIONS = tuple(dict.fromkeys(fraction for fraction, _ in STAGES))
# Stages whose decisions are compared: each with that of half its rows.
PAIRS = tuple(
    (i, j) for i, (larger, _) in enumerate(STAGES) for j, (smaller, _) in enumerate(STAGES) if smaller == larger / 2
)
_HELD = 5  # rows that hold the slope of labels on margins to 1, where hardly a decision is unsettled
_LEAST = 1e-6  # of probabilities, in a log-loss


@dataclass(frozen=True, eq=False)
class Curve:
    """Figures of each choice of folds (rows) and stage (columns); see `cross_fit.STAGES`.

    Attributes
    ----------
    errors, plugins, losses : ndarray of shape (repeats, stages)
        Share of errors, mean of 1 - largest probability, mean log-loss: of rows that the models had not seen.
    changed, claimed, unsettled : ndarray of shape (repeats, fractions - 1)
        Of each fraction and the half of it: share of rows in which they name different classes, and what is at stake
        there, as their posteriors claim and as labels confirm (see `stakes`).
    repeated : ndarray of shape (2,)
        The same of two choices of folds, all rows: share of rows, and stakes as their posteriors claim; 0 for one.
    pooled_error, pooled_loss : float
        Of the mean posterior of all choices of folds.
    """

    errors: Floats
    plugins: Floats
    losses: Floats
    changed: Floats
    claimed: Floats
    unsettled: Floats
    repeated: Floats
    pooled_error: float
    pooled_loss: float

    @classmethod
    def of(cls, P: Sequence[Sequence[Floats]], y: Codes, weights: Floats, decisions: Decisions = NAME_ONE) -> "Curve":
        """Of pooled probabilities, by choice of folds and stage; rows count by their weights, which add up to 1.

        With other `decisions` than to name a class, an error is what a decision loses.
        """
        figures = np.array(
            [[(*summarise(p, y, weights, decisions), _log_loss(p, y, weights)) for p in repeat] for repeat in P]
        )
        pairs = np.array([[_differ(repeat[i], repeat[j], y, weights, decisions) for i, j in PAIRS] for repeat in P])
        by_fraction = [[k for k, (i, _) in enumerate(PAIRS) if STAGES[i][0] == f] for f in FRACTIONS[:-1]]
        changed, claimed, unsettled = (
            np.stack([pairs[:, own, figure].mean(axis=1) for own in by_fraction], axis=1) for figure in range(3)
        )
        repeated = np.zeros(2)
        if len(P) > 1:
            two = [(a[0], b[0]) for i, a in enumerate(P) for b in P[:i]]
            repeated = np.mean([_differ(a, b, y, weights, decisions)[:2] for a, b in two], axis=0)
        mean = np.asarray(sum(repeat[0] for repeat in P) / len(P))
        pooled = summarise(mean, y, weights, decisions)[0], _log_loss(mean, y, weights)
        errors, plugins, losses = np.moveaxis(figures, 2, 0)
        return cls(errors, plugins, losses, changed, claimed, unsettled, repeated, *pooled)

    def with_all(self, error: float, plugin: float) -> "Curve":
        """The curve of a sample, moved to what all rows say of the models of full size."""
        # What the smaller stages err more on the sample is added to what all rows say.
        by_error, by_plugin = error - self.error(1.0), plugin - self.plugin(1.0)
        return replace(
            self,
            errors=self.errors + by_error,
            plugins=self.plugins + by_plugin,
            pooled_error=self.pooled_error + by_error,
        )

    def error(self, fraction: float) -> float:
        """Mean over choices of folds, and over stages of one fraction."""
        return self._mean(self.errors, fraction)

    def plugin(self, fraction: float) -> float:
        """Mean of 1 - largest probability."""
        return self._mean(self.plugins, fraction)

    def loss(self, fraction: float) -> float:
        """Mean log-loss."""
        return self._mean(self.losses, fraction)

    @property
    def spread(self) -> float:
        """Standard deviation of the error over choices of folds; 0 for one."""
        return float(self.errors[:, 0].std(ddof=1)) if len(self.errors) > 1 else 0.0

    @staticmethod
    def _mean(figures: Floats, fraction: float) -> float:
        return float(figures[:, [i for i, (f, _) in enumerate(STAGES) if f == fraction]].mean())


def summarise(P: Floats, y: Codes, weights: Floats, decisions: Decisions = NAME_ONE) -> tuple[float, float]:
    """Loss of the best decision by these probabilities, and what they expect it to be; rows count by their weights.

    Of naming a class: error of the most probable one, and mean of 1 - its probability.
    """
    best = decisions.choose(P)
    loss, expected = weights @ (1 - decisions.gain(best, y)), weights @ (1 - decisions.expect(best, P))
    return min(1.0, float(loss)), min(1.0, float(expected))  # weights add up to 1 but for rounding


def _log_loss(P: Floats, y: Codes, weights: Floats) -> float:
    return float(-weights @ np.log(np.maximum(P[np.arange(len(y)), y], _LEAST)))


def stakes(larger: Floats, smaller: Floats, y: Codes, weights: Floats) -> tuple[float, float]:
    """What is at stake where two stages decide differently: as their posteriors claim, and as labels confirm.

    With m the (signed) difference of the two classes that they name in the mean of their posteriors, and v = 1, 0 or -1
    by whether the label is the first class, neither or the second: the mean of |m| is claimed, and (sum m v + 5) /
    (sum m^2 + 5) of it confirmed, the slope of v on m, held to 1 by five rows' worth. Where labels are noise the stages
    differ often, but nothing is won. Rows count by their weights, which add up to 1.
    """
    _, claimed, confirmed = _differ(larger, smaller, y, weights, NAME_ONE)
    return claimed, confirmed


def row_stakes(larger: Floats, smaller: Floats, y: Codes, decisions: Decisions) -> tuple[Floats, Floats, Floats]:
    """Of each row: whether two stages decide differently, and m and v of `stakes`."""
    first, second = decisions.choose(larger), decisions.choose(smaller)
    mean = (larger + smaller) / 2
    margin = decisions.expect(first, mean) - decisions.expect(second, mean)
    seen = decisions.gain(first, y) - decisions.gain(second, y)
    return (first != second).astype(np.float64), margin, seen


def confirmed_share(margin: Floats, seen: Floats, rows: Floats) -> float:
    """Share of what is claimed to be at stake that labels confirm; `rows` are weights that add up to the rows."""
    return float((rows @ (margin * seen) + _HELD) / (rows @ margin**2 + _HELD))


def _differ(
    larger: Floats, smaller: Floats, y: Codes, weights: Floats, decisions: Decisions
) -> tuple[float, float, float]:
    """Share of rows in which two stages decide differently; what is at stake there, claimed and confirmed."""
    differ, margin, seen = row_stakes(larger, smaller, y, decisions)
    claimed = float(weights @ np.abs(margin))
    return float(weights @ differ), claimed, confirmed_share(margin, seen, weights * len(y)) * claimed
