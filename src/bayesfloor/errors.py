"""What goes wrong, by name: every error is also a ValueError or a TypeError."""

from collections.abc import Sequence

__all__ = ["BayesfloorWarning", "DataError", "DataTypeError", "ParameterError", "listed"]


class DataError(ValueError):
    """The data cannot be used as they are; the message says what, where, and what to do."""


class DataTypeError(TypeError):
    """The data are of a kind that is not supported (text columns, sparse matrices, ...)."""


class ParameterError(ValueError):
    """A parameter is out of its range."""


class BayesfloorWarning(UserWarning):
    """A result exists but should not be taken at face value."""


def listed(names: Sequence[str], limit: int = 5) -> str:
    """Names for a message: the first few, and how many more there are.

    Examples
    --------
    >>> listed(["a", "b", "c"], limit=2)
    'a, b and 1 more'
    """
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"
