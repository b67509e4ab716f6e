"""The lowest expected cost, where errors are not alike: costs of each decision for each class."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .._text import printable, printed
from .._types import Floats
from ..errors import ParameterError
from ..utils.checks import brief
from ..utils.intervals import ConfidenceInterval
from .ceiling import cut_interval
from .decisions import NAME_ONE, ByGain, Decisions
from .predictions import Predictions

__all__ = ["CostFloor", "CostMatrix", "check_costs", "lowest_cost"]

DECLINE = "decline"


@dataclass(frozen=True, eq=False)
class CostMatrix:
    """Costs of each decision (row) for each class (column), classes in sorted order."""

    table: Floats
    decisions: tuple[str, ...]

    @property
    def least(self) -> Floats:
        """Of each class what it costs at the least."""
        return np.asarray(self.table.min(axis=0))

    @property
    def scale(self) -> float:
        """The largest cost that a decision can be blamed for."""
        return float((self.table - self.least).max())

    @property
    def gains(self) -> Floats:
        """1 where a decision costs no more than it must, 0 where it costs most."""
        return 1 - (self.table - self.least) / self.scale

    @property
    def rule(self) -> Decisions:
        """How to decide."""
        is_plain = self.table.shape[0] == self.table.shape[1] and (self.gains == np.eye(len(self.gains))).all()
        return NAME_ONE if is_plain else ByGain(self.gains)

    @property
    def most(self) -> float:
        """Loss of the best decision for the worst class shares, on the scale from 0 to 1: no lowest cost is higher.

        The value of the game in which the other side chooses the class: the largest t with some shares p such that
        every decision loses t at least.
        """
        losses = 1 - self.gains
        n_decisions, n_classes = losses.shape
        if n_decisions == n_classes and (losses == 1 - np.eye(n_classes)).all():
            return 1 - 1 / n_classes
        from scipy.optimize import linprog

        found = linprog(
            np.append(np.zeros(n_classes), -1.0),
            A_ub=np.column_stack([-losses, np.ones(n_decisions)]),
            b_ub=np.zeros(n_decisions),
            A_eq=[[*np.ones(n_classes), 0.0]],
            b_eq=[1.0],
            bounds=[(0, 1)] * (n_classes + 1),
        )
        return float(-found.fun) if found.success else 1.0


@dataclass(frozen=True)
class CostFloor:
    """The lowest expected cost of a case, and what it rests on.

    Attributes
    ----------
    floor : float
        Estimated lowest expected cost, in the unit of the matrix.
    interval : ConfidenceInterval
    ceiling : float or None
        Certified: a rule that was fixed beforehand costs no more, with this confidence.
    decisions : tuple of str
        Names of the rows of the matrix.
    shares : tuple of float
        How often each decision is the best, by the pooled classifiers.
    constant : str
        The best single decision for all cases, and `constant_cost`, what it costs.
    constant_cost : float
    matrix : tuple of tuples
        Costs of each decision (row) for each class (column).
    classes : tuple
    """

    floor: float
    interval: ConfidenceInterval
    ceiling: float | None
    decisions: tuple[str, ...]
    shares: tuple[float, ...]
    constant: str
    constant_cost: float
    matrix: tuple[tuple[float, ...], ...]
    classes: tuple[Any, ...]

    def __str__(self) -> str:
        level = f"{100 * self.interval.confidence_level:g}%"
        certified = "none, nothing can be certified"
        if self.ceiling is not None:
            certified = f"{self.ceiling:.4g}   certified with {level} confidence: a rule was seen to cost no more"
        named = ", ".join(f"{name} {share:.1%}" for name, share in zip(self.decisions, self.shares, strict=True))
        return printed(
            [
                f"lowest cost  {self.floor:.4g}   {level} interval {self.interval.low:.4g} to {self.interval.high:.4g}",
                f"ceiling      {certified}",
                f"One decision for all, {self.constant}, costs {self.constant_cost:.4g}.",
                f"The best decisions: {named}.",
            ]
        )


def check_costs(costs: Any, classes: Sequence[Any]) -> CostMatrix:
    """A matrix of costs, or an error that says what is wrong with it.

    Parameters
    ----------
    costs : array-like of shape (C, C) or (C + 1, C), or frame
        Rows are decisions, columns classes, both in sorted order; a further row is the decision to decline. Columns
        (and rows) of a frame are matched by name.
    classes : sequence

    Examples
    --------
    >>> check_costs([[0, 5], [1, 0], [0.3, 0.3]], ["good", "bad"]).decisions
    ('good', 'bad', 'decline')
    """
    names = [str(label) for label in classes]
    n = len(names)
    order = f"one column for each class, in the order {brief(list(classes))}"
    decline = DECLINE
    if hasattr(costs, "columns") and hasattr(costs, "index"):
        costs, decline = _by_name(costs, names)
    try:
        table = np.array(costs, dtype=np.float64)
    except Exception:
        raise ParameterError(f"costs must be a matrix of numbers, {order}; got {brief(costs)}") from None
    if table.ndim != 2 or table.shape[1] != n or table.shape[0] not in (n, n + 1):
        raise ParameterError(
            f"costs must have {order}, and a row for each decision: to name each class, and perhaps one to decline; "
            f"got shape {table.shape}"
        )
    if not np.isfinite(table).all() or np.abs(table).max() > 1e100:
        row, column = np.argwhere(~np.isfinite(table) | (np.abs(table) > 1e100))[0]
        raise ParameterError(
            f"costs must be finite numbers; that of row {row}, column {column} is {table[row, column]}"
        )
    if not (table - table.min(axis=0)).max() > 0:
        raise ParameterError("costs are the same whatever is decided: there is nothing to choose")
    return CostMatrix(table, tuple(map(printable, (*names, decline)[: len(table)])))


def _by_name(frame: Any, names: list[str]) -> tuple[Any, str]:
    """Values of a frame whose columns are named like the classes, and its rows, if at all; what declining is called."""
    columns = [str(name) for name in frame.columns]
    if sorted(columns) != sorted(names):
        raise ParameterError(f"columns of costs must be named like the classes, {brief(names)}; got {brief(columns)}")
    table = frame.to_numpy()[:, [columns.index(name) for name in names]]
    rows = [str(name) for name in frame.index]
    if rows[: len(names)] == [str(i) for i in range(len(names))] and rows[: len(names)] != names:
        return table, DECLINE  # rows without names
    missing = [name for name in names if name not in rows]
    if missing:
        raise ParameterError(f"costs have no row for the decision {missing[0]!r}; rows are {brief(rows)}")
    others = [name for name in rows if name not in names]
    if len(others) > 1:
        raise ParameterError(f"costs have rows for {brief(others)}: one decision beside the classes is allowed")
    return table[[rows.index(name) for name in (*names, *others)]], (*others, DECLINE)[0]


def lowest_cost(
    costs: CostMatrix, said: Predictions, classes: tuple[Any, ...], all_rows: tuple[float, float] | None = None
) -> CostFloor:
    """Judge the lowest expected cost, and certify a rule; `all_rows`: loss and expected loss of more rows."""
    rule, gains = costs.rule, costs.gains
    # Costs that no decision avoids are paid by everyone.
    unavoidable, scale = float(costs.least @ said.shares), costs.scale
    deviation = None
    if np.ptp(costs.least) > 0:
        chosen = [rule.choose(repeat[0]) for repeat in said.P]
        paid = np.array([costs.table[decision, said.y] for decision in chosen]) / scale
        deviation = float(np.sqrt(max(0.0, (paid**2 @ said.weights).mean() - (paid @ said.weights).mean() ** 2)))
    evidence, judged = said.lowest(rule, gains, costs.most, all_rows, deviation)
    level, limit = said.confidence_level, partial(_ceiling, costs, said)

    def in_unit(loss: float) -> float:
        return unavoidable + scale * loss

    floor, interval = cut_interval(in_unit(judged.floor), in_unit(judged.low), in_unit(judged.high), limit, level)
    best = int((gains @ said.shares).argmax())
    chosen_now = np.bincount(rule.choose(said.mean), weights=said.weights, minlength=len(gains))
    return CostFloor(
        floor=floor,
        interval=interval,
        ceiling=limit(level),
        decisions=costs.decisions,
        shares=tuple(chosen_now.tolist()),
        constant=costs.decisions[best],
        constant_cost=in_unit(evidence.majority),
        matrix=tuple(map(tuple, costs.table.tolist())),
        classes=classes,
    )


def _ceiling(costs: CostMatrix, said: Predictions, level: float) -> float | None:
    """Limit of the expected cost of a rule that was fixed on the free rows; None if nothing can be certified.

    Where the library costs as much on the free rows as the best single decision, that decision is the rule.
    """
    test = said.test
    if not len(test.y_held) or not said.certifies:
        return None
    table, rule = costs.table, costs.rule
    free, held = rule.choose(test.free), rule.choose(test.held)
    singles = table[:, test.y_free] @ test.free_weights
    best = int(singles.argmin())
    if test.free_weights @ table[free, test.y_free] >= singles[best]:
        free, held = np.full_like(free, best), np.full_like(held, best)
    if said.priors is not None:
        low, high = table.min(axis=0), table.max(axis=0)  # each class has its own limit
    else:
        low, high = np.full(said.n_classes, table.min()), np.full(said.n_classes, table.max())
        if np.ptp(costs.least) == 0:
            low, high = costs.least, costs.least + costs.scale
    span = np.where(high > low, high - low, 1.0)
    losses = (table - low) / span
    two_valued = [bool(np.isin(losses[:, c], (0.0, 1.0)).all()) for c in range(said.n_classes)]
    limits = said.loss_limits(losses[held, test.y_held], losses[free, test.y_free], level, two_valued)
    if said.priors is None:
        return min(float(low[0] + span[0] * limits[0]), float(costs.least.max() + costs.scale * costs.most))
    return min(float(said.priors @ (low + span * limits)), float((table @ said.priors).min()))
