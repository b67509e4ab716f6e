import runpy
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.name)
def test_example_runs(two_learners, script, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    plt.switch_backend("agg")
    runpy.run_path(str(script), run_name="__main__")
    n_pictures = len(plt.get_fignums())
    plt.close("all")
    out, err = capsys.readouterr()
    assert out.startswith("Floor")
    assert err == ""
    assert n_pictures >= 1, "a page of the gallery has a picture"
    if script.stem == "stop_training":
        assert "\nat the floor: observed at most 2 points above it for 3 rounds" in out


def test_an_example_needs_nothing_but_python(tmp_path):
    script = next(script for script in EXAMPLES if script.stem == "own_scores")
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("Floor")
    assert run.stderr == ""


def test_there_is_an_example_for_each_way_of_use():
    names = {"first_floor", "from_file", "own_scores", "compare_model", "plots", "stop_training"}
    topics = {"abstention", "columns", "digits", "breast_cancer"}
    topics |= {"wine", "learning_curves", "suspects", "own_estimator", "paper_figures"}
    assert names | topics <= {script.stem for script in EXAMPLES}
    assert len(EXAMPLES) >= 12
