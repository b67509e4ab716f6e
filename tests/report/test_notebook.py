"""A result in a notebook: one line, a picture, frames with the user's index, and labels by the name of their column."""

import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import polars as pl
import pytest

from bayesfloor import ParameterError, compare, estimate, from_scores, read_table, table_from_frame
from bayesfloor.floor.result import FloorResult
from bayesfloor.report.page import render

ATTACK = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    colour = np.where(rng.random(200) < 0.3 + 0.4 * y, ATTACK, "blue")
    frame = pd.DataFrame({"size": rng.normal(size=200) + 2 * y, "colour": colour, "t": np.where(y, "yes", ATTACK)})
    return frame.set_axis([f"patient {i}" for i in range(200)], axis=0).rename_axis("who")


@pytest.fixture(scope="module")
def result(two_learners, frame) -> FloorResult:
    return estimate(frame, "t", effort="fast", n_jobs=1)


def test_the_second_argument_may_name_the_column(two_learners, result, frame, tmp_path) -> None:
    frame.to_csv(tmp_path / "a.csv", index=False)
    for given in (pl.DataFrame(frame), tmp_path / "a.csv", str(tmp_path / "a.csv")):
        assert estimate(given, "t", effort="fast", n_jobs=1).floor == pytest.approx(result.floor, abs=1e-9)
    with pytest.raises(ParameterError, match="y='t' is one text, not one label per row"):
        estimate(np.zeros((9, 2)), "t")
    with pytest.raises(ParameterError, match="give the labels once"):
        estimate(frame, "t", target="t")
    with pytest.raises(ValueError, match="no column 'tt'"):
        estimate(frame, "tt")


def test_repr_is_one_line(result, frame, tmp_path) -> None:
    comparison = compare(result, error=0.4, n_test=500)
    frame.to_csv(tmp_path / "a.csv", index=False)
    for thing, start in (
        (result, "FloorResult(floor=0."),
        (comparison, "Comparison(error=0.4"),
        (read_table(tmp_path / "a.csv", target="t"), "Table(a.csv: 200 of 200 rows, 2 features, target t)"),
    ):
        assert repr(thing).startswith(start)
        assert "\n" not in repr(thing)
        assert len(repr(thing)) < 160


def test_notebooks_show_the_picture(result) -> None:
    comparison = compare(result, error=0.4, n_test=500)
    for thing, parts in (
        (result, ["floor", "ceiling"]),
        (comparison, ["floor", "ceiling", "your model 40.0%"]),
        (FloorResult.from_json(result.to_json()), ["floor", "ceiling"]),
    ):
        html = thing._repr_html_()
        root = ElementTree.fromstring(html)
        drawn = "".join(root.find("{http://www.w3.org/2000/svg}svg").itertext())
        for part in parts:
            assert part in drawn
        assert "<pre" not in html, "its lines are cut off"
        assert "<script" not in html
        assert re.search(r"(href|src)=\"(?!#)", html) is None
        assert f"{result.floor:.2%}" in html
    assert result.headline in " ".join(ElementTree.fromstring(result._repr_html_()).itertext())


def test_a_comparison_that_was_read_again_shows_its_words(result) -> None:
    from dataclasses import replace

    alone = replace(compare(result, error=0.4, n_test=500), result=None)
    assert "40.00%" in alone._repr_html_()


def test_plot(result) -> None:
    import matplotlib.pyplot as plt

    ax = result.plot()
    assert "floor" in " ".join(text.get_text() for text in ax.texts)
    _, mine = plt.subplots()
    assert result.plot(compare(result, error=0.4, n_test=500), ax=mine) is mine
    assert "your model 40.0%" in [text.get_text() for text in mine.texts]
    plt.close("all")


def test_frames_have_the_users_index(result, frame) -> None:
    hardest, suspects = result.hardest_rows_frame(9), result.suspect_rows_frame(None)
    assert hardest.index.name == "who"
    assert list(hardest.index) == [f"patient {row}" for row, _ in result.hardest_rows(9)]
    assert (frame["t"][hardest.index] == hardest["label"]).all()
    assert list(suspects.index) == [f"patient {row}" for row, *_ in result.suspect_rows(None)]
    assert (frame["t"][suspects.index] == suspects["label"]).all()
    pairs = result.pairs_frame()
    assert pairs["error"].sum() == pytest.approx(result.floor)
    assert len(result.pairs_frame(1)) == 1


def test_rows_that_were_dropped_do_not_shift_the_index(two_learners, frame) -> None:
    gappy = frame.copy()
    gappy.iloc[:50:2, 2] = None
    found = estimate(gappy, target="t", effort="fast", n_jobs=1)
    hardest = found.hardest_rows_frame(20)
    assert (gappy["t"][hardest.index] == hardest["label"]).all()


def test_arrays_are_counted(two_learners) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    found = estimate(rng.normal(size=(200, 2)) + y[:, None], y, effort="fast", n_jobs=1)
    assert list(found.hardest_rows_frame(5).index) == [row for row, _ in found.hardest_rows(5)]
    P = pd.DataFrame(rng.dirichlet([2, 2], 200), index=pd.Index(range(1000, 1200)))
    assert set(from_scores(P, y, n_jobs=1).hardest_rows_frame(5).index) <= set(range(1000, 1200))


@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize("kind", ["table", "frame"])
def test_the_page_has_the_values_of_rows(result, frame, kind: str) -> None:
    given = table_from_frame(frame, target="t") if kind == "table" else frame
    page = render(result, table=given)
    body = page.split('id="hardest"')[1].split("</table>")[0]
    row, _ = result.hardest_rows(1)[0]
    assert f"patient {row}<" in body
    assert f"size {frame['size'].iloc[row]:.6g}, colour" in body
    assert ATTACK not in page
    assert "&lt;script&gt;" in body
    assert "Rows are called as in the index" in page
    assert 'data-name="values"' not in render(result)


@pytest.mark.usefixtures("without_pictures")
def test_the_page_of_a_file_has_the_values_of_rows(two_learners, frame, tmp_path) -> None:
    gappy = frame.reset_index(drop=True)
    gappy.loc[::7, "t"] = None
    gappy.to_csv(tmp_path / "a.csv", index=False)
    table = read_table(tmp_path / "a.csv", target="t")
    found = estimate(table, effort="fast", n_jobs=1)
    body = render(found, table=table).split('id="hardest"')[1].split("</table>")[0]
    for (row, _), cells in zip(found.hardest_rows(10), re.findall(r"<tr><td(.*?)</tr>", body), strict=False):
        assert f">{row + 1}<" in cells
        assert f"size {gappy['size'][row]:.6g}," in cells
