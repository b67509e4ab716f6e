"""Is the present library as accurate as another one on the same samples? Differences are paired.

PYTHONPATH=OTHER/src python benchmarks/paired.py public --name before   # another version's answers: commit ef413b4
python benchmarks/paired.py public                                      # ten minutes each on two cores; resumable
python benchmarks/paired.py known --data FOLDER                         # teachers and real tables, about as long
python benchmarks/paired.py report                                      # benchmarks/results/paired.md

Of teachers and real tables what the library before said is in the committed evidence (`floor_evidence.py`,
`real_tables.py`). The coefficients of the rule are the same in both.
"""

import argparse
import json
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import bayesfloor
import floor_evidence
import real_tables
import teachers
from bayesfloor import problems
from floor_evidence import collect_figures
from records import Record, read_records, run_missing
from train_floor import judged

RECORDS = Path(__file__).parent / "results" / "paired.jsonl"
REPORT = RECORDS.with_suffix(".md")
SIZE, SEEDS, MOST_RISE = 1_500, 3, 0.05
NOW, BEFORE = "now", "before"
PUBLIC = list(product(problems.names(), range(SEEDS)))
TEACHERS = [(kind, table) for table in teachers.TABLES for kind in teachers.KINDS]
REAL = list(product(real_tables.REAL, real_tables.SIZES))
FIRST = {"public": 0, "teacher": 1_000, "real": 2_000}  # numbers of the present library's records
BEFORE_FROM = 10_000  # numbers of another one's


def draw(number: int, data: Path) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """Problem of a record's number, rows and labels; the floor is None where nobody knows it."""
    what = max((name for name, first in FIRST.items() if first <= number), key=FIRST.__getitem__)
    number -= FIRST[what]
    if what == "public":
        name, seed = PUBLIC[number]
        problem = problems.get(name)
        X, y = problem.sample(SIZE, seed)
        return {"what": what, "name": name, "seed": seed, "floor": problem.bayes_error}, X, y
    if what == "teacher":
        kind, table = TEACHERS[number]
        drawn = floor_evidence.draw((f"teacher:{kind}", table, 0))
        return {"what": what, "name": table, "kind": kind, "floor": drawn.floor}, drawn.X, drawn.y
    table, size = REAL[number]
    X, y = real_tables.rows_of(table, data, teachers.TEACHERS)
    rows = real_tables.sample(y, table, size)
    labels = np.unique(y[rows], return_inverse=True)[1]
    return {"what": what, "name": table, "size": size, "floor": None}, np.asarray(X[rows], dtype=np.float64), labels


def collect(number: int, data: Path) -> Record:
    """What the package that is imported says of a problem."""
    about, X, y = draw(number % BEFORE_FROM, data)
    return {"number": number, **about, **answer(collect_figures(X, y))}


def answer(record: dict) -> dict[str, float]:
    """Floor and interval by the rule of the package that is imported, error and log-loss, and CPU seconds."""
    rule = Path(bayesfloor.__file__).parent / "floor" / "floor_rule.json"
    floor, low, high = judged([record], json.loads(rule.read_text(encoding="utf-8")))[0]
    loss = np.mean(np.array(record["curve"]["losses"])[:, 0])
    figures = {"estimate": floor, "low": low, "high": high, "error": record["error"], "loss": loss}
    return {name: round(float(value), 6) for name, value in figures.items()} | {"seconds": record["seconds"]}


def pairs() -> list[tuple[Record, Record]]:
    """Records of the present library, each with that of the library before."""
    found = {record["number"]: record for record in read_records(RECORDS)}
    evidence = floor_evidence.read(floor_evidence.RECORDS)
    real = {(r["table"], r["size"], r["replaced"]): r for r in read_records(real_tables.RECORDS) if "curve" in r}
    both = []
    for number, record in found.items():
        if number >= BEFORE_FROM:
            continue
        if record["what"] == "public":
            before = found.get(BEFORE_FROM + number)
        elif record["what"] == "teacher":
            stored = evidence.get((f"teacher:{record['kind']}", record["name"], 0))
            before = None if stored is None else answer(stored)
        else:
            before = answer(real[record["name"], record["size"], 0.0])
        if before is not None:
            both.append((record, before))
    return both


def mean_of_clusters(pairs_of: list[tuple[Record, Record]], values: list[float]) -> tuple[float, float]:
    """Mean over problems or tables, and its standard error."""
    names = np.array([record["name"] for record, _ in pairs_of])
    means = np.array([np.mean(np.array(values)[names == name]) for name in np.unique(names)])
    return float(means.mean()), float(means.std(ddof=1) / np.sqrt(len(means)))


def report() -> str:
    """Table of changes, with their limits."""
    both = pairs()
    limit = f"at most {MOST_RISE:.0%} of the mean before"
    lines = [
        "# The present library beside the one before",
        "",
        "Written by `python benchmarks/paired.py report`. The library before is that of commit ef413b4, with 16 "
        f"learners. Public problems have {SIZE:,} rows and {SEEDS} samples each; of teachers each table has one of "
        "every kind. Changes are paired, ± is the standard error over problems or tables. *Before* and *now* are mean "
        "absolute errors of floors; of real tables, where the floor is not known, mean errors of the ensemble. The aim "
        f"for the upper 95 % limit of the change is {limit}.",
        "",
        "| problems | samples | before | now | change | upper limit | log-loss | interval holds | CPU s | now |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for what, told in (("public", "public problems"), ("teacher", "teachers"), ("real", "real tables (error)")):
        own = [(now, before) for now, before in both if now["what"] == what]
        if not own:
            continue

        def off(record: Record, truth: float | None) -> float:
            return record["error"] if truth is None else abs(record["estimate"] - truth)

        now = [off(record, record["floor"]) for record, _ in own]
        then = [off(before, record["floor"]) for record, before in own]
        base, _ = mean_of_clusters(own, then)
        change, noise = mean_of_clusters(own, list(np.subtract(now, then)))
        loss, loss_noise = mean_of_clusters(own, [record["loss"] / before["loss"] - 1 for record, before in own])
        holds = [record["low"] <= record["floor"] <= record["high"] for record, _ in own if record["floor"] is not None]
        cells = [
            told,
            str(len(own)),
            f"{base:.4f}",
            f"{base + change:.4f}",
            f"{change:+.4f} ± {noise:.4f}",
            f"{(change + 1.645 * noise) / base:+.1%}",
            f"{loss:+.1%} ± {loss_noise:.1%}",
            f"{sum(holds)} of {len(holds)}" if holds else "",
        ]
        # What the library before said of the others was measured on another day.
        seconds = [np.mean([r["seconds"] for r in column]) for column in zip(*own, strict=True)]
        cells += [f"{seconds[1]:.1f}" if what == "public" else "", f"{seconds[0]:.1f}"]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "## The largest changes", "", "| problem | floor | before | now |", "|---|---|---|---|"]
    known = [(now, before) for now, before in both if now["floor"] is not None]
    for now, before in sorted(known, key=lambda pair: -abs(pair[0]["estimate"] - pair[1]["estimate"]))[:12]:
        name = " ".join(str(now[key]) for key in ("name", "kind", "seed") if key in now)
        lines.append(f"| {name} | {now['floor']:.3f} | {before['estimate']:.3f} | {now['estimate']:.3f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["public", "known", "report"])
    parser.add_argument("--name", choices=[NOW, BEFORE], default=NOW, help="which library is imported")
    parser.add_argument("--data", type=Path, default=teachers.DATA, help="folder of the .npz files")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.command == "report":
        REPORT.write_text(report(), encoding="utf-8")
        return
    offset = BEFORE_FROM if options.name == BEFORE else 0
    numbers = [offset + i for i in range(len(PUBLIC))]
    if options.command == "known":
        numbers = [FIRST["teacher"] + i for i in range(len(TEACHERS))] + [FIRST["real"] + i for i in range(len(REAL))]
        for table in real_tables.REAL:
            real_tables.rows_of(table, options.data, teachers.TEACHERS)
    run_missing(RECORDS, partial(collect, data=options.data), numbers, options.jobs)


if __name__ == "__main__":
    main()
