"""Measure what estimates of many shapes take, and fit the costs that `bayesfloor.plan` adds up.

    python benchmarks/plan_costs.py measure --records benchmarks/results/plan_costs.jsonl
    python benchmarks/plan_costs.py fit --records benchmarks/results/plan_costs.jsonl

Each shape runs in a process of its own, so that its peak of memory is its own. The runs of benchmarks/scale.py, by
which the plan is judged, are not among them.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

from bayesfloor import estimate, problems
from bayesfloor.floor._plan import calibrate, features, memory_features
from bayesfloor.rows.blocks import BLOCK_ROWS
from bayesfloor.utils.parallel import n_threads

HERE = Path(__file__).parent
COSTS = HERE.parent / "src" / "bayesfloor" / "floor" / "plan_costs.json"
# Rows, columns, classes, effort.
SHAPES = [
    (2_000, 5, 2, "fast"),
    (2_000, 5, 2, "balanced"),
    (5_000, 20, 2, "balanced"),
    (5_000, 10, 6, "balanced"),
    (5_000, 80, 3, "balanced"),
    (20_000, 10, 2, "balanced"),
    (20_000, 40, 4, "balanced"),
    (20_000, 12, 10, "fast"),
    (100_000, 3, 2, "fast"),
    (100_000, 10, 2, "balanced"),
    (150_000, 40, 3, "balanced"),
    (300_000, 8, 2, "balanced"),
    (300_000, 30, 5, "balanced"),
    (4_000, 400, 3, "balanced"),
]


def sample(n: int, d: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian classes around random means, every third column noise."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(classes, d)) * 1.5 / np.sqrt(d)
    means[:, ::3] = 0
    y = rng.integers(0, classes, n)
    X = rng.normal(size=(n, d))
    X += means[y]
    return X, y


def one(n: int, d: int, classes: int, effort: str) -> dict[str, object]:
    """Seconds of each stage, and the peak of memory."""
    estimate(*problems.get("moons").sample(200, random_state=0), effort="fast")  # loads and compiles
    speed = calibrate(n_threads(None))
    X, y = sample(n, d, classes)
    marks: list[tuple[str, float]] = []

    def progress(stage: str, done: int, total: int) -> None:
        if not marks or marks[-1][0] != stage:
            marks.append((stage, time.perf_counter()))

    started = time.perf_counter()
    estimate(X, y, effort=effort, progress=progress)
    marks.append(("end", time.perf_counter()))
    seconds = {"reading": marks[0][1] - started}
    for (stage, begun), (_, ended) in pairwise(marks):
        seconds[stage] = seconds.get(stage, 0.0) + ended - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "n": n,
        "d": d,
        "classes": classes,
        "effort": effort,
        "probes_per_second": speed,
        "seconds": seconds,
        "total": marks[-1][1] - started,
        "bytes": peak,
        "threads": n_threads(None),
    }


def measure(records: Path) -> None:
    """Run what is missing among the records."""
    done = {tuple(r[k] for k in ("n", "d", "classes", "effort")) for r in _read(records)}
    for shape in SHAPES:
        if shape in done:
            continue
        code = f"import json, plan_costs; print(json.dumps(plan_costs.one(*{shape!r})))"
        found = subprocess.run([sys.executable, "-c", code], cwd=HERE, check=True, capture_output=True, text=True)
        with records.open("a") as file:
            file.write(found.stdout.splitlines()[-1] + "\n")
        print(shape, found.stdout.splitlines()[-1][:200], flush=True)


def _read(records: Path) -> list[dict]:
    return [json.loads(line) for line in records.read_text().splitlines()] if records.exists() else []


_TABLE = 1.2
TRAINING = ("training on eighths", "training on quarters", "training on other folds")
STAGES = {"balls in score space": "counting", "reading": "counting", **dict.fromkeys(TRAINING, "training")}


def fit(records: Path) -> None:
    """Weights that are not negative, by relative least squares."""
    runs = _read(records)
    speed = float(np.median([r["probes_per_second"] for r in runs]))
    costs: dict[str, object] = {"probes_per_second": speed, "threads": runs[0]["threads"]}
    names = list(features(100, 2, 2, 100, "fast"))
    seconds: dict[str, dict[str, float]] = {}
    for name in names:
        rows, values = [], []
        for r in runs:
            found = sum(s for stage, s in r["seconds"].items() if STAGES.get(stage, stage) == name)
            found *= r["probes_per_second"] / speed  # as on the machine in its median state
            terms = features(r["n"], r["d"], r["classes"], _sample_rows(r), r["effort"])[name]
            if any(terms.values()):
                rows.append(list(terms.values()))
                values.append(found)
        matrix, target = np.array(rows), np.array(values)
        scale = np.maximum(target, 0.3)  # seconds below which an error does not matter
        size = np.abs(matrix).max(axis=0)
        size[size == 0] = 1
        weights, _ = nnls(matrix / size / scale[:, None], target / scale)
        seconds[name] = dict(zip(terms, (weights / size).tolist(), strict=True))
    costs["seconds"] = seconds
    rows, target = [], np.array([r["bytes"] for r in runs], dtype=float)
    for r in runs:
        block = min(BLOCK_ROWS, r["n"])
        terms = memory_features(r["n"], r["d"], r["classes"], _sample_rows(r), r["effort"], r["threads"], block)
        rows.append(list(terms.values()))
    matrix = np.array(rows)
    # The table is there, and a fifth of it once more while it is checked: no shape here is large enough to show it.
    table = list(terms).index("table")
    weights = np.zeros(len(terms))
    weights[table] = _TABLE
    others = [i for i in range(len(terms)) if i != table]
    rest = target - _TABLE * matrix[:, table]
    size = np.ones(len(terms))
    size[others] = matrix[:, others].max(axis=0)
    weights[others], _ = nnls(matrix[:, others] / size[others] / target[:, None], rest / target)
    costs["bytes"] = dict(zip(terms, (weights / size).tolist(), strict=True))
    COSTS.write_text(json.dumps(costs, indent=1) + "\n")
    predicted = matrix @ (weights / size)
    print("| rows | columns | classes | effort | seconds | fitted | GB | fitted |\n|---|---|---|---|---|---|---|---|")
    for r, memory in zip(runs, predicted, strict=True):
        terms = features(r["n"], r["d"], r["classes"], _sample_rows(r), r["effort"])
        total = sum(terms[s][t] * w for s in names for t, w in seconds[s].items()) * speed / r["probes_per_second"]
        print(
            f"| {r['n']:,} | {r['d']} | {r['classes']} | {r['effort']} | {r['total']:.1f} | {total:.1f} | "
            f"{r['bytes'] / 2**30:.2f} | {memory / 2**30:.2f} |"
        )


def _sample_rows(r: dict) -> int:
    from bayesfloor import Run
    from bayesfloor.library.arrangement import EFFORTS

    return Run().n_fitted(r["n"], EFFORTS[r["effort"]])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("measure", "fit"))
    parser.add_argument("--records", type=Path, default=HERE / "results" / "plan_costs.jsonl")
    options = parser.parse_args()
    {"measure": measure, "fit": fit}[options.step](options.records)
