import json
import os
from pathlib import Path

import numpy as np
import pytest

import rivals
from bayesfloor import problems

# Folder with cifar10h.npz and fashion_mnist_h.npz; users do not have it, and nothing else needs it.
FOLDER = os.environ.get("BAYESFLOOR_OPINIONS")


@pytest.mark.skipif(FOLDER is None, reason="set BAYESFLOOR_OPINIONS to a folder with cifar10h.npz, fashion_mnist_h.npz")
def test_published_figures_come_out_again() -> None:
    found = rivals.opinions(Path(str(FOLDER)))
    assert found.keys() == rivals.QUESTIONS.keys()
    for question, row in found.items():
        assert round(row["plain"], 3) == row["published"], question
        assert row["low"] < row["published"] < row["high"]
        assert row["corrected"] >= row["plain"]


def test_opinions_are_read_from_the_files_that_are_given(tmp_path: Path) -> None:
    counts = np.zeros((4, 10), dtype=int)
    counts[:, 0], counts[:, 2] = [10, 8, 5, 0], [0, 2, 5, 10]  # one airplane or T-shirt, one bird or pullover
    for file in ("cifar10h", "fashion_mnist_h"):
        np.savez(tmp_path / f"{file}.npz", counts=counts)
    found = rivals.opinions(tmp_path)
    assert found["animals"]["plain"] == pytest.approx(100 * (0 + 0.2 + 0.5 + 0) / 4)
    assert found["first five"]["plain"] == 0
    assert found["tops"]["plain"] == 0
    assert "| animals | cifar10h | 0.502 % | 17.500 % |" in "\n".join(rivals.opinions_page(found))


def test_committed_figures_are_the_published_ones() -> None:
    kept = json.loads(rivals.OPINIONS.read_text(encoding="utf-8"))
    assert {name: (row["published"], round(row["plain"], 3)) for name, row in kept.items()} == {
        name: (published, published) for name, (_, _, published) in rivals.QUESTIONS.items()
    }


@pytest.mark.parametrize("scenario", rivals.SCENARIOS)
@pytest.mark.parametrize("floor", [0.02, 0.2, 0.48])
def test_scenarios_have_the_floor_that_was_asked_for(scenario: str, floor: float) -> None:
    problem = rivals.problem_with_floor(scenario, floor)
    assert problem.bayes_error == pytest.approx(floor, abs=1e-9)
    assert problem.n_features == rivals.SCENARIOS[scenario][1]


def test_rows_needed_are_those_from_which_on_the_band_stays_below() -> None:
    assert rivals.rows_needed({100: 0.1, 250: 0.06, 500: 0.04, 1000: 0.03}) == 500
    assert rivals.rows_needed({100: 0.1, 250: 0.04, 500: 0.06, 1000: 0.03}) == 1000  # a lucky size does not count
    assert rivals.rows_needed({100: 0.1, 250: 0.06}) is None
    assert rivals.band([-0.01, 0.01] * 500) == pytest.approx(2 * 1.96 * 0.01, rel=1e-3)
    assert rivals.band([0.3, 0.3]) == 0  # a bias that is always the same is no width


def test_scores_of_known_curves() -> None:
    floor = problems.get("gaussians_4d").bayes_error
    line = [floor + rho * (0.5 - floor) for rho in rivals.RHOS]
    curves = {
        "exact": [[value] * 3 for value in line],
        "silent": [[0.0] * 3 for _ in line],
        "high": [[0.5] * 3 for _ in line],
    }
    scores = rivals.scored({"problem": "gaussians_4d", "floor": floor, "found": curves})
    assert scores["exact"] == pytest.approx([0, 0, 0, 0], abs=1e-12)
    assert scores["silent"] == pytest.approx([0.25, 0.25, 0.25, np.mean(line)])
    above = float(np.mean(0.5 - np.array(line)))
    assert scores["high"] == pytest.approx([above] * 4)
