"""Arguments of public functions, checked; names for messages."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from ..errors import ParameterError

if TYPE_CHECKING:
    from .._types import Floats

__all__ = [
    "check_fraction",
    "check_number",
    "check_positive",
    "check_seed",
    "check_whole",
    "listed",
    "numbers_from",
    "seed_from",
]


def listed(names: Sequence[str], limit: int = 5) -> str:
    """Names for a message: the first few, and how many more there are.

    Examples
    --------
    >>> listed(["a", "b", "c"], limit=2)
    'a, b and 1 more'
    """
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def numbers_from(name: str, values: Any) -> "Floats":
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


def seed_from(random_state: Any) -> int:
    """Seed from what scikit-learn calls a random_state."""
    from sklearn.utils import check_random_state

    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))


def check_whole(name: str, value: Any, least: int, most: int | None = None, note: str = "") -> int:
    """A whole number of at least `least`, and at most `most`; `note` says what the limit is.

    Examples
    --------
    >>> check_whole("k", 7, 1, 5, "rows less 1")
    Traceback (most recent call last):
    ...
    bayesfloor.errors.ParameterError: k must be a whole number from 1 to 5 (rows less 1), got 7
    """
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_whole or value < least or (most is not None and value > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ParameterError(f"{name} must be a whole number {limits}{f' ({note})' if note else ''}, got {value!r}")
    return int(value)


def check_number(name: str, value: Any, least: float, most: float = math.inf) -> float:
    """A finite number of at least `least`, and at most `most`."""
    # NaN fails the comparison too.
    if not isinstance(value, Real) or not least <= float(value) <= most or math.isinf(float(value)):
        limits = f"at least {least:g}" if most == math.inf else f"between {least:g} and {most:g}"
        raise ParameterError(f"{name} must be a number, {limits}; got {value!r}")
    return float(value)


def check_positive(name: str, value: Any) -> float:
    """A finite number above 0."""
    if not isinstance(value, Real) or not 0 < float(value) < math.inf:
        raise ParameterError(f"{name} must be a number above 0; got {value!r}")
    return float(value)


def check_fraction(name: str, value: Any) -> float:
    """A number strictly between 0 and 1."""
    if not isinstance(value, Real) or not 0 < float(value) < 1:
        raise ParameterError(f"{name} must lie between 0 and 1, got {value!r}")
    return float(value)
