import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.name)
def test_example_runs(script, tmp_path):
    run = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("Floor")
    assert run.stderr == ""


def test_there_is_an_example_for_each_way_of_use():
    assert {script.stem for script in EXAMPLES} == {"first_floor", "from_file", "own_scores", "compare_model", "plots"}
