"""Learners beside one another on one fold, and those that were written anew, against the plain way."""

import numpy as np
import pytest

import bayesfloor as bf
from bayesfloor.library.extra_trees import Forest, columns_tried
from bayesfloor.library.fold import Fold, Unseen
from bayesfloor.library.forest import LEAVES, Forests, _forest_logs
from bayesfloor.library.learners import FOREST, LIBRARY, additive, gaussian, kernel, laplace, linear, quadratic, trees


def fold_of(d: int, n: int = 400, seed: int = 0) -> tuple[Fold, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 100, d))
    y = (1.5 * np.sin(3 * X[:, 0]) + 1.5 * X[:, 1] * X[:, -1] + rng.normal(size=n + 100) > 0).astype(np.int64)
    return Fold(X[:n], y[:n], 2, seed), X[n:]


@pytest.mark.parametrize("d", [3, 4])
def test_learners_of_one_fold_do_not_share_their_columns(d):
    shared, X = fold_of(d)
    for learner in (quadratic, additive):
        alone, _ = fold_of(d)
        found, expected = learner(shared), learner(alone)
        for name in expected:
            np.testing.assert_array_equal(found[name](Unseen(shared, X)), expected[name](Unseen(alone, X)))


@pytest.mark.parametrize("d", [3, 4])
def test_rows_outside_the_sample_are_scored_by_their_own_learner(use_learners, d):
    use_learners("quadratic", "additive")
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


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_forest_is_as_good_as_scikit_learns(n_classes):
    from sklearn.ensemble import ExtraTreesClassifier

    X, y = bf.problems.get("mixture_10d", n_classes=n_classes).sample(3000, 0)
    ours = Forest.grow(X[:1000], y[:1000], 100, 0)
    tried = columns_tried(10)
    theirs = ExtraTreesClassifier(100, max_features=tried, random_state=0).fit(X[:1000], y[:1000])
    truth = np.arange(2000), y[1000:]
    loss, expected = (-np.log(P[truth] + 1e-4) for P in (ours.predict(X[1000:])[0], theirs.predict_proba(X[1000:])))
    assert abs((loss - expected).mean()) < 4 * (loss - expected).std() / np.sqrt(2000) + 0.01
    each = []  # importances of scikit-learn's trees, from splits of as many rows as ours count
    for tree in (model.tree_ for model in theirs.estimators_):
        impurity = tree.weighted_n_node_samples * tree.impurity
        split = np.flatnonzero((tree.children_left >= 0) & (tree.n_node_samples >= 8))
        gains = impurity[split] - impurity[tree.children_left[split]] - impurity[tree.children_right[split]]
        each.append(np.bincount(tree.feature[split], gains, 10) / gains.sum())
    noise = np.std(each, axis=0) * np.sqrt(2 / 100)  # of the difference of two means of 100 trees
    assert (np.abs(ours.importances - np.mean(each, axis=0)) < 4 * noise + 0.005).all()


def test_a_tree_is_what_its_nodes_say():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(300, 4)).astype(np.float32), rng.choice([0, 2, 5], 300)
    X[:, 1], X[:, 2] = 7.0, X[:, 2] > 0  # a constant column, and one of two values
    forest = Forest.grow(X, y, 5, 1)
    P = np.zeros((2, 300, 3))
    for tree in forest.trees:
        size = tree.counts.sum(axis=1)
        assert size.min() >= 1
        assert (tree.column != 1).all()
        for i, row in enumerate(X):
            for k, leaf in enumerate((2, 20)):
                node = 0
                while tree.column[node] >= 0:
                    is_left = row[tree.column[node]] <= tree.threshold[node]
                    after = node + 1 if is_left else tree.right[node]
                    if size[after] < leaf:
                        break
                    node = after
                P[k, i] += tree.counts[node] / size[node] / 5
        split = np.flatnonzero(tree.column >= 0)
        np.testing.assert_array_equal(tree.counts[split], tree.counts[split + 1] + tree.counts[tree.right[split]])
        np.testing.assert_array_equal(tree.counts[0], [(y == c).sum() for c in (0, 2, 5)])
    np.testing.assert_allclose(forest.predict(X, (2, 20)), P, atol=1e-12)


def test_trees_see_every_column_that_varies():
    """Where most columns are constant, each split is drawn among the others."""
    rng = np.random.default_rng(4)
    X, y = np.zeros((500, 60)), rng.integers(2, size=500)
    X[:, [7, 31]] = rng.normal(size=(500, 2)) + y[:, None]
    forest = Forest.grow(X, y, 20, 0)
    assert {int(c) for tree in forest.trees for c in tree.column} == {-1, 7, 31}
    assert forest.importances[[7, 31]].sum() == pytest.approx(1)
    assert Forest.grow(np.zeros((50, 3)), y[:50], 4, 0).importances.sum() == 0  # nothing can be split


@pytest.mark.parametrize("leaf", LEAVES)
def test_the_forest_of_many_rows_that_scores_is_the_one_that_was_weighed(leaf):
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(2000, 3)).astype(np.float32), rng.integers(2, size=2000)
    forests = Forests(X, y, np.arange(1000), 2, 0, "fast")
    weighed = _forest_logs(forests, X[1000:], np.arange(1000))[LEAVES.index(leaf)]
    scores = forests.logs(forests.grow(f"{FOREST} {leaf}", 1, None)[0], X[1000:])
    np.testing.assert_allclose(scores, weighed, atol=1e-6)


def test_gaussians_with_a_variance_for_each_column():
    from scipy.stats import multivariate_normal

    fold, X = fold_of(3)
    Z, T = fold.own.standard, Unseen(fold, X).standard
    rows = [Z[fold.y == c] for c in (0, 1)]
    residuals = np.concatenate([part - part.mean(axis=0) for part in rows])
    pooled = (residuals**2).sum(axis=0) / (fold.n - 2) + 1e-3
    logs = [
        multivariate_normal(
            part.mean(axis=0), np.diag((part.var(axis=0, ddof=1) * len(part) + 4 * pooled) / (len(part) + 4))
        ).logpdf(T)
        for part in rows
    ]
    odds = np.stack(logs, axis=1) + np.log(fold.prior)
    expected = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    found = np.exp(gaussian(fold)["gaussian diagonal"](Unseen(fold, X)))
    np.testing.assert_allclose(found, expected, atol=2e-4)


def test_curves_are_drawn_of_columns_with_more_than_two_values():
    fold, _ = fold_of(4)
    X = fold.X.copy()
    X[:, 1], X[:, 3] = X[:, 1] > 0, 5.0
    assert Fold(X, fold.y, 2, 0).varied.tolist() == [0, 2]


def test_linear_models_alone_stand_in_for_quadratic_ones_where_those_see_less():
    few, _ = fold_of(4)
    assert linear(few) == {}
    assert linear(Fold(few.X, few.y, 2, 0, parts={"given": few.X})) == {}  # what users' classifiers see
    assert list(linear(fold_of(300)[0])) == ["linear 0.01"]
    assert len(linear(Fold(few.X, few.y, 2, 0, parts={"images": few.X}))) == 2


@pytest.mark.parametrize("name", list(LIBRARY))
def test_a_setting_by_itself_is_the_same_as_among_all(name):
    fold, X = fold_of(4)
    everything = {setting: model(Unseen(fold, X)) for setting, model in LIBRARY[name](fold).items()}
    # Fits of a path start where the one before ended: they end as near to the least as they have to.
    is_path = name in ("linear", "quadratic", "additive")
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
        found[name] = laplace(fold)["laplace"](Unseen(fold, X[:100]))
    assert np.abs(found["inward"] - found["mixed"]).max() < 0.1
    assert np.std(found["inward"][:, 0]) > 0.1  # more than the class shares


def test_the_laplace_kernel_says_the_same_of_equal_rows_in_any_block():
    rng = np.random.default_rng(1)
    X, y = np.repeat(rng.normal(size=(150, 30)), 2, axis=0), rng.integers(0, 2, 300)
    fold = Fold(X, y, 2, 0)
    model = laplace(fold)["laplace"]
    whole = model(Unseen(fold, X))
    parts = np.vstack([model(Unseen(fold, X[start : start + 37])) for start in range(0, 300, 37)])
    np.testing.assert_allclose(whole, parts, atol=1e-10)
    np.testing.assert_allclose(whole[::2], whole[1::2], atol=1e-10)


def test_fully_grown_trees_know_classes_that_are_missing_in_a_fold():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(80, 3)), rng.choice([0, 2], 80)
    fold = Fold(X, y, 3, 0)
    P = np.exp(trees(fold)["trees 1"](Unseen(fold, X)))
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert (P[:, 1] < 0.05).all()
    assert np.mean(P.argmax(axis=1) == y) == 1  # they remember their rows
