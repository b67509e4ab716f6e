"""The race: which learners go on after the quarter models, and what may decide it."""

import numpy as np
import pytest

import bayesfloor as bf
from bayesfloor.library.cross_fit import cross_fit
from bayesfloor.library.image_learners import IMAGE_LEARNERS
from bayesfloor.library.learners import KINDS, LIBRARY
from bayesfloor.library.pool import Stage
from bayesfloor.library.race import _is_worse, survivors

N = 2000
ROWS = np.arange(N)


def posteriors(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds of two classes, and labels drawn from them."""
    odds = rng.normal(scale=2, size=N)
    return odds, (rng.random(N) < 1 / (1 + np.exp(-odds))).astype(np.int64)


def stage(odds: dict[tuple[str, str], np.ndarray]) -> Stage:
    """Predictions with these log-odds, by learner and setting."""
    logs = [np.stack([-np.logaddexp(0, o), -np.logaddexp(0, -o)], axis=1) for o in odds.values()]
    names, learners = tuple(s for _, s in odds), tuple(learner for learner, _ in odds)
    return Stage(0.25, 100, names, learners, np.stack(logs).astype(np.float32))


def test_who_adds_nothing_to_the_pool_is_left_behind():
    rng = np.random.default_rng(0)
    odds, y = posteriors(rng)
    good, bad = odds + rng.normal(scale=0.3, size=N), odds + rng.normal(scale=6, size=N)
    stages = [
        stage({("additive", "additive 5"): good, ("quadratic", "quadratic 1"): bad, ("network", "network 4"): bad})
    ] * 2
    # Both of the first are linear models, the network is the only one of its kind.
    assert survivors(stages, y, ROWS) == {"additive": ["additive 5"], "network": ["network 4"]}


def test_who_is_worse_but_of_use_to_the_pool_goes_on():
    rng = np.random.default_rng(1)
    odds, y = posteriors(rng)
    part = np.where(ROWS < N // 4, odds, 0)  # knows what the other does not
    other = np.where(ROWS < N // 4, 0, odds)
    assert set(
        survivors([stage({("gaussian", "sphere"): other, ("quadratic", "quadratic 1"): part})] * 2, y, ROWS)
    ) == {"gaussian", "quadratic"}


def test_nobody_is_left_behind_in_noise():
    rng = np.random.default_rng(2)
    y = rng.integers(2, size=N)
    told = {("gaussian", "sphere"): rng.normal(size=N), ("quadratic", "quadratic 1"): rng.normal(scale=9, size=N)}
    assert survivors([stage(told)] * 2, y, ROWS) == {"gaussian": ["sphere"], "quadratic": ["quadratic 1"]}


@pytest.mark.parametrize(
    ("best", "kept"), [(0, ["linear 0.01", "linear 0.3"]), (1, ["linear 0.3", "linear 10"]), (2, ["linear 10"])]
)
def test_the_next_more_flexible_setting_goes_on(best, kept):
    rng = np.random.default_rng(3)
    odds, y = posteriors(rng)
    names = ["linear 0.01", "linear 0.3", "linear 10"]
    told = {("linear", name): odds + (0 if j == best else 5) * rng.normal(size=N) for j, name in enumerate(names)}
    assert survivors([stage(told)] * 2, y, ROWS) == {"linear": kept}


def test_rows_of_one_group_are_one_observation():
    groups = np.repeat(np.arange(40), N // 40)
    difference = np.random.default_rng(4).normal(size=40)
    worse = (difference - difference.mean() + 0.1)[groups]
    assert _is_worse(worse, np.zeros(N), None, 3.0)
    assert not _is_worse(worse, np.zeros(N), groups, 3.0)
    assert _is_worse(worse + 1, np.zeros(N), groups, 3.0)


def test_labels_of_held_out_rows_have_no_say(use_learners):
    use_learners("quadratic", "additive", "gaussian", "neighbours")
    X, y = bf.problems.get("gaussians_10d", shift=2).sample(800, 0)
    first = cross_fit(X, y, 2)
    assert first.left_behind
    other = y.copy()
    other[first.fold == 0] = 1 - other[first.fold == 0]

    def same_folds(labels, groups, rng):
        rng.permutation(len(y))
        return first.fold

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bayesfloor.library.cross_fit.assign_folds", same_folds)
        one, two = cross_fit(X, y, 2), cross_fit(X, other, 2)
    assert one.library.kept == two.library.kept


def test_left_behind_are_named_and_own_classifiers_go_on(use_learners):
    use_learners("neighbours", "weighted neighbours", "gaussian")
    from sklearn.dummy import DummyClassifier

    X, y = bf.problems.get("gaussians_10d", shift=2).sample(800, 0)
    result = bf.estimate(X, y, classifiers={"mine": DummyClassifier()}, n_jobs=1)
    assert result.settings["left_behind"] == ["neighbours"]
    assert {score.learner for score in result.learners} == {"weighted neighbours", "gaussian", "mine"}


def test_kinds_are_of_learners_there_are():
    assert set(KINDS) <= {*LIBRARY, *IMAGE_LEARNERS}
