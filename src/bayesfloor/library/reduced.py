"""The library on some of the columns: same rows, folds and draws as on all of them.

What is left out of a table changes its digest, and with it every draw. Differences between a table and parts of it are
to be paired row by row, so that parts are learned in the order, the folds and the draws of the whole.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._types import Floats, RowNumbers
from ..utils.parallel import Progress, Workers
from .cross_fit import Library, Task, gather, score_fold
from .pool import Stage, leave_out, pool_stage
from .representation import View
from .training import Trained, reweight

__all__ = ["ALONE", "LITTLE", "TOGETHER", "Reduced"]

# Learners that take long to fit, the longest first.
_COSTLY = ("laplace", "trees", "kernel", "weighted neighbours")
_ON_WEIGHTS = ("kernel", "weighted neighbours")  # which stretch columns by their importance
LITTLE = 0.002  # log-loss that the pool may lose without them, all in all: as in the race
# For one column, and for two: what is left behind with many columns may be best with few.
ALONE = ("additive", "gaussian", "neighbours", "boosting")
TOGETHER = ("quadratic", "additive", "gaussian", "neighbours", "trees", "boosting")


@dataclass(frozen=True, eq=False)
class Reduced:
    """Learns tables that lack columns as the whole one was learned.

    Attributes
    ----------
    trained : Trained
        The library on all columns.
    learners : tuple of str
        Those to go on with: all that cost little, and of the others those that the pool needs.
    """

    trained: Trained
    learners: tuple[str, ...]

    @classmethod
    def of(cls, trained: Trained) -> "Reduced":
        """With learners decided by the models of half of the rows, on rows that are not held out."""
        stage, free = trained.fitted.stages[1], np.flatnonzero(trained.fitted.fold != 0)
        stage = stage.only(trained.fitted.library.learners())  # forests of many rows are no part of it
        kept = leave_out(stage, trained.labels, free, _COSTLY, LITTLE).learner
        return cls(trained, tuple(dict.fromkeys(kept)))

    def whole(self, fraction: float = 1.0) -> Floats:
        """Probabilities of all rows by these learners on all columns; nothing is trained."""
        stage = next(stage for stage in self.trained.fitted.stages if stage.fraction == fraction)
        return _pool(self.trained, stage.only(self.learners))

    def without(
        self,
        tables: Sequence[RowNumbers],
        workers: Workers,
        stage: str,
        progress: Progress | None,
        fraction: float = 1.0,
    ) -> list[Floats]:
        """Probabilities of all rows by models of these columns that had not seen them; same learners and settings.

        Parameters
        ----------
        tables : sequence of ndarray
            Columns of each table, by place.
        workers, stage, progress
            Who trains, and what progress calls it.
        fraction : float
            Of the training rows, 1 or 1/2.
        """
        if not tables:
            return []
        whole = self.trained.fitted.stages[0]
        kept: dict[str, list[str]] = {name: [] for name in self.learners}
        for setting, learner in zip(whole.names, whole.learner, strict=True):
            if learner in kept:
                kept[learner].append(setting)
        library = self.trained.fitted.library
        library = replace(library, kept=kept, extra=tuple((name, m) for name, m in library.extra if name in kept))
        tasks = self._tasks(fraction)
        weights: list[Floats] | None = None
        if set(_ON_WEIGHTS) & set(self.learners):
            # Those of the whole table, once for all: trees would have to be grown for every table.
            weights = workers.map(_weights, (self.trained, library), tasks, "weighing columns", progress)
        return workers.map(_learn, (self.trained, library, tasks, weights, self.learners), tables, stage, progress)

    def alone(
        self,
        tables: Sequence[RowNumbers],
        learners: Collection[str],
        workers: Workers,
        stage: str,
        progress: Progress | None,
    ) -> list[Floats]:
        """The same for tables of a few columns, by learners that suit these, in all their settings."""
        if not tables:
            return []
        library = self.trained.fitted.library
        library = replace(library, kept=None, extra=())
        return workers.map(
            _learn, (self.trained, library, self._tasks(1.0), None, tuple(learners)), tables, stage, progress
        )

    def _tasks(self, fraction: float) -> list[Task]:
        return [task for task in self.trained.fitted.tasks if task.fraction == fraction]


def _weights(trained: Trained, library: Library, task: Task) -> Floats:
    """Importance of each column to trees of all of them."""
    return library.fold(View(trained.rows), trained.labels, task).column_weights


def _learn(
    trained: Trained,
    library: Library,
    tasks: Sequence[Task],
    weights: Sequence[Floats] | None,
    names: Sequence[str],
    columns: RowNumbers,
) -> Floats:
    rows, y = View(np.ascontiguousarray(trained.rows[:, columns])), trained.labels
    known = list(library.learners())
    names = [name for name in names if name in known] or known
    found = []
    for number, task in enumerate(tasks):
        fold = library.fold(rows, y, task)
        if weights is not None:
            fold.known_weights = weights[number][columns]
        found.append(score_fold(fold, rows[np.concatenate(task.predict)], library, names)[0])
    return _pool(trained, gather(tasks, found, y, library.n_classes)[0])


def _pool(trained: Trained, stage: Stage) -> Floats:
    """With the folds that the pool of all columns has."""
    P, _ = pool_stage(stage, trained.labels, trained.draws.rng("pooling"), trained.groups)
    return reweight(P, trained.change)
