"""A table for each metric: the oracle is near the truth, records are kept, and nonsense is refused."""

import numpy as np
import pytest

from bayesfloor import ParameterError
from bayesfloor.arena import run_metrics
from bayesfloor.arena.__main__ import main


def coin(X, y, random_state=0):
    return {"AUC": (0.5, 0.4, 0.6), "log-loss": float(np.log(2))}


def test_tables_and_records(tmp_path) -> None:
    file = tmp_path / "metrics.jsonl"
    board = run_metrics(["gaussians_4d", "led"], estimators={"coin": coin}, n=2000, n_seeds=1, path=file)
    assert board.metrics == ["balanced accuracy", "log-loss", "Brier score", "AUC", "F1", "top-2 error"]
    for record in board.records:
        if record.estimator == "oracle":  # rarest class: a tenth of 2,000 rows
            assert abs(record.estimate - record.truth) <= 4 * 0.5 / np.sqrt(200)
    assert "| coin | 2 |" in board.table("AUC")
    lines = file.read_text().splitlines()
    again = run_metrics(["gaussians_4d", "led"], estimators={"coin": None}, n=2000, n_seeds=1, path=file)
    assert again == board
    assert file.read_text().splitlines() == lines
    with pytest.raises(ParameterError, match="no metric 'kappa'"):
        board.table("kappa")


def test_what_is_no_metric_is_refused() -> None:
    with pytest.raises(ParameterError, match="must give a number"):
        run_metrics(["moons"], estimators={"bad": lambda X, y, random_state: {"AUC": np.nan}}, n=100, n_seeds=1)


def test_the_command_prints_tables(capsys, tmp_path, use_learners) -> None:
    use_learners("gaussian", "additive")
    arguments = ["--metrics", "--problems", "moons", "--n-seeds", "1", "--sizes", "200", "--quiet"]
    assert main([*arguments, "--results", str(tmp_path / "m.jsonl")]) == 0
    out = capsys.readouterr().out
    assert "| learned | 1 |" in out
    assert "log-loss" in out
