"""What speaks against taking an estimate at face value: a code to act on, and a sentence to read."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..rows.dataset import Dataset
from ..rows.labels import plain
from ..utils.intervals import Bound
from .rule import Evidence, judge

__all__ = ["SEVERITIES", "Doubt", "doubts", "floor_of_scores", "unknown_doubt", "width_with_more"]

_UNEVEN = 20  # times as many rows in the largest class as in the smallest
_WIDE = 0.03  # intervals wider than this are worth a remark on what more data would do

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
        return self.sentence


def doubts(
    evidence: Evidence,
    data: Dataset,
    bounds: Sequence[Bound],
    ceiling: float | None,
    confidence_level: float,
    *,
    held: bool = False,
) -> tuple[Doubt, ...]:
    """Reasons for doubt, the weightiest first; `held`: there were more rows than models were trained on."""
    found = []
    judgement = judge(evidence, confidence_level)
    width, later = judgement.high - judgement.low, width_with_more(evidence, confidence_level)
    falling = evidence.half_error - evidence.error > 2 * evidence.sampling
    if falling:
        found.append(
            _doubt(
                "still-falling",
                f"the learning curve is still falling ({evidence.half_error:.1%} with half the "
                f"{'training ' * held}rows, {evidence.error:.1%} with all)",
                half_error=evidence.half_error,
                error=evidence.error,
            )
        )
    if (falling or width > _WIDE) and later < 0.9 * width:
        what = "training on 4x more of the rows (effort='thorough' does)" if held else "about 4x more data"
        found.append(
            _doubt(
                "wide-interval",
                f"the interval is {100 * width:.1f} points wide: {what} would narrow it to about "
                f"{100 * later:.1f} points",
                width=width,
                width_with_more=later,
            )
        )
    rows, columns = data.n_samples, data.X.shape[1]
    if rows < 10 * columns:
        sentence = f"{rows} rows for {columns} columns: fewer than ten per column"
        found.append(_doubt("few-rows-per-column", sentence, rows=rows, columns=columns))
    smallest, rare = int(data.class_counts.min()), plain(data.classes)[data.class_counts.argmin()]
    named = {"class": rare if isinstance(rare, bool | int | float | str) else str(rare)}
    if smallest < 30:
        sentence = f"class {rare!r} has only {smallest} rows"
        found.append(_doubt("few-rows-in-class", sentence, **named, rows=smallest))
    elif data.class_counts.max() > _UNEVEN * smallest:
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
        if bound.lower > ceiling
    )
    return tuple(found)


def floor_of_scores() -> Doubt:
    """What is to be said of every floor that was estimated from the user's scores."""
    sentence = "the floor is that of the scores: what they have lost, this estimate cannot see"
    return _doubt("floor-of-scores", sentence)


def unknown_doubt(sentence: str) -> Doubt:
    """A doubt of a result that was saved before doubts had codes."""
    return _doubt("unknown", sentence)


def _doubt(code: str, sentence: str, **figures: Any) -> Doubt:
    return Doubt(code, SEVERITIES[code], figures, sentence)


def width_with_more(evidence: Evidence, confidence_level: float) -> float:
    """Width of the interval with four times the rows, if what is left to learn falls with their square root."""
    more = replace(
        evidence,
        n=4 * evidence.n,
        ball=evidence.error + (evidence.ball - evidence.error) / 2,
        half_error=evidence.error + (evidence.half_error - evidence.error) / 2,
        claimed=evidence.claimed / 2,
        unsettled=evidence.unsettled / 2,
    )
    judgement = judge(more, confidence_level)
    return judgement.high - judgement.low
