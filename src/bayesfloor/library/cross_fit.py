"""Cross-fitted scores: what the library predicts for rows it has not seen, at three sizes of the training set.

One fifth of the rows is held out. The models of fraction 1 (five folds) train on up to four fifths of the rows, those
of fractions 1/2 and 1/4 on a half and a quarter of that, never on held-out rows: those then test a classifier that no
choice made on them has touched. The smallest are trained first: learners that they show to be hopeless go no further.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from .._types import Codes, Floats, RowNumbers, Singles
from ..errors import BayesfloorWarning, DataError
from ..utils.parallel import Progress, Threads, Workers
from .fold import Fold, Unseen, log_probabilities
from .learners import LIBRARY, ON_TREES, Learner, Models
from .pool import N_FOLDS, Stage
from .race import survivors

__all__ = [
    "N_MODELS",
    "STAGES",
    "CrossFit",
    "Library",
    "assign_folds",
    "assign_parts",
    "cross_fit",
    "limit_fit_threads",
]


# Models by the fraction of the training rows they see, and the stages made of them: of the smallest there are two
# predictions for each row, by different models.
N_MODELS = {1.0: N_FOLDS, 0.5: 2, 0.25: 4}
STAGES = ((1.0, 0), (0.5, 0), (0.25, 0), (0.25, 1))  # fraction, and which prediction
_SEEN = 5  # rows of each class that a limited training set keeps


# --- cross-fitting ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Task:
    fraction: float
    train: RowNumbers
    predict: Sequence[RowNumbers]  # each set goes to one copy of the stage
    seed: int


@dataclass(frozen=True, eq=False)
class CrossFit:
    """What was predicted, and by what.

    Attributes
    ----------
    stages : list of Stage
        Fractions 1, 1/2, 1/4, and 1/4 again by other models: see `STAGES`.
    fold : ndarray
        Fold of each row; fold 0 is held out.
    dropped : list of str
        Learners that failed, with the reason.
    left_behind : list of str
        Learners that were trained on quarters of the rows only: see `survivors`.
    library : Library
    tasks : list
    """

    stages: list[Stage]
    fold: Codes
    dropped: list[str]
    left_behind: list[str]
    library: "Library"
    tasks: list[_Task]


def assign_parts(labels: Codes, groups: Codes | None, n_parts: int, rng: np.random.Generator) -> Codes:
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


def assign_folds(y: Codes, groups: Codes | None, rng: np.random.Generator) -> Codes:
    """Fold 0 is a plain random sample of rows, or groups, as a certified count needs; the others are stratified.

    Of groups a fixed number: stopping at a fifth of the rows would take large groups too often.
    """
    units = np.arange(len(y)) if groups is None else groups
    n_units = int(units.max()) + 1
    held = rng.permutation(n_units)[: max(1, round(n_units / N_FOLDS))]
    fold = np.where(np.isin(units, held), 0, -1)
    free = np.flatnonzero(fold < 0)
    fold[free] = 1 + assign_parts(y[free], None if groups is None else groups[free], N_FOLDS - 1, rng)
    return fold


def cross_fit(
    X: Floats,
    y: Codes,
    n_classes: int,
    *,
    groups: Codes | None = None,
    extra: Mapping[str, Any] | None = None,
    effort: str = "balanced",
    max_rows: int = 10_000,
    seed: int = 0,
    rng: np.random.Generator | None = None,
    workers: Workers | None = None,
    progress: Progress | None = None,
) -> CrossFit:
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
    seed : int
        Of the learners.
    rng : Generator, optional
        Draws the folds; default: by the seed.
    progress : callable, optional
    workers : Workers, optional
        Where models are trained; default: here, in one thread.
    """
    workers = workers or Threads(1)
    rng = np.random.default_rng(seed) if rng is None else rng
    fold = assign_folds(y, groups, rng)
    free, held = np.flatnonzero(fold != 0), np.flatnonzero(fold == 0)
    quarter = np.full(len(y), -1)
    quarter[free] = assign_parts(y[free], None if groups is None else groups[free], N_MODELS[0.25], rng)
    tasks = [
        _Task(1.0, _at_most(np.flatnonzero(fold != k), y, max_rows, rng), [np.flatnonzero(fold == k)], k)
        for k in range(N_MODELS[1.0])
    ]
    for k in range(N_MODELS[0.5]):
        train = _at_most(np.flatnonzero((quarter >= 0) & (quarter % 2 == k)), y, int(0.5 * max_rows), rng)
        others = np.flatnonzero((quarter >= 0) & (quarter % 2 != k))
        tasks.append(_Task(0.5, train, [np.concatenate([others, held]) if k == 0 else others], k))
    for k in range(N_MODELS[0.25]):
        train = _at_most(np.flatnonzero(quarter == k), y, int(0.25 * max_rows), rng)
        sets = [np.flatnonzero(quarter == (k + step) % N_MODELS[0.25]) for step in (1, 2)]
        tasks.append(_Task(0.25, train, [np.concatenate([s, held]) for s in sets] if k == 0 else sets, k))
    library = Library(n_classes, effort, seed, tuple((extra or {}).items()))
    # What the models of quarters show to be hopeless is not trained on more rows.
    quarters = [task for task in tasks if task.fraction == min(N_MODELS)]
    results, failures = _train(X, y, library, quarters, "training on quarters", workers, progress)
    left_behind: list[str] = []
    if all(results):  # each has seen two classes at least
        seen = _gather(quarters, results, y, n_classes)
        kept = {**survivors(seen, y, free, groups), **{name: [name] for name, _ in library.extra}}
        left_behind = [learner for learner in dict.fromkeys(seen[0].learner) if learner not in kept]
        library = replace(library, kept=kept)
        results = [
            {name: {s: found[name][s] for s in kept[name]} for name in found if name in kept} for found in results
        ]
        del seen  # a copy of what the quarters said, of no more use
    # The longest first, so that no thread is left with one at the end.
    larger = sorted((task for task in tasks if task.fraction > min(N_MODELS)), key=lambda task: -len(task.train))
    more_results, more_failures = _train(X, y, library, larger, "training", workers, progress)
    tasks = quarters + larger
    dropped = sorted(failures | more_failures)
    if dropped:
        warnings.warn(f"left out, because they failed: {'; '.join(dropped)}", BayesfloorWarning, stacklevel=3)
    stages = _gather(tasks, results + more_results, y, n_classes)
    return CrossFit(stages, fold, dropped, left_behind, library, tasks)


@dataclass(frozen=True, eq=False)
class Library:
    """Which learners are trained, and how."""

    n_classes: int
    effort: str
    seed: int
    extra: tuple[tuple[str, Any], ...] = ()
    kept: Mapping[str, Sequence[str]] | None = None  # settings by learner

    def fold(self, X: Floats, y: Codes, task: "_Task") -> Fold:
        """What a task trains on."""
        kept = None if self.kept is None else frozenset().union(*self.kept.values())
        return Fold(X[task.train], y[task.train], self.n_classes, self.seed + task.seed, self.effort, kept)

    def learners(self) -> dict[str, Learner]:
        """Learners by name, the user's last."""
        everyone = {**LIBRARY, **{name: _wrap(name, model) for name, model in self.extra}}
        return {name: learner for name, learner in everyone.items() if self.kept is None or name in self.kept}


_Scores = dict[str, dict[str, Singles]]  # of rows not seen, by learner and setting


def _train(
    X: Floats,
    y: Codes,
    library: Library,
    tasks: Sequence[_Task],
    stage: str,
    workers: Workers,
    progress: Progress | None,
) -> tuple[list[_Scores], set[str]]:
    """What the learners say in each task, and which failed."""
    # Two halves of each: more threads have something to do, and none is left with a long one at the end.
    named = list(library.learners())
    halves = [[name for name in named if name in ON_TREES], [name for name in named if name not in ON_TREES]]
    work = [(task, names) for task in tasks for names in halves]
    found = workers.map(_score_unseen, (X, y, library), work, stage, progress)
    results = []
    for (first, _), (second, _) in zip(found[::2], found[1::2], strict=True):
        both = {**first, **second}
        results.append({name: both[name] for name in named if name in both})
    return results, set().union(*(failed for _, failed in found))


def _score_unseen(
    X: Floats, y: Codes, library: Library, work: tuple[_Task, Sequence[str]]
) -> tuple[_Scores, list[str]]:
    """What some learners, trained on the rows of a task, say of the rows they have not seen; and which failed."""
    task, names = work
    found: _Scores = {}
    failures: list[str] = []
    fold = library.fold(X, y, task)
    if len(np.unique(fold.y)) < 2 or not names:
        return found, failures  # see _gather
    unseen = Unseen(fold, X[np.concatenate(task.predict)])
    learners = library.learners()
    with limit_fit_threads():
        for name in names:
            try:
                models = learners[name](fold)
                scores = {setting: model(unseen) for setting, model in models.items() if fold.wants(setting)}
                found[name] = _check(scores, (len(unseen.X), library.n_classes))
            except Exception as error:  # one learner's trouble must not end the run
                failures.append(f"{name} ({type(error).__name__}: {' '.join(str(error).split())[:120]})")
            unseen.forget()
            fold.own.forget()
    return found, failures


@contextmanager
def limit_fit_threads() -> Iterator[None]:
    """One thread for each fit, and no checks of what was checked already."""
    import sklearn.ensemble  # its OpenMP has to be there to be found

    # OpenMP's number of threads belongs to the thread that asks: a user's boosting would start its own in each.
    # Checks of parameters and finiteness, done once, would cost small fits a tenth of their time.
    checked = sklearn.config_context(assume_finite=True, skip_parameter_validation=True)
    with _openmp().limit(limits=1, user_api="openmp"), checked:
        yield


@cache
def _openmp() -> ThreadpoolController:
    return ThreadpoolController()


def _check(found: dict[str, Floats], shape: tuple[int, int]) -> dict[str, Singles]:
    if any(P.shape != shape or not np.isfinite(P).all() for P in found.values()):
        raise ValueError("its probabilities are not finite, or not one per class")
    return {setting: P.astype(np.float32) for setting, P in found.items()}


def _gather(tasks: Sequence[_Task], results: list[Any], y: Codes, n_classes: int) -> list[Stage]:
    """Stages with the settings that every model of every stage has.

    Where a training set has one class only, as quarters may have of rare ones, all predict that class.
    """
    usable = [len(np.unique(y[task.train])) > 1 for task in tasks]
    per_task = [
        {(learner, name) for learner, found in result.items() for name in found}
        for result, use in zip(results, usable, strict=True)
        if use
    ]
    common = set.intersection(*per_task) if per_task else set()
    if not common:
        raise DataError("no learner could be trained on every part of these rows: there are too few of some class")
    first = results[usable.index(True)]
    keys = [(learner, name) for learner, found in first.items() for name in found if (learner, name) in common]
    n = len(y)
    stages = []
    for fraction, copy in STAGES:
        if not any(task.fraction == fraction for task in tasks):
            continue
        logs = np.zeros((len(keys), n, n_classes), dtype=np.float32)
        sizes = []
        for task, found, use in zip(tasks, results, usable, strict=True):
            if task.fraction != fraction:
                continue
            sizes.append(len(task.train))
            start = sum(len(s) for s in task.predict[:copy])
            rows = task.predict[copy]
            if not use:
                shares = np.bincount(y[task.train], minlength=n_classes)[None] / len(task.train)
                logs[:, rows] = log_probabilities(shares)
                continue
            for j, (learner, setting) in enumerate(keys):
                logs[j, rows] = found[learner][setting][start : start + len(rows)]
        settings, owners = tuple(s for _, s in keys), tuple(learner for learner, _ in keys)
        stages.append(Stage(fraction, int(np.median(sizes)), settings, owners, logs))
    return stages


def _at_most(rows: RowNumbers, y: Codes, limit: int, rng: np.random.Generator) -> RowNumbers:
    """So many rows, drawn at random, but for a few of each class that every model should see."""
    if len(rows) <= limit:
        return rows
    drawn = rng.permutation(rows)
    place = np.empty(len(drawn), dtype=np.int64)  # within its class
    for c in np.unique(y[drawn]):
        place[y[drawn] == c] = np.arange((y[drawn] == c).sum())
    return np.sort(drawn[np.argsort(place >= _SEEN, kind="stable")][:limit])


def _wrap(name: str, model: Any) -> Learner:
    """A scikit-learn classifier as a learner."""

    def learner(fold: Fold) -> Models:
        from sklearn.base import clone

        fitted = clone(model).fit(fold.X, fold.y)

        def predict(unseen: Unseen) -> Floats:
            if hasattr(fitted, "predict_proba"):
                P = fitted.predict_proba(unseen.X)
            else:
                P = (fitted.predict(unseen.X)[:, None] == fitted.classes_).astype(np.float64)
            return log_probabilities(np.asarray(P, dtype=np.float64), fitted.classes_, fold.n_classes)

        return {name: predict}

    return learner
