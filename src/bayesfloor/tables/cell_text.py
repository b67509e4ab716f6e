"""Cells of a table as text, the words for a missing one, and how columns and values are named in messages."""

from typing import Any

import pandas as pd

__all__ = ["MISSING_WORDS", "leave_out", "present_text", "quoted", "shown", "text_of"]

MISSING_WORDS = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "?", "<NA>")


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


def quoted(name: str) -> str:
    """A name for a message: on one line, and not too long."""
    return repr(name if len(name) <= 60 else f"{name[:57]}...")


def shown(value: str) -> str:
    """A value for a message."""
    return repr(value if len(value) <= 40 else f"{value[:37]}...")


def leave_out(name: str) -> str:
    """What to do about a column that cannot be used."""
    return f"leave the column out (drop, --drop {name if name.isidentifier() else quoted(name)})"
