"""Columns of any kind become numbers: what kind each one is, and how it is encoded."""

import datetime
import re
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .._types import Floats, RowNumbers
from ..errors import DataError
from .cell_text import MISSING_WORDS, leave_out, present_text, quoted, shown, text_of
from .date_columns import date_form
from .recipes import (
    TRUTHS,
    Cells,
    Dates,
    Durations,
    Levels,
    Numbers,
    Ranks,
    Reading,
    Recipe,
    Truths,
    is_written_number,
    refuse_text,
)

__all__ = ["MISSING_WORDS", "Column", "Encoded", "encode_column", "is_identifier", "present_text", "quoted", "text_of"]


_MOST_LEVELS = 30
_GROUP_HINT = "repeats: if such rows belong together, name it as groups"
_MIXED_SHARE = 0.5  # so many numbers among words, and the words are taken for mistakes
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
    """A column, the numbers that stand for it, and how they are made; no recipe if it is left out."""

    column: Column
    names: tuple[str, ...] = ()
    values: tuple[Floats, ...] = ()
    recipe: Recipe | None = None


class _Found(NamedTuple):
    """Kind of a column that is used, how it is read, and a remark."""

    kind: str
    reading: Reading
    note: str = ""


def encode_column(series: "pd.Series[Any]", name: str, rows: RowNumbers, *, wanted: bool = False) -> Encoded:
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
        Without values if the column is left out; with what was learned, to `apply_recipe` to other rows.

    Examples
    --------
    >>> encoded = encode_column(pd.Series(["low", "high", None, "mid", "low"]), "risk", np.arange(1, 6))
    >>> encoded.column.kind, encoded.names
    ('categorical', ('risk=high', 'risk=low', 'risk=mid', 'risk missing'))
    """
    cells = Cells(series, name, rows)
    found = _kind(cells, wanted)
    return _learned(cells, *found) if isinstance(found, _Found) else Encoded(found)


def _kind(cells: Cells, wanted: bool) -> _Found | Column:
    """What a column is, or why it is left out."""
    series, name = cells.series, cells.name
    dtype = series.dtype
    n_missing = int(series.isna().sum())
    if n_missing == len(series):
        return Column(name, "empty", n_missing, 0, "left out", "no values")
    if isinstance(dtype, pd.CategoricalDtype) and not dtype.ordered:
        return _categories(cells, declared=True)
    if isinstance(dtype, pd.CategoricalDtype):
        return _Found("categorical", Ranks(tuple(dtype.categories)), "ordered: its rank")
    if pd.api.types.is_bool_dtype(dtype):
        return _Found("boolean", Truths())
    if pd.api.types.is_complex_dtype(dtype):
        raise DataError(f"column {quoted(name)} holds complex numbers: split it into real and imaginary columns")
    if pd.api.types.is_numeric_dtype(dtype):
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        if not wanted and is_identifier(values, name, cells.rows):
            return _identifier(name, n_missing, len(values) - n_missing, "names the row; used if kept by name")
        repeats = _called_id(name) and series.nunique() >= _MOST_LEVELS
        return _Found("numeric", Numbers(), _GROUP_HINT if repeats else "")
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return _Found("date", Dates())
    if pd.api.types.is_timedelta64_dtype(dtype):
        return _Found("numeric", Durations(), "in days")
    return _kind_of_objects(cells, wanted)


def _kind_of_objects(cells: Cells, wanted: bool) -> _Found | Column:
    series, name = cells.series, cells.name
    first = series.dropna().iloc[0]
    if isinstance(first, datetime.date):
        return _Found("date", Dates())
    if isinstance(first, list | dict | set | tuple | np.ndarray):
        raise DataError(
            f"column {quoted(name)} holds a {type(first).__name__} in row {cells.rows[series.notna().argmax()]}: give "
            f"each of its values a column of its own, or {leave_out(name)}"
        )
    codes, levels = cells.texts
    if not len(levels):
        return Column(name, "empty", len(series), 0, "left out", "no values")
    counts = np.bincount(codes[codes >= 0], minlength=len(levels))
    n_present, n_missing = int(counts.sum()), int((codes < 0).sum())
    is_number = ~np.isnan(cells.level_numbers)
    if is_number.all():
        if not wanted and is_identifier(cells.of_rows(cells.level_numbers), name, cells.rows):
            return _identifier(name, n_missing, n_present, "names the row; used if kept by name")
        return _Found("numeric", Numbers())
    for number, words in enumerate(TRUTHS):
        if levels.str.lower().isin(list(words)).all():
            return _Found("boolean", Truths(number))
    written = date_form(levels)
    if written is not None:
        return _Found("date", Dates(written[0]), written[1])
    if counts[is_number | is_written_number(levels)].sum() >= _MIXED_SHARE * n_present:
        raise refuse_text(cells)
    n_words = float((levels.str.split().str.len() * counts).sum() / n_present)
    n_characters = float((levels.str.len() * counts).sum() / n_present)
    if len(levels) >= 10 and len(levels) > n_present / 2 and (n_words >= 4 or n_characters >= 60):
        raise DataError(
            f"column {quoted(name)} holds free text (for example {shown(levels[0])}): {leave_out(name)}, or put the "
            "numbers of an embedding in its place"
        )
    if len(levels) == n_present or (len(levels) > _MOST_LEVELS and len(levels) > 0.95 * n_present):
        return _identifier(name, n_missing, len(levels))
    return _categories(cells, declared=False)


def _categories(cells: Cells, *, declared: bool) -> _Found:
    """One 0/1 column per level, one in all for two levels; rare levels together beyond thirty of them."""
    codes, levels = cells.categories if declared else cells.texts
    counts = np.bincount(codes[codes >= 0], minlength=len(levels))
    by_frequency = sorted(range(len(levels)), key=lambda level: (-counts[level], levels[level]))
    has_other = len(levels) > _MOST_LEVELS
    chosen = by_frequency[: _MOST_LEVELS - 1] if has_other else by_frequency
    known = tuple(sorted(levels[level] for level in chosen))
    note = f"{len(levels)} levels"
    if has_other:
        note += f": the {_MOST_LEVELS - 1} most frequent, and the others as one"
    if _called_id(cells.name) and len(levels) >= _MOST_LEVELS:
        note += f"; {_GROUP_HINT}"
    return _Found("categorical", Levels(known[1:] if len(known) == 2 else known, known, has_other, declared), note)


def _learned(cells: Cells, kind: str, reading: Reading, note: str) -> Encoded:
    """Numbers without gaps, and how they were made; what does not vary is left out."""
    parts = reading.parts(cells)
    absent = np.isnan(parts[0][1])
    n_missing = int(absent.sum())
    if n_missing == len(absent):
        return Encoded(Column(cells.name, "empty", n_missing, 0, "left out", "no values"))
    if isinstance(reading, Levels):
        n_distinct = len(reading.texts(cells).levels)
    else:
        n_distinct = len(pd.unique(parts[0][1][~absent]))
    medians = tuple(float(np.median(values[~absent] if n_missing else values)) for _, values in parts)
    recipe = Recipe(reading, medians, n_missing > 0, tuple(range(len(parts) + (n_missing > 0))))
    filled = recipe.filled(parts, cells.name)
    used = tuple(i for i, (_, values) in enumerate(filled) if (values != values[0]).any())
    if not used:
        return Encoded(Column(cells.name, kind, n_missing, n_distinct, "left out", "constant"))
    column = Column(cells.name, kind, n_missing, n_distinct, "feature", note)
    names, columns = zip(*(filled[i] for i in used), strict=True)
    return Encoded(column, names, columns, replace(recipe, used=used))


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
    return _called_id(name) or bool((np.diff(values) == np.diff(rows)).all())


def _called_id(name: str) -> bool:
    return _ID_NAME.fullmatch(re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()) is not None


def _identifier(name: str, n_missing: int, n_distinct: int, note: str = "names the row") -> Column:
    return Column(name, "identifier", n_missing, n_distinct, "left out", note)
