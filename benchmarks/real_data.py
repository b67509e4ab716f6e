"""The learned floor and its self-check on MNIST and Fashion-MNIST: time, memory, and how well it follows label noise.

python benchmarks/real_data.py mnist --data DIR [--out FILE]   # DIR/mnist.npz with X, y and, optionally, is_train
python benchmarks/real_data.py mnist                           # downloads from OpenML
"""

import argparse
import resource
import time
from pathlib import Path

import numpy as np

from bayesfloor import noise_check
from bayesfloor.utils.progress import TerminalProgress

OPENML = {"mnist": "mnist_784", "fashion_mnist": "Fashion-MNIST"}


def load(name: str, directory: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """The 60,000 training images and their labels."""
    if directory is None:
        from sklearn.datasets import fetch_openml

        X, y = fetch_openml(OPENML[name], version=1, return_X_y=True, as_frame=False)
        return X[:60_000], y[:60_000]
    with np.load(directory / f"{name}.npz", allow_pickle=False) as file:
        X, y = file["X"], file["y"]
        kept = file["is_train"] if "is_train" in file else np.arange(len(y)) < 60_000
    return X[kept], y[kept]


def main() -> None:
    """Print what was found, and write it to a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=list(OPENML))
    parser.add_argument("--data", type=Path, help="directory with NAME.npz; without it OpenML is asked")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    X, y = load(options.name, options.data)
    started = time.perf_counter()
    check = noise_check(X, y, progress=TerminalProgress())
    seconds = time.perf_counter() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    text = "\n".join(
        [
            f"# {options.name}: {X.shape[0]:,} x {X.shape[1]}, default effort",
            "",
            f"Written by `python benchmarks/real_data.py {options.name}`. One estimate takes "
            f"{check.clean.settings['seconds']:.0f} s, the whole check {seconds:.0f} s; at most "
            f"{memory:.1f} GB in memory.",
            "",
            "```",
            str(check.clean),
            "",
            str(check),
            "```",
            "",
            "| learner | error | weight |",
            "|---|---|---|",
            *(f"| {s.name} | {s.error:.4f} | {s.weight:.2f} |" for s in check.clean.learners),
        ]
    )
    print(text)
    if options.out is not None:
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
