"""Tables encoded part by part: the numbers on disk are those of a table read whole."""

import pickle
import shutil
from collections import namedtuple
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

from bayesfloor import BayesfloorWarning, DataError, ParameterError
from bayesfloor.tables import on_disk as table_blocks
from bayesfloor.tables import table_file
from bayesfloor.tables.on_disk import DiskTable, encode_to_disk
from bayesfloor.tables.open import n_rows_of, open_table
from bayesfloor.tables.table import read_table

FORMATS = ["t.csv", "t.tsv.gz", "t.parquet", "t.feather", "t.arrow", "t.jsonl", "t.arff", "t.npz", "t.npy"]


def frame_of(n: int = 230) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "gap": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "count": rng.integers(0, 9, n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "code": rng.choice(["007", "7", "u", "v", "w", "x", "y", "z"], n),
            "home": rng.choice(["own", "rent"], n),
            "city": [f"city {i * i % 97}" for i in range(n)],
            "flag": rng.random(n) < 0.5,
            "day": pd.Series(pd.date_range("2020-01-01", periods=n, freq="9h")).dt.strftime("%Y-%m-%d"),
            "label": np.array(["no", "yes"])[np.arange(n) % 2],
        }
    )
    frame["label"] = frame["label"].astype(object)
    return frame


def written(frame: pd.DataFrame, path):
    import pyarrow as pa

    name = path.name
    if name.startswith(("t.csv", "t.tsv")):
        frame.to_csv(path, index=False, sep="\t" if "tsv" in name else ",")
    elif name == "t.parquet":
        frame.to_parquet(path, row_group_size=41)
    elif name == "t.feather":
        frame.to_feather(path)
    elif name == "t.arrow":  # the stream format
        table = pa.Table.from_pandas(frame)
        with pa.ipc.new_stream(path, table.schema) as stream:
            stream.write_table(table, max_chunksize=57)
    elif name == "t.jsonl":
        frame.to_json(path, orient="records", lines=True, double_precision=15)
    elif name == "t.arff":
        lines = ["@relation r"]
        for column in frame[["size", "home", "label"]]:
            levels = "{" + ",".join(sorted(set(frame[column].dropna()))) + "}" if column != "size" else "real"
            lines.append(f"@attribute {column} {levels}")
        cells = frame[["size", "home", "label"]].astype(object).where(frame["label"].notna(), "?").values.tolist()
        path.write_text("\n".join([*lines, "@data", *(",".join(map(str, row)) for row in cells)]))
    elif name == "t.npz":
        np.savez(path, X=frame[["size", "gap", "count"]], y=np.array(frame["label"].fillna("").tolist()))
    else:
        labels = (frame["label"] == "yes").astype(float).where(frame["label"].notna())
        np.save(path, frame[["size", "gap", "count"]].assign(label=labels).to_numpy())
    return path


def rows_of(table: DiskTable) -> np.ndarray:
    return np.fromfile(table.X_path, "<f8").reshape(table.n_rows, table.n_features)


def codes_of(table: DiskTable) -> np.ndarray:
    return np.fromfile(table.labels_path, "<i8")


def compare(path, table: DiskTable, **options) -> None:
    """On disk is what `read_table` gives."""
    whole = read_table(path, **options)
    assert table.features == whole.features
    assert (table.n_rows, table.n_features) == whole.X.shape
    np.testing.assert_array_equal(rows_of(table), whole.X)
    np.testing.assert_array_equal(table.classes[codes_of(table)], whole.y)
    assert table.classes.dtype == np.unique(whole.y).dtype
    np.testing.assert_array_equal(table.classes, np.unique(whole.y))
    assert (table.n_file_rows, table.target) == (whole.n_file_rows, whole.target)
    assert table.columns == whole.columns
    assert table.notes == whole.notes


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("chunk", [1, 23, 50_000])
def test_a_table_no_larger_than_the_sample(tmp_path, monkeypatch, name: str, chunk: int) -> None:
    frame = frame_of(60 if chunk == 1 else 230)
    frame.loc[[3, 50], "label"] = None
    path = written(frame, tmp_path / name)
    monkeypatch.setattr(table_file, "CHUNK_ROWS", chunk)
    target = -1 if name.endswith(("npy", "npz")) else "label"
    table = encode_to_disk(path, tmp_path / "out", target=target)
    assert table.n_rows == len(frame) - 2
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["X.f8", "labels.i8"]
    compare(path, table, target=target)
    assert codes_of(table)[:3].tolist() == [0, 1, 0]


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("t.arff", "t.npz")])
def test_a_table_larger_than_the_sample(tmp_path, monkeypatch, name: str) -> None:
    frame = frame_of(700)
    frame.loc[[0, 333], "label"] = None
    path = written(frame, tmp_path / name)
    whole = read_table(path, target=-1)
    made = []
    for chunk in (64, 1000):
        monkeypatch.setattr(table_file, "CHUNK_ROWS", chunk)
        monkeypatch.setattr(table_blocks, "_BLOCK_BYTES", 8000)
        made.append(encode_to_disk(path, tmp_path / f"out {chunk}", target=-1, sample_rows=200))
    for table in made:
        X = rows_of(table)
        assert np.isfinite(X).all()
        np.testing.assert_array_equal(table.classes[codes_of(table)], whole.y)
        found = dict(zip(table.features, X.T, strict=True))
        expected = dict(zip(whole.features, whole.X.T, strict=True))
        assert table.columns[0] == whole.columns[0]
        assert {c.name: c.n_missing for c in table.columns} == {c.name: c.n_missing for c in whole.columns}
        assert any("found from 200 of 698 rows" in note for note in table.notes)
        for feature, values in expected.items():
            if feature.startswith(("city", "gap", "column 1")):
                continue
            np.testing.assert_array_equal(found[feature], values)
    np.testing.assert_array_equal(rows_of(made[0]), rows_of(made[1]))  # parts of any size give the same
    if name != "t.npy":
        gaps = np.isnan(frame["gap"].drop([0, 333]).to_numpy())
        np.testing.assert_array_equal(found["gap missing"], gaps)
        np.testing.assert_array_equal(found["gap"][~gaps], expected["gap"][~gaps])
        levels = [feature for feature in found if feature.startswith("city")]
        np.testing.assert_array_equal(np.sum([found[feature] for feature in levels], axis=0), 1)


@pytest.fixture
def drawn(monkeypatch) -> list:
    """Row numbers, from 0, of every sample that is drawn: they depend on the labels alone."""
    rows: list = []
    learn = table_blocks.learn_encoding
    monkeypatch.setattr(table_blocks, "learn_encoding", lambda raw, keep: rows.append(raw.rows - 1) or learn(raw, keep))
    monkeypatch.setattr(table_file, "CHUNK_ROWS", 100)
    return rows


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.jsonl"])
def test_the_end_of_the_file_brings_news(tmp_path, drawn, name: str) -> None:
    frame = frame_of(700)[["size", "count", "colour", "home", "label"]].astype({"count": float})
    frame.loc[690:, "label"] = "a late class"
    path = written(frame, tmp_path / name)
    table = encode_to_disk(path, tmp_path / "a", target="label", sample_rows=50)
    assert table.classes.tolist() == ["a late class", "no", "yes"]
    assert np.bincount(codes_of(table)).tolist() == [10, 345, 345]
    assert np.bincount(codes_of(table)[drawn[0]])[0] == 5, "five of a class are drawn"
    late = next(row for row in range(689, 0, -1) if row not in drawn[0])
    frame.loc[late, ["colour", "count"]] = ["violet", None]
    table = encode_to_disk(written(frame, path), tmp_path / "b", target="label", sample_rows=50)
    cells = dict(zip(table.features, rows_of(table)[late], strict=True))
    assert [cells[f"colour={colour}"] for colour in ("red", "green", "blue")] == [0, 0, 0]
    assert cells["count"] == np.median(frame["count"][drawn[1]])
    assert "count missing" not in cells
    assert any("did not have" in note and "'colour' 1" in note for note in table.notes)
    assert any("where those rows had none" in note and "'count' 1" in note for note in table.notes)
    assert {c.name: c.n_missing for c in table.columns}["count"] == 1


@pytest.mark.parametrize(
    ("bad", "message"), [("tall", "first text is 'tall' in row {}"), ("inf", "infinite value, the first in row {}")]
)
def test_what_cannot_be_read_is_refused_and_nothing_is_left(tmp_path, drawn, bad: str, message: str) -> None:
    frame = frame_of(700)[["size", "colour", "label"]].astype({"size": object})
    options = {"target": "label", "sample_rows": 200}
    path = written(frame, tmp_path / "t.csv")
    encode_to_disk(path, tmp_path / "a", **options)
    late = next(row for row in range(699, 0, -1) if row not in drawn[0])
    frame.loc[late, "size"] = bad
    written(frame, path)
    with pytest.raises(DataError, match=message.format(late + 1)):
        encode_to_disk(path, tmp_path / "b", **options)
    assert not (tmp_path / "b").exists()
    (tmp_path / "c").mkdir()
    with pytest.raises(DataError, match=message.format(late + 1)):
        encode_to_disk(path, tmp_path / "c", **options)
    assert list((tmp_path / "c").iterdir()) == []
    frame.loc[late, "label"] = None
    assert encode_to_disk(written(frame, path), tmp_path / "d", **options).n_rows == 699, "no label, no matter"


def test_an_interrupt_leaves_nothing(tmp_path) -> None:
    path = written(frame_of(), tmp_path / "t.csv")

    def stop(stage: str, done: int, total: int) -> None:
        if stage == "encoding rows":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode_to_disk(path, tmp_path / "out", target="label", progress=stop)
    assert not (tmp_path / "out").exists()


def test_folders_and_disks_that_cannot_take_it(tmp_path, monkeypatch) -> None:
    path = written(frame_of(), tmp_path / "t.csv")
    encode_to_disk(path, tmp_path / "out", target="label")
    with pytest.raises(ParameterError, match=r"X\.f8 exists already"):
        encode_to_disk(path, tmp_path / "out", target="label")
    with pytest.raises(ParameterError, match="cannot write in"):
        encode_to_disk(path, path, target="label")
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(10, 0, 10))
    with pytest.raises(DataError, match="GiB are free: choose a folder on another disk"):
        encode_to_disk(path, tmp_path / "other", target="label")
    assert not (tmp_path / "other").exists()
    for bad in (1, True, 2.5):
        with pytest.raises(ParameterError, match="sample_rows"):
            encode_to_disk(path, tmp_path / "other", target="label", sample_rows=bad)


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
@pytest.mark.parametrize(
    "labels",
    [
        [1, 0, 2],
        [1.0, 0.5, 2.0],
        [1.0, None, 0.0, 2.0],
        ["NA", "0", "1"],
        ["None", "mild", "severe"],
        ["01", "1", "2"],
        [True, False],
        [True, None, False],
        ["True", "False"],
        [2**60, 2**60 + 1],
    ],
    ids=str,
)
def test_labels_are_those_of_the_whole_file(tmp_path, monkeypatch, name: str, labels) -> None:
    n = 24
    cells = pd.Series([labels[i * len(labels) // n] for i in range(n)], dtype=None if None in labels else object)
    frame = pd.DataFrame({"a": np.random.default_rng(0).normal(size=n), "label": cells.infer_objects()})
    monkeypatch.setattr(table_file, "CHUNK_ROWS", 7)
    path = written(frame, tmp_path / name) if name != "t.jsonl" else tmp_path / name
    if name == "t.jsonl":
        import json

        plain = [{"a": float(a), "label": labels[i * len(labels) // n]} for i, a in enumerate(frame["a"])]
        path.write_text("\n".join(json.dumps(record) for record in plain))
    compare(path, encode_to_disk(path, tmp_path / "out", target="label"), target="label")


def test_targets_that_are_refused(tmp_path) -> None:
    n = 400
    frame = pd.DataFrame({"a": np.random.default_rng(0).normal(size=n), "one": "x"})
    frame["measured"], frame["none"], frame["label"] = frame["a"] * 2, None, frame["a"] > 0
    frame.to_csv(tmp_path / "a.csv", index=False)
    for target, message in (("measured", "regression"), ("one", "only one class"), ("none", "no labels")):
        with pytest.raises(DataError, match=message):
            encode_to_disk(tmp_path / "a.csv", tmp_path / "out", target=target)
    assert not (tmp_path / "out").exists()


def test_columns_chosen_and_identifiers(tmp_path) -> None:
    frame = frame_of().assign(customerId=lambda f: np.random.default_rng(0).permutation(len(f)) * 17)
    path = written(frame, tmp_path / "t.csv")
    with pytest.warns(BayesfloorWarning, match="customerId"):
        assert "customerId" not in encode_to_disk(path, tmp_path / "a", target="label").features
    kept = encode_to_disk(path, tmp_path / "b", target="label", keep=["customerId", "size"])
    compare(path, kept, target="label", keep=["customerId", "size"])
    dropped = encode_to_disk(path, tmp_path / "c", target="label", drop=["customerId", "day"])
    compare(path, dropped, target="label", drop=["customerId", "day"])
    again = pickle.loads(pickle.dumps(dropped))
    np.testing.assert_array_equal(rows_of(again), rows_of(dropped))


def test_progress_and_penguins(tmp_path) -> None:
    told = []
    path = files("bayesfloor") / "data" / "penguins.csv"
    table = encode_to_disk(path, tmp_path, target="species", progress=lambda *what: told.append(what))
    compare(path, table, target="species")
    assert list(dict.fromkeys(stage for stage, _, _ in told)) == ["counting labels", "finding kinds", "encoding rows"]
    assert told[-1] == ("encoding rows", table.n_file_rows, table.n_file_rows)


@pytest.mark.parametrize("name", FORMATS)
def test_rows_are_counted_without_reading(tmp_path, name: str) -> None:
    path = written(frame_of(), tmp_path / name)
    assert n_rows_of(path) == (230 if name in ("t.parquet", "t.feather", "t.npy") else None)
    with pytest.raises(DataError, match="no file"):
        n_rows_of(tmp_path / "none.csv")


def test_arrays_stay_on_disk(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(table_file, "CHUNK_ROWS", 4)
    images = np.arange(10 * 2 * 3).reshape(10, 2, 3)
    records = np.array([(i, i / 2) for i in range(10)], dtype=[("a", "i4"), ("b", "f8")])
    for array, names in (
        (images, [f"column {j}" for j in range(6)]),
        (np.asfortranarray(images), [f"column {j}" for j in range(6)]),
        (np.array([list("ab")] * 10), ["column 0", "column 1"]),
        (records, ["a", "b"]),
    ):
        np.save(tmp_path / "a.npy", array)
        file = open_table(tmp_path / "a.npy")
        assert isinstance(file._file._array, np.memmap)
        assert list(file.names) == names
        parts = list(file.chunks(names[::-1]))
        assert [len(part) for part in parts] == [4, 4, 2]
        pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), file.frame(names[::-1]))
        expected = pd.DataFrame(array if array.dtype.names else array.reshape(10, -1))
        np.testing.assert_array_equal(file.frame(names).to_numpy(), expected.to_numpy())
    for wrong, message in ((np.arange(3), "shape"), (np.array(3), "shape"), (np.array([None]), "Python objects")):
        np.save(tmp_path / "b.npy", wrong, allow_pickle=True)
        with pytest.raises(DataError, match=message):
            open_table(tmp_path / "b.npy")
    np.save(tmp_path / "c.npy", np.empty((0, 3)))
    with pytest.raises(DataError, match="no rows"):
        read_table(tmp_path / "c.npy", target=-1)
    np.savez(tmp_path / "d.npz", images)
    (tmp_path / "d.npz").rename(tmp_path / "d.npy")
    with pytest.raises(DataError, match=r"name it \.npz"):
        open_table(tmp_path / "d.npy")


def test_stated_types_hold_in_every_part(tmp_path) -> None:
    frame = frame_of(700)[["size", "label"]].assign(
        zip=[f"{row % 7:05d}" if row % 2 else str(row % 7) for row in range(700)],
        day=[20240101 + row % 28 for row in range(700)],
    )
    path = written(frame, tmp_path / "t.csv")
    options = {"target": "label", "dtypes": {"zip": "categorical", "day": "date"}}
    whole = read_table(path, **options)
    table = encode_to_disk(path, tmp_path / "a", sample_rows=200, **options)
    assert table.features == whole.features
    np.testing.assert_array_equal(rows_of(table), whole.X)
    assert {"zip=00003", "zip=3"} <= set(table.features)
    with pytest.raises(DataError, match="no column 'zpi'"):
        encode_to_disk(path, tmp_path / "b", target="label", dtypes={"zpi": "text"})
