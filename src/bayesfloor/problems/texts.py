"""Families of texts whose posterior is known exactly: words drawn one by one, or one after the other.

The length of a text says nothing about its class.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import log_softmax

from .._types import Codes, Floats
from ..errors import DataError
from ..utils.checks import brief, check_number, check_positive, check_whole
from .families import Distribution

__all__ = ["TEXTS", "word_chains", "word_shares"]

Generator = np.random.Generator
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"


def word_shares(
    n_words: int = 500, n_classes: int = 2, spread: float = 0.3, length: float = 30.0, seed: int = 0
) -> Distribution:
    """Words drawn independently of each other, with shares that differ from class to class.

    Parameters
    ----------
    n_words, n_classes : int
    spread : float
        Standard deviation of the logarithm of a word's share over the classes; on average shares follow Zipf's law.
    length : float
        Mean number of words of a text, which is a Poisson number and 1.
    seed : int
        Of the shares.
    """
    n_words, n_classes = check_whole("n_words", n_words, 2), check_whole("n_classes", n_classes, 2)
    spread, length = check_number("spread", spread, 0, 10), check_positive("length", length)
    rng = np.random.default_rng([1, check_whole("seed", seed, 0)])
    logs = _zipf(n_words) + spread * rng.standard_normal((n_classes, n_words))
    return _texts(log_softmax(logs, axis=1), None, length)


def word_chains(
    n_words: int = 60, n_classes: int = 2, spread: float = 0.3, length: float = 40.0, seed: int = 0
) -> Distribution:
    """Markov chains over words: how often one follows another differs from class to class.

    Parameters
    ----------
    n_words, n_classes : int
    spread : float
        Standard deviation, over the classes, of the logarithm of the probability that a word follows another.
    length : float
        Mean number of words of a text, which is a Poisson number and 1.
    seed : int
        Of the chains.
    """
    n_words, n_classes = check_whole("n_words", n_words, 2), check_whole("n_classes", n_classes, 2)
    spread, length = check_number("spread", spread, 0, 10), check_positive("length", length)
    rng = np.random.default_rng([2, check_whole("seed", seed, 0)])
    start = np.tile(log_softmax(_zipf(n_words)), (n_classes, 1))
    steps = _zipf(n_words) + spread * rng.standard_normal((n_classes, n_words, n_words))
    return _texts(start, log_softmax(steps, axis=2), length)


# Name: family and its parameters.
TEXTS: dict[str, tuple[Callable[..., Distribution], dict[str, Any]]] = {
    "words": (word_shares, {}),
    "topics": (word_shares, {"n_classes": 5, "spread": 0.4}),
    "chains": (word_chains, {}),
}


def _zipf(n_words: int) -> Floats:
    return -np.log(np.arange(n_words) + 3.0)


def _texts(start: Floats, steps: Floats | None, length: float) -> Distribution:
    """Texts of words with these log-probabilities: the first one, and each after another (None: all like the first)."""
    n_classes, n_words = start.shape
    words = np.array([_word(i) for i in range(n_words)], dtype=object)
    place = {word: i for i, word in enumerate(words)}
    priors = np.full(n_classes, 1 / n_classes)
    # Cumulative shares one after the other, each with its number added: one search finds a word in any of them.
    first = _one_after_another(start)
    after = first if steps is None else _one_after_another(steps.reshape(-1, n_words))

    def draw(n: int, rng: Generator) -> tuple[Any, Codes]:
        y = rng.integers(0, n_classes, n)
        lengths = 1 + rng.poisson(length - 1 if length > 1 else 0.0, n)
        tokens = np.zeros((n, int(lengths.max())), dtype=np.int64)
        for at in range(tokens.shape[1]):
            chained = steps is not None and at > 0
            number = y * n_words + tokens[:, at - 1] if chained else y
            found = np.searchsorted(after if chained else first, number + rng.random(n), "right")
            tokens[:, at] = np.minimum(found - number * n_words, n_words - 1)
        texts = np.empty(n, dtype=object)
        for row, (found, size) in enumerate(zip(words[tokens], lengths, strict=True)):
            texts[row] = " ".join(found[:size])
        return texts, y

    def posterior(X: Any) -> Floats:
        logs = np.empty((len(X), n_classes))
        for row, text in enumerate(X):
            logs[row] = _log_likelihoods(_codes(text, place, row), start, steps)
        return np.asarray(np.exp(log_softmax(logs, axis=1)))

    return Distribution(n_words, priors, draw, posterior, None, kind="texts")


def _one_after_another(logs: Floats) -> Floats:
    cumulative = np.cumsum(np.exp(logs), axis=1)
    cumulative[:, -1] = 1.0  # a sum may end just below it
    return np.asarray((cumulative + np.arange(len(logs))[:, None]).ravel())


def _log_likelihoods(codes: Codes, start: Floats, steps: Floats | None) -> Floats:
    if not len(codes):
        return np.zeros(len(start))
    if steps is None:
        return np.asarray(start[:, codes].sum(axis=1))
    return np.asarray(start[:, codes[0]] + steps[:, codes[:-1], codes[1:]].sum(axis=1))


def _codes(text: Any, place: dict[str, int], row: int) -> Codes:
    """Words of a text by number."""
    try:
        return np.array([place[word] for word in text.split()], dtype=np.int64)
    except KeyError as error:
        raise DataError(f"the text in row {row} has a word that the problem never draws: {error}") from None
    except AttributeError:
        raise DataError(f"row {row} must be a text, got {brief(text)}") from None


def _word(number: int) -> str:
    """A word that can be spoken, another for each number.

    Examples
    --------
    >>> [_word(i) for i in (0, 1, 100)]
    ['baba', 'babe', 'bema']
    """
    syllables, left = "", number
    for _ in range(2 if number < 70 * 70 else 4):
        left, at = divmod(left, 70)
        syllables = _CONSONANTS[at // 5] + _VOWELS[at % 5] + syllables
    return syllables
