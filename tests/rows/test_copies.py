"""Copies of one record, and rows that coincide by chance."""

import numpy as np
import pytest

from bayesfloor import FloorResult, estimate
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


# --- rows that differ by rounding alone ---------------------------------------------------------------------

ROUNDED = {
    "1e-12": lambda X: X * (1 + 1e-12 * RNG.normal(size=X.shape)),
    "1e-9": lambda X: X * (1 + 1e-9 * RNG.normal(size=X.shape)),
    "1e-6": lambda X: X * (1 + 1e-6 * RNG.normal(size=X.shape)),
    "float32": lambda X: X.astype(np.float32).astype(np.float64),
    "1e-7 added": lambda X: X + 1e-7 * RNG.normal(size=X.shape),
    "six digits": lambda X: np.array([[float(f"{value:.6g}") for value in row] for row in X]),
}
TABLES = {
    "one column": lambda n: normal(n, 1),
    "two columns": lambda n: normal(n, 2) + 3,
    "784 columns": lambda n: normal(n, 784),
    "categories": lambda n: np.hstack([RNG.integers(0, 5, (n, 6)), normal(n, 2)]),
    "marks of missing values": lambda n: np.hstack([X := np.where(RNG.random((n, 3)) < 0.3, 0, normal(n, 3)), X == 0]),
    "far from 0": lambda n: 100 + normal(n, 3),
    "heavy tails": lambda n: RNG.standard_cauchy((n, 2)),
    "three decimals": lambda n: np.round(normal(n, 3), 3),
    "large numbers": lambda n: 1e20 * normal(n, 2),
    "a constant": lambda n: np.hstack([np.full((n, 1), 0.7 / 3), normal(n, 2)]),
    "times": lambda n: np.hstack([1.7e9 + RNG.integers(0, 31_536_000, (n, 1)), normal(n, 2)]),
}


def noted_copies(result: FloorResult) -> int:
    """Rows that the result says were left out as copies."""
    noted = [note for note in result.notes if "copies" in note]
    return int(noted[0].split()[0]) if noted else 0


@pytest.mark.parametrize("rounding", ROUNDED)
@pytest.mark.parametrize("table", TABLES)
def test_rows_that_differ_by_rounding_are_copies_as_equal_rows_are(table: str, rounding: str) -> None:
    X, y = TABLES[table](150), np.tile(RNG.integers(0, 2, 150), 2)
    near, exact = (validate(np.vstack([X, again]), y).copied_share for again in (ROUNDED[rounding](X), X))
    assert near == pytest.approx(exact, abs=0.01)
    assert exact > 0.45


@pytest.mark.parametrize("rounding", ["1e-9", "float32"])
def test_the_floor_counts_records_once_whatever_their_order(rounding: str) -> None:
    X = normal(150, 2)
    y = (X[:, 0] + RNG.normal(size=150) > 0).astype(int)
    X, y = np.vstack([X, ROUNDED[rounding](X)]), np.concatenate([y, y])
    y[170:180] = 1 - y[170:180]  # copies may disagree
    order = RNG.permutation(300)
    here, there = (estimate(X[rows], y[rows], effort="fast", n_jobs=1) for rows in (np.arange(300), order))
    assert noted_copies(here) == 150
    assert "150 of 300 rows (50.0%) are copies of another, exact or up to rounding" in here.notes[0]
    assert (here.floor, here.interval, here.ceiling) == (there.floor, there.interval, there.ceiling)


@pytest.mark.parametrize("rounding", ROUNDED)
@pytest.mark.parametrize("share", [0.1, 0.4])
def test_some_of_the_rows_exported_again_are_found(share: float, rounding: str) -> None:
    X, n_copies = normal(400, 5), int(share * 400)
    X = np.vstack([X, ROUNDED[rounding](X[:n_copies])])
    data = validate(X, RNG.integers(0, 2, len(X)))  # labels of copies may differ
    assert round(data.copied_share * len(X)) == n_copies


def test_versions_and_exact_copies_of_a_record_are_one_record() -> None:
    X = normal(150, 4)
    versions = [ROUNDED[rounding](X) for rounding in ("1e-12", "1e-9", "1e-6")]
    data = validate(np.vstack([X, X, *versions]), np.tile(RNG.integers(0, 2, 150), 5))
    assert (data.records.reshape(5, 150) == data.records[:150]).all()
    assert len(set(data.records)) == 150


def seconds(n: int, days: int) -> np.ndarray:
    return 1.7e9 + np.sort(RNG.integers(0, days * 86_400, (n, 1)), axis=0)


def clusters(n: int, size: int, d: int) -> np.ndarray:
    """Repeated measurements: each of a cluster of width 1e-3."""
    return np.repeat(normal(n // size, d), size, axis=0) + 1e-3 * (RNG.random((n // size * size, d)) - 0.5)


def half_in_float32(X: np.ndarray) -> np.ndarray:
    return np.where(RNG.random((len(X), 1)) < 0.5, X, X.astype(np.float32))


NO_COPIES = {
    "normal": lambda n: normal(n, 1),
    "normal, two columns": lambda n: normal(n, 2),
    "very skewed": lambda n: np.exp(10 * normal(n, 1)),
    "heavy tails": lambda n: RNG.standard_cauchy((n, 1)),
    "six decimals": lambda n: np.round(normal(n, 1), 6),
    "three decimals": lambda n: np.round(normal(n, 1), 3),
    "seconds of a day": lambda n: seconds(n, 1),
    "seconds of three years": lambda n: seconds(n, 1000),
    "times of a day": lambda n: seconds(n, 1) + RNG.random((n, 1)),
    "times of users, one hour": lambda n: np.hstack(
        [RNG.integers(0, n // 3, (n, 1)), 1.7e9 + 3600 * RNG.random((n, 1))]
    ),
    "times of 20 sessions": lambda n: 1.7e9 + RNG.integers(0, 20, (n, 1)) * 259_200 + 60 * RNG.random((n, 1)),
    "prices": lambda n: RNG.integers(1, 999, (n, 1)) * 1000.0 - RNG.integers(0, 2, (n, 1)),
    "prices in cents": lambda n: RNG.integers(100, 999, (n, 1)) - RNG.integers(0, 2, (n, 1)) / 100,
    "identifiers": lambda n: 10_000_000.0 + np.arange(n)[:, None],
    "a column and flags": lambda n: np.hstack([normal(n, 1), RNG.integers(0, 2, (n, 4))]),
    "points of a sphere": lambda n: (X := normal(n, 3)) / np.linalg.norm(X, axis=1, keepdims=True),
    "a random walk": lambda n: np.cumsum(normal(n, 2), axis=0),
    "a smooth curve": lambda n: np.stack([np.sin(t := np.linspace(0, 100, n)), np.cos(1.7 * t)], axis=1),
    "repeated measurements": lambda n: clusters(n, 10, 1),
    "repeated measurements, three columns": lambda n: clusters(n, 3, 3),
    "two sources": lambda n: half_in_float32(RNG.integers(0, 10, (n, 3)) / 10),
    "two sources, two decimals": lambda n: half_in_float32(np.round(normal(n, 1), 2)),
    "a mark of missing values": lambda n: np.where(RNG.random((n, 2)) < 0.1, 1e30, normal(n, 2)),
}


LARGE = ["normal", "six decimals", "seconds of a day", "times of 20 sessions"]


@pytest.mark.parametrize(
    ("name", "n"), [*((name, n) for name in NO_COPIES for n in (300, 3_000)), *((name, 100_000) for name in LARGE)]
)
def test_rows_that_are_close_by_chance_are_no_copies(name: str, n: int) -> None:
    X = NO_COPIES[name](n)
    data = validate(X, np.arange(len(X)) % 2)
    assert round(data.copied_share * len(X)) <= data.n_duplicate_rows  # prices that are equal may be taken for copies


def test_near_copies_are_found_whatever_the_order_and_the_blocks() -> None:
    X = normal(40_000, 3)
    X, y = np.vstack([X, ROUNDED["float32"](X)]), np.tile(RNG.integers(0, 2, 40_000), 2)
    order, varies = RNG.permutation(len(X)), np.ones(3, dtype=bool)
    _, here = copies_in_blocks(ArrayBlocks(X, y, 2), varies)
    _, there = copies_in_blocks(ArrayBlocks(X[order], y[order], 2, threads=2, block_rows=7_000), varies)
    assert (here[:40_000] == here[40_000:]).mean() > 0.999
    assert len(np.unique(here)) == len(np.unique(there)) == pytest.approx(40_000, rel=1e-3)
    assert len(np.unique(np.stack([here[order], there]), axis=1).T) == len(np.unique(here))


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
