"""What speaks against taking an estimate at face value: a code to act on, and a sentence to read."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .._text import printable
from .._types import Floats
from ..errors import ParameterError
from ..library.arrangement import EFFORTS
from ..library.pool import N_FOLDS
from ..rows.dataset import Dataset
from ..rows.labels import plain
from ..utils.checks import brief
from ..utils.intervals import Bound
from .rule import Evidence, judge

__all__ = [
    "SEVERITIES",
    "Doubt",
    "Training",
    "check_codes",
    "doubts",
    "floor_of_scores",
    "model_beats_library",
    "model_below_floor",
    "nothing_found",
    "other_class_shares",
    "scores_of_training_rows",
    "training_rows",
    "unknown_doubt",
    "width_with_more",
]

_UNEVEN = 20  # times as many rows in the largest class as in the smallest
_WIDE = 0.03  # intervals wider than this are worth a remark
_NARROWER, _WORTH = 0.75, 0.005  # a remedy is worth naming if it narrows the interval to this share, and by so much

# Every code, and what the reader should do about it:
#   note      know it; floor, interval and ceiling can be used as they are
#   caution   go by the interval, not by the figure alone, and do what the sentence says before small differences matter
#   serious   rest no decision on the floor before this is put right
SEVERITIES = {
    "still-falling": "caution",
    "wide-interval": "note",
    "few-rows-per-column": "caution",
    "few-rows-in-class": "caution",
    "rare-class": "note",
    "no-ceiling": "serious",
    "bound-above-ceiling": "note",
    "floor-of-scores": "caution",
    "scores-of-training-rows": "serious",
    "nothing-found": "caution",
    "model-beats-library": "caution",
    "model-below-floor": "caution",
    "other-class-shares": "caution",
    "unknown": "caution",
}


@dataclass(frozen=True)
class Doubt:
    """A reason not to take an estimate at face value.

    Attributes
    ----------
    code : str
        What it is, for programs: sentences may be reworded, codes stay. docs/method.md lists them.
    severity : {"note", "caution", "serious"}
        What to do about it: know it; go by the interval and not by the figure alone; rest no decision on the floor.
    figures : dict
        The numbers and names in the sentence, shares as shares; plain values, as JSON has them.
    sentence : str
    """

    code: str
    severity: str
    figures: dict[str, Any] = field(hash=False)
    sentence: str

    def __str__(self) -> str:
        return printable(self.sentence)


@dataclass(frozen=True)
class Training:
    """How many rows the models of full size were trained on, and how many they could have been."""

    rows: int
    most: int  # at effort "thorough"; equal to `rows` where that is the effort
    everything: bool  # whether no row was left out but for those that models were tested on

    @property
    def can_have_more(self) -> bool:
        """Whether another effort would train on many more of the rows."""
        return self.most > 1.5 * self.rows


def training_rows(n_train: int, n: int, effort: str) -> Training:
    """What models of full size were trained on, and what another effort would train them on."""
    possible = n - n // N_FOLDS  # of each fold's models: the other folds
    most = n_train if effort == "thorough" else max(n_train, min(EFFORTS["thorough"], possible))
    return Training(n_train, most, everything=n_train >= 0.95 * possible)  # groups make folds uneven


def doubts(
    evidence: Evidence,
    data: Dataset,
    bounds: Sequence[Bound],
    ceiling: float | None,
    confidence_level: float,
    *,
    training: Training,
    priors: Floats | None = None,
) -> tuple[Doubt, ...]:
    """Reasons for doubt, the weightiest first; `priors` are class shares that were asked for."""
    found = []
    judgement = judge(evidence, confidence_level)
    width = judgement.high - judgement.low
    if evidence.half_error - evidence.error > 2 * evidence.sampling:
        found.append(
            _doubt(
                "still-falling",
                f"the learning curve is still falling ({evidence.half_error:.1%} with half the "
                f"{'' if training.everything else 'training '}rows, {evidence.error:.1%} with all)",
                half_error=evidence.half_error,
                error=evidence.error,
                training_rows=training.rows,
                training_rows_possible=training.most,
                all_rows_used=training.everything,
            )
        )
    if width > _WIDE:
        remedy = _narrow(evidence, confidence_level, training)
        would = f": {remedy.what} would narrow it to about {100 * remedy.width:.1f} points" if remedy else ""
        found.append(
            _doubt(
                "wide-interval",
                f"the interval is {100 * width:.1f} points wide{would}",
                width=width,
                width_with_more=remedy.width if remedy else None,
            )
        )
    rows, columns = data.n_samples, evidence.n_features
    if rows < 10 * columns:
        sentence = f"{rows} rows for {columns} columns: fewer than ten per column"
        found.append(_doubt("few-rows-per-column", sentence, rows=rows, columns=columns))
    smallest, rare = int(data.class_counts.min()), plain(data.classes)[data.class_counts.argmin()]
    named = {"class": rare if isinstance(rare, bool | int | float | str) else str(rare)}
    if smallest < 30:
        sentence = f"class {rare!r} has only {smallest} rows"
        found.append(_doubt("few-rows-in-class", sentence, **named, rows=smallest))
    elif priors is None and data.class_counts.max() > _UNEVEN * smallest:
        found.append(
            _doubt(
                "rare-class",
                f"class {rare!r} has {smallest / rows:.1%} of the rows: the error says little about it; "
                "priors='balanced' weighs all classes alike",
                **named,
                share=smallest / rows,
            )
        )
    if ceiling is None:
        sentence = "no ceiling can be certified: no row is left to test a classifier on"
        return (*found, _doubt("no-ceiling", sentence))
    found.extend(
        _doubt(
            "bound-above-ceiling",
            f"the {bound.name} lower bound ({bound.lower:.1%}) is above the ceiling ({ceiling:.1%}): it does not hold",
            bound=bound.name,
            lower=float(bound.lower),
            ceiling=float(ceiling),
        )
        for bound in bounds
        if bound.applies and bound.lower > ceiling
    )
    return tuple(found)


def floor_of_scores() -> Doubt:
    """What is to be said of every floor that was estimated from the user's scores."""
    sentence = "the floor is that of the scores: what they have lost, this estimate cannot see"
    return _doubt("floor-of-scores", sentence)


def scores_of_training_rows(errors: int, n: int) -> Doubt:
    """What is to be said of scores that hardly err and hardly doubt: mostly the model was trained on these rows."""
    sentence = (
        f"the scores err on {errors:,} of {n:,} rows and hardly doubt any: they look as if the model had been trained "
        "on these rows, so nothing is certified; if they are of rows it has not seen, the classes are all but "
        f"separable, and bounds.certified_upper_limit({errors}, {n}) is the limit"
    )
    return _doubt("scores-of-training-rows", sentence, errors=errors, rows=n)


def nothing_found() -> Doubt:
    """What `compare` has to say where nothing was seen to err less than naming one class."""
    return _doubt("nothing-found", "no classifier was seen to err less than naming one class: structure may be missed")


def model_beats_library(error: float) -> Doubt:
    """What a model shows that errs less than all classifiers of the estimate together."""
    sentence = (
        f"the model errs less than the classifiers that the floor rests on, pooled ({error:.1%}), beyond chance: there "
        "is structure that they have not found"
    )
    return _doubt("model-beats-library", sentence, error=error)


def model_below_floor(limit: float) -> Doubt:
    """What a model shows that errs less than the floor's estimate, though within its interval."""
    return _doubt("model-below-floor", f"the model itself shows that the floor is not above {limit:.1%}", limit=limit)


def other_class_shares(difference: str, obstacle: str) -> Doubt:
    """What `compare` says where test rows have other class shares, and the floor at theirs is not known."""
    return _doubt("other-class-shares", f"{difference}, and {obstacle}", difference=difference, obstacle=obstacle)


def check_codes(codes: Any) -> tuple[str, ...]:
    """Codes of doubts to mute; refuse one that there is not.

    Examples
    --------
    >>> check_codes("still-falling,rare-class"), check_codes(["wide-interval"])
    (('still-falling', 'rare-class'), ('wide-interval',))
    >>> check_codes(["stil-falling"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    bayesfloor.errors.ParameterError: there is no doubt with the code 'stil-falling': did you mean still-falling? ...
    """
    try:
        given = [codes] if isinstance(codes, str) else list(codes)
    except TypeError:
        given = [None]
    if not all(isinstance(code, str) for code in given):
        raise ParameterError(f"ignore must be a list of codes such as still-falling, got {brief(codes)}")
    found = [part.strip() for code in given for part in code.split(",") if part.strip()]
    for code in found:
        if code not in SEVERITIES:
            near = difflib.get_close_matches(code, SEVERITIES, n=1)
            meant = f" did you mean {near[0]}?" if near else ""
            raise ParameterError(
                f"there is no doubt with the code {brief(code)}:{meant} Codes: {', '.join(SEVERITIES)}"
            )
    return tuple(dict.fromkeys(found))


def unknown_doubt(sentence: str) -> Doubt:
    """A doubt of a result that was saved before doubts had codes."""
    return _doubt("unknown", sentence)


def _doubt(code: str, sentence: str, **figures: Any) -> Doubt:
    return Doubt(code, SEVERITIES[code], figures, sentence)


class _Remedy(NamedTuple):
    what: str
    width: float


def _narrow(evidence: Evidence, confidence_level: float, training: Training) -> _Remedy | None:
    """What would narrow the interval, and how wide it would be then; None where nothing is worth naming."""
    now = judge(evidence, confidence_level)

    def remedy(what: str, rows: float, more_training: float) -> _Remedy | None:
        later = width_with_more(evidence, confidence_level, rows=rows, training=more_training)
        narrower = later <= _NARROWER * (now.high - now.low) and now.high - now.low - later >= _WORTH
        return _Remedy(what, later) if narrower else None

    if training.everything:
        return remedy("about 4x more data", 4, 4)
    thorough = f"effort='thorough', which trains on {training.most:,} rows at a time instead of {training.rows:,},"
    # Of more data models would see no more at a time, but rare classes and tests would have more rows.
    return remedy(thorough, 1, training.most / training.rows) or remedy("about 4x more data", 4, 1)


def width_with_more(evidence: Evidence, confidence_level: float, *, rows: float, training: float) -> float:
    """Width of the interval with so many times the rows, and so many times those that models are trained on."""
    judgement = judge(evidence.with_more(rows, training), confidence_level)
    return judgement.high - judgement.low
