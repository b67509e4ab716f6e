"""A sample of rows with the class shares of the whole file, in two passes and little memory."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from .._types import Codes, Counts, RowNumbers
from .target import label_text, words_for_nothing

__all__ = ["chosen_rows", "class_shares", "label_codes", "picked"]


_FEWEST = 5  # rows of a class; with fewer nothing can be estimated


def label_codes(parts: Iterable["pd.Series[Any]"]) -> RowNumbers:
    """Class of each row as a number, -1 where there is no label; first pass over the file."""
    known: dict[Any, int] = {}
    codes = [np.empty(0, dtype=np.int64)]
    for part in parts:
        own, levels = pd.factorize(label_text(part))
        numbers = np.array([known.setdefault(level, len(known)) for level in levels] + [-1], dtype=np.int64)
        codes.append(numbers[own])
    found = np.concatenate(codes)
    nothing = [known[word] for word in words_for_nothing(known)]
    return np.where(np.isin(found, nothing), -1, found)


def class_shares(counts: Counts, max_rows: int) -> RowNumbers:
    """Rows to draw of each class: by its share, but five where there are so many."""
    if counts.sum() <= max_rows:
        return counts
    exact = counts * (max_rows / counts.sum())
    share = np.floor(exact).astype(np.int64)
    largest_remainders = np.argsort(share - exact, kind="stable")[: max_rows - share.sum()]
    share[largest_remainders] += 1
    return np.minimum(np.maximum(share, _FEWEST), counts)


def chosen_rows(codes: Codes, max_rows: int, random_state: int) -> RowNumbers:
    """Rows of a stratified sample, ascending: each class by its share, but five rows of it where there are so many.

    Examples
    --------
    >>> codes = np.repeat([0, 1, -1], [900, 100, 50])
    >>> rows = chosen_rows(codes, 100, random_state=0)
    >>> np.bincount(codes[rows]).tolist()
    [90, 10]
    """
    counts = np.bincount(codes[codes >= 0])
    if counts.sum() <= max_rows:
        return np.flatnonzero(codes >= 0)
    share = class_shares(counts, max_rows)
    rng = np.random.default_rng(random_state)
    order = rng.permutation(len(codes))
    drawn = [order[codes[order] == c][:n] for c, n in enumerate(share)]
    return np.sort(np.concatenate(drawn))


def picked(parts: Iterator[pd.DataFrame], rows: RowNumbers, columns: Sequence[str]) -> pd.DataFrame:
    """These rows of a file that comes in parts; second pass."""
    kept, start = [pd.DataFrame({column: [] for column in columns}, dtype=object).iloc[:0]], 0
    for part in parts:
        low, high = np.searchsorted(rows, [start, start + len(part)])
        if high > low:
            kept.append(part.iloc[rows[low:high] - start][list(columns)])
        start += len(part)
    return pd.concat(kept[1:] or kept, ignore_index=True)
