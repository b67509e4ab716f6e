import itertools

import numpy as np
import pandas as pd
import pytest

from bayesfloor import DataError, DataTypeError, ParameterError
from bayesfloor.bounds.soft_labels import (
    _dirichlet_max,
    _dirichlet_top,
    _thinned_top,
    calibrated_soft_label_error,
    duplicate_bounds,
    repeated_label_bounds,
    soft_label_error,
)

TWO = [[0.9, 0.1], [0.2, 0.8]]
LEVEL = 0.95


def pair_of_columns(p):
    return np.stack([p, 1 - p], axis=1)


# Posteriors of n items, and their exact floor: E[max p] = sum_{k<=C} 1/k / C for Dirichlet(1, ..., 1).
SHAPES = {
    "uniform": (lambda rng, n: pair_of_columns(rng.random(n)), 0.25),
    "beta(0.3, 0.3)": (lambda rng, n: pair_of_columns(rng.beta(0.3, 0.3, n)), 1 - _dirichlet_max(0.3, 2)),
    "dirichlet, 3 classes": (lambda rng, n: rng.dirichlet(np.ones(3), n), 1 - 11 / 18),
    "dirichlet, 10 classes": (lambda rng, n: rng.dirichlet(np.ones(10), n), 1 - (1 / np.arange(1, 11)).sum() / 10),
}
# Not Dirichlet: half of the items certain, the others between two of five classes.
PAIRS = (
    lambda rng, n: np.where(
        rng.random((n, 1)) < 0.5, np.eye(5)[0], np.insert(pair_of_columns(rng.random(n)), [0, 1, 2], 0.0, axis=1)
    ),
    0.125,
)


def drawn(rng, posteriors):
    """One label per row."""
    return (posteriors.cumsum(axis=1) < rng.random((len(posteriors), 1))).sum(axis=1).clip(max=posteriors.shape[1] - 1)


def tolerated(rate, n, standard_errors=3):
    return rate + standard_errors * np.sqrt(rate * (1 - rate) / n)


# --- soft labels ----------------------------------------------------------------------------------------


def test_exact_probabilities_give_the_plain_mean():
    rng = np.random.default_rng(0)
    posteriors = rng.dirichlet(np.ones(4), 500)
    result = soft_label_error(posteriors)
    values = 1 - posteriors.max(axis=1)
    assert result.error == result.plain == pytest.approx(values.mean(), abs=1e-12)
    assert result.standard_error == pytest.approx(values.std(ddof=1) / np.sqrt(500), abs=1e-12)
    assert result.n_items == 500
    assert result.error in result.interval
    assert soft_label_error(pd.DataFrame(posteriors)).error == result.error


@pytest.mark.parametrize("votes", [3, 5, 10])
@pytest.mark.parametrize("shape", [*SHAPES, "pairs"])
def test_correction_removes_most_of_the_bias_of_few_votes(shape, votes):
    draw, floor = {**SHAPES, "pairs": PAIRS}[shape]
    rng = np.random.default_rng(1)
    results = [soft_label_error(rng.multinomial(votes, draw(rng, 1000)), votes) for _ in range(12)]
    errors, plain = np.array([result.error for result in results]), np.array([result.plain for result in results])
    noise = 4 * errors.std(ddof=1) / np.sqrt(len(errors))
    assert abs(errors.mean() - floor) < abs(plain.mean() - floor) / 3 + noise
    assert plain.mean() < floor


@pytest.mark.parametrize("votes", [None, 2, 5, 20])
@pytest.mark.parametrize("shape", [*SHAPES, "pairs"])
def test_interval_covers_the_floor(shape, votes):
    draw, floor = {**SHAPES, "pairs": PAIRS}[shape]
    rng = np.random.default_rng(2)
    n_sets = 50
    missed = 0
    for _ in range(n_sets):
        posteriors = draw(rng, 200)
        given = posteriors if votes is None else rng.multinomial(votes, posteriors)
        missed += floor not in soft_label_error(given, votes, confidence_level=LEVEL).interval
    assert missed / n_sets <= tolerated(1 - LEVEL, n_sets, 4)


def test_constant_posteriors_with_few_votes_are_within_the_interval():
    # They need no correction, which two or three votes cannot show: the interval has to allow for it.
    rng = np.random.default_rng(3)
    for votes in (2, 3):
        assert 0.2 in soft_label_error(rng.multinomial(votes, [0.8, 0.2], size=3000), votes).interval


def test_correction_fades_with_the_number_of_votes():
    rng = np.random.default_rng(4)
    posteriors = rng.dirichlet(np.ones(3), 2000)
    corrections = {}
    for votes in (50, 199, 201, 1000):
        result = soft_label_error(rng.multinomial(votes, posteriors), votes)
        corrections[votes] = result.error - result.plain
    # To leading order it is b / m; 201 votes are the first to be scaled.
    for votes in (199, 201, 1000):
        assert corrections[votes] * votes == pytest.approx(corrections[50] * 50, rel=0.25)


def test_shares_counts_and_one_number_per_row_are_the_same_thing():
    rng = np.random.default_rng(5)
    votes = rng.integers(2, 9, 300)
    counts = np.array([rng.multinomial(m, p) for m, p in zip(votes, rng.dirichlet(np.ones(3), 300), strict=True)])
    result = soft_label_error(counts, votes)
    assert soft_label_error(np.round(counts / votes[:, None], 4), votes) == result
    order = rng.permutation(300)
    shuffled = soft_label_error(counts[order][:, [2, 0, 1]], votes[order])
    assert shuffled.error == pytest.approx(result.error, abs=1e-12)
    assert soft_label_error(counts[votes == 5], 5) == soft_label_error(counts[votes == 5], votes[votes == 5])


def test_unanimous_votes_give_zero_with_an_interval_that_is_not_a_point():
    result = soft_label_error(np.tile([7, 0, 0], (40, 1)), 7)
    assert result.error == result.plain == result.interval.low == 0
    assert result.interval.high > 1 / 40


@pytest.mark.parametrize("votes", [2, 3, 10])
def test_result_stays_within_what_is_possible(votes):
    for n_classes in (2, 5):
        counts = np.random.default_rng(votes).multinomial(votes, np.full(n_classes, 1 / n_classes), size=50)
        result = soft_label_error(counts, votes)
        assert 0 <= result.interval.low <= result.error <= result.interval.high <= 1 - 1 / n_classes
        never = soft_label_error(np.tile([1, 1, *[0] * 3], (50, 1)), 2)
        assert never.error <= 0.8


def test_thinned_counts_equal_enumeration():
    for counts in ([3, 2, 0], [1, 1, 1], [4, 0, 0], [2, 2, 1]):
        owner = np.repeat(np.arange(3), counts)
        kept = [
            np.bincount(owner[np.array(keep, dtype=bool)], minlength=3).max()
            for keep in itertools.product([0, 1], repeat=len(owner))
        ]
        assert _thinned_top(np.array([counts]))[0] == pytest.approx(np.mean(kept), abs=1e-12)


def test_dirichlet_expectations_equal_closed_forms():
    # Uniform posterior, two classes: the number of votes for the first is uniform on 0..m.
    expected = [np.maximum(np.arange(m + 1), m - np.arange(m + 1)).mean() for m in range(21)]
    np.testing.assert_allclose(_dirichlet_top(1.0, 2, 20), expected, rtol=1e-12, atol=1e-12)
    # Three classes, three votes: all ten outcomes are alike, 3 x 3, 6 x 2 and 1 x 1.
    assert _dirichlet_top(1.0, 3, 3)[3] == pytest.approx(2.2, abs=1e-12)
    for n_classes in (2, 3, 10, 100):
        harmonic = (1 / np.arange(1, n_classes + 1)).sum() / n_classes
        assert _dirichlet_max(1.0, n_classes) == pytest.approx(harmonic, abs=1e-12)
    # Nearly certain, and nearly tied, posteriors.
    assert _dirichlet_max(1e-9, 2) == pytest.approx(1, abs=1e-8)
    assert _dirichlet_max(2500.0, 2) == pytest.approx(0.5 + 1 / np.sqrt(4 * np.pi * 2500), abs=1e-6)


# --- calibration ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["uniform", "beta(0.3, 0.3)", "dirichlet, 3 classes"])
def test_calibration_undoes_overconfidence(shape):
    draw, floor = SHAPES[shape]
    rng = np.random.default_rng(6)
    n_sets, missed, errors, plain = 20, 0, [], []
    for _ in range(n_sets):
        posteriors = draw(rng, 1000)
        sharp = posteriors**3 / (posteriors**3).sum(axis=1, keepdims=True)
        result = calibrated_soft_label_error(sharp, drawn(rng, posteriors), confidence_level=LEVEL)
        missed += floor not in result.interval
        errors.append(result.error)
        plain.append(result.plain)
    noise = 4 * np.std(errors, ddof=1) / np.sqrt(n_sets)
    assert abs(np.mean(errors) - floor) < abs(np.mean(plain) - floor) / 10 + noise
    assert missed / n_sets <= tolerated(1 - LEVEL, n_sets, 4)


def test_calibration_takes_labels_of_any_kind_and_columns_in_any_order():
    rng = np.random.default_rng(7)
    posteriors = rng.dirichlet(np.ones(3), 300)
    codes = drawn(rng, posteriors)
    result = calibrated_soft_label_error(posteriors, codes)
    names = np.array(["a", "b", "c"])[codes]
    assert calibrated_soft_label_error(posteriors, names) == result
    turned = calibrated_soft_label_error(posteriors[:, [2, 0, 1]], names, classes=["c", "a", "b"])
    assert turned.error == pytest.approx(result.error, abs=1e-12)
    unseen = calibrated_soft_label_error(np.insert(posteriors, 3, 0.0, axis=1), names, classes=["a", "b", "c", "d"])
    assert unseen.error == pytest.approx(result.error, abs=1e-12)
    assert calibrated_soft_label_error(posteriors, codes, random_state=1) != result


def test_calibration_leaves_items_that_no_class_claims_as_they_are():
    # Columns of 0.4 never were the label, so neither is any column of the flat item: it keeps its error of 2/3.
    sure = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.4, 0.5, 0.1], [0.1, 0.4, 0.5], [0.5, 0.1, 0.4]]
    P, y = [*sure * 10, [1 / 3, 1 / 3, 1 / 3]], [*[0, 1, 2, 1, 2, 0] * 10, 0]
    assert calibrated_soft_label_error(P, y).error >= (2 / 3) / 2 / len(P)


# --- pairs of labels ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("kind", ["random", "tight"])
def test_limits_from_repeated_labels_hold_at_their_level(n_classes, kind):
    # "tight": one posterior, uniform over the wrong classes, where the map of Cover and Hart is an equality.
    rng = np.random.default_rng(n_classes)
    n_sets, n = 2000, 150
    tight = np.append(0.6, np.full(n_classes - 1, 0.4 / (n_classes - 1)))
    floor = 0.4 if kind == "tight" else 1 - (1 / np.arange(1, n_classes + 1)).sum() / n_classes
    too_high = too_low = 0
    for _ in range(n_sets):
        posteriors = np.tile(tight, (n, 1)) if kind == "tight" else rng.dirichlet(np.ones(n_classes), n)
        bounds = repeated_label_bounds(
            drawn(rng, posteriors), drawn(rng, posteriors), n_classes, confidence_level=LEVEL
        )
        too_high += bounds.lower > floor
        too_low += bounds.upper < floor
    assert too_high / n_sets <= tolerated(1 - LEVEL, n_sets)
    assert too_low / n_sets <= tolerated(1 - LEVEL, n_sets)
    if kind == "tight":  # and not by being far too low
        assert too_high / n_sets > 0.02


def test_lower_limit_is_not_vacuous():
    rng = np.random.default_rng(8)
    posteriors = np.tile([0.7, 0.1, 0.1, 0.1], (2000, 1))
    sets = [repeated_label_bounds(drawn(rng, posteriors), drawn(rng, posteriors), 4) for _ in range(20)]
    assert 0.27 < np.mean([bounds.lower for bounds in sets]) < 0.3
    assert sets[0].n_pairs == 2000
    assert sets[0].covers == 1.0
    assert sets[0].lower < sets[0].disagreement < sets[0].upper


def test_lower_limit_falls_with_the_number_of_classes():
    first, second = ["a"] * 300, ["a"] * 200 + ["b"] * 100
    lower = [repeated_label_bounds(first, second, c).lower for c in (2, 3, 10, 1000, 10**9)]
    assert (np.diff(lower) < 0).all()
    given, guessed = repeated_label_bounds(first, second, 2), repeated_label_bounds(first, second)
    assert guessed.lower == given.lower
    assert "never seen" in guessed.rests_on
    assert "never seen" not in given.rests_on


def test_ends_of_the_scale():
    same = repeated_label_bounds(["a"] * 20, ["a"] * 20)
    assert same.lower == same.disagreement == 0
    assert same.upper == pytest.approx(1 - 0.05 ** (1 / 20), abs=1e-12)
    different = repeated_label_bounds([0, 1] * 20, [1, 0] * 20, 2)
    assert different.disagreement == 1
    assert different.lower == different.upper == 0.5
    assert repeated_label_bounds([0], [1]).n_pairs == 1


def test_labels_of_different_kinds_match_by_value():
    bounds = repeated_label_bounds(pd.Series([1, 2, 1, 2], dtype="Int64"), np.array([1.0, 2.0, 2.0, 2.0]))
    assert bounds.disagreement == 0.25
    assert repeated_label_bounds(["x", "y"], pd.Series(["x", "x"])).disagreement == 0.5


@pytest.mark.parametrize("rows", ["many small groups", "one large group"])
def test_limits_from_equal_rows_hold_at_their_level(rows):
    # One posterior within each value of the features; all pairs of a group instead of disjoint ones would fail here.
    rng = np.random.default_rng(9)
    n_sets, too_high, too_low = 2000, 0, 0
    n_cells, n = (30, 100) if rows == "many small groups" else (1, 60)
    error = rng.choice([0.2, 0.35], n_cells) if n_cells > 1 else np.array([0.3])
    for _ in range(n_sets):
        cell = rng.integers(0, n_cells, n)
        y = cell % 2 ^ (rng.random(n) < error[cell])
        if np.ptp(y) == 0:
            continue
        by_label = np.argsort(y, kind="stable")  # the order of the rows must not matter
        bounds = duplicate_bounds(cell[by_label, None], y[by_label], confidence_level=LEVEL)
        n_pairs = np.bincount(cell, minlength=n_cells) // 2
        assert bounds.n_pairs == n_pairs.sum()
        floor = (n_pairs * error).sum() / n_pairs.sum()
        too_high += bounds.lower > floor
        too_low += bounds.upper < floor
    assert too_high / n_sets <= tolerated(1 - LEVEL, n_sets)
    assert too_low / n_sets <= tolerated(1 - LEVEL, n_sets)


def test_equal_rows_are_found_and_paired_once():
    X = [[0.0, 1], [0, 2], [-0.0, 1], [3, 3], [0, 1], [0, 2]]
    bounds = duplicate_bounds(X, ["a", "b", "a", "c", "a", "a"])
    assert bounds.n_pairs == 2  # three rows (0, 1) make one pair, two rows (0, 2) another
    assert bounds.disagreement == 0.5
    assert bounds.covers == pytest.approx(5 / 6)
    assert "weighted by its number of pairs" in bounds.rests_on


def test_order_of_the_rows_changes_nothing_and_the_seed_does():
    rng = np.random.default_rng(10)
    X, y = rng.integers(0, 5, size=(400, 1)), rng.integers(0, 3, 400)
    bounds = duplicate_bounds(X, y)
    for _ in range(3):
        order = rng.permutation(400)
        assert duplicate_bounds(X[order], y[order]) == bounds
    assert len({duplicate_bounds(X, y, random_state=seed).disagreement for seed in range(5)}) > 1


# --- what is refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("P", "message"),
    [
        ([[0.5, 0.5], [0.5, 0.6]], r"row 1 of P adds up to 1\.1: it must add up to 1; counts need n_votes"),
        ([[0.5, 0.5], [1.5, -0.5]], r"-0\.5 in row 1, column 1"),
        ([[0.5, 0.5], [np.nan, 0.5]], "nan in row 1, column 0"),
        ([[np.inf, 0.5], [0.5, 0.5]], "inf in row 0, column 0"),
        ([[1.0], [1.0]], "1 columns: at least two classes"),
        ([0.3, 0.7], r"one row per item.*shape \(2,\).*np\.stack"),
        (np.empty((0, 2)), "0 rows: at least two items"),
        ([[0.5, 0.5]], "1 rows: at least two items"),
    ],
)
def test_probabilities_that_are_refused(P, message):
    with pytest.raises(DataError, match=message):
        soft_label_error(P)
    with pytest.raises(DataError, match=message):
        calibrated_soft_label_error(P, [0, 1])


@pytest.mark.parametrize(
    ("P", "error", "message"),
    [
        ([["a", "b"], ["c", "d"]], DataTypeError, "P holds values of type <U1, for example 'a'"),
        ([[0.5, 0.5], [1.0]], DataError, "P is not a rectangular table"),
        (np.full((4, 2), 0.5 + 1j), DataError, "Complex data not supported"),
        (np.full((4, 2), 0.5 + 1j, dtype=object), DataError, "Complex data not supported"),
    ],
)
def test_tables_that_are_no_numbers(P, error, message):
    with pytest.raises(error, match=message):
        soft_label_error(P)


def test_masked_entries_are_no_probabilities():
    P = np.ma.masked_array([[0.9, 0.1], [0.2, 0.8], [0.0, 1.0]], mask=[[0, 0], [1, 1], [0, 0]])
    with pytest.raises(DataError, match="P has 2 masked values, the first in row 1"):
        soft_label_error(P)
    with pytest.raises(DataError, match="P has 2 masked values"):
        calibrated_soft_label_error(P, [0, 1, 1])
    with pytest.raises(ParameterError, match="n_votes must be numbers, and some are masked"):
        soft_label_error([[3, 2], [1, 4]], np.ma.masked_array([5, 5], mask=[0, 1]))
    nothing_hidden = np.ma.masked_array([[0.9, 0.1], [0.2, 0.8]], mask=False)
    assert soft_label_error(nothing_hidden).error == soft_label_error(nothing_hidden.data).error


def test_votes_beyond_any_count():
    with pytest.raises(ParameterError, match="n_votes must be whole numbers from 2 to 9007199254740992"):
        soft_label_error([[0.5, 0.5], [1.0, 0.0]], 2**64)
    with pytest.raises(ParameterError, match="n_votes must be numbers that float64 can hold"):
        soft_label_error([[0.5, 0.5], [1.0, 0.0]], 10**400)


@pytest.mark.parametrize(
    ("P", "n_votes", "kind", "message"),
    [
        (TWO, 10.5, ParameterError, r"whole numbers of at least 2, got 10\.5 for row 0"),
        (TWO, 0, ParameterError, "at least 2, got 0 for row 0"),
        (TWO, [10, -3], ParameterError, "at least 2, got -3 for row 1"),
        (TWO, [10, np.nan], ParameterError, "at least 2, got nan for row 1"),
        (TWO, "ten", ParameterError, "n_votes must be numbers, got 'ten'"),
        (TWO, [10, 10, 10], ParameterError, r"one per row of P \(2\), got shape \(3,\)"),
        ([[1, 0], [0, 1]], 1, DataError, "row 0 has a single vote"),
        ([[1, 1], [0, 1]], [2, 1], DataError, "row 1 has a single vote"),
        (TWO, 7, DataError, r"row 0 of P, \[0\.9, 0\.1\], is not made of 7 whole votes"),
        ([[3, 2], [4, 2]], 5, DataError, r"row 1 of P adds up to 6: it must add up to 1 or, for counts, to n_votes"),
        ([[2.5, 2.5], [3, 2]], 5, DataError, "row 0 of P.*is not made of 5 whole votes"),
    ],
)
def test_votes_that_are_refused(P, n_votes, kind, message):
    with pytest.raises(kind, match=message):
        soft_label_error(P, n_votes)


@pytest.mark.parametrize("level", [0, 1, -0.1, 95, "high", np.nan])
def test_levels_that_are_refused(level):
    for call in (
        lambda: soft_label_error(TWO, confidence_level=level),
        lambda: calibrated_soft_label_error(TWO, [0, 1], confidence_level=level),
        lambda: repeated_label_bounds([0, 1], [0, 1], confidence_level=level),
        lambda: duplicate_bounds([[0], [0]], [0, 1], confidence_level=level),
    ):
        with pytest.raises(ParameterError, match=r"confidence_level must (lie|be a number) between 0 and 1"):
            call()


@pytest.mark.parametrize(
    ("y", "classes", "kind", "message"),
    [
        ([0, 1, 1], None, DataError, "P has 2 rows but y has 3 labels"),
        ([0, 0], None, DataError, "P has 2 columns but y has 1 different labels: name the columns with classes="),
        ([0, None], None, DataError, "1 missing labels .* row 1"),
        ([0, 1], [0, 1, 2], ParameterError, "classes must hold 2 different labels"),
        ([0, 1], [0, 0], ParameterError, "classes must hold 2 different labels"),
        ([0, 7], [0, 1], DataError, "y contains 7, which is not among classes"),
    ],
)
def test_labels_that_do_not_fit_the_columns(y, classes, kind, message):
    with pytest.raises(kind, match=message):
        calibrated_soft_label_error(TWO, y, classes=classes)


@pytest.mark.parametrize(
    ("first", "second", "n_classes", "kind", "message"),
    [
        ([0, 1], [0, 1, 1], None, DataError, "first has 2 labels but second has 3"),
        ([], [], None, DataError, "first and second are empty"),
        ([0, None], [0, 1], None, DataError, "first contains 1 missing labels .* row 1"),
        ([0, 1], [np.nan, 1], None, DataError, "second contains 1 missing labels .* row 0"),
        ([0, [1]], [0, 1], None, DataTypeError, "first must hold one hashable label per row; row 1 holds a list"),
        ([0, 1], "ab", None, DataTypeError, "second must be a sequence of labels, got str"),
        ([0, 1] * 5, ["0", "1"] * 5, None, DataError, "no label in common .for example 0 and '0'"),
        ([0, 1], [0, 1], 1, ParameterError, "n_classes must be a whole number of at least 2, got 1"),
        ([0, 1], [0, 1], 2.5, ParameterError, r"n_classes must be a whole number of at least 2, got 2\.5"),
        ([0, 1], [0, 2], 2, ParameterError, "n_classes is 2, but the labels hold 3 different ones"),
    ],
)
def test_pairs_that_are_refused(first, second, n_classes, kind, message):
    with pytest.raises(kind, match=message):
        repeated_label_bounds(first, second, n_classes)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[0.0], [1.0]], [0, 1], "no two of the 2 rows of X are equal"),
        ([[0.0], [0.0]], [0, 0], "y contains only one class, 0"),
        ([[0.0], [0.0]], [0, 1, 1], "X has 2 rows but y has 3 labels"),
        ([[0.0], [np.nan]], [0, 1], "X contains 1 NaN"),
        ([[0.0], [0.0]], [0, None], "1 missing labels"),
        (np.empty((0, 2)), [], "X has 0 rows"),
    ],
)
def test_rows_that_are_refused(X, y, message):
    with pytest.raises(DataError, match=message):
        duplicate_bounds(X, y)
