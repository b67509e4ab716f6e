import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.name)
def test_example_runs(two_learners, script, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    runpy.run_path(str(script), run_name="__main__")
    out, err = capsys.readouterr()
    assert out.startswith("Floor")
    assert err == ""
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
    assert {script.stem for script in EXAMPLES} == names
