import io

from bayesfloor.progress import TerminalProgress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_bar_on_a_terminal_and_silence_elsewhere():
    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        progress = TerminalProgress(stream)
        for done in range(11):
            progress("counting", done, 10)
    assert pipe.getvalue() == ""
    assert terminal.getvalue().startswith("\rcounting")
    assert "10/10" in terminal.getvalue()
    assert terminal.getvalue().endswith("\n")
    assert terminal.getvalue().count("\r") < 11, "redrawn at most ten times a second"
