"""Random problems: samples, posteriors and floors must agree with each other."""

from functools import cache
from itertools import count

import numpy as np
import pytest
from scipy.linalg import toeplitz
from scipy.stats import multivariate_normal, norm

from locked_problems import LOCKED, autocovariances, copula_scores, some_classes, some_priors, widest
from random_problems import (
    ALL,
    FAMILIES,
    HOPELESS,
    LABEL_NOISE,
    Drawn,
    clouds,
    disguised,
    draw_problem,
    family_draw,
    random_list,
    random_tree,
    some_rows,
    start,
)

EACH = pytest.mark.parametrize("family", ALL)
# Those that draw a class first, and then the columns given the class.
CLASS_FIRST = [
    "shared_gaussians",
    "unequal_gaussians",
    "students",
    "products",
    "binary",
    "mixed",
    "counts",
    "autoregressive",
    "copulas",
    "groups_of_classes",
]


@cache
def small(family: str) -> tuple[int, Drawn]:
    """The first problem of a family with few rows, and its number."""
    number = next(number for number in count() if some_rows(start(family, number)) < 700)
    return number, draw_problem(family, number)


class Watched:
    """A generator that remembers the classes it has drawn."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def __getattr__(self, name: str):
        return getattr(self.rng, name)

    def choice(self, *given, **options) -> np.ndarray:
        self.chosen = self.rng.choice(*given, **options)
        return self.chosen


def assert_calibrated(P: np.ndarray, c: np.ndarray) -> None:
    """Classes agree with their posterior, also where it is high: sums of deviations lie within five sigma."""
    hit = c[:, None] == np.arange(P.shape[1])
    for weight in (np.ones_like(P), P, P**4):
        off, variance = (weight * (hit - P)).sum(axis=0), (weight**2 * P * (1 - P)).sum(axis=0)
        assert (np.abs(off) <= 5 * np.sqrt(variance) + 0.5).all()
    given, squared, cubed = P[np.arange(len(P)), c], (P**2).sum(axis=1), (P**3).sum(axis=1)
    assert abs((given - squared).sum()) <= 5 * np.sqrt((cubed - squared**2).sum()) + 0.5


def test_no_family_is_trained_on_and_locked_away() -> None:
    assert len(ALL) == len(FAMILIES) + len(LOCKED) + len(HOPELESS)
    assert len(FAMILIES) >= 18
    assert len(LOCKED) >= 7


@EACH
def test_a_number_names_one_problem(family: str) -> None:
    number, problem = small(family)
    again = draw_problem(family, number)
    np.testing.assert_array_equal(again.X, problem.X)
    np.testing.assert_array_equal(again.y, problem.y)
    assert (again.family, again.floor, again.floor_error, again.oracle) == (
        family,
        problem.floor,
        problem.floor_error,
        problem.oracle,
    )
    assert start(family, number).random() != start(family, number + 1).random()


@EACH
def test_sample_has_what_an_estimate_needs(family: str) -> None:
    _, problem = small(family)
    n, d = problem.X.shape
    assert n == len(problem.y) >= 150
    assert 2 <= d <= widest(n)
    assert np.isfinite(problem.X).all()
    shares = np.bincount(problem.y)
    assert shares.min() >= 5
    assert 2 <= len(shares) <= 60


@EACH
def test_floor_agrees_with_simulation_from_the_posterior(family: str) -> None:
    number, problem = small(family)
    n = len(problem.y)
    X, P = family_draw(family, number)(10_000, np.random.default_rng(7))
    assert X.shape == (10_000, problem.X.shape[1])
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12)
    assert P.min() >= 0
    error = 1 - P.max(axis=1)
    off = abs(error.mean() - problem.floor)
    assert off <= 5 * np.hypot(error.std() / 100, problem.floor_error)
    deviation = np.sqrt(problem.floor * (1 - problem.floor) / n)
    assert problem.floor_error <= max(deviation / 10, 2e-5)
    assert abs(problem.oracle - problem.floor) <= 5 * deviation + 5 * problem.floor_error
    # Labels of the sample come in the shares of the posterior.
    share, known = np.bincount(problem.y, minlength=P.shape[1]) / n, P.mean(axis=0)
    assert (np.abs(share - known) <= 5 * np.sqrt(known * (1 / n + 1 / 10_000)) + 1 / n).all()


@pytest.mark.parametrize("family", CLASS_FIRST)
def test_posterior_is_that_of_the_sampler(family: str) -> None:
    for seed in range(4):
        rng = np.random.default_rng([seed, 1])
        draw, watched = ALL[family](rng, 2000), Watched(seed)
        _, P = draw(3000, watched)
        assert_calibrated(P, watched.chosen)


@pytest.mark.parametrize("dof", [None, 2.0])
@pytest.mark.parametrize("own", [False, True])
def test_posterior_of_clouds_is_that_of_the_sampler(own: bool, dof: float | None) -> None:
    rng = np.random.default_rng(3)
    roots, means = rng.normal(size=(3, 4, 4)), rng.normal(size=(3, 4))
    covariances = [np.exp(rng.normal(size=4)), *(A @ A.T + np.eye(4) for A in roots[1:])] if own else [np.eye(4) + 0.5]
    shares, watched = np.array([0.2, 0.3, 0.5]), Watched(4)
    _, P = clouds(means, covariances, shares, [0, 1, 2], 3, dof)(20_000, watched)
    assert_calibrated(P, watched.chosen)
    _, together = clouds(means, covariances, shares, [1, 0, 1], 2, dof)(20_000, np.random.default_rng(4))
    np.testing.assert_allclose(together[:, 0], P[:, 1], atol=1e-12)


def test_posterior_of_nominal_columns_is_that_of_the_sampler() -> None:
    found = 0
    for seed in range(8):
        draw, watched = FAMILIES["nominal"](np.random.default_rng(seed), 2000), Watched(seed)
        _, P = draw(3000, watched)
        if hasattr(watched, "chosen"):  # otherwise the columns come first, and the labels from their posterior
            assert_calibrated(P, watched.chosen)
            found += 1
    assert 0 < found < 8


@EACH
@pytest.mark.parametrize("rows", [150, 1500, 40_000])
def test_columns_and_classes_fit_the_rows(family: str, rows: int) -> None:
    for seed in range(3):
        rng = np.random.default_rng([seed, rows])
        draw, rho = disguised(ALL[family](rng, rows), family, rows, rng)
        X, P = draw(7, rng)
        assert 2 <= X.shape[1] <= widest(rows)
        assert 2 <= P.shape[1] <= min(60, rows // 25)
        assert 0 <= rho <= 0.6
        assert rho == 0 or LABEL_NOISE.get(family, 0.25) > 0


def test_sizes_are_spread_as_said() -> None:
    rng = np.random.default_rng(0)
    rows = np.array([some_rows(rng) for _ in range(20_000)])
    assert rows.min() >= 150
    assert rows.max() <= 50_000
    assert 1400 < np.median(rows) < 1700
    assert 0.034 < (rows > 10_000).mean() < 0.046
    assert (widest(150), widest(2000), widest(10_000), widest(10_001)) == (2000, 1500, 300, 100)


def test_class_shares_go_down_to_what_gives_ten_rows() -> None:
    rng, least = np.random.default_rng(0), []
    for rows in (150, 1000, 5000, 40_000):
        for _ in range(200):
            shares = some_priors(rng, some_classes(rng, rows), rows)
            assert shares.sum() == pytest.approx(1)
            assert shares.min() > 0.99 * max(0.003, 10 / rows)
            least.append(shares.min())
    assert min(least) < 0.0031


def test_every_leaf_of_a_tree_can_be_reached() -> None:
    rng = np.random.default_rng(0)
    leaf = random_tree(rng, 6, 3)(rng.random((20_000, 3)))
    assert set(leaf) == set(range(64))
    # Zeros and ones are told apart by the only cut that there is.
    assert set(random_tree(rng, 1, 1)(np.array([[0.0], [1.0]]))) == {0, 1}


def test_the_first_rule_that_holds_is_found() -> None:
    U = np.random.default_rng(0).random((2000, 4))
    few, more = (random_list(np.random.default_rng(1), n_rules, 4)(U) for n_rules in (3, 9))
    # The first three rules are the same: what they have decided stays.
    assert set(few) <= {0, 1, 2, 3}
    np.testing.assert_array_equal(more[few < 3], few[few < 3])
    assert (more[few == 3] >= 3).all()


@pytest.mark.parametrize(("kind", "first", "second"), [("autoregressive", 0.6, 0.0), ("autoregressive", -0.5, 0.7)])
def test_autoregressive_density_is_the_product_of_its_steps(kind: str, first: float, second: float) -> None:
    covariance = toeplitz(autocovariances(kind, first, second, 6))
    a, b = first * (1 - second), second
    x = np.random.default_rng(0).normal(size=6)
    # The first number has the variance of the process; the second is told by the first as far as they correlate.
    start_variance = 1 / ((1 - first**2) * (1 - second**2))
    steps = [(0.0, start_variance), (first * x[0], start_variance * (1 - first**2))]
    steps += [(a * x[t - 1] + b * x[t - 2], 1.0) for t in range(2, 6)]
    known = sum(norm.logpdf(value, mean, np.sqrt(v)) for value, (mean, v) in zip(x, steps, strict=True))
    assert multivariate_normal.logpdf(x, cov=covariance) == pytest.approx(known, rel=1e-12)


def test_autocovariances_are_those_of_simulated_processes() -> None:
    rng, first, second = np.random.default_rng(0), 0.4, -0.5
    E = rng.normal(size=(40_000, 90))
    moving = E[:, 2:] + first * E[:, 1:-1] + second * E[:, :-2]
    steps = np.zeros_like(E)
    for t in range(90):
        steps[:, t] = E[:, t] + first * (1 - second) * steps[:, t - 1] * (t > 0) + second * steps[:, t - 2] * (t > 1)
    for kind, X in (("moving", moving), ("autoregressive", steps)):
        found = [(X[:, -1] * X[:, -1 - lag]).mean() for lag in range(4)]
        np.testing.assert_allclose(found, autocovariances(kind, first, second, 4), atol=5 * 4 / np.sqrt(40_000))


def test_copula_density_is_the_one_of_its_definition() -> None:
    rng = np.random.default_rng(0)
    correlations = [np.array([[1, 0.7], [0.7, 1]]), np.array([[1, -0.2], [-0.2, 1]])]
    tails, X, step = np.array([[2.0, 1.0], [1.5, 3.0]]), 3 * rng.normal(size=(20, 2)), 1e-5
    scores = copula_scores(X, [np.linalg.cholesky(R) for R in correlations], tails)
    known = np.empty_like(scores)
    for c, R in enumerate(correlations):

        def undo(x: np.ndarray, c: int = c) -> np.ndarray:
            return np.sinh(np.arcsinh(x) / tails[c])

        np.testing.assert_allclose(np.sinh(tails[c] * np.arcsinh(undo(X))), X, rtol=1e-12)
        slopes = (undo(X + step) - undo(X - step)) / (2 * step)
        known[:, c] = multivariate_normal.logpdf(undo(X), cov=R) + np.log(slopes).sum(axis=1)
    # The constant that is left out is the same for all rows and classes.
    np.testing.assert_allclose(scores - scores[:1, :1], known - known[:1, :1], atol=1e-7)
