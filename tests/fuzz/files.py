"""Files of every format that is read, and damage done to them: bits flipped, bytes lost, doubled or replaced."""

import gzip
import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayesfloor import read_table
from bayesfloor.tables.on_disk import encode_to_disk

__all__ = ["FORMATS", "damage", "flip", "read_damaged", "whole_file"]

ROWS = 40
_SPECIAL = (b"", b"\x00", b"\xff", b"nan", b"1e999", b'"', b"\n", b"\r", b",", b"{", b"]", b"9" * 30, b"\xef\xbb\xbf")


def _frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    y = np.arange(ROWS) % 2
    return pd.DataFrame(
        {
            "size": rng.normal(size=ROWS).round(3) + y,
            "n": rng.integers(0, 9, ROWS),
            "colour": np.array(["red", "green", "blue"])[rng.integers(0, 3, ROWS)],
            "day": pd.date_range("2024-01-30", periods=ROWS, freq="D"),
            "label": np.array(["no", "yes"])[y],
        }
    )


def _csv() -> bytes:
    return _frame().to_csv(index=False).encode()


def _json_lines() -> bytes:
    return _frame().to_json(orient="records", lines=True, date_format="iso").encode()


def _arff() -> bytes:
    head = "@relation r\n@attribute size numeric\n@attribute n integer\n@attribute colour {red,green,blue}\n"
    head += "@attribute day date\n@attribute label {no,yes}\n@data\n"
    return (head + _frame().to_csv(index=False, header=False)).encode()


def _npy() -> bytes:
    frame, buffer = _frame(), io.BytesIO()
    np.save(buffer, np.column_stack([frame["size"], frame["n"], frame["label"] == "yes"]).astype(float))
    return buffer.getvalue()


def _npz(save: Callable[..., None]) -> bytes:
    frame, buffer = _frame(), io.BytesIO()
    X = frame[["size", "n"]].to_numpy(dtype=float)
    save(buffer, X=X, y=frame["label"].to_numpy(dtype=str), feature_names=np.array(["size", "n"]))
    return buffer.getvalue()


def _arrow(write: Callable[[Any, Any], None]) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    write(pa.Table.from_pandas(_frame(), preserve_index=False), sink)
    return sink.getvalue().to_pybytes()


def _parquet(table: Any, sink: Any) -> None:
    import pyarrow.parquet as parquet

    parquet.write_table(table, sink)


def _feather(table: Any, sink: Any) -> None:
    import pyarrow.feather as feather

    feather.write_feather(table, sink)


def _stream(table: Any, sink: Any) -> None:
    import pyarrow as pa

    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


FORMATS: dict[str, tuple[Callable[[], bytes], str | int | None]] = {
    "table.npz": (lambda: _npz(np.savez), None),
    "packed.npz": (lambda: _npz(np.savez_compressed), None),
    "table.npy": (_npy, -1),
    "table.parquet": (lambda: _arrow(_parquet), "label"),
    "table.feather": (lambda: _arrow(_feather), "label"),
    "stream.arrow": (lambda: _arrow(_stream), "label"),
    "table.arff": (_arff, "label"),
    "table.csv": (_csv, "label"),
    "table.jsonl": (_json_lines, "label"),
    "table.csv.gz": (lambda: gzip.compress(_csv(), mtime=0), "label"),
    "table.jsonl.gz": (lambda: gzip.compress(_json_lines(), mtime=0), "label"),
}


def whole_file(name: str) -> bytes:
    """The file as it should be."""
    return FORMATS[name][0]()


def flip(data: bytes, rng: np.random.Generator) -> bytes:
    """One to three bits flipped, half of the time near an end of the file, where formats describe themselves."""
    damaged = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        at = rng.integers(len(data))
        if rng.random() < 0.5:
            at = rng.integers(min(300, len(data))) * rng.choice([1, -1])
        damaged[int(at)] ^= 1 << int(rng.integers(8))
    return bytes(damaged)


def damage(data: bytes, rng: np.random.Generator) -> bytes:
    """Some damage: bits flipped, the end cut off, bytes lost, repeated, or replaced by what is special somewhere."""
    kind = rng.integers(5)
    start = int(rng.integers(len(data)))
    end = min(len(data), start + int(rng.integers(1, 30)))
    if kind <= 1:
        return flip(data, rng)
    if kind == 2:
        return data[:start]
    if kind == 3:
        return data[:end] + data[start:]
    return data[:start] + _SPECIAL[rng.integers(len(_SPECIAL))] + data[end:]


def read_damaged(name: str, data: bytes, rng: np.random.Generator) -> str:
    """Read a file in one of the ways there are: what comes out must be finite numbers, and a label for each row."""
    target = FORMATS[name][1]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(data)
        way = rng.integers(3)
        if way == 2:
            disk = encode_to_disk(path, Path(folder, "disk"), target="y" if target is None else target)
            X, y = np.fromfile(disk.X_path).reshape(disk.n_rows, disk.n_features), np.fromfile(disk.labels_path, "<i8")
        else:
            table = read_table(path, target=target, max_rows=30 if way else None)
            X, y = table.X, table.y
            json.dumps(str(table))
    if not np.isfinite(X).all() or len(X) != len(y) or not X.shape[1]:
        return f"wrong: X of shape {X.shape} with {len(y)} labels"
    return "answer"
