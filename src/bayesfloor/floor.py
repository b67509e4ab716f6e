"""The learned floor: learn the representation, then benchmark it."""

import os
import time
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arrange import EFFORTS, arranged_rows, check_request, grouped_rows, independent_rows, named_classifiers
from .bounds import Bound, all_bounds
from .doubts import doubts
from .errors import BayesfloorWarning
from .evidence import Evidence, judge, score_space, shrunk_shares, summarise
from .interval import ConfidenceInterval, upper_limit
from .labels import plain
from .learner import BenchmarkLearner
from .pool import Stage, pooled
from .result import CurvePoint, Estimate, FloorResult, LearnerScore
from .scores import cross_fit, locked_errors, one_of_each
from .settings import target_priors
from .validate import Dataset, validate
from .workers import Progress, n_threads

__all__ = ["ball_estimate", "estimate", "pair_shares"]

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

_FEW_FEATURES = 6  # up to so many the balls may be full in the features themselves
_BOUND_ROWS = 10_000


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
) -> FloorResult:
    """Estimate the floor: the lowest error any classifier could reach on data like these.

    A library of unlike classifiers is cross-fitted; their pooled scores are a representation of a few dimensions in
    which the epsilon-ball estimator works, and what they gain with the number of rows tells how far the floor is
    below them. See `docs/method.md`.

    Parameters
    ----------
    X : array-like of shape (N, d), frame, Table, str or Path
        Numbers: lists, numpy arrays or frames. A file, a frame with categories, dates or a `target`, and what
        `read_table` has made are encoded as numbers: see `read_table`.
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
        How many rows a model is trained on at most (2,000, 10,000, 50,000), and how many trees there are.
    confidence_level : float
        Of interval and ceiling.
    random_state : int
        Same seed, same answer, whatever the number of threads and the order of rows and classes.
    n_jobs : int, optional
        Threads; None means all cores.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

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
    remarks: tuple[str, ...] = ()
    row_numbers = None
    if target is not None or isinstance(X, str | os.PathLike) or hasattr(X, "columns"):
        from .tables import as_arrays  # pandas: only where there is a table

        X, y, groups, remarks, row_numbers = as_arrays(X, y, target, groups)
    data = validate(X, y)
    check_request(data, effort, confidence_level, random_state)
    points, order, codes = arranged_rows(data)
    rows, labels = points[order], codes[data.labels[order]]
    in_groups = None if groups is None else grouped_rows(groups, data.n_samples)[order]
    target = None if priors is None else target_priors(priors, data)
    row_weights = np.full(data.n_samples, 1 / data.n_samples)
    if target is not None:
        row_weights = ((target / data.priors) / data.n_samples)[data.labels[order]]
    stages, fold, dropped = cross_fit(
        rows, labels, data.n_classes, groups=in_groups, extra=named_classifiers(classifiers), effort=effort,
        max_rows=EFFORTS[effort], seed=random_state, threads=n_threads(n_jobs), progress=progress,
    )  # fmt: skip
    original = np.argsort(codes)  # stage columns -> sorted labels
    changed = np.ones(data.n_classes) if target is None else (target / data.priors)[original]

    def tell(stage: str, done: int, total: int = 1) -> None:
        if progress is not None:
            progress(stage, done, total)

    pools: list[tuple[Floats, dict[str, float]]] = []
    for stage in stages:
        tell("pooling", len(pools), len(stages))
        pools.append(pooled(stage, labels, random_state, in_groups))
    tell("pooling", len(stages), len(stages))
    P = [_reweighted(pool, changed) for pool, _ in pools]
    figures = [summarise(p, labels, row_weights) for p in P]
    tell("balls in score space", 0)
    # Rows of one group would vouch for each other.
    alone = np.arange(data.n_samples) if in_groups is None else one_of_each(in_groups)
    ball, occupancy = ball_estimate(P[0][alone], labels[alone], target if target is None else target[original], n_jobs)
    raw = _raw(data, target, n_jobs) if in_groups is None else None
    tell("balls in score space", 1)
    majority = 1 - float((data.priors if target is None else target).max())
    shrunk_majority = 1 - float((shrunk_shares(data.class_counts) if target is None else target).max())
    n_effective = independent_rows(data, target, in_groups)
    evidence = Evidence(
        n=n_effective, n_features=data.X.shape[1], n_classes=data.n_classes, majority=majority,
        shrunk_majority=shrunk_majority,
        error=figures[0][0], plugin=figures[0][1], half_error=figures[1][0], half_plugin=figures[1][1],
        quarter_error=(figures[2][0] + figures[3][0]) / 2, quarter_plugin=(figures[2][1] + figures[3][1]) / 2,
        ball=ball, raw=raw, moved=_moved(P[1], P[2], row_weights),
        moved_late=_moved(P[0], P[1], row_weights), moved_apart=_moved(P[2], P[3], row_weights),
    )  # fmt: skip
    judgement = judge(evidence, confidence_level)
    wrong, n_locked = locked_errors(stages[0], stages[1], labels, fold, changed, in_groups)
    ceiling = _ceiling(wrong, n_locked, None if target is None else target[original], confidence_level)
    tell("bounds", 0)
    bounds = _bounds(rows, labels, random_state, n_jobs) if target is None else ()
    tell("bounds", 1)
    floor = min(judgement.floor, ceiling)
    back = np.argsort(order)
    posterior = P[0][back][:, codes]
    return FloorResult(
        floor=floor,
        interval=ConfidenceInterval(min(judgement.low, floor), max(judgement.high, floor), confidence_level),
        ceiling=ceiling,
        estimates=_estimates(evidence, floor, occupancy),
        bounds=bounds,
        learners=_learners(stages[0], labels, pools[0][1], changed, row_weights),
        learning_curve=tuple(CurvePoint(s.n_train, f[0], f[1]) for s, f in zip(stages[:3], figures[:3], strict=True)),
        classes=tuple(plain(data.classes)),
        priors=tuple((data.priors if target is None else target).tolist()),
        pair_error=pair_shares(posterior, row_weights[back], floor),
        posterior=posterior,
        labels=data.labels,
        row_numbers=row_numbers,
        reasons=doubts(evidence, data, bounds, ceiling, confidence_level, grouped=in_groups is not None),
        notes=(*remarks, *data.notes, *(f"left out: {name}" for name in dropped)),
        evidence=evidence.to_dict(),
        settings={
            "effort": effort, "random_state": int(random_state), "confidence_level": confidence_level,
            "bayesfloor": version("bayesfloor"), "seconds": round(time.perf_counter() - started, 3),
        },
    )  # fmt: skip


def _ceiling(wrong: Rows, tested: Rows, priors: Floats | None, confidence_level: float) -> float:
    """Clopper-Pearson limit; for given class shares the sum of the classes' limits, each at a stricter level."""
    if priors is None:
        return upper_limit(int(wrong.sum()), int(tested.sum()), confidence_level)
    level = 1 - (1 - confidence_level) / len(priors)
    limits = [upper_limit(int(k), int(n), level) if n else 1.0 for k, n in zip(wrong, tested, strict=True)]
    return float(priors @ limits)


def _reweighted(P: Floats, change: Floats) -> Floats:
    """Posteriors under changed class shares."""
    changed = P * change
    return np.asarray(changed / changed.sum(axis=1, keepdims=True))


def ball_estimate(P: Floats, labels: Rows, priors: Floats | None, n_jobs: int | None) -> tuple[float, str]:
    """Epsilon-ball ensemble in the space of the scores, and how full its balls are, in words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesfloorWarning)
        learner = BenchmarkLearner(standardize=False, priors=priors, n_jobs=n_jobs, max_queries=20_000)
        learner.fit(score_space(P), labels)
    occupancy = learner.occupancy_
    full = f"balls hold {np.median(occupancy.median):,.0f} rows at the median, {occupancy.empty_share:.0%} are empty"
    return float(learner.bayes_error_), full


def _raw(data: Dataset, priors: Floats | None, n_jobs: int | None) -> float | None:
    if data.X.shape[1] > _FEW_FEATURES:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesfloorWarning)
        learner = BenchmarkLearner(priors=priors, n_jobs=n_jobs, max_queries=20_000).fit(data.X, data.labels)
    return float(learner.bayes_error_) if learner.reliable_ else None


def _bounds(rows: Floats, labels: Rows, seed: int, n_jobs: int | None) -> tuple[Bound, ...]:
    """Bounds from so many rows at most: they are there for comparison, and cost the square of the rows."""
    if len(rows) <= _BOUND_ROWS:
        return all_bounds(rows, labels, n_jobs=n_jobs)
    chosen = np.sort(np.random.default_rng(seed).permutation(len(rows))[:_BOUND_ROWS])
    return tuple(
        replace(bound, rests_on=f"{bound.rests_on}; from {_BOUND_ROWS:,} of the rows")
        for bound in all_bounds(rows[chosen], labels[chosen], n_jobs=n_jobs)
    )


def _moved(P: Floats, Q: Floats, weights: Floats) -> float:
    mean, at = (P + Q) / 2, np.arange(len(P))
    return float(weights @ np.abs(mean[at, P.argmax(axis=1)] - mean[at, Q.argmax(axis=1)]))


def _estimates(evidence: Evidence, floor: float, occupancy: str) -> tuple[Estimate, ...]:
    combined = "the figures below, combined by weights learned on simulated problems with known floor"
    figures = (
        Estimate("floor", floor, combined),
        Estimate("library's error", evidence.error, "errors of the pooled library on rows it has not seen: too high"),
        Estimate("library's plug-in", evidence.plugin, "mean of 1 - largest probability: right if they are calibrated"),
        Estimate("balls in score space", evidence.ball, f"epsilon-ball ensemble on the library's scores: {occupancy}"),
    )
    if evidence.raw is None:
        return figures
    return (
        *figures,
        Estimate("balls in the features", evidence.raw, "epsilon-ball ensemble on the columns"),
    )


def _learners(
    stage: Stage, y: Rows, weights: dict[str, float], change: Floats, row_weights: Floats
) -> tuple[LearnerScore, ...]:
    best: dict[str, LearnerScore] = {}
    for name, learner, logs in zip(stage.names, stage.learner, stage.logs, strict=True):
        loss = -float(logs[np.arange(len(y)), y].mean())
        if learner not in best or loss < best[learner].log_loss:
            error = float(row_weights @ ((logs + np.log(change)).argmax(axis=1) != y))
            best[learner] = LearnerScore(name, error, loss, weights[learner], learner)
    return tuple(sorted(best.values(), key=lambda score: score.error))


def pair_shares(P: Floats, weights: Floats, floor: float) -> tuple[tuple[float, ...], ...]:
    """Share of the floor that class k (row) loses to class c (column)."""
    winner, n_classes = P.argmax(axis=1), P.shape[1]
    table = np.zeros((n_classes, n_classes))
    for c in range(n_classes):
        table[:, c] = weights[winner == c] @ P[winner == c]
    np.fill_diagonal(table, 0.0)
    total = table.sum()
    return tuple(map(tuple, (table * (floor / total if total > 0 else 0.0)).tolist()))
