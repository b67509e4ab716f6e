"""How the cells of a column become numbers: learned on some rows, applied to any others.

A *reading* turns cells into numbers, NaN where there is none; a `Recipe` is a reading and what is done about NaN.
All are small and know nothing of the rows they were learned on, so that they can be sent to other processes.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd
from pandas.api import types

from .._types import Floats
from ..errors import DataError
from ..rows.dataset import refuse_merged
from .columns import Cells, Texts, date_parts, leave_out, quoted, refuse_text
from .written import NumberForm, dates_in_form

__all__ = [
    "TRUTHS",
    "Dates",
    "Durations",
    "Levels",
    "Numbers",
    "Ranks",
    "Reading",
    "Recipe",
    "Truths",
    "WrittenNumbers",
]

Parts = list[tuple[str, Floats]]

TRUTHS = ({"true": 1.0, "false": 0.0, "t": 1.0, "f": 0.0}, {"yes": 1.0, "no": 0.0, "y": 1.0, "n": 0.0})


class Reading(Protocol):
    """How cells become numbers."""

    def parts(self, cells: Cells) -> Parts:
        """Numbers by name; NaN, in all parts alike, where there is nothing."""


@dataclass(frozen=True)
class Numbers:
    """Numbers, or texts that are numbers."""

    def parts(self, cells: Cells) -> Parts:
        if _is_number_dtype(cells.series.dtype):
            values = cells.series.to_numpy(dtype=np.float64, na_value=np.nan)
            if types.is_integer_dtype(cells.series.dtype):
                refuse_merged(cells.series.dropna().to_numpy(), f"column {quoted(cells.name)}")
        else:
            if np.isnan(cells.level_numbers).any():
                raise refuse_text(cells)
            values = cells.of_rows(cells.level_numbers)
        infinite = np.flatnonzero(np.isinf(values))
        if len(infinite):
            plural = "value" if len(infinite) == 1 else "values"
            raise DataError(
                f"column {quoted(cells.name)} holds {len(infinite)} infinite {plural}, the first in row "
                f"{cells.rows[infinite[0]]}: empty them if they mean a missing value, or {leave_out(cells.name)}"
            )
        return [(cells.name, values)]


@dataclass(frozen=True)
class WrittenNumbers:
    """Numbers with currencies, per cent signs or separators of thousands, all written in one way."""

    form: NumberForm

    def parts(self, cells: Cells) -> Parts:
        if _is_number_dtype(cells.series.dtype):
            return Numbers().parts(cells)
        values = cells.of_rows(self.form.numbers(cells.texts.levels))
        wrong = np.flatnonzero(np.isnan(values) & (cells.texts.codes >= 0))
        if len(wrong):
            raise cells.unexpected(int(wrong[0]), f"numbers written like {self.form.example}")
        return [(cells.name, values)]


def _is_number_dtype(dtype: Any) -> bool:
    return (
        types.is_numeric_dtype(dtype)
        and not types.is_bool_dtype(dtype)
        and not types.is_complex_dtype(dtype)
        and not isinstance(dtype, pd.CategoricalDtype)
    )


@dataclass(frozen=True)
class Truths:
    """Truth values, or words for them; `words` is which of `TRUTHS`."""

    words: int = 0

    def parts(self, cells: Cells) -> Parts:
        series = cells.series
        if types.is_bool_dtype(series.dtype) and not isinstance(series.dtype, pd.CategoricalDtype):
            return [(cells.name, series.to_numpy(dtype=np.float64, na_value=np.nan))]
        codes, levels = cells.texts
        truth = levels.str.lower().map(TRUTHS[self.words]).to_numpy(dtype=np.float64)
        values = cells.of_rows(truth)
        wrong = np.flatnonzero(np.isnan(values) & (codes >= 0))
        if len(wrong):
            raise cells.unexpected(int(wrong[0]), " and ".join(list(TRUTHS[self.words])[:2]))
        return [(cells.name, values)]


@dataclass(frozen=True)
class Ranks:
    """Ordered categories: the place of each."""

    categories: tuple[Any, ...]

    def parts(self, cells: Cells) -> Parts:
        ranks = pd.Index(self.categories).get_indexer(cells.series.astype(object)).astype(np.float64)
        wrong = np.flatnonzero((ranks < 0) & cells.series.notna().to_numpy())
        if len(wrong):
            raise cells.unexpected(int(wrong[0]), f"ranks from {self.categories[0]} to {self.categories[-1]}")
        return [(cells.name, np.where(ranks < 0, np.nan, ranks))]


@dataclass(frozen=True)
class Durations:
    """Differences of times, in days."""

    def parts(self, cells: Cells) -> Parts:
        series = cells.series
        if not types.is_timedelta64_dtype(series.dtype):
            present = np.flatnonzero(series.notna())
            if len(present):
                raise cells.unexpected(int(present[0]), "differences of times")
            return [(cells.name, np.full(len(series), np.nan))]
        return [(cells.name, series.dt.total_seconds().to_numpy() / 86400)]


@dataclass(frozen=True)
class Dates:
    """Days since 1970 and parts of the date, in UTC where they have a time zone.

    Attributes
    ----------
    form : str or None
        How dates are written, if they are texts.
    is_zoned : bool
        Whether they have a time zone: times with and without one cannot be compared.
    """

    form: str | None = None
    is_zoned: bool = False

    def parts(self, cells: Cells) -> Parts:
        series = cells.series
        if cells.has_dates or self.form is not None:
            present = series.notna() if cells.has_dates else cells.texts.codes >= 0
            if cells.is_zoned != self.is_zoned and present.any():
                known = "with a time zone" if self.is_zoned else "without a time zone"
                raise cells.unexpected(int(np.flatnonzero(present)[0]), f"times {known}")
        if types.is_datetime64_any_dtype(series.dtype):
            return date_parts(series, cells.name)
        if cells.has_dates or self.form is None:
            present = np.flatnonzero(series.notna())
            if len(present) and types.is_numeric_dtype(series.dtype):
                raise cells.unexpected(int(present[0]), "dates")
            return date_parts(pd.to_datetime(series, errors="coerce", utc=self.is_zoned), cells.name)
        codes, levels = cells.texts
        dates = dates_in_form(levels, self.form).to_numpy()
        dates = np.append(dates, np.array(["NaT"], dtype=dates.dtype))[codes]
        wrong = np.flatnonzero(np.isnat(dates) & (codes >= 0))
        if len(wrong):
            raise cells.unexpected(int(wrong[0]), f"dates written as {_DATE_FORMS.get(self.form, self.form)}")
        return date_parts(pd.Series(dates), cells.name)


_DATE_FORMS = {"ISO8601": "2024-12-31 or 2024-12-31 23:59:59"}


@dataclass(frozen=True)
class Levels:
    """Categories: a column of 0 and 1 for each level in `kept`, and one for all others if there is such a one.

    Attributes
    ----------
    kept, known : tuple of str
        Levels with a column of their own; levels that are no surprise (of two, one alone has a column).
    has_other : bool
        All levels that are not kept share a column.
    declared : bool
        The file said what the levels are: no word among them means a missing value.
    """

    kept: tuple[str, ...]
    known: tuple[str, ...]
    has_other: bool
    declared: bool

    def texts(self, cells: Cells) -> Texts:
        return cells.categories if self.declared else cells.texts

    def parts(self, cells: Cells) -> Parts:
        codes, levels = self.texts(cells)
        place = {level: code for code, level in enumerate(levels)}
        parts = [
            (f"{cells.name}={level}", np.where(codes < 0, np.nan, codes == place.get(level, -2))) for level in self.kept
        ]
        if self.has_other:
            is_other = np.append(~levels.isin(self.kept).to_numpy(dtype=bool), False)
            parts.append((f"{cells.name} other", np.where(codes < 0, np.nan, is_other[codes])))
        return parts

    def n_unseen(self, cells: Cells) -> int:
        """Rows with a level that is new and has no column."""
        if self.has_other:
            return 0
        codes, levels = self.texts(cells)
        is_new = np.append(~levels.isin(self.known).to_numpy(dtype=bool), False)
        return int(is_new[codes].sum())


class Applied(NamedTuple):
    """Columns of numbers by name; rows in which the value is missing, or a level that was never seen."""

    columns: Parts
    n_missing: int
    n_unseen: int


@dataclass(frozen=True)
class Recipe:
    """How a column becomes complete columns of numbers.

    Attributes
    ----------
    reading : Reading
    medians : tuple of float
        One for each part of the reading; they fill what is missing.
    marks_missing : bool
        A further column says where a value was missing.
    used : tuple of int
        Which of all these columns are used: those that varied.
    """

    reading: Reading
    medians: tuple[float, ...]
    marks_missing: bool
    used: tuple[int, ...]

    def fill(self, parts: Parts, name: str) -> Parts:
        """Numbers without gaps."""
        absent = np.isnan(parts[0][1])
        gaps = bool(absent.any())
        columns = []
        for (part_name, values), median in zip(parts, self.medians, strict=True):
            complete = np.where(absent, median, values) if gaps else values
            columns.append((part_name, np.asarray(complete, dtype=np.float64)))
        if self.marks_missing:
            columns.append((f"{name} missing", absent.astype(np.float64)))
        return [columns[i] for i in self.used]

    def apply(self, cells: Cells) -> Applied:
        """Numbers of any rows, and how many surprises there were."""
        parts = self.reading.parts(cells)
        n_unseen = self.reading.n_unseen(cells) if isinstance(self.reading, Levels) else 0
        return Applied(self.fill(parts, cells.name), int(np.isnan(parts[0][1]).sum()), n_unseen)
