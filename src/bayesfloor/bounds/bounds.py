"""Bounds on the Bayes error from the literature, each with what it rests on.

Below, E is the Bayes error, C the number of classes, p_c their shares, and no floor is above 1 - max p_c: all bounds
are clipped there, after their formulas and not before. Rows and classes are put into an order that depends on their
content alone (`votes.arrange`), and ties between distances favour nobody.
"""

import numbers
from itertools import combinations
from typing import Any

import numpy as np

from .._types import Codes, Floats
from ..balls.error import cover_hart_lower
from ..counting._spanning_tree import spanning_tree
from ..errors import ParameterError
from ..rows.keys import row_keys
from ..rows.scaling import order_by_content
from ..utils.checks import brief
from ..utils.intervals import Bound
from .held_out import certified_upper_limit, held_out_bound
from .votes import Sample, Votes, arrange, nearest_votes, odd_near_root, vote_error

__all__ = [
    "Bound",
    "all_bounds",
    "bhattacharyya",
    "certified_upper_limit",
    "cover_hart",
    "cover_hart_lower",
    "held_out_bound",
    "henze_penrose",
    "henze_penrose_divergence",
    "mahalanobis",
    "nearest_neighbour_bounds",
]

_ASYMPTOTIC = (
    "asymptotic: holds for infinitely many independent rows; with few rows, more than about ten dimensions or classes "
    "that alternate at short range, neighbours are not alike and both limits too high"
)
_FEW_DIMENSIONS = 10
# A covariance whose smallest eigenvalue is a smaller part of the largest is singular but for rounding.
_SINGULAR = 1e-10
# What it then gets added to its diagonal, as a part of the variance of all points.
_RIDGE = 1e-6
# Steps that comparing every pair of classes may take, and those that a pair takes besides the cube of its columns.
_MANY_CLASSES, _MOST_PAIRED, _PAIR_COST = 20, 2e9, 1e5
_REPAIRED = "; a covariance is singular and had to be repaired, so this bound says little"


def henze_penrose(X: Any, y: Any, *, standardize: bool = True, n_jobs: int | None = None) -> Bound:
    """Bounds from the edges of the Euclidean minimum spanning tree that join different classes.

    With K such edges among N points (Friedman and Rafsky 1979), K / N tends to the error of guessing a point's class
    by an independent draw from its posterior. So K / N is the upper limit and its Cover-Hart map the lower one
    (Sekeh, Oselio and Hero, arXiv 1811.06419). For two classes that is 1/2 - sqrt(u)/2 <= E <= 1/2 - u/2 with
    u = 4 p1 p2 D + (p1 - p2)^2 and D = 1 - N K / (2 N1 N2) (Berisha et al. 2016): u equals 1 - 2 K / N.
    "Learning to Benchmark" prints 1/2 - sqrt(u) for the lower one, without the second 1/2.

    Notes
    -----
    Where points coincide, the tree is not unique: K is averaged over all trees on the copies of a point, and over
    the copies that an edge may start from. Other equal distances (lattices) are settled by an order of the points
    that does not know their labels.

    Examples
    --------
    >>> bound = henze_penrose([[0.0], [1.0], [2.1], [3.3], [4.6], [6.0]], [0, 0, 0, 1, 0, 1])
    >>> round(bound.upper, 4)  # a path with 3 mixed edges: 3 / 6, above the share 2 / 6 of the smaller class
    0.3333
    """
    return _henze_penrose(arrange(X, y, standardize=standardize), n_jobs)


def henze_penrose_divergence(X: Any, y: Any, *, standardize: bool = True, n_jobs: int | None = None) -> float:
    """Henze-Penrose divergence of two classes, 0 if they are alike and 1 if they are apart.

    D = 1 - N K / (2 N1 N2) with K edges between the classes in the minimum spanning tree of all N rows (Friedman and
    Rafsky 1979); slightly negative by chance where classes are alike.

    Examples
    --------
    >>> henze_penrose_divergence([[0.0], [1.0], [2.1], [7.3], [8.6], [9.0]], [0, 0, 0, 1, 1, 1])  # one mixed edge
    0.6666666666666667
    """
    sample = arrange(X, y, standardize=standardize)
    if sample.n_classes != 2:
        raise ParameterError(f"the Henze-Penrose divergence is one of two classes, y has {sample.n_classes}")
    n_first, n_second = np.bincount(sample.labels)
    return float(1 - len(sample.labels) * _mixed_edges(sample, n_jobs) / (2 * n_first * n_second))


def _henze_penrose(sample: Sample, n_jobs: int | None) -> Bound:
    share = _mixed_edges(sample, n_jobs) / len(sample.labels)
    return _clip("Henze-Penrose", cover_hart_lower(share, sample.n_classes), share, _ASYMPTOTIC, sample)


def _mixed_edges(sample: Sample, n_jobs: int | None) -> float:
    """Expected number of edges between classes, over all minimum spanning trees that differ in copies only."""
    _, first, place = np.unique(row_keys(sample.points), return_index=True, return_inverse=True)
    counts = np.zeros((len(first), sample.n_classes))
    np.add.at(counts, (place, sample.labels), 1)
    sizes = counts.sum(axis=1)
    shares = counts / sizes[:, None]
    # Copies: n - 1 edges of length 0, each a random pair, (n - 1) (n^2 - sum n_c^2) / (n (n - 1)) of them mixed.
    mixed = float((sizes * (1 - (shares**2).sum(axis=1))).sum())
    if len(first) == 1:
        return mixed
    order = order_by_content(sample.points[first], np.zeros(len(first), dtype=np.int64), 1)
    edges, _ = spanning_tree(sample.points[first][order], n_jobs=n_jobs)
    ends = shares[order][edges]
    return mixed + float((1 - (ends[:, 0] * ends[:, 1]).sum(axis=1)).sum())


def cover_hart(X: Any, y: Any, *, standardize: bool = True, n_jobs: int | None = None) -> Bound:
    """Bounds from the leave-one-out error e of the nearest neighbour (Cover and Hart 1967).

    (C-1)/C (1 - sqrt(1 - C/(C-1) e)) <= E <= e. The map is applied to e as it is: pure noise with shares 0.3 and
    0.7 has e = 0.42, which maps to the true 0.3, while e clipped at 0.3 would map to 0.18.

    Examples
    --------
    >>> bound = cover_hart([[0.0], [1.0], [3.0], [3.5], [7.0], [8.0]], [0, 0, 0, 1, 1, 1])
    >>> round(bound.lower, 4), round(bound.upper, 4)  # two of six nearest neighbours are foreign
    (0.2113, 0.3333)
    """
    sample = arrange(X, y, standardize=standardize)
    return _cover_hart(sample, _votes(sample, [1], n_jobs)[0])


def _cover_hart(sample: Sample, votes: Votes) -> Bound:
    error = vote_error(votes, sample.labels)
    return _clip("Cover-Hart", cover_hart_lower(error, sample.n_classes), error, _ASYMPTOTIC, sample)


def nearest_neighbour_bounds(
    X: Any, y: Any, k: int | None = None, *, standardize: bool = True, n_jobs: int | None = None
) -> Bound:
    """Bounds from the votes of k and k + 1 neighbours (Devijver and Kittler 1982).

    Upper: the leave-one-out error E_k of the majority of k neighbours, k odd. Lower, for two classes: the error of
    k + 1 = 2m neighbours if tied votes are *not* counted as errors; for more: the Cover-Hart map of E_k.

    Parameters
    ----------
    X, y : array-like
    k : int, optional
        Odd; default near sqrt(N).
    standardize, n_jobs
        As in `BenchmarkLearner`.

    Notes
    -----
    Two classes: where the rarer class has posterior h and B ~ Bin(2m, h) of the neighbours are of it, the even rule
    errs with probability h - h P(B = m) + (1 - 2h) P(B > m). That is at most h, because P(B = m + j) / P(B = m) <=
    (h / (1 - h))^j and these sum to h / (1 - 2h).

    More classes: the map is valid because E_k <= E_1. In the limit the nearest neighbour may be replaced by a random
    one of the k; the vote takes a most frequent label instead, and of two labels the more frequent is, in expectation,
    the more probable.

    With k the limits close in on each other, down to less than the sampling noise that `rests_on` names.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 2000)
    >>> bound = nearest_neighbour_bounds(rng.normal(size=(2000, 2)) + 2 * y[:, None] * [1, 0], y, k=5)
    >>> bound.lower < 0.1587 < bound.upper
    True
    """
    sample = arrange(X, y, standardize=standardize)
    k = _check_k(k, sample)
    return _nearest_neighbour_bounds(sample, *_votes(sample, [k, k + 1], n_jobs))


def _nearest_neighbour_bounds(sample: Sample, odd: Votes, even: Votes) -> Bound:
    upper = vote_error(odd, sample.labels)
    if sample.n_classes == 2:
        lower = min(upper, vote_error(even, sample.labels, forgive_ties=True))
    else:
        lower = cover_hart_lower(upper, sample.n_classes)
    return _clip(f"{odd.k}-nearest-neighbour", lower, upper, _ASYMPTOTIC, sample)


def bhattacharyya(X: Any, y: Any, *, standardize: bool = True, n_jobs: int | None = None) -> Bound:
    """Bounds from the overlap of Gaussians fitted to the classes; `n_jobs` changes nothing here.

    With the Bhattacharyya coefficient B = integral sqrt(f1 f2) (Kailath 1967), two classes have
    1/2 - sqrt(1 - 4 p1 p2 B^2) / 2 <= E <= sqrt(p1 p2) B.
    For more, E <= sum_{i<j} (p_i + p_j) E_ij <= C/2 E over the problems E_ij of pairs: with the posteriors in
    descending order, sum_{i<j} min(q_i, q_j) = sum_j (j - 1) q_j, which Chebyshev's sum inequality limits to
    C/2 sum_{j>=2} q_j. A singular covariance gets a millionth of the features' variance added, and `rests_on` says so.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 2000)
    >>> bound = bhattacharyya(rng.normal(size=(2000, 2)) + 2 * y[:, None] * [1, 0], y)
    >>> round(bound.lower, 2), round(bound.upper, 2)  # B = exp(-1/2): 0.10 and 0.30
    (0.1, 0.3)
    """
    return _bhattacharyya(arrange(X, y, standardize=standardize))


def _bhattacharyya(sample: Sample) -> Bound:
    lower, upper, repaired = _gaussian_limits(sample.points, sample.labels, sample.n_classes)
    rests_on = "assumes that each class is Gaussian, its moments estimated from many more rows than columns"
    return _clip("Bhattacharyya", lower, upper, rests_on + (_REPAIRED if repaired else ""), sample)


def mahalanobis(X: Any, y: Any, *, standardize: bool = True, n_jobs: int | None = None) -> Bound:
    """Upper bound from the distance of the class means (Devijver and Kittler 1982); `n_jobs` changes nothing here.

    E <= 2 p1 p2 / (1 + p1 p2 D) with D the squared Mahalanobis distance under the pooled covariance; for more
    classes the sum over pairs, weighted by p_i + p_j. It needs only those moments: E is at most the error of the
    nearest neighbour, twice the mean of q (1 - q). That is the mean square which the best prediction of the class
    leaves, and the best *linear* one leaves p1 p2 / (1 + p1 p2 D), which is no less.

    Examples
    --------
    >>> bound = mahalanobis([[-1.0], [1.0], [3.0], [5.0]], [0, 0, 1, 1])
    >>> round(bound.upper, 9)  # means 4 apart, variance 2 within: 1/2 / (1 + 8/4)
    0.166666667
    """
    return _mahalanobis(arrange(X, y, standardize=standardize))


def _mahalanobis(sample: Sample) -> Bound:
    upper, repaired = _linear_limit(sample.points, sample.labels, sample.n_classes)
    rests_on = "holds for any distribution with these means and covariances; they are estimated here, which takes many "
    rests_on += "more rows than columns"
    return _clip("Mahalanobis", 0.0, upper, rests_on + (_REPAIRED if repaired else ""), sample)


# --- moments: limits that need only means and covariances of the classes ----------------------------------------------


def _gaussian_limits(points: Floats, labels: Codes, n_classes: int) -> tuple[float, float, bool]:
    """Bhattacharyya's limits, and whether a singular covariance had to be repaired."""
    ridge = _ridge(points)
    shares, means, covariances = _moments(_in_their_span(points), labels, n_classes)
    made = [_invertible(covariance, ridge) for covariance in covariances]
    lower = upper = 0.0
    for i, j in combinations(range(n_classes), 2):
        both = shares[i] + shares[j]
        overlap = np.sqrt(shares[i] * shares[j]) * _bhattacharyya_coefficient(
            means[i] - means[j], made[i][0], made[j][0]
        )
        # 1/2 - sqrt(1 - 4 u^2) / 2 in the pair's own shares, times the weight p_i + p_j of the pair
        lower += (both - np.sqrt(max(0.0, both**2 - 4 * overlap**2))) / 2
        upper += overlap
    return float(2 / n_classes * lower), float(upper), any(repaired for _, repaired in made)


def _linear_limit(points: Floats, labels: Codes, n_classes: int) -> tuple[float, bool]:
    """Upper limit by Mahalanobis distances, and whether a covariance had to be repaired."""
    ridge = _ridge(points)
    shares, means, covariances = _moments(_in_their_span(points), labels, n_classes)
    upper, any_repaired = 0.0, False
    for i, j in combinations(range(n_classes), 2):
        both = shares[i] + shares[j]
        pooled = (shares[i] * covariances[i] + shares[j] * covariances[j]) / both
        pooled, repaired = _invertible(pooled, ridge)
        any_repaired |= repaired
        difference = means[i] - means[j]
        product = shares[i] * shares[j] / both**2
        upper += both * 2 * product / (1 + product * float(difference @ np.linalg.solve(pooled, difference)))
    return float(upper), any_repaired


def _bhattacharyya_coefficient(difference: Floats, first: Floats, second: Floats) -> float:
    """Overlap, the integral of sqrt(f1 f2), of two Gaussians whose means differ by `difference`.

    Examples
    --------
    >>> round(_bhattacharyya_coefficient(np.array([2.0, 0.0]), np.eye(2), np.eye(2)), 6)  # exp(-2^2 / 8)
    0.606531
    """
    middle = (first + second) / 2
    logs = [float(np.linalg.slogdet(matrix)[1]) for matrix in (middle, first, second)]
    distance = float(difference @ np.linalg.solve(middle, difference)) / 8 + logs[0] / 2 - (logs[1] + logs[2]) / 4
    return float(np.exp(-max(0.0, distance)))


def _moments(points: Floats, labels: Codes, n_classes: int) -> tuple[Floats, list[Floats], list[Floats]]:
    groups = [points[labels == c] for c in range(n_classes)]
    shares = np.array([len(group) for group in groups]) / len(points)
    covariances = [np.cov(group, rowvar=False).reshape(points.shape[1], -1) for group in groups]
    return shares, [group.mean(axis=0) for group in groups], covariances


def _in_their_span(points: Floats) -> Floats:
    """The points in as many coordinates as there are points, if they have more columns.

    Every covariance is singular then. In the directions that no point has, all are the ridge alone and the means agree:
    nothing changes but the size of the matrices, which is no longer the square of the number of columns.
    """
    if points.shape[1] <= len(points):
        return points
    directions, lengths, _ = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    return directions * lengths


def _ridge(points: Floats) -> float:
    """What a singular covariance gets added to its diagonal."""
    return _RIDGE * float(points.var(axis=0).mean() or 1.0)


def _invertible(covariance: Floats, ridge: float) -> tuple[Floats, bool]:
    values = np.linalg.eigvalsh(covariance)
    if values[0] > _SINGULAR * values[-1]:
        return covariance, False
    return covariance + ridge * np.eye(len(covariance)), True


# --- all of them ------------------------------------------------------------------------------------------------------


def all_bounds(
    X: Any, y: Any, k: int | None = None, *, standardize: bool = True, n_jobs: int | None = None
) -> tuple[Bound, ...]:
    """Henze-Penrose, Cover-Hart, nearest neighbours, Bhattacharyya and Mahalanobis, from one search and one tree.

    The last two compare every pair of classes. Of more than 20 classes they are left out where they would take longer
    than all else: call `bhattacharyya` and `mahalanobis` for them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 1000)
    >>> bounds = all_bounds(rng.normal(size=(1000, 2)) + 2 * y[:, None] * [1, 0], y, k=5, n_jobs=1)
    >>> [bound.name for bound in bounds if bound.lower < 0.1587 < bound.upper]
    ['Henze-Penrose', 'Cover-Hart', '5-nearest-neighbour', 'Bhattacharyya', 'Mahalanobis']
    """
    sample = arrange(X, y, standardize=standardize)
    k = _check_k(k, sample)
    one, odd, even = _votes(sample, [1, k, k + 1], n_jobs)
    bounds = (_henze_penrose(sample, n_jobs), _cover_hart(sample, one), _nearest_neighbour_bounds(sample, odd, even))
    pairs, width = sample.n_classes * (sample.n_classes - 1) / 2, min(sample.points.shape)
    if sample.n_classes > _MANY_CLASSES and pairs * (width**3 + _PAIR_COST) > _MOST_PAIRED:
        return bounds
    return (*bounds, _bhattacharyya(sample), _mahalanobis(sample))


def _votes(sample: Sample, ks: list[int], n_jobs: int | None) -> list[Votes]:
    return nearest_votes(sample.points, sample.labels, sample.n_classes, ks, n_jobs)


def _check_k(k: int | None, sample: Sample) -> int:
    most = len(sample.labels) - 2
    if k is None:
        return odd_near_root(len(sample.labels))
    if not isinstance(k, numbers.Integral) or not 1 <= k <= most or k % 2 == 0:
        raise ParameterError(f"k must be an odd whole number from 1 to {most} (rows less 2), got {brief(k)}")
    return int(k)


def _clip(name: str, lower: float, upper: float, rests_on: str, sample: Sample) -> Bound:
    lower, upper = min(float(lower), sample.most), min(float(upper), sample.most)
    applies, n_columns = not rests_on.endswith(_REPAIRED), sample.points.shape[1]
    if rests_on is _ASYMPTOTIC:
        applies = n_columns <= _FEW_DIMENSIONS
        if not applies:
            rests_on = f"not to be relied on with {n_columns} columns; {rests_on}"
        rests_on += f"; sampling noise of about {np.sqrt(upper * (1 - upper) / len(sample.labels)):.2%} comes on top"
        if sample.copied_share:
            rests_on += f"; {sample.copied_share:.1%} of the rows are copies, which makes both limits too low"
    return Bound(name, lower, upper, rests_on, applies)
