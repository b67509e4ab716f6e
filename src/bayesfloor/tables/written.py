"""Numbers and dates as people write them: with currencies, per cent signs and separators, or the name of a month."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from .._types import Floats, Mask

__all__ = [
    "NumberForm",
    "date_form",
    "dates_in_form",
    "has_zone",
    "is_written_number",
    "likeliest_date_form",
    "number_form",
    "odd_pair",
]


# --- numbers -------------------------------------------------------------------------------------------------

_SPACE = "[ \u00a0\u202f]"
_CURRENCY = r"US\$|[$€£¥₹₩₽]|USD|EUR|GBP|CHF|JPY|CAD|AUD|INR|CNY"
_WRITTEN = re.compile(
    rf"(?P<owed>\()?(?P<sign>[-+\u2212]?){_SPACE}?(?P<before>{_CURRENCY})?{_SPACE}?(?P<inner>[-+\u2212]?)"
    rf"(?P<digits>\d[\d.,' \u00a0\u202f]*(?<![ \u00a0\u202f])|[.,]\d+){_SPACE}?(?P<after>{_CURRENCY}|%)?\)?"
)
# Separators of thousands and the decimal sign, in the order in which they are tried.
_STYLES = ((",", "."), (".", ","), (" ", "."), (" ", ","), ("'", "."), ("'", ","))


@dataclass(frozen=True)
class NumberForm:
    """How the numbers of a column are written.

    Attributes
    ----------
    thousands, decimal : str
        What separates thousands, and the decimal sign.
    unit : str
        A currency, %, or nothing.
    remark : str
        What a reader should know; empty if there is no other way to read them.
    """

    thousands: str
    decimal: str
    unit: str
    remark: str = ""

    @property
    def example(self) -> str:
        """A number that is written so."""
        number = f"1{self.thousands}234{self.decimal}5"
        return f"{number}{self.unit}" if self.unit == "%" else f"{self.unit}{number}"

    def numbers(self, levels: "pd.Series[Any]") -> Floats:
        """Texts as numbers, NaN for those that are not written so; 7% is 7."""
        return np.array([self._number(level) for level in levels], dtype=np.float64)

    def _number(self, text: str) -> float:
        found = _parts(text)
        if found is None or found[1] not in (("%",) if self.unit == "%" else (self.unit, "")):
            return np.nan
        sign, _, digits = found
        if not _style(self.thousands, self.decimal).fullmatch(digits):
            return np.nan
        return sign * float(digits.replace(self.thousands, "").replace(self.decimal, "."))


def number_form(levels: "pd.Series[Any]") -> NumberForm | None:
    """How numbers are written, if every text is one in the same way.

    Examples
    --------
    >>> form = number_form(pd.Series(["$31,147.53", "$900", "($12.50)"]))
    >>> form.numbers(pd.Series(["$31,147.53", "($12.50)"])).tolist()
    [31147.53, -12.5]
    >>> number_form(pd.Series(["1.234,50 €", "99,00 €"])).decimal
    ','
    >>> number_form(pd.Series(["7%", "0.07"])), number_form(pd.Series(["$5", "£5"])), number_form(pd.Series(["1,2.3"]))
    (None, None, None)
    """
    found = [_parts(level) for level in levels]
    if any(part is None for part in found):
        return None
    parts = [part for part in found if part is not None]
    units = {unit for _, unit, _ in parts}
    unit = max(units)  # "" comes first
    if len(units - {""}) > 1 or (unit == "%" and "" in units):  # 0.07 beside 7% may be the same share
        return None
    digits = [written for _, _, written in parts]
    fitting = [style for style in _STYLES if all(map(_style(*style).fullmatch, digits))]
    if not fitting:
        return None
    thousands, decimal = fitting[0]
    # 1,234 everywhere: a thousand, or one and a bit. As a feature the two differ only by a factor.
    remark = ""
    if any("," in written for written in digits) and {(",", "."), (".", ",")} <= set(fitting):
        remark = "commas taken for separators of thousands"
    return NumberForm(thousands, decimal, unit, remark)


def odd_pair(levels: "pd.Series[Any]") -> tuple[str, str] | None:
    """Two texts that are numbers, but not written in the same way; None if there are none.

    Examples
    --------
    >>> odd_pair(pd.Series(["900", "1,200.50", "7", "1.300,25"]))
    ('1,200.50', '1.300,25')
    """
    low, high = 0, len(levels)  # so many of the first are alike, so many are not
    if number_form(levels) is not None:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if number_form(levels.iloc[:middle]) is None else (middle, high)
    odd = levels.iloc[high - 1]
    others = (other for other in levels.iloc[:low] if number_form(pd.Series([other, odd], dtype=object)) is None)
    return next(others, levels.iloc[0]), odd


def is_written_number(levels: "pd.Series[Any]") -> Mask:
    """Texts that are numbers to a reader: with separators of thousands, a comma, a currency or a per cent sign."""
    return np.array([_is_one(level) for level in levels], dtype=bool)


def _is_one(text: str) -> bool:
    found = _parts(text)
    return found is not None and any(_style(*style).fullmatch(found[2]) for style in _STYLES)


def _parts(text: str) -> tuple[float, str, str] | None:
    """Sign, unit, and the digits with their separators; None if the text is no number."""
    found = _WRITTEN.fullmatch(text)
    if found is None or (found["owed"] is not None) != text.endswith(")"):
        return None
    if (found["before"] and found["after"]) or (found["sign"] and found["inner"]):
        return None
    sign = found["sign"] + found["inner"]
    if sign and found["owed"]:
        return None
    is_negative = bool(found["owed"]) or sign in ("-", "\u2212")
    digits = re.sub(_SPACE, " ", found["digits"])
    return -1.0 if is_negative else 1.0, found["before"] or found["after"] or "", digits


@cache
def _style(thousands: str, decimal: str) -> re.Pattern[str]:
    t, d = re.escape(thousands), re.escape(decimal)
    return re.compile(rf"[1-9]\d{{0,2}}({t}\d{{3}})+({d}\d*)?|\d+({d}\d*)?|{d}\d+")


# --- dates ---------------------------------------------------------------------------------------------------

_ISO = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?)?\s?(Z|[+-]\d{2}:?\d{2})?")
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_MAY_BE_DATE = re.compile(rf"\d.*[-/. ].*\d|({_MONTHS})[a-z]*\W.*\d", re.IGNORECASE)
# Days written in numbers; those whose first two may change places have the month first, and the twin after it.
_DAYS = ("%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y", "%d.%m.%Y", "%d.%m.%y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y")
_NAMED_DAYS = tuple(
    form.replace("%b", month)
    for form in ("%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d %b %y", "%b %d, %Y", "%b %d %Y", "%d. %b %Y", "%b %Y", "%b-%Y")
    for month in ("%b", "%B")
)
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_FORMS = tuple(f"{day}{hour}" for day in (*_DAYS, *_NAMED_DAYS) for hour in _TIMES)
_DIGITS = ("%Y%m%d", "%Y")  # to a reader they may be any numbers
_LOOK = 20  # texts that rule out most forms


def date_form(levels: "pd.Series[Any]", *, stated: bool = False) -> tuple[str, str] | None:
    """How dates are written, if every level is one in the same way; and a remark if there is another way to read them.

    `stated`: someone has said that they are dates, so that 20240131 and 2024 may be.

    Examples
    --------
    >>> date_form(pd.Series(["31.12.2024", "1.2.2025"])), date_form(pd.Series(["01 Jan 2020", "31 May 2021"]))
    (('%d.%m.%Y', ''), ('%d %b %Y', ''))
    >>> date_form(pd.Series(["01/31/20", "02/01/21"]))
    ('%m/%d/%y', 'years of two digits: 69 to 99 are 1969 to 1999')
    """
    if levels.str.fullmatch(_ISO).all():
        return ("ISO8601", "") if dates_in_form(levels, "ISO8601").notna().all() else None
    if not stated and not levels.iloc[:_LOOK].str.match(_MAY_BE_DATE).all():
        return None
    forms = [*_FORMS, *(_DIGITS if stated else ())]
    for some in (levels.iloc[:1], levels.iloc[:_LOOK], levels):
        forms = [form for form in forms if dates_in_form(some, form).notna().all()]
    if not forms:
        return None
    remarks = []
    if forms[0].startswith("%m") and any(form.startswith("%d") for form in forms):
        remarks.append("the month first, though the day could be")
    if "%y" in forms[0]:
        remarks.append("years of two digits: 69 to 99 are 1969 to 1999")
    return forms[0], "; ".join(remarks)


def likeliest_date_form(levels: "pd.Series[Any]") -> str:
    """The form in which most of the first texts are dates.

    Examples
    --------
    >>> likeliest_date_form(pd.Series(["31.12.2024", "soon", "1.2.2025"]))
    '%d.%m.%Y'
    """
    some = levels.iloc[:_LOOK]
    return max(("ISO8601", *_FORMS, *_DIGITS), key=lambda form: int(dates_in_form(some, form).notna().sum()))


def has_zone(levels: "pd.Series[Any]") -> Mask:
    """Texts that are times with a zone: Z, or an offset such as +02:00."""
    found = (_ISO.fullmatch(level) for level in levels)
    return np.array([match is not None and match[4] is not None for match in found], dtype=bool)


def dates_in_form(levels: "pd.Series[Any]", form: str) -> "pd.Series[Any]":
    """Texts as dates without a zone, and NaT for those that are not written so."""
    if form != "ISO8601":
        return pd.to_datetime(levels, format=form, errors="coerce")
    dates = pd.to_datetime(levels, format="ISO8601", errors="coerce", utc=True).dt.tz_convert(None)
    return dates.where(levels.str.fullmatch(_ISO).to_numpy(dtype=bool))
