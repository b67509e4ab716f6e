"""The command: answers, one line for whatever is wrong, nothing half-written."""

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from bayesfloor import problems
from bayesfloor.cli import main as command
from bayesfloor.cli.steps import STEPS
from bayesfloor.floor import _compare as comparison
from bayesfloor.floor import _estimate as floor
from bayesfloor.floor.result import FloorResult
from bayesfloor.utils.files import write_file
from bayesfloor.utils.intervals import ConfidenceInterval

HOSTILE = "<script>alert(1)</script>"
FAST = ["--effort", "fast", "--jobs", "1"]

pytestmark = pytest.mark.usefixtures("two_learners")


def frame_of(n: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    colour = np.array(["red", "green", "blue"])[rng.integers(0, 3, n)]
    return pd.DataFrame({"size": rng.normal(size=n) + 2 * y, "colour": colour, "label": np.array(["no", "yes"])[y]})


@pytest.fixture(scope="module")
def bad_files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("bad")
    write_bad_files(folder)
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame_of().to_csv("data.csv", index=False)
    return tmp_path


def listing(folder) -> set:
    return {path.name for path in folder.iterdir()}


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    status = command.main(list(arguments))
    out, err = capsys.readouterr()
    return status, out, err


def python(*arguments: str, **options) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "bayesfloor", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        **options,
    )


# --- bad input ----------------------------------------------------------------------------------------------


def write_bad_files(folder: Path) -> None:
    rng = np.random.default_rng(0)
    folder.joinpath("empty.csv").write_bytes(b"")
    folder.joinpath("header.csv").write_text("size,label\n")
    folder.joinpath("rubbish.csv").write_bytes(rng.bytes(9999))
    folder.joinpath("a_folder").mkdir()
    frame = frame_of()
    frame.to_parquet(folder / "whole.parquet")
    whole = folder.joinpath("whole.parquet").read_bytes()
    folder.joinpath("cut.parquet").write_bytes(whole[:-30])
    folder.joinpath("twice.csv").write_text("size,size,label\n1,2,x\n2,3,y\n")
    frame.assign(label="same").to_csv(folder / "one.csv", index=False)
    pd.DataFrame({"a": rng.normal(size=2500), "label": np.arange(2500) // 2}).to_csv(folder / "many.csv", index=False)
    frame.assign(age=["old" if row % 4 == 2 else f"{row / 7:.2f}" for row in range(80)]).to_csv(
        folder / "mixed.csv", index=False
    )
    frame.assign(**{HOSTILE: ["x" if row % 4 == 2 else f"{row / 7:.2f}" for row in range(80)]}).to_csv(
        folder / "hostile.csv", index=False
    )
    pd.DataFrame({"y_pred": ["no"] * 79}).to_csv(folder / "short.csv", index=False)
    pd.DataFrame({"y_true": ["no"], "y_pred": ["maybe"]}).to_csv(folder / "foreign.csv", index=False)
    pd.DataFrame({"a": [1], "b": [2]}).to_csv(folder / "neither.csv", index=False)
    folder.joinpath("gap.csv").write_text("y_true,y_pred\nno,yes\nyes,\n")
    folder.joinpath("taken.html").write_text("mine")
    folder.joinpath("nameless.csv").write_text("no\n" + "yes\n" * 79)
    frame.assign(p=rng.random(80))["p"].to_csv(folder / "sure.csv", index=False)


@pytest.fixture
def among_bad_files(bad_files: Path, folder: Path) -> Path:
    shutil.copytree(bad_files, folder, dirs_exist_ok=True)
    os.mkfifo("a_pipe")
    return folder


@pytest.mark.parametrize("name", ["estimate", "report", "compare"])
@pytest.mark.parametrize(
    ("file", "options", "message"),
    [
        ("missing.csv", "", "there is no file missing.csv"),
        ("a_folder", "", "a_folder is a directory"),
        ("empty.csv", "", "empty.csv is empty"),
        ("header.csv", "", "column names but no rows"),
        ("rubbish.csv", "", "no text file"),
        ("cut.parquet", "", "cut short"),
        ("data.xlsx", "", "there is no file"),
        ("data.csv", "--target lable", "did you mean 'label'"),
        ("data.csv", "--target 9", "no column at position 9"),
        ("one.csv", "", "only one class, 'same'"),
        ("many.csv", "", "1,250 distinct values: is it a regression target"),
        ("mixed.csv", "", "column 'age' mixes numbers and text, the first text is 'old' in row 3"),
        ("twice.csv", "", "more than one column named 'size'"),
        ("hostile.csv", "", "column '<script>alert(1)</script>' mixes"),
        ("data.csv", "--weights size", "unrecognized arguments: --weights"),
        ("data.csv", "--drop nothing", "no column 'nothing'"),
        ("data.csv", "--groups nobody", "no column 'nobody'"),
        ("data.csv", "--effort huge", "invalid choice: 'huge'"),
        ("data.csv", "--max-rows 1", "max_rows"),
        ("data.csv", "--max-rows few", "invalid int value"),
        ("data.csv", "--seed -1", "--seed: must be a whole number from 0 to 4294967295, got '-1'"),
        ("data.csv", "--seed 4294967296", "--seed: must be a whole number from 0 to 4294967295"),
        ("data.csv", "--priors 0.5", "invalid choice"),
        ("data.csv", "--confidence 2", "confidence_level must"),
        ("data.csv", "--jobs 0", "n_jobs must be"),
        ("data.csv", "-o taken.html", "taken.html exists already"),
        ("data.csv", "-o taken.html", "--force in the command"),
        ("data.csv", "-o -", "- is no name of a file: give one"),
        ("data.csv", "-o data.csv --force", "data.csv is the file that is read"),
        ("data.csv", "-o a_folder/../data.csv --force", "is the file that is read"),
        ("data.csv", "-o a_pipe --force", "a_pipe: it is no ordinary file"),
        ("data.csv", "-o nowhere/out.html", "directory nowhere does not exist"),
        ("data.csv", "-o a_folder --force", "it is a directory"),
    ],
)
def test_bad_input_takes_one_line(among_bad_files, capsys, name: str, file: str, options: str, message: str) -> None:
    folder = among_bad_files
    before = listing(folder)
    arguments = [name, file, *([] if "--target" in options else ["--target", "label"]), *options.split()]
    if name == "compare":
        arguments += ["--error", "0.1", "--n-test", "50"]
    status, out, err = run(capsys, *arguments)
    assert status == 2
    assert message in err
    assert err.startswith("bayesfloor: error: ")
    assert err.count("\n") == 1
    assert out == ""
    assert listing(folder) == before
    assert (folder / "taken.html").read_text() == "mine"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "say how the model did"),
        ("--error 0.1", "belong together"),
        ("--n-test 10", "belong together"),
        ("--error 14.3 --n-test 100", "a share between 0 and 1, got 14.3 (0.143 for 14.3 %?)"),
        ("--error 0.1 --n-test 0", "--n-test"),
        ("--error nan --n-test 10", "--error must be a share"),
        ("--error 0.1 --n-test 10 --predictions short.csv", "either"),
        ("--predictions short.csv", "79 predictions but data.csv has 80 rows"),
        ("--predictions foreign.csv", "'maybe', which is no label of data.csv (no, yes)"),
        ("--predictions neither.csv", "it needs y_true and y_pred"),
        ("--predictions gap.csv", "y_pred is empty in row 2"),
        ("--predictions missing.csv", "there is no file missing.csv"),
        ("--predictions short.csv -o short.csv --force", "short.csv is the file that is read"),
        ("--predictions nameless.csv", "its first line, 'no', was taken for the name of the column"),
        ("--predictions sure.csv", "sure.csv: p holds probabilities"),
    ],
)
def test_bad_models(among_bad_files, capsys, monkeypatch, options: str, message: str) -> None:
    monkeypatch.setattr(floor, "estimate", lambda *_, **__: pytest.fail("the long part was started"))
    before = listing(among_bad_files)
    status, out, err = run(capsys, "compare", "data.csv", "--target", "label", *options.split())
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert listing(among_bad_files) == before


def test_bad_commands(capsys) -> None:
    for arguments, message in (
        (["estimat"], "invalid choice: 'estimat'"),
        (["estimate"], "required: FILE"),
        (["estimate", "data.csv", "--colour"], "unrecognized arguments: --colour"),
        (["problems", "moon"], "did you mean moons"),
        (["scores", "data.csv", "--target"], "expected one argument"),
    ):
        status, out, err = run(capsys, *arguments)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert message in err
        assert err.startswith("bayesfloor: error: ")


def test_no_permission_and_no_memory(folder, capsys, monkeypatch) -> None:
    def fails(error):
        def fail(*_, **__):
            raise error

        return fail

    for error, status, message in (
        (MemoryError(), 2, "out of memory"),
        (PermissionError(13, "Permission denied", "data.csv"), 2, "data.csv: Permission denied"),
        (RuntimeError("odd\nthing"), 1, "should not have happened: RuntimeError: odd thing"),
        (KeyboardInterrupt(), 130, "interrupted, nothing was written"),
    ):
        monkeypatch.setattr(floor, "estimate", fails(error))
        got, out, err = run(capsys, "estimate", "data.csv", "--target", "label", "-o", "out.txt")
        assert (got, out) == (status, "")
        assert message in err
        assert "Traceback" not in err
        assert not (folder / "out.txt").exists()


# --- answers ------------------------------------------------------------------------------------------------


def test_estimate_prints_columns_and_answer(folder, capsys) -> None:
    status, out, err = run(capsys, "estimate", "data.csv", "--target", "label", *FAST)
    assert (status, err) == (0, ""), "no progress bar where there is no terminal"
    assert "colour" in out
    assert "categorical" in out
    assert "floor " in out
    assert "ceiling" in out


def test_json_is_a_result(folder, capsys) -> None:
    frame_of().to_parquet("data.parquet")
    arguments = ["--target", "-1", "--json", "--seed", "3", "--confidence", "0.9", "--priors", "balanced", *FAST]
    status, out, _ = run(capsys, "estimate", "data.csv", *arguments)
    result = FloorResult.from_json(out)
    assert status == 0
    assert (result.classes, result.interval.confidence_level) == (("no", "yes"), 0.9)
    assert result.settings["random_state"] == 3
    assert run(capsys, "estimate", "data.parquet", *arguments, "-o", "r.json")[:2] == (0, "")
    assert FloorResult.from_json((folder / "r.json").read_text()).floor == pytest.approx(result.floor, abs=1e-9)
    assert run(capsys, "estimate", "data.csv", *arguments, "-o", "r.json")[0] == 2
    assert run(capsys, "estimate", "data.csv", *arguments, "-o", "r.json", "--force")[0] == 0


def test_notes_are_one_line_each_and_quiet_silences_them(folder, capsys) -> None:
    frame_of().assign(id=np.arange(80) * 3).to_csv("data.csv", index=False)
    _, out, err = run(capsys, "estimate", "data.csv", "--target", "label", *FAST)
    assert err == (
        "bayesfloor: note: 'id' looks like an identifier and is left out: an identifier tells rows apart, not classes; "
        "to use numbers anyway: --numeric id (in Python dtypes={'id': 'numeric'})\n"
    )
    _, quiet, err = run(capsys, "estimate", "data.csv", "--target", "label", "--quiet", *FAST)
    assert err == ""
    assert out.endswith(quiet)
    assert quiet.startswith("floor")


def test_columns_are_what_the_user_says(folder, capsys) -> None:
    frame = frame_of().assign(
        zip=["02134", "2134", "10001", "94105"] * 20,
        said=["good value", "poor"] * 40,
        day=[f"202401{1 + row % 28:02d}" for row in range(80)],
        number=np.arange(80),
    )
    frame.to_csv("data.csv", index=False)
    stated = ["--categorical", "zip", "--text", "said", "--date", "day", "--numeric", "number"]
    status, out, err = run(capsys, "estimate", "data.csv", "--target", "label", *stated, *FAST)
    assert (status, err) == (0, "")
    kinds = {line.split()[0]: line.split()[1] for line in out.splitlines() if len(line.split()) > 1}
    wanted = {"zip": "categorical", "said": "text", "day": "date", "number": "numeric"}
    assert {name: kinds[name] for name in wanted} == wanted
    assert "4 levels; stated categorical" in out, "02134 is not 2134"
    model = ["--error", "0.1", "--n-test", "50"]
    for name, more in (
        ("report", []),
        ("compare", model),
        ("gate", model),
        ("plan", []),
        ("columns", []),
        ("noise", []),
    ):
        status, _, err = run(capsys, name, "data.csv", "--target", "label", "--date", "colour", *more)
        assert (status, err.count("\n")) == (2, 1)
        assert "column 'colour' is stated to hold dates, but 80 of its values are none, the first " in err
    for options, message in (
        ("--text zip --numeric zip", "'zip' is stated to be text and numeric"),
        ("--text zip,said --numeric said", "'said' is stated to be text and numeric"),
        ("--text zpi", "no column 'zpi' (dtypes, --text): did you mean 'zip'"),
        ("--numeric label", "'label' is the target"),
    ):
        status, _, err = run(capsys, "estimate", "data.csv", "--target", "label", *options.split())
        assert (status, message in err) == (2, True), err


def test_hostile_names_and_labels(folder, capsys) -> None:
    frame = frame_of().rename(columns={"size": HOSTILE, "colour": "a\x1b[2Jb"})
    frame["label"] = frame["label"].map({"no": HOSTILE, "yes": "\x1b[31mred\n"})
    frame.to_json("data.jsonl", orient="records", lines=True)
    status, out, _ = run(capsys, "estimate", "data.jsonl", "--target", "label", *FAST)
    assert status == 0
    assert HOSTILE in out
    assert "\x1b" not in out


@pytest.mark.usefixtures("without_pictures")
def test_no_command_prints_a_line_that_a_name_has_forged(folder, capsys) -> None:
    forged = "floor    0.00%"
    steer = f"\x1b[2J\x9b31m\u2028\u202e\t\r\n{forged}"
    frame = frame_of().rename(columns={"size": f"size{steer}", "label": f"label{steer}"})
    frame["colour"] = [f"{kind}{steer}" for kind in frame["colour"]]
    frame[f"label{steer}"] = [f"{label}{steer}" for label in frame[f"label{steer}"]]
    frame.to_json("data.jsonl", orient="records", lines=True)
    target = frame.columns[-1]
    said = {"y_true": frame[target], "y_pred": np.roll(frame[target], 1)}
    pd.DataFrame(said).to_json("said.jsonl", orient="records", lines=True)
    scores = pd.DataFrame({f"{label}{steer}": np.random.default_rng(0).random(80) for label in ("no", "yes")})
    scores.assign(**{target: frame[target]}).to_json("scores.jsonl", orient="records", lines=True)
    table = ["data.jsonl", "--target", target, *FAST]
    commands = [
        ["estimate", *table, "--by", "colour", "--abstain"],
        ["estimate", *table, "--by", f"size{steer}"],
        ["estimate", *table, "--by", f"none{steer}"],
        ["estimate", "data.jsonl", "--target", f"none{steer}"],
        ["estimate", *table, "--drop", f"none{steer}"],
        ["estimate", f"none{steer}.csv", "--target", "a"],
        ["metrics", *table],
        ["abstain", *table],
        ["compare", *table, "--predictions", "said.jsonl"],
        ["gate", *table, "--predictions", "said.jsonl", "--within", "0.5"],
        ["report", *table, "-o", "report.html"],
        ["columns", *table],
        ["noise", *table],
        ["plan", *table],
        ["scores", "scores.jsonl", "--target", target],
        ["labels", "scores.jsonl", "--target", target],
        ["problems", steer],
        ["arena", steer],
        [steer],
    ]
    done = set()
    for arguments in commands:
        status, out, err = run(capsys, *arguments)
        done.add(status)
        unsafe = [c for c in out + err if not c.isprintable() and c != "\n"]
        assert not unsafe, (arguments, out, err)
        lines = [line for line in (out + err).splitlines() if line.startswith(forged)]
        assert not lines, (arguments, out, err)
    assert {0, 2} <= done


def test_compare_and_report_with_the_real_ones(folder, capsys) -> None:
    pytest.importorskip("bayesfloor.floor._compare")
    pytest.importorskip("bayesfloor.report.page")
    frame = frame_of()
    frame.loc[[0, 1], "label"] = None
    frame.to_csv("data.csv", index=False)
    pd.DataFrame({"guess": frame["label"].fillna("no")}).to_csv("rows.csv", index=False)
    pd.DataFrame({"y_true": ["no", "yes"] * 30, "y_pred": ["no"] * 60}).to_csv("apart.csv", index=False)
    pd.DataFrame({"y_true": ["no", None] * 30, "y_pred": ["no"] * 60}).to_csv("half.csv", index=False)
    status, out, err = run(
        capsys, "compare", "data.csv", "--target", "label", "--predictions", "half.csv", "--json", *FAST
    )
    assert (status, json.loads(out)["comparison"]["n_test"]) == (0, 30)
    assert "30 of 60 rows without a label dropped" in err
    (folder / "half.csv").unlink()
    for how in (["--error", "0.4", "--n-test", "500"], ["--predictions", "rows.csv"], ["--predictions", "apart.csv"]):
        status, out, err = run(capsys, "compare", "data.csv", "--target", "label", *how, *FAST)
        assert (status, err) == (0, "")
        assert "model" in out
    status, out, _ = run(capsys, "compare", "data.csv", "--target", "label", *how, "--json", *FAST)
    assert set(json.loads(out)) == {"comparison", "result"}
    assert run(capsys, "report", "data.csv", "--target", "label", *how, *FAST)[0] == 0
    page = (folder / "data-floor.html").read_text()
    assert "data.csv" in page
    assert listing(folder) == {"data.csv", "rows.csv", "apart.csv", "data-floor.html"}
    assert run(capsys, "report", "data.csv", "--target", "label", *FAST)[0] == 2, "needs --force"


def test_predictions_need_no_line_of_names(folder, capsys) -> None:
    frame_of()["label"].to_csv("said.csv", index=False, header=False)
    status, out, _ = run(
        capsys, "compare", "data.csv", "--target", "label", "--predictions", "said.csv", "--json", *FAST
    )
    assert (status, json.loads(out)["comparison"]["n_test"]) == (0, 80)


# --- saved results and the gate -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(two_learners, tmp_path_factory) -> Path:
    """A result with a narrow interval and no doubts, as `estimate --json` writes it."""
    X, y = problems.get("gaussians_4d").sample(400, random_state=0)
    result = floor.estimate(X, np.array(["no", "yes"])[y], effort="fast", n_jobs=1)
    pairs = tuple(tuple(share * 0.12 / result.floor for share in row) for row in result.pair_error)
    interval = ConfidenceInterval(0.115, 0.125, 0.95)
    certain = replace(result, floor=0.12, pair_error=pairs, interval=interval, doubts=())
    path = tmp_path_factory.mktemp("saved") / "floor.json"
    path.write_text(replace(certain, evidence={**certain.evidence, "error": 0.125}).to_json())
    return path


@pytest.mark.parametrize(
    ("error", "n_test", "exit_code", "said"),
    [
        ("0.13", "20000", 0, "passed"),
        ("0.2", "20000", 3, "Room of 8.0 points"),
        ("0.13", "100", 4, "Cannot tell"),
        ("0.01", "2000", 5, "Below the floor"),
    ],
)
def test_gate(saved, folder, capsys, error: str, n_test: str, exit_code: int, said: str) -> None:
    arguments = ["gate", "--result", str(saved), "--error", error, "--n-test", n_test, "--within", "0.02"]
    status, out, err = run(capsys, *arguments, "--junit", "out.xml")
    assert (status, err) == (exit_code, "")
    assert said in out
    case = ElementTree.parse("out.xml").getroot().find("testsuite/testcase")
    assert (case.find("failure") is None) == (exit_code == 0)
    assert run(capsys, *arguments, "--junit", "out.xml")[0] == 2, "needs --force"
    status, out, _ = run(capsys, *arguments, "--junit", "out.xml", "--json", "--force")
    about = json.loads(out)
    assert (status, about["exit_code"], about["passed"]) == (exit_code, exit_code, exit_code == 0)
    assert FloorResult.from_json(json.dumps(about["result"])).floor == 0.12
    if exit_code == 5:  # one for all of them: the process ends with what `main` returns
        process = python(*arguments)
        process.communicate()
        assert process.returncode == exit_code


def test_the_gate_estimates_by_itself(folder, capsys) -> None:
    status, out, _ = run(
        capsys, "gate", "data.csv", "--target", "label", "--error", "0.5", "--n-test", "9999", "--junit", "g.xml", *FAST
    )
    assert (status, "Room" in out) == (3, True)
    assert 'name="model of data.csv"' in (folder / "g.xml").read_text()


def test_predictions_for_other_class_shares(saved, folder, capsys) -> None:
    """The table is estimated at the shares of the test rows; a saved result cannot be, and gives no verdict."""
    labels = ["no"] * 190 + ["yes"] * 10
    pd.DataFrame({"y_true": labels, "y_pred": labels[::-1]}).to_csv("preds.csv", index=False)
    status, out, _ = run(capsys, "gate", "--result", str(saved), "--predictions", "preds.csv")
    assert (status, "Cannot tell: the test rows have other class shares" in out) == (4, True)
    _, out, _ = run(capsys, "compare", "--result", str(saved), "--predictions", "preds.csv", "--json")
    assert json.loads(out)["comparison"]["verdict"] == "cannot tell"
    arguments = ["--target", "label", "--predictions", "preds.csv", *FAST]
    status, out, _ = run(capsys, "gate", "data.csv", *arguments)
    assert (status, "assuming that only the shares have changed" in out) == (3, True)


def test_bad_gates(saved, folder, capsys) -> None:
    Path("mine.xml").write_text("<mine/>")
    model = ["--error", "0.1", "--n-test", "50"]
    for arguments, message in (
        (model, "name a table (FILE), or what estimate --json has saved (--result)"),
        (["--result", str(saved)], "say how the model did"),
        (["--result", str(saved), *model, "--within", "2"], "within must be a share above 0"),
        (["--result", str(saved), *model, "--ignore", "still-fallin"], "did you mean still-falling? Codes: still-"),
        (["--result", str(saved), *model, "--target", "x", "--drop", "y"], "leave out --target, --drop, or --result"),
        (["--result", str(saved), *model, "--junit", "mine.xml"], "mine.xml exists already"),
        (["--result", str(saved), *model, "--junit", str(saved), "--force"], "is the file that is read"),
        (["--result", "data.csv", *model], "data.csv is no JSON"),
        (["--result", "nothing.json", *model], "there is no file nothing.json"),
        (["--result", "odd.json", *model], "odd.json: this is not a result of bayesfloor"),
        (["--result", str(saved), "--predictions", "data.csv"], "it needs y_true and y_pred"),
        (["--result", str(saved), "--predictions", "one.csv"], "one.csv has no column y_true"),
    ):
        Path("odd.json").write_text("[1]")
        Path("one.csv").write_text("y_pred\nno\nyes\n")
        status, out, err = run(capsys, "gate", *arguments)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert message in err
    assert Path("mine.xml").read_text() == "<mine/>"


def test_saved_results_are_not_estimated_again(saved, folder, capsys, monkeypatch) -> None:
    monkeypatch.setattr(floor, "estimate", lambda *_, **__: pytest.fail("estimated again"))
    given = ["--result", str(saved)]
    pd.DataFrame({"y_true": ["no", "yes"] * 500, "y_pred": ["no", "yes", "no", "no"] * 250}).to_csv(
        "preds.csv", index=False
    )
    status, out, _ = run(capsys, "compare", *given, "--predictions", "preds.csv", "--json")
    assert (status, json.loads(out)["comparison"]["error"]) == (0, 0.25)
    Path("compared.json").write_text(out)
    assert run(capsys, "compare", "--result", "compared.json", "--error", "0.2", "--n-test", "100")[0] == 0
    status, out, _ = run(capsys, "report", *given, "--error", "0.2", "--n-test", "5000")
    assert (status, out.endswith("report: floor.html\n")) == (0, True)
    assert "Room of 8.0 points" in Path("floor.html").read_text()
    assert run(capsys, "report", *given)[0] == 2, "needs --force"
    _, out, _ = run(capsys, "report", *given, "-o", "other.html", "--json")
    Path("page.json").write_text(out)
    status, out, _ = run(
        capsys, "gate", "--result", "page.json", "--error", "0.2", "--n-test", "50", "--confidence", "0.5"
    )
    assert status == 3, "at a lower level the interval is narrower"
    assert run(capsys, "gate", "--result", "page.json", "--error", "0.2", "--n-test", "50")[0] == 4


def test_doubts_are_muted_by_code(folder, capsys) -> None:
    arguments = ["estimate", "data.csv", "--target", "label", *FAST]
    _, out, _ = run(capsys, *arguments)
    codes = re.findall(r"^- doubt \((?:note|caution|serious), ([a-z-]+)\): ", out, re.MULTILINE)
    assert codes
    _, out, _ = run(capsys, *arguments, "--ignore", ",".join(codes))
    assert "- doubt" not in out
    assert f"- muted: {', '.join(codes)}" in out
    assert run(capsys, *arguments, "--ignore", "wide")[0] == 2


def test_reading_shows_its_progress(folder, capsys, monkeypatch) -> None:
    stages = []

    class Noted:
        def __call__(self, stage: str, done: int, total: int) -> None:
            stages.append((stage, done, total))

        def close(self) -> None:
            pass

    monkeypatch.setattr("bayesfloor.utils.progress.TerminalProgress", Noted)
    size = (folder / "data.csv").stat().st_size
    assert run(capsys, "estimate", "data.csv", "--target", "label", *FAST)[0] == 0
    assert ("reading", size, size) in stages
    stages.clear()
    assert run(capsys, "estimate", "data.csv", "--target", "label", "--quiet", *FAST)[0] == 0
    assert stages == []


def test_no_header(folder, capsys) -> None:
    frame_of().to_csv("bare.csv", index=False, header=False)
    _, out, _ = run(capsys, "estimate", "bare.csv", "--target", "-1", "--no-header", *FAST)
    assert "80 of 80 rows" in out
    _, out, _ = run(capsys, "estimate", "bare.csv", "--target", "-1", "--header", *FAST)
    assert "79 of 79 rows" in out
    frame_of().to_parquet("data.parquet")
    status, _, err = run(capsys, "estimate", "data.parquet", "--target", "label", "--no-header")
    assert (status, "header is for CSV and TSV" in err) == (2, True)


def test_a_full_disk_is_named_with_the_path(folder, capsys, monkeypatch) -> None:
    def full(*_) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("bayesfloor.utils.files.os.replace", full)
    status, _, err = run(capsys, "problems", "moons", "--rows", "20", "-o", "moons.csv")
    assert (status, err.count("\n")) == (2, 1)
    assert "cannot write moons.csv: the disk is full" in err
    assert listing(folder) == {"data.csv"}
    monkeypatch.setitem(STEPS, "problems", full)
    assert run(capsys, "problems") == (2, "", "bayesfloor: error: standard output: No space left on device\n")


@pytest.mark.parametrize(
    "error",
    [
        OSError("Could not find/load shared object file\nlibllvmlite.so: failed to map segment from shared object"),
        ImportError("libllvmlite.so: cannot allocate memory in static TLS block"),
    ],
)
def test_too_little_memory_for_a_library_is_named(folder, capsys, monkeypatch, error: Exception) -> None:
    def fail(_) -> None:
        raise error

    monkeypatch.setitem(STEPS, "problems", fail)
    status, _, err = run(capsys, "problems")
    assert status == 2
    assert err.startswith("bayesfloor: error: too little memory to load libllvmlite.so: allow the process more (ulimit")
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["estimate", "report", "plan"])
def test_each_problem_has_a_line(folder, capsys, name: str) -> None:
    age = ["old" if row % 4 == 2 else f"{row / 7:.2f}" for row in range(80)]
    frame = frame_of().assign(age=age, **{"sa\nid": ["7%", "0.07"] * 40})
    frame.to_csv("bad.csv", index=False)
    status, out, err = run(capsys, name, "bad.csv", "--target", "label", "--drop", "nothing")
    assert (status, out) == (2, "")
    lines = err.splitlines()
    assert lines[0] == "bayesfloor: error: bad.csv has 3 problems:"
    assert lines[1].startswith("  1. bad.csv has no column 'nothing' (drop)")
    assert lines[2].startswith("  2. column 'age' mixes")
    assert lines[3].startswith("  3. column 'sa\\nid' has numbers that are not all written alike")
    assert lines[4].startswith("  to leave out all of these columns: --drop ")
    assert len(lines) == 5


def test_predictions_may_be_called_none(folder, capsys, monkeypatch) -> None:
    seen = {}

    def noted(_, **model):
        seen.update(model)
        raise KeyboardInterrupt

    monkeypatch.setattr(floor, "estimate", lambda *_, **__: None)
    monkeypatch.setattr(comparison, "compare", noted)
    frame_of().replace({"label": {"no": "None"}}).to_csv("data.csv", index=False)
    pd.DataFrame({"guess": ["None", "yes"] * 40}).to_csv("said.csv", index=False)
    assert run(capsys, "compare", "data.csv", "--target", "label", "--predictions", "said.csv")[0] == 130
    assert seen["y_pred"].tolist() == ["None", "yes"] * 40
    assert seen["y_true"].tolist() == ["None", "yes"] * 40


def test_links_are_followed(folder, capsys) -> None:
    (folder / "kept").mkdir()
    (folder / "kept" / "old.txt").write_text("old")
    for name, target in (("link.txt", "kept/old.txt"), ("new.txt", "kept/new.txt"), ("astray.txt", "nowhere/a.txt")):
        (folder / name).symlink_to(target)
    arguments = ["problems", "moons", "--force", "-o"]
    for name in ("link.txt", "new.txt"):
        assert write_file(name, "text", force=True) == Path(name)
        assert Path(name).is_symlink()
    assert {path.name: path.read_text() for path in (folder / "kept").iterdir()} == {
        "old.txt": "text",
        "new.txt": "text",
    }
    assert run(capsys, *arguments, "astray.txt")[0] == 2
    assert listing(folder) == {"data.csv", "kept", "link.txt", "new.txt", "astray.txt"}


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text elsewhere")
def test_names_that_are_no_text(folder, capsys) -> None:
    name = os.fsdecode(b"caf\xe9.csv")
    (folder / "data.csv").rename(folder / name)
    status, out, _ = run(capsys, "report", name, "--target", "label", "-o", "page.html", *FAST)
    assert (status, "report: page.html" in out) == (0, True)
    assert "<title>The floor of caf\ufffd.csv</title>" in (folder / "page.html").read_text(encoding="utf-8")


def test_demo(whole_library, folder, capsys) -> None:
    pytest.importorskip("bayesfloor.report.page")
    status, out, err = run(capsys, "demo", *FAST)
    assert (status, err) == (0, "")
    assert out.endswith("report: bayesfloor-demo.html\n")
    assert "species" in out
    assert (folder / "bayesfloor-demo.html").stat().st_size < 2e6


def test_noise(folder, capsys) -> None:
    status, out, _ = run(capsys, "noise", "data.csv", "--target", "label", *FAST)
    assert status == 0
    assert "exact line" in out


# --- scores -------------------------------------------------------------------------------------------------


@pytest.fixture
def scored(folder) -> pd.DataFrame:
    problem = problems.get("gaussians_10d", shift=2)
    X, y = problem.sample(600, random_state=0)
    P = problem.posterior(X)
    return pd.DataFrame({"p_yes": P[:, 1], "p_no": P[:, 0], "label": np.array(["no", "yes"])[y]})


def scores_floor(capsys, frame: pd.DataFrame, *options: str) -> tuple[float, str]:
    frame.to_csv("scores.csv", index=False)
    status, out, err = run(capsys, "scores", "scores.csv", "--target", "label", "--json", "--jobs", "1", *options)
    assert (status, err) == (0, "")
    return json.loads(out)["floor"], json.loads(out)["columns"]


def test_scores_are_matched_to_classes(scored, capsys) -> None:
    value, how = scores_floor(capsys, scored)
    assert abs(value - 0.1587) < 4 * np.sqrt(0.1587 * 0.8413 / 600) + 0.01
    assert "no = p_no, yes = p_yes" in how
    in_order = scored[["p_no", "p_yes", "label"]].set_axis(["a", "b", "label"], axis=1)
    assert scores_floor(capsys, in_order)[0] == pytest.approx(value, abs=1e-9)
    for column, named in (("p_yes", "'yes'"), ("p_no", "'no'")):
        one, how = scores_floor(capsys, scored[[column, "label"]])
        assert one == pytest.approx(value, abs=1e-3)
        assert named in how
    logit = np.log(scored["p_no"] / scored["p_yes"])
    one, _ = scores_floor(capsys, pd.DataFrame({"logit_no": logit, "label": scored["label"]}))
    assert one == pytest.approx(value, abs=5e-3)


def test_columns_besides_the_scores_are_left_out(scored, capsys) -> None:
    value, _ = scores_floor(capsys, scored)
    more, how = scores_floor(capsys, scored.assign(row=np.arange(600), split="test"))
    assert more == pytest.approx(value, abs=1e-9)
    assert "no = p_no, yes = p_yes; left out: 'row', 'split'" in how


def test_scores_that_are_no_scores(scored, capsys) -> None:
    embedded = scored.assign(other=scored["p_no"] ** 2).rename(columns={"p_no": "u", "p_yes": "v"})
    _, how = scores_floor(capsys, embedded, "--effort", "fast")
    assert "embedding" in how
    for frame, message in (
        (scored.rename(columns={"p_no": "p_maybe"}), "'p_maybe' have the name of no class"),
        (scored.assign(p_no=["x", *scored["p_no"][1:]]), "'p_no' holds 'x' in row 1"),
    ):
        frame.to_csv("scores.csv", index=False)
        status, out, err = run(capsys, "scores", "scores.csv", "--target", "label")
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert message in err


# --- labels -------------------------------------------------------------------------------------------------


def labels_answer(capsys, *arguments: str) -> dict:
    status, out, err = run(capsys, "labels", *arguments, "--json")
    assert (status, err) == (0, "")
    return json.loads(out)


def test_labels_of_every_kind(folder, capsys) -> None:
    rng = np.random.default_rng(0)
    p = rng.random(2000)  # the floor is 1/4
    soft = np.stack([1 - p, p], axis=1)
    votes = rng.binomial(5, p)
    counts = np.stack([5 - votes, votes], axis=1)
    pd.DataFrame(soft, columns=["a", "b"]).assign(item=np.arange(2000)).to_csv("soft.csv", index=False)
    np.save("counts.npy", counts)
    n_votes = rng.integers(5, 7, 2000)
    uneven = rng.binomial(n_votes, p)
    np.savez("uneven.npz", counts=np.stack([n_votes - uneven, uneven], axis=1))
    np.savez("both.npz", counts=counts, probs=soft, y=(rng.random(2000) < p).astype(int))
    three = np.where(rng.random((2000, 3)) < p[:, None], "b", "a").astype(object)
    three[:100, 1:] = None
    pd.DataFrame(three, columns=["ann", "bob", "cy"]).to_csv("people.csv", index=False)
    for file, options, function in (
        ("soft.csv", [], "soft_label_error"),
        ("counts.npy", [], "soft_label_error"),
        ("uneven.npz", [], "soft_label_error"),
        ("both.npz", [], "soft_label_error"),
        ("both.npz", ["--kind", "soft"], "soft_label_error"),
        ("both.npz", ["--kind", "soft", "--target", "y"], "calibrated_soft_label_error"),
    ):
        answer = labels_answer(capsys, file, *options)
        assert answer["function"] == function
        assert answer["interval"]["low"] - 0.01 < 0.25 < answer["interval"]["high"] + 0.01
    answer = labels_answer(capsys, "people.csv")
    assert (answer["function"], answer["n_pairs"]) == ("repeated_label_bounds", 1900)
    assert answer["lower"] < 0.25 < answer["upper"]
    _, out, _ = run(capsys, "labels", "people.csv", "--classes", "2")
    assert "two drawn at random" in out
    assert "It rests on this: the two labels of an item are independent" in out
    _, out, _ = run(capsys, "labels", "soft.csv")
    assert "item" in out
    assert "class probabilities (soft_label_error)" in out


def test_labels_that_are_unclear(folder, capsys) -> None:
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.integers(0, 2, (50, 3)), columns=list("abc")).to_csv("whole.csv", index=False)
    pd.DataFrame({"a": [0.5, 0.7], "b": [0.6, 0.3]}).to_csv("sums.csv", index=False)
    pd.DataFrame({"a": ["x", "y"]}).to_csv("one.csv", index=False)
    for arguments, message in (
        (["whole.csv"], "may be votes per class or labels of annotators"),
        (["sums.csv"], "row 1 adds up to 1.1"),
        (["one.csv"], "at least two columns"),
        (["nobody.csv"], "there is no file"),
        (["whole.csv", "--kind", "annotators", "--target", "a"], "calibrates soft labels"),
    ):
        status, out, err = run(capsys, "labels", *arguments)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert message in err
    assert labels_answer(capsys, "whole.csv", "--kind", "annotators")["n_pairs"] == 50


# --- the rest -----------------------------------------------------------------------------------------------


def test_problems(folder, capsys) -> None:
    status, out, _ = run(capsys, "problems")
    assert status == 0
    assert len(out.splitlines()) == len(problems.names())
    assert run(capsys, "problems", "moons", "--rows", "200", "-o", "moons.csv")[0] == 0
    X, _ = problems.get("moons").sample(200, random_state=0)
    frame = pd.read_csv("moons.csv")
    np.testing.assert_allclose(frame[["x0", "x1"]], X)
    assert run(capsys, "problems", "moons", "-o", "moons.xlsx")[0] == 2
    assert listing(folder) == {"data.csv", "moons.csv"}


def test_help_teaches(capsys) -> None:
    assert run(capsys)[1] == run(capsys, "--help")[1]
    assert "bayesfloor demo" in run(capsys)[1]
    names = ["arena", *STEPS]
    for name in names:
        status, out, _ = run(capsys, name, "--help")
        assert status == 0
        assert f"bayesfloor {name}" in out.split("examples:")[1]
    assert run(capsys, "--version")[1].startswith("bayesfloor ")
    assert "problems:" in run(capsys, "arena", "--list")[1]


def test_examples_in_the_help_can_be_run(capsys) -> None:
    examples = [
        line.split("#")[0].split(">")[0].split()[1:]
        for name in [[], *([name] for name in STEPS if name != "completion")]
        for line in run(capsys, *name, "--help")[1].splitlines()
        if line.startswith("  bayesfloor ")
    ]
    assert len(examples) > 25
    for example in examples:
        command.parser().parse_args(example)


@pytest.mark.parametrize("name", ["arena", *STEPS])
def test_errors_have_one_form(capsys, name: str) -> None:
    status, out, err = run(capsys, name, "--no-such-option")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("bayesfloor: error: ")
    assert err.endswith(f"(see bayesfloor {name} --help)\n") or err.endswith("(see bayesfloor --help)\n")


def test_errors_of_the_arena(capsys) -> None:
    status, out, err = run(capsys, "arena", "--problems", "moon")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("bayesfloor: error: there is no problem named 'moon'")


def test_plan(folder, capsys) -> None:
    status, out, _ = run(capsys, "plan", "--rows", "1000000", "--columns", "20", "--classes", "3", "--jobs", "1")
    assert status == 0
    assert "1,000,000 rows x 20 columns, 3 classes" in out
    assert "memory" in out
    status, out, _ = run(capsys, "plan", "data.csv", "--target", "label", "--json", "--effort", "fast")
    about = json.loads(out)
    assert (status, about["n"], about["d"], about["classes"], about["effort"]) == (0, 80, 4, 2, "fast")
    for arguments, message in (
        ([], "say how large the table is"),
        (["--rows", "100"], "say how large the table is"),
        (["data.csv", "--target", "label", "--rows", "9"], "not both"),
        (["--rows", "1", "--columns", "2"], "n must be"),
        (["data.csv", "--target", "lable"], "did you mean 'label'"),
    ):
        status, out, err = run(capsys, "plan", *arguments)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert message in err


def test_completion_is_valid_bash(capsys) -> None:
    script = (
        run(capsys, "completion")[1]
        + 'COMP_WORDS=(bayesfloor estimate --max); COMP_CWORD=2; _bayesfloor; echo "$COMPREPLY"'
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "--max-rows\n"


def test_a_closed_pipe_is_quiet(folder) -> None:
    process = python("problems")
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 0


def test_interrupt_leaves_nothing_behind(folder) -> None:
    problem = problems.get("gaussians_10d")
    X, y = problem.sample(3_000, random_state=0)
    pd.DataFrame(X).add_prefix("x").assign(label=y).to_csv("big.csv", index=False)
    before = listing(folder)
    ours, terminal = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "bayesfloor", "estimate", "big.csv", "--target", "label", "-o", "out.txt"],
        stdout=subprocess.PIPE,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    os.close(terminal)
    try:
        seen = b""
        while b"training" not in seen:  # the bar, on what it takes for a terminal
            seen += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
        while chunk := read_or_end(ours):
            seen += chunk
        assert process.wait() == 130
    finally:
        process.kill()
        os.close(ours)
    assert process.stdout.read() == b""
    assert seen.decode().splitlines()[-1] == "bayesfloor: interrupted, nothing was written"
    assert "Traceback" not in seen.decode()
    assert listing(folder) == before


def read_or_end(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other side was closed
        return b""
