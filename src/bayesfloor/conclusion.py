"""From what was learned and counted to a result: the rule, the ceiling, and every figure with what it rests on."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrange import EFFORTS, independent_rows
from .bounds import Bound
from .doubts import doubts
from .evidence import Evidence, judge, shrunk_shares
from .interval import ConfidenceInterval, upper_limit
from .labels import plain
from .learned import Learned
from .result import CurvePoint, Estimate, FloorResult
from .validate import Dataset

__all__ = ["Counted", "conclude", "pair_shares"]

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Counted:
    """What was counted over all rows, classes in sorted order.

    Attributes
    ----------
    figures : sequence of (error, plug-in)
        Whole, half, quarter, quarter again.
    ball, occupancy
        Epsilon-ball ensemble on the scores, and how full its balls are, in words.
    raw : float or None
        The same on the features.
    wrong, tested : ndarray of shape (C,)
        Errors on rows that no choice has touched, and their number, by class.
    pairs : ndarray of shape (C, C)
    bounds : tuple of Bound
    posterior, labels, row_numbers : ndarray or None
        Of single rows, where they are at hand.
    """

    figures: Sequence[tuple[float, float]]
    ball: float
    occupancy: str
    raw: float | None
    wrong: Rows
    tested: Rows
    pairs: Floats
    bounds: tuple[Bound, ...]
    posterior: Floats | None = None
    labels: Rows | None = None
    row_numbers: Rows | None = None


def conclude(
    data: Dataset,
    learned: Learned,
    counted: Counted,
    *,
    priors: Floats | None,
    confidence_level: float,
    remarks: Sequence[str],
    settings: dict[str, Any],
    started: float,
) -> FloorResult:
    """Judge the floor, and put every figure beside what it rests on."""
    shares = data.priors if priors is None else priors
    figures = counted.figures
    evidence = Evidence(
        n=independent_rows(data, priors, learned.groups), n_features=data.X.shape[1], n_classes=data.n_classes,
        majority=1 - float(shares.max()),
        shrunk_majority=1 - float((shrunk_shares(data.class_counts) if priors is None else priors).max()),
        error=figures[0][0], plugin=figures[0][1], half_error=figures[1][0], half_plugin=figures[1][1],
        quarter_error=(figures[2][0] + figures[3][0]) / 2, quarter_plugin=(figures[2][1] + figures[3][1]) / 2,
        ball=counted.ball, raw=counted.raw, moved=learned.moved(1, 2), moved_late=learned.moved(0, 1),
        moved_apart=learned.moved(2, 3),
    )  # fmt: skip
    judgement = judge(evidence, confidence_level)
    ceiling = _ceiling(counted.wrong, counted.tested, priors, confidence_level)
    floor = min(judgement.floor, ceiling)
    stages = learned.fitted.stages
    held = len(learned.labels) < data.n_samples or stages[0].n_train in (EFFORTS["fast"], EFFORTS["balanced"])
    return FloorResult(
        floor=floor,
        interval=ConfidenceInterval(min(judgement.low, floor), max(judgement.high, floor), confidence_level),
        ceiling=ceiling,
        estimates=_estimates(evidence, floor, counted.occupancy),
        bounds=counted.bounds,
        learners=learned.learners(),
        learning_curve=tuple(CurvePoint(s.n_train, *f) for s, f in zip(stages[:3], figures[:3], strict=True)),
        classes=tuple(plain(data.classes)),
        priors=tuple(shares.tolist()),
        pair_error=pair_shares(counted.pairs, floor),
        posterior=counted.posterior,
        labels=counted.labels,
        row_numbers=counted.row_numbers,
        reasons=doubts(
            evidence, data, counted.bounds, ceiling, confidence_level, grouped=learned.groups is not None,
            held=held,
        ),
        notes=(*remarks, *data.notes, *(f"left out: {name}" for name in learned.fitted.dropped)),
        evidence=evidence.to_dict(),
        settings={
            **settings, "confidence_level": confidence_level, "bayesfloor": version("bayesfloor"),
            "seconds": round(time.perf_counter() - started, 3),
        },
    )  # fmt: skip


def _ceiling(wrong: Rows, tested: Rows, priors: Floats | None, confidence_level: float) -> float:
    """Clopper-Pearson limit; for given class shares the sum of the classes' limits, each at a stricter level."""
    if priors is None:
        return upper_limit(int(wrong.sum()), int(tested.sum()), confidence_level)
    level = 1 - (1 - confidence_level) / len(priors)
    limits = [upper_limit(int(k), int(n), level) if n else 1.0 for k, n in zip(wrong, tested, strict=True)]
    return float(priors @ limits)


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


def pair_shares(table: Floats, floor: float) -> tuple[tuple[float, ...], ...]:
    """Share of the floor that class k (row) loses to class c (column)."""
    total = table.sum()
    return tuple(map(tuple, (table * (floor / total if total > 0 else 0.0)).tolist()))
