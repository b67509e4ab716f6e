"""The labels of the nearest points, in order.

Tiles or a kd-tree find candidates; those are ranked by their distances proper, ties by the smaller row.
"""

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Counts, Floats, Keys, Mask, RowNumbers, Singles, Values
from ..rows.scaling import safe_exponent
from ..utils.checks import check_callable, check_choice, check_whole
from ..utils.parallel import Progress, check_memory, n_threads, run_tasks
from ._ball_counts import labelled_points, query_points

__all__ = ["nearest_labels"]


# Up to this many features a kd-tree finds few neighbours faster than products of all pairs.
_TREE_FEATURES = 8
_TREE_SHARE = 0.02  # ... and up to this share of all points as neighbours
_SAMPLE = 1024  # columns that tell how far the k nearest are
_TASK_ROWS = 256  # queries whose candidates are collected together
_NONE: Singles = np.empty((1, 0), dtype=np.float32)

_local = threading.local()


def nearest_labels(
    X: Any,
    labels: Any,
    k: int,
    *,
    queries: Any = None,
    n_jobs: int | None = None,
    memory_limit: int | None = None,
    progress: Progress | None = None,
    algorithm: str = "auto",
) -> tuple[Values, Floats]:
    """Labels and distances of the k nearest points of each query, nearest first.

    Distances are compared as float64 sums of squared differences; ties go to the smaller row number.

    Parameters
    ----------
    X, labels, queries, n_jobs, memory_limit, progress
        As in `ball_counts`.
    k : int
        Number of neighbours; a row is not its own.
    algorithm : {"auto", "tiles", "tree"}

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
    wanted = query_points(queries, points)
    if isinstance(wanted, tuple):
        Q, rows, own = wanted[0], np.arange(len(wanted[0])), np.full(len(wanted[0]), -1, dtype=np.int64)
    else:
        Q, rows = points, np.arange(len(points)) if wanted is None else wanted
        own = rows
    most = len(points) - (1 if (own >= 0).any() else 0)
    k = check_whole("k", k, 1, most, "points that are no query or copy")
    check_memory("the result", 2 * 8 * len(rows) * k, memory_limit)
    check_choice("algorithm", algorithm, ("auto", "tiles", "tree"))
    check_callable("progress", progress)
    few = points.shape[1] <= _TREE_FEATURES and k <= max(32, _TREE_SHARE * len(points))
    search = _search_tree if algorithm == "tree" or (algorithm == "auto" and few) else _search_tiles
    exponent = safe_exponent(points, Q)
    if exponent:
        points, Q = np.ldexp(points, -exponent), np.ldexp(Q, -exponent)
    neighbours, squared = search(
        np.require(points, np.float64, ["C", "W"]),
        np.require(Q, np.float64, ["C", "W"]),
        rows,
        own,
        k,
        n_threads(n_jobs),
        progress,
    )
    found, distances = _finish(neighbours, squared, classes[codes], n_threads(n_jobs))
    return found, np.ldexp(distances, exponent) if exponent else distances


def _finish(neighbours: RowNumbers, squared: Floats, labels: Values, threads: int) -> tuple[Values, Floats]:
    """Labels of the neighbours, and roots of their squared distances, in place."""
    fits = labels.dtype.itemsize == neighbours.dtype.itemsize and labels.dtype.kind != "O"
    found = neighbours.view(labels.dtype) if fits else np.empty(neighbours.shape, dtype=labels.dtype)

    def part(rows: slice) -> None:
        found[rows] = labels.take(neighbours[rows])
        np.sqrt(squared[rows], out=squared[rows])

    run_tasks(part, [slice(i, i + 1024) for i in range(0, len(found), 1024)], threads)
    return found, squared


# --- candidates -----------------------------------------------------------------------------------------------


def _search_tiles(
    X: Floats, Q: Floats, q_rows: RowNumbers, own: RowNumbers, k: int, threads: int, progress: Progress | None
) -> tuple[RowNumbers, Floats]:
    """Rows and squared distances of the k nearest points around rows `q_rows` of Q; `own` are their rows in X, or -1.

    A sample of the columns gives each query a limit that somewhat more than k points pass. Those are collected
    from the products, and the k largest products, and what comes near them, ranked by distances proper.
    """
    from .kernels import collect_near
    from .tiles import Tiles

    n = len(X)
    tiles = Tiles(X, np.zeros(n, dtype=np.int64), 1)
    neighbours, squared = np.empty((len(q_rows), k), dtype=np.int64), np.empty((len(q_rows), k))
    sample = np.unique(np.linspace(0, n - 1, min(n, _SAMPLE)).round().astype(np.int64))
    expected = k * len(sample) / n
    rank = min(len(sample) - 1, int(expected + 3 * np.sqrt(expected) + 3))
    capacity = min(n, int(n / len(sample) * (rank + 5 * np.sqrt(rank) + 5))) + 64
    Z_sample, half_sample = tiles.Z[sample].T.copy(), tiles.half[sample]
    local = threading.local()

    def panel(chosen: slice) -> None:
        if not hasattr(local, "buffers"):
            shape = (_TASK_ROWS, capacity)
            local.buffers = (*tiles.buffers(), np.empty(shape, np.int32), np.empty(shape, np.float32))
        tile, buffer, candidates, values = local.buffers
        queries = Q[q_rows[chosen]]
        near = tiles.reaches(queries)
        rows, norms = tiles.operands(np.where(near[:, None], queries, tiles.mean))
        at = np.where(own[chosen] >= 0, tiles.position[own[chosen]], -1)
        products = rows @ Z_sample - half_sample
        cut = len(sample) - 1 - rank
        lower = np.partition(products, cut, axis=1)[:, cut].copy()
        n_found = np.zeros(len(rows), dtype=np.int64)
        for columns in tiles.column_tiles():
            inside = np.where((at >= columns.start) & (at < columns.stop), at - columns.start, -1)
            S = tiles.product(rows, columns, tile, buffer)
            eights = np.zeros(-(-S.shape[1] // 8), dtype=np.uint64)
            passes = eights.view(np.uint8)
            collect_near(
                S, tiles.half[columns], inside, lower, columns.start, candidates, values, n_found, passes, eights
            )
        # Whatever was not collected has S - half < lower, hence |x|^2 - 2 (lower + slack) < d^2.
        slack = tiles.slack(norms, slice(0, n))
        complete = (norms**2 - 2 * (lower + slack) - 4e-7 * norms**2) / tiles.scale / tiles.scale
        n_found[(n_found > capacity - 64) | ~near] = 0  # the buffer may have been full, or the query too far
        least = _kth_largest(values[: len(rows)], n_found, k) - 2.1 * slack
        settled = _rank(
            Q,
            q_rows[chosen],
            X,
            candidates[: len(rows)],
            n_found,
            tiles.rows,
            complete,
            neighbours[chosen],
            squared[chosen],
            values[: len(rows)],
            least.astype(np.float32),
        )
        for i in np.flatnonzero(~settled) + chosen.start:
            others = np.flatnonzero(np.arange(n) != own[i])
            _rank_some(Q, q_rows[i], X, others, neighbours[i], squared[i])

    _run(panel, len(q_rows), threads, progress)
    return neighbours, squared


def _kth_largest(values: Singles, n_found: Counts, k: int) -> Floats:
    """k-th largest of the values found for each row; -inf where there are fewer."""
    width = max(k, int(n_found.max(initial=0)))
    seen = np.where(np.arange(width) < n_found[:, None], values[:, :width], np.float32(-np.inf))
    return np.partition(seen, width - k, axis=1)[:, width - k].astype(np.float64)


def _search_tree(
    X: Floats, Q: Floats, q_rows: RowNumbers, own: RowNumbers, k: int, threads: int, progress: Progress | None
) -> tuple[RowNumbers, Floats]:
    """As `_search_tiles`, by scipy's kd-tree.

    The tree adds squares in another order, so that the last places may differ by rounding: a few more neighbours are
    fetched, and where those do not settle it, everything within the last distance.
    """
    from scipy.spatial import cKDTree

    tree = cKDTree(X)
    n_fetch = min(len(X), k + 1 + 8)
    margin = 1 + 1e-12 * X.shape[1]
    neighbours, squared = np.empty((len(q_rows), k), dtype=np.int64), np.empty((len(q_rows), k))

    def part(chosen: slice) -> None:
        reach, found = tree.query(Q[q_rows[chosen]], k=n_fetch)
        others = found != own[chosen][:, None]
        order = np.argsort(~others, axis=1, kind="stable")  # the query itself to the end
        complete = np.full(len(found), np.inf) if n_fetch == len(X) else (reach[:, -1] / margin) ** 2
        settled = _rank(
            Q,
            q_rows[chosen],
            X,
            np.take_along_axis(found, order, axis=1).astype(np.int32),
            others.sum(axis=1),
            np.arange(len(X)),
            complete,
            neighbours[chosen],
            squared[chosen],
        )
        for i in np.flatnonzero(~settled):
            at = chosen.start + i
            within = np.array(tree.query_ball_point(Q[q_rows[at]], reach[i, -1] * margin), dtype=np.int64)
            _rank_some(Q, q_rows[at], X, within[within != own[at]], neighbours[at], squared[at])

    _run(part, len(q_rows), threads, progress)
    return neighbours, squared


def _run(part: Any, n_queries: int, threads: int, progress: Progress | None) -> None:
    parts = [slice(i, min(i + _TASK_ROWS, n_queries)) for i in range(0, n_queries, _TASK_ROWS)]
    run_tasks(part, parts, threads, progress, "nearest points")


# --- ranking ----------------------------------------------------------------------------------------------------


def _rank(
    Q: Floats,
    q_rows: RowNumbers,
    Y: Floats,
    candidates: NDArray[np.int32],
    n_found: Counts,
    y_rows: RowNumbers,
    complete_below: Floats,
    neighbours: RowNumbers,
    squared: Floats,
    values: Singles = _NONE,
    least: Singles = _NONE[0],
) -> Mask:
    """Write the nearest of each query's candidates; return which queries are settled.

    Parameters
    ----------
    Q, q_rows : the queries are these rows of Q.
    candidates, n_found : (n, capacity) and (n,), places in `y_rows`, which are rows of Y.
    complete_below : (n,) all points with a smaller squared distance are among the candidates.
    neighbours, squared : (n, k) written to.
    values, least : candidates whose value is below `least` are passed over; none if not given.
    """
    from .kernels import measure_candidates, rank_candidates

    n, width = len(q_rows), max(1, int(n_found.max(initial=0)))
    rows, distances, keys = _room(n, width)
    bits = int(width).bit_length()
    measure_candidates(
        Q, q_rows, Y, candidates, values, least, n_found, y_rows, bits, rows, distances, distances.view(np.uint64), keys
    )
    keys[:, : max(1, int(n_found.max(initial=0)))].sort(axis=1)
    settled = np.empty(n, dtype=np.bool_)
    rank_candidates(keys, bits, n_found, rows, distances, complete_below, neighbours, squared, settled)
    return settled


def _room(n: int, width: int) -> tuple[RowNumbers, Floats, Keys]:
    """Room for rows, distances and keys, used again by the next call in this thread: new pages are slow."""
    if getattr(_local, "size", 0) < n * width:
        _local.size = n * width
        _local.room = np.empty((3, n * width))
    first, second, third = (part[: n * width].reshape(n, width) for part in _local.room)
    return first.view(np.int64), second, third.view(np.uint64)


def _rank_some(Q: Floats, q_row: int, Y: Floats, rows: RowNumbers, neighbours: RowNumbers, squared: Floats) -> None:
    """Write the nearest of the given rows to one query: for the few that candidates do not settle."""
    _rank(
        Q,
        np.array([q_row]),
        Y,
        np.arange(len(rows), dtype=np.int32)[None, :],
        np.array([len(rows)]),
        rows,
        np.array([np.inf]),
        neighbours[None, :],
        squared[None, :],
    )
