"""What the pooled classifiers say of rows that they had not seen: all that costs, metrics and declining rest on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._types import Codes, Floats
from ..library.training import reweight
from .ceiling import Test
from .decisions import Decisions
from .lowest_loss import LossEvidence, lowest_loss
from .rule import Judgement

__all__ = ["Predictions"]


@dataclass(frozen=True, eq=False)
class Predictions:
    """Cross-fitted class probabilities at all sizes of the training set; classes in sorted order.

    Attributes
    ----------
    P : sequence of sequence of ndarray
        By choice of folds and stage (see `cross_fit.STAGES`), under the wanted class shares.
    y : ndarray
    weights : ndarray
        Of rows, in an average over the wanted class shares; their sum is 1.
    test : Test
        The classifier that is certified.
    n, n_features : int
        Independent rows; columns.
    shares, shrunk_shares : ndarray of shape (C,)
        Of the classes, as wanted or counted; shrunk toward equal ones where they were counted.
    priors : ndarray or None
        Class shares that were given.
    confidence_level : float
    certifies : bool
        False where the held-out rows are no plain draw, and nothing can be certified on them.
    """

    P: Sequence[Sequence[Floats]]
    y: Codes
    weights: Floats
    test: Test
    n: int
    n_features: int
    shares: Floats
    shrunk_shares: Floats
    priors: Floats | None
    confidence_level: float
    certifies: bool = True

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.shares)

    def with_shares(self, shares: Floats) -> "Predictions":
        """The same for other class shares, if nothing else changes; the certified classifier stays as it is.

        The number of independent rows is Kish's, as `independent_rows` has it for given shares.
        """
        counts = np.bincount(self.y, minlength=self.n_classes)
        # Not 0: all other classes may be impossible in a row.
        change = np.maximum(shares, 1e-300) / np.maximum(self.shares, 1e-300)
        kish = 1 / float((shares**2 / counts).sum())
        return replace(
            self,
            P=[[reweight(P, change) for P in repeat] for repeat in self.P],
            weights=(shares / counts)[self.y],
            n=max(2, round(kish * min(1.0, self.n / len(self.y)))),
            shares=shares,
            shrunk_shares=shares,
            priors=None,
        )

    @property
    def mean(self) -> Floats:
        """Probabilities by models of all rows, the mean over the choices of folds."""
        return np.asarray(sum(repeat[0] for repeat in self.P) / len(self.P))

    def lowest(
        self,
        decisions: Decisions,
        constant_gains: Floats,
        most: float,
        all_rows: tuple[float, float] | None = None,
        deviation: float | None = None,
    ) -> tuple[LossEvidence, Judgement]:
        """The lowest expected loss; `constant_gains`: of each single decision (rows) for each class (columns)."""
        return lowest_loss(
            self.P,
            self.y,
            self.weights,
            decisions,
            n=self.n,
            n_features=self.n_features,
            constant=1 - float((constant_gains @ self.shares).max()),
            shrunk_constant=1 - float((constant_gains @ self.shrunk_shares).max()),
            most=most,
            confidence_level=self.confidence_level,
            all_rows=all_rows,
            deviation=deviation,
        )

    def loss_limits(
        self, losses: Floats, free_losses: Floats, confidence_level: float, two_valued: Sequence[bool]
    ) -> Floats:
        """Certified limits of a mean loss between 0 and 1: one, or one for each class where class shares were given.

        `two_valued` says of each class whether its losses can only be 0 or 1.
        """
        test, n_classes = self.test, self.n_classes
        if self.priors is None:
            return np.array([test.limit(losses, free_losses, confidence_level, two_valued=all(two_valued))])
        level = 1 - (1 - confidence_level) / n_classes
        return np.array(
            [
                test.limit(
                    losses, free_losses[test.y_free == c], level, two_valued=two_valued[c], rows=test.y_held == c
                )
                for c in range(n_classes)
            ]
        )
