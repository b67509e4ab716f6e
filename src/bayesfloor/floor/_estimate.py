"""The floor: learn the representation, then benchmark it.

The library learns from a sample of the rows, all rows are scored in blocks, and whatever depends on all rows is a sum
over blocks. A small table is the case where the sample is all rows. So the answer is the same for rows in memory, on
disk and on a cluster, and however they are cut into blocks.
"""

import contextlib
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._types import Counts, Floats, RandomSeed, RowNumbers, Singles
from ..balls.settings import target_priors
from ..bounds.bounds import Bound, all_bounds
from ..errors import DataError, ParameterError
from ..library.arrangement import Arrangement, check_size, n_repeats, name_classifiers, near_points
from ..library.forest import Forests, forest_rows
from ..library.representation import RawRows
from ..library.training import Learned, Trained, train
from ..rows.block_dataset import block_digest, varying_columns
from ..rows.blocks import ArrayBlocks, Blocks, Part
from ..rows.draws import Draws
from ..rows.labels import plain
from ..rows.scaling import Standard
from ..rows.sparse import SparseRows
from ..utils.checks import brief, check_callable, seed_from
from ..utils.parallel import Pieces, Progress, Workers, n_threads, one_blas_thread
from ._plan import measured_costs, memory_features, sparse_bytes
from .balls import balls_on_columns, balls_on_scores, pair_table
from .ceiling import HeldOut, Test
from .conclusion import Counted, conclude
from .costs import CostMatrix, check_costs
from .curve import Curve
from .doubts import check_codes
from .labelled_rows import LabelledRows, Sample
from .result import FloorResult
from .rows import open_rows
from .scorer import DIGITS, Scorer, in_sample
from .settings import Request, Run
from .shares import drift

__all__ = ["estimate", "estimate_rows"]

BOUND_ROWS = 10_000
_EXCERPTS = 20  # rows of each list that are kept for the page
_DAYS = " (days)"  # ends the name of a column that `tables.columns.date_parts` has made of dates


def estimate(
    X: Any,
    y: Any = None,
    *,
    target: Any = None,
    dtypes: Mapping[str, str] | None = None,
    kind: str | None = None,
    classifiers: Sequence[Any] | Mapping[str, Any] = (),
    groups: Any = None,
    priors: str | Mapping[Hashable, float] | ArrayLike | None = None,
    costs: Any = None,
    effort: str = "balanced",
    confidence_level: float = 0.95,
    random_state: RandomSeed = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    run: Run | None = None,
    ignore: Iterable[str] | str = (),
) -> FloorResult:
    """Estimate the floor: the lowest error any classifier could reach on data like these.

    A library of unlike classifiers is cross-fitted; their pooled scores are a representation of a few dimensions in
    which the epsilon-ball estimator works, and what they gain with the number of rows tells how far the floor is
    below them. See `docs/method.md`.

    Parameters
    ----------
    X : array-like of shape (N, d), list of str, sparse matrix, frame, Table, str or Path
        Numbers: lists, numpy arrays (memory-mapped ones are read in blocks), frames, Dask arrays and frames. NaN and
        None are missing values: they are filled with the median of their column and marked by a column of their own;
        infinite values are refused. Texts, one
        for each row, and matrices of scipy.sparse are never made dense as a whole: most learners see up to 60 singular
        directions of them, linear models and naive Bayes all of their counts. A file,
        a frame with categories, dates or a `target`, and what `read_table` has made are encoded as numbers: see
        `read_table`.
    y : array-like of shape (N,) or str, optional
        Labels: text, truth values, finite numbers, dates and times, bytes, or tuples of these. Not needed with
        `target`; for a file or a frame also the name of the column: as `target`. Rows whose label is missing (None,
        NaN) are dropped, and a note says how many.
    target : str or int, optional
        Column of the labels in a file or frame, by name or position.
    dtypes : mapping of str to {"categorical", "text", "numeric", "date"}, optional
        What columns of a file or frame are, where it is not to be inferred: see `read_table`.
    kind : {None, "images", "texts"}
        Of rows that are no columns yet: "images", an array of shape (N, H, W), (N, H, W, 3) or (N, 3, H, W); "texts",
        which lists of them do not need. What the library sees of them is learned without labels from rows that are not
        held out.
    classifiers : sequence or mapping of scikit-learn classifiers, optional
        Join the library. They see each column less its median, in a unit of its spread; of images the pixels, of texts
        the texts.
    groups : array-like of shape (N,) or str, optional
        Rows of one group (copies of one record, one patient) are never split between training and test. One value per
        row or, for a file or frame, the name of a column.
    priors : None, "balanced", mapping or array
        Class shares to estimate the floor for; None: those of the data.
    costs : array-like of shape (C, C) or (C + 1, C), or frame, optional
        Cost of each decision (row: to name each class, in sorted order) for each true class (column); a further row is
        the decision to decline. `result.cost` then has the lowest expected cost. Together with `priors` it is that for
        these class shares.
    effort : {"fast", "balanced", "thorough"}
        How many rows a model is trained on at most (2,000, 10,000, 50,000), and how many trees there are. Of more than
        65,536 rows, models see a sample only; all the others are scored (see `Run`).
    confidence_level : float
        Of interval and ceiling.
    random_state : int, RandomState or None
        Same seed, same answer, whatever the number of threads and the order of rows, columns and classes (beyond 65,536
        rows the sample is drawn by row numbers; pixels and sparse columns have their places). None and a RandomState
        draw a seed: `result.settings` has it.
    n_jobs : int, optional
        Threads; None means all cores.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.
    run : Run, optional
        Cluster, memory limit, checkpoint.
    ignore : sequence of str
        Codes of doubts to mute, such as "still-falling": see `FloorResult.mute`.

    Returns
    -------
    FloorResult

    Examples
    --------
    >>> from bayesfloor import problems
    >>> X, y = problems.get("gaussians_10d", shift=2).sample(600, random_state=0)
    >>> result = estimate(X, y, effort="fast", n_jobs=1)   # the true floor is 0.1587
    >>> 0.1587 in result.interval, result.floor <= result.ceiling
    (True, True)
    """
    started = time.perf_counter()
    run = Run() if run is None else run
    if not isinstance(run, Run):
        raise ParameterError(f"run must be a bayesfloor.Run, got {brief(run)}")
    check_callable("progress", progress)
    n_threads(n_jobs)
    request = Request(
        classifiers=_named(classifiers),
        priors=priors,
        costs=costs,
        effort=effort,
        confidence_level=confidence_level,
        seed=seed_from(random_state),
        n_jobs=n_jobs,
        progress=progress,
        started=started,
        kind=kind,
    )
    codes = check_codes(ignore)
    with open_rows(X, y, target, groups, request, run, dtypes) as rows, one_blas_thread:
        result = estimate_rows(rows, request, run)[0]
        return replace(result.mute(codes), index=rows.index, source=rows.source)


def _named(classifiers: Any) -> dict[str, Any]:
    """The user's classifiers by name."""
    try:
        return name_classifiers(classifiers)
    except TypeError:
        raise ParameterError(f"classifiers must be a list of classifiers, got {brief(classifiers)}") from None


def estimate_rows(
    rows: LabelledRows, request: Request, run: Run, arrangement: Arrangement | None = None
) -> tuple[FloorResult, Learned, Sample]:
    """Learn from a sample, score all rows, and count what the scores say; also what was learned, and from which rows.

    `arrangement` is that of a table with the same rows and other columns, to have its order, folds and draws.
    """
    # Constant columns are gone already where rows are in memory.
    in_memory = rows.data is not None
    varies = np.ones(rows.blocks.n_columns, dtype=bool) if in_memory else varying_columns(rows.blocks)
    is_all = rows.n_fitted(request, run) == rows.blocks.n_samples
    draws = None if is_all else Draws(request.seed, block_digest(rows.blocks, varies))
    rows = rows.without_copies(request.seed, varies, draws)
    sample = rows.sample(rows.n_fitted(request, run), draws)
    data = sample.data
    check_size(data)
    if not data.X.shape[1]:
        columns = "the only column of X is" if data.n_columns == 1 else f"all {data.n_columns} columns of X are"
        what = "all rows of X are alike" if rows.raw is not None else f"{columns} constant"
        raise DataError(f"{what}: X says nothing about the labels. Check how it was made")
    if rows.client is None or sample.is_all:
        _check_memory(rows, sample, request, run)
    priors = None if request.priors is None else target_priors(request.priors, data.classes)
    costs = None if request.costs is None else check_costs(request.costs, plain(data.classes))
    pieces = request.checkpoint(rows, run)
    workers = rows.workers(request.n_jobs, pieces)
    # Class shares as the plain part of the sample has them: those of all rows would tell of the rows that test.
    seen = np.maximum(np.bincount(data.labels, minlength=data.n_classes) - sample.added, 0.5)
    trained = train(
        data,
        groups=rows.groups,
        shares=seen / seen.sum() if priors is None else priors,
        classifiers=request.classifiers,
        effort=request.effort,
        repeats=n_repeats(data.n_samples, request.effort) if sample.is_all else 1,
        seed=request.seed,
        workers=workers,
        progress=request.progress,
        arrangement=arrangement,
        raw=sample.raw,
    )
    trained, forests = _grow_forests(trained, rows, sample, draws, workers, request)
    learned = trained.pool(n_threads(request.n_jobs), request.progress)
    P, used = _score(rows, sample, learned, forests, pieces, request)
    with contextlib.closing(P):
        counted = _count(rows, sample, P, used, learned, priors, costs, request)
    notes, settings = rows.notes, request.settings()
    changing = drift(data.labels, _dates(rows, sample), rows.groups)
    if changing is not None:
        settings["drift"] = changing
    if not sample.is_all:
        notes = (*notes, _remark(rows.blocks.n_samples, len(sample.numbers), learned, forests))
        settings["sample_rows"] = len(sample.numbers)
    if sample.raw is not None and learned.encoder is not None:
        representation, n_free = sample.raw.representation, int((learned.fitted.fold != 0).sum())
        notes = (*notes, representation.note(learned.encoder, n_free))
        settings["representation"] = representation.name
    result = conclude(
        data,
        learned,
        counted,
        priors=priors,
        confidence_level=request.confidence_level,
        remarks=notes,
        settings=settings,
        started=request.started,
    )
    if rows.raw is not None:
        result = replace(result, excerpts=_excerpts(result, rows.raw))
    return result, learned, sample


def _dates(rows: LabelledRows, sample: Sample) -> dict[str, Floats]:
    """Columns of the sample that were made of dates, by name."""
    if rows.raw is not None:
        return {}
    names = [rows.names[j] for j in sample.columns]
    # A column that came with such a name may hold any numbers.
    came = {getattr(column, "name", column) for column in getattr(rows.source, "columns", ())}
    return {name: sample.data.X[:, j] for j, name in enumerate(names) if name.endswith(_DAYS) and name not in came}


def _excerpts(result: FloorResult, raw: RawRows) -> dict[int, str]:
    """The most suspect and the most ambiguous rows, for the page; no others are kept."""
    if result.posterior is None:
        return {}
    positions = [*result.suspect_positions(_EXCERPTS), *result.hardest_positions(_EXCERPTS)]
    found = {result.row_number(i): raw.representation.excerpt(raw.rows[i]) for i in positions}
    return {number: excerpt for number, excerpt in found.items() if excerpt}


def _check_memory(rows: LabelledRows, sample: Sample, request: Request, run: Run) -> None:
    """Refuse, before anything is trained, what will not fit beside the data."""
    if run.memory_limit is None:
        return
    blocks = rows.blocks
    block = 0 if sample.is_all else int(blocks.sizes.max(initial=1))
    threads = n_threads(request.n_jobs)
    terms = memory_features(
        blocks.n_samples, blocks.n_columns, blocks.n_classes, len(sample.numbers), request.effort, threads, block
    )
    costs = measured_costs()["bytes"]
    needed = sum(terms[name] * costs[name] for name in terms if name not in ("base", "table"))
    if rows.raw is not None and isinstance(rows.raw.rows, SparseRows):
        needed += sparse_bytes(rows.raw.rows.n_entries, threads)
    if needed > run.memory:
        raise ParameterError(
            f"about {needed / 2**20:,.0f} MB are needed beside the data, more than memory_limit, "
            f"{run.memory / 2**20:,.0f} MB: raise it, use effort='fast', or fewer sample_rows or n_jobs"
        )


# --- forests of rows outside the sample ---------------------------------------------------------------------


def _grow_forests(
    trained: Trained, rows: LabelledRows, sample: Sample, draws: Draws | None, workers: Workers, request: Request
) -> tuple[Trained, Forests | None]:
    """The library with forests of many rows among its learners, if there are enough rows outside the sample."""
    blocks = rows.blocks
    m = forest_rows(blocks.n_samples, len(sample.numbers), len(sample.columns), request.effort)
    if not m or draws is None or rows.raw is not None:
        return trained, None
    arrangement = trained.arrangement
    view = partial(_view, columns=sample.columns[arrangement.columns], standard=arrangement.standard)
    forests = Forests.draw(blocks, sample.numbers, m, view, arrangement.codes, draws, request.effort)
    # They are grown again sooner than they are stored.
    stages = forests.join(trained.fitted.stages, trained.rows, workers.without_pieces(), request.progress)
    return replace(trained, fitted=replace(trained.fitted, repeats=[stages])), forests


def _view(X: Floats, columns: RowNumbers, standard: Standard) -> Singles:
    """Rows as the library sees them, in the precision of trees."""
    return near_points(standard, X[:, columns]).astype(np.float32)


# --- scores of all rows -------------------------------------------------------------------------------------


def _score(
    rows: LabelledRows,
    sample: Sample,
    learned: Learned,
    forests: Forests | None,
    pieces: Pieces | None,
    request: Request,
) -> tuple[Blocks, list[RowNumbers]]:
    """Probabilities of all rows by models that have not seen them; and which rows have trained or weighed the models.

    Rows of the sample were scored when the library was cross-fitted; the others need final models.
    """
    data = sample.data
    if sample.is_all:
        P = np.round(learned.posterior(), DIGITS)
        return ArrayBlocks(P, data.labels, data.n_classes, block_rows=len(P)), [sample.numbers]
    threads = n_threads(request.n_jobs)
    columns = sample.columns[learned.arrangement.columns]
    scorer = Scorer.of(learned, columns, sample.numbers, forests, threads, request.progress, rows.raw)
    # Pieces are files here: what is scored on a cluster stays there.
    work = scorer if pieces is None or rows.client is not None else _keep_scores(scorer, pieces)
    return rows.blocks.derive(work, data.n_classes, "scoring", request.progress), scorer.used


def _keep_scores(scorer: Scorer, pieces: Pieces) -> Callable[[Part], Floats]:
    # By row numbers: the size of blocks follows the memory that is free, and may be another when the run goes on.
    return lambda part: pieces.get(f"scores {part.start} {part.start + len(part.X)}", lambda: scorer(part))


# --- what the scores say ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Sums:
    """What is added up over all rows; `new` are those by which nothing was trained or chosen."""

    wrong: Counts
    wrong_new: Counts
    new: Counts
    doubt: float
    pairs: Floats
    cost: Floats  # loss and expected loss by the costs given

    def __add__(self, other: "_Sums") -> "_Sums":
        return _Sums(
            self.wrong + other.wrong,
            self.wrong_new + other.wrong_new,
            self.new + other.new,
            self.doubt + other.doubt,
            self.pairs + other.pairs,
            self.cost + other.cost,
        )


def _sums(part: Part, used: Sequence[RowNumbers], class_weights: Floats, costs: CostMatrix | None) -> _Sums:
    P, codes, n_classes = part.X, part.codes, len(class_weights)
    missed = P.argmax(axis=1) != codes
    new = np.ones(len(P), dtype=bool)
    for numbers in used:
        new &= ~in_sample(part, numbers)[0]
    weights, cost = class_weights[codes], np.zeros(2)
    if costs is not None:
        chosen = costs.rule.choose(P)
        cost[:] = weights @ (1 - costs.rule.gain(chosen, codes)), weights @ (1 - costs.rule.expect(chosen, P))
    return _Sums(
        np.bincount(codes[missed], minlength=n_classes),
        np.bincount(codes[missed & new], minlength=n_classes),
        np.bincount(codes[new], minlength=n_classes),
        float(weights @ (1 - P.max(axis=1, initial=0.0))),
        pair_table(P, weights),
        cost,
    )


def _count(
    rows: LabelledRows,
    sample: Sample,
    P: Blocks,
    used: list[RowNumbers],
    learned: Learned,
    priors: Floats | None,
    costs: CostMatrix | None,
    request: Request,
) -> Counted:
    """Errors, balls and bounds of all rows."""
    data, n_jobs, progress = sample.data, request.n_jobs, request.progress
    class_weights = (data.priors if priors is None else priors) / data.class_counts
    sums = P.total(partial(_sums, used=used, class_weights=class_weights, costs=costs))
    request.tell("counting", 0)
    ball, occupancy = balls_on_scores(P, learned, data, priors, n_jobs, progress)
    raw = None
    # Texts, sparse rows and images are told apart by hashes: no distance between those means anything.
    if rows.groups is None and rows.raw is None:
        raw = balls_on_columns(rows.blocks, sample.columns, data, priors, n_jobs, progress)
    request.tell("counting", 1)
    request.tell("bounds", 0)
    bounds = _bounds(learned, rows.blocks.n_samples, n_jobs) if priors is None else ()
    request.tell("bounds", 1)
    curve = Curve.of(learned.P, learned.labels, learned.row_weights)
    if not sample.is_all:
        curve = curve.with_all(float(class_weights @ sums.wrong), float(sums.doubt))
    posterior, labels = (P.X, P.codes) if isinstance(P, ArrayBlocks) and isinstance(P.X, np.ndarray) else (None, None)
    stages = learned.fitted.stages
    test = Test.of(
        stages[0],
        stages[1],
        learned.labels,
        learned.fitted.fold,
        learned.row_weights,
        learned.change,
        learned.draws.rng("one of a group"),
        learned.groups,
    )
    return Counted(
        curve=curve,
        ball=ball,
        occupancy=occupancy,
        raw=raw,
        held_out=_held_out(test, learned, sample, sums, priors),
        pairs=sums.pairs,
        bounds=bounds,
        test=test,
        is_plain=not sample.added.sum(),
        costs=costs,
        cost_losses=None if sample.is_all or costs is None else (float(sums.cost[0]), float(sums.cost[1])),
        posterior=posterior,
        labels=labels,
        row_numbers=rows.row_numbers,
    )


def _held_out(test: Test, learned: Learned, sample: Sample, sums: _Sums, priors: Floats | None) -> HeldOut:
    """Errors on rows that no choice has touched: held-out ones of the sample, or all that are outside it."""
    held = test.errors().with_classes(learned.arrangement.codes)
    if sums.new.sum() < max(1, len(sample.numbers) // 5):  # hardly a row is left: the held-out ones say more
        return held
    wrong, tested = sums.wrong_new, sums.new
    if held.constant is not None:
        wrong = np.where(np.arange(len(tested)) == held.constant, 0, tested)
    if priors is None:
        # Rows of rare classes that were taken besides the plain draw, sometimes all there are: nobody can test them,
        # and they count as errors.
        wrong, tested = wrong + sample.added, tested + sample.added
    return HeldOut(wrong, tested, held.constant)


def _bounds(learned: Learned, n: int, n_jobs: int | None) -> tuple[Bound, ...]:
    """Bounds from so many rows at most: they are there for comparison, and cost the square of the rows."""
    X, y = learned.rows, learned.labels
    if len(X) > BOUND_ROWS:
        chosen = np.sort(learned.draws.rng("bounds").permutation(len(X))[:BOUND_ROWS])
        X, y = X[chosen], y[chosen]
    bounds = all_bounds(X, y, n_jobs=n_jobs)
    if len(X) == n:
        return bounds
    return tuple(replace(bound, rests_on=f"{bound.rests_on}; from {len(X):,} of the rows") for bound in bounds)


def _remark(n: int, n_sample: int, learned: Learned, forests: Forests | None) -> str:
    trained = learned.fitted.stages[0].n_train
    forest = "" if forests is None else f", and forests of {forests.size:,} rows"
    return (
        f"a large table: models were trained on {trained:,} rows at a time, out of {n_sample:,} drawn from "
        f"all classes{forest}; all {n:,} rows were scored by models that had not seen them"
    )
