"""Files of sparse rows: matrices that scipy.sparse has saved (NPZ), and svmlight files."""

import io
import sys
import zipfile
from array import array
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from .._types import Values
from ..errors import DataError, ParameterError
from ..rows.labels import text_array
from ..rows.sparse import PARTS, matrix_of
from ..utils.checks import brief, listed
from .arrays import arrays_of
from .open import check_fits, free_memory, path_of
from .table_file import report_damage
from .text import open_bytes

__all__ = ["SVMLIGHT", "SparseFile", "has_sparse_rows", "read_sparse_file"]

SVMLIGHT = (".svm", ".svmlight", ".libsvm")
_GROWTH = 4  # bytes needed per byte of a file of text


class SparseFile(NamedTuple):
    """The checked matrix of a file, and by name what has a value for each row: `y`, the labels, and others."""

    matrix: csr_array
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
    with report_damage(path.name), zipfile.ZipFile(path) as archive:
        return {"format.npy", "shape.npy", "data.npy"} <= set(archive.namelist())


def read_sparse_file(path: str | Path, target: Any = None) -> SparseFile:
    """Read a file of sparse rows.

    Parameters
    ----------
    path : str or Path
    target : str, optional
        The labels: by name, or a file with one for each row.

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
            return _from_arrays(arrays_of(path), path.name, target)
    with report_damage(path.name):
        return _from_lines(path, target)


def _with_labels(side: dict[str, Values], n: int, name: str, target: Any) -> dict[str, Values]:
    """What has a value for each row, labels from a file of their own among it.

    Before the matrix is made: that it has so many rows is only a claim until something else has as many values.
    """
    if isinstance(target, str) and target not in side and Path(target).is_file():
        labels = _read_labels(Path(target))
        if len(labels) != n:
            raise DataError(f"{name} has {n} rows but {Path(target).name} has {len(labels)} labels")
        return {**side, target: labels}
    if not side or (target is None and "y" not in side):
        raise ParameterError(
            f"{name} has no labels beside its sparse rows: add an array y to it, or name a file with one label "
            "per row (target, --target labels.npy)"
        )
    return side


def _read_labels(path: Path) -> Values:
    """Labels from a file of their own: an array (.npy), or a text with one on each line."""
    with report_damage(path.name):
        if path.suffix.lower() == ".npy":
            return np.load(path, allow_pickle=False).reshape(-1)
        return _plain_labels([line.strip() for line in path.read_text(encoding="utf-8").splitlines()])


def _from_arrays(arrays: dict[str, Any], name: str, target: Any) -> SparseFile:
    kind = arrays["format"].item()
    kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)
    if kind not in PARTS:
        raise DataError(f"{name} holds a sparse matrix in the format {kind!r}: save it as CSR (matrix.tocsr())")
    lacking = [part for part in PARTS[kind] if part not in arrays]
    if lacking:
        raise DataError(f"{name} is damaged: a sparse matrix without {listed(lacking)}")
    claimed = arrays["shape"]
    if claimed.shape != (2,) or claimed.dtype.kind not in "iu" or claimed.min() < 0:
        raise DataError(f"{name} holds a sparse array of shape {brief(claimed.tolist())}: rows and columns are needed")
    shape = int(claimed[0]), int(claimed[1])
    own = {"format", "shape", "data", "row", "col", "indices", "indptr", "_is_array"}
    side = {key: array.reshape(-1) for key, array in arrays.items() if key not in own and array.size == shape[0]}
    if "y" in arrays and "y" not in side:
        raise DataError(
            f"{name}: X has {shape[0]} rows but y has shape {arrays['y'].shape}: one label per row is needed"
        )
    side = _with_labels(side, shape[0], name, target)
    return SparseFile(matrix_of(kind, shape, [arrays[part] for part in PARTS[kind]], name), side)


def _from_lines(path: Path, target: Any) -> SparseFile:
    """Lines of ``label [qid:group] column:value ...``; what is behind # is a remark."""
    labels: list[str] = []
    groups: list[str] = []
    # Numbers side by side: an object for each line would take far more memory than the line.
    columns, values, ends = array("q"), array("d"), array("q", [0])
    for number, line in _lines(path):
        content = line.split("#", 1)[0].split()
        if not content:
            continue
        label, entries = content[0], content[1:]
        if ":" in label:
            raise _bad_line(path, number, f"it starts with {label!r}, not with a label")
        if "," in label:
            raise _bad_line(path, number, f"it has several labels ({label}): one for each row is needed")
        labels.append(sys.intern(label))
        if entries and entries[0].startswith("qid:"):
            groups.append(sys.intern(entries.pop(0)[4:]))
        pairs = [entry.split(":") for entry in entries]
        try:
            own = [int(column) for column, _ in pairs]
            columns.extend(own)
            values.extend([float(value) for _, value in pairs])
        except ValueError:
            wrong = next((entry for entry in entries if not _is_entry(entry)), entries[0])
            raise _bad_line(path, number, f"{wrong[:40]!r} is no column:value") from None
        except OverflowError:
            raise _bad_line(path, number, "a column number is too large") from None
        if min(own, default=0) < 0:
            raise _bad_line(path, number, f"there is no column {min(own)}")
        ends.append(len(values))
    if not labels:
        raise DataError(f"{path.name} has no rows")
    if groups and len(groups) < len(labels):
        raise DataError(f"{path.name}: {len(labels) - len(groups)} of {len(labels)} rows have no qid: all or none")
    side: dict[str, Values] = {"y": _plain_labels(labels)}
    if groups:
        side["qid"] = text_array(groups)
    side = _with_labels(side, len(labels), path.name, target)
    indices = np.frombuffer(columns, dtype=np.int64)
    first = int(indices.min(initial=1))  # files count columns from 1, some from 0
    width = int(indices.max(initial=first)) - first + 1
    parts = np.frombuffer(values), indices - first, np.frombuffer(ends, dtype=np.int64)
    return SparseFile(matrix_of("csr", (len(labels), width), parts, path.name), side)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, while memory lasts: a packed file does not say how long it is."""
    left = free_memory() // _GROWTH
    with io.TextIOWrapper(open_bytes(path), encoding="utf-8", errors="replace") as lines:
        for number in count(1):
            line = lines.readline(left + 1)
            if not line:
                return
            left -= len(line)
            if left < 0:
                raise DataError(
                    f"{path.name} is larger than memory, and sparse rows are not read in blocks: take some of its rows"
                )
            yield number, line


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
