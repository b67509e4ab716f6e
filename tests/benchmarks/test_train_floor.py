"""Fitting the rule: on made-up records whose answer is known."""

import json

import numpy as np
import pytest
from scipy.stats import norm

import floor_evidence
import train_floor
from bayesfloor.floor.rule import judge


def record(number: int, family: str, rng: np.random.Generator, table: str = "", excess: float = 2.0) -> dict:
    """A problem whose floor is the error less `excess` times what is unsettled, but for chance."""
    n, unsettled, error = 2000, float(rng.uniform(0, 0.02)), float(rng.uniform(0.2, 0.3))
    noise = float(rng.normal() * np.sqrt(error * (1 - error) / n))
    repeat = {
        "errors": [[error, error + 0.01, error + 0.02, error + 0.02, error + 0.03]],
        "plugins": [[error] * 5],
        "losses": [[0.5, 0.51, 0.53, 0.53, 0.57]],
        "changed": [[0.1] * 3],
        "claimed": [[unsettled] * 3],
        "unsettled": [[unsettled] * 3],
        "repeated": [0.0, 0.0],
        "pooled_error": error,
        "pooled_loss": 0.5,
    }
    return {
        "key": [family, table, number],
        "family": family,
        "table": table,
        "number": number,
        "rows": n,
        "classes": 2,
        "floor": error - excess * unsettled + noise,
        "oracle": error - excess * unsettled + 0.005,
        "wrong": 120,
        "tested": 400,
        "n": n,
        "n_features": 5,
        "n_classes": 2,
        "majority": 0.5,
        "shrunk_majority": 0.5,
        "error": error,
        "ball": error,
        "raw": None,
        "curve": repeat,
    }


@pytest.fixture(scope="module")
def records() -> list[dict]:
    rng = np.random.default_rng(0)
    families = [record(i, f"family {i % 8}", rng) for i in range(240)]
    return families + [record(i, "teacher:forest", rng, table=f"table {i % 3}") for i in range(90)]


def test_the_weights_that_made_the_records_are_found(records):
    given, floors = [train_floor.evidence(r) for r in records], np.array([r["floor"] for r in records])
    unsettled = np.array([e.unsettled for e in given])
    error = given[0].sampling / np.sqrt((unsettled**2).sum())  # of a slope without intercept
    assert train_floor.fit_weights(given, floors)["unsettled"] == pytest.approx(-2, abs=4 * error)


def test_arms_hold_the_share_asked_for(records):
    rng = np.random.default_rng(1)
    signs = np.stack([np.full(2000, 0.01), rng.uniform(0, 0.05, 2000)], axis=1)
    reach = 0.02 * rng.normal(size=2000) + signs[:, 1] * rng.normal(size=2000)
    weights = train_floor.fit_arm(signs, reach, 0.9)
    assert (weights >= 0).all()
    assert np.mean(reach <= signs @ weights) == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / 2000))
    assert train_floor.fit_arm(signs, -np.ones(2000), 0.9)[0] == pytest.approx(norm.ppf(0.9))  # never less than noise


def test_the_rule_covers_what_it_was_not_fitted_to(records):
    rule = train_floor.fit([r for r in records if r["family"] != "family 0"])
    assert rule["below"]["signs"]["sampling"] >= norm.ppf(0.975) - 1e-6
    held = [r for r in records if r["family"] == "family 0"]
    floor, low, high = train_floor.judged(held, rule).T
    truth = np.array([r["floor"] for r in held])
    assert (floor >= low).all()
    assert np.mean((low <= truth) & (truth <= high)) >= 0.8
    assert np.abs(floor - truth).mean() < 0.02


def test_groups_are_families_and_tables(records):
    groups = np.array([train_floor.group(r) for r in records])
    held = train_floor.left_out(groups)
    assert len(held) == 11
    assert sum(h.sum() for h in held) == len(records)
    parts = train_floor.left_out(groups, 4)
    assert sum(h.sum() for h in parts) == len(records)
    for part in parts:
        assert not set(groups[part]) & set(groups[~part])


def test_the_stored_rule_is_of_signs_and_terms_there_are(records):
    rule, given = json.loads(train_floor.RULE.read_text()), train_floor.evidence(records[0])
    assert set(rule["weights"]) == set(given.terms())
    for side in ("below", "above"):
        assert len(rule[side]["factors"]) == len(rule["levels"])
        assert rule[side]["factors"] == sorted(rule[side]["factors"])
        assert set(rule[side]["signs"]) <= set(given.signs())
    assert judge(given, 0.9).low >= judge(given, 0.95).low


def test_records_are_packed_once_and_the_same(tmp_path):
    rng = np.random.default_rng(2)
    work, packed = tmp_path / "work.jsonl", tmp_path / "records.jsonl.gz"
    work.write_text("".join(json.dumps(record(i, "boards", rng)) + "\n" for i in (2, 0, 1)))
    assert floor_evidence.pack(work, packed) == 3
    first = packed.read_bytes()
    assert floor_evidence.pack(work, packed) == 3
    assert packed.read_bytes() == first
    assert [key[2] for key in floor_evidence.read(packed)] == [0, 1, 2]


def test_problems_come_in_rounds():
    found = list(floor_evidence.keys())
    families = len({key[0] for key in found if not key[1]})
    assert len({key[0] for key in found[:families]}) == families
    assert len(found) == len(set(found)) >= floor_evidence.ROUNDS * families
