"""Cross-fitted scores: what the library predicts for rows it has not seen, at three sizes of the training set.

One fifth of the rows is locked. The *whole* models (five folds) train on up to four fifths of the rows, the *half*
and *quarter* models on a half and a quarter of that, never on locked rows: those then test a classifier that no choice
has seen. Predictions are pooled in log space, with one weight per learner, cross-fitted in turn.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax
from threadpoolctl import ThreadpoolController

from .errors import BayesfloorWarning
from .learners import LIBRARY, Fold, log_probabilities
from .workers import Progress, run_tasks

__all__ = ["Pool", "Stage", "cross_fit", "locked_errors"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Rows = NDArray[np.int64]
Learner = Callable[[Fold], dict[str, Floats]]

N_FOLDS = 5
_POOL_ROWS = 20_000  # rows that decide the weights of the pool
_PENALTY = 1e-3


@dataclass(frozen=True, eq=False)
class Stage:
    """Predictions of models trained on one size of training set.

    Attributes
    ----------
    name : str
        "whole", "half" or "quarter".
    n_train : int
        Rows each model was trained on.
    names : tuple of str
        Settings of learners; `learner` the learner each belongs to.
    logs : ndarray of shape (settings, N, C)
        Log-probabilities of rows that the model had not seen.
    """

    name: str
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
    def fit(cls, stage: Stage, y: Rows, rows: Rows) -> "Pool":
        """Choose by log-loss on these rows, then weigh by penalised likelihood; weights are not negative."""
        if len(rows) > _POOL_ROWS:
            rows = rows[np.linspace(0, len(rows) - 1, _POOL_ROWS).astype(np.int64)]
        truth = y[rows]
        losses = [-float(logs[rows, truth].mean()) for logs in stage.logs]
        best: dict[str, int] = {}
        for j, learner in enumerate(stage.learner):
            if learner not in best or losses[j] < losses[best[learner]]:
                best[learner] = j
        chosen = tuple(best.values())
        T = _centred(stage.logs[np.ix_(np.array(chosen), rows)])
        n_classes = T.shape[2]
        at, n, k = np.arange(len(rows)), len(rows), len(chosen)

        def loss(theta: Floats) -> tuple[float, Floats]:
            logs = log_softmax(np.tensordot(theta[:k], T, 1) + theta[k:], axis=1)
            residual = np.exp(logs)
            residual[at, truth] -= 1
            residual /= n
            penalty = _PENALTY * theta[:k] @ theta[:k] / 2 + 0.01 * theta[k:] @ theta[k:] / 2
            slope = np.concatenate([np.tensordot(T, residual, ([1, 2], [0, 1])) + _PENALTY * theta[:k],
                                    residual.sum(axis=0) + 0.01 * theta[k:]])  # fmt: skip
            return float(-logs[at, truth].mean() + penalty), slope

        start = np.concatenate([np.full(k, 1 / k), np.zeros(n_classes)])
        limits = [(0, None)] * k + [(None, None)] * n_classes
        found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": 60}).x
        return cls(chosen, found[:k], found[k:])

    def predict(self, stage: Stage, rows: Rows) -> Floats:
        """Pooled probabilities of these rows."""
        T = _centred(stage.logs[np.ix_(np.array(self.chosen), rows)])
        return np.exp(log_softmax(np.tensordot(self.weights, T, 1) + self.shifts, axis=1))


def _centred(logs: Singles) -> Floats:
    logs = logs.astype(np.float64)
    return logs - logs.mean(axis=2, keepdims=True)


def pooled(stage: Stage, y: Rows, seed: int) -> tuple[Floats, dict[str, float]]:
    """Cross-fitted probabilities of all rows, and the mean weight of each learner."""
    part = np.random.default_rng(seed).permutation(len(y)) % N_FOLDS
    P, weights = np.empty((len(y), stage.logs.shape[2])), dict.fromkeys(stage.learner, 0.0)
    for k in range(N_FOLDS):
        rest, rows = np.flatnonzero(part != k), np.flatnonzero(part == k)
        pool = Pool.fit(stage, y, rest)
        P[rows] = pool.predict(stage, rows)
        for j, weight in zip(pool.chosen, pool.weights, strict=True):
            weights[stage.learner[j]] += float(weight) / N_FOLDS
    return P, weights


# --- cross-fitting ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Task:
    stage: int
    train: Rows
    predict: Sequence[Rows]  # each set goes to one copy of the stage
    seed: int


def assign_parts(labels: Rows, groups: Rows | None, n_parts: int, rng: np.random.Generator) -> Rows:
    """Part 0..n_parts-1 of each row, balanced within each class; rows of one group stay together."""
    part = np.empty(len(labels), dtype=np.int64)
    if groups is not None:
        from sklearn.model_selection import StratifiedGroupKFold

        splitter = StratifiedGroupKFold(n_parts, shuffle=True, random_state=int(rng.integers(2**31)))
        for k, (_, rows) in enumerate(splitter.split(labels, labels, groups)):
            part[rows] = k
        return part
    offset = 0
    for c in range(int(labels.max()) + 1):
        rows = rng.permutation(np.flatnonzero(labels == c))
        part[rows] = (np.arange(len(rows)) + offset) % n_parts
        offset += len(rows)
    return part


def _folds(y: Rows, groups: Rows | None, rng: np.random.Generator) -> Rows:
    """Fold 0 is a plain random sample of rows, or groups, as a certified count needs; the others are stratified."""
    units = np.arange(len(y)) if groups is None else groups
    order = rng.permutation(int(units.max()) + 1)
    sizes = np.bincount(units)[order]
    locked = order[: int(np.searchsorted(np.cumsum(sizes), len(y) / N_FOLDS)) + 1]
    fold = np.where(np.isin(units, locked), 0, -1)
    free = np.flatnonzero(fold < 0)
    fold[free] = 1 + assign_parts(y[free], None if groups is None else groups[free], N_FOLDS - 1, rng)
    return fold


def cross_fit(
    X: Floats,
    y: Rows,
    n_classes: int,
    *,
    groups: Rows | None = None,
    extra: Mapping[str, Any] | None = None,
    effort: str = "balanced",
    max_rows: int = 10_000,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> tuple[list[Stage], Rows, list[str]]:
    """Predict every row by models that have not seen it.

    Parameters
    ----------
    X, y : ndarray
        Rows in an order of their content; codes.
    n_classes : int
    groups : ndarray, optional
        Copies of one record: kept together.
    extra : mapping of name to scikit-learn classifier, optional
    effort, max_rows
        How many trees; how many rows a model is trained on at most.
    seed, threads, progress

    Returns
    -------
    stages : list of Stage
        Whole, half, quarter, and quarter again by other models.
    fold : ndarray
        Fold of each row; fold 0 is locked.
    dropped : list of str
        Learners that failed, with the reason.
    """
    rng = np.random.default_rng(seed)
    fold = _folds(y, groups, rng)
    free, locked = np.flatnonzero(fold != 0), np.flatnonzero(fold == 0)
    quarter = np.full(len(y), -1)
    quarter[free] = assign_parts(y[free], None if groups is None else groups[free], 4, rng)
    tasks = [
        _Task(0, _at_most(np.flatnonzero(fold != k), max_rows, rng), [np.flatnonzero(fold == k)], k)
        for k in range(N_FOLDS)
    ]
    for k in range(2):
        train = _at_most(np.flatnonzero((quarter >= 0) & (quarter % 2 == k)), max_rows // 2, rng)
        others = np.flatnonzero((quarter >= 0) & (quarter % 2 != k))
        tasks.append(_Task(1, train, [np.concatenate([others, locked]) if k == 0 else others], k))
    for k in range(4):
        train = _at_most(np.flatnonzero(quarter == k), max_rows // 4, rng)
        sets = [np.flatnonzero(quarter == (k + step) % 4) for step in (1, 2)]
        tasks.append(_Task(2, train, [np.concatenate([s, locked]) for s in sets] if k == 0 else sets, k))
    learners = {**LIBRARY, **{name: _wrapped(name, model) for name, model in (extra or {}).items()}}
    results: list[dict[str, dict[str, Singles]]] = [{} for _ in tasks]
    failures: list[str] = []
    import sklearn.ensemble  # noqa: F401  (its OpenMP has to be there to be found)

    openmp = ThreadpoolController()

    def work(number: int) -> None:
        task = tasks[number]
        rows = np.concatenate(task.predict)
        part = Fold(X[task.train], y[task.train], X[rows], n_classes, seed + task.seed, effort)
        # OpenMP's number of threads belongs to the thread that asks: boosting would start its own in each.
        with openmp.limit(limits=1, user_api="openmp"):
            for name, learner in learners.items():
                try:
                    results[number][name] = _checked(learner(part), (len(rows), n_classes))
                except Exception as error:  # one learner's trouble must not end the run
                    failures.append(f"{name} ({type(error).__name__}: {' '.join(str(error).split())[:120]})")

    # The longest first, so that no thread is left with one at the end.
    order = sorted(range(len(tasks)), key=lambda i: -len(tasks[i].train))
    with warnings.catch_warnings():  # once for all threads, which share the filters
        warnings.simplefilter("ignore")
        run_tasks(work, order, threads, progress, "training")
    dropped = sorted(set(failures))
    if dropped:
        warnings.warn(f"left out, because they failed: {'; '.join(dropped)}", BayesfloorWarning, stacklevel=3)
    return _gathered(tasks, results, len(y), n_classes), fold, dropped


def _checked(found: dict[str, Floats], shape: tuple[int, int]) -> dict[str, Singles]:
    if any(P.shape != shape or not np.isfinite(P).all() for P in found.values()):
        raise ValueError("its probabilities are not finite, or not one per class")
    return {setting: P.astype(np.float32) for setting, P in found.items()}


def _gathered(tasks: Sequence[_Task], results: Sequence[Any], n: int, n_classes: int) -> list[Stage]:
    """Stages with the settings that every model of every stage has."""
    per_task = [{(learner, name) for learner, found in r.items() for name in found} for r in results]
    common = set.intersection(*per_task)
    keys = [(learner, name) for learner, found in results[0].items() for name in found if (learner, name) in common]
    stages = []
    for number, name, copy in ((0, "whole", 0), (1, "half", 0), (2, "quarter", 0), (2, "quarter", 1)):
        logs = np.zeros((len(keys), n, n_classes), dtype=np.float32)
        sizes = []
        for task, found in zip(tasks, results, strict=True):
            if task.stage != number:
                continue
            sizes.append(len(task.train))
            start = sum(len(s) for s in task.predict[:copy])
            rows = task.predict[copy]
            for j, (learner, setting) in enumerate(keys):
                logs[j, rows] = found[learner][setting][start : start + len(rows)]
        settings, owners = tuple(s for _, s in keys), tuple(learner for learner, _ in keys)
        stages.append(Stage(name, int(np.median(sizes)), settings, owners, logs))
    return stages


def locked_errors(whole: Stage, half: Stage, y: Rows, fold: Rows, change: Floats) -> tuple[Rows, Rows]:
    """Errors on the locked rows of a classifier that no choice made on them has touched, and their number, per class.

    The models of fold 0 have not seen the locked rows, nor have those of the half stage, which decide settings and
    weights on the other rows. Class probabilities are multiplied by `change`, for other class shares than those here.
    """
    free, locked = np.flatnonzero(fold != 0), np.flatnonzero(fold == 0)
    named = (Pool.fit(half, y, free).predict(whole, locked) * change).argmax(axis=1)
    truth, n_classes = y[locked], len(change)
    return np.bincount(truth[named != truth], minlength=n_classes), np.bincount(truth, minlength=n_classes)


def _at_most(rows: Rows, limit: int, rng: np.random.Generator) -> Rows:
    return rows if len(rows) <= limit else np.sort(rng.permutation(rows)[:limit])


def _wrapped(name: str, model: Any) -> Learner:
    """A scikit-learn classifier as a learner."""

    def learner(fold: Fold) -> dict[str, Floats]:
        from sklearn.base import clone

        fitted = clone(model).fit(fold.X, fold.y)
        if hasattr(fitted, "predict_proba"):
            P = fitted.predict_proba(fold.T)
        else:
            P = np.eye(len(fitted.classes_))[np.searchsorted(fitted.classes_, fitted.predict(fold.T))]
        return {name: log_probabilities(np.asarray(P, dtype=np.float64), fitted.classes_, fold.n_classes)}

    return learner
