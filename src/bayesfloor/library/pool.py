"""Predictions of many learners made one: added in log space, with one weight per learner, cross-fitted."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from .._types import Codes, Floats, RowNumbers, Singles

__all__ = ["N_FOLDS", "Pool", "Stage", "assign_units", "pool_stage", "spaced"]


N_FOLDS = 5
_POOL_ROWS = 20_000  # rows that decide the weights of the pool
_PENALTY = 1e-3


@dataclass(frozen=True, eq=False)
class Stage:
    """Predictions of models trained on one size of training set.

    Attributes
    ----------
    fraction : float
        Of the training rows there are: 1, 1/2 or 1/4.
    n_train : int
        Rows each model was trained on.
    names : tuple of str
        Settings of learners; `learner` the learner each belongs to.
    logs : ndarray of shape (settings, N, C)
        Log-probabilities of rows that the model had not seen.
    """

    fraction: float
    n_train: int
    names: tuple[str, ...]
    learner: tuple[str, ...]
    logs: Singles


@dataclass(frozen=True, eq=False)
class Pool:
    """Which setting of each learner, its weight, and a shift per class."""

    chosen: tuple[int, ...]
    weights: Floats
    shifts: Floats

    @classmethod
    def fit(cls, stage: Stage, y: Codes, rows: RowNumbers) -> "Pool":
        """Choose by log-loss on these rows, then weigh by penalised likelihood; weights are not negative."""
        rows = spaced(rows, _POOL_ROWS)
        truth = y[rows]
        losses = [-float(logs[rows, truth].mean()) for logs in stage.logs]
        best: dict[str, int] = {}
        for j, learner in enumerate(stage.learner):
            if learner not in best or losses[j] < losses[best[learner]]:
                best[learner] = j
        chosen = tuple(best.values())
        T = _centre(stage.logs[np.ix_(np.array(chosen), rows)])
        n_classes = T.shape[2]
        at, n, k = np.arange(len(rows)), len(rows), len(chosen)

        def loss(theta: Floats) -> tuple[float, Floats]:
            logs = log_softmax(np.tensordot(theta[:k], T, 1) + theta[k:], axis=1)
            residual = np.exp(logs)
            residual[at, truth] -= 1
            residual /= n
            penalty = _PENALTY * theta[:k] @ theta[:k] / 2 + 0.01 * theta[k:] @ theta[k:] / 2
            slope = np.concatenate(
                [
                    np.tensordot(T, residual, ([1, 2], [0, 1])) + _PENALTY * theta[:k],
                    residual.sum(axis=0) + 0.01 * theta[k:],
                ]
            )
            return float(-logs[at, truth].mean() + penalty), slope

        start = np.concatenate([np.full(k, 1 / k), np.zeros(n_classes)])
        limits = [(0, None)] * k + [(None, None)] * n_classes
        found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": 60}).x
        return cls(chosen, found[:k], found[k:])

    def predict(self, stage: Stage, rows: RowNumbers) -> Floats:
        """Pooled probabilities of these rows."""
        T = _centre(stage.logs[np.ix_(np.array(self.chosen), rows)])
        return np.exp(log_softmax(np.tensordot(self.weights, T, 1) + self.shifts, axis=1))


def _centre(logs: Singles) -> Floats:
    logs = logs.astype(np.float64)
    return logs - logs.mean(axis=2, keepdims=True)


def spaced(rows: RowNumbers, most: int) -> RowNumbers:
    """These rows, or as many as that of them, evenly spaced.

    Examples
    --------
    >>> spaced(np.arange(9), 3)
    array([0, 4, 8])
    """
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)]


def assign_units(n: int, rng: np.random.Generator, groups: Codes | None = None) -> Codes:
    """Fold 0..N_FOLDS-1 of each row; rows of one group stay together."""
    units = np.arange(n) if groups is None else groups
    return (rng.permutation(int(units.max()) + 1) % N_FOLDS)[units]


def pool_stage(
    stage: Stage, y: Codes, rng: np.random.Generator, groups: Codes | None = None
) -> tuple[Floats, dict[str, float]]:
    """Cross-fitted probabilities of all rows, and the mean weight of each learner."""
    part = assign_units(len(y), rng, groups)
    P, weights = np.empty((len(y), stage.logs.shape[2])), dict.fromkeys(stage.learner, 0.0)
    for k in range(N_FOLDS):
        rest, rows = np.flatnonzero(part != k), np.flatnonzero(part == k)
        pool = Pool.fit(stage, y, rest)
        P[rows] = pool.predict(stage, rows)
        for j, weight in zip(pool.chosen, pool.weights, strict=True):
            weights[stage.learner[j]] += float(weight) / N_FOLDS
    return P, weights
