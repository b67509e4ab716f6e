"""Texts as counts: of words, of pairs of neighbouring words, and of short runs of characters.

What is counted in a text depends on that text alone. Which of the counts are used, and with what weight, is learned
from training rows: see `library/sparse_models.py`.
"""

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from .._types import Keys, Mask, RowNumbers
from ..errors import DataError, DataTypeError
from ..utils.checks import brief
from ..utils.parallel import available_memory
from .labels import is_missing

__all__ = ["TextCounts", "count_texts", "is_text_list", "text_list"]

_BITS = 22  # words, pairs and runs are hashed to so many bits each: memory is bounded, whatever the texts hold
_RUNS = (2, 3, 4)  # characters
_AT_A_TIME, _MOST_ROWS = 2**20, 2**18  # characters, and texts, that are counted together
_WORD = re.compile(r"\w+")
_ODD = np.uint64(0x9E3779B97F4A7C15)
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
    first, second : ndarray
        Columns of the two words of each pair.
    n_empty : int
        Texts without a single letter or digit.
    """

    words: csr_array
    pairs: csr_array
    runs: csr_array
    first: RowNumbers
    second: RowNumbers
    n_empty: int


def count_texts(texts: Sequence[str] | NDArray[Any]) -> TextCounts:
    """Count words, pairs of words and runs of characters, without regard to upper and lower case.

    Examples
    --------
    >>> counts = count_texts(["Red wine, red", "red wine", "white WINE"])
    >>> counts.words.toarray().sum(axis=0).tolist(), counts.pairs.shape
    ([3.0, 3.0], (3, 1))
    """
    n = len(texts)
    parts: dict[str, list[csr_array]] = {"words": [], "pairs": [], "runs": []}
    entries, most = 0, available_memory() // 2
    for start, stop in _batches(texts):
        lowered = [texts[row].lower() for row in range(start, stop)]
        found = {**_count_words(lowered), "runs": _count_runs(lowered)}
        for name, matrix in found.items():
            parts[name].append(matrix)
            entries += matrix.nnz
        if entries / stop * n * _ENTRY_BYTES > most and entries * _ENTRY_BYTES > most // 8:
            raise DataError(
                f"the counts of {n:,} texts would take about {entries / stop * n * _ENTRY_BYTES / 2**30:.1f} GiB of "
                f"memory, of which {2 * most / 2**30:.1f} are free: take a sample of the rows"
            )
    whole = {name: _stack(found, n) for name, found in parts.items()}
    # A pair is the numbers of its two words, of which there are too many for columns: those that are there get one.
    pairs = whole["pairs"]
    both, columns = np.unique(pairs.indices, return_inverse=True)
    shape = (n, max(len(both), 1))
    whole["pairs"] = csr_array((pairs.data, columns.astype(np.int32), pairs.indptr), shape=shape)
    n_empty = int((np.diff(whole["words"].indptr) == 0).sum())
    kept = {name: np.bincount(matrix.indices, minlength=matrix.shape[1]) > 1 for name, matrix in whole.items()}
    place = np.cumsum(kept["words"]) - 1
    both = both[kept["pairs"][: len(both)]]
    return TextCounts(
        **{name: _columns(matrix, kept[name]) for name, matrix in whole.items()},
        first=place[both >> _BITS],
        second=place[both & (2**_BITS - 1)],
        n_empty=n_empty,
    )


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


def _count_words(texts: list[str]) -> dict[str, csr_array]:
    """Words and pairs of them."""
    found = [[zlib.crc32(word.encode("utf-8", "surrogatepass")) for word in _WORD.findall(text)] for text in texts]
    row = np.repeat(np.arange(len(texts)), [len(words) for words in found])
    codes = np.fromiter((code for words in found for code in words), dtype=np.uint64, count=len(row))
    words = _bits(_stir(codes))
    inside = np.flatnonzero(row[1:] == row[:-1])
    pairs = words[inside] << _BITS | words[inside + 1]
    return {"words": _tally(row, words, len(texts)), "pairs": _tally(row[inside], pairs, len(texts), 2 * _BITS)}


def _count_runs(texts: list[str]) -> csr_array:
    """Runs of characters; what is between words is one space, and so are beginning and end."""
    spaced = [f" {' '.join(words)} " if words else "" for words in (text.split() for text in texts)]
    row = np.repeat(np.arange(len(spaced)), [len(text) for text in spaced])
    joined = "".join(spaced).encode("utf-32-le", "surrogatepass")
    characters = np.frombuffer(joined, dtype=np.uint32).astype(np.uint64)
    rows, runs = [], []
    for length in _RUNS:
        last = len(characters) - length + 1
        if last < 1:
            continue
        codes = np.full(last, length, dtype=np.uint64)
        for step in range(length):
            codes = codes * _ODD + characters[step : step + last]
        within = row[:last] == row[length - 1 :]
        rows.append(row[:last][within])
        runs.append(_bits(_stir(codes[within])))
    if not rows:
        return csr_array((len(texts), 2**_BITS))
    return _tally(np.concatenate(rows), np.concatenate(runs), len(texts))


def _stir(codes: Keys) -> Keys:
    codes = (codes ^ (codes >> np.uint64(31))) * _ODD
    return codes ^ (codes >> np.uint64(29))


def _bits(codes: Keys) -> NDArray[np.int64]:
    return (codes * _ODD >> np.uint64(64 - _BITS)).astype(np.int64)


def _tally(row: RowNumbers, column: RowNumbers, n: int, bits: int = _BITS) -> csr_array:
    """How often each column, a number of so many bits, is there in each row."""
    keys, counts = np.unique(row << bits | column, return_counts=True)
    indptr = np.searchsorted(keys, np.arange(n + 1) << bits)
    indices = (keys & (2**bits - 1)).astype(np.int32 if bits < 32 else np.int64)
    return csr_array((counts.astype(np.float64), indices, indptr), shape=(n, 2**bits))


def _stack(parts: list[csr_array], n: int) -> csr_array:
    if not parts:
        return csr_array((n, 2**_BITS))
    lengths = np.concatenate([np.diff(part.indptr) for part in parts])
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    data, indices = (np.concatenate([getattr(part, name) for part in parts]) for name in ("data", "indices"))
    return csr_array((data, indices, indptr), shape=(n, parts[0].shape[1]))


def _columns(matrix: csr_array, kept: Mask) -> csr_array:
    """Some of the columns, renumbered."""
    place = np.cumsum(kept) - 1
    stays = kept[matrix.indices]
    indptr = np.concatenate([[0], np.cumsum(stays)])[matrix.indptr]
    indices = place[matrix.indices[stays]].astype(np.int32)
    return csr_array((matrix.data[stays], indices, indptr), shape=(matrix.shape[0], int(kept.sum())))
