"""Labels in the blocks of a Dask collection: distinct ones come back, sorted as if all had lain in one place."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._types import Counts, RowNumbers, Values
from ..errors import DataError, DataTypeError
from .labels import encode_labels, is_missing, plain

__all__ = [
    "LabelSurvey",
    "check_number",
    "code_labels",
    "code_type",
    "label_blocks",
    "load_labels",
    "merge_labels",
    "recut",
    "survey_labels",
]


_MOST_CLASSES = 1000


@dataclass(frozen=True, eq=False)
class LabelSurvey:
    """What comes back of the labels of a partition."""

    n_rows: int
    n_missing: int
    n_infinite: int
    first: int  # row of the first that is missing or infinite
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


def merge_labels(found: Sequence[LabelSurvey]) -> tuple[Values, RowNumbers]:
    """Sorted labels of all partitions, as if they had lain in one, and how often each occurs."""
    starts = np.concatenate([[0], np.cumsum([part.n_rows for part in found])])
    for number, part in enumerate(found):
        if part.problem is not None:
            raise type(part.problem)(f"partition {number} of y: {part.problem}")
    for kind, which in (("missing labels (None or NaN)", "n_missing"), ("infinite labels", "n_infinite")):
        bad = [number for number, part in enumerate(found) if getattr(part, which)]
        if bad:
            first = found[bad[0]].first
            raise DataError(
                f"y contains {sum(getattr(part, which) for part in found)} {kind}, the first at row "
                f"{starts[bad[0]] + first} (row {first} of partition {bad[0]}): drop those rows"
            )
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
        block = np.ma.filled(block.astype(object), None)
    values = np.asarray(block.to_numpy() if hasattr(block, "to_numpy") else block)
    return values.reshape(-1)


def survey_labels(y: Values) -> LabelSurvey:
    """What is to be known of the labels of a block."""
    infinite = np.zeros(len(y), dtype=bool)
    if y.dtype.kind in "biufSUM":
        missing = y != y  # NaN and NaT
        infinite = np.isinf(y) if y.dtype.kind == "f" else infinite
    else:
        missing = np.array([is_missing(value) for value in y.tolist()], dtype=bool)
    bad = np.flatnonzero(missing if missing.any() else infinite)
    if bad.size or not len(y):
        first = int(bad[0]) if bad.size else 0
        return LabelSurvey(len(y), int(missing.sum()), int(infinite.sum()), first, y[:0], np.empty(0, np.int64))
    try:
        if y.dtype.kind in "biufSUM":
            levels, counts = np.unique(y, return_counts=True)
        else:
            levels, counts = _levels(y.tolist())
    except DataTypeError as error:
        return LabelSurvey(len(y), 0, 0, 0, y[:0], np.empty(0, np.int64), error)
    most = _MOST_CLASSES + 1  # more need not be known
    return LabelSurvey(len(y), 0, 0, 0, levels[:most], counts[:most].astype(np.int64))


def _levels(values: list[Any]) -> tuple[Values, RowNumbers]:
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
    """Place of each label among the classes."""
    codes: Any
    if classes.dtype.kind == y.dtype.kind and y.dtype.kind in "biufSUM":
        codes = np.searchsorted(classes, y)
    else:
        place = {label: code for code, label in enumerate(plain(classes))}
        codes = np.array([place[label] for label in plain(y)], dtype=np.int64)
    return codes.astype(code_type(len(classes)))
