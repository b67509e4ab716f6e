"""Assertions for tests of your own models."""

import unittest
from typing import Any

from .floor._gate import EXIT_CODES, gate
from .floor.result import FloorResult
from .utils.checks import check_choice

__all__ = ["assert_at_floor"]

_WHERE_UNKNOWN = ("fail", "skip", "pass")


def assert_at_floor(
    result: FloorResult, *, within: float | None = None, cannot_tell: str = "fail", ignore: Any = (), **model: Any
) -> None:
    """Fail a test if a model is not near the floor: `bayesfloor.gate` as an assertion, for pytest and unittest.

    Parameters
    ----------
    result : FloorResult
        Of `estimate`; estimated once, saved by `FloorResult.save`, and read by `FloorResult.load` it costs nothing.
    within : float, optional
        The largest gap to the floor that is allowed, as a share; default as in `bayesfloor.gate`.
    cannot_tell : {"fail", "skip", "pass"}
        What becomes of the test where nothing is shown either way (exit code 4 of the gate).
    ignore : sequence of str
        Codes of doubts that do not count.
    **model
        How the model did, as in `bayesfloor.compare`: ``error`` and ``n_test``, ``y_true`` and ``y_pred``, or
        ``model``, ``X`` and ``y``.

    Raises
    ------
    AssertionError
        With the sentence of the comparison.

    Examples
    --------
    >>> from bayesfloor import estimate, problems
    >>> X, y = problems.get("gaussians_4d").sample(600, random_state=0)
    >>> result = estimate(X, y, effort="fast", n_jobs=1)
    >>> assert_at_floor(result, error=0.45, n_test=2000)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    AssertionError: Room of ...
    """
    check_choice("cannot_tell", cannot_tell, _WHERE_UNKNOWN)
    found = gate(result, within=within, ignore=ignore, **model)
    if found.passed:
        return
    if found.exit_code == EXIT_CODES["cannot tell"] and cannot_tell != "fail":
        if cannot_tell == "skip":
            raise unittest.SkipTest(found.sentence)
        return
    raise AssertionError(found.sentence)
