"""Several commands in one process that is not ours: starting one costs far more than what most of them do."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Ending", "run_each"]

_MARK = "\x1e"  # after each command, on both streams
_EACH = """
import json, sys
from bayesfloor.cli.main import main
for command in json.loads(sys.argv[1]):
    status = main(command)
    print(f"\\x1e{status}\\x1e", end="", flush=True)
    print("\\x1e", end="", file=sys.stderr, flush=True)
"""


class Ending(NamedTuple):
    """Of a command: its status, and what it has printed."""

    status: int
    out: str
    err: str


def run_each(commands: Sequence[Sequence[str]]) -> list[Ending]:
    """Endings of commands that follow each other; none may end the process, and nothing is said afterwards."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _EACH, json.dumps(commands)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment,
        timeout=600,
    )
    printed, said = done.stdout.split(_MARK), done.stderr.split(_MARK)
    n_done = len(printed) // 2
    assert n_done == len(commands), f"{commands[n_done]} ended the process ({done.returncode}): {done.stderr}"
    assert (done.returncode, printed[-1], said[-1]) == (0, "", "")
    return [
        Ending(int(status), out, err) for out, status, err in zip(printed[:-1:2], printed[1::2], said[:-1], strict=True)
    ]
