"""Declining: the lowest error on accepted cases against exact values, and certified pairs that hold together."""

import numpy as np
import pytest

import bayesfloor as bf
from bayesfloor import DataError, ParameterError
from bayesfloor.floor.abstention import SHARES, SHOWN, abstain, decline_points
from bayesfloor.problems import best_values
from known_predictions import posterior, predictions


def _curve(said, floor=1.0, shares=None):
    return abstain(decline_points(said, floor), shares, floor, said.priors, 0.95)


@pytest.mark.parametrize("name", ["gaussians_4d", "mixture_10d", "led"])
def test_errors_are_near_the_exact_ones(name) -> None:
    P, n, seeds = posterior(name), 2000, range(5)
    exact = best_values.selective_errors(P, SHOWN)
    found = np.array([[point.error for point in _curve(predictions(name, n, seed)).points] for seed in seeds])
    # The variance of errors and of the price of declining together is below that of a share of one half.
    for k, share in enumerate(SHOWN):
        spread = np.sqrt(max(exact[k] * (1 - exact[k]), 0.02)) / (1 - share)
        assert abs(found[:, k].mean() - exact[k]) <= 4 * spread / np.sqrt(n * len(seeds)) + 1e-9


def test_declining_more_never_errs_more() -> None:
    points = decline_points(predictions("moons", 800, 3), 0.2)
    assert [point.share for point in points] == list(SHARES)
    assert (np.diff([point.error for point in points]) <= 1e-12).all()
    assert all(point.low <= point.error <= point.high for point in points)


def _sharpened(P):
    sharp = P**1.5 / (P**1.5).sum(axis=1, keepdims=True)
    return 0.9 * sharp + 0.1 * np.roll(sharp, 1, axis=1)


@pytest.mark.parametrize("priors", [None, np.array([0.8, 0.2])])
def test_certified_pairs_of_a_fixed_rule_hold_together(priors) -> None:
    P = posterior("moons", 50_000)
    says, weights = _sharpened(P), np.full(len(P), 1 / len(P))
    eta = P
    if priors is not None:
        weights = (P * priors / 0.5).sum(axis=1) / len(P)
        eta, says = (Q * priors / (Q * priors).sum(axis=1, keepdims=True) for Q in (P, says))
    doubt, wrong = 1 - says.max(axis=1), 1 - eta[np.arange(len(P)), says.argmax(axis=1)]
    held = 0
    for seed in range(20):
        curve = _curve(predictions("moons", 600, seed, says=_sharpened, priors=priors))
        accepted = [doubt <= point.doubt for point in curve.points]
        held += all(
            weights @ ~rows <= point.certified_share
            and weights[rows] @ wrong[rows] / weights[rows].sum() <= point.certified_error
            for point, rows in zip(curve.points, accepted, strict=True)
        )
    assert held >= 16


def test_fewer_points_are_certified_more_tightly() -> None:
    points = decline_points(predictions("moons", 800, 0), 0.2)
    one, five = (abstain(points, shares, 0.2, None, 0.95) for shares in ([0.1], None))
    at = next(point for point in five.points if point.share == 0.1)
    assert one.points[0].certified_error < at.certified_error
    assert one.points[0].certified_share < at.certified_share


def test_groups_are_certified_by_betting() -> None:
    groups = np.repeat(np.arange(600), np.arange(600) % 5 + 1)[:1500]
    said = predictions("moons", 1500, 0, groups=groups)
    curve = _curve(said)
    assert all(0 < point.certified_error <= 1 for point in curve.points)
    assert all(point.certified_share is None for point in _curve(said, shares=SHARES).points)


def test_a_result_says_it(parts_result) -> None:
    curve = parts_result.abstention()
    assert curve.sentence.startswith("Declining 10% of the cases would bring the floor from")
    assert "certified together" in str(curve)
    assert list(curve.to_frame()["declined"]) == list(SHOWN)
    assert bf.FloorResult.from_json(parts_result.to_json()).abstention() == curve
    assert [point.share for point in parts_result.abstention([0.25, 0.02]).points] == [0.02, 0.25]
    for wrong in ([0.11], [], "all", [[0.1]], [np.nan]):
        with pytest.raises((ParameterError, DataError)):
            parts_result.abstention(wrong)
    assert curve.plot().get_xlabel() == "cases declined"


def test_scores_and_old_results_say_why_not() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    result = bf.from_scores(np.clip(rng.normal(0.3 + 0.4 * y, 0.2), 0.01, 0.99), y)
    for ask in (result.abstention, result.metrics):
        with pytest.raises(DataError, match="made from scores"):
            ask()
    with pytest.raises(DataError, match="single rows"):
        result.by(y)
