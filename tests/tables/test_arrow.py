"""Damaged Arrow and Parquet files: an error that names the file, never memory that is not the file's."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from bayesfloor import DataError
from bayesfloor.tables.open import n_rows_of, open_table
from one_process import run_each

N = 60
COLOURS = ["red", "green", "blue"]
CODES = np.random.default_rng(0).integers(0, 3, N)
SECRET = "what-lies-behind"  # in the column after the damaged one


def table() -> pa.Table:
    return pa.table(
        {
            "size": np.arange(float(N)),
            "label": ["no", "yes"] * (N // 2),
            "behind": [SECRET] * N,
            "colour": pa.DictionaryArray.from_arrays(pa.array(CODES, pa.int8()), COLOURS),
        }
    )


def arrow_bytes(form: str) -> bytes:
    """The table, not compressed: offsets and indices stand in the file as they do in memory."""
    sink = pa.BufferOutputStream()
    with (pa.ipc.new_stream if form == "stream" else pa.ipc.new_file)(sink, table().schema) as writer:
        writer.write_table(table())
    return sink.getvalue().to_pybytes()


def parquet_bytes() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table(), sink, compression="none", use_dictionary=["colour"])
    return sink.getvalue().to_pybytes()


def offsets(words: list[str]) -> bytes:
    return np.cumsum([0, *map(len, words)]).astype("<i4").tobytes()


def patched(data: bytes, found: bytes, at: int, value: bytes) -> bytes:
    """Other bytes at a place in a part of the data that occurs once."""
    assert data.count(found) == 1
    start = data.index(found) + at
    return data[:start] + value + data[start + len(value) :]


def with_label_offset(data: bytes, offset: int) -> bytes:
    """Where the last label ends."""
    return patched(data, offsets(["no", "yes"] * (N // 2)), 4 * N, np.array(offset, "<i4").tobytes())


def with_packed_index(data: bytes) -> bytes:
    """Parquet packs the indices of three values into two bits each: all four may be written."""
    bits = (CODES[:, None] >> np.arange(2)) & 1
    packed = np.packbits(bits.ravel(), bitorder="little").tobytes()[: N // 4 - 1]
    return patched(data, packed, 0, b"\xff")


# What is wrong, the damage to the bytes of an Arrow file, and what is to be said of it.
DAMAGES = {
    "far offset": (lambda data: with_label_offset(data, 2_000_000_000), r"offset.*out of bounds: 2000000000"),
    "near offset": (lambda data: with_label_offset(data, 4_000), r"offset.*out of bounds: 4000"),
    "index": (lambda data: patched(data, CODES.astype(np.int8).tobytes(), 7, b"\x63"), r"indices.*out of bounds: 99"),
    "offset in a dictionary": (
        lambda data: patched(data, offsets(COLOURS), 12, b"\x00\x94\x35\x77"),
        r"Dictionary array invalid.*offset",
    ),
}


def test_what_is_out_of_range_is_refused(tmp_path: Path) -> None:
    """By the command, in a process that is not ours: where a file is trusted, it may end by a signal."""
    said = {}
    for form, ending in (("file", "feather"), ("stream", "arrow")):
        for name, (damage, message) in DAMAGES.items():
            path = tmp_path / f"{name.replace(' ', '_')}.{ending}"
            path.write_bytes(damage(arrow_bytes(form)))
            said[path] = message
    (tmp_path / "t.parquet").write_bytes(with_packed_index(parquet_bytes()))
    said[tmp_path / "t.parquet"] = r"indices.*out of bounds: 3"
    endings = run_each([["estimate", str(path), "--target", "label"] for path in said])
    for (path, message), ending in zip(said.items(), endings, strict=True):
        assert (ending.status, ending.out) == (2, ""), (path.name, ending)
        assert SECRET not in ending.err
        [line] = ending.err.splitlines()
        assert line.isascii()
        assert re.fullmatch(rf"bayesfloor: error: {path.name} is damaged or cut short \(.*{message}.*\)", line), line


@pytest.mark.parametrize("name", ["t.feather", "t.arrow", "t.parquet"])
def test_names_that_are_no_text(tmp_path: Path, name: str) -> None:
    data = {"t.feather": arrow_bytes("file"), "t.arrow": arrow_bytes("stream"), "t.parquet": parquet_bytes()}[name]
    path = tmp_path / name
    path.write_bytes(data.replace(b"behind", b"behin\xff"))
    with pytest.raises(DataError, match=f"{name} is no .* file, or it is cut short"):
        open_table(path)


def test_damaged_metadata_of_pandas_are_not_read(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": np.arange(5.0), "label": list("abaab")})
    path = tmp_path / "t.feather"
    feather.write_feather(frame, path, compression="uncompressed")
    data = path.read_bytes()
    assert b'"index_columns"' in data
    path.write_bytes(data.replace(b'"index_columns"', b'"index_co\x01umns"'))
    assert open_table(path).frame(["x", "label"]).astype({"label": frame["label"].dtype}).equals(frame)


@pytest.mark.parametrize("name", ["t.feather", "t.parquet"])
def test_rows_of_a_file_that_is_cut_short(tmp_path: Path, name: str) -> None:
    data = arrow_bytes("file") if name == "t.feather" else parquet_bytes()
    path = tmp_path / name
    path.write_bytes(data)
    assert n_rows_of(path) == N
    path.write_bytes(data[:-20])
    with pytest.raises(DataError, match=f"{name} is no .* file, or it is cut short"):
        n_rows_of(path)
