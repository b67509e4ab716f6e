"""Learners beside one another on one fold, and those that were written anew, against the plain way."""

import numpy as np
import pytest

import bayesfloor as bf
from bayesfloor.library.extra_trees import Forest
from bayesfloor.library.fold import Fold, Unseen
from bayesfloor.library.learners import LIBRARY, additive, deep_trees, distance, gaussian, kernel, laplace, quadratic


def fold_of(d: int, n: int = 400, seed: int = 0) -> tuple[Fold, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 100, d))
    y = (1.5 * np.sin(3 * X[:, 0]) + 1.5 * X[:, 1] * X[:, -1] + rng.normal(size=n + 100) > 0).astype(np.int64)
    return Fold(X[:n], y[:n], 2, seed), X[n:]


@pytest.mark.parametrize("d", [3, 4])
def test_learners_of_one_fold_do_not_share_their_columns(d):
    shared, X = fold_of(d)
    for learner in (quadratic, additive, distance):
        alone, _ = fold_of(d)
        found, expected = learner(shared), learner(alone)
        for name in expected:
            np.testing.assert_array_equal(found[name](Unseen(shared, X)), expected[name](Unseen(alone, X)))


@pytest.mark.parametrize("d", [3, 4])
def test_rows_outside_the_sample_are_scored_by_their_own_learner(use_learners, d):
    use_learners("quadratic", "additive", "distance")
    rng = np.random.default_rng(1)
    X = rng.normal(size=(900, d))
    y = (1.5 * np.sin(3 * X[:, 0]) + 1.5 * X[:, 1] * X[:, 2] + rng.normal(size=900) > 0).astype(int)
    one, two = (bf.estimate(X, y, effort="fast", n_jobs=n, run=bf.Run(sample_rows=600)) for n in (1, 2))
    assert one.floor == two.floor
    assert one.evidence["error"] < 0.4


def test_models_let_go_of_what_they_were_trained_on(use_learners, monkeypatch):
    from bayesfloor.floor import scorer

    use_learners("kernel", "additive")
    made, make = [], scorer.Scorer.of.__func__

    def of(cls, *given):
        made.append(make(cls, *given))
        return made[-1]

    monkeypatch.setattr(scorer.Scorer, "of", classmethod(of))
    X, y = bf.problems.get("moons").sample(600, 0)
    bf.estimate(X, y, effort="fast", n_jobs=1, run=bf.Run(sample_rows=400))
    assert made[0].models
    assert not made[0].fold.own._made


def test_gaussians_are_what_their_densities_say():
    from scipy.stats import multivariate_normal

    fold, X = fold_of(3)
    Z, T = fold.own.standard, Unseen(fold, X)
    means = np.stack([Z[fold.y == c].mean(axis=0) for c in (0, 1)])
    pooled = sum(np.cov(Z[fold.y == c].T) * (fold.counts[c] - 1) for c in (0, 1)) / (fold.n - 2) + 1e-3 * np.eye(3)
    shrink = 3 / fold.n * 0.5 + 0.01
    shared = (1 - shrink) * pooled + shrink * np.trace(pooled) / 3 * np.eye(3)
    logs = np.stack([multivariate_normal(m, shared).logpdf(T.standard) for m in means], axis=1) + np.log(fold.prior)
    expected = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(gaussian(fold)["gaussian shared"](T)), expected, atol=2e-4)


def test_kernels_solve_the_ridge_regression_they_are():
    fold, X = fold_of(2)
    found = kernel(fold)
    rng = np.random.default_rng([fold.seed, 1])
    Z, T = fold.own.weighted, Unseen(fold, X).weighted
    landmarks = Z[np.sort(rng.permutation(fold.n)[:200])]

    def squared(A, B):
        return ((A[:, None] - B) ** 2).sum(axis=2)

    apart = squared(landmarks, landmarks)
    scale = np.median(apart[apart > 0])

    def response(A):
        return np.exp(-1.2 / scale * squared(A, landmarks))

    K, targets = response(Z), np.eye(2)[fold.y] - fold.prior
    centre = K.mean(axis=0)
    penalty = response(landmarks) + 1e-8 * fold.n * np.eye(200)
    solved = np.linalg.solve((K - centre).T @ (K - centre) + penalty, (K - centre).T @ targets)
    P = np.clip((response(T) - centre) @ solved + fold.prior, 3e-3, 1)
    expected = P / P.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(found["kernel 1.2 1"](Unseen(fold, X))), expected, atol=2e-4)


def test_the_forest_is_as_good_as_scikit_learns():
    from sklearn.ensemble import ExtraTreesClassifier

    X, y = bf.problems.get("mixture_10d").sample(3000, 0)
    ours = Forest.grow(X[:1000], y[:1000], 100, 3, 3, 0)
    theirs = ExtraTreesClassifier(100, min_samples_leaf=3, max_features=3, random_state=0).fit(X[:1000], y[:1000])
    truth = np.arange(2000), y[1000:]
    loss, expected = (-np.log(P[truth] + 1e-4) for P in (ours.predict(X[1000:]), theirs.predict_proba(X[1000:])))
    assert abs((loss - expected).mean()) < 4 * (loss - expected).std() / np.sqrt(2000) + 0.01
    np.testing.assert_allclose(ours.importances, theirs.feature_importances_, atol=0.03)


@pytest.mark.parametrize("name", list(LIBRARY))
def test_a_setting_by_itself_is_the_same_as_among_all(name):
    fold, X = fold_of(4)
    everything = {setting: model(Unseen(fold, X)) for setting, model in LIBRARY[name](fold).items()}
    # Fits of a path start where the one before ended: they end as near to the least as they have to.
    is_path = name in ("linear", "quadratic", "additive", "distance", "interactions")
    for setting, scores in everything.items():
        alone = Fold(fold.X, fold.y, 2, fold.seed, kept=frozenset([setting]))
        found = LIBRARY[name](alone)[setting](Unseen(alone, X))
        np.testing.assert_allclose(np.exp(found), np.exp(scores), atol=0.05 if is_path else 1e-9)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_laplace_kernel_does_not_depend_on_the_order_of_rows(sparse):
    rng = np.random.default_rng(0)
    X = (rng.random((500, 12)) < 0.08).astype(float) if sparse else rng.normal(size=(500, 2))
    y = ((X.sum(axis=1) + 0.3 * rng.normal(size=500)) > np.median(X.sum(axis=1))).astype(np.int64)
    order = np.argsort((X**2).sum(axis=1))  # from the middle outward, as they come
    found = {}
    for name, rows in (("inward", order), ("mixed", rng.permutation(500))):
        fold = Fold(X[rows], y[rows], 2, 0)
        found[name] = laplace(fold)["laplace 1"](Unseen(fold, X[:100]))
    assert np.abs(found["inward"] - found["mixed"]).max() < 0.1
    assert np.std(found["inward"][:, 0]) > 0.1  # more than the class shares


def test_the_laplace_kernel_says_the_same_of_equal_rows_in_any_block():
    rng = np.random.default_rng(1)
    X, y = np.repeat(rng.normal(size=(150, 30)), 2, axis=0), rng.integers(0, 2, 300)
    fold = Fold(X, y, 2, 0)
    model = laplace(fold)["laplace 0.1"]
    whole = model(Unseen(fold, X))
    parts = np.vstack([model(Unseen(fold, X[start : start + 37])) for start in range(0, 300, 37)])
    np.testing.assert_allclose(whole, parts, atol=1e-10)
    np.testing.assert_allclose(whole[::2], whole[1::2], atol=1e-10)


def test_fully_grown_trees_know_classes_that_are_missing_in_a_fold():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(80, 3)), rng.choice([0, 2], 80)
    fold = Fold(X, y, 3, 0)
    P = np.exp(deep_trees(fold)["deep trees"](Unseen(fold, X)))
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert (P[:, 1] < 0.05).all()
    assert np.mean(P.argmax(axis=1) == y) == 1  # they remember their rows
