"""The lowest expected cost: known answers, the plain error as its case, and what is certified."""

import numpy as np
import pandas as pd
import pytest

import bayesfloor as bf
from bayesfloor import ParameterError, problems
from bayesfloor.floor.costs import check_costs, lowest_cost
from bayesfloor.problems import best_values
from known_predictions import posterior, predictions

TWO = [[0.0, 5.0], [1.0, 0.0], [0.4, 0.4]]
THREE = [[0.0, 1.0, 10.0], [1.0, 0.0, 4.0], [2.0, 2.0, 0.0]]


@pytest.mark.parametrize(
    ("name", "table"), [("gaussians_4d", TWO), ("unequal_gaussians", TWO), ("rayleigh_10d", THREE)]
)
def test_estimates_are_near_the_exact_cost(name, table) -> None:
    P = posterior(name)
    matrix = check_costs(table, range(P.shape[1]))
    exact = best_values.lowest_cost(P, matrix.table)
    best = matrix.table[(P @ matrix.table.T).argmin(axis=1)]
    spread = np.sqrt((P * best**2).sum(axis=1).mean() - exact**2)
    seeds, n = range(6), 2000
    found = [lowest_cost(matrix, predictions(name, n, seed), tuple(range(P.shape[1]))) for seed in seeds]
    assert abs(np.mean([one.floor for one in found]) - exact) <= 4 * spread / np.sqrt(n * len(seeds))
    assert all(one.interval.low <= one.floor <= one.interval.high for one in found)
    assert all(one.ceiling >= one.floor for one in found)


def test_costs_that_no_decision_avoids_are_paid_by_all() -> None:
    said = predictions("gaussians_4d", 1500, 0)
    plain, shifted = (lowest_cost(check_costs(t, [0, 1]), said, (0, 1)) for t in ([[0, 2], [1, 0]], [[3, 5], [4, 3]]))
    assert shifted.floor == pytest.approx(plain.floor + 3, abs=1e-9)
    assert shifted.ceiling == pytest.approx(plain.ceiling + 3, abs=1e-6)
    uneven = lowest_cost(check_costs([[0, 7], [1, 5]], [0, 1]), said, (0, 1))
    assert uneven.floor == pytest.approx(plain.floor + 5 * said.shares[1], abs=1e-9)
    assert uneven.interval.high - uneven.interval.low > plain.interval.high - plain.interval.low


@pytest.mark.parametrize("table", [[[0, 3], [3, 0]], TWO])
def test_the_ceiling_of_a_fixed_rule_holds(table) -> None:
    P = posterior("moons", 50_000)
    matrix = check_costs(table, [0, 1])
    true = float((P * matrix.table[matrix.rule.choose(P)]).sum(axis=1).mean())
    held = sum(lowest_cost(matrix, predictions("moons", 500, s), (0, 1)).ceiling >= true for s in range(20))
    assert held >= 16


def test_priors_change_costs() -> None:
    priors = np.array([0.9, 0.1])
    said = predictions("gaussians_4d", 4000, 1, priors=priors)
    P = posterior("gaussians_4d")
    weights = (priors / problems.get("gaussians_4d").priors)[None] * P
    total = weights.sum(axis=1)
    exact = float((total * ((weights / total[:, None]) @ np.array(TWO).T).min(axis=1)).mean())
    found = lowest_cost(check_costs(TWO, [0, 1]), said, (0, 1))
    assert exact in found.interval
    assert exact <= found.ceiling <= 0.4 + 1e-9
    assert found.constant_cost == pytest.approx(0.4)


def test_groups_of_unequal_size_have_a_ceiling() -> None:
    groups = np.repeat(np.arange(400), np.arange(400) % 7 + 1)[:1500]
    found = lowest_cost(check_costs(TWO, [0, 1]), predictions("moons", 1500, 0, groups=groups), (0, 1))
    plain = lowest_cost(check_costs(TWO, [0, 1]), predictions("moons", 1500, 0), (0, 1))
    assert found.ceiling >= plain.floor


def test_frames_are_matched_by_name() -> None:
    frame = pd.DataFrame({"no": [0.0, 1.0, 0.5], "yes": [9.0, 0.0, 0.5]}, index=["no", "yes", "ask"])
    matrix = check_costs(frame[["yes", "no"]].loc[["ask", "yes", "no"]], ["no", "yes"])
    np.testing.assert_array_equal(matrix.table, [[0, 9], [1, 0], [0.5, 0.5]])
    assert matrix.decisions == ("no", "yes", "ask")


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([[0, 1]], "got shape"),
        ([[0, 1, 2], [1, 0, 2]], "got shape"),
        ([[0, np.nan], [1, 0]], "finite"),
        ([[1, 2], [1, 2]], "nothing to choose"),
        ("cheap", "matrix of numbers"),
        (pd.DataFrame({"a": [0, 1], "b": [1, 0]}), "named like the classes"),
    ],
)
def test_what_is_no_matrix_of_costs(costs, message) -> None:
    with pytest.raises(ParameterError, match=message):
        check_costs(costs, ["no", "yes"])


def test_the_plain_error_is_a_case_of_it(parts_result) -> None:
    result = parts_result
    assert abs(result.cost.floor - result.floor) < 1e-9
    assert abs(result.cost.ceiling - result.ceiling) < 1e-9
    assert abs(result.cost.interval.low - result.interval.low) < 1e-9
    assert abs(result.cost.interval.high - result.interval.high) < 1e-9
    assert bf.FloorResult.from_json(result.to_json()).cost == result.cost
    assert "lowest cost" in str(result)


@pytest.mark.slow
@pytest.mark.parametrize("priors", [None, "balanced"])
def test_the_plain_error_is_a_case_of_it_with_three_classes(priors) -> None:
    X, y = problems.get("rayleigh_10d").sample(600, random_state=0)
    result = bf.estimate(X, y, effort="fast", n_jobs=1, priors=priors, costs=1 - np.eye(3))
    assert abs(result.cost.floor - result.floor) < 1e-9
    assert abs(result.cost.ceiling - result.ceiling) < 1e-9
    assert abs(result.cost.interval.high - result.interval.high) < 1e-9


@pytest.mark.slow
def test_the_plain_error_is_a_case_of_it_in_a_large_table() -> None:
    X, y = problems.get("gaussians_4d").sample(6000, random_state=0)
    result = bf.estimate(X, y, effort="fast", n_jobs=1, run=bf.Run(sample_rows=1000), costs=[[0, 1], [1, 0]])
    assert abs(result.cost.floor - min(result.floor, result.cost.ceiling)) < 1e-9
    assert result.metrics()["AUC"].value > 0.8
    with pytest.raises(bf.DataError, match="single rows"):
        result.by(0)
