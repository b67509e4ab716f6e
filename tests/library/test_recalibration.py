"""An increasing map of scores: found from ranks, monotone, mirrored for the other class, blind to a row's own label."""

import numpy as np
import pytest
from scipy.special import expit, log_softmax

from bayesfloor.library.pool import Stage, pool_stage
from bayesfloor.library.recalibration import Recalibration, recalibrate, score_ranks


def two_classes(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(0, 2, n)
    return log_odds, (rng.random(n) < expit(log_odds)).astype(np.int64)


def columns(score: np.ndarray) -> np.ndarray:
    """Logarithmic scores of two classes."""
    return np.stack([np.zeros_like(score), score], axis=1)


def test_ranks_need_no_normalised_and_no_finite_scores() -> None:
    logs = np.random.default_rng(0).integers(-50, 50, (50, 4)) + 0.0  # whole numbers: nothing is rounded
    assert np.array_equal(score_ranks(logs), score_ranks(logs + np.arange(50)[:, None]))
    largest = np.finfo(np.float64).max
    assert np.isfinite(score_ranks(np.array([[largest, largest, -largest], [0.0, 1.0, 2.0]]))).all()


@pytest.mark.parametrize("bend", [np.cbrt, np.arctan, lambda x: x**3, lambda x: np.where(x < 0, x / 5, 3 * x) + 1.5])
def test_two_classes_depend_on_ranks_alone(bend) -> None:
    log_odds, y = two_classes(400, 1)
    plain = recalibrate(score_ranks(columns(log_odds)), y, 2, np.random.default_rng(0))[0]
    bent = recalibrate(score_ranks(columns(bend(log_odds))), y, 2, np.random.default_rng(0))[0]
    assert np.array_equal(plain, bent)


def test_the_map_increases_and_finds_the_posterior() -> None:
    log_odds, y = two_classes(4000, 2)
    ranks = score_ranks(columns(log_odds))
    P = np.exp(Recalibration.fit(ranks, y, 2).predict(ranks))
    assert (np.diff(P[np.argsort(log_odds), 1]) >= 0).all()
    # 8 steps and a shift: their noise is about that of nine shares, each of a ninth of the rows.
    assert np.sqrt(np.mean((P[:, 1] - expit(log_odds)) ** 2)) < 2 * np.sqrt(9 * 0.25 / 4000)


def test_the_other_class_gets_the_mirror_image() -> None:
    log_odds, y = two_classes(500, 3)
    one = recalibrate(score_ranks(columns(log_odds)), y, 2, np.random.default_rng(0))[0]
    other = recalibrate(score_ranks(columns(-log_odds)), 1 - y, 2, np.random.default_rng(0))[0]
    assert one == pytest.approx(other[:, ::-1], abs=1e-4)  # as far as the optimiser goes


def test_a_label_does_not_reach_its_own_row() -> None:
    log_odds, y = two_classes(300, 4)
    ranks = score_ranks(columns(log_odds))
    before, _ = recalibrate(ranks, y, 2, np.random.default_rng(0))
    for row in (0, 100, 299):
        changed = y.copy()
        changed[row] = 1 - y[row]
        after, _ = recalibrate(ranks, changed, 2, np.random.default_rng(0))
        assert np.array_equal(before[row], after[row])
        assert not np.array_equal(before, after)


def test_groups_stay_together() -> None:
    log_odds, y = two_classes(300, 5)
    groups = np.arange(300) // 3
    ranks = score_ranks(columns(log_odds))
    before, _ = recalibrate(ranks, y, 2, np.random.default_rng(0), groups)
    changed = y.copy()
    changed[30:33] = 1 - y[30:33]
    assert np.array_equal(before[30:33], recalibrate(ranks, changed, 2, np.random.default_rng(0), groups)[0][30:33])


def test_one_map_serves_all_classes() -> None:
    rng = np.random.default_rng(6)
    logs = log_softmax(rng.normal(0, 2, (3000, 5)), axis=1)
    y = (logs + rng.gumbel(size=logs.shape)).argmax(axis=1)  # drawn from the posterior
    bent = np.arctan(logs + 1)
    stage = Stage(1.0, 0, ("scores",), ("scores",), log_softmax(bent, axis=1)[None].astype(np.float32))
    by_temperature, by_map = pool_stage(stage, y, rng)[0], recalibrate(score_ranks(bent), y, 5, rng)[0]
    gain = np.log(by_map / by_temperature)[np.arange(3000), y]
    assert gain.mean() > 4 * gain.std() / np.sqrt(3000)
