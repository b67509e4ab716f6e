"""Every public parameter with values that are none of its own: an answer, or one of the package's own errors."""

import pytest

from fuzz.keywords import BAD_VALUES, functions, try_bad_values
from fuzz.outcomes import BAD, in_a_child

# Estimators of the literature share their parameters and the code that checks them: some of them stand for all.
_ALIKE = {"classical.best_knn_midpoint", "classical.cover_hart_midpoint", "classical.henze_penrose_midpoint"}


def test_functions_are_found_by_themselves() -> None:
    assert {"estimate", "soft_label_error", "BenchmarkLearner", "Run", "bounds.henze_penrose"} <= set(functions())
    assert not {"FloorResult", "DataError"} & set(functions())
    assert len(BAD_VALUES) > 40


@pytest.mark.parametrize("name", [name for name in functions() if name not in _ALIKE])
def test_bad_values_are_refused(name: str, tmp_path) -> None:
    found = in_a_child(try_bad_values, name, str(tmp_path))
    assert len(found) > len(BAD_VALUES), "at least one parameter was tried"
    bad = [f"{case}: {outcome}, {remark}" for case, outcome, remark in found if outcome in BAD]
    assert not bad, "\n".join(bad)


def test_many_nodes_are_refused_before_memory_is_asked_for() -> None:
    from bayesfloor import BenchmarkLearner, ParameterError

    with pytest.raises(ParameterError, match="n_nodes must be a whole number from 1 to 4096, got 2147483648"):
        BenchmarkLearner(n_nodes=2**31).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
