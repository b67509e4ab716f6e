"""Learners for sparse rows, against posteriors that are known."""

import math

import numpy as np
from scipy import sparse
from sklearn.metrics import log_loss

from bayesfloor import problems
from bayesfloor.library import sparse_models
from bayesfloor.library.fold import Fold, Unseen
from bayesfloor.library.sparse_columns import open_sparse, singular_directions
from bayesfloor.problems.texts import word_shares
from bayesfloor.rows.sparse import sparse_rows, text_rows
from bayesfloor.utils.parallel import Threads


def split(rows, y, n_train: int, n_classes: int) -> tuple[Fold, Unseen]:
    train, test = np.arange(n_train), np.arange(n_train, len(y))
    fold = Fold(np.zeros((n_train, 1)), y[:n_train], n_classes, 0, parts={"sparse": rows[train]})
    return fold, Unseen(fold, np.zeros((len(test), 1)), {"sparse": rows[test]})


def without_floor(distribution) -> problems.Problem:
    """A variant whose floor nobody asks for: it takes seconds to simulate."""
    return problems.Problem("variant", distribution, math.nan, math.nan)


def test_naive_bayes_is_near_the_posterior_of_words_that_are_independent() -> None:
    problem = without_floor(word_shares(spread=0.4))
    texts, y = problem.sample(3_000, random_state=0)
    fold, unseen = split(text_rows(texts), y, 1_500, 2)
    P = problem.posterior(texts[1_500:])
    best = log_loss(y[1_500:], P)
    shares = log_loss(y[1_500:], np.full((1_500, 2), 0.5))
    losses = {
        name: log_loss(y[1_500:], np.exp(model(unseen))) for name, model in sparse_models.naive_bayes(fold).items()
    }
    assert set(losses) == {"naive bayes words", "naive bayes runs", "complement bayes"}
    assert losses["naive bayes words"] < best + 0.2 * (shares - best)
    assert losses["naive bayes words"] < losses["naive bayes runs"]


def test_negative_numbers_have_no_naive_bayes_but_a_linear_model() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = rng.normal(size=(300, 150)) * (rng.random((300, 150)) < 0.1)
    X[:, 0] = 2 * y - 1 + rng.normal(size=300)
    fold, unseen = split(sparse_rows(sparse.csr_array(X)), y, 200, 2)
    assert sparse_models.naive_bayes(fold) == {}
    errors = [(m(unseen).argmax(axis=1) != y[200:]).mean() for m in sparse_models.sparse_linear(fold).values()]
    assert min(errors) < 0.35


def test_weights_come_from_the_rows_they_are_learned_from() -> None:
    rows = sparse_rows(sparse.csr_array(np.array([[1.0, 0, 3, 1], [2, 1, 0, 0], [0, 0, 0, 1], [1, 1, 2, 0]])))
    free = rows[np.array([0, 1, 2])]
    weights = sparse_models.Weights.of(free)
    assert weights.kept[0].tolist() == [0, 3]  # the others are in one of the three rows only
    np.testing.assert_allclose(weights.weights[0].idf_, np.log(4 / 3) + 1)
    found = weights.apply(rows).toarray()
    np.testing.assert_allclose(np.sqrt((found**2).sum(axis=1)), [1, 1, 1, 1])
    np.testing.assert_allclose(found[0], [np.sqrt(0.5), np.sqrt(0.5)])


def test_singular_directions_are_those_of_numpy() -> None:
    rng = np.random.default_rng(0)
    A = (rng.normal(size=(200, 5)) * [9, 7, 5, 3, 2]) @ rng.normal(size=(5, 120)) + 0.01 * rng.normal(size=(200, 120))
    axes = singular_directions(sparse.csr_array(A), 5, rng)
    exact = np.linalg.svd(A, full_matrices=False)[2][:5].T
    np.testing.assert_allclose(np.abs(np.diag(axes.T @ exact)), 1, atol=1e-6)
    assert (axes[np.abs(axes).argmax(axis=0), np.arange(5)] > 0).all()
    assert singular_directions(sparse.csr_array(A[:3]), 60, rng).shape == (120, 3)
    assert singular_directions(sparse.csr_array((9, 4)), 60, rng).shape == (4, 0)


def test_the_view_is_the_same_whatever_rows_come_with_a_row() -> None:
    texts, _ = problems.get("words").sample(200, random_state=0)
    raw, _ = open_sparse(text_rows(texts))
    encoder = raw.representation.learn(raw.rows[np.arange(150)], np.random.default_rng(0), Threads(1), None)
    whole = encoder.apply(raw.rows, Threads(1), None)
    some = encoder.apply(raw.rows[np.array([190, 3])], Threads(1), None)
    np.testing.assert_allclose(whole.columns[[190, 3]], some.columns, atol=1e-12)
    assert some.parts["given"].tolist() == [texts[190], texts[3]]


def test_models_do_not_depend_on_rows_that_they_are_not_trained_on() -> None:
    """What is certified on held-out rows must be the same classifier whatever these rows hold."""
    rng = np.random.default_rng(0)
    vocabulary = [f"word{i}" for i in range(300)]
    texts = [" ".join(rng.choice(vocabulary, 12)) for _ in range(260)]
    y = np.arange(260) % 2
    fold, unseen = split(text_rows(texts[:160]), y[:160], 120, 2)
    other_fold, other_unseen = split(text_rows(texts), y, 120, 2)
    for learner in sparse_models.LEARNERS.values():
        models, others = learner(fold), learner(other_fold)
        assert list(models) == list(others)
        for name in models:
            np.testing.assert_allclose(models[name](unseen), others[name](other_unseen)[:40], atol=1e-9, err_msg=name)
