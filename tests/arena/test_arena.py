"""The arena: same samples for all, failures kept, interrupted runs continued, tables that add up."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bayesfloor import DataError, ParameterError
from bayesfloor.arena.__main__ import main
from bayesfloor.arena.arena import run
from bayesfloor.arena.leaderboard import ArenaResult, Record
from bayesfloor.problems.problems import from_posterior, get, names
from waiting import until


def nearest(X, y, random_state=0):
    from bayesfloor import nearest_labels

    return float((nearest_labels(X, y, 1)[0][:, 0] != y).mean() / 2)


def with_interval(X, y, random_state=0):
    return 0.1, 0.05, 0.2


def broken(X, y, random_state=0):
    raise RuntimeError("no such luck")


def not_a_number(X, y, random_state=0):
    return float("nan")


ENTRANTS = {"nearest / 2": nearest, "a guess": with_interval, "broken": broken, "nan": not_a_number}


def without_times(result: ArenaResult) -> list[dict]:
    return [replace(record, seconds=0.0).to_dict() for record in result.records]


def test_figures_of_the_leaderboard() -> None:
    result = run(ENTRANTS, ["moons", "twonorm"], sizes=[200, 300], n_seeds=3, n_jobs=1)
    assert len(result.records) == 5 * 2 * 2 * 3
    rows = {row.estimator: row for row in result.leaderboard()}
    assert next(iter(rows)) == "oracle"
    assert rows["oracle"].times_oracle == pytest.approx(1)
    off = np.array([r.estimate - r.truth for r in result.records if r.estimator == "nearest / 2"])
    assert rows["nearest / 2"].mean_absolute_error == pytest.approx(np.abs(off).mean())
    assert rows["nearest / 2"].bias == pytest.approx(off.mean())
    assert rows["nearest / 2"].rmse == pytest.approx(np.sqrt((off**2).mean()))
    guess = rows["a guess"]
    assert guess.coverage == 0.5  # moons' floor is 0.086, inside; twonorm's is 0.023, outside
    assert guess.median_width == pytest.approx(0.15)
    assert guess.worst_problem == "twonorm"
    assert guess.worst == pytest.approx(0.1 - get("twonorm").bayes_error)
    for name, message in (("broken", "RuntimeError: no such luck"), ("nan", "not finite")):
        assert (rows[name].n_runs, rows[name].n_failures) == (0, 12)
        assert any(name in line and message in line for line in result.failures())
    assert "12 of 12" in result.to_markdown()
    assert json.loads(result.to_json())["leaderboard"][0]["estimator"] == "oracle"
    assert len(result.frame()) == len(result.records)


def test_oracle_counts_errors_of_the_true_classifier() -> None:
    result = run({}, ["separated"], sizes=[100], n_seeds=2, n_jobs=1)
    assert [r.estimate for r in result.records] == [0.0, 0.0]


def test_processes_change_nothing() -> None:
    one, two = (run(ENTRANTS, ["moons"], sizes=[200], n_seeds=2, n_jobs=jobs) for jobs in (1, 2))
    assert without_times(one) == without_times(two)


def test_a_function_written_on_the_spot_can_enter() -> None:
    result = run({"lambda": lambda X, y, random_state: 0.1}, ["moons", "led"], sizes=[50], n_seeds=1, n_jobs=2)
    assert not result.failures()


def test_own_problem() -> None:
    rng = np.random.default_rng(0)
    problem = from_posterior(rng.normal(size=(100, 2)), rng.dirichlet([1, 1], 100), "mine")
    result = run({"nearest / 2": nearest}, [problem], sizes=[80], n_seeds=1, n_jobs=1)
    assert {r.problem for r in result.records} == {"mine"}


def test_continues_where_it_stopped(tmp_path: Path) -> None:
    whole = run(ENTRANTS, ["moons", "led"], sizes=[150], n_seeds=2, n_jobs=1, path=tmp_path / "whole.jsonl")
    lines = (tmp_path / "whole.jsonl").read_text().splitlines(keepends=True)
    # Killed in the middle of writing a line.
    cut = tmp_path / "cut.jsonl"
    cut.write_text("".join(lines[:8]) + lines[8][:20])
    calls = []
    rest = run(
        ENTRANTS, ["moons", "led"], sizes=[150], n_seeds=2, n_jobs=1, path=cut, progress=lambda *a: calls.append(a)
    )
    assert without_times(rest) == without_times(whole)
    assert [done for _, done, _ in calls] == list(range(8, 21))
    assert sorted(json.dumps({**json.loads(x), "seconds": 0}) for x in cut.read_text().splitlines()[1:]) == sorted(
        json.dumps({**json.loads(x), "seconds": 0}) for x in lines[1:]
    )


@pytest.mark.skipif(os.name == "nt", reason="kills a process group")
def test_killed_run_resumes_to_the_same_table(tmp_path: Path, capsys) -> None:
    path = tmp_path / "run.jsonl"
    command = [
        sys.executable,
        "-m",
        "bayesfloor.arena",
        "--problems",
        "moons",
        "led",
        "twonorm",
        "--estimators",
        "k-NN error",
        "best k-NN error",
        "--sizes",
        "200",
        "--n-seeds",
        "3",
        "--jobs",
        "2",
        "--results",
        str(path),
        "--quiet",
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    until(lambda: process.poll() is not None or (path.exists() and path.read_bytes().count(b"\n") > 5))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    written = path.read_bytes().count(b"\n")
    assert written > 5
    command[command.index("2")] = "1"
    assert main(command[3:]) == 0
    run_again = capsys.readouterr().out
    command[command.index(str(path))] = str(tmp_path / "other.jsonl")
    assert main(command[3:]) == 0
    fresh = capsys.readouterr().out

    def figures(table: str) -> list[list[str]]:
        return [line.split("|")[1:9] for line in table.splitlines()]

    assert figures(run_again) == figures(fresh)


def test_file_of_something_else_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    for content in (b"dear diary\n", b"\xff\xfe\x00binary", b'{"arena": 1, "bayesfloor": "0.0.0"}\n'):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"notes\.txt"):
            run({}, ["moons"], sizes=[50], n_seeds=1, n_jobs=1, path=path)
        assert path.read_bytes() == content
    with pytest.raises(ParameterError, match="cannot write"):
        run({}, ["moons"], sizes=[50], n_seeds=1, n_jobs=1, path=tmp_path / "no" / "run.jsonl")


def test_results_of_another_definition_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    problem = get("moons")
    run({}, [problem], sizes=[50], n_seeds=1, n_jobs=1, path=path)
    with pytest.raises(DataError, match="another floor"):
        run({}, [replace(problem, bayes_error=0.3)], sizes=[50], n_seeds=1, n_jobs=1, path=path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"estimators": {"oracle": nearest}}, "taken"),
        ({"problems": []}, "at least one"),
        ({"problems": ["moons", "moons"]}, "two problems"),
        ({"problems": ["mons"]}, "moons"),
        ({"sizes": [3]}, "at least 10"),
        ({"estimators": {"mine": None}}, "must be functions"),
        ({"n_seeds": 2.5}, "n_seeds must be a whole number"),
        ({"n_seeds": 0}, "n_seeds must be a whole number of at least 1"),
    ],
)
def test_bad_input(arguments: dict, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        run(**{"estimators": {}, "problems": ["moons"], **arguments})


def test_command_writes_tables_and_picture(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    board, data = tmp_path / "board.md", tmp_path / "board.json"
    arguments = [
        "--problems",
        "moons",
        "--estimators",
        "k-NN error",
        "--sizes",
        "100",
        "--n-seeds",
        "1",
        "--jobs",
        "1",
        "--leaderboard",
        str(board),
        "--json",
        str(data),
    ]
    assert main(arguments) == 0
    text = board.read_text()
    assert "python -m bayesfloor.arena --problems moons" in text
    assert "| oracle |" in text
    assert "| moons | 100 |" in text
    assert board.with_suffix(".svg").read_text().startswith("<?xml")
    assert json.loads(data.read_text())["schema"] == 1
    before = board.read_bytes()
    assert main(arguments) == 2
    assert "exists already" in capsys.readouterr().err
    assert board.read_bytes() == before
    assert main([*arguments, "--force"]) == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["board.json", "board.md", "board.svg"]
    assert "counts of words" not in text


def test_images_and_texts_have_headings_of_their_own(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib").use("agg")
    board = tmp_path / "board.md"
    chosen = ["--problems", "moons", "blobs", "words", "--estimators", "k-NN error", "--sizes", "60", "--n-seeds", "1"]
    assert main([*chosen, "--jobs", "1", "--leaderboard", str(board)]) == 0
    columns, images, texts = (
        board.read_text().split("\n## Estimate")[0].replace("\n## Texts", "\n## Images").split("\n## Images")
    )
    assert "counts of words" in columns
    for part in (columns, images, texts):
        assert part.count("| k-NN error |") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--problems", "mons"], "moons"),
        (["--estimators", "k-NN eror"], "k-NN error"),
        (["--leaderboard", "no/such/place.md"], "does not exist"),
    ],
)
def test_command_says_what_is_wrong_in_one_line(arguments: list[str], message: str, capsys) -> None:
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_list(capsys) -> None:
    assert main(["--list"]) == 0
    out = capsys.readouterr().out
    assert "moons: d = 2, 2 classes" in out
    assert all(f"  {name}: d = " in out for kind in ("images", "texts") for name in names(kind))


def test_picture_has_a_row_per_estimator() -> None:
    pytest.importorskip("matplotlib").use("agg")
    records = [Record(e, p, 100, 0, 0.1, v, None, None, 0.0, None) for e, v in (("a", 0.1), ("b", 0.3)) for p in "pq"]
    ax = ArenaResult(tuple(records)).plot()
    assert [label.get_text().split()[0] for label in ax.get_yticklabels()] == ["a", "b"]
    assert np.allclose(ax.images[0].get_array(), [[0, 0], [20, 20]])


def dies(X, y, random_state=0):
    os._exit(3)


def leaves(X, y, random_state=0):
    raise SystemExit("gave up")


def test_a_tool_that_dies_is_a_recorded_failure(tmp_path: Path) -> None:
    entrants = {"dies": dies, "leaves": leaves, "nearest / 2": nearest}
    path = tmp_path / "run.jsonl"
    result = run(entrants, ["moons"], sizes=[50], n_seeds=2, n_jobs=2, path=path)
    assert len(result.records) == 8
    assert {r.failure for r in result.records if r.estimator == "dies"} == {"its process died"}
    assert {r.failure for r in result.records if r.estimator == "leaves"} == {"SystemExit: gave up"}
    assert not any(r.failure for r in result.records if r.estimator in ("oracle", "nearest / 2"))
    assert len(path.read_text().splitlines()) == 9


def test_failing_does_not_raise_the_rank() -> None:
    def quits(X, y, random_state=0):
        if X.shape[1] == 20:
            raise ValueError("too hard")
        return 0.0856

    result = run({"quits": quits, "a guess": with_interval}, ["moons", "twonorm"], sizes=[100], n_seeds=1, n_jobs=1)
    assert [row.estimator for row in result.leaderboard()] == ["oracle", "a guess", "quits"]


def test_names_cannot_break_the_tables() -> None:
    record = Record("a|b\n<c>", "p|q", 100, 0, 0.1, 0.2, None, None, 0.0, None)
    table = ArenaResult((record,)).to_markdown()
    assert "a/b &lt;c&gt;" in table
    assert len(table.splitlines()) == 3


def test_outputs_need_names_of_their_own(tmp_path: Path, capsys) -> None:
    same = str(tmp_path / "x.json")
    assert main(["--problems", "moons", "--results", same, "--json", same]) == 2
    assert "names of their own" in capsys.readouterr().err
    assert main(["--problems", "moons", "--leaderboard", str(tmp_path / "x.svg")]) == 2
    assert list(tmp_path.iterdir()) == []
