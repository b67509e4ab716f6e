from fractions import Fraction
from math import comb

import numpy as np
import pytest

from bayesfloor import BayesfloorWarning, ParameterError, arithmetic_weights, chebyshev_weights, uniform_weights
from bayesfloor.balls.weights import minimum_norm_weights

CASES = [(1, 0), (2, 1), (5, 2), (12, 1), (11, 10), (50, 30), (101, 50), (101, 100)]


@pytest.mark.parametrize(("n_nodes", "order"), CASES)
def test_chebyshev_weights_are_the_minimum_norm_ones(n_nodes, order):
    nodes, weights = chebyshev_weights(n_nodes, order)
    np.testing.assert_allclose(weights, minimum_norm_weights(nodes, order), atol=1e-9)


@pytest.mark.parametrize(("low", "high"), [(0.5, 1.0), (0.25, 1.0), (2.0, 3.0)])
@pytest.mark.parametrize(("n_nodes", "order"), [(4, 1), (12, 1), (12, 2), (15, 4)])
def test_chebyshev_weights_on_other_intervals(n_nodes, order, low, high):
    nodes, weights = chebyshev_weights(n_nodes, order, low, high)
    assert low < nodes.min() <= nodes.max() < high
    expected = minimum_norm_weights(nodes, order)
    np.testing.assert_allclose(weights, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize(("n_nodes", "order"), CASES)
def test_chebyshev_weights_reproduce_polynomials_at_zero(n_nodes, order):
    nodes, weights = chebyshev_weights(n_nodes, order)
    assert (np.diff(nodes) > 0).all()
    rng = np.random.default_rng(order)
    for _ in range(5):
        # In the Chebyshev basis of [0, 1]: T_k(2s - 1) is at most 1 there and (-1)^k at s = 0.
        polynomial = np.polynomial.Chebyshev(rng.normal(size=order + 1), domain=[0, 1])
        assert weights @ polynomial(nodes) == pytest.approx(polynomial(0.0), abs=1e-9)


@pytest.mark.filterwarnings("ignore::bayesfloor.BayesfloorWarning")
@pytest.mark.parametrize(("n_nodes", "order"), [(1, 0), (4, 3), (6, 2), (20, 12), (30, 29)])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.0, 0.5), (0.5, 1.0)])
def test_arithmetic_weights_equal_exact_rational_elimination(n_nodes, order, low, high):
    nodes, weights = arithmetic_weights(n_nodes, order, low, high)
    expected = exact_minimum_norm(n_nodes, order, low, high)
    np.testing.assert_allclose(weights, [float(w) for w in expected], rtol=1e-13)
    np.testing.assert_allclose(nodes, low + (high - low) * np.arange(1, n_nodes + 1) / n_nodes)


def exact_minimum_norm(n_nodes, order, low, high):
    """w = V^T (V V^T)^-1 e_0 by Gaussian elimination over the rationals."""
    low, high = Fraction(low), Fraction(high)
    nodes = [low + (high - low) * Fraction(i, n_nodes) for i in range(1, n_nodes + 1)]
    V = [[s**k for s in nodes] for k in range(order + 1)]
    rows = [
        [sum(a * b for a, b in zip(u, v, strict=True)) for v in V] + [Fraction(int(k == 0))] for k, u in enumerate(V)
    ]
    for i in range(order + 1):
        pivot = next(j for j in range(i, order + 1) if rows[j][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for j in range(order + 1):
            if j != i and rows[j][i] != 0:
                factor = rows[j][i] / rows[i][i]
                rows[j] = [a - factor * b for a, b in zip(rows[j], rows[i], strict=True)]
    multipliers = [rows[i][-1] / rows[i][i] for i in range(order + 1)]
    return [sum(m * V[k][i] for k, m in enumerate(multipliers)) for i in range(n_nodes)]


def test_arithmetic_weights_at_the_papers_hundred_dimensions_are_exact_and_warn():
    with pytest.warns(BayesfloorWarning, match="no correct digits"):
        _, weights = arithmetic_weights(101, 100)
    binomials = [(-1) ** (i - 1) * comb(101, i) for i in range(1, 102)]
    np.testing.assert_allclose(weights, np.array(binomials, dtype=float), rtol=1e-15)
    assert np.abs(weights).max() > 1e29


def test_uniform_weights():
    nodes, weights = uniform_weights(5, 0.5, 1.0)
    np.testing.assert_allclose(nodes, [0.6, 0.7, 0.8, 0.9, 1.0])
    np.testing.assert_allclose(weights, 0.2)


@pytest.mark.parametrize("make", [chebyshev_weights, arithmetic_weights])
def test_impossible_requests(make):
    with pytest.raises(ParameterError, match=r"from 0 to 3 \(n_nodes less 1\), got 4"):
        make(4, 4)
    with pytest.raises(ParameterError, match="order"):
        make(4, -1)
    with pytest.raises(ParameterError, match="n_nodes"):
        make(0, 0)
    with pytest.raises(ParameterError, match=r"low=1.0, high=1.0"):
        make(4, 1, 1.0, 1.0)


def test_overflowing_order_is_an_error():
    with pytest.raises(ParameterError, match="overflow"):
        chebyshev_weights(2001, 2000, 0.9, 1.0)


def test_minimum_norm_weights_of_coinciding_nodes_is_an_error():
    with pytest.raises(ParameterError, match="differ"):
        minimum_norm_weights([1.0, 1.0], 1)
    with pytest.raises(ParameterError, match="coincide"):
        minimum_norm_weights([1.0, 1.0, 2.0], 2)


@pytest.mark.parametrize("d", [3, 4, 5])
def test_constraints_in_fractional_powers_leave_the_second_one(d: int) -> None:
    """psi_i = t^(i/d), as printed in the proof of Theorem 8, against xi^i of the constraints."""
    nodes, weights = chebyshev_weights(d + 1, d)
    for i in range(1, d + 1):
        assert abs(weights @ nodes**i) < 1e-9
    printed = minimum_norm_weights(nodes ** (1 / d), d)
    assert abs(printed @ nodes) < 1e-6 * np.abs(printed).max()  # i = d: the first power of the radius
    assert abs(printed @ nodes**2) > 1e-3
