import io

import pytest

from bayesfloor.progress import TerminalProgress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")


def test_bar_on_a_terminal_and_silence_elsewhere():
    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        progress = TerminalProgress(stream)
        for done in range(1, 11):
            progress("counting", done, 10)
    assert pipe.getvalue() == ""
    assert "counting" in terminal.getvalue()
    assert "10/10" in terminal.getvalue()
    assert terminal.getvalue().endswith("\n")
    assert terminal.getvalue().count("counting") < 10, "redrawn at most ten times a second"
    assert "?25l" not in terminal.getvalue(), "the cursor is never hidden, so nothing has to bring it back"


def test_stages_follow_each_other():
    terminal = Terminal()
    progress = TerminalProgress(terminal)
    progress("reading [red]x[/red]", 1, 2)
    progress("training", 3, 3)
    assert "reading [red]x[/red]" in terminal.getvalue(), "names of stages are text, not markup"
    assert "1/2" in terminal.getvalue()
    assert "3/3" in terminal.getvalue()
