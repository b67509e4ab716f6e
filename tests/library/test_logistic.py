"""Logistic regression for a path of penalties: the least of scikit-learn's objective, whatever columns and classes."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from bayesfloor.library.fold import Fold, Unseen
from bayesfloor.library.learners import additive, quadratic
from bayesfloor.library.logistic import Logistic, fit_path


def sample(n: int, d: int, n_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose log-odds are linear."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, d)) + 1.0
    scores = A @ rng.normal(size=(d, n_classes)) + rng.gumbel(size=(n, n_classes))
    return A, scores.argmax(axis=1)


def objective(model: Logistic, A: np.ndarray, y: np.ndarray, c: float) -> float:
    """What scikit-learn minimizes, per row and with C divided out."""
    scores = A @ model.weights + model.offset
    if len(model.classes) == 2:
        scores = np.hstack([np.zeros_like(scores), scores])
    own = log_softmax(scores, axis=1)[np.arange(len(y)), np.searchsorted(model.classes, y)]
    return float(-own.mean() + (model.weights**2).sum() / (2 * c * len(y)))


def converged(A: np.ndarray, y: np.ndarray, c: float) -> Logistic:
    model = LogisticRegression(C=c, tol=1e-10, max_iter=10_000).fit(A, y)
    return Logistic(model.coef_.T, model.intercept_, model.classes_)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("n", [60, 1500])
def test_agrees_with_a_converged_fit(n: int, n_classes: int) -> None:
    A, y = sample(n, 6, n_classes)
    strengths = [0.01, 0.3, 10.0]
    for c, found in zip(strengths, fit_path(A, y, strengths), strict=True):
        wanted = converged(A, y, c)
        assert 0 <= objective(found, A, y, c) - objective(wanted, A, y, c) + 1e-9 < 2e-4
        assert np.abs(found.predict(A) - wanted.predict(A)).mean() < 2e-3
        assert found.predict(A).sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_any_part_of_a_path_in_any_order(n_classes: int) -> None:
    A, y = sample(400, 5, n_classes)
    path = fit_path(A, y, [0.01, 0.3, 10.0])
    turned = fit_path(A, y, [10.0, 0.01])
    assert np.abs(turned[0].predict(A) - path[2].predict(A)).mean() < 2e-3
    assert np.array_equal(turned[1].weights, path[0].weights)  # the strongest penalty starts from nothing
    again = fit_path(A, y, [0.01, 0.3, 10.0])
    assert all(np.array_equal(a.weights, b.weights) for a, b in zip(path, again, strict=True))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_collinear_and_constant_columns(n_classes: int) -> None:
    A, y = sample(500, 3, n_classes)
    hinges = np.maximum(A[:, :1] - np.linspace(-1, 2, 25), 0)
    A = np.hstack([A, A[:, :2] @ [[1.0], [-2.0]], A[:, :1], np.zeros((500, 1)), np.ones((500, 1)), hinges])
    for c, found in zip([0.05, 30.0], fit_path(A, y, [0.05, 30.0]), strict=True):
        assert objective(found, A, y, c) < objective(converged(A, y, c), A, y, c) + 2e-4
        assert found.weights[5:7] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_column_more_columns_than_rows_and_separable_rows(n_classes: int) -> None:
    for n, d in [(300, 1), (40, 90), (60, 600)]:
        A, y = sample(n, d, n_classes)
        for c, found in zip([0.1, 10.0], fit_path(A, y, [0.1, 10.0]), strict=True):
            assert objective(found, A, y, c) < objective(converged(A, y, c), A, y, c) + 2e-4
    A = np.repeat(np.arange(n_classes), 50)[:, None] + np.linspace(0, 0.1, 50 * n_classes)[:, None]
    y = np.repeat(np.arange(n_classes), 50)
    found = fit_path(A, y, [1e6])[0]  # the least objective is far out, and every step stays finite
    assert np.isfinite(found.weights).all()
    assert (found.predict(A).argmax(axis=1) == y).all()


@pytest.mark.parametrize("n_classes", [2, 4])
def test_sparse_columns(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    A = csr_array(rng.random((600, 80)) * (rng.random((600, 80)) < 0.2))
    y = (3 * A @ rng.normal(size=(80, n_classes)) + rng.gumbel(size=(600, n_classes))).argmax(axis=1)
    strengths = [3.0, 0.3]  # as far apart as those in use: each fit ends after a few steps
    for c, found in zip(strengths, fit_path(A, y, strengths), strict=True):
        assert objective(found, A, y, c) <= objective(converged(A, y, c), A, y, c) + 1e-3
        np.testing.assert_allclose(found.predict(A), found.predict(A.toarray()), atol=1e-12)


@pytest.mark.parametrize("present", [[0, 3], [0, 1, 3], [2]])
def test_classes_that_are_missing(present: list[int]) -> None:
    A, y = sample(300, 4, len(present))
    y = np.array(present)[y]
    fold = Fold(A, y, 4, seed=0)
    assert fit_path(A, y, [1.0])[0].classes.tolist() == present
    for model in quadratic(fold).values():
        P = np.exp(model(Unseen(fold, A)))
        assert P.shape == (300, 4)
        assert P.sum(axis=1) == pytest.approx(1)
        assert np.delete(P, present, axis=1).max() < 2e-4


@pytest.mark.parametrize("n_classes", [2, 5])
def test_a_row_does_not_depend_on_the_rows_it_comes_with(n_classes: int) -> None:
    A, y = sample(500, 7, n_classes)
    fold = Fold(A, y, n_classes, seed=0)
    others = sample(64, 7, n_classes, seed=1)[0]
    for name, model in {**quadratic(fold), **additive(fold)}.items():
        together = model(Unseen(fold, others))
        alone = np.vstack([model(Unseen(fold, others[i : i + 1])) for i in range(64)])
        assert together == pytest.approx(alone, rel=1e-10, abs=1e-12), name
