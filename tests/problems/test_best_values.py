"""The best values by other yardsticks, against closed forms and plain loops."""

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.metrics import brier_score_loss

from bayesfloor import problems
from bayesfloor.problems import best_values as bv


def test_two_gaussians_have_closed_forms() -> None:
    # Two unit Gaussians at a distance of 2: the AUC is Phi(2 / sqrt(2)), the balanced accuracy Phi(1).
    found = problems.get("gaussians_4d").metrics(200_000)
    value, std = found["AUC"]
    assert abs(value - ndtr(np.sqrt(2))) <= 4 * std
    value, std = found["balanced accuracy"]
    assert abs(value - ndtr(1)) <= 4 * std
    assert "top-2 error" not in found


def test_pure_noise_tells_nothing() -> None:
    found = problems.get("pure_noise").metrics(50_000)
    assert found["log-loss"][0] == pytest.approx(np.log(3), abs=1e-9)
    assert found["Brier score"][0] == pytest.approx(2 / 3, abs=1e-9)
    assert found["AUC"][0] == pytest.approx(0.5, abs=1e-9)
    assert found["top-2 error"][0] == pytest.approx(1 / 3, abs=1e-9)
    assert found["F1 of 0"][0] == pytest.approx(0.5, abs=1e-9)  # 2 pi / (1 + pi)


def test_the_best_brier_score_of_two_classes_is_what_scikit_learn_counts() -> None:
    """Labels of a sample scored with the exact posterior, within four standard errors of both."""
    problem = problems.get("gaussians_4d")
    X, y = problem.sample(50_000, random_state=0)
    p = problem.posterior(X)[:, 1]
    value, std = problem.metrics(50_000)["Brier score"]
    sampling = ((p - y) ** 2).std() / np.sqrt(len(y))
    assert abs(value - brier_score_loss(y, p)) <= 4 * np.hypot(std, sampling)


def test_auc_is_that_of_all_pairs() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(300)
    pairs = p[:, None] * (1 - p) * ((p[:, None] > p) + (p[:, None] == p) / 2)
    off = ~np.eye(300, dtype=bool)
    shares = (p[:, None] * (1 - p))[off].sum()
    expected = pairs[off].sum() / shares
    assert bv.best_auc(np.column_stack([1 - p, p])) == pytest.approx(
        expected, abs=0.01
    )  # shares of pairs, not products


def test_f1_solves_its_equation() -> None:
    p = np.random.default_rng(1).beta(0.4, 1.2, 20_000)
    F = bv.best_f1(p)
    assert 2 * np.maximum(p - F / 2, 0).mean() == pytest.approx(F * p.mean(), rel=1e-3)


def test_selective_errors_are_those_of_the_surest_rows() -> None:
    P = np.random.default_rng(2).dirichlet([1, 1, 1], 1000)
    doubt = np.sort(1 - P.max(axis=1))
    found = bv.selective_errors(P, [0.0, 0.1, 0.5])
    np.testing.assert_allclose(found, [doubt.mean(), doubt[:900].mean(), doubt[:500].mean()], atol=1e-12)


def test_lowest_cost_of_plain_errors_is_the_floor() -> None:
    P = np.random.default_rng(3).dirichlet([1, 2, 1], 500)
    assert bv.lowest_cost(P, 1 - np.eye(3)) == pytest.approx(1 - P.max(axis=1).mean(), abs=1e-12)
