"""A whole table becomes numbers: kinds of columns found from some rows, and applied to any part of the table."""

import datetime
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .._types import Counts, Floats, RowNumbers, Values
from ..errors import DataError
from ..rows.gaps import gap_note, median
from ..rows.labels import encode_labels
from ..utils.checks import listed
from .columns import (
    Cells,
    Column,
    is_called_id,
    is_free_text,
    is_identifier,
    kind_of_name,
    leave_out,
    quoted,
    refuse_text,
    shown,
)
from .open import free_memory
from .problems import Problems
from .recipes import TRUTHS, Dates, Durations, Levels, Numbers, Ranks, Reading, Recipe, Truths, WrittenNumbers
from .selection import RawTable
from .written import NumberForm, date_form, dates_in_form, is_written_number, likeliest_date_form, number_form

__all__ = [
    "Surprises",
    "TableEncoding",
    "accounts",
    "column_notes",
    "encode_column",
    "encode_columns",
    "identifier_warning",
    "learn_encoding",
]

_MOST_LEVELS = 30
_NAMED = 5  # columns that a remedy names
_GROUP_HINT = "repeats: if such rows belong together, name it as groups"
_MIXED_SHARE = 0.5  # with so many numbers a column mixes numbers and text
# Among many different numbers so few values that are none, or so few different ones, are taken for mistakes or for a
# sign that the value is missing: as categories such a column would lose what its numbers say.
_MISTAKES, _SIGNS = 0.05, 3
_COUNTED = "words, pairs of words, runs of characters"
_MIXED = "mixes numbers and text"


# --- columns -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Encoded:
    """A column, the numbers that stand for it, and how they are made; no recipe if it is left out, or is text."""

    column: Column
    names: tuple[str, ...] = ()
    values: tuple[Floats, ...] = ()
    recipe: Recipe | None = None
    texts: Values | None = None


class _Found(NamedTuple):
    """Kind of a column that is used, how it is read, and a remark."""

    kind: str
    reading: Reading
    note: str = ""
    is_remarkable: bool = False


def encode_column(
    series: "pd.Series[Any]",
    name: str,
    rows: RowNumbers,
    *,
    wanted: bool = False,
    texts: bool = False,
    stated: str | None = None,
) -> Encoded:
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
    texts : bool
        Free text is kept as it is, to be counted; otherwise it is refused.
    stated : {None, "categorical", "text", "numeric", "date", "declared"}
        What the user says that the column is; "declared": its file says that it holds categories.

    Returns
    -------
    Encoded
        Without values if the column is left out; with a recipe, to be applied to other rows; with texts if it is text.

    Examples
    --------
    >>> encoded = encode_column(pd.Series(["low", "high", None, "mid", "low"]), "risk", np.arange(1, 6))
    >>> encoded.column.kind, encoded.names
    ('categorical', ('risk=high', 'risk=low', 'risk=mid', 'risk missing'))
    """
    cells = Cells(series, name, rows)
    found = _kind(cells, wanted) if stated is None else _stated_kind(cells, stated)
    if isinstance(found, _Found):
        return _learn(cells, found)
    if found.kind != "text":
        return Encoded(found)
    if not texts:
        raise DataError(
            f"column {quoted(name)} holds free text (for example {shown(cells.texts.levels[0])}), which is counted in "
            "memory alone, not in blocks or on a cluster: read fewer rows (max_rows, --max-rows), "
            f"{leave_out(name)}, or put the numbers of an embedding in its place"
        )
    return _keep_texts(cells, found)


def _keep_texts(cells: Cells, column: Column) -> Encoded:
    """A column of texts; what is missing is empty, and marked by a column of its own."""
    codes, levels = cells.texts
    found = np.append(levels.to_numpy(dtype=object), "")[codes]  # -1 finds the empty one
    if not column.n_missing:
        return Encoded(column, texts=found)
    return Encoded(column, (f"{cells.name} missing",), ((codes < 0).astype(np.float64),), texts=found)


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
            return _identifier(name, n_missing, len(values) - n_missing, is_number=True)
        repeats = is_called_id(name) and series.nunique() >= _MOST_LEVELS
        return _Found("numeric", Numbers(), _GROUP_HINT if repeats else "", repeats)
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return _Found("date", Dates(is_zoned=cells.is_zoned))
    if pd.api.types.is_timedelta64_dtype(dtype):
        return _Found("numeric", Durations(), "in days")
    return _kind_of_objects(cells, wanted)


def _stated_kind(cells: Cells, stated: str) -> _Found | Column:
    """A column that is what the user says; refused if its values cannot be read so."""
    series, name = cells.series, cells.name
    if stated == "declared":
        return _categories(cells, declared=True)
    codes, levels = cells.texts
    n_missing = int((codes < 0).sum())
    if not len(levels):
        return Column(name, "empty", n_missing, 0, "left out", "no values")
    if stated == "text":
        return Column(name, "text", n_missing, len(levels), "feature", f"{_COUNTED}; stated text", is_remarkable=True)
    if stated == "categorical":
        is_category = isinstance(series.dtype, pd.CategoricalDtype)
        found = _kind(cells, wanted=True) if is_category else _categories(cells, declared=False)
        assert isinstance(found, _Found)
    elif stated == "date":
        found = _stated_dates(cells)
    else:
        found = _stated_numbers(cells)
    note = "; ".join(note for note in (found.note, f"stated {stated}") if note)
    return found._replace(note=note, is_remarkable=True)


def _stated_numbers(cells: Cells) -> _Found:
    dtype, levels = cells.series.dtype, cells.texts.levels
    if pd.api.types.is_timedelta64_dtype(dtype):
        return _Found("numeric", Durations(), "in days")
    if pd.api.types.is_bool_dtype(dtype) and not isinstance(dtype, pd.CategoricalDtype):
        return _Found("numeric", Truths())
    is_number = ~np.isnan(cells.level_numbers)
    if is_number.all():
        return _Found("numeric", Numbers())
    form = number_form(levels)
    if form is not None:
        return _Found("numeric", WrittenNumbers(form), _form_note(form), bool(form.remark))
    is_text = ~is_number & ~is_written_number(levels)
    raise cells.unreadable(is_text, "numeric") if is_text.any() else refuse_text(cells)


def _stated_dates(cells: Cells) -> _Found:
    if cells.has_dates:
        return _Found("date", Dates(is_zoned=cells.is_zoned))
    levels = cells.texts.levels
    form, remark = date_form(levels, stated=True) or (likeliest_date_form(levels), "")
    is_wrong = dates_in_form(levels, form).isna().to_numpy()
    if is_wrong.any():
        raise cells.unreadable(is_wrong, "date")
    return _Found("date", Dates(form, cells.is_zoned), remark, bool(remark))


def _kind_of_objects(cells: Cells, wanted: bool) -> _Found | Column:
    series, name = cells.series, cells.name
    first = series.dropna().iloc[0]
    if isinstance(first, datetime.date):
        return _Found("date", Dates(is_zoned=cells.is_zoned))
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
            return _identifier(name, n_missing, n_present, is_number=True)
        return _Found("numeric", Numbers())
    for number, words in enumerate(TRUTHS):
        if levels.str.lower().isin(list(words)).all():
            return _Found("boolean", Truths(number))
    written = date_form(levels)
    if written is not None:
        return _Found("date", Dates(written[0], cells.is_zoned), written[1], bool(written[1]))
    form = number_form(levels)
    if form is not None:
        if not wanted and is_identifier(cells.of_rows(form.numbers(levels)), name, cells.rows):
            return _identifier(name, n_missing, n_present, is_number=True)
        return _Found("numeric", WrittenNumbers(form), _form_note(form), bool(form.remark))
    is_word = ~(is_number | is_written_number(levels))
    n_words = int(counts[is_word].sum())
    is_mixed = n_words <= (1 - _MIXED_SHARE) * n_present
    if is_mixed and not cells.is_declared_text:
        is_mistake = n_words < _MISTAKES * n_present or is_word.sum() <= _SIGNS
        if not n_words or (is_mistake and len(levels) > _MOST_LEVELS):
            raise refuse_text(cells)
    found = _kind_of_texts(cells, counts)
    if not is_mixed:
        return found
    if isinstance(found, Column):
        return replace(found, note=f"{found.note}; {_MIXED}", is_remarkable=found.use == "feature")
    return found._replace(note=f"{found.note}; {_MIXED}, taken for categories", is_remarkable=True)


def _kind_of_texts(cells: Cells, counts: Counts) -> _Found | Column:
    """What a column of texts is that are neither numbers nor dates nor truth values."""
    name, (codes, levels) = cells.name, cells.texts
    n_present, n_missing = int(counts.sum()), int((codes < 0).sum())
    distinct = len(levels) == n_present or (len(levels) > _MOST_LEVELS and len(levels) > 0.95 * n_present)
    names = kind_of_name(levels) if len(levels) > n_present / 2 else ""
    if names and (distinct or names != "codes"):
        return Column(name, "identifier", n_missing, len(levels), "left out", f"{names}: they name the row")
    if is_free_text(levels, counts):
        return Column(name, "text", n_missing, len(levels), "feature", _COUNTED)
    if distinct:
        return _identifier(name, n_missing, len(levels))
    return _categories(cells, declared=False)


def _form_note(form: NumberForm) -> str:
    unit = {"": "", "%": "in per cent"}.get(form.unit, f"in {form.unit}")
    return "; ".join(note for note in (unit, form.remark) if note)


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
    repeats = is_called_id(cells.name) and len(levels) >= _MOST_LEVELS
    if repeats:
        note += f"; {_GROUP_HINT}"
    reading = Levels(known[1:] if len(known) == 2 else known, known, has_other, declared)
    return _Found("categorical", reading, note, has_other or repeats)


def _learn(cells: Cells, found: _Found) -> Encoded:
    """Numbers without gaps, and how they were made; what does not vary is left out."""
    reading = found.reading
    parts = reading.parts(cells)
    absent = np.isnan(parts[0][1])
    n_missing = int(absent.sum())
    if n_missing == len(absent):
        return Encoded(Column(cells.name, "empty", n_missing, 0, "left out", "no values"))
    if isinstance(reading, Levels):
        n_distinct = len(reading.texts(cells).levels)
    else:
        n_distinct = len(pd.unique(parts[0][1][~absent]))
    medians = tuple(median(values[~absent] if n_missing else values) for _, values in parts)
    recipe = Recipe(reading, medians, n_missing > 0, tuple(range(len(parts) + (n_missing > 0))))
    filled = recipe.fill(parts, cells.name)
    used = tuple(i for i, (_, values) in enumerate(filled) if (values != values[0]).any())
    if not used:
        return Encoded(Column(cells.name, found.kind, n_missing, n_distinct, "left out", "constant"))
    column = Column(cells.name, found.kind, n_missing, n_distinct, "feature", found.note, found.is_remarkable)
    names, columns = zip(*(filled[i] for i in used), strict=True)
    return Encoded(column, names, columns, replace(recipe, used=used))


def _identifier(name: str, n_missing: int, n_distinct: int, *, is_number: bool = False) -> Column:
    note = "names the row; used if kept by name" if is_number else "names the row"
    return Column(name, "identifier", n_missing, n_distinct, "left out", note, can_be_kept=is_number)


# --- tables --------------------------------------------------------------------------------------------------


@dataclass
class Surprises:
    """Counts by column, summed over the parts of a table that were encoded.

    Attributes
    ----------
    missing : Counter of str
        Values that are missing.
    unseen : Counter of str
        Levels that were in none of the rows learned from and have no column.
    """

    missing: Counter[str] = field(default_factory=Counter)
    unseen: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: "Surprises") -> "Surprises":
        return Surprises(self.missing + other.missing, self.unseen + other.unseen)


@dataclass(frozen=True)
class TableEncoding:
    """How the columns of a table become numbers; small, and the same for every part of the table.

    Attributes
    ----------
    recipes : tuple of (str, Recipe)
        The columns that are used, and how.
    features : tuple of str
        Names of the columns of numbers.
    columns : tuple of Column
        Every column of the table and what became of it, counted in the rows learned from.
    table_notes : tuple of str
        What a reader should know of the table, in words; `count` says it of the columns as well.
    n_rows : int
        Rows learned from.
    """

    recipes: tuple[tuple[str, Recipe], ...]
    features: tuple[str, ...]
    columns: tuple[Column, ...]
    table_notes: tuple[str, ...]
    n_rows: int

    @property
    def used(self) -> list[str]:
        """Columns that must be there to encode rows."""
        return [name for name, _ in self.recipes]

    def encode(self, frame: pd.DataFrame, rows: RowNumbers, surprises: Surprises | None = None) -> Floats:
        """Numbers of some rows.

        Parameters
        ----------
        frame : pandas.DataFrame
            Any rows of the table; columns that are not used need not be there.
        rows : ndarray
            Their numbers in the file, for messages.
        surprises : Surprises, optional
            Counts to add to.

        Returns
        -------
        ndarray of shape (n, m)

        Raises
        ------
        DataError
            For a column that is not there, infinite numbers, and text where numbers, dates or truth values were.
        """
        lacking = [quoted(name) for name in self.used if name not in frame.columns]
        if lacking:
            raise DataError(f"there is no column {listed(lacking)}: the encoding was learned with it")
        X = np.empty((len(frame), len(self.features)))
        at = 0
        for name, recipe in self.recipes:
            columns, n_missing, n_unseen = recipe.apply(Cells(frame[name], name, rows))
            for _, values in columns:
                X[:, at] = values
                at += 1
            if surprises is not None:
                surprises.missing[name] += n_missing
                surprises.unseen[name] += n_unseen
        return X

    def count(self, n_rows: int, surprises: Surprises | None = None) -> tuple[tuple[Column, ...], tuple[str, ...]]:
        """Every column and what became of it, and what a reader should know, in words.

        Parameters
        ----------
        n_rows : int
            Rows of the table.
        surprises : Surprises, optional
            What was counted in all of them; without it, what is missing is counted in the rows learned from.
        """
        notes = list(self.table_notes)
        if n_rows > self.n_rows:
            notes.append(f"kinds, levels and medians of columns were found from {self.n_rows:,} of {n_rows:,} rows")
        if surprises is None:
            return self.columns, (*notes, *column_notes(self.columns, self.n_rows))
        columns = tuple(
            replace(column, n_missing=surprises.missing[column.name]) if column.use == "feature" else column
            for column in self.columns
        )
        marked = {name for name, recipe in self.recipes if recipe.marks_missing}
        notes += column_notes([c if c.name in marked else replace(c, n_missing=0) for c in columns], n_rows)
        unmarked = [f"{quoted(name)} {n:,}" for name, n in surprises.missing.items() if n and name not in marked]
        if unmarked:
            notes.append(f"missing values where those rows had none, filled with the median: {listed(unmarked, 8)}")
        unseen = [f"{quoted(name)} {n:,}" for name, n in surprises.unseen.items() if n]
        if unseen:
            notes.append(f"levels that those rows did not have, 0 in each column of the others: {listed(unseen, 8)}")
        return columns, tuple(notes)


def learn_encoding(raw: RawTable, keep: Sequence[str] = ()) -> TableEncoding:
    """Find out from some rows how the columns of a table become numbers.

    Parameters
    ----------
    raw : RawTable
        The rows, as `raw_table` reads them.
    keep : sequence of str
        As in `read_table`: whole numbers that look like an identifier are used if they are named here.

    Returns
    -------
    TableEncoding

    Examples
    --------
    >>> from importlib.resources import files
    >>> from bayesfloor.tables.selection import raw_table
    >>> raw = raw_table(files("bayesfloor") / "data" / "penguins.csv", target="species", max_rows=100)
    >>> encoding = learn_encoding(raw)
    >>> encoding.features[:3], encoding.encode(raw.frame, raw.rows).shape
    (('island=Biscoe', 'island=Dream', 'island=Torgersen'), (100, 14))
    """
    encoded = encode_columns(raw, keep)
    return TableEncoding(
        recipes=tuple((part.column.name, part.recipe) for part in encoded if part.recipe is not None),
        features=tuple(name for part in encoded for name in part.names),
        columns=accounts(raw, encoded),
        table_notes=raw.notes,
        n_rows=len(raw.rows),
    )


def encode_columns(
    raw: RawTable, keep: Sequence[str], problems: Problems | None = None, *, texts: bool = False
) -> list[Encoded]:
    """Every column of the features, in order; refuse a table that has none, or that does not fit into memory.

    What is wrong with columns is told together, with what `problems` holds already. `texts`: free text is no problem.
    """
    problems = Problems(raw.name) if problems is None else problems
    asked = map(str, [keep] if isinstance(keep, str) else keep)
    wanted = {part.strip() for name in asked for part in (name, *name.split(","))}
    encoded: list[Encoded] = []
    width, free = 0, free_memory()
    for name in raw.frame.columns:
        with problems.collect(name):
            stated = raw.dtypes.get(name)
            one = encode_column(raw.frame[name], name, raw.rows, wanted=name in wanted, texts=texts, stated=stated)
            encoded.append(one)
            width += len(encoded[-1].values)
        if 16 * width * len(raw.rows) > free:
            raise DataError(
                f"the columns of {raw.name} up to {quoted(name)} make {width} features of {len(raw.rows):,} rows, more "
                "than fits into memory: drop columns, or read fewer rows (max_rows, --max-rows)"
            )
    problems.tell()
    if not width and all(part.texts is None for part in encoded):
        why = listed([f"{quoted(part.column.name)} ({part.column.note})" for part in encoded])
        raise DataError(f"no column of {raw.name} is left to learn from: {why}")
    return encoded


def accounts(raw: RawTable, encoded: Sequence[Encoded]) -> tuple[Column, ...]:
    """Every column of the table and what became of it."""
    columns = []
    if raw.y is not None:
        columns.append(Column(raw.target, "labels", raw.n_unlabelled, len(encode_labels(raw.y)[0]), "target"))
    if raw.groups is not None:
        columns.append(Column(raw.group_column, "groups", 0, int(raw.groups.max()) + 1, "groups"))
    columns += [part.column for part in encoded]
    columns += [Column(name, "not read", 0, 0, "left out", "as told") for name in raw.left_out]
    return tuple(columns)


def column_notes(columns: Sequence[Column], n: int) -> list[str]:
    """What a reader should know of the columns that were read, in words."""
    notes = []
    gone = [f"{quoted(c.name)} ({c.note})" for c in columns if c.use == "left out" and c.kind != "not read"]
    if gone:
        notes.append(f"columns left out: {listed(gone, 8)}")
    silent = [f"{quoted(c.name)} {c.n_missing / n:.1%}" for c in columns if c.n_missing and c.kind == "text"]
    if silent:
        notes.append(f"missing texts taken for empty ones and marked by a column of their own: {listed(silent, 8)}")
    gaps = {c.name: c.n_missing for c in columns if c.n_missing and c.use == "feature" and c.kind != "text"}
    if gaps:
        notes.append(gap_note(gaps, n))
    notes += [f"{quoted(c.name)}: {c.note}" for c in columns if c.is_remarkable]
    return notes


def identifier_warning(columns: Sequence[Column]) -> str:
    """What to warn of if identifiers are left out; empty if none are."""
    identifiers = [column for column in columns if column.kind == "identifier"]
    if not identifiers:
        return ""
    looks = "look like identifiers and are" if len(identifiers) > 1 else "looks like an identifier and is"
    names = listed([quoted(column.name) for column in identifiers])
    why = f"{names} {looks} left out: an identifier tells rows apart, not classes"
    numbers = [column.name for column in identifiers if column.can_be_kept]
    if numbers:
        option = ",".join(name if name.isidentifier() else quoted(name) for name in numbers[:_NAMED])
        why += f"; to use numbers anyway: --numeric {option} (in Python dtypes={{{quoted(numbers[0])}: 'numeric'}})"
    return why
