"""From what was learned and counted to a result: the rule, the ceiling, and every figure with what it rests on."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from .._types import Codes, Floats, RowNumbers
from ..bounds.bounds import Bound
from ..library.arrangement import independent_rows
from ..library.pool import Stage
from ..library.training import Learned
from ..rows.dataset import Dataset
from ..rows.labels import plain
from .abstention import decline_points
from .ceiling import HeldOut, Test, ceiling, cut_interval
from .costs import CostMatrix, lowest_cost
from .curve import FRACTIONS, Curve
from .doubts import doubts, training_rows
from .metrics import metrics_of
from .predictions import Predictions
from .result import CurvePoint, Estimate, FloorResult, LearnerScore
from .rule import Evidence, judge, shrunk_shares
from .subgroups import RowFigures

__all__ = ["BALLS", "PLUG_IN", "Counted", "conclude", "pair_shares"]


@dataclass(frozen=True, eq=False)
class Counted:
    """What was counted over all rows, classes in sorted order.

    Attributes
    ----------
    curve : Curve
        What the library errs at each size of the training set.
    ball, occupancy
        Epsilon-ball ensemble on the scores, and how full its balls are, in words.
    raw : float or None
        The same on the columns; None if these are many or rows are no columns (texts, sparse rows, images).
    held_out : HeldOut
        Errors on rows that no choice has touched.
    pairs : ndarray of shape (C, C)
    bounds : tuple of Bound
    test : Test
        The classifier that is certified, on the held-out rows of the sample; `is_plain`: they are a plain draw.
    is_plain : bool
    costs : CostMatrix or None
    cost_losses : tuple of float or None
        Loss and expected loss by these costs of all rows, if the library learned from a sample.
    posterior, labels, row_numbers : ndarray or None
        Of single rows, where they are at hand.
    """

    curve: Curve
    ball: float
    occupancy: str
    raw: float | None
    held_out: HeldOut
    pairs: Floats
    bounds: tuple[Bound, ...]
    test: Test
    is_plain: bool = True
    costs: CostMatrix | None = None
    cost_losses: tuple[float, float] | None = None
    posterior: Floats | None = None
    labels: Codes | None = None
    row_numbers: RowNumbers | None = None


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
    curve, made = counted.curve, learned.fitted.library.representation
    evidence = Evidence.of(
        curve,
        n=independent_rows(data, priors, learned.groups),
        n_features=learned.rows.shape[1],
        n_classes=data.n_classes,
        majority=1 - float(shares.max()),
        shrunk_majority=1 - float((shrunk_shares(data.class_counts) if priors is None else priors).max()),
        ball=counted.ball,
        raw=counted.raw,
        pictures=made is not None and made.name == "images",
    )
    judgement = judge(evidence, confidence_level)
    limit = partial(ceiling, counted.held_out, priors)
    certified = limit(confidence_level)
    floor, interval = cut_interval(judgement.floor, judgement.low, judgement.high, limit, confidence_level)
    classes = tuple(plain(data.classes))
    stages = learned.fitted.stages
    said = _predictions(data, learned, counted, evidence, priors, confidence_level)
    training = training_rows(stages[0].n_train, data.n_samples, settings["effort"])
    if made is not None:  # its columns are hashes, which nobody has seen
        remarks = (*remarks, *replace(data, constant_columns=(), duplicate_columns=()).notes)
    else:
        remarks = (*remarks, *data.notes)
    return FloorResult(
        floor=floor,
        interval=interval,
        ceiling=certified,
        certificate=None if certified is None else counted.held_out.certificate(classes),
        estimates=_estimates(evidence, floor, counted.occupancy),
        bounds=counted.bounds,
        learners=_learners(learned),
        learning_curve=_learning_curve(stages, curve),
        classes=classes,
        priors=tuple(shares.tolist()),
        pair_error=pair_shares(counted.pairs, floor),
        posterior=counted.posterior,
        labels=counted.labels,
        row_numbers=counted.row_numbers,
        row_figures=_row_figures(learned, counted, evidence),
        predictions=said,
        yardsticks=tuple(metrics_of(said, classes)),
        declining=decline_points(said, floor),
        cost=None if counted.costs is None else lowest_cost(counted.costs, said, classes, counted.cost_losses),
        doubts=doubts(evidence, data, counted.bounds, certified, confidence_level, training=training, priors=priors),
        notes=(*remarks, *(f"left out: {name}" for name in learned.fitted.dropped)),
        evidence=evidence.to_dict(),
        settings={
            **settings,
            **({} if priors is None else {"priors": "given"}),
            "rows": data.n_samples,
            "left_behind": learned.fitted.left_behind,
            "confidence_level": confidence_level,
            "bayesfloor": version("bayesfloor"),
            "seconds": round(time.perf_counter() - started, 3),
        },
    )


def _predictions(
    data: Dataset,
    learned: Learned,
    counted: Counted,
    evidence: Evidence,
    priors: Floats | None,
    confidence_level: float,
) -> Predictions:
    """What was said of rows not seen, classes in sorted order."""
    codes = learned.arrangement.codes
    shares = data.priors if priors is None else priors
    return Predictions(
        P=[[P[:, codes] for P in repeat] for repeat in learned.P],
        y=np.argsort(codes)[learned.labels],
        weights=learned.row_weights,
        test=counted.test.with_classes(codes),
        n=min(evidence.n, len(learned.labels)),
        n_features=evidence.n_features,
        shares=shares,
        shrunk_shares=shrunk_shares(data.class_counts) if priors is None else priors,
        priors=priors,
        confidence_level=confidence_level,
        certifies=counted.is_plain,
    )


def _row_figures(learned: Learned, counted: Counted, evidence: Evidence) -> RowFigures | None:
    """What each row adds, if the library learned from all of them."""
    if counted.posterior is None or len(counted.posterior) != len(learned.labels):
        return None
    return RowFigures.of(learned.P, learned.labels, learned.row_weights, learned.arrangement.back, evidence)


def _learning_curve(stages: Sequence[Stage], curve: Curve) -> tuple[CurvePoint, ...]:
    rows = {stage.fraction: stage.n_train for stage in reversed(stages)}
    return tuple(CurvePoint(rows[f], curve.error(f), curve.plugin(f)) for f in FRACTIONS)


def _learners(learned: Learned) -> tuple[LearnerScore, ...]:
    """Each learner with its best setting, by error."""
    stage, y = learned.fitted.stages[0], learned.labels
    best: dict[str, LearnerScore] = {}
    for name, learner, logs in zip(stage.names, stage.learner, stage.logs, strict=True):
        loss = -float(logs[np.arange(len(y)), y].mean())
        if learner not in best or loss < best[learner].log_loss:
            error = float(learned.row_weights @ ((logs + np.log(learned.change)).argmax(axis=1) != y))
            best[learner] = LearnerScore(name, error, loss, learned.weights[learner], learner)
    return tuple(sorted(best.values(), key=lambda score: score.error))


PLUG_IN = "mean of 1 - largest probability (the plug-in)"
BALLS = "how the classes mix in small balls (Noshad, Xu and Hero's ensemble), drawn on"


def _estimates(evidence: Evidence, floor: float, occupancy: str) -> tuple[Estimate, ...]:
    combined = "the pooled classifiers' error, less what more rows would gain; weights from problems with a known floor"
    figures = (
        Estimate("floor", floor, combined),
        Estimate("pooled classifiers' error", evidence.error, "errors on rows that they had not seen: too high"),
        Estimate("error they expect", evidence.plugin, f"{PLUG_IN}: right if they are calibrated"),
        Estimate("labels of like scores", evidence.ball, f"{BALLS} the pooled classifiers' probabilities: {occupancy}"),
    )
    if evidence.raw is None:
        return figures
    return (*figures, Estimate("labels of like rows", evidence.raw, f"{BALLS} the columns"))


def pair_shares(table: Floats, floor: float) -> tuple[tuple[float, ...], ...]:
    """Share of the floor that class k (row) loses to class c (column)."""
    total = table.sum()
    return tuple(map(tuple, (table * (floor / total if total > 0 else 0.0)).tolist()))
