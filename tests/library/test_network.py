"""The compiled network: as good as scikit-learn's, whatever the rows and classes."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import bayesfloor as bf
from bayesfloor.library.network import train_network


@pytest.mark.parametrize(("name", "options"), [("moons", {}), ("mixture_10d", {"n_classes": 4})])
def test_as_good_as_scikit_learns(name, options):
    from sklearn.neural_network import MLPClassifier

    problem = bf.problems.get(name, **options)
    losses = []
    for seed in range(5):
        X, y = problem.sample(1600, seed)
        X = (X - X[:600].mean(axis=0)) / X[:600].std(axis=0)
        ours = train_network(X[:600], y[:600], problem.n_classes, decay=0.6, rounds=15, seed=seed)
        theirs = MLPClassifier((64, 64), alpha=0.6, batch_size=100, learning_rate_init=8e-3, max_iter=15)
        with pytest.warns(UserWarning, match="Maximum iterations"):
            theirs.set_params(random_state=seed).fit(X[:600], y[:600])
        at = np.arange(1000), y[600:]
        losses.append([-np.log(model(X[600:])[at]).mean() for model in (ours.predict, theirs.predict_proba)])
    difference = np.subtract(*np.transpose(losses))
    assert difference.mean() < 0.01 + 2 * difference.std(ddof=1) / np.sqrt(len(losses))


def test_fewer_rows_than_a_batch_and_a_class_without_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(37, 3)), rng.integers(2, size=37) * 2  # class 1 of three is missing
    P = train_network(X, y, 3, decay=4.0, rounds=15, seed=0).predict(X)
    assert P.shape == (37, 3)
    assert np.isfinite(P).all()
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert P[:, 1].mean() < 0.2


def test_seed_batch_and_threads_do_not_matter():
    X, y = bf.problems.get("moons").sample(300, 0)

    def train(seed: int):
        return train_network(X, y, 2, decay=0.6, rounds=10, seed=seed)

    with ThreadPoolExecutor(2) as pool:
        several = list(pool.map(train, [3, 3, 3, 4]))
    P = train(3).predict(X)
    for network in several[:3]:
        np.testing.assert_array_equal(network.predict(X), P)
    assert not np.array_equal(several[3].predict(X), P)
    np.testing.assert_allclose(train(3).predict(X[:7]), P[:7], atol=1e-12)
