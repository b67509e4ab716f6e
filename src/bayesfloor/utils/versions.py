"""What runs here: for a report of something that went wrong."""

import platform
import re
import sys
from importlib.metadata import PackageNotFoundError, requires, version

from .parallel import available_memory, n_threads

__all__ = ["show_versions"]


def show_versions() -> None:
    """Print the versions of bayesfloor, Python and all that it needs or can use, and what the machine has.

    Paste it into a report of something that went wrong. It names no user, folder or machine.

    Examples
    --------
    >>> import bayesfloor as bf
    >>> bf.show_versions()  # doctest: +ELLIPSIS
    bayesfloor     ...
    Python         3...
    system         ...
    cores          ...
    free memory    ... GiB
    <BLANKLINE>
    ...numpy          ...
    """
    about = {
        "bayesfloor": version("bayesfloor"),
        "Python": f"{platform.python_version()} ({platform.python_implementation()})",
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}, {sys.byteorder}-endian",
        "cores": str(n_threads(-1)),
        "free memory": f"{available_memory() / 2**30:.1f} GiB",
    }
    # Those of extras as well: "pyarrow>=15; extra == 'parquet'".
    names = [re.match(r"[\w.-]+", line) for line in requires("bayesfloor") or ()]
    packages = {found.group(): _version(found.group()) for found in names if found}
    width = max(len(name) for name in (*about, *packages)) + 1
    for part in (about, packages):
        print(*(f"{name:{width}s} {text}" for name, text in part.items()), sep="\n")
        if part is about:
            print()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
