"""Cross-fitted scores: what the library predicts for rows it has not seen, at four sizes of the training set.

One fifth of the rows is held out. The models of fraction 1 (five folds) train on up to four fifths of the rows, those
of fractions 1/2, 1/4 and 1/8 on such parts of that, never on held-out rows: those then test a classifier that no choice
made on them has touched. Models of eighths and quarters are trained first: learners that they show to be hopeless go no
further. Of few rows what has weight is trained again with other folds and parts of the same free rows, since chance in
the choice of folds then matters as much as chance in the rows.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from .._types import Codes, Floats, RowNumbers, Singles
from ..errors import BayesfloorWarning, DataError
from ..utils.checks import SEEDS
from ..utils.parallel import Progress, Threads, Workers, no_warnings
from .fold import WIDE, Fold, Models, Unseen, log_probabilities
from .learners import LIBRARY, ON_TREES, Learner
from .pool import N_FOLDS, Pool, Stage
from .race import survivors
from .representation import Representation, View

__all__ = [
    "N_MODELS",
    "STAGES",
    "CrossFit",
    "Library",
    "Task",
    "assign_folds",
    "assign_parts",
    "cross_fit",
    "gather",
    "limit_fit_threads",
    "n_models",
    "score_fold",
]


# Models by the fraction of the training rows they see, and the stages made of them: of quarters there are two
# predictions for each row, by different models.
N_MODELS = {1.0: N_FOLDS, 0.5: 2, 0.25: 4, 0.125: 4}
STAGES = ((1.0, 0), (0.5, 0), (0.25, 0), (0.25, 1), (0.125, 0))  # fraction, and which prediction
# Models of these fractions decide which learners are trained on more rows: paired standard errors that are needed.
_RACES = {0.125: 6.0, 0.25: 3.0}
_PARTS = {0.125: "eighths", 0.25: "quarters"}
_RACE_ROWS = 150  # of an eighth, to decide anything
_LEAST_WEIGHT = 0.02  # share of the pool that a learner needs to be trained on other folds, too
_SEEN = 5  # rows of each class that a limited training set keeps


def n_models(repeats: int) -> dict[float, int]:
    """Models by the fraction of the training rows that they see, for so many choices of folds.

    Examples
    --------
    >>> n_models(2)
    {1.0: 9, 0.5: 4, 0.25: 8, 0.125: 8}
    """
    counts = {fraction: repeats * count for fraction, count in N_MODELS.items()}
    counts[1.0] -= repeats - 1  # the models that predict the held-out rows are the same
    return counts


# --- cross-fitting ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Task:
    """Rows to train on, as a fraction of those there are, and rows to predict."""

    fraction: float
    train: RowNumbers
    predict: Sequence[RowNumbers]  # each set goes to one copy of the stage
    seed: int


@dataclass(frozen=True, eq=False)
class CrossFit:
    """What was predicted, and by what.

    Attributes
    ----------
    repeats : list of list of Stage
        For each choice of folds the fractions 1, 1/2, 1/4, 1/4 again by other models, and 1/8: see `STAGES`. Those of
        the first choice are `stages`.
    fold : ndarray
        Fold of each row, first choice; fold 0 is held out, in all of them.
    dropped : list of str
        Learners that failed, with the reason.
    left_behind : list of str
        Learners that were trained on eighths or quarters of the rows only: see `survivors`.
    library : Library
    tasks : list
    """

    repeats: list[list[Stage]]
    fold: Codes
    dropped: list[str]
    left_behind: list[str]
    library: "Library"
    tasks: list[Task]

    @property
    def stages(self) -> list[Stage]:
        """Stages of the first choice of folds, whose models of fold 0 are those that are certified."""
        return self.repeats[0]


def assign_parts(labels: Codes, groups: Codes | None, n_parts: int, rng: np.random.Generator) -> Codes:
    """Part 0..n_parts-1 of each row, balanced within each class; rows of one group stay together."""
    part = np.empty(len(labels), dtype=np.int64)
    if groups is not None:
        from sklearn.model_selection import StratifiedGroupKFold

        splitter = StratifiedGroupKFold(n_parts, shuffle=True, random_state=int(rng.integers(2**31)))
        with no_warnings:  # of rare classes that not every part can have
            for k, (_, rows) in enumerate(splitter.split(labels, labels, groups)):
                part[rows] = k
        return part
    offset = 0
    for c in range(int(labels.max()) + 1):
        rows = rng.permutation(np.flatnonzero(labels == c))
        part[rows] = (np.arange(len(rows)) + offset) % n_parts
        offset += len(rows)
    return part


def _assign_eighths(labels: Codes, groups: Codes | None, rng: np.random.Generator) -> Codes:
    """Part 0..7 of each row; parts k and k + 4 are a quarter."""
    if groups is None:
        return assign_parts(labels, None, 8, rng)
    quarters = assign_parts(labels, groups, 4, rng)
    # Groups of a quarter by turns: of rare classes there may be too few to balance eighths as well.
    places = np.empty(int(groups.max()) + 1, dtype=np.int64)
    places[rng.permutation(len(places))] = np.arange(len(places))
    for k in range(4):
        own = np.unique(groups[quarters == k])
        places[own[np.argsort(places[own])]] = np.arange(len(own))
    return np.asarray(quarters + 4 * (places[groups] % 2))


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
    X: Floats | View,
    y: Codes,
    n_classes: int,
    *,
    groups: Codes | None = None,
    extra: Mapping[str, Any] | None = None,
    effort: str = "balanced",
    max_rows: int = 10_000,
    repeats: int = 1,
    seed: int = 0,
    rng: np.random.Generator | None = None,
    fold: Codes | None = None,
    representation: Representation | None = None,
    workers: Workers | None = None,
    progress: Progress | None = None,
) -> CrossFit:
    """Predict every row by models that have not seen it.

    Parameters
    ----------
    X, y : ndarray
        Rows in an order of their content, as columns or as a `View`; codes.
    n_classes : int
    groups : ndarray, optional
        Copies of one record: kept together.
    extra : mapping of name to scikit-learn classifier, optional
    effort, max_rows
        How many trees; how many rows a model is trained on at most.
    repeats : int
        Choices of folds.
    seed : int
        Of the learners.
    rng : Generator, optional
        Draws the folds; default: by the seed.
    fold : ndarray, optional
        Fold of each row, if they have been assigned by `rng` already: a representation was learned from those that are
        not held out.
    representation : Representation, optional
        Says which learners there are.
    progress : callable, optional
    workers : Workers, optional
        Where models are trained; default: here, in one thread.
    """
    workers = workers or Threads(1)
    rng = np.random.default_rng(seed) if rng is None else rng
    rows = X if isinstance(X, View) else View(X)
    fold = assign_folds(y, groups, rng) if fold is None else fold
    free = np.flatnonzero(fold != 0)
    tasks = _divide(y, groups, fold, max_rows, rng)
    library = Library(
        n_classes, effort, seed, tuple((extra or {}).items()), representation=representation, groups=groups
    )
    results: dict[int, Scores] = {}
    failures: set[str] = set()

    def train(chosen: Sequence[int], stage: str) -> list[Scores]:
        found, failed = _train(rows, y, library, [tasks[i] for i in chosen], stage, workers, progress)
        results.update(zip(chosen, found, strict=True))
        failures.update(failed)
        return found

    everyone: list[str] = []
    for fraction, margin in _RACES.items():
        chosen = [i for i, task in enumerate(tasks) if task.fraction == fraction]
        if fraction == min(N_MODELS) and min(len(tasks[i].train) for i in chosen) < _RACE_ROWS:
            continue
        found = train(chosen, f"training on {_PARTS[fraction]}")
        if all(found):  # each has seen two classes at least
            seen = gather([tasks[i] for i in chosen], found, y, n_classes)
            kept = survivors(seen, y, free, groups, margin)
            everyone = everyone or list(dict.fromkeys(seen[0].learner))
            library = replace(library, kept={**kept, **{name: [name] for name, _ in library.extra}})
            del seen  # a copy of what these models said, of no more use
    left_behind = [] if library.kept is None else [name for name in everyone if name not in library.kept]
    train([i for i in range(len(tasks)) if i not in results], "training")
    each = [gather(tasks, [results[i] for i in range(len(tasks))], y, n_classes)]
    if repeats > 1:
        # The models that predict the held-out rows are the same in all repeats: their rows are all that are free.
        again = []
        for repeat in range(1, repeats):
            other = fold.copy()
            other[free] = 1 + assign_parts(y[free], None if groups is None else groups[free], N_FOLDS - 1, rng)
            again.append(_divide(y, groups, other, max_rows, rng, repeat)[1:])
        library_again = replace(library, kept=_carriers(each[0], y, free, library))
        more, failed = _train(
            rows, y, library_again, [t for part in again for t in part], "training on other folds", workers, progress
        )
        failures |= failed
        found_again = iter(more)
        each += [
            gather([tasks[0], *part], [results[0], *(next(found_again) for _ in part)], y, n_classes) for part in again
        ]
    dropped = sorted(failures)
    if dropped:
        warnings.warn(f"left out, because they failed: {'; '.join(dropped)}", BayesfloorWarning, stacklevel=3)
    return CrossFit(each, fold, dropped, left_behind, library, tasks)


def _carriers(stages: Sequence[Stage], y: Codes, free: RowNumbers, library: "Library") -> dict[str, list[str]]:
    """Settings that have weight in the pool of any stage, by learner; the user's classifiers in any case."""
    kept: dict[str, list[str]] = {}
    for stage in stages:
        pool = Pool.fit(stage, y, free)
        carries = pool.weights >= _LEAST_WEIGHT * pool.weights.sum()
        for j, is_carrier in zip(pool.chosen, carries, strict=True):
            own = kept.setdefault(stage.learner[j], [])
            if is_carrier and stage.names[j] not in own:
                own.append(stage.names[j])
    return {**{name: own for name, own in kept.items() if own}, **{name: [name] for name, _ in library.extra}}


def _divide(
    y: Codes, groups: Codes | None, fold: Codes, max_rows: int, rng: np.random.Generator, repeat: int = 0
) -> list[Task]:
    """What to train on which rows, for these folds; the first task predicts the held-out ones."""
    free, held = np.flatnonzero(fold != 0), np.flatnonzero(fold == 0)
    part = np.full(len(y), -1)
    part[free] = _assign_eighths(y[free], None if groups is None else groups[free], rng)
    tasks = [
        Task(1.0, _at_most(np.flatnonzero(fold != k), y, max_rows, rng), [np.flatnonzero(fold == k)], k)
        for k in range(N_MODELS[1.0])
    ]
    for fraction, count in list(N_MODELS.items())[1:]:
        # An eighth lies in a quarter, and a quarter in a half: what is predicted is never in what was trained on.
        within = np.where(part < 0, -1, part % count)
        for k in range(count):
            own = (part >= 0) & (part % round(1 / fraction) == k)
            train = _at_most(np.flatnonzero(own), y, int(fraction * max_rows), rng)
            copies = sum(stage == fraction for stage, _ in STAGES)
            sets = [np.flatnonzero(within == (k + step) % count) for step in range(1, copies + 1)]
            tasks.append(Task(fraction, train, [np.concatenate([s, held]) for s in sets] if k == 0 else sets, k))
    return [replace(task, seed=task.seed + N_FOLDS * repeat) for task in tasks]


@dataclass(frozen=True, eq=False)
class Library:
    """Which learners are trained, and how."""

    n_classes: int
    effort: str
    seed: int
    extra: tuple[tuple[str, Any], ...] = ()
    kept: Mapping[str, Sequence[str]] | None = None  # settings by learner
    representation: Representation | None = None
    groups: Codes | None = None  # of all rows

    def fold(self, rows: View, y: Codes, task: Task) -> Fold:
        """What a task trains on."""
        kept = None if self.kept is None else frozenset().union(*self.kept.values())
        own, seed = rows[task.train], (self.seed + task.seed) % SEEDS
        units = None if self.groups is None else self.groups[task.train]
        return Fold(own.columns, y[task.train], self.n_classes, seed, self.effort, kept, parts=own.parts, units=units)

    def learners(self) -> dict[str, Learner]:
        """Learners by name, the user's last."""
        made = self.representation
        everyone = LIBRARY if made is None else {name: LIBRARY[name] for name in LIBRARY if name not in made.unused}
        everyone = {**everyone, **({} if made is None else made.learners)}
        everyone.update((name, _wrap(name, model)) for name, model in self.extra)
        return {name: learner for name, learner in everyone.items() if self.kept is None or name in self.kept}


Scores = dict[str, dict[str, Singles]]  # of rows not seen, by learner and setting


def _train(
    rows: View,
    y: Codes,
    library: Library,
    tasks: Sequence[Task],
    stage: str,
    workers: Workers,
    progress: Progress | None,
) -> tuple[list[Scores], set[str]]:
    """What the learners say in each task, and which failed."""
    # Two parts of each: more threads have something to do, and none is left with a long one at the end. Of very many
    # columns both would need principal components, which cost more than that gains.
    named = list(library.learners())
    parts = [[name for name in named if name in ON_TREES], [name for name in named if name not in ON_TREES]]
    parts = parts if rows.columns.shape[1] <= WIDE else [named]
    # The longest first, so that no thread is left with one at the end.
    order = sorted(range(len(tasks)), key=lambda i: -len(tasks[i].train))
    work = [(i, names) for i in order for names in parts]
    found = workers.map(_score_unseen, (rows, y, library), [(tasks[i], names) for i, names in work], stage, progress)
    scores: list[Scores] = [{} for _ in tasks]
    for (i, _), (own, _) in zip(work, found, strict=True):
        scores[i].update(own)
    results = [{name: own[name] for name in named if name in own} for own in scores]
    return results, set().union(*(failed for _, failed in found))


def _score_unseen(rows: View, y: Codes, library: Library, work: tuple[Task, Sequence[str]]) -> tuple[Scores, list[str]]:
    """What some learners, trained on the rows of a task, say of the rows they have not seen; and which failed."""
    task, names = work
    return score_fold(library.fold(rows, y, task), rows[np.concatenate(task.predict)], library, names)


def score_fold(fold: Fold, rows: View, library: Library, names: Sequence[str]) -> tuple[Scores, list[str]]:
    """What some learners, trained on a fold, say of rows they have not seen; and which failed."""
    found: Scores = {}
    failures: list[str] = []
    if len(np.unique(fold.y)) < 2 or not names:
        return found, failures  # see gather
    unseen = Unseen(fold, rows.columns, rows.parts)
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


def gather(tasks: Sequence[Task], results: Sequence[Any], y: Codes, n_classes: int) -> list[Stage]:
    """Stages with the settings that every model of every stage has; that of eighths with those that its own have.

    Where a training set has one class only, as small ones may have of rare classes, all predict that class.
    """
    usable = [len(np.unique(y[task.train])) > 1 for task in tasks]
    is_larger = [task.fraction > min(N_MODELS) for task in tasks]
    keys = _common(tasks, results, usable, lambda fraction: fraction > min(N_MODELS) or not any(is_larger))
    if not keys:
        raise DataError("no learner could be trained on every part of these rows: there are too few of some class")
    # What cannot be trained on an eighth of few rows is not taken from the larger stages for that.
    fewest = set(_common(tasks, results, usable, lambda fraction: fraction == min(N_MODELS)))
    smallest = [key for key in keys if key in fewest]
    n = len(y)
    stages = []
    for fraction, copy in STAGES:
        if not any(task.fraction == fraction for task in tasks):
            continue
        own = smallest or keys[:1] if fraction == min(N_MODELS) else keys
        logs = np.zeros((len(own), n, n_classes), dtype=np.float32)
        sizes = []
        for task, found, use in zip(tasks, results, usable, strict=True):
            if task.fraction != fraction:
                continue
            sizes.append(len(task.train))
            start = sum(len(s) for s in task.predict[:copy])
            rows = task.predict[copy]
            if not use or (fraction == min(N_MODELS) and not smallest):
                counts = np.bincount(y[task.train], minlength=n_classes)[None]
                logs[:, rows] = log_probabilities(counts / max(len(task.train), 1))
                continue
            for j, (learner, setting) in enumerate(own):
                logs[j, rows] = found[learner][setting][start : start + len(rows)]
        settings, owners = tuple(s for _, s in own), tuple(learner for learner, _ in own)
        stages.append(Stage(fraction, int(np.median(sizes)), settings, owners, logs))
    return stages


def _common(
    tasks: Sequence[Task], results: Sequence[Any], usable: Sequence[bool], counts: Callable[[float], bool]
) -> list[tuple[str, str]]:
    """Learners and settings that the models of these fractions have in common, in the order of the first."""
    found = [
        [(learner, name) for learner, settings in result.items() for name in settings]
        for task, result, use in zip(tasks, results, usable, strict=True)
        if use and counts(task.fraction)
    ]
    common = set.intersection(*map(set, found)) if found else set()
    return [key for key in found[0] if key in common] if found else []


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

        fitted = clone(model).fit(fold.parts.get("given", fold.X), fold.y)

        def predict(unseen: Unseen) -> Floats:
            rows = unseen.parts.get("given", unseen.X)
            if hasattr(fitted, "predict_proba"):
                P = fitted.predict_proba(rows)
            else:
                P = (fitted.predict(rows)[:, None] == fitted.classes_).astype(np.float64)
            return log_probabilities(np.asarray(P, dtype=np.float64), fitted.classes_, fold.n_classes)

        return {name: predict}

    return learner
