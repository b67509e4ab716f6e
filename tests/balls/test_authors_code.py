"""The estimator of the authors' code, against plain loops and against what their code is known to answer."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.neighbors import KernelDensity

import naive
from bayesfloor import ParameterError, problems
from bayesfloor.classical import authors_code

FIGURE_2 = {250: 0.0075, 1000: 0.0074, 4000: 0.0057}  # means of their code on two 10-d Gaussians, floor 0.0062


def plain_loops(X, y, radii, weights):
    """Their formula, a row at a time: shares applied to counts that carry them already, errors averaged."""
    n_classes = int(y.max()) + 1
    priors = np.bincount(y) / len(y)
    counts = naive.ball_counts(X, y, n_classes, radii)
    estimate = 0.0
    for radius, weight in enumerate(weights):
        error = 1 - priors[0]
        for i in range(1, n_classes):
            kept = []
            for row in np.flatnonzero(y == i):
                own = counts[row, i, radius] + 1
                ratio = max(priors[r] * counts[row, r, radius] / (priors[i] * own) for r in range(i))
                kept.append(max(0.0, 1 - ratio))
            error -= priors[i] * np.mean(kept)
        estimate += weight * error
    return estimate


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_is_the_formula_of_their_code(n_classes):
    rng = np.random.default_rng(n_classes)
    y = np.minimum(rng.integers(0, n_classes + 2, 120), n_classes - 1)  # unequal shares, which count twice
    X = rng.normal(size=(120, 10))
    X[:, 0] += y
    base = np.sort(np.linalg.norm(X[:, None] - X[None], axis=2), axis=1)[:, 9].mean()
    nodes = np.cos(np.pi * (np.arange(3) + 0.5) / 3) / 2 + 0.5
    weights = np.array([2 / 3 * (2 - 2 * s) - 1 / 3 for s in nodes])  # T*_0(0) = 1, T*_1(0) = -1
    expected = plain_loops(X, y, base * (1 + 0.5 * nodes), weights)
    assert authors_code(X, y) == pytest.approx(expected, abs=1e-12)


@pytest.mark.filterwarnings("ignore:One or more of the test scores", "ignore:invalid value")
def test_small_tables_take_the_bandwidth_that_cross_validation_finds():
    X, y = problems.get("moons").sample(300, random_state=0)
    fold = np.random.default_rng(1).permutation(300) % 20
    widths = np.linspace(0.2, 1.5, 15) * np.linalg.norm(X.std(axis=0))
    search = GridSearchCV(KernelDensity(kernel="tophat"), {"bandwidth": widths}, cv=PredefinedSplit(fold)).fit(X)
    nodes = np.cos(np.pi * (np.arange(3) + 0.5) / 3) / 2 + 0.5
    weights = np.array([2 / 3 * (2 - 2 * s) - 1 / 3 for s in nodes])
    expected = plain_loops(X, y, search.best_params_["bandwidth"] * (1 + 0.3 * nodes), weights)
    assert authors_code(X, y, random_state=1, alpha=0.3) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("weights", ["arithmetic", "uniform"])
def test_other_weights(weights):
    X, y = problems.get("gaussians_10d").sample(500, random_state=0)
    assert 0 <= authors_code(X, y, weights=weights) < 0.03


def test_too_few_nodes_are_refused():
    with pytest.raises(ParameterError, match="n_nodes"):
        authors_code([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1], n_nodes=2)


@pytest.mark.slow
@pytest.mark.parametrize("n", FIGURE_2)
def test_it_answers_what_figure_2_shows(n):
    problem = problems.get("gaussians_10d")
    answers = [authors_code(*problem.sample(n, random_state=[seed, n]), n_jobs=1) for seed in range(50)]
    noise = np.std(answers, ddof=1) / np.sqrt(len(answers))
    assert abs(np.mean(answers) - FIGURE_2[n]) <= max(0.0015, 4 * noise)
