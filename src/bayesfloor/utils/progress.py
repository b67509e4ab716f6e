"""Progress: a callback `progress(stage, done, total)`, and one that draws a line on a terminal."""

import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

__all__ = ["TerminalProgress", "terminal_progress"]


class TerminalProgress:
    """Draw a line with the stage, a bar and the time left; silent unless the stream is a terminal.

    The line is cleared when a stage ends, so that stages follow each other in one place and nothing is left of them.

    Examples
    --------
    >>> progress = TerminalProgress()
    >>> progress("counting", 3, 10)      # nothing appears here: a doctest is no terminal
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._shows = self._stream.isatty()
        self._stage, self._drawn = "", 0.0
        self._bars: Any = None

    def __call__(self, stage: str, done: int, total: int) -> None:
        if not self._shows:
            return
        now = time.monotonic()
        if self._bars is None or stage != self._stage:
            self.close()
            self._stage, self._bars = stage, _bars(self._stream, stage)
        elif done < total and now - self._drawn < 0.1:
            return
        self._drawn = now
        self._bars.update(self._bars.task_ids[0], completed=done, total=total)
        self._bars.refresh()
        if done >= total:
            self.close()

    def close(self) -> None:
        """Clear the line: what is printed next takes its place."""
        if self._bars is not None:
            self._bars.stop()
            self._bars = None


@contextmanager
def terminal_progress(quiet: bool = False) -> Iterator[TerminalProgress | None]:
    """Progress of a command: the line is cleared before a warning is shown, and at the end, whatever it is."""
    if quiet:
        yield None
        return
    progress, show = TerminalProgress(), warnings.showwarning

    def show_alone(*args: Any, **options: Any) -> None:
        progress.close()
        show(*args, **options)

    with warnings.catch_warnings():
        warnings.showwarning = show_alone
        try:
            yield progress
        finally:
            progress.close()


def _bars(stream: TextIO, stage: str) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    class Steady(Console):
        """A console that never hides the cursor: nothing has to be restored after Ctrl-C."""

        def show_cursor(self, show: bool = True) -> bool:
            return False

    bars = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=Steady(file=stream),
        auto_refresh=False,  # no thread: drawn when there is something to tell
        transient=True,  # cleared when it stops
        redirect_stdout=False,
        redirect_stderr=False,
    )
    bars.add_task(f"{stage:<16}", total=None)
    bars.start()
    return bars
