"""A whole table becomes numbers: kinds of columns found from some rows, and applied to any part of the table."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from .._types import Floats, RowNumbers
from ..errors import DataError
from ..rows.labels import encode_labels
from ..utils.checks import listed
from .columns import Column, Encoded, encode_column, quoted
from .open import free_memory
from .recipes import Cells, Recipe, apply_recipe
from .selection import RawTable

__all__ = [
    "Surprises",
    "TableEncoding",
    "accounts",
    "apply_recipe",
    "column_notes",
    "encoded_columns",
    "identifier_warning",
    "learn_encoding",
]


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
        What a reader should know of the table, in words; `notes` says it of the columns as well.
    n_rows : int
        Rows learned from.
    """

    recipes: tuple[tuple[str, Recipe], ...]
    features: tuple[str, ...]
    columns: tuple[Column, ...]
    table_notes: tuple[str, ...]
    n_rows: int

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know of the table and its columns, in words."""
        return (*self.table_notes, *column_notes(self.columns, self.n_rows))

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

    def counted(self, surprises: Surprises, n_rows: int) -> tuple[tuple[Column, ...], tuple[str, ...]]:
        """`columns` and `notes` with what was counted in all `n_rows` rows of the table."""
        columns = tuple(
            replace(column, n_missing=surprises.missing[column.name]) if column.use == "feature" else column
            for column in self.columns
        )
        marked = {name for name, recipe in self.recipes if recipe.marks_missing}
        notes = list(self.table_notes)
        if n_rows > self.n_rows:
            notes.append(f"kinds, levels and medians of columns were found from {self.n_rows:,} of {n_rows:,} rows")
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
    >>> from bayesfloor.selection import raw_table
    >>> raw = raw_table(files("bayesfloor") / "data" / "penguins.csv", target="species", max_rows=100)
    >>> encoding = learn_encoding(raw)
    >>> encoding.features[:3], encoding.encode(raw.frame, raw.rows).shape
    (('island=Biscoe', 'island=Dream', 'island=Torgersen'), (100, 10))
    """
    encoded = encoded_columns(raw, keep)
    return TableEncoding(
        recipes=tuple((part.column.name, part.recipe) for part in encoded if part.recipe is not None),
        features=tuple(name for part in encoded for name in part.names),
        columns=accounts(raw, encoded),
        table_notes=raw.notes,
        n_rows=len(raw.rows),
    )


def encoded_columns(raw: RawTable, keep: Sequence[str]) -> list[Encoded]:
    """Every column of the features, in order; refuse a table that has none, or that does not fit into memory."""
    wanted = {part.strip() for name in ([keep] if isinstance(keep, str) else keep) for part in (name, *name.split(","))}
    encoded: list[Encoded] = []
    width = 0
    for name in raw.frame.columns:
        part = encode_column(raw.frame[name], name, raw.rows, wanted=name in wanted)
        encoded.append(part)
        width += len(part.values)
        if 16 * width * len(raw.rows) > free_memory():
            raise DataError(
                f"the columns of {raw.name} up to {quoted(name)} make {width} features of {len(raw.rows):,} rows, more "
                "than fits into memory: drop columns, or read fewer rows (max_rows, --max-rows)"
            )
    if not width:
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
    gaps = [c for c in columns if c.n_missing and c.use == "feature"]
    if gaps:
        shares = [f"{quoted(c.name)} {c.n_missing / n:.1%}" for c in sorted(gaps, key=lambda c: -c.n_missing)]
        notes.append(f"missing values filled with the median and marked by a column of their own: {listed(shares, 8)}")
    telling = ("most frequent", "belong together", "month first")
    notes += [f"{quoted(c.name)}: {c.note}" for c in columns if any(words in c.note for words in telling)]
    return notes


def identifier_warning(columns: Sequence[Column]) -> str:
    """What to warn of if identifiers are left out; empty if none are."""
    identifiers = [column for column in columns if column.kind == "identifier"]
    if not identifiers:
        return ""
    looks = "look like identifiers and are" if len(identifiers) > 1 else "looks like an identifier and is"
    names = listed([quoted(column.name) for column in identifiers])
    why = f"{names} {looks} left out: an identifier tells rows apart, not classes"
    if any("if kept" in column.note for column in identifiers):
        why += "; to use numbers all the same, name ALL the columns to use, these among them (keep, --keep)"
    return why
