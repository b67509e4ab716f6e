"""Hashes of rows and columns: comparing them compares what they stand for, and nothing large has to be moved."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Codes, Floats, Keys

__all__ = ["column_keys", "digest", "entry_keys", "first_occurrence", "row_keys"]


def row_keys(matrix: Floats) -> Keys:
    """64-bit hash of each row's bits: equal rows get equal keys, and others almost surely different ones.

    Comparing keys compares rows, and no sort ever has to move whole rows.
    """
    keys = np.zeros(len(matrix), dtype=np.uint64)
    for j, odd in enumerate(_odd_numbers(matrix.shape[1])):
        keys += _mixed(matrix[:, j]) * odd
    return keys


def column_keys(matrix: Floats) -> Keys:
    """64-bit hash of each column's bits, as `row_keys`."""
    odd = _odd_numbers(len(matrix))
    return np.array([(_mixed(matrix[:, j]) * odd).sum(dtype=np.uint64) for j in range(matrix.shape[1])], np.uint64)


def entry_keys(values: Floats, places: NDArray[np.integer[Any]], salt: int = 0) -> Keys:
    """64-bit hash of each number and its place: their sum over the entries of a sparse row is a hash of the row."""
    stirred = _stirred(places.astype(np.uint64) + np.uint64((1 + salt * int(_odd_numbers(1)[0])) % 2**64))
    return _stirred(_mixed(values) + stirred)


def _odd_numbers(n: int) -> Keys:
    return np.random.default_rng(0x5EED).integers(0, 2**63, size=n, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


def digest(keys: Keys, codes: Codes) -> int:
    """One number for rows and classes together that does not depend on the order of the rows.

    Examples
    --------
    >>> keys = np.array([3, 4, 5], dtype=np.uint64)
    >>> digest(keys, np.array([0, 1, 1])) == digest(keys[::-1], np.array([1, 1, 0]))
    True
    >>> digest(keys, np.array([0, 1, 1])) == digest(keys, np.array([0, 0, 1]))
    False
    """
    odd = _odd_numbers(1)[0]
    return int(_stirred(keys + (codes.astype(np.uint64) + np.uint64(1)) * odd).sum(dtype=np.uint64))


def _mixed(column: Floats) -> Keys:
    """Bits of each number, stirred: neighbouring numbers share most of them."""
    return _stirred((column + 0.0).view(np.uint64))  # + 0.0 turns -0.0 into 0.0


def _stirred(bits: Keys) -> Keys:
    """The finaliser of splitmix64."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def first_occurrence(keys: Keys) -> NDArray[np.intp]:
    """Index of the first entry equal to each entry."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return first[inverse]
