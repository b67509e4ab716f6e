import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist

from bayesfloor import DataError, ParameterError, spanning_tree


def kruskal(X):
    """Edges in the order of (squared distance, smaller row, larger row), by brute force."""
    squared = np.zeros((len(X), len(X)))
    for q in range(X.shape[1]):
        squared += (X[:, None, q] - X[None, :, q]) ** 2
    rows, columns = np.triu_indices(len(X), 1)
    parent, edges = list(range(len(X))), []

    def root(i):
        while parent[i] != i:
            i = parent[i]
        return i

    for e in np.lexsort((columns, rows, squared[rows, columns])):
        a, b = root(rows[e]), root(columns[e])
        if a != b:
            parent[a] = b
            edges.append((rows[e], columns[e]))
    return np.array(edges)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 120),
    d=st.integers(1, 20),
    lattice=st.booleans(),
    n_jobs=st.integers(1, 3),
)
def test_the_tree_is_kruskals_to_the_edge(seed, n, d, lattice, n_jobs):
    X = np.random.default_rng(seed).normal(size=(n, d))
    X = np.round(X) if lattice else X
    expected = kruskal(X)
    for algorithm in ("tree", "tiles"):
        edges, lengths = spanning_tree(X, algorithm=algorithm, n_jobs=n_jobs)
        np.testing.assert_array_equal(edges, expected)
        np.testing.assert_allclose(lengths, np.linalg.norm(X[edges[:, 0]] - X[edges[:, 1]], axis=1), rtol=1e-12)


@pytest.mark.parametrize("n_features", [2, 4, 50])
def test_total_length_is_scipys(n_features):
    X = np.random.default_rng(n_features).normal(size=(2000, n_features)) ** 3
    total = minimum_spanning_tree(cdist(X, X)).sum()
    for algorithm in ("tree", "tiles"):
        assert spanning_tree(X, algorithm=algorithm)[1].sum() == pytest.approx(total, rel=1e-9)


def test_all_points_equal_and_progress():
    told = []
    edges, lengths = spanning_tree(np.ones((50, 3)), progress=lambda *news: told.append(news))
    assert len(edges) == 49
    assert (lengths == 0).all()
    assert told[-1] == ("spanning tree", 49, 49)


@pytest.mark.parametrize("algorithm", ["tiles", "tree"])
@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_sizes_whose_squares_overflow(algorithm, scale):
    edges, lengths = spanning_tree(np.array([[0.0], [1.0], [3.0]]) * scale, algorithm=algorithm)
    assert edges.tolist() == [[0, 1], [1, 2]]
    np.testing.assert_allclose(lengths, [scale, 2 * scale], rtol=1e-15)


def test_unknown_algorithm_is_an_error():
    with pytest.raises(ParameterError, match="algorithm"):
        spanning_tree([[1.0], [2.0]], algorithm="magic")


def test_one_row_is_an_error():
    with pytest.raises(DataError, match="at least two rows"):
        spanning_tree([[1.0]])
