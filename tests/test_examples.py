import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))

# What the package needs is all an example may use: pandas is not among it.
WITHOUT_PANDAS = """
import runpy, sys

class NoPandas:
    def find_spec(self, name, *_):
        if name.split(".")[0] == "pandas":
            raise ImportError(name)

sys.meta_path.insert(0, NoPandas())
runpy.run_path(sys.argv[1], run_name="__main__")
"""


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.name)
def test_example_runs_without_pandas(script):
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_PANDAS, str(script)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("Floor")
