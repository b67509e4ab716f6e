from itertools import combinations, product
from math import factorial

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, multivariate_normal, norm
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from bayesfloor import BayesfloorWarning, DataError, ParameterError, spanning_tree
from bayesfloor.bounds import votes
from bayesfloor.bounds.bounds import (
    Bound,
    _bhattacharyya_coefficient,
    _mixed_edges,
    all_bounds,
    bhattacharyya,
    certified_upper_limit,
    cover_hart,
    cover_hart_lower,
    held_out_bound,
    henze_penrose,
    mahalanobis,
    nearest_neighbour_bounds,
)
from bayesfloor.bounds.votes import arrange, nearest_votes, vote_error
from bayesfloor.problems.problems import get
from bayesfloor.utils.intervals import lower_limit, upper_limit

# --- problems with a known floor ------------------------------------------------------------------------------

# Priors, means and covariances of 2-d Gaussians.
PROBLEMS = {
    "two Gaussians": ([0.5, 0.5], [[0, 0], [2, 0]], [np.eye(2), np.eye(2)]),
    "three Gaussians": ([0.5, 0.3, 0.2], [[0, 0], [2, 0], [0, 2]], [np.eye(2)] * 3),
    "unequal covariances and priors": ([0.7, 0.3], [[0, 0], [1, 1]], [np.diag([2.0, 0.5]), [[0.5, 0.3], [0.3, 1]]]),
}


def draw(problem, n, seed):
    priors, means, covariances = PROBLEMS[problem]
    rng = np.random.default_rng(seed)
    y = rng.choice(len(priors), n, p=priors)
    X = np.empty((n, 2))
    for c, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
        X[y == c] = rng.multivariate_normal(mean, covariance, int((y == c).sum()))
    return X, y


def truth(problem):
    """Mean of 1 - max posterior over 10^6 draws: standard error below 0.0003."""
    if problem == "two Gaussians":
        return norm.cdf(-1)
    priors, means, covariances = PROBLEMS[problem]
    X, _ = draw(problem, 10**6, 12345)
    joint = np.stack(
        [p * multivariate_normal(m, s).pdf(X) for p, m, s in zip(priors, means, covariances, strict=True)], axis=1
    )
    return float(1 - (joint.max(axis=1) / joint.sum(axis=1)).mean())


@pytest.mark.parametrize("problem", PROBLEMS)
def test_bounds_hold_on_smooth_problems(problem):
    X, y = draw(problem, 5000, 0)
    floor, n_classes = truth(problem), len(PROBLEMS[problem][0])
    tree, nearest, many, gaussian, linear = all_bounds(X, y)

    def noise(error):
        return 4 * np.sqrt(error * (1 - error) / len(y))

    for bound in (tree, nearest):
        assert cover_hart_lower(bound.upper - noise(bound.upper), n_classes) <= floor
        assert floor <= bound.upper + noise(bound.upper)
        assert bound.lower == pytest.approx(cover_hart_lower(bound.upper, n_classes), abs=1e-12)
        assert bound.upper < 2 * floor  # asymptotically e <= 2 E
    assert many.lower - noise(floor) <= floor <= many.upper + noise(floor)
    assert gaussian.lower < floor < gaussian.upper
    assert floor < linear.upper
    assert linear.lower == 0
    for bound in (tree, nearest, many, gaussian, linear):
        assert bound.lower <= bound.midpoint <= bound.upper <= 1 - np.bincount(y).max() / len(y)


def test_all_bounds_are_the_single_ones():
    X, y = draw("three Gaussians", 300, 1)
    alone = (
        henze_penrose(X, y),
        cover_hart(X, y),
        nearest_neighbour_bounds(X, y),
        bhattacharyya(X, y),
        mahalanobis(X, y),
    )
    assert all_bounds(X, y) == alone
    assert all_bounds(X, y, k=5)[2] == nearest_neighbour_bounds(X, y, 5)


@pytest.mark.parametrize("lattice", [False, True])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_names_and_order_of_classes_and_rows_do_not_show(problem, lattice):
    X, y = draw(problem, 400, 2)
    X = np.round(X) if lattice else X
    order = np.random.default_rng(0).permutation(len(y))
    renamed = np.array(["z", "a", "m"])[y][order]
    for bound, other in zip(all_bounds(X, y), all_bounds(X[order], renamed), strict=True):
        assert (other.lower, other.upper) == pytest.approx((bound.lower, bound.upper), abs=1e-12)


def test_units_do_not_show_and_standardize_can_be_switched_off():
    X, y = draw("unequal covariances and priors", 500, 3)
    for bound, other in zip(all_bounds(X, y), all_bounds(X * [1e3, 1e-4], y), strict=True):
        assert (other.lower, other.upper) == pytest.approx((bound.lower, bound.upper), abs=1e-8)
    assert cover_hart(X * [1e3, 1e-4], y, standardize=False).upper != cover_hart(X, y).upper


def test_a_constant_table_is_pure_noise():
    y = np.repeat([0, 1], [30, 70])
    for bound in all_bounds(np.ones((100, 3)), y):
        assert bound.upper == pytest.approx(0.3, abs=1e-12)
    # 1-NN error (29 * 70/99 ... left out) is a little above 2 * 0.3 * 0.7, so the map is clipped at 0.3.
    assert cover_hart(np.ones((100, 3)), y).lower == pytest.approx(0.3, abs=1e-12)


# --- Henze-Penrose and Cover-Hart by hand ---------------------------------------------------------------------


def test_henze_penrose_on_a_line():
    # The tree of points on a line is the path. Labels 0 0 0 0 1 1 1 0: K = 2 mixed edges, N = 8, N_0 = 5, N_1 = 3.
    # D = 1 - 8 * 2 / (2 * 15) = 7/15 and u = 4 * 15/64 * 7/15 + (2/8)^2 = 28/64 + 4/64 = 1/2.
    X = np.array([0, 1, 2.5, 3.1, 4, 5.5, 6.6, 8])[:, None]
    bound = henze_penrose(X, [0, 0, 0, 0, 1, 1, 1, 0])
    assert bound.lower == pytest.approx(1 / 2 - np.sqrt(1 / 2) / 2, abs=1e-12)
    assert bound.upper == pytest.approx(1 / 2 - (1 / 2) / 2, abs=1e-12)


def test_henze_penrose_is_clipped_at_the_smaller_share():
    # 0 1 0 1 0 0: K = 4 of N = 6, N_1 = 2. D = 1 - 6 * 4 / 16 < 0; K/N = 2/3 > 1/3, the map of 2/3 is 1/2 > 1/3.
    bound = henze_penrose(np.array([0, 1, 2.1, 3.3, 4.6, 6])[:, None], list("ababaa"))
    assert (bound.lower, bound.upper) == pytest.approx((1 / 3, 1 / 3), abs=1e-12)


def test_henze_penrose_of_three_classes_and_of_a_star():
    # 0 0 0 1 1 1 2 2 2 on a line: K = 2 of N = 9; (2/3) (1 - sqrt(1 - 3/2 * 2/9)).
    bound = henze_penrose(np.arange(9.0)[:, None] ** 1.1, np.repeat([0, 1, 2], 3))
    assert bound.upper == pytest.approx(2 / 9, abs=1e-12)
    assert bound.lower == pytest.approx(2 / 3 * (1 - np.sqrt(2 / 3)), abs=1e-12)
    # A centre with four arms: the tree is the star, two of its four edges are mixed; K/N = 2/5 = share of class 1.
    star = [[0, 0], [1, 0], [-1.1, 0], [0, 1.2], [0, -1.3]]
    bound = henze_penrose(star, [0, 1, 0, 1, 0], standardize=False)
    assert bound.upper == pytest.approx(2 / 5, abs=1e-12)
    assert bound.lower == pytest.approx((1 - np.sqrt(1 - 4 / 5)) / 2, abs=1e-12)


def test_mixed_edges_of_copies_are_the_mean_over_shuffled_trees():
    rng = np.random.default_rng(4)
    X = np.repeat([[0.0, 0], [1, 0.3], [3, 1], [3.5, 4]], [6, 3, 8, 1], axis=0)
    y = rng.integers(0, 3, len(X))
    y[:6] = [0, 0, 1, 1, 2, 2]
    counts = []
    for _ in range(400):
        order = rng.permutation(len(X))
        edges = spanning_tree(X[order])[0]
        counts.append((y[order][edges[:, 0]] != y[order][edges[:, 1]]).sum())
    mean, error = np.mean(counts), np.std(counts) / np.sqrt(len(counts))
    assert abs(_mixed_edges(arrange(X, y, standardize=False), 1) - mean) < 4 * error


def test_cover_hart_on_a_line():
    # Nearest of 0, 1, 3, 3.5, 7, 8 are 1, 0, 3.5, 3, 8, 7: the two in the middle are foreign, e = 2/6.
    bound = cover_hart(np.array([0, 1, 3, 3.5, 7, 8])[:, None], [0, 0, 0, 1, 1, 1])
    assert bound.upper == pytest.approx(1 / 3, abs=1e-12)
    assert bound.lower == pytest.approx((1 - np.sqrt(1 - 2 / 3)) / 2, abs=1e-12)
    # Three classes and two more points that are each other's nearest, e = 2/8: (2/3) (1 - sqrt(1 - 3/2 * 1/4)).
    bound = cover_hart(np.array([0, 1, 3, 3.5, 7, 8, 12, 13])[:, None], [0, 0, 1, 2, 1, 1, 2, 2])
    assert bound.upper == pytest.approx(1 / 4, abs=1e-12)
    assert bound.lower == pytest.approx(2 / 3 * (1 - np.sqrt(5 / 8)), abs=1e-12)
    # Ties count by halves: 0 and 2 have one neighbour at 1, which has one of each class at distance 1.
    # e = (0 + 1/2 + 1 + 0 + 0) / 5 with labels 0 0 1 at 0, 1, 2 and 1 1 at 10, 10.
    bound = cover_hart([[0.0], [1.0], [2.0], [10.0], [10.0]], [0, 0, 1, 1, 1], standardize=False)
    assert bound.upper == pytest.approx(0.3, abs=1e-12)


def test_cover_hart_map_inverts_the_nearest_neighbour_error():
    for n_classes in (2, 3, 10):
        most = (n_classes - 1) / n_classes
        for floor in np.linspace(0, most, 20):
            error = floor * (2 - floor / most)  # attained if the other classes are equally likely
            assert cover_hart_lower(error, n_classes) == pytest.approx(floor, abs=1e-7)
        assert cover_hart_lower(1.0, n_classes) == most


# --- votes ----------------------------------------------------------------------------------------------------


def naive_votes(X, y, n_classes, k, forgive):
    """Mean votes and error of each row over all ways to fill the places at the distance of the k-th."""
    shares, losses = np.zeros((len(X), n_classes)), np.zeros(len(X))
    for i in range(len(X)):
        others = [j for j in range(len(X)) if j != i]
        squared = {j: ((X[i] - X[j]) ** 2).sum() for j in others}
        reach = sorted(squared.values())[k - 1]
        sure = [j for j in others if squared[j] < reach]
        ways = list(combinations([j for j in others if squared[j] == reach], k - len(sure)))
        for way in ways:
            count = np.bincount(y[[*sure, *way]], minlength=n_classes)
            winners = np.flatnonzero(count == count.max())
            shares[i] += count / len(ways)
            losses[i] += (y[i] not in winners if forgive else 1 - (y[i] in winners) / len(winners)) / len(ways)
    return shares, losses.mean()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_votes_on_a_lattice_equal_all_ways_to_break_ties(monkeypatch, n_classes, k):
    monkeypatch.setattr(votes, "_DRAWS", 1500)
    rng = np.random.default_rng(k)
    X, y = rng.integers(0, 3, (14, 2)).astype(float), rng.integers(0, n_classes, 14)
    (found,) = nearest_votes(X, y, n_classes, [k], 1)
    for forgive in (False, True):
        shares, error = naive_votes(X, y, n_classes, k, forgive)
        np.testing.assert_allclose(found.expected(), shares, atol=1e-12)
        # Each row's mean over 1500 draws has a standard error of at most 1/2 / sqrt(1500).
        assert abs(vote_error(found, y, forgive_ties=forgive) - error) < 4 * 0.5 / np.sqrt(1500 * len(y))


def test_votes_in_blocks_and_of_all_points(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = np.round(rng.normal(size=(600, 2)), 1), rng.integers(0, 3, 600)
    whole = nearest_votes(X, y, 3, [1, 7, 599], 1)
    monkeypatch.setattr(votes, "_BLOCK", 1024)
    for some, other in zip(whole, nearest_votes(X, y, 3, [1, 7, 599], 1), strict=True):
        np.testing.assert_array_equal(some.sure, other.sure)
        np.testing.assert_array_equal(some.tied, other.tied)
        np.testing.assert_allclose(some.expected().sum(axis=1), some.k)
    np.testing.assert_array_equal(whole[2].sure + np.eye(3, dtype=int)[y], np.tile(np.bincount(y), (600, 1)))


def test_the_even_rule_that_forgives_ties_is_below_the_floor_and_the_odd_rule_above():
    # Devijver and Kittler: h - h P(B = m) + (1 - 2h) P(B > m) <= h <= P(odd rule errs), at every posterior h.
    for h, m in product(np.linspace(0, 0.5, 101), range(1, 41)):
        even = h - h * binom.pmf(m, 2 * m, h) + (1 - 2 * h) * binom.sf(m, 2 * m, h)
        wrong = binom.sf(m - 1, 2 * m - 1, h)  # the odd rule names the rarer class
        assert even <= h + 1e-15
        assert h <= h * (1 - wrong) + (1 - h) * wrong + 1e-15


def test_votes_of_more_classes_err_no_more_than_the_nearest_neighbour():
    rng = np.random.default_rng(0)
    for q, k in product(rng.dirichlet(np.ones(3), 20), (2, 3, 4, 5, 7)):
        right = 0.0
        for a in range(k + 1):
            for b in range(k + 1 - a):
                count = np.array([a, b, k - a - b])
                chance = factorial(k) / np.prod([float(factorial(c)) for c in count]) * np.prod(q**count)
                right += chance * q[count == count.max()].mean()
        assert right >= (q**2).sum() - 1e-12


def test_more_neighbours_close_in():
    X, y = draw("two Gaussians", 5000, 5)
    widths = [b.upper - b.lower for b in (nearest_neighbour_bounds(X, y, k) for k in (1, 5, 25))]
    assert widths == sorted(widths, reverse=True)
    one = nearest_neighbour_bounds(X, y, 1)
    assert one.upper == cover_hart(X, y).upper
    # k + 1 = 2: an error needs two foreign neighbours; asymptotically half the error of one (h (1 - h) each way).
    assert one.lower == pytest.approx(one.upper / 2, abs=4 * np.sqrt(one.upper / len(y)))


# --- bounds from moments --------------------------------------------------------------------------------------


def test__bhattacharyya_coefficient_is_the_integral():
    first, second = norm(0, 1), norm(1.5, 2)
    integral = quad(lambda x: np.sqrt(first.pdf(x) * second.pdf(x)), -30, 30)[0]
    assert _bhattacharyya_coefficient(np.array([1.5]), np.eye(1), 4 * np.eye(1)) == pytest.approx(integral, abs=1e-8)


def test_sum_over_pairs_is_between_the_floor_and_half_c_times_it():
    for q in np.random.default_rng(0).dirichlet(np.ones(6) / 2, 500):
        pairs = sum(min(a, b) for a, b in combinations(q, 2))
        assert 1 - q.max() <= pairs + 1e-12
        assert pairs <= 6 / 2 * (1 - q.max()) + 1e-12


def test_mahalanobis_is_twice_what_linear_regression_leaves():
    X, y = draw("two Gaussians", 2000, 6)  # about 1/4, well below the clip
    design = np.column_stack([np.ones(len(y)), X])
    left = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    # The covariances here are the unbiased ones: equal up to O(1/N).
    assert mahalanobis(X, y).upper == pytest.approx(2 * (left**2).mean(), rel=3e-3)


@pytest.mark.parametrize("make", [bhattacharyya, mahalanobis])
def test_singular_covariances_are_repaired_and_named(make):
    X, y = draw("two Gaussians", 400, 7)
    assert "singular" not in make(X, y).rests_on
    doubled = np.column_stack([X, X[:, 0]])
    assert "singular" in make(doubled, y).rests_on
    assert make(doubled, y).upper == pytest.approx(make(X, y).upper, abs=0.01)
    wide = np.random.default_rng(0).normal(size=(20, 50))
    assert "singular" in make(wide, np.arange(20) % 3).rests_on


# --- certified limits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 7, 60])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_limits_keep_their_level_exactly(n, level):
    errors = np.arange(n + 1)
    upper = np.array([upper_limit(e, n, level) for e in errors])
    lower = np.array([lower_limit(e, n, level) for e in errors])
    for p in np.linspace(0.001, 0.999, 97):
        chance = binom.pmf(errors, n, p)
        assert chance[upper < p].sum() <= 1 - level + 1e-12
        assert chance[lower > p].sum() <= 1 - level + 1e-12
    # And no limit could be moved: at the limit itself the tail is 1 - level.
    np.testing.assert_allclose([binom.cdf(e, n, upper[e]) for e in errors[:-1]], 1 - level, rtol=1e-8)
    np.testing.assert_allclose([binom.sf(e - 1, n, lower[e]) for e in errors[1:]], 1 - level, rtol=1e-8)
    assert (upper[-1], lower[0]) == (1.0, 0.0)


def test_the_best_of_several_keeps_the_level_too():
    # Four independent classifiers of error p on 60 rows: the smallest limit is below p with probability 1 - (1 - a)^4.
    limits = np.array([certified_upper_limit(e, 60, n_candidates=4).upper for e in range(61)])
    plain = np.array([certified_upper_limit(e, 60).upper for e in range(61)])
    worst = 0.0
    for p in np.linspace(0.01, 0.99, 99):
        chance = binom.pmf(np.arange(61), 60, p)
        assert 1 - (1 - chance[limits < p].sum()) ** 4 <= 0.05 + 1e-12
        worst = max(worst, 1 - (1 - chance[plain < p].sum()) ** 4)
    assert worst > 0.1  # what goes wrong without the correction


class Broken(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("no luck")


def test_held_out_bound_takes_the_best_and_corrects_for_the_choice():
    X, y = draw("two Gaussians", 2000, 8)
    labels = np.where(y == 1, "sick", "well")
    best = held_out_bound(X, labels, {"guess": DummyClassifier(), "logistic": LogisticRegression()})
    assert best.name == "Held-out logistic"
    assert best.lower == 0
    assert norm.cdf(-1) < best.upper < 0.25
    assert "600" in best.rests_on
    assert "95%" in best.rests_on
    assert "among 2" in best.rests_on
    assert held_out_bound(X, labels, LogisticRegression()).upper < best.upper
    assert len({held_out_bound(X, labels, LogisticRegression(), random_state=seed).upper for seed in range(5)}) > 1
    with pytest.warns(BayesfloorWarning, match="Broken failed and is left out: RuntimeError: no luck"):
        assert held_out_bound(X, labels, [Broken(), LogisticRegression()]).upper == best.upper


def test_held_out_bound_refuses_what_it_cannot_do():
    X, y = draw("two Gaussians", 40, 9)
    with (
        pytest.warns(BayesfloorWarning),
        pytest.raises(DataError, match=r"all classifiers failed \(Broken 1, Broken 2\)"),
    ):
        held_out_bound(X, y, [Broken(), Broken()])
    with pytest.raises(ParameterError, match="classifiers is empty"):
        held_out_bound(X, y, [])
    with pytest.raises(ParameterError, match="test_size"):
        held_out_bound(X, y, [DummyClassifier()], test_size=1.5)
    with pytest.raises(DataError, match="cannot be split"):
        held_out_bound(X[:6], [0, 0, 1, 1, 2, 2], [DummyClassifier()], test_size=0.99)


# --- words ----------------------------------------------------------------------------------------------------


def test_bounds_print_themselves():
    both, one = str(Bound("A", 0.1, 0.2, "on sand")), str(Bound("B", 0.0, 0.2, "on rock"))
    assert both == "A: between 10.00% and 20.00%\n  on sand"
    assert one == "B: at most 20.00%\n  on rock"


@pytest.mark.parametrize("n_columns", [10, 11])
def test_bounds_know_where_they_do_not_apply(n_columns: int) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, n_columns)), np.arange(200) % 2
    few = n_columns == 10
    assert [bound.applies for bound in all_bounds(X, y, k=5, n_jobs=1)] == [few, few, few, True, True]
    X[:, 1] = X[:, 0] * (y == 0)  # constant in one class, a copy in the other
    assert [bound.applies for bound in all_bounds(X, y, k=5, n_jobs=1)][3:] == [False, True]


def test_asymptotic_bounds_say_so_and_copies_are_named():
    X, y = draw("two Gaussians", 400, 10)
    for bound in all_bounds(X, y)[:3]:
        assert "asymptotic" in bound.rests_on
        assert "copies" not in bound.rests_on
    for bound in all_bounds(np.concatenate([X, X[:100]]), np.concatenate([y, y[:100]]))[:3]:
        assert "20.0% of the rows are copies" in bound.rests_on
    twice = held_out_bound(np.concatenate([X, X]), np.concatenate([y, y]), [DummyClassifier()])
    assert "copies" in twice.rests_on


@pytest.mark.parametrize("k", [0, 4, 399, 2.0, "3"])
def test_k_must_be_odd_and_within_the_rows(k):
    X, y = draw("two Gaussians", 400, 11)
    with pytest.raises(ParameterError, match="k must be an odd whole number from 1 to 398"):
        nearest_neighbour_bounds(X, y, k)


def test_wrong_numbers_are_named():
    with pytest.raises(ParameterError, match="n_candidates"):
        certified_upper_limit(1, 10, n_candidates=0)
    with pytest.raises(ParameterError, match="confidence_level"):
        certified_upper_limit(1, 10, confidence_level=1.0)
    with pytest.raises(ParameterError, match="0 <= errors <= n"):
        certified_upper_limit(11, 10)
    with pytest.raises(ParameterError, match="confidence_level"):
        lower_limit(1, 10, 0.0)
    with pytest.raises(DataError, match="only one class"):
        all_bounds([[1.0], [2.0]], ["a", "a"])


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("moons", {}),
        ("mixture_2d", {}),
        ("gaussians_4d", {"n_features": 2}),
        ("heavy_tails", {"n_features": 2}),
        ("unequal_gaussians", {"n_features": 2}),
        ("rayleigh_10d", {"n_features": 2}),
    ],
)
def test_intervals_contain_the_floor_of_smooth_problems_in_two_dimensions(name, parameters):
    problem = get(name, **parameters)
    X, y = problem.sample(5000, random_state=0)
    noise = 4 * np.sqrt(problem.bayes_error / 5000)
    for bound in (henze_penrose(X, y), cover_hart(X, y)):
        assert bound.lower - noise <= problem.bayes_error <= bound.upper + noise, bound


def test_checkerboard_is_where_the_tree_misses():
    # Documented, not hidden: neighbours across the many edges make the "lower bound" exceed the floor.
    problem = get("checkerboard")
    X, y = problem.sample(1500, random_state=0)
    assert henze_penrose(X, y).lower > problem.bayes_error


def test_bounds_that_compare_every_pair_are_left_out_where_these_are_many_and_wide():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 40
    wide, narrow = rng.normal(size=(400, 200)), rng.normal(size=(400, 3))
    assert len(all_bounds(narrow, y)) == len(all_bounds(wide, y % 2)) == 5
    assert [bound.name for bound in all_bounds(wide, y)][:2] == ["Henze-Penrose", "Cover-Hart"]
    assert len(all_bounds(wide, y)) == 3
