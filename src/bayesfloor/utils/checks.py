"""Arguments of public functions, checked; names for messages."""

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

from ..errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["check_seed", "listed", "numbers_from"]


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


def check_seed(random_state: Any) -> None:
    """A seed is a whole number, 0 or more."""
    if isinstance(random_state, bool) or not isinstance(random_state, Integral) or random_state < 0:
        raise ParameterError(f"random_state must be a whole number, 0 or more; got {random_state!r}")
