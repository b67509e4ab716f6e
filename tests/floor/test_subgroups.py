"""Subgroups: known errors, simultaneous intervals, shrinking, and values as users give them."""

import numpy as np
import pandas as pd
import pytest

import bayesfloor as bf
from bayesfloor import DataError, ParameterError, problems
from bayesfloor.floor.curve import Curve
from bayesfloor.floor.rule import Evidence
from bayesfloor.floor.subgroups import RowFigures, _shrink, column_values, subgroups
from known_predictions import predictions


def _figures(said) -> RowFigures:
    evidence = Evidence.of(
        Curve.of(said.P, said.y, said.weights),
        n=said.n,
        n_features=said.n_features,
        n_classes=said.n_classes,
        majority=1 - said.shares.max(),
        shrunk_majority=1 - said.shrunk_shares.max(),
        ball=0.0,
        raw=None,
    )
    return RowFigures.of(said.P, said.y, said.weights, np.arange(said.n), evidence)


@pytest.mark.parametrize("n_groups", [4, 12])
def test_intervals_hold_together(n_groups) -> None:
    problem = problems.get("gaussians_4d")
    many = problem.sample(100_000, 5)[0]
    cuts = np.quantile(many[:, 0], np.linspace(0, 1, n_groups + 1)[1:-1])
    place = np.searchsorted(cuts, many[:, 0])
    exact = np.bincount(place, weights=1 - problem.posterior(many).max(axis=1)) / np.bincount(place)
    held = 0
    for seed in range(20):
        said = predictions("gaussians_4d", 1000, seed)
        codes = np.searchsorted(cuts, problem.sample(1000, seed)[0][:, 0])
        floor = float(said.weights @ (said.mean.argmax(axis=1) != said.y))
        found = subgroups(codes, "range", _figures(said), floor, 0.95)
        held += all(exact[group.name] in group.interval for group in found)
        assert sum(group.raw_floor * group.rows for group in found) / 1000 == pytest.approx(floor, abs=1e-9)
    assert held >= 16


def test_equal_figures_are_shrunk_and_others_are_not() -> None:
    rng = np.random.default_rng(0)
    n = np.full(12, 100)
    alike = rng.binomial(100, 0.2, (200, 12)) / 100
    shrunk = np.array([_shrink(raw, n.astype(float), n) for raw in alike])
    assert np.abs(shrunk - 0.2).mean() < 0.6 * np.abs(alike - 0.2).mean()
    true = np.linspace(0.01, 0.45, 12)
    apart = rng.binomial(100, true, (200, 12)) / 100
    shrunk = np.array([_shrink(raw, n.astype(float), n) for raw in apart])
    assert np.abs(shrunk - true).mean() <= 1.02 * np.abs(apart - true).mean()


def test_a_model_has_room_where_it_is_worse() -> None:
    said = predictions("gaussians_4d", 3000, 0)
    rng = np.random.default_rng(0)
    groups = np.where(rng.random(3000) < 0.5, "left", "right")
    best = said.mean.argmax(axis=1) != said.y
    wrong = np.where((groups == "right") & (rng.random(3000) < 0.3), ~best, best)
    found = subgroups(groups, "side", _figures(said), float(best.mean()), 0.95, model_wrong=wrong)
    assert 0 in found["left"].room_interval
    assert found["right"].room_interval.low > 0
    assert "room left for right" in found.sentence
    assert "model" in str(found)
    assert found.plot().get_xlabel() == "error within the subgroup"


def test_values_as_users_give_them(parts_result, parts_rows) -> None:
    X, y = parts_rows
    by_number = parts_result.by(0)
    assert by_number == parts_result.by(X[:, 0]) or len(by_number) == len(parts_result.by(X[:, 0])) == 4
    assert sum(group.rows for group in by_number) == len(y)
    texts = np.where(X[:, 1] > 1, "high", "low").astype(object)
    texts[:5] = None
    found = parts_result.by(pd.Series(texts, name="level"), predictions=y)
    assert (found.by, found.n_left_out, [group.name for group in found]) == ("level", 5, ["high", "low"])
    assert all(group.model_error == 0 for group in found)
    assert list(found.to_frame()["level"]) == ["high", "low"]
    assert found.to_dict()["groups"][0]["name"] == "high"
    assert len(parts_result.by(X[:, 0], bins=3)) == 3
    for wrong in ("age", 17, y[:-1], np.arange(len(y)).astype(str), [None] * len(y), X):
        with pytest.raises((DataError, ParameterError, TypeError)):
            parts_result.by(wrong)
    with pytest.raises(DataError, match="single rows"):
        bf.FloorResult.from_json(parts_result.to_json()).by(0)


def test_columns_of_frames_and_tables() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": list("xyxy")})
    assert column_values(frame, "b", 3, np.array([0, 2, 3]))[0].tolist() == ["x", "x", "y"]
    table = bf.table_from_frame(frame.assign(label=[0, None, 1, 0]), target="label")
    assert column_values(table, "b", 3, table.rows - 1)[0].tolist() == ["x", "x", "y"]
    with pytest.raises(ParameterError, match="no column 'c'"):
        column_values(frame, "c", 4, None)
    with pytest.raises(DataError, match="not at hand"):
        column_values(None, "b", 4, None)


def test_given_shares_weigh_the_rows() -> None:
    priors = np.array([0.8, 0.2])
    said = predictions("gaussians_4d", 2000, 0, priors=priors)
    missed = said.mean.argmax(axis=1) != said.y
    floor = float(said.weights @ missed)
    groups = np.arange(2000) % 3
    found = subgroups(groups, "turn", _figures(said), floor, 0.95)
    weights = said.weights / said.weights.sum()
    for group in found:
        own = groups == group.name
        assert group.raw_floor == pytest.approx(weights[own] @ missed[own] / weights[own].sum(), abs=1e-9)


def test_a_file_is_read_once_and_its_columns_are_at_hand(two_learners, tmp_path) -> None:
    X, y = problems.get("gaussians_4d").sample(200, random_state=0)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "side": np.where(X[:, 1] > 1, "r", "l"), "label": y})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    result = bf.estimate(tmp_path / "rows.csv", target="label", effort="fast", n_jobs=1, priors="balanced")
    found = result.by("side")
    assert [(group.name, group.rows) for group in found] == [
        ("l", int((X[:, 1] <= 1).sum())),
        ("r", int((X[:, 1] > 1).sum())),
    ]
    assert all(point.certified_error is not None for point in result.abstention().points)
    assert len(result.declining[0].tested) == 2
