"""Texts counted: what is in each, whatever its script, and what is no text."""

import numpy as np
import pandas as pd
import pytest

from bayesfloor import DataError, DataTypeError
from bayesfloor.rows.sparse import text_rows
from bayesfloor.rows.texts import count_texts, is_text_list, text_list


def counted(texts: list[str]) -> dict[str, list[int]]:
    """Counts by word, found from texts of one word each."""
    words = sorted({word for text in texts for word in text.lower().split()})
    counts = count_texts([*texts, *words, *words]).words.toarray()
    found = {}
    for i, word in enumerate(words):
        (column,) = np.flatnonzero(counts[len(texts) + i])
        found[word] = counts[: len(texts), column].astype(int).tolist()
    return found


def test_words_are_counted_as_a_plain_loop_counts_them() -> None:
    rng = np.random.default_rng(0)
    vocabulary = ["red", "Wine", "naïve", "мир", "世界", "42", "b"]
    texts = [" ".join(rng.choice(vocabulary, rng.integers(0, 9))) for _ in range(40)]
    for word, counts in counted(texts).items():
        assert counts == [text.lower().split().count(word) for text in texts]


def test_runs_of_characters_do_not_reach_from_one_text_into_the_next() -> None:
    alone = count_texts(["ab", "ab", "cd", "cd"]).runs
    assert alone.sum(axis=1).tolist() == [6.0] * 4  # of " ab ": three of two, two of three, one of four
    assert (alone[[0]] != alone[[1]]).nnz == 0
    assert alone[[0]].multiply(alone[[2]]).nnz == 0


def test_the_order_of_texts_does_not_show() -> None:
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(list("abcdefgh"), 6)) for _ in range(60)]
    order = rng.permutation(60)
    straight, turned = count_texts(texts), count_texts([texts[i] for i in order])
    for name in ("words", "pairs", "runs"):
        assert abs(getattr(straight, name)[order] - getattr(turned, name)).sum() == 0


def test_a_text_of_a_megabyte_beside_short_ones_is_counted_in_batches() -> None:
    long = "word " * 250_000
    counts = count_texts(["word", long, "other word", long])
    assert counts.words.toarray()[:, 0].tolist() == [1, 250_000, 1, 250_000]
    assert counts.runs.nnz < 200


@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series, lambda t: np.array(t, dtype=object)[:, None]])
def test_what_texts_may_come_in(kind) -> None:
    texts = ["one text", "another text", "", "мир 世界"]
    assert is_text_list(kind(texts))
    assert text_list(kind(texts)).tolist() == texts


def test_what_is_no_list_of_texts() -> None:
    for other in (
        "one text",
        b"bytes",
        [[1.0]],
        np.zeros(3),
        [1, 2],
        [],
        None,
        pd.DataFrame({"a": ["x"]}),
        np.array([["a", "b"]]),
    ):
        assert not is_text_list(other)
    with pytest.raises(DataError, match=r"2 of 3 texts are missing .*first in row 1"):
        text_rows(["a", None, float("nan")])
    with pytest.raises(DataTypeError, match=r"row 1 holds 3.5, a float"):
        text_rows(["a", 3.5])
    with pytest.raises(DataTypeError, match="a bytes: decode it first"):
        text_rows(["a", b"b"])
    with pytest.raises(DataError, match="0 rows"):
        text_rows([])
    with pytest.raises(DataError, match="nothing to learn from"):
        text_rows(["", "", ""])


def test_empty_texts_are_told() -> None:
    assert text_rows(["a text", "", "a text", "!?"]).notes == ("2 of 4 texts hold no letter or digit",)


def test_half_a_surrogate_is_a_character() -> None:
    assert count_texts(["\ud800 lone", "\ud800 lone"]).words.nnz > 0
