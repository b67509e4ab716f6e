"""Does the interval of the excess over the floor contain the true excess? Real estimates, models of known true error.

python benchmarks/compare_coverage.py run [--runs 200]   # of each problem; an hour or two, continues where it stopped
python benchmarks/compare_coverage.py report --out benchmarks/results/compare_coverage.md
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np

from bayesfloor import estimate, problems
from bayesfloor.floor._compare import compare
from bayesfloor.problems.problems import Problem
from bayesfloor.utils.intervals import lower_limit
from records import Record, read_records, run_missing

RECORDS = Path(__file__).parent / "results" / "compare_coverage.jsonl"  # committed as it grows
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

    number: int
    problem: str
    model: str
    n: int
    n_test: int
    true_excess: float
    low: float
    high: float
    floor: float
    verdict: str

    @property
    def covered(self) -> bool:
        """Whether the interval contains the truth."""
        return self.low <= self.true_excess <= self.high

    @property
    def flattered(self) -> bool:
        """Whether the model was called at the floor while it was above it by more than that may mean."""
        return self.verdict == "at the floor" and self.true_excess > max(0.02, 0.25 * self.floor)


def runs(n_runs: int, *, n_draws: int = N_DRAWS, n_rows: tuple[int, int] = (600, 1500)) -> Iterator[Run]:
    """The first so many runs."""
    return (run(i, n_draws=n_draws, n_rows=n_rows) for i in range(n_runs))


def run(i: int, *, n_draws: int = N_DRAWS, n_rows: tuple[int, int] = (600, 1500)) -> Run:
    """Run number i: problems and models in turn; sizes of sample and test are drawn."""
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
    excess = found.excess_interval
    truth = true_error - problem.bayes_error
    return Run(i, name, model, n, n_test, truth, excess.low, excess.high, problem.bayes_error, found.verdict)


def _record(i: int) -> Record:
    return asdict(run(i))


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
    """The tables."""
    covered = sum(run.covered for run in done)
    below = sum(run.verdict == "below the floor" for run in done)
    flattered = sum(run.flattered for run in done)
    shares = {
        name: np.mean([run.covered for run in done if run.problem == name])
        for name in dict.fromkeys(run.problem for run in done)
    }
    worst = min(shares, key=shares.__getitem__)
    lines = [
        "# Coverage of the excess over the floor",
        "",
        "Written by `python benchmarks/compare_coverage.py report`. Each run: a fresh sample of 600 to 1,500 rows, "
        '`estimate(effort="fast")`, and `compare` with a model whose true error is known, tested on 300 to '
        "3,000 fresh rows. The true error of the centroids is counted on 400,000 draws; the others' is exact.",
        "",
        f"**The 95 % interval contained the true excess in {covered} of {len(done)} runs, {covered / len(done):.1%}** "
        f"(with 95 % confidence the true coverage is at least {lower_limit(covered, len(done), 0.95):.1%}). "
        f"**Worst problem: {worst}, {shares[worst]:.1%}.** {below} runs were called below the floor, wrongly; "
        f"{flattered} were called at the floor while the model was above it by over two points and a quarter of it.",
        "",
    ]
    for what in ("problem", "model"):
        lines += [
            f"| {what} | runs | covered | mean width, points | room | at the floor | cannot tell | below |",
            "|---|---|---|---|---|---|---|---|",
        ]
        for name in dict.fromkeys(getattr(run, what) for run in done):
            chosen = [run for run in done if getattr(run, what) == name]
            verdicts = Counter(run.verdict for run in chosen)
            width = 100 * np.mean([run.high - run.low for run in chosen])
            lines.append(
                f"| {name} | {len(chosen)} | {sum(run.covered for run in chosen) / len(chosen):.1%} | {width:.1f} "
                f"| {verdicts['room']} | {verdicts['at the floor']} | {verdicts['cannot tell']} "
                f"| {verdicts['below the floor']} |"
            )
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    """Run, or write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("--runs", type=int, default=200, help="of each problem")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, help="also write the tables to this file")
    options = parser.parse_args()
    if options.what == "run":
        run_missing(RECORDS, _record, range(options.runs * len(PROBLEMS)), options.jobs)
    text = page([Run(**record) for record in read_records(RECORDS)])
    print(text)
    if options.out is not None:
        options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    from compare_coverage import main  # so that other processes can import what is cached

    main()
