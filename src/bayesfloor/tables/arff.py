"""ARFF, the format of Weka and OpenML: nominal, numeric, string and date attributes, dense rows."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from ..errors import DataError

__all__ = ["parse_arff"]

_ATTRIBUTE = re.compile(r"@attribute\s+('(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|\S+)\s+(.*)", re.IGNORECASE)
_VALUE = re.compile(r"\s*('(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|[^,]*?)\s*(?:,|$)")
_NUMERIC = ("numeric", "real", "integer")


def parse_arff(lines: Iterable[str], name: str) -> pd.DataFrame:
    """Frame of an ARFF file: nominal attributes as categories, numeric ones as float64, dates as text.

    Strings are text too, of a type that says so.

    Parameters
    ----------
    lines : iterable of str
    name : str
        Of the file, for messages.

    Returns
    -------
    pandas.DataFrame

    Examples
    --------
    >>> text = ["@relation r", "@attribute size numeric", "@attribute 'my class' {a,b}", "@data", "1.5,a", "?,b"]
    >>> frame = parse_arff(text, "r.arff")
    >>> frame.columns.tolist(), frame["size"].tolist()
    (['size', 'my class'], [1.5, nan])
    """
    numbered = enumerate(lines, start=1)
    attributes = _header(numbered, name)
    n, values = len(attributes), [[] for _ in attributes]  # type: tuple[int, list[list[str | None]]]
    for number, line in numbered:
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        if text.startswith("{"):
            raise DataError(f"{name}, line {number}: sparse ARFF rows are not supported; write the file densely")
        fields = _fields(text)
        if len(fields) != n:
            raise DataError(f"{name}, line {number} has {len(fields)} values, but there are {n} attributes")
        for column, field in zip(values, fields, strict=True):
            column.append(field)
    columns = [_column(*attribute, cells, name) for attribute, cells in zip(attributes, values, strict=True)]
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame()
    frame.columns = pd.Index([attribute for attribute, _ in attributes], dtype=object)
    return frame


def _header(numbered: Iterator[tuple[int, str]], name: str) -> list[tuple[str, str]]:
    attributes: list[tuple[str, str]] = []
    for number, line in numbered:
        text = line.strip()
        if text.lower().startswith("@data"):
            if attributes:
                return attributes
            break
        if text.lower().startswith("@attribute"):
            match = _ATTRIBUTE.match(text)
            kind = match[2].strip() if match else ""
            if match is None or not (kind.startswith("{") or kind.lower().split()[0] in (*_NUMERIC, "string", "date")):
                raise DataError(f"{name}, line {number} is no attribute that can be read: {text[:60]!r}")
            attributes.append((_unquote(match[1]), kind))
        elif text and not text.startswith("%") and not text.lower().startswith("@relation"):
            raise DataError(f"{name} is no ARFF file: line {number} is {text[:60]!r}")
    raise DataError(f"{name} is no ARFF file, or it is cut short: there are no @attribute and @data lines")


def _column(attribute: str, kind: str, cells: list[str | None], name: str) -> "pd.Series[Any]":
    if kind.startswith("{"):
        levels = [level for level in _fields(kind.strip("{} ")) if level is not None]
        known = set(levels)
        for row, cell in enumerate(cells, start=1):
            if cell is not None and cell not in known:
                raise DataError(
                    f"{name}: attribute {attribute!r} holds {cell!r} in row {row}, which it does not declare"
                )
        return pd.Series(pd.Categorical(cells, categories=pd.Index(list(dict.fromkeys(levels)), dtype=object)))
    if kind.lower().split()[0] in _NUMERIC:
        numbers = np.empty(len(cells))
        for row, cell in enumerate(cells):
            try:
                numbers[row] = np.nan if cell is None else float(cell)
            except ValueError:
                raise DataError(
                    f"{name}: attribute {attribute!r} is numeric, but holds {cell!r} in row {row + 1}"
                ) from None
        return pd.Series(numbers)
    is_text = kind.lower().split()[0] == "string"
    return pd.Series(cells, dtype=pd.StringDtype() if is_text else object)


def _fields(text: str) -> list[str | None]:
    if "'" not in text and '"' not in text:
        return [None if field.strip() in ("?", "") else field.strip() for field in text.split(",")]
    fields: list[str | None] = []
    at = 0
    while at <= len(text):
        match = _VALUE.match(text, at)
        if match is None:  # something follows a closing quote
            return fields
        fields.append(None if match[1] in ("?", "") else _unquote(match[1]))
        if match.end() == len(text) and not match[0].rstrip().endswith(","):
            return fields
        at = match.end()
    return fields


def _unquote(text: str) -> str:
    if len(text) >= 2 and text[0] in "'\"" and text[-1] == text[0]:
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text
