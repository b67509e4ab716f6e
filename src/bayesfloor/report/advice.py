"""What to do next, from what a result says."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..floor._compare import Comparison
from ..floor.doubts import Training
from ..floor.result import FloorResult
from ..utils.checks import listed

__all__ = ["ADVICE", "Advice", "n_suspects", "next_steps"]


@dataclass(frozen=True)
class Advice:
    """What to do about a doubt: when that helps, and why.

    Attributes
    ----------
    code : str
        Of the doubt that it hangs on.
    condition : str
        When it helps, in words, as in the table of docs/method.md.
    helps : function of the result and the figures of the doubt
    what, why : str
    """

    code: str
    condition: str
    helps: Callable[[FloorResult, dict[str, Any]], bool]
    what: str
    why: str


_FALL = 0.05  # of the error: a fall from half to all rows that is worth collecting for
_SHARE = 0.05  # of the floor: a class that loses less does not matter to it
_OWN_MODEL = "Estimate it with the model among classifiers=, so that what it has found counts"

ADVICE = (
    Advice(
        "scores-of-training-rows",
        "always",
        lambda result, figures: True,
        "Score rows that the model has not seen",
        "Scores of its own training rows say how well it remembers, not how well anyone can do: use cross_val_predict "
        "or a test set.",
    ),
    Advice(
        "still-falling",
        "the error fell by over a twentieth from half to all rows, and all rows were used",
        lambda result, figures: _falls(figures) and bool(figures.get("all_rows_used", True)),
        "Collect more rows",
        "The learning curve is still falling: any model gains from more rows, and the estimate gets tighter.",
    ),
    Advice(
        "still-falling",
        "the error fell by over a twentieth from half to all rows, and models could be trained on more of them",
        lambda result, figures: _falls(figures) and _has_spare_rows(figures),
        "Train on more of the rows: effort='thorough'",
        "The learning curve is still falling, and models were trained on a part of the rows only.",
    ),
    Advice(
        "wide-interval",
        "it would be narrower by a quarter and half a point, and the curve does not give the same advice",
        lambda result, figures: bool(figures.get("width_with_more")) and not _curve_falls(result),
        "Narrow the interval",
        "It is wide; the doubt says what would narrow it, and how far.",
    ),
    Advice(
        "few-rows-per-column",
        "the interval is wider than three points",
        lambda result, figures: result.interval.high - result.interval.low > 0.03,
        "Leave out columns",
        "There are few rows per column: drop those that cannot matter.",
    ),
    Advice(
        "few-rows-in-class",
        "the class makes over a twentieth of the floor",
        lambda result, figures: _lost(result, figures.get("class")) > _SHARE * result.floor,
        "Get more rows of the rare class",
        "Its share of the floor rests on a handful of rows.",
    ),
    Advice(
        "rare-class",
        "no priors were given (the doubt is raised only then)",
        lambda result, figures: True,
        "Ask for the floor of all classes alike",
        "The error is that of the large classes; priors='balanced' gives each class the same weight.",
    ),
    Advice(
        "floor-of-scores",
        "the scores are of rows that the model has not seen",
        lambda result, figures: "scores-of-training-rows" not in _codes(result),
        "Estimate from the features as well",
        "What your scores have lost this estimate cannot see; the floor of the features may be lower.",
    ),
)


def next_steps(result: FloorResult, comparison: Comparison | None = None) -> list[tuple[str, str]]:
    """Advice: what to do, and why; what matters most comes first.

    Examples
    --------
    >>> from bayesfloor import from_scores
    >>> result = from_scores([0.1, 0.2, 0.9, 0.8] * 20, [0, 0, 1, 0] * 20)
    >>> [what for what, why in next_steps(result)]
    ['Put your model on the scale', 'Estimate from the features as well']
    """
    return [*_model(result, comparison), *_labels(result), *_doubts(result), *_pairs(result)]


def n_suspects(result: FloorResult) -> int:
    """Rows whose label looks wrong."""
    if result.posterior is None or result.labels is None:
        return 0
    return len(result.suspect_positions(None))


def _doubts(result: FloorResult) -> list[tuple[str, str]]:
    """What the doubts call for, as far as it helps."""
    return [
        (advice.what, advice.why)
        for advice in ADVICE
        for doubt in result.doubts
        if doubt.code == advice.code and advice.helps(result, doubt.figures)
    ]


def _codes(result: FloorResult) -> set[str]:
    return {doubt.code for doubt in result.doubts}


def _curve_falls(result: FloorResult) -> bool:
    return any(doubt.code == "still-falling" and _falls(doubt.figures) for doubt in result.doubts)


def _falls(figures: dict[str, Any]) -> bool:
    return bool(figures.get("half_error", 1.0) > (1 + _FALL) * figures.get("error", 0.0))


def _has_spare_rows(figures: dict[str, Any]) -> bool:
    rows, most = figures.get("training_rows", 0), figures.get("training_rows_possible", 0)
    return Training(rows, most, everything=False).can_have_more


def _lost(result: FloorResult, label: Any) -> float:
    """Share of the floor that a class loses or takes."""
    names = [name if isinstance(name, bool | int | float | str) else str(name) for name in result.classes]
    table = np.array(result.pair_error)
    if label not in names or table.ndim != 2:
        return 0.0
    at = names.index(label)
    return float(table[at].sum() + table[:, at].sum())


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
                "Find out which of the two is wrong, floor or test",
                "The model errs less than the floor's estimate. Most likely that is too high: estimate it on more "
                "rows, at effort='thorough', or with the model among classifiers=, which trains it on other rows than "
                "it is tested on; if it errs as little there, the floor comes down. If it does not, look for test rows "
                "or copies of them in training, for a column that is only known after the label, and for columns that "
                "the floor was not given.",
            )
        ]
    if not comparison.is_comparable:
        why = comparison.sentence.removeprefix("Cannot tell: ")
        return [("Compare like with like", why[:1].upper() + why[1:])]
    left = comparison.excess_interval.high
    if comparison.verdict == "cannot tell" and comparison.is_close:
        return [
            (
                "Go on while the model still gains",
                f"It is near the estimated floor, but that may be too high. {_OWN_MODEL} before you call it done.",
            )
        ]
    if comparison.verdict == "cannot tell":
        return [
            (
                "Get a clearer answer before you stop",
                f"The model may be at the floor, but up to {100 * left:.1f} points above it are not ruled out: "
                f"{comparison.missing} would narrow that down."
                + (f" The floor itself may be too high. {_OWN_MODEL}." if comparison.doubts else ""),
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
    # At other class shares their error is another one.
    if result.learning_curve and pool < comparison.error and comparison.floor == result.floor:
        best = listed([score.plain_name for score in result.learners[:3]], 3)
        text += (
            f" The classifiers of this estimate, pooled and untuned, err {pool:.1%}, less than your model; the best of "
            f"them: {best}. Start with those."
        )
    else:
        text += " Other kinds of models, more training rows and tuning are worth their time."
    return [("Work on the model", text)]


def _labels(result: FloorResult) -> list[tuple[str, str]]:
    suspects = n_suspects(result)
    if not suspects:
        return []
    assert result.labels is not None
    share = suspects / len(result.labels)
    # A row weighs in the floor what its class does.
    weights = np.array(result.priors) / np.maximum(np.bincount(result.labels, minlength=len(result.classes)), 1)
    at_stake = float(weights[result.labels[result.suspect_positions(None)]].sum())
    many = f"{suspects:,} labels look" if suspects > 1 else "1 label looks"
    return [
        (
            "Look again at the labels that look wrong",
            f"{many} wrong ({share:.1%} of the rows): less than half as probable as that label is on average, where "
            "the other classes, alone or together, are as probable as in their own rows. If they are mistakes, "
            f"correcting them lowers the floor by up to {100 * min(at_stake, result.floor):.1f} points. Where classes "
            "overlap most of them may be right: an ambiguous row looks the same.",
        )
    ]


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
