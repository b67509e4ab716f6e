"""Votes of the nearest neighbours of every row, the row itself left out, in favour of no row and no class.

Discrete features put many points at one distance. Who is among the k nearest is then open, and a rule that takes
the smaller row or class number decides by accident (and alike for all copies of a point). Here such places are
drawn at random among all points at that distance, and errors are means over the draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from .._types import Codes, Counts, Floats, RowNumbers
from ..counting._nearest import nearest_labels
from ..rows.dataset import validate
from ..rows.keys import row_keys
from ..rows.scaling import class_keys, order_by_content
from ..rows.scaling import standardize as to_safe_scale
from ..utils.checks import check_flag, check_whole

__all__ = ["Sample", "Votes", "arrange", "nearest_votes", "odd_near_root", "sample_votes", "vote_error"]


# Distances that differ by less, relatively, are one distance: on a lattice they differ by rounding only.
_SAME = 1e-9
# Draws per row whose neighbours are open; their noise is a tenth of what sampling the rows makes.
_DRAWS = 32
_BLOCK = 2**23  # neighbours, or distances, held at a time


@dataclass(frozen=True, eq=False)
class Sample:
    """Checked data in an arrangement that depends on their content only: see `arrange`."""

    points: Floats
    labels: Codes
    n_classes: int
    copied_share: float

    @property
    def priors(self) -> Floats:
        """Class shares."""
        return np.bincount(self.labels, minlength=self.n_classes) / len(self.labels)

    @property
    def most(self) -> float:
        """Error of always naming the largest class: no floor is higher."""
        return 1 - float(self.priors.max())


def arrange(X: Any, y: Any, *, standardize: bool = True) -> Sample:
    """Validate, bring to a common scale, and put rows and classes into an order that no name and no row number shows.

    Examples
    --------
    >>> sample = arrange([[0.0], [4.0], [1.0], [9.0]], ["b", "a", "b", "a"])
    >>> other = arrange([[9.0], [1.0], [4.0], [0.0]], [7, 8, 7, 8])
    >>> bool((sample.points == other.points).all() and (sample.labels == other.labels).all())
    True
    """
    check_flag("standardize", standardize)
    data = validate(X, y)
    points, _ = to_safe_scale(data.X, unit_variance=standardize)
    if points.shape[1] == 0:  # every column was constant: one place for all
        points = np.zeros((data.n_samples, 1))
    keys = class_keys(row_keys(points), data.labels, data.n_classes)
    labels = np.argsort(np.argsort(keys, kind="stable"), kind="stable")[data.labels]
    by_class = np.argsort(labels, kind="stable")
    order = by_class[order_by_content(points[by_class], labels[by_class], data.n_classes)]
    return Sample(np.ascontiguousarray(points[order]), labels[order], data.n_classes, data.copied_share)


def odd_near_root(n: int) -> int:
    """Odd number near the root of n, at most n - 2, so that one neighbour more exists.

    Examples
    --------
    >>> odd_near_root(1000), odd_near_root(4)
    (31, 1)
    """
    return max(1, min(2 * int(np.sqrt(n) / 2) + 1, n - 3 + n % 2))


@dataclass(frozen=True, eq=False)
class Votes:
    """Votes of the k nearest points of each row.

    Attributes
    ----------
    k : int
    sure : ndarray of shape (n, C)
        Points of each class that are among the k nearest for certain.
    tied : ndarray of shape (n, C)
        Where that leaves places open: all points at the distance of the k-th.
    """

    k: int
    sure: Counts
    tied: Counts

    @property
    def places(self) -> Counts:
        """Places left open in each row."""
        return self.k - self.sure.sum(axis=1)

    def expected(self) -> Floats:
        """Mean votes per class over the draws, in closed form."""
        return self.sure + (self.places / np.maximum(self.tied.sum(axis=1), 1))[:, None] * self.tied


def nearest_votes(
    points: Floats, labels: Codes, n_classes: int, ks: Sequence[int], n_jobs: int | None = None
) -> list[Votes]:
    """Votes of the k nearest other rows, for each k, from one search.

    Examples
    --------
    >>> points, labels = np.array([[0.0], [1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
    >>> votes, = nearest_votes(points, labels, 2, [1])
    >>> votes.sure[0].tolist(), votes.tied[0].tolist()  # row 0 has one neighbour of each class at distance 1
    ([0, 0], [1, 1])
    """
    n, n_found = len(points), min(len(points) - 1, max(ks) + 1)
    all_votes = [Votes(k, np.zeros((n, n_classes), np.int64), np.zeros((n, n_classes), np.int64)) for k in ks]
    reach = np.empty((len(ks), n))
    for start in range(0, n, max(256, _BLOCK // n_found)):
        rows = np.arange(start, min(n, start + max(256, _BLOCK // n_found)))
        found, distances = nearest_labels(points, labels, n_found, queries=rows, n_jobs=n_jobs)
        for votes, limit in zip(all_votes, reach, strict=True):
            limit[rows] = last = distances[:, votes.k - 1]
            following = distances[:, votes.k] if votes.k < n_found else np.full(len(rows), np.inf)
            is_open = following <= last * (1 + _SAME)
            sure = ~is_open[:, None] | (distances[:, : votes.k] < last[:, None] * (1 - _SAME))
            for c in range(n_classes):
                votes.sure[rows, c] = (sure & (found[:, : votes.k] == c)).sum(axis=1)
    for votes, limit in zip(all_votes, reach, strict=True):
        left_open = np.flatnonzero(votes.places)
        if left_open.size:
            votes.tied[left_open] = _at_distance(points, labels, n_classes, left_open, limit[left_open])
    return all_votes


def sample_votes(sample: Sample, k: int | None, n_jobs: int | None = None) -> Votes:
    """Votes of the k nearest other rows; by default k is odd and near the root of their number."""
    n = len(sample.labels)
    chosen = odd_near_root(n) if k is None else check_whole("k", k, 1, n - 1, "rows less 1")
    return nearest_votes(sample.points, sample.labels, sample.n_classes, [chosen], n_jobs)[0]


def _at_distance(points: Floats, labels: Codes, n_classes: int, rows: RowNumbers, distances: Floats) -> Counts:
    """Points of each class at the given distance from each row, the row itself left out."""
    _, first, place = np.unique(row_keys(points), return_index=True, return_inverse=True)
    counts = np.zeros((len(first), n_classes))
    np.add.at(counts, (place, labels), 1)
    # Copies of a point have the same neighbours at the same distances: once for all of them.
    _, asked, back = np.unique(place[rows], return_index=True, return_inverse=True)
    found = np.empty((len(asked), n_classes), dtype=np.int64)
    step = max(1, _BLOCK // 8 // len(first))
    for start in range(0, len(asked), step):
        part = asked[start : start + step]
        squared = cdist(points[rows[part]], points[first], "sqeuclidean")
        # Twice the margin: nothing that left a place open may be missed by rounding.
        low, high = (distances[part] * (1 - 2 * _SAME)) ** 2, (distances[part] * (1 + 2 * _SAME)) ** 2
        found[start : start + step] = ((squared >= low[:, None]) & (squared <= high[:, None])) @ counts
    found = found[back]
    found[distances == 0, labels[rows[distances == 0]]] -= 1
    return found


def vote_error(votes: Votes, own: Codes, seed: int = 0, *, forgive_ties: bool = False) -> float:
    """Share of rows that the votes assign to another class.

    Classes that tie for most votes share the row; with `forgive_ties` it counts as right if its own class is
    among them.

    Examples
    --------
    >>> votes = Votes(2, sure=np.array([[1, 1], [0, 2]]), tied=np.zeros((2, 2), dtype=int))
    >>> vote_error(votes, np.array([0, 0])), vote_error(votes, np.array([0, 0]), forgive_ties=True)
    (0.75, 0.5)
    """
    if votes.k == 1:  # one place: the mean over draws is known
        return float(1 - votes.expected()[np.arange(len(own)), own].mean())
    lost = _lost(votes.sure, own, forgive_ties)
    is_open = np.flatnonzero(votes.places)
    if is_open.size:
        rng = np.random.default_rng(seed)
        lost[is_open] = 0
        for _ in range(_DRAWS):
            drawn = votes.sure[is_open] + _draw(votes.tied[is_open], votes.places[is_open], rng)
            lost[is_open] += _lost(drawn, own[is_open], forgive_ties) / _DRAWS
    return float(lost.mean())


def _draw(tied: Counts, places: Counts, rng: np.random.Generator) -> Counts:
    """Fill the places from the tied points without replacement: a multivariate hypergeometric draw per row."""
    drawn, left, places = np.empty_like(tied), tied.sum(axis=1), places.copy()
    for c in range(tied.shape[1]):
        left -= tied[:, c]
        drawn[:, c] = rng.hypergeometric(tied[:, c], left, places)
        places -= drawn[:, c]
    return drawn


def _lost(votes: Counts, own: Codes, forgive_ties: bool) -> Floats:
    best = votes == votes.max(axis=1, keepdims=True)
    wins = best[np.arange(len(own)), own]
    return 1.0 - wins if forgive_ties else 1 - wins / best.sum(axis=1)
