"""Candidates for nearest points, ranked by their distances proper; ties go to the smaller row."""

import threading

import numpy as np
from numpy.typing import NDArray

from .._types import BallCounts, Codes, Floats, RowNumbers, Singles
from .kernels import measure_candidates, rank_candidates

__all__ = ["rank_all", "rank_some", "ranked"]


_local = threading.local()
_NONE: Singles = np.empty((1, 0), dtype=np.float32)


def ranked(
    Q: Floats,
    q_rows: RowNumbers,
    own: Codes,
    Y: Floats,
    groups: Codes,
    candidates: BallCounts,
    n_found: RowNumbers,
    y_rows: RowNumbers,
    complete_below: Floats,
    neighbours: RowNumbers,
    squared: Floats,
    values: Singles = _NONE,
    least: Singles = _NONE[0],
) -> NDArray[np.bool_]:
    """Write the nearest of each query's candidates; return which queries are settled.

    Parameters
    ----------
    Q, q_rows : the queries are these rows of Q; `own` their rows in Y, or -1.
    groups : (N,) or empty; rows of a query's own group are no neighbours.
    candidates, n_found : (n, capacity) and (n,), places in `y_rows`, which are rows of Y.
    complete_below : (n,) all points with a smaller squared distance are among the candidates.
    neighbours, squared : (n, k) written to.
    values, least : candidates whose value is below `least` are passed over; none if not given.
    """
    n, width = len(q_rows), max(1, int(n_found.max(initial=0)))
    rows, distances, keys = _room(n, width)
    bits = int(width).bit_length()
    q_groups = np.where(own >= 0, groups[own], -1) if groups.size else own
    measure_candidates(
        Q, q_rows, q_groups, Y, groups, candidates, values, least, n_found, y_rows, bits, rows, distances, keys
    )
    keys[:, : max(1, int(n_found.max(initial=0)))].sort(axis=1)
    settled = np.empty(n, dtype=np.bool_)
    rank_candidates(keys, bits, n_found, rows, distances, complete_below, neighbours, squared, settled)
    return settled


def _room(n: int, width: int) -> tuple[RowNumbers, Floats, NDArray[np.uint64]]:
    """Room for rows, distances and keys, used again by the next call in this thread: new pages are slow."""
    if getattr(_local, "size", 0) < n * width:
        _local.size = n * width
        _local.room = np.empty((3, n * width))
    first, second, third = (part[: n * width].reshape(n, width) for part in _local.room)
    return first.view(np.int64), second, third.view(np.uint64)


def rank_all(
    Q: Floats, q_row: int, own: int, Y: Floats, groups: Codes, neighbours: RowNumbers, squared: Floats
) -> None:
    """Write the nearest of all points to one query: for the few that candidates do not settle."""
    others = np.flatnonzero(np.arange(len(Y)) != own)
    rank_some(Q, q_row, own, Y, groups, others, neighbours, squared)


def rank_some(
    Q: Floats, q_row: int, own: int, Y: Floats, groups: Codes, rows: RowNumbers, neighbours: RowNumbers, squared: Floats
) -> None:
    """Write the nearest of the given rows to one query."""
    ranked(
        Q,
        np.array([q_row]),
        np.array([own]),
        Y,
        groups,
        np.arange(len(rows), dtype=np.int32)[None, :],
        np.array([len(rows)]),
        rows,
        np.array([np.inf]),
        neighbours[None, :],
        squared[None, :],
    )
