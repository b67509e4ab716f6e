"""How often ceiling and interval hold the floor, over fresh samples of problems whose floor is known exactly.

python benchmarks/levels.py run [--samples 200] [--interval-samples 40]   # hours; continues where it stopped
python benchmarks/levels.py report --out benchmarks/results/levels.md
"""

import argparse
import hashlib
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch
from zlib import crc32

import numpy as np
from joblib import Parallel, delayed
from scipy.integrate import quad
from scipy.stats import binom, chi2, norm

import bayesfloor
from bayesfloor.errors import DataError
from bayesfloor.library.learners import LIBRARY
from bayesfloor.library.pool import Pool, Stage
from bayesfloor.utils.intervals import upper_limit

RECORDS = Path(__file__).parent / "results" / "levels.jsonl"  # committed as it grows
SIZES = (173, 500, 1500)
# Both are cheap, and together near the floor of most shapes: what is said of a poor classifier holds too easily.
LIBRARIES = {"ceiling": ("gaussian", "quadratic"), "interval": tuple(LIBRARY)}
# Ceilings of these are those of `noisy middle` and `plain` over again.
LEFT_OUT = {("ceiling", "half noise"), ("ceiling", "half copied")}
LEVEL, FEWEST_PER_CLASS = 0.95, 5
LEAST_POOLED, LEAST_INTERVAL, LEAST_SHAPE, MOST_RATIO = 0.941, 0.93, 0.8, 1.05


@dataclass(frozen=True)
class Sample:
    """Rows, labels, the exact floor of the distribution they were drawn from, and what `estimate` is told of them."""

    X: np.ndarray
    y: np.ndarray
    floor: float
    groups: np.ndarray | None = None
    priors: str | None = None


# --- shapes -------------------------------------------------------------------------------------------------


def two_gaussians(y: np.ndarray, d: int, shift: float, rng: np.random.Generator) -> np.ndarray:
    """Standard normal columns, the first of them moved where the label is 1."""
    return rng.normal(size=(len(y), d)) + shift * y[:, None] * np.eye(d)[0]


def plain(n: int, rng: np.random.Generator) -> Sample:
    """Two Gaussians in four columns, apart by 2 in one of them."""
    y = rng.integers(0, 2, n)
    return Sample(two_gaussians(y, 4, 2.0, rng), y, norm.cdf(-1))


def noisy_middle(n: int, rng: np.random.Generator) -> Sample:
    """The half of the rows that is nearest to the centre has random labels."""
    X = rng.normal(size=(n, 4))
    noise = (X**2).sum(axis=1) < chi2(4).median()
    return Sample(X, np.where(noise, rng.integers(0, 2, n), X[:, 0] > 0), 0.25)


def half_noise(n: int, rng: np.random.Generator) -> Sample:
    """Rows on one side of a plane have random labels."""
    X = rng.normal(size=(n, 4))
    return Sample(X, np.where(X[:, 1] > 0, rng.integers(0, 2, n), X[:, 0] > 0), 0.25)


def unequal_groups(n: int, rng: np.random.Generator) -> Sample:
    """Of six groups five are one clean row and one is 20 rows of noise; n is the expected number of rows."""
    noise = rng.random(round(n * 6 / 25)) < 1 / 6
    groups = np.repeat(np.arange(len(noise)), np.where(noise, 20, 1))
    X = two_gaussians(noise[groups], 4, 6.0, rng)
    y = np.where(noise[groups], rng.integers(0, 2, len(X)), X[:, 0] > 0)
    return Sample(X, y, 0.5 * 20 / 25, groups=groups)


def equal_groups(n: int, rng: np.random.Generator) -> Sample:
    """Patients of five rows and one label; half of a row's variance is the patient's."""
    groups = np.repeat(np.arange(round(n / 5)), 5)
    y = rng.integers(0, 2, len(groups) // 5)[groups]
    patient = rng.normal(size=(len(groups) // 5, 3))[groups]
    X = (patient + rng.normal(size=(len(groups), 3))) / np.sqrt(2)
    X[:, 0] += 1.5 * y
    return Sample(X, y, norm.cdf(-0.75), groups=groups)


def copies(n: int, rng: np.random.Generator) -> Sample:
    """Random labels, every record four times."""
    record = np.repeat(np.arange(n // 4), 4)
    return Sample(rng.normal(size=(n // 4, 3))[record], rng.integers(0, 2, n // 4)[record], 0.5)


def priors(n: int, rng: np.random.Generator) -> Sample:
    """Two Gaussians, four rows of one to one of the other; the floor of equal shares is asked for."""
    y = (rng.random(n) < 0.2).astype(int)
    return Sample(two_gaussians(y, 2, 2.0, rng), y, norm.cdf(-1), priors="balanced")


def rare_class(n: int, rng: np.random.Generator) -> Sample:
    """Two Gaussians in five columns; 3 rows in 100 are of the second class."""
    y = (rng.random(n) < 0.03).astype(int)
    floor, _ = quad(lambda x: min(0.97 * norm.pdf(x), 0.03 * norm.pdf(x - 2)), -10, 12, points=[1 + np.log(97 / 3) / 2])
    return Sample(two_gaussians(y, 5, 2.0, rng), y, floor)


CELLS = np.random.default_rng(32).random(32)  # probability of label 1 in each
ONES = np.array([0.3, 0.4, 0.5, 0.6, 0.7])  # share of ones in each column


def discrete(n: int, rng: np.random.Generator) -> Sample:
    """Five binary columns and a probability of the label for each of the 32 cells."""
    corners = np.arange(32)[:, None] >> np.arange(5) & 1
    share = np.where(corners, ONES, 1 - ONES).prod(axis=1)
    cell = rng.choice(32, n, p=share)
    y = (rng.random(n) < CELLS[cell]).astype(int)
    return Sample(corners[cell].astype(float), y, float(share @ np.minimum(CELLS, 1 - CELLS)))


def half_copied(n: int, rng: np.random.Generator) -> Sample:
    """As `plain`, but half of the records occur twice."""
    n_records = round(n * 2 / 3)
    records, twice = plain(n_records, rng), np.r_[:n_records, : n - n_records]
    return Sample(records.X[twice], records.y[twice], records.floor)


def near_copies(rounding: str) -> Callable[[int, np.random.Generator], Sample]:
    """As `plain`, every record twice: the second time rounded, or times 1 and a little noise."""

    def shape(n: int, rng: np.random.Generator) -> Sample:
        records = plain(n // 2, rng)
        again = records.X.astype(np.float32).astype(np.float64)
        if rounding != "float32":
            again = records.X * (1 + float(rounding) * rng.normal(size=records.X.shape))
        return Sample(np.vstack([records.X, again]), np.tile(records.y, 2), records.floor)

    return shape


NEAR_COPIES = {f"near-copies, {rounding}": near_copies(rounding) for rounding in ("1e-12", "1e-9", "1e-6", "float32")}
NEAR_ROWS, NEAR_SAMPLES, LEAST_NEAR = 300, 60, 52

SHAPES: dict[str, Callable[[int, np.random.Generator], Sample]] = {
    "plain": plain,
    "noisy middle": noisy_middle,
    "half noise": half_noise,
    "unequal groups": unequal_groups,
    "equal groups": equal_groups,
    "copies": copies,
    "priors": priors,
    "rare class": rare_class,
    "discrete": discrete,
    "half copied": half_copied,
    **NEAR_COPIES,
}


def drawn(shape: str, n: int, sample: int) -> tuple[Sample, int]:
    """A sample by its number, and how many were thrown away before because a class had fewer than five rows."""
    rng = np.random.default_rng([crc32(shape.encode()), n, sample])
    redrawn = 0
    while np.bincount((found := SHAPES[shape](n, rng)).y, minlength=2).min() < FEWEST_PER_CLASS:
        redrawn += 1
    return found, redrawn


# --- runs ---------------------------------------------------------------------------------------------------


def sources() -> str:
    """What the package's code and rule hash to."""
    folder = Path(bayesfloor.__file__).parent
    files = sorted([*folder.rglob("*.py"), folder / "floor" / "floor_rule.json"])
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def pooled_once(stage: Stage, y: np.ndarray, rng: np.random.Generator, groups: np.ndarray | None = None) -> tuple:
    """Stands for the cross-fitted pool, which the ceiling does not depend on."""
    rows = np.arange(len(y))
    return Pool.fit(stage, y, rows).predict(stage, rows), dict.fromkeys(stage.learner, 0.0)


@contextmanager
def library_of(kind: str) -> Iterator[None]:
    """The library of a kind of runs; for the ceiling, nothing that it does not depend on."""
    with ExitStack() as patches:
        patches.enter_context(
            patch("bayesfloor.library.cross_fit.LIBRARY", {name: LIBRARY[name] for name in LIBRARIES[kind]})
        )
        if kind == "ceiling":
            patches.enter_context(patch("bayesfloor.library.training.pool_stage", pooled_once))
            patches.enter_context(patch("bayesfloor.floor._estimate.all_bounds", lambda *_, **__: ()))
            patches.enter_context(
                patch("bayesfloor.floor._estimate.balls_on_scores", lambda *_, **__: (0.5, "not counted"))
            )
            patches.enter_context(patch("bayesfloor.floor._estimate.balls_on_columns", lambda *_, **__: None))
        yield


def one(kind: str, shape: str, n: int, sample: int, version: str) -> dict:
    """One estimate, beside the truth."""
    data, redrawn = drawn(shape, n, sample)
    record = {
        "kind": kind,
        "shape": shape,
        "n": n,
        "sample": sample,
        "sources": version,
        "truth": data.floor,
        "redrawn": redrawn,
        "library": " + ".join(LIBRARIES[kind]),
    }
    started = time.perf_counter()
    with warnings.catch_warnings(), library_of(kind):
        warnings.simplefilter("ignore")
        try:
            result = bayesfloor.estimate(
                data.X, data.y, groups=data.groups, priors=data.priors, effort="fast", n_jobs=1
            )
            found = {
                "floor": result.floor,
                "ceiling": result.ceiling,
                "low": result.interval.low,
                "high": result.interval.high,
                "error": result.evidence["error"],
                "wrong": result.certificate.errors,
                "tested": result.certificate.tested,
            }
        except DataError as error:  # no answer is one that holds nothing
            found = dict.fromkeys(("floor", "ceiling", "low", "high", "error")) | {"refused": str(error)}
    return record | found | {"seconds": round(time.perf_counter() - started, 2)}


def read(path: Path, *versions: str) -> dict[tuple, dict]:
    """Records of these libraries by kind, shape, size and sample; of these versions of the sources, or of all."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    records = [record for record in map(json.loads, lines) if not versions or record["sources"] in versions]
    known = [r for r in records if r["library"] == " + ".join(LIBRARIES[r["kind"]])]
    return {(r["kind"], r["shape"], r["n"], r["sample"]): r for r in known}


def run(options: argparse.Namespace) -> None:
    """Append what is missing, sample by sample, so that what is there is balanced at any time."""
    version, wanted = sources(), {"ceiling": options.samples, "interval": options.interval_samples}
    done = read(options.records, version)
    todo = [
        key
        for sample in range(0, max(wanted.values()), options.every)
        for kind in options.kinds
        for n in options.sizes
        for shape in options.shapes
        if shape not in NEAR_COPIES
        and sample < wanted[kind]
        and (kind, shape) not in LEFT_OUT
        and (key := (kind, shape, n, sample)) not in done
    ]
    if "interval" in options.kinds:
        near = [shape for shape in options.shapes if shape in NEAR_COPIES]
        keys = [("interval", shape, NEAR_ROWS, sample) for sample in range(NEAR_SAMPLES) for shape in near]
        todo += [key for key in keys if key not in done]
    options.records.parent.mkdir(exist_ok=True)
    tasks = (delayed(one)(*key, version) for key in todo)
    with options.records.open("a", encoding="utf-8") as file:
        found = Parallel(n_jobs=2, batch_size=1, return_as="generator_unordered")(tasks)
        for number, record in enumerate(found, start=1):
            file.write(json.dumps(record) + "\n")
            file.flush()
            print(number, "of", len(todo), *(record[name] for name in ("kind", "shape", "n", "sample", "seconds")))


# --- report -------------------------------------------------------------------------------------------------


def holds_ceiling(record: dict) -> bool:
    """Whether there is a ceiling, and the floor is not above it."""
    return record["ceiling"] is not None and record["truth"] <= record["ceiling"]


def holds_interval(record: dict) -> bool:
    """Whether there is an interval, and the floor is in it."""
    return record["low"] is not None and record["low"] <= record["truth"] <= record["high"]


def needed(runs: int) -> int:
    """So many runs of a cell have to hold: 181 of 200; of others what a level of 95 % misses once in 1,000 times."""
    return 181 if runs == 200 else int(binom.ppf(0.001, runs, LEVEL))


def of(hits: list[bool]) -> str:
    """Hits among runs, in words."""
    return f"{sum(hits):,} of {len(hits):,}"


def demand(what: str, failing: list[str] | bool, figures: str = "") -> str:
    """A demand, and whether it is met."""
    verdict = "not met" if failing else "met"
    named = f" by {'; '.join(failing)}" if isinstance(failing, list) and failing else ""
    return f"- Demand: {what}. **{verdict.capitalize()}**{named}{f': {figures}' if figures else ''}."


def cells(records: list[dict]) -> Iterator[tuple[str, int, list[dict]]]:
    """Shape, size and records of each cell that has some, shapes as they are listed here."""
    for shape in SHAPES:
        for n in sorted({r["n"] for r in records}):
            if chosen := [r for r in records if (r["shape"], r["n"]) == (shape, n)]:
                yield shape, n, chosen


def ceiling_part(records: list[dict]) -> list[str]:
    """Table and demands of the ceiling."""
    lines = ["| shape | rows | true floor | ceiling holds | needed | mean ceiling | no ceiling |", "|---" * 7 + "|"]
    failing, runs = [], []
    for shape, n, chosen in cells(records):
        hits, given = [holds_ceiling(r) for r in chosen], [r["ceiling"] for r in chosen if r["ceiling"] is not None]
        mean = f"{np.mean(given):.4f}" if given else ""
        lines.append(
            f"| {shape} | {n} | {chosen[0]['truth']:.4f} | {of(hits)} | {needed(len(hits))} | {mean} "
            f"| {len(hits) - len(given) or ''} |"
        )
        runs.append(len(hits))
        if sum(hits) < needed(len(hits)):
            failing.append(f"{shape} with {n} rows, {of(hits)}")
    hits = [holds_ceiling(r) for r in records]
    share = np.mean(hits)
    pooled = demand(f"at least {LEAST_POOLED:.1%} of all", bool(share < LEAST_POOLED), f"{of(hits)}, {share:.2%}")
    each = f"each of {len(runs)} cells (of {min(runs)} to {max(runs)} runs) holds as many as are needed"
    return [*lines, "", demand(each, failing), pooled]


def expected_limit(error: float, n_held: int) -> float:
    """Mean limit of Clopper and Pearson for a classifier of this error."""
    k = np.arange(n_held + 1)
    return float(binom.pmf(k, n_held, error) @ [upper_limit(int(i), n_held, LEVEL) for i in k])


def tightness_part(records: list[dict]) -> list[str]:
    """Mean ceiling of `plain` over the limit expected of the same classifier."""
    lines = [
        "| rows | mean ceiling | error, from the ceiling | expected limit | ratio | error, cross-fitted "
        "| expected limit | ratio |",
        "|---" * 8 + "|",
    ]
    failing = []
    for _, n, chosen in cells([r for r in records if r["shape"] == "plain" and r["ceiling"] is not None]):
        n_held, ceilings = round(n / 5), np.array([r["ceiling"] for r in chosen])
        limits = np.array([upper_limit(k, n_held, LEVEL) for k in range(n_held + 1)])
        counts = np.abs(limits - ceilings[:, None]).argmin(axis=1)
        errors = (counts.mean() / n_held, np.mean([r["error"] for r in chosen]))
        expected = [expected_limit(error, n_held) for error in errors]
        ratios = [ceilings.mean() / limit for limit in expected]
        figures = " | ".join(f"{e:.4f} | {x:.4f} | {r:.3f}" for e, x, r in zip(errors, expected, ratios, strict=True))
        lines.append(f"| {n} | {ceilings.mean():.4f} | {figures} |")
        if max(ratios) > MOST_RATIO:
            failing.append(f"{n} rows, {max(ratios):.3f}")
    return [*lines, "", demand(f"both ratios are at most {MOST_RATIO}", failing)]


def interval_part(records: list[dict]) -> list[str]:
    """Table and demands of the interval."""
    sizes = sorted({r["n"] for r in records})
    columns = " | ".join(f"{n} rows" for n in sizes)
    lines = [
        f"| shape | true floor | {columns} | interval holds | median width | ceiling holds |",
        "|---" * (len(sizes) + 5) + "|",
    ]
    low = []
    for shape in dict.fromkeys(shape for shape, _, _ in cells(records)):
        chosen = [r for r in records if r["shape"] == shape]
        hits = [holds_interval(r) for r in chosen]
        each = " | ".join(of([h for h, r in zip(hits, chosen, strict=True) if r["n"] == n]) for n in sizes)
        widths = [r["high"] - r["low"] for r in chosen if r["low"] is not None]
        width = f"{np.median(widths):.3f}" if widths else ""
        lines.append(
            f"| {shape} | {chosen[0]['truth']:.4f} | {each} | {np.mean(hits):.1%} | {width} "
            f"| {of([holds_ceiling(r) for r in chosen])} |"
        )
        if np.mean(hits) < LEAST_SHAPE:
            low.append(f"{shape} ({np.mean(hits):.0%})")
    hits = [holds_interval(r) for r in records]
    share = np.mean(hits)
    named = f"Below {LEAST_SHAPE:.0%}: {', '.join(low)}." if low else f"No shape is below {LEAST_SHAPE:.0%}."
    pooled = demand(f"at least {LEAST_INTERVAL:.0%} of all", bool(share < LEAST_INTERVAL), f"{of(hits)}, {share:.1%}")
    return [*lines, "", pooled, f"- {named}"]


def near_part(records: list[dict]) -> list[str]:
    """Table and demand of rows that are there twice up to rounding."""
    lines = ["| shape | true floor | interval holds | ceiling holds | median width |", "|---" * 5 + "|"]
    failing = []
    for shape, _, chosen in cells(records):
        hits, certified = [holds_interval(r) for r in chosen], [holds_ceiling(r) for r in chosen]
        width = np.median([r["high"] - r["low"] for r in chosen if r["low"] is not None])
        lines.append(f"| {shape} | {chosen[0]['truth']:.4f} | {of(hits)} | {of(certified)} | {width:.3f} |")
        if min(sum(hits), sum(certified)) * NEAR_SAMPLES < LEAST_NEAR * len(chosen):
            failing.append(shape)
    return [*lines, "", demand(f"interval and ceiling hold in at least {LEAST_NEAR} of {NEAR_SAMPLES} each", failing)]


def page(records: list[dict], version: str) -> str:
    """All tables, and what they show; `version` is that of the present sources."""
    versions = sorted({r["sources"] for r in records})
    others = "" if versions == [version] else f" **Not all are of the present sources, {version}.**"
    near = [r for r in records if r["shape"] in NEAR_COPIES]
    by_kind = {
        kind: [r for r in records if r["kind"] == kind and r["shape"] not in NEAR_COPIES]
        for kind in ("ceiling", "interval")
    }
    # Both kinds of runs see the same samples.
    redrawn = {(r["shape"], r["n"], r["sample"]): r["redrawn"] for r in records}
    totals = {shape: sum(count for key, count in redrawn.items() if key[0] == shape) for shape in SHAPES}
    again = ", ".join(f"{shape} {count:,} times" for shape, count in totals.items() if count) or "never"
    refused = sum("refused" in r for r in records)
    lines = [
        "# How often ceiling and interval hold the floor",
        "",
        f"Written by `python benchmarks/levels.py report{' --sources ' + ' '.join(versions) if others else ''}` "
        f"from {len(records):,} runs of `estimate` with "
        '`effort="fast"` and the default `random_state`, each on a fresh sample of a problem whose floor is known '
        f"exactly; sources {', '.join(versions)}.{others} A sample in which a class has fewer than {FEWEST_PER_CLASS} "
        f"rows is refused by `estimate` and was drawn again: {again}. Refused for other reasons: {refused:,} runs; "
        "these, and runs without a ceiling, count as not holding.",
    ]
    if chosen := by_kind["ceiling"]:
        lines += [
            "",
            "## The ceiling",
            "",
            "Certified with 95 % confidence. To save time the library is cut to "
            f"{' and '.join(LIBRARIES['ceiling'])}, and what the ceiling does not depend on (cross-fitted pool, "
            "balls, bounds) is left out: where they stay far above the floor, the ceiling holds "
            "more often than it has to.",
            "",
            *ceiling_part(chosen),
        ]
    if any(r["shape"] == "plain" and r["ceiling"] is not None for r in by_kind["ceiling"]):
        lines += [
            "",
            "## What certainty costs",
            "",
            "On `plain`, the mean ceiling, and the mean limit of Clopper and Pearson that a classifier with a "
            "given error has on a fifth of the rows. That error is taken twice: from the ceilings themselves "
            "(the count of errors that has this limit), which brings the ratio near 1 whatever the ceilings are, "
            "and the library's cross-fitted one, which does not depend on them.",
            "",
            *tightness_part(by_kind["ceiling"]),
        ]
    if chosen := by_kind["interval"]:
        lines += ["", "## The interval", "", "Nominal level 95 %, the whole library.", "", *interval_part(chosen)]
    if near:
        lines += [
            "",
            "## Near-copies",
            "",
            f"{NEAR_ROWS} rows: {NEAR_ROWS // 2} of `plain`, and the same ones again, rounded to float32 or times 1 + "
            "1e-12, 1e-9 or 1e-6 normal noise. Each record has to count once; the whole library.",
            "",
            *near_part(near),
        ]
    return "\n".join(lines) + "\n"


def report(options: argparse.Namespace) -> None:
    """Write the page from what is there."""
    everything, versions = read(options.records), options.sources or [sources()]
    records = read(options.records, *versions)
    if not records:
        others = ", ".join(sorted({record["sources"] for record in everything.values()}))
        sys.exit(f"{options.records} has no records of {', '.join(versions)}; --sources takes these: {others}")
    if len(records) < len(everything):
        print(f"{len(everything) - len(records)} runs were of other sources only, and are left out", file=sys.stderr)
    text = page(list(records.values()), sources())
    print(text)
    if options.out is not None:
        options.out.write_text(text, encoding="utf-8")


def main() -> None:
    """Run, or report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=Path, default=RECORDS)
    commands = parser.add_subparsers(required=True)
    runs = commands.add_parser("run", help="run what is missing")
    runs.add_argument("--samples", type=int, default=200, help="of each cell, for the ceiling")
    runs.add_argument("--interval-samples", type=int, default=40)
    runs.add_argument("--every", type=int, default=1, help="take one sample of so many: 3 runs a fixed third")
    runs.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    runs.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    runs.add_argument("--kinds", nargs="+", choices=["ceiling", "interval"], default=["ceiling", "interval"])
    runs.set_defaults(call=run)
    reports = commands.add_parser("report", help="write the tables from what is there")
    reports.add_argument("--out", type=Path)
    reports.add_argument("--sources", nargs="+", help="versions of the sources; if not given, the present one")
    reports.set_defaults(call=report)
    options = parser.parse_args()
    options.call(options)


if __name__ == "__main__":
    main()
