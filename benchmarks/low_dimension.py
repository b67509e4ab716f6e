"""The adaptive learner against the oracle on seven low-dimensional problems with known floor.

The oracle knows the Bayes classifier and counts its errors on the same samples: no estimator can do
better asymptotically. Run with `make evidence`, or directly:

    python benchmarks/low_dimension.py [--quick] [--out FILE]
"""

import argparse
import platform
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.integrate import quad
from scipy.stats import gamma, norm

from bayesfloor import BayesfloorWarning, BenchmarkLearner
from bayesfloor.utils.progress import TerminalProgress


@dataclass(frozen=True)
class Gaussians:
    """Two Gaussians with identity covariance, means `shift` apart, equal priors."""

    n_features: int
    shift: float

    @property
    def name(self) -> str:
        """Short name."""
        return f"Gaussians d={self.n_features}, {self.shift:g} apart"

    @property
    def floor(self) -> float:
        """Phi(-shift / 2)."""
        return float(norm.sf(self.shift / 2))

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows, labels, and the Bayes classifier's labels."""
        y = rng.integers(0, 2, n)
        X = rng.standard_normal((n, self.n_features))
        X[:, 0] += self.shift * y
        return X, y, (X[:, 0] > self.shift / 2).astype(int)


@dataclass(frozen=True)
class Rayleighs:
    """Classes of independent Rayleigh coordinates that differ in scale, equal priors."""

    n_features: int
    scales: tuple[float, ...]

    @property
    def name(self) -> str:
        """Short name."""
        return f"Rayleigh d={self.n_features}, scales {', '.join(f'{s:g}' for s in self.scales)}"

    @property
    def floor(self) -> float:
        """By quadrature: u = sum x_i^2 is sufficient, and gamma distributed in each class."""

        def largest(u: float) -> float:
            return max(gamma.pdf(u, self.n_features, scale=2 * s**2) for s in self.scales) / len(self.scales)

        cuts = np.linspace(0, 60, 61) * max(self.scales) ** 2
        return 1 - sum(quad(largest, a, b, epsabs=1e-12)[0] for a, b in pairwise(cuts))

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows, labels, and the Bayes classifier's labels."""
        scales = np.array(self.scales)
        y = rng.integers(0, len(scales), n)
        X = rng.rayleigh(1.0, (n, self.n_features)) * scales[y][:, None]
        u = (X**2).sum(axis=1)
        log_density = -2 * self.n_features * np.log(scales) - u[:, None] / (2 * scales**2)
        return X, y, log_density.argmax(axis=1)


PROBLEMS = [
    *(Gaussians(d, s) for d, s in [(1, 2.0), (2, 2.0), (3, 2.0), (5, 2.0), (2, 1.0), (2, 4.0)]),
    Rayleighs(2, (2.0, 4.0, 6.0)),
]
SIZES = (250, 1000, 4000)
LARGE, INTERVAL_SIZE = 8000, 2000


def one(task: tuple[int, int, int]) -> tuple[float, float, float, float]:
    """Estimate, oracle's estimate and interval for one problem, size and seed."""
    index, n, seed = task
    X, y, best = PROBLEMS[index].sample(n, np.random.default_rng([seed, n, index]))
    learner = BenchmarkLearner(n_jobs=1).fit(X, y)
    return learner.bayes_error_, float(np.mean(best != y)), learner.interval_.low, learner.interval_.high


def run(n: int, n_seeds: int, only_plane: bool) -> dict[int, np.ndarray]:
    """Results per problem index: array of shape (n_seeds, 4)."""
    indices = [i for i, p in enumerate(PROBLEMS) if p.n_features <= 2 or not only_plane]
    tasks = [(i, n, seed) for i in indices for seed in range(n_seeds)]
    show, results = TerminalProgress(), []
    with ProcessPoolExecutor() as pool:
        for done, result in enumerate(pool.map(one, tasks), start=1):
            results.append(result)
            show(f"N = {n}", done, len(tasks))
    return dict(zip(indices, np.array(results).reshape(len(indices), n_seeds, 4), strict=True))


def accuracy(n: int, n_seeds: int, only_plane: bool) -> tuple[list[str], str]:
    """Markdown table of RMSE, the oracle's, their ratio and N MSE / (E (1 - E)); and a row that sums it up."""
    lines = [f"\n## N = {n}, {n_seeds} seeds\n"]
    lines.append("| problem | floor | bias | RMSE | oracle RMSE | ratio | N MSE / (E(1-E)) |")
    lines.append("|---|---|---|---|---|---|---|")
    ratios, ours_all, oracle_all = [], [], []
    for index, values in run(n, n_seeds, only_plane).items():
        floor = PROBLEMS[index].floor
        ours, oracle = values[:, 0], values[:, 1]
        rmse, oracle_rmse = (np.sqrt(np.mean((v - floor) ** 2)) for v in (ours, oracle))
        ratios.append(rmse / oracle_rmse)
        ours_all.append(rmse)
        oracle_all.append(oracle_rmse)
        rate = n * rmse**2 / (floor * (1 - floor))
        lines.append(
            f"| {PROBLEMS[index].name} | {floor:.4f} | {ours.mean() - floor:+.4f} | {rmse:.4f} | {oracle_rmse:.4f} "
            f"| {ratios[-1]:.2f} | {rate:.2f} |"
        )
    lines.append(f"\nMean over the {len(ratios)} problems of RMSE / oracle RMSE: **{np.mean(ratios):.3f}**")
    row = (
        f"| {n} | {len(ratios)} | {np.mean(ours_all):.4f} | {np.mean(oracle_all):.4f} "
        f"| {np.mean(ratios):.2f} | {max(ratios):.2f} |"
    )
    return lines, row


def coverage(n: int, n_seeds: int) -> tuple[list[str], str]:
    """Markdown table of how often the 95 % interval covers the floor; and a sentence that sums it up."""
    lines = [f"\n## 95 % interval, N = {n}, {n_seeds} seeds\n"]
    lines += ["| problem | covers | mean width / (3.92 sqrt(E(1-E)/N)) |", "|---|---|---|"]
    shares = []
    for index, values in run(n, n_seeds, only_plane=True).items():
        floor = PROBLEMS[index].floor
        low, high = values[:, 2], values[:, 3]
        shares.append(np.mean((low <= floor) & (floor <= high)))
        width = (high - low).mean() / (3.92 * np.sqrt(floor * (1 - floor) / n))
        lines.append(f"| {PROBLEMS[index].name} | {shares[-1]:.1%} | {width:.2f} |")
    return lines, (
        f"The 95 % interval covers the floor in {min(shares):.1%} to {max(shares):.1%} of {n_seeds} samples of {n} "
        f"rows on the {len(shares)} problems with one or two features."
    )


def main() -> None:
    """Print the tables and write them to a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="10 seeds instead of 100")
    parser.add_argument("--out", type=Path, help="also write the tables to this file")
    options = parser.parse_args()
    n_seeds = 10 if options.quick else 100
    # The verdict on each sample is not what is measured here.
    warnings.simplefilter("ignore", BayesfloorWarning)
    started = time.monotonic()
    lines = ["# Low dimension: the adaptive learner against the oracle"]
    lines.append("\nWritten by `python benchmarks/low_dimension.py`; one default setting for everything.")
    summary = [
        "| N | problems | RMSE, mean | oracle RMSE, mean | ratio, mean | ratio, worst |",
        "|---|---|---|---|---|---|",
    ]
    for n in (*SIZES, LARGE):
        table, row = accuracy(n, n_seeds, only_plane=n == LARGE)
        lines += table
        summary.append(row)
    table, sentence = coverage(INTERVAL_SIZE, 2 * n_seeds)
    lines += table
    lines[2:2] = ["", *summary, "", sentence]
    lines.append(f"\nTook {time.monotonic() - started:.0f} s with Python {platform.python_version()}.")
    print("\n".join(lines))
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
