"""Thousands of inputs, each an answer or a refusal: ``python -m fuzz.runner --inputs 20000`` in the folder of tests.

A table says what they came to. Nothing may crash, raise what is not the package's own, or be wrong and silent: a
result out of its range, a floor outside its interval, above its ceiling or above the error of naming the largest class.
The same seed tries the same inputs; a single one again: ``--area "messy frames" --number 17``.
"""

import argparse
import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from fuzz.inputs import AREAS, try_inputs
from fuzz.outcomes import BAD, in_a_child

__all__ = ["run", "table"]

_OUTCOMES = ("answer", "refused", *BAD)
_BATCH = 100  # inputs of a process


def run(inputs: int, seed: int = 0, jobs: int = 1) -> tuple[dict[str, Counter[str]], list[tuple[str, str, str]]]:
    """Outcomes by area, and every input that came to something bad."""
    total = sum(share for _, share in AREAS.values())
    tasks = [
        (area, start, min(start + _BATCH, n))
        for area, (_, share) in AREAS.items()
        for n in [max(1, round(inputs * share / total))]
        for start in range(0, n, _BATCH)
    ]
    counts = {area: Counter() for area in AREAS}  # type: dict[str, Counter[str]]
    bad = []
    with ThreadPoolExecutor(jobs) as pool:
        for (area, _, _), found in zip(tasks, pool.map(lambda task: _batch(seed, *task), tasks), strict=True):
            counts[area].update(outcome for _, outcome, _ in found)
            bad += [entry for entry in found if entry[1] in BAD]
            if sys.stderr.isatty():
                print(f"\r{sum(map(Counter.total, counts.values())):,} inputs", end="", file=sys.stderr)
    return counts, bad


def _batch(seed: int, area: str, start: int, stop: int) -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    while start < stop:  # after a crash with the next input, in another process
        more = in_a_child(try_inputs, area, seed, start, stop)
        found += more
        start += max(1, len(more))
    return found


def table(counts: dict[str, Counter[str]]) -> str:
    """Areas and what their inputs came to, in columns."""
    lines = [f"{'':<24}{'inputs':>8}" + "".join(f"{outcome:>18}" for outcome in _OUTCOMES)]
    for area, found in {**counts, "all": sum(counts.values(), Counter())}.items():
        lines.append(f"{area:<24}{found.total():>8,}" + "".join(f"{found[outcome]:>18,}" for outcome in _OUTCOMES))
    return "\n".join(lines)


def main() -> int:
    """Run, print, and end with 1 if anything was bad."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--area", choices=AREAS)
    parser.add_argument("--number", type=int)
    options = parser.parse_args()
    if options.area is not None:
        for entry in in_a_child(try_inputs, options.area, options.seed, options.number, options.number + 1):
            print(*entry, sep="\n")
        return 0
    counts, bad = run(options.inputs, options.seed, options.jobs)
    print(table(counts))
    for case, outcome, remark in bad:
        print(f"{case}: {outcome}, {remark}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
