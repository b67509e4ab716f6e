"""If a classifier may decline: the lowest error on the cases it accepts, over the share that it declines.

Chow's rule (1970) declines the rows whose most probable class is least probable. At a price t for declining the lowest
expected loss is l(t) = E min(1 - max eta, t), and the lowest error on accepted rows with a share s declined is
(l(t) - t s) / (1 - s), where t is the doubt that a share s of the rows exceeds. It hardly depends on t there, which may
therefore be estimated: l(t) goes by the rule of the floor, like any other cost.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .._types import Counts, Floats
from ..errors import ParameterError
from ..utils.checks import brief, numbers_from
from ..utils.intervals import ConfidenceInterval, upper_limit
from .ceiling import group_limit
from .decisions import MayDecline
from .predictions import Predictions

__all__ = ["SHARES", "SHOWN", "Abstention", "AbstentionPoint", "DeclinePoint", "abstain", "decline_points"]

# Shares that are computed, and those that are shown if none are named.
SHARES = (0.01, 0.02, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7)
SHOWN = (0.05, 0.1, 0.2, 0.3, 0.5)


@dataclass(frozen=True)
class DeclinePoint:
    """A share to decline, as it is kept in a result.

    Attributes
    ----------
    share, error, low, high : float
        Of rows that are declined; the lowest error on the others, and its interval.
    doubt : float
        Rows are declined whose probability of an error is above it: found on the rows that are not held out.
    declined, wrong, tested : tuple of int
        Counts on held-out rows: those declined, errors on those accepted, and all; for given class shares of each
        class.
    limits : tuple of float or None
        With groups of unequal size: limits of the share declined and of the error, for as many points as are shown by
        default.
    """

    share: float
    error: float
    low: float
    high: float
    doubt: float
    declined: tuple[int, ...]
    wrong: tuple[int, ...]
    tested: tuple[int, ...]
    limits: tuple[float, float] | None = None


@dataclass(frozen=True)
class AbstentionPoint:
    """The lowest error on accepted cases if a share of all cases may be declined.

    Attributes
    ----------
    share : float
    error : float
    interval : ConfidenceInterval
    doubt : float
        The rule that is certified declines rows whose probability of an error is above it.
    certified_share, certified_error : float or None
        Certified together with those of all other points: the rule declines no larger a share, and errs no more often
        on the cases that it accepts.
    """

    share: float
    error: float
    interval: ConfidenceInterval
    doubt: float
    certified_share: float | None
    certified_error: float | None


@dataclass(frozen=True)
class Abstention:
    """What declining would bring.

    Attributes
    ----------
    floor : float
        With nothing declined.
    points : tuple of AbstentionPoint
    confidence_level : float
        Of each interval, and of all certified pairs together.

    Examples
    --------
    >>> from bayesfloor import estimate, problems
    >>> X, y = problems.get("gaussians_4d").sample(400, random_state=0)
    >>> declining = estimate(X, y, effort="fast", n_jobs=1).abstention([0.1, 0.3])
    >>> [point.share for point in declining.points], declining.points[1].error < declining.floor
    ([0.1, 0.3], True)
    """

    floor: float
    points: tuple[AbstentionPoint, ...]
    confidence_level: float

    @property
    def sentence(self) -> str:
        """What the first point that brings something would bring, in words."""
        point = next((p for p in self.points if p.share >= 0.1), self.points[-1])
        brings = f"from {self.floor:.1%} to {point.error:.1%}"
        return f"Declining {point.share:.0%} of the cases would bring the floor {brings}."

    def __str__(self) -> str:
        level = f"{100 * self.confidence_level:g}%"
        lines = [self.sentence, "", "declined   lowest error   interval             certified together"]
        for point in self.points:
            certified = "-"
            if point.certified_share is not None and point.certified_error is not None:
                certified = f"declines at most {point.certified_share:.1%}, errs at most {point.certified_error:.1%}"
            interval = f"{point.interval.low:.2%} to {point.interval.high:.2%}"
            lines.append(f"{point.share:>8.0%}   {point.error:>12.2%}   {interval:<18}   {certified}")
        lines.append(
            f"Intervals are estimates at {level} each; what is certified holds for all lines, with {level} confidence."
        )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "sentence": self.sentence}

    def to_frame(self) -> Any:
        """As a pandas frame, a row for each share."""
        import pandas as pd

        rows = [
            {
                "declined": point.share,
                "error": point.error,
                "low": point.interval.low,
                "high": point.interval.high,
                "doubt": point.doubt,
                "certified_share": point.certified_share,
                "certified_error": point.certified_error,
            }
            for point in self.points
        ]
        return pd.DataFrame(rows)

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the lowest error on accepted cases over the share declined.

        Parameters
        ----------
        ax : matplotlib axes, optional

        Returns
        -------
        matplotlib axes
        """
        from ..report.pictures import plot_abstention

        return plot_abstention(self, ax=ax)


def decline_points(said: Predictions, floor: float) -> tuple[DeclinePoint, ...]:
    """The lowest error, and what was counted on held-out rows, at each of `SHARES`."""
    doubt, n_classes = 1 - said.mean.max(axis=1), said.n_classes
    test = said.test
    free_doubt, held_doubt = 1 - test.free.max(axis=1), 1 - test.held.max(axis=1)
    wrong = test.held.argmax(axis=1) != test.y_held
    prices, limits = (
        _upper_quantiles(of, weights, SHARES)
        for of, weights in ((doubt, said.weights), (free_doubt, test.free_weights))
    )
    tops: dict[int, Any] = {}
    points, error, high = [], floor, 1.0
    for share, price, most in zip(SHARES, prices, limits, strict=True):
        singles = np.vstack([np.eye(n_classes), np.full((1, n_classes), 1 - price)])
        _, judged = said.lowest(MayDecline(price, tops), singles, 1 - 1 / n_classes)
        value, low, top = ((loss - price * share) / (1 - share) for loss in (judged.floor, judged.low, judged.high))
        # Whoever declines more errs no more often on the rest.
        error = float(np.clip(value, 0.0, error))
        high = max(error, min(high, top))
        declined = held_doubt > most
        points.append(
            DeclinePoint(
                share=share,
                error=error,
                low=float(np.clip(low, 0.0, error)),
                high=float(high),
                doubt=float(most),
                **_counts(said, declined, wrong & ~declined),
            )
        )
    return tuple(points)


def _upper_quantiles(values: Floats, weights: Floats, shares: Sequence[float]) -> Floats:
    """Values that such shares of the rows exceed, at most."""
    order = np.argsort(-values, kind="stable")
    above = np.cumsum(weights[order]) / weights.sum()
    return values[order][np.minimum(np.searchsorted(above, np.asarray(shares) + 1e-12, side="right"), len(order) - 1)]


def _counts(said: Predictions, declined: Any, wrong: Any) -> dict[str, Any]:
    """What is kept of the held-out rows: counts, or with groups of unequal size limits."""
    test, n_classes = said.test, said.n_classes
    if not len(test.y_held) or not said.certifies:
        return {"declined": (), "wrong": (), "tested": ()}
    if test.groups is not None:
        if said.priors is not None:
            return {"declined": (), "wrong": (), "tested": ()}
        level = 1 - (1 - said.confidence_level) / (2 * len(SHOWN))
        accepted = test.groups[~declined]
        n_groups = int(test.groups.max()) + 1
        sizes = np.bincount(test.groups)
        limits = (
            group_limit(
                np.bincount(test.groups, weights=declined, minlength=n_groups), sizes, test.largest, test.bet, level
            ),
            group_limit(
                np.bincount(test.groups, weights=wrong, minlength=n_groups),
                np.bincount(accepted, minlength=n_groups),
                test.largest,
                test.bet,
                level,
            ),
        )
        return {"declined": (), "wrong": (), "tested": (), "limits": limits}
    by_class = [
        np.bincount(test.y_held, weights=rows, minlength=n_classes).astype(np.int64)
        for rows in (declined, wrong, np.ones(len(declined)))
    ]
    if said.priors is None:
        by_class = [counts.sum(keepdims=True) for counts in by_class]
    return dict(zip(("declined", "wrong", "tested"), (tuple(counts.tolist()) for counts in by_class), strict=True))


def abstain(
    points: Sequence[DeclinePoint], shares: Any, floor: float, priors: Floats | None, confidence_level: float
) -> Abstention:
    """The curve at these shares, with the certified pairs that hold for all of them together."""
    chosen = [_at(points, share) for share in _check_shares(shares)]
    found = []
    for point in chosen:
        limits = _certify(point, priors, 1 - (1 - confidence_level) / (2 * len(chosen)), len(chosen))
        found.append(
            AbstentionPoint(
                point.share,
                point.error,
                ConfidenceInterval(point.low, point.high, confidence_level),
                point.doubt,
                *(limits or (None, None)),
            )
        )
    return Abstention(floor, tuple(found), confidence_level)


def _certify(point: DeclinePoint, priors: Floats | None, level: float, n_points: int) -> tuple[float, float] | None:
    """Limits of the share declined and of the error on accepted rows, each at this level."""
    if point.limits is not None:
        return tuple(point.limits) if n_points <= len(SHOWN) else None  # type: ignore[return-value]
    declined, wrong, tested = (
        np.array(counts, dtype=np.int64) for counts in (point.declined, point.wrong, point.tested)
    )
    if not tested.sum():
        return None
    if len(tested) == 1:
        accepted = int(tested[0] - declined[0])
        error = upper_limit(int(wrong[0]), accepted, level) if accepted else 1.0
        return upper_limit(int(declined[0]), int(tested[0]), level), error
    assert priors is not None
    # Of each class by itself; the error on accepted rows is at most the limit of both by the least that is accepted.
    level = 1 - (1 - level) / len(priors)
    share = float(priors @ _limits(declined, tested, level))
    both = float(priors @ _limits(wrong, tested, level))
    return share, min(1.0, both / (1 - share)) if share < 1 else 1.0


def _limits(counts: Counts, tested: Counts, level: float) -> Floats:
    return np.array([upper_limit(int(k), int(n), level) if n else 1.0 for k, n in zip(counts, tested, strict=True)])


def _check_shares(shares: Any) -> list[float]:
    values = numbers_from("shares", SHOWN if shares is None else shares)
    if values.ndim != 1 or not len(values):
        raise ParameterError(f"shares must be a list of shares to decline, such as [0.1, 0.2]; got {brief(shares)}")
    return sorted({float(value) for value in values})


def _at(points: Sequence[DeclinePoint], share: float) -> DeclinePoint:
    for point in points:
        if abs(point.share - share) < 1e-9:
            return point
    raise ParameterError(
        f"a share of {share:g} is none of those that are computed: choose among {', '.join(f'{s:g}' for s in SHARES)}"
    )
