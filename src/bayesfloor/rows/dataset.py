"""The only gate: anything array-like becomes one frozen, checked `Dataset`.

Later steps trust a `Dataset` and never check again.
"""

import datetime
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Codes, Floats
from ..errors import DataError, DataTypeError
from ..utils.checks import MOST, brief, listed
from .blocks import ArrayBlocks
from .copies import copies_in_blocks
from .keys import column_keys, first_occurrence
from .labels import check_class_sizes, encode_labels, is_missing

__all__ = [
    "Dataset",
    "as_array",
    "check_shape",
    "dataset_of",
    "feature_matrix",
    "is_sparse",
    "matrix_from_array",
    "matrix_from_frame",
    "not_finite",
    "number_table",
    "quoted_column",
    "refuse_merged",
    "validate",
]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Checked data: finite float64 columns that vary, and labels as codes 0..C-1.

    Attributes
    ----------
    X : ndarray of shape (N, d)
        Read-only, C-contiguous, finite. Constant columns are gone.
    labels : ndarray of shape (N,)
        Codes into `classes`.
    classes : ndarray of shape (C,)
        The distinct labels, sorted.
    class_counts : ndarray of shape (C,)
        Samples per class, each at least 2.
    feature_names : tuple of str
        The names given, or ``column 0``, ``column 1``, ... of the columns that came in.
    n_columns : int
        Columns that came in, constant ones included.
    constant_columns : tuple of str
        Names of the dropped columns.
    duplicate_columns : tuple of (str, str)
        Pairs (copy, first occurrence) among the columns kept.
    n_duplicate_rows : int
        Rows that repeat an earlier row in every column.
    copied_share : float
        Share of rows that are further copies of a record; equal rows of discrete columns, which coincide by chance, are
        none.
    records : ndarray of shape (N,), optional
        Record of each row where there are copies.
    n_copies : int
        Rows that were left out because a copy of them is there.
    """

    X: Floats
    labels: Codes
    classes: NDArray[Any]
    class_counts: NDArray[np.int64]
    feature_names: tuple[str, ...]
    n_columns: int
    constant_columns: tuple[str, ...]
    duplicate_columns: tuple[tuple[str, str], ...]
    n_duplicate_rows: int
    copied_share: float
    records: Codes | None = None
    n_copies: int = 0

    @property
    def n_samples(self) -> int:
        """Number of rows; of a large table `X` holds a sample."""
        return int(self.class_counts.sum())

    @property
    def n_classes(self) -> int:
        """Number of distinct labels."""
        return len(self.classes)

    @property
    def priors(self) -> Floats:
        """Class shares N_c / N."""
        return self.class_counts / self.n_samples

    def rows(self, kept: Codes) -> "Dataset":
        """The same columns and classes with some of the rows; those left out are copies."""
        labels = self.labels[kept]
        return replace(
            self,
            X=self.X[kept],
            labels=labels,
            class_counts=np.bincount(labels, minlength=self.n_classes),
            records=None,
            copied_share=0.0,
            n_copies=len(self.labels) - len(kept),
        )

    def with_records(self, share: float, records: Codes | None) -> "Dataset":
        """The same rows, of which this share repeats an earlier one, with the record of each where there are copies."""
        copied = 0.0 if records is None else 1 - (int(records.max()) + 1) / len(self.labels)
        n_repeated = round(share * len(self.labels))
        return replace(self, records=records, copied_share=copied, n_duplicate_rows=n_repeated)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about the data, in words."""
        notes = []
        if self.constant_columns:
            notes.append(f"constant columns dropped: {listed(self.constant_columns)}")
        if self.duplicate_columns:
            pairs = [f"{copy} = {first}" for copy, first in self.duplicate_columns]
            notes.append(f"columns that repeat another: {listed(pairs)}")
        came, repeated = self.n_samples + self.n_copies, self.n_duplicate_rows - self.n_copies
        if self.n_copies:
            share = self.n_copies / came
            rounded = ", exact or up to rounding" if repeated < 0 else ""
            notes.append(
                f"{self.n_copies} of {came} rows ({share:.1%}) are copies of another{rounded}: each record counts "
                "once, by one of its rows"
            )
        if repeated > 0:
            notes.append(f"{repeated} of {came} rows ({repeated / came:.1%}) repeat an earlier row")
        return tuple(notes)


def validate(X: Any, y: Any) -> Dataset:
    """Check features and labels and return them as a `Dataset`.

    Parameters
    ----------
    X : array-like of shape (N, d)
        Lists, numpy arrays, or a frame (pandas, polars) with numeric or boolean columns.
    y : array-like of shape (N,)
        Any hashable labels.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        Not finite, empty, one class, a class of one sample, lengths that differ.
    DataTypeError
        Sparse matrices (`estimate` takes them), columns of text, labels that cannot be hashed.

    Examples
    --------
    >>> data = validate([[0.0, 7], [1.5, 7], [2, 7], [3, 7]], ["no", "yes", "no", "yes"])
    >>> data.classes.tolist(), data.labels.tolist(), data.constant_columns
    (['no', 'yes'], [0, 1, 0, 1], ('column 1',))
    """
    matrix, names = feature_matrix(X)
    classes, labels = encode_labels(y)
    if len(matrix) != len(labels):
        raise DataError(f"X has {len(matrix)} rows but y has {len(labels)} labels: they must have equal length")
    return dataset_of(matrix, names, classes, labels)


def dataset_of(matrix: Floats, names: list[str], classes: NDArray[Any], labels: Codes) -> Dataset:
    """What is to be known about a finite matrix and the codes of its rows' classes."""
    counts = np.bincount(labels, minlength=len(classes))
    check_class_sizes(classes, counts)

    varies = (matrix != matrix[:1]).any(axis=0)
    constant = tuple(name for name, keep in zip(names, varies, strict=True) if not keep)
    if constant:
        matrix = np.ascontiguousarray(matrix[:, varies])
    kept = [name for name, keep in zip(names, varies, strict=True) if keep]
    blocks = ArrayBlocks(matrix, labels, len(classes))
    share, records = copies_in_blocks(blocks, np.ones(matrix.shape[1], dtype=bool))
    first_column = first_occurrence(column_keys(matrix))
    copies = np.flatnonzero(first_column != np.arange(len(kept)))
    matrix = matrix.view()
    matrix.flags.writeable = False
    labels.flags.writeable = False
    return Dataset(
        X=matrix,
        labels=labels,
        classes=classes,
        class_counts=counts,
        feature_names=tuple(names),
        n_columns=len(names),
        constant_columns=constant,
        duplicate_columns=tuple((kept[i], kept[first_column[i]]) for i in copies),
        n_duplicate_rows=round(share * len(matrix)),
        copied_share=0.0 if records is None else 1 - (int(records.max()) + 1) / len(matrix),
        records=records,
    )


def feature_matrix(X: Any, *, gaps: bool = False) -> tuple[Floats, list[str]]:
    """C-contiguous float64 matrix and column names; finite, but for NaN where `gaps` are allowed."""
    if gaps and np.ma.is_masked(X):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    matrix, names = number_table(X)
    bad = np.isinf(matrix) if gaps else ~np.isfinite(matrix)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        n_nan = 0 if gaps else int(np.isnan(matrix).sum())
        where = f"row {row}, {quoted_column(names[column])}"
        raise not_finite(n_nan, int(np.isinf(matrix).sum()), where, gaps=gaps)
    return matrix, names


def is_sparse(X: Any) -> bool:
    """Whether this is a sparse matrix: by its class, since the number of entries of a damaged one may be an error."""
    return hasattr(type(X), "toarray") and hasattr(type(X), "nnz")


def not_finite(n_nan: int, n_infinite: int, where: str, *, gaps: bool) -> DataError:
    """The error for numbers that cannot be used; `where` the first is; `gaps`: NaN could be."""
    what = " and ".join(f"{n} {kind}" for n, kind in ((n_nan, "NaN"), (n_infinite, "infinity")) if n)
    meaning = "infinite or too large for float64" if gaps else "missing, infinite or too large for float64"
    remedy = "Correct them, or put NaN where a value is missing" if gaps else "Impute or drop them"
    return DataError(f"X contains {what} (values that are {meaning}); the first is in {where}. {remedy}")


def number_table(X: Any, what: str = "X") -> tuple[Floats, list[str]]:
    """Float64 matrix and column names of anything that holds numbers; `what` is how messages call it.

    Numbers may be infinite or NaN. Masked entries are refused: what is behind a mask is no value.
    """
    if is_sparse(X):
        raise DataTypeError(
            f"{what} is a sparse matrix of shape {X.shape}: distances between its rows need all columns. estimate "
            "takes it as it is; here reduce it first (for example sklearn.decomposition.TruncatedSVD), or pass "
            "X.toarray() if it fits"
        )
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        names = [str(name) for name in X.columns]
        check_shape(tuple(X.shape))
        return matrix_from_frame(X, names), names
    array = as_array(X, what)
    check_shape(array.shape)
    names = [f"column {j}" for j in range(array.shape[1])]
    return matrix_from_array(array, names, what), names


def as_array(values: Any, what: str = "X") -> NDArray[Any]:
    """Anything array-like as an array of whatever type; refuse what is ragged, and what is masked."""
    if isinstance(values, np.ma.MaskedArray):
        if np.ma.is_masked(values):
            masked = np.argwhere(np.ma.getmaskarray(values))
            where = f", the first in row {masked[0][0]}" if values.ndim else ""
            raise DataError(f"{what} has {len(masked)} masked values{where}: fill or drop them")
        values = values.data
    try:
        return np.asarray(values)
    except ValueError as error:  # ragged nested lists
        raise DataError(f"{what} is not a rectangular table: {error}") from None
    except Exception as error:  # an object that promises an array, and refuses
        raise DataTypeError(f"{what} cannot be read as an array: {brief(error)}") from None


def check_shape(shape: tuple[int, ...]) -> None:
    """Refuse what is not rows times columns."""
    if len(shape) != 2:
        raise DataError(
            f"Expected 2D array (rows x columns), got {len(shape)}D array instead of shape {shape}. "
            "Reshape your data: X.reshape(-1, 1) for one feature, X.reshape(len(X), -1) for other shapes; "
            "bayesfloor.estimate takes pictures with kind='images'"
        )
    if shape[0] == 0:
        raise DataError("X has 0 rows (found array with 0 sample(s)): at least two samples of two classes are needed")
    if shape[1] == 0:
        raise DataError(f"X has no columns: 0 feature(s) (shape={shape}) while a minimum of 1 is required.")


def matrix_from_frame(X: Any, names: list[str]) -> Floats:
    """Column by column, so that one that is not numeric can be named."""
    matrix = np.empty(X.shape)
    for j, name in enumerate(names):
        column = X.iloc[:, j] if hasattr(X, "iloc") else X[name]
        dtype = str(column.dtype)
        values = column.to_numpy()
        if values.dtype.kind == "O" and dtype.lower().startswith(("int", "uint", "float", "bool")):
            # Nullable numbers: what is missing comes as None or as pandas' NA.
            values = np.array([np.nan if is_missing(value) else float(value) for value in values])
        refuse_merged(values, f"column {name!r}")
        if values.dtype.kind not in "biuf" or dtype == "category":
            raise DataTypeError(
                f"column {name!r} has type {dtype}, which is not numeric: encode it (one-hot, ordinal), "
                "convert it to numbers, or drop it"
            )
        matrix[:, j] = values
    return matrix


def matrix_from_array(array: NDArray[Any], names: list[str], what: str = "X") -> Floats:
    """Float64 matrix of an array of numbers; what is none is named."""
    if array.dtype.kind == "c":
        raise _complex(what)
    if array.dtype.kind == "O":
        return _from_objects(array, names, what)
    if array.dtype.kind not in "biuf":
        raise DataTypeError(
            f"{what} holds values of type {array.dtype}, for example {brief(array[0, 0].item())} in {names[0]!r}: "
            "convert every column to numbers first"
        )
    for j in _beyond_float(array):
        refuse_merged(array[:, j], quoted_column(names[j]))
    with np.errstate(over="ignore"):  # what overflows becomes infinite and is named by the caller
        return np.ascontiguousarray(array, dtype=np.float64)


def _beyond_float(values: NDArray[Any]) -> NDArray[np.intp]:
    """Columns of whole numbers that are too large for float64 to hold all of them."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8:
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(((values > MOST) | (values < (-MOST if values.dtype.kind == "i" else 0))).any(axis=0))


def refuse_merged(values: NDArray[Any], name: str) -> None:
    """Refuse different whole numbers that are one number as float64.

    Examples
    --------
    >>> refuse_merged(np.array([2**60, 2**60 + 1]), "column 'a'")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    bayesfloor.errors.DataError: column 'a' holds whole numbers beyond 2**53, which ... 1152921504606846977, say): ...
    """
    if not len(_beyond_float(values.reshape(-1, 1))):
        return
    found = np.unique(values)
    merged = np.flatnonzero(np.diff(found.astype(np.float64)) == 0)
    if merged.size:
        raise DataError(
            f"{name} holds whole numbers beyond 2**53, which cannot be told apart as float64 ({found[merged[0]]} and "
            f"{found[merged[0] + 1]}, say): subtract a constant from all of them, or leave the column out"
        )


def _complex(what: str) -> DataError:
    return DataError(f"Complex data not supported: split {what} into real and imaginary columns")


def _from_objects(array: NDArray[Any], names: list[str], what: str) -> Floats:
    matrix = np.empty(array.shape)
    for i, row in enumerate(array):
        for j, value in enumerate(row):
            if type(value) is float:
                matrix[i, j] = value
                continue
            where = f"row {i}, {names[j]!r}"
            if isinstance(value, str | bytes):
                raise DataTypeError(
                    f"{what} holds text, {brief(value)} in {where}: convert every column to numbers first"
                )
            # numpy's scalars, and arrays of none or one dimension, would convert without a word.
            kind = value.dtype.kind if isinstance(value, np.generic | np.ndarray) else ""
            if isinstance(value, complex) or kind == "c":
                raise _complex(what)
            try:
                if kind not in "biufO" or isinstance(value, datetime.date | datetime.timedelta):
                    raise TypeError
                matrix[i, j] = np.nan if is_missing(value) else float(value)
            except OverflowError:
                raise DataError(
                    f"{what} holds a number too large for float64 in {where}: rescale that column"
                ) from None
            except Exception:
                raise DataTypeError(
                    f"{what} holds a {type(value).__name__} in {where}; an argument must be a real number, "
                    "not a string or a container: convert every column to numbers first"
                ) from None
    return matrix


def quoted_column(name: str) -> str:
    """A column's name for a message."""
    return name if name.startswith("column ") else f"column {name!r}"
