"""Text problems: labels follow the posterior, lengths say nothing, floors are what is stored."""

import numpy as np
import pytest

from bayesfloor import DataError, ParameterError, problems
from bayesfloor.problems.texts import TEXTS, word_chains, word_shares


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_labels_follow_the_posterior_and_the_floor_is_its_mean_doubt(name: str) -> None:
    problem = problems.get(name)
    texts, y = problem.sample(6_000, random_state=1)
    P = problem.posterior(texts)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    # Errors of the best classifier less the doubt it has: mean 0, a variance that is known.
    missed, doubt = P.argmax(axis=1) != y, 1 - P.max(axis=1)
    assert abs((missed - doubt).mean()) < 4 * np.sqrt((doubt * (1 - doubt)).mean() / len(y))
    error = np.hypot(doubt.std() / np.sqrt(len(y)), problem.bayes_error_std)
    assert abs(doubt.mean() - problem.bayes_error) < 4 * error
    assert problem.bayes_error_std <= 2e-4


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_lengths_do_not_tell_the_class(name: str) -> None:
    texts, y = problems.get(name).sample(4_000, random_state=2)
    lengths = np.array([len(text.split()) for text in texts])
    for c in np.unique(y):
        own = lengths[y == c]
        assert abs(own.mean() - lengths.mean()) < 4 * lengths.std() / np.sqrt(len(own))


def test_the_posterior_of_a_short_text_is_bayes_rule() -> None:
    problem = word_shares(n_words=3, spread=1.0)  # not by `get`: its floor takes seconds, and nobody asks for it
    texts, y = problem.draw(60_000, np.random.default_rng(0))
    words = np.array([text.split()[0] for text in texts])
    for word in np.unique(words):
        share, n = (y[words == word] == 1).mean(), (words == word).sum()
        assert abs(share - problem.posterior([word])[0, 1]) < 4 * 0.5 / np.sqrt(n)
    chain = word_chains(n_words=3, spread=1.0)
    texts, y = chain.draw(60_000, np.random.default_rng(0))
    starts = np.array([" ".join(text.split()[:2]) for text in texts])
    for start in np.unique(starts[[len(s.split()) == 2 for s in starts]]):
        share, n = (y[starts == start] == 1).mean(), (starts == start).sum()
        assert abs(share - chain.posterior([start])[0, 1]) < 4 * 0.5 / np.sqrt(n)


def test_texts_that_are_none_of_its_own_are_named() -> None:
    problem = problems.get("words")
    with pytest.raises(DataError, match="row 1 has a word that the problem never draws: 'zebra'"):
        problem.posterior(["baba", "zebra"])
    assert problem.posterior([""]).tolist() == [[0.5, 0.5]]
    assert problems.names("texts") == ["words", "topics", "chains"]
    assert not set(problems.names("texts")) & set(problems.names())
    with pytest.raises(ParameterError, match="kind must be"):
        problems.names("sounds")
