"""Files and frames become arrays: a target, features as numbers, and an account of every column."""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from .._text import printed
from .._types import Codes, Floats, RandomSeed, RowNumbers, Values
from ..errors import BayesfloorWarning, DataError, DataTypeError, ParameterError
from ..rows.blocks import LARGE
from ..rows.dataset import as_array
from ..rows.labels import encode_labels, is_missing, plain
from ..rows.sparse import SparseRows, columns_of, join_columns
from ..utils.checks import check_callable, check_text, listed
from ..utils.parallel import Progress
from .columns import NO_CATEGORY, Column
from .encoder import accounts, column_notes, encode_columns, identifier_warning
from .open import path_of
from .problems import Problems
from .selection import RawTable, check_dtypes, raw_table, select
from .sparse_files import has_sparse_rows, read_sparse_file
from .table_file import InMemory
from .target import check_labels

__all__ = ["Column", "Table", "as_arrays", "as_table", "plain_frame", "read_table", "table_from_frame"]


_SHOWN = 25  # columns that are printed


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A table ready for `estimate`.

    Attributes
    ----------
    name : str
        Of the file, or ``frame``.
    X : ndarray of shape (N, m)
        Encoded features.
    y : ndarray of shape (N,)
        Labels.
    groups : ndarray of shape (N,) or None
        Codes of the groups.
    rows : ndarray of shape (N,)
        Row numbers in the file. 1 is the first row of data: column names and blank lines do not count.
    features : tuple of str
        Names of the columns of `X`.
    columns : tuple of Column
        Every column of the file and what became of it.
    notes : tuple of str
        What a reader should know, in words.
    n_file_rows : int
        Rows in the file, those that were not used included.
    target : str
    frame : pandas.DataFrame or None
        The features as they are in the file, a row for each of `X`; None for large tables, where they are let go.
    index : pandas.Index or None
        Of the frame that was given, all its rows; None for a file.
    sources : tuple of str
        For each of `features` the column that it was made of.
    sparse : SparseRows or None
        Counts of the words of free text, or the columns of a sparse matrix, with those of `X` beside them; None for a
        table without.
    """

    name: str
    X: Floats
    y: Values
    groups: Codes | None
    rows: RowNumbers
    features: tuple[str, ...]
    columns: tuple[Column, ...]
    notes: tuple[str, ...]
    n_file_rows: int
    target: str
    frame: pd.DataFrame | None = None
    index: Any = None
    sources: tuple[str, ...] = ()
    sparse: SparseRows | None = None

    @property
    def features_of_rows(self) -> Any:
        """What `estimate` sees of the rows: `X`, or with sparse columns `sparse`."""
        return self.X if self.sparse is None else self.sparse

    @property
    def _n_features(self) -> str:
        """In words."""
        if self.sparse is None:
            return f"{len(self.features)} features"
        kinds = "of text" if self.sparse.is_text else "that are sparse"
        n_dense = f"{len(self.features)} features, " if self.features else ""
        return f"{n_dense}{self.sparse.n_columns - len(self.features):,} {kinds}"

    def __repr__(self) -> str:
        rows = f"{len(self.y):,} of {self.n_file_rows:,} rows"
        return f"Table({_clean(self.name)}: {rows}, {self._n_features}, target {_clean(self.target)})"

    def __str__(self) -> str:
        classes, codes = encode_labels(self.y)
        sizes = [f"{_clean(label)}: {n:,}" for label, n in zip(plain(classes), np.bincount(codes), strict=True)]
        lines = [
            f"{self.name}: {len(self.y):,} of {self.n_file_rows:,} rows, {self._n_features}, "
            f"{len(classes)} classes ({listed(sizes)})",
            "",
        ]
        cells = [("column", "kind", "distinct", "missing", "use")]
        for column in self.columns[:_SHOWN]:
            use = f"{column.use} ({column.note})" if column.note else column.use
            n = self.n_file_rows if column.use == "target" else len(self.y)  # rows without a label are not used
            share = f"{column.n_missing / max(n, 1):.1%}" if column.n_missing else "-"
            cells.append((_clean(column.name), column.kind, f"{column.n_distinct:,}", share, use))
        widths = [max(len(row[i]) for row in cells) for i in range(4)]
        for name, kind, distinct, missing, use in cells:
            lines.append(
                f"{name:<{widths[0]}}  {kind:<{widths[1]}}  {distinct:>{widths[2]}}  {missing:>{widths[3]}}  {use}"
            )
        if len(self.columns) > _SHOWN:
            lines.append(f"and {len(self.columns) - _SHOWN} more")
        return printed(lines)


def read_table(
    path: str | Path,
    *,
    target: str | int | None = None,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    groups: str | None = None,
    max_rows: int | None = None,
    random_state: RandomSeed = 0,
    header: bool | None = None,
    dtypes: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Table:
    """Read a file of labelled rows, infer what its columns are, and encode them as numbers.

    Parameters
    ----------
    path : str or Path
        CSV or TSV (delimiter and encoding are found out; lines at the beginning that start with # are comments, but
        for a last one that names the columns), JSON lines, ARFF (all of them also with .gz), Parquet,
        Feather, Arrow, NPY, or NPZ with arrays ``X`` and ``y``. Sparse rows: NPZ of `scipy.sparse.save_npz` (labels as
        an array ``y`` in it, or in a file that `target` names), and svmlight files (.svm, .svmlight, .libsvm).
    target : str or int
        Column of the labels, by name or position (0 is the first, -1 the last; a column with that text for its name
        comes first). Not needed for NPZ with ``y``. Empty cells, NaN and ``?`` are no labels; words such as None or NA
        are, unless all others are numbers or truth values.
    drop, keep : sequence of str
        Columns to leave out; the only columns to use. Whole numbers that look like an identifier are used if kept,
        or if `dtypes` says that they are numeric.
    groups : str, optional
        Column whose equal values mark rows that belong together (one patient, one household). It is no feature.
    max_rows : int, optional
        Read a sample of so many rows, drawn at random within each class in proportion to its size, but five rows at
        least of each class that has them. The file is read twice in parts: once to count the labels, then for the
        rows drawn, so that memory is needed for the sample only. ARFF and NPZ are held whole.
    random_state : int, RandomState or None
        Draws the sample.
    header : bool, optional
        Whether the first line of a CSV or TSV file holds the names of the columns; found out by default. Without names
        columns are called column 0, column 1 and so on.
    dtypes : mapping of str to {"categorical", "text", "numeric", "date"}, optional
        What columns are, where it is not to be inferred: ``{"zip": "categorical"}``. Columns that are not named are
        inferred. Categories of pandas, ARFF and Arrow are categories. A column that mixes numbers and text becomes
        categories, or text if it has many words, with a note; but where hardly anything is no number, it is refused.
    progress : callable, optional
        Called as ``progress(stage, done, total)`` while a file of text is read.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        For anything about the file that prevents an estimate, all of it at once; the message names columns, rows and
        values, and says what to do.

    Warns
    -----
    BayesfloorWarning
        If identifiers are left out.

    Examples
    --------
    >>> from importlib.resources import files
    >>> table = read_table(files("bayesfloor") / "data" / "penguins.csv", target="sex")
    >>> len(table.y), table.features[:4]
    (333, ('species=Adelie', 'species=Chinstrap', 'species=Gentoo', 'island=Biscoe'))
    """
    check_callable("progress", progress)
    problems = Problems(path_of(path).name)
    if has_sparse_rows(path_of(path)):
        return _sparse_table(
            path_of(path), target, [*drop, *keep, *check_dtypes(dtypes)], groups, max_rows, random_state
        )
    raw = raw_table(
        path,
        target=target,
        drop=drop,
        keep=keep,
        groups=groups,
        max_rows=max_rows,
        random_state=random_state,
        header=header,
        dtypes=dtypes,
        progress=progress,
        problems=problems,
    )
    return _encode(raw, keep, problems)


def table_from_frame(
    frame: Any,
    *,
    target: str | int | None = None,
    y: Any = None,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    groups: str | None = None,
    max_rows: int | None = None,
    random_state: RandomSeed = 0,
    dtypes: Mapping[str, str] | None = None,
    name: str = "frame",
) -> Table:
    """Encode a pandas or polars frame like a file: see `read_table`.

    Parameters
    ----------
    frame : pandas.DataFrame or polars.DataFrame
    target : str or int, optional
        Column of the labels.
    y : array-like of shape (N,), optional
        The labels, if they are no column of the frame.
    drop, keep, groups, max_rows, random_state, dtypes
        As in `read_table`.
    name : str
        What the table is called.

    Returns
    -------
    Table

    Examples
    --------
    >>> frame = pd.DataFrame({"age": [20, 30, 40, 50], "home": ["own", "rent", "own", "own"], "buys": list("abab")})
    >>> table_from_frame(frame, target="buys").X.tolist()
    [[20.0, 0.0], [30.0, 1.0], [40.0, 0.0], [50.0, 0.0]]
    """
    check_text("name", name)
    table = plain_frame(frame)
    labels = "y"
    if y is not None:
        if target is not None:
            raise ParameterError("give the labels once: as target, a column of the frame, or as y")
        while labels in table.columns:
            labels += "'"
        table = table.assign(**{labels: _plain_labels(y, len(table)).set_axis(table.index)})
        keep, target = [*keep, labels] if keep else keep, labels
    problems = Problems(name)
    raw = select(
        InMemory(table), name, target, drop, keep, groups, max_rows, random_state, problems=problems, dtypes=dtypes
    )
    return replace(_encode(raw, keep, problems), index=getattr(frame, "index", None))


def as_table(X: Any, y: Any, target: Any, groups: Any, dtypes: Any = None) -> Table | None:
    """What `estimate` was given as a table; None for arrays, and for a complete frame of numbers.

    Files, frames with a `target`, and frames whose columns are not all numbers are encoded, and so are those in which
    something is missing.
    """
    named = groups if isinstance(groups, str) else None
    _refuse_arrow(X)
    if isinstance(X, Table):
        if y is not None or target is not None:
            raise ParameterError("a Table has its labels: leave out y and target")
        if dtypes is not None:
            raise ParameterError("a Table has the types of its columns: state dtypes where it is read (read_table)")
        return X
    if isinstance(X, str | os.PathLike):
        if y is not None:
            raise ParameterError("name the column of the labels with target= when X is a file")
        return read_table(Path(X), target=target, groups=named, dtypes=dtypes)
    if target is None and not hasattr(X, "columns"):
        return None
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        raise ParameterError("target= names a column of a file or a frame: give the labels of an array as y")
    if target is None and (y is None or (named is None and dtypes is None and _is_complete(X, y))):
        return None
    return table_from_frame(X, target=target, y=y, groups=named, dtypes=dtypes)


def as_arrays(
    X: Any, y: Any, target: Any, groups: Any, dtypes: Any = None
) -> tuple[Any, Any, Any, tuple[str, ...], RowNumbers | None]:
    """The same as numbers with names, labels, groups, notes, and row numbers counted from 0."""
    table = as_table(X, y, target, groups, dtypes)
    if table is None:
        return X, y, groups, (), None
    if groups is not None and not isinstance(groups, str):
        groups = as_array(groups, "groups")
        if groups.shape[:1] != (table.n_file_rows,):
            given = len(groups) if groups.ndim else 1
            raise DataError(f"there are {table.n_file_rows} rows but {given} groups: they must have equal length")
        groups = groups[table.rows - 1]
    else:
        groups = table.groups
    if table.sparse is not None:
        return table.sparse, table.y, groups, table.notes, table.rows - 1
    encoded = pd.DataFrame(table.X, columns=pd.Index(table.features, dtype=object))
    return encoded, table.y, groups, table.notes, table.rows - 1


def _encode(raw: RawTable, keep: Sequence[str], problems: Problems) -> Table:
    if raw.y is not None:
        with problems.collect():
            check_labels(pd.unique(raw.y), len(raw.y), raw.target, raw.n_file_rows)
    encoded = encode_columns(raw, keep, problems, texts=True)
    assert raw.y is not None
    values = [column for part in encoded for column in part.values]
    X = np.ascontiguousarray(np.stack(values, axis=1)) if values else np.empty((len(raw.rows), 0))
    texts = [part.texts for part in encoded if part.texts is not None]
    table = Table(
        name=raw.name,
        X=X,
        y=raw.y,
        groups=raw.groups,
        rows=raw.rows,
        features=tuple(name for part in encoded for name in part.names),
        columns=accounts(raw, encoded),
        notes=(*raw.notes, *column_notes([part.column for part in encoded], len(raw.rows))),
        n_file_rows=raw.n_file_rows,
        target=raw.target,
        frame=raw.frame if len(raw.rows) <= LARGE else None,
        sources=tuple(part.column.name for part in encoded for _ in part.names),
        sparse=join_columns(X, texts) if texts else None,
    )
    identifiers = identifier_warning(table.columns)
    if identifiers:
        warnings.warn(identifiers, BayesfloorWarning, stacklevel=3)
    return table


def _sparse_table(
    path: Path, target: Any, named: Sequence[str], groups: str | None, max_rows: int | None, random_state: RandomSeed
) -> Table:
    """A file of sparse rows as a table: labels and groups lie beside them, or labels in a file of their own."""
    if named:
        raise ParameterError(
            f"{path.name} holds sparse rows, whose columns have no names: leave out drop, keep and dtypes"
        )
    matrix, side = read_sparse_file(path, target)
    n, d = matrix.shape
    numbers = "sparse rows"
    frame = pd.DataFrame({**side, numbers: np.arange(n)})
    raw = select(InMemory(frame, tuple(side)), path.name, target, (), (), groups, max_rows, random_state)
    assert raw.y is not None
    check_labels(pd.unique(raw.y), len(raw.y), raw.target, raw.n_file_rows)
    features = columns_of(matrix if len(raw.rows) == n else csr_array(matrix[raw.rows - 1]))
    few = not isinstance(features, SparseRows)
    columns = [column for column in accounts(raw, []) if column.use != "left out"]
    columns.append(Column(f"{d:,} sparse columns", "numeric", 0, d, "feature"))
    return Table(
        name=path.name,
        X=features.dense if isinstance(features, SparseRows) else features,
        y=raw.y,
        groups=raw.groups,
        rows=raw.rows,
        features=tuple(f"column {j}" for j in range(d)) if few else (),
        columns=tuple(columns),
        notes=raw.notes,
        n_file_rows=n,
        target=raw.target,
        sparse=features if isinstance(features, SparseRows) else None,
    )


def _clean(value: Any) -> str:
    """Text that cannot disturb a terminal."""
    text = str(value)
    text = text if text.isprintable() else repr(text)
    return text if len(text) <= 40 else f"{text[:37]}..."


# --- frames and the labels that come beside them -------------------------------------------------------------


def _is_complete(frame: Any, y: Any) -> bool:
    """Whether a frame holds numbers alone and nothing is missing, in it or in the labels."""
    empty = plain_frame(frame.head(0))
    if not all(pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_bool_dtype(kind) for kind in empty.dtypes):
        return False
    if bool(plain_frame(frame).isna().to_numpy().any()):
        return False
    if isinstance(y, list | tuple):
        return not any(is_missing(label) or (isinstance(label, str) and label in NO_CATEGORY) for label in y)
    if np.ma.is_masked(y):
        return False
    labels = np.asarray(y) if hasattr(y, "__array__") else np.empty(0)
    return not bool(pd.isna(labels).any() or (labels.dtype.kind in "OU" and pd.Series(labels).isin(NO_CATEGORY).any()))


def _refuse_arrow(X: Any) -> None:
    if type(X).__module__.split(".")[0] == "pyarrow":
        raise DataTypeError(f"X is a pyarrow {type(X).__name__}: pass a frame, X.to_pandas()")


def plain_frame(frame: Any) -> pd.DataFrame:
    """A pandas frame with text for names; polars comes over column by column, which needs no pyarrow."""
    if isinstance(frame, pd.DataFrame):
        return frame.set_axis(pd.Index([str(name) for name in frame.columns], dtype=object), axis=1).reset_index(
            drop=True
        )
    _refuse_arrow(frame)
    if not (hasattr(frame, "columns") and hasattr(frame, "get_column")):
        raise DataTypeError(f"a pandas or polars frame is needed, got {type(frame).__name__}")
    columns = {}
    for name in frame.columns:
        column = frame.get_column(name)
        numeric = column.dtype.is_numeric() or column.dtype.is_temporal() or str(column.dtype) == "Boolean"
        values = column.to_numpy() if numeric and not str(column.dtype).startswith("Decimal") else column.to_list()
        text = pd.StringDtype() if str(column.dtype) == "String" else object
        columns[name] = pd.Series(values) if numeric else pd.Series(values, dtype=text)
    return pd.DataFrame(columns)


def _plain_labels(y: Any, n_rows: int) -> "pd.Series[Any]":
    """Labels as a column, one for each row."""
    if isinstance(y, str | bytes) or not hasattr(y, "__len__"):
        raise DataTypeError(f"y must be a list or an array of labels, got {type(y).__name__}: give list(y)")
    if hasattr(y, "columns") and len(y.columns) == 1:
        y = y[y.columns[0]]
    if np.ndim(y) == 2 and getattr(y, "shape", (0, 0))[1] == 1:
        y = np.asarray(y)[:, 0]
    if hasattr(y, "columns") or (isinstance(y, np.ndarray) and y.ndim != 1):
        raise DataError(f"y must be one label per row, got an array of shape {y.shape}")
    if len(y) != n_rows:
        raise DataError(f"X has {n_rows} rows but y has {len(y)} labels: they must have equal length")
    values = y.to_list() if hasattr(y, "to_list") else y.tolist() if isinstance(y, np.ndarray) else list(y)
    for row, label in enumerate(values):
        if isinstance(label, list | tuple | set | dict | np.ndarray):
            raise DataTypeError(
                f"y must hold one plain label per row; row {row} holds a {type(label).__name__}: make it one text"
            )
    # Beside a missing label pandas would turn whole numbers into rounded ones.
    rounds = any(isinstance(label, int) for label in values) and any(is_missing(label) for label in values)
    return pd.Series(values, dtype=object if rounds else None)
