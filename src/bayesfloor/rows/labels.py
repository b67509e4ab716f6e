"""Labels of any kind that a result can keep become codes 0..C-1."""

from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._types import Codes, Mask, RowNumbers
from ..errors import DataError, DataTypeError
from ..utils.checks import brief, listed
from .saved_labels import write_label

__all__ = [
    "MANY_NUMBERS",
    "PresentLabels",
    "check_class_sizes",
    "encode_labels",
    "is_missing",
    "is_text",
    "label_values",
    "missing_labels",
    "plain",
    "present_labels",
    "refuse_measurements",
    "text_array",
    "unmasked",
]

_PLAIN = "biufSUMm"  # kinds of numpy's own types that labels are compared in
MANY_NUMBERS = 20  # so many different numbers, with fewer than ten rows each, are measurements
_LONG = 64  # characters; numpy gives every label of an array the room of the longest


def encode_labels(y: Any) -> tuple[NDArray[Any], Codes]:
    """Sorted distinct labels, and each row's position among them.

    Examples
    --------
    >>> classes, codes = encode_labels(["no", "yes", "no"])
    >>> classes.tolist(), codes.tolist()
    (['no', 'yes'], [0, 1, 0])
    """
    values = label_values(y)
    missing = np.flatnonzero(missing_labels(values))
    if missing.size:
        raise DataError(
            f"y contains {len(missing)} missing labels (None or NaN), the first at row {missing[0]}: drop those rows"
        )
    if isinstance(values, np.ndarray):
        if values.dtype.kind == "f" and np.isinf(values).any():
            raise DataError(f"y contains infinity, the first at row {np.flatnonzero(np.isinf(values))[0]}")
        classes, codes = np.unique(values, return_inverse=True)
        return classes, codes.astype(np.int64)
    return _hashed_labels(values)


class PresentLabels(NamedTuple):
    """Labels without the missing ones, the rows that have one (None if all have), and the number of all rows."""

    y: Any
    rows: RowNumbers | None
    n_rows: int


def present_labels(y: Any, n_rows: int | None = None) -> PresentLabels:
    """Labels without the missing ones; refuse them if they are not of so many rows.

    Examples
    --------
    >>> labels = present_labels(["no", None, "yes", float("nan")])
    >>> labels.y, labels.rows.tolist(), labels.n_rows
    (['no', 'yes'], [0, 2], 4)
    """
    values = label_values(y)
    if n_rows is not None and len(values) != n_rows:
        raise DataError(f"X has {n_rows} rows but y has {len(values)} labels: they must have equal length")
    missing = missing_labels(values)
    if not missing.any():
        return PresentLabels(values, None, len(values))
    rows = np.flatnonzero(~missing)
    if not len(rows):
        raise DataError(f"y has no labels: all {len(values):,} values are missing")
    kept = values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows]
    return PresentLabels(kept, rows, len(values))


def missing_labels(values: NDArray[Any] | list[Any]) -> Mask:
    """Which labels are missing: None, NaN, NaT, and pandas' NA."""
    if isinstance(values, np.ndarray) and values.dtype.kind in _PLAIN:
        return np.asarray(values != values)  # NaN and NaT
    return np.array([is_missing(value) for value in values], dtype=bool)


def unmasked(y: "np.ma.MaskedArray[Any, Any]") -> NDArray[Any]:
    """Labels with None for those that are masked: `filled` would put a value of its own there."""
    if not np.ma.is_masked(y):
        return np.asarray(y.data)
    values = np.array(y.data, dtype=object)
    values[np.ma.getmaskarray(y)] = None
    return values


def label_values(y: Any) -> NDArray[Any] | list[Any]:
    """Labels one by one: an array of one of numpy's own types, or a list."""
    if y is None:
        raise DataError("y is missing (requires y to be passed, but the target y is None)")
    if hasattr(y, "columns"):
        if len(y.columns) != 1:
            raise DataError(f"y must be one column of labels, got a frame with {len(y.columns)} columns")
        y = y[y.columns[0]]
    if isinstance(y, np.ma.MaskedArray):
        y = unmasked(y)
    if hasattr(y, "to_numpy"):
        y = y.to_numpy()
    elif hasattr(y, "__array__"):
        y = np.asarray(y)
    if isinstance(y, np.ndarray):
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if y.ndim != 1:
            raise DataError(f"y must be one label per row, got an array of shape {y.shape}")
        is_long_float = y.dtype.kind == "f" and y.dtype.itemsize > 8  # JSON has no number for it
        if y.dtype.kind in _PLAIN and not is_long_float and y.size:
            return y
        y = y.tolist()
    if isinstance(y, str | bytes) or not hasattr(y, "__iter__"):
        raise DataTypeError(f"y must be a sequence of labels, got {type(y).__name__}")
    return list(y)


def _hashed_labels(values: list[Any]) -> tuple[NDArray[Any], Codes]:
    seen: dict[Hashable, int] = {}
    codes = np.empty(len(values), dtype=np.int64)
    for row, value in enumerate(values):
        try:
            codes[row] = seen.setdefault(value, len(seen))
        except Exception:  # a tuple that holds a list looks hashable, and is not
            raise DataTypeError(
                f"y must hold one hashable label per row; row {row} holds a {type(value).__name__}"
            ) from None
    found = list(seen)
    for label in found:
        try:
            write_label(label)
        except DataTypeError as error:
            raise DataTypeError(f"row {values.index(label)} of y: {error}") from None
    key = _order_of(found)
    order = sorted(range(len(found)), key=lambda i: key(found[i]))
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    return _class_array([found[i] for i in order]), position[codes]


def _order_of(labels: list[Any]) -> Callable[[Any], Any]:
    """Order of the labels themselves where it is a total one; otherwise by kind and spelling."""
    for kind in ((bool, int, float, np.number, np.bool_), (str,), (bytes,)):
        if all(isinstance(label, kind) and not isinstance(label, np.complexfloating) for label in labels):
            return lambda label: label
    return lambda label: (type(label).__name__, brief(label, 1000))


def _class_array(labels: list[Any]) -> NDArray[Any]:
    if labels and all(type(label) is str for label in labels):
        return text_array(labels)
    if len({type(label) for label in labels}) == 1 and isinstance(labels[0], str | bool | int | float | np.generic):
        array = np.array(labels)
        if all(a == b for a, b in zip(array.tolist(), labels, strict=True)):  # huge integers would become floats
            return array
    return _object_array(labels)


def text_array(labels: Sequence[str]) -> NDArray[Any]:
    """Labels that are text: numpy's own kind of it, or Python's where one long label would widen all of them.

    Examples
    --------
    >>> text_array(["no", "yes"]).dtype.kind, text_array(["no", "y" * 20_000]).dtype.kind
    ('U', 'O')
    """
    if max(map(len, labels), default=0) > _LONG or any(label.endswith("\0") for label in labels):
        return _object_array(labels)  # numpy drops zeros at the end
    return np.array(labels, dtype=str)


def is_text(labels: NDArray[Any]) -> bool:
    """Whether labels are text, however long."""
    return labels.dtype.kind == "U" or (labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels))


def _object_array(labels: Sequence[Any]) -> NDArray[Any]:
    array = np.empty(len(labels), dtype=object)
    for i, label in enumerate(labels):  # one by one: numpy would unpack tuples into a table
        array[i] = label
    return array


def plain(classes: NDArray[Any]) -> list[Any]:
    """Labels as plain Python objects where that loses nothing (dates stay numpy's)."""
    return list(classes) if classes.dtype.kind in "mM" else classes.tolist()


def is_missing(value: Any) -> bool:
    """None, NaN, numpy's mask, or pandas' marks for what is missing."""
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()  # a signalling one cannot even be compared
    return isinstance(value, float | np.floating) and bool(value != value)


def refuse_measurements(classes: NDArray[Any], counts: NDArray[np.int64], fewest: int) -> None:
    """Refuse labels that are numbers to predict: many different ones, some of them in fewer rows than are needed.

    Examples
    --------
    >>> refuse_measurements(np.arange(40), np.full(40, 9), 5)
    >>> refuse_measurements(np.arange(40), np.full(40, 3), 5)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    bayesfloor.errors.DataError: y has 40 different numbers, some of them in fewer than 5 rows (0, say): ...
    """
    rare = classes[counts < fewest]
    if classes.dtype.kind not in "iuf" or len(classes) <= MANY_NUMBERS or not len(rare):
        return
    raise DataError(
        f"y has {len(classes):,} different numbers, some of them in fewer than {fewest} rows ({brief(plain(rare)[0])}, "
        "say): it looks like a number to predict, and a floor is for classes. Choose another target, or bin this one "
        "first; if they are classes, merge or drop the rare ones"
    )


def check_class_sizes(classes: NDArray[Any], counts: NDArray[np.int64]) -> None:
    """Refuse fewer than two classes, and classes of a single sample."""
    if len(classes) < 2:
        what = f"only one class, {brief(plain(classes)[0])}" if len(classes) else "no labels"
        raise DataError(f"y contains {what}: a floor needs samples of at least two classes")
    alone = [brief(label) for label in plain(classes[counts == 1])]
    if alone:
        refuse_measurements(classes, counts, 2)
        hint = "; is y a regression target?" if len(alone) > len(classes) / 2 else ""
        raise DataError(
            f"class {listed(alone)} {'has' if len(alone) == 1 else 'have'} only one sample: at least 2 per class "
            f"are needed. Merge it with another class or drop it{hint}"
        )
