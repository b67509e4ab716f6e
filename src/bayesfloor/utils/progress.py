"""Progress: a callback `progress(stage, done, total)`, and one that draws a bar on a terminal."""

import sys
import time
from typing import Any, TextIO

__all__ = ["TerminalProgress"]


class TerminalProgress:
    """Draw a bar with the stage and the time left; silent unless the stream is a terminal.

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
        """Leave the bar as it is and go to the next line."""
        if self._bars is not None:
            self._bars.stop()
            self._bars = None


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
        redirect_stdout=False,
        redirect_stderr=False,
    )
    bars.add_task(f"{stage:<16}", total=None)
    bars.start()
    return bars
