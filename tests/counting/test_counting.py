import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from bayesfloor import DataError, DataTypeError, ParameterError, ball_counts
from bayesfloor.counting._ball_counts import BallCounter

ALGORITHMS = ["tiles", "tree", "numpy"]

DATA = {
    "random": lambda rng, n, d: rng.normal(size=(n, d)),
    "lattice": lambda rng, n, d: rng.integers(-2, 3, size=(n, d)).astype(float),
    "duplicated": lambda rng, n, d: np.repeat(rng.normal(size=((n + 2) // 3, d)), 3, axis=0)[:n],
    "constant": lambda rng, n, d: np.ones((n, d)),
    "tiny": lambda rng, n, d: 1e-150 * rng.normal(size=(n, d)),
    "badly scaled": lambda rng, n, d: rng.normal(size=(n, d)) * 10.0 ** rng.integers(-8, 9, size=d),
    "offset": lambda rng, n, d: 1e8 + rng.normal(size=(n, d)),
    "near-coincident": lambda rng, n, d: 1 + 1e-12 * rng.normal(size=(n, d)),
    "outlier": lambda rng, n, d: np.vstack([rng.normal(size=(n - 1, d)), np.full((1, d), 1e30)]),
}


def problem(kind, n_features, n=60, n_classes=3, seed=0):
    """Points, labels, and radii of which several tie with distances."""
    rng = np.random.default_rng([seed, n_features])
    points = np.ascontiguousarray(DATA[kind](rng, n, n_features))
    squared = np.zeros(n)
    for q in range(n_features):
        squared += (points[:, q] - points[0, q]) ** 2
    radii = np.unique(np.append(np.sqrt(squared[1:8]), [0.0, 0.5, 1.0, 2.0]))
    return points, rng.integers(0, n_classes, n), radii


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("n_features", [1, 2, 3, 4, 7, 12, 20, 33, 60])
def test_every_algorithm_gives_the_naive_counts(kind, n_features):
    points, labels, radii = problem(kind, n_features)
    expected = naive.ball_counts(points, labels, 3, radii)
    rows = np.array([5, 0, 59, 5])
    for algorithm in ALGORITHMS:
        for n_jobs in (1, 2, 5):
            counter = BallCounter(points, labels, 3, n_jobs, algorithm=algorithm)
            np.testing.assert_array_equal(counter.counts(radii), expected, err_msg=algorithm)
        np.testing.assert_array_equal(counter.counts(radii, rows), expected[rows], err_msg=algorithm)


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("n_features", [1, 3, 30, 150])
def test_larger_data_and_new_points_agree_with_numpy(kind, n_features):
    # Several tiles, leaves and parts of a product, classes that end inside a tile, and one without points.
    points, labels, radii = problem(kind, n_features, n=1300, n_classes=4)
    labels[labels == 2] = 0
    new = points[:150] * 1.01
    plain = BallCounter(points, labels, 4, 1, algorithm="numpy")
    counts, around = plain.counts(radii), plain.around(new, radii)
    for algorithm in set(ALGORITHMS) - {"numpy"}:
        counter = BallCounter(points, labels, 4, 2, algorithm=algorithm)
        np.testing.assert_array_equal(counter.counts(radii), counts, err_msg=algorithm)
        np.testing.assert_array_equal(counter.around(new, radii), around, err_msg=algorithm)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 700),
    d=st.integers(1, 9),
    step=st.sampled_from([0.0, 0.5, 1.0]),
    n_classes=st.integers(1, 12),
)
def test_tiles_and_trees_never_differ(seed, n, d, step, n_classes):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, d)) * rng.choice([1e-3, 1.0, 1e3])
    points = np.round(points / step) * step if step else points
    labels = rng.integers(0, n_classes, n)
    pairs = rng.integers(0, n, (2, 6))
    radii = np.unique(np.sqrt(((points[pairs[0]] - points[pairs[1]]) ** 2).sum(axis=1)))
    tiles = BallCounter(points, labels, n_classes, 2, algorithm="tiles").counts(radii)
    tree = BallCounter(points, labels, n_classes, 2, algorithm="tree").counts(radii)
    np.testing.assert_array_equal(tiles, tree)


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e300])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_sizes_whose_squares_overflow(scale, algorithm):
    points, labels, radii = problem("random", 3)
    expected = naive.ball_counts(points, labels, 3, radii)
    found = ball_counts(points * scale, labels, radii * scale, algorithm=algorithm)
    np.testing.assert_array_equal(found[:, :, [3, -1]], expected[:, :, [3, -1]])  # radii that tie with nothing


def test_radii_that_hold_everyone_leave_the_centre_out():
    points, labels, _ = problem("random", 2)
    for algorithm in ALGORITHMS:
        counts = ball_counts(points, labels, [1e3, 1e200, 1e308], algorithm=algorithm)
        assert (counts.sum(axis=1) == 59).all()


@pytest.mark.parametrize("n_features", [1, 5, 150])
def test_points_much_longer_than_others_with_radii_that_tie(n_features):
    # Here float64 rounding of the squared norms, not the float32 product, is what is uncertain.
    rng = np.random.default_rng(n_features)
    A = rng.normal(size=(256, n_features))
    X = np.vstack([A, -A, 1e-13 * rng.normal(size=(512, n_features))])
    labels = np.repeat([0, 1], 512)
    squared = np.zeros(30)
    for q in range(n_features):
        squared += (X[:30, q] - X[600, q]) ** 2
    radii = np.unique(np.sqrt(squared))
    expected = ball_counts(X, labels, radii, algorithm="numpy")
    new = ball_counts(X[512:], labels[512:], radii, queries=A, algorithm="numpy")
    for algorithm in ("tiles", "tree"):
        np.testing.assert_array_equal(ball_counts(X, labels, radii, algorithm=algorithm), expected)
        found = ball_counts(X[512:], labels[512:], radii, queries=A, algorithm=algorithm)
        np.testing.assert_array_equal(found, new)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_one_far_point_leaves_the_others_alone(algorithm):
    found = ball_counts([[0.0], [1.0], [5.0], [1e200]], [0] * 4, [1.0, 1e200], algorithm=algorithm)
    assert found[:, 0].tolist() == [[1, 3], [1, 3], [0, 3], [0, 3]]
    assert ball_counts([[1e200], [1e200], [0.0]], [0] * 3, [1e-130], algorithm=algorithm).ravel().tolist() == [1, 1, 0]
    assert ball_counts([[1.5e308]] * 3, [0] * 3, [0.0], algorithm=algorithm).ravel().tolist() == [2, 2, 2]
    far = ball_counts([[0.0], [1.0]], [0, 0], [1.0, 1e300], queries=[[1e250]], algorithm=algorithm)
    assert far.ravel().tolist() == [0, 2]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_groups_are_no_neighbours(algorithm):
    points, labels, radii = problem("lattice", 2)
    groups = np.random.default_rng(1).integers(0, 9, 60)
    expected = np.zeros((60, 3, len(radii)), dtype=int)
    for i in range(60):
        for j in range(60):
            if groups[i] != groups[j]:
                squared = ((points[i] - points[j]) ** 2).sum()
                expected[i, labels[j]] += squared <= radii**2
    found = ball_counts(points, labels, radii, exclude_groups=groups.astype(str), algorithm=algorithm)
    np.testing.assert_array_equal(found, expected)
    rows = [3, 3, 17]
    part = ball_counts(points, labels, radii, queries=rows, exclude_groups=groups, algorithm=algorithm)
    np.testing.assert_array_equal(part, expected[rows])


def test_auto_chooses_and_agrees():
    rng = np.random.default_rng(0)
    for d, radii in ((2, [0.01, 0.05]), (2, [1.0, 3.0]), (40, [6.0, 9.0])):
        points, labels = rng.normal(size=(3000, d)), rng.integers(0, 2, 3000)
        automatic = ball_counts(points, labels, radii)
        np.testing.assert_array_equal(automatic, ball_counts(points, labels, radii, algorithm="numpy"))
    import bayesfloor.counting.kernels  # noqa: F401 - from here on compiled code costs nothing to load

    counter = BallCounter(rng.normal(size=(20_000, 2)), rng.integers(0, 2, 20_000), 2)
    assert counter._choose(np.array([0.01, 0.02]) ** 2, 20_000, True) == "tree"
    assert counter._choose(np.array([1.0, 1.5, 2.0, 2.5]) ** 2, 20_000, True) == "tiles"


def test_read_only_input_is_left_alone():
    points, labels, radii = problem("random", 2)
    points.flags.writeable = labels.flags.writeable = False
    for algorithm in ALGORITHMS:
        ball_counts(points, labels, radii, algorithm=algorithm)


def test_blocks_cover_all_rows_in_order(monkeypatch):
    monkeypatch.setattr("bayesfloor.counting._ball_counts._BLOCK_BYTES", 1000)
    rng = np.random.default_rng(1)
    points, labels = rng.normal(size=(600, 2)), rng.integers(0, 3, 600)
    counter, radii, told = BallCounter(points, labels, 3), np.array([0.3, 0.9]), []
    blocks = list(counter.blocks(radii, np.arange(600), lambda *news: told.append(news)))
    assert len(blocks) > 1
    np.testing.assert_array_equal(np.concatenate([rows for rows, _ in blocks]), np.arange(600))
    np.testing.assert_array_equal(np.concatenate([counts for _, counts in blocks]), counter.counts(radii))
    assert told[-1] == ("counting", 600, 600)


@pytest.mark.parametrize("algorithm", ["tiles", "tree"])
def test_interrupting_stops_and_leaves_nothing_behind(algorithm):
    points, labels, _ = problem("random", 3, n=4000)

    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ball_counts(points, labels, [1.0], progress=interrupt, algorithm=algorithm)
    assert ball_counts(points, labels, [1.0], algorithm=algorithm).sum() > 0


X, Y = np.arange(8.0).reshape(4, 2), [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((X, Y, []), {}, ParameterError, "non-empty"),
        ((X, Y, [-1.0, 1.0]), {}, ParameterError, "not negative"),
        ((X, Y, [1.0, np.nan]), {}, ParameterError, "finite"),
        ((X, Y, [2.0, 1.0]), {}, ParameterError, "ascend"),
        ((X, Y, ["a"]), {}, ParameterError, "radii must be numbers"),
        ((X, Y[:3], [1.0]), {}, DataError, "4 rows but there are 3 labels"),
        ((X, Y, [1.0]), {"queries": np.ones((2, 3))}, DataError, "3 columns but X has 2"),
        ((X, Y, [1.0]), {"queries": [0, 4]}, ParameterError, "query 4 is no row"),
        ((X, Y, [1.0]), {"exclude_groups": [1, 2]}, DataError, "2 groups"),
        ((X, Y, [1.0]), {"exclude_groups": Y, "queries": X + 1}, ParameterError, "not new points"),
        ((X, Y, [1.0]), {"memory_limit": 10}, ParameterError, "32 bytes"),
        ((X, Y, [1.0]), {"n_jobs": 0}, ParameterError, "n_jobs"),
        ((X, Y, [1.0]), {"algorithm": "magic"}, ParameterError, "algorithm must be one of"),
        ((X * np.nan, Y, [1.0]), {}, DataError, "8 NaN"),
        ((X.astype(str), Y, [1.0]), {}, DataTypeError, "convert"),
    ],
)
def test_bad_input_is_named_before_any_work(arguments, options, error, message):
    with pytest.raises(error, match=message):
        ball_counts(*arguments, **options)
