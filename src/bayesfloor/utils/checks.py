"""Arguments of public functions, checked; names for messages."""

import math
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from .._text import printable
from ..errors import ParameterError

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._types import Floats

__all__ = [
    "MOST",
    "SEEDS",
    "brief",
    "check_callable",
    "check_choice",
    "check_flag",
    "check_fraction",
    "check_number",
    "check_positive",
    "check_text",
    "check_whole",
    "draw_seed",
    "generator_from",
    "listed",
    "numbers_from",
    "real_from",
    "seed_from",
]

SEEDS = 2**32  # as many as scikit-learn's: from 0 on
MOST = 2**53  # of anything that is counted: beyond, float64 cannot tell neighbours apart


def brief(value: Any, most: int = 80) -> str:
    """A value for a message: on one line, not too long, whatever it is.

    Examples
    --------
    >>> brief("a"), brief(10**400, 20), brief(10**5000)
    ("'a'", '10000000000000000...', 'a value of type int')
    """
    try:
        text = printable(" ".join(repr(value).split()))
    except Exception:  # whole numbers of more than 4,300 digits, for one, cannot be written
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= most else f"{text[: most - 3]}..."


def listed(names: Sequence[str], limit: int = 5) -> str:
    """Names for a message: the first few, and how many more there are.

    Examples
    --------
    >>> listed(["a", "b", "c"], limit=2)
    'a, b and 1 more'
    """
    shown = ", ".join(map(printable, names[:limit]))
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def numbers_from(name: str, values: Any) -> "Floats":
    """Parameter `name` as a float64 array, or an error that names it.

    Examples
    --------
    >>> numbers_from("radii", [1, 10**400])
    Traceback (most recent call last):
    ...
    bayesfloor.errors.ParameterError: radii must be numbers that float64 can hold, got [1, 10000000000000000000000000...
    """
    import numpy as np

    if np.ma.is_masked(values):
        raise ParameterError(f"{name} must be numbers, and some are masked: {brief(values)}")
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O":  # what is nearly a number: Decimal, Fraction, None
            array = array.astype(np.float64)
    except OverflowError:
        raise ParameterError(f"{name} must be numbers that float64 can hold, got {brief(values)}") from None
    except Exception:  # ragged, no numbers, or an object that refuses
        raise ParameterError(f"{name} must be numbers, got {brief(values)}") from None
    if array.dtype.kind not in "biuf":
        raise ParameterError(f"{name} must be numbers, got {brief(values)}")
    return np.asarray(array, dtype=np.float64)


def real_from(value: Any) -> float | None:
    """A real number as a float, infinite if it is too large for one; None if it is no number.

    Examples
    --------
    >>> real_from(3), real_from(-10**400), real_from("3"), real_from(True)
    (3.0, -inf, None, None)
    """
    is_real = isinstance(value, Real) and not isinstance(value, bool)
    if not is_real:
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def check_callable(name: str, value: Callable[..., Any] | None) -> None:
    """None, or something that can be called."""
    if value is not None and (not callable(value) or isinstance(value, type)):
        raise ParameterError(f"{name} must be None or a function, got {brief(value)}")


def check_text(name: str, value: Any) -> str:
    """Text."""
    if not isinstance(value, str):
        raise ParameterError(f"{name} must be text, got {brief(value)}")
    return value


def check_flag(name: str, value: Any) -> bool:
    """Yes or no: a truth value, or 1 or 0 for it."""
    if type(value).__name__ not in ("bool", "bool_", "int") or value not in (0, 1):
        raise ParameterError(f"{name} must be True or False, got {brief(value)}")
    return bool(value)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """One of these words.

    Examples
    --------
    >>> check_choice("algorithm", "fast", ("auto", "tree"))
    Traceback (most recent call last):
    ...
    bayesfloor.errors.ParameterError: algorithm must be one of 'auto', 'tree'; got 'fast'
    """
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, choices))}; got {brief(value)}")
    return value


def seed_from(random_state: Any) -> int:
    """Seed from a random_state, as scikit-learn understands it: None and a RandomState draw one.

    Examples
    --------
    >>> seed_from(7)
    7
    >>> seed_from(-1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    bayesfloor.errors.ParameterError: random_state must be None, a whole number from 0 to 4294967295 or ...; got -1
    """
    is_whole = isinstance(random_state, Integral) and not isinstance(random_state, bool)
    if is_whole and 0 <= random_state < SEEDS:
        return int(random_state)
    if not isinstance(random_state, Integral):
        from sklearn.utils import check_random_state

        try:
            return int(check_random_state(random_state).randint(2**31))
        except (TypeError, ValueError):
            pass
    raise ParameterError(
        f"random_state must be None, a whole number from 0 to {SEEDS - 1} or a numpy RandomState; got "
        f"{brief(random_state)}"
    )


def draw_seed(random_state: Any) -> int:
    """A seed that is drawn with what scikit-learn calls a random_state."""
    from sklearn.utils import check_random_state

    return int(check_random_state(seed_from(random_state)).randint(2**31))


def generator_from(random_state: Any) -> "Generator":
    """Generator of the rows of a problem: of a seed, and also of a sequence of seeds, or one that is given."""
    import numpy as np

    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, list | tuple) and random_state:
        return np.random.default_rng([check_whole("random_state", seed, 0) for seed in random_state])
    return np.random.default_rng(seed_from(random_state))


def check_whole(name: str, value: Any, least: int, most: int = MOST, note: str = "") -> int:
    """A whole number of at least `least`, and at most `most`; `note` says what the limit is.

    Examples
    --------
    >>> check_whole("k", 7, 1, 5, "rows less 1")
    Traceback (most recent call last):
    ...
    bayesfloor.errors.ParameterError: k must be a whole number from 1 to 5 (rows less 1), got 7
    """
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_whole or not least <= value <= most:
        # Nobody who gave a fraction needs to know of a limit that no count reaches.
        limits = (
            f"of at least {least}" if most == MOST and not (is_whole and value > most) else f"from {least} to {most}"
        )
        raise ParameterError(
            f"{name} must be a whole number {limits}{f' ({note})' if note else ''}, got {brief(value)}"
        )
    return int(value)


def check_number(name: str, value: Any, least: float, most: float = math.inf) -> float:
    """A finite number of at least `least`, and at most `most`."""
    number = real_from(value)
    # NaN fails the comparison too.
    if number is None or not least <= number <= most or math.isinf(number):
        limits = f"at least {least:g}" if most == math.inf else f"between {least:g} and {most:g}"
        raise ParameterError(f"{name} must be a number, {limits}; got {brief(value)}")
    return number


def check_positive(name: str, value: Any) -> float:
    """A finite number above 0."""
    number = real_from(value)
    if number is None or not 0 < number < math.inf:
        raise ParameterError(f"{name} must be a number above 0; got {brief(value)}")
    return number


def check_fraction(name: str, value: Any) -> float:
    """A number strictly between 0 and 1."""
    number = real_from(value)
    if number is None or not 0 < number < 1:
        must = "be a number" if number is None else "lie"
        raise ParameterError(f"{name} must {must} between 0 and 1, got {brief(value)}")
    return number
