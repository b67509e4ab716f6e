"""A test per erratum of docs/theory.md that can be computed; numbers are those of the paper's PDF."""

import warnings

import numpy as np
import pytest
from scipy.stats import norm, poisson

import bayesfloor as bf
from bayesfloor.balls.authors_code import relaxed_arithmetic_weights
from reproduction.smooth_cube import smooth_cube


def t_of(x, p1, p2):
    """The function below equation (8)."""
    return np.maximum(p2 - p1 * x, 0) - max(p2 - p1, 0)


def ratios_of_one_ball(n, seed, **options):
    """U = f_1 / f_2 of equation (6) at the rows of the second class, the class shares, and the learner."""
    X, y = smooth_cube(1).sample(n, random_state=seed)
    settings = {"class_order": "sorted", "ratio_floor": None, "standardize": False, "n_jobs": 1, **options}
    learner = bf.BenchmarkLearner(radii=[n**-0.5], **settings).fit(X, y)
    p1, p2 = learner.priors_
    return learner.density_ratios_[y == 1, 0] * p2 / p1, p1, p2, learner


# --- definitions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("p1", [0.2, 0.5, 0.7])
def test_the_kink_of_t_is_at_the_inverse_ratio_of_the_shares(p1):
    p2, step = 1 - p1, 1e-6

    def bend(x):
        return (t_of(x + step, p1, p2) - 2 * t_of(x, p1, p2) + t_of(x - step, p1, p2)) / step

    assert bend(p2 / p1) == pytest.approx(p1, rel=1e-3)  # the slope changes from -p1 to 0
    if p1 != 0.5:
        assert bend(p1 / p2) == pytest.approx(0, abs=1e-6)  # printed


def test_t_tilde_with_the_maximum_misses_the_floor():
    """Equation (10): the limit is min(p2, p1 C_L/C_U) whatever the densities; exactly 0 for C_L/C_U = 0."""
    problem, n, printed, limits = smooth_cube(1), 2000, [], []
    share = 0.05 / 0.95  # C_L / C_U: posteriors, and with equal shares densities, reach from 0.05 to 0.95
    for seed in range(5):
        U, p1, p2, _ = ratios_of_one_ball(n, seed)
        printed.append(min(p1, p2) - np.maximum(t_of(U, p1, p2), t_of(share, p1, p2)).mean())
        limits.append(min(p2, p1 * share))
        assert min(p1, p2) - np.maximum(t_of(U, p1, p2), t_of(0.0, p1, p2)).mean() == pytest.approx(0, abs=1e-12)
        right = min(p1, p2) - np.minimum(t_of(U, p1, p2), t_of(share, p1, p2)).mean()
        assert right == pytest.approx(ratios_of_one_ball(n, seed, ratio_floor=share)[3].bayes_error_, abs=1e-12)
    floor = problem.bayes_error
    oracle = np.sqrt(floor * (1 - floor) / n)
    assert max(limits) < floor - 4 * oracle
    below = np.array(limits) - printed
    assert below.min() > -1e-12
    assert below.max() > 1e-6, "estimated ratios may fall below C_L/C_U: no constant either"


def test_t_tilde_with_the_maximum_makes_every_multi_class_estimate_zero():
    """H of equation (28) with C_L/C_U = 0: t_k(0, ..., 0) = p_k."""
    rng = np.random.default_rng(0)
    p, terms = np.array([0.5, 0.3, 0.2]), []
    for k in (1, 2):
        U = rng.gamma(1.0, size=(50, k))
        t = np.maximum(0, p[k] - (p[:k] * U).max(axis=1))
        terms.append(np.maximum(t, max(0.0, p[k])).mean())
    assert 1 - p[0] - sum(terms) == pytest.approx(0, abs=1e-12)


def test_algorithm_1_needs_eta_and_as_many_terms_as_it_divides_by():
    problem = bf.problems.get("gaussians_4d", n_features=2, prior=0.25)
    X, y = problem.sample(40_000, random_state=0)
    P = problem.posterior(X)
    p1, p2 = problem.priors
    second = P[y == 1]
    counts = second[:, 0] / second[:, 1]  # what the ratio of raw counts tends to: p1 f1 / (p2 f2)
    terms, printed = t_of(counts * p2 / p1, p1, p2), t_of(counts, p1, p2)
    noise = terms.std() / np.sqrt(len(terms))
    assert min(p1, p2) - terms.mean() == pytest.approx(problem.bayes_error, abs=4 * noise)
    assert abs(min(p1, p2) - printed.mean() - problem.bayes_error) > 20 * noise
    assert abs(min(p1, p2) - terms.sum() / len(X) - problem.bayes_error) > 20 * noise  # N_2 terms over N


def test_the_symmetrised_estimator_swaps_the_shares_for_the_first_class():
    """Equation (11) prints the same t for the rows of both classes; shifted Gaussians would hide it by symmetry."""
    problem = bf.problems.get("unequal_gaussians", n_features=1, ratio=4.0)
    X, y = problem.sample(40_000, random_state=0)
    P = problem.posterior(X)
    p1, p2 = problem.priors
    at_first, at_second = P[y == 0], P[y == 1]
    to_first = at_first[:, 1] / at_first[:, 0] * p1 / p2  # f_2 / f_1
    to_second = at_second[:, 0] / at_second[:, 1] * p2 / p1
    swapped = np.concatenate([t_of(to_first, p2, p1), t_of(to_second, p1, p2)])
    printed = np.concatenate([t_of(to_first, p1, p2), t_of(to_second, p1, p2)])
    noise = swapped.std() / np.sqrt(len(X)) + problem.bayes_error_std
    assert min(p1, p2) - swapped.mean() == pytest.approx(problem.bayes_error, abs=4 * noise)
    assert abs(min(p1, p2) - printed.mean() - problem.bayes_error) > 20 * noise


def test_henze_penrose_lower_bound_takes_half_the_root():
    """Equation (5), on class probabilities: the right bound always lies between the printed one and the floor."""
    for shift in (0.5, 2.0, 5.0):
        problem = bf.problems.get("gaussians_4d", shift=shift)
        P = problem.posterior(problem.sample(5_000, random_state=0)[0])
        floor, h = P.min(axis=1).mean(), ((P[:, 0] - P[:, 1]) ** 2).mean()
        assert 0.5 - np.sqrt(h) < 0.5 - np.sqrt(h) / 2 <= floor <= 0.5 - h / 2
    X, y = problem.sample(400, random_state=0)
    p1, p2 = np.bincount(y) / len(y)
    h = 4 * p1 * p2 * bf.bounds.henze_penrose_divergence(X, y) + (p1 - p2) ** 2
    assert bf.bounds.henze_penrose(X, y).lower == pytest.approx(0.5 - np.sqrt(h) / 2, abs=1e-12)
    assert 0.5 - np.sqrt(1.0) == -0.5  # printed, for classes that are apart: h = 1, floor 0


# --- rates: what a kink does to noise ---------------------------------------------------------------------


def shortfall(ratio, size):
    """E min(1, n_1 / (n_2 + 1)) - min(1, ratio) for Poisson counts of means ratio * size and size, exactly."""
    n = np.arange(int(size + 12 * np.sqrt(size) + 30))
    # E min(m, n) is the sum of P(m > j) over j < n, and the centre makes n_2 + 1 of n_2.
    least = np.cumsum(poisson.sf(n, ratio * size))
    return float((poisson.pmf(n, size) * least / (n + 1)).sum()) - min(1.0, ratio)


@pytest.mark.parametrize("margin", [0.0, 0.5, 1.0, 2.0])
def test_ties_decide_how_fast_the_bias_of_the_kink_falls(margin):
    """Theorem 4 restated: size^(-(1 + margin)/2) if |R - 1| <= x has probability x^margin; printed: 1 / size."""
    shares = np.array([1e-12, *np.geomspace(1e-9, 1, 400)])
    middles, widths = np.sqrt(shares[1:] * shares[:-1]), np.diff(shares)
    away = np.zeros_like(middles) if margin == 0 else 0.9 * middles ** (1 / margin)
    found = [
        sum(w * (shortfall(1 - x, size) + shortfall(1 + x, size)) / 2 for w, x in zip(widths, away, strict=True))
        for size in (100, 400)
    ]
    assert max(found) < 0
    assert np.log(found[1] / found[0]) / np.log(4) == pytest.approx(-(1 + margin) / 2, abs=0.01)


def test_ratios_have_no_bias_but_that_of_the_radius():
    """The centre counts for its own class: E[n_1 / (n_2 + 1)] = ratio (1 - (1 - P_2)^N_2) for binomial counts."""
    rng = np.random.default_rng(0)
    n1, n2, P1, P2 = 300, 200, 0.01, 0.02
    counts = rng.binomial(n1, P1, 200_000) / (rng.binomial(n2 - 1, P2, 200_000) + 1)
    expected = n1 * P1 / (n2 * P2) * (1 - (1 - P2) ** n2)
    assert counts.mean() == pytest.approx(expected, abs=4 * counts.std() / np.sqrt(len(counts)))


def test_the_variance_of_a_ratio_falls_as_the_root_of_n():
    """With the radii of Theorem 8 a ball holds sqrt(N) rows; printed after (52): variance O(1/N)."""
    times_root, times_n = [], []
    for n in (1e4, 1e8):
        size = np.sqrt(n)
        k = np.arange(int(size + 12 * np.sqrt(size)))
        p = poisson.pmf(k, size)
        mean = size * (p / (k + 1)).sum()
        variance = (size + size**2) * (p / (k + 1) ** 2).sum() - mean**2
        times_root.append(size * variance)
        times_n.append(n * variance)
    assert times_root[1] == pytest.approx(2, rel=1e-3)  # 1 / size of each of the two counts
    assert times_root[0] == pytest.approx(2, rel=0.05)
    assert times_n[1] > 90 * times_n[0]


def test_ties_among_smaller_ratios_count_too():
    """Theorem 10: the larger of two estimates of the same ratio is too high, whether or not it is near 1."""
    gaps = []
    for size in (100, 400):
        # Two counts of mean size / 2: E max - mean is that of normal figures, sqrt(variance / pi).
        k = np.arange(size * 2)
        cdf = poisson.cdf(k, size / 2)
        gaps.append(((1 - cdf**2).sum() - size / 2) / size)
    assert gaps[0] == pytest.approx(np.sqrt(50 / np.pi) / 100, rel=0.02)
    assert gaps[0] / gaps[1] == pytest.approx(2, rel=0.02)


def errors_of_the_ensemble(n, swing, n_samples=40):
    """F of Theorem 8 in one dimension, less the floor; alpha = 1 keeps the smallest balls from being empty."""
    problem = smooth_cube(1, swing)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bf.BayesfloorWarning)
        found = [
            bf.BenchmarkLearner.paper(alpha=1.0, n_jobs=1).fit(*problem.sample(n, random_state=seed)).bayes_error_
            for seed in range(n_samples)
        ]
    return np.array(found) - problem.bayes_error


def test_the_ensemble_is_not_parametric_on_ties():
    """Theorem 8: N^(-1) is claimed, on balanced pure noise the bias alone leaves N^(-1/2)."""
    small, large = (errors_of_the_ensemble(n, 0.0) for n in (250, 4000))
    noise = np.hypot(large.std(ddof=1), small.std(ddof=1) / 2) / np.sqrt(len(large))
    # Sixteen times the rows: the bias halves, where a mean squared error of O(1/N) needs a quarter of it.
    assert large.mean() == pytest.approx(small.mean() / 2, abs=4 * noise)
    assert large.mean() < small.mean() / 4 - 4 * noise


def test_the_expansion_in_powers_of_the_radius_fails_near_the_edge():
    """Equation (49): a ball that some radii cut and others do not has no polynomial for its mean."""
    nodes, weights = bf.chebyshev_weights(4, 3)

    def density(x):
        return 1 + 0.4 * np.sin(3 * x + 0.3)

    def left(x, radius):
        """What the weights leave of the bias of f_1 / f_2 on [0, 1], f_2 being uniform."""
        low, high = np.maximum(0, x - radius * nodes), x + radius * nodes
        means = 1 - 0.4 / 3 * (np.cos(3 * high + 0.3) - np.cos(3 * low + 0.3)) / (high - low)
        return abs(weights @ means - density(x))

    inside = left(0.5, 0.2) / left(0.5, 0.1)
    near = left(0.1, 0.2) / left(0.05, 0.1)  # half the largest radius from the end
    assert inside == pytest.approx(2**4, rel=0.05)
    assert near == pytest.approx(2, rel=0.05)
    assert left(0.05, 0.1) > 100 * left(0.5, 0.1)


# --- the central limit theorem ------------------------------------------------------------------------------


def spread_factor(shift):
    """Variance of the symmetrised estimate over that of its terms, in the limit, for Gaussians so far apart."""
    x = np.linspace(-10, 10 + shift, 200_001)
    density, ratio = norm.pdf(x), np.exp(np.minimum(shift * x - shift**2 / 2, 700))
    floor = norm.cdf(-shift / 2)
    terms = (density * np.minimum(1, ratio) ** 2).sum() * (x[1] - x[0]) / 4 - floor**2
    return floor * (1 - floor) / terms


def test_the_spread_of_the_terms_is_too_small_by_a_factor_that_depends_on_the_overlap():
    factors = [spread_factor(shift) for shift in (5.0, 2.0, 0.5, 0.05)]
    np.testing.assert_allclose(factors[:3], [2.96, 4.06, 19.96], rtol=0.01)
    assert factors[3] > 100 * factors[0] / 2


def test_the_variance_is_that_of_the_bayes_classifiers_errors():
    """Lemma 16 would leave the spread of the terms; measured for two overlaps, on samples of 800 rows."""
    n, n_samples = 800, 300
    for swing in (0.45, 0.2):
        problem = smooth_cube(1, swing)
        learners = [
            bf.BenchmarkLearner(radii=[n**-0.5], standardize=False, n_jobs=1).fit(*problem.sample(n, random_state=seed))
            for seed in range(n_samples)
        ]
        variance = np.var([learner.bayes_error_ for learner in learners], ddof=1)
        spread = np.mean([np.var(learner.sample_error_) / n for learner in learners])
        noise = variance * np.sqrt(2 / (n_samples - 1))  # of the variance of figures that are nearly normal
        floor = problem.bayes_error
        assert variance > spread + 4 * noise
        assert variance == pytest.approx(floor * (1 - floor) / n, abs=4 * noise)


# --- weights ------------------------------------------------------------------------------------------------


def test_no_ensemble_is_a_convex_combination_and_arithmetic_weights_alternate():
    for n_nodes in (3, 11):
        _, arithmetic = bf.arithmetic_weights(n_nodes, n_nodes - 1)
        _, chebyshev = bf.chebyshev_weights(n_nodes, n_nodes - 1)
        assert (np.sign(arithmetic) == (-1.0) ** np.arange(n_nodes)).all()
        assert not (np.diff(arithmetic) <= 0).all()
        assert chebyshev.min() < 0
    for n_nodes, n_features in ((11, 10), (101, 100)):  # the two panels of Figure 6
        _, relaxed = relaxed_arithmetic_weights(n_nodes, n_features)
        assert (np.diff(relaxed) <= 1e-9).all(), "the weights of the published code do decrease"
