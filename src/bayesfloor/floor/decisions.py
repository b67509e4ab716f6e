"""What can be decided about a row, and what each decision gains: to name a class, two of them, or any other."""

from typing import Protocol

import numpy as np

from .._types import Codes, Floats

__all__ = ["NAME_ONE", "ByGain", "Decisions", "MayDecline", "NameOne", "NameTwo"]


class Decisions(Protocol):
    """Decisions by their codes; a gain is 1 at best and 0 at worst, and what is missing to 1 is the loss."""

    def choose(self, P: Floats) -> Codes:
        """The best decision for each row, by its class probabilities."""

    def expect(self, decision: Codes, P: Floats) -> Floats:
        """Gain of a decision for each row that these probabilities expect."""

    def gain(self, decision: Codes, y: Codes) -> Floats:
        """Gain of a decision for each row whose class is known."""


class NameOne:
    """Name a class: 1 if it is the right one."""

    def choose(self, P: Floats) -> Codes:
        """The most probable class."""
        return P.argmax(axis=1)

    def expect(self, decision: Codes, P: Floats) -> Floats:
        """Its probability."""
        return P[np.arange(len(P)), decision]

    def gain(self, decision: Codes, y: Codes) -> Floats:
        """Whether it is the label."""
        return (decision == y).astype(np.float64)


NAME_ONE = NameOne()


class NameTwo:
    """Name two classes: 1 if the right one is among them. The code of a and b, a < b, is a C + b."""

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes

    def choose(self, P: Floats) -> Codes:
        """The two most probable classes."""
        two = np.sort(np.argsort(-P, axis=1, kind="stable")[:, :2], axis=1)
        return np.asarray(two[:, 0] * self.n_classes + two[:, 1])

    def expect(self, decision: Codes, P: Floats) -> Floats:
        """The sum of their probabilities."""
        at, (first, second) = np.arange(len(P)), np.divmod(decision, self.n_classes)
        return np.asarray(P[at, first] + P[at, second])

    def gain(self, decision: Codes, y: Codes) -> Floats:
        """Whether one of them is the label."""
        first, second = np.divmod(decision, self.n_classes)
        return ((first == y) | (second == y)).astype(np.float64)


class ByGain:
    """Decisions by a table of gains: of each decision (row) for each class (column)."""

    def __init__(self, table: Floats) -> None:
        self.table = table

    def choose(self, P: Floats) -> Codes:
        """The decision with the largest expected gain; of several the first."""
        if len(self.table) == 2:  # far quicker than looking for the largest of two
            return (P @ (self.table[1] - self.table[0]) > 0).astype(np.int64)
        return (P @ self.table.T).argmax(axis=1)

    def expect(self, decision: Codes, P: Floats) -> Floats:
        """Mean of its gains."""
        return np.asarray((P * self.table[decision]).sum(axis=1))

    def gain(self, decision: Codes, y: Codes) -> Floats:
        """From the table."""
        return self.table[decision, y]


class MayDecline:
    """Name a class, or decline at a price: the code -1. The best is Chow's rule: decline if no class has 1 - price.

    `tops` keeps the most probable class of probabilities that were seen before: prices change, they do not.
    """

    def __init__(self, price: float, tops: dict[int, tuple[Floats, Floats, Codes]] | None = None) -> None:
        self.price = price
        self.tops = {} if tops is None else tops

    def choose(self, P: Floats) -> Codes:
        """The most probable class, or none."""
        if id(P) not in self.tops:
            best = P.argmax(axis=1)
            self.tops[id(P)] = P, P[np.arange(len(P)), best], best  # P itself, so that its id stays its own
        _, largest, best = self.tops[id(P)]
        return np.where(largest > 1 - self.price, best, -1)

    def expect(self, decision: Codes, P: Floats) -> Floats:
        """Probability of the class that is named."""
        return np.where(decision < 0, 1 - self.price, P[np.arange(len(P)), np.maximum(decision, 0)])

    def gain(self, decision: Codes, y: Codes) -> Floats:
        """Whether it is the label."""
        return np.where(decision < 0, 1 - self.price, decision == y)
