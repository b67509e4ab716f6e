"""The library trained on rows at hand: cross-fitted, pooled, and summed up."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._types import Codes, Floats
from ..balls.learner import BenchmarkLearner
from ..bounds.bounds import Bound, all_bounds
from ..errors import BayesfloorWarning
from ..library.arrangement import EFFORTS, Arrangement
from ..library.cross_fit import CrossFit, cross_fit
from ..library.pool import Stage, pooled
from ..rows.dataset import Dataset
from ..rows.draws import Draws
from ..utils.parallel import Progress, Workers
from .ceiling import HeldOut, held_out_errors
from .result import LearnerScore
from .rule import ScoreSpace, stakes, summarise

__all__ = [
    "FEW_FEATURES",
    "MAX_QUERIES",
    "Learned",
    "Trained",
    "ball_estimate",
    "ball_learner",
    "filled",
    "pair_table",
    "reweighted",
    "train",
]


FEW_FEATURES = 6  # up to so many the balls may be full in the features themselves
MAX_QUERIES = 20_000
_BOUND_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class Trained:
    """The library trained on rows at hand, in their order by content; classes by their content, too.

    Attributes
    ----------
    rows, labels : ndarray
        Standardized rows, codes by content.
    arrangement : Arrangement
    groups : ndarray or None
    row_weights : ndarray
        Of each row in an average over the (wanted) class shares.
    change : ndarray of shape (C,)
        Wanted class shares by those of the rows.
    fitted : CrossFit
    draws : Draws
        For every choice among these rows.
    """

    rows: Floats
    labels: Codes
    arrangement: Arrangement
    groups: Codes | None
    row_weights: Floats
    change: Floats
    fitted: CrossFit
    draws: Draws

    def pooled(self, progress: Progress | None) -> "Learned":
        """Pool what the library says."""
        stages = self.fitted.stages
        pools: list[tuple[Floats, dict[str, float]]] = []
        for stage in stages:
            _tell(progress, len(pools), stages)
            pools.append(pooled(stage, self.labels, self.draws.rng("pooling"), self.groups))
        _tell(progress, len(pools), stages)
        P = [reweighted(P, self.change) for P, _ in pools]
        return Learned(**{name: getattr(self, name) for name in self.__dataclass_fields__}, P=P, weights=pools[0][1])


@dataclass(frozen=True, eq=False)
class Learned(Trained):
    """What the library has learned, pooled.

    Attributes
    ----------
    P : list of ndarray
        Pooled probabilities under the wanted class shares: whole, half, quarter, quarter again.
    weights : dict
        Mean weight of each learner in the pool of the whole stage.
    """

    P: list[Floats]
    weights: dict[str, float]

    def figures(self) -> list[tuple[float, float]]:
        """Error and plug-in of each stage."""
        return [summarise(p, self.labels, self.row_weights) for p in self.P]

    def unsettled(self) -> tuple[float, float]:
        """What is at stake where the half and the whole stage decide differently; see `Evidence`."""
        return stakes(self.P[0], self.P[1], self.labels, self.row_weights)

    def posterior(self) -> Floats:
        """Probabilities of the whole stage, rows and classes in the order they came in."""
        return self.P[0][self.arrangement.back][:, self.arrangement.codes]

    def held_out(self) -> HeldOut:
        """Errors on held-out rows, classes in sorted order."""
        whole, half = self.fitted.stages[:2]
        return held_out_errors(
            whole,
            half,
            self.labels,
            self.fitted.fold,
            self.row_weights,
            self.change,
            self.draws.rng("one of a group"),
            self.groups,
        ).with_classes(self.arrangement.codes)

    def bounds(self, n_jobs: int | None) -> tuple[Bound, ...]:
        """Bounds from so many rows at most: they are there for comparison, and cost the square of the rows."""
        if len(self.rows) <= _BOUND_ROWS:
            return all_bounds(self.rows, self.labels, n_jobs=n_jobs)
        chosen = np.sort(self.draws.rng("bounds").permutation(len(self.rows))[:_BOUND_ROWS])
        return tuple(
            replace(bound, rests_on=f"{bound.rests_on}; from {_BOUND_ROWS:,} of the rows")
            for bound in all_bounds(self.rows[chosen], self.labels[chosen], n_jobs=n_jobs)
        )

    def learners(self) -> tuple[LearnerScore, ...]:
        """Each learner with its best setting, by error."""
        stage, y = self.fitted.stages[0], self.labels
        best: dict[str, LearnerScore] = {}
        for name, learner, logs in zip(stage.names, stage.learner, stage.logs, strict=True):
            loss = -float(logs[np.arange(len(y)), y].mean())
            if learner not in best or loss < best[learner].log_loss:
                error = float(self.row_weights @ ((logs + np.log(self.change)).argmax(axis=1) != y))
                best[learner] = LearnerScore(name, error, loss, self.weights[learner], learner)
        return tuple(sorted(best.values(), key=lambda score: score.error))


def train(
    data: Dataset,
    *,
    groups: Codes | None,
    shares: Floats,
    classifiers: Mapping[str, Any],
    effort: str,
    seed: int,
    workers: Workers,
    progress: Progress | None,
) -> Trained:
    """Cross-fit the library on the rows of `data`; what is learned is for classes of these shares."""
    arrangement = Arrangement.of(data, groups)
    draws = Draws(seed, arrangement.digest)
    order, codes = arrangement.order, arrangement.codes
    rows, labels = arrangement.near[order], codes[data.labels[order]]
    in_groups = None if groups is None else groups[order]
    here = np.bincount(data.labels, minlength=data.n_classes)
    fitted = cross_fit(
        rows,
        labels,
        data.n_classes,
        groups=in_groups,
        extra=classifiers,
        effort=effort,
        max_rows=EFFORTS[effort],
        seed=seed,
        rng=draws.rng("folds"),
        workers=workers,
        progress=progress,
    )
    # A sample holds more of the rarest classes than their share: what models say of it is carried over to all rows.
    change = (shares / (here / here.sum()))[np.argsort(codes)]
    return Trained(
        rows=rows,
        labels=labels,
        arrangement=arrangement,
        groups=in_groups,
        row_weights=(shares / here)[data.labels[order]],
        change=change,
        fitted=fitted,
        draws=draws,
    )


def _tell(progress: Progress | None, done: int, stages: list[Stage]) -> None:
    if progress is not None:
        progress("pooling", done, len(stages))


def reweighted(P: Floats, change: Floats) -> Floats:
    """Posteriors under changed class shares."""
    changed = P * change
    return np.asarray(changed / changed.sum(axis=1, keepdims=True))


def ball_learner(
    priors: Floats | None, n_jobs: int | None, *, standardize: bool = False, progress: Progress | None = None
) -> BenchmarkLearner:
    """The epsilon-ball ensemble, as it is used on scores and, standardized, on few features."""
    return BenchmarkLearner(
        standardize=standardize, priors=priors, n_jobs=n_jobs, max_queries=MAX_QUERIES, progress=progress
    )


def ball_estimate(P: Floats, labels: Codes, priors: Floats | None, n_jobs: int | None) -> tuple[float, str]:
    """Epsilon-ball ensemble in the space of the scores, and how full its balls are, in words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesfloorWarning)
        learner = ball_learner(priors, n_jobs).fit(ScoreSpace.of(P).apply(P), labels)
    return float(learner.bayes_error_), filled(learner)


def filled(learner: BenchmarkLearner) -> str:
    """How full the balls are, in words."""
    occupancy = learner.occupancy_
    return f"balls hold {np.median(occupancy.median):,.0f} rows at the median, {occupancy.empty_share:.0%} are empty"


def pair_table(P: Floats, weights: Floats) -> Floats:
    """What class k (row) loses to class c (column): sums of k's probability over rows named c."""
    winner, n_classes = P.argmax(axis=1), P.shape[1]
    table = np.zeros((n_classes, n_classes))
    for c in range(n_classes):
        table[:, c] = weights[winner == c] @ P[winner == c]
    np.fill_diagonal(table, 0.0)
    return table
