"""Large tables on one machine, and what Dask adds: time, memory, growth, and whether `bayesfloor.plan` foresaw it.

    python benchmarks/scale.py --out benchmarks/results/scale.md --docs docs/scale.md   # some ten minutes on two cores
    python benchmarks/scale.py --data FOLDER               # with covertype.npz instead of a table of its size
    python benchmarks/scale.py --rows 10000000             # adds a mapped table of so many rows

Every run has a process of its own; its peak of memory is that of the process, the table included. Finished runs are
kept in benchmarks/results/scale.json: delete it to run all again.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import bayesfloor as bf
from bayesfloor import problems

HERE = Path(__file__).parent
RECORDS = HERE / "results" / "scale.json"
_D = 20
_SHARES = np.array([211840, 283301, 35754, 2747, 9493, 17367, 20510])  # rows of covertype's classes


def twonorm(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Twenty columns, two classes, floor 0.0228."""
    return problems.get("twonorm").sample(n, random_state=1)


def like_covertype(folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """581,012 rows, 54 columns, 7 classes: the table itself, or Gaussian classes of its size and shares."""
    if folder is not None:
        stored = np.load(folder / "covertype.npz", allow_pickle=False)
        return stored["X"], stored["y"]
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(7), _SHARES)
    rng.shuffle(y)
    X = rng.normal(size=(len(y), 54)).astype(np.float32)
    X[:, :10] += rng.normal(size=(7, 10))[y]
    X[:, 10:] = X[:, 10:] > 1  # like its columns of soil types
    return X, y


def floor_of_its_like() -> float:
    """Floor of that table, from its posterior: ten columns are Gaussians around the means, the others noise."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(7), _SHARES)
    rng.shuffle(y)
    rng.normal(size=(len(y), 54))  # as above: the means are drawn after the rows
    means = rng.normal(size=(7, 10))
    shares = _SHARES / _SHARES.sum()
    rows = means[rng.choice(7, 10**6, p=shares)] + rng.normal(size=(10**6, 10))
    logs = np.log(shares) - ((rows[:, None] - means) ** 2).sum(axis=2) / 2
    P = np.exp(logs - logs.max(axis=1, keepdims=True))
    return float(1 - (P.max(axis=1) / P.sum(axis=1)).mean())


def with_product(n: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Twenty columns, two classes whose log-odds contain a product of two of them, and the floor."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, _D))
    odds = X[:, 0] + 2 * X[:, 1] * X[:, 2] + np.sin(2 * X[:, 3])
    p = 1 / (1 + np.exp(-odds))
    return X, (rng.random(n) < p).astype(np.int64), float(np.minimum(p, 1 - p).mean())


def measured(X: object, y: object, **options: object) -> dict[str, object]:
    """One estimate: seconds, peak, floor."""
    warm = problems.get("moons").sample(200, random_state=0)
    bf.estimate(*warm, effort="fast")  # loads and compiles
    started = time.perf_counter()
    result = bf.estimate(X, y, **options)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": seconds, "bytes": peak, "floor": result.floor, "interval": str(result.interval)}


def run_local(n: int) -> dict[str, object]:
    """A table in memory."""
    plan = bf.plan(n, _D, 2)
    return {**measured(*twonorm(n)), "planned_seconds": plan.seconds, "planned_bytes": plan.memory}


def run_product(n: int) -> dict[str, object]:
    """A table whose structure no single column shows."""
    plan = bf.plan(n, _D, 2)
    X, y, floor = with_product(n)
    return {**measured(X, y), "planned_seconds": plan.seconds, "planned_bytes": plan.memory, "true": floor}


def run_covertype(folder: str) -> dict[str, object]:
    """A table with seven classes, one of them 0.5 %."""
    plan = bf.plan(581_012, 54, 7)
    X, y = like_covertype(Path(folder) if folder else None)
    return {**measured(X, y), "planned_seconds": plan.seconds, "planned_bytes": plan.memory}


def run_mapped(n: int) -> dict[str, object]:
    """A table on disk, written in parts and mapped."""
    plan = bf.plan(n, _D, 2, in_memory=False)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "X.npy"
        X = np.lib.format.open_memmap(file, "w+", np.float32, (n, _D))
        y = np.empty(n, dtype=np.int64)
        for start in range(0, n, 500_000):
            stop = min(start + 500_000, n)
            X[start:stop], y[start:stop] = problems.get("twonorm").sample(stop - start, random_state=[1, start])
        X.flush()
        del X
        return {
            **measured(np.load(file, mmap_mode="r"), y),
            "planned_seconds": plan.seconds,
            "planned_bytes": plan.memory,
        }


def run_dask(n: int) -> dict[str, object]:
    """The same work by two local threads, and by two workers of a Dask cluster on this machine."""
    import dask.array as da
    from distributed import Client, LocalCluster

    X, y = twonorm(n)
    local = measured(X, y, n_jobs=2)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        rows = da.from_array(X, chunks=(50_000, -1))
        labels = da.from_array(y, chunks=50_000)
        rows, labels = client.persist([rows, labels])
        client.run(_warm)
        started = time.perf_counter()
        result = bf.estimate(rows, labels, run=bf.Run(cluster=client))
        seconds = time.perf_counter() - started
    return {
        "local_seconds": local["seconds"],
        "dask_seconds": seconds,
        "local_floor": local["floor"],
        "dask_floor": result.floor,
    }


def _warm() -> None:
    bf.estimate(*problems.get("moons").sample(200, random_state=0), effort="fast", n_jobs=1)


def in_own_process(function: str, *arguments: object) -> dict:
    """Its memory is its own. What is among the records is not run again."""
    name = f"{function} {arguments}"
    done = json.loads(RECORDS.read_text()) if RECORDS.exists() else {}
    if name in done:
        return done[name]
    code = f"import json, scale; print(json.dumps(scale.{function}(*{arguments!r})))"
    found = subprocess.run([sys.executable, "-c", code], cwd=HERE, capture_output=True, text=True)
    if found.returncode:
        raise SystemExit(found.stderr)
    done[name] = json.loads(found.stdout.splitlines()[-1])
    RECORDS.write_text(json.dumps(done, indent=1) + "\n")
    print(name, done[name], flush=True)
    return done[name]


def plans() -> str:
    """What the plan says of more rows and workers than there are here."""
    lines = ["| rows | columns | workers | time | memory per worker |", "|---|---|---|---|---|"]
    for n, workers in ((10**7, 0), (10**7, 10), (10**8, 10), (10**9, 100), (10**9, 1000)):
        p = bf.plan(n, _D, 2, workers, speed=1.0, n_jobs=2)
        hours = f"{p.seconds / 60:.0f} min" if p.seconds < 7200 else f"{p.seconds / 3600:.1f} h"
        memory = p.memory_per_worker if workers else p.memory
        lines.append(f"| {n:.0e} | {_D} | {workers or 'two threads'} | {hours} | {memory / 2**30:.1f} GB |")
    return "\n".join(lines)


def report(options: argparse.Namespace) -> str:
    """All runs as a table, and what they show."""
    sizes = [100_000, 300_000, 1_000_000]
    rows = [(f"{n:,} x {_D}, 2 classes, in memory", in_own_process("run_local", n)) for n in sizes]
    name = f"{sizes[-1]:,} x {_D}, log-odds with a product of two columns, in memory"
    rows.append((name, in_own_process("run_product", sizes[-1])))
    what = "covertype" if options.data else "covertype-sized"
    folder = str(options.data.resolve()) if options.data else ""
    rows.append((f"581,012 x 54, 7 classes ({what}), in memory", in_own_process("run_covertype", folder)))
    if options.rows:
        rows.append((f"{options.rows:,} x {_D}, 2 classes, mapped file", in_own_process("run_mapped", options.rows)))
    dask = in_own_process("run_dask", options.dask_rows)
    lines = [
        "`python benchmarks/scale.py`: default effort, two cores, each run in a process of its own. Memory is the peak",
        'of the process, the table included. "Planned" is what `bayesfloor.plan` said before, after a second of',
        "calibration.",
        "",
        "| table | seconds | planned | factor | GB | planned | factor | floor | 95 % interval | true |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    known = problems.get("twonorm").bayes_error
    for name, r in rows:
        truth = r.get("true", known) if f"x {_D}," in name else "not known" if options.data else floor_of_its_like()
        seconds, planned, size, foreseen = (r[key] for key in ("seconds", "planned_seconds", "bytes", "planned_bytes"))
        interval = r["interval"].removesuffix(" at 95%")
        lines.append(
            f"| {name} | {seconds:.0f} | {planned:.0f} | {planned / seconds:.2f} | {size / 2**30:.2f} | "
            f"{foreseen / 2**30:.2f} | {foreseen / size:.2f} | {r['floor']:.2%} | {interval} | "
            f"{truth if isinstance(truth, str) else format(truth, '.2%')} |"
        )
    growth = rows[len(sizes) - 1][1]["seconds"] / rows[0][1]["seconds"]
    lines += [
        "",
        f"From {sizes[0]:,} to {sizes[-1]:,} rows, ten times as many, the time grows {growth:.1f} times: models are "
        "trained on a sample of 20,000 rows in either case, and only scoring grows with the rows.",
        "",
        f"Dask, {options.dask_rows:,} x {_D}: two local threads {dask['local_seconds']:.1f} s, two workers of a "
        f"cluster on the same machine {dask['dask_seconds']:.1f} s, "
        f"**{dask['dask_seconds'] / dask['local_seconds']:.2f} times** as long; floors "
        f"{dask['local_floor']:.6f} and {dask['dask_floor']:.6f}.",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--docs", type=Path, help="page with places for both tables")
    parser.add_argument("--data", type=Path, help="folder with covertype.npz")
    parser.add_argument("--rows", type=int, default=0, help="of a mapped table, beside the others")
    parser.add_argument("--dask-rows", type=int, default=400_000)
    options = parser.parse_args()
    text = report(options)
    print(text)
    if options.out:
        options.out.write_text(f"# Large tables\n\n{text}")
    if options.docs:
        page = options.docs.read_text()
        for name, content in (("scale", text.strip()), ("plans", plans())):
            begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
            page = page[: page.index(begin)] + f"{begin}\n{content}\n{end}" + page[page.index(end) + len(end) :]
        options.docs.write_text(page)
