"""A part of the rows to train on, another to predict, and what several learners need of both."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

__all__ = ["COMPONENTS", "WIDE", "Fold", "log_probabilities", "standardized"]

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

_LEAST = 1e-4  # no probability is below this: one learner's certainty must not veto all others
_FAR = 8.0  # standardized features are clipped here
WIDE = 256  # beyond so many columns, methods that need distances or covariances work on principal components
COMPONENTS, _LEADING = 128, 60


@dataclass(eq=False)
class Fold:
    """Rows to train on, rows to predict, and what several learners need of both.

    Parameters
    ----------
    X, y : ndarray
        Training rows; codes 0..n_classes-1, of which some may be missing here.
    T : ndarray
        Rows to predict.
    n_classes : int
    seed : int
    """

    X: Floats
    y: Rows
    T: Floats
    n_classes: int
    seed: int
    effort: str = "balanced"

    @property
    def n(self) -> int:
        """Rows to train on."""
        return len(self.y)

    @cached_property
    def counts(self) -> Rows:
        """Training rows per class."""
        return np.bincount(self.y, minlength=self.n_classes)

    @cached_property
    def prior(self) -> Floats:
        """Class shares, none of them 0."""
        return np.asarray((self.counts + 0.5) / (self.n + 0.5 * self.n_classes), dtype=np.float64)

    @cached_property
    def standard(self) -> tuple[Floats, Floats]:
        """Standardized training rows and rows to predict, clipped; principal components if there are many columns."""
        Z, T = standardized(self.X, self.T)
        return (Z, T) if Z.shape[1] <= WIDE else components(Z, T, COMPONENTS)

    @cached_property
    def radial(self) -> tuple[Floats, Floats]:
        """Squared distance from the centre, standardized and, where there are rows for it, Mahalanobis."""
        Z, T = self.standard
        d = Z.shape[1]
        columns = [(Z**2).mean(axis=1)], [(T**2).mean(axis=1)]
        if 1 < d <= self.n / 15:
            shrink = min(0.9, d / self.n + 0.01)
            L = np.linalg.cholesky((1 - shrink) * np.cov(Z.T) + shrink * np.eye(d))
            for part, rows in zip(columns, (Z, T), strict=True):
                part.append((solve_triangular(L, rows.T, lower=True) ** 2).mean(axis=0))
        return np.stack(columns[0], axis=1), np.stack(columns[1], axis=1)

    @cached_property
    def with_radial(self) -> tuple[Floats, Floats]:
        """The columns as they are, and the distances from the centre."""
        return np.hstack([self.X, self.radial[0]]), np.hstack([self.T, self.radial[1]])

    @cached_property
    def weighted(self) -> tuple[Floats, Floats]:
        """Standardized columns, each stretched by its importance to the trees: distances without the noise columns.

        Very many columns share their importance among them: its root is taken, and the leading components.
        """
        importances = self.forest.feature_importances_[: self.X.shape[1]] + 1e-6
        weights = np.maximum(importances / importances.max(), 1e-3)
        if len(weights) <= WIDE:
            Z, T = self.standard
            return Z * weights, T * weights
        Z, T = standardized(self.X, self.T)
        return components(Z * np.sqrt(weights), T * np.sqrt(weights), _LEADING)

    @cached_property
    def forest(self) -> Any:
        """Extremely randomised trees on the columns and the distances from the centre."""
        from sklearn.ensemble import ExtraTreesClassifier

        d = self.X.shape[1]
        trees = ExtraTreesClassifier(
            {"fast": 40, "balanced": 60, "thorough": 200}[self.effort],
            min_samples_leaf=3,
            max_features="sqrt" if d < 4 else max(2, min(d // 3, 40)),
            random_state=self.seed,
            n_jobs=1,
        )
        return trees.fit(self.with_radial[0], self.y)


def log_probabilities(P: Floats, columns: Rows | None = None, n_classes: int | None = None) -> Floats:
    """Logarithms of probabilities, none below the least; `columns` are the classes that P knows.

    Examples
    --------
    >>> np.exp(log_probabilities(np.array([[1.0, 0.0]]))).round(4)
    array([[9.999e-01, 1.000e-04]])
    """
    if columns is not None and n_classes is not None:  # some may be missing, or in another order
        full = np.zeros((len(P), n_classes))
        full[:, columns] = P
        P = full
    P = np.maximum(P, _LEAST)
    return np.log(P / P.sum(axis=1, keepdims=True))


def standardized(X: Floats, T: Floats) -> tuple[Floats, Floats]:
    """Both by mean and deviation of the training rows, clipped; columns that are constant there become 0."""
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    deviation = np.where(deviation > 1e-12 * (1 + np.abs(mean)), deviation, np.inf)
    return np.clip((X - mean) / deviation, -_FAR, _FAR), np.clip((T - mean) / deviation, -_FAR, _FAR)


def components(Z: Floats, T: Floats, most: int) -> tuple[Floats, Floats]:
    """Leading principal components, all on one scale: they keep their proportions."""
    Z, T = Z - Z.mean(axis=0), T - Z.mean(axis=0)
    most = min(most, len(Z) - 1)
    # Signs do not matter to any learner, nor does the basis of equal eigenvalues.
    if len(Z) < Z.shape[1]:  # the smaller of the two matrices
        values, vectors = np.linalg.eigh(Z @ Z.T)
        leading = np.argsort(values)[::-1][:most]
        axes = Z.T @ (vectors[:, leading] / np.sqrt(np.maximum(values[leading], 1e-12 * values.max())))
    else:
        values, vectors = np.linalg.eigh(Z.T @ Z)
        axes = vectors[:, np.argsort(values)[::-1][:most]]
    Z, T = Z @ axes, T @ axes
    scale = float(np.sqrt((Z**2).mean(axis=0).max())) or 1.0
    return Z / scale, T / scale
