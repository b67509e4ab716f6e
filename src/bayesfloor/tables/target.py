"""The column of the labels: what is missing in it, and of which kind its labels are."""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._types import Floats
from ..errors import DataError
from ..utils.checks import listed
from .columns import MISSING_WORDS, quoted, text_of

__all__ = [
    "check_classes",
    "check_labels",
    "class_notes",
    "label_notes",
    "label_text",
    "labels_from",
    "regression_target",
    "typed_labels",
    "words_for_nothing",
]


_MOST_CLASSES = 1000
_MANY_NUMBERS = 20  # so many different numbers, with fewer than ten rows each, are measurements
_MANY_FRACTIONS = 20  # so many different labels that are no whole numbers are measurements
_NO_LABEL = tuple(word for word in MISSING_WORDS if word != "None")  # "None" may well be a class: none, mild, severe
_TRUTH = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
_WHOLE = re.compile(r"[-+]?\d+")
_PADDED = re.compile(r"[-+]?0\d+")


def label_text(series: "pd.Series[Any]") -> "pd.Series[Any]":
    """Labels as text without spaces around it, and None where there is none."""
    text = text_of(series)
    return text.where(~text.isin(_NO_LABEL) & text.notna(), None)


def words_for_nothing(levels: Iterable[str]) -> set[str]:
    """Words among the labels that can only mean a missing one: NA among numbers or truth values, say.

    Examples
    --------
    >>> words_for_nothing(["0", "1", "NA"]), words_for_nothing(["None", "mild", "severe"])
    ({'NA'}, set())
    """
    words = {level for level in levels if level in MISSING_WORDS}
    others = [level for level in levels if level not in words]
    if not words or not others or not all(level in _TRUTH or _is_number(level) for level in others):
        return set()
    return words


def labels_from(series: "pd.Series[Any]", name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Labels of the rows that have one, as whole numbers, truth values or text; and which rows those are.

    Examples
    --------
    >>> labels, has_label = labels_from(pd.Series([1.0, None, 0.0]), "won")
    >>> labels.tolist(), has_label.tolist()
    ([1, 0], [True, False, True])
    """
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(series.cat.categories.dtype)
    dtype = series.dtype
    if pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_datetime64_any_dtype(dtype):
        present = series.notna().to_numpy()
        kept = series[present]
        return (kept.to_numpy(dtype=bool) if pd.api.types.is_bool_dtype(dtype) else kept.to_numpy()), present
    if pd.api.types.is_numeric_dtype(dtype):
        present = series.notna().to_numpy()
        values = series[present].to_numpy()
        if values.dtype.kind not in "iu":
            values = _whole(values.astype(np.float64), name)
        return values, present
    text = label_text(series)
    text = text.where(~text.isin(words_for_nothing(text.dropna().unique())), None)
    present = text.notna().to_numpy()
    kept = text[present]
    if kept.isin(["True", "False"]).all() and len(kept):
        return (kept == "True").to_numpy(dtype=bool), present
    if not any(isinstance(value, str | bytes) for value in series[present].head(1000)):
        numbers = _numbers(kept)  # kept as objects
        if numbers is not None:
            return (numbers if numbers.dtype.kind in "iu" else _whole(numbers, name)), present
    return np.array(kept.tolist(), dtype=str) if len(kept) else np.empty(0, dtype=str), present


def typed_labels(series: "pd.Series[Any]", decimal: str = ".") -> "pd.Series[Any]":
    """Labels of a text file, all of one kind: whole numbers, numbers, truth values, or else text.

    Numbers with leading zeros are codes and stay text: 01 and 1 are two labels.

    Examples
    --------
    >>> typed_labels(pd.Series(["1", "0", None])).dropna().tolist(), typed_labels(pd.Series(["01", "1"])).tolist()
    ([1, 0], ['01', '1'])
    """
    text = label_text(series)
    levels = text.dropna().unique()
    text = text.where(~text.isin(words_for_nothing(levels)), None)
    present = text.dropna()
    if present.isin(list(_TRUTH)).all():
        return text.map(_TRUTH, na_action="ignore").astype("boolean") if len(present) else text
    if any(_PADDED.fullmatch(level) for level in levels):
        return text
    numbers = _numbers(present.str.replace(decimal, ".", regex=False) if decimal != "." else present)
    if numbers is None:
        return text
    typed = pd.Series(pd.NA, index=text.index, dtype="Int64" if numbers.dtype.kind in "iu" else "Float64")
    typed[present.index] = numbers
    return typed


def check_labels(y: NDArray[Any], name: str, n_file_rows: int) -> None:
    """Refuse labels that are none, all alike, or measurements."""
    check_classes(pd.unique(y), len(y), name, n_file_rows)


def check_classes(classes: NDArray[Any], n_labels: int, name: str, n_file_rows: int) -> None:
    """Refuse the distinct labels of `n_labels` rows that are none, one alone, or measurements."""
    if not len(classes):
        raise DataError(f"the target {quoted(name)} has no labels: all {n_file_rows:,} values are missing")
    if len(classes) == 1:
        text = str(classes[0]) if len(str(classes[0])) <= 40 else f"{str(classes[0])[:37]}..."
        raise DataError(f"the target {quoted(name)} has only one class, {text!r}: a floor needs at least two")
    is_measured = classes.dtype.kind in "iuf" and len(classes) > max(_MANY_NUMBERS, n_labels / 10)
    if len(classes) > _MOST_CLASSES or is_measured:
        raise regression_target(name, len(classes))


def label_notes(y: NDArray[Any], name: str) -> list[str]:
    """What a reader should know of labels that are text: words that may mean nothing, and spellings."""
    return class_notes(*np.unique(y, return_counts=True), name) if y.dtype.kind == "U" else []


def class_notes(levels: NDArray[Any], counts: NDArray[np.int64], name: str) -> list[str]:
    """The same of the sorted distinct labels, and how many rows have each."""
    if levels.dtype.kind != "U":
        return []
    notes = [
        f"the label {str(level)!r} of {quoted(name)} is taken for a class ({n:,} rows): empty those cells if it means "
        "that there is no label"
        for level, n in zip(levels, counts, strict=True)
        if level in MISSING_WORDS
    ]
    alike: dict[str, list[str]] = {}
    for level in levels.tolist():
        alike.setdefault("".join(level.split()).casefold(), []).append(level)
    pairs = [" and ".join(repr(level) for level in group) for group in alike.values() if len(group) > 1]
    if pairs:
        notes.append(f"labels that differ only by case or spaces are taken for different classes: {listed(pairs)}")
    return notes


def _numbers(text: "pd.Series[Any]") -> NDArray[Any] | None:
    """Numbers if all are: whole ones exactly, as far as 64 bits go; larger ones stay text rather than merge."""
    levels = text.unique()
    if all(_WHOLE.fullmatch(level) for level in levels):
        values = text.map({level: int(level) for level in levels})
        if all(-(2**63) <= int(level) < 2**63 for level in levels):
            return values.to_numpy(dtype=np.int64)
        return None
    if not all(_is_number(level) for level in levels):
        return None
    return np.asarray(text.map({level: float(level) for level in levels}).to_numpy(dtype=np.float64))


def _is_number(text: str) -> bool:
    try:
        return float(text) == float(text) and "_" not in text
    except ValueError:
        return False


def _whole(values: Floats, name: str) -> NDArray[Any]:
    """Whole numbers as such; refuse many different fractions."""
    if np.isinf(values).any():
        raise DataError(f"the target {quoted(name)} holds {int(np.isinf(values).sum())} infinite values: correct them")
    if (values == np.rint(values)).all() and (np.abs(values) < 2**53).all():
        return values.astype(np.int64)
    n_distinct = len(np.unique(values))
    if n_distinct > _MANY_FRACTIONS:
        raise regression_target(name, n_distinct)
    return values


def regression_target(name: str, n_distinct: int) -> DataError:
    """The error for a target that has too many values for classes."""
    return DataError(
        f"the target {quoted(name)} has {n_distinct:,} distinct values: is it a regression target? A floor is for "
        f"classes, {_MOST_CLASSES:,} at most; choose another column, or bin this one first"
    )
