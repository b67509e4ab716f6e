"""Progress: a callback `progress(stage, done, total)`, and one that draws a bar on a terminal."""

import sys
import time
from typing import TextIO

__all__ = ["TerminalProgress"]


class TerminalProgress:
    """Draw one line with a bar and the time left; silent unless the stream is a terminal.

    Examples
    --------
    >>> progress = TerminalProgress()
    >>> progress("counting", 3, 10)      # nothing appears here: a doctest is no terminal
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._shows = self._stream.isatty()
        self._stage, self._started, self._drawn = "", 0.0, 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        if not self._shows:
            return
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._started, self._drawn = stage, now, 0.0
        if done < total and now - self._drawn < 0.1:
            return
        self._drawn = now
        filled = int(30 * done / max(total, 1))
        left = (now - self._started) * (total - done) / done if done else float("nan")
        remaining = f"{left:5.0f} s left" if done < total else f"{now - self._started:5.1f} s     "
        self._stream.write(f"\r{stage:<28.28} {'#' * filled:<30} {done:>7}/{total} {remaining}")
        if done >= total:
            self._stream.write("\n")
        self._stream.flush()
