"""Tests and estimators of other people, on problems whose floor is known, and on labels by many people.

python benchmarks/rivals.py run [--samples 25]      # half an hour and more; continues where it stopped
python benchmarks/rivals.py opinions --data FOLDER  # cifar10h.npz and fashion_mnist_h.npz, with `counts` or `probs`
python benchmarks/rivals.py report --out benchmarks/results/rivals.md
"""

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri

from bayesfloor import arena, bounds, classical, estimate, problems, soft_label_error
from bayesfloor.arena.rivals import distort, isotonic_plug_in
from bayesfloor.balls.learner import BenchmarkLearner
from bayesfloor.bounds.soft_labels import calibrated_soft_label_error
from bayesfloor.errors import BayesfloorWarning
from bayesfloor.floor.noise import feebee_score
from records import Record, read_records, run_missing

RESULTS = Path(__file__).parent / "results"
BANDS = RESULTS / "rivals_bands.jsonl"  # committed as they grow
LEARNED_BANDS = RESULTS / "rivals_learned.jsonl"
NOISE = RESULTS / "rivals_noise.jsonl"
OPINIONS = RESULTS / "rivals_opinions.json"
SEED = 2025

# --- the test of Wheat, Mohrenschildt and Habibi (arXiv 2506.03159) ------------------------------------------

TARGET = 0.05  # width that the band of 95 % of the errors must stay below
SIZES = (100, 250, 500, 1000, 2500)  # rows per class
SCENARIOS = {
    "two Gaussians, 2 features": ("gaussians_4d", 2),
    "two Gaussians, 4 features": ("gaussians_4d", 4),
    "four modes (xor), 2 features": ("xor", 2),
    "four modes (xor), 4 features": ("xor", 4),
}
FLOORS = (0.02, 0.48)  # from which the floor of each sample is drawn
# The learned floor takes seconds where others take hundredths: fewer sizes and scenarios, and fewer samples.
LEARNED_SIZES = (100, 250, 500, 1000)
LEARNED_SCENARIOS = ("two Gaussians, 4 features", "four modes (xor), 2 features")
CHEAP: dict[str, Callable[..., float]] = {
    "k-NN error, k = sqrt(N)": classical.knn_error,
    "best k-NN error": classical.best_knn_error,
    "Cover-Hart midpoint, k = 1": classical.cover_hart_midpoint,
    "k-NN bounds midpoint": classical.knn_bounds_midpoint,
    "Henze-Penrose midpoint": classical.henze_penrose_midpoint,
    "benchmark learner": classical.benchmark_learner,
}
ORACLE, LEARNED = "oracle", "learned floor"


def problem_with_floor(scenario: str, floor: float) -> problems.Problem:
    """The scenario with its classes so far apart that this is the floor."""
    name, d = SCENARIOS[scenario]
    if name == "xor":  # 2 w (1 - w) is the floor, w the chance that one of the two signs is misread
        wrong = (1 - np.sqrt(1 - 2 * floor)) / 2
        return problems.get(name, n_features=d, separation=float(-ndtri(wrong)))
    return problems.get(name, n_features=d, shift=float(-2 * ndtri(floor)))


def band_run(number: int) -> Record:
    """Run number `number`: scenarios and sizes in turn, so that all grow together."""
    scenario, n, sample = _cell(number, tuple(SCENARIOS), SIZES)
    problem, X, y = _drawn(scenario, n, sample)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesfloorWarning)
        found = {name: float(estimator(X, y, random_state=0)) for name, estimator in CHEAP.items()}
    found[ORACLE] = problem.oracle_error(X, y)
    return {"number": number, "scenario": scenario, "n": n, "floor": problem.bayes_error, "found": found}


def learned_run(number: int) -> Record:
    """The learned floor on some of the same samples."""
    scenario, n, sample = _cell(number, LEARNED_SCENARIOS, LEARNED_SIZES)
    problem, X, y = _drawn(scenario, n, sample)
    found = {LEARNED: estimate(X, y, effort="fast", n_jobs=1).floor}
    return {"number": number, "scenario": scenario, "n": n, "floor": problem.bayes_error, "found": found}


def _cell(number: int, scenarios: tuple[str, ...], sizes: tuple[int, ...]) -> tuple[str, int, int]:
    """Scenario, size and sample of a run."""
    rest = number // len(scenarios)
    return scenarios[number % len(scenarios)], sizes[rest % len(sizes)], rest // len(sizes)


def _drawn(scenario: str, n: int, sample: int) -> tuple[problems.Problem, Any, Any]:
    """A problem whose floor is drawn, and n rows of each class."""
    rng = np.random.default_rng([SEED, list(SCENARIOS).index(scenario), n, sample])
    problem = problem_with_floor(scenario, float(rng.uniform(*FLOORS)))
    X, y = problem.sample(3 * n + 100, random_state=rng)
    kept = np.concatenate([np.flatnonzero(y == c)[:n] for c in (0, 1)])
    return problem, X[kept], y[kept]


def band(errors: Any) -> float:
    """Width of the band that holds 95 % of the errors, taken for normal: 2 x 1.96 standard deviations."""
    return float(2 * ndtri(0.975) * np.std(errors, ddof=1))


def rows_needed(widths: dict[int, float]) -> int | None:
    """Fewest rows per class from which on every width that was measured is below the target."""
    needed = None
    for n in sorted(widths, reverse=True):
        if widths[n] >= TARGET:
            break
        needed = n
    return needed


def band_page(done: list[Record]) -> list[str]:
    """A table per scenario, and the rows needed."""
    samples = [sum((r["scenario"], r["n"]) == (s, n) for r in done) for s in SCENARIOS for n in SIZES]
    learned = read_records(LEARNED_BANDS)
    cells = [
        [r["found"][LEARNED] - r["floor"] for r in learned if (r["scenario"], r["n"]) == (s, n)]
        for s in LEARNED_SCENARIOS
        for n in LEARNED_SIZES
    ]
    fewest = min(map(len, cells), default=0)
    lines = [
        "## Rows per class for a band below five points",
        "",
        "The test of L. Wheat, M. v. Mohrenschildt and S. Habibi, *Bayes Error Rate Estimation in Difficult "
        "Situations* ([arXiv 2506.03159](https://arxiv.org/abs/2506.03159), IEEE Access 13, 2025): an estimator is "
        "useful where 95 % of its errors lie in a band less than five points wide. They find that nearest neighbours "
        "need 1,000 rows per class at least, and 2,500 with four features. The scenarios here are our own: two classes "
        f"of equal size, floors drawn evenly from {100 * FLOORS[0]:g} % to {100 * FLOORS[1]:g} % by moving the classes "
        f"apart, {min(samples)} samples per cell (theirs: 2,500), {fewest} of the learned floor (effort 'fast'), which "
        "was run in two of the scenarios. A cell is 2 x 1.96 standard deviations of estimate minus floor, in points, "
        f"known to about {100 / np.sqrt(2 * (min(samples) - 1)):.0f} % (learned floor: "
        f"{100 / np.sqrt(2 * max(1, fewest - 1)):.0f} %); the last column the fewest rows per class from which on it "
        "is below five. A band says nothing of a bias that is the same everywhere: the mean error at the largest size "
        "stands beside it.",
        "",
    ]
    for scenario in SCENARIOS:
        lines += [
            f"**{scenario}**",
            "",
            "| estimator | " + " | ".join(f"{n:,}" for n in SIZES) + " | mean error | rows per class needed |",
            "|---" * (len(SIZES) + 3) + "|",
        ]
        for name in (ORACLE, LEARNED, *CHEAP):
            errors = {
                n: [
                    r["found"][name] - r["floor"]
                    for r in (learned if name == LEARNED else done)
                    if (r["scenario"], r["n"]) == (scenario, n)
                ]
                for n in SIZES
            }
            widths = {n: band(found) for n, found in errors.items() if len(found) > 1}
            if not widths:
                continue
            largest = max(widths)
            shown = [f"{100 * widths[n]:.1f}" if n in widths else "" for n in SIZES]
            needed = rows_needed(widths)
            rows = f"{needed:,}" if needed is not None else f"more than {largest:,}"
            lines.append(f"| {name} | {' | '.join(shown)} | {100 * np.mean(errors[largest]):+.1f} | {rows} |")
        lines.append("")
    lines += [
        "The oracle knows the Bayes classifier and counts its errors: no regular nonparametric estimator varies less "
        "in the limit. Its band shows how much of the demand is about sampling alone.",
        "",
    ]
    return lines


# --- FeeBee (arXiv 2108.13034), and soft labels (arXiv 2505.20761) -------------------------------------------

RHOS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
NOISY = ("gaussians_4d", "moons", "twonorm", "checkerboard", "xor", "rayleigh_10d", "led")
NOISY_ROWS = 1000
SOFT = ("soft labels", "soft labels, isotonic", "soft labels, calibrated here")


def noise_run(number: int) -> Record:
    """Run number `number`: every estimator's upper, lower and point estimate at each share of replaced labels."""
    name, sample = NOISY[number % len(NOISY)], number // len(NOISY)
    problem = problems.get(name)
    rng = np.random.default_rng([SEED, number, 1])
    X, clean = problem.sample(NOISY_ROWS, random_state=rng)
    soft = distort(problem.posterior(X), rng)
    drawn, other = rng.random(NOISY_ROWS), rng.integers(0, problem.n_classes, NOISY_ROWS)
    found: dict[str, list[list[float]]] = {}
    for rho in RHOS:
        y = np.where(drawn < rho, other, clean)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BayesfloorWarning)
            for estimator, three in _three(X, y, soft).items():
                found.setdefault(estimator, []).append([float(value) for value in three])
    return {"number": number, "problem": name, "sample": sample, "floor": problem.bayes_error, "found": found}


def _three(X: Any, y: Any, soft: Any) -> dict[str, tuple[float, float, float]]:
    """Upper, lower and point estimate of each estimator; those without a pair give the same three times."""
    result = estimate(X, y, effort="fast", n_jobs=1)
    learner = BenchmarkLearner(n_jobs=1).fit(X, y)
    neighbours, tree = bounds.cover_hart(X, y, n_jobs=1), bounds.henze_penrose(X, y, n_jobs=1)
    isotonic = isotonic_plug_in(soft, y)
    calibrated = calibrated_soft_label_error(soft, y, classes=list(range(soft.shape[1])))
    plain = soft_label_error(soft).error
    return {
        LEARNED: (result.interval.high, result.interval.low, result.floor),
        "benchmark learner": (learner.interval_.high, learner.interval_.low, learner.bayes_error_),
        "1-NN, Cover-Hart": (neighbours.upper, neighbours.lower, neighbours.midpoint),
        "Henze-Penrose": (tree.upper, tree.lower, tree.midpoint),
        SOFT[0]: (plain,) * 3,
        SOFT[1]: (isotonic,) * 3,
        SOFT[2]: (calibrated.interval.high, calibrated.interval.low, calibrated.error),
    }


def scored(record: Record) -> dict[str, list[float]]:
    """FeeBee's scores of upper, lower and point estimates, with the exact floor as the best known error.

    The last figure is the mean distance of the point estimate from the exact line, which FeeBee cannot know.
    """
    n_classes, floor = problems.get(record["problem"]).n_classes, record["floor"]
    line = floor + np.array(RHOS) * (1 - 1 / n_classes - floor)
    scores = {}
    for name, curves in record["found"].items():
        table = np.array(curves)
        three = [feebee_score(RHOS, column, n_classes, floor) for column in table.T]
        scores[name] = [*three, float(np.abs(table[:, 2] - line).mean())]
    return scores


def noise_page(done: list[Record]) -> list[str]:
    """The scores averaged over problems."""
    lines = [
        "## FeeBee's scores, and soft labels after isotonic calibration",
        "",
        "C. Renggli, L. Rimanic, N. Hollenstein and C. Zhang ([arXiv 2108.13034](https://arxiv.org/abs/2108.13034)) "
        "replace a share rho of the labels by uniform draws. With s an error that somebody reaches, the floor then is "
        "between rho (1 - 1/C) and s + rho (1 - 1/C - s); an estimator's score is how far it lies outside, on average "
        "over rho: one of its upper, one of its lower estimates. 0 is best. Here s is the exact floor, the least that "
        "s can be, and the last column what FeeBee cannot see: the mean distance from the exact line. Beside it stands "
        "`noise_check`, whose line starts at the estimate itself and needs no s; its result has `feebee()`.",
        "",
        "Soft labels: the exact posteriors with log-odds doubled (overconfident) and noise added, and one label per "
        "row. *Isotonic* is the estimator of R. Ushio, T. Ishida and M. Sugiyama "
        "([arXiv 2505.20761](https://arxiv.org/abs/2505.20761)): isotonic calibration on the same items, then the mean "
        "of min(p, 1 - p); *calibrated here* is `calibrated_soft_label_error`, which is cross-fitted. They are told "
        "the order of the posteriors, which no estimator from rows and labels is.",
        "",
        f"{NOISY_ROWS:,} rows; {', '.join(NOISY)}; {len(done)} samples in all; rho = "
        f"{', '.join(f'{rho:g}' for rho in RHOS)}. Figures in points.",
        "",
        "| estimator | score, upper | score, lower | score, point | distance from the line |",
        "|---|---|---|---|---|",
    ]
    scores = [scored(record) for record in done]
    means = {name: 100 * np.mean([score[name] for score in scores], axis=0) for name in scores[0]}
    for name, values in sorted(means.items(), key=lambda item: item[1][3]):
        lines.append(f"| {name} | " + " | ".join(f"{value:.2f}" for value in values) + " |")
    idle = 100 * np.mean([np.mean(RHOS) * (1 - 1 / problems.get(r["problem"]).n_classes) for r in done])
    lines += [
        "",
        f"An estimator that always answers 0 scores {idle:.2f} three times. Soft labels as they came do not change "
        "with the labels, and FeeBee sees that. What it does not see is an estimate between the two limits: the score "
        "of a point estimate that is too low is smaller than its distance from the line.",
        "",
    ]
    return lines


def leaderboard_page(samples: int) -> list[str]:
    """Soft labels in the arena, on the problems of two classes and on all."""
    result = arena.run(arena.soft_label_rivals(), sizes=[1500], n_seeds=samples, n_jobs=1)
    return [
        "## Soft labels in the arena",
        "",
        "`arena.run(arena.soft_label_rivals())`: the samples of `docs/leaderboard.md`, with "
        f"distorted posteriors besides; N = 1,500, {samples} samples per problem. Not comparable with estimators that "
        "see rows and labels alone.",
        "",
        result.to_markdown(),
        "",
    ]


# --- labels by many people: Ishida et al. (arXiv 2202.00395) -------------------------------------------------

# Positive classes, and the published figure in percent.
QUESTIONS: dict[str, tuple[str, tuple[int, ...], float]] = {
    "animals": ("cifar10h", (2, 3, 4, 5, 6, 7), 0.502),
    "land": ("cifar10h", (1, 3, 4, 5, 7, 9), 1.554),
    "odd": ("cifar10h", (0, 2, 4, 6, 8), 2.034),
    "first five": ("cifar10h", (0, 1, 2, 3, 4), 3.261),
    "tops": ("fashion_mnist_h", (0, 2, 3, 4, 6), 3.478),
}


def opinions(folder: Path) -> dict[str, dict[str, Any]]:
    """Each published figure again, and corrected for the number of votes."""
    found = {}
    for question, (file, positive, published) in QUESTIONS.items():
        with np.load(folder / f"{file}.npz", allow_pickle=False) as arrays:
            counts = arrays["counts"].astype(np.int64)
        yes = counts[:, list(positive)].sum(axis=1)
        votes = counts.sum(axis=1)
        two = np.stack([votes - yes, yes], axis=1)
        plain = soft_label_error(two / votes[:, None])
        corrected = soft_label_error(two, votes)
        found[question] = {
            "file": file,
            "published": published,
            "plain": 100 * plain.error,
            "low": 100 * plain.interval.low,
            "high": 100 * plain.interval.high,
            "corrected": 100 * corrected.error,
        }
    return found


def opinions_page(found: dict[str, dict[str, Any]]) -> list[str]:
    """Published beside reproduced."""
    lines = [
        "## Published figures on CIFAR-10H and Fashion-MNIST-H",
        "",
        "T. Ishida, I. Yamane, N. Charoenphakdee, G. Niu and M. Sugiyama "
        "([arXiv 2202.00395](https://arxiv.org/abs/2202.00395)): about fifty people label each image, and the mean of "
        "min(p, 1 - p) is the floor of a question with two answers. `soft_label_error` of the shares gives their "
        "figures; of the counts, with `n_votes`, it corrects for the largest share of few votes being too large.",
        "",
        "| question | set | published | reproduced | 95 % interval | corrected for the votes |",
        "|---|---|---|---|---|---|",
    ]
    for question, row in found.items():
        lines.append(
            f"| {question} | {row['file']} | {row['published']:.3f} % | {row['plain']:.3f} % | {row['low']:.3f} % to "
            f"{row['high']:.3f} % | {row['corrected']:.3f} % |"
        )
    return [*lines, ""]


# --- the command ---------------------------------------------------------------------------------------------


def page() -> str:
    """All that is there."""
    lines = ["# Rivals and their tests", "", "Written by `python benchmarks/rivals.py report`.", ""]
    for path, part in ((NOISE, noise_page), (BANDS, band_page)):
        if done := read_records(path):
            lines += part(done)
    lines += leaderboard_page(2)
    if OPINIONS.exists():
        lines += opinions_page(json.loads(OPINIONS.read_text(encoding="utf-8")))
    return "\n".join(lines)


def main() -> None:
    """Run, read the files of votes, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "opinions", "report"])
    parser.add_argument("--samples", type=int, default=25, help="of each scenario and size")
    parser.add_argument("--learned-samples", type=int, default=15, help="the same for the learned floor")
    parser.add_argument("--noise-samples", type=int, default=1, help="of each problem under label noise")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--data", type=Path, help="folder of cifar10h.npz and fashion_mnist_h.npz")
    parser.add_argument("--out", type=Path, help="also write the page to this file")
    options = parser.parse_args()
    if options.what == "run":
        run_missing(NOISE, noise_run, range(options.noise_samples * len(NOISY)), options.jobs)
        run_missing(BANDS, band_run, range(options.samples * len(SCENARIOS) * len(SIZES)), options.jobs)
        wanted = range(options.learned_samples * len(LEARNED_SCENARIOS) * len(LEARNED_SIZES))
        run_missing(LEARNED_BANDS, learned_run, wanted, options.jobs)
    elif options.what == "opinions":
        if options.data is None:
            parser.error("opinions needs --data FOLDER with cifar10h.npz and fashion_mnist_h.npz")
        OPINIONS.write_text(json.dumps(opinions(options.data), indent=1) + "\n", encoding="utf-8")
        print("\n".join(opinions_page(opinions(options.data))))
    else:
        text = page()
        print(text)
        if options.out is not None:
            options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
