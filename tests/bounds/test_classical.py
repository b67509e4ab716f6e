from functools import partial

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from bayesfloor import BenchmarkLearner, DataError, DataTypeError, ParameterError
from bayesfloor.bounds import classical
from bayesfloor.bounds.bounds import all_bounds, cover_hart_lower
from bayesfloor.bounds.classical import (
    ESTIMATORS,
    benchmark_learner,
    best_knn_error,
    cross_validated_error,
    kde_plugin,
    knn_error,
    knn_extrapolation,
    knn_plugin,
    nearest_neighbour_ratio,
)
from bayesfloor.bounds.votes import arrange

# A forest of 300 trees in five folds takes a second even on a small table: most tests make do with ten.
FOREST = "cross-validated forest"
AS_PUBLISHED = "authors' code"  # takes classes in their order and columns in their units, as it was published
QUICK = ESTIMATORS | {FOREST: partial(cross_validated_error, classifier=RandomForestClassifier(10, random_state=0))}


def gaussians(n, d, n_classes, seed, shift=2.0):
    """Classes `shift` apart along the first axis; the floor is (2 - 2/C) Phi(-shift/2)."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    X = rng.normal(size=(n, d))
    X[:, 0] += shift * y
    return X, y


def table(kind, seed=0):
    X, y = gaussians(
        120, {"one column": 1, "thirty columns": 30}.get(kind, 2), 3 if kind == "three classes" else 2, seed
    )
    if kind == "many ties":
        X = np.round(X)
    return X, np.array(["sick", "well", "dead"])[y] if kind == "strings" else y


KINDS = ["two classes", "three classes", "many ties", "strings", "one column", "thirty columns"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", QUICK)
def test_every_estimator_runs_on_every_kind_of_table(name, kind):
    X, y = table(kind)
    estimate = QUICK[name](X, y, 0)
    assert isinstance(estimate, float)
    assert 0 <= estimate <= 0.75
    assert QUICK[name](X, y, 0) == estimate


@pytest.mark.parametrize("kind", ["two classes", "three classes", "many ties"])
@pytest.mark.parametrize("name", [name for name in QUICK if name != AS_PUBLISHED])
def test_names_and_order_of_classes_and_rows_do_not_show(name, kind):
    X, y = table(kind, seed=1)
    order = np.random.default_rng(0).permutation(len(y))
    renamed = np.array(["z", "a", "m"])[y]
    estimate = QUICK[name](X, y, 0)
    assert QUICK[name](X, renamed, 0) == pytest.approx(estimate, abs=1e-12)
    assert QUICK[name](X[order], renamed[order], 0) == pytest.approx(estimate, abs=1e-12)


def limits():
    """What the estimators tend to on two Gaussians two standard deviations apart, as far as there is a formula."""

    def posterior(x):
        return 1 / (1 + np.exp(2 - 2 * x))

    def density(x):
        return (norm.pdf(x) + norm.pdf(x - 2)) / 2

    one = quad(lambda x: 2 * posterior(x) * (1 - posterior(x)) * density(x), -10, 12)[0]
    floor, overlap = norm.cdf(-1), np.exp(-1 / 2)
    midpoint = (one + cover_hart_lower(one, 2)) / 2
    return dict.fromkeys(ESTIMATORS, floor) | {
        "best k-NN error, Cover-Hart midpoint": (floor + cover_hart_lower(floor, 2)) / 2,
        "Henze-Penrose midpoint": midpoint,
        "Cover-Hart midpoint": midpoint,
        "Bhattacharyya midpoint": (1 - np.sqrt(1 - overlap**2)) / 4 + overlap / 4,
        "Mahalanobis upper bound": 0.25,  # 2/4 / (1 + 4/4)
        "benchmark learner, paper's radii": 0.0,  # nearly all its balls are empty
    }


# Excess error or smoothing bias at N = 2000 beyond sampling noise.
BIAS = {"kernel density plug-in": 0.03, FOREST: 0.04, "k-NN plug-in": 0.01, "k-NN extrapolation": 0.01}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimates_are_near_what_they_tend_to(name):
    X, y = gaussians(2000, 2, 2, seed=3)
    expected = limits()[name]
    spread = 4 * np.sqrt(0.25 * 0.75 / len(y))  # of an error rate of at most 1/4
    forest = partial(cross_validated_error, classifier=RandomForestClassifier(50, random_state=0))
    estimate = (forest if name == FOREST else ESTIMATORS[name])(X, y, 0)
    assert abs(estimate - expected) < spread + BIAS.get(name, 0.0)


def test_default_forest_and_the_seed_of_the_folds():
    X, y = gaussians(100, 2, 2, seed=4)
    assert abs(cross_validated_error(X, y) - norm.cdf(-1)) < 4 * np.sqrt(0.16 * 0.84 / len(y)) + BIAS[FOREST]
    quick = partial(cross_validated_error, classifier=RandomForestClassifier(10, random_state=0))
    assert len({quick(X, y, seed) for seed in range(5)}) > 1


# --- three faults of other tools ------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 4, 10])
@pytest.mark.parametrize("lattice", [False, True])
def test_even_k_favours_no_class(k, lattice):
    X, y = gaussians(300, 2, 2, seed=5)
    y = np.where((y == 1) & (X[:, 1] > 0.3), 0, y)  # unequal shares
    X = np.round(X) if lattice else X
    assert knn_error(X, y, k=k) == pytest.approx(knn_error(X, 1 - y, k=k), abs=1e-12)
    if not lattice:
        # Ours is the mean of the rules that give ties to the smaller and to the larger label.
        squared = ((arrange(X, y).points[:, None] - arrange(X, y).points) ** 2).sum(axis=2)
        labels = arrange(X, y).labels
        np.fill_diagonal(squared, np.inf)
        ones = labels[np.argsort(squared, axis=1)[:, :k]].sum(axis=1)
        to_zero, to_one = ((ones > k / 2) != labels).mean(), ((ones >= k / 2) != labels).mean()
        assert knn_error(X, y, k=k) == pytest.approx((to_zero + to_one) / 2, abs=1e-12)


def test_tied_votes_by_hand():
    # 0, 1, 2.1, 3.3, 4.6 with labels 0 0 1 1 1 and k = 2: votes tie for 0, 1 (class 0) and 2.1 (class 1), the others
    # are right. Ties to class 0 would give 1/5, to class 1 2/5; shared they give 3/10.
    assert knn_error(np.array([0, 1, 2.1, 3.3, 4.6])[:, None], [0, 0, 1, 1, 1], k=2) == pytest.approx(0.3, abs=1e-12)


def test_two_neighbours_with_shared_ties_err_like_one():
    # E_2 = E_1 asymptotically if ties are shared; the two are computed on the same rows.
    X, y = gaussians(5000, 1, 2, seed=6)
    assert abs(knn_error(X, y, k=2) - knn_error(X, y, k=1)) < 4 * np.sqrt(2 * 0.23 * 0.77 / len(y))


@pytest.mark.parametrize("d", [2, 5])
def test_kernel_density_does_not_depend_on_units(d):
    X, y = gaussians(400, d, 3, seed=7)
    estimate = kde_plugin(X, y)
    assert kde_plugin(X * 1000, y) == pytest.approx(estimate, rel=1e-9)
    assert kde_plugin(X * 10.0 ** np.arange(-2, d - 2) + 7, y) == pytest.approx(estimate, rel=1e-9)


def test_no_estimator_depends_on_units():
    X, y = gaussians(200, 2, 2, seed=8)
    for name, estimator in QUICK.items():
        if name == AS_PUBLISHED:
            assert estimator(X * [1000, 0.01], y, 0) != pytest.approx(estimator(X, y, 0), abs=1e-3)
            continue
        tolerance = 0.05 if name == FOREST else 1e-8  # thresholds between two values round differently
        assert estimator(X * [1000, 0.01], y, 0) == pytest.approx(estimator(X, y, 0), abs=tolerance), name


# --- single estimators ----------------------------------------------------------------------------------------


def test_kernel_density_equals_the_plain_formula():
    X, y = gaussians(150, 3, 3, seed=9)
    sample = arrange(X, y)
    n, d = sample.points.shape
    squared = ((sample.points[:, None] - sample.points) ** 2).sum(axis=2)
    log_joint = np.empty((n, 3))
    for c in range(3):
        members = np.flatnonzero(sample.labels == c)
        ladder = len(members) ** (-1 / (d + 4)) * 2.0 ** np.arange(-4, 1.5, 0.5)
        own = []
        for h in ladder:
            kernels = -squared[np.ix_(members, members)] / (2 * h**2)
            np.fill_diagonal(kernels, -np.inf)
            own.append(logsumexp(kernels, axis=1) - d * np.log(h) - np.log(len(members) - 1))
        best = int(np.argmax([values.sum() for values in own]))
        log_joint[:, c] = logsumexp(-squared[:, members] / (2 * ladder[best] ** 2), axis=1)
        log_joint[:, c] -= d * np.log(ladder[best]) + np.log(len(members))
        log_joint[members, c] = own[best]
        log_joint[:, c] += np.log(len(members) / n)
    posterior = np.exp(log_joint - logsumexp(log_joint, axis=1, keepdims=True))
    assert kde_plugin(X, y) == pytest.approx(1 - posterior.max(axis=1).mean(), rel=1e-10)


@pytest.mark.filterwarnings("error")
def test_one_value_far_from_everything_does_no_harm():
    X, y = gaussians(100, 2, 2, seed=10)
    X[0] = 1e300
    for name, estimator in QUICK.items():
        assert 0 <= estimator(X, y, 0) <= 0.6, name


def test_neighbour_counts_by_hand():
    # 0, 1, 3, 3.6, 7, 8 with labels 0 0 0 1 1 1 and k = 3. Votes (of 0, of 1): (2, 1) for 0, 1 and 3;
    # 3.6 has 3, 1 and 7: (2, 1); 7 has 8, 3.6 and 3: (1, 2); 8 has 7, 3.6 and 3: (1, 2). Only 3.6 is lost.
    X, y = np.array([0, 1, 3, 3.6, 7, 8])[:, None], [0, 0, 0, 1, 1, 1]
    assert knn_error(X, y, k=3) == pytest.approx(1 / 6, abs=1e-12)
    assert knn_plugin(X, y, k=3) == pytest.approx(1 / 3, abs=1e-12)
    # Ratios n_other / (n_own + 1): 1/3 for five rows, 2/2 for 3.6; each counts by half: (5/3 + 1) / 12.
    assert nearest_neighbour_ratio(X, y, k=3) == pytest.approx((5 / 3 + 1) / 12, abs=1e-12)
    assert best_knn_error(X, y) == pytest.approx(1 / 6, abs=1e-12)  # k = 1 loses two rows, k = 3 one


def test_best_error_is_the_smallest_of_the_ladder():
    X, y = gaussians(400, 2, 2, seed=11)
    assert best_knn_error(X, y) == min(knn_error(X, y, k=k) for k in (1, 3, 5, 9, 17, 33))


def test_extrapolation_goes_below_the_error_of_all_rows():
    # In eight dimensions the error of 800 rows is far from its limit for k = 11, the odd number near sqrt(800 / 8).
    plain, extrapolated = [], []
    for seed in range(3):
        X, y = gaussians(800, 8, 2, seed)
        plain.append(knn_error(X, y, k=11))
        extrapolated.append(knn_extrapolation(X, y, seed))
    assert np.mean(extrapolated) < np.mean(plain)
    assert len({knn_extrapolation(X, y, seed) for seed in range(3)}) == 3


@pytest.mark.parametrize(("d", "power"), [(1, 1.0), (3, 2 / 3), (30, 0.25)])
def test_extrapolation_of_an_exact_law(monkeypatch, d, power):
    def exact(sample, parts, k, seed, n_jobs):
        return 0.1 + 0.7 * (len(sample.labels) / np.array(parts)) ** -power

    monkeypatch.setattr(classical, "_errors_of_parts", exact)
    assert knn_extrapolation(*gaussians(400, d, 2, seed=17)) == pytest.approx(0.1, abs=1e-12)
    monkeypatch.setattr(classical, "_errors_of_parts", lambda *_: np.array([0.1, 0.12, 0.12, 0.14, 0.14, 0.16]))
    assert knn_extrapolation(*gaussians(400, d, 2, seed=17)) == pytest.approx(0.13, abs=1e-12)  # no slope: the mean


def test_smallest_tables():
    X, y = [[0.0], [1.0], [2.5], [4.0]], ["a", "a", "b", "b"]
    for name, estimator in QUICK.items():
        assert 0 <= estimator(X, y, 0) <= 1, name


def test_midpoints_are_those_of_the_bounds():
    X, y = gaussians(200, 2, 3, seed=12)
    tree, nearest, many, gaussian, linear = all_bounds(X, y)
    assert ESTIMATORS["Henze-Penrose midpoint"](X, y) == tree.midpoint
    assert ESTIMATORS["Cover-Hart midpoint"](X, y) == nearest.midpoint
    assert ESTIMATORS["k-NN bounds midpoint"](X, y) == many.midpoint
    assert ESTIMATORS["Bhattacharyya midpoint"](X, y) == gaussian.midpoint
    assert ESTIMATORS["Mahalanobis upper bound"](X, y) == linear.upper


def test_learners_are_silent_and_the_same():
    X, y = gaussians(300, 2, 2, seed=13)
    assert benchmark_learner(X, y) == BenchmarkLearner().fit(X, y).bayes_error_
    ESTIMATORS["benchmark learner, paper's radii"](*gaussians(100, 20, 2, seed=14))  # a warning would be an error


def test_cross_validation_of_a_given_classifier():
    X, y = gaussians(2000, 2, 2, seed=15)
    error = cross_validated_error(X, y, classifier=LogisticRegression())
    assert abs(error - norm.cdf(-1)) < 4 * np.sqrt(0.16 * 0.84 / len(y))


@pytest.mark.parametrize("name", QUICK)
def test_bad_input_is_named(name):
    with pytest.raises(DataError, match="only one class"):
        QUICK[name]([[1.0], [2.0]], [0, 0], 0)
    with pytest.raises(DataError, match="NaN"):
        QUICK[name]([[1.0], [np.nan], [2.0], [3.0]], [0, 0, 1, 1], 0)
    with pytest.raises(DataTypeError, match="text"):
        QUICK[name](np.array([["1"], ["x"], [2.0], [3.0]], dtype=object), [0, 0, 1, 1], 0)


def test_bad_options_are_named():
    X, y = gaussians(50, 2, 2, seed=16)
    for estimator in (knn_error, knn_plugin, nearest_neighbour_ratio):
        for k in (0, 50, 2.5):
            with pytest.raises(ParameterError, match="k must be a whole number from 1 to 49"):
                estimator(X, y, k=k)
    with pytest.raises(ParameterError, match="exponent"):
        knn_extrapolation(X, y, exponent=-1)
