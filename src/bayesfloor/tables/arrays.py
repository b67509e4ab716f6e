"""Arrays saved by numpy: NPY and NPZ, never with pickled objects."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import DataError
from ..utils.checks import listed
from .table_file import InMemory, TableFile, chunk_rows

__all__ = ["NpyFile", "arrays_of", "npy_rows", "open_npz"]


class NpyFile(TableFile):
    """A single table of numbers, which stays on disk: rows are read when they are asked for."""

    def __init__(self, path: Path) -> None:
        self._array, self._name = _map(path), path.name
        if self._array.ndim == 0 or (self._array.ndim < 2 and not self._array.dtype.names):
            raise _no_table(self._array, self._name)
        self.names = tuple(str(name) for name in _matrix_frame(self._array[:0], self._name).columns)

    def frame(self, columns: Sequence[str], labels: Sequence[str] = ()) -> pd.DataFrame:
        return self._rows(slice(None), columns)

    def _rows(self, rows: slice, columns: Sequence[str]) -> pd.DataFrame:
        some = self._array[rows]
        place = {name: at for at, name in enumerate(self.names)}
        at = [place[column] for column in columns]
        if some.dtype.names:
            return pd.DataFrame.from_records(np.array(some[[some.dtype.names[i] for i in at]]))
        # Only the cells asked for are copied from disk.
        return pd.DataFrame(some.reshape(len(some), len(self.names))[:, at], columns=pd.Index(columns, dtype=object))

    def chunks(
        self, columns: Sequence[str], labels: Sequence[str] = (), like: Mapping[str, Any] | None = None
    ) -> Iterator[pd.DataFrame]:
        step = chunk_rows(len(columns))
        for start in range(0, len(self._array), step):
            yield self._rows(slice(start, start + step), columns)


def npy_rows(path: Path) -> int:
    """Rows of a table of numbers, from what the file says about itself."""
    array = _map(path)
    return len(array) if array.ndim else 0


def _map(path: Path) -> Any:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (EOFError, OSError, ValueError):
        array = _load(path)  # an empty array cannot be mapped; what is wrong with any other is said here
    if not isinstance(array, np.ndarray):
        raise DataError(f"{path.name} holds several arrays: name it .npz")
    return array


def arrays_of(path: Path) -> dict[str, Any]:
    """All arrays of an NPZ file, by name."""
    loaded = _load(path)
    if isinstance(loaded, np.ndarray):
        raise DataError(f"{path.name} holds a single array: name it .npy")
    try:
        with loaded as archive:
            arrays = {name: archive[name] for name in archive.files}
    except ValueError as error:
        raise _no_array(path, error) from None
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):  # the bytes of a member that is something else
            raise DataError(f"{path.name} is damaged, or no file of numpy arrays: {name!r} in it is no array")
    return arrays


def open_npz(path: Path) -> TableFile:
    """Arrays `X` and `y`, or one table; `y` and other arrays of one value per row become columns."""
    arrays = arrays_of(path)
    tables = [name for name, array in arrays.items() if array.ndim >= 2]
    main = "X" if "X" in arrays else tables[0] if len(tables) == 1 else None
    if main is None:
        raise DataError(
            f"{path.name} holds the arrays {listed(list(arrays)) or '(none)'}: it needs X, one row per sample, and y, "
            "its labels; or one table alone"
        )
    frame = _matrix_frame(arrays[main], path.name, _feature_names(arrays))
    labels = {
        name: array
        for name, array in arrays.items()
        if name != main and array.shape in ((len(frame),), (len(frame), 1))
    }
    if "y" in arrays and "y" not in labels:
        raise DataError(
            f"{path.name}: X has {len(frame)} rows but y has shape {arrays['y'].shape}: one label per row is needed"
        )
    # Only labels and groups are meant to be named; other arrays of that length (row numbers, splits) are no features.
    extra = pd.DataFrame({name: array.reshape(-1) for name, array in labels.items()})
    return InMemory(pd.concat([frame, extra], axis=1), side_columns=tuple(labels))


def _feature_names(arrays: dict[str, Any]) -> Any:
    return next((arrays[name] for name in ("feature_names", "names", "columns") if name in arrays), None)


def _matrix_frame(array: Any, name: str, given: Any = None) -> pd.DataFrame:
    if array.dtype.names:
        return pd.DataFrame.from_records(array)
    if array.ndim < 2:
        raise _no_table(array, name)
    table = array.reshape(len(array), int(np.prod(array.shape[1:])))
    names = [f"column {j}" for j in range(table.shape[1])]
    if given is not None and given.shape == (table.shape[1],) and given.dtype.kind in "US":
        names = [str(value) for value in given.astype(str)]
    return pd.DataFrame(table, columns=pd.Index(names, dtype=object))


def _no_table(array: Any, name: str) -> DataError:
    return DataError(f"{name} holds an array of shape {array.shape}: a table with one row per sample is needed")


def _load(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except ValueError as error:
        raise _no_array(path, error) from None


def _no_array(path: Path, error: ValueError) -> Exception:
    """What is wrong, where numpy's own words would not help."""
    if "Object arrays" in str(error):
        return DataError(
            f"{path.name} holds Python objects, which could run code when loaded: save arrays of numbers or of text "
            "(for example y.astype(str))"
        )
    if "pickled" in str(error):
        return DataError(f"{path.name} is no file of numpy arrays")
    return error
