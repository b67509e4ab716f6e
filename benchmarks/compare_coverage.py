"""Does the interval for the room above the floor contain the true room? Real estimates, models with known true error.

python benchmarks/compare_coverage.py [--runs 200] [--out FILE]
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from bayesfloor import estimate, problems
from bayesfloor.floor._compare import compare
from bayesfloor.problems.problems import Problem
from bayesfloor.utils.intervals import lower_limit

PROBLEMS = (
    ("gaussians_4d", ()),
    ("gaussians_10d", (("shift", 2.0),)),
    ("unequal_gaussians", ()),
    ("mixture_2d", ()),
    ("mixture_10d", ()),
    ("moons", ()),
    ("twonorm", ()),
    ("heavy_tails", ()),
    ("led", ()),
    ("rayleigh_10d", ()),
)
MODELS = ("best possible", "one answer in ten at random", "centroids of 60 rows")
N_DRAWS = 400_000  # for the true error of the centroids


@dataclass(frozen=True)
class Run:
    """One estimate, one model, one comparison."""

    problem: str
    model: str
    n: int
    n_test: int
    true_room: float
    low: float
    high: float
    verdict: str

    @property
    def covered(self) -> bool:
        """Whether the interval contains the truth."""
        return self.low <= self.true_room <= self.high


def runs(n_runs: int, *, n_draws: int = N_DRAWS, n_rows: tuple[int, int] = (600, 1500)) -> Iterator[Run]:
    """Problems and models in turn; sizes of sample and test are drawn."""
    for i in range(n_runs):
        name, parameters = PROBLEMS[i % len(PROBLEMS)]
        model = MODELS[(i // len(PROBLEMS)) % len(MODELS)]
        rng = np.random.default_rng([i, 11])
        problem = _problem(name, parameters)
        n, n_test = int(rng.integers(*n_rows, endpoint=True)), int(rng.integers(300, 3000, endpoint=True))
        X, y = problem.sample(n, random_state=rng)
        result = estimate(X, y, effort="fast", n_jobs=1)
        X_test, y_test = problem.sample(n_test, random_state=rng)
        rule, true_error = _model(name, parameters, model, n_draws)
        found = compare(result, y_true=y_test, y_pred=rule(X_test, rng))
        room = found.excess_interval
        yield Run(name, model, n, n_test, true_error - problem.bayes_error, room.low, room.high, found.verdict)


@cache
def _problem(name: str, parameters: tuple[tuple[str, float], ...]) -> Problem:
    return problems.get(name, **dict(parameters))


@cache
def _model(
    name: str, parameters: tuple[tuple[str, float], ...], model: str, n_draws: int
) -> tuple[Callable[[np.ndarray, np.random.Generator], np.ndarray], float]:
    """A rule, and its true error."""
    problem = _problem(name, parameters)
    n_classes = problem.n_classes

    def best(X: np.ndarray, _: np.random.Generator) -> np.ndarray:
        return problem.posterior(X).argmax(axis=1)

    def guessing(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.where(rng.random(len(X)) < 0.1, rng.integers(0, n_classes, len(X)), best(X, rng))

    if model == MODELS[0]:
        return best, problem.bayes_error
    if model == MODELS[1]:  # a random answer is wrong with probability 1 - 1/C
        return guessing, problem.bayes_error + 0.1 * (1 - 1 / n_classes - problem.bayes_error)
    X, y = problem.sample(60, random_state=5)
    centres = np.stack(
        [X[y == c].mean(axis=0) if (y == c).any() else np.full(X.shape[1], 1e9) for c in range(n_classes)]
    )

    def nearest(X: np.ndarray, _: np.random.Generator) -> np.ndarray:
        return (-2 * X @ centres.T + (centres**2).sum(axis=1)).argmin(axis=1)

    rng = np.random.default_rng(6)
    wrong = 0
    for _ in range(4):
        X, y = problem.sample(n_draws // 4, random_state=rng)
        wrong += int((nearest(X, rng) != y).sum())
    return nearest, wrong / (n_draws // 4 * 4)


def page(done: list[Run]) -> str:
    """The table."""
    covered = sum(run.covered for run in done)
    below = sum(run.verdict == "below the floor" for run in done)
    lines = [
        "# Coverage of the room above the floor",
        "",
        f"Written by `python benchmarks/compare_coverage.py --runs {len(done)}`. Each run: a fresh sample of 600 to "
        '1,500 rows, `estimate(effort="fast")`, and `compare` with a model whose true error is known, tested on 300 to '
        "3,000 fresh rows. The true error of the centroids is counted on 400,000 draws; the others' is exact.",
        "",
        f"**The 95 % interval contained the true room in {covered} of {len(done)} runs, {covered / len(done):.1%}** "
        f"(with 95 % confidence the true coverage is at least {lower_limit(covered, len(done), 0.95):.1%}). "
        f"{below} runs were called below the floor, wrongly.",
        "",
        "| | runs | covered | mean width, points | room | at the floor | cannot tell | below |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for what in ("model", "problem"):
        for name in dict.fromkeys(getattr(run, what) for run in done):
            chosen = [run for run in done if getattr(run, what) == name]
            verdicts = Counter(run.verdict for run in chosen)
            width = 100 * np.mean([run.high - run.low for run in chosen])
            lines.append(
                f"| {name} | {len(chosen)} | {sum(run.covered for run in chosen) / len(chosen):.0%} | {width:.1f} "
                f"| {verdicts['room']} | {verdicts['at the floor']} | {verdicts['cannot tell']} "
                f"| {verdicts['below the floor']} |"
            )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the table, and write it to a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--out", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    done: list[Run] = []
    for run in runs(options.runs):
        done.append(run)
        print(len(done), run, "" if run.covered else "MISSED", flush=True)
    print(page(done))
    if options.out is not None:
        options.out.write_text(page(done), encoding="utf-8")


if __name__ == "__main__":
    main()
