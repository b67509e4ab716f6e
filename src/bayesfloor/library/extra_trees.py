"""Extremely randomised trees (Geurts, Ernst and Wehenkel, 2006), of few rows and of many."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._types import Codes, Floats, Singles

__all__ = ["Forest", "columns_tried"]


@dataclass(frozen=True, eq=False)
class Forest:
    """Scikit-learn's trees; what `ExtraTreesClassifier` does besides costs as much as the trees of a few rows."""

    trees: list[Any]

    @classmethod
    def grow(cls, X: Floats | Singles, y: Codes, n_trees: int, seed: int, leaf: int = 1) -> "Forest":
        """Trees whose leaves have so many rows at least.

        Examples
        --------
        >>> X = np.arange(40.0)[:, None]
        >>> forest = Forest.grow(X, (X[:, 0] > 20).astype(int), 10, 0)
        >>> forest.predict(np.array([[3.0], [35.0]]))[0]
        array([[1., 0.],
               [0., 1.]])
        """
        from sklearn.tree import ExtraTreeClassifier

        rows, tried = np.ascontiguousarray(X, dtype=np.float32), columns_tried(X.shape[1])
        trees = [
            ExtraTreeClassifier(min_samples_leaf=leaf, max_features=tried, random_state=int(of_tree))
            for of_tree in np.random.default_rng(seed).integers(2**31, size=n_trees)
        ]
        return cls([tree.fit(rows, y, check_input=False) for tree in trees])

    @property
    def classes(self) -> Codes:
        """Codes that the training rows have."""
        return np.asarray(self.trees[0].classes_)

    @property
    def importances(self) -> Floats:
        """Of each column, adding up to 1: what splits of more than a few rows gain. All 0 if there are none."""
        total = np.zeros(self.trees[0].n_features_in_)
        for tree in self.trees:
            grown = tree.tree_
            split = np.flatnonzero((grown.children_left >= 0) & (grown.n_node_samples >= _FEWEST))
            impurity = grown.weighted_n_node_samples * grown.impurity
            gains = impurity[split] - impurity[grown.children_left[split]] - impurity[grown.children_right[split]]
            total += np.bincount(grown.feature[split], gains, len(total)) / len(self.trees)
        return np.asarray(total / max(total.sum(), 1e-12))

    def predict(self, X: Floats | Singles, leaves: Sequence[int] = (1,)) -> list[Floats]:
        """Mean probabilities of `classes`, for trees pruned to leaves of so many rows at least; ascending numbers."""
        rows = np.ascontiguousarray(X, dtype=np.float32)
        totals = [np.zeros((len(rows), len(self.classes))) for _ in leaves]
        for tree in self.trees:
            grown = tree.tree_
            at, size = grown.apply(rows), grown.n_node_samples
            parent = np.zeros(grown.node_count, dtype=np.intp)
            split = np.flatnonzero(grown.children_left >= 0)
            parent[grown.children_left[split]] = parent[grown.children_right[split]] = split
            kept = np.arange(grown.node_count)  # the node that speaks for each
            for leaf, total in zip(leaves, totals, strict=True):
                while len(small := np.flatnonzero((size[kept] < leaf) & (kept > 0))):
                    kept[small] = parent[kept[small]]
                total += grown.value[:, 0].take(kept[at], axis=0)
        return [total / len(self.trees) for total in totals]


_FEWEST = 8  # rows of a split that tells how important a column is


def columns_tried(d: int) -> int:
    """Columns that a tree looks at for each split."""
    return max(min(d, 2), min(d // 2, 40))
