"""Sparse matrices with damaged parts: in memory, in NPZ files, in lines of svmlight."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import bayesfloor as bf
from fuzz.files import damage

__all__ = ["damaged_lines", "damaged_matrix", "damaged_npz"]

ROWS = 40
_PARTS = {"csr": ("indices", "indptr"), "csc": ("indices", "indptr"), "coo": ("row", "col")}
_FAR = [-1, -5, -(2**31), 8, ROWS, ROWS + 1, 130, 10**6, 2**31 - 1, 2**31, 2**40, 2**62]
_TYPES = ["f8", "?", "O", "U5", "i1", "u1", "i2", ">i4", "i8", "u8", "f2", "c16", "M8[s]"]
_ENTRIES = ["3", "3:", ":3", "a:1", "-4:1", "2:x", "2:nan", "2:1e999", "2:1:3", "qid:7", "2000000000:1"]
_ENTRIES += [
    "9" * 30 + ":1",
    "9223372036854775807:1",
    "9223372036854775806:1",
    "1_0:1",
    "+2:1",
    "0:1",
    "1:1 1:2",
    "#",
    "\x00",
    "é:1",
]


def _whole(rng: np.random.Generator) -> dict[str, Any]:
    """Parts of a matrix by name: few columns or many."""
    d = int(rng.choice([3, 8, 130]))
    kind = str(rng.choice(list(_PARTS)))
    X = rng.integers(1, 4, (ROWS, d)) * (rng.random((ROWS, d)) < rng.choice([0.02, 0.3, 1.0]))
    matrix = sparse.csr_array(X.astype(rng.choice(["f8", "f4", "i4"]))).asformat(kind)
    parts = {name: getattr(matrix, name).copy() for name in ("data", *_PARTS[kind])}
    return {"format": kind, "shape": matrix.shape, "y": np.arange(ROWS) % 2, **parts}


def _damage(parts: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """One to three parts changed: values, length, type or shape."""
    parts = dict(parts)
    for _ in range(rng.integers(1, 4)):
        name = str(rng.choice([*_PARTS[parts["format"]], *_PARTS[parts["format"]], "data", "shape"]))
        if name == "shape":
            shape = list(parts["shape"])
            shape[rng.integers(2)] = int(rng.choice([0, 1, 7, ROWS - 1, ROWS + 1, 10**6, 2**31, 2**40, 2**62]))
            parts["shape"] = tuple(shape)
            continue
        values, way = parts[name], rng.integers(6)
        if way <= 2 and values.size and values.dtype.kind in "iuf":
            values = values.astype("f8" if name == "data" else "i8")
            far = [np.nan, np.inf, 1e300, 0.0] if name == "data" else _FAR
            values.flat[rng.integers(values.size)] = far[rng.integers(len(far))]
        elif way == 3:
            with np.errstate(all="ignore"):
                values = values.astype(_TYPES[rng.integers(len(_TYPES))]) if values.dtype.kind in "biuf" else values
        elif way == 4:
            values = values[: rng.integers(len(values) + 1)] if rng.random() < 0.7 else np.append(values, values[:3])
        else:
            values = [values[:, None], values[::-1], values[::2], np.sort(values)[::-1]][rng.integers(4)]
        parts[name] = values
    return parts


def _is_whole(parts: dict[str, Any]) -> bool:
    """Whether numpy, which checks every index, can put these parts together."""
    try:
        shape, first, second = parts["shape"], *(parts[name] for name in _PARTS[parts["format"]])
        if parts["format"] == "coo":
            row, col = first, second
        else:
            row = np.repeat(np.arange(shape[parts["format"] == "csc"]), np.diff(second.astype("i8")))
            row, col = (row, first) if parts["format"] == "csr" else (first, row)
        if not len(row) == len(col) == len(parts["data"]):
            return False
        return not len(row) or bool(row.min() >= 0 and row.max() < shape[0] and col.min() >= 0 and col.max() < shape[1])
    except (ValueError, TypeError, MemoryError):
        return False


def damaged_matrix(rng: np.random.Generator) -> Any:
    """A matrix whose attributes were changed, given to `estimate`."""
    parts = _damage(_whole(rng), rng)
    matrix = getattr(sparse, f"{parts['format']}_array")((2, 2))
    matrix._shape = parts["shape"]
    if parts["format"] == "coo" and hasattr(matrix, "coords"):
        matrix.data, matrix.coords = parts["data"], (parts["row"], parts["col"])
    else:
        for name in ("data", *_PARTS[parts["format"]]):
            setattr(matrix, name, parts[name])
    result = bf.estimate(matrix, parts["y"], effort="fast", n_jobs=1)
    if not _is_whole(parts):
        raise AssertionError("a damaged matrix has a floor")
    return result


def damaged_npz(rng: np.random.Generator) -> Any:
    """The same as a file, read whole or in part."""
    parts = _damage(_whole(rng), rng)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "matrix.npz")
        np.savez(path, **parts)
        if rng.random() < 0.2:
            path.write_bytes(damage(path.read_bytes(), rng))
        answer = _read(path, rng)
    if not _is_whole(parts):
        raise AssertionError("a damaged matrix was read")
    return answer


def damaged_lines(rng: np.random.Generator) -> Any:
    """Lines of svmlight with entries that are wrong, or far away."""
    lines = [
        " ".join([str(i % 2), *(f"{j}:{rng.integers(1, 9)}" for j in sorted(rng.choice(9, 3, replace=False) + 1))])
        for i in range(ROWS)
    ]
    for _ in range(rng.integers(1, 4)):
        at, entry = rng.integers(ROWS), _ENTRIES[rng.integers(len(_ENTRIES))]
        words = lines[at].split(" ")
        words.insert(rng.integers(len(words) + 1), entry)
        lines[at] = " ".join(words)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.svm")
        data = "\n".join(lines).encode()
        path.write_bytes(damage(data, rng) if rng.random() < 0.4 else data)
        return _read(path, rng)


def _read(path: Path, rng: np.random.Generator) -> Any:
    """By `estimate`, one time of five; otherwise as a table, which is sooner done."""
    if rng.random() < 0.2:
        return bf.estimate(path, effort="fast", n_jobs=1)
    table = bf.read_table(path, max_rows=20 if rng.random() < 0.5 else None)
    return table.X, str(table)
