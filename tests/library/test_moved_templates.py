"""Templates that are moved by some pixels, in noise."""

import numpy as np
import pytest

import bayesfloor as bf
from bayesfloor.library.image_learners import MovedTemplates


@pytest.fixture(scope="module")
def drawn():
    problem = bf.problems.get("templates")  # three classes, moved by up to one pixel
    X, y = problem.sample(1500, random_state=0)
    return problem, X[..., None], y


def learned(X: np.ndarray, y: np.ndarray, reach: int) -> MovedTemplates:
    found = MovedTemplates.start(X, y, int(y.max()) + 1)
    for step in range(1, reach + 1):
        found = found.reaching(step)
        for _ in range(12):
            found = found.improved(X, y)
    return found


def test_the_posterior_of_moved_templates_is_nearly_found(drawn) -> None:
    problem, X, y = drawn
    X_new, y_new = problem.sample(6000, random_state=1)
    found = learned(X, y, 1)
    error = (found.scores(X_new[..., None]).argmax(axis=1) != y_new).mean()
    means_alone = (MovedTemplates.start(X, y, 3).scores(X_new[..., None]).argmax(axis=1) != y_new).mean()
    noise = 4 * np.sqrt(0.125 * 0.875 / 6000)
    assert error < problem.bayes_error + 0.02 + noise
    assert means_alone > problem.bayes_error + 0.1
    assert found.variance == pytest.approx(16, rel=0.02)
    # Nine moves are equally probable. Their shares among 500 rows vary 1.3 times as much as if each row told its own.
    assert found.chances == pytest.approx(np.full((3, 9), 1 / 9), abs=4 * 1.3 * np.sqrt(1 / 9 * 8 / 9 / 500))


def test_moves_of_no_use_are_given_up(drawn) -> None:
    _, X, y = drawn
    farther = learned(X, y, 2).chances.reshape(3, 5, 5)
    outside = 1 - np.array([max(c[i : i + 3, j : j + 3].sum() for i in range(3) for j in range(3)) for c in farther])
    assert (outside < 0.35).all()  # 16 of the 25 moves


def test_a_class_without_rows_and_pictures_without_noise() -> None:
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(2, 8, 8, 3)), 20, axis=0)
    y = np.repeat([0, 2], 20)
    found = MovedTemplates.start(X, y, 3).reaching(1).improved(X, y)
    scores = found.scores(X)
    assert np.isfinite(scores).all()
    assert (scores[:, [0, 2]].argmax(axis=1) == np.repeat([0, 1], 20)).all()
