import numpy as np
import pytest

import naive
from bayesfloor.neighbours import BallCounter


def lattice(rng, n, d):
    return rng.integers(-2, 3, size=(n, d)).astype(float)


DATA = {
    "random": lambda rng, n, d: rng.normal(size=(n, d)),
    "lattice": lattice,
    "duplicated": lambda rng, n, d: np.repeat(rng.normal(size=((n + 2) // 3, d)), 3, axis=0)[:n],
    "constant": lambda rng, n, d: np.ones((n, d)),
    "tiny": lambda rng, n, d: 1e-150 * rng.normal(size=(n, d)),
}


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("n_features", [1, 2, 3, 7, 20])
@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_counts_equal_the_naive_ones(kind, n_features, n_jobs):
    rng = np.random.default_rng(n_features)
    n, n_classes = 97, 4
    points = np.ascontiguousarray(DATA[kind](rng, n, n_features))
    labels = rng.integers(0, n_classes, n)
    distance = np.sqrt(((points[0] - points[1:]) ** 2).sum(axis=1))
    radii = np.unique(np.append(distance[:4], [0.5, 1.0, 2.0]))
    radii = radii[radii > 0]
    counter = BallCounter(points, labels, n_classes, n_jobs)
    expected = naive.ball_counts(points, labels, n_classes, radii)
    np.testing.assert_array_equal(counter.counts(radii), expected)
    rows = rng.permutation(n)[:30]
    np.testing.assert_array_equal(counter.counts(radii, rows), expected[rows])


def test_classes_wider_than_a_tile_and_classes_without_points():
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(1500, 2)), np.where(rng.random(1500) < 0.9, 0, 2)
    radii = np.array([0.1, 1.0, 100.0])
    counts = BallCounter(points, labels, 4).counts(radii)
    assert (counts[:, 1] == 0).all()
    assert (counts[:, 3] == 0).all()
    totals = np.bincount(labels, minlength=4)
    np.testing.assert_array_equal(counts[:, :, 2], totals - np.eye(4, dtype=int)[labels])
    squared = ((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    near = squared <= 0.1**2
    np.testing.assert_array_equal(counts[:, 2, 0], near[:, labels == 2].sum(axis=1))


def test_blocks_cover_all_rows_in_order(monkeypatch):
    monkeypatch.setattr("bayesfloor.neighbours._BLOCK_BYTES", 1000)
    rng = np.random.default_rng(1)
    points, labels = rng.normal(size=(300, 2)), rng.integers(0, 3, 300)
    counter, radii, told = BallCounter(points, labels, 3), np.array([0.3, 0.9]), []
    blocks = list(counter.blocks(radii, np.arange(300), lambda *news: told.append(news)))
    assert len(blocks) > 1
    np.testing.assert_array_equal(np.concatenate([rows for rows, _ in blocks]), np.arange(300))
    np.testing.assert_array_equal(np.concatenate([counts for _, counts in blocks]), counter.counts(radii))
    assert told[-1] == ("counting", 300, 300)
