"""Texts as counts: of words, of pairs of neighbouring words, and of short runs of characters.

What is counted in a text depends on that text alone. Which of the counts are used, and with what weight, is learned
from training rows: see `library/sparse_models.py`.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from ..errors import DataError, DataTypeError
from ..utils.checks import brief
from ..utils.parallel import available_memory
from .labels import is_missing

__all__ = ["TextCounts", "count_texts", "is_text_list", "text_list"]

_BITS = 22  # words, pairs and runs are hashed to so many bits each: memory is bounded, whatever the texts hold
_RUNS = (2, 3, 4)  # characters
_AT_A_TIME, _MOST_ROWS = 2**20, 2**18  # characters, and texts, that are counted together
_WORD = re.compile(r"\w+")
_ENTRY_BYTES = 16  # of a count: its number, its column, and room to move it


def is_text_list(X: Any) -> bool:
    """Whether this is one text per row: a list, an array or a series whose first value that is there is a text.

    Examples
    --------
    >>> is_text_list(["a text", "another"]), is_text_list([[1.0], [2.0]]), is_text_list("a text")
    (True, False, False)
    """
    if isinstance(X, str | bytes) or not hasattr(X, "__len__") or hasattr(X, "columns"):
        return False
    shape = X.shape if hasattr(X, "shape") else (len(X),)  # an array of no dimension has no length
    if len(shape) != 1 and tuple(shape[1:]) != (1,):
        return False
    kind = getattr(getattr(X, "dtype", None), "kind", "O")
    if kind in "biufcmM" or not len(X):
        return False
    if kind in "UST":
        return True
    try:
        first = next((value for value in (np.ravel(X) if hasattr(X, "shape") else X) if not is_missing(value)), None)
    except Exception:  # what cannot be looked through is no list
        return False
    return isinstance(first, str)


def text_list(X: Any) -> NDArray[Any]:
    """The texts as an array of Python's; refuse what is missing, and what is no text.

    Examples
    --------
    >>> text_list(["a", None])
    Traceback (most recent call last):
    ...
    bayesfloor.errors.DataError: 1 of 2 texts is missing (None or NaN), the first in row 1: drop such rows, or put an...
    """
    if isinstance(X, str | bytes) or not hasattr(X, "__len__") or hasattr(X, "columns") or hasattr(X, "nnz"):
        raise DataTypeError(f"texts must be a list, an array or a series of them, one per row; got {type(X).__name__}")
    values = X.tolist() if hasattr(X, "tolist") else X.to_list() if hasattr(X, "to_list") else list(X)
    if values and isinstance(values[0], list):  # an array of one column
        values = [row[0] for row in values]
    missing = [row for row, value in enumerate(values) if is_missing(value)]
    if missing:
        is_are = "text is" if len(values) == 1 else "texts is" if len(missing) == 1 else "texts are"
        raise DataError(
            f"{len(missing)} of {len(values)} {is_are} missing (None or NaN), the first in row {missing[0]}: drop such "
            "rows, or put an empty text in their place"
        )
    texts = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):
        if not isinstance(value, str):
            hint = ": decode it first" if isinstance(value, bytes) else ""
            raise DataTypeError(
                f"X is a list of texts, but row {row} holds {brief(value, 40)}, a {type(value).__name__}{hint}; give "
                "one text per row, or a frame with a column for each kind of value"
            )
        texts[row] = str(value)
    return texts


@dataclass(frozen=True, eq=False)
class TextCounts:
    """What texts hold, and how often.

    Attributes
    ----------
    words, pairs, runs : scipy.sparse.csr_array
        Counts of words, pairs of neighbouring words, and runs of two to four characters; a row for each text. What only
        one text has is left out: nothing can be learned from it.
    n_empty : int
        Texts without a single letter or digit.
    """

    words: csr_array
    pairs: csr_array
    runs: csr_array
    n_empty: int


def count_texts(texts: Sequence[str] | NDArray[Any]) -> TextCounts:
    """Count words, pairs of words and runs of characters, without regard to upper and lower case.

    Examples
    --------
    >>> counts = count_texts(["Red wine, red", "red wine", "white WINE"])
    >>> counts.words.toarray().sum(axis=0).tolist(), counts.pairs.shape
    ([3.0, 3.0], (3, 1))
    """
    from sklearn.feature_extraction import FeatureHasher

    n = len(texts)
    hasher = FeatureHasher(2**_BITS, alternate_sign=False)
    parts: dict[str, list[csr_array]] = {name: [csr_array((0, 2**_BITS))] for name in _COUNTED}
    entries, most = 0, available_memory() // 2
    for start, stop in _batches(texts):
        lowered = [_lower(text) for text in texts[start:stop]]
        for name, count in _COUNTED.items():
            parts[name].append(csr_array(hasher.transform(map(count, lowered))))
            entries += parts[name][-1].nnz
        if entries / stop * n * _ENTRY_BYTES > most and entries * _ENTRY_BYTES > most // 8:
            raise DataError(
                f"the counts of {n:,} texts would take about {entries / stop * n * _ENTRY_BYTES / 2**30:.1f} GiB of "
                f"memory, of which {2 * most / 2**30:.1f} are free: take a sample of the rows"
            )
    whole = {name: csr_array(vstack(found, format="csr")) for name, found in parts.items()}
    n_empty = int((np.diff(whole["words"].indptr) == 0).sum())
    return TextCounts(**{name: _in_two_rows(matrix) for name, matrix in whole.items()}, n_empty=n_empty)


def _batches(texts: Sequence[str] | NDArray[Any]) -> Iterator[tuple[int, int]]:
    """Rows that are counted together: as many as have so many characters, one at least."""
    start, size = 0, 0
    for row, text in enumerate(texts):
        if (size and size + len(text) > _AT_A_TIME) or row - start >= _MOST_ROWS:
            yield start, row
            start, size = row, 0
        size += len(text)
    if len(texts):
        yield start, len(texts)


def _lower(text: str) -> str:
    """In lower case, and halves of surrogates replaced, which cannot be hashed."""
    return text.lower().encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _pairs(text: str) -> Counter[str]:
    return Counter(map(" ".join, pairwise(_WORD.findall(text))))


def _runs(text: str) -> Counter[str]:
    """Runs of characters; what is between words is one space, and so are beginning and end."""
    words = text.split()
    spaced = f" {' '.join(words)} " if words else ""
    return Counter(spaced[i : i + size] for size in _RUNS for i in range(len(spaced) - size + 1))


_COUNTED = {"words": lambda text: Counter(_WORD.findall(text)), "pairs": _pairs, "runs": _runs}


def _in_two_rows(matrix: csr_array) -> csr_array:
    """Columns that two rows have at least."""
    return csr_array(matrix[:, np.flatnonzero(np.bincount(matrix.indices, minlength=matrix.shape[1]) > 1)])
