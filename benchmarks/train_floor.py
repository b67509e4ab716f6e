"""Train the rule of the learned floor on random problems with known floor.

python benchmarks/train_floor.py collect     # half an hour on two cores; continues where it stopped
python benchmarks/train_floor.py recompute   # after a change of a formula: the models need not be trained again
python benchmarks/train_floor.py fit         # rewrites src/bayesfloor/floor/floor_rule.json
"""

import argparse
import json
import math
import warnings
from pathlib import Path
from unittest.mock import patch

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import nnls
from scipy.stats import norm

from bayesfloor.floor.rule import BEYOND, Evidence, judge, spread, stakes
from bayesfloor.utils.intervals import upper_limit
from random_problems import PARTLY_NOISY, random_problem

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "benchmarks" / "results" / "floor_training.jsonl"
POSTERIORS = ROOT / "build" / "posteriors"  # some GB, not committed


def one(seed: int, folder: Path) -> dict:
    """Evidence on one random problem, and its truth; what the models said goes to a file in `folder`.

    So a changed formula needs no new training: `read_posteriors` gives what it is computed from.
    """
    from bayesfloor.floor import conclusion
    from bayesfloor.floor._estimate import estimate

    warnings.simplefilter("ignore")
    problem = random_problem(seed)
    seen = {}

    def conclude(data, learned, counted, **options):
        seen.update(learned=learned, counted=counted)
        return conclusion.conclude(data, learned, counted, **options)

    with patch("bayesfloor.floor._estimate.conclude", conclude):
        result = estimate(problem.X, problem.y, n_jobs=1)
    write_posteriors(folder / f"{seed}.npz", seen["learned"], seen["counted"])
    return {
        "seed": seed,
        "family": problem.family,
        "floor": problem.floor,
        "oracle": problem.oracle,
        "wrong": result.certificate.errors,
        "tested": result.certificate.tested,
        "seconds": result.settings["seconds"],
        **result.evidence,
    }


def write_posteriors(path: Path, learned, counted) -> None:
    """Pooled posteriors of the four stages, and those of every learner and setting; rows in the order of `labels`."""
    stages = learned.fitted.stages
    np.savez_compressed(
        path,
        pooled=np.stack(learned.P).astype(np.float32),
        logs=np.stack([stage.logs for stage in stages]),
        names=np.array(stages[0].names),
        learners=np.array(stages[0].learner),
        n_train=np.array([stage.n_train for stage in stages]),
        labels=learned.labels,
        fold=learned.fitted.fold,
        row_weights=learned.row_weights,
        change=learned.change,
        wrong=counted.held_out.wrong,
        tested=counted.held_out.tested,
    )


def read_posteriors(seed: int) -> dict[str, np.ndarray]:
    """What `collect` has stored of a problem, by name."""
    with np.load(POSTERIORS / f"{seed}.npz") as stored:
        return dict(stored)


def gained(stored: dict[str, np.ndarray]) -> float:
    """What the decisions are worth that differ between a quarter and its half, to the posterior of the other quarter.

    That one is disjoint from both, so the figure is 0 in the mean where nothing is gained. Not used: see `report`.
    """
    free = stored["fold"] != 0
    half, quarter, other = (P[free].astype(np.float64) for P in stored["pooled"][1:])
    at, weights = np.arange(len(half)), stored["row_weights"][free]
    worth = other[at, half.argmax(axis=1)] - other[at, quarter.argmax(axis=1)]
    return float(weights @ worth / weights.sum())


def recompute() -> None:
    """Compute anew, from what the models said, the figures whose formula may have changed."""
    records = [json.loads(line) for line in RECORDS.read_text().splitlines()]
    for record in sorted(records, key=lambda record: record["seed"]):
        stored = read_posteriors(record["seed"])
        whole, half, *_ = stored["pooled"].astype(np.float64)
        record["claimed"], record["unsettled"] = stakes(whole, half, stored["labels"], stored["row_weights"])
        record["gained"] = gained(stored)
        record["wrong"], record["tested"] = int(stored["wrong"].sum()), int(stored["tested"].sum())
    lines = [json.dumps(record) + "\n" for record in sorted(records, key=lambda record: record["seed"])]
    RECORDS.write_text("".join(lines), encoding="utf-8")


def collect(n_problems: int, n_noisy: int) -> None:
    """Append records of the problems that are not there yet."""
    done = {json.loads(line)["seed"] for line in RECORDS.read_text().splitlines()} if RECORDS.exists() else set()
    todo = [seed for seed in [*range(n_problems), *range(PARTLY_NOISY, PARTLY_NOISY + n_noisy)] if seed not in done]
    POSTERIORS.mkdir(parents=True, exist_ok=True)
    with RECORDS.open("a", encoding="utf-8") as file:
        run = Parallel(n_jobs=2, return_as="generator_unordered")
        for record in run(delayed(one)(seed, POSTERIORS) for seed in todo):
            file.write(json.dumps(record) + "\n")
            file.flush()


BEGIN, END = "<!-- rule: begin -->", "<!-- rule: end -->"
# What the correction of the error is a weighted sum of, and what the interval widens with.
TERMS, DOUBTS = ("unsettled", "quarter"), ("ball", "claimed", "half")
TERMS_BEFORE, DOUBTS_BEFORE = ("ball", "claimed"), ("ball", "claimed", "half")  # version 0.1, for comparison
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9)


def huber(A: np.ndarray, target: np.ndarray, limit: float = 0.01) -> np.ndarray:
    """Least squares in which residuals beyond the limit count linearly; no intercept."""
    weights = np.zeros(A.shape[1])
    for _ in range(50):
        trust = 1 / np.maximum(1, np.abs(target - A @ weights) / limit)
        weights = np.linalg.solve((A * trust[:, None]).T @ A, (A * trust[:, None]).T @ target)
    return weights


def fit(records: list[dict], terms: tuple[str, ...] = TERMS, doubts: tuple[str, ...] = DOUBTS) -> dict:
    """Weights, doubts and quantiles of the residuals: the rule."""
    evidence = [Evidence(**{field: r[field] for field in Evidence.__dataclass_fields__}) for r in records]
    figures = [e.terms() for e in evidence]
    signal = np.array([e.signal for e in evidence])
    A = signal[:, None] * np.array([[t[name] for name in terms] for t in figures])
    floor, error, most = (np.array([r[name] for r in records]) for name in ("floor", "error", "shrunk_majority"))
    base = signal * error + (1 - signal) * most
    # Residuals of rules that have not seen the family: those of the rule's own training would be too small.
    family, off = np.array([r["family"] for r in records]), np.empty(len(records))
    for name in set(family):
        held = family == name
        weights = huber(A[~held], (floor - base)[~held])
        off[held] = (floor - np.clip(base + A @ weights, 0, most))[held]
    # Squared residual beyond the sampling noise, as a sum of squared terms with weights that are not negative; capped,
    # so that the few problems that nothing has learned do not decide it alone.
    sampling = np.array([e.sampling for e in evidence])
    squares = signal[:, None] ** 2 * np.array([[t[name] ** 2 for name in doubts] for t in figures])
    scale = 1 / (sampling**2 + 1e-5)
    widths, _ = nnls(squares * scale[:, None], np.minimum(np.maximum(off**2 - sampling**2, 0) * scale, 25))
    named = dict(zip(doubts, widths.tolist(), strict=True))
    spreads = np.array([spread(e, named) for e in evidence])
    # The interval is as wide as this share of the simulated problems needs, each side by itself, and never narrower
    # than sampling noise alone would make it. Four residuals at least lie beyond each end: no higher level is offered.
    sides = {}
    highest = math.floor(1000 * (1 - 2 * BEYOND / len(records))) / 1000
    levels = [*LEVELS, *(level for level in (0.95, highest) if level <= highest)]
    for side, residuals in (("below", -off / spreads), ("above", off / spreads)):
        sides[side] = [
            max(float(np.quantile(residuals, (1 + level) / 2, method="higher")), float(norm.ppf((1 + level) / 2)))
            for level in levels
        ]
    return {
        "weights": dict(zip(terms, huber(A, floor - base).tolist(), strict=True)),
        "doubts": named,
        "levels": levels,
        **sides,
        "n_problems": len(records),
    }


def ceiling(record: dict, level: float) -> float:
    """The certified limit."""
    return min(upper_limit(record["wrong"], record["tested"], level), 1 - 1 / record["n_classes"])


def judged(records: list[dict], rule: dict) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Floors and 95 % intervals by a rule, as `estimate` gives them: not above the ceilings."""
    found = []
    for r in records:
        evidence = Evidence(**{field: r[field] for field in Evidence.__dataclass_fields__})
        with patch("bayesfloor.floor.rule._rule", return_value=rule):
            judgement = judge(evidence, 0.95)
        floor = min(judgement.floor, ceiling(r, 0.95))
        found.append((floor, min(judgement.low, floor), max(floor, min(judgement.high, ceiling(r, 0.975)))))
    floor, low, high = np.array(found).T
    return floor, low, high


def of_balls(r: dict) -> float:
    """Balls in score space less the error, where the space has few dimensions."""
    return (r["ball"] - r["error"]) * (r["n_classes"] <= 3)


def of_quarters(r: dict) -> float:
    """What the error fell from a quarter to half of the rows."""
    return r["quarter_error"] - r["half_error"]


ALTERNATIVES = {
    "what posteriors claim, unsigned": [lambda r: r["claimed"]],
    "half - whole, errors counted": [lambda r: r["half_error"] - r["error"]],
    "quarter - half, errors counted": [of_quarters],
    "quarter to half, valued by the other quarter's posterior": [lambda r: r["gained"]],
    "balls in score space - error, up to three classes": [of_balls],
    "unsettled: what posteriors claim, as far as labels confirm it": [lambda r: r["unsettled"]],
    "unsettled, quarter - half (the rule)": [lambda r: r["unsettled"], of_quarters],
    "unsettled, quarter - half, balls - error": [lambda r: r["unsettled"], of_quarters, of_balls],
}


def alternatives(records: list[dict]) -> list[str]:
    """What the correction might be a weighted sum of, each family left out in turn; before the ceiling."""
    evidence = [Evidence(**{field: r[field] for field in Evidence.__dataclass_fields__}) for r in records]
    signal = np.array([e.signal for e in evidence])
    names = ("floor", "error", "shrunk_majority", "oracle")
    floor, error, most, oracle = (np.array([r[name] for r in records]) for name in names)
    family, base = np.array([r["family"] for r in records]), signal * error + (1 - signal) * most
    noisy = family == "partly_noisy"
    unit = np.abs(oracle - floor)[~noisy].mean()
    lines = [
        "| the error is corrected by | x oracle, older families | bias, partly noisy | weights |",
        "|---|---|---|---|",
    ]
    for name, terms in ALTERNATIVES.items():
        A, found = signal[:, None] * [[term(r) for term in terms] for r in records], np.empty(len(records))
        for held in (family == left_out for left_out in set(family)):
            found[held] = np.clip(base + A @ huber(A[~held], (floor - base)[~held]), 0, most)[held]
        weights = ", ".join(f"{weight:.2f}" for weight in huber(A, floor - base))
        off = found - floor
        lines.append(f"| {name} | {np.abs(off)[~noisy].mean() / unit:.2f} | {off[noisy].mean():+.4f} | {weights} |")
    return lines


def report(records: list[dict]) -> str:
    """Accuracy when every family in turn is left out of the training, beside the rule of version 0.1."""
    families = sorted({r["family"] for r in records}, key=lambda family: (family == "partly_noisy", family))
    lines = [
        "# The rule of the learned floor, each family of problems left out in turn",
        "",
        f"Written by `python benchmarks/train_floor.py fit` from {len(records)} random problems. Errors are those of "
        "the floor after the ceiling; *before* is the rule of version 0.1, fitted to and tested on the same problems.",
        "",
        "| family | problems | mean abs. error | x oracle | before, x oracle | library, x oracle | bias | before, bias "
        "| worst | coverage | median width |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    rows: dict[str, list[np.ndarray]] = {}
    for family in families:  # its residuals must not be in the quantiles either
        held, others = ([r for r in records if (r["family"] == family) is is_held] for is_held in (True, False))
        floor, low, high = judged(held, fit(others))
        before, _, _ = judged(held, fit(others, TERMS_BEFORE, DOUBTS_BEFORE))
        truth, oracle, error = (np.array([r[name] for r in held]) for name in ("floor", "oracle", "error"))
        inside = (low <= truth) & (truth <= high)
        rows[family] = [floor - truth, before - truth, oracle - truth, error - truth, inside, high - low]
    old = [rows[family] for family in families if family != "partly_noisy"]
    rows["all but partly_noisy"] = list(map(np.concatenate, zip(*old, strict=True)))
    rows["all"] = list(map(np.concatenate, zip(*(rows[family] for family in families), strict=True)))
    for family, (off, before, oracle, error, inside, width) in rows.items():
        unit = np.abs(oracle).mean()
        lines.append(
            f"| {family} | {len(off)} | {np.abs(off).mean():.4f} | {np.abs(off).mean() / unit:.2f} "
            f"| {np.abs(before).mean() / unit:.2f} | {np.abs(error).mean() / unit:.2f} | {off.mean():+.4f} "
            f"| {before.mean():+.4f} | {np.abs(off).max():.3f} | {100 * inside.mean():.0f} % | {np.median(width):.3f} |"
        )
    off, before = (np.abs(rows["all but partly_noisy"][i]) for i in (0, 1))
    gain = off - before
    above = np.mean([r["floor"] > ceiling(r, 0.95) for r in records])
    lines += [
        "",
        f"Paired on the {len(gain)} problems of the twelve older families, the absolute error changed by "
        f"{gain.mean():+.4f} (standard error {gain.std(ddof=1) / np.sqrt(len(gain)):.4f}).",
        "",
        f"The floor is above the ceiling (nominal 5 %) in {100 * above:.1f} % of the problems.",
        "",
        *alternatives(records),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["collect", "recompute", "fit"])
    parser.add_argument("--problems", type=int, default=186)
    parser.add_argument("--noisy", type=int, default=32, help="problems of the partly noisy family")
    options = parser.parse_args()
    if options.command == "collect":
        collect(options.problems, options.noisy)
    elif options.command == "recompute":
        recompute()
    else:
        everything = [json.loads(line) for line in RECORDS.read_text().splitlines()]
        table = report(everything)
        print(table)
        (RECORDS.parent / "floor_rule.md").write_text(table + "\n", encoding="utf-8")
        method = ROOT / "docs" / "method.md"
        head, rest = method.read_text(encoding="utf-8").split(BEGIN)
        rows = "\n".join(line for line in table.splitlines()[2:])
        method.write_text(f"{head}{BEGIN}\n{rows}\n{END}{rest.split(END)[1]}", encoding="utf-8")
        rule = fit(everything)
        print(json.dumps(rule, indent=1))
        (ROOT / "src" / "bayesfloor" / "floor" / "floor_rule.json").write_text(
            json.dumps(rule, indent=1) + "\n", encoding="utf-8"
        )
