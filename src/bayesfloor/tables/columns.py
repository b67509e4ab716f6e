"""Columns of a table and their cells: as text, what is missing, and how they are named in messages."""

import datetime
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api import types

from .._types import Codes, Floats, Mask, RowNumbers
from ..errors import DataError
from .written import has_zone, is_written_number, odd_pair

__all__ = [
    "MISSING_WORDS",
    "NO_CATEGORY",
    "Cells",
    "Column",
    "Texts",
    "date_parts",
    "is_called_id",
    "is_free_text",
    "is_identifier",
    "kind_of_name",
    "leave_out",
    "present_text",
    "quoted",
    "refuse_text",
    "shown",
    "state_kind",
    "text_of",
]

MISSING_WORDS = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "?", "<NA>")
NO_CATEGORY = ("", "?")  # in files they are missing, and no category is called so
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
        numeric, boolean, categorical, date, text, identifier, or empty.
    n_missing, n_distinct : int
        Values that are missing; different values among the others.
    use : str
        feature, target, groups, or left out.
    note : str
        Why it was left out, or how it was encoded; may be empty.
    is_remarkable : bool
        Whether that is said among the notes on the table.
    can_be_kept : bool
        Whether it is used all the same if it is kept by name.
    """

    name: str
    kind: str
    n_missing: int
    n_distinct: int
    use: str
    note: str = ""
    is_remarkable: bool = False
    can_be_kept: bool = False


def is_identifier(values: Floats, name: str, rows: RowNumbers) -> bool:
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
    return is_called_id(name) or bool((np.diff(values) == np.diff(rows)).all())


def is_called_id(name: str) -> bool:
    """Whether a column has a name that identifiers have."""
    return _ID_NAME.fullmatch(re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()) is not None


# --- texts that name something, and texts that say something -------------------------------------------------

_NAMES = {
    "e-mail addresses": re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+"),
    "web addresses": re.compile(r"(https?|ftp)://\S+|www\.\S+", re.IGNORECASE),
    "paths": re.compile(r"(~|\.{0,2}|[A-Za-z]:)?([\\/][^\\/\n]*)+|[^\s\\/]+([\\/][^\\/\n]+)*[\\/][^\s\\/]+\.\w{1,8}"),
    "codes": re.compile(r"[A-Za-z0-9+/=_.:|~-]{16,}"),
}
_MOSTLY = 0.9  # of the distinct values
_LOOKED_AT = 2000
_WORDS, _LONG = 4, 60  # words of a text on average; or characters, where it is not one word alone
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\uff66-\uff9f]"
)  # no spaces between words
_UNSPACED_LONG = 8


def kind_of_name(levels: "pd.Series[Any]") -> str:
    """What most of these texts are, if they name something rather than say it; empty otherwise.

    Examples
    --------
    >>> kind_of_name(pd.Series(["ann@example.org", "bob@example.com"])), kind_of_name(pd.Series(["/a/b.txt", "/c"]))
    ('e-mail addresses', 'paths')
    >>> kind_of_name(pd.Series(["and/or a text", "either way"]))
    ''
    """
    some = levels[:_LOOKED_AT]
    for kind, form in _NAMES.items():
        if np.mean([form.fullmatch(text) is not None for text in some]) >= _MOSTLY:
            return kind
    return ""


def is_free_text(levels: "pd.Series[Any]", counts: RowNumbers) -> bool:
    """Whether distinct texts, there so often each, are sentences rather than names or categories.

    Examples
    --------
    >>> texts = pd.Series([f"the patient said {i} times that it hurts" for i in range(12)])
    >>> is_free_text(texts, np.ones(12, dtype=int)), is_free_text(texts, np.full(12, 9))
    (True, False)
    """
    n_present = int(counts.sum())
    if len(levels) < 10 or len(levels) <= n_present / 2:
        return False
    n_words = float((levels.str.split().str.len() * counts).sum() / n_present)
    n_characters = float((levels.str.len() * counts).sum() / n_present)
    if n_words >= _WORDS or (n_characters >= _LONG and n_words >= 2):
        return True
    unspaced = float((levels.str.count(_UNSPACED) * counts).sum() / n_present)
    return unspaced >= _UNSPACED_LONG


# --- cells as text -------------------------------------------------------------------------------------------


def present_text(series: "pd.Series[Any]") -> "pd.Series[Any]":
    """Values as text without spaces around it, and None for what is missing or a word for it; 1.0 is 1."""
    text = text_of(series, is_whole=True)
    return text.where(~text.isin(MISSING_WORDS) & text.notna(), None)


def text_of(series: "pd.Series[Any]", *, is_whole: bool = False) -> "pd.Series[Any]":
    """Values as text without spaces around it, and None for what is missing; `is_whole`: 1.0 is written as 1."""
    values = series.astype(object)
    absent = series.isna()
    cells = [None if gone else _as_text(value, is_whole=is_whole) for value, gone in zip(values, absent, strict=True)]
    return pd.Series(cells, index=series.index, dtype=object)


def _as_text(value: Any, *, is_whole: bool = False) -> str:
    if is_whole and isinstance(value, float) and abs(value) < 2**53 and value % 1 == 0:
        return str(int(value))  # beside a missing value whole numbers come as 1.0, elsewhere as 1
    return (value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)).strip()


def quoted(name: str) -> str:
    """A name for a message: on one line, and not too long."""
    return repr(name if len(name) <= 60 else f"{name[:57]}...")


def shown(value: str) -> str:
    """A value for a message."""
    return repr(value if len(value) <= 40 else f"{value[:37]}...")


def leave_out(name: str) -> str:
    """What to do about a column that cannot be used."""
    return f"leave the column out (drop, --drop {name if name.isidentifier() else quoted(name)})"


def state_kind(name: str) -> str:
    """How to say what a column is where its values do not tell."""
    option = name if name.isidentifier() else quoted(name)
    in_python = f"dtypes={{{quoted(name)}: 'categorical'}}"
    return f"say what it is (--categorical {option} or --text {option}; in Python {in_python})"


class Texts(NamedTuple):
    """Distinct texts in the order of their appearance, and for each row which it is; -1 where nothing is."""

    codes: Codes
    levels: "pd.Series[Any]"


class Cells:
    """Cells of a column; their distinct texts are found when first asked for.

    Parameters
    ----------
    series : pandas.Series
    name : str
        Of the column.
    rows : ndarray
        Row numbers in the file, for messages.
    """

    def __init__(self, series: "pd.Series[Any]", name: str, rows: RowNumbers) -> None:
        self.series, self.name, self.rows = series, name, rows

    @cached_property
    def texts(self) -> Texts:
        """Without spaces around them, and without the words for what is missing."""
        return _texts(present_text(self.series))

    @cached_property
    def categories(self) -> Texts:
        """As they are: what is declared a category is one, whatever it is called, but for the sign of a missing one."""
        cells = zip(self.series.astype(object), self.series.isna(), strict=True)
        texts = [None if gone or str(value).strip() in NO_CATEGORY else str(value) for value, gone in cells]
        return _texts(pd.Series(texts, dtype=object))

    @property
    def is_declared_text(self) -> bool:
        """Whether its source says that the column is text: what pandas finds out by itself has another type."""
        dtype = self.series.dtype
        return isinstance(dtype, pd.StringDtype) and dtype.na_value is pd.NA

    @cached_property
    def has_dates(self) -> bool:
        """Whether the cells are dates, not texts that may be."""
        if types.is_datetime64_any_dtype(self.series.dtype):
            return True
        present = self.series.dropna() if types.is_object_dtype(self.series.dtype) else self.series.iloc[:0]
        return len(present) > 0 and isinstance(present.iloc[0], datetime.date)

    @cached_property
    def is_zoned(self) -> bool:
        """Whether dates have a time zone, or texts that are dates; refused if some have and others have not."""
        if types.is_datetime64_any_dtype(self.series.dtype):
            return self.series.dt.tz is not None
        if self.has_dates:
            dates = self.series.to_numpy(dtype=object)
            zoned = np.array([getattr(date, "tzinfo", None) is not None for date in dates], dtype=bool)
            plain = np.array([isinstance(date, datetime.date) for date in dates], dtype=bool) & ~zoned
            plain &= self.series.notna().to_numpy()
        else:
            codes, levels = self.texts
            of_level = np.append(has_zone(levels), False)[codes]
            zoned, plain = of_level & (codes >= 0), ~of_level & (codes >= 0)
        if zoned.any() and plain.any():
            found = [
                f"{shown(str(self.series.iloc[at]))} in row {self.rows[at]}"
                for at in (int(zoned.argmax()), int(plain.argmax()))
            ]
            raise DataError(
                f"column {quoted(self.name)} mixes times with and without a time zone ({' and '.join(found)}): give "
                f"all of them a zone, or none, or {leave_out(self.name)}"
            )
        return bool(zoned.any())

    @cached_property
    def level_numbers(self) -> Floats:
        """The texts as numbers, NaN where they are none."""
        return pd.to_numeric(self.texts.levels, errors="coerce").to_numpy(dtype=np.float64)

    def of_rows(self, of_levels: Floats) -> Floats:
        """A number for each text as a number for each row."""
        return np.append(of_levels, np.nan)[self.texts.codes]  # -1 finds the NaN

    def unreadable(self, is_wrong: Mask, stated: str) -> DataError:
        """The error for texts, of the distinct ones, that are not what the column was stated to be."""
        codes, levels = self.texts
        rows = np.flatnonzero(np.append(is_wrong, False)[codes])
        what = {"numeric": "numbers", "date": "dates"}[stated]
        none = f"{len(rows):,} of its values are none" if len(rows) > 1 else "one of its values is none"
        first = f"the first {shown(levels[codes[rows[0]]])} in row {self.rows[rows[0]]}"
        return DataError(
            f"column {quoted(self.name)} is stated to hold {what}, but {none}, {first}: correct such values, empty "
            "them if they mean a missing one, or state another type (categorical, text)"
        )

    def unexpected(self, at: int, expected: str) -> DataError:
        """The error for a cell that the rows learned from gave no reason to expect."""
        return DataError(
            f"column {quoted(self.name)} holds {shown(str(self.series.iloc[at]))} in row {self.rows[at]}, but "
            f"{expected} in the rows that its kind was found from: correct it, find kinds from more rows "
            f"(sample_rows), or {leave_out(self.name)}"
        )


def _texts(text: "pd.Series[Any]") -> Texts:
    codes, found = pd.factorize(text)
    return Texts(codes, pd.Series(found, dtype=object))


def refuse_text(cells: Cells) -> DataError:
    """The error for the first text among numbers, or for numbers that are not all written alike."""
    codes, levels = cells.texts
    is_number = ~np.isnan(cells.level_numbers)
    is_text = ~is_number & ~is_written_number(levels)
    if is_text.any():
        at = _first_row(cells, is_text)
        return DataError(
            f"column {quoted(cells.name)} mixes numbers and text, the first text is {shown(levels.iloc[codes[at]])} in "
            f"row {cells.rows[at]}: correct it, empty it if it means a missing value, {state_kind(cells.name)}, or "
            f"{leave_out(cells.name)}"
        )
    pair = odd_pair(levels)
    if pair is None:
        return cells.unexpected(_first_row(cells, ~is_number), "plain numbers")
    found = " and ".join(
        f"{shown(text)} in row {cells.rows[_first_row(cells, (levels == text).to_numpy(dtype=bool))]}" for text in pair
    )
    return DataError(
        f"column {quoted(cells.name)} has numbers that are not all written alike ({found}): write them in one way, "
        f"{state_kind(cells.name)}, or {leave_out(cells.name)}"
    )


def _first_row(cells: Cells, is_meant: Mask) -> int:
    """Where the first of these texts is."""
    return int(np.flatnonzero(np.append(is_meant, False)[cells.texts.codes])[0])


# --- dates ---------------------------------------------------------------------------------------------------


def date_parts(series: "pd.Series[Any]", name: str) -> list[tuple[str, Floats]]:
    """Numbers that stand for dates, by name; NaN where there is none.

    Examples
    --------
    >>> ends = pd.Series(np.array(["2500-01-02"], dtype="datetime64[us]"))
    >>> [(part, values.tolist()) for part, values in date_parts(ends, "end")][:2]
    [('end (days)', [193580.0]), ('end (month)', [1.0])]
    """
    if isinstance(series.dtype, pd.ArrowDtype):
        series = pd.to_datetime(series)
    if series.dt.tz is not None:
        series = series.dt.tz_convert(None)
    present = series.notna().to_numpy()
    since_1970 = series.to_numpy().astype("datetime64[us]").astype(np.int64)  # nanoseconds end in the year 2262
    days = np.where(present, since_1970 / 86_400e6, np.nan)
    parts = [(f"{name} (days)", days)]
    for part in ("month", "day_of_week", "hour"):
        values = getattr(series.dt, part).to_numpy(dtype=np.float64, na_value=np.nan)
        parts.append((f"{name} ({part})", values))
    return parts
