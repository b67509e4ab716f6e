"""Fit the rule of the learned floor to problems whose floor is known: see `floor_evidence.py`, which collects them.

python benchmarks/train_floor.py fit      # rewrites src/bayesfloor/floor/floor_rule.json and the tables of families
python benchmarks/train_floor.py open     # once, at the end: problems that were locked away, beside the version before

Left out in turn, so that a figure is never of problems that its rule was fitted to: each family of random problems, and
each table with all its teachers.
"""

import argparse
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import numpy as np
from scipy.optimize import linprog
from scipy.stats import norm

import random_problems
from bayesfloor.floor.ceiling import cutting_level
from bayesfloor.floor.curve import Curve
from bayesfloor.floor.rule import BEYOND, Evidence, judge, point
from bayesfloor.utils.intervals import share_error, upper_limit
from floor_evidence import BEFORE, RECORDS, WORK, is_locked, read

ROOT = Path(__file__).parents[1]
RULE = ROOT / "src" / "bayesfloor" / "floor" / "floor_rule.json"
TABLE = ROOT / "benchmarks" / "results" / "floor_rule.md"
BEGIN, END = "<!-- rule: begin -->", "<!-- rule: end -->"
MAIN = 0.975  # arms are fitted for it, one-sided: half the risk of 95 %
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.96, 0.98, 0.99)
FEW = 0.01  # residuals beyond this, and beyond twice the sampling noise, count linearly
# Signs that the arms are made of. The upper one needs few: what is found is found.
LOWER = ("sampling", "claimed", "unslowed", "columns", "hidden")
UPPER = ("sampling", "unsettled")
PARTS = 6  # groups are left out by so many at a time where intervals are calibrated


# --- records ------------------------------------------------------------------------------------------------


def evidence(record: dict) -> Evidence:
    """What the rule sees of a problem."""
    curve = Curve(**{name: np.asarray(value, dtype=float) for name, value in record["curve"].items()})
    names = ("n", "n_features", "n_classes", "majority", "shrunk_majority", "ball", "raw")
    return Evidence.of(curve, **{name: record[name] for name in names})


def group(record: dict) -> str:
    """What is left out together: a family, or a table with its teachers."""
    return record["table"] or record["family"]


def training_records() -> list[dict]:
    """Problems that the rule is fitted to: neither locked ones, nor those that nothing can see."""
    found = read(RECORDS, WORK)
    return [r for key, r in found.items() if not is_locked(key) and key[0] not in random_problems.HOPELESS]


# --- fitting ------------------------------------------------------------------------------------------------


def huber(A: np.ndarray, target: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Least squares in units of the limits, beyond which residuals count linearly; no intercept."""
    weights = np.zeros(A.shape[1])
    for _ in range(50):
        trust = 1 / np.maximum(limits**2, np.abs(target - A @ weights) * limits)
        weights = np.linalg.solve((A * trust[:, None]).T @ A, (A * trust[:, None]).T @ target)
    return weights


def fit_weights(given: list[Evidence], floors: np.ndarray) -> dict[str, float]:
    """Weight of what is unsettled."""
    signal, unsettled = (np.array([getattr(e, figure) for e in given]) for figure in ("signal", "unsettled"))
    error, naive = (np.array([getattr(e, figure) for e in given]) for figure in ("error", "shrunk_majority"))
    base = signal * error + (1 - signal) * naive
    limits = np.sqrt(FEW**2 + np.array([2 * e.sampling for e in given]) ** 2)
    return {"unsettled": float(huber((signal * unsettled)[:, None], floors - base, limits)[0])}


def fit_arm(signs: np.ndarray, reach: np.ndarray, level: float) -> np.ndarray:
    """Weights, none negative, of an arm that a share `level` of the reaches stays within (linear quantile regression).

    The first sign is sampling noise, of which an arm has as much as a normal distribution would have it.
    """
    n, k = signs.shape
    unit = np.sqrt(signs[:, 0] ** 2 + FEW**2)  # problems count alike, whether they have many rows or few
    cost = np.concatenate([np.zeros(k), level / unit, (1 - level) / unit])
    rows = np.hstack([signs, np.eye(n), -np.eye(n)])
    bounds = [(float(norm.ppf(level)), None)] + [(0, None)] * (k - 1 + 2 * n)
    return linprog(cost, A_eq=rows, b_eq=reach, bounds=bounds, method="highs").x[:k]


def left_out(groups: np.ndarray, parts: int | None = None) -> list[np.ndarray]:
    """Which problems are left out together: a group at a time, or as many parts of groups."""
    names = np.unique(groups)
    if parts is None:
        return [groups == name for name in names]
    return [np.isin(groups, names[part::parts]) for part in range(parts)]


def out_of_group(given: list[Evidence], floors: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Floors by rules that have not seen the group."""
    found = np.empty(len(given))
    for held in left_out(groups):
        weights = fit_weights([e for e, h in zip(given, held, strict=True) if not h], floors[~held])
        found[held] = [point(e, weights) for e, h in zip(given, held, strict=True) if h]
    return found


def fit(records: list[dict]) -> dict:
    """The rule: weights of the terms; of each arm of the interval the weights of its signs, and a factor by level."""
    given, floors = [evidence(r) for r in records], np.array([r["floor"] for r in records])
    groups = np.array([group(r) for r in records])
    off = floors - out_of_group(given, floors, groups)
    highest = 1 - 2 * BEYOND / len(records)
    levels = [level for level in LEVELS if level <= highest]
    arms = {}
    for side, reach, names in (("below", -off, LOWER), ("above", off, UPPER)):
        signs = np.array([[e.signs()[name] for name in names] for e in given])
        weights = fit_arm(signs, reach, MAIN)
        # Arms of problems whose group they were fitted to are too short: what others need decides.
        needed = np.empty(len(records))
        for held in left_out(groups, PARTS):
            needed[held] = reach[held] / (signs[held] @ fit_arm(signs[~held], reach[~held], MAIN))
        arms[side] = {
            "signs": {name: round(float(w), 6) for name, w in zip(names, weights, strict=True) if w > 1e-9},
            "factors": [max(0.0, float(np.quantile(needed, (1 + level) / 2, method="higher"))) for level in levels],
        }
    return {"weights": fit_weights(given, floors), "levels": levels, **arms, "n_problems": len(records)}


def fit_without(table: str) -> dict:
    """The rule without the teachers of a table."""
    return fit([r for r in training_records() if r["table"] != table])


# --- report -------------------------------------------------------------------------------------------------


def ceiling(record: dict, level: float) -> float:
    """The certified limit."""
    if not record["tested"]:
        return 1.0
    return min(upper_limit(record["wrong"], record["tested"], level), 1 - 1 / record["n_classes"])


def judged(records: list[dict], rule: dict) -> np.ndarray:
    """Floors and 95 % intervals by a rule, as `estimate` gives them: not above the ceilings."""
    found = []
    for r in records:
        with patch("bayesfloor.floor.rule._rule", return_value=rule):
            judgement = judge(evidence(r), 0.95)
        floor, most = min(judgement.floor, ceiling(r, 0.95)), ceiling(r, cutting_level(0.95))
        found.append((floor, min(judgement.low, floor), max(floor, min(judgement.high, most))))
    return np.array(found)


def is_flat(record: dict) -> bool:
    """Whether the curve is flat: neither error nor log-loss fell from a quarter of the rows on, beyond chance.

    The error by at most one standard error of a share of errors, the log-loss by at most a fiftieth of itself; and
    something was found.
    """
    e = evidence(record)
    return e.signal == 1 and e.quarter_error - e.error <= e.sampling and e.quarter_loss - e.loss <= 0.02 * e.loss


def accuracy(records: list[dict], answers: np.ndarray) -> str:
    """Cells of a line: how far floors are from the truth, how often intervals hold it, and how wide they are."""
    truth, oracle, error = (np.array([r[name] for r in records]) for name in ("floor", "oracle", "error"))
    floor, low, high = answers.T
    off, unit = np.abs(floor - truth), np.abs(oracle - truth).mean()
    inside = (low <= truth + 1e-9) & (truth <= high + 1e-9)
    own = [2 * norm.ppf(MAIN) * share_error(r["floor"], r["n"]) for r in records]
    wider = np.median((high - low) / own)
    return (
        f"{len(records)} | {off.mean():.4f} | {off.mean() / unit:.2f} | {np.median(off):.4f} "
        f"| {np.abs(error - truth).mean() / unit:.2f} | {(floor - truth).mean():+.4f} | {off.max():.3f} "
        f"| {100 * inside.mean():.0f} % | {np.median(high - low):.3f} | {wider:.1f}"
    )


HEAD = (
    "problems | mean abs. error | x oracle | median abs. error | library, x oracle | bias | worst | coverage "
    "| median width | x oracle's interval"
)


SUMS: dict[str, Callable[[dict], bool]] = {
    "random problems": lambda r: not r["table"],
    "teachers": lambda r: bool(r["table"]),
    "flat curves": is_flat,
    "up to 500 rows": lambda r: r["rows"] <= 500,
    "over 3,000 rows": lambda r: r["rows"] > 3000,
    "ten classes or more": lambda r: r["classes"] >= 10,
    "all": lambda r: True,
}


def report(records: list[dict]) -> str:
    """Accuracy when every group in turn is left out of the fit."""
    groups = np.array([group(r) for r in records])
    answers = np.empty((len(records), 3))
    by_kind = np.full((len(records), 3), np.nan)
    kinds = np.array([r["family"] if r["table"] else "" for r in records])
    for out, held in [
        *((answers, held) for held in left_out(groups)),
        *((by_kind, kinds == kind) for kind in sorted(set(kinds) - {""})),
    ]:
        rule = fit([r for r, h in zip(records, held, strict=True) if not h])
        out[held] = judged([r for r, h in zip(records, held, strict=True) if h], rule)
    chosen: dict[str, Callable[[dict], bool]] = {
        **{name: (lambda r, name=name: group(r) == name) for name in sorted(set(groups))},
        **{
            kind: (lambda r, kind=kind: r["family"] == kind)
            for kind in sorted({r["family"] for r in records if r["table"]})
        },
        **SUMS,
    }
    lines = [
        "# The rule of the learned floor, each group of problems left out in turn",
        "",
        f"Written by `python benchmarks/train_floor.py fit` from {len(records):,} problems: random ones, left out by "
        "family, and teachers on real tables, left out by table (lines of kinds of teachers: by kind). "
        f"{provenance(records)}Errors are those of the floor after the ceiling. The "
        "last column compares the width of the interval with that of someone who knows the best classifier and counts "
        "its errors (median). Flat curves: from a quarter of the rows to all of them the error fell by at most its "
        "standard error, and the log-loss by at most a fiftieth.",
        "",
        f"| group | {HEAD} |",
        "|---" * 11 + "|",
    ]
    for name, is_chosen in chosen.items():
        own = [i for i, r in enumerate(records) if is_chosen(r)]
        if own:
            of = by_kind if name in kinds else answers
            lines.append(f"| {name} | {accuracy([records[i] for i in own], of[own])} |")
    return "\n".join(lines)


def provenance(records: list[dict]) -> str:
    """Whether all are of one state of the library, in words."""
    states = Counter(r["library"] for r in records)
    if len(states) == 1:
        return ""
    return "Not all are of the same library: " + ", ".join(f"{n} of number {key}" for key, n in states.items()) + ". "


def is_sum(line: str) -> bool:
    """Whether a line of the table is its head, or of more than one group."""
    name = line.split("|")[1].strip()
    return name in ("group", "---", *SUMS)


def open_locked() -> str:
    """The stored rule on problems that were locked away, beside the answers of the version before."""
    found, before = read(RECORDS, WORK), read(BEFORE, WORK.with_name("floor_before.jsonl"))
    keys = [key for key in found if is_locked(key) and key in before]
    rule = json.loads(RULE.read_text())
    records, old = [found[key] for key in keys], [before[key] for key in keys]
    answers = judged(records, rule)
    answers_before = np.array([[r["answer"], r["low"], r["high"]] for r in old])
    lines = [
        "# Problems that were locked away",
        "",
        "Families and tables that took no part in fitting the rule. Of the three tables, estimates on samples with "
        "their real labels (not their teachers) had been seen when the signs of the interval were last changed: the "
        "families alone are new in every way. Since then upper ends were made longer: up to the library's error where "
        "the curve hardly slows down, and past a ceiling of half the interval's risk; neither changes a floor. "
        "*Before*: version 0.1 as it was before teachers, on the same problems.",
        "",
        f"| group | {HEAD} | before: mean abs. error | ratio | before: coverage |",
        "|---" * 14 + "|",
    ]
    names = {group(r): None for r in records}
    sums = {"all teachers": lambda r: bool(r["table"]), "all": lambda r: True}
    for name, is_chosen in [*((n, lambda r, n=n: group(r) == n) for n in sorted(names)), *sums.items()]:
        own = [i for i, r in enumerate(records) if is_chosen(r)]
        truth = np.array([records[i]["floor"] for i in own])
        off, off_before = np.abs(answers[own, 0] - truth).mean(), np.abs(answers_before[own, 0] - truth).mean()
        inside = (answers_before[own, 1] <= truth + 1e-9) & (truth <= answers_before[own, 2] + 1e-9)
        lines.append(
            f"| {name} | {accuracy([records[i] for i in own], answers[own])} | {off_before:.4f} "
            f"| {off / off_before:.2f} | {100 * inside.mean():.0f} % |"
        )
    return "\n".join(lines)


def main() -> None:
    """Fit, or open what was locked away."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["fit", "open"])
    options = parser.parse_args()
    if options.command == "open":
        text = open_locked()
        TABLE.with_name("floor_locked.md").write_text(text + "\n", encoding="utf-8")
        print(text)
        return
    records = training_records()
    table = report(records)
    print(table)
    TABLE.write_text(table + "\n", encoding="utf-8")
    method = ROOT / "docs" / "method.md"
    head, rest = method.read_text(encoding="utf-8").split(BEGIN)
    sums = [line for line in table.splitlines()[2:] if not line.startswith("|") or is_sum(line)]
    rows = "\n".join(sums)
    method.write_text(f"{head}{BEGIN}\n{rows}\n{END}{rest.split(END)[1]}", encoding="utf-8")
    rule = fit(records)
    print(json.dumps(rule, indent=1))
    RULE.write_text(json.dumps(rule, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
