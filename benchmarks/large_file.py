"""A million rows from the command line: time and memory of `bayesfloor estimate --max-rows 50000` on a CSV file.

python benchmarks/large_file.py [--rows 1000000] [--out FILE]
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from bayesfloor import problems

N_FEATURES = 20


def main() -> None:
    """Write the file, run the command, print what it took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    problem = problems.get("gaussians_10d", shift=2, n_features=N_FEATURES)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.csv"
        for part in range(10):
            X, y = problem.sample(options.rows // 10, random_state=part)
            frame = pd.DataFrame(np.round(X, 5)).add_prefix("x").assign(label=y)
            frame.to_csv(path, index=False, mode="a", header=part == 0)
        size = path.stat().st_size / 2**20
        command = ["estimate", str(path), "--target", "label", "--max-rows", "50000", "--quiet"]
        started = time.perf_counter()
        run = subprocess.run([sys.executable, "-m", "bayesfloor", *command], capture_output=True, text=True, check=True)
        seconds = time.perf_counter() - started
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    text = "\n".join(
        [
            f"# {options.rows:,} x {N_FEATURES}, CSV of {size:.0f} MB, --max-rows 50000",
            "",
            f"Written by `python benchmarks/large_file.py`. {seconds:.0f} s, at most {memory:.2f} GB; the true floor "
            f"is {problem.bayes_error:.2%}.",
            "",
            "```",
            run.stdout.strip(),
            "```",
        ]
    )
    print(text)
    if options.out is not None:
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
