"""Floors of the user's own scores: distorted, tied, infinite, or of rows that the model was trained on."""

import importlib.util
import sys
from itertools import product
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from bayesfloor import compare, frames, from_scores, plots, problems
from bayesfloor.bounds import certified_upper_limit
from bayesfloor.floor.result import FloorResult
from bayesfloor.report.page import render
from bayesfloor.utils.intervals import upper_limit


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    name = "score_distortions"
    path = Path(__file__).parents[2] / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module", params=["gaussians_4d", "mixture_2d"])
def sample(request) -> tuple[np.ndarray, np.ndarray]:
    """Posterior and labels, of two classes and of three."""
    problem = problems.get(request.param)
    X, y = problem.sample(600, random_state=3)
    return problem.posterior(X), y


# --- distorted scores ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("distortions", "samples"),
    [(("saturating", "uneven slopes"), 6), pytest.param((), 40, marks=pytest.mark.slow)],
    ids=["two", "all"],
)
def test_distorted_scores_are_covered(benchmark: ModuleType, distortions: tuple, samples: int) -> None:
    # A short run of benchmarks/score_distortions.py, on other samples. No cell may have fewer hits than would happen
    # once in 10,000 at the nominal 95 %.
    for name, distortion in product(benchmark.PROBLEMS, distortions or benchmark.DISTORTIONS):
        floor = problems.get(name).bayes_error
        done = [benchmark.one((name, distortion, 1000 + seed)) for seed in range(samples)]
        covered = sum(low <= floor <= high for _, low, high, _ in done)
        assert covered >= binom.ppf(1e-4, samples, 0.95), (name, distortion)


def test_floors_of_distorted_scores_are_near_the_others(benchmark: ModuleType, sample) -> None:
    P, y = sample
    floor = from_scores(P, y, n_jobs=1).floor
    for distortion in benchmark.DISTORTIONS:
        found = from_scores(benchmark.distorted(P, distortion), y, n_jobs=1)
        # One sample, so that its noise is in both: of two classes nothing is left, of three a part of it.
        most = 0.0 if P.shape[1] == 2 else np.sqrt(floor * (1 - floor) / len(y))
        assert abs(found.floor - floor) <= most, distortion


def test_the_interval_reaches_from_plug_in_to_error_and_the_ceiling_is_the_raw_one(benchmark, sample) -> None:
    P, y = sample
    for distortion in benchmark.DISTORTIONS:
        scores = benchmark.distorted(P, distortion)
        found = from_scores(scores, y, n_jobs=1)
        figures = [found.evidence[f"recalibrated_{name}"] for name in ("plugin", "error")]
        assert found.interval.low <= min(figures)
        assert found.interval.high >= max(figures)
        named = scores.argmax(axis=1) if P.shape[1] > 2 else (scores[:, 0] > 0).astype(int)
        assert found.ceiling == min(upper_limit(int((named != y).sum()), len(y), 0.95), 1 - 1 / P.shape[1])


def test_neither_order_nor_names_matter(benchmark: ModuleType, sample) -> None:
    P, y = sample
    scores = benchmark.distorted(P, "uneven slopes")
    if P.shape[1] == 2:
        scores = np.hstack([-scores, scores])
    found = from_scores(scores, y, n_jobs=1)
    order = np.random.default_rng(0).permutation(len(y))
    rows = from_scores(scores[order], y[order], n_jobs=1)
    names = from_scores(scores[:, ::-1], P.shape[1] - 1 - y, n_jobs=1)
    assert found.floor == pytest.approx(rows.floor, abs=1e-9)
    assert found.floor == pytest.approx(names.floor, abs=1e-9)
    assert found.posterior[order] == pytest.approx(rows.posterior, abs=1e-9)
    assert found.posterior[:, ::-1] == pytest.approx(names.posterior, abs=1e-9)


def test_scores_may_be_certain(sample) -> None:
    P, y = sample
    hard = np.where(P > 0.9, 1.0, np.where(P < 0.1, 0.0, P))
    hard /= hard.sum(axis=1, keepdims=True)
    huge = 1e307 * (P - P.mean(axis=1, keepdims=True))
    for scores in (hard, huge):
        found = from_scores(scores, y, n_jobs=1)
        assert np.isfinite(found.posterior).all()
        assert abs(found.floor - from_scores(P, y, n_jobs=1).floor) < 0.02


def test_balls_see_what_no_increasing_map_can() -> None:
    rng = np.random.default_rng(0)
    score = rng.normal(size=2000)  # what is far from 0 on either side is of one class: the floor is 0.1
    y = (rng.random(2000) < np.where(np.abs(score) > 1, 0.9, 0.1)).astype(int)
    found = from_scores(score, y, n_jobs=1)
    assert abs(found.evidence["ball"] - 0.1) < 4 * np.sqrt(0.1 * 0.9 / 2000)
    assert found.interval.low <= found.evidence["ball"] < 0.5 * found.floor


# --- scores of training rows --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(40, random_state=0),
        KNeighborsClassifier(1),
        HistGradientBoostingClassifier(max_iter=200, early_stopping=False, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("name", ["gaussians_4d", "mixture_2d"])
def test_scores_of_training_rows_certify_nothing(name: str, model) -> None:
    problem = problems.get(name)
    X, y = problem.sample(400, random_state=0)
    found = from_scores(model.fit(X, y).predict_proba(X), y, n_jobs=1)
    assert [doubt.code for doubt in found.doubts] == ["scores-of-training-rows", "floor-of-scores"]
    assert found.ceiling is None
    assert found.certificate is None
    assert problem.bayes_error in found.interval  # from these rows nothing is known of new ones
    assert found.interval.high >= found.majority_error
    assert "no limit can be certified" in str(found)
    assert "no limit can be certified" in render(found)
    assert "ceiling" not in set(frames.floor_frame(found)["name"]) | set(frames.estimates_frame(found)["name"])
    plots.plot_floor(found)
    assert FloorResult.from_json(found.to_json()) == found
    assert compare(found, error=problem.bayes_error, n_test=1000).verdict == "cannot tell"


@pytest.mark.parametrize("name", ["gaussians_4d", "gaussians_50d", "mixture_2d", "mixture_10d"])
def test_honest_scores_are_not_accused(name: str) -> None:
    problem = problems.get(name)
    X, y = problem.sample(800, random_state=1)
    forest = RandomForestClassifier(40, random_state=0).fit(X[:400], y[:400])
    for scores in (problem.posterior(X[400:]), forest.predict_proba(X[400:])):
        found = from_scores(scores, y[400:], n_jobs=1)
        assert found.ceiling is not None
        assert [doubt.code for doubt in found.doubts] == ["floor-of-scores"]
        # A model that has memorised its rows in part cannot be found out: what the limit rests on is said.
        assert "if their model has not seen these rows" in str(found)


@pytest.mark.parametrize("scores", ["constant", "noise"])
def test_a_rare_class_is_no_sign_of_memory(scores: str) -> None:
    """Of 10,000 rows 15 are of the second class: whoever names the first errs hardly ever, and knows nothing."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(10_000) < 15).astype(int)
    found = from_scores(np.full(10_000, 0.0015) if scores == "constant" else rng.beta(1, 600, 10_000), y, n_jobs=1)
    assert [doubt.code for doubt in found.doubts] == ["floor-of-scores"]
    assert found.ceiling is not None


# --- ties and copies ----------------------------------------------------------------------------------------


def test_tied_scores_are_no_rows_that_repeat() -> None:
    problem = problems.get("gaussians_4d")
    X, y = problem.sample(1600, random_state=0)
    tree = DecisionTreeClassifier(min_samples_leaf=3, random_state=0).fit(X[:600], y[:600])
    steps = tree.predict_proba(X[600:])
    # What boosting makes of its leaves: as many values as leaves, and all their digits.
    fine = steps + 1e-4 * np.random.default_rng(0).random(tree.tree_.node_count)[tree.apply(X[600:]), None] * [1, -1]
    for scores in (steps, np.clip(fine, 0, 1), problem.posterior(X[600:]).round(2)):
        found = from_scores(scores, y[600:], n_jobs=1)
        assert not [note for note in found.notes if "repeat" in note or "copies" in note]
        assert found.certificate.tested == 1000


def test_rows_without_a_label_are_dropped(sample) -> None:
    P, y = sample
    labels = [None if row in (2, 9) else label for row, label in enumerate(y.tolist())]
    kept = np.delete(np.arange(len(y)), [2, 9])
    found = from_scores(P, labels)
    assert found.floor == from_scores(P[kept], y[kept]).floor
    assert f"2 of {len(y):,} rows without a label dropped" in found.notes
    np.testing.assert_array_equal(found.row_numbers, kept)


def test_copies_are_named() -> None:
    problem = problems.get("gaussians_4d")
    X, y = problem.sample(300, random_state=0)
    found = from_scores(np.repeat(problem.posterior(X), 2, axis=0), np.repeat(y, 2), n_jobs=1)
    assert found.certificate.tested == 300
    assert "300 of 600 rows are copies of another: each record counts once for the ceiling" in found.notes


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_interval_ends_at_the_certified_limit_of_a_tenth_of_its_risk(n_classes: int, level: float) -> None:
    # As in `estimate`. The scores name the right class in all but 5 % of the rows and are otherwise noise, so that
    # they expect more errors than they make, and the certified limit ends the interval.
    rng = np.random.default_rng(0)
    named, rows = np.arange(300) % n_classes, np.arange(300)
    scores = 3 * rng.normal(size=(300, n_classes))
    scores[rows, named] = scores.max(axis=1) + 0.01
    y = np.where(rng.random(300) < 0.05, (named + 1) % n_classes, named)
    result = from_scores(scores, y, confidence_level=level, n_jobs=1)
    errors = int((named != y).sum())
    assert (result.certificate.errors, result.certificate.tested) == (errors, 300)
    assert result.interval.high == certified_upper_limit(errors, 300, confidence_level=1 - (1 - level) / 10).upper
