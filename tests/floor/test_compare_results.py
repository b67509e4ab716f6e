"""Two results side by side."""

import json
from dataclasses import replace

import numpy as np
import pytest

import bayesfloor as bf
from bayesfloor.floor._compare_results import change_verdict
from bayesfloor.utils.intervals import ConfidenceInterval


def scored(shift: float, n: int, seed: int) -> bf.FloorResult:
    problem = bf.problems.get("gaussians_4d", shift=shift)
    X, y = problem.sample(n, random_state=seed)
    return bf.from_scores(problem.posterior(X), y)


def test_results_without_common_rows_are_independent() -> None:
    before, after = scored(1, 1500, 0), scored(3, 1500, 1)
    found = bf.compare_results(before, after)
    assert found.verdict == "lower"
    assert found.rows == "independent"
    assert found.change == after.floor - before.floor
    arms = (after.floor - after.interval.low, before.interval.high - before.floor)
    assert found.change - found.interval.low == pytest.approx(np.hypot(*arms)), "the arms, squared and added"
    assert "treated as independent" in str(found)
    assert bf.compare_results(after, before).verdict == "higher"


def test_common_rows_are_paired() -> None:
    problem = bf.problems.get("gaussians_4d")
    X, y = problem.sample(2000, random_state=0)
    P = problem.posterior(X)
    first = bf.from_scores(P, y)
    second = bf.from_scores(np.clip(P + np.random.default_rng(0).normal(0, 0.02, P.shape), 0.001, 0.999), y)
    paired = bf.compare_results(first, second)
    alone = bf.compare_results(first, replace(second, posterior=None, labels=None))
    assert (paired.rows, alone.rows) == ("common", "independent")
    assert paired.interval.high - paired.interval.low < (alone.interval.high - alone.interval.low) / 2
    assert "row by row" in paired.basis
    other = bf.compare_results(first, replace(second, row_numbers=np.arange(2000) + 1))
    assert other.rows == "independent", "other rows of the file"


def test_saved_results(tmp_path) -> None:
    before, after = (bf.FloorResult.from_json(scored(2, 400, seed).to_json()) for seed in (0, 1))
    found = bf.compare_results(before, after)
    assert found.rows == "independent"
    assert json.loads(found.to_json())["verdict"] == found.verdict
    wide = bf.compare_results(before, after, confidence_level=0.99)
    assert wide.interval.low < found.interval.low
    assert wide.interval.high > found.interval.high


def test_the_interval_holds_no_change() -> None:
    n = 30
    held = [0 in bf.compare_results(scored(2, 300, seed), scored(2, 300, 500 + seed)).interval for seed in range(n)]
    assert np.mean(held) > 0.95 - 4 * np.sqrt(0.95 * 0.05 / n)


def test_what_else_differs_is_noted() -> None:
    before = scored(2, 400, 0)
    renamed = replace(before, classes=("a", "b"))
    assert "the classes are not the same" in bf.compare_results(before, renamed).notes[0]
    shares = replace(before, priors=(0.8, 0.2))
    assert "other shares" in bf.compare_results(before, shares).notes[0]
    versions = replace(before, settings={**before.settings, "bayesfloor": "0.0.1"})
    assert "version of bayesfloor" in bf.compare_results(before, versions).notes[-1]
    with pytest.raises(TypeError, match="after must be a FloorResult"):
        bf.compare_results(before, 0.1)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(-0.1, -0.01, "lower"), (0.01, 0.1, "higher"), (-0.01, 0.01, "unmoved"), (-0.1, 0.01, "cannot tell")],
)
def test_verdicts(low: float, high: float, verdict: str) -> None:
    assert change_verdict(ConfidenceInterval(low, high, 0.95)) == verdict
