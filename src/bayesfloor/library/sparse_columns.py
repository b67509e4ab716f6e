"""Sparse matrices and texts as columns: the leading singular directions of what is weighted, beside the dense columns.

Learners for sparse rows look at all columns themselves (`sparse_models.py`); the directions are what the others see.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from .._types import Floats, Mask
from ..rows.scaling import Standard
from ..rows.sparse import SparseRows
from ..utils.parallel import Progress, Workers
from .arrangement import EFFORTS, near_points
from .learners import Learner
from .representation import RawRows, View
from .sparse_models import LEARNERS, Weights

__all__ = ["DIRECTIONS", "SparseColumns", "SparseEncoder", "open_sparse", "singular_directions"]

DIRECTIONS = 60  # at most
_MOST_COLUMNS = 2**14  # of a section, for the directions: those that most rows have
_ROUNDS = 3  # of the subspace iteration
_AT_A_TIME = 4096  # rows
_QUOTED = 200  # characters of a text on a page


@dataclass(frozen=True)
class SparseColumns:
    """The representation of sparse rows: see `Representation`."""

    name: str
    learners: Mapping[str, Learner]
    unused: tuple[str, ...] = ("quadratic",)
    max_rows: Mapping[str, int] = field(default_factory=lambda: EFFORTS)

    def learn(
        self, rows: SparseRows, rng: np.random.Generator, workers: Workers, progress: Progress | None
    ) -> "SparseEncoder":
        """Weights of the columns and their leading directions, from rows that are not held out."""
        if progress is not None:
            progress("directions", 0, 1)
        weights = Weights.of(rows, _MOST_COLUMNS)
        axes = singular_directions(weights.apply(rows), DIRECTIONS, rng)
        varies = (rows.dense != rows.dense[:1]).any(axis=0)
        standard = Standard.of(np.ascontiguousarray(rows.dense[:, varies]), unit_variance=True)
        if progress is not None:
            progress("directions", 1, 1)
        return SparseEncoder(weights, axes, varies, standard)

    def note(self, encoder: Any, n_rows: int) -> str:
        """What was learned, in words."""
        what = "words, pairs of words and runs of characters" if self.name == "texts" else "sparse columns"
        return (
            f"{what}: linear models and naive Bayes look at all of them, the other classifiers at "
            f"{encoder.axes.shape[1]} singular directions; weights and directions were learned without labels from the "
            f"{n_rows:,} rows that are not held out"
        )

    def excerpt(self, row: SparseRows) -> str:
        """The beginning of the texts of a row, in quotation marks; of a sparse matrix nothing."""
        return "; ".join(f"\u201c{_cut(column[0])}\u201d" for column in row.texts)


def _cut(text: str) -> str:
    """The beginning of a text, on one line."""
    short = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * _QUOTED]).split())
    return short if len(short) <= _QUOTED and len(text) <= 4 * _QUOTED else f"{short[: _QUOTED - 1]}\u2026"


@dataclass(frozen=True, eq=False)
class SparseEncoder:
    """What was learned from rows that are not held out: weights, directions, and the unit of each dense column."""

    weights: Weights
    axes: Floats
    varies: Mask
    standard: Standard

    def apply(self, rows: SparseRows, workers: Workers, progress: Progress | None) -> View:
        """Columns for every learner, and the sparse rows for those that look at them."""
        places = [
            self.weights.apply(rows[start : start + _AT_A_TIME]) @ self.axes
            for start in range(0, len(rows), _AT_A_TIME)
        ]
        dense = near_points(self.standard, np.ascontiguousarray(rows.dense[:, self.varies]))
        columns = np.hstack([dense, np.concatenate(places) if places else np.empty((0, self.axes.shape[1]))])
        return View(columns, {"sparse": rows, "given": rows.given})


def singular_directions(A: csr_array, most: int, rng: np.random.Generator) -> Floats:
    """At most so many leading right singular vectors (Halko, Martinsson and Tropp 2011), a column each; signs fixed.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> A = csr_array(np.diag([5.0, 3.0, 1.0]))
    >>> (singular_directions(A, 2, rng).round(6) + 0.0).tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    """
    from sklearn.utils.extmath import randomized_svd

    if not A.nnz:
        return np.empty((A.shape[1], 0))
    seed = int(rng.integers(2**32))
    _, values, axes = randomized_svd(A, most, n_iter=_ROUNDS, power_iteration_normalizer="QR", random_state=seed)
    axes = axes[values > 1e-6 * values[0]].T
    # scikit-learn takes the largest before rounding: chance, if two tie.
    heaviest = np.abs(axes.round(9)).argmax(axis=0)
    return np.asarray(axes * np.where(axes[heaviest, np.arange(axes.shape[1])] < 0, -1.0, 1.0))


def open_sparse(rows: SparseRows) -> tuple[RawRows, tuple[str, ...]]:
    """Checked sparse rows with what makes columns of them, and remarks."""
    return RawRows(rows, SparseColumns("texts" if rows.is_text else "sparse rows", LEARNERS)), rows.notes
