"""The labels of the nearest points, in order."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Codes, Floats, RowNumbers
from ..errors import ParameterError
from ..rows.scaling import safe_exponent
from ..utils.parallel import Progress, check_memory, n_threads, run_tasks
from ._ball_counts import group_codes, labelled_points, query_points

__all__ = ["nearest_labels"]


# Up to this many features a kd-tree finds few neighbours faster than products of all pairs.
_TREE_FEATURES = 8
_TREE_SHARE = 0.02  # ... and up to this share of all points as neighbours


def nearest_labels(
    X: Any,
    labels: Any,
    k: int,
    *,
    queries: Any = None,
    exclude_groups: Any = None,
    n_jobs: int | None = None,
    memory_limit: int | None = None,
    progress: Progress | None = None,
    algorithm: str = "auto",
) -> tuple[NDArray[Any], Floats]:
    """Labels and distances of the k nearest points of each query, nearest first.

    Distances are compared as float64 sums of squared differences; ties go to the smaller row number.

    Parameters
    ----------
    X, labels, queries, exclude_groups, n_jobs, memory_limit, progress
        As in `ball_counts`.
    k : int
        Number of neighbours; a row is not its own.
    algorithm : {"auto", "tiles", "tree"}
        With `exclude_groups` it is always "tiles".

    Returns
    -------
    labels : ndarray of shape (n_queries, k)
    distances : ndarray of shape (n_queries, k)

    Examples
    --------
    >>> found, distances = nearest_labels([[0.0], [1.0], [3.0]], ["a", "b", "c"], 2)
    >>> found.tolist(), distances.tolist()
    ([['b', 'c'], ['a', 'c'], ['b', 'a']], [[1.0, 3.0], [1.0, 2.0], [2.0, 3.0]])
    """
    points, codes, classes = labelled_points(X, labels)
    groups = group_codes(exclude_groups, len(points))
    wanted = query_points(queries, points)
    if isinstance(wanted, tuple):
        if groups is not None:
            raise ParameterError("exclude_groups needs queries that are rows of X, not new points")
        Q, rows, own = wanted[0], np.arange(len(wanted[0])), np.full(len(wanted[0]), -1, dtype=np.int64)
    else:
        Q, rows = points, np.arange(len(points)) if wanted is None else wanted
        own = rows
    _check_k(k, points, own, groups)
    check_memory("the result", 2 * 8 * len(rows) * k, memory_limit)
    if algorithm not in ("auto", "tiles", "tree"):
        raise ParameterError(f"algorithm must be 'auto', 'tiles' or 'tree', got {algorithm!r}")
    few = points.shape[1] <= _TREE_FEATURES and k <= max(32, _TREE_SHARE * len(points))
    by_tree = algorithm == "tree" or (algorithm == "auto" and few and groups is None)
    exponent = safe_exponent(points, Q)
    if exponent:
        points, Q = np.ldexp(points, -exponent), np.ldexp(Q, -exponent)
    none = np.empty(0, dtype=np.int64)
    search = _by_tree if by_tree and groups is None else _by_tiles
    neighbours, squared = search(
        np.require(points, np.float64, ["C", "W"]),
        np.require(Q, np.float64, ["C", "W"]),
        rows,
        own,
        int(k),
        none if groups is None else groups,
        n_threads(n_jobs),
        progress,
    )
    found, distances = _finished(neighbours, squared, classes[codes], n_threads(n_jobs))
    return found, np.ldexp(distances, exponent) if exponent else distances


def _finished(
    neighbours: RowNumbers, squared: Floats, labels: NDArray[Any], threads: int
) -> tuple[NDArray[Any], Floats]:
    """Labels of the neighbours, and roots of their squared distances, in place."""
    fits = labels.dtype.itemsize == neighbours.dtype.itemsize and labels.dtype.kind != "O"
    found = neighbours.view(labels.dtype) if fits else np.empty(neighbours.shape, dtype=labels.dtype)

    def part(rows: slice) -> None:
        found[rows] = labels.take(neighbours[rows])
        np.sqrt(squared[rows], out=squared[rows])

    run_tasks(part, [slice(i, i + 1024) for i in range(0, len(found), 1024)], threads)
    return found, squared


def _by_tiles(
    X: Floats, Q: Floats, rows: RowNumbers, own: Codes, k: int, groups: Codes, threads: int, progress: Progress | None
) -> tuple[RowNumbers, Floats]:
    from .tiles import Tiles

    one_class = np.zeros(len(X), dtype=np.int64)
    return Tiles(X, one_class, 1).nearest(Q, rows, own, k, groups, threads, progress)


def _by_tree(
    X: Floats, Q: Floats, rows: RowNumbers, own: Codes, k: int, groups: Codes, threads: int, progress: Progress | None
) -> tuple[RowNumbers, Floats]:
    """By scipy's kd-tree, then ranked by the distances proper.

    The tree adds squares in another order, so that the last places may differ by rounding: a few more neighbours are
    fetched, and where those do not settle it, everything within the last distance.
    """
    from scipy.spatial import cKDTree

    from .ranking import rank_some, ranked

    tree = cKDTree(X)
    n_fetch = min(len(X), k + 1 + 8)
    margin = 1 + 1e-12 * X.shape[1]
    neighbours, squared = np.empty((len(rows), k), dtype=np.int64), np.empty((len(rows), k))

    def part(chosen: slice) -> None:
        reach, found = tree.query(Q[rows[chosen]], k=n_fetch)
        candidates, n_found = _without(found, own[chosen])
        complete = np.full(len(found), np.inf) if n_fetch == len(X) else (reach[:, -1] / margin) ** 2
        settled = ranked(
            Q,
            rows[chosen],
            own[chosen],
            X,
            groups,
            candidates,
            n_found,
            np.arange(len(X)),
            complete,
            neighbours[chosen],
            squared[chosen],
        )
        for i in np.flatnonzero(~settled):
            at = chosen.start + i
            within = np.array(tree.query_ball_point(Q[rows[at]], reach[i, -1] * margin), dtype=np.int64)
            rank_some(Q, rows[at], own[at], X, groups, within[within != own[at]], neighbours[at], squared[at])

    parts = [slice(i, min(i + 256, len(rows))) for i in range(0, len(rows), 256)]
    run_tasks(part, parts, threads, progress, "nearest points")
    return neighbours, squared


def _without(found: NDArray[Any], own: Codes) -> tuple[NDArray[np.int32], RowNumbers]:
    """Candidates of each query with the query itself taken out, and how many there are."""
    keep = found != own[:, None]
    order = np.argsort(~keep, axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1).astype(np.int32), keep.sum(axis=1)


def _check_k(k: int, points: Floats, own: Codes, groups: Codes | None) -> None:
    most = len(points) - (1 if (own >= 0).any() else 0)
    if groups is not None:
        most = len(points) - int(np.bincount(groups).max())
    if not isinstance(k, int | np.integer) or not 1 <= k <= most:
        raise ParameterError(f"k must be a whole number from 1 to {most} (points that are no query or copy), got {k!r}")
