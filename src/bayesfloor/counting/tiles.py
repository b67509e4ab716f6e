"""High dimension: products of float32 tiles decide which pairs are near, where they are certain.

Points are centred, brought to a safe scale, and sorted by class and norm. A tile is one matrix product, scanned
while it is in the cache. The rounding error of a product of d terms summed in any order is at most
d u sum |x_q y_q| <= d u |x| |y| (u = 2^-24); long rows are multiplied in parts to keep d small. What falls
inside that band is computed directly, so the counts are those of the float64 definition in `kernels`.
"""

import math
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import BallCounts, Codes, Floats, Mask, RowNumbers, Singles
from ..utils.parallel import Progress, run_tasks
from .kernels import count_in_tile, count_in_tile_both_ways

__all__ = ["TILE_ROWS", "Tiles", "slices"]


TILE_ROWS, TILE_COLUMNS = 512, 512  # one megabyte of float32: what a core's second-level cache holds
_PART = 112  # features per product when there are many
_UNIT = 2.0**-24


class Tiles:
    """Points ready to be multiplied tile by tile.

    Parameters
    ----------
    X : ndarray of shape (N, d)
        Float64, C-contiguous, writeable.
    labels : ndarray of shape (N,)
        Codes 0..n_classes-1.
    n_classes : int
    """

    def __init__(self, X: Floats, labels: Codes, n_classes: int) -> None:
        self.X, self.n_classes = X, n_classes
        self.mean = X.mean(axis=0)
        self.scale = 1.0
        norms, Z = self._operands_of_all()
        longest = float(norms.max(initial=0.0))
        if longest > 0 and not 1e-12 < longest < 1e12:
            # A power of two keeps float32 products in range; most data need none.
            spread = max(float(np.abs(self._centred(X[block])).max()) for block in slices(0, len(X), 4096))
            self.scale = float(np.ldexp(1.0, -np.frexp(spread)[1])) if spread > 0 else 1.0
            norms, Z = self._operands_of_all()
        self.rows = np.lexsort((norms, labels))
        self.position = np.empty_like(self.rows)
        self.position[self.rows] = np.arange(len(X))
        self.norms, self.labels, self.Z = norms[self.rows], labels[self.rows], Z[self.rows]
        self.half = (self.norms**2 / 2).astype(np.float32)
        self.class_starts = np.searchsorted(self.labels, np.arange(n_classes + 1)).astype(np.int64)
        d = X.shape[1]
        self._parts = [slice(q, min(q + _PART, d)) for q in range(0, d, _PART)] or [slice(0, 0)]
        self.parts_buffer = len(self._parts) > 1
        self._terms = min(d, _PART) + len(self._parts) + 6

    def _centred(self, X: Floats) -> Floats:
        centred = X - self.mean
        return centred if self.scale == 1.0 else centred * self.scale

    def _operands_of_all(self) -> tuple[Floats, Singles]:
        norms, Z = np.empty(len(self.X)), np.empty(self.X.shape, dtype=np.float32)
        with np.errstate(over="ignore"):  # found out, and scaled away, by the caller
            for block in slices(0, len(self.X), 1024):
                centred = self._centred(self.X[block])
                norms[block], Z[block] = self._norms(centred), centred
        return norms, Z

    @staticmethod
    def _norms(centred: Floats) -> Floats:
        return np.sqrt(np.einsum("ij,ij->i", centred, centred))

    def operands(self, X: Floats) -> tuple[Singles, Floats]:
        """Float32 rows and norms of points that need not be among the data."""
        centred = self._centred(X)
        return centred.astype(np.float32), self._norms(centred)

    def reaches(self, X: Floats) -> Mask:
        """Rows whose products with the data cannot overflow float32."""
        return np.asarray((np.abs(self._centred(X)) < 1e12).all(axis=1))

    def limits(self, norms: Floats, squared_radii: Floats) -> Floats:
        """(|x|^2 - r^2) / 2 in the units of the tiles; no product is beyond 1e35, so neither need limits be."""
        with np.errstate(over="ignore"):
            squares = squared_radii * self.scale * self.scale  # one by one: the scale's square may overflow
        return np.clip((norms[:, None] ** 2 - squares) / 2, -1e35, 1e35)

    def slack(self, norms: Floats, columns: slice) -> Floats:
        """Bound on the error of S - half for rows of these norms and any of these columns."""
        largest = float(self.norms[columns].max(initial=0.0))
        product = 1.01 * _UNIT * largest * (self._terms * norms + 2 * largest)
        # The squared norms, and the distance that is to be met, are sums of d terms in float64.
        sums = (2 * self.X.shape[1] + 16) * 2.0**-53 * (norms + largest) ** 2
        return product + sums + 1e-36 * (self.X.shape[1] + 1)

    def product(self, rows: Singles, columns: slice, out: Singles, buffer: Singles | None) -> Singles:
        """Products of `rows` with the columns, in parts of bounded length."""
        S = _shaped(out, len(rows), columns.stop - columns.start)
        other = self.Z[columns]
        np.matmul(rows[:, self._parts[0]], other[:, self._parts[0]].T, out=S)
        for part in self._parts[1:]:
            assert buffer is not None
            term = _shaped(buffer, *S.shape)
            np.matmul(rows[:, part], other[:, part].T, out=term)
            S += term
        return S

    def buffers(self) -> tuple[Singles, Singles | None]:
        """Room for a tile, and for a part of it if there are parts."""
        tile = np.empty(TILE_ROWS * TILE_COLUMNS, dtype=np.float32)
        return tile, np.empty_like(tile) if self.parts_buffer else None

    def column_tiles(self) -> list[slice]:
        """All columns, a tile's width at a time."""
        return slices(0, len(self.Z), TILE_COLUMNS)

    def _classes(self, columns: slice) -> tuple[slice, RowNumbers]:
        """Classes among the columns, and where each begins."""
        first, last = int(self.labels[columns.start]), int(self.labels[columns.stop - 1]) + 1
        starts = np.clip(self.class_starts[first : last + 1], columns.start, columns.stop) - columns.start
        return slice(first, last), starts

    def count_all(self, squared_radii: Floats, threads: int, progress: Progress | None) -> BallCounts:
        """Counts around every point, each pair looked at once."""
        n, n_radii = len(self.Z), len(squared_radii)
        counts = np.zeros((n, self.n_classes, n_radii), dtype=np.int32)  # in sorted order until the end
        limits = self.limits(self.norms, squared_radii)
        row_half, half_radii = self.norms**2 / 2, -self.limits(np.zeros(1), squared_radii)[0]
        lock, local = threading.Lock(), threading.local()

        def strip(columns: slice) -> None:
            """All pairs of these columns with the rows above them, and among themselves."""
            if not hasattr(local, "buffers"):
                local.buffers = (*self.buffers(), np.empty(TILE_ROWS * TILE_COLUMNS, dtype=np.int16))
            tile, buffer, codes = local.buffers
            width = columns.stop - columns.start
            among, starts = self._classes(columns)
            back = np.zeros((self.n_classes, n_radii, width), dtype=np.int32)
            own_counts = np.zeros((width, self.n_classes, n_radii), dtype=np.int32)
            of_columns = np.zeros((n_radii, width), dtype=np.int16)  # a tile has fewer rows than an int16 can count
            for rows in slices(0, columns.start, TILE_ROWS):
                S = self.product(self.Z[rows], columns, tile, buffer)
                part = np.zeros((len(S), among.stop - among.start, n_radii), dtype=np.int32)
                slack = self.slack(self.norms[rows], columns)
                count_in_tile_both_ways(
                    S,
                    self.half[columns],
                    self.labels[rows],
                    row_half[rows],
                    half_radii,
                    slack,
                    starts,
                    squared_radii,
                    self.X,
                    self.rows[rows],
                    self.rows[columns],
                    _shaped(codes, *S.shape),
                    of_columns,
                    float(row_half[rows].max()) + float(self.half[columns].max()),
                    float(slack.max()),
                    part,
                    back,
                )
                with lock:
                    counts[rows, among] += part
            for rows in slices(columns.start, columns.stop, TILE_ROWS):
                at = slice(rows.start - columns.start, rows.stop - columns.start)
                self._count_block(
                    self.Z[rows],
                    self.norms[rows],
                    np.arange(at.start, at.stop),
                    limits[rows],
                    squared_radii,
                    self.X,
                    self.rows[rows],
                    columns,
                    own_counts[at],
                    tile,
                    buffer,
                )
            own_counts += back.transpose(2, 0, 1)
            with lock:
                counts[columns] += own_counts

        # The last strips are the longest: first, so that no thread is left with one at the end.
        run_tasks(strip, self.column_tiles()[::-1], threads, progress)
        out = np.empty_like(counts)
        out[self.rows] = counts
        return out

    def count_around(
        self,
        Q: Floats,
        q_rows: RowNumbers,
        own: RowNumbers,
        squared_radii: Floats,
        threads: int,
        progress: Progress | None,
    ) -> BallCounts:
        """Counts around rows `q_rows` of Q; `own` is each one's row in the data, or -1."""
        counts = np.zeros((len(q_rows), self.n_classes, len(squared_radii)), dtype=np.int32)
        local = threading.local()

        def panel(chosen: slice) -> None:
            if not hasattr(local, "buffers"):
                local.buffers = self.buffers()
            tile, buffer = local.buffers
            rows, norms = self.operands(Q[q_rows[chosen]])
            limits = self.limits(norms, squared_radii)
            at = np.where(own[chosen] >= 0, self.position[own[chosen]], -1)
            for columns in self.column_tiles():
                inside = np.where((at >= columns.start) & (at < columns.stop), at - columns.start, -1)
                self._count_block(
                    rows, norms, inside, limits, squared_radii, Q, q_rows[chosen], columns, counts[chosen], tile, buffer
                )

        run_tasks(panel, slices(0, len(q_rows), TILE_ROWS), threads, progress)
        return counts

    def _count_block(
        self,
        rows: Singles,
        norms: Floats,
        own: RowNumbers,
        limits: Floats,
        squared_radii: Floats,
        Q: Floats,
        q_rows: RowNumbers,
        columns: slice,
        counts: BallCounts,
        tile: Singles,
        buffer: Singles | None,
    ) -> None:
        S = self.product(rows, columns, tile, buffer)
        among, starts = self._classes(columns)
        part = np.zeros((len(rows), among.stop - among.start, len(squared_radii)), dtype=np.int32)
        count_in_tile(
            S,
            self.half[columns],
            own,
            limits,
            self.slack(norms, columns),
            starts,
            squared_radii,
            Q,
            q_rows,
            self.X,
            self.rows[columns],
            part,
        )
        counts[:, among] += part


def slices(start: int, stop: int, step: int) -> list[slice]:
    """From `start` to `stop`, so many at a time."""
    return [slice(i, min(i + step, stop)) for i in range(start, stop, step)]


def _shaped(buffer: NDArray[Any], *shape: int) -> NDArray[Any]:
    """The front of a flat buffer as a contiguous array: loops over strided rows would not be vectorised."""
    return buffer[: math.prod(shape)].reshape(shape)
