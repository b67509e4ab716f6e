"""Problems with known floor: the stored truths, the samplers and the posteriors must agree with each other."""

import os

import numpy as np
import pytest

from bayesfloor import DataError, ParameterError
from bayesfloor.problems.families import two_gaussian_error
from bayesfloor.problems.problems import from_posterior, get, label_noise, names, simulated_error

# Any seed must pass: BAYESFLOOR_TEST_SEED=7 make test
SEED = int(os.environ.get("BAYESFLOOR_TEST_SEED", "0"))
# Rows drawn of each problem: enough to see a wrong formula; a truth that is a little off takes the long run.
SIZES = pytest.mark.parametrize("n", [30_000, pytest.param(200_000, marks=pytest.mark.slow)])
VARIANTS = [
    *((f"gaussians_{d}d", {"shift": s, "variance": v}) for d in (4, 10, 50, 100) for s in (2, 5) for v in (1, 2)),
    ("gaussian_scales", {"n_features": 7, "scales": (1, 2, 3)}),
    ("rayleigh_10d", {"n_features": 3, "scales": (1.0, 1.0, 2.0)}),
    ("led", {"noise": 0.3, "n_irrelevant": 5}),
    ("mixed_columns", {"n_binary": 3, "n_continuous": 4, "shift": 0.5, "tilt": 0.9}),
    ("imbalanced", {"prior": 0.3}),
    ("shells_20d", {"n_features": 3, "n_classes": 6}),
    ("checkerboard", {"cells": 6, "noise": 0.2, "n_features": 4}),
    ("xor", {"separation": 0.5, "n_features": 3}),
    ("heavy_tails", {"dof": 1, "shift": 1}),
]
ALL = [(name, {}) for name in names()] + VARIANTS


def test_samples_are_drawn_with_seeds_of_any_kind() -> None:
    problem = get("moons")

    def first(random_state: object) -> float:
        return float(problem.sample(3, random_state)[0][0, 0])

    assert first(7) == first(np.int64(7)) == first(np.random.default_rng(7))
    assert first(np.random.RandomState(1)) == first(np.random.RandomState(1)) != first(None)
    assert first([1, 2**40]) == first((1, 2**40)) != first([1, 2])
    for bad in (-1, 2**32, 0.5, "x", [], [-1], [0.5]):
        with pytest.raises(ParameterError, match="random_state must be"):
            problem.sample(3, bad)


@SIZES
@pytest.mark.parametrize(("name", "parameters"), ALL, ids=str)
def test_floor_agrees_with_simulation_from_the_posterior(name: str, parameters: dict, n: int) -> None:
    problem = get(name, **parameters)
    X, y = problem.sample(n, [SEED, 1])
    error = 1 - problem.posterior(X).max(axis=1)
    # 1e-12: rounding, where every row has the same posterior.
    tolerance = 4 * np.hypot(error.std() / np.sqrt(len(X)), problem.bayes_error_std) + 1e-12
    assert abs(error.mean() - problem.bayes_error) <= tolerance
    assert problem.bayes_error_std <= 2e-4
    wrong = problem.oracle_error(X, y)
    assert abs(wrong - problem.bayes_error) <= 4 * np.sqrt(problem.bayes_error / len(X)) + 4 * problem.bayes_error_std


@SIZES
@pytest.mark.parametrize(("name", "parameters"), ALL, ids=str)
def test_posterior_is_that_of_the_sampler(name: str, parameters: dict, n: int) -> None:
    problem = get(name, **parameters)
    X, y = problem.sample(n, [SEED, 2])
    P = problem.posterior(X)
    assert X.shape == (n, problem.n_features)
    assert P.shape == (n, problem.n_classes)
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12)
    share = np.bincount(y, minlength=problem.n_classes) / n
    assert (np.abs(share - problem.priors) <= 4.5 * np.sqrt(problem.priors / n)).all()
    # Calibration: among rows that are given about p for a class, a share p is of that class.
    for c in range(problem.n_classes):
        bins = np.minimum((P[:, c] * 20).astype(int), 19)
        for b in np.unique(bins):
            inside = bins == b
            p = P[inside, c]
            noise = np.sqrt((p * (1 - p)).sum())
            # A bin with hardly any expected event is Poisson, not normal: allow for one event more.
            assert abs((y[inside] == c).sum() - p.sum()) <= 4.8 * noise + 1, (c, b)


def test_same_seed_same_sample() -> None:
    for name in names():
        (X, y), (Z, v) = (get(name).sample(50, 3) for _ in range(2))
        np.testing.assert_array_equal(X, Z)
        np.testing.assert_array_equal(y, v)


def test_two_gaussian_error_by_quadrature() -> None:
    from scipy.integrate import quad
    from scipy.stats import norm

    for distance, prior in [(2, 0.5), (1, 0.1), (3, 0.01), (0.3, 0.7)]:
        crossing = distance / 2 - np.log(prior / (1 - prior)) / distance

        def joint(x: float, distance: float = distance, prior: float = prior) -> float:
            return min((1 - prior) * norm.pdf(x), prior * norm.pdf(x, distance))

        spot = float(np.clip(crossing, -12, 12))
        total = quad(joint, -15, spot)[0] + quad(joint, spot, 15)[0]
        assert two_gaussian_error(distance, prior) == pytest.approx(total, abs=1e-7)


def test_on_demand_truth_of_a_variant() -> None:
    problem = get("moons", noise=0.2)
    assert 0 < problem.bayes_error_std <= 2e-4
    other, std = simulated_error(problem.distribution, 2e-4, [SEED, 3])
    assert abs(other - problem.bayes_error) <= 4 * np.hypot(std, problem.bayes_error_std)


@pytest.mark.parametrize("rho", [0.0, 0.3, 1.0])
def test_label_noise_lies_on_its_line(rho: float) -> None:
    clean = get("rayleigh_10d")
    noisy = label_noise(clean, rho)
    X, y = noisy.sample(30_000, [SEED, 4])
    expected = clean.bayes_error + rho * (2 / 3 - clean.bayes_error)
    assert noisy.bayes_error == pytest.approx(expected, abs=1e-15)
    assert abs(noisy.oracle_error(X, y) - expected) <= 4 * np.sqrt(0.25 / len(X))


def test_from_posterior_is_exact_for_its_rows() -> None:
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(400, 3))
    P = rng.dirichlet([1, 1, 1], 400)
    problem = from_posterior(X, P, "mine")
    assert problem.bayes_error == pytest.approx((1 - P.max(axis=1)).mean(), abs=1e-12)
    rows, y = problem.sample(400, 0)
    assert len(np.unique(rows, axis=0)) == 400
    np.testing.assert_allclose(problem.posterior(X), P, atol=1e-12)
    assert set(y) <= {0, 1, 2}
    # Equal rows cannot be told apart: their posteriors are averaged.
    twice = from_posterior([[1.0], [1.0]], [[1.0, 0.0], [0.0, 1.0]])
    assert twice.bayes_error == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: get("twonorn"), "twonorm"),
        (lambda: get("nothing like it at all"), "no problem named"),
        (lambda: get("moons", shift=1), "no parameter 'shift'"),
        (lambda: get("gaussians_4d", prior=1.5), "between"),
        (lambda: get("gaussians_4d", n_features=0), "at least 1"),
        (lambda: get("gaussians_4d", n_features=2.5), "whole number"),
        (lambda: get("gaussians_4d", variance=float("nan")), "above 0"),
        (lambda: get("sparse", n_informative=1000), "at most n_features"),
        (lambda: get("checkerboard", cells=3), "even"),
        (lambda: get("rayleigh_10d", scales=(1.0,)), "two at least"),
        (lambda: get("beta_50d", shapes=((1, 1),)), "two at least"),
        (lambda: get("gaussians_4d", shift=float("inf")), "shift"),
        (lambda: get("rayleigh_10d", scales=(1e-200, 1)), "between"),
        (lambda: get("beta_50d", shapes=((1, 0.01), (1, 0.02))), "between 0.1"),
        (lambda: get("beta_50d", shapes=(1, 2)), "pairs of numbers"),
        (lambda: get("moons").posterior([[float("nan"), 0.0]]), "missing or infinite"),
        (lambda: get("moons").sample(0), "at least 1"),
        (lambda: get("moons").posterior([[1.0, 2.0, 3.0]]), "2 features"),
        (lambda: label_noise(get("moons"), 1.2), "between 0 and 1"),
        (lambda: from_posterior([[0.0], [1.0]], [[0.5, 0.5], [0.4, 0.5]]), "row 1 with 0.9"),
        (lambda: from_posterior([[0.0], [1.0]], [[0.5, 0.5], [-0.1, 1.1]]), "row 1"),
        (lambda: from_posterior([[0.0], [1.0]], [[0.5, 0.5]]), "one row per row"),
        (lambda: from_posterior([[0.0], [1.0]], [[0.5, 0.5]] * 2).sample(3), "too many"),
        (lambda: from_posterior([[0.0], [1.0]], [[0.5, 0.5]] * 2).posterior([[7.0]]), "row 0"),
    ],
)
def test_bad_input(call, message: str) -> None:
    with pytest.raises((ParameterError, DataError), match=message):
        call()


def test_a_floor_of_nearly_nothing_is_not_called_exact() -> None:
    problem = get("moons", noise=0.03)
    assert problem.bayes_error_std > 0
    assert "exactly" not in str(problem)
