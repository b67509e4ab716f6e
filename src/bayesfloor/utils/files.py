"""Files that are whole or not there: written under a temporary name, then renamed."""

import errno
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from ..errors import ParameterError
from .checks import brief, check_flag

__all__ = ["JsonRecord", "check_writable", "is_leftover", "save_text", "write_file"]

_TEMPORARY = ".bayesfloor-"


def check_writable(path: str | Path, *, force: bool = False) -> Path:
    """Refuse, before any work is done, a path that exists (unless `force`) or cannot be written.

    Examples
    --------
    >>> check_writable("nowhere/report.md")
    Traceback (most recent call last):
    ...
    bayesfloor.errors.ParameterError: cannot write nowhere/report.md: the directory nowhere does not exist
    """
    path = Path(path)
    if path.is_dir():
        raise ParameterError(f"cannot write {path}: it is a directory")
    if path.exists() and not path.is_file():
        raise ParameterError(f"cannot write {path}: it is no ordinary file")
    if path.exists() and not force:
        raise ParameterError(
            f"{path} exists already: choose another name, or allow overwriting (force=True; --force in the command)"
        )
    folder = _followed(path).parent if path.is_symlink() else path.parent
    if not folder.is_dir():
        raise ParameterError(f"cannot write {path}: the directory {folder} does not exist")
    if not os.access(folder, os.W_OK):
        raise ParameterError(f"cannot write {path}: no permission to write in {folder}")
    return path


def _followed(path: Path) -> Path:
    """The file that a link stands for: the link itself is not replaced."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        raise ParameterError(f"cannot write {path}: it is a link to itself") from None


def is_leftover(path: Path) -> bool:
    """Whether a file is what a process that was killed while writing has left."""
    return path.name.startswith(_TEMPORARY)


def save_text(path: str | Path, texts: Mapping[str, Callable[[], str]], *, force: bool) -> Path:
    """Write the text that belongs to the suffix of the path; it is made only if the file can be written.

    Examples
    --------
    >>> save_text("floor.pkl", {".json": str}, force=False)
    Traceback (most recent call last):
    ...
    bayesfloor.errors.ParameterError: cannot write floor.pkl: its name must end with .json
    """
    if not isinstance(path, str | os.PathLike) or isinstance(os.fspath(path), bytes):
        raise ParameterError(f"path must be the name of a file, got {brief(path)}")
    make = texts.get(Path(path).suffix.lower())
    if make is None:
        raise ParameterError(f"cannot write {path}: its name must end with {' or '.join(texts)}")
    force = check_flag("force", force)
    check_writable(path, force=force)
    return write_file(path, make(), force=force)


class JsonRecord:
    """A record that `save` writes as JSON."""

    def to_json(self) -> str:
        """JSON text; `save` writes it to a file."""
        raise NotImplementedError

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the JSON to a file, whole or not at all.

        Parameters
        ----------
        path : str or Path
            Ends with ``.json``.
        force : bool
            Overwrite the file if it exists.

        Returns
        -------
        Path
        """
        return save_text(path, {".json": lambda: self.to_json() + "\n"}, force=force)


def write_file(path: str | Path, content: str | bytes, *, force: bool = False) -> Path:
    """Write text or bytes so that no half-written file is ever seen under the name."""
    path = check_writable(path, force=force)
    data = content.encode("utf-8") if isinstance(content, str) else content
    target = _followed(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f"{_TEMPORARY}{target.name[:100]}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp makes it private
        os.replace(temporary, target)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise ParameterError(f"cannot write {path}: the disk is full ({len(data):,} bytes are needed)") from None
        raise
    return path
