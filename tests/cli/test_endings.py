"""How the command ends when the outside world does not play along: one line, no traceback, nothing left behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bayesfloor import read_table
from one_process import run_each
from terminal import Terminal, screen

_ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def run(*arguments: str, shell: str = "", **options) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "bayesfloor", *arguments]
    if shell:
        command = ["sh", "-c", f'exec "$@" {shell}', "sh", *command]
    return subprocess.run(command, capture_output=True, text=True, env=_ENVIRONMENT, **options)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    rows = [f"{a:.3f},{b:.3f},{'xy'[i % 2]}" for i, (a, b) in enumerate(rng.normal(size=(60, 2)))]
    tmp_path.joinpath("data.csv").write_text("\n".join(["a,b,label", *rows]) + "\n")
    return tmp_path / "data.csv"


def test_an_address_that_is_none(table: Path) -> None:
    pytest.importorskip("distributed")
    addresses = ["nonsense", "tcp://host:port", "foo://10.0.0.1:8786", "tcp://127.0.0.1:99999999"]
    endings = run_each([["estimate", str(table), "--target", "label", "--scheduler", one] for one in addresses])
    for address, ending in zip(addresses, endings, strict=True):
        assert (ending.status, ending.out) == (2, "")
        (line,) = ending.err.splitlines()
        assert line.startswith(f"bayesfloor: error: '{address}' is no address of a scheduler")


def test_standard_output_is_closed() -> None:
    done = run("problems", shell=">&-")
    assert done.returncode == 2
    assert done.stderr.splitlines() == ["bayesfloor: error: standard output is closed: there is nowhere to print to"]


def test_standard_error_is_closed() -> None:
    done = run("problems", "gaussians_4d", shell="2>&-")
    assert (done.returncode, done.stdout) == (0, "gaussians_4d: d = 4, 2 classes, floor 0.1587 exactly\n")


_WAITS = """
import sys, time
from bayesfloor.cli import main
from bayesfloor.floor import rows

def wait(*_, **__):
    print("encoding", flush=True)
    time.sleep(600)

from bayesfloor.tables import on_disk
on_disk.encode_to_disk = wait
rows.FileRows.is_large = lambda *_: True
sys.exit(main.main())
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_request_to_end_leaves_no_temporary_folder(table: Path, tmp_path: Path, number: int, status: int) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", _WAITS, "estimate", str(table), "--target", "label"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**_ENVIRONMENT, "TMPDIR": str(temporary)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "encoding\n"
    assert [path.name[:11] for path in temporary.iterdir()] == ["bayesfloor-"]
    process.send_signal(number)
    _, said = process.communicate(timeout=300)
    assert process.returncode == status
    assert said.strip() == "bayesfloor: interrupted, nothing was written"
    assert not list(temporary.iterdir())


def on_terminal(*arguments: str, code: str = "") -> Terminal:
    return Terminal([sys.executable, *(["-c", code] if code else ["-m", "bayesfloor"]), *arguments])


def test_a_terminal_shows_the_result_and_no_progress(table: Path) -> None:
    arguments = ["estimate", str(table), "--target", "label", "--effort", "fast", "--jobs", "1"]
    terminal = on_terminal(*arguments)
    assert terminal.end() == 0
    assert b"reading" in terminal.said
    assert b"training" in terminal.said
    assert screen(terminal.said) == run(*arguments).stdout.splitlines()


def test_an_error_stands_alone_on_a_terminal(table: Path) -> None:
    with table.open("a") as file:
        file.writelines("0.1,0.2,x\n" * 100_000)
        file.write("0.1,0.2,x,7\n")
    terminal = on_terminal("estimate", str(table), "--target", "label")
    assert terminal.end() == 2
    assert b"reading" in terminal.said
    (line,) = screen(terminal.said)
    assert line.startswith("bayesfloor: error: data.csv")


# Says how far it is, gives a note in the middle, and waits to be interrupted.
_HALF_DONE = """
import sys, time, warnings
from bayesfloor import BayesfloorWarning
from bayesfloor.cli import main
from bayesfloor.floor import _estimate

def half(*_, progress, **__):
    progress("training", 3, 10)
    warnings.warn("something is odd", BayesfloorWarning)
    progress("training", 4, 10)
    progress("forests", 1, 2)
    time.sleep(600)

_estimate.estimate = half
sys.exit(main.main())
"""


def test_what_is_said_while_progress_is_shown_stays_and_ctrl_c_clears_the_line(table: Path) -> None:
    terminal = on_terminal("estimate", str(table), "--target", "label", code=_HALF_DONE)
    terminal.read_until(b"1/2")
    terminal.press(b"\x03")
    assert terminal.end() == 130
    assert b"training" in terminal.said
    shown = [line for line in screen(terminal.said) if line]
    assert shown == ["bayesfloor: note: something is odd", "bayesfloor: interrupted, nothing was written"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-16", "utf-32"])
def test_wide_encodings_with_and_without_a_mark(tmp_path: Path, encoding: str) -> None:
    text = "größe;label\n" + "".join(f"{0.37 * i:.2f};{'ja' if i % 2 else 'nein'}\n" for i in range(40))
    tmp_path.joinpath("t.csv").write_bytes(text.encode(encoding))
    table = read_table(tmp_path / "t.csv", target="label")
    assert table.features == ("größe",)
    assert table.X[:3, 0].tolist() == [0.0, 0.37, 0.74]
    assert sorted(set(table.y.tolist())) == ["ja", "nein"]
