"""Records as plain values and back: what a field holds is read off its annotation."""

import math
from collections.abc import Hashable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from .._text import printable
from ..rows.saved_labels import read_label, write_label
from ..utils.checks import MOST, brief, check_number, check_whole

__all__ = ["Limits", "Noted", "read_fields", "read_record", "write_record"]

# Of the numbers in a field, or in the tuples that it holds.
Limits = Mapping[type, Mapping[str, tuple[float, float]]]


class Noted:
    """A record with notes: they quote names of columns and labels, and can be printed as they are."""

    def __post_init__(self) -> None:
        notes: tuple[str, ...] = self.notes  # type: ignore[attr-defined]
        object.__setattr__(self, "notes", tuple(map(printable, notes)))


@cache
def _kinds(record: Hashable) -> dict[str, Any]:
    """What each field that is kept holds; arrays of single rows are not, and do not count in comparisons either."""
    hints = get_type_hints(record)
    return {field.name: hints[field.name] for field in fields(record) if field.compare}  # type: ignore[arg-type]


def write_record(record: Any) -> dict[str, Any]:
    """The fields of a record as JSON has them.

    Examples
    --------
    >>> from ..utils.intervals import ConfidenceInterval
    >>> write_record(ConfidenceInterval(0.1, 0.2, 0.95))
    {'low': 0.1, 'high': 0.2, 'confidence_level': 0.95}
    """
    kind: Any = type(record)
    return {name: _write(field, getattr(record, name)) for name, field in _kinds(kind).items()}


def _write(kind: Any, value: Any) -> Any:
    kind = _without_none(kind)
    if kind in (Any, object):
        return write_label(value)
    if value is None:
        return None
    if is_dataclass(kind):
        return write_record(value)
    if get_origin(kind) is tuple:
        return [_write(get_args(kind)[0], entry) for entry in value]
    return value.item() if isinstance(value, np.generic) else value


def read_record(record: type, values: Any, limits: Limits) -> Any:
    """A record of plain values, or an error that names what does not fit.

    Parameters
    ----------
    record : type
        A dataclass; fields of type Any are labels.
    values : object
        As `write_record` writes them; fields that have a default may be missing.
    limits : mapping
        Least and largest number by record and field.

    Examples
    --------
    >>> from ..utils.intervals import ConfidenceInterval
    >>> read_record(ConfidenceInterval, {"low": 0.1, "high": "x", "confidence_level": 0.95}, {})
    Traceback (most recent call last):
    ...
    bayesfloor.errors.ParameterError: high must be a number, at least -inf; got 'x'
    """
    if not isinstance(values, dict):
        raise TypeError(f"{record.__name__} must be an object, got {brief(values)}")
    kinds = _kinds(record)
    unknown = [name for name in values if name not in kinds]
    needed = {field.name for field in fields(record) if field.default is field.default_factory is MISSING}
    missing = [name for name in kinds if name in needed and name not in values]
    if unknown or missing:
        raise KeyError(f"{record.__name__} {f'has no {brief(unknown[0])}' if unknown else f'needs {missing[0]}'}")
    return record(**read_fields(record, values, limits))


def read_fields(record: type, values: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """Those of the values that are fields of a record, each as the record has it."""
    kinds, most = _kinds(record), limits.get(record, {})
    return {
        name: _read(kinds[name], value, name, most.get(name), limits) for name, value in values.items() if name in kinds
    }


def _read(kind: Any, value: Any, name: str, most: tuple[float, float] | None, limits: Limits) -> Any:
    if value is None and NoneType in get_args(kind):
        return None
    kind = _without_none(kind)
    if kind in (Any, object):
        return read_label(value)
    if kind is int:
        low, high = most or (0, MOST)
        return check_whole(name, value, int(low), int(high))
    if kind is float:
        return check_number(name, value, *(most or (-math.inf, math.inf)))
    if kind is str and isinstance(value, str):
        return printable(value)
    if is_dataclass(kind):
        return read_record(kind, value, limits)  # type: ignore[arg-type]
    if get_origin(kind) is tuple and isinstance(value, list):
        inner = get_args(kind)
        if inner[-1] is not Ellipsis and len(value) != len(inner):
            raise TypeError(f"{name} must have {len(inner)} entries, got {brief(value)}")
        return tuple(_read(inner[0], entry, name, most, limits) for entry in value)
    if get_origin(kind) is dict and isinstance(value, dict):
        number = get_args(kind)[1] is float
        return {key: check_number(key, v, -math.inf) if number else _plain(key, v) for key, v in value.items()}
    if kind is bool and isinstance(value, bool):
        return value
    raise TypeError(f"{name} must be {_words(kind)}, got {brief(value)}")


def _plain(name: str, value: Any) -> Any:
    """A value among settings or evidence: one number, text or truth value, or a list of them."""
    if isinstance(value, list) and not any(isinstance(entry, list) for entry in value):
        return [_plain(name, entry) for entry in value]
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return check_whole(name, value, -(2**128), 2**128)  # seeds may be long
    return check_number(name, value, -math.inf)


def _without_none(kind: Any) -> Any:
    if not isinstance(kind, UnionType):
        return kind
    return next(part for part in get_args(kind) if part is not NoneType)


def _words(kind: Any) -> str:
    words = {str: "text", bool: "true or false", tuple: "a list", dict: "an object"}
    return words[get_origin(kind) or kind]
