"""Columns of any kind become numbers: what kind each one is, and how it is encoded."""

import datetime
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .date_columns import date_parts, parsed_dates
from .errors import DataError

__all__ = ["MISSING_WORDS", "Column", "Encoded", "encode_column", "is_identifier", "present_text", "quoted", "text_of"]

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

MISSING_WORDS = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "?", "<NA>")
_MOST_LEVELS = 30
_MIXED_SHARE = 0.5  # so many numbers among words, and the words are taken for mistakes
_TRUTHS = ({"true": 1.0, "false": 0.0, "t": 1.0, "f": 0.0}, {"yes": 1.0, "no": 0.0, "y": 1.0, "n": 0.0})
_WRITTEN_NUMBER = re.compile(
    r"[-+]?[$€£]?\s?\d{1,3}([,' ]\d{3})+(\.\d+)?\s?[%$€£]?|[-+]?\d+,\d+"
    r"|[-+]?[$€£]?\s?\d{1,3}(\.\d{3})+,\d+\s?[%$€£]?|[-+]?\d{1,3}(\.\d{3}){2,}"
    r"|[-+]?[$€£]\s?\d+(\.\d+)?|[-+]?\d+(\.\d+)?\s?[%$€£]"
)
_ID_NAME = re.compile(
    r"(^|.*[^a-z])(id|ids|uuid|guid|key|index|idx|row|rowid|rownames|record|serial)|unnamed.*|__index_.*"
)


@dataclass(frozen=True)
class Column:
    """A column of the file and what became of it.

    Attributes
    ----------
    name : str
    kind : str
        numeric, boolean, categorical, date, identifier, or empty.
    n_missing, n_distinct : int
        Values that are missing; different values among the others.
    use : str
        feature, target, groups, or left out.
    note : str
        Why it was left out, or how it was encoded; may be empty.
    """

    name: str
    kind: str
    n_missing: int
    n_distinct: int
    use: str
    note: str = ""


@dataclass(frozen=True, eq=False)
class Encoded:
    """A column and the numbers that stand for it."""

    column: Column
    names: tuple[str, ...] = ()
    values: tuple[Floats, ...] = ()


def encode_column(series: "pd.Series[Any]", name: str, rows: Rows, *, wanted: bool = False) -> Encoded:
    """Kind of a column, and its numbers.

    Numbers and truth values stay as they are, categories become 0/1 columns, dates become days and parts of them.
    What is missing is filled with the median and marked by a column of its own.

    Parameters
    ----------
    series : pandas.Series
    name : str
        For messages and for the names of the numbers.
    rows : ndarray
        Row numbers in the file, for messages.
    wanted : bool
        The user asked for this column by name: whole numbers that look like an identifier are kept.

    Returns
    -------
    Encoded
        Without values if the column is left out.

    Examples
    --------
    >>> encoded = encode_column(pd.Series(["low", "high", None, "mid", "low"]), "risk", np.arange(1, 6))
    >>> encoded.column.kind, encoded.names
    ('categorical', ('risk=high', 'risk=low', 'risk=mid', 'risk missing'))
    """
    dtype = series.dtype
    n_missing = int(series.isna().sum())
    if n_missing == len(series):
        return Encoded(Column(name, "empty", n_missing, 0, "left out", "no values"))
    if isinstance(dtype, pd.CategoricalDtype) and not dtype.ordered:
        return _categories(series.astype(object), name)
    if isinstance(dtype, pd.CategoricalDtype):
        codes = series.cat.codes.to_numpy().astype(np.float64)
        return _numbers(np.where(codes < 0, np.nan, codes), name, rows, "categorical", note="ordered: its rank")
    if pd.api.types.is_bool_dtype(dtype):
        return _numbers(series.to_numpy(dtype=np.float64, na_value=np.nan), name, rows, "boolean")
    if pd.api.types.is_complex_dtype(dtype):
        raise DataError(f"column {quoted(name)} holds complex numbers: split it into real and imaginary columns")
    if pd.api.types.is_numeric_dtype(dtype):
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        if not wanted and is_identifier(values, name, rows):
            return _identifier(name, n_missing, len(values) - n_missing, "names the row; used if kept by name")
        return _numbers(values, name, rows, "numeric", note=_group_hint(series, name))
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return _dates(series, name)
    if pd.api.types.is_timedelta64_dtype(dtype):
        return _numbers(series.dt.total_seconds().to_numpy() / 86400, name, rows, "numeric", note="in days")
    return _objects(series, name, rows, wanted)


def _objects(series: "pd.Series[Any]", name: str, rows: Rows, wanted: bool) -> Encoded:
    first = series.dropna().iloc[0]
    if isinstance(first, datetime.date):
        return _dates(pd.to_datetime(series, errors="coerce"), name)
    if isinstance(first, list | dict | set | tuple | np.ndarray):
        raise DataError(
            f"column {quoted(name)} holds a {type(first).__name__} in row {rows[series.notna().argmax()]}: give each "
            f"of its values a column of its own, or {_leave_out(name)}"
        )
    text = present_text(series)
    if text.isna().all():
        return Encoded(Column(name, "empty", len(text), 0, "left out", "no values"))
    codes, found = pd.factorize(text)
    levels = pd.Series(found, dtype=object)
    counts = np.bincount(codes[codes >= 0], minlength=len(levels))
    numbers = pd.to_numeric(levels, errors="coerce").to_numpy(dtype=np.float64)
    is_number = ~np.isnan(numbers)
    n_present, n_missing = int(counts.sum()), int((codes < 0).sum())
    if is_number.all():
        values = np.where(codes < 0, np.nan, numbers[codes])
        if not wanted and is_identifier(values, name, rows):
            return _identifier(name, n_missing, n_present, "names the row; used if kept by name")
        return _numbers(values, name, rows, "numeric")
    for words in _TRUTHS:
        if levels.str.lower().isin(list(words)).all():
            truth = levels.str.lower().map(words).to_numpy(dtype=np.float64)
            return _numbers(np.where(codes < 0, np.nan, truth[codes]), name, rows, "boolean")
    dates = parsed_dates(levels)
    if dates is not None:
        return _dates(pd.Series(dates[0].to_numpy()[codes]).where(codes >= 0), name, dates[1])
    written = levels.str.fullmatch(_WRITTEN_NUMBER).to_numpy(dtype=bool) & ~is_number
    if counts[is_number | written].sum() >= _MIXED_SHARE * n_present:
        at = int(np.flatnonzero((codes >= 0) & ~is_number[codes])[0])
        value = f"{_shown(levels[codes[at]])} in row {rows[at]}"
        if written[codes[at]]:
            raise DataError(
                f"column {quoted(name)} has numbers written with separators or signs, the first {value}: write them "
                f"plainly (1234.5), or {_leave_out(name)}"
            )
        raise DataError(
            f"column {quoted(name)} mixes numbers and text, the first text is {value}: correct it, empty it if it "
            f"means a missing value, or {_leave_out(name)}"
        )
    n_words = float((levels.str.split().str.len() * counts).sum() / n_present)
    n_characters = float((levels.str.len() * counts).sum() / n_present)
    if len(levels) >= 10 and len(levels) > n_present / 2 and (n_words >= 4 or n_characters >= 60):
        raise DataError(
            f"column {quoted(name)} holds free text (for example {_shown(levels[0])}): {_leave_out(name)}, or put the "
            "numbers of an embedding in its place"
        )
    if len(levels) == n_present or (len(levels) > _MOST_LEVELS and len(levels) > 0.95 * n_present):
        return _identifier(name, n_missing, len(levels))
    return _categories(text, name)


def present_text(series: "pd.Series[Any]") -> "pd.Series[Any]":
    """Values as text without spaces around it, and None for what is missing or a word for it."""
    text = text_of(series)
    return text.where(~text.isin(MISSING_WORDS) & text.notna(), None)


def text_of(series: "pd.Series[Any]") -> "pd.Series[Any]":
    """Values as text without spaces around it, and None for what is missing."""
    values = series.astype(object)
    absent = series.isna()
    cells = [None if gone else _as_text(value) for value, gone in zip(values, absent, strict=True)]
    return pd.Series(cells, index=series.index, dtype=object)


def _as_text(value: Any) -> str:
    return (value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)).strip()


def is_identifier(values: Floats, name: str, rows: Rows) -> bool:
    """Whole numbers, no two alike, that are called an identifier or number the rows.

    Examples
    --------
    >>> rows = np.arange(1, 21)
    >>> is_identifier(rows + 100.0, "price", rows), is_identifier(rows**2.0, "customerId", rows)
    (True, True)
    >>> is_identifier(rows**2.0, "price", rows), is_identifier(rows + 0.5, "id", rows)
    (False, False)
    """
    if len(values) < 10 or not np.isfinite(values).all() or (values != np.rint(values)).any():
        return False
    if len(np.unique(values)) < len(values):
        return False
    return _called_id(name) or bool((np.diff(values) == np.diff(rows)).all())


def _called_id(name: str) -> bool:
    return _ID_NAME.fullmatch(re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()) is not None


def _group_hint(series: "pd.Series[Any]", name: str) -> str:
    """Advice for a column that is called an identifier, but repeats."""
    if _called_id(name) and series.nunique() >= _MOST_LEVELS:
        return "repeats: if such rows belong together, name it as groups"
    return ""


def _identifier(name: str, n_missing: int, n_distinct: int, note: str = "names the row") -> Encoded:
    return Encoded(Column(name, "identifier", n_missing, n_distinct, "left out", note))


def _numbers(values: Floats, name: str, rows: Rows, kind: str, note: str = "") -> Encoded:
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise DataError(
            f"column {quoted(name)} holds {len(infinite)} infinite values, the first in row {rows[infinite[0]]}: empty "
            f"them if they mean a missing value, or {_leave_out(name)}"
        )
    n_distinct = len(pd.unique(values[~np.isnan(values)]))
    return _finished(name, kind, n_distinct, [(name, values)], note)


def _dates(series: "pd.Series[Any]", name: str, note: str = "") -> Encoded:
    parts = date_parts(series, name)
    days = parts[0][1]
    return _finished(name, "date", len(pd.unique(days[~np.isnan(days)])), parts, note)


def _categories(values: "pd.Series[Any]", name: str) -> Encoded:
    """One 0/1 column per level, one in all for two levels; rare levels together beyond thirty of them."""
    text = values.map(lambda value: None if value is None or value != value else str(value)).astype(object)
    codes, found = pd.factorize(text)
    counts = np.bincount(codes[codes >= 0], minlength=len(found))
    by_frequency = sorted(range(len(found)), key=lambda level: (-counts[level], found[level]))
    kept = by_frequency if len(found) <= _MOST_LEVELS else by_frequency[: _MOST_LEVELS - 1]
    kept = sorted(kept, key=lambda level: str(found[level]))
    if len(kept) == 2:
        kept = kept[1:]
    hint = _group_hint(values, name)
    parts = [(f"{name}={found[level]}", np.where(codes < 0, np.nan, codes == level)) for level in kept]
    note = f"{len(found)} levels"
    if len(found) > _MOST_LEVELS:
        others = np.setdiff1d(np.arange(len(found)), kept)
        parts.append((f"{name} other", np.where(codes < 0, np.nan, np.isin(codes, others))))
        note += f": the {_MOST_LEVELS - 1} most frequent, and the others as one"
    return _finished(name, "categorical", len(found), parts, "; ".join(filter(None, (note, hint))))


def _finished(name: str, kind: str, n_distinct: int, parts: list[tuple[str, Floats]], note: str) -> Encoded:
    """Fill what is missing, mark it, and drop what does not vary."""
    absent = np.isnan(parts[0][1])
    n_missing = int(absent.sum())
    filled = []
    for part_name, values in parts:
        if n_missing:
            values = np.where(absent, np.median(values[~absent]), values)
        filled.append((part_name, np.asarray(values, dtype=np.float64)))
    if n_missing:
        filled.append((f"{name} missing", absent.astype(np.float64)))
    varying = [(part_name, values) for part_name, values in filled if (values != values[0]).any()]
    if not varying:
        return Encoded(Column(name, kind, n_missing, n_distinct, "left out", "constant"))
    column = Column(name, kind, n_missing, n_distinct, "feature", note)
    return Encoded(column, tuple(part_name for part_name, _ in varying), tuple(values for _, values in varying))


def quoted(name: str) -> str:
    """A name for a message: on one line, and not too long."""
    return repr(name if len(name) <= 60 else f"{name[:57]}...")


def _shown(value: str) -> str:
    return repr(value if len(value) <= 40 else f"{value[:37]}...")


def _leave_out(name: str) -> str:
    return f"leave the column out (drop, --drop {name if name.isidentifier() else quoted(name)})"
