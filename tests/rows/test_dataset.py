import sys
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import bayesfloor as bf
from bayesfloor import BayesfloorWarning, BenchmarkLearner, DataError, DataTypeError, table_from_frame
from bayesfloor.rows import scaling
from bayesfloor.rows.dataset import validate
from bayesfloor.rows.labels import encode_labels

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


# --- values near the ends of what float64 holds -----------------------------------------------------------------------


def _whole_numbers() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    return np.round((rng.normal(size=(200, 2)) + 1.5 * y[:, None]) * 64), y


@pytest.mark.parametrize("exponent", [-600, -1010, -1040, -1066])
@pytest.mark.parametrize("standardize", [True, False])
def test_denormal_columns_are_scaled_exactly(exponent: int, standardize: bool) -> None:
    X, y = _whole_numbers()
    tiny = np.ldexp(X, exponent)
    learner = BenchmarkLearner(standardize=standardize, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesfloorWarning)
        expected, found = clone(learner).fit(X, y), clone(learner).fit(tiny, y)
    assert found.bayes_error_ == expected.bayes_error_ > 0
    assert expected.reliable_
    assert found.reliable_ == (exponent == -600), "float64 runs out of digits there"
    for unit_variance in (True, False):
        points, unit = scaling.standardize(tiny, unit_variance=unit_variance)
        assert np.array_equal(points, scaling.standardize(X, unit_variance=unit_variance)[0])
        assert 0 < unit < np.inf


@pytest.mark.parametrize("column", [[0.0, 5e-324], [1e-310, 2e-310], [-5e-324, 5e-324], [5e-324, 1.0]])
def test_a_column_of_hardly_anything_is_no_nan(column: list[float]) -> None:
    X, y = _whole_numbers()
    X = np.column_stack([X, np.resize(column, len(X))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesfloorWarning)
        learner = BenchmarkLearner(n_jobs=1).fit(X, y)
    assert 0 <= learner.bayes_error_ <= 0.5
    points, _ = scaling.standardize(X, unit_variance=True)
    assert np.isfinite(points).all()
    assert len(np.unique(points[:, 2])) == 2


def test_the_largest_numbers_have_a_middle_and_a_radius() -> None:
    X, y = _whole_numbers()
    huge = np.ldexp(X, 1015)
    gap = pd.DataFrame({"a": np.abs(huge[:, 0]).astype(object), "label": y})
    gap.loc[3, "a"] = None
    assert np.isfinite(table_from_frame(gap, target="label").X).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesfloorWarning)
        assert np.isfinite(BenchmarkLearner(standardize=False, n_jobs=1).fit(huge, y).radii_).all()


# --- numbers that are none --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [np.complex128(1 + 2j), 1j, np.array(1j), np.datetime64("2024-01-01"), np.timedelta64(3, "D"), np.array("3")],
)
def test_scalars_that_convert_silently_are_refused(value) -> None:
    X = np.empty((4, 2), dtype=object)
    X[:] = [[0.0, 1], [2.5, 3], [1.0, 7], [4.0, 4]]
    X[2, 1] = value
    for given in (X, X.tolist()):
        with pytest.raises((DataError, DataTypeError), match=r"Complex data not supported|row 2, 'column 1'|values of"):
            validate(given, [0, 1, 0, 1])


def test_what_is_masked_is_missing() -> None:
    X, y = _whole_numbers()
    hidden = np.ma.masked_array(X, mask=False)
    hidden[3, 1] = np.ma.masked
    with pytest.raises(DataError, match="X has 1 masked values, the first in row 3"):
        validate(hidden, y)
    labels = np.ma.masked_array(y, mask=np.arange(len(y)) == 5)
    for given in (labels, [*y[:5].tolist(), np.ma.masked, *y[6:].tolist()]):
        with pytest.raises(DataError, match=r"1 missing labels .* the first at row 5"):
            validate(X, given)
    frame = pd.DataFrame(X, columns=["a", "b"])
    assert len(table_from_frame(frame, y=labels).y) == len(y) - 1
    with pytest.raises(DataError, match="groups has 1 masked values"):
        bf.estimate(table_from_frame(frame, y=y), groups=np.ma.masked_array(np.arange(200) // 2, mask=labels.mask))


def test_masked_scores_are_missing() -> None:
    y = np.arange(100) % 2
    for mask in (np.arange(100) == 7, np.ones(100, dtype=bool)):
        with pytest.raises(DataError, match=f"scores has {mask.sum()} masked values"):
            bf.from_scores(np.ma.masked_array(np.linspace(0, 1, 100), mask=mask), y)
    with pytest.raises(DataError, match="scores is not a rectangular table"):
        bf.from_scores([[0.1, 0.9], [1.0]], [0, 1])


@pytest.mark.parametrize(
    ("label", "message"),
    [
        (([1],), "row 3 holds a tuple"),
        ([1], "row 3 holds a list"),
        (Decimal("sNaN"), "1 missing labels"),
        (Decimal("NaN"), "1 missing labels"),
    ],
)
def test_labels_that_cannot_be_told_apart(label, message: str) -> None:
    with pytest.raises((DataError, DataTypeError), match=message):
        validate([[float(i)] for i in range(6)], ["a", "b", "a", label, "a", "b"])


def test_labels_of_any_size() -> None:
    data = validate([[float(i)] for i in range(6)], [10**900, 2] * 3)
    assert data.labels.tolist() == [1, 0] * 3
    with pytest.raises(DataTypeError, match=r"row 1 of y: a label must be text.*a value of type int"):
        validate([[float(i)] for i in range(6)], [2, 10**5000] * 3)  # Python does not print them


@pytest.mark.parametrize("label", [object(), float("inf"), (1, float("nan")), range(3)])
def test_labels_that_no_result_could_keep(label) -> None:
    with pytest.raises(DataTypeError, match=r"row 0 of y: a label must be text.*convert it, for example with str"):
        validate([[float(i)] for i in range(6)], [label, "a"] * 3)


def test_one_long_label_does_not_widen_the_others() -> None:
    long = ["x" * 20_000, "y" * 20_000]
    classes, codes = encode_labels(["a", "b"] * 9_000 + long)
    assert classes.tolist() == ["a", "b", *long]
    assert codes.tolist() == [0, 1] * 9_000 + [2, 3]
    assert sys.getsizeof(classes) < 1000
    assert encode_labels(["a", "a\0"])[0].tolist() == ["a", "a\0"]
