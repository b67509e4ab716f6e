"""The journey of a new user: ten messy tables, each from file to page in one command, after one error at the most."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayesfloor.cli.main import main

pytestmark = pytest.mark.usefixtures("two_learners")

N = 240


def signal(seed: int) -> tuple[np.random.Generator, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, N)
    return rng, y, rng.normal(size=N) + 1.5 * y


def sales(folder: Path) -> tuple[str, int]:
    """Money, shares and thousands as a spreadsheet exports them."""
    rng, y, x = signal(0)
    pd.DataFrame(
        {
            "revenue": [f"${1e4 * abs(v) + 500:,.2f}" for v in x],
            "margin": [f"{7 + 3 * v:.1f}%" for v in x],
            "visitors": [f"{rng.integers(800, 90_000):,}" for _ in x],
            "churned": np.where(y, "yes", "no"),
        }
    ).to_csv(folder / "sales.csv", index=False)
    return "sales.csv --target churned", 0


def german(folder: Path) -> tuple[str, int]:
    """Semicolons, decimal commas, points between thousands, Windows letters."""
    _, y, x = signal(1)
    frame = pd.DataFrame(
        {
            "Größe": [f"{v:.3f}".replace(".", ",") for v in x],
            "Umsatz": [f"{abs(v) * 1e4:,.2f} €".translate(str.maketrans(",.", ".,")) for v in x],
            "Datum": [f"{1 + i % 28:02d}.{1 + i % 12:02d}.2021" for i in range(N)],
            "Käufer": np.where(y, "ja", "nein"),
        }
    )
    frame.to_csv(folder / "kunden.csv", index=False, sep=";", encoding="cp1252")
    return "kunden.csv --target Käufer", 0


def dates(folder: Path) -> tuple[str, int]:
    """Four ways to write a day in one table."""
    rng, y, _ = signal(2)
    day = pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 400, N) + 300 * y, unit="D")
    forms = {"joined": "%d %b %Y", "seen": "%m/%d/%y", "paid": "%Y-%m-%d %H:%M", "left": "%B %d, %Y"}
    pd.DataFrame({name: day.strftime(form) for name, form in forms.items()}).assign(kind=np.where(y, "a", "b")).to_csv(
        folder / "dates.csv", index=False
    )
    return "dates.csv --target kind", 0


def tic_tac_toe(folder: Path) -> tuple[str, int]:
    """Categories, and no line of names."""
    rng, y, _ = signal(3)
    board = np.where(rng.random((N, 9)) < 0.3 + 0.3 * y[:, None], "x", rng.choice(["o", "b"], (N, 9)))
    pd.DataFrame(board).assign(won=np.where(y, "positive", "negative")).to_csv(
        folder / "ttt.data", index=False, header=False
    )
    return "ttt.data --target -1", 0


def census(folder: Path) -> tuple[str, int]:
    """Numbers and categories, question marks, and no line of names."""
    rng, y, x = signal(4)
    job = np.where(rng.random(N) < 0.1, "?", rng.choice(["clerk", "farmer", "cook"], N))
    frame = pd.DataFrame({0: rng.integers(17, 90, N), 1: job, 2: rng.integers(1, 17, N), 3: np.round(x * 1e4)})
    frame.assign(income=np.where(y, ">50K", "<=50K")).to_csv(folder / "census.csv", index=False, header=False)
    return "census.csv --target -1 --no-header", 0


def clinic(folder: Path) -> tuple[str, int]:
    """Three columns that cannot be used, in one table."""
    _, y, x = signal(5)
    pd.DataFrame(
        {
            "age": ["unknown" if i % 40 == 0 else str(20 + i % 60) for i in range(N)],
            "history": [f"patient {i} came in and told the nurse about it" for i in range(N)],
            "dose": ["inf" if i == 7 else f"{v:.3f}" for i, v in enumerate(x)],
            "pressure": x,
            "ill": np.where(y, "yes", "no"),
        }
    ).to_csv(folder / "clinic.csv", index=False)
    return "clinic.csv --target ill", 1


def typing_error(folder: Path) -> tuple[str, int]:
    """The name of the target misspelt, and a column of text besides."""
    _, y, x = signal(6)
    said = [f"what customer {i} wrote about us last year" for i in range(N)]
    pd.DataFrame({"x": x, "review": said, "outcome": y}).to_csv(folder / "reviews.csv", index=False)
    return "reviews.csv --target outcom", 1


def no_target(folder: Path) -> tuple[str, int]:
    """The target forgotten."""
    _, y, x = signal(7)
    pd.DataFrame({"x": x, "z": x**2, "outcome": y}).to_csv(folder / "forgot.csv", index=False)
    return "forgot.csv", 1


def exported(folder: Path) -> tuple[str, int]:
    """An index without a name, an empty column, a constant one, gaps, and labels that are missing."""
    rng, y, x = signal(8)
    frame = pd.DataFrame({"x": x, "empty": None, "same": 3, "label": np.where(y, "b", "a"), "half": x})
    frame.loc[rng.random(N) < 0.3, "half"] = None
    frame.loc[::9, "label"] = "?"
    frame.to_csv(folder / "export.csv")
    return "export.csv --target label", 0


def log(folder: Path) -> tuple[str, int]:
    """JSON lines with missing keys, and truth values as words."""
    rng, y, x = signal(9)
    records = [
        {
            "x": round(v, 4),
            "plan": str(rng.choice(["free", "pro"])),
            "left": bool(k),
            **({"paid": "yes"} if v > 1 else {}),
        }
        for v, k in zip(x.tolist(), y.tolist(), strict=True)
    ]
    (folder / "log.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return "log.jsonl --target left", 0


TABLES = [sales, german, dates, tic_tac_toe, census, clinic, typing_error, no_target, exported, log]


def follow(message: str, command: list[str]) -> list[str]:
    """What someone does who reads the message: takes the name that is meant, leaves out what cannot be used."""
    meant = re.search(r"did you mean '(\w+)'", message)
    if meant:
        command = [*command[: command.index("--target")], "--target", meant[1]]
    elif "say which column" in message:
        command = [*command, "--target", re.findall(r"'(\w+)'", message)[-1]]
    dropped = re.findall(r"--drop ([\w,]+)", message)
    return [*command, *(part for name in dropped[-1:] for part in ("--drop", name))]


@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize("make", TABLES, ids=lambda make: make.__name__)
def test_from_a_messy_file_to_a_page(make, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    arguments, n_errors = make(tmp_path)
    command = ["report", *shlex.split(arguments)]
    settings = ["--effort", "fast", "--jobs", "1", "-o", "page.html"]
    status = main([*command, *settings])
    errors = 0
    if status == 2:
        errors, message = 1, capsys.readouterr().err
        assert message.startswith("bayesfloor: error: ")
        problems = re.search(r"has (\d+) problems:\n", message)
        # A line for each problem, and one that settles all of them.
        assert message.count("\n") == (2 + int(problems[1]) if problems else 1)
        status = main([*follow(message, command), *settings])
    out, err = capsys.readouterr()
    assert (status, errors) == (0, n_errors), err
    assert "error" not in err
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "floor" in out
    floor = float(re.search(r"^floor +([\d.]+)%", out, re.MULTILINE)[1])
    assert floor < 45, "what the table holds of the label was read"
