"""Compiled boosting: as good as scikit-learn's, the same in every thread and batch, whatever the ties and classes."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss

from bayesfloor import problems
from bayesfloor.library import boosting
from bayesfloor.library.boosting import BoostedTrees, fit_boosting
from bayesfloor.library.fold import Fold, Unseen
from bayesfloor.library.learners import LIBRARY


def draw(name: str, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X, y = problems.get(name).sample(n, random_state=seed)[:2]
    return np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.int64)


def same(first: BoostedTrees, second: BoostedTrees) -> bool:
    names = ("classes", "start", "leaf", "column", "threshold", "value")
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in names)


@pytest.mark.parametrize("name", ["mixed_columns", "mixture_10d", "led"])
def test_held_out_loss_is_that_of_scikit_learn(name: str) -> None:
    X, y = draw(name, 5000)
    train, test = slice(0, 1000), slice(1000, None)
    ours = fit_boosting(X[train], y[train], n_rounds=25, min_rows=10)
    theirs = HistGradientBoostingClassifier(
        max_iter=25, max_leaf_nodes=10, min_samples_leaf=10, l2_regularization=1.0, early_stopping=False
    ).fit(X[train], y[train])
    loss = log_loss(y[test], ours.predict_proba(X[test]))
    # Bins are half as many: on single samples the losses differ by a hundredth.
    assert loss == pytest.approx(log_loss(y[test], theirs.predict_proba(X[test])), abs=0.02)


@pytest.mark.parametrize("name", ["twonorm", "mixture_10d"])
def test_columns_of_few_values_give_the_trees_of_scikit_learn(name: str) -> None:
    X, y = draw(name, 4000)
    X = np.clip(np.round(X / X.std(axis=0) * 8), -50, 50)  # as few as there are bins: both cut at the same places
    ours = fit_boosting(X[:2000], y[:2000], n_rounds=15)
    theirs = HistGradientBoostingClassifier(
        max_iter=15, max_leaf_nodes=10, l2_regularization=1.0, early_stopping=False
    ).fit(X[:2000], y[:2000])
    assert np.abs(ours.predict_proba(X[2000:]) - theirs.predict_proba(X[2000:])).max() < 1e-5


def test_packed_sums_are_those_of_the_gradients() -> None:
    rng = np.random.default_rng(0)
    for n, tolerance in ((1, 1e-6), (100, 1e-5), (9_999, 1e-3), (2**18, 0.03)):
        gradients, curvatures, packed = rng.normal(size=n), rng.random(n) / 4, np.empty(n, dtype=np.int64)
        gradients[: n // 2] = -1.0  # the largest sums there are
        count_bits, curvature_bits, unit = boosting._pack(gradients, curvatures, packed)
        part = np.arange(n) < n // 2 + 1
        total = int(packed[part].sum())
        assert total & ((1 << count_bits) - 1) == part.sum()
        curve = ((total >> count_bits) & ((1 << curvature_bits) - 1)) / unit
        assert curve == pytest.approx(curvatures[part].sum(), rel=tolerance)
        gradient_bits = 63 - count_bits - curvature_bits
        slope = (total >> (count_bits + curvature_bits)) / ((1 << gradient_bits) - n) * np.abs(gradients).sum()
        assert slope == pytest.approx(gradients[part].sum(), rel=tolerance)
        assert (total - int(packed.sum())) + int(packed[~part].sum()) == 0


def test_leaves_have_their_rows_and_trees_their_leaves() -> None:
    X, y = draw("mixture_10d", 600)
    model = fit_boosting(X, y, n_rounds=3, n_leaves=6, min_rows=25)
    assert model.leaf.shape == (3 * len(model.classes), 5)
    for leaf, column, threshold in zip(model.leaf, model.column, model.threshold, strict=True):
        own = np.zeros(len(X), dtype=np.int64)
        for s in np.flatnonzero(leaf >= 0):
            own[(own == leaf[s]) & (X[:, column[s]] > threshold[s])] = s + 1
        assert np.bincount(own).min() >= 25


def test_classes_may_be_missing() -> None:
    X, y = draw("mixture_10d", 400)
    codes = np.array([1, 3, 4, 7])[y]
    model = fit_boosting(X, codes)
    assert model.classes.tolist() == [1, 3, 4, 7]
    assert np.array_equal(model.predict_proba(X), fit_boosting(X, y).predict_proba(X))
    fold = Fold(X, codes, 9, 0)
    P = np.exp(LIBRARY["boosting"](fold)["boosting"](Unseen(fold, X)))
    assert P.shape == (400, 9)
    assert P[:, [0, 2, 5, 6, 8]].max() <= 1.1e-4
    assert (P.argmax(axis=1) == codes).mean() > 0.9


def test_one_class_is_certain() -> None:
    model = fit_boosting(np.arange(30.0)[:, None], np.full(30, 2))
    assert model.classes.tolist() == [2]
    assert np.array_equal(model.predict_proba(np.zeros((4, 1))), np.ones((4, 1)))


def test_ties_and_constant_columns() -> None:
    rng = np.random.default_rng(1)
    column = np.where(rng.random(2000) < 0.9, 0.0, rng.normal(size=2000))  # most rows are equal, the others all differ
    y = (column > 0.5).astype(np.int64)
    X = np.stack([np.full(2000, 7.0), column, np.zeros(2000)], axis=1)
    model = fit_boosting(X, y)
    assert set(model.column[model.leaf >= 0]) == {1}
    assert ((model.predict_proba(X)[:, 1] > 0.5) == y).mean() > 0.995
    nothing = fit_boosting(X[:, [0, 2]], y).predict_proba(X[:3, [0, 2]])  # no column tells anything: shares
    assert nothing == pytest.approx(np.tile([1 - y.mean(), y.mean()], (3, 1)))


@pytest.mark.parametrize("distinct", [1, 2, 127, 128, 129, 1000])
def test_bins_keep_equal_values_together_and_order(distinct: int) -> None:
    rng = np.random.default_rng(distinct)
    values = np.concatenate([np.arange(distinct), rng.integers(0, distinct, 1000)]) / 8
    cuts, n_cuts = np.full((1, 127), np.inf), np.zeros(1, dtype=np.int64)
    boosting._cut(np.sort(values)[None], cuts, n_cuts)
    bins = np.empty((len(values), 1), dtype=np.uint8)
    boosting._encode(values[:, None], cuts, bins)
    assert np.array_equal(bins[:, 0], np.searchsorted(cuts[0], values))
    assert n_cuts[0] + 1 == len(np.unique(bins)) == min(distinct, len(np.unique(bins)))
    if distinct <= 128:
        assert n_cuts[0] == distinct - 1
    else:
        assert np.bincount(bins[:, 0]).max() <= 3 * len(values) / 128


def test_a_row_does_not_depend_on_its_batch() -> None:
    X, y = draw("mixture_10d", 700)
    model = fit_boosting(X, y)
    P = model.predict_proba(X)
    assert np.array_equal(np.vstack([model.predict_proba(X[i : i + 1]) for i in range(300)]), P[:300])
    assert np.array_equal(model.predict_proba(X[::-3]), P[::-3])
    assert model.predict_proba(X[:0]).shape == (0, len(model.classes))


def test_the_layout_of_rows_does_not_matter() -> None:
    X, y = draw("mixed_columns", 300)
    wide = np.repeat(X, 2, axis=1)
    assert same(fit_boosting(np.asfortranarray(X), y), fit_boosting(wide[:, ::2], y))


def test_threads_find_the_same() -> None:
    X, y = draw("mixture_10d", 800)
    alone = fit_boosting(X, y)
    with ThreadPoolExecutor(4) as pool:
        models = list(pool.map(lambda _: fit_boosting(X, y), range(8)))
    assert all(same(alone, model) for model in models)


def test_too_many_rows_are_refused() -> None:
    n = 2**18 + 1
    with pytest.raises(ValueError, match="up to 262144 rows"):
        fit_boosting(np.zeros((n, 1)), np.zeros(n, dtype=np.int64))
