"""Columns that are learned from rows which are no columns yet: pictures, texts, sparse matrices.

What is learned, a dictionary of patches or a vocabulary, is learned without labels and from rows that are not held out,
once: all folds and all sizes of the training set share it. So the ceiling holds for the whole classifier, its
representation included, on new rows.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from .._types import Floats, RowNumbers
from ..utils.parallel import Progress, Workers
from .learners import Learner

__all__ = ["Encoder", "RawRows", "Representation", "View", "fingerprints"]

_FINGERS = 24  # columns that tell rows apart
_AT_A_TIME = 1_024  # rows


@dataclass(frozen=True, eq=False)
class View:
    """Rows as the library sees them.

    Attributes
    ----------
    columns : ndarray of shape (N, k)
        What every learner sees.
    parts : mapping
        By name, what some learners alone look at: a sparse matrix, pixels. Indexed by row numbers, as the columns are.
        Classifiers of the user see the part "given", if there is one, in place of the columns.
    """

    columns: Floats
    parts: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, rows: RowNumbers) -> "View":
        return View(self.columns[rows], {name: part[rows] for name, part in self.parts.items()})


class Encoder(Protocol):
    """What was learned: raw rows become columns, one row at a time as many."""

    def apply(self, rows: Any, workers: Workers, progress: Progress | None) -> View:
        """View of raw rows, the same for each row whatever rows come with it, but for rounding."""


class Representation(Protocol):
    """How raw rows become columns, and which learners are made for them.

    Attributes
    ----------
    name : str
        For results and messages: "images".
    learners : mapping of str to Learner
        Join the library. In the race each is a kind of its own, unless `learners.KINDS` says otherwise.
    unused : collection of str
        Learners of the library that are not worth their time on such rows.
    max_rows : mapping of str to int
        Rows that a model is trained on at most, by effort.
    """

    @property
    def name(self) -> str: ...

    @property
    def learners(self) -> Mapping[str, Learner]: ...

    @property
    def unused(self) -> Collection[str]: ...

    @property
    def max_rows(self) -> Mapping[str, int]: ...

    def learn(self, rows: Any, rng: np.random.Generator, workers: Workers, progress: Progress | None) -> Encoder:
        """Learn from raw rows that are not held out, in an order of their content; no label takes part."""

    def excerpt(self, row: Any) -> str:
        """A raw row for the page: text, or a picture as inline PNG data."""

    def note(self, encoder: Encoder, n_rows: int) -> str:
        """What was learned from so many rows, in words, for the result."""


@dataclass(frozen=True, eq=False)
class RawRows:
    """Rows in memory as they came, and what makes columns of them.

    Attributes
    ----------
    rows : object
        Indexed by an array of row numbers: an array, a CSR matrix.
    representation : Representation
    """

    rows: Any
    representation: Representation

    def __getitem__(self, numbers: RowNumbers) -> "RawRows":
        return RawRows(self.rows[numbers], self.representation)


def fingerprints(rows: Any) -> Floats:
    """A few columns that tell raw rows apart: products with fixed random numbers.

    They stand in for the rows where these are ordered by content, hashed and searched for copies, and are seen by no
    learner.

    Parameters
    ----------
    rows : array or CSR matrix of shape (N, ...)

    Examples
    --------
    >>> fingers = fingerprints(np.array([[1, 0, 2], [0, 0, 1], [1, 0, 2]]))
    >>> fingers.shape, bool((fingers[0] == fingers[2]).all()), bool((fingers[0] == fingers[1]).any())
    ((3, 24), True, False)
    """
    if hasattr(rows, "fingerprints"):  # a way of their own
        return np.asarray(rows.fingerprints())
    n, width = rows.shape[0], int(np.prod(rows.shape[1:]))
    # Whole numbers: products with counts and pixels are then exact, and equal rows have equal fingerprints wherever
    # they lie in a block.
    numbers = np.random.default_rng(0).integers(1, 2**20, (width, _FINGERS)).astype(np.float64)
    if not isinstance(rows, np.ndarray):
        return np.asarray(rows @ numbers)
    found = np.empty((n, _FINGERS))
    block = np.zeros((_AT_A_TIME, width))  # always of one size: how a product is cut changes its last digits
    for start in range(0, n, _AT_A_TIME):
        part = rows[start : start + _AT_A_TIME]
        block[: len(part)] = part.reshape(len(part), width)
        found[start : start + _AT_A_TIME] = (block @ numbers)[: len(part)]
    return found
