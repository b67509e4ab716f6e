"""How far estimates leave the line of label noise by chance, on problems whose floor is known.

python benchmarks/noise_line.py run [--seeds 2]   # half an hour; continues where it stopped
python benchmarks/noise_line.py report --out benchmarks/results/noise_line.md
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.special import ndtri

from bayesfloor import problems
from bayesfloor.floor import noise
from records import Record, read_records, run_missing

RECORDS = Path(__file__).parent / "results" / "noise_line.jsonl"  # committed as it grows
PROBLEMS = (
    ("gaussians_4d", {}),
    ("gaussians_10d", {"shift": 2.0}),
    ("unequal_gaussians", {}),
    ("mixture_2d", {}),
    ("mixture_10d", {}),
    ("moons", {}),
    ("twonorm", {}),
    ("heavy_tails", {}),
    ("led", {}),
    ("rayleigh_10d", {}),
)
SIZES = (300, 1000, 3000)
RHOS = (0.2, 0.4, 0.6)


def run(number: int) -> Record:
    """Run number `number`: problems, sizes and seeds in turn."""
    (name, parameters), rest = PROBLEMS[number % len(PROBLEMS)], number // len(PROBLEMS)
    n, seed = SIZES[rest % len(SIZES)], rest // len(SIZES)
    problem = problems.get(name, **parameters)
    X, y = problem.sample(n, random_state=[seed, n, 5])
    check = noise.noise_check(X, y, rhos=RHOS, effort="fast", random_state=seed, n_jobs=1)
    chance = [noise.labels_noise(check.clean.floor, rho, problem.n_classes, n) for rho in RHOS]
    return {
        "number": number,
        "problem": name,
        "n": n,
        "true": problem.bayes_error,
        "floor": check.clean.floor,
        "gaps": list(check.gaps),
        "chance": chance,
    }


def page(done: list[Record]) -> str:
    """The factor, and where it comes from."""
    ratios = np.array([np.abs(r["gaps"]) / np.array(r["chance"]) for r in done])
    limit = float(ndtri(1 - 0.05 / (2 * len(RHOS))))
    lines = [
        "# Distance from the line of label noise",
        "",
        "Written by `python benchmarks/noise_line.py report`. Each run: a fresh sample of a problem with a known "
        f"floor, `noise_check(rhos={list(RHOS)}, effort='fast')`. The gap between estimate and line is divided by the "
        "standard deviation that replaced labels give to the errors of the best classifier (formula: `noise_check`). "
        '"95 % factor" is by how much that has to be multiplied so that 95 % of the runs have no gap beyond the limit '
        f"of Bonferroni, {limit:.2f} standard errors. `noise_check` multiplies by {noise.SPREAD:g}: the larger of that "
        "factor and the root mean square, over all runs, rounded up to a tenth. The last column is of the same runs "
        "that the factor was taken from: on others more may be called off.",
        "",
        "| runs | number | root mean square of gap / deviation | 95 % factor | called off |",
        "|---|---|---|---|---|",
    ]

    def add(name: str, chosen: np.ndarray) -> None:
        called = (ratios[chosen].max(axis=1) > limit * noise.SPREAD).mean()
        lines.append(
            f"| {name} | {chosen.sum()} | {root_mean_square(ratios[chosen]):.2f} | {factor(ratios[chosen]):.2f} "
            f"| {called:.1%} |"
        )

    add("all", np.ones(len(done), dtype=bool))
    for key, names in (("n", SIZES), ("problem", [name for name, _ in PROBLEMS])):
        for name in names:
            add(f"{name:,} rows" if key == "n" else name, np.array([r[key] == name for r in done]))
    return "\n".join(lines) + "\n"


def spread(ratios: np.ndarray) -> float:
    """What `noise_check` multiplies by."""
    return float(np.ceil(10 * max(factor(ratios), root_mean_square(ratios))) / 10)


def root_mean_square(ratios: np.ndarray) -> float:
    """Of gaps in units of what replaced labels explain."""
    return float(np.sqrt((ratios**2).mean()))


def factor(ratios: np.ndarray) -> float:
    """What makes 95 % of the runs stay within the limit of Bonferroni."""
    return float(np.quantile(ratios.max(axis=1), 0.95) / ndtri(1 - 0.05 / (2 * ratios.shape[1])))


def main() -> None:
    """Run, or write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("--seeds", type=int, default=2, help="of each problem and size")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    if options.what == "run":
        run_missing(RECORDS, run, range(options.seeds * len(SIZES) * len(PROBLEMS)), options.jobs)
    text = page(read_records(RECORDS))
    print(text)
    if options.out is not None:
        options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
