"""Two results side by side, and whether the floor moved."""

import json
import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from .._text import printed
from ..errors import DataTypeError
from ..utils.checks import listed
from ..utils.files import JsonRecord
from ..utils.intervals import ConfidenceInterval, check_level
from ._compare import at_level
from .paired import RowWeights
from .records import Noted
from .result import FloorResult

__all__ = ["FloorChange", "compare_results"]

_STILL = 0.02  # a change that is surely smaller is none
_SHARES = 0.02  # by so much the classes may differ in their shares


@dataclass(frozen=True)
class FloorChange(JsonRecord, Noted):
    """How the floor changed from one result to another.

    Attributes
    ----------
    before, after : float
        The two floors.
    before_interval, after_interval : ConfidenceInterval
    change : float
        After less before: below 0 if the floor has come down.
    interval : ConfidenceInterval
        Of the change.
    rows : str
        "common" if both results are of the same rows, so that errors are paired; otherwise "independent".
    verdict : str
        "lower", "higher", "unmoved" (surely by less than two points) or "cannot tell".
    notes : tuple of str
        What else differs between the two.

    Examples
    --------
    >>> from bayesfloor import compare_results, estimate, problems
    >>> easy, hard = (problems.get("gaussians_4d", shift=s).sample(400, random_state=s) for s in (4, 1))
    >>> before, after = (estimate(*rows, effort="fast", n_jobs=1) for rows in (hard, easy))
    >>> change = compare_results(before, after)
    >>> change.verdict, change.rows, change.interval.high < 0
    ('lower', 'independent', True)
    """

    before: float
    before_interval: ConfidenceInterval
    after: float
    after_interval: ConfidenceInterval
    change: float
    interval: ConfidenceInterval
    rows: str
    verdict: str
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        low, high = 100 * self.interval.low, 100 * self.interval.high
        moved = f"by {100 * abs(self.change):.1f} points"
        about = {
            "lower": f"The floor came down {moved}",
            "higher": f"The floor rose {moved}",
            "unmoved": "The floor has not moved by two points",
            "cannot tell": f"Whether the floor moved cannot be told: {100 * self.change:+.1f} points",
        }[self.verdict]
        return f"{about} (interval of the change {low:+.1f} to {high:+.1f})."

    @property
    def basis(self) -> str:
        """What the interval takes for granted."""
        if self.rows == "common":
            return "Both are of the same rows: errors are compared row by row, and chance that both share cancels."
        return "The two are treated as independent: no rows are known to be common. If some are, the interval is wide."

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "notes": list(self.notes), "sentence": self.sentence, "basis": self.basis}

    def to_json(self) -> str:
        """JSON text; `save` writes it to a file."""
        return json.dumps(self.to_dict())

    def __str__(self) -> str:
        level = f"{100 * self.interval.confidence_level:g}%"
        lines = [
            f"{name}  {floor:.2%}   {level} interval {interval.low:.2%} to {interval.high:.2%}"
            for name, floor, interval in (
                ("before", self.before, self.before_interval),
                ("after ", self.after, self.after_interval),
            )
        ]
        return printed([*lines, "", self.sentence, self.basis, *(f"- note: {note}" for note in self.notes)])


def compare_results(before: FloorResult, after: FloorResult, *, confidence_level: float | None = None) -> FloorChange:
    """Say whether the floor moved: with new data, cleaned labels, other columns.

    Where both results keep their rows, and have the same labels in the same order, errors are paired: see
    `compare_features` for two sets of columns with the same folds. Otherwise, as for all results read from JSON, the
    two are treated as independent, and the arms of their intervals are squared and added (the MOVER method of Zou and
    Donner, 2008).

    Parameters
    ----------
    before, after : FloorResult
        Of `estimate`, `from_scores`, or read back from JSON.
    confidence_level : float, optional
        Default: that of `before`.

    Returns
    -------
    FloorChange

    Examples
    --------
    >>> from bayesfloor import from_scores, problems
    >>> problem = problems.get("gaussians_4d")
    >>> results = []
    >>> for seed in (0, 1):
    ...     X, y = problem.sample(3000, random_state=seed)
    ...     results.append(from_scores(problem.posterior(X), y))
    >>> compare_results(*results).verdict in ("unmoved", "cannot tell")
    True
    """
    for name, result in (("before", before), ("after", after)):
        if not isinstance(result, FloorResult):
            raise DataTypeError(f"{name} must be a FloorResult, as estimate returns it; got {type(result).__name__}")
    level = before.interval.confidence_level if confidence_level is None else confidence_level
    check_level(level)
    first, second = (at_level(result.floor, result.interval, level) for result in (before, after))
    arms = [(r.floor - i.low, i.high - r.floor) for r, i in ((before, first), (after, second))]
    shared = _paired_error(before, after)
    change = after.floor - before.floor
    if shared is None:
        below, above = math.hypot(arms[1][0], arms[0][1]), math.hypot(arms[1][1], arms[0][0])
    else:
        # Of each arm what is not sampling noise, and the noise of the pairs.
        z = float(ndtri((1 + level) / 2))
        noise = [
            z * math.sqrt(r.evidence["error"] * (1 - r.evidence["error"]) / r.evidence["n"]) for r in (before, after)
        ]
        rest = [[math.sqrt(max(0.0, arm**2 - n**2)) for arm in both] for both, n in zip(arms, noise, strict=True)]
        below = math.hypot(z * shared, rest[1][0], rest[0][1])
        above = math.hypot(z * shared, rest[1][1], rest[0][0])
    interval = ConfidenceInterval(max(-1.0, change - below), min(1.0, change + above), level)
    return FloorChange(
        before=before.floor,
        before_interval=first,
        after=after.floor,
        after_interval=second,
        change=change,
        interval=interval,
        rows="independent" if shared is None else "common",
        verdict=change_verdict(interval),
        notes=_notes(before, after),
    )


def change_verdict(interval: ConfidenceInterval) -> str:
    """What an interval of a change says."""
    if interval.high < 0:
        return "lower"
    if interval.low > 0:
        return "higher"
    return "unmoved" if interval.low >= -_STILL and interval.high <= _STILL else "cannot tell"


def _paired_error(before: FloorResult, after: FloorResult) -> float | None:
    """Standard error of the difference of errors on common rows; None if there are none that are known."""
    if before.posterior is None or after.posterior is None or before.labels is None or after.labels is None:
        return None
    if before.classes != after.classes or not np.array_equal(before.labels, after.labels):
        return None
    numbers = [np.arange(len(r.labels)) if r.row_numbers is None else r.row_numbers for r in (before, after)]  # type: ignore[arg-type]
    if not np.array_equal(numbers[0], numbers[1]) or not _same_index(before.index, after.index):
        return None
    # Were the rows others after all, exactly one of the two would err as often as chance has it, and the variance
    # be that of two samples.
    gaps = [(r.posterior.argmax(axis=1) != r.labels).astype(np.float64) for r in (before, after)]  # type: ignore[union-attr]
    shares = np.bincount(before.labels, minlength=len(before.classes)) / len(before.labels)
    weights = (np.array(after.priors) / np.where(shares > 0, shares, 1.0))[before.labels]
    rows = RowWeights(weights / weights.sum())
    fewer = len(before.labels) / min(result.evidence["n"] for result in (before, after))  # of groups, or for priors
    return math.sqrt((rows.variance(gaps[1] - gaps[0]) + 2 * rows.of_one) * max(1.0, fewer))


def _same_index(first: Any, second: Any) -> bool:
    if first is None or second is None:
        return first is None and second is None
    return bool(len(first) == len(second) and first.equals(second))


def _notes(before: FloorResult, after: FloorResult) -> tuple[str, ...]:
    notes = []
    if set(map(str, before.classes)) != set(map(str, after.classes)):
        only = [repr(str(c)) for c in {*map(str, before.classes)} ^ {*map(str, after.classes)}]
        notes.append(
            f"the classes are not the same ({listed(sorted(only))} in one alone): the floors are of two questions"
        )
    else:
        shares = dict(zip(map(str, after.classes), after.priors, strict=True))
        moved = [(str(c), p, shares[str(c)]) for c, p in zip(before.classes, before.priors, strict=True)]
        worst = max(moved, key=lambda entry: abs(entry[1] - entry[2]))
        if abs(worst[1] - worst[2]) > _SHARES:
            notes.append(
                f"the classes have other shares ({worst[0]}: {worst[1]:.1%} before, {worst[2]:.1%} after), which moves "
                "the floor by itself: give both the same priors"
            )
    for key, about in (("effort", "effort"), ("bayesfloor", "version of bayesfloor")):
        values = [result.settings.get(key) for result in (before, after)]
        if None not in values and values[0] != values[1]:
            notes.append(f"the two have not the same {about}: {values[0]} and {values[1]}")
    return tuple(notes)
