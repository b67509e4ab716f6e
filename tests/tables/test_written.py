"""What people write into tables: money, shares, thousands, months by name; and what is wrong, all at once."""

import io
import warnings

import numpy as np
import pandas as pd
import pytest

from bayesfloor import DataError, ParameterError, estimate, read_table, table_from_frame
from bayesfloor.tables.table import as_arrays
from bayesfloor.utils.progress import TerminalProgress


def column(values) -> tuple[np.ndarray, object]:
    frame = pd.DataFrame({"c": values, "label": np.arange(len(values)) % 2})
    table = table_from_frame(frame, target="label", keep=["c", "label"])
    return table.X[:, 0], table.columns[1]


@pytest.mark.parametrize(
    ("values", "numbers", "note"),
    [
        (["$31,147.53", "$900", "-$12.50"], [31147.53, 900, -12.5], "in $"),
        (["($1,200.00)", "$3.00", "$4"], [-1200, 3, 4], "in $"),
        (["7%", "12.5%", "100 %"], [7, 12.5, 100], "in per cent"),
        (["1.234,56 €", "99,00 €", "7 €"], [1234.56, 99, 7], "in €"),
        (["EUR 1 234,5", "EUR 9,1", "3,25"], [1234.5, 9.1, 3.25], "in EUR"),
        (["1'234.50", "2'000'000", "7"], [1234.5, 2e6, 7], ""),
        (["1\u00a0234", "12\u00a0345", "7"], [1234, 12345, 7], ""),
        (["12,345", "1,250", "900"], [12345, 1250, 900], "commas taken for separators of thousands"),
        (["\u22125%", "3%", "+2%"], [-5, 3, 2], "in per cent"),
    ],
)
def test_numbers_as_people_write_them(values, numbers, note: str) -> None:
    found, about = column([*values * 5, None, "?"])
    np.testing.assert_array_equal(found[:15], numbers * 5)
    assert (about.kind, about.n_missing, about.note) == ("numeric", 2, note)


@pytest.mark.parametrize(
    ("values", "first", "note"),
    [
        (["01 Jan 2020", "29 Feb 2020", "3 Oct 2021"], "2020-01-01", ""),
        (["01/31/20", "02/28/99", "12/01/05"], "2020-01-31", "years of two digits: 69 to 99 are 1969 to 1999"),
        (["31-Dec-2020", "1-Jan-2021", "2-May-2021"], "2020-12-31", ""),
        (["January 5, 2020", "May 6, 2021", "June 7, 2021"], "2020-01-05", ""),
        (["01/31/2020 03:30 PM", "02/01/2020 11:05 AM", "02/03/2020 12:00 PM"], "2020-01-31 15:30", ""),
        (["05/06/20", "07/08/21", "09/10/22"], "2020-05-06", "the month first, though the day could be; years of"),
    ],
)
def test_dates_as_people_write_them(values, first: str, note: str) -> None:
    days, about = column(values * 5)
    assert days[0] == pd.Timestamp(first).timestamp() / 86400
    assert about.kind == "date"
    assert about.note.startswith(note)


@pytest.mark.parametrize(
    "values", [["5-6", "7-8"], ["March hare 12", "May fly 3"], ["12 apples", "3 pears"], ["1.2.3"]]
)
def test_what_only_looks_like_a_date_is_a_category(values) -> None:
    assert column([*values * 10, "other", "other"])[1].kind == "categorical"


def test_files_read_in_blocks_read_them_alike(tmp_path, two_learners) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    price = rng.normal(size=400) * 1000 + 3000 + 900 * y
    frame = pd.DataFrame({"price": [f"${p:,.2f}" for p in price], "label": np.where(y, "yes", "no")})
    frame.to_csv(tmp_path / "a.csv", index=False)
    plain = frame.assign(price=[float(p[1:].replace(",", "")) for p in frame["price"]])
    expected = estimate(plain, target="label", effort="fast", n_jobs=1)
    for is_large in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            if is_large:
                patch.setattr("bayesfloor.floor.rows.FileRows.is_large", lambda self, run: True)
            found = estimate(tmp_path / "a.csv", target="label", effort="fast", n_jobs=1)
        assert found.floor == pytest.approx(expected.floor, abs=1e-9)


# --- a question mark ----------------------------------------------------------------------------------------


def test_a_question_mark_means_the_same_in_a_file_and_in_a_frame(tmp_path) -> None:
    words = ["red", "green", "?", "blue"] * 10
    frame = pd.DataFrame(
        {"colour": words, "size": ["1.5", "2", "?", "3"] * 10, "label": (["yes"] * 3 + ["no"] * 4 + ["?"]) * 5}
    )
    frame.to_csv(tmp_path / "a.csv", index=False)
    read = read_table(tmp_path / "a.csv", target="label")
    as_category = frame.astype({"colour": "category"})
    for given in (frame, as_category, as_category.astype({"label": "category"})):
        table = table_from_frame(given, target="label")
        assert table.features == read.features
        np.testing.assert_array_equal(table.X, read.X)
        np.testing.assert_array_equal(table.y, read.y)
    numbers = pd.DataFrame({"x": np.arange(40.0) ** 2})
    X, y, _, notes, _ = as_arrays(numbers, frame["label"].tolist(), None, None)
    assert (len(X), set(y)) == (35, {"yes", "no"})
    assert "5 of 40 rows without a label dropped" in notes


# --- line of names ------------------------------------------------------------------------------------------


def categories(n: int = 60) -> list[str]:
    rng = np.random.default_rng(0)
    return [",".join([*rng.choice(["x", "o", "b"], 4), "won" if i % 2 else "lost"]) for i in range(n)]


def test_files_of_categories_without_a_line_of_names_are_recognised(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("\n".join(categories()) + "\n")
    table = read_table(path, target=-1)
    assert (len(table.y), table.target) == (60, "column 4")
    assert any("--header" in note for note in table.notes)
    path.write_text("a,b,c,d,end\n" + "\n".join(categories()) + "\n")
    assert (len(read_table(path, target="end").y), read_table(path, target="end").notes) == (60, ())


def test_a_line_of_names_that_is_repeated_is_none_of_data(tmp_path) -> None:
    lines = "\n".join(categories())
    path = tmp_path / "a.csv"
    path.write_text(f"a,b,c,d,end\n{lines}\na,b,c,d,end\n{lines}\n")  # two files, put together
    assert "end" in {column.name for column in read_table(path, target="end").columns}


def test_the_user_knows_best_whether_there_are_names(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("3,2,yes\n" + "".join(f"{i**2},{i % 7},{'yes' if i % 2 else 'no'}\n" for i in range(40)))
    assert read_table(path, target=-1, header=False).n_file_rows == 41
    assert read_table(path, target=-1, header=True).n_file_rows == 40
    frame = pd.DataFrame({"a": np.arange(20.0) ** 2, "label": np.arange(20) % 2})
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ParameterError, match="header is for CSV and TSV files"):
        read_table(tmp_path / "a.parquet", target="label", header=False)


# --- all problems at once -----------------------------------------------------------------------------------


@pytest.fixture
def faulty() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "size": rng.normal(size=60),
            "age": ["old" if row % 4 == 2 else str(20 + row) for row in range(60)],
            "said": ["7%", "0.07", "9%"] * 20,
            "far": [np.inf, *rng.normal(size=59)],
            "price": rng.normal(size=60),
            "label": np.array(["no", "yes"])[np.arange(60) % 2],
        }
    )


def test_all_problems_are_told_at_once(faulty, tmp_path) -> None:
    with pytest.raises(DataError) as caught:
        table_from_frame(faulty, target="price", name="data.csv")
    lines = str(caught.value).splitlines()
    assert lines[0] == "data.csv has 4 problems:"
    for line, part in zip(
        lines[1:5], ("the target 'price'", "column 'age' mixes", "column 'said'", "column 'far'"), strict=True
    ):
        assert part in line
    assert lines[5] == (
        "to leave out all of these columns: --drop age,said,far (in Python drop=['age', 'said', 'far'])"
    )
    assert len(table_from_frame(faulty, target="label", drop=["age", "said", "far"]).y) == 60
    faulty.to_csv(tmp_path / "data.csv", index=False)
    with pytest.raises(DataError, match="4 problems"):
        read_table(tmp_path / "data.csv", target="price")


def test_names_that_are_not_there_are_told_with_the_rest(faulty) -> None:
    with pytest.raises(DataError) as caught:
        table_from_frame(faulty, target="lable", drop=["agee", "said"], groups="who", name="data.csv")
    text = str(caught.value)
    assert "data.csv has 5 problems" in text
    for part in ("did you mean 'label'", "no column 'who'", "did you mean 'age'", "'age' mixes", "'far' holds"):
        assert part in text
    with pytest.raises((DataError, ParameterError), match=r"(?s)say which column.*'age' mixes.*not all written alike"):
        table_from_frame(faulty)


def test_one_problem_is_told_as_it_is(faulty) -> None:
    with pytest.raises(DataError, match=r"^column 'age' mixes numbers and text"):
        table_from_frame(faulty, target="label", drop=["said", "far"])


def test_very_many_problems_are_cut(faulty) -> None:
    many = pd.DataFrame({f"c{i}": faulty["age"] for i in range(30)}).assign(label=faulty["label"])
    with pytest.raises(DataError, match=r"(?s)30 problems.*and 18 more.*--drop c0,c1,.*,c29 "):
        table_from_frame(many, target="label")


# --- while a file is read -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.jsonl"])
def test_reading_tells_how_far_it_is(tmp_path, name: str) -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(20_000, 4))).add_prefix("x")
    frame["label"] = np.arange(20_000) % 2
    path = tmp_path / name
    if name.endswith("jsonl"):
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False)
    told = []
    read_table(path, target="label", progress=lambda *what: told.append(what))
    assert {stage for stage, *_ in told} == {"reading"}
    assert {total for *_, total in told} == {path.stat().st_size}
    done = [number for _, number, _ in told]
    assert done == sorted(done)
    assert (len(set(done)) > 2, done[-1]) == (True, path.stat().st_size)


def test_no_bar_where_there_is_no_terminal(tmp_path) -> None:
    pd.DataFrame({"a": np.arange(40.0) ** 2, "label": np.arange(40) % 2}).to_csv(tmp_path / "a.csv", index=False)
    stream = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_table(tmp_path / "a.csv", target="label", progress=TerminalProgress(stream))
    assert stream.getvalue() == ""
