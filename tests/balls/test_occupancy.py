import numpy as np
import pytest

from bayesfloor.balls.occupancy import Occupancy, doubts
from bayesfloor.rows.dataset import validate

DATA = validate(np.arange(40.0)[:, None], np.arange(40) % 2)


def occupancy(empty=0.0, weights=(1.0,)):
    weights = np.array(weights)
    n_neighbours = np.ones((1000, len(weights)), dtype=int)
    n_neighbours[: round(empty * 1000)] = 0
    return Occupancy.of(n_neighbours, np.arange(1.0, len(weights) + 1), weights)


NORMAL = np.random.default_rng(0).normal(size=100)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((occupancy(), 0.1, 0.1, 0.01, DATA), []),
        ((occupancy(empty=0.10), 0.1, 0.1, 0.01, DATA), []),
        ((occupancy(empty=0.101), 0.1, 0.1, 0.01, DATA), ["10% of the balls are empty"]),
        ((occupancy(weights=[80.0, -79.0]), 0.1, 0.1, 0.01, DATA), ["multiply the noise"]),
        ((occupancy(), 0.1, 0.139, 0.01, DATA), []),
        ((occupancy(), 0.1, 0.141, 0.01, DATA), ["errs at 0.141"]),
        ((occupancy(), 0.1, 0.1, 0.01, validate(np.arange(30.0)[:, None], ["a"] * 21 + ["b"] * 9)), ["'b' has only 9"]),
        (
            (occupancy(), 0.1, 0.1, 0.01, validate(NORMAL[np.arange(106) % 100, None], [0, 1] * 53)),
            ["6% of the rows are copies"],
        ),
    ],
)
def test_each_doubt_has_its_threshold(arguments, words):
    found = doubts(*arguments)
    assert len(found) == len(words)
    for text, word in zip(found, words, strict=True):
        assert word in text


def test_empty_share_goes_by_the_size_of_the_weights():
    n_neighbours = np.array([[0, 1], [0, 1], [0, 1], [0, 0]])
    summary = Occupancy.of(n_neighbours, np.array([1.0, 2.0]), np.array([3.0, -1.0]))
    np.testing.assert_allclose(summary.empty, [1.0, 0.25])
    assert summary.empty_share == pytest.approx((3 * 1.0 + 1 * 0.25) / 4)


def test_rows_of_discrete_columns_may_coincide():
    assert validate(np.arange(40)[:, None] % 4, np.arange(40) // 4 % 2).copied_share == 0
