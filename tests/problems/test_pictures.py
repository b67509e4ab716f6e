"""Problems of pictures: posteriors against plain sums, floors against draws."""

import numpy as np
import pytest

import bayesfloor as bf
from bayesfloor import problems
from bayesfloor.problems.pictures import noisy_blobs, shifted_templates


def test_names_by_kind():
    assert problems.names("images") == ["templates", "many_templates", "blobs"]
    assert not set(problems.names("images")) & set(problems.names())
    with pytest.raises(bf.ParameterError, match="kind must be None or one of images"):
        problems.names("sounds")


def test_posterior_of_templates_is_the_plain_sum():
    distribution = shifted_templates(side=8, n_classes=3, reach=1, noise=2.0)
    X, _ = distribution.draw(5, np.random.default_rng(0))
    from bayesfloor.problems.pictures import _smooth

    templates = _smooth(3, 8, 3)
    densities = np.zeros((5, 3))
    for i, c, a, b in np.ndindex(5, 3, 3, 3):
        moved = np.roll(np.roll(templates[c], a - 1, axis=0), b - 1, axis=1)
        densities[i, c] += np.exp(-((X[i] - moved) ** 2).sum() / (2 * 2.0**2) + 40)
    np.testing.assert_allclose(distribution.posterior(X), densities / densities.sum(axis=1, keepdims=True), atol=1e-12)


@pytest.mark.parametrize("name", problems.names("images"))
def test_posterior_is_calibrated_on_draws(name):
    problem = problems.get(name)
    X, y = problem.sample(4_000, random_state=1)
    assert X.ndim == 3
    assert problem.kind == "images"
    P = problem.posterior(X)
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(problem.posterior(X.reshape(len(X), -1)), P)
    # Errors of the best rule: their number, what the posterior expects, and the floor, within four standard errors.
    error = (P.argmax(axis=1) != y).mean()
    margin = 4 * np.sqrt(problem.bayes_error * (1 - problem.bayes_error) / len(y))
    assert error == pytest.approx(problem.bayes_error, abs=margin)
    assert 1 - P.max(axis=1).mean() == pytest.approx(problem.bayes_error, abs=margin)
    for c in range(problem.n_classes):
        chance = P[:, c]
        assert (y == c).mean() == pytest.approx(chance.mean(), abs=4 * np.sqrt((chance * (1 - chance)).mean() / len(y)))


def test_clean_labels_of_blobs_can_be_read_off_the_picture():
    distribution = noisy_blobs(rho=0.0)
    X, y = distribution.draw(500, np.random.default_rng(0))
    np.testing.assert_array_equal(distribution.posterior(X).argmax(axis=1), y)
    quiet = noisy_blobs(rho=0.0, grain=0.0)
    X, y = quiet.draw(500, np.random.default_rng(0))
    assert len(np.unique(y)) == 4
    at_brightest = X.reshape(500, -1).argmax(axis=1)
    at_darkest = X.reshape(500, -1).argmin(axis=1)
    np.testing.assert_array_equal(
        2 * (at_brightest // 16 > at_darkest // 16) + (at_brightest % 16 > at_darkest % 16), y
    )


def test_parameters_are_checked():
    for wrong in ({"reach": 9}, {"side": 3}, {"noise": 0}, {"n_classes": 1}):
        with pytest.raises(bf.ParameterError):
            problems.get("templates", **wrong)
    assert problems.get("blobs", rho=0.4).bayes_error == pytest.approx(0.3)


def test_the_arena_hands_pictures_to_who_knows_them():
    shapes = {}

    def knows(X, y, random_state=0, kind=None):
        shapes["knows"] = (X.shape, kind)
        return 0.1

    def columns(X, y, random_state=0):
        shapes["columns"] = X.shape
        return 0.1

    bf.arena.run({"knows": knows, "columns": columns}, ["blobs"], sizes=[50], n_seeds=1, n_jobs=1)
    assert shapes == {"knows": ((50, 16, 16), "images"), "columns": (50, 256)}
