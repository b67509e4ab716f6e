"""Hashes of rows and columns: comparing them compares what they stand for, and nothing large has to be moved."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Codes, Floats, Keys, RowNumbers

__all__ = ["column_digests", "column_keys", "column_order", "digest", "entry_keys", "first_occurrence", "row_keys"]


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


def column_digests(matrix: Floats, codes: Codes) -> Keys:
    """One number for each column together with the classes, as `digest`: those of blocks of rows add up."""
    return np.array([digest(_mixed(column), codes) for column in matrix.T], dtype=np.uint64)


def column_order(matrix: Floats, labels: Codes) -> RowNumbers:
    """Columns in an order of their content, the same whatever the order of rows, columns and classes.

    Colour refinement (Weisfeiler and Leman): columns are told apart by their values and the rows that have these, rows
    by their class, their values and the columns that have these, in turns until no more columns are told apart. Mostly
    the values alone do. Columns that nothing tells apart stay in the order given: equal ones, and those that a symmetry
    of the whole table exchanges.

    Parameters
    ----------
    matrix : ndarray of shape (N, d)
        Rounded to six decimals here: in other units the last bits differ.
    labels : ndarray of shape (N,)

    Examples
    --------
    >>> matrix, labels = np.array([[0.0, 1, 0, 5], [1, 0, 1, 5], [0, 1, 1, 5]]), np.array([0, 0, 1])
    >>> order = column_order(matrix, labels)
    >>> again = column_order(matrix[::-1, ::-1], 1 - labels[::-1])
    >>> bool((matrix[:, order] == matrix[:, ::-1][:, again]).all())
    True
    """
    rows = np.bincount(labels).astype(np.uint64)[labels]  # classes have no names here, but sizes
    told = 0
    while True:
        columns = np.array([_stirred(_rounded_keys(column) + rows).sum() for column in matrix.T], dtype=np.uint64)
        told_before, told = told, len(np.unique(columns))
        if told in (told_before, len(columns)):
            return np.argsort(columns, kind="stable")
        for column, key in zip(matrix.T, columns, strict=True):
            rows = rows + _stirred(_rounded_keys(column) + key)
        classes = np.zeros(labels.max() + 1, dtype=np.uint64)
        np.add.at(classes, labels, rows)
        rows = _stirred(rows + classes[labels])


def _rounded_keys(column: Floats) -> Keys:
    return _mixed(np.round(column, 6))


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
