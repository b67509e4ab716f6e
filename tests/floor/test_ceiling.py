"""What is called certified: a draw that knows nothing of the rows, limits that hold, records that count once."""

import json
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, chi2, norm

from bayesfloor import (
    DataError,
    ParameterError,
    Run,
    bounds,
    compare,
    estimate,
    frames,
    from_scores,
    plots,
    table_from_frame,
)
from bayesfloor.floor import conclusion
from bayesfloor.floor.ceiling import HeldOut, ceiling, group_limit, held_out_errors
from bayesfloor.floor.labelled_rows import LabelledRows
from bayesfloor.floor.result import FloorResult
from bayesfloor.floor.rule import highest_level
from bayesfloor.library.arrangement import Arrangement
from bayesfloor.library.cross_fit import assign_folds
from bayesfloor.library.learners import LIBRARY
from bayesfloor.library.pool import Stage
from bayesfloor.report.page import render
from bayesfloor.rows.blocks import ArrayBlocks, draw_rows
from bayesfloor.rows.dataset import Dataset, validate
from bayesfloor.rows.draws import Draws, one_of_each
from bayesfloor.stopping.rule import FloorStopping
from bayesfloor.utils.intervals import ConfidenceInterval, upper_limit

FAST = {"effort": "fast", "n_jobs": 1}


@pytest.fixture(autouse=True)
def cheap_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two learners: what is certified does not depend on which classifier it is."""
    monkeypatch.setattr(
        "bayesfloor.library.cross_fit.LIBRARY", {name: LIBRARY[name] for name in ("gaussian", "additive")}
    )


def held_out_rows(data, seed: int = 0) -> np.ndarray:
    """Rows that `estimate` would hold out, as numbers of the rows of `data`."""
    arrangement = Arrangement.of(data)
    labels = arrangement.codes[data.labels[arrangement.order]]
    fold = assign_folds(labels, None, Draws(seed, arrangement.digest).rng("folds"))
    return arrangement.order[fold == 0]


def noisy_middle(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(n, 4))
    middle = (X**2).sum(axis=1) < chi2.ppf(0.5, 4)
    return X, np.where(middle, rng.integers(0, 2, n), X[:, 0] > 0)


def discrete(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.integers(0, 2, (n, 3)).astype(float)
    return X, np.where(X[:, 1:].sum(axis=1) == 1, rng.integers(0, 2, n), X[:, 0])


def half_copied(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X, y = noisy_middle(2 * n // 3, rng)
    return np.vstack([X, X[: n // 3]]), np.concatenate([y, y[: n // 3]])


def without_copies(data: Dataset, groups=None, seed: int = 0) -> LabelledRows:
    """Each record once, as where the library learns from all rows."""
    blocks = ArrayBlocks(data.X, data.labels, data.n_classes, block_rows=data.n_samples)
    rows = LabelledRows(blocks, data.classes, data.feature_names, data=data, groups=groups)
    return rows.without_copies(seed, np.ones(data.X.shape[1], dtype=bool), None)


SHAPES = {"continuous": noisy_middle, "discrete": discrete, "half copied": half_copied}


def level_of(shape: str, n: int, samples: int) -> float:
    """How often the limit holds for a classifier that nothing has trained: x0 > 0 errs 0.25 in all three shapes."""
    held = 0
    for sample in range(samples):
        rng = np.random.default_rng([sample, n])
        X, y = SHAPES[shape](n, rng)
        data = without_copies(validate(X, y)).data
        rows = held_out_rows(data)
        wrong = (data.X[rows, 0] > 0.5 * (shape == "discrete")) != data.labels[rows]
        held += upper_limit(int(wrong.sum()), len(rows), 0.95) >= 0.25
    return held / samples


@pytest.mark.parametrize("shape", SHAPES)
def test_held_out_rows_are_a_random_sample(shape: str) -> None:
    # Of positions among rows sorted by distance the same ranks were held out every time: 62 to 92 % at this size.
    samples = 500
    assert level_of(shape, 173, samples) >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / samples)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_limits_of_a_fixed_classifier_hold_at_their_level(shape: str) -> None:
    samples = 8_000
    assert level_of(shape, 173, samples) >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / samples)


@pytest.mark.parametrize("shape", SHAPES)
def test_number_of_errors_held_out_is_binomial(shape: str) -> None:
    # The spread as well as the mean: ranks that are held out every time would leave too little of it.
    counts = []
    for sample in range(300):
        rng = np.random.default_rng([sample, 7])
        X, y = SHAPES[shape](120, rng)
        data = without_copies(validate(X, y)).data
        rows = held_out_rows(data)
        counts.append(((data.X[rows, 0] > 0.5 * (shape == "discrete")) != data.labels[rows]).sum())
    n = len(rows)
    assert abs(np.mean(counts) - n / 4) < 4 * np.sqrt(n * 0.25 * 0.75 / 300)
    ratio = np.var(counts, ddof=1) / (n * 0.25 * 0.75)
    assert abs(ratio - 1) < 4 * np.sqrt(2 / 300)


def test_the_draw_is_that_of_estimate_and_order_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    X, y = noisy_middle(150, rng)
    seen = []

    def caught(data, learned, counted, **options):
        seen.append((learned.arrangement.order[learned.fitted.fold == 0], learned))
        return conclusion.conclude(data, learned, counted, **options)

    order = rng.permutation(150)
    with patch("bayesfloor.floor._estimate.conclude", caught):
        first = estimate(X, y, **FAST)
        second = estimate(X[order], np.array(["b", "a"])[y[order].astype(int)], **FAST)
    np.testing.assert_array_equal(np.sort(seen[0][0]), np.sort(held_out_rows(validate(X, y))))
    np.testing.assert_array_equal(np.sort(order[seen[1][0]]), np.sort(seen[0][0]))
    assert second.ceiling == pytest.approx(first.ceiling, abs=1e-12)
    assert set(held_out_rows(validate(X, y), seed=1)) != set(seen[0][0])


def test_equal_rows_are_drawn_one_by_one() -> None:
    # 32 cells of about six rows: a hash of each row would hold out whole cells.
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (200, 5)).astype(float), rng.integers(0, 2, 200)
    rows = held_out_rows(validate(X, y))
    cells = X @ 2 ** np.arange(5)
    assert len(set(cells[rows]) & set(np.delete(cells, rows))) >= 15


# --- copies -------------------------------------------------------------------------------------------------


def test_copies_of_noise_are_noise() -> None:
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.normal(size=(100, 3)), 4, axis=0), np.repeat(rng.integers(0, 2, 100), 4)
    result = estimate(X, y, **FAST)
    assert result.ceiling is not None
    assert result.ceiling >= 0.5 - 1e-12
    assert result.floor > 0.4
    assert 0.5 in result.interval
    assert "300 of 400 rows (75.0%) are copies of another" in result.notes[0]
    assert result.posterior.shape == (100, 2)
    assert sorted(set(result.row_numbers // 4)) == list(range(100))
    assert result.row_number(5) == result.row_numbers[5]


def test_balls_on_columns_do_not_mind_copies_that_are_gone() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(rng.integers(0, 2, 300), 2)
    X = np.repeat(rng.normal(size=(300, 2)), 2, axis=0) + y[:, None]
    assert "labels of like rows" in {figure.name for figure in estimate(X, y, **FAST).estimates}


def test_groups_of_a_table_need_all_rows() -> None:
    values = np.random.default_rng(0).normal(size=60)
    frame = pd.DataFrame({"a": values, "who": np.arange(60) // 2, "label": np.arange(60) % 2})
    table = table_from_frame(frame, target="label", groups="who")
    with pytest.raises(ParameterError, match="groups need all rows"):
        estimate(table, run=Run(sample_rows=100), **FAST)


def test_which_copy_is_kept_is_chance_and_order_free() -> None:
    rng = np.random.default_rng(1)
    X = np.repeat(rng.normal(size=(400, 2)), 2, axis=0)
    y = rng.integers(0, 2, 800)  # some copies disagree
    data = validate(X, y)
    kept = without_copies(data).row_numbers
    assert abs(y[kept].mean() - 0.5) < 4 * 0.5 / 20
    order = rng.permutation(800)
    again = without_copies(validate(X[order], y[order])).row_numbers
    assert sorted(zip(order[again] // 2, y[order[again]], strict=True)) == sorted(zip(kept // 2, y[kept], strict=True))


def test_groups_with_copies_of_one_record_are_one_group() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 3))
    X, groups = np.vstack([X, X[:10:2]]), np.concatenate([np.repeat(np.arange(30), 2), np.full(5, 29)])
    rows = without_copies(validate(X, np.arange(65) % 2), groups)
    data, joined, kept = rows.data, rows.groups, rows.row_numbers
    assert len(kept) == 60
    group_of = dict(zip(kept.tolist(), joined.tolist(), strict=True))
    assert len({group_of[row] for row in (1, 3, 5, 7, 9, 58, 59)}) == 1
    assert len(set(joined)) == 25
    assert data.n_copies == 5


def test_a_class_that_copies_made_is_refused_in_these_words() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(100, 3)), np.arange(100) < 3
    with pytest.raises(DataError, match="3 rows besides copies"):
        estimate(np.vstack([X, X[:9], X[:9]]), np.concatenate([y, y[:9], y[:9]]), **FAST)


def test_held_out_bound_counts_a_record_once() -> None:
    from sklearn.neighbors import KNeighborsClassifier

    below = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = np.repeat(rng.normal(size=(150, 3)), 4, axis=0), np.repeat(rng.integers(0, 2, 150), 4)
        below += bounds.held_out_bound(X, y, [KNeighborsClassifier(1)]).upper < 0.5
    assert below <= binom.ppf(0.9999, 20, 0.05)


# --- groups -------------------------------------------------------------------------------------------------


def few_noisy_groups(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """300 clean single rows, and 60 groups of 20 rows of noise: row-weighted floor 0.40."""
    rng = np.random.default_rng(seed)
    groups = np.concatenate([np.arange(300), 300 + np.repeat(np.arange(60), 20)])
    X, noise = rng.normal(size=(1500, 3)), np.arange(1500) >= 300
    X[noise, 1] += 6
    return X, np.where(noise, rng.integers(0, 2, 1500), X[:, 0] > 0), groups


def test_groups_of_unequal_size_are_weighted_by_their_rows() -> None:
    X, y, groups = few_noisy_groups(0)
    result = estimate(X, y, groups=groups, **FAST)
    assert result.ceiling >= 0.4
    assert abs(result.floor - 0.4) < 0.06
    assert result.certificate.units == "groups"


def test_a_fixed_number_of_groups_is_held_out() -> None:
    # Stopping at a fifth of the rows takes large groups too often.
    sizes = np.where(np.arange(100) < 80, 1, 16)
    groups = np.repeat(np.arange(100), sizes)
    y = np.random.default_rng(0).integers(0, 2, len(groups))
    large = []
    for seed in range(60):
        fold = assign_folds(y, groups, np.random.default_rng(seed))
        held = np.unique(groups[fold == 0])
        assert len(held) == 20
        large.append((held >= 80).mean())
    assert abs(np.mean(large) - 0.2) < 4 * np.sqrt(0.2 * 0.8 / 20 * 80 / 99 / 60)


@pytest.mark.parametrize("kind", ["size goes with error", "heavy tail", "few groups"])
def test_limits_of_unequal_groups_hold(kind: str) -> None:
    rng, runs = np.random.default_rng(4), 400
    n = 12 if kind == "few groups" else 80
    held = 0
    truth = {"size goes with error": 0.4, "heavy tail": 0.2, "few groups": 0.2}[kind]
    for _ in range(runs):
        if kind == "heavy tail":
            sizes = np.minimum(rng.zipf(2.0, n), 200)
            wrong = rng.binomial(sizes, 0.2)
        elif kind == "few groups":
            sizes = rng.integers(1, 9, n)
            wrong = np.where(rng.random(n) < 0.2, sizes, 0)  # all of a group, or none
        else:
            noisy = rng.random(n) < 1 / 6
            sizes, wrong = np.where(noisy, 20, 1), np.where(noisy, rng.binomial(20, 0.5, n), 0)
        held += group_limit(wrong, sizes, sizes.max(), 0.5, 0.95) >= truth
    assert held / runs >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / runs)


def test_limit_of_groups_is_not_empty() -> None:
    # 1,000 groups of one to nine rows: within four times the distance of the limit for independent rows.
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 10, 1000)
    wrong = rng.binomial(sizes, 0.2)
    rate = wrong.sum() / sizes.sum()
    by_rows = upper_limit(int(wrong.sum()), int(sizes.sum()), 0.95) - rate
    by_groups = group_limit(wrong, sizes, 9, np.sqrt(6 / (1000 * 0.04)), 0.95) - rate
    assert by_rows < by_groups < 4 * by_rows


def test_group_limit_solves_its_equation() -> None:
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 5, 60)
    wrong = rng.binomial(sizes, 0.2)
    t = group_limit(wrong, sizes, 4, 0.5, 0.95)
    assert 0.2 < t < 0.6
    wealth = []
    for stake in (0.125, 0.25, 0.5, 1.0, 1.0):
        product = 1.0
        for s, m in zip(wrong, sizes, strict=True):
            product *= 1 + stake * m / 4 * (t - s / m)
        wealth.append(product)
    assert np.mean(wealth) == pytest.approx(20, rel=1e-6)
    assert group_limit(np.array([1, 1]), np.array([1, 1]), 1, 0.5, 0.95) == 1.0


def test_equal_groups_count_one_row_each() -> None:
    rng = np.random.default_rng(6)
    groups = np.repeat(np.arange(40), 5)
    X = rng.normal(size=(200, 2))
    result = estimate(X, X[:, 0] > 0, groups=groups, **FAST)
    assert (result.certificate.tested, result.certificate.units) == (8, "rows")


def test_the_order_of_equal_rows_in_groups_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    X, y, groups = rng.integers(0, 2, (200, 2)).astype(float), rng.integers(0, 2, 200), np.repeat(np.arange(100), 2)
    first = estimate(X, y, groups=groups, **FAST)
    for seed in (1, 2):
        order = np.random.default_rng(seed).permutation(200)
        again = estimate(X[order], y[order], groups=groups[order], **FAST)
        assert again.certificate == first.certificate
        assert again.interval.low == pytest.approx(first.interval.low, abs=1e-6)


def test_a_class_of_few_groups_is_estimated_all_the_same() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 12 == 0
    for seed in range(3):
        assert 0 <= estimate(X, y, groups=np.arange(60) // 3, random_state=seed, **FAST).floor <= 0.5


# --- large tables -------------------------------------------------------------------------------------------


def constant_misses(n_classes: int, samples: int) -> float:
    """How often the limit of the constant classifier lies below its error, on noise: rows outside a plain sample."""
    below = 0
    for seed in range(samples):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, n_classes, 2000)
        blocks = ArrayBlocks(rng.normal(size=(2000, 1)), y, n_classes)
        numbers, _, added = draw_rows(blocks, 600, rng)
        assert added.sum() == 0
        others = np.delete(y, numbers)
        named = np.bincount(y[numbers]).argmax()
        below += upper_limit(int((others != named).sum()), len(others), 0.95) < 1 - 1 / n_classes
    return below / samples


@pytest.mark.parametrize("n_classes", [2, 10])
def test_the_sample_of_a_large_table_tells_nothing_of_the_others(n_classes: int) -> None:
    # Drawn by the class shares of all rows, its largest class was that of the others, too: 17 % with ten classes.
    samples = 1000
    assert constant_misses(n_classes, samples) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / samples)


def test_rare_classes_of_a_large_table_get_rows_that_are_counted() -> None:
    y = np.zeros(3000, dtype=np.int64)
    y[[5, 77, 2500]] = 1
    y[100:200] = 2
    numbers, counts, added = draw_rows(
        ArrayBlocks(np.zeros((3000, 1)), y, 3, block_rows=700), 90, np.random.default_rng(0)
    )
    assert counts.tolist() == [2897, 3, 100]
    found = np.bincount(y[numbers], minlength=3)
    assert found[1] == 3
    assert found[2] >= 5
    assert len(numbers) == 90 + added.sum()
    assert (np.diff(numbers) > 0).all()


# --- limits and their caps ----------------------------------------------------------------------------------


def test_ceilings_are_capped_and_none_where_nothing_was_tested() -> None:
    assert ceiling(HeldOut(np.array([9, 9]), np.array([10, 10])), None, 0.95) == 0.5
    assert ceiling(HeldOut(np.array([9, 9]), np.array([10, 10])), np.array([0.8, 0.2]), 0.95) == pytest.approx(0.2)
    assert ceiling(HeldOut(np.zeros(2, int), np.zeros(2, int)), None, 0.95) is None
    separate = [upper_limit(k, n, 0.975) for k, n in ((1, 40), (2, 20))]
    given = ceiling(HeldOut(np.array([1, 2]), np.array([40, 20])), np.array([0.5, 0.5]), 0.95)
    assert given == pytest.approx(np.mean(separate))


def test_everything_that_reads_a_ceiling_copes_without_one() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    whole = estimate(X, X[:, 0] + 0.3 * rng.normal(size=60) > 0, **FAST)
    result = replace(whole, ceiling=None, certificate=None)
    assert "no limit can be certified" in str(result)
    assert "no limit can be certified" in render(result)
    assert FloorResult.from_json(result.to_json()) == result
    assert "ceiling" not in set(frames.floor_frame(result)["name"]) | set(frames.estimates_frame(result)["name"])
    plots.plot_floor(result)
    assert compare(result, error=0.3, n_test=500).verdict


def test_copies_of_scores_count_once() -> None:
    below = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 60)
        scores = np.where(rng.random(60) < 0.3, 1 - y, y) * 0.6 + 0.4 * rng.random(60) * 0.99
        result = from_scores(np.repeat(scores, 6), np.repeat(y, 6))
        assert result.certificate.tested == 60
        assert result.interval.high <= max(result.floor, upper_limit(result.certificate.errors, 60, 0.995))
        below += result.ceiling < 0.3
    assert below <= binom.ppf(0.9999, 40, 0.05)


def test_the_interval_ends_at_the_ceiling_of_a_tenth_of_its_risk(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = X[:, 0] + rng.normal(size=200) > 0
    free = estimate(X, y, **FAST)
    assert free.ceiling == pytest.approx(upper_limit(free.certificate.errors, 40, 0.95))
    # Held-out rows that happen to be easy: the limits are below what the rule would say.
    monkeypatch.setattr(
        "bayesfloor.floor._estimate._held_out", lambda *_: HeldOut(np.array([30, 30]), np.array([150, 150]))
    )
    result = estimate(X, y, **FAST)
    assert free.interval.high > upper_limit(60, 300, 0.995)
    assert result.interval.high == pytest.approx(upper_limit(60, 300, 0.995))
    assert result.interval.low <= result.floor <= result.ceiling == pytest.approx(upper_limit(60, 300, 0.95))


# --- a constant classifier ----------------------------------------------------------------------------------


def test_always_answering_the_largest_class_is_a_classifier() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(900, 4)), np.where(np.arange(900) < 13, "Yes", "No")
    result = estimate(X, y, **FAST)
    assert (result.certificate.classifier, result.certificate.label) == ("constant", "No")
    assert result.certificate.tested == 180
    assert str(result).startswith("No better than always answering 'No'")
    assert ">No better than always answering" in result._repr_html_()
    page = render(result)
    assert page.index("No better than always answering") < page.index('class="cards"')
    easy = estimate(X, X[:, 0] > 0, **FAST)
    assert easy.certificate.classifier == "library"
    assert str(easy).startswith("floor")


def test_the_headline_does_not_contradict_the_error_beside_it() -> None:
    X = np.random.default_rng(0).normal(size=(120, 2))
    result = estimate(X, np.arange(120) < 9, **FAST)
    assert result.certificate.classifier == "constant"
    for error, words in ((0.08, "no classifier was seen"), (0.05, "with half of the rows no classifier was seen")):
        assert words in replace(result, evidence={**result.evidence, "error": error, "majority": 0.075}).headline


def test_a_constant_of_any_kind_is_saved() -> None:
    X = np.random.default_rng(0).normal(size=(120, 2))
    days = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")[(np.arange(120) < 9).astype(int)]
    result = estimate(X, days, **FAST)
    assert result.certificate.classifier == "constant"
    again = FloorResult.from_json(result.to_json())
    assert again.certificate.label == again.classes[0]


def test_the_candidate_is_chosen_without_held_out_labels() -> None:
    # Scores of the half stage are useless, those of the whole stage perfect: the choice must go by the half stage.
    rng = np.random.default_rng(0)
    y, fold = rng.integers(0, 2, 300), rng.integers(0, 5, 300)
    sure = np.log(np.where(np.eye(2)[y] > 0, 0.99, 0.01))[None].astype(np.float32)
    blind = np.log(np.full((1, 300, 2), 0.5)).astype(np.float32)
    whole, half = (Stage(1.0, 1, ("a",), ("a",), logs) for logs in (sure, blind))
    weights = np.full(300, 1 / 300)
    held = held_out_errors(whole, half, y, fold, weights, np.ones(2), rng)
    assert held.constant is not None
    assert held.wrong.sum() == (y[fold == 0] != held.constant).sum()
    swapped = held_out_errors(half, whole, y, fold, weights, np.ones(2), rng)
    assert swapped.constant is None


# --- naming the largest class -------------------------------------------------------------------------------


def test_one_figure_for_naming_the_largest_class() -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    result = estimate(X, np.arange(30) < 8, **FAST)
    shown = result.majority_error
    assert result.floor <= shown
    assert shown == pytest.approx(0.3024, abs=1e-4)  # counted: 8 of 30, 0.267
    page = render(result)
    assert "errs about 30.2%" in page
    assert f"{shown:.1%}" in frames_of(result)
    scores = from_scores(np.random.default_rng(1).random(60), np.arange(60) < 16)
    assert scores.floor <= scores.majority_error


def frames_of(result: FloorResult) -> str:
    rows = frames.floor_frame(result)
    return " ".join(f"{value:.1%}" for value in rows["value"][rows["name"] == "largest class"])


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 10])
def test_pure_noise_is_unbiased(n_classes: int) -> None:
    off = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        result = estimate(rng.normal(size=(600, 5)), rng.integers(0, n_classes, 600), **FAST)
        off.append(result.floor - (1 - 1 / n_classes))
    assert abs(np.mean(off)) < 4 * np.std(off, ddof=1) / np.sqrt(12)


# --- levels and files ---------------------------------------------------------------------------------------


def test_levels_that_the_evidence_cannot_carry_are_refused(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    assert 0.95 <= highest_level() < 0.999
    with pytest.raises(ParameterError, match="more than the evidence carries"):
        estimate(X, X[:, 0] > 0, confidence_level=0.999)
    result = FloorResult.from_json((Path(__file__).parent / "data" / "result_schema_1.json").read_text())
    with pytest.raises(ParameterError, match="more than the evidence carries"):
        compare(result, error=0.3, n_test=100, confidence_level=0.999)
    most = (1 + highest_level()) / 2
    with pytest.raises(ParameterError, match=rf"confidence_level 0\.9995 .* {most:g} is the most, one-sided"):
        FloorStopping(result, confidence_level=0.9995)
    saved = replace(result, interval=ConfidenceInterval(result.interval.low, result.interval.high, 0.999))
    assert compare(saved, error=0.3, n_test=100).excess_interval.confidence_level == 0.999  # whoever wrote it


def test_results_of_version_0_1_stay_readable() -> None:
    text = (Path(__file__).parent / "data" / "result_schema_1.json").read_text(encoding="utf-8")
    old = FloorResult.from_json(text)
    assert json.loads(text)["schema"] == 1
    assert old.floor == json.loads(text)["floor"]
    assert old.certificate is None
    assert "certified" in str(old)
    assert FloorResult.from_json(old.to_json()) == old
    assert json.loads(old.to_json())["schema"] == 5
    assert "&lt;3&gt;" in render(old)


def test_draws_for_several_purposes_differ() -> None:
    draws = Draws(0, 123)
    assert draws.rng("folds").integers(2**60) != draws.rng("balls").integers(2**60)
    assert draws.rng("folds").integers(2**60) == Draws(0, 123).rng("folds").integers(2**60)
    assert set(one_of_each(np.array([0, 0, 1, 1]), draws.rng("x")) // 2) == {0, 1}


def test_gaussian_floor_is_below_its_ceiling_at_the_level() -> None:
    # A trained classifier, at a small size: the floor is below its error, so the level can only be higher.
    below = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 120)
        X = rng.normal(size=(120, 2)) + 2 * y[:, None] * [1, 0]
        below += estimate(X, y, **FAST).ceiling < norm.cdf(-1)
    assert below <= binom.ppf(0.9999, 10, 0.05)
