"""The floor from the user's own out-of-sample scores: no library is trained."""

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
from scipy.special import expit, log_softmax

from .._types import Codes, Floats, RandomSeed, RowNumbers
from ..errors import DataError
from ..library.arrangement import check_size
from ..library.fold import log_probabilities
from ..library.pool import Stage, pool_stage
from ..library.recalibration import recalibrate, score_ranks
from ..library.training import reweight
from ..rows.dataset import Dataset, as_array, dataset_of, feature_matrix
from ..rows.draws import Draws, one_of_each
from ..rows.gaps import unlabelled_note
from ..rows.keys import digest, row_keys
from ..rows.labels import encode_labels, plain, present_labels
from ..rows.scaling import order_by_content
from ..utils.checks import seed_from
from ..utils.intervals import ConfidenceInterval, check_level, score_interval
from ._estimate import estimate
from .balls import ball_estimate, pair_table
from .ceiling import Certificate, HeldOut, ceiling, cut_interval
from .conclusion import BALLS, PLUG_IN, pair_shares
from .curve import summarise
from .doubts import check_codes, floor_of_scores, scores_of_training_rows
from .result import Estimate, FloorResult, LearnerScore
from .rows import frame_index
from .rule import BALL_CLASSES, shrunk_shares
from .shares import drift

__all__ = ["from_scores"]

# Scores that err on so few rows, and leave so little doubt after the better of two calibrations, are mostly those of
# training rows. Forests, nearest neighbours, boosting and networks that had memorised 300 or 1,000 rows of problems
# with floors of 9 and 16 % erred on at most 0.1 % and left 0.13 % of doubt; honest scores of one with floor 0.6 % left
# 0.4 %. Chosen by looking at these, and not tested on many others.
_HARDLY_WRONG, _HARDLY_DOUBT = 0.005, 0.002
# Of the error of naming the largest class: where that errs hardly ever, hardly an error is no sign of memory.
_FAR_BELOW_MAJORITY = 0.1


def from_scores(
    scores: Any,
    y: Any,
    *,
    confidence_level: float = 0.95,
    random_state: RandomSeed = 0,
    n_jobs: int | None = None,
    ignore: Iterable[str] | str = (),
    **options: Any,
) -> FloorResult:
    """Estimate the floor of what your own scores keep of the data.

    Scores can only lose information: the floor of the features is at most the floor of the scores. They need not be
    calibrated: an increasing distortion does not change their floor, and hardly the estimate. Scores of rows that the
    model was trained on say nothing; where they hardly err and hardly doubt, the result says so and certifies nothing.

    Parameters
    ----------
    scores : array-like of shape (N, C), (N,) or (N, m)
        *Out-of-sample* probabilities or logits with one column per class, in the order of the sorted labels; for two
        classes also one column, the probability or logit of the second. Where the largest tie, the first counts.
        Any other number of columns is taken as an embedding and given to `estimate`, with the further options.
    y : array-like of shape (N,)
        Rows whose label is missing are dropped.
    confidence_level, random_state, n_jobs, ignore
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
    codes, index = check_codes(ignore), frame_index(scores)
    table = scores if hasattr(scores, "columns") else as_array(scores, "scores")
    table = table[:, None] if table.ndim == 1 else table
    every, names = feature_matrix(table)
    labels, labelled, n_rows = present_labels(y, len(every))
    given = every if labelled is None else every[labelled]  # with the columns that are constant
    data = dataset_of(given, names, *encode_labels(labels))
    seed = seed_from(random_state)
    n_classes = data.n_classes
    if given.shape[1] != n_classes and not (n_classes == 2 and given.shape[1] == 1):
        result = estimate(
            every, y, confidence_level=confidence_level, random_state=seed, n_jobs=n_jobs, ignore=codes, **options
        )
        return replace(result, index=index)
    if options:
        raise DataError(f"scores of {n_classes} classes need no {', '.join(options)}: nothing is trained")
    check_size(data)
    logs = _Logarithms.of(given)
    posteriors, coordinates = _posteriors(logs, data, seed)
    # Of two classes the map alone: it costs next to nothing on calibrated scores, and no distortion changes a digit.
    chosen = posteriors[1] if n_classes == 2 else min(posteriors, key=lambda posterior: posterior.log_loss)
    P, error, plugin = chosen.P, chosen.error, chosen.plugin
    # Two classes: on the line of the scores, stretched for balls. A map that is flat would put rows into one place.
    space = np.hstack([expit(coordinates), expit(-coordinates)]) if n_classes == 2 else P
    ball, occupancy = ball_estimate(space, data.labels, None, n_jobs)
    tested = _tested_rows(logs, data, P, seed)
    truth, missed = data.labels[tested], (logs.whole.argmax(axis=1) != data.labels)[tested]
    held = HeldOut(np.bincount(truth[missed], minlength=n_classes), np.bincount(truth, minlength=n_classes))
    wrong, limit = int(missed.sum()), partial(ceiling, held, None)
    certified = limit(confidence_level)
    assert certified is not None
    majority = 1 - float(shrunk_shares(data.class_counts).max())
    most_wrong, most_doubt = (min(most, _FAR_BELOW_MAJORITY * majority) for most in (_HARDLY_WRONG, _HARDLY_DOUBT))
    memorised = wrong <= most_wrong * len(tested) and min(p.plugin for p in posteriors) <= most_doubt
    # The plug-in of calibrated scores is less noisy than balls or errors, and was nearer to known floors than balls;
    # means of plug-in and error did about as well. Balls do not take the posterior to increase with the score: where
    # they are full, the interval reaches them.
    value = min(plugin, majority) if memorised else min(plugin, certified, majority)
    figures = [plugin, error, posteriors[1].plugin, posteriors[1].error, *([ball] if n_classes <= BALL_CLASSES else [])]
    interval = _interval(value, figures, len(tested), confidence_level)
    if memorised:  # how these rows are scored sets no limit to how new ones can be: naming the largest class does
        at_most = score_interval(majority, data.n_samples, confidence_level).high
        interval = replace(interval, high=min(at_most, 1 - 1 / n_classes))
    else:
        _, interval = cut_interval(value, interval.low, interval.high, limit, confidence_level)
    changing = drift(data.labels, {})
    return FloorResult(
        floor=value,
        interval=interval,
        ceiling=None if memorised else certified,
        certificate=None if memorised else Certificate("scores", None, wrong, len(tested)),
        estimates=(
            Estimate("floor", value, f"error that the scores expect after {chosen.made_by}"),
            Estimate("labels of like scores", ball, f"{BALLS} your scores: {occupancy}"),
            Estimate("error they expect", plugin, f"{PLUG_IN}, after {chosen.made_by}, on other rows"),
            Estimate("error after calibration", error, f"after {chosen.made_by}, on other rows"),
            Estimate("error of your scores", wrong / len(tested), "the class with the largest score"),
        ),
        bounds=(),
        learners=tuple(
            LearnerScore(p.name, p.error, p.log_loss, float(p is chosen))
            for p in sorted(posteriors, key=lambda p: p is not chosen)
        ),
        learning_curve=(),
        classes=tuple(plain(data.classes)),
        priors=tuple(data.priors.tolist()),
        pair_error=pair_shares(pair_table(P, np.full(data.n_samples, 1 / data.n_samples)), value),
        doubts=((scores_of_training_rows(wrong, len(tested)),) if memorised else ()) + (floor_of_scores(),),
        notes=(logs.read_as, *unlabelled_note(n_rows - len(given), n_rows), *_notes(data, len(tested))),
        evidence={
            "error": error,
            "plugin": plugin,
            "ball": ball,
            "recalibrated_error": posteriors[1].error,
            "recalibrated_plugin": posteriors[1].plugin,
            "n": data.n_samples,
            "shrunk_majority": majority,
        },
        settings={
            "random_state": seed,
            "confidence_level": confidence_level,
            **({} if changing is None else {"drift": changing}),
            "bayesfloor": version("bayesfloor"),
            "seconds": round(time.perf_counter() - started, 3),
        },
        posterior=P,
        labels=data.labels,
        row_numbers=labelled,
        index=index,
    ).mute(codes)


def _interval(value: float, figures: Sequence[float], n: int, confidence_level: float) -> ConfidenceInterval:
    """Sampling noise, and what other figures leave open: squared and added, each arm by itself.

    It reaches from the smallest to the largest of the figures at least.
    """
    sampling = score_interval(value, n, confidence_level)
    below = math.hypot(value - sampling.low, max(0.0, value - min(figures)))
    above = math.hypot(sampling.high - value, max(0.0, max(figures) - value))
    return ConfidenceInterval(max(0.0, value - below), min(1.0, value + above), confidence_level)


def scores_at(result: FloorResult, shares: Floats) -> tuple[float, ConfidenceInterval, float, int]:
    """Floor of a result of scores at other class shares if nothing else changes, its interval, error, and rows.

    Figures that cannot be had at other shares are taken to be as far from the floor as they were.
    """
    P, labels, known = result.posterior, result.labels, result.evidence
    assert P is not None
    assert labels is not None
    counts = np.bincount(labels, minlength=len(shares))
    moved = reweight(P, np.maximum(shares, 1e-300) / np.array(result.priors))
    error, plugin = summarise(moved, labels, (shares / counts)[labels])
    floor = min(plugin, 1 - float(shares.max()))
    n = max(2, round(1 / float((shares**2 / counts).sum())))
    names = ["recalibrated_error", "recalibrated_plugin", *(["ball"] if len(shares) <= BALL_CLASSES else [])]
    figures = [plugin, error, *(floor + known[name] - result.floor for name in names)]
    return floor, _interval(floor, figures, n, result.interval.confidence_level), error, n


def _notes(data: Dataset, n_tested: int) -> tuple[str, ...]:
    """What a reader should know about the rows. That scores tie, or one class has the same in every row, is nothing."""
    notes = replace(data, constant_columns=(), n_duplicate_rows=0).notes
    copies = data.n_samples - n_tested
    if not copies:
        return notes
    return (*notes, f"{copies} of {data.n_samples} rows are copies of another: each record counts once for the ceiling")


@dataclass(frozen=True, eq=False)
class _Logarithms:
    """Logarithms of scores: as probabilities, none below 1e-4, and as they came."""

    clipped: Floats
    whole: Floats
    read_as: str

    @classmethod
    def of(cls, given: Floats) -> "_Logarithms":
        """Of what may be probabilities or logits; of two classes perhaps the second's alone."""
        probable = bool((given >= 0).all() and (given <= 1).all())
        if given.shape[1] == 1:
            given = np.hstack([1 - given, given]) if probable else np.hstack([np.zeros_like(given), given])
        elif probable and np.abs(given.sum(axis=1) - 1).max() > 0.01 + 0.005 * given.shape[1]:
            probable = False  # all within [0, 1] by chance; probabilities may be rounded to two digits
        if probable:
            whole = np.log(np.maximum(given, np.finfo(np.float64).smallest_subnormal))  # 0 is below all others
            return cls(log_probabilities(given), whole, "the scores are taken for probabilities")
        clipped = np.maximum(log_softmax(given, axis=1), np.log(1e-4))
        return cls(clipped, given, "the scores are taken for logits")


@dataclass(frozen=True, eq=False)
class _Posterior:
    """Probabilities of all rows, by what was fitted to other rows."""

    name: str
    made_by: str
    P: Floats
    error: float
    plugin: float
    log_loss: float

    @classmethod
    def of(cls, name: str, made_by: str, P: Floats, labels: Codes) -> "_Posterior":
        """With the figures that are judged."""
        n = len(labels)
        loss = -float(np.log(P[np.arange(n), labels]).mean())
        return cls(name, made_by, P, *summarise(P, labels, np.full(n, 1 / n)), loss)


def _posteriors(logs: _Logarithms, data: Dataset, seed: int) -> tuple[tuple[_Posterior, _Posterior], Floats]:
    """The scores after a temperature and shifts and after an increasing map, and the coordinates of the latter."""
    classes, order = _by_content(logs.whole, data.labels, data.class_counts)
    codes, back = np.argsort(classes), np.argsort(order)
    y, groups = codes[data.labels][order], None if data.records is None else data.records[order]
    rng = np.random.default_rng(seed)
    stage = Stage(1.0, 0, ("scores",), ("scores",), logs.clipped[order][:, classes][None].astype(np.float32))
    tempered, _ = pool_stage(stage, y, rng, groups)
    mapped, coordinates = recalibrate(score_ranks(logs.whole[order][:, classes]), y, data.n_classes, rng, groups)
    return (
        _Posterior.of("your scores", "a temperature and shifts", tempered[back][:, codes], data.labels),
        _Posterior.of(
            "your scores, recalibrated", "an increasing map of the scores", mapped[back][:, codes], data.labels
        ),
    ), coordinates[back]


def _by_content(scores: Floats, labels: Codes, class_counts: Codes) -> tuple[RowNumbers, RowNumbers]:
    """Orders of classes and rows that depend neither on the names of the ones nor on the order of the others.

    Nor on an increasing distortion of two classes' scores: they go by ranks.
    """
    ranks = score_ranks(scores)
    if ranks.shape[1] == 1:
        ranks = np.hstack([ranks, len(ranks) + 1 - ranks])
    own = np.bincount(labels, weights=ranks[np.arange(len(labels)), labels])
    classes = np.lexsort((own, class_counts))
    ranks *= 1e6 / ranks.max()  # what `order_by_content` can tell apart
    return classes, order_by_content(ranks[:, classes], np.argsort(classes)[labels], len(classes))


def _tested_rows(logs: _Logarithms, data: Dataset, P: Floats, seed: int) -> RowNumbers:
    """Rows that count for the ceiling: of copies one.

    Scores that agree in many digits are copies, or the steps of a tree. Copies have one label; rows on one step have
    the labels that chance gives them. Where labels differ more than half as often as that, there are no copies.
    """
    everything = np.arange(data.n_samples)
    if data.records is None:
        return everything
    draws = Draws(seed, digest(row_keys(logs.clipped), data.labels))
    first = one_of_each(data.records, draws.rng("copies"))
    of_record = np.empty(data.n_samples, dtype=np.int64)
    of_record[data.records[first]] = data.labels[first]
    others = np.setdiff1d(everything, first)
    differ = (of_record[data.records] != data.labels)[others].sum()
    expected = (1 - (P[others] ** 2).sum(axis=1)).sum()
    return first if differ <= expected / 2 else everything
