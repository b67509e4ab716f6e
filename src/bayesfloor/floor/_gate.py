"""A check for pipelines: whether a model comes within a given distance of the floor."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from .._text import printable
from ._compare import Comparison, compare
from .result import FloorResult

__all__ = ["EXIT_CODES", "Gate", "gate"]

# Of models that do not pass, by the verdict of `compare`. 1 and 2 are taken: something that should not have happened,
# and bad input.
EXIT_CODES = {"room": 3, "at the floor": 4, "cannot tell": 4, "below the floor": 5}


@dataclass(frozen=True)
class Gate:
    """What a check of a model has found.

    Attributes
    ----------
    comparison : Comparison
        The model beside the floor; its `allowed` is the largest gap that passes.

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
        """Whether the gap to the floor was shown to be within what is allowed."""
        return self.comparison.is_allowed

    @property
    def exit_code(self) -> int:
        """0 passed, 3 room left, 4 cannot tell, 5 below the floor."""
        return 0 if self.passed else EXIT_CODES[self.comparison.verdict]

    @property
    def headline(self) -> str:
        """The verdict of the comparison, and how the gap compares with what is allowed, in a few words."""
        return f"{self.comparison.headline}; {self.comparison.allowance}"

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        return self.comparison.sentence

    def __str__(self) -> str:
        return f"{'passed' if self.passed else 'failed'}   {printable(self.headline)}\n\n{self.comparison}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        allowed = self.comparison.allowed
        return {
            "passed": self.passed,
            "exit_code": self.exit_code,
            "allowed": allowed,
            "comparison": self.comparison.to_dict(),
        }

    def to_junit(self, name: str = "model at the floor", seconds: float = 0.0) -> str:
        """The check as JUnit XML, with one test case, as build servers read it.

        Parameters
        ----------
        name : str
            Of the test case.
        seconds : float
            What it took.
        """
        within = self.comparison.within  # the default depends on the floor, and names of tests must not change
        title = name if within is None else f"{name} (within {within:g})"
        numbers = {"tests": "1", "failures": "0" if self.passed else "1", "errors": "0", "time": f"{seconds:.3f}"}
        suites = ElementTree.Element("testsuites", {"name": "bayesfloor", **numbers})
        suite = ElementTree.SubElement(suites, "testsuite", {"name": "bayesfloor", **numbers})
        case = ElementTree.SubElement(
            suite, "testcase", {"classname": "bayesfloor.gate", "name": _in_xml(title), "time": f"{seconds:.3f}"}
        )
        said = _in_xml(str(self.comparison))
        if self.passed:
            ElementTree.SubElement(case, "system-out").text = said
        else:
            about = {"type": self.comparison.verdict, "message": _in_xml(self.headline)}
            ElementTree.SubElement(case, "failure", about).text = said
        ElementTree.indent(suites)
        return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(suites, encoding="unicode")}\n'


def gate(result: FloorResult, *, within: float | None = None, ignore: Iterable[str] | str = (), **model: Any) -> Gate:
    """Check that a model is at the floor: `compare`, as a yes or no for pipelines.

    The verdict is that of `compare`. The model passes if the upper limit of its gap to the floor is at most `within`,
    and there is no sign that the floor was estimated too high. If it does not pass, the verdict says why: there is
    surely a gap ("room"), nothing is shown either way ("cannot tell", or "at the floor" where `within` asks for more:
    more test rows, a better floor, or a doubt to be muted), or the error is below the floor beyond chance ("below the
    floor": a floor that is too high, or a leak).

    Parameters
    ----------
    result : FloorResult
    within : float, optional
        The largest gap to the floor that is allowed, as a share: 0.02 for two points. Default: two points or a quarter
        of the floor, whichever is more, so that a model that `compare` calls at the floor passes.
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
    return Gate(compare(result, within=within, ignore=ignore, **model))


def _in_xml(text: str) -> str:
    """Text without the characters that XML cannot hold."""
    return "".join(c if c in "\t\n" or (c.isprintable() and not "\ud800" <= c <= "\udfff") else "?" for c in text)
