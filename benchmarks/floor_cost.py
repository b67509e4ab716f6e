"""Cost of the learned floor against cross-validating a random forest on the same data and cores, in one run.

python benchmarks/floor_cost.py [--runs 5] [--cases 1500 ...] [--out FILE] [--readme README.md]
"""

import argparse
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from threadpoolctl import threadpool_limits

from bayesfloor import estimate, problems
from bayesfloor.library.learners import LIBRARY
from readme_figures import put

CORES = 2


def known(name: str, n: int, **parameters: Any) -> tuple[Any, Any]:
    """Rows of a problem with a known floor."""
    return problems.get(name, **parameters).sample(n, 0)


def categories(n: int) -> tuple[Any, Any]:
    """A table of four numeric columns and six of categories, three to thirty of them."""
    rng = np.random.default_rng(0)
    table, score = {}, np.zeros(n)
    for levels in (3, 4, 6, 10, 20, 30):
        codes = rng.integers(levels, size=n)
        score += rng.normal(scale=0.7, size=levels)[codes]
        table[f"of {levels}"] = np.array([f"level {k}" for k in range(levels)])[codes]
    for j in range(4):
        table[f"x{j}"] = rng.normal(size=n)
        score += 0.5 * table[f"x{j}"]
    return pd.DataFrame(table), (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)


# Up to 3,000 rows balanced cross-fits twice.
CASES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "1,500 x 10, 2 classes": lambda: known("gaussians_10d", 1500, shift=2),
    "5,000 x 30, 10 classes": lambda: known("mixture_10d", 5000, n_features=30, n_classes=10),
    "20,000 x 50, 3 classes": lambda: known("beta_50d", 20_000),
    "2,000 x 500, 2 classes": lambda: known("mixture_10d", 2000, n_features=500, n_classes=2),
    "4,000 x 16, 26 classes": lambda: known("mixture_10d", 4000, n_features=16, n_classes=26),
    "3,000 x 10, 6 of categories": lambda: categories(3000),
}
AIMS = {"balanced": 0.5, "fast": 0.25}  # of the forest's time
IN_THREADS = ("1,500 x 10, 2 classes", "5,000 x 30, 10 classes")


def seconds(run: Callable[[], object]) -> float:
    """Wall time of one call."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def cross_validate(X: Any, y: Any) -> None:
    """What one would do otherwise: five folds of a random forest, categories as indicators."""
    forest = RandomForestClassifier(300, n_jobs=CORES)
    if isinstance(X, pd.DataFrame):
        indicators = OneHotEncoder(handle_unknown="ignore")
        textual = make_column_selector(dtype_exclude=np.number)
        forest = make_pipeline(make_column_transformer((indicators, textual), remainder="passthrough"), forest)
    cross_val_predict(forest, X, y, cv=5, method="predict_proba")


def compare(name: str, runs: int) -> tuple[str, list[float]]:
    """Medians of interleaved runs: a line of the table, and both ratios."""
    X, y = CASES[name]()
    times: dict[str, list[float]] = {"forest": [], "balanced": [], "fast": []}
    for _ in range(runs):
        times["forest"].append(seconds(lambda: cross_validate(X, y)))
        for effort in ("balanced", "fast"):
            times[effort].append(seconds(lambda effort=effort: estimate(X, y, effort=effort, n_jobs=CORES)))
    middle = {what: median(found) for what, found in times.items()}
    ratios = [middle[effort] / middle["forest"] for effort in AIMS]
    cells = [f"{middle['forest']:.1f}"]
    for (effort, target), ratio in zip(AIMS.items(), ratios, strict=True):
        cells += [f"{middle[effort]:.1f}", f"{ratio:.2f}{'' if ratio <= target else ' (missed)'}", f"{target:g}"]
    return f"| {name} | {' | '.join(cells)} |", ratios


def cpu_shares(name: str) -> str:
    """Where the CPU time of a balanced estimate goes, in one thread."""
    X, y = CASES[name]()
    spent: Counter[str] = Counter()

    def timed(key: str, call: Callable[[], Any]) -> Any:
        started = time.thread_time()
        found = call()
        spent[key] += time.thread_time() - started
        return found

    def watch(key: str, learner: Any) -> Any:
        def watched(fold: Any) -> Any:
            if key in ("weighted neighbours", "kernel", "trees"):
                timed("forest", lambda: fold.forest)
            models = timed(key, lambda: learner(fold))
            return {s: lambda unseen, m=m: timed(key, lambda: m(unseen)) for s, m in models.items()}

        return watched

    with patch("bayesfloor.library.cross_fit.LIBRARY", {key: watch(key, f) for key, f in LIBRARY.items()}):
        started = time.thread_time()
        estimate(X, y, n_jobs=1)
        total = time.thread_time() - started
    spent["all else"] = total - sum(spent.values())
    shares = ", ".join(f"{key} {100 * share / total:.0f} %" for key, share in spent.most_common())
    return f"- {name}, {total:.1f} s of CPU: {shares}"


def in_two_threads(name: str, runs: int) -> str:
    """Time of two threads by that of one, beside the same of matrix products: a line of the table."""
    X, y = CASES[name]()
    A = np.random.default_rng(0).normal(size=(1500, 1500))

    def product(_: int) -> None:
        A @ A

    ours, bare = [], []
    for _ in range(runs):
        with threadpool_limits(1), ThreadPoolExecutor(CORES) as pool:
            alone = seconds(lambda: [product(i) for i in range(20)])
            bare.append(seconds(lambda pool=pool: list(pool.map(product, range(20)))) / alone)
        alone = seconds(lambda: estimate(X, y, n_jobs=1))
        ours.append(seconds(lambda: estimate(X, y, n_jobs=CORES)) / alone)
    share, least = median(ours), median(bare)
    return f"| {name} | {share:.2f} | {least:.2f} | {share / least:.2f} |"


# Rows, columns and classes: from few to very many, and both.
GROWING = (
    [(4_000, 10, 20), (4_000, 10, 60), (4_000, 10, 180)],
    [(1_500, 100, 2), (1_500, 300, 2), (1_500, 1_000, 2), (1_500, 3_000, 2)],
    [(8_700, 177, 60)],
    [(2_000, 10, 400)],
)


def growth(n: int, d: int, n_classes: int) -> float:
    """CPU seconds of a balanced estimate in one thread, of Gaussian classes in twenty of the columns."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, d))
    X[:, :20] += 1.2 * rng.normal(size=(n_classes, min(d, 20)))[y]
    started = time.process_time()
    estimate(X, y, n_jobs=1)
    return time.process_time() - started


def growing() -> list[str]:
    """Lines of a table: CPU time, and by how much it grows beside classes or columns."""
    lines = []
    for shapes in GROWING:
        spent = [growth(*shape) for shape in shapes]
        for (n, d, n_classes), seconds in zip(shapes, spent, strict=True):
            times, many = seconds / spent[0], d * n_classes / (shapes[0][1] * shapes[0][2])
            lines.append(f"| {n:,} | {d:,} | {n_classes} | {seconds:.0f} | {times:.1f} | {many:.1f} |")
    return lines


def load_seconds() -> float:
    """Time to load compiled code that numba has cached, in a new process."""
    code = (
        "import time, bayesfloor, scipy.linalg, scipy.special, sklearn.ensemble\n"
        "X, y = bayesfloor.problems.get('moons').sample(60, 0)\n"
        "run = lambda: bayesfloor.estimate(X, y, n_jobs=1)\n"
        "t = time.perf_counter(); run(); first = time.perf_counter() - t\n"
        "t = time.perf_counter(); run(); print(first - (time.perf_counter() - t))"
    )
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def main() -> None:
    """Print the tables, and write them to a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5, help="interleaved runs whose medians are printed")
    parser.add_argument("--cases", nargs="+", default=list(CASES), help="names of cases begin like this")
    parser.add_argument("--out", type=Path, help="also write the tables to this file")
    parser.add_argument("--readme", type=Path, help="also put the sentence on cost into this file")
    options = parser.parse_args()
    if options.readme is not None and options.cases != list(CASES):
        parser.error("--readme needs all cases")
    cases = [name for name in CASES if name.startswith(tuple(options.cases))]
    lines: list[str] = []

    def say(*new: str) -> None:
        print("\n".join(new), flush=True)
        lines.extend(new)

    X, y = problems.get("moons").sample(200, 0)
    estimate(X, y)  # loads compiled code
    say(
        "# Cost of the learned floor",
        "",
        f"Written by `python benchmarks/floor_cost.py`: medians of {options.runs} interleaved runs on {CORES} cores. "
        "The rival is `cross_val_predict` of scikit-learn's `RandomForestClassifier(300)` in five folds.",
        "",
        "| data | forest, s | balanced, s | ratio | aim | fast, s | ratio | aim |",
        "|---|---|---|---|---|---|---|---|",
    )
    ratios = []
    for name in cases:
        line, found = compare(name, options.runs)
        say(line)
        ratios.append(found)
    say("", "## Where the time goes", "", *(cpu_shares(name) for name in cases))
    say(
        "",
        "## Two threads",
        "",
        "Time of two threads as a share of one thread's, and the same of matrix products in the same run. The aim is a "
        "quotient of 1.3 at most.",
        "",
        "| data | estimate | matrix product | quotient |",
        "|---|---|---|---|",
        *(in_two_threads(name, options.runs) for name in cases if name in IN_THREADS),
        "",
        "## Many classes, many columns",
        "",
        "CPU seconds of a balanced estimate in one thread. The aim beyond 20 classes and 100 columns: time grows by at "
        "most as much as classes or columns do.",
        "",
        "| rows | columns | classes | CPU, s | times as long | times as many |",
        "|---|---|---|---|---|---|",
        *(growing() if options.cases == list(CASES) else ()),
        "",
        f"Compiled code is kept in numba's cache; loading it took {load_seconds():.1f} s in a new process.",
    )
    if options.out is not None:
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    if options.readme is not None:
        balanced, fast = ([f"{pair[i]:.2f}" for pair in ratios] for i in (0, 1))
        told = (
            f"An estimate takes {min(balanced)} to {max(balanced)} of the time of cross-validating a random forest of "
            f'300 trees on the same data, one with `effort="fast"` {min(fast)} to {max(fast)}.'
        )
        put(options.readme, "cost", told)


if __name__ == "__main__":
    main()
