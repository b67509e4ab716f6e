"""Doubts: each has its code, its figures are those of its sentence, and the manual knows every code."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bayesfloor.floor.doubts import (
    SEVERITIES,
    Doubt,
    Training,
    floor_of_scores,
    model_beats_library,
    model_below_floor,
    nothing_found,
    other_class_shares,
    scores_of_training_rows,
    training_rows,
    unknown_doubt,
)
from bayesfloor.floor.doubts import doubts as raised
from bayesfloor.floor.result import FloorResult
from bayesfloor.floor.rule import Evidence, judge
from bayesfloor.rows.dataset import Dataset, validate
from bayesfloor.utils.intervals import Bound

CALM = Evidence(
    n=100_000,
    n_features=2,
    n_classes=2,
    majority=0.5,
    shrunk_majority=0.5,
    **dict.fromkeys(("error", "half_error", "quarter_error", "eighth_error", "ball"), 0.2),
    **dict.fromkeys(("plugin", "half_plugin", "quarter_plugin"), 0.2),
    **dict.fromkeys(("loss", "half_loss", "quarter_loss", "eighth_loss"), 0.5),
    **dict.fromkeys(("claimed", "unsettled", "half_unsettled", "quarter_unsettled", "repeated"), 0.0),
    raw=None,
)


def steep(**changes: float) -> Evidence:
    return Evidence(**{**CALM.to_dict(), "n": 1000, "half_error": 0.25, "claimed": 0.03, **changes})


def doubts(*arguments: object, training: Training | None = None, **options: object) -> tuple[Doubt, ...]:
    return raised(*arguments, training=training or ALL_ROWS, **options)  # type: ignore[arg-type]


def rows(counts: tuple[int, int], n_columns: int = 2, labels: tuple[object, object] = ("a", "b")) -> Dataset:
    X = np.random.default_rng(0).normal(size=(sum(counts), n_columns))
    return validate(X, np.repeat(np.array(labels), counts))


ALL_ROWS = Training(rows=800, most=800, everything=True)
ENOUGH = rows((100, 100))
HOLDS, HOLDS_NOT = Bound("Cover-Hart", 0.1, 0.4, "any"), Bound("Henze-Penrose", 0.3, 0.4, "any")
APPLIES_NOT = Bound("Henze-Penrose", 0.3, 0.4, "any", applies=False)

CASES = [
    ((CALM, ENOUGH, (HOLDS,), 0.25), []),
    ((steep(), ENOUGH, (HOLDS,), 0.25), ["still-falling", "wide-interval"]),
    ((replace(CALM, n_features=20), rows((100, 99), 20), (), 0.25), ["few-rows-per-column"]),
    ((replace(CALM, n_features=20), rows((100, 100), 20), (), 0.25), []),
    ((CALM, rows((100, 29)), (), 0.25), ["few-rows-in-class"]),
    ((CALM, rows((600, 30)), (), 0.25), []),
    ((CALM, rows((601, 30)), (), 0.25), ["rare-class"]),
    ((CALM, ENOUGH, (HOLDS_NOT,), None), ["no-ceiling"]),
    ((CALM, ENOUGH, (HOLDS, HOLDS_NOT), 0.25), ["bound-above-ceiling"]),
    ((CALM, ENOUGH, (HOLDS, HOLDS_NOT), 0.3), []),
    ((CALM, ENOUGH, (HOLDS, APPLIES_NOT), 0.25), []),
]


@pytest.mark.parametrize(("arguments", "codes"), CASES)
def test_each_doubt_has_its_code_and_threshold(arguments: tuple, codes: list[str]) -> None:
    found = doubts(*arguments, 0.95)
    assert [doubt.code for doubt in found] == codes
    for doubt in found:
        assert doubt.severity == SEVERITIES[doubt.code]
        assert json.loads(json.dumps(doubt.figures)) == doubt.figures
        assert str(doubt) == doubt.sentence


def test_every_code_is_produced_and_in_the_manual() -> None:
    others = (
        floor_of_scores(),
        scores_of_training_rows(1, 900),
        nothing_found(),
        model_beats_library(0.1),
        model_below_floor(0.1),
        other_class_shares("the shares differ", "nothing can be done"),
        unknown_doubt(""),
    )
    assert {code for _, codes in CASES for code in codes} | {doubt.code for doubt in others} == set(SEVERITIES)
    manual = (Path(__file__).parents[2] / "docs" / "method.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| `([a-z-]+)` \| (note|caution|serious) \| \S.* \|$", manual, re.MULTILINE)
    assert table == list(SEVERITIES.items())
    for severity in {"note", "caution", "serious"} | set(SEVERITIES.values()):
        assert f"- **{severity}**: " in manual


def test_figures_are_those_of_the_sentence() -> None:
    evidence = replace(steep(), n_features=40)
    judgement = judge(evidence, 0.95)
    falling, wide, columns, few, bound = doubts(evidence, rows((100, 20), 40), (HOLDS_NOT,), 0.25, 0.95)
    assert falling.sentence == "the learning curve is still falling (25.0% with half the rows, 20.0% with all)"
    assert falling.figures == {
        "half_error": 0.25,
        "error": 0.2,
        "training_rows": 800,
        "training_rows_possible": 800,
        "all_rows_used": True,
    }
    assert wide.figures["width"] == judgement.high - judgement.low
    assert wide.sentence == (
        f"the interval is {100 * wide.figures['width']:.1f} points wide: about 4x more data would narrow it to about "
        f"{100 * wide.figures['width_with_more']:.1f} points"
    )
    assert columns.sentence == "120 rows for 40 columns: fewer than ten per column"
    assert columns.figures == {"rows": 120, "columns": 40}
    assert few.sentence == "class 'b' has only 20 rows"
    assert few.figures == {"class": "b", "rows": 20}
    assert bound.sentence == "the Henze-Penrose lower bound (30.0%) is above the ceiling (25.0%): it does not hold"
    assert bound.figures == {"bound": "Henze-Penrose", "lower": 0.3, "ceiling": 0.25}
    (rare,) = doubts(CALM, rows((900, 40)), (), 0.25, 0.95)
    assert rare.figures == {"class": "b", "share": 40 / 940}
    assert rare.sentence.startswith("class 'b' has 4.3% of the rows: ")


def test_a_sample_of_the_rows_asks_for_effort_not_for_data() -> None:
    some = Training(rows=2_000, most=32_000, everything=False)
    falling, wide = doubts(steep(), ENOUGH, (), 0.25, 0.95, training=some)
    assert (falling.code, wide.code) == ("still-falling", "wide-interval")
    assert "half the training rows" in falling.sentence
    assert "effort='thorough', which trains on 32,000 rows at a time instead of 2,000, would narrow" in wide.sentence


def test_what_hardly_narrows_the_interval_is_not_advised() -> None:
    thorough = Training(rows=50_000, most=50_000, everything=False)
    hardly_more = Training(rows=2_000, most=2_080, everything=False)
    for training in (thorough, hardly_more):
        wide = doubts(steep(), ENOUGH, (), 0.25, 0.95, training=training)[-1]
        assert wide.code == "wide-interval"
        assert wide.sentence == f"the interval is {100 * wide.figures['width']:.1f} points wide"
        assert wide.figures["width_with_more"] is None


def test_where_only_chance_is_left_more_data_are_asked_for() -> None:
    noise = Evidence(**{**CALM.to_dict(), "n": 900})  # changed class shares make few rows of many
    some = Training(rows=2_000, most=32_000, everything=False)
    for training in ({}, {"training": some}):
        (wide,) = doubts(noise, ENOUGH, (), 0.25, 0.95, **training)
        assert "points wide: about 4x more data would narrow it" in wide.sentence
        assert wide.figures["width_with_more"] == pytest.approx(wide.figures["width"] / 2, rel=0.02)


def test_a_narrow_interval_is_not_called_wide() -> None:
    found = doubts(steep(n=100_000, half_error=0.21, claimed=0.0), ENOUGH, (), 0.25, 0.95)
    assert [doubt.code for doubt in found] == ["still-falling"]


def test_balanced_priors_are_not_advised_where_priors_are_given() -> None:
    assert doubts(CALM, rows((601, 30)), (), 0.25, 0.95, priors=np.array([0.5, 0.5])) == ()


@pytest.mark.parametrize(
    ("n_train", "n", "effort", "most", "everything"),
    [
        (2_000, 2_500, "fast", 2_000, True),  # the limit of the effort, and all there is
        (2_000, 2_600, "fast", 2_080, True),
        (2_000, 40_000, "fast", 32_000, False),
        (10_000, 60_000, "balanced", 48_000, False),
        (10_000, 10**6, "balanced", 50_000, False),
        (50_000, 10**6, "thorough", 50_000, False),
        (1_200, 1_500, "balanced", 1_200, True),
    ],
)
def test_rows_that_could_have_been_trained_on(n_train: int, n: int, effort: str, most: int, everything: bool) -> None:
    assert training_rows(n_train, n, effort) == Training(n_train, most, everything)


@pytest.mark.parametrize("labels", [(0, 1), (0.5, 1.5), (False, True), np.array(["2020", "2021"], dtype="M8[Y]")])
def test_classes_of_any_kind_can_be_saved(labels: tuple[object, object]) -> None:
    (few,) = doubts(CALM, rows((100, 20), labels=labels), (), 0.25, 0.95)
    assert json.loads(json.dumps(few.figures)) == few.figures
    assert hash(few) == hash(Doubt(few.code, few.severity, {}, few.sentence))


@pytest.mark.parametrize("schema", [1, 2])
def test_doubts_saved_as_sentences_stay_readable(schema: int) -> None:
    text = (Path(__file__).parent / "data" / f"result_schema_{schema}.json").read_text(encoding="utf-8")
    old = FloorResult.from_json(text)
    said = json.loads(text)
    assert said["schema"] == schema
    assert said["reasons"]
    assert old.reasons == tuple(said["reasons"])
    assert {(doubt.code, doubt.severity) for doubt in old.doubts} == {("unknown", "caution")}
    assert (old.certificate is None) == (schema == 1)
    assert FloorResult.from_json(old.to_json()) == old
