"""Figures of the learning curve, against plain sums over rows."""

import numpy as np
import pytest

from bayesfloor.floor.curve import FRACTIONS, Curve, stakes
from bayesfloor.library.cross_fit import STAGES

N, CLASSES = 300, 3


@pytest.fixture
def said() -> tuple[list[list[np.ndarray]], np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    P = [[rng.dirichlet(np.ones(CLASSES), N) for _ in STAGES] for _ in range(2)]
    weights = rng.random(N)
    return P, rng.integers(0, CLASSES, N), weights / weights.sum()


def test_figures_are_means_over_rows_folds_and_copies(said):
    P, y, weights = said
    curve = Curve.of(P, y, weights)
    for fraction in FRACTIONS:
        own = [repeat[i] for repeat in P for i, (f, _) in enumerate(STAGES) if f == fraction]
        errors = [sum(w * (p[i].argmax() != y[i]) for i, w in enumerate(weights)) for p in own]
        losses = [-sum(w * np.log(p[i, y[i]]) for i, w in enumerate(weights)) for p in own]
        plugins = [sum(w * (1 - p[i].max()) for i, w in enumerate(weights)) for p in own]
        assert curve.error(fraction) == pytest.approx(np.mean(errors), abs=1e-12)
        assert curve.loss(fraction) == pytest.approx(np.mean(losses), abs=1e-12)
        assert curve.plugin(fraction) == pytest.approx(np.mean(plugins), abs=1e-12)
    mean = (P[0][0] + P[1][0]) / 2
    assert curve.pooled_error == pytest.approx(weights @ (mean.argmax(axis=1) != y), abs=1e-12)
    assert curve.repeated[0] == pytest.approx(weights @ (P[0][0].argmax(axis=1) != P[1][0].argmax(axis=1)))


def test_stakes_are_those_of_each_fraction_and_its_half(said):
    P, y, weights = said
    curve = Curve.of(P, y, weights)
    assert curve.unsettled.shape == (2, 3)
    for repeat, stages in enumerate(P):
        claimed, confirmed = stakes(stages[0], stages[1], y, weights)
        assert curve.claimed[repeat, 0] == pytest.approx(claimed)
        assert curve.unsettled[repeat, 0] == pytest.approx(confirmed)
        both = [stakes(stages[1], stages[i], y, weights)[1] for i in (2, 3)]  # both quarters
        assert curve.unsettled[repeat, 1] == pytest.approx(np.mean(both))


def test_one_choice_of_folds_has_no_spread(said):
    P, y, weights = said
    curve = Curve.of(P[:1], y, weights)
    assert curve.spread == 0
    assert (curve.repeated == 0).all()


def test_moved_to_what_all_rows_say(said):
    P, y, weights = said
    curve = Curve.of(P, y, weights)
    moved = curve.with_all(0.3, 0.2)
    assert moved.error(1.0) == pytest.approx(0.3)
    assert moved.plugin(1.0) == pytest.approx(0.2)
    assert moved.error(0.5) - moved.error(1.0) == pytest.approx(curve.error(0.5) - curve.error(1.0))
