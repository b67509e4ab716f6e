"""The learned floor: same answer whatever the order, a ceiling nothing has touched, clear refusals."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

import noise_line
from bayesfloor import (
    BayesfloorWarning,
    BenchmarkLearner,
    DataError,
    DataTypeError,
    ParameterError,
    problems,
    table_from_frame,
)
from bayesfloor.floor._estimate import estimate
from bayesfloor.floor._from_scores import from_scores
from bayesfloor.floor.ceiling import held_out_errors
from bayesfloor.floor.doubts import width_with_more
from bayesfloor.floor.noise import SPREAD, NoiseCheck, feebee_score, labels_noise, noise_check
from bayesfloor.floor.result import FloorResult
from bayesfloor.floor.rule import Evidence, ScoreSpace, judge, shrunk_shares
from bayesfloor.library.cross_fit import assign_parts, cross_fit
from bayesfloor.library.learners import KINDS, LIBRARY
from records import read_records

# Where the claim is about the way rows go and not about the learners: two of them, and all of them in the long run.
FEW_OR_ALL = pytest.mark.parametrize(
    "learners", [("gaussian", "additive"), pytest.param((), marks=pytest.mark.slow)], ids=["few", "all"]
)


@pytest.fixture(scope="module")
def sample():
    return problems.get("mixture_2d").sample(500, random_state=1)


@pytest.fixture(scope="module")
def result(sample) -> FloorResult:
    return estimate(*sample, effort="fast", n_jobs=1)


def test_result_is_coherent(result: FloorResult) -> None:
    assert result.interval.low <= result.floor <= result.interval.high
    assert 0 <= result.floor <= result.ceiling <= 1
    assert sum(result.class_error) == pytest.approx(result.floor)
    assert sum(share for *_, share in result.pairs()) == pytest.approx(result.floor)
    assert [point.n_train for point in result.learning_curve] == pytest.approx([400, 200, 100, 50], abs=3)
    kinds = {KINDS.get(score.learner, score.learner) for score in result.learners}
    assert kinds >= {*KINDS.values(), "boosting"}
    assert result.posterior is not None
    np.testing.assert_allclose(result.posterior.sum(axis=1), 1)
    hardest = result.hardest_rows(5)
    assert all(hardest[i][1] >= hardest[i + 1][1] for i in range(4))
    for row, looks, probability in result.suspect_rows(5):
        assert looks != result.classes[result.labels[row]]
        assert probability < 0.5


@pytest.mark.parametrize("seed", [2**32 - 1, 2**32 - 3])
def test_the_largest_seeds_lose_no_learner(sample, result, seed) -> None:
    """Seeds of folds are counted on from the one given, and generators of scikit-learn take none from 2**32 on."""
    X, y = sample
    found = estimate(X[:150], y[:150], effort="fast", n_jobs=1, random_state=seed)
    assert not [note for note in found.notes if "left out" in note]
    assert found.settings["random_state"] == seed


def test_a_seed_that_is_drawn_is_recorded(sample, use_learners) -> None:
    use_learners("gaussian", "additive")
    options = {"effort": "fast", "n_jobs": 1}
    drawn = estimate(*sample, random_state=None, **options)
    seed = json.loads(drawn.to_json())["settings"]["random_state"]
    assert type(seed) is int
    assert estimate(*sample, random_state=seed, **options).floor == drawn.floor
    first, second = (np.random.RandomState(5) for _ in range(2))
    seeds = [estimate(*sample, random_state=s, **options).settings["random_state"] for s in (first, second, first)]
    assert seeds[0] == seeds[1] != seeds[2], "a RandomState goes on from one call to the next"


def test_rows_classes_and_threads_do_not_matter(sample, result: FloorResult) -> None:
    X, y = sample
    order = np.random.default_rng(0).permutation(len(y))
    renamed = np.array(["zebra", "ape", "mole"])[y]
    other = estimate(pd.DataFrame(X[order]), renamed[order], effort="fast", n_jobs=2)
    assert other.floor == pytest.approx(result.floor, abs=1e-6)
    assert other.interval.high == pytest.approx(result.interval.high, abs=1e-6)
    assert other.ceiling == pytest.approx(result.ceiling, abs=1e-6)
    columns = [list(other.classes).index(name) for name in ("zebra", "ape", "mole")]
    np.testing.assert_allclose(other.posterior[:, columns], result.posterior[order], atol=1e-6)
    table, renamed_table = np.array(result.pair_error), np.array(other.pair_error)
    np.testing.assert_allclose(renamed_table[np.ix_(columns, columns)], table, atol=1e-6)


@FEW_OR_ALL
@pytest.mark.parametrize("factor", [1e-15, 1e200])
def test_tiny_and_huge_units_do_not_matter(use_learners, learners: tuple, factor: float) -> None:
    use_learners(*learners)
    X, y = problems.get("gaussians_4d").sample(300, random_state=0)
    known = estimate(X, y, effort="fast", n_jobs=1).floor
    assert abs(estimate(X * factor, y, effort="fast", n_jobs=1).floor - known) < 0.005
    X[:, 0] *= factor
    assert abs(estimate(X, y, effort="fast", n_jobs=1).floor - known) < 0.005


@pytest.mark.slow
def test_units_of_discrete_columns_do_not_matter() -> None:
    X, y = problems.get("led").sample(400, random_state=0)
    known = estimate(X, y, effort="fast", n_jobs=1)
    assert abs(estimate(X * 3.7 + 0.1, y, effort="fast", n_jobs=1).floor - known.floor) < 0.005


@FEW_OR_ALL
def test_one_wild_entry_does_not_flatten_its_column(use_learners, learners: tuple) -> None:
    use_learners(*learners)
    X, y = problems.get("gaussians_4d").sample(400, random_state=0)
    known = estimate(X, y, effort="fast", n_jobs=1)
    X[0, 0] = 1e20  # the column that tells the classes apart: without it the error is above 0.4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesfloorWarning)
        wild = estimate(X, y, effort="fast", n_jobs=1)
    assert abs(wild.evidence["error"] - known.evidence["error"]) < 0.02


def test_rare_classes_cost_no_learner() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(300, 3)), np.arange(300) < 6
    X[y] += 3
    rare = estimate(X, y, effort="fast", n_jobs=1)
    tables = set(LIBRARY) - {"linear", "laplace", "network"}  # of texts and images, or not of effort "fast"
    assert {score.learner for score in rare.learners} | set(rare.settings["left_behind"]) == tables


@FEW_OR_ALL
def test_units_hardly_matter(sample, use_learners, learners: tuple) -> None:
    use_learners(*learners)
    X, y = sample
    result = estimate(X, y, effort="fast", n_jobs=1)
    other = estimate(X * [1000.0, 1e-3] + [5.0, -7.0], y, effort="fast", n_jobs=1)
    assert abs(other.floor - result.floor) < 0.005


def test_json_round_trip(result: FloorResult) -> None:
    again = FloorResult.from_json(result.to_json())
    assert again == result
    assert json.loads(result.to_json())["schema"] == 5
    with pytest.raises(DataError, match="read from JSON"):
        again.hardest_rows()
    for text in ("{}", "[1]", "nonsense", '{"schema": -1}'):
        with pytest.raises(DataError, match="not a result"):
            FloorResult.from_json(text)


def test_it_prints_itself(result: FloorResult) -> None:
    text = str(result)
    assert text.startswith("floor")
    assert "ceiling" in text
    assert "no method can certify a lower limit" in text


def test_labels_are_escaped_in_html(use_learners) -> None:
    use_learners("gaussian")
    X, y = problems.get("mixture_2d").sample(200, random_state=0)
    names = np.array(["<script>alert(1)</script>", "b", "c"])
    html = estimate(X, names[y], effort="fast", n_jobs=1)._repr_html_()
    assert "<script>" not in html


@FEW_OR_ALL
def test_held_out_rows_touch_no_choice(use_learners, learners: tuple) -> None:
    use_learners(*learners)
    # With all labels of the held-out rows flipped, parts, models, settings and weights must come out the same: on two
    # classes the same decisions then err exactly where they were right.
    X, y = problems.get("moons").sample(400, random_state=0)
    fitted = cross_fit(X, y, 2, effort="fast", seed=0)
    stages, fold = fitted.stages, fitted.fold
    flipped = np.where(fold == 0, 1 - y, y)
    refitted = cross_fit(X, flipped, 2, effort="fast", seed=0)
    again = refitted.stages
    np.testing.assert_array_equal(refitted.fold, fold)
    assert (fold == 0).sum() == 80
    rest = (fold, np.full(400, 1 / 400), np.ones(2), np.random.default_rng(0))
    held = held_out_errors(stages[0], stages[1], y, *rest)
    held_flipped = held_out_errors(again[0], again[1], flipped, *rest)
    assert held.constant is held_flipped.constant is None
    np.testing.assert_array_equal(held_flipped.tested, held.tested[::-1])
    np.testing.assert_array_equal(held_flipped.wrong, (held.tested - held.wrong)[::-1])
    assert 0 < held.wrong.sum() < held.tested.sum()


def with_gaps(sample) -> np.ndarray:
    """The rows of a sample; a value is missing in a fifth of them, and more often in one class."""
    X, y = sample[0].copy(), sample[1]
    rng = np.random.default_rng(0)
    X[rng.random(len(y)) < 0.2, 1] = np.nan
    X[(rng.random(len(y)) < 0.3) & (y == 1), 0] = np.nan
    return X


def test_missing_values_of_an_array_are_those_of_a_frame(sample, use_learners) -> None:
    use_learners("gaussian", "additive")
    X, y = with_gaps(sample), sample[1]
    frame = estimate(pd.DataFrame(X).add_prefix("column "), y, effort="fast", n_jobs=1)
    objects = np.where(np.isnan(X), None, X)
    for rows in (X, X.tolist(), objects, objects.tolist(), np.ma.masked_invalid(X)):
        array = estimate(rows, y, effort="fast", n_jobs=1)
        assert (array.floor, array.interval, array.ceiling) == (frame.floor, frame.interval, frame.ceiling)
        assert array.notes == frame.notes
    assert "missing values filled with the median and marked by a column of their own: 'column 1'" in frame.notes[0]
    nothing = estimate(np.column_stack([X, np.full(len(y), np.nan)]), y, effort="fast", n_jobs=1)
    assert nothing.floor == frame.floor
    assert "columns left out: 'column 2' (no values)" in nothing.notes


def test_infinite_values_are_refused(sample) -> None:
    X = with_gaps(sample)
    X[40, 1] = np.inf
    for rows in (X, X.tolist()):
        with pytest.raises(DataError, match=r"^X contains 1 infinity .*row 40, column 1\. Correct them, or put NaN"):
            estimate(rows, sample[1], effort="fast", n_jobs=1)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT, np.ma.masked])
def test_rows_without_a_label_are_dropped(sample, use_learners, missing) -> None:
    use_learners("gaussian", "additive")
    X, y = sample
    kept = np.delete(np.arange(len(y)), [3, 10])
    groups = np.arange(len(y)) // 4
    labels = np.ma.array(y, dtype=object)
    labels[[3, 10]] = missing
    alone = estimate(X[kept], y[kept], groups=groups[kept], effort="fast", n_jobs=1)
    for features, given in ((X, labels), (X.tolist(), list(labels)), (pd.DataFrame(X), labels)):
        found = estimate(features, given, groups=groups, effort="fast", n_jobs=1)
        assert (found.floor, found.interval) == (alone.floor, alone.interval)
        assert "2 of 500 rows without a label dropped" in found.notes
        np.testing.assert_array_equal(found.row_numbers, kept)  # rows are those that were given
        assert [row for row, _ in found.hardest_rows(5)] == [kept[row] for row, _ in alone.hardest_rows(5)]
    with pytest.raises(DataError, match="500 rows but y has 499 labels"):
        estimate(X, labels[:-1], effort="fast", n_jobs=1)
    with pytest.raises(DataError, match="no labels: all 500 values are missing"):
        estimate(X, [missing] * 500, effort="fast", n_jobs=1)
    check = noise_check(X, list(labels), rhos=[0.5], groups=groups, effort="fast", n_jobs=1)
    assert check.clean.floor == alone.floor


def test_the_paper_s_estimator_refuses_missing_values(sample) -> None:
    X, y = with_gaps(sample), sample[1]
    with pytest.raises(DataError, match=r"X contains \d+ NaN .*Impute or drop them"):
        BenchmarkLearner().fit(X, y)
    with pytest.raises(DataError, match="2 missing labels"):
        BenchmarkLearner().fit(sample[0], np.where(np.arange(len(y)) < 2, np.nan, y))


def test_numbers_to_predict_are_recognised(sample) -> None:
    X = np.random.default_rng(0).normal(size=(600, 2))
    age = np.round(np.random.default_rng(1).gamma(6, 5, 600))
    often = np.concatenate([np.repeat(np.arange(30), 19), np.repeat([40, 41], [26, 4])])
    for y in (age, age.astype(int).tolist(), often):
        for features in (X, pd.DataFrame(X)):
            with pytest.raises(
                DataError, match=r"y has \d+ different numbers.*looks like a number to predict.*bin this one"
            ):
                estimate(features, y, effort="fast", n_jobs=1)
    with pytest.raises(DataError, match=r"the target 'age' has .* looks like a number to predict"):
        estimate(pd.DataFrame(X).assign(age=age)[:400], target="age", effort="fast", n_jobs=1)
    with pytest.raises(DataError, match="class 7 has only one sample"):  # few classes are classes
        estimate(X, [7, *(i % 3 for i in range(599))], effort="fast", n_jobs=1)


def test_rows_that_say_nothing_are_named(sample) -> None:
    y = sample[1]
    for X in (np.ones((500, 3)), pd.DataFrame(np.ones((500, 3)))):
        with pytest.raises(DataError, match=r"all 3 columns of X are constant"):
            estimate(X, y, effort="fast", n_jobs=1)
    large = 2**60 + np.arange(500)
    for X in (large[:, None], pd.DataFrame({"a": large}), pd.DataFrame({"a": large, "b": list("xy") * 250})):
        with pytest.raises(
            DataError, match=r"whole numbers beyond 2\*\*53.*1152921504606846976 and 1152921504606846977"
        ):
            estimate(X, y, effort="fast", n_jobs=1)
    apart = 2**60 + 2**20 * np.random.default_rng(0).permutation(500)[:, None]
    assert estimate(apart, y, effort="fast", n_jobs=1).floor > 0, "float64 tells these apart"


def test_tables_of_pyarrow_are_named(sample) -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"a": sample[0][:, 0], "label": sample[1]})
    for call in (
        lambda: estimate(table, target="label"),
        lambda: estimate(table, sample[1]),
        lambda: table_from_frame(table, target="label"),
    ):
        with pytest.raises(DataTypeError, match=r"X is a pyarrow Table: pass a frame, X\.to_pandas\(\)"):
            call()


def test_groups_stay_together() -> None:
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 40, 400)
    y = rng.integers(0, 2, 400)
    part = assign_parts(y, groups, 5, rng)
    assert all(len(set(part[groups == g])) == 1 for g in range(40))


def test_few_or_giant_groups_are_refused(sample) -> None:
    X, y = sample
    with pytest.raises(DataError, match="3 groups are too few"):
        estimate(X, y, groups=np.arange(len(y)) % 3)
    with pytest.raises(DataError, match="more than half"):
        estimate(X, y, groups=np.maximum(0, np.arange(len(y)) - len(y) + 10))
    for missing in (None, np.nan):
        groups = [missing, *range(1, 499), missing]
        with pytest.raises(
            DataError, match=r"groups: 2 of 500 rows have no group .*first is row 0: give each of them a"
        ):
            estimate(X, y, groups=groups)


@pytest.mark.parametrize(
    ("seeds", "most", "learners"),
    [(2, 1, ("gaussian", "neighbours")), pytest.param(8, 2, (), marks=pytest.mark.slow)],
    ids=["few", "all"],
)
def test_groups_keep_ceiling_and_interval_honest(use_learners, seeds: int, most: int, learners: tuple) -> None:
    use_learners(*learners)
    # 60 records of ten near-copies each, labels drawn at random: the floor is 0.5, and there are 60 facts, not 600.
    outside, above = 0, 0
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        record = np.repeat(np.arange(60), 10)
        X = rng.normal(size=(60, 3))[record] + 1e-3 * rng.normal(size=(600, 3))
        result = estimate(X, rng.integers(0, 2, 60)[record], groups=record, effort="fast", n_jobs=1)
        outside += 0.5 not in result.interval
        above += result.ceiling < 0.5
    assert outside <= most  # nominal 5 %: more than two of eight have probability 0.006, two of two 0.003
    assert above <= most


def test_groups_undo_repeated_measurements(use_learners) -> None:
    """Every record three times: rows that differ in the last digits count once, measurements need groups."""
    use_learners("gaussian", "trees")
    rng = np.random.default_rng(0)
    records, noise = np.repeat(rng.normal(size=(150, 3)), 3, axis=0), rng.normal(size=(450, 3))
    y = np.repeat(rng.permutation(np.arange(150) % 2), 3)
    copies = estimate(records + 1e-6 * noise, y, effort="fast", n_jobs=1)
    plain = estimate(records + 1e-2 * noise, y, effort="fast", n_jobs=1)
    groups = np.repeat(np.arange(150), 3)
    grouped = estimate(records + 1e-2 * noise, y, groups=groups, effort="fast", n_jobs=1)
    assert plain.evidence["error"] < 0.2  # the trees copy the labels of like rows
    assert min(copies.evidence["error"], grouped.evidence["error"]) > 0.4


class Broken(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("out of luck")


class NotANumber(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), np.nan)


class NoProbabilities(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.model_ = LogisticRegression().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)


def test_own_classifiers_join_and_failures_are_named(sample, use_learners) -> None:
    use_learners("gaussian")
    X, y = sample
    with pytest.warns(BayesfloorWarning, match="Broken.*out of luck.*NotANumber"):
        result = estimate(
            X, y, classifiers=[Broken(), NotANumber(), NoProbabilities(), LogisticRegression()], effort="fast", n_jobs=1
        )
    names = [score.name for score in result.learners]
    assert "NoProbabilities" in names
    assert "LogisticRegression" in names
    assert "Broken" not in names
    assert any("out of luck" in note for note in result.notes)


class Reversed(LogisticRegression):
    """Gives its classes in another order than sorted."""

    def fit(self, X, y):
        super().fit(X, y)
        self.classes_, self.coef_, self.intercept_ = self.classes_[::-1], -self.coef_, -self.intercept_
        return self


def test_classes_of_a_classifier_in_another_order(use_learners) -> None:
    use_learners("gaussian", "quadratic")
    X, y = problems.get("gaussians_10d", shift=2).sample(400, random_state=0)
    result = estimate(X, y, classifiers={"mine": Reversed()}, effort="fast", n_jobs=1)
    assert next(s for s in result.learners if s.name == "mine").error < 0.3
    single = estimate(X, y, classifiers=LogisticRegression(), effort="fast", n_jobs=1)
    assert "LogisticRegression" in {s.name for s in single.learners}
    with pytest.raises(ParameterError, match="already"):
        estimate(X, y, classifiers={"linear": LogisticRegression()})
    with pytest.raises(ParameterError, match="scikit-learn"):
        estimate(X, y, classifiers="forest")


def test_learners_are_judged_under_the_same_priors(use_learners) -> None:
    use_learners("gaussian", "quadratic", "trees")
    X, y = problems.get("gaussians_4d", prior=0.1).sample(800, random_state=0)
    result = estimate(X, y, priors="balanced", effort="fast", n_jobs=1)
    assert min(s.error for s in result.learners) > result.evidence["error"] - 0.03


@pytest.mark.parametrize(
    ("seeds", "learners"),
    [(1, ("gaussian", "additive")), pytest.param(4, (), marks=pytest.mark.slow)],
    ids=["few", "all"],
)
def test_changed_priors(use_learners, seeds: int, learners: tuple) -> None:
    use_learners(*learners)
    # The floor is 0.1587 for equal shares and 0.113 for the data's own. The mean over seeds must lie within four
    # standard errors (of the oracle with these class counts) and 0.01 for the bias that the rule may have.
    problem = problems.get("gaussians_4d", prior=0.2)
    off, variance = [], []
    for seed in range(seeds):
        X, y = problem.sample(1000, random_state=seed)
        balanced = estimate(X, y, priors="balanced", effort="fast", n_jobs=1)
        assert balanced.priors == (0.5, 0.5)
        assert balanced.ceiling > balanced.floor
        off.append(balanced.floor - 0.1587)
        variance.append(sum(0.25 * 0.1587 * 0.8413 / n for n in np.bincount(y)))
    assert abs(np.mean(off)) < 4 * np.sqrt(np.mean(variance) / seeds) + 0.01


def test_pure_noise_and_separated_classes() -> None:
    X, y = problems.get("pure_noise").sample(300, random_state=0)
    noise = estimate(X, y, effort="fast", n_jobs=1)
    assert 2 / 3 in noise.interval
    X, y = problems.get("separated").sample(300, random_state=0)
    assert estimate(X, y, effort="fast", n_jobs=1).floor < 0.01


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"effort": "huge"}, "effort must be one of"),
        ({"confidence_level": 1.0}, "confidence_level"),
        ({"random_state": -1}, "random_state"),
        ({"priors": "equal"}, "priors"),
        ({"groups": [1, 2]}, "groups"),
    ],
)
def test_bad_settings(sample, change: dict, message: str) -> None:
    with pytest.raises((ParameterError, DataError), match=message):
        estimate(*sample, **change)


def test_too_little_data() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(DataError, match="20 rows are too few"):
        estimate(rng.normal(size=(20, 2)), np.arange(20) % 2)
    with pytest.raises(DataError, match="class True has 3 rows"):
        estimate(rng.normal(size=(60, 2)), np.arange(60) < 3)
    tiny = estimate(rng.normal(size=(40, 2)), np.arange(40) % 2, effort="fast", n_jobs=1)
    assert tiny.interval.high - tiny.interval.low > 0.15


def test_constant_scores_and_one_column() -> None:
    y = np.arange(100) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesfloorWarning)
        result = estimate(np.r_[np.zeros(99), 1.0][:, None], y, effort="fast", n_jobs=1)
    assert result.floor > 0.3


# --- scores, noise, the rule --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gaussians_100d", "rayleigh_30d", "twenty_classes"])
def test_perfect_scores_give_the_floor(name: str) -> None:
    problem = problems.get(name)
    X, y = problem.sample(2000, random_state=3)
    P = problem.posterior(X)
    noise = np.sqrt(problem.bayes_error * (1 - problem.bayes_error) / 2000)
    for scores in (P, np.log(np.maximum(P, 1e-12)) * 2 + 5):
        result = from_scores(scores, y)
        assert abs(result.floor - problem.bayes_error) < 4 * noise + 0.01
        assert result.floor <= result.ceiling


@pytest.mark.parametrize(("seeds", "least"), [(1, 3), pytest.param(8, 35, marks=pytest.mark.slow)])
def test_interval_of_scores_covers(seeds: int, least: int) -> None:
    covered = []
    for name in ("gaussians_50d", "unequal_gaussians", "mixture_2d", "mixture_10d", "led"):
        problem = problems.get(name)
        for seed in range(seeds):
            X, y = problem.sample(800, random_state=seed)
            covered.append(problem.bayes_error in from_scores(problem.posterior(X), y, n_jobs=1).interval)
    # 95 % nominal: 40 runs may miss up to five (probability of more at the nominal rate: 0.014), five runs two (0.001);
    # the seeds are fixed.
    assert sum(covered) >= least


@pytest.mark.parametrize(
    ("seeds", "most", "learners"),
    [(5, 2, ("gaussian", "additive")), pytest.param(30, 5, (), marks=pytest.mark.slow)],
    ids=["few", "all"],
)
def test_ceiling_keeps_its_level(use_learners, seeds: int, most: int, learners: tuple) -> None:
    use_learners(*learners)
    problem = problems.get("gaussians_4d")
    above = 0
    for seed in range(seeds):
        X, y = problem.sample(120, random_state=[seed, 5])
        above += estimate(X, y, effort="fast", n_jobs=1, random_state=seed).ceiling < problem.bayes_error
    assert above <= most  # 5 % at most are nominal: more than five of thirty have probability 0.003, two of five 0.001


def test_more_data_narrow_the_interval() -> None:
    judgement = judge(evidence(), 0.95)
    width = judgement.high - judgement.low
    assert width_with_more(evidence(), 0.95, rows=4, training=4) < 0.7 * width
    assert width_with_more(evidence(), 0.95, rows=1, training=1) == pytest.approx(width)


def test_shrunk_shares_are_even_where_counts_could_be() -> None:
    rng = np.random.default_rng(0)
    gaps = [shrunk_shares(rng.multinomial(1000, np.full(4, 0.25))).max() - 0.25 for _ in range(200)]
    plain = [rng.multinomial(1000, np.full(4, 0.25)).max() / 1000 - 0.25 for _ in range(200)]
    assert np.mean(gaps) < np.mean(plain) / 2
    assert shrunk_shares(np.array([500, 250, 250])).max() == pytest.approx(0.5, abs=0.01)


def test_scores_are_not_called_a_library() -> None:
    problem = problems.get("gaussians_10d", shift=2)
    X, y = problem.sample(300, random_state=0)
    text = str(from_scores(problem.posterior(X), y, n_jobs=1))
    assert "by these scores alone" in text
    assert "library" not in text


def test_rounded_probabilities_stay_probabilities() -> None:
    problem = problems.get("mixture_2d")
    X, y = problem.sample(600, random_state=0)
    P = problem.posterior(X)
    exact = from_scores(P, y, n_jobs=1)
    rounded = from_scores(P.round(2), y, n_jobs=1)
    assert rounded.notes[0] == "the scores are taken for probabilities"
    assert abs(exact.floor - rounded.floor) < 0.01
    order = np.random.default_rng(0).permutation(600)
    assert from_scores(P[order], y[order], n_jobs=1).floor == pytest.approx(exact.floor, abs=1e-6)
    with pytest.raises(DataError, match="30 at least"):
        from_scores(P[:20], y[:20])
    with pytest.raises(ParameterError, match="random_state"):
        from_scores(P, y, random_state="a")


def test_one_column_of_scores() -> None:
    problem = problems.get("gaussians_10d", shift=2)
    X, y = problem.sample(1000, random_state=0)
    P = problem.posterior(X)[:, 1]
    both = from_scores(problem.posterior(X), y)
    assert from_scores(P, y).floor == pytest.approx(both.floor, abs=1e-3)
    assert from_scores(np.log(P / (1 - P)), y).floor == pytest.approx(both.floor, abs=5e-3)


def test_embeddings_are_estimated(sample, use_learners) -> None:
    use_learners("gaussian", "quadratic")
    X, y = sample
    assert from_scores(X, y, effort="fast", n_jobs=1).learning_curve
    with pytest.raises(DataError, match="nothing is trained"):
        from_scores(np.eye(3)[y], y, effort="fast")


def test_noise_check_compares_with_the_line(sample, use_learners) -> None:
    use_learners("gaussian", "additive")
    check = noise_check(*sample, rhos=(0.5,), effort="fast", n_jobs=1)
    assert check.expected[0] == pytest.approx(check.clean.floor + 0.5 * (2 / 3 - check.clean.floor))
    assert check.gaps[0] == pytest.approx(check.estimated[0] - check.expected[0])
    n, floor = check.clean.evidence["n"], check.clean.floor
    spoilt, mended = 0.5 * 2 / 3, 0.5 / 3
    variance = (floor * (1 - mended) * mended + (1 - floor) * spoilt * (1 - spoilt)) / n
    assert check.standard_errors[0] == pytest.approx(SPREAD * variance**0.5)
    assert check.verdict != "off"
    assert check.sentence in str(check)
    assert "What this cannot see" in str(check)
    assert check.lows[0] <= check.estimated[0] <= check.highs[0]
    scores = check.feebee()
    assert scores == check.feebee(best_error=check.clean.ceiling)
    curve = (check.clean.interval.high, *check.highs)
    assert scores.upper == feebee_score((0.0, 0.5), curve, 3, check.clean.ceiling)
    assert scores.point <= check.feebee(best_error=0.0).point  # the larger the error known, the less is seen
    with pytest.raises(ParameterError, match="best_error"):
        check.feebee(best_error=2.0)
    for rhos in ((1.5,), None, "a"):
        with pytest.raises(ParameterError, match="rhos"):
            noise_check(*sample, rhos=rhos)


def test_scores_of_feebee_by_hand() -> None:
    rhos = (0.0, 0.5, 1.0)
    # Between 0, 0.25, 0.5 and, with 0.1 reached, 0.1, 0.3, 0.5: nothing outside costs nothing.
    assert feebee_score(rhos, (0.05, 0.25, 0.5), 2, 0.1) == 0
    assert feebee_score(rhos, (0.2, 0.2, 0.9), 2, 0.1) == pytest.approx((0.1 + 0.05 + 0) / 3)  # 0.9 is taken for 0.5
    assert feebee_score((0.3,), (0.0,), 3, 0.1) == pytest.approx(0.3 * 2 / 3)
    for bad in ((), (0.1, 0.2)):
        with pytest.raises(ParameterError, match="one estimate per share"):
            feebee_score(rhos, bad, 2, 0.1)


def test_too_few_rows_for_the_line_are_refused_before_the_work(monkeypatch) -> None:
    monkeypatch.setattr("bayesfloor.floor.noise.estimate", lambda *_, **__: pytest.fail("estimated"))
    with pytest.raises(DataError, match="250 rows of 25 classes are too few"):
        noise_check(np.random.default_rng(0).normal(size=(250, 2)), np.arange(250) % 25)


@pytest.mark.parametrize(
    ("gaps", "error", "verdict"),
    [
        ((-0.04, 0.10, -0.05), 0.03, "off"),  # 10 points are 3.3 standard errors
        ((-0.04, 0.07, -0.05), 0.03, "cannot tell"),  # 2.33 are less than 2.39, the limit of Bonferroni for three
        ((0.001, -0.002, 0.003), 0.01, "on"),
        ((0.001, -0.002, 0.004), 0.01, "cannot tell"),  # 0.4 + 1.645 points
        ((0.015, 0.0, 0.0), 0.006, "off"),  # small, but not by chance
    ],
)
def test_the_line_has_a_tolerance(result, gaps, error, verdict) -> None:
    expected = (0.3, 0.4, 0.5)
    found = NoiseCheck(result, (0.2, 0.4, 0.6), expected, tuple(np.add(expected, gaps)), (error,) * 3)
    assert found.verdict == verdict
    assert found.sentence.lower().startswith(verdict)


def test_label_noise_moves_the_best_classifier_as_the_formula_says() -> None:
    rng = np.random.default_rng(0)
    n, n_classes, rho, floor = 400, 3, 0.4, 0.2
    wrong = np.arange(n) < floor * n  # the class named is 0; labels of wrong rows are 1
    labels = np.where(wrong, 1, 0)
    replaced = np.where(rng.random((20_000, n)) < rho, rng.integers(0, n_classes, (20_000, n)), labels)
    errors = (replaced != 0).mean(axis=1)
    assert errors.mean() == pytest.approx(floor + rho * (1 - 1 / n_classes - floor), abs=4 * errors.std() / 20_000**0.5)
    # The standard deviation of 20,000 draws is known to one part in sqrt(40,000).
    assert errors.std() == pytest.approx(labels_noise(floor, rho, n_classes, n), rel=4 / 200)


def test_the_spread_of_the_line_is_the_measured_one() -> None:
    ratios = np.array([np.abs(r["gaps"]) / np.array(r["chance"]) for r in read_records(noise_line.RECORDS)])
    assert noise_line.spread(ratios) == pytest.approx(SPREAD)


def evidence(**changes) -> Evidence:
    values = {
        "n": 1000,
        "n_features": 5,
        "n_classes": 2,
        "majority": 0.5,
        "shrunk_majority": 0.5,
        "error": 0.2,
        "plugin": 0.2,
        "half_error": 0.21,
        "half_plugin": 0.21,
        "quarter_error": 0.23,
        "quarter_plugin": 0.23,
        "eighth_error": 0.25,
        "loss": 0.5,
        "half_loss": 0.51,
        "quarter_loss": 0.53,
        "eighth_loss": 0.56,
        "ball": 0.19,
        "raw": None,
        "claimed": 0.002,
        "unsettled": 0.001,
        "half_unsettled": 0.002,
        "quarter_unsettled": 0.004,
        "repeated": 0.001,
    }
    return Evidence(**{**values, **changes})


def test_rule_widens_with_doubt_and_confidence() -> None:
    calm, steep = judge(evidence(), 0.95), judge(evidence(claimed=0.02), 0.95)
    assert steep.high - steep.low > calm.high - calm.low
    wide = judge(evidence(), 0.96)
    assert wide.low <= calm.low <= calm.floor <= calm.high <= wide.high
    assert judge(evidence(error=0.0, plugin=0.0, ball=0.0), 0.95).floor == 0


def test_steady_falls_lengthen_the_lower_arm_and_flat_curves_do_not() -> None:
    falling = {"half_error": 0.22, "quarter_error": 0.25, "eighth_error": 0.28, "unsettled": 0.01, "claimed": 0.012}
    slowing = evidence(**falling, half_loss=0.51, quarter_loss=0.55, eighth_loss=0.63)
    steady = evidence(**falling, half_loss=0.54, quarter_loss=0.59, eighth_loss=0.63)
    assert steady.persistence == pytest.approx(0.04 / 0.05)  # falls of 0.04, 0.05 and 0.04; a rise counts as none
    assert slowing.persistence == pytest.approx(0.01 / 0.08)
    assert evidence(half_loss=0.49).persistence == 0
    arms = [judge(e, 0.95).floor - judge(e, 0.95).low for e in (slowing, steady)]
    assert arms[1] > arms[0]
    still = dict.fromkeys(("half_error", "quarter_error", "eighth_error"), 0.2)
    flat = evidence(
        **still, **dict.fromkeys(("half_loss", "quarter_loss", "eighth_loss"), 0.5), claimed=0.0, unsettled=0.0
    )
    judged = judge(flat, 0.95)
    assert judged.high - judged.low < 1.6 * 2 * 1.96 * flat.sampling
    signs = flat.signs()
    assert all(value >= 0 for value in signs.values())
    assert all(signs[name] == 0 for name in ("claimed", "unsettled", "unslowed", "hidden"))
    assert flat.unending == 0


def test_a_curve_that_does_not_slow_down_reaches_as_far_as_was_learned() -> None:
    losses = {"eighth_loss": 0.8, "quarter_loss": 0.7, "half_loss": 0.6, "loss": 0.5}
    errors = {"eighth_error": 0.4, "quarter_error": 0.34, "half_error": 0.27}
    unending = evidence(**losses, **errors)
    assert unending.late == pytest.approx(0.2 / 0.3)
    assert judge(unending, 0.95).low == 0  # 0.3 were learned, and 0.2 are left
    assert judge(replace(unending, unsettled=0.04), 0.95).high == pytest.approx(unending.error)  # ... or it ends here

    def replaced(share: float) -> Evidence:
        """With labels replaced by uniform draws: errors move toward 1/2, log-losses' falls shrink."""
        found = {name: value + share * (0.5 - value) for name, value in {**errors, "error": 0.2}.items()}
        return evidence(**found, **{name: 0.69 + (1 - share) ** 2 * (loss - 0.8) for name, loss in losses.items()})

    noised = replaced(0.4)
    assert (noised.late, noised.persistence) == pytest.approx((unending.late, unending.persistence))
    assert noised.unending == pytest.approx(0.6 * 0.3)
    assert judge(noised, 0.95).low <= 0.4 * 0.5  # what the draws cost alone


def test_the_interval_of_pictures_ends_at_an_error_that_is_surely_above_the_floor() -> None:
    sampling = evidence().sampling
    gaps = {}
    for unsettled in (0.1, 0.7, 0.95):  # standard errors
        given = evidence(unsettled=unsettled * sampling, pictures=True)
        judged = judge(given, 0.95)
        gaps[unsettled] = (given.error - judged.floor, judged.high - given.error)
    assert gaps[0.1][1] > 0  # the error may be so low by chance
    assert gaps[0.1][1] > gaps[0.7][1] > 0
    assert gaps[0.95][0] > 1.25 * 1.96 * sampling
    assert gaps[0.95][1] == pytest.approx(0)
    assert judge(replace(given, pictures=False), 0.95).high > given.error


def test_score_space_has_few_dimensions() -> None:
    rng = np.random.default_rng(0)
    for n_classes, dimensions in ((2, 1), (3, 2), (5, 4), (12, 4)):
        assert ScoreSpace.of(rng.dirichlet(np.ones(n_classes), 50)).n_columns == dimensions


def test_rows_are_numbered_as_they_came_when_unlabelled_ones_go() -> None:
    X, y = np.random.default_rng(0).normal(size=(200, 2)), np.arange(200) % 2
    labels, groups = [None if row == 3 else label for row, label in enumerate(y)], [row // 2 for row in range(200)]
    with pytest.raises(DataError, match=r"groups: 1 of 200 rows have no group .*first is row 7"):
        estimate(X, labels, groups=[None if row == 7 else group for row, group in enumerate(groups)])


def test_arrays_without_any_value_are_refused_as_such() -> None:
    with pytest.raises(DataError, match="all 400 entries are missing"):
        estimate(np.full((200, 2), np.nan), np.arange(200) % 2)
    with pytest.raises(DataError, match="the only column of X is constant"):
        estimate(np.ones((200, 1)), np.arange(200) % 2)
