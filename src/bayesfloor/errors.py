"""What goes wrong, by name: every error is also a ValueError or a TypeError."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "BayesfloorWarning",
    "ClusterError",
    "DataError",
    "DataTypeError",
    "ParameterError",
    "listed",
    "numbers_from",
]


class DataError(ValueError):
    """The data cannot be used as they are; the message says what, where, and what to do."""


class DataTypeError(TypeError):
    """The data are of a kind that is not supported (text columns, sparse matrices, ...)."""


class ParameterError(ValueError):
    """A parameter is out of its range."""


class ClusterError(ValueError):
    """A cluster cannot be reached, was lost, or could not do a piece of work; the message says what to do."""


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


def numbers_from(name: str, values: Any) -> "NDArray[np.float64]":
    """Parameter `name` as a float64 array, or an error that names it."""
    import numpy as np

    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{name} must be numbers, got {values!r}") from None
