"""Files of tables in every format that is read, each as columns by name: whole, or some rows at a time."""

import io
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import DataError, ParameterError
from ..utils.checks import brief, check_flag
from ..utils.parallel import available_memory
from .arff import parse_arff
from .arrays import NpyFile, arrays_of, npy_rows, open_npz
from .arrow import arrow_bytes, arrow_rows, open_feather, open_parquet
from .table_file import InMemory, TableFile, report_damage
from .text import DelimitedFile, JsonLines, open_bytes, text_encoding

__all__ = [
    "SUFFIXES",
    "InMemory",
    "TableFile",
    "check_fits",
    "free_memory",
    "n_rows_of",
    "open_arrays",
    "open_table",
    "path_of",
    "table_bytes",
]

_GIB = 2**30


def _arff(path: Path) -> TableFile:
    with io.TextIOWrapper(open_bytes(path), encoding=text_encoding(path)) as lines:
        return InMemory(parse_arff(lines, path.name))


_READERS: dict[str, Callable[[Path], TableFile]] = {
    ".csv": DelimitedFile,
    ".tsv": DelimitedFile,
    ".txt": DelimitedFile,
    ".data": DelimitedFile,
    ".parquet": open_parquet,
    ".pq": open_parquet,
    ".feather": open_feather,
    ".arrow": open_feather,
    ".ipc": open_feather,
    ".arff": _arff,
    ".npz": open_npz,
    ".npy": NpyFile,
    ".jsonl": JsonLines,
    ".ndjson": JsonLines,
}
_PACKED = (".csv", ".tsv", ".txt", ".data", ".arff", ".jsonl", ".ndjson")  # also with .gz
SUFFIXES = tuple(_READERS)
_ARROW = (".parquet", ".pq", ".feather", ".arrow", ".ipc")

_CALLED = dict.fromkeys(_ARROW, "Feather or Arrow file") | {
    ".parquet": "Parquet file",
    ".pq": "Parquet file",
    ".npz": "file of numpy arrays",
    ".npy": "file of numpy arrays",
}

# Bytes needed per byte of the file, as a rule: the table, its numbers, and a copy while they are made.
_WHOLE = (".arff", ".npz")  # cannot be read in parts
_GROWTH = {".csv": 4, ".tsv": 4, ".txt": 4, ".data": 4, ".arff": 8, ".jsonl": 4, ".ndjson": 4, ".npy": 4, ".npz": 4}


def open_table(path: str | Path, *, header: bool | None = None) -> TableFile:
    """Find out what a file is and which columns it has; `header` says whether the first line of a text has their names.

    Examples
    --------
    >>> open_table("table.xlsx")
    Traceback (most recent call last):
    ...
    bayesfloor.errors.DataError: there is no file table.xlsx
    """
    path = path_of(path)
    if path.is_dir():
        raise DataError(f"{path} is a directory: name a file in it")
    if not path.exists():
        raise DataError(f"there is no file {path}")
    if not path.is_file():
        raise DataError(f"{path} is no ordinary file: save it to a file first")
    suffix = _suffix(path)
    if path.stat().st_size == 0:
        raise DataError(f"{path.name} is empty")
    if header is not None:
        check_flag("header", header)
    if header is not None and _READERS[suffix] is not DelimitedFile:
        raise ParameterError(f"{path.name} says itself how its columns are called: header is for CSV and TSV files")
    with _damage(path):
        file = _READERS[suffix](path) if header is None else DelimitedFile(path, header=header)
        return _Guarded(file, path.name)


def path_of(path: Any) -> Path:
    """The name of a file, whether or not there is one."""
    if not isinstance(path, str | os.PathLike) or isinstance(os.fspath(path), bytes):
        raise ParameterError(f"the name of a file is needed, got {brief(path)}")
    try:
        Path(path).exists()
    except OSError as error:  # a name that is too long
        raise DataError(f"there is no file {brief(str(path))}: {error.strerror}") from None
    return Path(path)


def open_arrays(path: str | Path) -> dict[str, Any]:
    """All arrays of an NPZ file, by name."""
    path = Path(path)
    with _damage(path):
        return arrays_of(path)


def _damage(path: Path) -> AbstractContextManager[None]:
    """Errors of a file that may not be what its name says."""
    called = _CALLED.get(_suffix(path))
    return report_damage(path.name, f"is no {called}, or it is cut short" if called else "is damaged or cut short")


class _Guarded(TableFile):
    """A file whose reader may fail at any row: what it then raises names the file."""

    def __init__(self, file: TableFile, name: str) -> None:
        self._file, self._name = file, name
        self.names, self.side_columns, self.notes = file.names, file.side_columns, file.notes
        self.categories = file.categories

    def frame(self, columns: Sequence[str], labels: Sequence[str] = ()) -> pd.DataFrame:
        with report_damage(self._name):
            return self._told().frame(columns, labels)

    def chunks(
        self, columns: Sequence[str], labels: Sequence[str] = (), like: Mapping[str, Any] | None = None
    ) -> Iterator[pd.DataFrame]:
        with report_damage(self._name):
            yield from self._told().chunks(columns, labels, like)

    def settle(self, frame: pd.DataFrame, labels: Sequence[str] = ()) -> pd.DataFrame:
        with report_damage(self._name):
            return self._told().settle(frame, labels)

    def _told(self) -> TableFile:
        self._file.progress, self._file.as_text = self.progress, self.as_text
        return self._file


def n_rows_of(path: str | Path) -> int | None:
    """Rows of a file, where it says so itself; None where it would have to be read through.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    int or None
        A number for Parquet, Feather, Arrow files (no streams) and NPY, those that have no label included.

    Examples
    --------
    >>> from importlib.resources import files
    >>> n_rows_of(files("bayesfloor") / "data" / "penguins.csv") is None
    True
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"there is no file {path}")
    suffix = _suffix(path)
    with _damage(path):
        if suffix == ".npy":
            return npy_rows(path)
        if suffix in _ARROW:
            return arrow_rows(path)
    return None


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    packed = suffix == ".gz"
    if packed:
        suffix = path.with_suffix("").suffix.lower()
    if suffix not in _READERS or (packed and suffix not in _PACKED):
        raise DataError(
            f"{path.name} has no ending that is known: {', '.join(SUFFIXES)} are (text also with .gz after it)"
        )
    return suffix


def table_bytes(path: str | Path) -> int:
    """Memory that a file takes when it is read whole, about; 0 if there is none."""
    path = path_of(path)
    if not path.is_file():
        return 0
    suffix = _suffix(path)
    if suffix in _ARROW:
        return arrow_bytes(path, suffix)
    if suffix == ".npz" and zipfile.is_zipfile(path):
        with _damage(path), zipfile.ZipFile(path) as archive:
            return sum(info.file_size for info in archive.infolist()) * _GROWTH[suffix]
    return path.stat().st_size * _GROWTH[suffix] * (5 if path.suffix.lower() == ".gz" else 1)


def check_fits(path: str | Path, *, max_rows: int | None) -> None:
    """Refuse, before it is read, a file that will not fit into memory."""
    path = path_of(path)
    if not path.is_file() or (max_rows is not None and _suffix(path) not in _WHOLE):
        return
    needed, free = table_bytes(path), free_memory()
    if needed > free:
        advice = "read a sample of its rows (max_rows=100_000, --max-rows 100000)"
        if _suffix(path) in _WHOLE:
            advice = "save it as Parquet or CSV, of which a sample of the rows can be read"
        raise DataError(
            f"{path.name} needs about {needed / _GIB:.1f} GiB of memory and {free / _GIB:.1f} GiB are free: {advice}"
        )


def free_memory() -> int:
    """Bytes that this process can still get, within what its container allows."""
    free = available_memory()
    try:
        limit, used = (Path("/sys/fs/cgroup", name).read_text().strip() for name in ("memory.max", "memory.current"))
        free = min(free, max(0, int(limit) - int(used)))  # "max" is no number: there is no limit
    except (OSError, ValueError):
        pass
    return free
