"""Two sets of columns of the same rows."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

import bayesfloor as bf

FAST = {"effort": "fast", "n_jobs": 1}


def rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two Gaussian columns, shifted by 1 and 2: floors Phi(-1/2), Phi(-1) and Phi(-sqrt(5)/2)."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return np.column_stack([rng.normal(size=n) + y, rng.normal(size=n) + 2 * y, rng.normal(size=n)]), y


@pytest.mark.usefixtures("two_learners")  # which are right for Gaussian columns
def test_a_new_column_lowers_the_floor_by_what_is_known() -> None:
    X, y = rows(800, 0)
    found = bf.compare_features(X[:, :1], X[:, :2], y, **FAST)
    assert found.verdict == "lower"
    assert found.contains
    assert ndtr(-0.5) - ndtr(-np.sqrt(5) / 2) in found.interval
    assert "lower the floor by" in found.sentence
    assert "Paired on the same rows" in str(found)
    back = bf.compare_features(X[:, :2], X[:, :1], y, **FAST)
    assert back.verdict == "higher"
    assert not back.contains
    assert back.gain == pytest.approx(-found.gain, abs=1e-9), "same folds, whichever comes first"


@pytest.mark.usefixtures("two_learners")
def test_a_column_of_noise_does_not() -> None:
    X, y = rows(800, 1)
    found = bf.compare_features(X[:, :2], X, y, **FAST)
    assert found.verdict == "no lower"
    assert found.interval.low == 0
    assert found.interval.high < 0.02
    same = bf.compare_features(X, X, y, **FAST)
    assert same.gain == 0
    assert same.discordant == 0
    read = json.loads(found.to_json())
    assert read["verdict"] == "no lower"
    assert read["new"]["floor"] == found.new.floor


@pytest.mark.usefixtures("two_learners")
def test_frames_copies_and_groups() -> None:
    X, y = rows(120, 2)
    old = pd.DataFrame({"a": X[:, 0], "colour": np.where(X[:, 2] > 0, "red", "blue")})
    new = old.assign(b=X[:, 1])
    found = bf.compare_features(old, new, np.where(y, "yes", "no"), groups=np.arange(120) // 2, **FAST)
    assert found.contains
    assert found.new.classes == ("no", "yes")
    twice = bf.compare_features(np.tile(X[:, :1], (2, 1)), np.tile(X, (2, 1)), np.tile(y, 2), **FAST)
    assert twice.old.settings["rows"] == twice.new.settings["rows"] == 120, "copies count once, in both"


@pytest.mark.usefixtures("two_learners")
def test_bad_input() -> None:
    X, y = rows(60, 0)
    with pytest.raises(bf.DataError, match="X_old: X has 40 rows but y has 60 labels"):
        bf.compare_features(X[:40], X, y, **FAST)
    with pytest.raises(bf.ParameterError, match="needs arrays or frames"):
        bf.compare_features("a.csv", X, y, **FAST)
    with pytest.raises(bf.DataError, match="X_new: X contains 1 infinity"):
        bf.compare_features(X, np.where(np.arange(180).reshape(60, 3) == 5, np.inf, X), y, **FAST)


@pytest.mark.usefixtures("two_learners")
def test_missing_values_and_labels() -> None:
    X, y = rows(120, 0)
    gaps, labels = X.copy(), y.astype(float)
    gaps[::6, 1], labels[5] = np.nan, np.nan
    arrays = bf.compare_features(gaps[:, :1], gaps, labels, **FAST)
    frames = bf.compare_features(pd.DataFrame(gaps[:, :1]), pd.DataFrame(gaps), labels, **FAST)
    assert (arrays.gain, arrays.interval) == (frames.gain, frames.interval)
    assert "1 of 120 rows without a label dropped" in arrays.new.notes
