"""The lowest expected loss of any decisions, by the rule of the floor: costs, two names, balanced classes, declining.

The rule was fitted to the error of naming a class. With losses between 0 and 1 its terms mean the same: what the pooled
classifiers lose on rows that they had not seen, less what is unsettled between models of half and of all rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._types import Codes, Floats
from .curve import Curve
from .decisions import Decisions
from .rule import Evidence, Judgement, judge

__all__ = ["LossEvidence", "lowest_loss", "mean_deviation"]


@dataclass(frozen=True)
class LossEvidence(Evidence):
    """Figures of losses between 0 and 1 in place of errors.

    Attributes
    ----------
    deviation : float
        Standard deviation of the loss of one row.
    """

    deviation: float = 0.0

    @property
    def losses(self) -> tuple[float, float, float, float]:
        """With all, half, a quarter and an eighth of the training rows."""
        return self.error, self.half_error, self.quarter_error, self.eighth_error

    @property
    def sampling(self) -> float:
        """Standard error of the mean loss of so many rows."""
        return float(np.sqrt(max(self.deviation**2, 1 / self.n) / self.n))


def lowest_loss(
    P: Sequence[Sequence[Floats]],
    y: Codes,
    weights: Floats,
    decisions: Decisions,
    *,
    n: int,
    n_features: int,
    constant: float,
    shrunk_constant: float,
    most: float,
    confidence_level: float,
    all_rows: tuple[float, float] | None = None,
    deviation: float | None = None,
) -> tuple[LossEvidence, Judgement]:
    """Judge the lowest expected loss from pooled probabilities, by choice of folds and stage.

    Parameters
    ----------
    P, y, weights
        As in `Curve.of`.
    decisions : Decisions
    n, n_features : int
        Independent rows; columns.
    constant, shrunk_constant : float
        Loss of the best single decision for all rows, as counted and for shrunk class shares (`Evidence.majority`).
    most : float
        No lowest loss is higher.
    confidence_level : float
    all_rows : tuple of float, optional
        Loss and expected loss of all rows, where `P` is of a sample.
    deviation : float, optional
        Standard deviation of what a row adds, where that is not its loss alone.
    """
    curve = Curve.of(P, y, weights, decisions)
    if deviation is None:
        losses = [1 - decisions.gain(decisions.choose(repeat[0]), y) for repeat in P]
        deviation = mean_deviation(losses, weights)
    if all_rows is not None:
        curve = curve.with_all(*all_rows)
    evidence = LossEvidence.of(
        curve,
        n=n,
        n_features=n_features,
        n_classes=P[0][0].shape[1],
        majority=constant,
        shrunk_majority=shrunk_constant,
        ball=curve.plugin(1.0),
        raw=None,
        deviation=deviation,
    )
    return evidence, judge(evidence, confidence_level, most)


def mean_deviation(losses: Sequence[Floats], weights: Floats) -> float:
    """Standard deviation of the loss of a row, over all choices of folds together."""
    mean = float(np.mean([weights @ loss for loss in losses]))
    square = float(np.mean([weights @ loss**2 for loss in losses]))
    return float(np.sqrt(max(0.0, square - mean**2)))
