"""Time from starting `bayesfloor demo` to its report: first after an installation, when code is compiled, and later.

python benchmarks/first_answer.py [--runs 3] [--readme README.md]
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from readme_figures import put


def seconds(cache: Path) -> float:
    """Wall time of the demo in a new process, with compiled code kept in this folder."""
    command = [sys.executable, "-m", "bayesfloor", "demo", "--force", "--quiet", "-o", str(cache / "demo.html")]
    started = time.perf_counter()
    subprocess.run(command, check=True, env={**os.environ, "NUMBA_CACHE_DIR": str(cache)}, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    """Print the sentence, and put it into the README."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3, help="pairs of runs whose medians are printed")
    parser.add_argument("--readme", type=Path, help="also put the sentence into this file")
    options = parser.parse_args()
    first, later = [], []
    for _ in range(options.runs):
        with tempfile.TemporaryDirectory() as empty:
            first.append(seconds(Path(empty)))
            later.append(seconds(Path(empty)))
    told = (
        f"After `pip install`, the first `bayesfloor demo` takes {median(first):.0f} s, since code is compiled once; "
        f"later ones take {median(later):.0f} s ({os.cpu_count()} cores)."
    )
    print(told)
    if options.readme is not None:
        put(options.readme, "first answer", told)


if __name__ == "__main__":
    main()
