"""Dask arrays and frames of numbers as labelled rows: what `validate` checks, asked of each partition where it lies.

Of the labels the distinct ones come back, sorted as if all had lain in one place.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._types import Counts, Mask, RowNumbers, Values
from ..errors import DataError, DataTypeError
from ..utils.checks import listed
from .cluster import dask_module, is_dask
from .dataset import check_shape, matrix_from_array, matrix_from_frame, not_finite, quoted_column
from .gaps import unlabelled_note
from .labels import check_class_sizes, encode_labels, missing_labels, plain, present_labels, unmasked

__all__ = ["DelayedRows", "delayed_rows"]


_MOST_CLASSES = 1000


@dataclass(frozen=True, eq=False)
class DelayedRows:
    """Rows of each partition as a delayed pair (rows of numbers, codes), and what is known of all."""

    rows: list[Any]
    sizes: Counts
    classes: Values
    class_counts: Counts
    names: list[str]
    notes: tuple[str, ...]
    labelled: RowNumbers | None = None  # rows that have a label, if not all have; the code of the others says nothing


@dataclass(frozen=True, eq=False)
class _Loaded:
    """A partition: its rows, unless they have a `problem`, and its labels, if they came with them."""

    X: Values
    y: Any
    problem: Exception | None = None


@dataclass(frozen=True, eq=False)
class _Survey:
    """What comes back of a partition."""

    n_rows: int
    n_columns: int
    problem: Exception | None
    n_nan: int
    n_infinite: int
    first: tuple[int, int]  # row and column of the first value that is not finite
    first_infinite: tuple[int, int] = (0, 0)


def delayed_rows(
    X: Any,
    y: Any,
    target: str | None,
    keep: Callable[[list[Any]], list[Any]] | None,
    ask: Callable[[list[Any]], list[Any]],
    *,
    check_classes: bool = True,
    gaps: bool = False,
) -> DelayedRows:
    """Check rows and labels partition by partition.

    Parameters
    ----------
    X, y, target
        As in `blocks_from_dask`.
    keep : callable, optional
        Keeps delayed partitions, which are needed more than once; otherwise they are read again each time.
    ask : callable
        Computes small delayed results.
    check_classes : bool
        Refuse fewer than two classes, and classes of one sample.
    gaps : bool
        Whether values and labels may be missing; infinite ones are refused in any case.
    """
    dask = dask_module("dask")
    if not is_dask(X):
        raise DataTypeError(f"X must be a Dask array or DataFrame, got {type(X).__name__}")
    if isinstance(y, str):
        y, target = None, y
    lazily = functools.partial(dask.delayed, pure=False)

    def read() -> tuple[list[Any], list[Any]]:
        rows = _partitions(X, names, target, lazily)
        if target is not None:
            return rows, [lazily(_labels_of)(part) for part in rows]
        return rows, label_blocks(y, lazily) if is_dask(y) else []

    names = _names(X, target)
    loaded, labels = read()
    if keep is not None:
        loaded, labels = keep(loaded), keep(labels) if labels else labels
    surveys: list[_Survey] = ask([lazily(_survey)(part) for part in loaded])
    sizes = np.array([survey.n_rows for survey in surveys], dtype=np.int64)
    _check_values(surveys, names, sizes, gaps)
    if labels:
        found: list[LabelSurvey] = ask([lazily(survey_labels)(part) for part in labels])
        if keep is None:  # under new names: Dask wants one task of a name, and fuses them with those that follow
            loaded, labels = read()
        n_labels = np.array([part.n_rows for part in found], dtype=np.int64)
        _check_lengths(int(sizes.sum()), int(n_labels.sum()))
        classes, counts = merge_labels(found, gaps=gaps)
        starts = np.cumsum(n_labels) - n_labels
        unlabelled = np.concatenate([part.missing + start for part, start in zip(found, starts, strict=True)])
        levels = lazily(classes)
        own = [lazily(code_labels)(part, levels) for part in recut(labels, n_labels, sizes, lazily)]
    else:
        y, present, n_rows = present_labels(y) if gaps else (y, None, 0)
        classes, codes = encode_labels(y)
        _check_lengths(int(sizes.sum()), len(codes) if present is None else n_rows)
        check_number(len(classes))
        counts = np.bincount(codes, minlength=len(classes))
        unlabelled = np.empty(0, dtype=np.int64)
        if present is not None:
            unlabelled = np.delete(np.arange(n_rows), present)
            codes, known = np.zeros(n_rows, dtype=np.int64), codes
            codes[present] = known
        own = np.split(codes.astype(code_type(len(classes))), np.cumsum(sizes)[:-1])
        loaded = read()[0] if keep is None else loaded
    rows = [lazily(_join)(part, codes) for part, codes in zip(loaded, own, strict=True)]
    if check_classes:
        check_class_sizes(classes, counts)
    n_empty = int((sizes == 0).sum())
    notes = (f"{n_empty} of {len(sizes)} partitions are empty",) if n_empty else ()
    n = int(sizes.sum())
    labelled = np.delete(np.arange(n), unlabelled) if len(unlabelled) else None
    return DelayedRows(rows, sizes, classes, counts, names, (*unlabelled_note(len(unlabelled), n), *notes), labelled)


# --- what the user passed -----------------------------------------------------------------------------------


def _names(X: Any, target: str | None) -> list[str]:
    """Names of the columns of what can be used."""
    if not hasattr(X, "to_delayed") or not hasattr(X, "ndim"):
        raise DataTypeError(f"X must be a Dask array or DataFrame, got {type(X).__module__}.{type(X).__name__}")
    if not hasattr(X, "columns"):
        if target is not None:
            raise DataError(f"target={target!r} names a column, but a Dask array has no names: pass y")
        check_shape(tuple(X.shape))
        return [f"column {j}" for j in range(X.shape[1])]
    if X.ndim != 2:
        raise DataError("Expected 2D array (rows x columns), got a Series instead: pass a frame, X.to_frame()")
    columns = [str(name) for name in X.columns]
    if target is not None and target not in X.columns:
        raise DataError(f"no column {target!r}; the columns are {listed(columns, 20)}")
    names = [str(name) for name in X.columns if target is None or name != target]
    if not names:
        raise DataError("X has no columns: 0 feature(s) while a minimum of 1 is required.")
    return names


def _partitions(X: Any, names: list[str], target: str | None, lazily: Any) -> list[Any]:
    """Delayed partitions of the rows."""
    # Here and elsewhere never a list of delayed objects as one argument: Dask would lose hold of those that are
    # persisted, and with them of the rows.
    pieces = X.to_delayed()
    return [lazily(_load)(names, target, *(np.ravel(part) if hasattr(X, "chunks") else [part])) for part in pieces]


# --- what is said of all partitions -------------------------------------------------------------------------


def _check_values(surveys: Sequence[_Survey], names: list[str], sizes: Counts, gaps: bool) -> None:
    for number, survey in enumerate(surveys):
        if survey.problem is not None:
            raise type(survey.problem)(f"partition {number} of X: {survey.problem}")
        if survey.n_columns != len(names):
            raise DataError(f"partition {number} of X has {survey.n_columns} columns instead of {len(names)}")
    if not sizes.sum():
        raise DataError("X has 0 rows (found array with 0 sample(s)): at least two samples of two classes are needed")
    n_nan = 0 if gaps else sum(survey.n_nan for survey in surveys)
    n_infinite = sum(survey.n_infinite for survey in surveys)
    if not n_nan + n_infinite:
        return
    number = next(i for i, s in enumerate(surveys) if s.n_infinite or (s.n_nan and not gaps))
    row, column = surveys[number].first_infinite if gaps else surveys[number].first
    at = f"row {sizes[:number].sum() + row} (row {row} of partition {number}), {quoted_column(names[column])}"
    raise not_finite(n_nan, n_infinite, at, gaps=gaps)


def _check_lengths(n_rows: int, n_labels: int) -> None:
    if n_rows != n_labels:
        raise DataError(f"X has {n_rows} rows but y has {n_labels} labels: they must have equal length")


# --- on the workers -----------------------------------------------------------------------------------------


def _load(names: list[str], target: str | None, *pieces: Any) -> _Loaded:
    """A partition as rows of numbers; one that cannot be is told of by the caller, who knows its number."""
    first, y = pieces[0], None
    nothing = np.empty((first.shape[0], len(names)))
    try:
        if hasattr(first, "columns"):
            if target is not None:
                y, first = load_labels(first[target]), first[[name for name in first.columns if name != target]]
            return _Loaded(matrix_from_frame(first, names) if len(first) else nothing, y)
        if hasattr(first, "toarray"):
            raise DataTypeError("X is a sparse matrix: distances between its rows need all columns. Reduce it first")
        if isinstance(first, np.ma.MaskedArray):
            pieces = tuple(np.ma.filled(piece.astype(np.float64), np.nan) for piece in pieces)
        X = np.asarray(pieces[0]) if len(pieces) == 1 else np.concatenate(pieces, axis=1)
        if X.dtype.kind in "biuf":
            return _Loaded(X, y)
        return _Loaded(matrix_from_array(X, names) if len(X) else nothing, y)
    except (DataError, DataTypeError) as error:
        return _Loaded(nothing, y, error)


def _survey(part: _Loaded) -> _Survey:
    n_rows, n_columns = part.X.shape
    with np.errstate(over="ignore"):
        X = part.X.astype(np.float64, copy=False)
    if part.problem is not None or np.isfinite(X).all():
        return _Survey(n_rows, n_columns, part.problem, 0, 0, (0, 0))
    missing, infinite = np.isnan(X), np.isinf(X)
    first, first_infinite = _first(missing | infinite), _first(infinite)
    return _Survey(n_rows, n_columns, None, int(missing.sum()), int(infinite.sum()), first, first_infinite)


def _first(is_meant: Mask) -> tuple[int, int]:
    """Row and column of the first such value."""
    at = np.argwhere(is_meant.any(axis=1))
    return (int(at[0, 0]), int(is_meant[at[0, 0]].argmax())) if len(at) else (0, 0)


def _labels_of(part: _Loaded) -> Values:
    return part.y


def _join(part: _Loaded, codes: Values) -> tuple[Values, Values]:
    return part.X, codes


# --- labels -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LabelSurvey:
    """What comes back of the labels of a partition."""

    n_rows: int
    missing: RowNumbers
    infinite: RowNumbers
    levels: Values
    counts: Counts
    problem: Exception | None = None


def label_blocks(y: Any, lazily: Any) -> list[Any]:
    """Delayed blocks of the labels."""
    if hasattr(y, "columns") and y.ndim == 2:  # a Series of Dask has columns too
        if len(y.columns) != 1:
            raise DataError(f"y must be one column of labels, got a frame with {len(y.columns)} columns")
        y = y[y.columns[0]]
    if not hasattr(y, "to_delayed"):
        raise DataTypeError(f"y must be a Dask array or Series, or labels in memory, got {type(y).__name__}")
    if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if getattr(y, "ndim", 1) != 1:
        raise DataError(f"y must be one label per row, got an array of shape {y.shape}")
    return [lazily(load_labels)(part) for part in np.ravel(y.to_delayed())]


def recut(labels: list[Any], n_labels: Counts, sizes: Counts, lazily: Any) -> list[Any]:
    """Blocks of labels cut like the rows."""
    if len(labels) == len(sizes) and (n_labels == sizes).all():
        return labels
    theirs = np.concatenate([[0], np.cumsum(n_labels)])
    ours = np.concatenate([[0], np.cumsum(sizes)])
    blocks = []
    for a, b in zip(ours[:-1].tolist(), ours[1:].tolist(), strict=True):
        # Those that overlap, or any one where there is nothing to cut.
        touched = np.flatnonzero((theirs[1:] > a) & (theirs[:-1] < b)) if b > a else np.array([0])
        blocks.append(lazily(_cut)(a - int(theirs[touched[0]]) if b > a else 0, b - a, *(labels[j] for j in touched)))
    return blocks


def merge_labels(found: Sequence[LabelSurvey], *, gaps: bool = False) -> tuple[Values, Counts]:
    """Sorted labels of all partitions, as if they had lain in one, and how often each occurs; with `gaps` some miss."""
    starts = np.concatenate([[0], np.cumsum([part.n_rows for part in found])])
    for number, part in enumerate(found):
        if part.problem is not None:
            raise type(part.problem)(f"partition {number} of y: {part.problem}")
    for kind, which in (("missing labels (None or NaN)", "missing"), ("infinite labels", "infinite")):
        bad = [number for number, part in enumerate(found) if len(getattr(part, which))]
        if bad and not (gaps and which == "missing"):
            first = getattr(found[bad[0]], which)[0]
            raise DataError(
                f"y contains {sum(len(getattr(part, which)) for part in found)} {kind}, the first at row "
                f"{starts[bad[0]] + first} (row {first} of partition {bad[0]}): drop those rows"
            )
    if not any(len(part.levels) for part in found) and starts[-1]:
        raise DataError(f"y has no labels: all {starts[-1]:,} values are missing")
    check_number(max(len(part.levels) for part in found))
    classes, codes = encode_labels(_concatenated([part.levels for part in found if len(part.levels)]))
    check_number(len(classes))
    counts = np.zeros(len(classes), dtype=np.int64)
    np.add.at(counts, codes, np.concatenate([part.counts for part in found]))
    return classes, counts


def check_number(n_distinct: int) -> None:
    """Refuse more labels than classes can be."""
    if n_distinct > _MOST_CLASSES:
        raise DataError(
            f"y has more than {_MOST_CLASSES:,} distinct labels: is it a regression target? A floor is for classes; "
            "choose another column, or bin this one first"
        )


def _concatenated(blocks: Sequence[Values]) -> Values:
    """Labels of several blocks; numbers and text are not made one by turning numbers into text."""
    if len({"n" if block.dtype.kind in "biuf" else block.dtype.kind for block in blocks}) <= 1:
        return np.concatenate(blocks) if blocks else np.empty(0)
    return _object_array([label for block in blocks for label in plain(block)])


def _object_array(values: Sequence[Any]) -> Values:
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):  # one by one: numpy would unpack tuples into a table
        array[i] = value
    return array


# --- on the workers -----------------------------------------------------------------------------------------


def load_labels(block: Any) -> Values:
    """Labels of a block of an array or a Series, as an array."""
    if isinstance(block, np.ma.MaskedArray):
        block = unmasked(block)
    values = np.asarray(block.to_numpy() if hasattr(block, "to_numpy") else block)
    return values.reshape(-1)


def survey_labels(y: Values) -> LabelSurvey:
    """What is to be known of the labels of a block."""
    missing = missing_labels(y)
    infinite = np.flatnonzero(np.isinf(y)) if y.dtype.kind == "f" else np.empty(0, dtype=np.int64)
    gone, present = np.flatnonzero(missing), y[~missing]
    nothing = y[:0], np.empty(0, dtype=np.int64)
    if infinite.size or not len(present):
        return LabelSurvey(len(y), gone, infinite, *nothing)
    try:
        if y.dtype.kind in "biufSUM":
            levels, counts = np.unique(present, return_counts=True)
        else:
            levels, counts = _levels(present.tolist())
    except DataTypeError as error:
        return LabelSurvey(len(y), gone, infinite, *nothing, error)
    most = _MOST_CLASSES + 1  # more need not be known
    return LabelSurvey(len(y), gone, infinite, levels[:most], counts[:most].astype(np.int64))


def _levels(values: list[Any]) -> tuple[Values, Counts]:
    """Distinct labels in the order in which they come: sorted when those of all partitions are known."""
    counts: dict[Any, int] = {}
    for row, value in enumerate(values):
        try:
            counts[value] = counts.get(value, 0) + 1
        except TypeError:
            raise DataTypeError(
                f"y must hold one hashable label per row; row {row} holds a {type(value).__name__}"
            ) from None
    return _object_array(list(counts)), np.array(list(counts.values()), dtype=np.int64)


def _cut(start: int, n: int, *blocks: Values) -> Values:
    return _concatenated(blocks)[start : start + n]


def code_type(n_classes: int) -> "np.dtype[Any]":
    """The smallest type that holds the codes."""
    return np.min_scalar_type(max(1, n_classes - 1))


def code_labels(y: Values, classes: Values) -> Values:
    """Place of each label among the classes; of a missing one any place."""
    missing = missing_labels(y)
    codes = np.zeros(len(y), dtype=np.int64)
    present = y[~missing]
    if classes.dtype.kind == y.dtype.kind and y.dtype.kind in "biufSUM":
        codes[~missing] = np.searchsorted(classes, present)
    else:
        place = {label: code for code, label in enumerate(plain(classes))}
        codes[~missing] = np.array([place[label] for label in plain(present)], dtype=np.int64)
    return codes.astype(code_type(len(classes)))
