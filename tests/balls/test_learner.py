import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.base import clone, is_classifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import naive
from bayesfloor import (
    AdaptiveRadii,
    BayesfloorWarning,
    BenchmarkLearner,
    DataError,
    GivenRadii,
    NeighbourRadii,
    PaperRadii,
    ParameterError,
    arithmetic_weights,
    uniform_weights,
)

quiet = pytest.mark.filterwarnings("ignore::bayesfloor.BayesfloorWarning")


def gaussians(seed, n=300, d=2, shift=2.0, n_classes=2):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    X = rng.normal(size=(n, d))
    X[:, 0] += shift * y
    return X, y


# --- the whole against the naive oracle ---------------------------------------------------------------


@quiet
@pytest.mark.parametrize("class_order", ["symmetric", "sorted", "reversed"])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_estimate_equals_the_naive_one(n_classes, class_order):
    X, y = gaussians(n_classes, n=120, n_classes=n_classes, shift=1.0)
    radii = np.array([0.4, 0.6, 0.9])
    order = list(range(n_classes))[::-1] if class_order == "reversed" else class_order
    learner = BenchmarkLearner(radii=radii, standardize=False, class_order=order).fit(X, y)
    # A power of two and a shift are all that standardize=False does, so the counts are those of X itself.
    counts = naive.ball_counts(X, y, n_classes, radii)
    ratios = np.maximum(naive.ensemble_ratios(counts, y, learner.weights_), 0)
    if class_order == "symmetric":
        expected = naive.mean_over_orders(ratios, y, n_classes)
    else:
        expected = naive.ordered_error(ratios, y, order if class_order == "reversed" else range(n_classes), n_classes)
    limit = 1 - np.bincount(y).max() / len(y)
    assert learner.bayes_error_ == pytest.approx(min(expected, limit), abs=1e-12)
    np.testing.assert_allclose(learner.radii_, radii, rtol=1e-15)
    totals = counts.sum(axis=1)
    np.testing.assert_allclose(learner.occupancy_.mean, totals.mean(axis=0))
    np.testing.assert_allclose(learner.occupancy_.median, np.median(totals, axis=0))
    np.testing.assert_allclose(learner.occupancy_.empty, (totals == 0).mean(axis=0))


@quiet
def test_one_radius_is_the_base_learner():
    X, y = gaussians(0, n=100)
    learner = BenchmarkLearner(radii=[0.5]).fit(X, y)
    assert learner.weights_.tolist() == [1.0]


@quiet
def test_equal_class_sizes_give_the_papers_symmetrised_estimator():
    X, _ = gaussians(0, n=400)
    y = np.arange(400) % 2
    X[:, 0] += 2 * y
    closed = BenchmarkLearner().fit(X, y).bayes_error_
    assert BenchmarkLearner(class_order="paper").fit(X, y).bayes_error_ == pytest.approx(closed, abs=1e-12)


@quiet
def test_ratio_floor_enters_as_a_floor_on_the_ratio():
    X, y = gaussians(0, n=200, shift=6.0)
    free = BenchmarkLearner().fit(X, y)
    capped = BenchmarkLearner(ratio_floor=0.1).fit(X, y)
    assert free.bayes_error_ < 0.01
    # Far apart every ratio is raised to (p_c / p_k) 0.1 at least; times 1/2 and averaged that is 0.1 / 2.
    assert 0.05 <= capped.bayes_error_ < 0.05 + free.bayes_error_
    assert BenchmarkLearner(ratio_floor=1.0, priors="balanced").fit(X, y).bayes_error_ == pytest.approx(0.5, abs=1e-12)
    assert BenchmarkLearner(ratio_floor=1.0).fit(X, y).bayes_error_ == pytest.approx(
        1 - np.bincount(y).max() / 200, abs=1e-12
    )


# --- settings ---------------------------------------------------------------------------------------------


@quiet
def test_the_papers_settings_literally():
    X, y = gaussians(1, n=200, d=3)
    learner = BenchmarkLearner.paper(alpha=0.4).fit(X, y)
    xi = 0.2 + 0.2 * np.cos((np.arange(4)[::-1] + 0.5) * np.pi / 4)
    np.testing.assert_allclose(learner.radii_, xi * (y == 0).sum() ** (-1 / 6), rtol=1e-12)
    mean = BenchmarkLearner.paper(radii=PaperRadii(alpha=0.4)).fit(X, y)
    np.testing.assert_allclose(mean.radii_, xi * 100 ** (-1 / 6), rtol=1e-12)
    for k in range(1, 4):
        assert learner.weights_ @ xi**k == pytest.approx(0, abs=1e-12)
    assert learner.weights_.sum() == pytest.approx(1, abs=1e-12)


def test_the_printed_rule_is_called_unreliable_and_not_a_silent_zero():
    X, y = gaussians(2, n=1000, d=4)
    with pytest.warns(BayesfloorWarning, match=r"\d+% of the balls are empty"):
        learner = BenchmarkLearner.paper().fit(X, y)
    assert not learner.reliable_
    assert learner.bayes_error_ < 0.01 < norm.sf(1.0)
    assert any("empty" in reason for reason in learner.reasons_)
    assert "NOT RELIABLE" in str(learner)


@pytest.mark.parametrize("n_features", [10, 30])
def test_raw_balls_in_high_dimension_are_called_unreliable(n_features):
    # Signal in one of many columns: neighbours are strangers, and the two estimates disagree.
    X, y = gaussians(3, n=1000, d=n_features, shift=3.0)
    with pytest.warns(BayesfloorWarning, match="unreliable"):
        assert not BenchmarkLearner().fit(X, y).reliable_


@quiet
@pytest.mark.parametrize("radii", ["adaptive", AdaptiveRadii(smallest=0.6, shrink=0.9), PaperRadii(alpha=2.0)])
@pytest.mark.parametrize("weights", ["chebyshev", "arithmetic", "uniform"])
def test_every_rule_with_every_kind_of_weights(radii, weights):
    X, y = gaussians(4, n=300)
    order = None if weights == "uniform" else 2
    learner = BenchmarkLearner(radii=radii, weights=weights, n_nodes=6, order=order).fit(X, y)
    assert len(learner.radii_) == len(learner.weights_) == 6
    assert (np.diff(learner.radii_) > 0).all()
    assert learner.weights_.sum() == pytest.approx(1)
    if weights == "arithmetic" and isinstance(radii, PaperRadii):
        np.testing.assert_allclose(learner.weights_, arithmetic_weights(6, 2, 0.0, 2.0)[1])
    if weights == "uniform":
        np.testing.assert_allclose(learner.weights_, uniform_weights(6)[1])


@quiet
def test_given_radii_may_come_unsorted_and_as_a_rule():
    X, y = gaussians(4, n=200)
    a = BenchmarkLearner(radii=[0.9, 0.3, 0.6]).fit(X, y)
    b = BenchmarkLearner(radii=GivenRadii((0.3, 0.6, 0.9))).fit(X, y)
    assert a.bayes_error_ == b.bayes_error_
    assert a.radii_.tolist() == [0.3, 0.6, 0.9]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"weights": "gaussian"}, "weights must be one of"),
        ({"radii": "large"}, "'adaptive', 'paper'"),
        ({"radii": []}, "non-empty"),
        ({"radii": [0.5, -1.0]}, "positive"),
        ({"radii": [0.5, np.nan]}, "finite"),
        ({"radii": [0.5, 0.5]}, "distinct"),
        ({"radii": [0.5, 0.6], "n_nodes": 3}, "2 radii were given"),
        ({"radii": [0.5, 0.6], "order": 2}, "order 2 needs at least 3 nodes"),
        ({"n_nodes": 0}, "n_nodes"),
        ({"n_nodes": 2.5}, "n_nodes"),
        ({"order": -1}, "order"),
        ({"n_nodes": 3, "order": 3}, "order 3 needs"),
        ({"weights": "uniform", "order": 2}, "no vanishing moments"),
        ({"weights": np.ones(3)}, "weights must be one of"),
        ({"radii": AdaptiveRadii}, "brackets"),
        ({"radii": ["a"]}, "radii must be numbers"),
        ({"confidence_level": "0.9"}, "must be a number"),
        ({"class_order": None}, "class_order"),
        ({"class_order": [[0], [1]]}, "class_order"),
        ({"priors": ["a", "b"]}, "priors must be numbers"),
        ({"max_queries": 0}, "max_queries"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"confidence_level": 95}, "confidence_level"),
        ({"ratio_floor": 1.5}, "ratio_floor"),
        ({"class_order": "random"}, "class_order"),
        ({"class_order": [0]}, "each of"),
        ({"class_order": [0, 0]}, "each of"),
        ({"priors": "equal"}, "balanced"),
        ({"priors": [0.5, 0.4]}, "add up to 1"),
        ({"priors": [1.0]}, "2 numbers"),
        ({"priors": {0: 0.5, 2: 0.5}}, "exactly the classes"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, y = gaussians(0, n=50)
    with pytest.raises(ParameterError, match=message):
        BenchmarkLearner(**parameters).fit(X, y)


def test_paper_class_order_is_for_two_classes():
    X, y = gaussians(0, n=90, n_classes=3)
    with pytest.raises(ParameterError, match="two classes"):
        BenchmarkLearner(class_order="paper").fit(X, y)


@pytest.mark.parametrize("rule", [{"smallest": 1.0}, {"shrink": 0.0}, {"max_probes": 1}])
def test_bad_rules_are_named(rule):
    with pytest.raises(ParameterError, match=next(iter(rule))):
        AdaptiveRadii(**rule)
    with pytest.raises(ParameterError, match="alpha"):
        PaperRadii(alpha=-1)


def test_bad_data_reach_the_user_as_data_errors():
    with pytest.raises(DataError, match="class 'b' has only one sample"):
        BenchmarkLearner().fit([[0.0], [1.0], [2.0]], ["a", "a", "b"])


# --- properties -------------------------------------------------------------------------------------------


def same(a, b, tolerance=1e-12):
    assert a.bayes_error_ == pytest.approx(b.bayes_error_, abs=tolerance)
    assert a.interval_.low == pytest.approx(b.interval_.low, abs=tolerance)
    np.testing.assert_allclose(a.radii_, b.radii_, rtol=1e-9)


@quiet
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), lattice=st.booleans(), n_classes=st.integers(2, 4))
def test_row_order_does_not_matter(seed, lattice, n_classes):
    X, y = gaussians(seed, n=150, n_classes=n_classes, shift=1.0)
    y[: 2 * n_classes] = np.repeat(np.arange(n_classes), 2)
    X = np.round(X) if lattice else X
    shuffled = np.random.default_rng(seed).permutation(len(y))
    a, b = BenchmarkLearner().fit(X, y), BenchmarkLearner().fit(X[shuffled], y[shuffled])
    same(a, b)
    np.testing.assert_allclose(a.sample_error_[shuffled], b.sample_error_, atol=1e-12)


@quiet
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), permutation=st.permutations(range(3)))
def test_class_names_and_order_do_not_matter(seed, permutation):
    X, y = gaussians(seed, n=150, n_classes=3, shift=1.0)
    y[:6] = [0, 0, 1, 1, 2, 2]
    names = np.array(["x", "y", "z"])[np.array(permutation)]
    a, b = BenchmarkLearner().fit(X, y), BenchmarkLearner().fit(X, names[y])
    same(a, b)
    where = np.argsort(np.argsort(names))
    np.testing.assert_allclose(a.class_error_, b.class_error_[where], atol=1e-12)
    np.testing.assert_allclose(a.pair_error_, b.pair_error_[np.ix_(where, where)], atol=1e-12)


@quiet
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), scale=st.sampled_from([1e-200, 1e-3, 1.0, 7.0, 1e200]))
def test_rigid_motions_and_units_do_not_matter(seed, scale):
    X, y = gaussians(seed, n=150, d=3)
    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    raw = BenchmarkLearner(standardize=False)
    a, b = clone(raw).fit(X, y), clone(raw).fit((X @ rotation + rng.normal(size=3)) * scale, y)
    assert a.bayes_error_ == pytest.approx(b.bayes_error_, abs=1e-9)
    np.testing.assert_allclose(a.radii_, b.radii_ / scale, rtol=1e-9)
    units = np.array([1e-300, 1.0, 1e300])
    c, d = BenchmarkLearner().fit(X, y), BenchmarkLearner().fit(X * units, y)
    assert c.bayes_error_ == pytest.approx(d.bayes_error_, abs=1e-9)


@quiet
@pytest.mark.parametrize("offset", [1e8, -1e12])
def test_a_large_offset_does_not_matter(offset):
    X, y = gaussians(0)
    X = np.round(X * 1024) / 1024  # exactly representable beside the offset
    same(BenchmarkLearner().fit(X, y), BenchmarkLearner().fit(X + offset, y))


@quiet
def test_threads_and_tiles_do_not_matter(monkeypatch):
    X, y = gaussians(0, n=2500, n_classes=3)
    results = [BenchmarkLearner(n_jobs=n).fit(X, y) for n in (1, 2, 7, -1, None)]
    monkeypatch.setattr("bayesfloor.counting._ball_counts._BLOCK_BYTES", 20_000)
    monkeypatch.setattr("bayesfloor.counting.tiles.TILE_ROWS", 17)
    monkeypatch.setattr("bayesfloor.counting.tiles.TILE_COLUMNS", 33)
    results.append(BenchmarkLearner().fit(X, y))
    for other in results[1:]:
        assert other.bayes_error_ == results[0].bayes_error_
        np.testing.assert_array_equal(other.sample_error_, results[0].sample_error_)


@quiet
def test_row_order_does_not_matter_when_probes_or_queries_are_drawn():
    X, y = gaussians(0, n=3000, n_classes=2)
    X = np.round(X, 1)  # many ties
    shuffled = np.random.default_rng(1).permutation(3000)
    for parameters in ({}, {"max_queries": 500, "random_state": 3}):
        learner = BenchmarkLearner(radii=AdaptiveRadii(max_probes=400), **parameters)
        same(clone(learner).fit(X, y), clone(learner).fit(X[shuffled], y[shuffled]))


@quiet
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_classes=st.integers(2, 5),
    shift=st.sampled_from([0.0, 0.5, 3.0]),
    class_order=st.sampled_from(["symmetric", "sorted"]),
    priors=st.sampled_from([None, "balanced"]),
    max_queries=st.sampled_from([None, 60]),
)
def test_bounds_and_sums(seed, n_classes, shift, class_order, priors, max_queries):
    X, y = gaussians(seed, n=120, n_classes=n_classes, shift=shift)
    y[: 2 * n_classes] = np.repeat(np.arange(n_classes), 2)
    learner = BenchmarkLearner(class_order=class_order, priors=priors, max_queries=max_queries).fit(X, y)
    assert 0 <= learner.bayes_error_ <= 1 - learner.priors_.max()
    assert 0 <= learner.interval_.low <= learner.bayes_error_ <= learner.interval_.high <= 1 - 1 / n_classes
    assert np.nanmean(learner.sample_error_) == pytest.approx(learner.bayes_error_, abs=1e-12)
    assert learner.class_error_.sum() == pytest.approx(learner.bayes_error_, abs=1e-12)
    np.testing.assert_allclose(learner.pair_error_.sum(axis=1), learner.class_error_, atol=1e-12)
    assert (np.diag(learner.pair_error_) == 0).all()
    assert (learner.pair_error_ >= 0).all()
    if max_queries is None:
        assert not np.isnan(learner.sample_error_).any()


@quiet
def test_all_points_equal_gives_the_majority_error():
    learner = BenchmarkLearner().fit(np.ones((10, 3)), [0] * 3 + [1] * 5 + [2] * 2)
    assert learner.bayes_error_ == pytest.approx(0.5)
    assert "constant columns dropped" in learner.notes_[0]


@quiet
@pytest.mark.parametrize("discrete", [False, True])
@pytest.mark.parametrize("parameters", [{}, {"max_queries": 300}])
def test_names_of_equally_large_classes_do_not_matter_where_rows_are_chosen(discrete, parameters):
    X, _ = gaussians(0, n=3000)
    y = np.arange(3000) % 2
    X[:, 0] += y
    X = np.round(X) if discrete else X
    learner = BenchmarkLearner(radii=AdaptiveRadii(max_probes=400), **parameters)
    same(clone(learner).fit(X, y), clone(learner).fit(X, 1 - y))


def test_one_huge_value_does_not_flatten_its_column():
    X, y = gaussians(0, n=500, d=1, shift=3.0)
    plain = BenchmarkLearner().fit(X, y).bayes_error_
    for value in (1e9, 1e20, 1e300):
        X[0] = value
        assert abs(BenchmarkLearner().fit(X, y).bayes_error_ - plain) < 2 / len(y)


def test_discrete_features_use_equal_rows():
    # Five cells with known shares: the floor is the mean of min(p, 1 - p); 4 standard errors over 10 seeds.
    shares = np.array([0.1, 0.35, 0.8, 0.95, 0.45])
    floor, estimates = np.minimum(shares, 1 - shares).mean(), []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        cell = rng.integers(0, 5, 2000)
        estimates.append(BenchmarkLearner().fit(cell[:, None], rng.random(2000) < shares[cell]).bayes_error_)
    assert abs(np.mean(estimates) - floor) < 4 * np.sqrt(floor * (1 - floor) / 20_000)


def test_copies_of_records_are_called_out():
    rng = np.random.default_rng(1)
    X, y = np.repeat(rng.normal(size=(200, 3)), 4, axis=0), np.repeat(rng.integers(0, 2, 200), 4)
    with pytest.warns(BayesfloorWarning, match="75% of the rows are copies"):
        BenchmarkLearner().fit(X, y)


def test_balanced_noise_is_no_reason_for_doubt():
    learner = BenchmarkLearner().fit(np.ones((1000, 1)), np.arange(1000) % 2)
    assert learner.bayes_error_ == 0.5
    assert learner.reliable_
    balanced = BenchmarkLearner(priors="balanced").fit(np.ones((1000, 1)), np.arange(1000) % 2)
    assert balanced.standard_error_ == pytest.approx(np.sqrt(0.25 / 1000))


@quiet
def test_priors_as_a_pandas_series_go_by_label():
    X, _ = gaussians(0, n=400)
    y = pd.Series(np.where(np.arange(400) % 4 == 0, "a", "b"))
    learner = BenchmarkLearner(priors=y.value_counts(normalize=True)).fit(X, y)
    np.testing.assert_allclose(learner.priors_, [0.25, 0.75])


# --- statistics on known answers ------------------------------------------------------------------------


@quiet
def test_pure_noise_with_unequal_priors_gives_the_smaller_one_whichever_class_comes_first():
    rng = np.random.default_rng(0)
    n = 4000
    X, y = rng.normal(size=(n, 2)), (rng.random(n) < 0.7).astype(int)
    learner = BenchmarkLearner().fit(X, y)
    assert abs(learner.bayes_error_ - 0.30) < 4 * np.sqrt(0.21 / n)
    assert BenchmarkLearner().fit(X, 1 - y).bayes_error_ == pytest.approx(learner.bayes_error_, abs=1e-12)


@pytest.mark.parametrize(
    ("d", "shift"),
    [(1, 2.0), pytest.param(2, 1.0, marks=pytest.mark.slow), pytest.param(2, 3.0, marks=pytest.mark.slow)],
)
def test_mean_over_seeds_is_near_the_known_floor(d, shift):
    floor, n, seeds = norm.sf(shift / 2), 1000, 30
    estimates = [BenchmarkLearner().fit(*gaussians(seed, n, d, shift)).bayes_error_ for seed in range(seeds)]
    # Noise of the mean, plus a bias of at most half the spread of one estimate.
    one = np.sqrt(floor * (1 - floor) / n)
    assert abs(np.mean(estimates) - floor) < 4 * one / np.sqrt(seeds) + 0.5 * one


@pytest.mark.parametrize("seeds", [20, pytest.param(100, marks=pytest.mark.slow)])
def test_interval_covers_the_known_floor(seeds):
    floor, n = norm.sf(1.0), 1000
    covered = sum(
        floor in BenchmarkLearner().fit(*gaussians(seed, n, 2, 2.0)).interval_ for seed in range(1000, 1000 + seeds)
    )
    assert covered / seeds >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / seeds)


@pytest.mark.parametrize("n_seeds", [15, pytest.param(60, marks=pytest.mark.slow)])
def test_balanced_priors_on_imbalanced_data(n_seeds):
    # Under equal priors the floor is Phi(-1) whatever the shares in the data were.
    estimates, errors = [], []
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        y = (rng.random(3000) < 0.15).astype(int)
        X = rng.normal(size=(3000, 1)) + 2.0 * y[:, None]
        learner = BenchmarkLearner(priors="balanced").fit(X, y)
        estimates.append(learner.bayes_error_)
        errors.append(learner.standard_error_)
    one = np.mean(errors)
    # Noise of the mean, and a bias of at most half the spread of one estimate.
    assert abs(np.mean(estimates) - norm.sf(1.0)) < 4 * one / np.sqrt(n_seeds) + 0.5 * one
    # The reported standard error is the spread over seeds, whose own relative error is 1 / sqrt(2 (n - 1)).
    assert abs(np.std(estimates, ddof=1) / one - 1) < 4 / np.sqrt(2 * (n_seeds - 1))
    given_priors = BenchmarkLearner(priors={1: 0.5, 0: 0.5}).fit(X, y)
    assert given_priors.bayes_error_ == pytest.approx(estimates[-1], abs=1e-12)
    assert BenchmarkLearner(priors=[0.5, 0.5]).fit(X, y).interval_ == learner.interval_


@pytest.mark.slow
def test_fewer_queries_estimate_the_same_with_a_wider_interval():
    X, y = gaussians(0, n=3000)
    full = BenchmarkLearner().fit(X, y)
    parts = [BenchmarkLearner(max_queries=300, random_state=seed).fit(X, y) for seed in range(60)]
    spread = np.std([part.bayes_error_ for part in parts], ddof=1)
    extra = np.sqrt(np.mean([part.standard_error_**2 for part in parts]) - full.standard_error_**2)
    assert abs(np.mean([part.bayes_error_ for part in parts]) - full.bayes_error_) < 4 * extra / np.sqrt(60)
    assert abs(spread / extra - 1) < 4 / np.sqrt(2 * 59)
    width = parts[0].interval_.high - parts[0].interval_.low
    assert width > full.interval_.high - full.interval_.low
    assert np.isnan(parts[0].sample_error_).sum() == 2700
    assert BenchmarkLearner(max_queries=300, random_state=0).fit(X, y).bayes_error_ == parts[0].bayes_error_
    assert BenchmarkLearner(max_queries=5000).fit(X, y).bayes_error_ == full.bayes_error_


def test_higher_confidence_gives_a_wider_interval():
    X, y = gaussians(0)
    widths = []
    for level in (0.5, 0.9, 0.99):
        interval = BenchmarkLearner(confidence_level=level).fit(X, y).interval_
        widths.append(interval.high - interval.low)
        assert interval.confidence_level == level
    assert widths[0] < widths[1] < widths[2]


# --- as scikit-learn users expect -------------------------------------------------------------------------


@quiet
@parametrize_with_checks([BenchmarkLearner()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_it_is_an_estimator_and_not_a_classifier():
    learner = BenchmarkLearner(n_nodes=5, radii=AdaptiveRadii(shrink=0.9))
    assert not is_classifier(learner)
    assert not hasattr(learner, "predict")
    assert "n_nodes=5" in repr(learner)
    assert "shrink=0.9" in repr(learner)
    assert clone(learner).get_params() == learner.get_params()
    assert str(learner) == repr(learner)


def test_summary_names_what_a_reader_needs():
    X, y = gaussians(0, n=400, n_classes=3)
    frame = pd.DataFrame(X, columns=["height", "weight"]).assign(constant=1)
    learner = BenchmarkLearner().fit(frame, np.array(["ant", "bee", "cat"])[y])
    text = str(learner)
    for part in ("Floor", "95% interval", "400 rows, 3 columns, 3 classes", "reliable: yes", "constant", "bee"):
        assert part in text
    assert list(learner.feature_names_in_) == ["height", "weight", "constant"]
    assert learner.n_features_in_ == 3
    assert str(learner.occupancy_).count("\n") == 12


def test_progress_is_told():
    X, y = gaussians(0)
    told = []
    BenchmarkLearner(progress=lambda *news: told.append(news)).fit(X, y)
    assert {stage for stage, _, _ in told} == {"choosing radii", "counting"}
    assert told[-1][1] == told[-1][2]


# --- exactly what is printed ----------------------------------------------------------------------------


@quiet
def test_ratios_and_the_ensemble_without_a_floor_are_the_printed_ones():
    X, y = gaussians(5, n=150, d=2)
    learner = BenchmarkLearner.paper(alpha=2.0).fit(X, y)
    # F of Definition 6, with the points of the second class as centres and eta = N_2 / N_1.
    n_first, n_second = np.bincount(y)
    counts = naive.ball_counts(X, y, 2, learner.radii_)[y == 1]
    U = (n_second / n_first * counts[:, 0] / (counts[:, 1] + 1)) @ learner.weights_
    p = np.array([n_first, n_second]) / len(y)
    printed = p[1] - np.mean(np.maximum(p[1] - p[0] * U, 0))
    assert learner.bayes_error_ == pytest.approx(printed, abs=1e-12)
    assert (U < 0).any(), "signed weights make negative ratios, which nothing clips"
    np.testing.assert_allclose(learner.density_ratios_[y == 1, 0], U * p[0] / p[1], atol=1e-12)
    clipped = BenchmarkLearner.paper(alpha=2.0, ratio_floor=0.0).fit(X, y)
    assert clipped.bayes_error_ > learner.bayes_error_
    np.testing.assert_allclose(clipped.density_ratios_, np.maximum(learner.density_ratios_, 0), atol=1e-12)


@quiet
def test_the_printed_ensemble_can_be_negative():
    """F lacks t-tilde: a single class-1 point in the widest of the balls is enough where its weight is negative."""
    X = np.array([[0.0], [0.45], [10.0], [10.45], [20.0], [20.45], [30.0], [40.0]])
    y = np.array([1, 0, 1, 0, 1, 0, 1, 0])
    learner = BenchmarkLearner(
        radii=GivenRadii([0.2, 0.5], power=1), class_order="sorted", standardize=False, ratio_floor=None
    ).fit(X, y)
    np.testing.assert_allclose(learner.weights_, [5 / 3, -2 / 3])
    assert learner.bayes_error_ == pytest.approx(0.5 * 3 / 4 * -2 / 3)
    assert learner.interval_.low == 0


@quiet
@pytest.mark.parametrize("power", [1, 2])
def test_weights_of_given_radii_cancel_the_powers_asked_for(power):
    X, y = gaussians(6)
    learner = BenchmarkLearner(radii=GivenRadii([0.4, 0.7, 1.0], power=power), order=2, standardize=False).fit(X, y)
    for k in (1, 2):
        assert learner.weights_ @ learner.radii_ ** (power * k) == pytest.approx(0, abs=1e-12)


@quiet
def test_neighbour_radii_are_multiples_of_the_mean_distance():
    X, y = gaussians(7, n=80)
    learner = BenchmarkLearner(radii=NeighbourRadii(k=5, low=0.5, high=2.0), n_nodes=4, standardize=False).fit(X, y)
    distances = np.sort(np.linalg.norm(X[:, None] - X[None], axis=2), axis=1)[:, 5].mean()
    nodes = 1.25 + 0.75 * np.cos((np.arange(4)[::-1] + 0.5) * np.pi / 4)
    np.testing.assert_allclose(learner.radii_, distances * nodes, rtol=1e-12)
    with pytest.raises(ParameterError, match="low and high"):
        NeighbourRadii(low=2.0, high=1.0)
