"""Coverage of the interval of `from_scores` after an invertible distortion of the scores.

The scores are those of the true posterior, so their floor is that of the problem. Each class's log-odds against the
rest go through a strictly increasing map, which changes no floor:

- of two classes the score of the second is given, a strictly increasing function of its log-odds;
- of more, log sigmoid(g(x_c)) of each class c, which `from_scores` normalises. No two posteriors get the same
  normalised scores: all scores would differ by one constant, so all x_c would be larger in one of them, and so would be
  all probabilities; but both add up to 1.

python benchmarks/score_distortions.py [--samples 200] [--jobs N] [--save FILE] [--before FILE] [--out FILE]
"""

import argparse
import json
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
from scipy.special import logsumexp

from bayesfloor import from_scores, problems
from bayesfloor.problems.problems import Problem

N_ROWS = 1000
PROBLEMS = ("gaussians_4d", "mixture_2d")  # two classes, three
DISTORTIONS: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "none": ("x", lambda x: x),
    "cube": ("x^3", lambda x: x**3),
    "cube root": ("x^(1/3)", np.cbrt),
    "saturating": ("arctan x", np.arctan),
    "uneven slopes": ("x/5 below 0, 3 x above, + 1.5", lambda x: np.where(x < 0, x / 5, 3 * x) + 1.5),
    "wiggle": ("x + 0.9 sin x", lambda x: x + 0.9 * np.sin(x)),
}
LEAST = 181  # of 200: 95 % nominal, and below that with probability 0.003


@cache
def _problem(name: str) -> Problem:
    return problems.get(name)


def distorted(P: np.ndarray, distortion: str) -> np.ndarray:
    """Scores made of a posterior, by the name of the distortion."""
    bend = DISTORTIONS[distortion][1]
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(P), -700.0)  # a probability of 0 has no log-odds
    if P.shape[1] == 2:
        return bend(logs[:, 1:] - logs[:, :1])
    rest = np.stack([logsumexp(np.delete(logs, c, axis=1), axis=1) for c in range(P.shape[1])], axis=1)
    return -np.logaddexp(0, -bend(logs - rest))


def one(task: tuple[str, str, int]) -> tuple[float, float, float, float]:
    """Floor, both ends of its interval, and the ceiling, for one problem, distortion and seed."""
    name, distortion, seed = task
    problem = _problem(name)
    X, y = problem.sample(N_ROWS, random_state=[seed, 7])
    found = from_scores(distorted(problem.posterior(X), distortion), y, n_jobs=1)
    return found.floor, found.interval.low, found.interval.high, 1.0 if found.ceiling is None else found.ceiling


def measure(samples: int, jobs: int | None) -> dict[str, dict[str, float]]:
    """Figures of each cell, by "problem, distortion"."""
    cells: dict[str, dict[str, float]] = {}
    with ProcessPoolExecutor(jobs) as pool:
        for name, distortion in product(PROBLEMS, DISTORTIONS):
            done = list(pool.map(one, [(name, distortion, seed) for seed in range(samples)]))
            value, low, high, ceiling = np.array(done).T
            floor = _problem(name).bayes_error
            cells[f"{name}, {distortion}"] = {
                "covered": int(((low <= floor) & (floor <= high)).sum()),
                "width": float((high - low).mean()),
                "floor": float(value.mean()),
                "off": float(np.abs(value - floor).mean()),
                "below": int((ceiling < floor).sum()),
            }
            print(name, distortion, cells[f"{name}, {distortion}"], flush=True)
    return cells


def page(cells: dict[str, dict[str, float]], before: dict[str, dict[str, float]], samples: int) -> str:
    """The table."""
    fewest = min(cell["covered"] for cell in cells.values())
    old = "| before: covered | width | mean abs. error " if before else ""
    lines = [
        "# Floors of distorted scores",
        "",
        f"Written by `python benchmarks/score_distortions.py --samples {samples}`. Scores of the true posterior of "
        f"{N_ROWS:,} rows, their log-odds x (each class against the rest) distorted by a strictly increasing map, "
        "which leaves the floor as it is. Of two classes one score is given, of three the logarithms of the sigmoids.",
        "",
        f"**The 95 % interval covers the floor in {fewest} of {samples} samples at least**; {LEAST} of 200 are asked "
        "for.",
        "",
        *(
            ["*Before* is `from_scores` with a temperature and shifts alone, on the same samples (commit a6669f5).", ""]
            if before
            else []
        ),
        "| problem | floor | distortion | of x | covered | mean width | mean floor | mean abs. error | ceiling below "
        f"{old}|",
        "|---" * (9 + 3 * bool(before)) + "|",
    ]
    for name, distortion in product(PROBLEMS, DISTORTIONS):
        cell = cells[f"{name}, {distortion}"]
        row = (
            f"| {name} | {_problem(name).bayes_error:.4f} | {distortion} | {DISTORTIONS[distortion][0]} "
            f"| {cell['covered']} | {cell['width']:.4f} | {cell['floor']:.4f} | {cell['off']:.4f} | {cell['below']} "
        )
        if before:
            then = before[f"{name}, {distortion}"]
            row += f"| {then['covered']} | {then['width']:.4f} | {then['off']:.4f} "
        lines.append(row + "|")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the table, and write it to a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--jobs", type=int, help="processes; all cores if not given")
    parser.add_argument("--save", type=Path, help="write the figures as JSON, to be compared with later")
    parser.add_argument("--before", type=Path, help="figures of another version, of as many samples")
    parser.add_argument("--out", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    cells = measure(options.samples, options.jobs)
    before = {} if options.before is None else json.loads(options.before.read_text(encoding="utf-8"))
    text = page(cells, before, options.samples)
    print(text)
    if options.save is not None:
        options.save.write_text(json.dumps(cells, indent=1) + "\n", encoding="utf-8")
    if options.out is not None:
        options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
