"""The order in which columns are given does not show, but in the names of columns."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayesfloor as bf
from bayesfloor.floor.result import FloorResult
from bayesfloor.rows.block_dataset import block_digest
from bayesfloor.rows.blocks import ArrayBlocks
from bayesfloor.rows.keys import column_order

FAST: dict[str, Any] = {"effort": "fast", "n_jobs": 1}


@pytest.fixture(autouse=True)
def learners(use_learners) -> None:
    """Those that draw columns at random, and those whose sums run over columns."""
    use_learners("quadratic", "trees", "neighbours")


@pytest.fixture(scope="module")
def sample() -> tuple[np.ndarray, np.ndarray]:
    """Columns of many kinds: equal ones, a constant one, and balanced ones that are permutations of each other."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 240)
    X = rng.normal(size=(240, 3)) + y[:, None] * [1.5, 0.5, 0.0]
    balanced = np.arange(240) % 2
    return np.column_stack([X, balanced, rng.permutation(balanced), X[:, 0], np.full(240, 7.0), y + balanced]), y


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """A table of categories, dates, texts of two values, and missing values."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 200)
    size = np.where(rng.random(200) < 0.1, np.nan, rng.normal(size=200) + y)
    return pd.DataFrame(
        {
            "size": size,
            "colour": np.where(rng.random(200) < 0.2, None, rng.choice(["red", "green", "blue"], 200)),
            "seen": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 200) + 100 * y, unit="D"),
            "smokes": rng.choice(["yes", "no"], 200),
            "owns": rng.choice(["yes", "no"], 200),
            "label": np.where(y, "ill", "well"),
        }
    )


def assert_same(found: FloorResult, expected: FloorResult) -> None:
    def near(value: Any) -> Any:
        return pytest.approx(value, abs=1e-9, nan_ok=True)

    assert found.floor == near(expected.floor)
    assert vars(found.interval) == near(vars(expected.interval))
    assert found.ceiling == near(expected.ceiling)
    assert found.evidence == near(expected.evidence)
    assert [figure.value for figure in found.estimates] == near([figure.value for figure in expected.estimates])
    np.testing.assert_allclose(found.posterior, expected.posterior, atol=1e-9)


@pytest.mark.parametrize("groups", [None, np.arange(240) // 2], ids=["rows", "groups"])
def test_columns_of_arrays(sample, groups) -> None:
    X, y = sample
    expected = bf.estimate(X, y, groups=groups, **FAST)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(X.shape[1])
        assert_same(bf.estimate(X[:, order], y, groups=groups, **FAST), expected)
    turned = bf.estimate(X[::-1, ::-1], 2 - y[::-1], groups=None if groups is None else groups[::-1], **FAST)
    assert turned.floor == pytest.approx(expected.floor, abs=1e-9), "rows and classes in another order besides"


def test_columns_with_missing_values_and_copies(sample) -> None:
    X, y = sample
    gaps = np.where(np.random.default_rng(2).random(X.shape) < 0.05, np.nan, X)
    rows = np.append(np.arange(240), np.arange(40))  # copies
    expected = bf.estimate(gaps[rows], y[rows], **FAST)
    assert expected.settings["rows"] == 240
    order = np.random.default_rng(3).permutation(X.shape[1])
    assert_same(bf.estimate(gaps[rows][:, order], y[rows], **FAST), expected)


@pytest.mark.usefixtures("whole_library")
def test_all_learners(sample) -> None:
    X, y = sample
    assert_same(bf.estimate(X[:, ::-1], y, **FAST), bf.estimate(X, y, **FAST))


@pytest.mark.parametrize("groups", [None, "who"])
def test_columns_of_frames_and_files(frame, groups, tmp_path: Path) -> None:
    frame = frame.assign(who=[f"p{i // 2}" for i in range(200)]) if groups else frame
    expected = bf.estimate(frame, target="label", groups=groups, **FAST)
    turned = frame[frame.columns[::-1]]
    assert_same(bf.estimate(turned, target="label", groups=groups, **FAST), expected)
    turned.to_csv(tmp_path / "turned.csv", index=False)
    frame.to_csv(tmp_path / "given.csv", index=False)
    read = bf.estimate(tmp_path / "given.csv", target="label", groups=groups, **FAST)
    assert_same(bf.estimate(tmp_path / "turned.csv", target="label", groups=groups, **FAST), read)


def test_columns_of_large_tables(monkeypatch) -> None:
    """Forests of many rows outside the sample, too."""
    monkeypatch.setattr("bayesfloor.library.forest._FEWEST", 500)
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 3000)
    X = rng.normal(size=(3000, 7)) + y[:, None] * [1, 0.5, 0, 0, 0, 0, 0]
    X[:, 4:6], X[:, 6] = X[:, 4:6].round(), 1.0
    run = bf.Run(sample_rows=400)
    expected = bf.estimate(X, y, run=run, **FAST)
    assert any("forests" in note for note in expected.notes)
    order = rng.permutation(7)
    assert_same(bf.estimate(X[:, order], y, run=run, **FAST), expected)


def test_the_users_classifiers_see_columns_where_they_are(sample) -> None:
    X, y = sample
    first = make_pipeline(ColumnTransformer([("first", StandardScaler(), [0])]), LogisticRegression())
    X = X[:, [0, 1, 2, 4]]
    alone = np.column_stack([X[:, 0], np.random.default_rng(5).normal(size=(240, 3))])
    for run in (bf.Run(), bf.Run(sample_rows=150)):
        error = {
            name: next(
                one.error
                for one in bf.estimate(rows, y, classifiers={"mine": first}, run=run, **FAST).learners
                if one.name == "mine"
            )
            for name, rows in (("first", X), ("last", X[:, ::-1]), ("alone", alone))
        }
        assert error["first"] < error["last"] - 0.1
        assert abs(error["alone"] - error["first"]) < 0.1


def test_values_of_columns_are_named_rightly(frame) -> None:
    expected = bf.column_values(frame, "label", **FAST)
    turned = bf.column_values(frame[frame.columns[::-1]], "label", **FAST)
    assert {column.name for column in turned.columns} == set(frame.columns) - {"label"}
    for column in expected.columns:
        other = turned[column.name]
        assert set(other.features) == set(column.features)
        assert other.verdict == column.verdict
        for value in ("loss", "log_loss", "alone", "gain"):
            assert getattr(other, value) == pytest.approx(getattr(column, value), abs=1e-9)
    assert max(expected.columns, key=lambda column: column.gain).name in ("size", "seen")


def test_comparisons_of_columns(sample) -> None:
    X, y = sample
    expected = bf.compare_features(X[:, 1:3], X, y, **FAST)
    turned = bf.compare_features(X[:, 2:0:-1], X[:, ::-1], y, **FAST)
    assert turned.contains
    assert turned.gain == pytest.approx(expected.gain, abs=1e-9)
    assert_same(turned.old, expected.old)
    assert_same(turned.new, expected.new)


# --- the order itself ---------------------------------------------------------------------------------------


def test_the_order_depends_on_neither_rows_nor_columns_nor_classes(sample) -> None:
    X, y = sample
    expected = X[:, column_order(X, y)]
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows, columns, classes = rng.permutation(240), rng.permutation(X.shape[1]), rng.permutation(3)
        turned = X[np.ix_(rows, columns)]
        np.testing.assert_array_equal(turned[:, column_order(turned, classes[y[rows]])], expected[rows])


def test_columns_of_equal_values_are_told_apart_by_labels_and_by_other_columns() -> None:
    rng = np.random.default_rng(6)
    balanced = np.array([rng.permutation(np.arange(60) % 2) for _ in range(8)], dtype=float).T
    y = rng.integers(0, 2, 60)
    for labels in (y, np.arange(60) % 2):
        for X in (balanced, np.column_stack([balanced, np.arange(60.0)]), np.eye(6)[rng.integers(0, 6, 60)]):
            order = rng.permutation(X.shape[1])
            found = X[:, order][:, column_order(X[:, order], labels)]
            np.testing.assert_array_equal(found, X[:, column_order(X, labels)])


def test_a_symmetry_of_the_whole_table_does_no_harm() -> None:
    """Two columns that nothing tells apart: whichever comes first, the rows are the same in another order."""
    cells = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    X = np.repeat(cells, 20, axis=0)
    y = (np.arange(80) % 20 < np.repeat([5, 5, 15, 3], 20)).astype(int)
    expected = bf.estimate(X, y, **FAST)
    turned = bf.estimate(X[:, [1, 0, 2]], y, **FAST)
    assert turned.floor == pytest.approx(expected.floor, abs=1e-9)
    assert turned.ceiling == pytest.approx(expected.ceiling, abs=1e-9)


def test_the_digest_of_blocks_does_not_depend_on_the_order_of_columns(sample) -> None:
    X, y = sample

    def digest(X: np.ndarray, y: np.ndarray, rows: int = 240) -> int:
        return block_digest(ArrayBlocks(X, y, 3, block_rows=rows), np.ones(X.shape[1], dtype=bool))

    assert digest(X, y) == digest(np.ascontiguousarray(X[:, ::-1]), y, 50) == digest(X[::-1].copy(), y[::-1].copy())
    other = X.copy()
    other[0, 0], other[1, 0] = X[1, 0], X[0, 0]
    assert (digest(other, y) == digest(X, y)) == (y[0] == y[1])
    assert digest(X, (y + 1) % 3) != digest(X, y)
