"""Copies of one record, and rows that coincide by chance."""

import numpy as np
import pytest

from bayesfloor import estimate
from bayesfloor.rows.blocks import ArrayBlocks
from bayesfloor.rows.copies import copies_in_blocks
from bayesfloor.rows.dataset import validate

RNG = np.random.default_rng(1)


def normal(n: int, d: int = 3) -> np.ndarray:
    return RNG.normal(size=(n, d))


def point_mass(n: int) -> np.ndarray:
    X = normal(n, 2)
    X[RNG.random(n) < 0.045] = 0
    return X


def zero_inflated(n: int) -> np.ndarray:
    amounts = np.where(RNG.random((n, 1)) < 0.6, 0, RNG.lognormal(size=(n, 1)))
    return np.hstack([amounts, RNG.integers(0, 2, (n, 5))])


CHANCE = {
    "binary columns": lambda: RNG.integers(0, 2, (1500, 5)),
    "sparse pixels": lambda: (RNG.random((1500, 64)) < 0.01) * RNG.integers(1, 256, (1500, 64)),
    "whole numbers": lambda: RNG.integers(0, 10_000, (1500, 1)),
    "two decimals": lambda: np.round(normal(1500, 2), 2),
    "a point mass": lambda: point_mass(4000),
    "a limit of detection": lambda: np.maximum(normal(2000, 1), -1.7),
    "both ends cut": lambda: np.clip(normal(2000, 1), -2, 2),
    "zero and amounts": lambda: zero_inflated(1500),
    "logarithms of counts": lambda: np.log1p(RNG.poisson(300, (500, 1))),
    "roots of counts": lambda: np.sqrt(RNG.poisson(3000, (2000, 1))),
    "ratios": lambda: RNG.integers(1, 30, (800, 1)) / RNG.integers(1, 30, (800, 1)),
    "logarithms and a flag": lambda: np.hstack(
        [np.log(RNG.integers(50, 1001, (2000, 1))), RNG.random((2000, 1)) < 0.02]
    ),
    "rounding in the last bits": lambda: (
        RNG.integers(0, 10, (1000, 1)) * 0.1 + RNG.choice([0, 5e-17, 1e-16], (1000, 1))
    ),
    "a replicated design": lambda: np.array([[i, j, k] for i in range(5) for j in range(5) for k in range(5)] * 8),
}


@pytest.mark.parametrize("name", CHANCE)
def test_rows_that_coincide_are_no_copies(name: str) -> None:
    X = np.asarray(CHANCE[name](), dtype=np.float64)
    data = validate(X, RNG.integers(0, 2, len(X)))
    assert data.n_duplicate_rows > 0
    assert data.records is None
    assert data.copied_share == 0


def repeated(X: np.ndarray, times: int) -> tuple[np.ndarray, np.ndarray, int]:
    return np.repeat(X, times, axis=0), np.repeat(RNG.integers(0, 2, len(X)), times), (times - 1) * len(X)


def followed(X: np.ndarray, again: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    return np.vstack([X, again]), RNG.integers(0, 2, len(X) + len(again)), len(again)


def half(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    return followed(X, X[: len(X) // 2])


def oversampled(n: int, times: int) -> tuple[np.ndarray, np.ndarray, int]:
    X = normal(1000)
    return followed(X, np.repeat(X[:n], times, axis=0))


def of_records(n: int) -> tuple[np.ndarray, np.ndarray, int]:
    taken = RNG.integers(0, n, n)
    return normal(n)[taken], RNG.integers(0, 2, n), n - len(set(taken))


COPIES = {
    "four times, 40 rows": lambda: repeated(normal(10), 4),
    "four times": lambda: repeated(normal(375), 4),
    "twelve times": lambda: repeated(normal(100), 12),
    "four times, binary columns": lambda: repeated(RNG.integers(0, 2, (300, 30)).astype(float), 4),
    "half of them twice": lambda: half(normal(60)),
    "half of them twice, one column": lambda: half(normal(300, 1)),
    "half of them twice, two decimals": lambda: half(np.round(normal(1500, 4), 2)),
    "drawn with replacement": lambda: of_records(800),
    "a few records very often": lambda: oversampled(5, 200),
    "a rare class oversampled": lambda: oversampled(60, 15),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_are_found(name: str) -> None:
    X, y, n_copies = COPIES[name]()
    data = validate(X, y)
    # In two decimals some rows are not told apart by three columns.
    assert n_copies * 0.97 <= round(data.copied_share * len(X)) <= n_copies


def test_only_the_copies_among_equal_rows_are_records() -> None:
    X = zero_inflated(1500)
    data = validate(np.vstack([X, X]), RNG.integers(0, 2, 3000))
    amounts = X[:, 0] > 0
    records = data.records
    assert (records[:1500][amounts] == records[1500:][amounts]).all()
    assert len(set(records[np.tile(~amounts, 2)])) == 2 * (~amounts).sum()


@pytest.mark.parametrize("offset", range(6))
def test_blocks_of_few_distinct_rows_have_no_copies(offset: int) -> None:
    # Of four distinct rows the hash may choose none to look at.
    X = RNG.integers(0, 2, (3000, 2)) + float(offset)
    share, records = copies_in_blocks(
        ArrayBlocks(X, RNG.integers(0, 2, 3000), 2, block_rows=700), np.ones(2, dtype=bool)
    )
    assert share > 0.99 or share == 0  # all of a value are seen, or none
    assert records is None


def test_huge_values_are_compared() -> None:
    X = np.array([[1.7e308, 1.0], [-1.7e308, 2.0], [1.7e308, 1.0], [0, 3.0]] * 10)
    assert validate(X, np.arange(40) % 2).n_duplicate_rows == 37


def test_a_noisy_point_mass_stays_in_the_ceiling() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    mass = rng.random(600) < 0.045
    X[mass] = 0
    y = np.where(mass, rng.integers(0, 2, 600), X[:, 0] > 0)
    result = estimate(X, y, effort="fast", n_jobs=1)
    assert result.ceiling > 0.0225
    assert not any("copies" in note for note in result.notes)
