"""The floor from the user's own out-of-sample scores: no library is trained."""

import time
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
from scipy.special import log_softmax

from .._types import Floats
from ..errors import DataError
from ..library.arrangement import check_size
from ..library.fold import log_probabilities
from ..library.pool import Stage, pool_stage
from ..rows.dataset import validate
from ..rows.draws import Draws, one_of_each
from ..rows.keys import digest, row_keys
from ..rows.labels import plain
from ..rows.scaling import order_by_content
from ..utils.checks import check_seed
from ..utils.intervals import ConfidenceInterval, check_level, score_interval, upper_limit
from ._estimate import estimate
from .balls import ball_estimate, pair_table
from .ceiling import Certificate
from .conclusion import pair_shares
from .doubts import floor_of_scores
from .result import Estimate, FloorResult, LearnerScore
from .rule import shrunk_shares, summarise

__all__ = ["from_scores"]


def from_scores(
    scores: Any,
    y: Any,
    *,
    confidence_level: float = 0.95,
    random_state: int = 0,
    n_jobs: int | None = None,
    **options: Any,
) -> FloorResult:
    """Estimate the floor of what your own scores keep of the data.

    Scores can only lose information: the floor of the features is at most the floor of the scores.

    Parameters
    ----------
    scores : array-like of shape (N, C), (N,) or (N, m)
        *Out-of-sample* probabilities or logits with one column per class, in the order of the sorted labels; for two
        classes also one column, the probability or logit of the second. Any other number of columns is
        taken as an embedding and given to `estimate`, with the further options.
    y : array-like of shape (N,)
    confidence_level, random_state, n_jobs
        As in `estimate`.
    **options
        For `estimate`, if the scores are an embedding.

    Returns
    -------
    FloorResult

    Examples
    --------
    >>> from bayesfloor import problems
    >>> problem = problems.get("gaussians_100d")
    >>> X, y = problem.sample(2000, random_state=1)
    >>> result = from_scores(problem.posterior(X), y)   # a perfect model's scores; the floor is 0.1587
    >>> 0.1587 in result.interval
    True
    """
    started = time.perf_counter()
    check_level(confidence_level)
    data = validate(scores if np.ndim(scores) != 1 else np.asarray(scores)[:, None], y)
    check_seed(random_state)
    given = np.asarray(scores, dtype=np.float64).reshape(data.n_samples, -1)
    n_classes = data.n_classes
    if given.shape[1] != n_classes and not (n_classes == 2 and given.shape[1] == 1):
        return estimate(
            given, y, confidence_level=confidence_level, random_state=random_state, n_jobs=n_jobs, **options
        )
    if options:
        raise DataError(f"scores of {n_classes} classes need no {', '.join(options)}: nothing is trained")
    check_size(data)
    logs, read_as = _logarithms(given)
    stage = Stage(1.0, 0, ("your scores",), ("your scores",), logs[None].astype(np.float32))
    order = order_by_content(logs, data.labels, n_classes)  # the answer must not depend on that of the rows
    P, weights = pool_stage(
        replace(stage, logs=stage.logs[:, order]), data.labels[order], np.random.default_rng(random_state)
    )
    P = P[np.argsort(order)]
    row_weights = np.full(data.n_samples, 1 / data.n_samples)
    error, plugin = summarise(P, data.labels, row_weights)
    ball, occupancy = ball_estimate(P, data.labels, None, n_jobs)
    # Of rows that must be copies, since their scores have many digits and agree in all of them, one counts.
    draws = Draws(random_state, digest(row_keys(logs), data.labels))
    tested = np.arange(data.n_samples) if data.records is None else one_of_each(data.records, draws.rng("copies"))
    wrong = int((logs.argmax(axis=1) != data.labels)[tested].sum())
    ceiling, most = (
        min(upper_limit(wrong, len(tested), level), 1 - 1 / n_classes)
        for level in (confidence_level, (1 + confidence_level) / 2)
    )
    majority = 1 - float(shrunk_shares(data.class_counts).max())
    # Two classes: balls on a line, which is what they are best at. Three: they and the plug-in err to different sides.
    # More: the balls are empty, or mix what other directions separate.
    balls = {2: 1.0, 3: 0.5}.get(n_classes, 0.0)
    value = min(balls * ball + (1 - balls) * plugin, ceiling, majority)
    sampling = score_interval(value, len(tested), confidence_level)
    gap = abs((ball if balls else error) - plugin) / 2
    rests_on = (
        "balls in score space"
        if balls == 1
        else "mean of balls in score space and plug-in"
        if balls
        else "plug-in: with more than three classes balls are empty"
    )
    low, high = max(0.0, sampling.low - gap), max(value, min(most, sampling.high + gap))
    return FloorResult(
        floor=value,
        interval=ConfidenceInterval(low, high, confidence_level),
        ceiling=ceiling,
        certificate=Certificate("scores", None, wrong, len(tested)),
        estimates=(
            Estimate("floor", value, rests_on),
            Estimate("balls in score space", ball, f"epsilon-ball ensemble on your scores: {occupancy}"),
            Estimate("plug-in", plugin, "mean of 1 - largest probability, after calibration on other rows"),
            Estimate("error of your scores", wrong / len(tested), "the class with the largest score"),
        ),
        bounds=(),
        learners=(
            LearnerScore(
                "your scores", error, -float(np.log(P[np.arange(len(P)), data.labels]).mean()), weights["your scores"]
            ),
        ),
        learning_curve=(),
        classes=tuple(plain(data.classes)),
        priors=tuple(data.priors.tolist()),
        pair_error=pair_shares(pair_table(P, row_weights), value),
        doubts=(floor_of_scores(),),
        notes=(read_as, *replace(data, constant_columns=()).notes),  # a class may have the same score in every row
        evidence={"error": error, "plugin": plugin, "ball": ball, "n": data.n_samples, "shrunk_majority": majority},
        settings={
            "random_state": int(random_state),
            "confidence_level": confidence_level,
            "bayesfloor": version("bayesfloor"),
            "seconds": round(time.perf_counter() - started, 3),
        },
        posterior=P,
        labels=data.labels,
    )


def _logarithms(given: Floats) -> tuple[Floats, str]:
    """Log-probabilities of what may be probabilities or logits, and which of them it was taken for."""
    probable = bool((given >= 0).all() and (given <= 1).all())
    if given.shape[1] == 1:
        given = np.hstack([1 - given, given]) if probable else np.hstack([np.zeros_like(given), given])
    elif probable and np.abs(given.sum(axis=1) - 1).max() > 0.01 + 0.005 * given.shape[1]:
        probable = False  # all within [0, 1] by chance; probabilities may be rounded to two digits
    if probable:
        return log_probabilities(given), "the scores are taken for probabilities"
    return np.asarray(np.maximum(log_softmax(given, axis=1), np.log(1e-4))), "the scores are taken for logits"
