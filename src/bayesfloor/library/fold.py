"""Rows to train on, rows to predict, and the coordinates that several learners need of both."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import log_softmax

from .._types import Codes, Counts, Floats, RowNumbers
from .extra_trees import Forest

__all__ = ["COMPONENTS", "WIDE", "Fold", "Models", "Scale", "Unseen", "from_scores", "log_probabilities"]


_LEAST = 1e-4  # no probability is below this: one learner's certainty must not veto all others
_FAR = 8.0  # standardized features are clipped here
WIDE = 256  # beyond so many columns, methods that need distances or covariances work on principal components
COMPONENTS, _LEADING = 128, 60
_EXACT = 1_500  # rows and columns: of more, principal components are found by a randomized method
_TREES = {"fast": 30, "balanced": 50, "thorough": 200}


@dataclass(eq=False)
class Fold:
    """Rows to train on, and what several learners need of them.

    Parameters
    ----------
    X, y : ndarray
        Training rows; codes 0..n_classes-1, of which some may be missing here.
    n_classes : int
    seed : int
    effort : str
    kept : frozenset of str, optional
        Settings of learners to train; default: all.
    known_weights : ndarray, optional
        Importance of each column, where it is known already: no trees need be grown for it.
    parts : mapping
        What learners of a representation look at besides the columns: see `View.parts`.
    units : ndarray, optional
        What is independent, where rows are not: groups, and copies of a row.
    """

    X: Floats
    y: Codes
    n_classes: int
    seed: int
    effort: str = "balanced"
    kept: frozenset[str] | None = None
    known_weights: Floats | None = None
    parts: Mapping[str, Any] = field(default_factory=dict)
    units: Codes | None = None

    def wants(self, setting: str) -> bool:
        """Whether this setting of a learner is to be trained."""
        return self.kept is None or setting in self.kept

    @property
    def n(self) -> int:
        """Rows to train on."""
        return len(self.y)

    @cached_property
    def counts(self) -> Counts:
        """Training rows per class."""
        return np.bincount(self.y, minlength=self.n_classes)

    @cached_property
    def prior(self) -> Floats:
        """Class shares, none of them 0."""
        return np.asarray((self.counts + 0.5) / (self.n + 0.5 * self.n_classes), dtype=np.float64)

    @cached_property
    def own(self) -> "Unseen":
        """The training rows themselves, in all coordinates."""
        return Unseen(self, self.X, self.parts)

    @cached_property
    def scale(self) -> "Scale":
        """Mean and deviation of the columns."""
        return Scale.of(self.X)

    @cached_property
    def varied(self) -> RowNumbers:
        """Standardized columns of more than two values: of two, any function is linear."""
        Z = self.own.standard
        is_end = np.equal(Z, Z.min(axis=0)) | np.equal(Z, Z.max(axis=0))
        return np.flatnonzero(~is_end.all(axis=0))

    @cached_property
    def components(self) -> "Components | None":
        """Principal components, if there are many columns."""
        Z = self.scale.apply(self.X)
        return Components.of(Z, COMPONENTS) if Z.shape[1] > WIDE else None

    @cached_property
    def cholesky(self) -> Floats | None:
        """Factor of the shrunk covariance of the standardized columns, where there are rows for it."""
        Z = self.own.standard
        d = Z.shape[1]
        if not 1 < d <= self.n / 15:
            return None
        shrink = min(0.9, d / self.n + 0.01)
        return np.linalg.cholesky((1 - shrink) * np.cov(Z.T) + shrink * np.eye(d))

    @cached_property
    def column_weights(self) -> Floats:
        """Importance of each column to the trees."""
        if self.known_weights is not None:
            return self.known_weights / self.known_weights.max()
        # Trees of a handful of rows may not split at all: then no column is more important than another.
        importances = self.forest.importances[: self.X.shape[1]] + 1e-6
        return np.asarray(np.maximum(importances / importances.max(), 1e-3))

    @cached_property
    def weighted_components(self) -> "Components":
        """Of very many columns, each stretched by the root of its importance, which they share among them."""
        return Components.of(self.scale.apply(self.X) * np.sqrt(self.column_weights), _LEADING)

    @cached_property
    def forest(self) -> Forest:
        """Extremely randomised trees on the columns and the distances from the centre."""
        return Forest.grow(self.own.with_radial, self.y, _TREES[self.effort], self.seed)


@dataclass(eq=False)
class Unseen:
    """Rows in the coordinates of a fold: those to predict, or those it trains on."""

    fold: Fold
    X: Floats
    parts: Mapping[str, Any] = field(default_factory=dict)
    _made: dict[str, Any] = field(default_factory=dict)

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """What several settings of a learner share, made by the first that asks."""
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    def forget(self) -> None:
        """Let go of what settings of one learner shared."""
        self._made.clear()

    @cached_property
    def scaled(self) -> Floats:
        """Standardized columns, clipped."""
        return self.fold.scale.apply(self.X)

    @cached_property
    def standard(self) -> Floats:
        """Standardized columns; principal components if there are many."""
        return self.scaled if self.fold.components is None else self.fold.components.apply(self.scaled)

    @cached_property
    def radial(self) -> Floats:
        """Squared distance from the centre, standardized and, where there are rows for it, Mahalanobis."""
        columns = [(self.standard**2).mean(axis=1)]
        if self.fold.cholesky is not None:
            columns.append((solve_triangular(self.fold.cholesky, self.standard.T, lower=True) ** 2).mean(axis=0))
        return np.stack(columns, axis=1)

    @cached_property
    def with_radial(self) -> Floats:
        """The columns as they are, and the distances from the centre."""
        return np.hstack([self.X, self.radial])

    @cached_property
    def weighted(self) -> Floats:
        """Standardized columns, each stretched by its importance to the trees: distances without the noise columns."""
        weights = self.fold.column_weights
        if len(weights) <= WIDE:
            return self.standard * weights
        return self.fold.weighted_components.apply(self.scaled * np.sqrt(weights))


Models = dict[str, Callable[[Unseen], Floats]]  # of a learner: by setting, what gives rows their log-probabilities


@dataclass(frozen=True, eq=False)
class Scale:
    """Mean and deviation of training columns; those that are constant there become 0."""

    mean: Floats
    deviation: Floats

    @classmethod
    def of(cls, X: Floats) -> "Scale":
        """Of these rows."""
        mean, deviation = X.mean(axis=0), X.std(axis=0)
        return cls(mean, np.where(deviation > 1e-12 * (1 + np.abs(mean)), deviation, np.inf))

    def apply(self, X: Floats) -> Floats:
        """Standardized, and clipped."""
        return np.clip((X - self.mean) / self.deviation, -_FAR, _FAR)


@dataclass(frozen=True, eq=False)
class Components:
    """Leading principal components, all on one scale: they keep their proportions."""

    mean: Floats
    axes: Floats
    scale: float

    @classmethod
    def of(cls, Z: Floats, most: int) -> "Components":
        """Of these rows. Signs do not matter to any learner, nor does the basis of equal eigenvalues."""
        mean = Z.mean(axis=0)
        Z, most = Z - mean, min(most, len(Z) - 1)
        if min(Z.shape) > _EXACT:
            from sklearn.utils.extmath import randomized_svd

            axes = randomized_svd(Z, most, n_iter=3, random_state=0)[2].T
        elif len(Z) < Z.shape[1]:  # the smaller of the two matrices
            values, vectors = np.linalg.eigh(Z @ Z.T)
            leading = np.argsort(values)[::-1][:most]
            axes = Z.T @ (vectors[:, leading] / np.sqrt(np.maximum(values[leading], 1e-12 * values.max())))
        else:
            values, vectors = np.linalg.eigh(Z.T @ Z)
            axes = vectors[:, np.argsort(values)[::-1][:most]]
        return cls(mean, axes, float(np.sqrt(((Z @ axes) ** 2).mean(axis=0).max())) or 1.0)

    def apply(self, Z: Floats) -> Floats:
        """Rows in these coordinates."""
        return np.asarray((Z - self.mean) @ self.axes / self.scale)


def from_scores(scores: Floats) -> Floats:
    """Logarithms of probabilities from unnormalised ones."""
    return log_probabilities(np.exp(log_softmax(scores, axis=1)))


def log_probabilities(P: Floats, columns: RowNumbers | None = None, n_classes: int | None = None) -> Floats:
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
