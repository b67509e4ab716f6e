"""Extremely randomised trees (Geurts, Ernst and Wehenkel, 2006), compiled, of few rows and of many.

Of a thousand rows scikit-learn spends most of a tree's time around it, in Python, which holds the interpreter's lock.
The splits here are drawn as its are: so many columns that vary, a random cut of each, and the one after which the Gini
impurity is least.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Codes, Floats, RowNumbers, Singles
from ..utils.compiled import compiled

__all__ = ["Forest", "Tree", "columns_tried"]

Places = NDArray[np.int32]  # of nodes and columns
_FEWEST = 8  # rows of a split that tells how important a column is


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes in the order they grew: what is at most the threshold goes on to the next node, the rest to `right`.

    Attributes
    ----------
    column : ndarray
        That a node splits; -1 if it is a leaf.
    threshold, right : ndarray
    counts : ndarray of shape (nodes, C)
        Training rows in each node, by class.
    """

    column: Places
    threshold: Floats
    right: Places
    counts: Places


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees, and the codes of the classes that their training rows have.

    Attributes
    ----------
    trees : list of Tree
    classes : ndarray
    n_columns : int
    leaf : int
        Rows of a node that speaks for another row, at least: see `predict`.
    """

    trees: list[Tree]
    classes: Codes
    n_columns: int
    leaf: int = 1

    @classmethod
    def grow(cls, X: Floats | Singles, y: Codes, n_trees: int, seed: int) -> "Forest":
        """Trees grown to the end.

        Examples
        --------
        >>> X = np.arange(40.0)[:, None]
        >>> forest = Forest.grow(X, (X[:, 0] > 20).astype(int), 10, 0)
        >>> forest.predict(np.array([[3.0], [35.0]]))[0]
        array([[1., 0.],
               [0., 1.]])
        """
        columns = np.ascontiguousarray(np.transpose(X), dtype=np.float32)
        d, n = columns.shape
        classes, labels = np.unique(y, return_inverse=True)
        labels = labels.astype(np.int32)
        column, right = np.empty((2, 2 * n), dtype=np.int32)
        threshold, counts = np.empty(2 * n), np.empty((2 * n, len(classes)), dtype=np.int32)
        trees = []
        for state in np.random.default_rng(seed).integers(1, 2**63, size=n_trees, dtype=np.uint64):
            k = _grow(columns, labels, columns_tried(d), state, column, threshold, right, counts)
            trees.append(Tree(column[:k].copy(), threshold[:k].copy(), right[:k].copy(), counts[:k].copy()))
        return cls(trees, classes, d)

    @property
    def importances(self) -> Floats:
        """Of each column, adding up to 1: what splits of more than a few rows gain. All 0 if there are none."""
        total = np.zeros(self.n_columns)
        for tree in self.trees:
            counts = tree.counts.astype(np.float64)
            size = counts.sum(axis=1)
            impurity = size - (counts**2).sum(axis=1) / size
            split = np.flatnonzero((tree.column >= 0) & (size >= _FEWEST))
            gains = impurity[split] - impurity[split + 1] - impurity[tree.right[split]]
            total += np.bincount(tree.column[split], gains, len(total))
        return np.asarray(total / max(total.sum(), 1e-12))

    def predict(self, X: Floats | Singles, leaves: Sequence[int] | None = None) -> Floats:
        """Mean probabilities of `classes`: each row goes down a tree as long as its node has so many rows at least.

        Parameters
        ----------
        X : ndarray
        leaves : sequence of int, optional
            Ascending numbers of rows; default: that of the forest.

        Returns
        -------
        ndarray of shape (leaves, n, C)
        """
        rows = np.ascontiguousarray(X, dtype=np.float32)
        leaves = (self.leaf,) if leaves is None else leaves
        total = np.zeros((len(leaves), len(rows), len(self.classes)))
        for tree in self.trees:
            _add(rows, tree.column, tree.threshold, tree.right, tree.counts, np.array(leaves, dtype=np.int64), total)
        return total / len(self.trees)


def columns_tried(d: int) -> int:
    """Columns that a tree looks at for each split."""
    return max(min(d, 4), min(d // 3, 100))


@compiled
def _grow(
    columns: Singles,
    y: Places,
    tried: int,
    state: Any,
    column: Places,
    threshold: Floats,
    right: Places,
    counts: Places,
) -> int:
    """Fill the arrays of a tree, and return how many nodes it has. `state` is of Marsaglia's xorshift generator."""
    (d, n), n_classes = columns.shape, counts.shape[1]
    order, names, left = np.empty(n, np.int64), np.empty(d, np.int64), np.empty(n_classes, np.int64)
    values, labels = np.empty(n, np.float32), np.empty(n, np.int32)
    for i in range(n):
        order[i] = i
    for j in range(d):
        names[j] = j
    # Nodes to come: their rows in `order`, the node whose right child they are, and how many columns are known to be
    # constant. Those stand first in `names`, where neither a node nor those below it move them.
    waiting = np.empty((n + 1, 4), np.int64)
    waiting[0, 0], waiting[0, 1], waiting[0, 2], waiting[0, 3] = 0, n, -1, 0
    n_waiting, grown = 1, 0
    while n_waiting > 0:
        n_waiting -= 1
        first, last = waiting[n_waiting, 0], waiting[n_waiting, 1]
        parent, constant = waiting[n_waiting, 2], waiting[n_waiting, 3]
        node, size = grown, last - first
        grown += 1
        if parent >= 0:
            right[parent] = node
        for c in range(n_classes):
            counts[node, c] = 0
        for i in range(size):
            labels[i] = y[order[first + i]]
            counts[node, labels[i]] += 1
        most = 0
        for c in range(n_classes):
            most = max(most, counts[node, c])
        column[node], right[node], threshold[node] = -1, -1, 0.0
        if most == size:
            continue
        best, undrawn, looked = -1.0, d, 0
        while undrawn > constant and looked < tried:
            state ^= state >> np.uint64(12)
            state ^= state << np.uint64(25)
            state ^= state >> np.uint64(27)
            drawn = state * np.uint64(2685821657736338717)
            place = constant + np.int64((drawn >> np.uint64(33)) % np.uint64(undrawn - constant))
            name = names[place]
            of_name = columns[name]
            low = high = of_name[order[first]]
            for i in range(size):
                value = of_name[order[first + i]]
                values[i] = value
                low, high = min(low, value), max(high, value)
            if low == high:
                names[place], names[constant] = names[constant], name
                constant += 1
                continue
            looked += 1
            undrawn -= 1
            names[place], names[undrawn] = names[undrawn], name
            cut = low + (high - low) * (np.float64(drawn & np.uint64(0xFFFFFFFF)) / 4294967296.0)
            n_left = 0
            if n_classes == 2:
                seconds = 0
                for i in range(size):
                    is_left = int(values[i] <= cut)
                    n_left += is_left
                    seconds += is_left * int(labels[i])
                left[0], left[1] = n_left - seconds, seconds
            else:
                for c in range(n_classes):
                    left[c] = 0
                for i in range(size):
                    is_left = int(values[i] <= cut)
                    n_left += is_left
                    left[labels[i]] += is_left
            ours, others = 0.0, 0.0
            for c in range(n_classes):
                ours += float(left[c]) ** 2
                others += float(counts[node, c] - left[c]) ** 2
            purity = ours / n_left + others / (size - n_left)
            if purity > best:
                best, column[node], threshold[node] = purity, name, cut
        if best < 0.0:
            continue
        of_name, cut = columns[column[node]], threshold[node]
        i, j = first, last - 1
        while i <= j:
            if of_name[order[i]] <= cut:
                i += 1
            else:
                order[i], order[j] = order[j], order[i]
                j -= 1
        for k in range(2):  # the left one is taken first
            waiting[n_waiting, 0], waiting[n_waiting, 1] = (i, last) if k == 0 else (first, i)
            waiting[n_waiting, 2], waiting[n_waiting, 3] = node if k == 0 else -1, constant
            n_waiting += 1
    return grown


@compiled
def _add(
    rows: Singles, column: Places, threshold: Floats, right: Places, counts: Places, leaves: RowNumbers, total: Floats
) -> None:
    """Add a tree's shares of the classes: those of the last node on a row's way that has rows enough."""
    n_classes = counts.shape[1]
    sizes = np.empty(len(counts), np.int64)
    for node in range(len(counts)):
        sizes[node] = 0
        for c in range(n_classes):
            sizes[node] += counts[node, c]
    for i in range(len(rows)):
        node, r = 0, len(leaves) - 1
        while r >= 0:
            after = -1
            if column[node] >= 0:
                after = node + 1 if rows[i, column[node]] <= threshold[node] else right[node]
            while r >= 0 and (after < 0 or sizes[after] < leaves[r]):
                for c in range(n_classes):
                    total[r, i, c] += counts[node, c] / sizes[node]
                r -= 1
            node = after
