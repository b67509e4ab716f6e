"""What to do next, from what a result says."""

import numpy as np

from ..floor._compare import Comparison
from ..floor.result import FloorResult
from ..utils.checks import listed

__all__ = ["n_suspects", "next_steps"]

_UNLIKELY, _SURE = 0.1, 0.8  # a label less probable than the one, while another class is more probable than the other


def next_steps(result: FloorResult, comparison: Comparison | None = None) -> list[tuple[str, str]]:
    """Advice: what to do, and why; what matters most comes first.

    Examples
    --------
    >>> from bayesfloor import from_scores
    >>> result = from_scores([0.1, 0.2, 0.9, 0.8] * 20, [0, 0, 1, 1] * 20)
    >>> [what for what, why in next_steps(result)]
    ['Put your model on the scale', 'Estimate from the features as well']
    """
    return [*_model(result, comparison), *_labels(result), *_rows(result), *_pairs(result)]


def n_suspects(result: FloorResult) -> int:
    """Rows whose label is improbable while another class is nearly certain."""
    if result.posterior is None or result.labels is None:
        return 0
    P = result.posterior
    return int(((P[np.arange(len(P)), result.labels] < _UNLIKELY) & (P.max(axis=1) > _SURE)).sum())


def _model(result: FloorResult, comparison: Comparison | None) -> list[tuple[str, str]]:
    if comparison is None:
        return [
            (
                "Put your model on the scale",
                "Give its test error and the number of test rows: compare(result, error=..., n_test=...) in Python, "
                "--error and --n-test on the command line. This page then says how much room it has.",
            )
        ]
    if comparison.verdict == "below the floor":
        return [
            (
                "Look for leakage before anything else",
                "The model errs less than should be possible. Usual causes: test rows or copies of them in training, a "
                "column that is only known after the label, choosing the model on its test rows. If all is clean, the "
                "test rows are easier than those of the floor, or this is one of the cases that the interval misses.",
            )
        ]
    left = comparison.excess_interval.high
    if comparison.verdict == "cannot tell":
        return [
            (
                "Get a clearer answer before you stop",
                f"The model may be at the floor, but up to {100 * left:.1f} points above it are not ruled out: "
                f"{comparison.missing} would narrow that down.",
            )
        ]
    if comparison.verdict == "at the floor":
        return [
            (
                "Stop tuning; change the data",
                "On these columns a better model has little to gain. Columns that say more about the label, or cleaner "
                "labels, lower the floor itself; another model does not.",
            )
        ]
    text = f"There are about {100 * comparison.excess:.1f} points between your model and the floor."
    pool = float(result.evidence.get("error", 1.0))
    if result.learning_curve and pool < comparison.error:
        best = listed([score.plain_name for score in result.learners[:3]], 3)
        text += (
            f" The library of this estimate errs {pool:.1%} untuned, less than your model; the best in it: {best}. "
            "Start with those, pooled."
        )
    else:
        text += " Other kinds of models, more training rows and tuning are worth their time."
    return [("Work on the model", text)]


def _labels(result: FloorResult) -> list[tuple[str, str]]:
    suspects = n_suspects(result)
    if not suspects:
        return []
    assert result.posterior is not None
    share = suspects / len(result.posterior)
    many = f"{suspects:,} labels look" if suspects > 1 else "1 label looks"
    return [
        (
            "Look again at the labels that look wrong",
            f"{many} wrong ({share:.1%} of the rows): improbable where another class is nearly certain. If they are "
            f"mistakes, correcting them lowers the floor by up to {100 * min(share, result.floor):.1f} points. Some of "
            "them will be right: rare is not wrong.",
        )
    ]


def _rows(result: FloorResult) -> list[tuple[str, str]]:
    steps = []
    codes = {doubt.code for doubt in result.doubts}
    if "still-falling" in codes:
        steps.append(
            (
                "Collect more rows",
                "The learning curve is still falling: any model gains from more rows, and the estimate gets tighter.",
            )
        )
    elif result.interval.high - result.interval.low > max(0.05, 0.6 * result.floor):
        steps.append(("Narrow the interval", "It is wide for the size of the floor; more rows would narrow it."))
    if "few-rows-per-column" in codes:
        steps.append(("Leave out columns", "There are few rows per column: drop those that cannot matter."))
    if "few-rows-in-class" in codes:
        steps.append(("Get more rows of the rare class", "Its share of the floor rests on a handful of rows."))
    if "floor-of-scores" in codes:
        steps.append(
            (
                "Estimate from the features as well",
                "What your scores have lost this estimate cannot see; the floor of the features may be lower.",
            )
        )
    return steps


def _pairs(result: FloorResult) -> list[tuple[str, str]]:
    if len(result.classes) < 3 or result.floor <= 0 or not result.pair_error:
        return []
    both = np.triu(np.array(result.pair_error) + np.array(result.pair_error).T)
    first, second = (int(c) for c in np.unravel_index(both.argmax(), both.shape))
    share = float(both.max()) / result.floor
    if share < max(0.2, 4 / (len(result.classes) * (len(result.classes) - 1))):
        return []
    return [
        (
            f"Tell {result.classes[first]} from {result.classes[second]}",
            f"These two make {share:.0%} of the floor. A column that separates them is worth more than any other; if "
            "nobody needs them apart, merging them lowers the floor.",
        )
    ]
