"""The floor of tables beyond memory or patience: the library learns from a sample, all rows are scored in blocks.

Whatever depends on all rows is a sum over blocks; the models come from the sample, and the sample from row numbers. So
the answer is the same for rows in memory, on disk and on a cluster, and however they are cut into blocks.
"""

import contextlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Counts, Floats, Mask, RowNumbers
from ..balls.settings import target_priors
from ..errors import BayesfloorWarning, ParameterError
from ..library.arrangement import EFFORTS, check_size, near_points
from ..library.forest import Forests, forest_rows
from ..rows.block_dataset import block_digest, copies_in_blocks, varying_columns
from ..rows.blocks import ArrayBlocks, Blocks, Part, rows_at, sampled_rows
from ..rows.dataset import Dataset, dataset_of
from ..rows.draws import Draws, one_of_each
from ..rows.labels import check_class_sizes
from ..rows.scaling import Standard
from ..utils.parallel import Threads, Workers, n_threads
from .ceiling import HeldOut
from .checkpoint import Checkpoint
from .conclusion import Counted, conclude
from .costs import measured_costs, memory_features
from .learned import FEW_FEATURES, Learned, ball_estimate, ball_learner, filled, pair_table, train
from .request import Request
from .result import FloorResult
from .rows import BlockTable
from .rule import BALL_CLASSES, ScoreSpace
from .run import Run
from .scorer import DIGITS, Scorer, in_sample

__all__ = ["check_memory", "estimate_in_blocks"]


def estimate_in_blocks(table: BlockTable, request: Request, run: Run) -> FloorResult:
    """Learn from a sample, score all rows, count around the scores."""
    varies = varying_columns(table.blocks)
    draws = Draws(request.seed, block_digest(table.blocks, varies))
    table, n_repeated, n_copies = _without_copies(table, varies, draws)
    blocks = table.blocks
    n_fitted = run.n_fitted(blocks.n_samples, EFFORTS[request.effort])
    numbers, counts, added = sampled_rows(blocks, n_fitted, draws.rng("sample"))
    check_class_sizes(table.classes, counts)
    if table.workers is None:
        size = int(blocks.sizes.max(initial=1))
        check_memory(blocks.n_samples, blocks.n_columns, blocks.n_classes, len(numbers), request, run, size)
    data, kept = _sampled(table, numbers, counts)
    data = replace(data, n_duplicate_rows=n_repeated, n_copies=n_copies)
    check_size(data)
    priors = None if request.priors is None else target_priors(request.priors, data)
    # Class shares as the plain part of the sample has them: those of all rows would tell of the rows that test.
    seen = np.maximum(np.bincount(data.labels, minlength=data.n_classes) - added, 0.5)
    pieces = request.checkpoint(blocks, run, data) if isinstance(blocks, ArrayBlocks) else None
    workers = table.workers or Threads(n_threads(request.n_jobs), pieces)
    trained = train(
        data,
        groups=None,
        shares=seen / seen.sum() if priors is None else priors,
        classifiers=request.classifiers,
        effort=request.effort,
        seed=request.seed,
        workers=workers,
        progress=request.progress,
    )
    forests, m = None, forest_rows(blocks.n_samples, len(numbers), len(kept), request.effort)
    if m:
        arranged = trained.arrangement
        forests = Forests.drawn(
            blocks,
            numbers,
            m,
            partial(_view, kept=kept, standard=arranged.standard),
            arranged.codes,
            draws,
            request.effort,
        )
        stages = forests.join(trained.fitted.stages, trained.rows, _unkept(workers), request.progress)
        trained = replace(trained, fitted=replace(trained.fitted, stages=stages))
    learned = trained.pooled(request.progress)
    scorer = Scorer.of(learned, kept, numbers, forests, n_threads(request.n_jobs), request.progress)
    P = blocks.derived(_kept_pieces(scorer, pieces), data.n_classes, "scoring", request.progress)
    with contextlib.closing(P):
        return _concluded(table, P, learned, scorer, data, counts, added, priors, request)


def check_memory(n: int, d: int, classes: int, n_sample: int, request: Request, run: Run, block: int = 0) -> None:
    """Refuse, before anything is trained, what will not fit beside the data."""
    if run.memory_limit is None:
        return
    terms = memory_features(n, d, classes, n_sample, request.effort, n_threads(request.n_jobs), block)
    costs = measured_costs()["bytes"]
    needed = sum(terms[name] * costs[name] for name in terms if name not in ("base", "table"))
    if needed > run.memory:
        raise ParameterError(
            f"about {needed / 2**20:,.0f} MB are needed beside the data, more than memory_limit, "
            f"{run.memory / 2**20:,.0f} MB: raise it, use effort='fast', or fewer sample_rows or n_jobs"
        )


def _unkept(workers: Workers) -> Workers:
    """The same workers without a checkpoint: forests are grown again sooner than they are stored."""
    return Threads(workers.n) if isinstance(workers, Threads) else workers


def _view(X: Floats, kept: RowNumbers, standard: Standard) -> NDArray[np.float32]:
    """Rows as the library sees them, in the precision of trees."""
    return near_points(standard, X[:, kept]).astype(np.float32)


def _concluded(
    table: BlockTable,
    P: Blocks,
    learned: Learned,
    scorer: Scorer,
    data: Dataset,
    counts: Counts,
    added: Counts,
    priors: Floats | None,
    request: Request,
) -> FloorResult:
    """Count what the scores of all rows say."""
    class_weights = (data.priors if priors is None else priors) / counts
    sums = P.total(partial(_sums, used=scorer.used, class_weights=class_weights))
    ball, occupancy, raw = _balls(table, P, learned, data, scorer.kept, priors, request)
    request.tell("bounds", 0)
    bounds = learned.bounds(request.n_jobs) if priors is None else ()
    bounds = tuple(_of_sample(bound, len(learned.rows)) for bound in bounds)
    request.tell("bounds", 1)
    held = learned.held_out()
    new = sums.new.sum()
    wrong, tested = sums.wrong_new, sums.new
    if held.constant is not None:
        wrong = np.where(np.arange(data.n_classes) == held.constant, 0, tested)
    if priors is None:
        # Rows of rare classes that were taken besides the plain draw, sometimes all there are: nobody can test them,
        # and they count as errors.
        wrong, tested = wrong + added, tested + added
    if new >= len(data.labels) // 5:  # else hardly a row is left: the held-out ones of the sample say more
        held = HeldOut(wrong, tested, held.constant)
    whole = (float(class_weights @ sums.wrong), float(sums.doubt))
    # The smaller stages were seen on the sample: what they err more there is added to what all rows say.
    sampled = learned.figures()
    figures = [whole] + [
        tuple(all_ + part - first for all_, part, first in zip(whole, stage, sampled[0], strict=True))
        for stage in sampled[1:]
    ]
    posterior = labels = None
    if isinstance(P, ArrayBlocks) and isinstance(P.X, np.ndarray):
        posterior, labels = P.X, P.codes
    counted = Counted(
        figures=[(float(e), float(p)) for e, p in figures],
        ball=ball,
        occupancy=occupancy,
        raw=raw,
        held_out=held,
        pairs=sums.pairs,
        bounds=bounds,
        posterior=posterior,
        labels=labels,
        row_numbers=table.row_numbers,
    )
    return conclude(
        data,
        learned,
        counted,
        priors=priors,
        confidence_level=request.confidence_level,
        remarks=(*table.remarks, _remark(table.blocks.n_samples, scorer, learned)),
        settings={**request.settings(), "sample_rows": len(data.labels)},
        started=request.started,
    )


def _remark(n: int, scorer: Scorer, learned: Learned) -> str:
    trained, forest = learned.fitted.stages[0].n_train, ""
    if scorer.forests is not None:
        forest = f", and forests of {scorer.forests.size:,} rows"
    return (
        f"a large table: models were trained on {trained:,} rows at a time, out of {len(scorer.numbers):,} drawn from "
        f"all classes{forest}; all {n:,} rows were scored by models that had not seen them"
    )


def _of_sample(bound: Any, n: int) -> Any:
    if "of the rows" in bound.rests_on:
        return bound
    return replace(bound, rests_on=f"{bound.rests_on}; from {n:,} of the rows")


def _sampled(table: BlockTable, numbers: RowNumbers, counts: Counts) -> tuple[Dataset, RowNumbers]:
    """The rows drawn, as data with the class counts of all rows; and which columns vary among them."""
    X, codes = rows_at(table.blocks, numbers)
    data = dataset_of(X, list(table.names), table.classes, codes)
    kept = np.flatnonzero((X[:1] != X).any(axis=0))  # by place: two columns may have one name
    data = replace(data, class_counts=counts)
    if table.whole is not None:  # what is known of all rows
        whole = table.whole
        data = replace(
            data,
            n_columns=whole.n_columns,
            feature_names=whole.feature_names,
            constant_columns=(*whole.constant_columns, *data.constant_columns),
            duplicate_columns=whole.duplicate_columns,
        )
    return data, kept


def _without_copies(table: BlockTable, varies: Mask, draws: Draws) -> tuple[BlockTable, int, int]:
    """Each record once, by a random one of its rows; rows that repeat an earlier one, and rows left out."""
    blocks = table.blocks
    if table.whole is not None:
        records, n_repeated = table.whole.records, table.whole.n_duplicate_rows
    else:
        share, records = copies_in_blocks(blocks, varies)
        n_repeated = round(share * blocks.n_samples)
    if records is None:
        return table, n_repeated, 0
    kept = one_of_each(records, draws.rng("copies"))
    row_numbers = kept if table.row_numbers is None else table.row_numbers[kept]
    n_copies = blocks.n_samples - len(kept)
    return replace(table, blocks=blocks.picked(kept), row_numbers=row_numbers), max(n_repeated, n_copies), n_copies


def _kept_pieces(scorer: Scorer, pieces: Checkpoint | None) -> Any:
    if pieces is None:
        return scorer
    # By row numbers: the size of blocks follows the memory that is free, and may be another when the run goes on.
    return lambda part: pieces.get(f"scores {part.start} {part.start + len(part.X)}", lambda: scorer(part))


@dataclass(frozen=True, eq=False)
class _Sums:
    """What is added up over all rows; `new` are those by which nothing was trained or chosen."""

    wrong: Counts
    wrong_new: Counts
    new: Counts
    doubt: float
    pairs: Floats

    def __add__(self, other: "_Sums") -> "_Sums":
        return _Sums(
            self.wrong + other.wrong,
            self.wrong_new + other.wrong_new,
            self.new + other.new,
            self.doubt + other.doubt,
            self.pairs + other.pairs,
        )


def _sums(part: Part, used: Sequence[RowNumbers], class_weights: Floats) -> _Sums:
    P, codes, n_classes = part.X, part.codes, len(class_weights)
    missed = P.argmax(axis=1) != codes
    new = np.ones(len(P), dtype=bool)
    for numbers in used:
        new &= ~in_sample(part, numbers)[0]
    weights = class_weights[codes]
    return _Sums(
        np.bincount(codes[missed], minlength=n_classes),
        np.bincount(codes[missed & new], minlength=n_classes),
        np.bincount(codes[new], minlength=n_classes),
        float(weights @ (1 - P.max(axis=1, initial=0.0))),
        pair_table(P, weights),
    )


def _balls(
    table: BlockTable,
    P: Blocks,
    learned: Learned,
    data: Dataset,
    kept: RowNumbers,
    priors: Floats | None,
    request: Request,
) -> tuple[float, str, float | None]:
    """Epsilon-ball ensemble on the scores of all rows, and on the columns where there are few."""
    request.tell("balls in score space", 0)
    raw = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesfloorWarning)
        if data.n_classes <= BALL_CLASSES:
            space = ScoreSpace.of(np.round(learned.posterior(), DIGITS))
            with contextlib.closing(P.derived(partial(_coordinates, space=space), space.n_columns)) as scores:
                learner = ball_learner(priors, request.n_jobs, progress=request.progress).fit_blocks(scores, data)
            ball, occupancy = float(learner.bayes_error_), filled(learner)
        else:  # the rule does not use it: for comparison the sample will do
            by_content = None if priors is None else priors[np.argsort(learned.arrangement.codes)]
            ball, occupancy = ball_estimate(learned.P[0], learned.labels, by_content, request.n_jobs)
            occupancy += f"; from {len(learned.labels):,} of the rows"
        if len(kept) <= FEW_FEATURES:
            with contextlib.closing(table.blocks.derived(partial(_columns, kept=kept), len(kept))) as columns:
                balls = ball_learner(priors, request.n_jobs, standardize=True, progress=request.progress)
                balls.fit_blocks(columns, data)
            raw = float(balls.bayes_error_) if balls.reliable_ else None
    request.tell("balls in score space", 1)
    return ball, occupancy, raw


def _coordinates(part: Part, space: ScoreSpace) -> Floats:
    return np.round(space.apply(part.X), DIGITS)


def _columns(part: Part, kept: RowNumbers) -> Floats:
    return part.X[:, kept]
