"""A check for pipelines: whether a model comes within a given distance of the floor."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from ._compare import Comparison, check_within, compare
from .result import FloorResult

__all__ = ["EXIT_CODES", "Gate", "gate"]

# 1 and 2 are taken: something that should not have happened, and bad input.
EXIT_CODES = {"at the floor": 0, "room": 3, "cannot tell": 4, "below the floor": 5}


@dataclass(frozen=True)
class Gate:
    """What a check of a model has found.

    Attributes
    ----------
    comparison : Comparison
        The model beside the floor; its `within` is what is allowed.

    Examples
    --------
    >>> from bayesfloor import from_scores, gate, problems
    >>> problem = problems.get("gaussians_4d")   # the true floor is 0.1587
    >>> X, y = problem.sample(1000, random_state=0)
    >>> found = gate(from_scores(problem.posterior(X), y), error=0.3, n_test=1000)
    >>> found.passed, found.exit_code, found.sentence.startswith("Room of")
    (False, 3, True)
    """

    comparison: Comparison

    @property
    def passed(self) -> bool:
        """Whether the model was shown to be at the floor, within what is allowed."""
        return self.comparison.verdict == "at the floor"

    @property
    def exit_code(self) -> int:
        """0 at the floor, 3 room left, 4 cannot tell, 5 below the floor."""
        return EXIT_CODES[self.comparison.verdict]

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        return self.comparison.sentence

    def __str__(self) -> str:
        return f"{'passed' if self.passed else 'failed'}   {self.comparison.headline}\n\n{self.comparison}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"passed": self.passed, "exit_code": self.exit_code, "comparison": self.comparison.to_dict()}

    def to_junit(self, name: str = "model at the floor", seconds: float = 0.0) -> str:
        """The check as JUnit XML, with one test case, as build servers read it.

        Parameters
        ----------
        name : str
            Of the test case.
        seconds : float
            What it took.
        """
        verdict, within = self.comparison.verdict, self.comparison.within
        numbers = {"tests": "1", "failures": "0" if self.passed else "1", "errors": "0", "time": f"{seconds:.3f}"}
        suites = ElementTree.Element("testsuites", {"name": "bayesfloor", **numbers})
        suite = ElementTree.SubElement(suites, "testsuite", {"name": "bayesfloor", **numbers})
        case = ElementTree.SubElement(
            suite,
            "testcase",
            {"classname": "bayesfloor.gate", "name": _in_xml(f"{name} (within {within:g})"), "time": f"{seconds:.3f}"},
        )
        said = _in_xml(str(self.comparison))
        if self.passed:
            ElementTree.SubElement(case, "system-out").text = said
        else:
            about = {"type": verdict, "message": _in_xml(self.comparison.headline)}
            ElementTree.SubElement(case, "failure", about).text = said
        ElementTree.indent(suites)
        return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(suites, encoding="unicode")}\n'


def gate(result: FloorResult, *, within: float = 0.02, ignore: Iterable[str] | str = (), **model: Any) -> Gate:
    """Check that a model is at the floor: `compare`, as a yes or no for pipelines.

    The model passes if it is shown to err at most `within` more than the floor. It does not if it surely errs more
    than that ("room"), if nothing is shown either way ("cannot tell": more test rows, a better floor, or a doubt to be
    muted), or if it errs less than the floor beyond chance ("below the floor": a floor that is too high, or a leak).

    Parameters
    ----------
    result : FloorResult
    within : float
        How far above the floor is allowed, as a share: 0.02 for two points.
    ignore : sequence of str
        Codes of doubts that do not count: see `FloorResult.mute`.
    **model
        How the model did, as in `compare`: ``error`` and ``n_test``, ``y_true`` and ``y_pred``, or ``model``, ``X`` and
        ``y``; and ``confidence_level``.

    Returns
    -------
    Gate

    See Also
    --------
    bayesfloor.testing.assert_at_floor : the same as an assertion in a test.

    Examples
    --------
    >>> from bayesfloor import estimate, problems
    >>> X, y = problems.get("gaussians_4d").sample(600, random_state=0)
    >>> result = estimate(X, y, effort="fast", n_jobs=1)
    >>> found = gate(result, error=0.35, n_test=2000)
    >>> found.passed, found.exit_code
    (False, 3)
    """
    return Gate(compare(result, within=check_within(within), ignore=ignore, **model))


def _in_xml(text: str) -> str:
    """Text without the characters that XML cannot hold."""
    return "".join(c if c in "\t\n" or (c.isprintable() and not "\ud800" <= c <= "\udfff") else "?" for c in text)
