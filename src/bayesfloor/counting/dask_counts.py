"""Counts around the rows of a Dask array, as a Dask array: blocks of queries against blocks of rows."""

import functools
import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import BallCounts, Floats, RowNumbers
from ..errors import DataError, ParameterError
from ..rows.blocks import Part
from ..rows.cluster import dask_module
from ..rows.dask_rows import DelayedRows, delayed_rows
from ..rows.dask_workers import add_up, alone
from ..rows.dataset import feature_matrix
from ..utils.parallel import Progress
from .block_counts import count_in_part

__all__ = ["distributed_ball_counts"]

Held = tuple[NDArray[Any], NDArray[Any]]

_QUERIES = 16_384  # in a block, if they are not the rows themselves


def distributed_ball_counts(
    X: Any, y: Any, radii: Floats, *, queries: Any = None, client: Any = None, progress: Progress | None = None
) -> Any:
    """Counts of `ball_counts` around the rows of a Dask array or frame.

    The result is a Dask array that is computed when it is asked for. Every block of queries meets every block of
    rows, so there are as many tasks as chunks squared: up to some hundred chunks are sensible. Values and labels
    are checked at once, which reads the rows.

    Parameters
    ----------
    X, y
        As in `blocks_from_dask`.
    radii : ndarray of shape (L,)
    queries : array-like, optional
        Row numbers, or a matrix of new points; default all rows.
    client : distributed.Client, optional
        Checks the rows; default: whatever Dask takes by itself.
    progress : callable, optional

    Returns
    -------
    dask array of int32, shape (n_queries, C, L)
        In chunks like those of the rows.
    """
    dask = dask_module("dask")

    def ask(delayed: list[Any]) -> list[Any]:
        if progress is not None:
            progress("reading", 0, 1)
        found = list(dask.compute(*delayed) if client is None else client.gather(client.compute(delayed)))
        if progress is not None:
            progress("reading", 1, 1)
        return found

    found = delayed_rows(X, y, None, None, ask, check_classes=False)
    lazily = functools.partial(dask.delayed, pure=False)
    n_classes, blocks = len(found.classes), []
    for size, block in _query_blocks(queries, found, lazily):
        terms = [lazily(_count)(held, block, radii, n_classes) for held in found.rows]
        blocks.append((size, lazily(_without_own)(add_up(terms, lambda add, *some: lazily(add)(*some)), block)))
    return _stack(blocks, (n_classes, len(radii)))


def _stack(blocks: Sequence[tuple[int, Any]], shape: tuple[int, int]) -> Any:
    """Delayed blocks as one Dask array; `dask.array.concatenate` would drop the empty ones."""
    arrays, graphs = dask_module("dask.array"), dask_module("dask.highlevelgraph")
    name = f"ball-counts-{uuid.uuid4().hex}"
    layer = {(name, i, 0, 0): block.key for i, (_, block) in enumerate(blocks)}
    graph = graphs.HighLevelGraph.from_collections(name, layer, dependencies=[block for _, block in blocks])
    chunks = (tuple(size for size, _ in blocks), (shape[0],), (shape[1],))
    return arrays.Array(graph, name, chunks, dtype=np.int32)


def _query_blocks(queries: Any, found: DelayedRows, lazily: Any) -> list[tuple[int, Any]]:
    """Sizes and pairs (points, codes of their own classes or None)."""
    if queries is None:
        return list(zip(found.sizes.tolist(), found.rows, strict=True))
    array, n = np.asarray(queries), int(found.sizes.sum())
    if array.ndim == 1 and array.dtype.kind in "iu":
        outside = np.flatnonzero((array < 0) | (array >= n))
        if outside.size:
            raise ParameterError(f"query {array[outside[0]]} is no row of X, which has {n} rows")
        numbers = [array[i : i + _QUERIES].astype(np.int64) for i in range(0, max(1, len(array)), _QUERIES)]
        return [(len(some), _pick_rows(some, found, lazily)) for some in numbers]
    matrix, _ = feature_matrix(array)
    if matrix.shape[1] != len(found.names):
        raise DataError(f"queries have {matrix.shape[1]} columns but X has {len(found.names)}")
    points = [matrix[i : i + _QUERIES] for i in range(0, len(matrix), _QUERIES)]
    return [(len(some), lazily((some, None))) for some in points]


def _pick_rows(numbers: RowNumbers, found: DelayedRows, lazily: Any) -> Any:
    """Rows of these numbers, from the blocks that hold them."""
    order = np.argsort(numbers, kind="stable")
    edges = np.concatenate([[0], np.cumsum(found.sizes)])
    bounds = np.searchsorted(numbers[order], edges)
    pieces = [
        lazily(_rows_of)(held, numbers[order][a:b] - start)
        for held, a, b, start in zip(found.rows, bounds[:-1], bounds[1:], edges[:-1], strict=True)
        if b > a or not len(numbers)
    ]
    return lazily(_in_order)(np.argsort(order, kind="stable"), *pieces)


def _rows_of(held: Held, rows: RowNumbers) -> Held:
    return held[0][rows], held[1][rows]


def _in_order(order: RowNumbers, *pieces: Held) -> Held:
    return np.concatenate([X for X, _ in pieces])[order], np.concatenate([codes for _, codes in pieces])[order]


def _count(held: Held, block: tuple[NDArray[Any], Any], radii: Floats, n_classes: int) -> BallCounts:
    X, codes = held
    part = Part(0, 0, np.ascontiguousarray(X, dtype=np.float64), codes.astype(np.int64))
    with alone():
        return count_in_part(part, np.ascontiguousarray(block[0], dtype=np.float64), radii, n_classes)


def _without_own(counts: BallCounts, block: tuple[NDArray[Any], Any]) -> BallCounts:
    """A point's distance to itself is exactly 0: it was counted once at every radius."""
    if block[1] is None:
        return counts
    counts = counts.copy()
    counts[np.arange(len(counts)), block[1].astype(np.int64)] -= 1
    return counts
