"""High dimension: products of float32 tiles decide which pairs are near, where they are certain.

Points are centred, brought to a safe scale, and sorted by class and norm. A tile is one matrix product, scanned
while it is in the cache. The rounding error of a product of d terms summed in any order is at most
d u sum |x_q y_q| <= d u |x| |y| (u = 2^-24); long rows are multiplied in parts to keep d small. What falls
inside that band is computed directly, so the counts are those of the float64 definition in `kernels`.
"""

import threading

import numpy as np
from numpy.typing import NDArray

from .kernels import count_in_tile, count_in_tile_both_ways
from .workers import Progress, run_tasks

__all__ = ["Tiles"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Rows = NDArray[np.int64]
Counts = NDArray[np.int32]

TILE_ROWS, TILE_COLUMNS = 256, 1024
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

    def __init__(self, X: Floats, labels: Rows, n_classes: int) -> None:
        self.X, self.n_classes = X, n_classes
        self._mean = X.mean(axis=0)
        self._exponent = 0
        spread = max(
            float(np.abs(self._centred(X[start : start + 4096])).max(initial=0.0)) for start in range(0, len(X), 4096)
        )
        self._exponent = int(np.frexp(spread)[1])
        norms = np.empty(len(X))
        for start in range(0, len(X), 4096):
            norms[start : start + 4096] = self._norms(self._centred(X[start : start + 4096]))
        self.rows = np.lexsort((norms, labels))
        self.position = np.empty_like(self.rows)
        self.position[self.rows] = np.arange(len(X))
        self.norms, self.labels = norms[self.rows], labels[self.rows]
        self.half = (self.norms**2 / 2).astype(np.float32)
        self.Z = np.empty(X.shape, dtype=np.float32)
        for start in range(0, len(X), 4096):
            part = self.rows[start : start + 4096]
            self.Z[start : start + 4096] = self._centred(X[part])
        self.class_starts = np.searchsorted(self.labels, np.arange(n_classes + 1)).astype(np.int64)
        d = X.shape[1]
        self._parts = [slice(q, min(q + _PART, d)) for q in range(0, d, _PART)] or [slice(0, 0)]
        self.parts_buffer = len(self._parts) > 1
        self._terms = min(d, _PART) + len(self._parts) + 6

    def _centred(self, X: Floats) -> Floats:
        return np.ldexp(X - self._mean, -self._exponent)

    @staticmethod
    def _norms(centred: Floats) -> Floats:
        return np.sqrt(np.einsum("ij,ij->i", centred, centred))

    def operands(self, X: Floats) -> tuple[Singles, Floats]:
        """Float32 rows and norms of points that need not be among the data."""
        centred = self._centred(X)
        return centred.astype(np.float32), self._norms(centred)

    def reaches(self, X: Floats) -> NDArray[np.bool_]:
        """Rows whose products with the data cannot overflow float32."""
        return np.asarray((np.abs(self._centred(X)) < 1e12).all(axis=1))

    def limits(self, norms: Floats, squared_radii: Floats) -> Floats:
        """(|x|^2 - r^2) / 2 in the units of the tiles; no product is beyond 1e35, so neither need limits be."""
        with np.errstate(over="ignore"):
            squares = np.ldexp(squared_radii, -2 * self._exponent)
        return np.clip((norms[:, None] ** 2 - squares) / 2, -1e35, 1e35)

    def slack(self, norms: Floats, columns: slice) -> Floats:
        """Bound on the error of S - half for rows of these norms and any of these columns."""
        largest = float(self.norms[columns].max(initial=0.0))
        return 1.01 * _UNIT * largest * (self._terms * norms + 2 * largest) + 1e-36 * (self.X.shape[1] + 1)

    def product(self, rows: Singles, columns: slice, out: Singles, buffer: Singles | None) -> Singles:
        """Products of `rows` with the columns, in parts of bounded length."""
        S = out[: len(rows), : columns.stop - columns.start]
        other = self.Z[columns]
        np.matmul(rows[:, self._parts[0]], other[:, self._parts[0]].T, out=S)
        for part in self._parts[1:]:
            assert buffer is not None
            term = buffer[: len(rows), : S.shape[1]]
            np.matmul(rows[:, part], other[:, part].T, out=term)
            S += term
        return S

    def buffers(self) -> tuple[Singles, Singles | None]:
        """Room for a tile, and for a part of it if there are parts."""
        tile = np.empty((TILE_ROWS, TILE_COLUMNS), dtype=np.float32)
        return tile, np.empty_like(tile) if self.parts_buffer else None

    def column_tiles(self, start: int = 0) -> list[slice]:
        """Slices of columns from `start` on."""
        n = len(self.Z)
        return [slice(j, min(j + TILE_COLUMNS, n)) for j in range(start, n, TILE_COLUMNS)]

    def _classes(self, columns: slice) -> tuple[slice, Rows]:
        """Classes among the columns, and where each begins."""
        first, last = int(self.labels[columns.start]), int(self.labels[columns.stop - 1]) + 1
        starts = np.clip(self.class_starts[first : last + 1], columns.start, columns.stop) - columns.start
        return slice(first, last), starts

    def count_all(self, squared_radii: Floats, threads: int, progress: Progress | None) -> Counts:
        """Counts around every point, each pair looked at once."""
        n, n_radii = len(self.Z), len(squared_radii)
        counts = np.zeros((n, self.n_classes, n_radii), dtype=np.int32)  # in sorted order until the end
        limits = self.limits(self.norms, squared_radii)
        lock, local = threading.Lock(), threading.local()

        def panel(rows: slice) -> None:
            if not hasattr(local, "buffers"):
                local.buffers = self.buffers()
            tile, buffer = local.buffers
            size = rows.stop - rows.start
            own_counts = np.zeros((size, self.n_classes, n_radii), dtype=np.int32)
            row_class = self.labels[rows] - self.labels[rows.start]
            classes = slice(int(self.labels[rows.start]), int(self.labels[rows.stop - 1]) + 1)
            back = np.empty((classes.stop - classes.start, n_radii, TILE_COLUMNS), dtype=np.int32)
            self._count_block(
                self.Z[rows], self.norms[rows], np.arange(size), limits[rows], squared_radii, self.X, self.rows[rows],
                rows, own_counts, tile, buffer,
            )  # fmt: skip
            for columns in self.column_tiles(rows.stop):
                S = self.product(self.Z[rows], columns, tile, buffer)
                among, starts = self._classes(columns)
                part = np.zeros((size, among.stop - among.start, n_radii), dtype=np.int32)
                returned = back[:, :, : S.shape[1]]
                returned[:] = 0
                count_in_tile_both_ways(
                    S, self.half[columns], row_class, limits[rows], self.slack(self.norms[rows], columns), starts,
                    squared_radii, self.X, self.rows[rows], self.rows[columns], part, returned,
                )  # fmt: skip
                own_counts[:, among] += part
                with lock:
                    counts[columns, classes] += returned.transpose(2, 0, 1)
            with lock:
                counts[rows] += own_counts

        panels = [slice(i, min(i + TILE_ROWS, n)) for i in range(0, n, TILE_ROWS)]
        run_tasks(panel, panels, threads, progress)
        out = np.empty_like(counts)
        out[self.rows] = counts
        return out

    def count_around(
        self, Q: Floats, q_rows: Rows, own: Rows, squared_radii: Floats, threads: int, progress: Progress | None
    ) -> Counts:
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

        panels = [slice(i, min(i + TILE_ROWS, len(q_rows))) for i in range(0, len(q_rows), TILE_ROWS)]
        run_tasks(panel, panels, threads, progress)
        return counts

    def _count_block(
        self,
        rows: Singles,
        norms: Floats,
        own: Rows,
        limits: Floats,
        squared_radii: Floats,
        Q: Floats,
        q_rows: Rows,
        columns: slice,
        counts: Counts,
        tile: Singles,
        buffer: Singles | None,
    ) -> None:
        S = self.product(rows, columns, tile, buffer)
        among, starts = self._classes(columns)
        part = np.zeros((len(rows), among.stop - among.start, len(squared_radii)), dtype=np.int32)
        count_in_tile(
            S, self.half[columns], own, limits, self.slack(norms, columns), starts, squared_radii, Q, q_rows,
            self.X, self.rows[columns], part,
        )  # fmt: skip
        counts[:, among] += part
