"""Predictions of many learners made one: added in log space, with one weight per learner, cross-fitted."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import log_softmax

from .._types import Codes, Floats, RowNumbers, Singles

__all__ = ["N_FOLDS", "Pool", "Stage", "assign_units", "leave_out", "pool_stage", "pooled_loss", "spaced"]


N_FOLDS = 5
_POOL_ROWS = 20_000  # rows that decide the weights of the pool
_PENALTY, _SHIFT_PENALTY = 1e-3, 0.01
_STEPS, _TOLERANCE = 50, 1e-7  # of Newton's method
_MOST_SHIFTED = 50  # classes: shifts of more would cost their square, and each has few rows to learn from
_LENGTHS = tuple(0.5**i for i in range(30))


@dataclass(frozen=True, eq=False)
class Stage:
    """Predictions of models trained on one size of training set.

    Attributes
    ----------
    fraction : float
        Of the training rows there are: 1, 1/2, 1/4 or 1/8.
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

    def only(self, learners: Collection[str]) -> "Stage":
        """The same without the other learners."""
        own = [j for j, owner in enumerate(self.learner) if owner in learners]
        names, owners = (tuple(of[j] for j in own) for of in (self.names, self.learner))
        return replace(self, names=names, learner=owners, logs=self.logs[own])


@dataclass(frozen=True, eq=False)
class Pool:
    """Which setting of each learner, its weight, and a shift per class; of very many classes none is shifted."""

    chosen: tuple[int, ...]
    weights: Floats
    shifts: Floats

    @classmethod
    def fit(cls, stage: Stage, y: Codes, rows: RowNumbers, near: "Pool | None" = None) -> "Pool":
        """Choose by log-loss on these rows, then weigh by penalised likelihood; weights are not negative.

        The search for the weights starts from those of a pool of nearly the same rows, if there is one.
        """
        rows = spaced(rows, _POOL_ROWS)
        truth = y[rows]
        losses = [-float(logs[rows, truth].mean()) for logs in stage.logs]
        best: dict[str, int] = {}
        for j, learner in enumerate(stage.learner):
            if learner not in best or losses[j] < losses[best[learner]]:
                best[learner] = j
        chosen = tuple(best.values())
        T = _centre(stage.logs[np.ix_(np.array(chosen), rows)])
        k, shifts = len(chosen), np.zeros(T.shape[2])
        n_shifts = len(shifts) if len(shifts) <= _MOST_SHIFTED else 0
        guess = (np.full(k, 1 / k), shifts) if near is None else (near.weights, near.shifts)
        theta = _weigh(T, truth, np.concatenate([guess[0], guess[1][:n_shifts]]))
        shifts[:n_shifts] = theta[k:]
        return cls(chosen, theta[:k], shifts)

    def predict(self, stage: Stage, rows: RowNumbers) -> Floats:
        """Pooled probabilities of these rows."""
        T = _centre(stage.logs[np.ix_(np.array(self.chosen), rows)])
        return np.exp(log_softmax(np.tensordot(self.weights, T, 1) + self.shifts, axis=1))


def pooled_loss(stage: Stage, y: Codes, rows: RowNumbers) -> float:
    """Log-loss of the pool on the rows that weigh it."""
    P = Pool.fit(stage, y, rows).predict(stage, rows)
    return float(-np.log(P[np.arange(len(rows)), y[rows]]).mean())


def leave_out(stage: Stage, y: Codes, rows: RowNumbers, costly: Sequence[str], little: float) -> Stage:
    """The stage without learners that add little to the pool: `costly` names them, those first that cost most.

    The log-loss of the pool rises by less than `little`, all in all.
    """
    limit, kept = pooled_loss(stage, y, rows) + little, list(dict.fromkeys(stage.learner))
    for learner in costly:
        others = [other for other in kept if other != learner]
        if learner in kept and others and pooled_loss(stage.only(others), y, rows) < limit:
            kept = others
    return stage.only(kept)


def _weigh(T: Floats, truth: Codes, theta: Floats) -> Floats:
    """Weights of the learners, none negative, and shifts of the classes, from a first guess of both.

    T are the learners' log-probabilities, centred.

    Newton's method on what is not held at 0 (Bertsekas, 1982): the loss is convex, and a dozen steps settle it.
    """
    k, n, n_classes = T.shape
    flat, at = T.reshape(k, -1), np.arange(n)
    n_shifts = len(theta) - k
    ridge = np.concatenate([np.full(k, _PENALTY), np.full(n_shifts, _SHIFT_PENALTY)])

    def loss(theta: Floats) -> tuple[float, Floats]:
        scores = (theta[:k] @ flat).reshape(n, n_classes)
        logs = log_softmax(scores + theta[k:] if n_shifts else scores, axis=1)
        return float(-logs[at, truth].mean() + ridge @ theta**2 / 2), np.exp(logs)

    value, P = loss(theta)
    for _ in range(_STEPS):
        residual = P.copy()
        residual[at, truth] -= 1
        slope = np.concatenate([flat @ residual.ravel(), residual.sum(axis=0)[:n_shifts]]) / n + ridge * theta
        is_held = (theta <= 0) & (slope > 0)
        is_held[k:] = False
        free = np.flatnonzero(~is_held)
        if np.abs(slope[free]).max(initial=0.0) < _TOLERANCE:
            break
        curvature = _curvature(T, P, n_shifts)[np.ix_(free, free)] + np.diag(ridge[free])
        step = np.zeros(len(theta))
        step[free] = np.linalg.solve(curvature, slope[free])
        for length in _LENGTHS:
            trial = theta - length * step
            trial[:k] = np.maximum(trial[:k], 0)
            new_value, new_P = loss(trial)
            if new_value <= value - 1e-4 * slope @ (theta - trial):
                break
        else:
            break  # rounding is all that is left
        theta, value, P = trial, new_value, new_P
    return theta


def _curvature(T: Floats, P: Floats, n_shifts: int) -> Floats:
    """Second derivatives of the log-loss by weights and shifts."""
    k, n, n_classes = T.shape
    weighted = T * P
    means = weighted @ np.ones(n_classes)  # a product: sums over a short last axis are slow
    H = np.empty((k + n_shifts, k + n_shifts))
    H[:k, :k] = weighted.reshape(k, -1) @ T.reshape(k, -1).T - means @ means.T
    if not n_shifts:
        return H / n
    H[:k, k:] = weighted.sum(axis=1) - means @ P
    H[k:, :k] = H[:k, k:].T
    H[k:, k:] = np.diag(P.sum(axis=0)) - P.T @ P
    return H / n


def _centre(logs: Singles) -> Floats:
    centred = logs.astype(np.float64)
    centred -= (centred @ np.full(centred.shape[2], 1 / centred.shape[2]))[:, :, None]
    return centred


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
    pool: Pool | None = None
    for k in range(N_FOLDS):
        rest, rows = np.flatnonzero(part != k), np.flatnonzero(part == k)
        pool = Pool.fit(stage, y, rest, pool)
        P[rows] = pool.predict(stage, rows)
        for j, weight in zip(pool.chosen, pool.weights, strict=True):
            weights[stage.learner[j]] += float(weight) / N_FOLDS
    return P, weights
