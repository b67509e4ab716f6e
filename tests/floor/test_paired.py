"""Differences of two floors on the same rows."""

import numpy as np
import pytest

from bayesfloor.floor.paired import Errors, RowWeights, difference
from bayesfloor.floor.rule import unsettled_weight


def even(n: int) -> RowWeights:
    return RowWeights(np.full(n, 1 / n))


def test_variance_is_that_of_pairs() -> None:
    """(d - D^2)/N with d the share of rows on which exactly one of the two errs."""
    rng = np.random.default_rng(0)
    first, second = rng.random(500) < 0.3, rng.random(500) < 0.2
    gaps = first.astype(float) - second
    d, D = np.abs(gaps).mean(), gaps.mean()
    assert even(500).variance(gaps) == pytest.approx((d - D**2) / 500, rel=1e-12)
    found = difference(Errors(first), Errors(second), even(500), 0.95)
    assert found.value == pytest.approx(D, abs=1e-12)
    assert found.discordant == pytest.approx(d, abs=1e-12)
    assert found.standard_error**2 == pytest.approx((d - D**2 + 2 / 500) / 500, rel=1e-12)


def test_rows_of_a_group_are_one_observation() -> None:
    rng = np.random.default_rng(1)
    gaps = rng.integers(-1, 2, 100).astype(float)
    copied, units = np.repeat(gaps, 3), np.repeat(np.arange(100), 3)
    grouped = RowWeights(np.full(300, 1 / 300), units)
    assert grouped.variance(copied) == pytest.approx(even(100).variance(gaps), rel=1e-12)
    assert grouped.of_one == pytest.approx(even(100).of_one, rel=1e-12)


def test_estimates_are_signed_and_intervals_end_at_0() -> None:
    wrong = np.zeros(400, dtype=bool)
    fewer, more = wrong.copy(), wrong.copy()
    fewer[:40], more[:20] = True, True
    found = difference(Errors(more), Errors(fewer), even(400), 0.95)
    assert found.value == pytest.approx(-0.05)
    # As if no difference had been seen: a negative one is there by chance.
    assert found.interval.low == 0 < found.interval.high
    assert found.interval.high < 2.5 * found.standard_error
    signed = difference(Errors(more), Errors(fewer), even(400), 0.95, least=-1.0)
    assert signed.interval.high < 0
    assert not signed.is_above_zero
    same = difference(Errors(fewer), Errors(fewer), even(400), 0.95)
    assert same.value == 0
    assert 0 < same.interval.high < 3 / 400 + 1e-3, "no row is no proof of no difference"


def test_the_correction_fades_where_there_is_no_difference() -> None:
    wrong = np.zeros(1000, dtype=bool)
    wrong[:100] = True
    much = wrong.copy()
    much[100:400] = True
    whole = Errors(wrong, 0.01)
    assert difference(Errors(wrong), whole, even(1000), 0.95).value == 0
    found = difference(Errors(much), whole, even(1000), 0.95)
    assert found.value == pytest.approx(0.3 + 0.01 * unsettled_weight())
    assert found.interval.high - found.value == pytest.approx(found.value - found.interval.low)


def test_intervals_hold_the_truth() -> None:
    """Two fixed classifiers: the true difference of their errors is known."""
    rng = np.random.default_rng(2)
    held = 0
    for _ in range(400):
        hard = rng.random(300) < 0.2
        first, second = hard ^ (rng.random(300) < 0.1), hard
        found = difference(Errors(first), Errors(second), even(300), 0.95, least=-1.0)
        held += 0.06 in found.interval  # 0.1 (0.8 - 0.2)
    assert held / 400 > 0.95 - 4 * np.sqrt(0.95 * 0.05 / 400)
