import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import naive
from bayesfloor.balls.error import (
    apply_floor,
    change_priors,
    density_ratios,
    neighbour_shares,
    ordered_terms,
    paper_symmetrised_terms,
    symmetric_terms,
)
from bayesfloor.utils.intervals import sampling_variance


def ratio_tables(n_classes, n=12):
    """Ratios with many ties and values on both sides of 1."""
    values = st.one_of(st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.floats(0, 3))
    return st.tuples(
        arrays(np.float64, (n, n_classes), elements=values), arrays(np.int64, n, elements=st.integers(0, n_classes - 1))
    )


def test_ratios_equal_the_naive_ones():
    rng = np.random.default_rng(0)
    counts = rng.poisson(3, size=(50, 4, 6)).astype(np.int32)
    own, weights = rng.integers(0, 4, 50), rng.normal(size=6)
    expected = naive.ensemble_ratios(counts, own, weights)
    np.testing.assert_allclose(density_ratios(counts, own, weights), expected, rtol=1e-12, atol=1e-12)


def test_ratio_is_nearly_unbiased_for_poisson_counts():
    # E[n_c / (n_k + 1)] = (l_c / l_k)(1 - exp(-l_k)); tolerance: 4 standard errors of the mean.
    rng = np.random.default_rng(3)
    counts = np.stack([rng.poisson(3.0, 200_000), rng.poisson(1.5, 200_000)], axis=1)[:, :, None].astype(np.int32)
    ratios = density_ratios(counts, np.zeros(200_000, dtype=np.int64), np.ones(1))[:, 1]
    assert abs(ratios.mean() - 0.5 * (1 - np.exp(-3))) < 4 * ratios.std() / np.sqrt(len(ratios))


@pytest.mark.parametrize("n_classes", [2, 3, 4, 5])
def test_closed_form_equals_brute_force_over_all_orders(n_classes):
    @given(ratio_tables(n_classes))
    def check(table):
        ratios, own = table
        terms = symmetric_terms(ratios, own)
        expected = naive.mean_over_orders(ratios, own, n_classes)
        assert terms.sum(axis=1).mean() == pytest.approx(expected, abs=1e-12)
        assert (terms >= 0).all()
        assert (terms[np.arange(len(own)), own] == 0).all()

    check()


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_ordered_form_equals_the_naive_one(n_classes):
    rng = np.random.default_rng(n_classes)
    ratios, own = rng.gamma(1.0, size=(40, n_classes)), rng.integers(0, n_classes, 40)
    for _ in range(5):
        order = rng.permutation(n_classes)
        terms = ordered_terms(ratios, own, order)
        assert terms.sum(axis=1).mean() == pytest.approx(
            naive.ordered_error(ratios, own, order.tolist(), n_classes), abs=1e-12
        )
        assert (terms[own == order[0]] == 0).all()


@given(ratio_tables(4), st.permutations(range(4)))
def test_attribution_to_classes_does_not_depend_on_their_order(table, permutation):
    ratios, own = table
    permutation = np.array(permutation)
    renamed = np.empty_like(ratios)
    renamed[:, permutation] = ratios
    np.testing.assert_allclose(
        symmetric_terms(renamed, permutation[own])[:, permutation], symmetric_terms(ratios, own), atol=1e-15
    )


def test_two_classes_the_one_sided_forms_and_the_two_symmetrised_ones():
    rng = np.random.default_rng(5)
    for own, equal in ((np.repeat([0, 1], 20), True), (np.repeat([0, 1], [10, 30]), False)):
        ratios = rng.gamma(1.0, size=(40, 2))
        priors = np.bincount(own) / len(own)
        first, second = naive.one_sided(ratios, own, 0), naive.one_sided(ratios, own, 1)
        assert ordered_terms(ratios, own, [0, 1]).sum() / 40 == pytest.approx(second, abs=1e-12)
        assert ordered_terms(ratios, own, [1, 0]).sum() / 40 == pytest.approx(first, abs=1e-12)
        closed = symmetric_terms(ratios, own).sum() / 40
        paper = paper_symmetrised_terms(ratios, own, priors).sum() / 40
        assert closed == pytest.approx((first + second) / 2, abs=1e-12)
        assert paper == pytest.approx(priors[0] * first + priors[1] * second, abs=1e-12)
        assert (abs(closed - paper) < 1e-12) == equal


def test_floor_caps_the_kink_and_clips_negative_ratios():
    own, priors = np.array([0, 1]), np.array([0.25, 0.75])
    raised = apply_floor(np.array([[1.0, -0.5], [0.01, 1.0]]), own, priors, 0.3)
    np.testing.assert_allclose(raised, [[1.0, 0.9], [0.1, 1.0]])
    clipped = apply_floor(np.array([[1.0, -0.5], [0.01, 1.0]]), own, priors, 0.0)
    np.testing.assert_allclose(clipped, [[1.0, 0.0], [0.01, 1.0]])


def test_changed_priors_multiply_the_ratios():
    own, priors, target = np.array([0, 1]), np.array([0.2, 0.8]), np.array([0.6, 0.4])
    ratios = np.array([[1.0, 2.0], [0.5, 1.0]])
    expected = [[1.0, 2.0 * (0.4 / 0.8) / (0.6 / 0.2)], [0.5 * (0.6 / 0.2) / (0.4 / 0.8), 1.0]]
    np.testing.assert_allclose(change_priors(ratios, own, priors, target), expected, rtol=1e-14)


def test_neighbour_shares_of_empty_balls_are_zero():
    counts = np.zeros((2, 3, 2), dtype=np.int32)
    counts[1, :, 1] = [1, 2, 1]
    np.testing.assert_allclose(neighbour_shares(counts, np.array([0.0, 1.0])), [[0, 0, 0], [0.25, 0.5, 0.25]])


def test_the_other_t_is_twice_t_less_the_share() -> None:
    """|p1 x - p2| - p1 x, which the proof of Theorem 8 calls t: with the factor 1/2 it has there nothing is doubled."""
    x = np.linspace(0, 5, 1001)
    for p1 in (0.2, 0.5, 0.7):
        p2 = 1 - p1
        t = np.maximum(p2 - p1 * x, 0)
        other = np.abs(p1 * x - p2) - p1 * x
        np.testing.assert_allclose(other, 2 * t - p2, atol=1e-12)
        # Equation (54): half the difference of the two sides is the same with either of the two functions.
        np.testing.assert_allclose(np.diff(other) / 2, np.diff(t), atol=1e-12)


def test_the_smallest_class_bounds_the_variance() -> None:
    """N* of Theorem 10: the largest class bounds nothing unless, as the theorem assumes, all grow together."""
    errors, shares = np.array([0.2, 0.3, 0.1]), np.full(3, 1 / 3)
    least = shares[0] ** 2 * errors[0] * (1 - errors[0]) / 50
    for others in (50, 5_000, 5_000_000):
        variance, _ = sampling_variance(float(shares @ errors), errors, np.array([50, others, others]), shares)
        assert variance > least
    assert variance == pytest.approx(least, rel=1e-4)
    together = [
        sampling_variance(float(shares @ errors), errors, n * np.array([1, 4, 5]), shares)[0] * n for n in (50, 5_000)
    ]
    assert together[0] == pytest.approx(together[1], rel=1e-12)
