"""Text from data and files, made safe to print."""

from collections.abc import Iterable

__all__ = ["printable", "printed"]


def printable(text: object) -> str:
    r"""Text on one line: every character that a terminal would act on, line breaks among them, as its escape.

    Examples
    --------
    >>> print(printable("h\r\nfloor 0.00%"))
    h\r\nfloor 0.00%
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(text))


def printed(lines: Iterable[object]) -> str:
    r"""Lines as one text; whatever they quote, there are no more lines than these.

    Examples
    --------
    >>> print(printed(["rows 3", "label a\x1b[2J"]))
    rows 3
    label a\x1b[2J
    """
    return "\n".join(map(printable, lines))
