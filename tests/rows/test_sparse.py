"""Sparse matrices at the gate: what is wrong is named, what is given is not changed, copies are found."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import bayesfloor as bf
from bayesfloor import DataError, DataTypeError
from bayesfloor.rows.sparse import SparseRows, checked_matrix, sparse_rows, text_rows
from fuzz.outcomes import attempt, in_a_child

KINDS = [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.csc_array, sparse.coo_array]


def opened(X: Any) -> SparseRows:
    return sparse_rows(checked_matrix(X))


def dense(n: int = 30, d: int = 12, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(1, 9, (n, d)) * (rng.random((n, d)) < 0.4) / 2


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_is_the_same_rows(kind) -> None:
    X = dense()
    np.testing.assert_array_equal(opened(kind(X)).sections[0].matrix.toarray(), X)
    np.testing.assert_array_equal(opened(kind(X)).keys(), opened(sparse.csr_array(X)).keys())


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
    rows = opened(untidy)
    np.testing.assert_array_equal(untidy.indices, before)
    assert untidy.indices.dtype == np.int64
    np.testing.assert_array_equal(rows.keys(), opened(tidy).keys())
    assert rows.sections[0].matrix.indices.dtype == np.int32


def test_stored_zeros_and_duplicates_are_what_they_add_up_to() -> None:
    odd = sparse.csr_array(
        (np.array([1.0, 0.0, 2.0, 3.0, 1.0]), np.array([0, 1, 2, 2, 1]), np.array([0, 2, 4, 5])), shape=(3, 3)
    )
    rows = opened(odd)
    np.testing.assert_array_equal(rows.sections[0].matrix.toarray(), [[1, 0, 0], [0, 0, 5], [0, 1, 0]])
    assert rows.sections[0].matrix.nnz == 3
    assert odd.nnz == 5


def test_constant_empty_and_repeated_are_told() -> None:
    X = dense(20, 6)
    X[:, 1], X[:, 2], X[:, 4] = 0, 7, X[:, 0]
    X[3] = [0, 0, 7, 0, 0, 0]
    rows = opened(sparse.csr_array(X))
    assert rows.shape == (20, 4)
    assert rows.notes == ("2 of 6 columns are constant, and left out", "1 of 6 columns repeat another")
    X[3, 2] = 0
    assert "1 of 20 rows hold nothing but zeros" in opened(sparse.csr_array(X)).notes


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
            "indices below 0 or above 11",
        ),
        (broken(indices=np.full(sparse.csr_array(dense()).nnz, -1, dtype=np.int32)), DataError, "indices below 0"),
        (broken(indptr=np.zeros(3, dtype=np.int32)), DataError, "indptr"),
        (broken(data=np.ones(2)), DataError, "differ in length"),
        (broken(data=sparse.csr_array(dense()).data.astype(object)), DataTypeError, "sparse matrix of object"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_what_is_wrong_is_named(matrix, error, message) -> None:
    with pytest.raises(error, match=message):
        opened(matrix)


def test_keys_tell_rows_apart_by_columns_and_values() -> None:
    X = np.array([[1.0, 0, 2], [1, 2, 0], [2, 0, 1], [1, 0, 2], [0, 0, 0]])
    keys = opened(sparse.csr_array(X)).keys()
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
    share, records = opened(sparse.csr_array(onehot)).records(rng.integers(0, 2, 400))
    assert share > 0.3
    assert records is None


# --- damaged matrices, by every way in: each in a process that may die ----------------------------------------


def _set(part: str, at: int, value: int) -> Callable[[Any], None]:
    def change(matrix: Any) -> None:
        getattr(matrix, part)[at] = value

    return change


def _replace(part: str, make: Callable[[np.ndarray], Any]) -> Callable[[Any], None]:
    return lambda matrix: setattr(matrix, part, make(getattr(matrix, part)))


def _into(matrix: Any, key: tuple[int, int]) -> None:
    dict.__setitem__(getattr(matrix, "_dict", matrix), key, 1.0)  # it was a dictionary itself once


DAMAGE: dict[str, tuple[str, Callable[[Any], None]]] = {
    **{
        f"{kind}, {name}": (kind, change)
        for kind in ("csr", "csc")
        for name, change in {
            "an index far outside": _set("indices", 7, 10**6),
            "an index just outside": lambda m: m.indices.__setitem__(7, m.shape[m.format == "csr"]),
            "a negative index": _set("indices", 7, -5),
            "a pointer far outside": _set("indptr", 5, 10**6),
            "the last pointer far outside": _set("indptr", -1, 10**6),
            "the last pointer too small": _set("indptr", -1, 3),
            "a pointer below the one before it": _set("indptr", 5, 0),
            "the first pointer is not 0": _set("indptr", 0, 2),
            "fewer pointers": _replace("indptr", lambda a: a[:-1]),
            "decreasing pointers without a sign": _replace("indptr", lambda a: a[::-1].astype(np.uint64)),
            "indices that are floats": _replace("indices", lambda a: a.astype(float)),
            "indices that are truth values": _replace("indices", lambda a: a > 3),
            "indices that are objects": _replace("indices", lambda a: a.astype(object)),
            "indices of two dimensions": _replace("indices", lambda a: a[:, None]),
            "indices are missing": _replace("indices", lambda a: None),
            "pointers that are floats": _replace("indptr", lambda a: a.astype(float)),
            "fewer indices than numbers": _replace("indices", lambda a: a[:-2]),
            "fewer numbers than indices": _replace("data", lambda a: a[:-2]),
            "numbers of two dimensions": _replace("data", lambda a: np.stack([a, a], axis=1)),
            "numbers that are objects": _replace("data", lambda a: a.astype(object)),
            "numbers that are text": _replace("data", lambda a: a.astype(str)),
            "numbers that are masked": _replace("data", lambda a: np.ma.masked_array(a, a > 0.5)),
            "NaN": _set("data", 7, np.nan),
            "fewer rows": _replace("_shape", lambda shape: (shape[0] - 1, shape[1])),
            "fewer columns": _replace("_shape", lambda shape: (shape[0], shape[1] - 1)),
            "no shape": _replace("_shape", lambda shape: None),
        }.items()
    },
    "coo, a row outside": ("coo", _set("row", 7, 10**6)),
    "coo, a row just outside": ("coo", _set("row", 7, 60)),
    "coo, a negative row": ("coo", _set("row", 7, -1)),
    "coo, a column outside": ("coo", _set("col", 7, 10**6)),
    "coo, a negative column": ("coo", _set("col", 7, -1)),
    "coo, fewer rows than numbers": ("coo", _replace("row", lambda a: a[:-2])),
    "bsr, an index outside": ("bsr", _set("indices", 1, 10**6)),
    "bsr, a pointer outside": ("bsr", _set("indptr", 1, 10**6)),
    "dia, other offsets": ("dia", _replace("offsets", lambda a: a[:-1])),
    "lil, a column outside": ("lil", lambda m: m.rows[3].__setitem__(0, 10**6)),
    "lil, a negative column": ("lil", lambda m: m.rows[3].__setitem__(0, -1)),
    "lil, fewer numbers than columns": ("lil", lambda m: m.data[3].pop()),
    "dok, a column outside": ("dok", lambda m: _into(m, (3, 10**6))),
    "dok, a negative row": ("dok", lambda m: _into(m, (-3, 1))),
}


def _damaged(case: str, d: int) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(0)
    kind, change = DAMAGE[case]
    matrix = sparse.csr_array(rng.random((60, d)) * (rng.random((60, d)) < 0.7)).asformat(kind)
    change(matrix)
    return matrix, np.arange(60) % 2


def _estimate(case: str, d: int) -> Any:
    return bf.estimate(*_damaged(case, d), effort="fast", n_jobs=1)


def _read(case: str, d: int) -> Any:
    """The same from a file; with a sample of the rows every other time."""
    matrix, y = _damaged(case, d)
    names = ("row", "col") if matrix.format == "coo" else ("indices", "indptr")
    parts = {name: getattr(matrix, name) for name in names}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.npz")
        try:
            np.savez(path, data=matrix.data, shape=matrix.shape, format=matrix.format, y=y, **parts)
            found = np.load(path)
            [found[name] for name in found.files]
        except ValueError:
            raise DataError("it cannot be saved, or not without objects") from None
        return bf.read_table(path, max_rows=30 if d == 8 else None).X


def _compare(case: str, d: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    matrix, y = _damaged(case, d)
    rng = np.random.default_rng(0)
    model = LogisticRegression().fit(sparse.csr_matrix(rng.random((60, d))), y)
    result = bf.from_scores(np.clip(rng.normal(0.3 + 0.4 * y, 0.2), 0.01, 0.99), y, n_jobs=1)
    return bf.compare(result, model=model, X=matrix, y=y)


def _learner(case: str, d: int) -> Any:
    matrix, y = _damaged(case, d)
    return bf.BenchmarkLearner(n_jobs=1).fit(matrix, y)


WAYS_IN = {"estimate": _estimate, "file": _read, "compare": _compare, "learner": _learner}


def _try(way: str, cases: list[str], d: int) -> Iterator[tuple[str, str, str]]:
    for case in cases:
        yield case, "begun", ""
        yield case, *attempt(lambda case=case: WAYS_IN[way](case, d))


@pytest.mark.parametrize("way", WAYS_IN)
@pytest.mark.parametrize("d", [8, 130])
def test_damaged_matrices_are_refused(way: str, d: int) -> None:
    """The same for few columns, which become a table, and for many, which stay sparse."""
    cases = list(DAMAGE)
    if way == "file":  # which has no masks, and three formats
        cases = [case for case in cases if case.startswith(("csr", "csc", "coo")) and "mask" not in case]
    if way == "compare":  # the model sees the numbers, and judges them itself
        cases = [case for case in cases if "numbers that are" not in case and not case.endswith("NaN")]
    found = in_a_child(_try, way, cases, d)
    assert not [entry for entry in found if entry[1] != "refused"]
    assert len(found) == len(cases)


def test_what_is_valid_in_every_format_is_not_refused() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 6)).round(1) * (rng.random((60, 6)) < 0.7), np.arange(60) % 2
    expected = bf.estimate(X, y, effort="fast", n_jobs=1).floor
    for kind in ("csr", "csc", "coo", "bsr", "dia", "lil", "dok"):
        matrix = sparse.csr_matrix(X).asformat(kind)
        assert bf.estimate(matrix, y, effort="fast", n_jobs=1).floor == expected
    matrix = sparse.csr_array(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(">u8"), matrix.indptr.astype(">i2")
    assert bf.estimate(matrix, y, effort="fast", n_jobs=1).floor == expected
