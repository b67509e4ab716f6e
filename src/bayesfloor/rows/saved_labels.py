"""Labels as JSON keeps them: kinds that JSON lacks are written with their name, and come back as they were."""

import math
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import pandas as pd

from ..errors import DataTypeError
from ..utils.checks import brief

__all__ = ["read_label", "write_label"]

_DIGITS = 1000  # of whole numbers: Python refuses to write very long ones


class _Kind(NamedTuple):
    """A kind of label, by the simpler labels that it is made of."""

    of: type
    parts: Callable[[Any], tuple[Any, ...]]
    make: Callable[..., Any]


def _unit(value: Any) -> str:
    name, count = np.datetime_data(value.dtype)
    return name if count == 1 else f"{count}{name}"


# A subclass comes before its base: a Timestamp is a datetime, and a datetime a date.
_KINDS: dict[str, _Kind] = {
    "bytes": _Kind(bytes, lambda v: (v.hex(),), bytes.fromhex),
    "tuple": _Kind(tuple, tuple, lambda *parts: parts),
    "frozenset": _Kind(frozenset, lambda v: tuple(sorted(v, key=repr)), lambda *parts: frozenset(parts)),
    "Timestamp": _Kind(pd.Timestamp, lambda v: (v.isoformat(),), lambda text: pd.Timestamp(text)),
    "datetime": _Kind(datetime, lambda v: (v.isoformat(),), datetime.fromisoformat),
    "date": _Kind(date, lambda v: (v.isoformat(),), date.fromisoformat),
    "time": _Kind(time, lambda v: (v.isoformat(),), time.fromisoformat),
    "Timedelta": _Kind(pd.Timedelta, lambda v: (v.isoformat(),), lambda text: pd.Timedelta(text)),
    "timedelta": _Kind(timedelta, lambda v: (v.days, v.seconds, v.microseconds), lambda d, s, us: timedelta(d, s, us)),
    "datetime64": _Kind(np.datetime64, lambda v: (str(v), _unit(v)), lambda text, unit: np.datetime64(text, unit)),
    "timedelta64": _Kind(
        np.timedelta64, lambda v: (int(v.astype(np.int64)), _unit(v)), lambda n, unit: np.timedelta64(n, unit)
    ),
    "Period": _Kind(
        pd.Period, lambda v: (v.ordinal, v.freqstr), lambda ordinal, freq: pd.Period(ordinal=ordinal, freq=freq)
    ),
    "Interval": _Kind(
        pd.Interval, lambda v: (v.left, v.right, v.closed), lambda left, right, ends: pd.Interval(left, right, ends)
    ),
    "Decimal": _Kind(Decimal, lambda v: (str(v),), lambda text: Decimal(text)),
    "Fraction": _Kind(Fraction, lambda v: (v.numerator, v.denominator), lambda n, d: Fraction(n, d)),
    "complex": _Kind(complex, lambda v: (v.real, v.imag), lambda real, imag: complex(real, imag)),
    "UUID": _Kind(UUID, lambda v: (str(v),), lambda text: UUID(text)),
}


def write_label(label: Any) -> Any:
    """Plain values that `read_label` makes an equal label of; an error for a kind of label that cannot be kept.

    Examples
    --------
    >>> write_label("yes"), write_label((1, b"a"))
    ('yes', {'tuple': [1, {'bytes': ['61']}]})
    """
    if isinstance(label, np.generic) and label.dtype.kind not in "mM":
        label = label.item()
    if label is None or isinstance(label, bool | str):
        return label
    if isinstance(label, int) and abs(label) < 10**_DIGITS:
        return int(label)
    if isinstance(label, float) and math.isfinite(label):
        return float(label)
    for name, kind in _KINDS.items():
        if isinstance(label, kind.of):
            parts = _parts(kind, label)
            if parts is not None:
                return {name: [write_label(part) for part in parts]}
            break
    raise DataTypeError(
        f"a label must be text, a truth value, a finite number of at most {_DIGITS} digits, a date or time, bytes, or "
        f"a tuple of these; {brief(label)} ({type(label).__name__}) is none: convert it, for example with str"
    )


def _parts(kind: _Kind, label: Any) -> tuple[Any, ...] | None:
    """What a label is made of; None where it cannot be made of that again: NaN is not equal to itself."""
    try:
        parts = kind.parts(label)
        return parts if kind.make(*parts) == label else None
    except Exception:  # a signalling NaN cannot even be compared
        return None


def read_label(value: Any) -> Any:
    """The label that `write_label` has written.

    Examples
    --------
    >>> read_label({"date": ["2024-02-29"]})
    datetime.date(2024, 2, 29)
    """
    if not isinstance(value, dict | list):
        return write_label(value)  # refuses infinity and NaN
    name, parts = next(iter(value.items())) if isinstance(value, dict) and len(value) == 1 else ("", None)
    if name in _KINDS and isinstance(parts, list):
        read = [read_label(part) for part in parts]
        try:
            label = _KINDS[name].make(*read)
            if isinstance(label, _KINDS[name].of) and write_label(label) == value:
                return label
        except Exception:  # whatever the kind itself raises
            pass
    raise DataTypeError(f"{brief(value)} is no label")
