"""Sparse matrices at the gate: what is wrong is named, what is given is not changed, copies are found."""

import numpy as np
import pytest
from scipy import sparse

from bayesfloor import DataError, DataTypeError
from bayesfloor.rows.sparse import sparse_rows, text_rows

KINDS = [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.csc_array, sparse.coo_array]


def dense(n: int = 30, d: int = 12, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(1, 9, (n, d)) * (rng.random((n, d)) < 0.4) / 2


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_is_the_same_rows(kind) -> None:
    X = dense()
    np.testing.assert_array_equal(sparse_rows(kind(X)).sections[0].matrix.toarray(), X)
    np.testing.assert_array_equal(sparse_rows(kind(X)).keys(), sparse_rows(sparse.csr_array(X)).keys())


def test_what_is_given_is_not_changed_and_is_put_in_order() -> None:
    X = dense()
    tidy = sparse.csr_array(X)
    untidy = sparse.csr_array(X)
    for row in range(len(X)):  # the other way round
        own = slice(untidy.indptr[row], untidy.indptr[row + 1])
        untidy.indices[own], untidy.data[own] = untidy.indices[own][::-1].copy(), untidy.data[own][::-1].copy()
    untidy.has_sorted_indices = False
    untidy.indices, untidy.indptr = untidy.indices.astype(np.int64), untidy.indptr.astype(np.int64)
    before = untidy.indices.copy()
    rows = sparse_rows(untidy)
    np.testing.assert_array_equal(untidy.indices, before)
    assert untidy.indices.dtype == np.int64
    np.testing.assert_array_equal(rows.keys(), sparse_rows(tidy).keys())
    assert rows.sections[0].matrix.indices.dtype == np.int32


def test_stored_zeros_and_duplicates_are_what_they_add_up_to() -> None:
    odd = sparse.csr_array(
        (np.array([1.0, 0.0, 2.0, 3.0, 1.0]), np.array([0, 1, 2, 2, 1]), np.array([0, 2, 4, 5])), shape=(3, 3)
    )
    rows = sparse_rows(odd)
    np.testing.assert_array_equal(rows.sections[0].matrix.toarray(), [[1, 0, 0], [0, 0, 5], [0, 1, 0]])
    assert rows.sections[0].matrix.nnz == 3
    assert odd.nnz == 5


def test_constant_empty_and_repeated_are_told() -> None:
    X = dense(20, 6)
    X[:, 1], X[:, 2], X[:, 4] = 0, 7, X[:, 0]
    X[3] = [0, 0, 7, 0, 0, 0]
    rows = sparse_rows(sparse.csr_array(X))
    assert rows.shape == (20, 4)
    assert rows.notes == ("2 of 6 columns are constant, and left out", "1 of 6 columns repeat another")
    X[3, 2] = 0
    assert "1 of 20 rows hold nothing but zeros" in sparse_rows(sparse.csr_array(X)).notes


def broken(**parts: np.ndarray) -> sparse.csr_array:
    matrix = sparse.csr_array(dense())
    for name, value in parts.items():
        setattr(matrix, name, value)
    return matrix


@pytest.mark.parametrize(
    ("matrix", "error", "message"),
    [
        (sparse.csr_array((0, 4)), DataError, "X has 0 rows"),
        (sparse.csr_array((4, 0)), DataError, "X has no columns"),
        (sparse.csr_array(np.array([[1.0, np.nan], [np.inf, 0]])), DataError, "1 NaN and 1 infinity .*row 0, column 1"),
        (sparse.csr_array(np.array([[1j, 0]])), DataError, "Complex"),
        (sparse.csr_array(dense()).astype(np.longdouble) * np.longdouble("1e4000"), DataError, "infinity"),
        (
            broken(indices=np.full(sparse.csr_array(dense()).nnz, 99, dtype=np.int32)),
            DataError,
            "index is below 0 or above 11",
        ),
        (broken(indices=np.full(sparse.csr_array(dense()).nnz, -1, dtype=np.int32)), DataError, "index is below 0"),
        (broken(indptr=np.zeros(3, dtype=np.int32)), DataError, "indptr"),
        (broken(data=np.ones(2)), DataError, "fewer numbers"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_what_is_wrong_is_named(matrix, error, message) -> None:
    with pytest.raises(error, match=message):
        sparse_rows(matrix)


def test_objects_are_no_numbers() -> None:
    class Odd:
        shape, nnz, dtype, format = (2, 2), 1, np.dtype(object), "csr"

        def toarray(self):
            raise AssertionError

    with pytest.raises(DataTypeError, match="sparse matrix of object"):
        sparse_rows(Odd())


def test_keys_tell_rows_apart_by_columns_and_values() -> None:
    X = np.array([[1.0, 0, 2], [1, 2, 0], [2, 0, 1], [1, 0, 2], [0, 0, 0]])
    keys = sparse_rows(sparse.csr_array(X)).keys()
    assert keys[0] == keys[3]
    assert len(np.unique(keys)) == 4


def test_copies_of_long_texts_count_once_and_short_ones_coincide() -> None:
    rng = np.random.default_rng(0)
    vocabulary = np.array([f"word{i}" for i in range(400)])
    long = [" ".join(rng.choice(vocabulary, 30)) for _ in range(300)]
    labels = rng.integers(0, 2, 320)
    share, records = text_rows([*long, *long[:20]]).records(labels)
    assert share == pytest.approx(20 / 320)
    assert records is not None
    assert records.max() + 1 == 300
    assert (records[300:] == records[:20]).all()
    short = [" ".join(rng.choice(vocabulary[:6], 2)) for _ in range(320)]
    share, records = text_rows(short).records(labels)
    assert share > 0.5
    assert records is None


def test_equal_rows_of_common_values_are_no_copies() -> None:
    rng = np.random.default_rng(0)
    groups = [rng.integers(0, 3, 400) for _ in range(5)]  # categories, one column for each level
    onehot = np.hstack([np.eye(3)[g] for g in groups])
    share, records = sparse_rows(sparse.csr_array(onehot)).records(rng.integers(0, 2, 400))
    assert share > 0.3
    assert records is None
