"""The column of the labels: what is missing in it, of which kind its labels are, and how many rows have each."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .._types import Codes, Counts, Floats, Mask, Values
from ..errors import DataError
from ..rows.labels import MANY_NUMBERS, encode_labels, is_text, text_array
from ..utils.checks import listed
from .columns import MISSING_WORDS, quoted, text_of

__all__ = [
    "Labels",
    "PartLabels",
    "check_labels",
    "class_notes",
    "count_labels",
    "label_notes",
    "labels_from",
    "settle_labels",
    "typed_labels",
]


_MOST_CLASSES = 1000
_MOST_LEVELS = 20_000  # ways of writing labels: far more than classes are allowed, but each may be written in several
_MANY_FRACTIONS = 20  # so many different labels that are no whole numbers are measurements
_NO_LABEL = tuple(word for word in MISSING_WORDS if word != "None")  # "None" may well be a class: none, mild, severe
_TRUTH = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
_WHOLE = re.compile(r"[-+]?\d+")
_PADDED = re.compile(r"[-+]?0\d+")


def _label_text(series: "pd.Series[Any]") -> "pd.Series[Any]":
    """Labels as text without spaces around it, and None where there is none."""
    text = text_of(series)
    return text.where(~text.isin(_NO_LABEL) & text.notna(), None)


def _words_for_nothing(levels: Iterable[str]) -> set[str]:
    """Words among the labels that can only mean a missing one: NA among numbers or truth values, say.

    Examples
    --------
    >>> _words_for_nothing(["0", "1", "NA"]), _words_for_nothing(["None", "mild", "severe"])
    ({'NA'}, set())
    """
    words = {level for level in levels if level in MISSING_WORDS}
    others = [level for level in levels if level not in words]
    if not words or not others or not all(level in _TRUTH or _is_number(level) for level in others):
        return set()
    return words


def labels_from(series: "pd.Series[Any]", name: str) -> tuple[Values, Mask]:
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
    text = _label_text(series)
    text = text.where(~text.isin(_words_for_nothing(text.dropna().unique())), None)
    present = text.notna().to_numpy()
    kept = text[present]
    if kept.isin(["True", "False"]).all() and len(kept):
        return (kept == "True").to_numpy(dtype=bool), present
    if not any(isinstance(value, str | bytes) for value in series[present].head(1000)):
        numbers = _numbers(kept)  # kept as objects
        if numbers is not None:
            return (numbers if numbers.dtype.kind in "iu" else _whole(numbers, name)), present
    return text_array(kept.tolist()), present


def typed_labels(series: "pd.Series[Any]", decimal: str = ".") -> "pd.Series[Any]":
    """Labels of a text file, all of one kind: whole numbers, numbers, truth values, or else text.

    Numbers with leading zeros are codes and stay text: 01 and 1 are two labels.

    Examples
    --------
    >>> typed_labels(pd.Series(["1", "0", None])).dropna().tolist(), typed_labels(pd.Series(["01", "1"])).tolist()
    ([1, 0], ['01', '1'])
    """
    text = _label_text(series)
    levels = text.dropna().unique()
    text = text.where(~text.isin(_words_for_nothing(levels)), None)
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


def check_labels(classes: Values, n_labels: int, name: str, n_file_rows: int) -> None:
    """Refuse the distinct labels of `n_labels` rows that are none, one alone, or measurements."""
    if not len(classes):
        raise DataError(f"the target {quoted(name)} has no labels: all {n_file_rows:,} values are missing")
    if len(classes) == 1:
        text = str(classes[0]) if len(str(classes[0])) <= 40 else f"{str(classes[0])[:37]}..."
        raise DataError(f"the target {quoted(name)} has only one class, {text!r}: a floor needs at least two")
    is_measured = classes.dtype.kind in "iuf" and len(classes) > max(MANY_NUMBERS, n_labels / 10)
    if len(classes) > _MOST_CLASSES or is_measured:
        raise _regression_target(name, len(classes))


def label_notes(y: Values, name: str) -> list[str]:
    """What a reader should know of labels that are text: words that may mean nothing, and spellings."""
    return class_notes(*np.unique(y, return_counts=True), name) if is_text(y) else []


def class_notes(levels: Values, counts: Counts, name: str) -> list[str]:
    """The same of the sorted distinct labels, and how many rows have each."""
    if not is_text(levels):
        return []
    notes = [
        f"the label {str(level)!r} of {quoted(name)} is taken for a class ({n:,} rows): empty those cells if it means "
        "that there is no label"
        for level, n in zip(levels, counts, strict=True)
        if level in MISSING_WORDS
    ]
    alike: dict[str, list[str]] = {}
    for level in levels.tolist():
        alike.setdefault("".join(unicodedata.normalize("NFKC", level).split()).casefold(), []).append(level)
    pairs = [" and ".join(_spelt(level, group) for level in group) for group in alike.values() if len(group) > 1]
    if pairs:
        notes.append(
            "labels that differ only by case, spaces or Unicode normalisation are taken for different classes: "
            f"{listed(pairs)}"
        )
    return notes


def _spelt(level: str, others: Sequence[str]) -> str:
    """A label for a note; by its characters if another looks the same."""
    looks = [unicodedata.normalize("NFKC", other) for other in others]
    return ascii(level) if looks.count(unicodedata.normalize("NFKC", level)) > 1 else repr(level)


def _numbers(text: "pd.Series[Any]") -> Values | None:
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


def _whole(values: Floats, name: str) -> Values:
    """Whole numbers as such; refuse many different fractions."""
    if np.isinf(values).any():
        raise DataError(f"the target {quoted(name)} holds {int(np.isinf(values).sum())} infinite values: correct them")
    if (values == np.rint(values)).all() and (np.abs(values) < 2**53).all():
        return values.astype(np.int64)
    n_distinct = len(np.unique(values))
    if n_distinct > _MANY_FRACTIONS:
        raise _regression_target(name, n_distinct)
    return values


def _regression_target(name: str, n_distinct: int) -> DataError:
    """The error for a target that has too many values for classes."""
    return DataError(
        f"the target {quoted(name)} has {n_distinct:,} distinct values: is it a regression target? It looks like a "
        f"number to predict, and a floor is for classes, {_MOST_CLASSES:,} at most; choose another column, or bin this "
        "one first"
    )


# --- labels of a table that comes in parts ------------------------------------------------------------------

Key = tuple[str, bool]  # a label as it is written, and whether it is text: 1 and "1" are apart until all are known


@dataclass(frozen=True, eq=False)
class PartLabels:
    """What is to be known of the labels of some rows; small, however many the rows are.

    Attributes
    ----------
    n_rows : int
        Those without a label included.
    levels : pandas.Series
        Distinct labels in the order in which they appear, of the type that the column has.
    keys : list of (str, bool)
        What tells them apart.
    counts : ndarray
        Rows that have each.
    """

    n_rows: int
    levels: "pd.Series[Any]"
    keys: list[Key]
    counts: Counts


def count_labels(part: "pd.Series[Any]", name: str) -> PartLabels:
    """Distinct labels of some rows, and how many have each.

    Examples
    --------
    >>> found = count_labels(pd.Series(["yes", "", "no", "yes"]), "won")
    >>> found.levels.tolist(), found.counts.tolist()
    (['yes', 'no'], [2, 1])
    """
    codes, levels, keys = _distinct(part)
    if len(keys) > _MOST_LEVELS:
        raise _regression_target(name, len(keys))
    return PartLabels(len(part), levels, keys, np.bincount(codes[codes >= 0], minlength=len(keys)).astype(np.int64))


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of all rows; small, and made to be sent to where the rows are.

    Attributes
    ----------
    name : str
        Of the column.
    classes : ndarray
        Sorted distinct labels.
    counts : ndarray
        Rows of each class.
    n_rows : int
        Those without a label included.
    class_of : dict
        Class of each way of writing a label, -1 if it means that there is none.
    """

    name: str
    classes: Values
    counts: Counts
    n_rows: int
    class_of: dict[Key, int]

    @property
    def n_labelled(self) -> int:
        """Rows that have a label."""
        return int(self.counts.sum())

    def codes(self, part: "pd.Series[Any]") -> Codes:
        """Class of each row, -1 where there is no label."""
        codes, _, keys = _distinct(part)
        if any(key not in self.class_of for key in keys):
            raise self.changed()
        return np.array([*(self.class_of[key] for key in keys), -1], dtype=np.int64)[codes]

    def counts_in(self, part: PartLabels) -> Counts:
        """Rows of each class in a part."""
        counts = np.zeros(len(self.classes) + 1, dtype=np.int64)  # -1 is the last place
        np.add.at(counts, [self.class_of[key] for key in part.keys], part.counts)
        return counts[:-1]

    def changed(self) -> DataError:
        """The error for labels that a second look does not find again."""
        return DataError(f"the target {self.name!r} changed while the file was read: read it again")


def settle_labels(parts: Iterable[PartLabels], name: str, settle: Callable[[pd.DataFrame], pd.DataFrame]) -> Labels:
    """Classes of a whole table from what was found in its parts.

    Whether NA is a label or a missing one, whether 1 and 1.0 are the same, is known only when all labels are: until
    then every way of writing is a level of its own.

    Parameters
    ----------
    parts : iterable of PartLabels
        In the order of the rows.
    name : str
        Of the column.
    settle : callable
        Gives a frame of distinct labels the type that the whole column would have.

    Returns
    -------
    Labels

    Examples
    --------
    >>> parts = (count_labels(pd.Series(part), "won") for part in (["1", "NA"], ["0", "1", "1"]))
    >>> labels = settle_labels(parts, "won", lambda frame: frame)
    >>> labels.classes.tolist(), labels.counts.tolist(), labels.codes(pd.Series(["NA", "1"])).tolist()
    (['0', '1'], [1, 3], [-1, 1])
    """
    counts: dict[Key, int] = {}
    found, dtypes, n_rows = [], set(), 0
    for part in parts:
        n_rows += part.n_rows
        is_new = [key not in counts for key in part.keys]
        for key, n in zip(part.keys, part.counts.tolist(), strict=True):
            counts[key] = counts.get(key, 0) + n
        if len(counts) > _MOST_LEVELS:
            raise _regression_target(name, len(counts))
        # A type matters even where all is missing, but not where there are no rows.
        if any(is_new) or (part.n_rows and str(part.levels.dtype) not in dtypes):
            dtypes.add(str(part.levels.dtype))
            found.append(part.levels[is_new])
    levels = pd.concat(found, ignore_index=True) if found else pd.Series([], dtype=object)
    settled = settle(levels.to_frame(name))[name] if len(levels) else levels
    present, is_label = labels_from(settled, name)
    class_of_level = np.full(len(levels), -1, dtype=np.int64)
    classes = present
    if len(present):
        classes, class_of_level[is_label] = encode_labels(present)
    of_class = np.zeros(len(classes) + 1, dtype=np.int64)
    np.add.at(of_class, class_of_level, np.array(list(counts.values()), dtype=np.int64))
    return Labels(name, classes, of_class[:-1], n_rows, dict(zip(counts, class_of_level.tolist(), strict=True)))


def _distinct(part: "pd.Series[Any]") -> "tuple[Codes, pd.Series[Any], list[Key]]":
    """Which level each row has, the levels as they are in the file, and what tells them apart."""
    if isinstance(part.dtype, pd.CategoricalDtype):
        part = part.astype(part.cat.categories.dtype)
    is_text = np.zeros(len(part), dtype=bool)
    if pd.api.types.is_object_dtype(part.dtype) or pd.api.types.is_string_dtype(part.dtype):
        # 1 and "1" apart: what a column of objects holds decides whether its labels are numbers.
        is_text = np.array([isinstance(value, str | bytes) for value in part], dtype=bool)
        by_text = pd.factorize(_label_text(part))[0].astype(np.int64)
        codes = pd.factorize(pd.Series(np.where(by_text < 0, -1, 2 * by_text + is_text)).where(by_text >= 0))[0]
    else:
        codes = pd.factorize(part)[0]
    present = np.flatnonzero(codes >= 0)
    _, first = np.unique(codes[present], return_index=True)
    distinct = part.iloc[present[first]]
    keys = list(zip(text_of(distinct), is_text[present[first]].tolist(), strict=True))
    return codes.astype(np.int64), distinct, keys
