"""Epsilon-balls in the space of the scores, and on the columns where there are few."""

import contextlib
import warnings
from functools import partial

import numpy as np

from .._types import Codes, Floats, RowNumbers
from ..balls.learner import BenchmarkLearner
from ..errors import BayesfloorWarning
from ..library.training import Learned
from ..rows.blocks import Blocks, Part
from ..rows.dataset import Dataset
from ..rows.draws import one_of_each
from ..utils.parallel import Progress
from .curve import summarise
from .rule import BALL_CLASSES, ScoreSpace
from .scorer import DIGITS

__all__ = ["FEW_FEATURES", "MAX_QUERIES", "ball_estimate", "balls_on_columns", "balls_on_scores", "pair_table"]

FEW_FEATURES = 6  # up to so many the balls may be full in the features themselves
MAX_QUERIES = 20_000


def balls_on_scores(
    P: Blocks, learned: Learned, data: Dataset, priors: Floats | None, n_jobs: int | None, progress: Progress | None
) -> tuple[float, str]:
    """Epsilon-ball ensemble on the scores of all rows, and how full its balls are, in words.

    Parameters
    ----------
    P : Blocks
        Scores of all rows, classes in sorted order.
    learned : Learned
        What was learned from a sample of the rows, or from all.
    data : Dataset
        What is known of all rows.
    priors : ndarray or None
        Wanted class shares, if not those of the data.
    """
    by_content = np.argsort(learned.arrangement.codes)
    shares = None if priors is None else priors[by_content]
    if learned.groups is not None:
        # Rows of one group would vouch for each other. Those of large groups count for less then: what balls say is
        # taken relative to the errors on the same rows.
        alone = one_of_each(learned.groups, learned.draws.rng("balls"))
        if np.bincount(learned.labels[alone], minlength=data.n_classes).min() < 2:  # a class of hardly a group
            alone = np.arange(len(learned.labels))
        scores, labels, weights = learned.mean, learned.labels, learned.row_weights
        ball, occupancy = ball_estimate(scores[alone], labels[alone], shares, n_jobs)
        ball += summarise(scores, labels, weights)[0]
        ball -= summarise(scores[alone], labels[alone], weights[alone] / weights[alone].sum())[0]
    elif data.n_classes > BALL_CLASSES:  # the rule does not use it: for comparison the sample will do
        ball, occupancy = ball_estimate(learned.mean, learned.labels, shares, n_jobs)
        if len(learned.labels) < data.n_samples:
            occupancy += f"; from {len(learned.labels):,} of the rows"
    else:
        # Classes by their content, so that their names change no digit of a distance.
        space = ScoreSpace.of(np.round(learned.mean, DIGITS))
        work = partial(_coordinates, space=space, classes=by_content)
        with contextlib.closing(P.derive(work, space.n_columns)) as scores_of_all:
            learner = _fit(scores_of_all, data, priors, n_jobs, progress)
        ball, occupancy = float(learner.bayes_error_), _fullness(learner)
    return round(ball, 12), occupancy  # the last digits depend on the order of a sum


def balls_on_columns(
    blocks: Blocks,
    columns: RowNumbers,
    data: Dataset,
    priors: Floats | None,
    n_jobs: int | None,
    progress: Progress | None,
) -> float | None:
    """Epsilon-ball ensemble on the columns themselves, if they are few and the balls full."""
    if len(columns) > FEW_FEATURES:
        return None
    with contextlib.closing(blocks.derive(partial(_columns, columns=columns), len(columns))) as chosen:
        learner = _fit(chosen, data, priors, n_jobs, progress, standardize=True)
    return round(float(learner.bayes_error_), 12) if learner.reliable_ else None


def ball_estimate(P: Floats, labels: Codes, priors: Floats | None, n_jobs: int | None) -> tuple[float, str]:
    """Epsilon-ball ensemble in the space of these scores, and how full its balls are, in words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesfloorWarning)
        learner = _learner(priors, n_jobs, None).fit(ScoreSpace.of(P).apply(P), labels)
    return float(learner.bayes_error_), _fullness(learner)


def pair_table(P: Floats, weights: Floats) -> Floats:
    """What class k (row) loses to class c (column): sums of k's probability over rows named c."""
    winner, n_classes = P.argmax(axis=1), P.shape[1]
    table = np.zeros((n_classes, n_classes))
    for c in range(n_classes):
        table[:, c] = weights[winner == c] @ P[winner == c]
    np.fill_diagonal(table, 0.0)
    return table


def _learner(
    priors: Floats | None, n_jobs: int | None, progress: Progress | None, *, standardize: bool = False
) -> BenchmarkLearner:
    return BenchmarkLearner(
        standardize=standardize, priors=priors, n_jobs=n_jobs, max_queries=MAX_QUERIES, progress=progress
    )


def _fit(
    blocks: Blocks,
    data: Dataset,
    priors: Floats | None,
    n_jobs: int | None,
    progress: Progress | None,
    *,
    standardize: bool = False,
) -> BenchmarkLearner:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesfloorWarning)
        return _learner(priors, n_jobs, progress, standardize=standardize).fit_blocks(blocks, data)


def _fullness(learner: BenchmarkLearner) -> str:
    occupancy = learner.occupancy_
    return f"balls hold {np.median(occupancy.median):,.0f} rows at the median, {occupancy.empty_share:.0%} are empty"


def _coordinates(part: Part, space: ScoreSpace, classes: RowNumbers) -> Floats:
    return np.round(space.apply(part.X[:, classes]), DIGITS)


def _columns(part: Part, columns: RowNumbers) -> Floats:
    return part.X[:, columns]
