"""A few hundred inputs of every kind that `make fuzz` tries 20,000 of."""

from collections import Counter

from bayesfloor import DataError
from fuzz.inputs import AREAS
from fuzz.outcomes import attempt
from fuzz.runner import run, table


def test_inputs_are_answered_or_refused() -> None:
    counts, bad = run(300, seed=1)
    assert not bad, "\n".join(f"{case}: {outcome}, {remark}" for case, outcome, remark in bad)
    assert set(counts) == set(AREAS)
    assert sum(counts.values(), Counter()).total() >= 300
    assert "raw exception" in table(counts)


def _raise(error: Exception) -> None:
    raise error


def test_outcomes_are_told_apart() -> None:
    assert attempt(lambda: 0.5)[0] == "answer"
    assert attempt(lambda: float("nan"))[0] == "wrong and silent"
    assert attempt(lambda: _raise(DataError("x is missing")))[0] == "refused"
    assert attempt(lambda: _raise(KeyError("x")))[0] == "raw exception"
