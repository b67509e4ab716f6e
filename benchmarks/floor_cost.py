"""Cost of the learned floor against cross-validating two classifiers on the same data and cores, in one run.

python benchmarks/floor_cost.py [--out FILE]
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import cross_val_score

from bayesfloor import estimate, problems

CASES = {
    "1,500 x 10, 2 classes": ("gaussians_10d", {"shift": 2}, 1500),
    "5,000 x 30, 10 classes": ("mixture_10d", {"n_features": 30, "n_classes": 10}, 5000),
    "20,000 x 50, 3 classes": ("beta_50d", {}, 20_000),
}


def seconds(run: Callable[[], object]) -> float:
    """Wall time of one call."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def main() -> None:
    """Print the table, and write it to a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    lines = [
        "# Cost of the learned floor",
        "",
        "Written by `python benchmarks/floor_cost.py`. The rival is 5-fold cross-validation of scikit-learn's "
        "RandomForestClassifier(300) and HistGradientBoostingClassifier, defaults otherwise, on all cores.",
        "",
        "| data | rival, s | balanced, s | ratio (at most 1.5) | fast, s | ratio (at most 0.75) |",
        "|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    X, y = problems.get("moons").sample(200, 0)
    estimate(X, y, effort="fast")  # loads compiled code
    for name, (problem, parameters, n) in CASES.items():
        X, y = problems.get(problem, **parameters).sample(n, 0)
        rival = seconds(lambda X=X, y=y: cross_val_score(RandomForestClassifier(300, n_jobs=-1), X, y, cv=5))
        rival += seconds(lambda X=X, y=y: cross_val_score(HistGradientBoostingClassifier(), X, y, cv=5))
        ours = {e: seconds(lambda X=X, y=y, e=e: estimate(X, y, effort=e)) for e in ("balanced", "fast")}
        lines.append(
            f"| {name} | {rival:.1f} | {ours['balanced']:.1f} | {ours['balanced'] / rival:.2f} | {ours['fast']:.1f} "
            f"| {ours['fast'] / rival:.2f} |"
        )
        print(lines[-1], flush=True)
    if options.out is not None:
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
