"""The gate: exit statuses by hand, what is allowed, JUnit, muted doubts, and models that predict by themselves."""

import json
import unittest
from dataclasses import replace
from itertools import product
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

from bayesfloor import DataError, DataTypeError, FloorResult, Gate, ParameterError, compare, from_scores, gate, problems
from bayesfloor.floor.doubts import Doubt
from bayesfloor.testing import assert_at_floor
from bayesfloor.utils.intervals import ConfidenceInterval

PROBLEM = problems.get("gaussians_4d")
FALLING = Doubt("still-falling", "caution", {}, "the curve still falls")


@pytest.fixture(scope="module")
def result() -> FloorResult:
    X, y = PROBLEM.sample(600, random_state=0)
    found = from_scores(PROBLEM.posterior(X), y, n_jobs=1)
    pairs = tuple(tuple(share * 0.12 / found.floor for share in row) for row in found.pair_error)
    return replace(found, floor=0.12, pair_error=pairs, interval=ConfidenceInterval(0.115, 0.125, 0.95), doubts=())


@pytest.mark.parametrize(
    ("error", "n_test", "verdict", "exit_code"),
    [
        (0.121, 20_000, "at the floor", 0),
        (0.130, 20_000, "room", 0),  # surely above the floor, and surely by less than two points
        (0.200, 20_000, "room", 3),
        (0.141, 20_000, "room", 3),  # surely above the floor, by more or less than two points
        (0.121, 900, "at the floor", 4),  # near enough for `compare`, not for two points
        (0.121, 100, "cannot tell", 4),
        (0.050, 20_000, "below the floor", 5),
    ],
)
def test_exit_statuses(result, error: float, n_test: int, verdict: str, exit_code: int) -> None:
    found = gate(result, error=error, n_test=n_test, within=0.02)
    assert (found.comparison.verdict, found.exit_code, found.passed) == (verdict, exit_code, exit_code == 0)
    low, high = found.comparison.excess_interval.low, found.comparison.excess_interval.high
    assert verdict == (
        "below the floor" if high < 0 else "room" if low > 0 else "at the floor" if high <= 0.03 else "cannot tell"
    )
    assert found.passed == (0 <= high <= 0.02)
    assert json.loads(json.dumps(found.to_dict()))["exit_code"] == exit_code
    assert found.sentence in str(found)
    assert str(found).startswith("passed" if found.passed else "failed")


def test_it_is_the_comparison_of_compare(result) -> None:
    assert gate(result, error=0.13, n_test=500, within=0.05) == Gate(
        compare(result, error=0.13, n_test=500, within=0.05)
    )


def test_compare_and_gate_have_one_verdict(result) -> None:
    """Whatever is allowed: it decides what passes, not what was found."""
    seen = set()
    for floor, half, doubts, error, n_test, within in product(
        (0.0, 0.03, 0.12, 0.3),
        (0.0, 0.01, 0.06),
        ((), (FALLING,)),
        (0.0, 0.02, 0.05, 0.11, 0.125, 0.14, 0.2, 0.31, 0.5),
        (50, 400, 3_000, 100_000),
        (0.005, 0.02, 0.1, None),
    ):
        interval = ConfidenceInterval(max(0.0, floor - half), floor + half, 0.95)
        known = replace(result, floor=floor, interval=interval, doubts=doubts)
        compared = compare(known, error=error, n_test=n_test)
        found = gate(known, error=error, n_test=n_test, within=within)
        verdict, high = compared.verdict, compared.excess_interval.high
        assert (found.comparison.verdict, found.comparison.excess_interval) == (verdict, compared.excess_interval)
        allowed = max(0.02, 0.25 * floor) if within is None else within
        assert found.passed == (verdict != "below the floor" and not compared.doubts and high <= allowed)
        codes = {"room": 3, "at the floor": 4, "cannot tell": 4, "below the floor": 5}
        assert found.exit_code == (0 if found.passed else codes[verdict])
        if within is None:  # then passing means what compare means by "at the floor", or a gap that is surely smaller
            assert found.passed or verdict != "at the floor"
            assert not found.passed or verdict in ("at the floor", "room")
        kind = ElementTree.fromstring(found.to_junit()).find("testsuite/testcase/failure")
        assert found.passed if kind is None else kind.get("type") == verdict
        assert found.to_dict()["comparison"]["verdict"] == verdict
        assert compared.sentence in found.sentence
        seen.add((verdict, found.passed))
    assert len(seen) == 7, "every verdict, passed and not; none below the floor passes"


def test_what_is_allowed_is_said(result) -> None:
    for error, said in (
        (0.13, "shown to be within the 2 points allowed"),
        (0.2, "shown to be more than the 2 points allowed"),
        (0.141, "not shown to be within the 2 points allowed"),
    ):
        found = gate(result, error=error, n_test=20_000, within=0.02)
        assert f"The gap is {said}." in found.sentence
        assert f"; {said}\n" in str(found)


def test_doubts_can_be_muted(result) -> None:
    doubtful = replace(result, doubts=(FALLING, Doubt("rare-class", "note", {}, "rare")))
    figures = {"error": 0.121, "n_test": 20_000}
    assert gate(doubtful, **figures).exit_code == 4
    for ignore in ("still-falling", ["still-falling"], "rare-class, still-falling"):
        assert gate(doubtful, **figures, ignore=ignore).exit_code == 0
    assert gate(doubtful.mute(["still-falling"]), **figures).exit_code == 0
    for bad in (["still-fallling"], 3, [None]):
        with pytest.raises(ParameterError, match="code"):
            gate(doubtful, **figures, ignore=bad)
    muted = doubtful.mute("still-falling")
    assert ([d.code for d in muted.doubts], [d.code for d in muted.muted]) == (["rare-class"], ["still-falling"])
    assert "- muted: still-falling" in str(muted)
    assert FloorResult.from_json(muted.to_json()).muted == muted.muted
    assert "still falls" not in compare(muted, **figures).sentence


def test_signs_of_the_model_itself_can_be_muted(result) -> None:
    wide = replace(result, interval=ConfidenceInterval(0.02, 0.125, 0.95))
    figures = {"error": 0.05, "n_test": 60_000, "within": 0.5}
    assert [doubt.code for doubt in compare(wide, **figures).doubts] == ["model-below-floor"]
    assert gate(wide, **figures, ignore="model-below-floor").passed


@pytest.mark.parametrize("within", [0, -0.1, 1, 2, float("nan"), "much", True])
def test_distances_that_are_none(result, within) -> None:
    with pytest.raises(ParameterError, match="within must be a share"):
        gate(result, error=0.1, n_test=50, within=within)


def test_junit(result) -> None:
    failed = gate(result, error=0.2, n_test=9999, within=0.02)
    suites = ElementTree.fromstring(failed.to_junit("a <b> & \x1b \ud800 c", 1.5))
    assert (suites.tag, suites.get("failures"), suites.get("tests")) == ("testsuites", "1", "1")
    case = suites.find("testsuite/testcase")
    assert case.get("name") == "a <b> & ? ? c (within 0.02)"
    assert case.find("failure").get("type") == "room"
    assert "Room of 8.0 points" in case.find("failure").text
    passed = ElementTree.fromstring(gate(result, error=0.12, n_test=99_999).to_junit())
    assert (passed.get("failures"), passed.find("testsuite/testcase/failure")) == ("0", None)


def test_assertions_for_tests(result) -> None:
    assert_at_floor(result, error=0.12, n_test=20_000)
    with pytest.raises(AssertionError, match=r"Room of 8\.0 points"):
        assert_at_floor(result, error=0.2, n_test=20_000)
    with pytest.raises(AssertionError, match="Below the floor"):
        assert_at_floor(result, error=0.02, n_test=20_000, cannot_tell="pass")
    unclear = {"error": 0.12, "n_test": 50}
    with pytest.raises(AssertionError, match="Cannot tell"):
        assert_at_floor(result, **unclear)
    with pytest.raises(unittest.SkipTest, match="Cannot tell"):
        assert_at_floor(result, **unclear, cannot_tell="skip")
    assert_at_floor(result, **unclear, cannot_tell="pass")
    with pytest.raises(ParameterError, match="cannot_tell must be"):
        assert_at_floor(result, **unclear, cannot_tell="maybe")


# --- a fitted model -----------------------------------------------------------------------------------------


def test_a_fitted_model_predicts_by_itself(result) -> None:
    X, y = PROBLEM.sample(1000, random_state=1)
    model = LogisticRegression().fit(X[:500], y[:500])
    expected = compare(result, y_true=y[500:], y_pred=model.predict(X[500:]))
    assert compare(result, model=model, X=X[500:], y=y[500:]) == expected
    frame = pd.DataFrame(X).add_prefix("x")
    named = LogisticRegression().fit(frame[:500], y[:500])
    test = frame[500:].assign(label=y[500:])
    assert compare(result, model=named, X=test, y="label") == expected
    polars = pl.DataFrame(test)
    assert compare(result, model=Model(lambda rows: model.predict(rows.to_numpy())), X=polars, y="label") == expected
    assert gate(result, model=model, X=X[500:], y=y[500:]).comparison.error == expected.error


class Model:
    def __init__(self, predict) -> None:
        self.predict = predict


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"model": Model(len), "y": [0]}, ParameterError, "X is missing"),
        ({"X": [[1]], "y": [0]}, ParameterError, "model is missing"),
        ({"model": "a model", "X": [[1]], "y": [0]}, DataTypeError, "method predict.*got str"),
        ({"model": Model(lambda X: 1 / 0), "X": [[1]], "y": [0]}, DataError, "could not predict.*ZeroDivisionError"),
        ({"model": Model(lambda X: np.ones((1, 2))), "X": [[1]], "y": [0]}, DataError, r"one label per row.*\(1, 2\)"),
        ({"model": Model(lambda X: [7]), "X": [[1]], "y": [0]}, DataError, "y_pred has labels .* 7"),
        ({"model": Model(lambda X: [0]), "X": [[1]], "y": "label"}, ParameterError, "names no column"),
        ({"model": Model(lambda X: [0]), "X": [[1]], "y": [0], "error": 0.1}, ParameterError, "give one of error="),
    ],
)
def test_models_that_cannot_be_compared(result, arguments: dict, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        compare(result, **arguments)
