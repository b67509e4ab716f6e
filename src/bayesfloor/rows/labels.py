"""Labels of any hashable kind become codes 0..C-1."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Codes
from ..errors import DataError, DataTypeError
from ..utils.checks import listed

__all__ = ["check_class_sizes", "encode_labels", "is_missing", "plain"]


def encode_labels(y: Any) -> tuple[NDArray[Any], Codes]:
    """Sorted distinct labels, and each row's position among them.

    Examples
    --------
    >>> classes, codes = encode_labels(["no", "yes", "no"])
    >>> classes.tolist(), codes.tolist()
    (['no', 'yes'], [0, 1, 0])
    """
    if y is None:
        raise DataError("y is missing (requires y to be passed, but the target y is None)")
    if hasattr(y, "columns"):
        if len(y.columns) != 1:
            raise DataError(f"y must be one column of labels, got a frame with {len(y.columns)} columns")
        y = y[y.columns[0]]
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        raise _missing_labels(np.flatnonzero(np.ma.getmaskarray(y)))
    if hasattr(y, "to_numpy"):
        y = y.to_numpy()
    elif hasattr(y, "__array__"):
        y = np.asarray(y)
    if isinstance(y, np.ndarray):
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if y.ndim != 1:
            raise DataError(f"y must be one label per row, got an array of shape {y.shape}")
        if y.dtype.kind in "biufSUM" and y.size:
            missing = np.flatnonzero(y != y)  # NaN and NaT
            if missing.size:
                raise _missing_labels(missing)
            if y.dtype.kind == "f" and np.isinf(y).any():
                raise DataError(f"y contains infinity, the first at row {np.flatnonzero(np.isinf(y))[0]}")
            classes, codes = np.unique(y, return_inverse=True)
            return classes, codes.astype(np.int64)
        y = y.tolist()
    if isinstance(y, str | bytes) or not hasattr(y, "__iter__"):
        raise DataTypeError(f"y must be a sequence of labels, got {type(y).__name__}")
    return _hashed_labels(list(y))


def _hashed_labels(values: list[Any]) -> tuple[NDArray[Any], Codes]:
    missing = [i for i, value in enumerate(values) if is_missing(value)]
    if missing:
        raise _missing_labels(missing)
    seen: dict[Hashable, int] = {}
    try:
        codes = np.array([seen.setdefault(value, len(seen)) for value in values], dtype=np.int64)
    except TypeError:
        bad = next(i for i, value in enumerate(values) if not isinstance(value, Hashable))
        raise DataTypeError(
            f"y must hold one hashable label per row; row {bad} holds a {type(values[bad]).__name__}"
        ) from None
    found = list(seen)
    order = sorted(range(len(found)), key=lambda i: _sort_key(found[i], found))
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    return _class_array([found[i] for i in order]), position[codes]


def _sort_key(label: Any, labels: list[Any]) -> Any:
    """Order of the labels themselves where it is a total one; otherwise by kind and spelling."""
    for kind in ((bool, int, float, np.number, np.bool_), (str,), (bytes,)):
        if all(isinstance(other, kind) for other in labels):
            return label
    return type(label).__name__, repr(label)


def _class_array(labels: list[Any]) -> NDArray[Any]:
    if len({type(label) for label in labels}) == 1 and isinstance(labels[0], str | bool | int | float | np.generic):
        array = np.array(labels)
        if all(a == b for a, b in zip(array.tolist(), labels, strict=True)):  # huge integers would become floats
            return array
    array = np.empty(len(labels), dtype=object)
    for i, label in enumerate(labels):  # one by one: numpy would unpack tuples into a table
        array[i] = label
    return array


def plain(classes: NDArray[Any]) -> list[Any]:
    """Labels as plain Python objects where that loses nothing (dates stay numpy's)."""
    return list(classes) if classes.dtype.kind in "mM" else classes.tolist()


def is_missing(value: Any) -> bool:
    """None, NaN, or pandas' marks for what is missing."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(value != value)


def _missing_labels(rows: Sequence[int] | NDArray[np.intp]) -> DataError:
    return DataError(
        f"y contains {len(rows)} missing labels (None or NaN), the first at row {rows[0]}: drop those rows"
    )


def check_class_sizes(classes: NDArray[Any], counts: NDArray[np.int64]) -> None:
    """Refuse fewer than two classes, and classes of a single sample."""
    if len(classes) < 2:
        what = f"only one class, {plain(classes)[0]!r}" if len(classes) else "no labels"
        raise DataError(f"y contains {what}: a floor needs samples of at least two classes")
    alone = [repr(label) for label in plain(classes[counts == 1])]
    if alone:
        hint = "; is y a regression target?" if len(alone) > len(classes) / 2 else ""
        raise DataError(
            f"class {listed(alone)} {'has' if len(alone) == 1 else 'have'} only one sample: at least 2 per class "
            f"are needed. Merge it with another class or drop it{hint}"
        )
