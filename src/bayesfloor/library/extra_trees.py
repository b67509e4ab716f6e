"""Extremely randomised trees (Geurts, Ernst and Wehenkel, 2006), of few rows and of many."""

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
    def grow(
        cls, X: Floats | Singles, y: Codes, n_trees: int, leaf: int, max_features: int | str, seed: int
    ) -> "Forest":
        """Trees whose leaves have so many rows at least.

        Examples
        --------
        >>> X = np.arange(40.0)[:, None]
        >>> forest = Forest.grow(X, (X[:, 0] > 20).astype(int), 10, 1, 1, 0)
        >>> forest.predict(np.array([[3.0], [35.0]]))
        array([[1., 0.],
               [0., 1.]])
        """
        from sklearn.tree import ExtraTreeClassifier

        rows = np.ascontiguousarray(X, dtype=np.float32)
        trees = [
            ExtraTreeClassifier(min_samples_leaf=leaf, max_features=max_features, random_state=int(of_tree))
            for of_tree in np.random.default_rng(seed).integers(2**31, size=n_trees)
        ]
        return cls([tree.fit(rows, y, check_input=False) for tree in trees])

    @property
    def classes(self) -> Codes:
        """Codes that the training rows have."""
        return np.asarray(self.trees[0].classes_)

    @property
    def importances(self) -> Floats:
        """Of each column, adding up to 1; all 0 if no tree has a split."""
        total = np.sum([tree.feature_importances_ for tree in self.trees], axis=0)
        return np.asarray(total / max(total.sum(), 1e-12))

    def predict(self, X: Floats | Singles) -> Floats:
        """Mean probabilities of `classes`."""
        rows = np.ascontiguousarray(X, dtype=np.float32)
        total = self.trees[0].predict_proba(rows, check_input=False)
        for tree in self.trees[1:]:
            total += tree.predict_proba(rows, check_input=False)
        return np.asarray(total / len(self.trees))


def columns_tried(d: int) -> int | str:
    """Columns that a tree looks at for each split, as scikit-learn's `max_features`."""
    return "sqrt" if d < 4 else max(2, min(d // 3, 40))
