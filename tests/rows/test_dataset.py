import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from bayesfloor import DataError, DataTypeError
from bayesfloor.rows.dataset import validate

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 5.0], [3.0, 3.0]])
Y = [0, 1, 0, 1]


def with_value(row, column, value):
    changed = X.copy()
    changed[row, column] = value
    return changed


# --- what is accepted -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "features",
    [
        X.tolist(),
        X,
        X.astype(np.float32),
        X.astype(int),
        np.asfortranarray(X),
        X.astype(object),
        pd.DataFrame(X, columns=["a", "b"]),
        pd.DataFrame({"a": pd.array([0, 1, 2, 3], dtype="Int64"), "b": [1.0, 0.0, 5.0, 3.0]}),
    ],
)
def test_features_of_every_kind(features):
    data = validate(features, Y)
    np.testing.assert_array_equal(data.X, X)
    assert data.X.dtype == np.float64
    assert data.X.flags.c_contiguous
    assert not data.X.flags.writeable


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["b", "a", "b", "a"], ["a", "b"]),
        ([True, False, True, False], [False, True]),
        ([7, -3, 7, -3], [-3, 7]),
        (np.array([2.5, 0.5, 2.5, 0.5]), [0.5, 2.5]),
        (np.array([9, 4, 9, 4], dtype=np.uint8), [4, 9]),
        (np.array(["b", "a", "b", "a"], dtype=object), ["a", "b"]),
        (np.array([["b"], ["a"], ["b"], ["a"]]), ["a", "b"]),
        (pd.Series(["b", "a", "b", "a"]), ["a", "b"]),
        (pd.Series(["b", "a", "b", "a"], dtype="category"), ["a", "b"]),
        (pd.Series([1, 0, 1, 0], dtype="Int64"), [0, 1]),
        (pd.DataFrame({"label": ["b", "a", "b", "a"]}), ["a", "b"]),
        ([np.int64(1), np.int64(0), np.int64(1), np.int64(0)], [0, 1]),
        ([(1, 2), (0, 5), (1, 2), (0, 5)], [(0, 5), (1, 2)]),
        (["x", 1, "x", 1], [1, "x"]),
        ([2**63 + 1, 2**63, 2**63 + 1, 2**63], [2**63, 2**63 + 1]),
        ([b"b", b"a", b"b", b"a"], [b"a", b"b"]),
        ([frozenset("b"), frozenset("a"), frozenset("b"), frozenset("a")], [frozenset("a"), frozenset("b")]),
    ],
)
def test_labels_of_every_kind(labels, classes):
    data = validate(X, labels)
    assert data.classes.tolist() == classes
    assert data.labels.tolist() == [1, 0, 1, 0]
    np.testing.assert_array_equal(data.priors, [0.5, 0.5])


def test_input_is_left_alone():
    given = X.copy()
    given.flags.writeable = False
    validate(given, np.array(Y))
    writeable = X.copy()
    validate(writeable, Y)
    assert writeable.flags.writeable


def test_constant_and_duplicate_columns_and_duplicate_rows_are_reported():
    frame = pd.DataFrame({"a": [1.0, 2, 1, 3], "same": 7, "copy of a": [1.0, 2, 1, 3]})
    data = validate(frame, Y)
    assert data.constant_columns == ("same",)
    assert data.duplicate_columns == (("copy of a", "a"),)
    assert data.n_duplicate_rows == 1
    assert data.X.shape == (4, 2)
    notes = " | ".join(data.notes)
    assert "same" in notes
    assert "copy of a = a" in notes
    assert "1 of 4 rows" in notes


def test_minus_zero_equals_zero():
    assert validate([[0.0], [-0.0], [1.0], [2.0]], Y).n_duplicate_rows == 1


def test_many_different_sign_patterns_are_no_duplicates():
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(100_000, 40))
    assert validate(signs, np.arange(100_000) % 2).n_duplicate_rows == 0


def test_permuted_and_opposite_rows_are_no_duplicates():
    data = validate([[1.0, 2.0], [2.0, 1.0], [-1.0, -2.0], [1.0, -2.0]], Y)
    assert data.n_duplicate_rows == 0


# --- what is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("features", "labels", "error", "message"),
    [
        (with_value(2, 1, np.nan), Y, DataError, r"1 NaN .*row 2, column 1"),
        (with_value(3, 0, np.inf), Y, DataError, r"1 infinity .*row 3, column 0"),
        (pd.DataFrame(with_value(1, 0, np.nan), columns=["age", "b"]), Y, DataError, "row 1, column 'age'"),
        ([[0.0, 1.0], [1, 0], [2, None], [3, 3]], Y, DataError, "1 NaN .*row 2, column 1"),
        ([[0.0], [1.0], [2.0], [10**400]], Y, DataError, "too large for float64 in row 3"),
        (X, [1, 1, 1, 1], DataError, "only one class, .*1"),
        (X, ["a", "b", "a", "a"], DataError, "class 'b' has only one sample"),
        (X, [0.1, 0.2, 0.3, 0.4], DataError, "regression target"),
        (np.empty((0, 2)), [], DataError, "0 rows"),
        (np.empty((4, 0)), Y, DataError, "0 feature"),
        ([], [], DataError, "2D"),
        (X, [0, 1, 0], DataError, "4 rows but y has 3 labels"),
        (X[:, 0], Y, DataError, "Reshape your data"),
        (np.ones((4, 2, 2)), Y, DataError, "3D array"),
        ([[1.0], [2.0, 3.0], [1.0], [1.0]], Y, DataError, "rectangular"),
        (X.astype(complex), Y, DataError, "Complex"),
        (X, None, DataError, "y"),
        (X, ["a", None, "b", "a"], DataError, "1 missing labels .*row 1"),
        (X, np.array([0.0, np.nan, 1.0, np.nan]), DataError, "2 missing labels .*row 1"),
        (X, np.array([0.0, np.inf, 1.0, 0.0]), DataError, "infinity, the first at row 1"),
        (X, pd.Series([1, None, 0, 1], dtype="Int64"), DataError, "1 missing labels .*row 1"),
        (X, np.zeros((4, 2)), DataError, r"shape \(4, 2\)"),
        (X, pd.DataFrame({"a": Y, "b": Y}), DataError, "2 columns"),
        (X.astype(str), Y, DataTypeError, "'0.0' in 'column 0'"),
        ([["a", 1.0], [1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], Y, DataTypeError, "column 0"),
        (np.array([[1.0, "x"], [2.0, 1.0]] * 2, dtype=object), Y, DataTypeError, "'x' in row 0, 'column 1'"),
        (np.array([[1.0, {}], [2.0, 1.0]] * 2, dtype=object), Y, DataTypeError, "dict in row 0, 'column 1'"),
        (pd.DataFrame({"a": Y, "city": list("abcd")}), Y, DataTypeError, "column 'city' has type"),
        (pd.DataFrame({"when": pd.to_datetime(["2020-01-01"] * 4)}), Y, DataTypeError, "column 'when' has type"),
        (sparse.csr_matrix(X), Y, DataTypeError, "sparse"),
        (sparse.csr_array(X), Y, DataTypeError, "sparse"),
        (np.ma.array(X, mask=X == 5.0), Y, DataError, "1 masked values, the first in row 2"),
        (X, np.ma.array(Y, mask=[0, 1, 0, 0]), DataError, "1 missing labels .*row 1"),
        (pd.DataFrame({"kind": pd.Categorical([1, 2, 1, 2])}), Y, DataTypeError, "column 'kind' has type category"),
        (X, "abcd", DataTypeError, "sequence of labels"),
        (X, 3, DataTypeError, "sequence of labels"),
        (X, [[0], [1], [0], [1]], DataTypeError, "row 0 holds a list"),
    ],
)
def test_bad_input_is_named(features, labels, error, message):
    with pytest.raises(error, match=message):
        validate(features, labels)


def test_longdouble_overflow_is_named():
    if np.finfo(np.longdouble).max <= np.finfo(float).max:
        pytest.skip("long double is no wider than double here")
    huge = X.astype(np.longdouble)
    huge[1, 1] = np.longdouble(10) ** 400
    with pytest.raises(DataError, match=r"1 infinity .*too large.*row 1, column 1"):
        validate(huge, Y)
