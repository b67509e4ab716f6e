"""How often the interval holds the floor where data are extreme: few rows, many classes, many columns, a rare class.

python benchmarks/extremes.py run [--jobs 2]    # half an hour; continues where it stopped
python benchmarks/extremes.py report            # benchmarks/results/extremes.md

Each case has three shapes with fixed parameters; every sample is a fresh one. What the library says is kept, and judged
by the present rule in the report.
"""

import argparse
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from bayesfloor.problems.families import draw_labels
from floor_evidence import LIBRARY, collect_figures
from locked_problems import Draw, shifts, softmax
from random_problems import FEWEST, clouds, exact_floor, random_tree
from records import Record, drop_other_libraries, read_records, run_missing
from train_floor import RULE, judged

RECORDS = Path(__file__).parent / "results" / "extremes.jsonl"
REPORT = RECORDS.with_suffix(".md")
SAMPLES, NEEDED = 60, 52
Shape = Callable[[int, np.ndarray], Draw]  # of the number of columns, and the class shares


def shifted(d: int, shares: np.ndarray) -> Draw:
    """Gaussians that differ in up to 20 columns."""
    rng, told = np.random.default_rng(1), min(d, 20)
    means = np.zeros((len(shares), d))
    means[:, :told] = rng.normal(size=(len(shares), told)) * 2 / np.sqrt(told) * (1 + np.log2(len(shares))) ** 0.5
    return clouds(means, [np.ones(d)], shares, np.arange(len(shares)), len(shares))


def scaled(d: int, shares: np.ndarray) -> Draw:
    """Gaussians that differ in means and variances of up to ten columns."""
    rng, told = np.random.default_rng(2), min(d, 10)
    means, variances = np.zeros((len(shares), d)), np.ones((len(shares), d))
    means[:, :told] = rng.normal(size=(len(shares), told)) * (1 + np.log2(len(shares))) ** 0.5 / np.sqrt(told)
    variances[:, :told] = np.exp(rng.normal(0, 0.8, (len(shares), told)))
    return clouds(means, list(variances), shares, np.arange(len(shares)), len(shares))


def tree(d: int, shares: np.ndarray) -> Draw:
    """The posterior is constant in the 64 cells of a tree on up to five columns."""
    rng, told = np.random.default_rng(3), min(d, 5)
    find, scores = random_tree(rng, 6, told), (6 + np.log2(len(shares))) * rng.normal(size=(64, len(shares)))
    table = softmax(scores + shifts(scores[find(rng.random((20_000, told)))], shares))

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        U = rng.random((n, d))
        return U, table[find(U)]

    return draw


SHAPES: dict[str, Shape] = {"shifted": shifted, "scaled": scaled, "tree": tree}
CASES: dict[str, tuple[int, int, np.ndarray]] = {  # rows, columns, class shares
    "200 rows": (200, 5, np.full(2, 0.5)),
    "50 classes": (3_000, 10, np.full(50, 0.02)),
    "2,000 columns": (800, 2_000, np.full(2, 0.5)),
    "0.5 % of the rows": (3_000, 8, np.array([0.995, 0.005])),
}


@cache
def floor_of(case: str, shape: str) -> float:
    """Exact, to a tenth of the oracle's standard deviation."""
    rows, d, shares = CASES[case]
    # Columns that tell nothing do not change the floor.
    return exact_floor(SHAPES[shape](min(d, 20), shares), 0.0, rows, np.random.default_rng(0))[0]


def collect_one(number: int) -> Record:
    """What the library says of one sample."""
    (case, (rows, d, shares)), sample = list(CASES.items())[number // SAMPLES], number % SAMPLES
    shape = list(SHAPES)[sample % len(SHAPES)]
    rng = np.random.default_rng([20, number])
    while True:  # as `estimate` needs it
        X, P = SHAPES[shape](d, shares)(rows, rng)
        y = draw_labels(P, rng)
        if np.bincount(y, minlength=len(shares)).min() >= FEWEST:
            break
    figures = collect_figures(X, y)
    oracle = float((P.argmax(axis=1) != y).mean())
    return {"number": number, "case": case, "shape": shape, "floor": floor_of(case, shape), "oracle": oracle, **figures}


def report(records: list[Record], rule: dict) -> str:
    """Coverage of each case and shape."""
    lines = [
        "# The interval where data are extreme",
        "",
        f"Written by `python benchmarks/extremes.py report`: {SAMPLES} samples of each case, a third of them of each "
        "shape, judged by the present rule. Differences are those of the floor from the true one, the oracle's those "
        "of someone who knows the best classifier and counts its errors. That the interval reaches up to the library's "
        "error where the learning curve hardly slows down was decided with the tree of 50 classes in view.",
        "",
        "| case | rows | columns | shape | true floor | 95 % interval holds | needed | mean difference | mean abs. "
        "difference | oracle's | median width |",
        "|---" * 11 + "|",
    ]
    for case, (rows, d, _) in CASES.items():
        for shape in (*SHAPES, "all"):
            own = [r for r in records if r["case"] == case and shape in ("all", r["shape"])]
            if not own:
                continue
            truth, oracle = (np.array([r[name] for r in own]) for name in ("floor", "oracle"))
            floor, low, high = judged(own, rule).T
            held = (low <= truth + 1e-9) & (truth <= high + 1e-9)
            needed = NEEDED if shape == "all" else ""
            known = "" if shape == "all" else f"{truth[0]:.4f}"
            lines.append(
                f"| {case} | {rows:,} | {d:,} | {shape} | {known} | {held.sum()} of {len(own)} | {needed} "
                f"| {(floor - truth).mean():+.4f} | {np.abs(floor - truth).mean():.4f} "
                f"| {np.abs(oracle - truth).mean():.4f} | {np.median(high - low):.3f} |"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["run", "report"])
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--out", type=Path, default=REPORT)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.command == "run":
        drop_other_libraries(options.records, LIBRARY)
        # Workers find what is cached only in a module that has a name.
        from extremes import collect_one as collect

        run_missing(options.records, collect, range(SAMPLES * len(CASES)), options.jobs)
    else:
        text = report(read_records(options.records), json.loads(RULE.read_text()))
        print(text)
        options.out.write_text(text + "\n", encoding="utf-8")
