"""Ball counts: how many points of each class lie within each radius of each point."""

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from .kernels import count_within

__all__ = ["BallCounter", "n_threads"]

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Counts = NDArray[np.int32]

# Bytes of counts held at a time, and centres per task; fixed, so that threads do not change the blocks.
_BLOCK_BYTES = 64 * 2**20
_TASK_ROWS = 64


class BallCounter:
    """Points sorted by class and stored feature by feature, ready to be counted around.

    Parameters
    ----------
    points : ndarray of shape (N, d)
    labels : ndarray of shape (N,)
        Codes 0..n_classes-1.
    n_classes : int
    n_jobs : int or None
        Threads; the counts do not depend on it.

    Examples
    --------
    >>> counter = BallCounter(np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 1]), 2)
    >>> counter.counts(np.array([1.0, 2.0]))[0].tolist()  # around 0.0: class 1 has one point, then two
    [[0, 0], [1, 2]]
    """

    def __init__(self, points: Floats, labels: Rows, n_classes: int, n_jobs: int | None = None) -> None:
        self.points, self.labels, self.n_classes, self.n_jobs = points, labels, n_classes, n_jobs
        by_class = np.argsort(labels, kind="stable")
        self._columns = np.ascontiguousarray(points[by_class].T)
        self._position = np.empty_like(by_class)
        self._position[by_class] = np.arange(len(by_class))
        self._class_starts = np.searchsorted(labels[by_class], np.arange(n_classes + 1)).astype(np.int64)

    def counts(self, radii: Floats, rows: Rows | None = None) -> Counts:
        """Counts around the given rows (default all), each row itself left out: (n, C, L) int32."""
        rows = np.arange(len(self.points)) if rows is None else rows
        out = np.zeros((len(rows), self.n_classes, len(radii)), dtype=np.int32)
        tasks = [slice(start, start + _TASK_ROWS) for start in range(0, len(rows), _TASK_ROWS)]

        def run(task: slice) -> None:
            chosen = rows[task]
            count_within(
                np.ascontiguousarray(self.points[chosen]),
                self._position[chosen],
                self._columns,
                self._class_starts,
                np.asarray(radii, dtype=np.float64) ** 2,
                out[task],
            )

        threads = min(n_threads(self.n_jobs), len(tasks))
        if threads <= 1:
            for task in tasks:
                run(task)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(run, tasks))
        return out

    def blocks(
        self, radii: Floats, rows: Rows, progress: Callable[[int, int], None] | None = None
    ) -> Iterator[tuple[Rows, Counts]]:
        """Counts around `rows` in blocks of bounded memory, as pairs (rows of the block, counts)."""
        size = max(_TASK_ROWS, _BLOCK_BYTES // (4 * self.n_classes * len(radii)))
        for start in range(0, len(rows), size):
            chosen = rows[start : start + size]
            yield chosen, self.counts(radii, chosen)
            if progress is not None:
                progress(min(start + size, len(rows)), len(rows))


def n_threads(n_jobs: int | None) -> int:
    """Threads to use: all cores for None, but one inside a worker of someone else's pool."""
    if n_jobs is None:
        process = multiprocessing.current_process()
        in_worker = (
            multiprocessing.parent_process() is not None
            or process.name.startswith("Loky")
            or threading.current_thread() is not threading.main_thread()
        )
        return 1 if in_worker else _cores()
    return n_jobs if n_jobs > 0 else max(1, _cores() + 1 + n_jobs)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # not on macOS or Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
