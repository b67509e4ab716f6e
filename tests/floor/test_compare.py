"""A model beside the floor: the arithmetic by hand, the words, the refusals, and the coverage on known truths."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

import compare_coverage
from bayesfloor import DataError, DataTypeError, ParameterError, estimate, from_scores, gate, problems
from bayesfloor.floor._compare import Comparison, compare
from bayesfloor.floor.ceiling import Certificate
from bayesfloor.floor.doubts import Doubt
from bayesfloor.floor.result import CurvePoint, FloorResult
from bayesfloor.utils.intervals import ConfidenceInterval, score_interval


@pytest.fixture(scope="module")
def result() -> FloorResult:
    problem = problems.get("gaussians_4d")
    X, y = problem.sample(600, random_state=0)
    return replace(from_scores(problem.posterior(X), y), doubts=())


def given(result: FloorResult, floor: float, low: float, high: float) -> FloorResult:
    return replace(result, floor=floor, interval=ConfidenceInterval(low, high, 0.95))


def test_arms_are_squared_and_added(result: FloorResult) -> None:
    found = compare(given(result, 0.12, 0.10, 0.15), error=0.2, n_test=500)
    wilson = score_interval(0.2, 500, 0.95)
    assert found.error_interval == wilson
    assert found.excess == pytest.approx(0.08, abs=1e-12)
    assert found.excess_interval.low == pytest.approx(0.08 - math.sqrt((0.2 - wilson.low) ** 2 + 0.03**2), abs=1e-12)
    assert found.excess_interval.high == pytest.approx(0.08 + math.sqrt((wilson.high - 0.2) ** 2 + 0.02**2), abs=1e-12)
    assert found.excess_interval.confidence_level == 0.95


def test_names_of_version_0_1_still_work(result: FloorResult) -> None:
    found = compare(result, error=0.3, n_test=500)
    with pytest.warns(DeprecationWarning, match="now called excess"):
        assert found.room == found.excess
    with pytest.warns(DeprecationWarning, match="now called excess_interval"):
        assert found.room_interval == found.excess_interval
    values = found.to_dict()
    assert (values["room"], values["room_interval"]) == (values["excess"], values["excess_interval"])


def test_an_exact_floor_leaves_the_noise_of_the_test(result: FloorResult) -> None:
    found = compare(given(result, 0.1, 0.1, 0.1), error=0.3, n_test=100)
    wilson = score_interval(0.3, 100, 0.95)
    assert found.excess_interval.low == pytest.approx(wilson.low - 0.1, abs=1e-12)
    assert found.excess_interval.high == pytest.approx(wilson.high - 0.1, abs=1e-12)


@pytest.mark.parametrize(
    ("error", "verdict", "headline"),
    [
        (0.20, "room", "room of 8.0 points (6.5 to 9.5)"),
        (0.12, "at the floor", "at the floor"),
        (0.13, "at the floor", "at the floor"),
        (0.05, "below the floor", "below the floor: the floor was estimated too high, or the test has leaked"),
    ],
)
def test_verdicts(result: FloorResult, error: float, verdict: str, headline: str) -> None:
    found = compare(given(result, 0.12, 0.11, 0.13), error=error, n_test=5000)
    assert found.verdict == verdict
    assert found.headline == headline
    assert found.sentence.lower().startswith(headline.partition(":")[0])
    assert found.sentence in str(found)
    assert f"{error:.2%}" in str(found)
    assert "5,000 test rows" in str(found)
    assert json.loads(json.dumps(found.to_dict()))["verdict"] == verdict


def test_the_side_that_is_uncertain_is_named(result: FloorResult) -> None:
    assert "more test rows" in compare(given(result, 0.12, 0.11, 0.13), error=0.12, n_test=50).sentence
    assert "more rows to estimate" in compare(given(result, 0.12, 0.05, 0.2), error=0.12, n_test=50_000).sentence


@pytest.mark.parametrize(
    ("effort", "trained", "rows", "expected"),
    [
        ("balanced", 4_000, 5_000, "more rows to estimate the floor from"),
        ("fast", 2_000, 2_500, "more rows to estimate the floor from"),
        ("fast", 2_000, 8_000, "a floor estimated with effort='thorough'"),  # more rows: on 2,000 again
        ("fast", 2_000, 3_000, "more rows to estimate the floor from, with effort='thorough',"),
        ("balanced", 10_000, 10**6, "a floor estimated with effort='thorough'"),
        ("thorough", 50_000, 10**6, "a floor estimated with your model among classifiers="),
    ],
)
def test_more_rows_are_asked_for_where_models_would_see_them(
    result: FloorResult, effort: str, trained: int, rows: int, expected: str
) -> None:
    learned = replace(
        given(result, 0.12, 0.05, 0.2),
        learning_curve=tuple(CurvePoint(trained // k, 0.12, 0.12) for k in (1, 2, 4)),
        settings={"effort": effort, "rows": rows},
    )
    learned = replace(learned, evidence={**learned.evidence, "error": 0.12, "n": rows})
    found = compare(learned, error=0.12, n_test=50_000)
    assert found.verdict == "cannot tell"
    assert f"{expected} would tell" in found.sentence
    # Where the interval is mostly chance, since changed class shares make few rows of many, more rows do help.
    few = compare(replace(learned, evidence={**learned.evidence, "n": 150}), error=0.12, n_test=50_000)
    assert "more rows to estimate the floor from would tell" in few.sentence
    assert "more test rows would tell" in compare(learned, error=0.12, n_test=50).sentence


def test_no_evidence_is_not_called_at_the_floor(result: FloorResult) -> None:
    few = compare(given(result, 0.12, 0.11, 0.13), error=0.12, n_test=50)
    assert few.verdict == "cannot tell"
    left = f"up to {100 * few.excess_interval.high:.1f} points above it"
    assert left in few.headline
    assert few.sentence.startswith("Cannot tell: ")
    assert left in few.sentence
    for floor, verdict in ((0.12, "cannot tell"), (0.18, "at the floor")):  # 3 and 4.5 points are a quarter of them
        found = compare(given(result, floor, floor, floor), error=floor + 0.002, n_test=600)
        assert found.excess_interval.high - found.excess_interval.low > 0.03
        assert (found.excess_interval.high > 0.25 * floor) == (verdict == "cannot tell")
        assert found.verdict == verdict


def test_at_the_floor_is_not_said_of_a_floor_in_doubt(result: FloorResult) -> None:
    certain = replace(given(result, 0.12, 0.11, 0.13), doubts=())
    assert compare(certain, error=0.12, n_test=5000).doubts == ()
    for code in ("still-falling", "few-rows-per-column", "scores-of-training-rows", "no-ceiling", "unknown"):
        doubtful = replace(certain, doubts=(Doubt(code, "caution", {}, f"words of {code}"),))
        found = compare(doubtful, error=0.12, n_test=5000)
        assert (found.verdict, found.reasons) == ("cannot tell", (f"words of {code}",))
        assert f"words of {code}" in found.sentence
        assert compare(doubtful, error=0.2, n_test=5000).verdict == "room"
    named = replace(certain, certificate=Certificate("constant", 0, 60, 500))
    assert compare(named, error=0.12, n_test=5000).verdict == "cannot tell"
    harmless = replace(certain, doubts=(Doubt("rare-class", "note", {}, "rare"),))
    assert compare(harmless, error=0.12, n_test=5000).verdict == "at the floor"


def test_a_model_that_beats_the_library_shows_that_structure_was_missed(result: FloorResult) -> None:
    # MNIST: the library errs 4 %, floor 2.9 % from 0.5 %; a model of 1 % is within the interval, and not at the floor.
    point = CurvePoint(1000, 0.04, 0.04)
    evidence = {**result.evidence, "error": 0.04, "n": 60_000}
    mnist = replace(given(result, 0.029, 0.005, 0.035), doubts=(), learning_curve=(point,), evidence=evidence)
    found = compare(mnist, error=0.01, n_test=10_000)
    assert found.verdict == "cannot tell"
    assert [doubt.code for doubt in found.doubts] == ["model-beats-library", "model-below-floor"]
    assert f"the floor is not above {found.error_interval.high:.1%}" in found.sentence
    assert compare(mnist, error=0.0385, n_test=10_000).doubts == ()  # not beyond chance


def test_the_floor_of_scores_is_no_limit_to_other_models() -> None:
    # Logistic regression cannot see a product; its own scores cannot either, and the true floor is 0.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = np.where(X[:, 0] > 0.8, 1, X[:, 0] * X[:, 1] > 0).astype(int)
    scores = cross_val_predict(LogisticRegression(), X, y, method="predict_proba")
    found = compare(from_scores(scores, y), error=(scores.argmax(axis=1) != y).mean(), n_test=2000)
    assert found.verdict == "cannot tell"
    assert "what they have lost, this estimate cannot see" in found.sentence


def test_a_model_that_errs_less_than_the_floor_is_not_at_it(result: FloorResult) -> None:
    found = compare(given(result, 0.1, 0.02, 0.11), error=0.03, n_test=60_000)
    assert found.verdict == "cannot tell"
    assert f"the floor is not above {found.error_interval.high:.1%}" in found.sentence


def test_what_is_wide_and_in_doubt_says_both(result: FloorResult) -> None:
    falling = replace(given(result, 0.1, 0.09, 0.11), doubts=(Doubt("still-falling", "caution", {}, "it falls"),))
    found = compare(falling, error=0.12, n_test=60)
    assert (found.verdict, found.is_close) == ("cannot tell", False)
    assert "more test rows would tell" in found.sentence
    assert "it falls" in found.sentence


def test_below_the_floor_first_doubts_the_floor(result: FloorResult) -> None:
    # Fashion-MNIST: floor 10.9 % [6.6, 13.3], an honest model errs 6 %.
    found = compare(given(result, 0.109, 0.066, 0.133), error=0.06, n_test=10_000)
    assert found.verdict == "below the floor"
    high, leak = found.sentence.index("estimated too high"), found.sentence.index("in training")
    assert high < leak
    assert "tell the two apart" in found.sentence


def test_other_levels_stretch_both_sides(result: FloorResult) -> None:
    exact = given(result, 0.2, 0.1, 0.3)
    wide, narrow = (compare(exact, error=0.4, n_test=400, confidence_level=level) for level in (0.99, 0.5))
    usual = compare(exact, error=0.4, n_test=400)
    assert wide.excess_interval.low < usual.excess_interval.low < narrow.excess_interval.low
    assert narrow.floor_interval.high == pytest.approx(0.2 + 0.1 * 0.6744898 / 1.9599640, abs=1e-6)
    assert wide.floor_interval.confidence_level == 0.99


def test_the_readme_opens_with_what_compare_says(result: FloorResult) -> None:
    text = " ".join((Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8").split())
    said = re.search(
        r"errs (\d+) % on ([\d,]+) test rows and the floor is (\d+) % \(95 % interval ([\d.]+) to ([\d.]+) %\), "
        r"it is at the floor.*?If the floor is (\d+) % \((\d+) to (\d+) %\), there is room",
        text,
    )
    assert said is not None
    error, n_test, *floors = (float(number.replace(",", "")) for number in said.groups())
    for (floor, low, high), verdict in ((floors[:3], "at the floor"), (floors[3:], "room")):
        found = compare(given(result, floor / 100, low / 100, high / 100), error=error / 100, n_test=int(n_test))
        assert found.verdict == verdict


def test_predictions_are_counted(result: FloorResult) -> None:
    y_true = np.array([0, 1] * 50)
    y_pred = y_true.copy()
    y_pred[:7] = 1 - y_pred[:7]
    found = compare(result, y_true=y_true, y_pred=y_pred)
    assert (found.error, found.n_test) == (0.07, 100)
    assert found == compare(result, error=0.07, n_test=100)
    assert found == compare(result, y_true=pd.Series(y_true), y_pred=list(y_pred))


def test_the_page_shows_the_floor_that_the_model_is_compared_with(use_learners) -> None:
    use_learners("gaussian", "additive")
    X, y, y_test, best = shifted(0.5, 0.85, 0, 600)
    result = estimate(X, y, effort="fast", n_jobs=1)
    found = compare(result, y_true=y_test, y_pred=best)
    assert found.floor < result.floor - 0.02
    page = result.to_html(comparison=found)
    assert "at the class shares of the test rows</dt>" in page
    assert f"A scale of error rates: floor {found.floor:.1%}" in page
    plain = result.to_html(comparison=compare(result, error=0.3, n_test=500))
    assert "at the class shares of the test rows</dt>" not in plain


def test_time_spans_as_labels_are_compared() -> None:
    y = np.array([1, 2], dtype="timedelta64[h]")[np.arange(120) % 2]
    X = np.random.default_rng(0).normal(size=(120, 2)) + np.arange(120)[:, None] % 2
    assert compare(estimate(X, y, effort="fast", n_jobs=1), y_true=y, y_pred=y).error == 0


def test_test_rows_without_a_label_do_not_count(result: FloorResult) -> None:
    y = np.arange(200) % 2
    with_gaps = y.astype(float)
    with_gaps[[3, 4, 50]] = np.nan
    kept = ~np.isnan(with_gaps)
    found = compare(result, y_true=with_gaps, y_pred=1 - y)
    assert (found.n_test, found.error) == (197, 1.0)
    assert any("3 of 200" in note for note in found.notes)
    assert replace(found, notes=()) == replace(compare(result, y_true=y[kept], y_pred=1 - y[kept]), notes=())


@pytest.mark.parametrize("kind", [str, float, lambda label: f"{label}.0", np.int8])
def test_labels_match_by_spelling(result: FloorResult, kind) -> None:
    y_true, y_pred = [0, 1, 1, 0] * 20, [0, 1, 0, 0] * 20
    found = compare(result, y_true=[kind(label) for label in y_true], y_pred=y_pred)
    assert found.error == 0.25
    again = compare(FloorResult.from_json(result.to_json()), y_true=y_true, y_pred=[kind(label) for label in y_pred])
    assert again == found


def test_dates_match_after_json(result: FloorResult) -> None:
    days = np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]")
    dated = FloorResult.from_json(replace(result, classes=tuple(days)).to_json())
    y = days[[0, 1, 1, 0] * 20]
    assert compare(dated, y_true=y, y_pred=y).error == 0


# --- test rows with other class shares ----------------------------------------------------------------------


def test_other_class_shares_are_noted(result: FloorResult) -> None:
    y_true = [0] * 190 + [1] * 10
    found = compare(result, y_true=y_true, y_pred=y_true)
    assert len(found.notes) == 1
    assert "5.0% instead of" in found.notes[0]
    assert "the floor is that at their shares, assuming that only the shares have changed" in found.notes[0]
    assert found.notes[0] in str(found)
    muted = compare(result, y_true=y_true, y_pred=y_true, ignore="other-class-shares")
    assert (muted.floor, len(muted.notes)) == (result.floor, 1)


def test_random_splits_are_compared_as_before(result: FloorResult) -> None:
    rng, changed = np.random.default_rng(0), 0
    for n_test in (20, 200, 5000) * 100:
        y = (rng.random(n_test) < result.priors[1]).astype(int)
        changed += compare(result, y_true=y, y_pred=1 - y) != compare(result, error=1.0, n_test=n_test)
    assert changed <= binom.ppf(1 - 1e-4, 300, 1e-3)


@pytest.mark.parametrize(("name", "shares"), [("gaussians_4d", (0.85, 0.15)), ("mixture_2d", (0.1, 0.2, 0.7))])
def test_the_floor_at_other_shares_is_that_of_priors(use_learners, name: str, shares: tuple) -> None:
    use_learners("gaussian", "additive", "neighbours")
    X, y = problems.get(name).sample(500, random_state=0)
    labels = np.repeat(np.arange(len(shares)), (400 * np.array(shares)).astype(int))
    found = compare(estimate(X, y, effort="fast", n_jobs=1), y_true=labels, y_pred=labels)
    asked = estimate(X, y, effort="fast", n_jobs=1, priors=dict(enumerate(shares)))
    assert found.floor == pytest.approx(asked.floor, abs=1e-9)
    assert found.floor_interval.low == pytest.approx(asked.interval.low, abs=1e-9)
    assert found.floor_interval.high >= asked.interval.high - 1e-9  # the other may end at what was certified
    assert compare(asked, y_true=labels, y_pred=labels).notes == ()


def shifted(train: float, test: float, seed: int, n: int) -> tuple:
    """Two Gaussians with other shares in the test rows: training rows, labels of test rows, their best predictions."""
    rows, others = (problems.get("gaussians_4d", prior=prior) for prior in (train, test))
    X, y = rows.sample(n, random_state=seed)
    X_test, y_test = others.sample(2000, random_state=1000 + seed)
    return X, y, y_test, others.posterior(X_test).argmax(axis=1)


def spoiled(labels: np.ndarray, share: float) -> np.ndarray:
    wrong = np.random.default_rng(0).random(len(labels)) < share
    return np.where(wrong, 1 - labels, labels)


@pytest.mark.parametrize("by_scores", [False, True], ids=["estimate", "scores"])
def test_shifted_shares_are_no_room_for_the_best_model(use_learners, by_scores: bool) -> None:
    """The best classifier for the test rows is not told that the data allow a better one, a bad one is."""
    use_learners("gaussian", "additive")
    covered, room, n_runs = 0, 0, 24
    for seed in range(n_runs):
        train, test = [(0.5, 0.85), (0.2, 0.6), (0.8, 0.5)][seed % 3]
        X, y, y_test, best = shifted(train, test, seed, 600)
        if by_scores:
            result = from_scores(problems.get("gaussians_4d", prior=train).posterior(X), y, n_jobs=1)
        else:
            result = estimate(X, y, effort="fast", n_jobs=1)
        found = compare(result, y_true=y_test, y_pred=best)
        assert len(found.notes) == 1
        truth = problems.get("gaussians_4d", prior=float(y_test.mean())).bayes_error
        covered += truth in found.floor_interval
        room += found.verdict == "room"
        assert found.verdict != "below the floor"
        assert compare(result, y_true=y_test, y_pred=spoiled(best, 0.25)).verdict == "room"
    assert covered >= binom.ppf(1e-4, n_runs, 0.95)
    assert room <= binom.ppf(1 - 1e-4, n_runs, 0.025)


def drifting(seed: int, n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows of 1,000 days: the share of the second class rises, and the classes come nearer to each other."""
    rng = np.random.default_rng(seed)
    day = np.sort(rng.integers(0, 1000, n))
    y = (rng.random(n) < 0.2 + 0.4 * day / 1000).astype(int)
    X = rng.normal(size=(n, 3))
    X[:, 0] += y * (3 - 2 * day / 1000)
    date = pd.Timestamp("2020-01-01") + pd.to_timedelta(day, unit="D")
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(when=date), y


@pytest.mark.parametrize("in_order", [True, False])
def test_there_is_no_verdict_where_the_shares_drift(use_learners, without_pictures, in_order: bool) -> None:
    """A temporal split: the best classifier of the last days errs more than the floor of the days before."""
    use_learners("gaussian", "additive")
    for seed in range(4):
        frame, y = drifting(seed, 1500)
        early = np.flatnonzero(frame["when"] < "2022-01-01")
        late = np.setdiff1d(np.arange(1500), early)
        order = early if in_order else np.random.default_rng(seed).permutation(early)
        rows = frame.iloc[order]
        result = estimate(rows.drop(columns="when") if in_order else rows, y[order], effort="fast", n_jobs=1)
        for y_pred in (y[late], spoiled(y[late], 0.3)):
            found = compare(result, y_true=y[late], y_pred=y_pred)
            assert (found.verdict, found.doubts[0].code) == ("cannot tell", "other-class-shares")
            assert f"drift with {'the order of the rows' if in_order else 'when (days)'}" in found.sentence
            assert gate(result, y_true=y[late], y_pred=y_pred, within=0.5).exit_code == 4
            assert "Compare like with like" in result.to_html(comparison=found)
        # Without the labels of the test rows nothing shows that their shares are others: a note says what is assumed.
        assert any("drift with" in note for note in compare(result, error=0.3, n_test=500).notes)
        same = np.random.default_rng(seed).permutation(y[order])[:300]  # shares as in the training rows: a verdict
        assert compare(result, y_true=same, y_pred=spoiled(same, 0.5)).verdict == "room"


def test_what_is_no_drift(use_learners) -> None:
    """Rows of groups are alike, files may be sorted by class one by one, and a column may be called as dates are."""
    use_learners("gaussian", "additive")
    rng = np.random.default_rng(0)
    y = (rng.random(600) < 0.3).astype(int)
    frame = pd.DataFrame({"stay (days)": rng.normal(size=600) + 1.5 * y, "x": rng.normal(size=600)})
    assert "drift" not in estimate(frame, y, effort="fast", n_jobs=1).settings
    groups = np.repeat(np.arange(100), 10)
    labels = (rng.random(100) < 0.3).astype(int)[groups]
    X = rng.normal(size=(1000, 2)) + labels[:, None]
    assert "drift" not in estimate(X, labels, groups=groups, effort="fast", n_jobs=1).settings
    files = np.concatenate([np.sort((rng.random(100) < 0.4).astype(int)) for _ in range(8)])
    assert "drift" not in estimate(rng.normal(size=(800, 2)), files, effort="fast", n_jobs=1).settings
    day = pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 3, 600), "D")
    by_class = pd.DataFrame({"x": rng.normal(size=600), "day": day})
    assert "drift" not in estimate(by_class, np.sort(y), effort="fast", n_jobs=1).settings


def test_scores_of_training_rows_are_not_compared_at_other_shares() -> None:
    y = np.arange(600) % 2
    memorised = from_scores(np.eye(2)[y] * 0.998 + 0.001, y)
    y_true = np.array([0] * 1600 + [1] * 400)
    assert compare(memorised, y_true=y_true, y_pred=spoiled(y_true, 0.1)).verdict == "cannot tell"


def test_rows_that_are_sorted_by_class_do_not_drift(result: FloorResult) -> None:
    problem = problems.get("gaussians_4d")
    X, y = problem.sample(600, random_state=0)
    by_class = np.argsort(y, kind="stable")
    again = from_scores(problem.posterior(X)[by_class], y[by_class], n_jobs=1)
    y_true = np.array([0] * 190 + [1] * 10)
    found = compare(again, y_true=y_true, y_pred=spoiled(y_true, 0.4))
    assert found.verdict == "room"
    assert found.floor == pytest.approx(compare(result, y_true=y_true, y_pred=y_true).floor, abs=1e-12)


def test_a_saved_result_is_not_compared_at_other_shares(use_learners) -> None:
    use_learners("gaussian", "additive")
    X, y, y_test, best = shifted(0.5, 0.85, 0, 600)
    saved = FloorResult.from_json(estimate(X, y, effort="fast", n_jobs=1).to_json())
    found = compare(saved, y_true=y_test, y_pred=spoiled(best, 0.3))
    assert found.verdict == "cannot tell"
    assert "in place of --result" in found.sentence
    assert json.loads(json.dumps(found.to_dict()))["doubts"][0]["code"] == "other-class-shares"
    share = float(y_test.mean())
    asked = estimate(X, y, effort="fast", n_jobs=1, priors={0: 1 - share, 1: share})
    again = compare(FloorResult.from_json(asked.to_json()), y_true=y_test, y_pred=spoiled(best, 0.3))
    assert again.verdict == "room"


def test_test_rows_of_one_class_are_not_compared(result: FloorResult) -> None:
    found = compare(result, y_true=[1] * 100, y_pred=[1] * 90 + [0] * 10)
    assert found.verdict == "cannot tell"
    assert "all of them are of one class" in found.sentence


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give error= and n_test=, or y_true= and y_pred="),
        ({"error": 0.1, "n_test": 10, "y_true": [0], "y_pred": [0]}, "give error="),
        ({"error": 0.1}, "n_test is missing"),
        ({"n_test": 100}, "error is missing"),
        ({"error": 14.3, "n_test": 100}, "if you mean 14.3 %, give 0.143"),
        ({"error": -0.1, "n_test": 100}, "between 0 and 1"),
        ({"error": math.nan, "n_test": 100}, "between 0 and 1"),
        ({"error": "0.1", "n_test": 100}, "between 0 and 1, got '0.1'"),
        ({"error": True, "n_test": 100}, "between 0 and 1, got True"),
        ({"error": 0.1, "n_test": 0}, "n_test must be a whole number"),
        ({"error": 0.1, "n_test": 10.5}, "n_test must be a whole number"),
        ({"error": 0.1, "n_test": math.nan}, "n_test must be a whole number"),
        ({"error": 0.1, "n_test": math.inf}, "n_test must be a whole number"),
        ({"error": 0.1, "n_test": "many"}, "n_test must be a whole number"),
        ({"error": 0.1, "n_test": 10, "confidence_level": 95}, "confidence_level"),
        ({"y_true": [0, 1]}, "y_pred is missing"),
        ({"y_pred": [0, 1]}, "y_true is missing"),
        ({"y_true": [0, 1, 1], "y_pred": [0, 1]}, "y_true has 3 labels but y_pred has 2"),
        ({"y_true": [], "y_pred": []}, "y_true is empty"),
        ({"y_true": [0, 1], "y_pred": [0, None]}, "y_pred contains 1 missing labels"),
        ({"y_true": [None, math.nan], "y_pred": [0, 1]}, "y_true has no labels"),
        ({"y_true": [0, math.nan], "y_pred": [0, 1, 1]}, "equal length"),
        ({"y_true": ["cat", 1], "y_pred": [0, 1]}, "y_true has labels .* not estimated for: 'cat'; it knows 0, 1"),
        ({"y_true": [0, 1], "y_pred": [0, 2]}, "y_pred has labels .* not estimated for: 2"),
    ],
)
def test_refusals(result: FloorResult, arguments: dict, message: str) -> None:
    with pytest.raises((ParameterError, DataError), match=message):
        compare(result, **arguments)


def test_what_is_no_result_is_refused() -> None:
    with pytest.raises(DataTypeError, match="needs a FloorResult"):
        compare(0.1, error=0.2, n_test=100)  # type: ignore[arg-type]


def test_html_is_escaped(result: FloorResult) -> None:
    hostile = replace(result, classes=("<script>alert(1)</script>", "b"))
    found = compare(hostile, y_true=[hostile.classes[0]] * 100, y_pred=["b"] * 100)
    assert "<script>" in str(found)
    assert "<script>" not in found._repr_html_()


@pytest.mark.parametrize(
    "learners", [("gaussian", "additive", "neighbours"), pytest.param((), marks=pytest.mark.slow)], ids=["few", "all"]
)
def test_coverage_on_known_truths(use_learners, learners: tuple) -> None:
    # A short run of benchmarks/compare_coverage.py: at a true coverage of 0.9 so few hits have probability < 1e-4.
    use_learners(*learners)
    done = list(compare_coverage.runs(9, n_draws=40_000, n_rows=(300, 500)))
    covered = sum(run.covered for run in done)
    assert covered > binom.ppf(1e-4, len(done), 0.9) - 1
    assert len({run.problem for run in done}) == 9
    assert f"in {covered} of 9 runs" in compare_coverage.page(done)


def test_works_on_a_real_estimate(use_learners) -> None:
    use_learners("gaussian", "additive")
    X, y = problems.get("moons").sample(300, random_state=0)
    found = compare(estimate(X, y, effort="fast", n_jobs=1), error=0.5, n_test=1000)
    assert isinstance(found, Comparison)
    assert found.verdict == "room"
