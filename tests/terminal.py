"""A command on a terminal of its own, and what the screen holds afterwards."""

import os
import re
import signal
import struct
import subprocess
from collections.abc import Sequence

__all__ = ["Terminal", "screen"]

_STEPS = re.compile(rb"\x1b\[\??([\d;]*)([A-Za-z])|([\r\n\b\x07])|([^\x1b\r\n\b\x07]+)")


class Terminal:
    """A running command whose standard streams are a terminal, wide enough that no line wraps.

    Parameters
    ----------
    command : sequence of str
    """

    def __init__(self, command: Sequence[str]) -> None:
        import fcntl  # not on Windows
        import pty
        import termios

        def take_terminal() -> None:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # ignored where the tests run in the background

        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 100, 400, 0, 0))
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=take_terminal,
            env={**os.environ, "OMP_NUM_THREADS": "1", "TERM": "xterm"},
        )
        os.close(slave)
        self.said = b""

    def read_until(self, text: bytes) -> None:
        """Read until the command has written this."""
        while text not in self.said:
            self.said += os.read(self._master, 4096)

    def press(self, key: bytes) -> None:
        """Press a key."""
        os.write(self._master, key)

    def end(self) -> int:
        """Read to the end; the exit status."""
        try:
            while part := os.read(self._master, 4096):
                self.said += part
        except OSError:  # Linux, where nobody writes any more
            pass
        os.close(self._master)
        return self.process.wait()


def screen(said: bytes) -> list[str]:
    """Lines that a terminal shows after this, without blank ones at its end.

    Examples
    --------
    >>> screen(b"reading 1/2\\r\\x1b[2Kdone\\r\\n")
    ['done']
    """
    lines, row, column = [""], 0, 0
    for found in _STEPS.finditer(said):
        numbers, command, control, text = found.groups()
        if text is not None:
            shown = text.decode("utf-8", "replace")
            before = lines[row].ljust(column)
            lines[row] = before[:column] + shown + before[column + len(shown) :]
            column += len(shown)
        elif control == b"\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif control == b"\r":
            column = 0
        elif control == b"\b":
            column = max(0, column - 1)
        elif command == b"A":
            row = max(0, row - int(numbers or 1))
        elif command == b"K":
            kept = {b"": (0, column), b"0": (0, column), b"2": (0, 0)}[numbers]
            lines[row] = lines[row][slice(*kept)]
        elif command not in (None, b"m", b"h", b"l"):
            raise ValueError(f"unknown to this terminal: {found[0]!r}")
    while lines and not lines[-1].strip():
        lines.pop()
    return [line.rstrip() for line in lines]
