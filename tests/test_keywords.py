"""Every public parameter with values that are none of its own: an answer, or one of the package's own errors."""

import inspect
from pathlib import Path

import numpy as np
import pytest

from bayesfloor import ParameterError
from fuzz.keywords import BAD_VALUES, functions, ordinary_call, try_bad_values
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


# Estimators of the literature that draw nothing have a random_state only to be called like the others.
_NOTHING_DRAWN = {
    f"classical.{name}"
    for name in (
        "bhattacharyya_midpoint",
        "cover_hart_midpoint",
        "henze_penrose_midpoint",
        "kde_plugin",
        "knn_bounds_midpoint",
        "knn_plugin",
        "mahalanobis_upper",
        "nearest_neighbour_ratio",
    )
}
_SEEDED = {name for name, function in functions().items() if "random_state" in inspect.signature(function).parameters}


@pytest.mark.parametrize("name", sorted(_SEEDED - _NOTHING_DRAWN))
def test_seeds_are_those_of_scikit_learn(two_learners, name: str, tmp_path: Path) -> None:
    for random_state in (None, np.random.RandomState(1), np.uint32(7), 2**32 - 1):
        ordinary_call(name, tmp_path, random_state=random_state)
    for random_state in (2**32, -1, 0.5, "x", True, np.random.default_rng(0)):
        with pytest.raises(ParameterError, match="random_state must be None, a whole number from 0 to 4294967295 or"):
            ordinary_call(name, tmp_path, random_state=random_state)


def test_many_nodes_are_refused_before_memory_is_asked_for() -> None:
    from bayesfloor import BenchmarkLearner

    with pytest.raises(ParameterError, match="n_nodes must be a whole number from 1 to 4096, got 2147483648"):
        BenchmarkLearner(n_nodes=2**31).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
