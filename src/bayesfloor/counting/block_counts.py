"""Counts around rows that lie in blocks: a sum over blocks, hence the same numbers as if all lay in one place."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from .._types import BallCounts, Floats, RowNumbers
from ..rows.blocks import Blocks, Part, class_counts, reference_rows, rows_at
from ..rows.scaling import spread_out
from ..utils.parallel import Progress
from ._ball_counts import BallCounter

__all__ = ["BlockCounter", "count_in_part", "counter_of"]


# Bytes of counts that are asked for at a time: they come back from every block.
_BLOCK_BYTES = 64 * 2**20


def count_in_part(part: Part, queries: Floats, radii: Floats, n_classes: int) -> BallCounts:
    """Rows of a block around each query, by class and radius."""
    if len(part.X) == 0:
        return np.zeros((len(queries), n_classes, len(radii)), dtype=np.int32)
    return BallCounter(part.X, part.codes, n_classes, n_jobs=1).around(queries, radii)


def counter_of(blocks: Blocks, n_jobs: int | None) -> "BallCounter | BlockCounter":
    """What counts around these rows: of a single block in memory both triangles of all pairs are counted at once."""
    if blocks.whole is not None:
        return BallCounter(*blocks.whole, blocks.n_classes, n_jobs)
    return BlockCounter(blocks)


class BlockCounter:
    """What `BallCounter` does, for rows in blocks.

    Parameters
    ----------
    blocks : Blocks
        Points and the codes of their classes.
    """

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self.n_classes = blocks.n_classes
        self._class_counts: RowNumbers | None = None

    @property
    def n_samples(self) -> int:
        """Number of points."""
        return self._blocks.n_samples

    @property
    def n_features(self) -> int:
        """Number of coordinates."""
        return self._blocks.n_columns

    @property
    def class_counts(self) -> RowNumbers:
        """Points of each class."""
        if self._class_counts is None:
            self._class_counts = self._blocks.total(partial(class_counts, n_classes=self.n_classes))[0]
        return self._class_counts

    def spread_out(self, n: int) -> RowNumbers:
        """Up to `n` rows, evenly spaced over the rows sorted by their distance from the mean."""
        reference = reference_rows(self.n_samples)
        return reference[spread_out(*self.rows_at(reference), self.n_classes, n)]

    def rows_at(self, rows: RowNumbers) -> tuple[Floats, RowNumbers]:
        """Points and labels of these rows, in any order."""
        order = np.argsort(rows, kind="stable")
        points, labels = rows_at(self._blocks, rows[order])
        back = np.argsort(order, kind="stable")
        return points[back], labels[back]

    def blocks(
        self, radii: Floats, rows: RowNumbers | None = None, progress: Progress | None = None
    ) -> Iterator[tuple[RowNumbers, BallCounts]]:
        """Counts around `rows` (default all) in blocks of bounded memory, as pairs (rows, counts)."""
        everyone = np.arange(self.n_samples) if rows is None else rows
        size = max(256, _BLOCK_BYTES // (4 * self.n_classes * len(radii)))
        for start in range(0, len(everyone), size):
            chosen = everyone[start : start + size]
            queries, own = self.rows_at(chosen)
            count = partial(count_in_part, queries=queries, radii=radii, n_classes=self.n_classes)
            counts = self._blocks.total(count, "counting", progress)
            # A point's distance to itself is exactly 0, so it was counted once at every radius.
            counts[np.arange(len(chosen)), own] -= 1
            yield chosen, counts
