"""What is learned of columns on some rows, applied to the same rows and to others."""

import datetime
import pickle
from importlib.resources import files

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from bayesfloor import DataError
from bayesfloor.tables.columns import Cells
from bayesfloor.tables.encoder import Surprises, encode_column, learn_encoding
from bayesfloor.tables.selection import raw_table, select
from bayesfloor.tables.table import read_table, table_from_frame
from bayesfloor.tables.table_file import InMemory

N = 120
ROWS = np.arange(1, N + 1)
PENGUINS = files("bayesfloor") / "data" / "penguins.csv"


def apply(recipe, series: pd.Series, name: str, rows) -> list[np.ndarray]:
    """Columns of numbers; none if the column is left out."""
    return [] if recipe is None else [values for _, values in recipe.apply(Cells(series, name, rows)).columns]


def cycled(values, dtype=None) -> pd.Series:
    return pd.Series([values[i % len(values)] for i in range(N)], dtype=dtype)


def every_kind() -> dict[str, pd.Series]:
    rng = np.random.default_rng(0)
    days = pd.Series(pd.date_range("2020-02-27", periods=N, freq="11h"))
    gaps = rng.random(N) < 0.2
    many = [f"c{i * i % 45:02d}{i % 7}" for i in range(N)]
    return {
        "numeric": pd.Series(rng.normal(size=N)),
        "numeric, gaps": pd.Series(np.where(gaps, np.nan, rng.normal(size=N))),
        "float32": pd.Series(rng.normal(size=N).astype(np.float32)),
        "whole": pd.Series(rng.integers(0, 9, N)),
        "whole, named id": pd.Series(rng.integers(0, 60, N)),
        "nullable": pd.Series(rng.integers(0, 9, N), dtype="Int64").mask(gaps),
        "nullable floats": pd.Series(rng.normal(size=N), dtype="Float64").mask(gaps),
        "arrow numbers": pd.Series(rng.integers(0, 9, N), dtype=pd.ArrowDtype(pa.int64())).mask(gaps),
        "huge": pd.Series(rng.integers(2**60, 2**62, N)),
        "boolean": pd.Series(rng.random(N) < 0.5),
        "nullable boolean": pd.Series(rng.random(N) < 0.5, dtype="boolean").mask(gaps),
        "booleans as objects": cycled([True, False, None, True], dtype=object),
        "truth": cycled(["TRUE", "false", "t", "F", None, "NA"], dtype=object),
        "yes": cycled(["yes", "No", "y", "?"], dtype=object),
        "two": cycled(["own", "rent", "rent"]),
        "two, gaps": cycled(["own", "rent", None, "", " own "], dtype=object),
        "one, gaps": cycled(["own", None], dtype=object),
        "half, gaps": cycled(["own", "rent", None], dtype=object),
        "few": cycled(["red", "green", "blue", "NA", "red", "N/A", float("nan"), b"blue"], dtype=object),
        "numbers and words": cycled(["01", "1", "1.0", "a", "b", "c", "d"]),
        "many": pd.Series(many),
        "many, gaps": pd.Series(many, dtype=object).mask(gaps),
        "category": cycled(["a", "b", "NA", "", " a"]).astype("category"),
        "category, gaps": pd.Series(pd.Categorical(cycled(["u", "v", None, "w"]))),
        "category of numbers": pd.Series(pd.Categorical(rng.integers(0, 40, N))),
        "ranks": pd.Series(pd.Categorical(cycled(["low", "high", None]), ["low", "mid", "high"], ordered=True)),
        "dates": days,
        "dates, gaps": days.mask(gaps),
        "dates, zone": days.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
        "dates, arrow": days.astype(pd.ArrowDtype(pa.timestamp("us"))),
        "date objects": pd.Series([datetime.date(2020, 1, 1) + datetime.timedelta(int(i)) for i in ROWS], dtype=object),
        "text dates": days.dt.strftime("%Y-%m-%d"),
        "text stamps, gaps": days.dt.strftime("%Y-%m-%dT%H:%M:%S+02:00").mask(gaps),
        "German dates": days.dt.strftime("%d.%m.%Y"),
        "ambiguous dates": cycled(["03/04/2021", "12/11/2021", None, "01/02/2021"], dtype=object),
        "durations": pd.Series(pd.to_timedelta(rng.integers(0, 10**6, N), unit="s")).mask(gaps),
        "text numbers": cycled(["1", "2.5", "-3e2", " 4 "], dtype=object),
        "text numbers, gaps": cycled(["1", "2.5", None, "NA", "?", "", "<NA>"], dtype=object),
        "empty": pd.Series([None] * N, dtype=object),
        "words for nothing": cycled(["NA", ""], dtype=object),
        "constant": pd.Series([7.0] * N),
        "constant, gaps": cycled([7.0, None]),
    }


KINDS = every_kind()


@pytest.mark.parametrize("name", KINDS)
def test_the_rows_learned_from_come_out_the_same(name: str) -> None:
    series = KINDS[name]
    encoded = encode_column(series, name, ROWS)
    recipe = pickle.loads(pickle.dumps(encoded.recipe))
    applied = apply(recipe, series, name, ROWS)
    assert len(applied) == len(encoded.values) == len(encoded.names)
    assert (encoded.column.use == "feature") == (recipe is not None) == bool(applied)
    for learned, again in zip(encoded.values, applied, strict=True):
        assert again.dtype == np.float64
        np.testing.assert_array_equal(learned, again)
        assert np.isfinite(again).all()
    # Row by row and part by part, too.
    for size in (1, 37):
        for start in range(0, N, size):
            part = slice(start, start + size)
            some = apply(recipe, series.iloc[part], name, ROWS[part])
            for learned, again in zip(encoded.values, some, strict=True):
                np.testing.assert_array_equal(learned[part], again)


def test_every_kind_is_among_them() -> None:
    found = {encode_column(series, name, ROWS).column.kind for name, series in KINDS.items()}
    assert found == {"numeric", "boolean", "categorical", "date", "empty"}


def random_frame(seed: int) -> pd.DataFrame:
    """Columns of every sort of cell, each with as many gaps and distinct values as it happens to get."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 90))
    makers = {
        "numbers": lambda: float(rng.choice([rng.normal(), rng.integers(-5, 5), rng.normal() * 1e300])),
        "whole": lambda: int(rng.integers(-(2**60), 2**60)),
        "objects": lambda: rng.choice([1, 2.5, "3", " 4", "5e3"]),
        "words": lambda: rng.choice(["a", "b", " a", "NA", "", "x y", "ü", "None", "?"]),
        "levels": lambda: f"level {rng.integers(rng.choice([2, 3, 60]))}",
        "truths": lambda: bool(rng.random() < 0.5),
        "yes": lambda: rng.choice(["yes", "NO", "y", "n"]),
        "dates": lambda: str(datetime.date(1900, 1, 1) + datetime.timedelta(int(rng.integers(10**5)))),
        "stamps": lambda: pd.Timestamp(int(rng.integers(10**18)), tz="Europe/Berlin"),
        "durations": lambda: pd.Timedelta(int(rng.integers(10**15))),
    }
    columns = {}
    for name, make in makers.items():
        gaps = rng.random() * rng.integers(0, 2)
        columns[name] = pd.Series([None if rng.random() < gaps else make() for _ in range(n)])
    return pd.DataFrame(columns | {"steady": np.arange(n) % 3, "label": np.arange(n) % 2})


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.filterwarnings("ignore::bayesfloor.BayesfloorWarning")
def test_random_frames_come_out_the_same(seed: int) -> None:
    frame = random_frame(seed)
    keep = frame.columns.tolist()
    table = table_from_frame(frame, target="label", keep=keep)
    raw = select(InMemory(frame), "frame", "label", (), (), None, None, 0)
    encoding = learn_encoding(raw, keep)
    assert encoding.features == table.features
    np.testing.assert_array_equal(encoding.encode(raw.frame, raw.rows), table.X)
    cut = len(frame) // 3
    parts = [encoding.encode(raw.frame.iloc[part], raw.rows[part]) for part in (slice(cut), slice(cut, None))]
    np.testing.assert_array_equal(np.concatenate(parts), table.X)


def test_penguins() -> None:
    table = read_table(PENGUINS, target="species")
    raw = raw_table(PENGUINS, target="species")
    encoding = pickle.loads(pickle.dumps(learn_encoding(raw)))
    assert encoding.features == table.features
    assert encoding.columns == table.columns
    assert encoding.count(len(table.y)) == (table.columns, table.notes)
    np.testing.assert_array_equal(encoding.encode(raw.frame, raw.rows), table.X)
    with pytest.raises(DataError, match="no column 'island'"):
        encoding.encode(raw.frame.drop(columns="island"), raw.rows)


def applied_to(learned, values, name: str = "a", dtype=None) -> list[list[float]]:
    encoded = encode_column(pd.Series(learned), name, np.arange(1, len(learned) + 1))
    columns = apply(encoded.recipe, pd.Series(values, dtype=dtype), name, 100 + np.arange(len(values)))
    return [column.tolist() for column in columns]


def test_new_levels() -> None:
    assert applied_to(["u", "v", "w"] * 9, ["w", "new"]) == [[0, 0], [0, 0], [1, 0]]
    assert applied_to(["u", "v"] * 9, ["new", "v"]) == [[0, 1]]
    many = [f"c{i:02d}" for i in range(40) for _ in range(i + 1)]
    columns = applied_to(many, ["new", "c00", "c39"])
    assert columns[-1] == [1, 1, 0], "what is new is one of the others"
    assert np.sum(columns, axis=0).tolist() == [1, 1, 1]


def test_new_gaps_are_filled_and_counted() -> None:
    assert applied_to([1.0, 2.0, 9.0], [None, 4.0]) == [[2, 4]]
    assert applied_to([1.0, 2.0, None, 9.0], [None, 4.0]) == [[2, 4], [1, 0]]
    assert applied_to([1.0, 2.0, 9.0], [None, None], dtype=object) == [[2, 2]]
    for values in (["NA", "3"], [b"", b"3"]):
        assert applied_to(["1", "2", "9"], values, dtype=object) == [[2, 3]]
    frame = pd.DataFrame({"size": [1.0, 2.0, 4.0, 9.0], "kind": list("abca"), "label": [0, 1, 0, 1]})
    encoding = learn_encoding(select(InMemory(frame), "frame", "label", (), (), None, None, 0))
    other = pd.DataFrame({"kind": ["d", "a", None], "size": [None, 5.0, None]})
    surprises = Surprises()
    X = encoding.encode(other, np.arange(5, 8), surprises)
    assert X.tolist() == [[3, 0, 0, 0], [5, 1, 0, 0], [3, 0.5, 0, 0]]
    assert (+surprises.missing, +surprises.unseen) == ({"size": 2, "kind": 1}, {"kind": 1})
    columns, notes = encoding.count(7, surprises)
    assert {c.name: c.n_missing for c in columns} == {"label": 0, "size": 2, "kind": 1}
    assert any("filled with the median: 'size' 2, 'kind' 1" in note for note in notes)
    assert any("did not have" in note and "'kind' 1" in note for note in notes)
    assert not any("column of their own" in note for note in notes)


@pytest.mark.parametrize(
    ("learned", "values", "message"),
    [
        ([1.0, 2.0, 3.0], [1.0, np.inf], "'a' holds 1 infinite value, the first in row 101"),
        (["1", "2", "3"], ["1", "inf"], "'a' holds 1 infinite value, the first in row 101"),
        ([1.0, 2.0, 3.0], ["1", "tall"], "'a' mixes numbers and text, the first text is 'tall' in row 101"),
        ([1.0, 2.0, 3.0], ["1,250", "2"], "'a' holds '1,250' in row 100, but plain numbers"),
        ([1.0, 2.0, 3.0], [True, False], "first text is 'True' in row 100"),
        ([True, False], ["True", "maybe"], "'a' holds 'maybe' in row 101, but true and false.*sample_rows.*--drop a"),
        (["yes", "no"], ["no", "true"], "'a' holds 'true' in row 101, but yes and no"),
        (["2020-01-01", "2020-03-02"], ["2020-01-02", "01/02/2020"], "'01/02/2020' in row 101, but dates written as"),
        (["2020-01-01", "2020-03-02"], ["2020-01-02", "2020-13-01"], "'2020-13-01' in row 101, but dates written as"),
        (["03/04/2021", "12/11/2021"], [None, "25/12/2021"], "'25/12/2021' in row 101, but dates written as %m/%d/%Y"),
        (list(pd.date_range("2020", periods=3)), [1, 2], "holds '1' in row 100, but dates"),
        (
            list(pd.date_range("2020", periods=3)),
            list(pd.date_range("2020", periods=2, tz="UTC")),
            "in row 100, but times without a time zone",
        ),
        (["2020-01-01", "2020-03-02"], ["2020-01-02T10:00Z"], "in row 100, but times without a time zone"),
        (["2020-01-01T10:00Z", "2020-03-02T10:00Z"], ["2020-01-02"], "in row 100, but times with a time zone"),
        (list(pd.to_timedelta([1, 2, 3], unit="D")), ["x", "y"], "holds 'x' in row 100, but differences of times"),
        (pd.Categorical(list("aab"), list("ab"), ordered=True), ["a", "c"], "holds 'c' in row 101, but ranks from a"),
    ],
)
def test_what_cannot_be_read_is_refused(learned, values, message: str) -> None:
    with pytest.raises(DataError, match=message):
        applied_to(learned, values)
