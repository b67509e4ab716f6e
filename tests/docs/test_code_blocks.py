"""What README, tutorials, how-to and pages show runs as it stands: blocks of Python in order, then commands."""

import re
import runpy
import shlex
import shutil
import textwrap
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import bayesfloor as bf
from bayesfloor.cli.main import main

ROOT = Path(__file__).parents[2]
HOW_TO = sorted((ROOT / "docs" / "howto").glob("*.md"))
TUTORIALS = sorted((ROOT / "tutorials").glob("*.py"))


def python_blocks(text: str) -> list[str]:
    return [textwrap.dedent(block) for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.S | re.M)]


def commands(text: str) -> list[list[str]]:
    """Lines that begin with the command, indented or after a prompt, without their comments."""
    lines = re.findall(r"^ {4,}(?:\$ )?(bayesfloor .*)$", text, flags=re.M)
    return [shlex.split(line, comments=True)[1:] for line in lines]


def write_files(arguments: list[str]) -> None:
    """What a command reads, under the names it has there: a table with the columns that it asks for."""
    given = dict(zip(arguments, [*arguments[1:], ""], strict=True))
    if "--predictions" in given:
        pd.DataFrame({"y_pred": np.arange(240) % 2}).to_csv(given["--predictions"], index=False)
    if "photos/" in arguments or given.get("--kind") == "images":
        write_pictures()
        return
    path = Path(next((one for one in arguments[1:] if Path(one).suffix in (".csv", ".parquet", ".npz")), "none"))
    if path.name == "none" or path.exists():
        return
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 240)
    frame = pd.DataFrame({"a": rng.normal(size=240) + y, "b": rng.normal(size=240)})
    if arguments[0] == "labels" and given.get("--kind") == "annotators":
        frame = pd.DataFrame({"item": np.arange(240), "ann": y, "bob": np.where(rng.random(240) < 0.9, y, 1 - y)})
    elif arguments[0] == "labels":
        frame = pd.DataFrame({"yes": (yes := rng.binomial(5, 0.2 + 0.6 * y)), "no": 5 - yes})
    elif arguments[0] == "scores":
        frame = pd.DataFrame({"p_0": 1 - (p := rng.beta(1 + 2 * y, 3 - 2 * y)), "p_1": p})
    if "--target" in given:
        frame[given["--target"]] = y
    if "--groups" in given:
        frame[given["--groups"]] = np.arange(240) // 2
    if "--by" in given:
        frame[given["--by"]] = np.where(rng.random(240) < 0.5, "north", "south")
    if "--costs" in given:
        Path(given["--costs"]).write_text("0,1\n5,0\n0.4,0.4\n", encoding="utf-8")
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)


def write_pictures() -> None:
    """A folder with a sub-folder for each class, and the same as arrays."""
    Image = pytest.importorskip("PIL.Image")
    X, y = bf.problems.get("blobs").sample(60, random_state=0)
    np.savez("pictures.npz", X=X, y=y)
    for i, (picture, label) in enumerate(zip(X, y, strict=True)):
        folder = Path("photos", str(label))
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.clip(128 + 100 * picture, 0, 255).astype(np.uint8)).save(folder / f"{i}.png")


def run_commands(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    for line in commands(text):
        arguments, output = (line[:-2], line[-1]) if ">" in line else (line, None)
        write_files(arguments)
        capsys.readouterr()
        status, printed = main(arguments), capsys.readouterr()
        # A gate also ends with what it found.
        assert status in ((0, 3, 4, 5) if arguments[0] == "gate" else (0,)), (arguments, printed.err)
        if output is not None:
            Path(output).write_text(printed.out, encoding="utf-8")


@pytest.fixture
def here(
    two_learners: None,
    few_patches: None,
    naive_texts: None,
    without_pictures: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bayesfloor.floor._plan.calibrate", lambda threads: 40.0 * threads)  # `plan` takes a second
    plt.switch_backend("agg")
    yield tmp_path
    plt.close("all")


@pytest.mark.parametrize("page", HOW_TO, ids=lambda page: page.stem)
def test_how_to_runs(here: Path, page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "how_to"}
    for block in python_blocks(text):
        if "import torch" in block and find_spec("torch") is None:
            continue  # an extra
        exec(compile(block, page.name, "exec"), names)
    run_commands(text, capsys)


def test_the_papers_method_prints_what_its_page_says(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {"__name__": "how_to"}
    blocks = python_blocks((ROOT / "docs" / "howto" / "paper_exactly.md").read_text(encoding="utf-8"))
    assert len(blocks) > 12
    for block in blocks:
        exec(compile(block, "paper_exactly.md", "exec"), names)
        expected = re.findall(r"^print\(.*\n# (.*)$", block, flags=re.M)
        assert expected, block
        assert capsys.readouterr().out.splitlines() == expected


@pytest.mark.parametrize("lesson", TUTORIALS, ids=lambda lesson: lesson.stem)
def test_tutorial_runs(here: Path, lesson: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(lesson), run_name="__main__")
    assert plt.get_fignums(), "a lesson has a picture"
    shutil.copy(str(files("bayesfloor") / "data" / "penguins.csv"), here)
    run_commands(lesson.read_text(encoding="utf-8"), capsys)


def given_names(n: int) -> dict[str, Any]:
    """What README and pages take for granted: data, a model, its test."""
    from sklearn.linear_model import LogisticRegression

    problem = bf.problems.get("gaussians_4d")
    X, y = problem.sample(n, random_state=0)
    X_test, y_test = problem.sample(n, random_state=1)
    model = LogisticRegression().fit(X, y)
    return {"X": X, "y": y, "model": model, "X_test": X_test, "y_test": y_test, "__name__": "readme"}


def test_readme_runs(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    names = given_names(1_000)
    blocks = python_blocks(text)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    (here / "terminal").mkdir()
    monkeypatch.chdir(here / "terminal")  # the report that Python has written is not overwritten
    run_commands(text, capsys)


# Blocks that need a cluster or a framework; tests/rows and tests/stopping run what they show.
ELSEWHERE = ("tcp://", "Trainer(")


@pytest.mark.usefixtures("two_learners")
@pytest.mark.parametrize("page", ["index", "gate", "scale", "stopping"])
def test_page_runs(here: Path, page: str) -> None:
    names = given_names(20_000 if page in ("gate", "stopping") else 1_000)  # these two have to tell
    if page != "stopping":  # which estimates first
        names["result"] = bf.estimate(names["X"], names["y"])
        (here / "floor.json").write_text(names["result"].to_json())
    np.save(here / "X.npy", names["X"])
    pd.DataFrame(names["X"]).assign(label=names["y"]).rename(columns=str).to_parquet(here / "table.parquet")
    names |= {"np": np, "bf": bf, "error": 0.2, "n_samples": 5_000, "train_one_epoch": lambda: None}
    blocks = [
        block
        for block in python_blocks((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))
        if not any(word in block for word in ELSEWHERE)
    ]
    assert blocks
    for block in blocks:
        exec(compile(block, f"{page}.md", "exec"), names)
    if page == "gate":
        names["test_model_is_at_the_floor"]()
