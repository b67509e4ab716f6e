import io
from types import SimpleNamespace

import pytest

from bayesfloor.utils.progress import TerminalProgress
from terminal import screen


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")


def test_bar_on_a_terminal_and_silence_elsewhere(monkeypatch):
    terminal, pipe = Terminal(), io.StringIO()
    clock = iter(range(100, 200))
    steps = SimpleNamespace(monotonic=lambda: next(clock) * 0.03)  # seconds from one call to the next
    monkeypatch.setattr("bayesfloor.utils.progress.time", steps)
    for stream in (terminal, pipe):
        progress = TerminalProgress(stream)
        for done in range(1, 11):
            progress("counting", done, 10)
    assert pipe.getvalue() == ""
    assert "counting" in terminal.getvalue()
    assert "10/10" in terminal.getvalue()
    assert screen(terminal.getvalue().encode()) == []
    # Drawn at once, at the end, and in between at most ten times a second.
    assert [done for done in range(1, 11) if f"{done}/10" in terminal.getvalue()] == [1, 5, 9, 10]
    assert "?25l" not in terminal.getvalue(), "the cursor is never hidden, so nothing has to bring it back"


def test_stages_follow_each_other():
    terminal = Terminal()
    progress = TerminalProgress(terminal)
    progress("reading [red]x[/red]", 1, 2)
    progress("training", 3, 3)
    assert "reading [red]x[/red]" in terminal.getvalue(), "names of stages are text, not markup"
    assert "1/2" in terminal.getvalue()
    assert "3/3" in terminal.getvalue()
