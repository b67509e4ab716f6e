"""How far a curve may still fall: limits that hold on known curves, and say little where little is known."""

import math

import numpy as np
import pytest

from bayesfloor.stopping.fall import _TIME_CONSTANTS, further_fall

ROUNDS, RUNS, LEVEL = 30, 400, 0.95
STEP = math.log(_TIME_CONSTANTS[1] / _TIME_CONSTANTS[0])  # between the time constants that are tried
WINDOW = math.ceil(0.8 * ROUNDS)
K = np.arange(ROUNDS + WINDOW)
CURVES = {
    "flat": np.full(len(K), 0.1),
    "line": 0.2 - 0.001 * K,
    "exponential": 0.1 + 0.3 * np.exp(-K / 8),
    "hyperbola": 0.05 + 2 / (K + 10),
}


def noise(rng: np.random.Generator, autocorrelation: float) -> np.ndarray:
    """With a standard deviation of 1, however the rounds depend on each other."""
    steps = rng.normal(size=ROUNDS)
    for k in range(1, ROUNDS):
        steps[k] = autocorrelation * steps[k - 1] + math.sqrt(1 - autocorrelation**2) * steps[k]
    return steps


@pytest.mark.parametrize("sd", [0.0005, 0.002, 0.007])
@pytest.mark.parametrize("name", CURVES)
def test_the_limit_holds_for_the_next_rounds(name, sd) -> None:
    """95 % at least, less three standard errors: where the fall is clear all of it counts, which may be more."""
    truth, rng = CURVES[name], np.random.default_rng(0)
    fall = truth[ROUNDS - 1] - truth[ROUNDS - 1 + WINDOW]
    limits = np.array([further_fall(truth[:ROUNDS] + sd * noise(rng, 0), LEVEL) for _ in range(RUNS)])
    assert (limits >= fall).mean() >= LEVEL - 3 * math.sqrt(LEVEL * (1 - LEVEL) / RUNS)


def test_noise_that_wanders_widens_the_limit() -> None:
    """Its residuals are no larger than those of other noise, and by them alone the limits would be no higher."""
    flat, rng = CURVES["flat"][:ROUNDS], np.random.default_rng(1)
    plain, wandering = (
        np.array([further_fall(flat + 0.002 * noise(rng, r), LEVEL) for _ in range(RUNS)]) for r in (0, 0.8)
    )
    assert (wandering > np.median(plain)).mean() > 0.5 + 3 * math.sqrt(0.5 * 0.5 / RUNS)


@pytest.mark.parametrize("constant", [5, 8, 13])
def test_a_curve_without_noise_has_its_rest_ahead(constant) -> None:
    errors = 0.1 + 0.3 * np.exp(-np.arange(40) / constant)
    assert further_fall(errors, LEVEL) == pytest.approx(errors[-1] - 0.1, rel=39 / constant * STEP)


def test_nothing_is_said_of_few_rounds_and_no_more_than_the_error_may_fall() -> None:
    assert further_fall(np.full(9, 0.1), LEVEL) is None
    assert further_fall(np.full(10, 0.1), LEVEL) == pytest.approx(0, abs=1e-9)
    assert further_fall(np.linspace(0.5, 0.01, 12), LEVEL) == 0.01
    assert further_fall(np.linspace(0.1, 0.2, 12), LEVEL) < 0


def test_the_first_fifth_is_forgotten() -> None:
    flat = np.full(60, 0.1)
    assert further_fall(np.append(np.linspace(0.9, 0.2, 15), flat), LEVEL) == pytest.approx(0, abs=1e-9)
    assert further_fall(np.append(np.linspace(0.9, 0.2, 16), flat), LEVEL) > 1e-6


@pytest.mark.parametrize("constant", [1_000, 20_000])
def test_averages_of_neighbours_have_as_much_ahead(constant, monkeypatch) -> None:
    errors = 0.1 + 0.3 * np.exp(-np.arange(5_000) / constant) + 0.001 * np.random.default_rng(2).normal(size=5_000)
    averaged = further_fall(errors, LEVEL)
    monkeypatch.setattr("bayesfloor.stopping.fall._MOST_POINTS", len(errors))
    assert averaged == pytest.approx(further_fall(errors, LEVEL), rel=STEP)
