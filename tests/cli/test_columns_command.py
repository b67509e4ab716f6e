"""The commands columns and diff."""

import json

import numpy as np
import pandas as pd
import pytest

from bayesfloor.cli import main as command

pytestmark = pytest.mark.usefixtures("two_learners")
FAST = ["--effort", "fast", "--jobs", "1"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    frame = pd.DataFrame({"size": rng.normal(size=120) + 3 * y, "colour": rng.choice(["red", "blue"], 120)})
    frame.assign(label=np.where(y, "yes", "no")).to_csv("data.csv", index=False)
    return tmp_path


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    status = command.main(list(arguments))
    out, err = capsys.readouterr()
    return status, out, err


@pytest.mark.usefixtures("without_pictures")
def test_columns(folder, capsys) -> None:
    status, out, _ = run(capsys, "columns", "data.csv", "--target", "label", *FAST)
    assert status == 0
    assert "golden: size" in out
    assert "lost without it" in out
    arguments = ["--group", "both=size,colour", "--json", "--quiet", "--report", "a.html"]
    status, out, _ = run(capsys, "columns", "data.csv", "--target", "label", *FAST, *arguments)
    assert status == 0
    assert [column["name"] for column in json.loads(out)["columns"]] == ["both"]
    assert 'id="worth"' in (folder / "a.html").read_text()


def test_diff(folder, capsys) -> None:
    for name in ("before", "after"):
        arguments = ["--target", "label", "--json", "-o", f"{name}.json", *FAST]
        assert run(capsys, "estimate", "data.csv", *arguments)[0] == 0
    status, out, _ = run(capsys, "diff", "before.json", "after.json")
    assert status == 0
    assert "treated as independent" in out
    status, out, _ = run(capsys, "diff", "before.json", "after.json", "--json")
    assert json.loads(out)["change"] == 0
    assert json.loads(out)["rows"] == "independent"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["columns", "data.csv", "--target", "label", "--group", "size"], "--group must be a name and its columns"),
        (["columns", "data.csv", "--target", "label", "--group", "a=b", "--group", "a=c"], "--group a is given twice"),
        (["columns", "data.csv", "--target", "label", "--group", "a=shape", *FAST], "there is no column 'shape'"),
        (["columns", "gone.csv", "--target", "label"], "gone.csv"),
        (["columns", "data.csv", "--target", "label", "--report", "data.csv"], "data.csv is the file that is read"),
        (["diff", "gone.json", "data.csv"], "there is no file gone.json"),
        (["diff", "data.csv", "data.csv"], "data.csv is no JSON"),
    ],
)
def test_bad_input_takes_one_line(folder, capsys, arguments: list[str], message: str) -> None:
    status, out, err = run(capsys, *arguments)
    assert status == 2
    assert out == ""
    assert err.count("\n") == 1
    assert message in err


def test_plan_states_what_columns_take(folder, capsys) -> None:
    sizes = ["plan", "--rows", "3000", "--columns", "30", "--json"]
    plain, all_columns = (json.loads(run(capsys, *sizes, *also)[1]) for also in ([], ["--column-values"]))
    assert "columns" not in plain["stages"]
    assert all_columns["stages"]["columns"] > 0
