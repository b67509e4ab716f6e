"""The adaptive learner against the oracle on seven low-dimensional problems with known floor.

The oracle knows the Bayes classifier and counts its errors on the same samples: no estimator can do
better asymptotically. Run with `make evidence`, or directly:

    python benchmarks/low_dimension.py [--quick] [--out benchmarks/results/low_dimension.md]
"""

import argparse
import platform
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.integrate import quad
from scipy.stats import gamma, norm

from bayesfloor import BenchmarkLearner
from bayesfloor.progress import TerminalProgress


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


def accuracy_table(n: int, n_seeds: int, only_plane: bool) -> Iterator[str]:
    """Markdown lines: RMSE, the oracle's, their ratio, and N MSE / (E (1 - E))."""
    yield f"\n### N = {n}, {n_seeds} seeds\n"
    yield "| problem | floor | bias | RMSE | oracle RMSE | ratio | N MSE / (E(1-E)) |"
    yield "|---|---|---|---|---|---|---|"
    ratios = []
    for index, values in run(n, n_seeds, only_plane).items():
        floor = PROBLEMS[index].floor
        ours, oracle = values[:, 0], values[:, 1]
        rmse, oracle_rmse = (np.sqrt(np.mean((v - floor) ** 2)) for v in (ours, oracle))
        ratios.append(rmse / oracle_rmse)
        rate = n * rmse**2 / (floor * (1 - floor))
        yield (
            f"| {PROBLEMS[index].name} | {floor:.4f} | {ours.mean() - floor:+.4f} | {rmse:.4f} | {oracle_rmse:.4f} "
            f"| {ratios[-1]:.2f} | {rate:.2f} |"
        )
    yield f"\nMean over the {len(ratios)} problems of RMSE / oracle RMSE: **{np.mean(ratios):.3f}**"


def interval_table(n: int, n_seeds: int) -> Iterator[str]:
    """Markdown lines: how often the 95 % interval covers the floor, and how wide it is."""
    yield f"\n### 95 % interval, N = {n}, {n_seeds} seeds\n"
    yield "| problem | covers | mean width / (3.92 sqrt(E(1-E)/N)) |"
    yield "|---|---|---|"
    for index, values in run(n, n_seeds, only_plane=True).items():
        floor = PROBLEMS[index].floor
        low, high = values[:, 2], values[:, 3]
        covers = np.mean((low <= floor) & (floor <= high))
        width = (high - low).mean() / (3.92 * np.sqrt(floor * (1 - floor) / n))
        yield f"| {PROBLEMS[index].name} | {covers:.1%} | {width:.2f} |"


def main() -> None:
    """Print the tables and write them to a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="10 seeds instead of 100")
    parser.add_argument("--out", type=Path, help="also write the tables to this file")
    options = parser.parse_args()
    n_seeds = 10 if options.quick else 100
    started = time.monotonic()
    lines = ["# Low dimension: the adaptive learner against the oracle"]
    lines.append("\nWritten by `python benchmarks/low_dimension.py`; one default setting for everything.")
    for n in SIZES:
        lines += accuracy_table(n, n_seeds, only_plane=False)
    lines += accuracy_table(LARGE, n_seeds, only_plane=True)
    lines += interval_table(INTERVAL_SIZE, 2 * n_seeds)
    lines.append(f"\nTook {time.monotonic() - started:.0f} s with Python {platform.python_version()}.")
    print("\n".join(lines))
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
