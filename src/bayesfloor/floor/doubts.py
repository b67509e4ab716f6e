"""What speaks against taking an estimate at face value, in words."""

from collections.abc import Sequence
from dataclasses import replace

from ..rows.dataset import Dataset
from ..rows.labels import plain
from ..utils.intervals import Bound
from .rule import Evidence, judge

__all__ = ["doubts", "width_with_more"]

_UNEVEN = 20  # times as many rows in the largest class as in the smallest
_WIDE = 0.03  # intervals wider than this are worth a remark on what more data would do


def doubts(
    evidence: Evidence,
    data: Dataset,
    bounds: Sequence[Bound],
    ceiling: float | None,
    confidence_level: float,
    *,
    held: bool = False,
) -> tuple[str, ...]:
    """Reasons for doubt, the weightiest first; `held`: there were more rows than models were trained on."""
    found = []
    judgement = judge(evidence, confidence_level)
    width, later = judgement.high - judgement.low, width_with_more(evidence, confidence_level)
    falling = evidence.half_error - evidence.error > 2 * evidence.sampling
    if falling:
        found.append(
            f"the learning curve is still falling ({evidence.half_error:.1%} with half the {'training ' * held}rows, "
            f"{evidence.error:.1%} with all)"
        )
    if (falling or width > _WIDE) and later < 0.9 * width:
        what = "training on 4x more of the rows (effort='thorough' does)" if held else "about 4x more data"
        found.append(
            f"the interval is {100 * width:.1f} points wide: {what} would narrow it to about {100 * later:.1f} points"
        )
    if data.n_samples < 10 * data.X.shape[1]:
        found.append(f"{data.n_samples} rows for {data.X.shape[1]} columns: fewer than ten per column")
    if data.class_counts.min() < 30:
        rare = plain(data.classes)[data.class_counts.argmin()]
        found.append(f"class {rare!r} has only {data.class_counts.min()} rows")
    elif data.class_counts.max() > _UNEVEN * data.class_counts.min():
        rare = plain(data.classes)[data.class_counts.argmin()]
        found.append(
            f"class {rare!r} has {data.class_counts.min() / data.n_samples:.1%} of the rows: the error says little "
            "about it; priors='balanced' weighs all classes alike"
        )
    if ceiling is None:
        return (*found, "no ceiling can be certified: no row is left to test a classifier on")
    found.extend(
        f"the {bound.name} lower bound ({bound.lower:.1%}) is above the ceiling ({ceiling:.1%}): it does not hold"
        for bound in bounds
        if bound.lower > ceiling
    )
    return tuple(found)


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
