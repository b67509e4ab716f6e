"""Floors of the problems that have no closed form, by Monte Carlo on the exact posterior.

python benchmarks/problem_truths.py        # rewrites src/bayesfloor/problems/problem_truths.json
python benchmarks/problem_truths.py NAME   # the same for some of them; the others stay as they are
"""

import json
import sys
from pathlib import Path

from bayesfloor.problems.problems import KINDS, simulated_error

OUT = Path(__file__).parents[1] / "src" / "bayesfloor" / "problems" / "problem_truths.json"
STD, SEED = 1e-4, 2026


def main() -> None:
    """Compute and write them all, or those that are named."""
    wanted = sys.argv[1:]
    truths = json.loads(OUT.read_text(encoding="utf-8")) if wanted else {}
    for name, (family, parameters) in (entry for problems in KINDS.values() for entry in problems.items()):
        distribution = family(**parameters)
        if distribution.exact_error is None and (not wanted or name in wanted):
            error, std = simulated_error(distribution, STD, SEED)
            truths[name] = {"bayes_error": error, "bayes_error_std": std}
            print(f"{name}: {error:.5f} +- {std:.5f}", flush=True)
    OUT.write_text(json.dumps(truths, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
