"""Files of sparse rows: matrices that scipy.sparse has saved (NPZ), and svmlight files."""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csc_array, csr_array

from .._types import Codes, Values
from ..errors import DataError
from ..rows.labels import text_array
from ..utils.checks import listed
from .arrays import arrays_of
from .open import check_fits, free_memory, path_of
from .table_file import report_damage
from .text import open_bytes

__all__ = ["SVMLIGHT", "SparseFile", "has_sparse_rows", "read_labels", "read_sparse_file"]

SVMLIGHT = (".svm", ".svmlight", ".libsvm")
_PARTS = {"csr": csr_array, "csc": csc_array}
_GROWTH = 4  # bytes needed per byte of a file of text


class SparseFile(NamedTuple):
    """The matrix that a file holds, and by name what has a value for each row: `y`, the labels, and others."""

    matrix: Any
    side: dict[str, Values]


def has_sparse_rows(path: Path) -> bool:
    """Whether a file is one of sparse rows: by its name, or by the arrays it has."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        return suffixes[-2:-1] != [] and suffixes[-2] in SVMLIGHT
    if suffixes[-1:] and suffixes[-1] in SVMLIGHT:
        return True
    if suffixes[-1:] != [".npz"] or not path.is_file() or not zipfile.is_zipfile(path):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return {"format.npy", "shape.npy", "data.npy"} <= set(archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return False


def read_sparse_file(path: str | Path) -> SparseFile:
    """Read a file of sparse rows.

    Raises
    ------
    DataError
        What is wrong with it, with the line where there are lines.
    """
    path = path_of(path)
    if not path.is_file():
        raise DataError(f"there is no file {path}")
    if path.stat().st_size == 0:
        raise DataError(f"{path.name} is empty")
    if path.suffix.lower() == ".npz":
        check_fits(path, max_rows=None)
        with report_damage(path.name):
            return _from_arrays(arrays_of(path), path.name)
    packed = 5 if path.suffix.lower() == ".gz" else 1
    if path.stat().st_size * _GROWTH * packed > free_memory():
        raise DataError(
            f"{path.name} is larger than memory, and sparse rows are not read in blocks: take some of its rows"
        )
    with report_damage(path.name):
        return _from_lines(path)


def read_labels(path: Path) -> Values:
    """Labels from a file of their own: an array (.npy), or a text with one on each line."""
    with report_damage(path.name):
        if path.suffix.lower() == ".npy":
            return np.load(path, allow_pickle=False).reshape(-1)
        return _plain_labels([line.strip() for line in path.read_text(encoding="utf-8").splitlines()])


def _from_arrays(arrays: dict[str, Any], name: str) -> SparseFile:
    kind = arrays["format"].item()
    kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)
    lacking = [part for part in ("row", "col") if part not in arrays] if kind == "coo" else []
    if kind in _PARTS:
        lacking = [part for part in ("indices", "indptr") if part not in arrays]
    elif kind != "coo":
        raise DataError(f"{name} holds a sparse matrix in the format {kind!r}: save it as CSR (matrix.tocsr())")
    if lacking:
        raise DataError(f"{name} is damaged: a sparse matrix without {listed(lacking)}")
    shape = tuple(int(size) for size in np.atleast_1d(arrays["shape"]))
    if len(shape) != 2 or min(shape) < 0:
        raise DataError(f"{name} holds a sparse array of shape {shape}: rows times columns are needed")
    if kind == "coo":
        matrix = coo_array((arrays["data"], (arrays["row"], arrays["col"])), shape=shape)
    else:
        # Unchecked here: `sparse_rows` looks at the indices before anything follows them.
        matrix = _PARTS[kind](shape, dtype=arrays["data"].dtype)
        matrix.data, matrix.indices, matrix.indptr = (arrays[part] for part in ("data", "indices", "indptr"))
    own = {"format", "shape", "data", "row", "col", "indices", "indptr", "_is_array"}
    side = {key: array.reshape(-1) for key, array in arrays.items() if key not in own and array.size == shape[0]}
    if "y" in arrays and "y" not in side:
        raise DataError(
            f"{name}: X has {shape[0]} rows but y has shape {arrays['y'].shape}: one label per row is needed"
        )
    return SparseFile(matrix, side)


def _from_lines(path: Path) -> SparseFile:
    """Lines of ``label [qid:group] column:value ...``; what is behind # is a remark."""
    labels: list[str] = []
    groups: list[str] = []
    columns: list[Codes] = []
    values: list[Any] = []
    for number, line in _lines(path):
        content = line.split("#", 1)[0].split()
        if not content:
            continue
        label, entries = content[0], content[1:]
        if ":" in label:
            raise _bad_line(path, number, f"it starts with {label!r}, not with a label")
        if "," in label:
            raise _bad_line(path, number, f"it has several labels ({label}): one for each row is needed")
        labels.append(label)
        if entries and entries[0].startswith("qid:"):
            groups.append(entries.pop(0)[4:])
        pairs = [entry.split(":") for entry in entries]
        try:
            own = np.array([int(column) for column, _ in pairs], dtype=np.int64)
            values.append(np.array([float(value) for _, value in pairs]))
        except ValueError:
            wrong = next((entry for entry in entries if not _is_entry(entry)), entries[0])
            raise _bad_line(path, number, f"{wrong[:40]!r} is no column:value") from None
        except OverflowError:
            raise _bad_line(path, number, "a column number is too large") from None
        if len(own) and own.min() < 0:
            raise _bad_line(path, number, f"there is no column {own.min()}")
        columns.append(own)
    if not labels:
        raise DataError(f"{path.name} has no rows")
    if groups and len(groups) < len(labels):
        raise DataError(f"{path.name}: {len(labels) - len(groups)} of {len(labels)} rows have no qid: all or none")
    indices = np.concatenate(columns)
    first = int(indices.min(initial=1))  # files count columns from 1, some from 0
    width = int(indices.max(initial=first)) - min(first, 1) + 1
    if width > 2**31:
        raise DataError(f"{path.name} has a column {int(indices.max()):,}: columns are to be numbered without gaps")
    indptr = np.concatenate([[0], np.cumsum([len(own) for own in columns])])
    matrix = csr_array((np.concatenate(values), indices - min(first, 1), indptr), shape=(len(labels), width))
    side: dict[str, Values] = {"y": _plain_labels(labels)}
    if groups:
        side["qid"] = text_array(groups)
    return SparseFile(matrix, side)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with io.TextIOWrapper(open_bytes(path), encoding="utf-8", errors="replace") as lines:
        yield from enumerate(lines, start=1)


def _is_entry(entry: str) -> bool:
    column, _, value = entry.partition(":")
    try:
        int(column), float(value)
    except ValueError:
        return False
    return True


def _bad_line(path: Path, number: int, what: str) -> DataError:
    return DataError(f"{path.name} is no svmlight file, or damaged: in line {number} {what}")


def _plain_labels(labels: list[str]) -> Values:
    """Whole numbers where all labels are: +1 and 1 are one class."""
    try:
        numbers = np.array([float(label) for label in labels])
    except ValueError:
        return text_array(labels)
    if not np.isfinite(numbers).all():
        return text_array(labels)
    return numbers.astype(np.int64) if (numbers == np.rint(numbers)).all() else numbers
