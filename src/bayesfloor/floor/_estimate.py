"""The learned floor: learn the representation, then benchmark it."""

import os
import time
import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._types import Codes, Floats, RowNumbers
from ..balls.settings import target_priors
from ..errors import BayesfloorWarning, DataError, ParameterError
from ..library.arrangement import EFFORTS, check_size, grouped_rows, named_classifiers, without_copies
from ..rows.dataset import Dataset, validate
from ..rows.draws import one_of_each
from ..utils.parallel import Progress, Threads, n_threads
from .conclusion import Counted, conclude
from .large import check_memory, estimate_in_blocks
from .learned import FEW_FEATURES, ball_estimate, ball_learner, pair_table, train
from .request import Request
from .result import FloorResult
from .rows import BlockTable, Gathered, opened, table_of
from .rule import summarise
from .run import Run

__all__ = ["estimate"]


def estimate(
    X: Any,
    y: Any = None,
    *,
    target: Any = None,
    classifiers: Sequence[Any] | Mapping[str, Any] = (),
    groups: Any = None,
    priors: str | Mapping[Hashable, float] | ArrayLike | None = None,
    effort: str = "balanced",
    confidence_level: float = 0.95,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    run: Run | None = None,
) -> FloorResult:
    """Estimate the floor: the lowest error any classifier could reach on data like these.

    A library of unlike classifiers is cross-fitted; their pooled scores are a representation of a few dimensions in
    which the epsilon-ball estimator works, and what they gain with the number of rows tells how far the floor is
    below them. See `docs/method.md`.

    Parameters
    ----------
    X : array-like of shape (N, d), frame, Table, str or Path
        Numbers: lists, numpy arrays (memory-mapped ones are read in blocks), frames, Dask arrays and frames. A file,
        a frame with categories, dates or a `target`, and what `read_table` has made are encoded as numbers: see
        `read_table`.
    y : array-like of shape (N,), optional
        Labels of any kind; not needed with `target`.
    target : str or int, optional
        Column of the labels in a file or frame, by name or position.
    classifiers : sequence or mapping of scikit-learn classifiers, optional
        Join the library.
    groups : array-like of shape (N,) or str, optional
        Rows of one group (copies of one record, one patient) are never split between training and test. One value per
        row or, for a file or frame, the name of a column.
    priors : None, "balanced", mapping or array
        Class shares to estimate the floor for; None: those of the data.
    effort : {"fast", "balanced", "thorough"}
        How many rows a model is trained on at most (2,000, 10,000, 50,000), and how many trees there are. Of more than
        65,536 rows, models see a sample only; all the others are scored (see `Run`).
    confidence_level : float
        Of interval and ceiling.
    random_state : int
        Same seed, same answer, whatever the number of threads and the order of rows and classes (up to 65,536 rows:
        beyond, the sample is drawn by row numbers).
    n_jobs : int, optional
        Threads; None means all cores.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.
    run : Run, optional
        Cluster, memory limit, checkpoint.

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
        raise ParameterError(f"run must be a bayesfloor.Run, got {run!r}")
    request = Request(
        classifiers=named_classifiers(classifiers),
        priors=priors,
        effort=effort,
        confidence_level=confidence_level,
        seed=random_state,
        n_jobs=n_jobs,
        progress=progress,
        started=started,
    )
    remarks: tuple[str, ...] = ()
    row_numbers = None
    with opened(X, y, target, groups, request, run) as table:
        if isinstance(table, BlockTable):
            return estimate_in_blocks(table, request, run)
    if isinstance(table, Gathered):
        return _estimate_whole(table.dataset(), None, table.remarks, None, request, run)
    if target is not None or isinstance(X, str | os.PathLike) or hasattr(X, "columns"):
        from ..tables.table import as_arrays  # pandas: only where there is a table

        X, y, groups, remarks, row_numbers = as_arrays(X, y, target, groups)
    data = validate(X, y)
    in_groups = None if groups is None else grouped_rows(groups, data.n_samples)
    if in_groups is not None and run.sample_rows is not None:
        raise ParameterError("groups need all rows to be cross-fitted: leave out sample_rows, or the groups")
    if in_groups is None and run.n_fitted(data.n_samples, EFFORTS[effort]) < data.n_samples:
        return estimate_in_blocks(table_of(data, request, run, remarks, row_numbers), request, run)
    return _estimate_whole(data, in_groups, remarks, row_numbers, request, run)


def _estimate_whole(
    data: Dataset,
    groups: Codes | None,
    remarks: tuple[str, ...],
    row_numbers: RowNumbers | None,
    request: Request,
    run: Run,
) -> FloorResult:
    """Cross-fit the library on all rows, but once on each record."""
    data, groups, kept = without_copies(data, groups, request.seed)
    check_size(data)
    if kept is not None:
        row_numbers = kept if row_numbers is None else row_numbers[kept]
    if groups is not None and kept is not None:
        try:
            groups = grouped_rows(groups, data.n_samples)
        except DataError as error:
            raise DataError(f"{error}; groups that have copies of one row count as one group") from None
    n_jobs, tell = request.n_jobs, request.tell
    shares = None if request.priors is None else target_priors(request.priors, data)
    check_memory(data.n_samples, data.X.shape[1], data.n_classes, data.n_samples, request, run)
    trained = train(
        data,
        groups=groups,
        shares=data.priors if shares is None else shares,
        classifiers=request.classifiers,
        effort=request.effort,
        seed=request.seed,
        workers=Threads(n_threads(n_jobs), request.pieces(data, run, groups)),
        progress=request.progress,
    )
    learned = trained.pooled(request.progress)
    tell("balls in score space", 0)
    by_content = None if shares is None else shares[np.argsort(learned.arrangement.codes)]
    if learned.groups is None:
        ball, occupancy = ball_estimate(learned.P[0], learned.labels, by_content, n_jobs)
    else:
        # Rows of one group would vouch for each other. Those of large groups count for less then: what balls say is
        # taken relative to the errors on the same rows.
        alone = one_of_each(learned.groups, learned.draws.rng("balls"))
        if np.bincount(learned.labels[alone], minlength=data.n_classes).min() < 2:  # a class of hardly a group
            alone = np.arange(data.n_samples)
        ball, occupancy = ball_estimate(learned.P[0][alone], learned.labels[alone], by_content, n_jobs)
        weights = learned.row_weights[alone] / learned.row_weights[alone].sum()
        ball += learned.figures()[0][0] - summarise(learned.P[0][alone], learned.labels[alone], weights)[0]
    raw = _raw(data, shares, n_jobs) if groups is None else None
    tell("balls in score space", 1)
    tell("bounds", 0)
    bounds = learned.bounds(n_jobs) if shares is None else ()
    tell("bounds", 1)
    posterior = learned.posterior()
    counted = Counted(
        figures=learned.figures(),
        ball=ball,
        occupancy=occupancy,
        raw=raw,
        held_out=learned.held_out(),
        pairs=pair_table(posterior, learned.row_weights[learned.arrangement.back]),
        bounds=bounds,
        posterior=posterior,
        labels=data.labels,
        row_numbers=row_numbers,
    )
    return conclude(
        data,
        learned,
        counted,
        priors=shares,
        confidence_level=request.confidence_level,
        remarks=remarks,
        settings=request.settings(),
        started=request.started,
    )


def _raw(data: Dataset, priors: Floats | None, n_jobs: int | None) -> float | None:
    if data.X.shape[1] > FEW_FEATURES:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesfloorWarning)
        learner = ball_learner(priors, n_jobs, standardize=True).fit(data.X, data.labels)
    return float(learner.bayes_error_) if learner.reliable_ else None
