"""Weights of the pool: the least of a convex function, whatever the learners."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

from bayesfloor.library.pool import _PENALTY, _SHIFT_PENALTY, Pool, Stage, _centre, _weigh, leave_out, pooled_loss


@pytest.mark.parametrize(("n", "k", "n_classes"), [(30, 3, 2), (300, 6, 2), (200, 5, 4), (400, 8, 11)])
def test_weights_are_those_of_least_penalised_loss(n, k, n_classes):
    rng = np.random.default_rng(n + k)
    scores = rng.normal(scale=2, size=(n, n_classes))
    y = np.array([rng.choice(n_classes, p=np.exp(s - np.logaddexp.reduce(s))) for s in scores])
    logs = np.stack([scores * rng.uniform(0, 1.5) + rng.normal(scale=j, size=scores.shape) for j in range(k)])
    logs[-1] = logs[0]  # the same learner twice
    logs[1] = -scores  # one that is wrong: its weight is held at 0
    T = _centre(log_softmax(logs, axis=2).astype(np.float32))
    ridge = np.r_[np.full(k, _PENALTY), np.full(n_classes, _SHIFT_PENALTY)]

    def loss(theta):
        P = log_softmax(np.tensordot(theta[:k], T, 1) + theta[k:], axis=1)
        return -P[np.arange(n), y].mean() + ridge @ theta**2 / 2

    bounds = [(0, None)] * k + [(None, None)] * n_classes
    start = np.r_[np.full(k, 1 / k), np.zeros(n_classes)]
    reference = minimize(loss, start, bounds=bounds, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-13})
    for guess in (start, np.r_[np.zeros(k), np.ones(n_classes)], np.r_[np.full(k, 2.0), np.zeros(n_classes)]):
        found = _weigh(T, y, guess)
        assert (found[:k] >= 0).all()
        assert found[1] == 0
        assert loss(found) <= reference.fun + 1e-9


def test_of_many_classes_only_the_learners_are_weighed():
    rng = np.random.default_rng(5)
    odds = rng.normal(scale=3, size=(2000, 60))
    y = (odds + rng.gumbel(size=odds.shape)).argmax(axis=1)
    logs = np.stack([log_softmax(odds, axis=1), log_softmax(rng.normal(size=odds.shape), axis=1)]).astype(np.float32)
    pool = Pool.fit(Stage(1.0, 100, ("right", "noise"), ("right", "noise"), logs), y, np.arange(2000))
    assert not pool.shifts.any()
    # The likelihood is largest at the true weights, 1 and 0; their standard errors are below 0.03.
    np.testing.assert_allclose(pool.weights, [1, 0], atol=0.12)


def test_one_learner_that_is_certain_and_right():
    T = _centre(np.log(np.array([[[0.9999, 1e-4], [1e-4, 0.9999]] * 20], dtype=np.float32)))
    weights = _weigh(T, np.array([0, 1] * 20), np.array([1.0, 0, 0]))
    assert np.isfinite(weights).all()
    assert weights[0] > 0


def test_slow_learners_that_add_nothing_are_left_out_of_scoring():
    rng = np.random.default_rng(3)
    odds = rng.normal(scale=2, size=4000)
    y = (rng.random(4000) < 1 / (1 + np.exp(-odds))).astype(np.int64)
    said = {
        "linear": odds,
        "kernel": odds + rng.normal(scale=0.01, size=4000),
        "network": np.where(rng.random(4000) < 0.5, 0, odds) + rng.normal(scale=1.5, size=4000),
    }
    logs = [np.stack([-np.logaddexp(0, o), -np.logaddexp(0, -o)], axis=1) for o in said.values()]
    stage = Stage(1.0, 100, tuple(said), tuple(said), np.stack(logs).astype(np.float32))
    rows = np.arange(4000)
    kept = leave_out(stage, y, rows, ("kernel", "network"), 2e-4)
    assert pooled_loss(kept, y, rows) < pooled_loss(stage, y, rows) + 2e-4
    assert kept.learner == ("linear",)
    # What the pool needs stays, however slow it is, and so does the last one.
    assert leave_out(stage.only(("kernel", "network")), y, rows, ("kernel", "network"), 2e-4).learner == ("kernel",)
    assert leave_out(stage.only(("kernel",)), y, rows, ("kernel",), 1.0).learner == ("kernel",)
