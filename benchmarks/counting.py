"""Speed of counting, nearest labels and spanning trees, as ratios to rivals measured in the same run.

Candidates take turns in one process, and the quickest of several repeats counts: the machine may be shared.
Run with `make bench`, or directly:

    python benchmarks/counting.py [--quick] [--out FILE]
"""

import argparse
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn.neighbors import KDTree, NearestNeighbors

from bayesfloor import ball_counts, nearest_labels, spanning_tree
from bayesfloor.utils.parallel import n_threads

RNG = np.random.default_rng


def blobs(n: int, d: int, n_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian classes one apart in the first feature."""
    rng = RNG(seed)
    y = rng.integers(0, n_classes, n)
    X = rng.normal(size=(n, d))
    X[:, 0] += y
    return X, y


def spread_radii(X: np.ndarray, n_radii: int) -> np.ndarray:
    """Radii over the range of distances: quantiles 2 % to 98 % of 3000 pairs."""
    rng = RNG(1)
    pairs = rng.integers(0, len(X), (2, 3000))
    distances = np.linalg.norm(X[pairs[0]] - X[pairs[1]], axis=1)
    return np.unique(np.quantile(distances[distances > 0], np.linspace(0.02, 0.98, n_radii)))


def blocked_product(X: np.ndarray, rows: int) -> Callable[[], None]:
    """Plain float32 X @ X.T, so many rows at a time, with BLAS's own threads."""
    Z = X.astype(np.float32)
    out = np.empty((rows, len(Z)), dtype=np.float32)

    def run() -> None:
        for i in range(0, len(Z), rows):
            np.matmul(Z[i : i + rows], Z.T, out=out[: len(Z) - i])

    return run


def quickest(candidates: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Least time of each, the candidates taking turns; one turn before to load compiled code."""
    best = dict.fromkeys(candidates, np.inf)
    for turn in range(repeats + 1):
        for name, run in candidates.items():
            started = time.perf_counter()
            run()
            if turn:
                best[name] = min(best[name], time.perf_counter() - started)
    return best


def row(case: str, ours: float, rival: float, name: str, wanted: str) -> str:
    """One line of the table; `wanted` says what the ratio should be."""
    return f"| {case} | {ours:.3f} | {rival:.3f} | {name} | {ours / rival:.2f} | {rival / ours:.1f} | {wanted} |"


def against_product(n: int, d: int, n_classes: int, n_radii: int, wanted: str, repeats: int) -> str:
    """Ball counts against the product of the same matrix."""
    X, y = blobs(n, d, n_classes)
    radii = spread_radii(X, n_radii)
    times = quickest(
        {f"product, {rows} rows": blocked_product(X, rows) for rows in (256, 1024)}
        | {"ours": lambda: ball_counts(X, y, radii)},
        repeats,
    )
    ours = times.pop("ours")
    name = min(times, key=times.__getitem__)
    return row(f"ball counts {n:,} x {d}, {n_classes} classes, {n_radii} radii", ours, times[name], name, wanted)


def against_kd_tree(n: int, repeats: int) -> str:
    """Ball counts in three dimensions against scikit-learn's tree, extrapolated from a sample of queries."""
    X, y = blobs(n, 3, 2)
    k = int(np.sqrt(n))
    radii = np.median(KDTree(X).query(X[:500], k=k)[0][:, -1]) * np.array([0.4, 0.6, 0.8, 1.0])
    trees = [KDTree(X[y == c]) for c in (0, 1)]
    sample = X[RNG(2).integers(0, n, 2000)]

    def rival() -> None:
        for tree in trees:
            for radius in radii:
                tree.query_radius(sample, radius, count_only=True)

    times = quickest({"rival": rival, "ours": lambda: ball_counts(X, y, radii)}, repeats)
    return row(
        f"ball counts {n:,} x 3, 2 classes, 4 radii, balls up to {k} points",
        times["ours"],
        times["rival"] * n / len(sample),
        "KDTree.query_radius per class and radius, from 2000 queries",
        "40 times faster",
    )


def against_nearest_neighbors(n: int, d: int, repeats: int) -> str:
    """Nearest labels against scikit-learn, extrapolated from a sample of queries."""
    X, y = blobs(n, d, 2)
    k = int(4 * np.sqrt(n))
    threads = n_threads(None)
    model = NearestNeighbors(n_neighbors=k, n_jobs=threads).fit(X)
    sample = X[RNG(2).integers(0, n, min(n, 4000))]
    times = quickest({"rival": lambda: model.kneighbors(sample), "ours": lambda: nearest_labels(X, y, k)}, repeats)
    return row(
        f"nearest labels {n:,} x {d}, k = {k}",
        times["ours"],
        times["rival"] * n / len(sample),
        f"NearestNeighbors, {threads} threads, from {len(sample)} queries",
        "3 times faster",
    )


def against_dataeval(n: int, d: int, repeats: int) -> str:
    """Spanning tree against dataeval's."""
    X, y = blobs(n, d, 2)
    try:
        from dataeval.core import ber_mst
    except ImportError:
        return f"| spanning tree {n:,} x {d} | | | dataeval is not installed: skipped | | | faster |"
    times = quickest({"rival": lambda: ber_mst(X, y), "ours": lambda: spanning_tree(X)}, repeats)
    return row(f"spanning tree {n:,} x {d}", times["ours"], times["rival"], "dataeval.core.ber_mst", "faster")


def growth(sizes: list[int], d: int, radii_of: Callable[[np.ndarray], np.ndarray]) -> str:
    """Fitted exponent of time in N."""
    times = []
    for n in sizes:
        X, y = blobs(n, d, 2)
        radii = radii_of(X)
        times.append(quickest({"ours": lambda X=X, y=y, radii=radii: ball_counts(X, y, radii)}, 1)["ours"])
    exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    listed = ", ".join(f"{n:,}: {t:.2f} s" for n, t in zip(sizes, times, strict=True))
    return f"- d = {d}: time grows as N^{exponent:.2f} ({listed})"


def small_balls(X: np.ndarray) -> np.ndarray:
    """Four radii up to about sqrt(N) neighbours."""
    k = int(np.sqrt(len(X)))
    return np.median(KDTree(X).query(X[:200], k=k)[0][:, -1]) * np.array([0.4, 0.6, 0.8, 1.0])


def peak_memory(what: str) -> int:
    """Bytes above the data that `what` needs at its peak, measured in a process of its own."""
    here = str(Path(__file__).parent)
    code = f"import sys; sys.path.insert(0, {here!r}); import counting; counting.report_peak({what!r})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(run.stdout.split()[-1])


def report_peak(what: str) -> None:
    """Run one job and print by how many bytes it raised the peak of this process."""
    if what == "counts":
        X, y = blobs(60_000, 784, 10)
        radii = spread_radii(X, 15)
        ball_counts(X[:600], y[:600], radii, algorithm="tiles")
    else:
        X, y = blobs(20_000, 50 if what.endswith("50") else 4, 2)
        spanning_tree(X[:600])
    before = _peak()
    if what == "counts":
        ball_counts(X, y, radii)
    else:
        spanning_tree(X)
    print(_peak() - before)


def _peak() -> int:
    """Most bytes this process has held; ru_maxrss would start from what its parent held."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("the peak memory of a process is read from /proc, which this system does not have")


def import_time() -> float:
    """Seconds that `import bayesfloor` takes in a new process, beyond starting Python."""

    def seconds(code: str) -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - started

    return min(seconds("import bayesfloor") for _ in range(5)) - min(seconds("pass") for _ in range(5))


def report(quick: bool) -> Iterator[str]:
    """All lines."""
    repeats, part = (1, 4) if quick else (5, 1)
    yield "# Counting, nearest labels, spanning trees: speed"
    yield (
        f"\nWritten by `python benchmarks/counting.py`; {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"numpy {np.__version__}. Seconds are the least of {repeats} turns; ratios are what counts.\n"
    )
    yield "| case | ours, s | rival, s | rival | ours / rival | rival / ours | wanted |"
    yield "|---|---|---|---|---|---|---|"
    yield against_product(12_000 // part, 784, 10, 15, "at most 0.90 of the time", repeats)
    yield against_product(50_000 // part, 10, 2, 11, "at most 2 times the time", repeats)
    yield against_kd_tree(300_000 // part, repeats)
    yield against_nearest_neighbors(50_000 // part, 10, min(repeats, 2))
    yield against_nearest_neighbors(20_000 // part, 50, min(repeats, 2))
    yield against_dataeval(20_000 // part, 4, repeats)
    yield against_dataeval(20_000 // part, 50, repeats)
    yield "\nGrowth:\n"
    yield growth([n // part for n in (5_000, 10_000, 20_000, 40_000, 80_000)], 50, lambda X: spread_radii(X, 11))
    yield growth([n // part for n in (100_000, 200_000, 500_000, 1_000_000)], 3, small_balls)
    if not quick:
        yield "\nPeak memory above the data, each in a process of its own:\n"
        yield f"- ball counts 60,000 x 784, 10 classes, 15 radii: {peak_memory('counts') / 2**30:.2f} GiB"
        yield f"- spanning tree 20,000 x 4: {peak_memory('tree 4') / 2**30:.2f} GiB"
        yield f"- spanning tree 20,000 x 50: {peak_memory('tree 50') / 2**30:.2f} GiB"
    yield f"\n`import bayesfloor` takes {import_time():.2f} s."


def main() -> None:
    """Print the report line by line and write it to a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a quarter of the size, one turn")
    parser.add_argument("--out", type=Path, help="also write the report to this file")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for line in report(options.quick):
        print(line, flush=True)
        lines.append(line)
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
