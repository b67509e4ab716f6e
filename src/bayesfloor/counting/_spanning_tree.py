"""Exact Euclidean minimum spanning tree, by Boruvka's method, never holding all distances.

Each round joins every component to its nearest neighbour. A point keeps the nearest foreign point it has found:
it stays the nearest until both are in one component, and bounds from below what a new search could find.
So most points need no search in most rounds, and the largest component never needs one at all.
"""

import threading
from typing import Any

import numpy as np

from .._types import Codes, Floats, Mask, RowNumbers
from ..errors import DataError
from ..rows.dataset import feature_matrix
from ..rows.scaling import safe_exponent
from ..utils.checks import check_callable, check_choice
from ..utils.parallel import Progress, n_threads, run_tasks

__all__ = ["spanning_tree"]


# Above this many features the boxes of a tree hardly ever exclude anything.
_TREE_FEATURES = 12
_LEAF_SIZE = 16
_TASK_ROWS = 512


def spanning_tree(
    X: Any, *, n_jobs: int | None = None, progress: Progress | None = None, algorithm: str = "auto"
) -> tuple[RowNumbers, Floats]:
    """Minimum spanning tree of the rows of X under Euclidean distance.

    Ties are broken by row numbers, so that the tree is the same on every run.

    Parameters
    ----------
    X : array-like of shape (N, d)
    n_jobs : int, optional
        Threads; None means all cores.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.
    algorithm : {"auto", "tiles", "tree"}

    Returns
    -------
    edges : ndarray of shape (N - 1, 2)
        Row numbers, the smaller first; shortest edge first.
    lengths : ndarray of shape (N - 1,)

    Examples
    --------
    >>> edges, lengths = spanning_tree([[0.0], [10.0], [1.0], [3.0]])
    >>> edges.tolist(), lengths.tolist()
    ([[0, 2], [2, 3], [1, 3]], [1.0, 2.0, 7.0])
    """
    matrix, _ = feature_matrix(X)
    if len(matrix) < 2:
        raise DataError(f"a spanning tree needs at least two rows, X has {len(matrix)}")
    check_choice("algorithm", algorithm, ("auto", "tiles", "tree"))
    check_callable("progress", progress)
    exponent = safe_exponent(matrix)
    points = np.require(np.ldexp(matrix, -exponent) if exponent else matrix, np.float64, ["C", "W"])
    by_tree = algorithm == "tree" or (algorithm == "auto" and points.shape[1] <= _TREE_FEATURES)
    search: Any = (_TreeSearch if by_tree else _TileSearch)(points, n_threads(n_jobs))
    n = len(points)
    component = np.arange(n)
    # Nearest foreign point found so far: a lower bound for any later one.
    squared, nearest = np.zeros(n), np.full(n, -1, dtype=np.int64)
    edges: list[RowNumbers] = []
    lengths: list[Floats] = []
    n_components = n
    while n_components > 1:
        sizes = np.bincount(component, minlength=n)
        foreign = nearest >= 0
        foreign[foreign] = component[nearest[foreign]] != component[foreign]
        best = np.full(n, np.inf)
        np.minimum.at(best, component[foreign], squared[foreign])
        # The largest component is joined by the others; a bound above the best so far cannot win.
        needed = ~foreign & (component != sizes.argmax()) & (squared <= best[component])
        search.find(np.flatnonzero(needed), component, best, squared, nearest)
        foreign |= needed & (nearest >= 0)
        new_edges, new_lengths = _shortest_edges(component, squared, nearest, foreign & (component != sizes.argmax()))
        component, kept = _join(component, new_edges)
        edges.append(new_edges[kept])
        lengths.append(new_lengths[kept])
        n_components -= int(kept.sum())
        if progress is not None:
            progress("spanning tree", n - n_components, n - 1)
    all_edges, all_squared = np.concatenate(edges), np.concatenate(lengths)
    order = np.lexsort((all_edges[:, 1], all_edges[:, 0], all_squared))
    return all_edges[order], np.ldexp(np.sqrt(all_squared[order]), exponent)


def _shortest_edges(
    component: Codes, squared: Floats, nearest: RowNumbers, candidates: Mask
) -> tuple[RowNumbers, Floats]:
    """Each component's shortest edge, ties by the smaller row, then the larger."""
    rows = np.flatnonzero(candidates)
    small, large = np.minimum(rows, nearest[rows]), np.maximum(rows, nearest[rows])
    order = np.lexsort((large, small, squared[rows], component[rows]))
    first = np.unique(component[rows][order], return_index=True)[1]
    chosen = order[first]
    return np.stack([small[chosen], large[chosen]], axis=1), squared[rows[chosen]]


def _join(component: Codes, edges: RowNumbers) -> tuple[Codes, Mask]:
    """Components after adding edges; edges that two components chose alike are kept once."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    _, first = np.unique(edges, axis=0, return_index=True)
    kept = np.zeros(len(edges), dtype=bool)
    kept[first] = True
    a, b = component[edges[:, 0]], component[edges[:, 1]]
    n = len(component)
    graph = coo_array((np.ones(len(edges), dtype=np.int8), (a, b)), shape=(n, n))
    return connected_components(graph, directed=False)[1].astype(np.int64)[component], kept


class _TreeSearch:
    """Nearest foreign points by a kd-tree whose nodes know if they belong to one component."""

    def __init__(self, X: Floats, threads: int) -> None:
        from .trees import Tree

        self.X, self.threads = X, threads
        self.tree = Tree(X, np.arange(len(X)), _LEAF_SIZE)

    def find(self, rows: RowNumbers, component: Codes, best: Floats, squared: Floats, nearest: RowNumbers) -> None:
        from .kernels import nearest_foreign_in_tree

        tree = self.tree
        of_node = self._components_of_nodes(component)
        # In the order of the tree, so that neighbours are searched for one after the other.
        asked = np.zeros(len(component), dtype=bool)
        asked[rows] = True
        rows = tree.rows[asked[tree.rows]]

        def work(part: slice) -> None:
            nearest_foreign_in_tree(
                rows[part],
                self.X,
                tree.rows,
                tree.bounds,
                tree.low,
                tree.high,
                of_node,
                component,
                best.copy(),
                squared,
                nearest,
            )

        step = max(_TASK_ROWS, len(rows) // (8 * self.threads))
        run_tasks(work, [slice(i, i + step) for i in range(0, len(rows), step)], self.threads)

    def _components_of_nodes(self, component: Codes) -> Codes:
        """Component of each node whose points all have the same one, else -1."""
        bounds, sorted_component = self.tree.bounds, component[self.tree.rows]
        changes = np.append(0, np.cumsum(sorted_component[1:] != sorted_component[:-1]))
        first, last = bounds[:, 0], np.maximum(bounds[:, 1] - 1, bounds[:, 0])
        first, last = np.minimum(first, len(component) - 1), np.minimum(last, len(component) - 1)
        same = changes[first] == changes[last]
        return np.where(same, sorted_component[first], -1)


class _TileSearch:
    """Nearest foreign points by products of tiles."""

    def __init__(self, X: Floats, threads: int) -> None:
        from .tiles import Tiles

        self.threads = threads
        self.tiles = Tiles(X, np.zeros(len(X), dtype=np.int64), 1)

    def find(self, rows: RowNumbers, component: Codes, best: Floats, squared: Floats, nearest: RowNumbers) -> None:
        from .kernels import nearest_foreign_in_tile
        from .tiles import TILE_ROWS, slices

        squared[rows], nearest[rows] = np.inf, -1
        tiles, local = self.tiles, threading.local()

        def panel(chosen: slice) -> None:
            if not hasattr(local, "buffers"):
                local.buffers = tiles.buffers()
            tile, buffer = local.buffers
            at = tiles.position[rows[chosen]]
            Z, norms = tiles.Z[at], tiles.norms[at]
            best_product = np.full(len(at), -np.inf)
            slack = tiles.slack(norms, slice(0, len(tiles.Z)))
            for columns in tiles.column_tiles():
                S = tiles.product(Z, columns, tile, buffer)
                nearest_foreign_in_tile(
                    S,
                    tiles.half[columns],
                    slack,
                    tiles.X,
                    rows[chosen],
                    tiles.rows[columns],
                    component,
                    best_product,
                    squared,
                    nearest,
                )

        run_tasks(panel, slices(0, len(rows), TILE_ROWS), self.threads)
