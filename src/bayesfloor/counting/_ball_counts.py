"""Plans how to count: which algorithm, how many threads, how much memory. `kernels` loops.

Three ways give the same counts: matrix products of tiles (high dimension), a kd-tree per class (low
dimension, small balls), and plain numpy for small tables, which need not wait for compiled code.
"""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._types import BallCounts, Codes, Floats, RowNumbers
from ..errors import DataError, ParameterError
from ..rows.blocks import reference_rows
from ..rows.cluster import is_dask
from ..rows.dataset import as_array, feature_matrix
from ..rows.labels import encode_labels, label_values, missing_labels
from ..rows.scaling import safe_exponent, spread_out
from ..utils.checks import brief, check_callable, check_choice, numbers_from
from ..utils.parallel import Progress, check_memory, n_threads

__all__ = ["BallCounter", "ball_counts", "group_codes", "labelled_points", "query_points"]


ALGORITHMS = ("auto", "tiles", "tree", "numpy")

# Pairs times (features + 8) up to which numpy is done before compiled code would even be loaded.
_SMALL = 4e7
# Bytes of counts that `BallCounter.blocks` holds at a time; fixed, so that threads do not change the blocks.
_BLOCK_BYTES = 256 * 2**20
# Cost per pair, measured and in arbitrary units: tiles look at every pair once or twice, a tree at few, but
# one by one and in double precision.
_TILE_COST = {"pair": 0.15, "feature": 0.02, "radius": 0.09}
_TREE_COST = {"pair": 0.60, "feature": 0.15, "radius": 0.15}
_TREE_FEATURES = 16
_WHOLE_NODE_FEATURES = 5
_LEAST_PER_TREE = 32  # rows of a class, on average, that a tree is worth its while for


def ball_counts(
    X: Any,
    labels: Any,
    radii: ArrayLike,
    *,
    queries: Any = None,
    exclude_groups: Any = None,
    n_jobs: int | None = None,
    memory_limit: int | None = None,
    progress: Progress | None = None,
    algorithm: str = "auto",
) -> Any:
    """Count the points of each class within each radius of each query.

    A pair counts if and only if the float64 sum of squared differences is at most the squared radius,
    whatever the algorithm, the number of threads or the size of the data.

    Parameters
    ----------
    X : array-like of shape (N, d), or Dask array or DataFrame
    labels : array-like of shape (N,)
        Any hashable labels; classes are counted in their sorted order.
    radii : array-like of shape (L,)
        Ascending, not negative.
    queries : array-like, optional
        Row numbers (a row is not its own neighbour), or a matrix of new points (nothing is left
        out). Default: all rows.
    exclude_groups : array-like of shape (N,), optional
        Rows of the same group are no neighbours (copies of one record).
    n_jobs : int, optional
        Threads; None means all cores.
    memory_limit : int, optional
        Bytes that may be used; default a quarter of what is free.
    progress : callable, optional
        Called as ``progress(stage, done, total)``, at most ten times a second.
    algorithm : {"auto", "tiles", "tree", "numpy"}
        "auto" chooses by size, dimension and a sample of how full the balls are.

    Returns
    -------
    ndarray of int32, shape (n_queries, n_classes, L)
        For Dask's collections a Dask array of it, in chunks like the rows; `n_jobs`, `memory_limit` and `algorithm`
        do not matter there.

    Examples
    --------
    >>> ball_counts([[0.0], [1.0], [2.0]], ["a", "b", "b"], [1.0, 2.0])[0].tolist()
    [[0, 0], [1, 2]]
    """
    check_callable("progress", progress)
    if is_dask(X):
        from .dask_counts import distributed_ball_counts

        if exclude_groups is not None:
            raise ParameterError("exclude_groups needs rows in memory, not a Dask collection")
        return distributed_ball_counts(X, labels, _check_radii(radii), queries=queries, progress=progress)
    points, codes, classes = labelled_points(X, labels)
    counter = BallCounter(points, codes, len(classes), n_jobs, memory_limit, algorithm)
    groups = group_codes(exclude_groups, len(points))
    wanted = query_points(queries, points)
    limits = _check_radii(radii)
    if isinstance(wanted, tuple):
        if groups is not None:
            raise ParameterError("exclude_groups needs queries that are rows of X, not new points")
        return counter.around(wanted[0], limits, progress)
    return counter.counts(limits, wanted, progress, groups)


class BallCounter:
    """Counts around the points of one data set, for any radii and rows.

    Parameters
    ----------
    points : ndarray of shape (N, d)
        Finite float64.
    labels : ndarray of shape (N,)
        Codes 0..n_classes-1.
    n_classes : int
    n_jobs, memory_limit, algorithm
        As in `ball_counts`.
    exponent : int, optional
        Power of two to divide by, if not the one that suits the points.

    Examples
    --------
    >>> counter = BallCounter(np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 1]), 2)
    >>> counter.counts(np.array([1.0, 2.0]))[0].tolist()  # around 0.0: class 1 has one point, then two
    [[0, 0], [1, 2]]
    """

    def __init__(
        self,
        points: Floats,
        labels: Codes,
        n_classes: int,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
        algorithm: str = "auto",
        exponent: int | None = None,
    ) -> None:
        check_choice("algorithm", algorithm, ALGORITHMS)
        # A power of two changes no comparison of distances.
        self._exponent = safe_exponent(points) if exponent is None else exponent
        if self._exponent:
            points = np.ldexp(points, -self._exponent)
        # Compiled code tells read-only arrays apart and would be compiled twice.
        self.points = np.require(points, np.float64, ["C", "W"])
        self.labels = np.require(labels, np.int64, ["C", "W"])
        self.n_classes, self.algorithm = n_classes, algorithm
        self.n_jobs, self.memory_limit = n_jobs, memory_limit
        self._tiles: Any = None
        self._trees: Any = None

    @property
    def n_samples(self) -> int:
        """Number of points."""
        return len(self.points)

    @property
    def n_features(self) -> int:
        """Number of coordinates."""
        return self.points.shape[1]

    @property
    def class_counts(self) -> RowNumbers:
        """Points of each class."""
        return np.bincount(self.labels, minlength=self.n_classes)

    def spread_out(self, n: int) -> RowNumbers:
        """Up to `n` rows, evenly spaced over the rows sorted by their distance from the mean."""
        reference = reference_rows(self.n_samples)
        return reference[spread_out(self.points[reference], self.labels[reference], self.n_classes, n)]

    def rows_at(self, rows: RowNumbers) -> tuple[Floats, RowNumbers]:
        """Points and labels of these rows."""
        return self.points[rows], self.labels[rows]

    def counts(
        self,
        radii: Floats,
        rows: RowNumbers | None = None,
        progress: Progress | None = None,
        groups: Codes | None = None,
    ) -> BallCounts:
        """Counts around the given rows (default all), each row itself left out: (n, C, L) int32."""
        n_queries = len(self.points) if rows is None else len(rows)
        squared_radii, threads = self._prepare(radii, n_queries)
        chosen = np.arange(len(self.points)) if rows is None else np.asarray(rows, dtype=np.int64)
        method = self._choose(squared_radii, n_queries, rows is None)
        if method == "numpy":
            out = self._by_numpy(self.points[chosen], chosen, squared_radii)
        elif method == "tree":
            out = self._by_tree(chosen, rows is None, squared_radii, threads, progress)
        elif rows is None:
            out = self._in_tiles().count_all(squared_radii, threads, progress)
        else:
            out = self._in_tiles().count_around(self.points, chosen, chosen, squared_radii, threads, progress)
        if method == "numpy" and progress is not None:
            progress("counting", n_queries, n_queries)
        if groups is not None:
            self._leave_out_groups(out, chosen, groups, squared_radii)
        return out

    def around(self, queries: Floats, radii: Floats, progress: Progress | None = None) -> BallCounts:
        """Counts around points that are not among the data: (n, C, L) int32."""
        given = np.ldexp(self.points, self._exponent) if self._exponent else self.points
        exponent = safe_exponent(given, queries)
        if exponent != self._exponent:  # far beyond the data: in units in which both fit
            other = BallCounter(
                given, self.labels, self.n_classes, self.n_jobs, self.memory_limit, self.algorithm, exponent
            )
            return other.around(queries, radii, progress)
        queries = np.require(np.ldexp(queries, -self._exponent), np.float64, ["C", "W"])
        squared_radii, threads = self._prepare(radii, len(queries))
        method = self._choose(squared_radii, len(queries), False)
        nobody = np.full(len(queries), -1, dtype=np.int64)
        if method == "numpy":
            return self._by_numpy(queries, nobody, squared_radii)
        if method == "tree":
            from .trees import Tree

            tree = Tree(queries, np.arange(len(queries)))
            return self._in_trees().count([tree], len(queries), squared_radii, threads, progress)
        tiles = self._in_tiles()
        near = tiles.reaches(queries)
        rows, far = np.flatnonzero(near), np.flatnonzero(~near)
        out = np.empty((len(queries), self.n_classes, len(squared_radii)), dtype=np.int32)
        out[rows] = tiles.count_around(queries, rows, nobody[rows], squared_radii, threads, progress)
        out[far] = self._by_numpy(queries[far], nobody[far], squared_radii)
        return out

    def blocks(
        self, radii: Floats, rows: RowNumbers | None = None, progress: Progress | None = None
    ) -> Iterator[tuple[RowNumbers, BallCounts]]:
        """Counts around `rows` (default all) in blocks of bounded memory, as pairs (rows, counts)."""
        everyone = np.arange(len(self.points)) if rows is None else rows
        size = max(256, _BLOCK_BYTES // (4 * self.n_classes * len(radii)))
        if size >= len(everyone):
            yield everyone, self.counts(radii, rows, progress)
            return
        for start in range(0, len(everyone), size):
            chosen = everyone[start : start + size]
            yield chosen, self.counts(radii, chosen)
            if progress is not None:
                progress("counting", min(start + size, len(everyone)), len(everyone))

    # --- planning -------------------------------------------------------------------------------------------

    def _prepare(self, radii: Floats, n_queries: int) -> tuple[Floats, int]:
        """Squared radii in the counter's units, and how many threads fit."""
        n, d = self.points.shape
        threads = n_threads(self.n_jobs)
        result = 4 * n_queries * self.n_classes * len(radii)
        left = check_memory("the result", result, self.memory_limit)
        per_thread = 12 * 2**20 + result // max(1, n_queries) * 256
        left = max(0, left - result - 4 * n * d)  # sorted counts, float32 points
        with np.errstate(over="ignore"):
            # No distance exceeds 2^500: larger radii all hold everyone.
            scaled = np.minimum(np.ldexp(np.asarray(radii, dtype=np.float64), -self._exponent), 2.0**510)
        return scaled**2, int(max(1, min(threads, left // per_thread)))

    def _choose(self, squared_radii: Floats, n_queries: int, all_rows: bool) -> str:
        n, d = self.points.shape
        if self.algorithm != "auto":
            return self.algorithm if d > 0 else "numpy"
        if d == 0 or (n_queries * n * (d + 8) < _SMALL and "numba" not in sys.modules):
            return "numpy"
        if d > _TREE_FEATURES or n < _LEAST_PER_TREE * self.n_classes:  # every tree meets every other one
            return "tiles"
        n_radii = len(squared_radii)
        pairs = n_queries * n * (0.5 if all_rows else 1.0)
        tiles = pairs * (
            _TILE_COST["pair"] + _TILE_COST["feature"] * d + _TILE_COST["radius"] * n_radii * (1 if all_rows else 0.7)
        )
        tree_pair = _TREE_COST["pair"] + _TREE_COST["feature"] * d + _TREE_COST["radius"] * n_radii
        # In many dimensions hardly a node lies inside a ball: the tree would have to look at every pair within.
        if d > _WHOLE_NODE_FEATURES and self._share_within(squared_radii[-1]) * n_queries * n * tree_pair > tiles:
            return "tiles"
        # A small sample of leaves tells how many pairs the tree would have to look at.
        looked_at = self._in_trees().pairs_computed(squared_radii) * n_queries / n
        return "tree" if looked_at * tree_pair < tiles else "tiles"

    def _share_within(self, squared_radius: float) -> float:
        """Share of pairs within the radius, from 256 x 256 of them."""
        some = self.points[np.linspace(0, len(self.points) - 1, 256).astype(np.int64)]
        other = self.points[np.linspace(0, len(self.points) - 1, 259).astype(np.int64)[1:-2]]
        squared = ((some[:, None, :] - other[None, :, :]) ** 2).sum(axis=2)
        return float((squared <= squared_radius).mean())

    def _in_tiles(self) -> Any:
        if self._tiles is None:
            from .tiles import Tiles

            self._tiles = Tiles(self.points, self.labels, self.n_classes)
        return self._tiles

    def _in_trees(self) -> Any:
        if self._trees is None:
            from .trees import ClassTrees

            self._trees = ClassTrees(self.points, self.labels, self.n_classes)
        return self._trees

    # --- the ways to count ----------------------------------------------------------------------------------

    def _by_tree(
        self, chosen: RowNumbers, all_rows: bool, squared_radii: Floats, threads: int, progress: Progress | None
    ) -> BallCounts:
        from .trees import Tree

        trees = self._in_trees()
        queries = trees.trees if all_rows else [Tree(self.points[chosen], np.arange(len(chosen)))]
        out = trees.count(queries, len(chosen), squared_radii, threads, progress)
        # A point's distance to itself is exactly 0 here, so it was counted once at every radius.
        out[np.arange(len(chosen)), self.labels[chosen]] -= 1
        return out

    def _by_numpy(self, queries: Floats, own: Codes, squared_radii: Floats) -> BallCounts:
        n_radii = len(squared_radii)
        cells = self.n_classes * (n_radii + 1)
        out = np.empty((len(queries), self.n_classes, n_radii), dtype=np.int32)
        step = max(1, 2**20 // max(1, len(self.points)))
        for start in range(0, len(queries), step):
            block = queries[start : start + step]
            squared = np.zeros((len(block), len(self.points)))
            for q in range(self.points.shape[1]):
                difference = self.points[:, q] - block[:, q : q + 1]
                squared += difference * difference
            where = np.flatnonzero(own[start : start + step] >= 0)
            squared[where, own[start + where]] = np.inf
            # First radius that reaches each point; cumulative sums turn that into "within".
            cell = np.searchsorted(squared_radii, squared) + self.labels * (n_radii + 1)
            cell += np.arange(len(block))[:, None] * cells
            histogram = np.bincount(cell.ravel(), minlength=len(block) * cells)
            by_radius = histogram.reshape(len(block), self.n_classes, n_radii + 1)[:, :, :n_radii]
            out[start : start + step] = by_radius.cumsum(axis=2)
        return out

    def _leave_out_groups(self, out: BallCounts, chosen: RowNumbers, groups: Codes, squared_radii: Floats) -> None:
        from .kernels import leave_out_groups

        members = np.argsort(groups, kind="stable")
        starts = np.searchsorted(groups[members], np.arange(groups.max() + 2))
        leave_out_groups(self.points, chosen, groups, members, starts, self.labels, squared_radii, out)


# --- what direct callers pass ---------------------------------------------------------------------------------


def labelled_points(X: Any, labels: Any) -> tuple[Floats, RowNumbers, NDArray[Any]]:
    """Points, label codes and classes of what a caller passed."""
    points, _ = feature_matrix(X)
    classes, codes = encode_labels(labels)
    if len(points) != len(codes):
        raise DataError(f"X has {len(points)} rows but there are {len(codes)} labels: they must have equal length")
    return points, codes, classes


def group_codes(groups: Any, n: int) -> RowNumbers | None:
    """Groups of any hashable kind as codes."""
    if groups is None:
        return None
    missing = np.flatnonzero(missing_labels(label_values(groups)))
    if missing.size:
        raise DataError(
            f"{missing.size:,} of {n:,} rows have no group (None or NaN), the first is row {missing[0]}: give each of "
            "them a group of its own, or drop them"
        )
    codes = encode_labels(groups)[1]
    if len(codes) != n:
        raise DataError(f"X has {n} rows but there are {len(codes)} groups: they must have equal length")
    return codes


def query_points(queries: Any, points: Floats) -> RowNumbers | tuple[Floats] | None:
    """All rows (None), row numbers, or a one-tuple with a matrix of new points."""
    if queries is None:
        return None
    array = as_array(queries, "queries")
    if array.ndim == 1 and array.dtype.kind in "iu":
        outside = np.flatnonzero((array < 0) | (array >= len(points)))
        if outside.size:
            raise ParameterError(f"query {array[outside[0]]} is no row of X, which has {len(points)} rows")
        return array.astype(np.int64)
    matrix, _ = feature_matrix(queries)
    if matrix.shape[1] != points.shape[1]:
        raise DataError(f"queries have {matrix.shape[1]} columns but X has {points.shape[1]}")
    return (matrix,)


def _check_radii(radii: ArrayLike) -> Floats:
    values = numbers_from("radii", radii)
    if values.ndim != 1 or values.size == 0:
        raise ParameterError(f"radii must be a non-empty list of numbers, got {brief(radii)}")
    if not np.isfinite(values).all() or (values < 0).any():
        raise ParameterError(f"radii must be finite and not negative, got {brief(values.tolist())}")
    if (np.diff(values) <= 0).any():
        raise ParameterError(f"radii must ascend and be distinct, got {brief(values.tolist())}")
    return values
