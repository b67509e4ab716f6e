"""The pooled library, ready to score any row."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Codes, Floats, RowNumbers
from ..library.arrangement import near_points
from ..library.cross_fit import Library, limit_fit_threads
from ..library.fold import Fold, Unseen
from ..library.forest import Forests
from ..library.learners import FOREST, SLOWEST
from ..library.pool import Pool, leave_out
from ..library.representation import Encoder, RawRows, View
from ..library.training import Learned, reweight
from ..rows.blocks import BLOCK_ROWS, Part
from ..rows.scaling import Standard
from ..utils.parallel import Progress, Threads

__all__ = ["DIGITS", "Scorer", "in_sample"]


# Probabilities are rounded here: how a matrix product is cut into blocks changes digits far behind.
DIGITS = 9
_LITTLE = 2e-4  # log-loss that scores of new rows may lose for speed, all in all


@dataclass(frozen=True, eq=False)
class Scorer:
    """The pooled library, ready for any row; rows of the sample get what models said that had not seen them.

    Attributes
    ----------
    standard : Standard
    columns : ndarray
        Columns that are used, by place, in the order that models have them in.
    models : list of (function, weight)
    fold : Fold
        What they were trained on.
    shifts, change, codes : ndarray of shape (C,)
    numbers, posterior : ndarray
        Rows of the sample, ascending, and their probabilities.
    forests, grown, forest_weight
        Forests of many rows, if they carry weight: the first scores all rows but its own, the second those.
    encoder, raw
        Where rows of blocks only tell raw rows apart: what makes columns of those, and all of them.
    """

    standard: Standard
    columns: RowNumbers
    models: list[tuple[Any, float]]
    fold: Fold
    shifts: Floats
    change: Floats
    codes: Codes
    numbers: RowNumbers
    posterior: Floats
    forests: Forests | None
    grown: tuple[Any, Any] | None
    forest_weight: float
    encoder: Encoder | None = None
    raw: RawRows | None = None

    @property
    def used(self) -> list[RowNumbers]:
        """Numbers of the rows that trained or weighed the models by which all new rows are scored.

        Those of a forest, too, that carries no weight: without them it might have carried some.
        """
        return [self.numbers] if self.forests is None else [self.numbers, self.forests.numbers]

    @classmethod
    def of(
        cls,
        learned: Learned,
        columns: RowNumbers,
        numbers: RowNumbers,
        forests: Forests | None,
        threads: int,
        progress: Progress | None,
        raw: RawRows | None = None,
    ) -> "Scorer":
        """Weigh the library on the whole sample, and train once more those that carry weight.

        Of a million rows most of the time goes into the slowest learners: they stay only if they add something.
        """
        fitted = learned.fitted
        rows = np.arange(len(learned.labels))
        stage = leave_out(fitted.stages[0], learned.labels, rows, SLOWEST, _LITTLE)
        pool = Pool.fit(stage, learned.labels, rows)
        task = next(task for task in fitted.tasks if task.fraction == 1 and task.seed == 0)
        fold = fitted.library.fold(learned.view, learned.labels, task)
        weighty = [(j, float(w)) for j, w in zip(pool.chosen, pool.weights, strict=True) if w > 0]
        grown, forest_weight = None, 0.0
        for j, weight in weighty:
            if forests is not None and stage.learner[j] == FOREST:
                grown, forest_weight = forests.grow(stage.names[j], threads, progress), weight
        weighty = [(j, weight) for j, weight in weighty if stage.learner[j] != FOREST]
        settings = [(stage.learner[j], stage.names[j]) for j, _ in weighty]
        trained = Threads(threads).map(_train_setting, (fold, fitted.library), settings, "final models", progress)
        fold.own.forget()  # kernels of the training rows, and the like: models do not need them any more
        models = [(model, weight) for model, (_, weight) in zip(trained, weighty, strict=True)]
        return cls(
            learned.arrangement.standard,
            columns,
            models,
            fold,
            pool.shifts,
            learned.change,
            learned.arrangement.codes,
            numbers,
            np.round(learned.posterior(), DIGITS),
            None if forests is None else forests.without_rows(),
            grown,
            forest_weight,
            learned.encoder,
            raw,
        )

    def __call__(self, part: Part) -> Floats:
        """Probabilities of the rows of a block, classes in sorted order; some rows at a time, however large it is."""
        P = np.empty((len(part.X), len(self.codes)))
        known, at = in_sample(part, self.numbers)
        P[known] = self.posterior[at]
        new = np.flatnonzero(~known)
        trained = np.zeros(len(part.X), dtype=bool)
        if self.forests is not None:
            trained, _ = in_sample(part, self.forests.numbers)
        for start in range(0, len(new), BLOCK_ROWS):
            rows = new[start : start + BLOCK_ROWS]
            P[rows] = self._of_new(self._view(part, rows), trained[rows])
        return P

    def _view(self, part: Part, rows: RowNumbers) -> View:
        """Rows of a block as the library sees them."""
        if self.encoder is None or self.raw is None:
            near = near_points(self.standard, part.X[np.ix_(rows, self.columns)])
            given = "given" in self.fold.parts
            return View(near, {"given": near.take(np.argsort(self.columns), axis=1)} if given else {})
        return self.encoder.apply(self.raw[part.start + rows].rows, Threads(1), None)

    def _of_new(self, view: View, trained: NDArray[np.bool_]) -> Floats:
        """Probabilities of rows outside the sample; `trained`: they are rows of the first forest."""
        unseen = Unseen(self.fold, view.columns, view.parts)
        total = np.tile(self.shifts, (len(view), 1))
        with limit_fit_threads():
            for model, weight in self.models:
                total += weight * _centre(model(unseen))
                unseen.forget()
            if self.forests is not None and self.grown is not None:
                for forest, rows in zip(self.grown, (np.flatnonzero(~trained), np.flatnonzero(trained)), strict=True):
                    if len(rows):
                        logs = self.forests.logs(forest, unseen.X[rows])
                        total[rows] += self.forest_weight * _centre(logs)
        total -= total.max(axis=1, keepdims=True)
        return np.round(reweight(np.exp(total), self.change), DIGITS)[:, self.codes]


def _centre(logs: Floats) -> Floats:
    logs = logs.astype(np.float32).astype(np.float64)  # as the pool has seen them
    return np.asarray(logs - logs.mean(axis=1, keepdims=True))


def _train_setting(fold: Fold, library: Library, setting: tuple[str, str]) -> Any:
    """One setting of a learner, trained."""
    learner, name = setting
    with limit_fit_threads():
        return library.learners()[learner](fold)[name]


def in_sample(part: Part, numbers: RowNumbers) -> tuple[NDArray[np.bool_], slice]:
    """Which rows of a block belong to the sample, and where the sample has them."""
    low, high = np.searchsorted(numbers, [part.start, part.start + len(part.X)])
    known = np.zeros(len(part.X), dtype=bool)
    known[numbers[low:high] - part.start] = True
    return known, slice(int(low), int(high))
