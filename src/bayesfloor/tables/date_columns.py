"""Dates of any kind become numbers: days since 1970, month, weekday and hour."""

import re
from typing import Any

import numpy as np
import pandas as pd

from .._types import Floats

__all__ = ["date_form", "date_parts", "dates_in_form"]


_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?)?\s?(Z|[+-]\d{2}:?\d{2})?")
_FORMATS = ("%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%Y/%m/%d", "%d-%m-%Y")


def date_parts(series: "pd.Series[Any]", name: str) -> list[tuple[str, Floats]]:
    """Numbers that stand for dates, by name; NaN where there is none.

    Examples
    --------
    >>> [(part, values.tolist()) for part, values in date_parts(pd.Series(pd.to_datetime(["2500-01-02"])), "end")][:2]
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


def date_form(levels: "pd.Series[Any]") -> tuple[str, str] | None:
    """How dates are written, if every level is one in the same way; and a remark if there is another way to read them.

    Examples
    --------
    >>> date_form(pd.Series(["31.12.2024", "1.2.2025"]))
    ('%d.%m.%Y', '')
    """
    if levels.str.fullmatch(_DATE).all():
        return ("ISO8601", "") if dates_in_form(levels, "ISO8601").notna().all() else None
    if not levels.iloc[0][:1].isdigit():
        return None
    forms = (f"{day}{hour}" for day in _FORMATS for hour in ("", " %H:%M", " %H:%M:%S"))
    found = [form for form in forms if dates_in_form(levels, form).notna().all()]
    if not found:
        return None
    return found[0], "the month first, though the day could be" if len(found) > 1 else ""


def dates_in_form(levels: "pd.Series[Any]", form: str) -> "pd.Series[Any]":
    """Texts as dates without a zone, and NaT for those that are not written so."""
    if form != "ISO8601":
        return pd.to_datetime(levels, format=form, errors="coerce")
    dates = pd.to_datetime(levels, format="ISO8601", errors="coerce", utc=True).dt.tz_convert(None)
    return dates.where(levels.str.fullmatch(_DATE).to_numpy(dtype=bool))
