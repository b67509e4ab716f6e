"""Files that are whole or not there: written under a temporary name, then renamed."""

import os
import tempfile
from pathlib import Path

from .errors import ParameterError

__all__ = ["check_writable", "write_file"]


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
    if path.exists() and not force:
        raise ParameterError(f"{path} exists already: choose another name, or allow overwriting (force)")
    if not path.parent.is_dir():
        raise ParameterError(f"cannot write {path}: the directory {path.parent} does not exist")
    if not os.access(path.parent, os.W_OK):
        raise ParameterError(f"cannot write {path}: no permission to write in {path.parent}")
    return path


def write_file(path: str | Path, content: str | bytes, *, force: bool = False) -> Path:
    """Write text or bytes so that no half-written file is ever seen under the name."""
    path = check_writable(path, force=force)
    data = content.encode("utf-8") if isinstance(content, str) else content
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp makes it private
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path
