"""Files and frames: every format gives the same table, every kind of column its numbers, every fault its message."""

import csv
import datetime
import gzip
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from bayesfloor import BayesfloorWarning, DataError, DataTypeError, ParameterError, frames
from bayesfloor.floor._estimate import estimate
from bayesfloor.report.page import _number_rows
from bayesfloor.tables import open as table_files
from bayesfloor.tables.selection import draw_by_class, rows_at_places
from bayesfloor.tables.table import Table, as_arrays, read_table, table_from_frame

HOSTILE = "<script>alert(1)</script>"


def frame_of(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "count": rng.integers(0, 9, n),
            "colour": np.array(["red", "green", "blue"])[rng.integers(0, 3, n)],
            "home": np.array(["own", "rent"])[rng.integers(0, 2, n)],
            "label": np.array(["no", "yes"])[np.arange(n) % 2],
        }
    )


@pytest.fixture
def frame() -> pd.DataFrame:
    return frame_of()


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def to_arff(frame: pd.DataFrame) -> str:
    lines = ["% made by hand", "@relation 'a table'"]
    for name in frame:
        levels = "{" + ",".join(f"'{v}'" for v in sorted(frame[name].unique())) + "}"
        lines.append(f"@attribute '{name}' {'NUMERIC' if frame[name].dtype.kind in 'if' else levels}")
    lines.append("@data")
    lines += [",".join(repr(v) if isinstance(v, str) else repr(float(v)) for v in row) for row in frame.values.tolist()]
    return "\n".join(lines) + "\n"


# --- formats ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["t.csv", "t.tsv", "t.csv.gz", "t.parquet", "t.feather", "t.arrow", "t.arff", "t.jsonl", "t.ndjson.gz"]
)
@pytest.mark.parametrize("max_rows", [None, 20])
def test_every_format_gives_the_same_table(tmp_path, frame, name: str, max_rows) -> None:
    path = tmp_path / name
    if name.startswith(("t.csv", "t.tsv")):
        frame.to_csv(path, index=False, sep="\t" if "tsv" in name else ",")
    elif name == "t.parquet":
        frame.to_parquet(path, row_group_size=7)
    elif name == "t.feather":
        frame.to_feather(path)
    elif name == "t.arrow":  # the stream format
        import pyarrow as pa

        with pa.ipc.new_stream(path, pa.Table.from_pandas(frame).schema) as stream:
            stream.write_table(pa.Table.from_pandas(frame), max_chunksize=11)
    elif name == "t.arff":
        path.write_text(to_arff(frame))
    else:
        frame.to_json(path, orient="records", lines=True, double_precision=15)
    table = read_table(path, target="label", max_rows=max_rows)
    expected = table_from_frame(frame, target="label", max_rows=max_rows)
    assert table.name == name
    assert table.features == expected.features
    np.testing.assert_allclose(table.X, expected.X, rtol=1e-12)
    np.testing.assert_array_equal(table.y, expected.y)
    np.testing.assert_array_equal(table.rows, expected.rows)
    assert len(table.y) == (max_rows or len(frame))
    np.testing.assert_array_equal(table.y, frame["label"][table.rows - 1])


def test_arrays(tmp_path) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    np.savez(tmp_path / "a.npz", X=X, y=y, groups=np.arange(40) // 4, feature_names=np.array(["u", "v", "w"]))
    table = read_table(tmp_path / "a.npz")
    assert table.features == ("u", "v", "w")
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.y, y)
    grouped = read_table(tmp_path / "a.npz", groups="groups")
    np.testing.assert_array_equal(grouped.groups, np.arange(40) // 4)
    np.save(tmp_path / "b.npy", np.column_stack([X, y]))
    np.savez(tmp_path / "c.npz", np.column_stack([X, y]))
    for name in ("b.npy", "c.npz"):
        one = read_table(tmp_path / name, target=-1)
        np.testing.assert_array_equal(one.X, X)
        assert one.y.dtype.kind == "i"
    np.savez(tmp_path / "images.npz", X=rng.integers(0, 255, (40, 4, 4)), y=y)
    assert read_table(tmp_path / "images.npz").X.shape == (40, 16)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_encodings_and_delimiters(tmp_path, encoding: str, delimiter: str) -> None:
    lines = ["größe,stadt,label"] + [
        f"{i}.25,{'Köln' if i % 3 else 'Münster'},{'ja' if i % 2 else 'nein'}" for i in range(20)
    ]
    path = write(tmp_path / "a.csv", "\n".join(lines).replace(",", delimiter) + "\n", encoding)
    table = read_table(path, target="label")
    assert table.features == ("größe", "stadt=Münster")
    assert table.X[1].tolist() == [1.25, 0.0]
    assert any("Latin-1" in note for note in table.notes) == (encoding == "latin-1")


def test_a_late_byte_decides_the_encoding(tmp_path) -> None:
    lines = ["a,label"] + [f"{i},{'x' if i % 2 else 'y'}" for i in range(30_000)] + ["1,ü", "2,ü"]
    table = read_table(write(tmp_path / "a.csv", "\n".join(lines), "latin-1"), target="label")
    assert "ü" in table.y


def test_decimal_commas_quotes_and_missing_headers(tmp_path) -> None:
    path = write(tmp_path / "a.csv", "a;label\n1,5;x\n2,5;y\n3,5;x\n4;y\n")
    assert read_table(path, target="label").X[:, 0].tolist() == [1.5, 2.5, 3.5, 4.0]
    path = write(tmp_path / "b.csv", 'a,"label, please"\n1,"x, or ""z"""\n2,y\n3,"x, or ""z"""\n5,y\n')
    assert read_table(path, target="label, please").y[0] == 'x, or "z"'
    path = write(tmp_path / "c.csv", "5.1,3.5,setosa\n4.9,3.0,other\n5.1,3.2,setosa\n")
    table = read_table(path, target=-1)
    assert (len(table.y), table.features) == (3, ("column 0", "column 1"))
    assert any("looks like data, not like names" in note for note in table.notes)
    path = write(tmp_path / "d.csv", "0,1,2\n5.1,3.5,setosa\n4.9,3.0,other\n")
    assert len(read_table(path, target="2").y) == 2


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize(
    ("above", "names"),
    [
        ("# made by hand\n# units: m, s, none\nx,k,label\n", ("x", "k", "label")),
        ("# it's \"odd\n\n# 1,2\nx,k,label\n", ("x", "k", "label")),
        ("#x,k,label\n", ("x", "k", "label")),
        ("# x,k,label\n", ("x", "k", "label")),
        ("# made by hand, today\n#x, k, label\n", ("x", "k", "label")),
        ("# made by hand\n", ("column 0", "column 1", "column 2")),
        ("\nx,k,label\n", ("x", "k", "label")),
    ],
)
def test_comments_above_a_table(tmp_path, above: str, names: tuple, encoding: str) -> None:
    body = "".join(f"{row / 3},{row % 7},{'ab'[row % 2]}\n" for row in range(300))
    path = write(tmp_path / "a.csv", above + body, encoding)
    for max_rows in (None, 100):
        table = read_table(path, target=-1, max_rows=max_rows)
        assert (table.features, table.target, table.n_file_rows) == (names[:2], names[2], 300)
        np.testing.assert_allclose(table.X[:, 0], (table.rows - 1) / 3)


def test_what_begins_with_a_hash_may_be_data(tmp_path) -> None:
    rows = "".join(f"#{row % 5}f,{row / 3},{'ab'[row % 2]}\n" for row in range(40))
    table = read_table(write(tmp_path / "a.csv", rows), target=-1)
    assert (table.n_file_rows, table.features[0]) == (40, "column 0=#0f")
    table = read_table(write(tmp_path / "b.csv", "colour,x,label\n" + rows), target="label")
    assert (table.n_file_rows, table.features[0]) == (40, "colour=#0f")
    with refused("line 4 has 4 fields"):
        read_table(write(tmp_path / "c.csv", "# one\n# two\nx,k,label\n1,2,a,b\n1,2,a\n"), target="label")


def test_target_by_name_or_position(frame) -> None:
    assert table_from_frame(frame, target=-1).target == "label"
    assert table_from_frame(frame, target="-1").target == "label"
    assert table_from_frame(frame, target="2").target == "colour"
    renamed = frame.rename(columns={"home": "2"})
    assert table_from_frame(renamed, target="2").target == "2"
    assert table_from_frame(renamed, target=2).target == "2", "a name comes before a position"


def test_arff_details(tmp_path) -> None:
    text = (
        "@RELATION r\n@attribute 'it''s' real\n".replace("''", "\\'")
        + "@attribute grade {1, 2 ,3}\n@attribute when date yyyy-MM-dd\n@attribute c {'a, b', c}\n@data\n"
        + "".join(
            f"{i / 2},{i % 3 + 1},2020-01-{i + 1:02d},{chr(39)}a, b{chr(39)}\n?, ?,2020-02-{i + 1:02d},c\n"
            for i in range(9)
        )
    )
    table = read_table(write(tmp_path / "a.arff", text), target="c")
    kinds = {column.name: column.kind for column in table.columns}
    assert kinds == {"it's": "numeric", "grade": "categorical", "when": "date", "c": "labels"}
    assert set(table.y) == {"a, b", "c"}
    assert table.X[:, table.features.index("it's missing")].sum() == 9


def test_old_line_ends_and_long_cells(tmp_path) -> None:
    for end in ("\r", "\r\n", "\n"):
        path = tmp_path / "ends.csv"
        path.write_bytes(f"a;label{end}1.5;x{end}2.5;y{end}3.5;x{end}".encode())
        for max_rows in (None, 2):
            table = read_table(path, target="label", max_rows=max_rows)
            assert (table.features, table.n_file_rows) == (("a",), 3)
    cells = ["x" * 200_000, "y"]
    path = write(
        tmp_path / "long.csv", "a,b,label\n" + "".join(f"{i},{cells[i % 2]},{'uv'[i % 2]}\n" for i in range(6))
    )
    before = csv.field_size_limit()
    assert len(read_table(path, target="label").y) == 6
    assert csv.field_size_limit() == before
    with refused("no regular table"), pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv, "field_size_limit", lambda *_: 0)
        read_table(path, target="label")


def test_windows_text(tmp_path) -> None:
    text = "price,label\n" + "1,\u201ehigh\u201c\n2,5 \u20ac\n" * 10
    table = read_table(write(tmp_path / "a.csv", text, "cp1252"), target="label")
    assert set(table.y) == {"\u201ehigh\u201c", "5 \u20ac"}
    assert any("Windows-1252" in note for note in table.notes)
    (tmp_path / "b.csv").write_bytes(text.encode("cp1252").replace(b"\x80", b"\x81"))
    assert any(note.endswith("read as Latin-1") for note in read_table(tmp_path / "b.csv", target="label").notes)


def test_thousands_are_no_decimals(tmp_path) -> None:
    path = write(tmp_path / "a.csv", "price;label\n" + "5,027;x\n-12,250;y\n" * 9)
    table = read_table(path, target="label")
    assert table.X[:2, 0].tolist() == [5027, -12250]
    assert "'price': commas taken for separators of thousands" in table.notes
    path = write(tmp_path / "b.csv", "price;label\n" + "5,027;x\n12,25;y\n" * 9)
    assert read_table(path, target="label").X[:2, 0].tolist() == [5.027, 12.25]
    path = write(tmp_path / "c.csv", "price;label\n" + "0,125;x\n0,250;y\n" * 9)
    assert read_table(path, target="label").X[:2, 0].tolist() == [0.125, 0.25]


# --- kinds of columns ---------------------------------------------------------------------------------------


def kinds(table: Table) -> dict:
    return {column.name: column.kind for column in table.columns if column.use != "target"}


def test_kinds_of_columns(frame) -> None:
    n = len(frame)
    frame["flag"] = frame["size"] > 0
    frame["maybe"] = pd.Series(["True", "False", None] * (n // 3), dtype=object)
    frame["day"] = [f"2021-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(n)]
    frame["stamp"] = pd.date_range("2021-01-01", periods=n, freq="7h")
    frame["rank"] = pd.Categorical(["low", "mid", "high"] * (n // 3), ["low", "mid", "high"], ordered=True)
    frame["text number"] = [str(i % 7) for i in range(n)]
    table = table_from_frame(frame, target="label")
    assert kinds(table) == {
        "size": "numeric",
        "count": "numeric",
        "colour": "categorical",
        "home": "categorical",
        "flag": "boolean",
        "maybe": "boolean",
        "day": "date",
        "stamp": "date",
        "rank": "categorical",
        "text number": "numeric",
    }
    by_name = dict(zip(table.features, table.X.T, strict=True))
    np.testing.assert_array_equal(by_name["home=rent"], frame["home"] == "rent")
    assert "home=own" not in by_name
    for colour in ("red", "green", "blue"):
        np.testing.assert_array_equal(by_name[f"colour={colour}"], frame["colour"] == colour)
    np.testing.assert_array_equal(by_name["rank"], np.arange(n) % 3)
    assert by_name["stamp (days)"][1] - by_name["stamp (days)"][0] == pytest.approx(7 / 24)
    np.testing.assert_array_equal(by_name["stamp (hour)"], frame["stamp"].dt.hour)
    assert "day (hour)" not in by_name, "a part that does not vary is no feature"
    assert np.isfinite(table.X).all()
    assert "colour" in str(table)
    assert "no: 30, yes: 30" in str(table)


def test_many_levels_become_thirty_columns(frame) -> None:
    levels = [f"c{i:02d}" for i in range(40) for _ in range(i + 1)]
    big = pd.DataFrame({"city": levels, "label": np.arange(len(levels)) % 2})
    table = table_from_frame(big, target="label")
    assert len(table.features) == 30
    assert table.features[-1] == "city other"
    np.testing.assert_array_equal(table.X.sum(axis=1), 1)
    assert table.X[:, -1].sum() == sum(range(1, 12)), "the eleven rarest"
    assert any("29 most frequent" in note for note in table.notes)


def test_missing_values(tmp_path) -> None:
    words = ["", "NA", "N/A", "NaN", "null", "None", "?"]
    rows = [f"{i},{'uvw'[i % 3]},{i % 2}" for i in range(14)] + [f"{word},{word},1" for word in words]
    table = read_table(write(tmp_path / "a.csv", "a,b,label\n" + "\n".join(rows)), target="label", keep=["a", "b"])
    assert table.features == ("a", "a missing", "b=u", "b=v", "b=w", "b missing")
    np.testing.assert_array_equal(table.X[14:, 0], 6.5)  # the median
    np.testing.assert_array_equal(table.X[:, 1], [0] * 14 + [1] * 7)
    np.testing.assert_array_equal(table.X[:, 5], table.X[:, 1])
    assert any("33.3%" in note and "'a'" in note for note in table.notes)


def test_columns_that_say_nothing_are_left_out(frame) -> None:
    frame["same"], frame["void"], frame["words"] = 7, None, "x"
    table = table_from_frame(frame, target="label")
    left = {column.name: column.note for column in table.columns if column.use == "left out"}
    assert left == {"same": "constant", "void": "no values", "words": "constant"}
    assert any("'same' (constant)" in note for note in table.notes)


def test_identifiers_are_left_out_with_a_warning(frame) -> None:
    n = len(frame)
    frame["customerId"] = np.random.default_rng(0).permutation(n) * 17
    frame["code"] = [f"A{i}" for i in range(n)]
    frame["number"] = np.arange(n) + 1000
    frame["weight"] = np.random.default_rng(0).permutation(n) * 3
    told = (
        "'customerId', 'code', 'number' look like identifiers.*"
        "to use numbers anyway: --numeric customerId,number .in Python dtypes"
    )
    with pytest.warns(BayesfloorWarning, match=told):
        table = table_from_frame(frame, target="label")
    assert {n for n, kind in kinds(table).items() if kind == "identifier"} == {"customerId", "code", "number"}
    assert {"size", "weight"} < set(table.features), "numbers that differ in every row are ordinary"
    assert table_from_frame(frame, target="label", keep=["customerId", "size"]).features == ("size", "customerId")
    table = table_from_frame(
        frame.assign(patient_id=np.arange(n) // 2 * 7), target="label", drop="customerId,code,number"
    )
    assert any("'patient_id'" in note and "belong together" in note for note in table.notes)


def test_an_identifier_shows_in_a_sample_too(tmp_path, frame) -> None:
    frame.insert(0, "", np.arange(60))
    frame.to_csv(tmp_path / "a.csv", index=False)
    with pytest.warns(BayesfloorWarning, match="unnamed 0"):
        table = read_table(tmp_path / "a.csv", target="label", max_rows=30)
    assert "unnamed 0" not in table.features


def test_rows_without_label_are_dropped_and_counted(frame) -> None:
    frame.loc[[0, 5], "label"] = [None, "?"]
    for max_rows in (None, 50):
        table = table_from_frame(frame, target="label", max_rows=max_rows)
        assert "2 of 60 rows without a label dropped" in table.notes
        assert not {1, 6} & set(table.rows), "rows are numbered from 1"
    assert table.n_file_rows == 60


def test_drop_keep_and_groups(frame) -> None:
    frame["clinic"] = ["a", "b", "c", None] * 15
    table = table_from_frame(frame, target="label", drop=["colour"], groups="clinic")
    assert table.features == ("size", "count", "home=rent")
    assert len(set(table.groups[np.arange(60) % 4 == 0])) == 1
    assert len(set(table.groups)) == 3 + 15, "a row without a group stands alone"
    assert table_from_frame(frame, target="label", keep=["size"]).features == ("size",)
    for options, message in (
        ({"drop": ["label"]}, "is the target"),
        ({"groups": "label"}, "is the target"),
        ({"drop": ["siez"]}, "'siez' .drop.: did you mean 'size'"),
        ({"keep": ["label"]}, "no column of frame is left"),
    ):
        with pytest.raises((DataError, ParameterError), match=message):
            table_from_frame(frame, target="label", **options)


@pytest.mark.parametrize("max_rows", [None, 24])
@pytest.mark.parametrize("word", ["None"])
@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
def test_words_can_be_classes(tmp_path, name: str, word: str, max_rows) -> None:
    frame = pd.DataFrame({"a": np.arange(32) / 3, "b": [word, "x"] * 16, "t": [word, "mild", "severe", ""] * 8})
    write_as(frame, tmp_path / name)
    table = read_table(tmp_path / name, target="t", max_rows=max_rows)
    assert set(table.y) == {word, "mild", "severe"}
    assert len(table.y) == 24
    assert "8 of 32 rows without a label dropped" in table.notes
    assert any(f"the label '{word}' of 't' is taken for a class (8 rows)" in note for note in table.notes)
    assert "b missing" in table.features or {c.name: c.note for c in table.columns}["b"] == "constant"
    share = next(line for line in str(table).splitlines() if line.startswith("t "))
    assert "25.0%" in share, "of the rows of the file"


def write_as(frame: pd.DataFrame, path) -> None:
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_parquet(path)


@pytest.mark.parametrize("max_rows", [None, 20])
def test_words_among_numbers_are_missing(tmp_path, max_rows) -> None:
    path = write(
        tmp_path / "a.csv", "a,t,u\n" + "".join(f"{i / 3},{['0', '1', 'NA'][i % 3]},{i % 2}\n" for i in range(30))
    )
    table = read_table(path, target="t", max_rows=max_rows)
    assert (set(table.y.tolist()), len(table.y)) == ({0, 1}, 20)


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
@pytest.mark.parametrize("max_rows", [None, 9])
def test_huge_labels_stay_apart(tmp_path, name: str, max_rows) -> None:
    first, second = 2**60, 2**60 + 1
    frame = pd.DataFrame({"a": np.arange(12) / 3, "t": pd.array([first, second, None] * 4, dtype="Int64")})
    write_as(frame, tmp_path / name)
    table = read_table(tmp_path / name, target="t", max_rows=max_rows)
    assert set(table.y.tolist()) == {first, second}
    assert set(table_from_frame(frame[["a"]], y=[first, second, None] * 4).y.tolist()) == {first, second}


def test_labels_of_a_text_file(tmp_path) -> None:
    def labels(*values: str) -> list:
        lines = "".join(f"{i / 3},{value}\n" for i, value in enumerate(values * 3))
        return sorted(set(read_table(write(tmp_path / "a.csv", "a,t\n" + lines), target="t").y.tolist()))

    assert labels("01", "1", "2") == ["01", "1", "2"]
    assert labels("1", "0", "") == [0, 1]
    assert labels("1.0", "0.0") == [0, 1]
    assert labels("0.5", "1.5") == [0.5, 1.5]
    assert labels("true", "FALSE") == [False, True]
    assert labels("10000000000000000000000001", "10000000000000000000000002") == [
        "10000000000000000000000001",
        "10000000000000000000000002",
    ]
    assert labels("yes", "no") == ["no", "yes"]


def test_labels_that_look_alike_are_noted(frame) -> None:
    frame.loc[:9, "label"] = "Yes"
    frame.loc[10:19, "label"] = "y es"
    notes = table_from_frame(frame, target="label").notes
    assert any("differ only by case, spaces or" in note and "'Yes' and 'y es' and 'yes'" in note for note in notes)
    frame["label"] = ["caf\u00e9", "cafe\u0301"] * 30
    notes = table_from_frame(frame, target="label").notes
    assert any("or Unicode normalisation" in note and r"'cafe\u0301' and 'caf\xe9'" in note for note in notes)


def test_yes_and_no_are_truth_values(frame) -> None:
    frame["smokes"] = ["Yes", "no", "Y", "N"] * 15
    frame["state"] = ["t", "f", "n"] * 20
    table = table_from_frame(frame, target="label")
    assert kinds(table)["smokes"] == "boolean"
    np.testing.assert_array_equal(table.X[:, table.features.index("smokes")], [1, 0, 1, 0] * 15)
    assert kinds(table)["state"] == "categorical", "n is not the same as f"


def test_labels_keep_their_kind() -> None:
    def labels(values):
        rows = np.arange(len(values)) * 0.5
        return table_from_frame(pd.DataFrame({"a": rows, "t": values}), target="t").y

    assert labels([1.0, 0.0, np.nan, 1.0]).tolist() == [1, 0, 1]
    assert labels([True, False, None, True]).tolist() == [True, False, True]
    assert labels([0.5, 1.5, 0.5, 1.5]).tolist() == [0.5, 1.5, 0.5, 1.5]
    assert labels(pd.Categorical(["x", "y", None, "x"])).tolist() == ["x", "y", "x"]
    assert labels(["1", "x", "1", "x"]).tolist() == ["1", "x", "1", "x"]
    assert labels([HOSTILE, "b", HOSTILE, "b"]).tolist() == [HOSTILE, "b", HOSTILE, "b"]


# --- what columns are said to be ----------------------------------------------------------------------------


def tickets(n: int = 200) -> pd.DataFrame:
    """Like those of the Titanic: most are numbers, shared by a few; others have letters before the number."""
    rng = np.random.default_rng(0)
    number = rng.integers(100_000, 400_000, 90)[rng.integers(0, 90, n)]
    ticket = [f"PC {value}" if value % 4 == 0 else str(value) for value in number.tolist()]
    return pd.DataFrame({"ticket": ticket, "deck": ["1", "2", "B", "B", "5"] * (n // 5), "label": np.arange(n) % 2})


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet", "t.arff", "frame", "string", "polars"])
def test_numbers_and_text_mixed_become_categories(tmp_path, name: str) -> None:
    frame = tickets()
    if name == "frame":
        table = table_from_frame(frame, target="label")
    elif name == "string":
        table = table_from_frame(frame.astype({"ticket": "string", "deck": "string"}), target="label")
    elif name == "polars":
        table = table_from_frame(pl.DataFrame({column: frame[column].to_list() for column in frame}), target="label")
    elif name == "t.arff":
        lines = [",".join(f"'{cell}'" for cell in row) for row in frame.astype(str).to_numpy().tolist()]
        head = "@relation t\n@attribute ticket string\n@attribute deck string\n@attribute label {0,1}\n@data\n"
        table = read_table(write(tmp_path / name, head + "\n".join(lines)), target="label")
    else:
        write_as(frame, tmp_path / name)
        table = read_table(tmp_path / name, target="label")
    assert kinds(table) == {"ticket": "categorical", "deck": "categorical"}
    assert [feature for feature in table.features if "deck" in feature] == ["deck=1", "deck=2", "deck=5", "deck=B"]
    assert "'deck': 4 levels; mixes numbers and text, taken for categories" in table.notes
    assert any(note.startswith("'ticket': ") and "mixes numbers and text" in note for note in table.notes)


def test_a_declared_type_is_honoured(tmp_path) -> None:
    values = ["tall" if row % 3 == 2 else f"{row / 7:.2f}" for row in range(60)]  # refused where nothing is declared
    frame = pd.DataFrame({"a": values, "grade": np.arange(60) % 5, "label": np.arange(60) % 2})
    declared = frame.astype({"a": "string", "grade": "category"})
    declared.drop(columns="grade").to_parquet(tmp_path / "t.parquet")  # which does not keep categories that are numbers
    assert kinds(read_table(tmp_path / "t.parquet", target="label")) == {"a": "categorical"}
    declared.to_feather(tmp_path / "t.feather")
    arff = "@relation t\n@attribute a string\n@attribute grade {0,1,2,3,4}\n@attribute label {0,1}\n@data\n"
    lines = [",".join(map(str, row)) for row in frame.to_numpy().tolist()]
    write(tmp_path / "t.arff", arff + "\n".join(lines))
    for table in (
        table_from_frame(declared, target="label"),
        *(read_table(tmp_path / name, target="label") for name in ("t.feather", "t.arff")),
    ):
        assert kinds(table) == {"a": "categorical", "grade": "categorical"}
        assert "grade=3" in table.features
    digits = pd.DataFrame({"a": pd.array(["1", "2", "7"] * 20, dtype="string"), "label": np.arange(60) % 2})
    assert kinds(table_from_frame(digits, target="label")) == {"a": "numeric"}


STATED = {"zip": "categorical", "words": "text", "amount": "numeric", "when": "date", "id": "numeric"}


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet", "frame"])
@pytest.mark.parametrize("max_rows", [None, 50])
def test_stated_types(tmp_path, name: str, max_rows) -> None:
    frame = pd.DataFrame(
        {
            "zip": ["02134", "2134", "10001", None] * 15,
            "words": ["red", "blue"] * 30,
            "amount": [f"{row}" for row in range(60)],
            "when": [f"202401{1 + row % 28:02d}" for row in range(60)],
            "id": np.arange(60) * 3,
            "label": np.arange(60) % 2,
        }
    )
    options = {"target": "label", "dtypes": STATED, "max_rows": max_rows}
    if name == "frame":
        table = table_from_frame(frame, **options)
    else:
        write_as(frame, tmp_path / name)
        table = read_table(tmp_path / name, **options)
    found = {"zip": "categorical", "words": "text", "amount": "numeric", "when": "date", "id": "numeric"}
    assert kinds(table) == found
    assert {"zip=02134", "zip=10001", "zip=2134", "zip missing", "id", "when (days)"} <= set(table.features)
    assert table.sparse is not None
    assert table.X[:, table.features.index("when (days)")].min() == pd.Timestamp("2024-01-01").timestamp() / 86400
    assert "'id': stated numeric" in table.notes


def test_stated_numbers_are_categories_by_their_value() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, np.nan, 3.0] * 15, "b": [0.5, 1.5] * 30, "label": np.arange(60) // 30})
    table = table_from_frame(frame, target="label", dtypes={"a": "categorical", "b": "categorical"})
    assert table.features == ("a=1", "a=2", "a=3", "a missing", "b=1.5")
    result = estimate(frame, target="label", dtypes={"a": "text"}, effort="fast", n_jobs=1)
    assert "'a': words, pairs of words, runs of characters; stated text" in result.notes


def test_values_that_are_not_what_is_stated(frame) -> None:
    frame["mixed"] = ["3", "4", "soon", "?"] * 15
    for stated, message in (
        (
            {"mixed": "numeric"},
            "'mixed' is stated to hold numbers, but 15 of its values are none, the first 'soon' in row 3",
        ),
        ({"mixed": "date"}, "'mixed' is stated to hold dates, but 45 of its values are none, the first '3' in row 1"),
        ({"siez": "numeric"}, "no column 'siez' .dtypes, --numeric.: did you mean 'size'"),
        ({"size": "number"}, "dtypes must be a mapping of columns to 'categorical'.*; got 'number' for 'size'"),
        ({"label": "text"}, "'label' is the target"),
        (["size"], "dtypes must be a mapping"),
    ):
        with refused(message):
            table_from_frame(frame, target="label", dtypes=stated)
    table = table_from_frame(frame, target="label")
    assert kinds(table)["mixed"] == "categorical"
    for rows in (table, np.zeros((60, 2)), frame[["size"]].to_numpy().tolist()):
        with refused("dtypes"):
            estimate(rows, None if rows is table else frame["label"], dtypes={"size": "numeric"})


# --- time zones ---------------------------------------------------------------------------------------------


def test_times_with_and_without_a_zone_are_not_mixed(tmp_path) -> None:
    naive = [pd.Timestamp("2024-01-01 10:00") + pd.Timedelta(hours=row) for row in range(60)]
    half = [time if row % 2 else time.tz_localize("UTC") for row, time in enumerate(naive)]
    message = (
        "column 'when' mixes times with and without a time zone .'2024-01-01 10:00:00.00:00' in row 1 and "
        "'2024-01-01 11:00:00' in row 2.: give all of them a zone, or none"
    )
    frame = pd.DataFrame(
        {"size": np.arange(60) ** 2.0, "when": pd.Series(half, dtype=object), "label": np.arange(60) % 2}
    )
    python = frame.assign(when=pd.Series([time.to_pydatetime() for time in half], dtype=object))
    text = frame.assign(when=[str(time) for time in half])
    for mixed in (frame, python, text):
        with refused(message):
            table_from_frame(mixed, target="label")
    for name in ("t.csv", "t.jsonl", "t.parquet"):
        write_as(text, tmp_path / name)
        for max_rows in (None, 40):
            with refused("'when' mixes times with and without a time zone"):
                read_table(tmp_path / name, target="label", max_rows=max_rows)
    with refused("'when' mixes times"):
        estimate(frame, target="label", effort="fast")


def test_times_of_several_zones_are_compared_in_utc() -> None:
    start = pd.Timestamp("2024-01-01 10:00", tz="UTC")
    times = [(start + pd.Timedelta(hours=row)).tz_convert("Asia/Tokyo" if row % 2 else "UTC") for row in range(60)]
    days = [time.timestamp() / 86400 for time in times]
    for column in (
        pd.Series(times, dtype=object),
        [time.isoformat() for time in times],
        pd.Series([*times[:-1], None]),
    ):
        table = table_from_frame(pd.DataFrame({"when": column, "label": np.arange(60) % 2}), target="label")
        assert kinds(table) == {"when": "date"}
        np.testing.assert_allclose(table.X[:59, 0], days[:59], rtol=0, atol=1e-9)


def test_hostile_names_stay_text(tmp_path) -> None:
    names = [HOSTILE, "a\x1b[31m", "=1+1", "'; drop table", "né 名前"]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(20, 5)), columns=names).assign(label=[HOSTILE, "b"] * 10)
    frame.to_csv(tmp_path / "a.jsonl.csv", index=False)
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    for path in (tmp_path / "a.jsonl.csv", tmp_path / "a.jsonl"):
        table = read_table(path, target="label")
        assert table.features == tuple(names)
        assert "\x1b" not in str(table)


# --- what is refused ----------------------------------------------------------------------------------------


def refused(match: str):
    return pytest.raises((DataError, ParameterError), match=match)


def test_files_that_are_no_tables(tmp_path) -> None:
    cases = {
        "empty.csv": (b"", "empty.csv is empty"),
        "blank.csv": (b"\n\n \n", "blank.csv is empty"),
        "header.csv": (b"a,label\n", "column names but no rows"),
        "rubbish.csv": (np.random.default_rng(0).bytes(5000), "no text file"),
        "book.csv": (b"PK\x03\x04abc", "Excel"),
        "cut.parquet": (b"PAR1abcdef", "no Parquet file, or it is cut short"),
        "cut.feather": (b"ARROW1\0\0abc", "no Feather or Arrow file"),
        "cut.npz": (b"PK\x03\x04abc", "numpy arrays"),
        "words.npy": (b"hello", "numpy arrays"),
        "cut.csv.gz": (gzip.compress(b"a,label\n" + b"1,x\n" * 9999)[:-20], "damaged or cut short"),
        "words.csv.gz": (b"a,label\n1,x\n", "damaged or cut short"),
        "a.jsonl": (b'{"a": 1}\n{"a": \n', "line 2 is no JSON object"),
        "b.jsonl": (b"[1, 2]\n", "line 1 is no JSON object"),
        "c.jsonl": (b'{"a": 1, "a": 2}\n', "'a' occurs twice"),
        "a.arff": (b"a,b\n1,2\n", "no ARFF file"),
        "sparse.arff": (b"@relation r\n@attribute a real\n@attribute label {x,y}\n@data\n{0 1.0, 1 x}\n", "sparse"),
        "odd.arff": (b"@relation r\n@attribute a real\n@attribute label {x,y}\n@data\n1,z\n", "does not declare"),
        "long.arff": (b"@relation r\n@attribute a real\n@attribute label {x,y}\n@data\n1,x,2\n", "has 3 values"),
        "ragged.csv": (b"a,label\n1,x\n2,y,3\n", "line 3 has 3 fields"),
        "table.xlsx": (b"PK", r"no ending that is known: \.csv"),
        "table": (b"a,label\n", r"no ending that is known: \.csv"),
    }
    for name, (content, message) in cases.items():
        (tmp_path / name).write_bytes(content)
        with refused(message):
            read_table(tmp_path / name, target="label")
    with refused("there is no file"):
        read_table(tmp_path / "missing.csv", target="label")
    with refused("is a directory"):
        read_table(tmp_path, target="label")


def test_late_faults_of_a_file(tmp_path, frame) -> None:
    text = "a,label\n" + "1,x\n2,y\n" * 500 + "1,x,3\n"
    for max_rows in (None, 100):
        with refused("no regular table.*1002"):
            read_table(write(tmp_path / "a.csv", text), target="label", max_rows=max_rows)
    frame.to_parquet(tmp_path / "a.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(whole[: len(whole) // 2])
    with refused("cut short"):
        read_table(tmp_path / "a.parquet", target="label")
    np.savez(tmp_path / "o.npz", X=np.zeros((3, 2)), y=np.array(["a", None, 3], dtype=object))
    with refused("holds Python objects"):
        read_table(tmp_path / "o.npz")
    np.savez(tmp_path / "l.npz", X=np.zeros((3, 2)), y=np.zeros(4))
    with refused("X has 3 rows but y has shape"):
        read_table(tmp_path / "l.npz")


SIGN = ["tall" if row % 3 == 2 else f"{row / 7:.2f}" for row in range(60)]  # one word beside forty numbers


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (SIGN, "'bad' mixes numbers and text, the first text is 'tall' in row 3.*--categorical bad or --text bad"),
        (["7%", "0.07", "9%"] * 20, "not all written alike .'7%' in row 1 and '0.07' in row 2.: write them in one way"),
        (["1,234.56", "12.345,60", "7"] * 20, "alike .'1,234.56' in row 1 and '12.345,60' in row 2."),
        (["$5", "6", "£7"] * 20, "alike .'[$]5' in row 1 and '£7' in row 3."),
        (
            [f"${row + 0.5}" for row in range(59)] + ["ask"],
            "'bad' mixes numbers and text, the first text is 'ask' in row 60",
        ),
        ([1.0, np.inf, -np.inf] * 20, "holds 40 infinite values, the first in row 2"),
        ([[1, 2]] * 60, "holds a list in row 1"),
        ([1j] * 60, "complex"),
    ],
)
def test_columns_that_are_refused(frame, values, message: str) -> None:
    frame["bad"] = values
    with refused(message):
        table_from_frame(frame, target="label")
    assert "bad" not in table_from_frame(frame, target="label", drop=["bad"]).features


def test_targets_that_are_refused(frame) -> None:
    n = 3000
    many = pd.DataFrame({"a": np.random.default_rng(0).normal(size=n), "t": np.arange(n) // 2})
    many["measured"], many["one"], many["none"] = many["a"] * 2, "x", None
    many["ages"] = [i % 90 if i < 500 else None for i in range(n)]
    for target, message in (
        ("ages", "90 distinct values: is it a regression target"),
        ("t", "1,500 distinct values: is it a regression target"),
        ("measured", "3,000 distinct values: is it a regression target"),
        ("one", "only one class, 'x'"),
        ("none", "has no labels"),
        ("meassured", "did you mean 'measured'"),
        ("MEASURED", "did you mean 'measured'"),
        ("zzz", "no column 'zzz' .target.: it has 'a', 't'"),
        ("17", "no column at position 17"),
        (None, "say which column"),
    ):
        with refused(message):
            table_from_frame(many, target=target)


def test_duplicated_names_are_refused(tmp_path, frame) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with refused("more than one column named 'a'"):
        read_table(write(tmp_path / "a.csv", "a,b,a,label\n1,2,3,x\n1,2,4,y\n"), target="label")
    pq.write_table(pa.table([[1, 2], [3, 4], ["x", "y"]], names=["a", "a", "label"]), tmp_path / "a.parquet")
    with refused("more than one column named 'a'"):
        read_table(tmp_path / "a.parquet", target="label")
    with refused("more than one column named 'size'"):
        table_from_frame(frame.rename(columns={"count": "size"}), target="label")


def test_a_file_larger_than_memory_is_refused_before_it_is_read(tmp_path, frame, monkeypatch) -> None:
    for name in ("a.csv", "a.parquet", "a.feather", "a.npz"):
        path = tmp_path / name
        if name == "a.csv":
            frame.to_csv(path, index=False)
        elif name == "a.npz":
            np.savez(path, X=np.zeros((100, 2)), y=np.zeros(100))
        else:
            getattr(frame, f"to_{path.suffix[1:]}")(path)
        with monkeypatch.context() as patch:
            patch.setattr(table_files, "free_memory", lambda: 1000)
            patch.setattr(table_files, "open_table", lambda path: pytest.fail("was opened"))
            with refused("GiB are free: .*" + ("Parquet" if name == "a.npz" else "--max-rows")):
                read_table(path, target="label")
            if name != "a.npz":
                patch.undo()
                patch.setattr(table_files, "free_memory", lambda: 1000)
                assert len(read_table(path, target="label", max_rows=10).y) == 10


def test_missing_pyarrow_is_named(tmp_path, frame, monkeypatch) -> None:
    frame.to_parquet(tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with refused(r"bayesfloor\[parquet\]"):
        read_table(tmp_path / "a.parquet", target="label")


# --- samples ------------------------------------------------------------------------------------------------


def test_samples_keep_class_shares() -> None:
    codes = np.repeat([0, 1, 2, -1], [9000, 900, 6, 94])

    def chosen_rows(max_rows: int, random_state: int) -> np.ndarray:
        return rows_at_places(codes, draw_by_class(np.bincount(codes[codes >= 0]), max_rows, random_state))

    rows = chosen_rows(1000, random_state=3)
    assert np.bincount(codes[rows]).tolist() == [908, 91, 5]
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(rows, chosen_rows(1000, random_state=3))
    assert set(rows) != set(chosen_rows(1000, random_state=4))
    assert len(chosen_rows(10**6, random_state=0)) == 9906
    # Every row has the same chance: over 200 draws the mean row number is that of the class, within 4 standard errors.
    means = [chosen_rows(1000, seed)[:908].mean() for seed in range(200)]
    assert abs(np.mean(means) - 4499.5) < 4 * np.std(means) / np.sqrt(200)


def test_a_sample_has_the_types_of_the_whole(tmp_path, frame) -> None:
    frame["zip"] = [f"{i:03d}" for i in range(60)]
    frame["gap"] = [None if i % 5 == 0 else i / 3 for i in range(60)]
    frame.to_csv(tmp_path / "a.csv", index=False)
    whole = read_table(tmp_path / "a.csv", target="label", drop=["zip"])
    sample = read_table(tmp_path / "a.csv", target="label", drop=["zip"], max_rows=40)
    at = sample.rows - 1
    same = [i for i, name in enumerate(whole.features) if "gap" not in name]
    np.testing.assert_array_equal(sample.X[:, same], whole.X[np.ix_(at, same)])
    for bad in (0, 1, True, 2.5):
        with refused("max_rows"):
            read_table(tmp_path / "a.csv", target="label", max_rows=bad)


# --- frames and estimate ------------------------------------------------------------------------------------


def test_polars_frames_are_read_alike(frame) -> None:
    frame["day"] = pd.date_range("2021-01-01", periods=60)
    frame["flag"] = frame["size"] > 0
    frame.loc[3, "size"] = np.nan
    polars = pl.DataFrame({name: frame[name].to_list() for name in frame}).with_columns(
        pl.col("colour").cast(pl.Categorical), pl.col("size").fill_nan(None)
    )
    ours, theirs = table_from_frame(frame, target="label"), table_from_frame(polars, target="label")
    assert theirs.features == ours.features
    np.testing.assert_allclose(theirs.X, ours.X)
    np.testing.assert_array_equal(theirs.y, ours.y)


def test_labels_apart_from_the_frame(frame) -> None:
    y = frame.pop("label")
    table = table_from_frame(frame, y=y)
    np.testing.assert_array_equal(table.y, y)
    y = y.to_list()
    y[3] = None
    assert 4 not in table_from_frame(frame, y=y).rows
    with refused("equal length"):
        table_from_frame(frame, y=y[:-1])
    with refused("once"):
        table_from_frame(frame, y=y, target="size")


def test_estimate_takes_files_frames_and_tables(two_learners, tmp_path, frame) -> None:
    frame["size"] += 2 * (frame["label"] == "yes")
    frame["colour"] = frame["colour"].where(frame.index % 10 > 0)
    frame.to_csv(tmp_path / "a.csv", index=False)
    options = {"effort": "fast", "n_jobs": 1}
    from_file = estimate(str(tmp_path / "a.csv"), target="label", **options)
    assert any("missing values" in note for note in from_file.notes)
    table = read_table(tmp_path / "a.csv", target="label")
    for other in (
        estimate(table, **options),
        estimate(frame.drop(columns="label"), frame["label"], **options),
        estimate(pl.from_dicts(frame.replace(np.nan, None).to_dict("records")), target="label", **options),
    ):
        assert other.floor == pytest.approx(from_file.floor, abs=1e-9)
        assert other.classes == ("no", "yes")


def test_what_estimate_is_given() -> None:
    numbers = pd.DataFrame({"a": [1.0, 2.0], "b": [True, False]})
    assert as_arrays(numbers, [0, 1], None, None)[0] is numbers, "frames of numbers pass as they are"
    frame = frame_of().assign(who=np.arange(60) // 6)
    X, y, groups, _, rows = as_arrays(frame, None, "label", "who")
    assert list(X.columns) == ["size", "count", "colour=blue", "colour=green", "colour=red", "home=rent"]
    np.testing.assert_array_equal(groups, np.arange(60) // 6)
    np.testing.assert_array_equal(rows, np.arange(60))
    frame.loc[0, "label"] = None
    _, y, groups, _, rows = as_arrays(frame, None, "label", np.arange(60))
    assert len(y) == 59
    np.testing.assert_array_equal(rows, np.arange(1, 60))
    np.testing.assert_array_equal(groups, np.arange(1, 60))
    table = table_from_frame(frame, target="label")
    for arguments, message in (
        ((table, [1], None, None), "has its labels"),
        (("a.csv", [1], None, None), "target="),
        ((np.zeros((3, 2)), None, "label", None), "give the labels of an array as y"),
        ((frame, None, "label", [1, 2]), "equal length"),
    ):
        with refused(message):
            as_arrays(*arguments)


def test_frames_of_numbers_with_gaps() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60), "who": np.repeat(np.arange(12), 5)})
    y = np.arange(60) % 2
    frame.loc[3, "a"] = np.nan
    X, _, _, notes, _ = as_arrays(frame, y, None, None)
    assert list(X.columns) == ["a", "a missing", "b", "who"]
    assert any("missing values filled" in note for note in notes)
    with_gap = y.astype(float)
    with_gap[7] = np.nan
    for labels in (with_gap, pd.Series(with_gap), with_gap.tolist(), pl.Series(with_gap)):
        _, kept, _, notes, rows = as_arrays(frame[["b", "who"]], labels, None, None)
        assert (len(kept), 7 in rows) == (59, False)
        assert "1 of 60 rows without a label dropped" in notes
    X, _, groups, _, _ = as_arrays(frame[["b", "who"]], y, None, "who")
    assert list(X.columns) == ["b"]
    np.testing.assert_array_equal(groups, np.repeat(np.arange(12), 5))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ((i % 2 for i in range(60)), "got generator"),
        ([("a", i % 2) for i in range(60)], "row 0 holds a tuple"),
        (np.zeros((60, 2)), "shape"),
        ("x" * 60, "got str"),
    ],
)
def test_labels_that_are_no_column(frame, y, message: str) -> None:
    with pytest.raises((DataError, DataTypeError), match=message):
        table_from_frame(frame.drop(columns="label"), y=y)


def test_rows_keep_their_numbers(two_learners, frame) -> None:
    frame["size"] += 3 * (frame["label"] == "yes")
    frame.loc[range(0, 20, 2), "label"] = None
    result = estimate(frame, target="label", effort="fast", n_jobs=1)
    kept = np.flatnonzero(frame["label"].notna())
    np.testing.assert_array_equal(result.row_numbers, kept)
    np.testing.assert_array_equal(result.labels, (frame["label"][kept] == "yes").astype(int))
    assert [row for row, _ in result.hardest_rows(9)] == [kept[at] for at in result.hardest_positions(9)]
    assert [row for row, *_ in result.suspect_rows(9)] == [kept[at] for at in result.suspect_positions(9)]
    assert "row_numbers" not in result.to_dict()
    assert "row_numbers" not in repr(result)
    table = table_from_frame(frame, target="label")
    for rows in (frames.hardest_rows(result, 5), frames.suspects_rows(result, 5)):
        assert [row["label"] for row in rows] == [frame["label"][row["row"]] for row in rows]
    numbered = _number_rows(frames.hardest_rows, result, table)
    assert [row["name"] for row in numbered][:9] == [row for row, _ in result.hardest_rows(9)]


def test_nothing_else_is_warned_of(tmp_path, frame) -> None:
    frame["day"] = ["03/04/2021", "12/11/2021", "01/02/2021"] * 20
    frame.to_csv(tmp_path / "a.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = read_table(tmp_path / "a.csv", target="label", max_rows=50)
    assert kinds(table)["day"] == "date"


def test_dates_far_away() -> None:
    import pyarrow as pa

    written = [f"{2200 + 10 * i}-01-{1 + i % 9:02d}" for i in range(12)] + [None]
    dates = pd.Series([None if day is None else np.datetime64(day, "us") for day in written], dtype="datetime64[us]")
    days = dates.to_numpy().astype("datetime64[D]").astype(np.int64)[:12]
    columns = [dates, dates.dt.tz_localize("UTC")]
    if int(pd.__version__.split(".")[0]) >= 3:  # pandas 2 converts others to nanoseconds, which end in 2262
        columns += [
            pd.Series(written, dtype=object),
            pd.Series([None if day is None else datetime.date.fromisoformat(day) for day in written], dtype=object),
            dates.astype(pd.ArrowDtype(pa.timestamp("us"))),
            dates.dt.tz_localize("UTC").astype(pd.ArrowDtype(pa.timestamp("us", "UTC"))),
        ]
    for column in columns:
        table = table_from_frame(pd.DataFrame({"d": column, "label": np.arange(13) % 2}), target="label")
        assert table.columns[1].kind == "date"
        np.testing.assert_array_equal(table.X[:12, 0], days)
        assert "d missing" in table.features


def test_dates_of_other_countries() -> None:
    def column(values):
        table = table_from_frame(pd.DataFrame({"d": values, "label": np.arange(len(values)) % 2}), target="label")
        return table.X[:, 0], table.columns[1]

    days, about = column([f"{1 + i % 28}.{1 + i % 12}.2020 10:30" for i in range(40)])
    assert (about.kind, about.note) == ("date", "")
    assert days[0] == pytest.approx(pd.Timestamp("2020-01-01 10:30").timestamp() / 86400)
    days, about = column([f"{13 + i % 15}/{1 + i % 12}/2020" for i in range(40)])
    assert (about.kind, about.note) == ("date", "")
    assert days[0] == pd.Timestamp("2020-01-13").timestamp() / 86400
    days, about = column([f"{1 + i % 12}/{1 + i % 12}/2020" for i in range(40)])
    assert "month first" in about.note
