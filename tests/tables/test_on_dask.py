"""Dask frames encoded partition by partition: the numbers are those of the same frame in memory."""

import itertools
import pickle
from pathlib import Path

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from bayesfloor import BayesfloorWarning, DataError, DataTypeError, ParameterError
from bayesfloor.tables import on_disk
from bayesfloor.tables.on_dask import DaskTable, encode_on_dask
from bayesfloor.tables.table import Table, table_from_frame

UNEVEN = [0, 1, 40, 40, 43, 120, 230]  # one partition is empty


def ask(parts: list) -> tuple:
    return dask.compute(*parts, scheduler="synchronous")


def persist(parts: list) -> list:
    return list(dask.persist(*parts, scheduler="synchronous"))


def frame_of(n: int = 230) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    days = pd.Series(pd.date_range("2020-01-01", periods=n, freq="9h"))
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "gap": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "count": rng.integers(0, 9, n),
            "colour": rng.choice(["red", "green", "blue", "NA", ""], n),
            "kind": pd.Categorical(rng.choice(["u", "v", "NA"], n)),
            "rank": pd.Categorical(rng.choice(["low", "high"], n), ["low", "mid", "high"], ordered=True),
            "code": rng.choice(["01", "1", "u", "v", "w", "x", "y", "z"], n),
            "number": rng.choice(["1", "2.5", "NA", " 4 "], n),
            "city": [f"city {i * i % 97}" for i in range(n)],
            "flag": rng.random(n) < 0.5,
            "smokes": rng.choice(["yes", "No", "?"], n),
            "day": days.dt.strftime("%Y-%m-%d"),
            "stamp": days.mask(rng.random(n) < 0.2),
            "whole": pd.Series(rng.integers(0, 9, n), dtype="Int64").mask(rng.random(n) < 0.2),
            "void": np.full(n, np.nan),
            "label": np.array(["no", "yes"], dtype=object)[np.arange(n) % 2],
        }
    )
    return frame


def in_partitions(frame: pd.DataFrame, cuts: list[int]) -> dd.DataFrame:
    """Rows cut at these places; categories are those that a partition has."""
    parts = []
    for a, b in itertools.pairwise(cuts):
        part = frame.iloc[a:b]
        loose = [c for c in part if isinstance(part[c].dtype, pd.CategoricalDtype) and not part[c].cat.ordered]
        parts.append(dask.delayed(part.assign(**{c: part[c].cat.remove_unused_categories() for c in loose})))
    return dd.from_delayed(parts, meta=frame.iloc[:0], verify_meta=False)


def in_memory(frame: dd.DataFrame, **options) -> Table:
    return table_from_frame(frame.compute(scheduler="synchronous"), **options)


def gathered(table: DaskTable) -> tuple[np.ndarray, np.ndarray]:
    parts = dask.compute(*table.partitions, scheduler="threads")
    assert [len(X) for X, _ in parts] == [len(codes) for _, codes in parts] == table.sizes.tolist()
    for X, codes in parts:
        assert (X.dtype, codes.dtype) == (np.float64, np.int64)
    return np.concatenate([X for X, _ in parts]), np.concatenate([codes for _, codes in parts])


def compare(table: DaskTable, whole: Table) -> None:
    """The partitions hold what the frame in memory gives."""
    X, codes = gathered(table)
    assert table.features == whole.features
    np.testing.assert_array_equal(X, whole.X)
    np.testing.assert_array_equal(table.classes[codes], whole.y)
    assert table.classes.dtype == np.unique(whole.y).dtype
    np.testing.assert_array_equal(table.classes, np.unique(whole.y))
    assert table.columns == whole.columns
    assert [note for note in table.notes if not note.endswith("partitions are empty")] == list(whole.notes)
    if whole.groups is None:
        assert table.groups is None
    else:
        assert table.groups.dtype == np.int64
        np.testing.assert_array_equal(table.groups, whole.groups)
    if len(whole.y) == whole.n_file_rows:
        assert table.row_numbers is None
    else:
        np.testing.assert_array_equal(table.row_numbers, whole.rows - 1)


@pytest.mark.parametrize("cuts", [UNEVEN, [0, 230], [0, 0, 100, 230, 230]], ids=str)
@pytest.mark.parametrize("unlabelled", [[], [0, 3, 41, 42, 50]], ids=["all labelled", "gaps"])
def test_a_frame_no_larger_than_the_sample(cuts: list[int], unlabelled: list[int]) -> None:
    frame = frame_of()
    frame.loc[unlabelled, "label"] = None
    frame["who"] = ["a", "b", None, "c", "NA"] * 46
    there = in_partitions(frame, cuts)
    for options in (
        {"target": "label", "groups": "who"},
        {"target": -2, "drop": ["who", "size"]},
        {"target": "label", "keep": ["kind", "stamp", "colour"]},
    ):
        whole = in_memory(there, **options)
        compare(encode_on_dask(there, ask=ask, sample_rows=230, **options), whole)
    assert {column.kind for column in whole.columns} >= {"categorical", "date", "labels"}


def test_a_partition_in_which_no_row_has_a_label() -> None:
    frame = frame_of().drop(columns="city")
    frame.loc[40:119, "label"] = None
    there = in_partitions(frame, UNEVEN)
    compare(encode_on_dask(there, target="label", ask=ask), in_memory(there, target="label"))


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
        ["True", "False"],
        [2**60, 2**60 + 1],
        [pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01")],
        ["yes", "Yes", "no"],
    ],
    ids=str,
)
def test_labels_are_those_of_the_whole_frame(labels: list) -> None:
    n = 24
    frame = pd.DataFrame({"a": np.random.default_rng(0).normal(size=n)})
    frame["label"] = [labels[i * len(labels) // n] for i in range(n)]
    for column in (frame["label"], frame["label"].astype("category")):
        there = in_partitions(frame.assign(label=column), [0, 7, 8, 8, 24])
        whole = in_memory(there, target="label")
        compare(encode_on_dask(there, target="label", ask=ask), whole)


def test_categories_of_numbers_that_one_partition_lacks() -> None:
    frame = pd.DataFrame({"grade": pd.Categorical([1, 2, 3, 1] * 6), "label": np.arange(24) % 2})
    empty = frame[:8].assign(grade=pd.Categorical([None] * 8))
    there = dd.from_delayed([dask.delayed(empty), dask.delayed(frame[8:])], meta=frame.iloc[:0], verify_meta=False)
    whole = frame.assign(grade=frame["grade"].where(frame.index >= 8))
    compare(encode_on_dask(there, target="label", ask=ask), table_from_frame(whole, target="label"))


def test_names_that_are_no_text() -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3))).assign(**{"3": np.arange(40) % 2})
    there = dd.from_pandas(frame, npartitions=3)
    table = encode_on_dask(there, target=-1, ask=ask)
    assert table.features == ("0", "1", "2")
    compare(table, table_from_frame(frame, target=-1))


def test_frames_of_files(tmp_path: Path) -> None:
    frame = frame_of().drop(columns=["kind", "rank", "void"])
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=50)
    there = dd.read_parquet(tmp_path / "a.parquet", split_row_groups=1)
    assert there.npartitions > 1
    compare(encode_on_dask(there, target="label", ask=ask), in_memory(there, target="label"))


# --- frames larger than the sample ----------------------------------------------------------------------------


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list:
    """Row numbers, from 0, of every sample that is drawn."""
    rows: list = []
    learn = on_disk.learn_encoding
    monkeypatch.setattr(on_disk, "learn_encoding", lambda raw, keep: rows.append(raw.rows - 1) or learn(raw, keep))
    return rows


def test_the_sample_is_that_of_a_file(tmp_path: Path, drawn: list) -> None:
    frame = frame_of(700).drop(columns=["kind", "rank"])
    frame.loc[[0, 333], "label"] = None
    frame.to_parquet(tmp_path / "a.parquet")
    disk = on_disk.encode_to_disk(tmp_path / "a.parquet", tmp_path / "out", target="label", sample_rows=200)
    for cuts in ([0, 1, 300, 300, 700], [0, 700]):
        there = in_partitions(frame, cuts)
        table = encode_on_dask(there, target="label", ask=ask, persist=persist, sample_rows=200)
        X, codes = gathered(table)
        np.testing.assert_array_equal(X.ravel(), np.fromfile(disk.X_path, "<f8"))
        np.testing.assert_array_equal(codes, np.fromfile(disk.labels_path, "<i8"))
        assert any("found from 200 of 698 rows" in note for note in table.notes)
        notes = tuple(note for note in table.notes if not note.endswith("partitions are empty"))
        assert (table.columns, notes) == (disk.columns, disk.notes)
    assert all(len(rows) == 200 for rows in drawn)
    np.testing.assert_array_equal(drawn[0], drawn[2])


def test_other_rows_bring_news(drawn: list) -> None:
    frame = frame_of(700)[["size", "colour", "label"]]
    options = {"target": "label", "ask": ask, "sample_rows": 100}
    cuts = [0, 200, 600, 700]
    encode_on_dask(in_partitions(frame, cuts), **options)
    late = next(row for row in range(699, 0, -1) if row not in drawn[0])
    frame.loc[late, ["size", "colour"]] = [None, "violet"]
    table = encode_on_dask(in_partitions(frame, cuts), **options)
    cells = dict(zip(table.features, gathered(table)[0][late], strict=True))
    assert cells["size"] == np.median(frame["size"][drawn[1]])
    notes = encode_on_dask(in_partitions(frame, cuts), **options, persist=persist).notes
    assert any("did not have" in note and "'colour' 1" in note for note in notes)
    assert any("where those rows had none" in note and "'size' 1" in note for note in notes)
    frame["size"] = frame["size"].astype(object)
    frame.loc[late, "size"] = "tall"
    table = encode_on_dask(in_partitions(frame, cuts), **options)
    with pytest.raises(DataError, match=f"first text is 'tall' in row {late + 1}"):
        gathered(table)


def test_partitions_of_which_nothing_is_drawn_are_not_read_for_the_sample() -> None:
    frame = frame_of(230)[["size", "label"]]
    asked = []

    def count(parts: list) -> tuple:
        asked.append(len(parts))
        return ask(parts)

    there = in_partitions(frame, list(range(0, 231, 10)))
    encode_on_dask(there, target="label", ask=count, sample_rows=10)
    assert asked[0] == 23
    assert asked[1] <= 10


# --- what is sent, and what is refused ------------------------------------------------------------------------


def test_what_is_delayed_is_small_and_can_be_sent() -> None:
    frame = frame_of(4000).drop(columns=["city"])
    there = in_partitions(frame, [0, 2000, 4000])
    table = encode_on_dask(there, target="label", ask=ask, sample_rows=500)
    names = ("_encode", "_numbers", "Labels", "TableEncoding")
    own = [task for key, task in dict(table.partitions[0].__dask_graph__()).items() if str(key).startswith(names)]
    assert len(own) >= len(names)
    assert len(pickle.dumps(own)) < 20_000


def test_bad_input_is_refused_as_in_memory() -> None:
    frame = frame_of().assign(one="x", none=None, measured=lambda f: f["size"] * 2)
    frame["infinite"] = np.where(np.arange(230) == 50, np.inf, frame["size"])
    frame["mixed"] = np.where(np.arange(230) == 200, "tall", frame["size"].astype(str))
    there = in_partitions(frame, UNEVEN)
    usual = ["size", "colour"]
    for options in (
        {"target": "one", "keep": usual},
        {"target": "none", "keep": usual},
        {"target": "measured", "keep": usual},
        {"target": "lable", "keep": usual},
        {"target": 99, "keep": usual},
        {"target": None, "keep": usual},
        {"target": "label", "drop": ["label"], "keep": usual},
        {"target": "label", "groups": "label", "keep": usual},
        {"target": "label", "keep": ["infinite"]},
        {"target": "label", "keep": ["mixed"]},
        {"target": "label", "keep": ["void"]},
    ):
        with pytest.raises((DataError, ParameterError)) as told:
            in_memory(there, **options)
        with pytest.raises(type(told.value)) as here:
            encode_on_dask(there, ask=ask, **options)
        assert str(here.value) == str(told.value)
    with pytest.raises(DataError, match="frame has column names but no rows"):
        encode_on_dask(in_partitions(frame[:0], [0, 0, 0]), target="label", ask=ask)
    with pytest.raises(DataTypeError, match="a Dask frame is needed, got DataFrame"):
        encode_on_dask(frame, target="label", ask=ask)
    for bad in (1, True, 2.5):
        with pytest.raises(ParameterError, match="sample_rows"):
            encode_on_dask(there, target="label", ask=ask, sample_rows=bad)


def test_identifiers_are_left_out_with_a_warning() -> None:
    frame = frame_of()[["size", "label"]].assign(customerId=np.random.default_rng(0).permutation(230) * 17)
    there = in_partitions(frame, UNEVEN)
    with pytest.warns(BayesfloorWarning, match="customerId"):
        assert encode_on_dask(there, target="label", ask=ask).features == ("size",)
    kept = encode_on_dask(there, target="label", ask=ask, keep=["customerId", "size"])
    assert kept.features == ("size", "customerId")


def test_ordered_categories_must_agree() -> None:
    frame = frame_of()[["rank", "label"]]
    other = frame.assign(rank=frame["rank"].cat.reorder_categories(["high", "mid", "low"]))
    there = dd.from_delayed([dask.delayed(frame), dask.delayed(other)], meta=frame.iloc[:0], verify_meta=False)
    with pytest.raises(DataError, match="'rank' has ordered categories that differ between partitions"):
        encode_on_dask(there, target="label", ask=ask)


def test_a_frame_that_changes_is_refused() -> None:
    frame = frame_of()[["size", "label"]]
    n_reads = []

    def cut(part: pd.DataFrame) -> pd.DataFrame:
        n_reads.append(1)
        return part if len(n_reads) <= 1 else part.iloc[:-1]

    there = in_partitions(frame, [0, 230]).map_partitions(cut, meta=frame.iloc[:0])
    with pytest.raises(DataError, match="'label' changed while"):
        encode_on_dask(there, target="label", ask=ask)


def test_empty_partitions_are_told() -> None:
    table = encode_on_dask(in_partitions(frame_of(), [0, 0, 100, 230, 230]), target="label", ask=ask)
    assert table.notes[-1] == "2 of 4 partitions are empty"
    assert table.n_rows == 230


def test_stated_types_hold_in_every_partition() -> None:
    frame = frame_of()[["size", "label"]].assign(grade=np.arange(230) % 5, day=20240101 + np.arange(230) % 28)
    there = in_partitions(frame, UNEVEN)
    options = {"target": "label", "dtypes": {"grade": "categorical", "day": "date"}}
    whole = table_from_frame(frame, **options)
    table = encode_on_dask(there, ask=ask, **options)
    assert table.features == whole.features
    np.testing.assert_array_equal(np.concatenate([part[0] for part in ask(table.partitions)]), whole.X)
