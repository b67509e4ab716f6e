import numpy as np
import pytest

from bayesfloor import DataError, ParameterError, nearest_labels

KINDS = {
    "random": lambda rng, n, d: rng.normal(size=(n, d)),
    "lattice": lambda rng, n, d: np.round(rng.normal(size=(n, d))),
    "duplicated": lambda rng, n, d: np.repeat(rng.normal(size=(n // 3, d)), 3, axis=0),
    "constant": lambda rng, n, d: np.ones((n, d)),
    "tiny": lambda rng, n, d: 1e-140 * rng.normal(size=(n, d)),
    "offset": lambda rng, n, d: 1e8 + rng.normal(size=(n, d)),
}


def plain_nearest(X, k, queries, own):
    """Rows and distances by sorting everything, ties by row."""
    found, distances = [], []
    for i, x in enumerate(queries):
        squared = np.zeros(len(X))
        for q in range(X.shape[1]):
            squared += (X[:, q] - x[q]) ** 2
        if own is not None:
            squared[own[i]] = np.inf
        order = np.lexsort((np.arange(len(X)), squared))[:k]
        found.append(order)
        distances.append(np.sqrt(squared[order]))
    return np.array(found), np.array(distances)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_features", [1, 3, 20, 130])
def test_rows_and_distances_in_order(kind, n_features):
    rng = np.random.default_rng(n_features)
    X = KINDS[kind](rng, 600, n_features)
    row_numbers = np.arange(600)  # as labels: then the rows found can be told
    chosen, new = rng.permutation(600)[:50], X[:30] * 1.02
    for n_jobs, options, queries, own in (
        (1, {}, X, row_numbers),
        (2, {"queries": chosen}, X[chosen], chosen),
        (2, {"queries": new}, new, None),
    ):
        expected, expected_distances = plain_nearest(X, 70, queries, own)
        for k in (1, 5, 70):
            for algorithm in ("tiles", "tree"):
                found, distances = nearest_labels(X, row_numbers, k, n_jobs=n_jobs, algorithm=algorithm, **options)
                np.testing.assert_array_equal(found, expected[:, :k], err_msg=algorithm)
                np.testing.assert_array_equal(distances, expected_distances[:, :k], err_msg=algorithm)


@pytest.mark.parametrize("algorithm", ["tiles", "tree"])
def test_sizes_whose_squares_overflow(algorithm):
    found, distances = nearest_labels([[0.0], [1.0], [2.0], [1e200]], [0, 1, 2, 3], 3, algorithm=algorithm)
    assert found.tolist() == [[1, 2, 3], [0, 2, 3], [1, 0, 3], [0, 1, 2]]
    assert distances[1].tolist() == [1.0, 1.0, 1e200]
    X = np.random.default_rng(0).normal(size=(300, 2))
    far, _ = nearest_labels(X, np.arange(300), 50, queries=[[1e39, 0.0], [0.0, 1e250]], algorithm=algorithm)
    expected, _ = plain_nearest(X, 50, np.array([[1e39, 0.0]]), None)
    np.testing.assert_array_equal(far[:1], expected)


def test_labels_of_any_kind():
    found, _ = nearest_labels([[0.0], [1.0], [5.0]], ["near", "mid", "far"], 2, queries=[[0.2]])
    assert found.tolist() == [["near", "mid"]]
    found, _ = nearest_labels([[0.0], [1.0], [5.0]], [("a", 1), 7, "x"], 1)
    assert found.ravel().tolist() == [7, ("a", 1), 7]


@pytest.mark.parametrize(
    ("k", "options", "error", "message"),
    [
        (0, {}, ParameterError, "from 1 to 3"),
        (4, {}, ParameterError, "from 1 to 3"),
        (5, {"queries": [[0.0, 0.0]]}, ParameterError, "from 1 to 4"),
        (1.5, {}, ParameterError, "whole number"),
        (1, {"queries": [[0.0]]}, DataError, "1 columns but X has 2"),
        (1, {"algorithm": "magic"}, ParameterError, "algorithm"),
        (1, {"memory_limit": 3}, ParameterError, "64 bytes"),
    ],
)
def test_bad_input_is_named(k, options, error, message):
    with pytest.raises(error, match=message):
        nearest_labels(np.arange(8.0).reshape(4, 2), [0, 1, 0, 1], k, **options)


def test_labels_of_another_length():
    with pytest.raises(DataError, match="4 rows but there are 3 labels"):
        nearest_labels(np.ones((4, 2)), [0, 1, 0], 1)
