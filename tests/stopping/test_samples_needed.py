"""How much data: intervals that cover on known curves, and "cannot tell" where nothing can be told."""

import dataclasses
import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from bayesfloor import DataError, ParameterError, samples_needed
from bayesfloor.utils.intervals import upper_limit

FLOOR, SIZES = 0.10, np.array([500, 1_000, 2_000, 4_000, 8_000])
RUNS = 100


def errors_of(a, b, sizes=SIZES):
    return FLOOR + a * np.asarray(sizes, dtype=float) ** -b


def points(errors, n_test, sizes=SIZES):
    return [(int(n), float(e), n_test) for n, e in zip(sizes, errors, strict=True)]


def same_rows(truth, n, rng):
    return np.searchsorted(np.sort(rng.random(n)), truth) / n


def fresh_rows(truth, n, rng):
    return rng.binomial(n, truth) / n


@pytest.mark.parametrize("look", [same_rows, fresh_rows])
@pytest.mark.parametrize(
    ("a", "b", "n_test"),
    [
        (2, 0.5, 20_000),
        pytest.param(20, 0.8, 5_000, marks=pytest.mark.slow),
        pytest.param(0.9, 0.4, 50_000, marks=pytest.mark.slow),
    ],
)
def test_the_interval_covers_on_known_curves(look, a, b, n_test) -> None:
    """Floor and errors both with noise; 95 % less three standard errors of the share."""
    rng, sd = np.random.default_rng(0), 0.002
    answer, covered, centres = (a / 0.01) ** (1 / b), [], []
    for seed in range(RUNS):
        floor = FLOOR + sd * rng.normal()
        curve = points(look(errors_of(a, b), n_test, rng), n_test)
        ends = (floor - 1.96 * sd, floor + 1.96 * sd)
        needed = samples_needed(floor, curve, interval=ends, within=0.01, random_state=seed)
        if needed.interval is not None:
            covered.append(answer in needed.interval)
            centres.append(needed.n_train)
    assert len(covered) >= 0.9 * RUNS
    assert np.mean(covered) >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / RUNS)
    # Not by being vague: the point estimate is right within a third, in the median.
    assert 0.67 < np.median(centres) / answer < 1.5


def test_an_exact_curve_is_solved_exactly() -> None:
    needed = samples_needed(FLOOR, points(errors_of(2, 0.5), 10**7), interval=(0.0999, 0.1001), within=0.01)
    assert needed.status == "more rows"
    assert needed.n_train == pytest.approx(40_000, rel=0.01)
    assert needed.n_more == needed.n_train - 8_000
    assert needed.exponent == pytest.approx(0.5, rel=0.01)
    assert "with about 32,000 more rows (95% interval " in str(needed)
    assert "2.24 points above it" in str(needed)


def test_doubt_widens_the_interval() -> None:
    def width(n_test, half):
        needed = samples_needed(FLOOR, points(errors_of(2, 0.5), n_test), interval=(FLOOR - half, FLOOR + half))
        return needed.interval.high / needed.interval.low

    assert width(200_000, 0.001) < width(20_000, 0.001)
    assert width(200_000, 0.001) < width(200_000, 0.004)


def test_scatter_beyond_the_binomial_widens_the_interval() -> None:
    smooth = errors_of(2, 0.5)
    bumpy = smooth + 0.01 * np.array([1, -1, 1, -1, 1])
    ratios = []
    for errors in (smooth, bumpy):
        needed = samples_needed(FLOOR, points(errors, 100_000), interval=(0.099, 0.101))
        ratios.append(math.inf if needed.interval is None else needed.interval.high / needed.interval.low)
    assert ratios[1] > 2 * ratios[0]


def test_a_flat_curve_cannot_tell() -> None:
    needed = samples_needed(FLOOR, points([0.15, 0.151, 0.149, 0.15, 0.15], 2_000), interval=(0.09, 0.11))
    assert needed.status == "cannot tell"
    assert needed.n_train is needed.interval is needed.n_more is None
    assert "does not clearly fall" in str(needed)


def test_a_rising_curve_cannot_tell() -> None:
    needed = samples_needed(FLOOR, points([0.15, 0.16, 0.17, 0.18, 0.19], 2_000), interval=(0.09, 0.11))
    assert needed.status == "cannot tell"


def test_too_far_cannot_tell() -> None:
    needed = samples_needed(FLOOR, points(errors_of(1, 0.2), 10**7), interval=(0.0999, 0.1001), within=0.001)
    assert needed.status == "cannot tell"
    assert "more than 100 times the 8,000 rows seen" in str(needed)


def test_a_curve_that_levels_off_above_the_floor_cannot_tell() -> None:
    """Carried on to the floor it would ask for 47,000 rows more; none would do, and the curve shows it."""
    needed = samples_needed(FLOOR, points(0.125 + 30 / SIZES, 100_000), interval=(0.098, 0.102))
    assert needed.status == "cannot tell"
    assert re.search(r"levels off near 12\.[45]\d%", str(needed))
    # Ends where the floor may well be, or near enough: no reason to say so.
    for end in (0.102, 0.108):
        near = samples_needed(FLOOR, points(end + 30 / SIZES, 100_000), interval=(0.098, 0.102))
        assert "levels off" not in str(near)
    vague = samples_needed(FLOOR, points(0.125 + 30 / SIZES, 100_000), interval=(0.07, 0.13))
    assert "levels off" not in str(vague)


def test_levelling_off_is_seldom_seen_where_there_is_none() -> None:
    rng, seen = np.random.default_rng(5), 0
    for seed in range(RUNS):
        curve = points(fresh_rows(errors_of(2, 0.5), 20_000, rng), 20_000)
        seen += "levels off" in str(samples_needed(FLOOR, curve, interval=(0.098, 0.102), random_state=seed))
    assert seen <= 0.05 * RUNS


def test_an_answer_that_begins_beyond_what_can_be_told_is_none() -> None:
    """The floor may only be lower: most draws lie beyond a hundredfold, although the curve itself does not."""
    curve = points(errors_of(0.9, 0.334), 2_000)
    needed = samples_needed(FLOOR, curve, interval=(0.09, 0.10), confidence_level=0.02)
    assert needed.status == "cannot tell"


def test_the_level_is_not_rounded_up_to_certainty() -> None:
    needed = samples_needed(FLOOR, points(errors_of(2, 0.5), 10**6), interval=(0.0999, 0.1001), confidence_level=0.995)
    assert "(99.5% interval" in str(needed)


def test_two_sizes_cannot_tell() -> None:
    needed = samples_needed(FLOOR, [(100, 0.3, 500), (100, 0.31, 500), (200, 0.2, 500)], interval=(0.09, 0.11))
    assert needed.status == "cannot tell"
    assert "the curve has 2 sizes" in str(needed)
    assert needed.curve[0] == (100, pytest.approx(0.305), 1_000)  # repeats are pooled


@pytest.mark.parametrize("errors", [errors_of(16, 1), [0.103, 0.101, 0.1, 0.099, 0.099]])
def test_already_there(errors) -> None:
    """Also where the last error is below the floor by less than its noise, and the curve has ended."""
    needed = samples_needed(FLOOR, points(errors, 20_000), interval=(0.098, 0.102), within=0.01)
    assert needed.status == "already there"
    assert needed.n_more == 0
    assert needed.interval.high <= 8_000
    assert str(needed).startswith("target reached: with 8,000 rows this model is within 1 point of the floor (10.00%)")


@pytest.mark.parametrize("half", [0.002, 0.05])
@pytest.mark.parametrize("sizes", [SIZES, SIZES[-1:]])
def test_a_model_below_the_floor_shows_that_it_is_too_high(half, sizes) -> None:
    """Whatever the floor's interval, and even without a curve: what the model reaches, the floor is not above."""
    errors = [0.16, 0.13, 0.11, 0.09, 0.08][-len(sizes) :]
    needed = samples_needed(FLOOR, points(errors, 20_000, sizes), interval=(FLOOR - half, FLOOR + half))
    assert needed.status == "below the floor"
    assert needed.n_train is needed.interval is needed.n_more is None
    least = 100 * (FLOOR - upper_limit(1_600, 20_000, 0.975))
    assert f"the floor was estimated too high, by at least {least:.2f} points with 95% confidence" in str(needed)
    assert "classifiers=" in str(needed)


@pytest.mark.parametrize(("last", "where"), [(0.098, "below the floor"), (0.101, "on its way below the floor")])
def test_a_curve_that_falls_through_the_floor_shows_it_before_its_limit_does(last, where) -> None:
    """9.8 % of 10,000 rows may be 10 %; but it was 12 % with half the rows, and goes on falling."""
    errors = [0.24, 0.19, 0.15, 0.12, last]
    needed = samples_needed(FLOOR, points(errors, 10_000), interval=(0.095, 0.105))
    assert needed.status == "below the floor"
    assert str(needed).startswith(f"{where}: with 8,000 rows this model errs {last:.2%}")
    doubled = float(re.search(r"with twice the rows it leads to about ([\d.]+)%", str(needed)).group(1))
    assert doubled == pytest.approx(100 * last * 0.8, abs=0.5)  # each doubling before took off a fifth
    ended = samples_needed(FLOOR, points([0.24, 0.15, 0.11, 0.099, 0.098], 10_000), interval=(0.095, 0.105))
    assert ended.status == "already there"
    assert "its error is below the floor, by chance or because" in str(ended)


@pytest.mark.parametrize("look", [same_rows, fresh_rows])
@pytest.mark.parametrize(
    ("sizes", "a", "b", "n_test"),
    [
        ((100, 1_000, 10_000), 30, 1.0, 2_000),  # the last error is below the floor in a third of the samples
        ((1_000, 1_100, 10_000), 190, 1.2, 500),  # the last two sizes are farther apart than those before
        ((500, 1_000, 2_000, 4_000, 8_000), 150, 1.2, 5_000),
    ],
)
def test_a_floor_that_is_right_is_seldom_called_too_high(look, sizes, a, b, n_test) -> None:
    truth = FLOOR + a * np.array(sizes, dtype=np.float64) ** -b
    wrong, n_runs = 0, 100
    for seed in range(n_runs):
        errors = look(truth, n_test, np.random.default_rng(seed))
        curve = points(errors, n_test, sizes)
        wrong += samples_needed(FLOOR, curve, interval=(FLOOR - 1e-4, FLOOR + 1e-4)).status == "below the floor"
    assert wrong <= binom.ppf(1 - 1e-4, n_runs, 0.05)


@pytest.mark.parametrize(
    "curve",
    [
        points([0.21, 0.15, 0.125, 0.109], 400, SIZES[:4]),  # the sizes before lead to more rows
        points(errors_of(0.0099 * 8_000**0.5, 0.5), 2_000),
        points([0.15, 0.109], 2_000, SIZES[:2]),
        points([0.109], 2_000, SIZES[:1]),
    ],
)
def test_a_target_that_is_reached_needs_no_more_rows(curve) -> None:
    needed = samples_needed(FLOOR, curve, interval=(0.095, 0.105), within=0.01)
    assert (needed.status, needed.n_more) == ("already there", 0)
    assert needed.n_train <= curve[-1][0]
    assert str(needed).startswith(f"target reached: with {curve[-1][0]:,} rows")
    assert "more rows" not in str(needed)
    assert needed.interval is None or math.isfinite(needed.interval.high)
    assert json.loads(json.dumps(needed.to_dict(), allow_nan=False))["n_more"] == 0


def test_there_is_no_figure_without_an_upper_limit() -> None:
    for a, b, n_test, interval in ((0.9, 0.4, 2_000, (0.08, 0.12)), (2, 0.5, 500, (0.06, 0.14))):
        needed = samples_needed(FLOOR, points(errors_of(a, b), n_test), interval=interval)
        assert (needed.status, needed.n_train, needed.n_more, needed.interval) == ("cannot tell", None, None, None)
        assert not re.search(r"about [\d,]+", str(needed))
    assert "has no upper limit at 95% confidence" in str(needed)


def test_a_curve_that_rises_to_above_the_floor_is_not_there() -> None:
    needed = samples_needed(FLOOR, [(100, 0.02, 1_000), (200, 0.05, 1_000), (400, 0.12, 1_000)], interval=(0.08, 0.12))
    assert needed.status == "cannot tell"
    assert "2.00 points above the floor" in str(needed)


def test_repeats_on_the_same_rows_do_not_make_a_model_surer() -> None:
    """Five times 9.5 % of 2,000 rows may be the same 190 mistakes."""
    curve = [*points([0.12, 0.1, 0.096], 2_000, SIZES[:3]), *[(4_000, 0.095, 2_000)] * 5]
    assert samples_needed(FLOOR, curve, interval=(0.098, 0.102)).status == "already there"


def test_barely_there_says_how_sure() -> None:
    errors = errors_of(0.0099 * 8_000**0.5, 0.5)
    for n_test, interval in ((2_000, (0.095, 0.105)), (50_000, (0.0998, 0.1002))):
        needed = samples_needed(FLOOR, points(errors, n_test), interval=interval, within=0.01)
        assert needed.status == "already there"
        assert str(needed).endswith("too few to be sure of it")


def test_inputs_of_any_shape_and_order_agree() -> None:
    curve = points(errors_of(2, 0.5), 20_000)
    frame = pd.DataFrame(curve, columns=["n_train", "error", "n_test"])
    answers = [
        samples_needed(FLOOR, given, interval=(0.098, 0.102))
        for given in (curve, curve[::-1], frame, frame.to_dict("list"), np.array(curve), iter(curve))
    ]
    assert all(answer == answers[0] for answer in answers)
    assert samples_needed(FLOOR, curve, interval=(0.098, 0.102), random_state=1) != answers[0]


def test_plain_values_are_json() -> None:
    needed = samples_needed(FLOOR, points(errors_of(2, 0.5), 20_000), interval=(0.098, 0.102))
    read = json.loads(json.dumps(needed.to_dict(), allow_nan=False))
    assert read["interval"] == dataclasses.asdict(needed.interval)
    assert read["curve"][0] == {"n_train": 500, "error": pytest.approx(FLOOR + 2 * 500**-0.5), "n_test": 20_000}
    assert read["n_more"] == needed.n_more
    with pytest.raises(dataclasses.FrozenInstanceError):
        needed.status = "more rows"


GOOD = [(500, 0.2, 1_000), (1_000, 0.18, 1_000), (2_000, 0.16, 1_000)]


@pytest.mark.parametrize(
    ("curve", "options", "kind", "message"),
    [
        (GOOD, {"interval": None}, ParameterError, "a floor without interval"),
        (GOOD, {"within": 0}, ParameterError, "infinitely many rows"),
        (GOOD, {"within": 1.5}, ParameterError, "within must be a share, not a percentage"),
        (GOOD, {"confidence_level": 1.0}, ParameterError, "confidence_level"),
        (GOOD, {"random_state": -1}, ParameterError, "random_state"),
        (None, {}, DataError, "must be a sequence"),
        ([(500, 0.2)], {}, DataError, "point 0 of model_curve"),
        ([*GOOD, (4_000, 14.3, 100)], {}, ParameterError, "error of point 3 must be a share, not a percentage"),
        ([*GOOD, (4_000, math.nan, 100)], {}, ParameterError, "error of point 3"),
        ([*GOOD, (0, 0.1, 100)], {}, ParameterError, "n_train of point 3"),
        ([*GOOD, (4_000, 0.1, 0)], {}, ParameterError, "n_test of point 3"),
        ({"n_train": [1], "error": [0.1]}, {}, DataError, "no column 'n_test'"),
        ({"n_train": [1], "error": [0.1], "n_test": [5, 6]}, {}, DataError, "equally long"),
    ],
)
def test_bad_input_is_named(curve, options, kind, message) -> None:
    with pytest.raises(kind, match=message):
        samples_needed(FLOOR, curve, **{"interval": (0.09, 0.11), **options})
