"""Low dimension: a kd-tree per class, whole nodes counted at once."""

import numpy as np

from .._types import BallCounts, Codes, Floats, RowNumbers
from ..utils.parallel import Progress, run_tasks
from .kernels import build_tree, count_around_leaves

__all__ = ["ClassTrees", "Tree"]


LEAF_SIZE = 96
_LEAVES_PER_TASK = 32


class Tree:
    """Balanced kd-tree over the rows of a matrix, all leaves on one level."""

    def __init__(self, X: Floats, rows: RowNumbers, leaf_size: int = LEAF_SIZE) -> None:
        chosen = np.ascontiguousarray(X[rows])
        order, self.bounds, self.low, self.high = build_tree(chosen, leaf_size)
        self.rows = rows[order]
        self.points = chosen[order]
        self.first_leaf = len(self.bounds) // 2

    @property
    def leaves(self) -> range:
        """Node numbers of the leaves."""
        return range(self.first_leaf, len(self.bounds))


class ClassTrees:
    """One tree per class of the data."""

    def __init__(self, X: Floats, labels: Codes, n_classes: int) -> None:
        self.n_classes = n_classes
        self.trees = [Tree(X, np.flatnonzero(labels == c)) for c in range(n_classes)]
        self._columns = [np.ascontiguousarray(tree.points.T) for tree in self.trees]

    def pairs_computed(self, squared_radii: Floats) -> float:
        """Pairs whose distance would have to be computed to count around all points, from a sample of leaves."""
        total = 0.0
        for tree in self.trees:
            leaves = list(tree.leaves)
            sample = leaves[:: max(1, len(leaves) // 8)]
            empty = np.zeros((0, len(squared_radii)), dtype=np.int32)
            for leaf in sample:
                for c in range(self.n_classes):
                    total += (
                        self._count(tree, leaf, leaf + 1, c, squared_radii, empty, True) * len(leaves) / len(sample)
                    )
        return total

    def count(
        self, queries: list[Tree], n_queries: int, squared_radii: Floats, threads: int, progress: Progress | None
    ) -> BallCounts:
        """Counts around the points of the query trees, which hold their own rows of the result.

        A query point that is among the data is counted as its own neighbour.
        """
        counts = np.zeros((n_queries, self.n_classes, len(squared_radii)), dtype=np.int32)

        def work(task: tuple[Tree, int, int]) -> None:
            tree, first, last = task
            begin, end = tree.bounds[first, 0], tree.bounds[last - 1, 1]
            for c in range(self.n_classes):
                part = np.zeros((end - begin, len(squared_radii)), dtype=np.int32)
                self._count(tree, first, last, c, squared_radii, part, False)
                counts[tree.rows[begin:end], c] = part

        tasks = [
            (tree, first, min(first + _LEAVES_PER_TASK, tree.leaves.stop))
            for tree in queries
            for first in range(tree.leaves.start, tree.leaves.stop, _LEAVES_PER_TASK)
        ]
        run_tasks(work, tasks, threads, progress)
        return counts

    def _count(
        self, tree: Tree, first: int, last: int, c: int, squared_radii: Floats, part: BallCounts, only_estimate: bool
    ) -> int:
        reference = self.trees[c]
        return count_around_leaves(
            tree.points,
            tree.bounds,
            tree.low,
            tree.high,
            first,
            last,
            self._columns[c],
            reference.bounds,
            reference.low,
            reference.high,
            squared_radii,
            part,
            only_estimate,
        )
