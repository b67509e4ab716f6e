"""What an estimate will take, before it starts: time, memory, bytes moved."""

import numbers
from dataclasses import dataclass

import numpy as np

from ..errors import ParameterError
from ..library.arrangement import EFFORTS
from ..library.forest import forest_rows
from ..rows.blocks import BLOCK_ROWS, LARGE
from ..utils.parallel import n_threads
from .balls import MAX_QUERIES
from .costs import SETTINGS, calibrate, features, measured_costs, memory_features
from .settings import Run

__all__ = ["Plan", "plan"]

_RADII = 12
_MODEL_ROWS_BYTES = 24  # per training row and column: rows as they are, standardized, weighted
_MODEL_BYTES = 12 * 2**20  # trees, landmarks, networks


@dataclass(frozen=True)
class Plan:
    """What an estimate will take.

    Attributes
    ----------
    n, d, classes, workers, effort
        What it is a plan of.
    sample_rows : int
        Rows that the library is cross-fitted on; all others are scored.
    seconds : float
        Expected time: `stages` has its parts.
    flops : float
        Floating-point operations of scoring and counting, the parts that grow with the rows.
    memory : float
        Bytes at the peak, of the process that calls (with one machine: of all).
    memory_per_worker : float
        Bytes at the peak on each worker of a cluster; 0 without one.
    bytes_moved : float
        Between the machines of a cluster; 0 without one.
    stages : dict
        Seconds of each stage.
    speed : float
        Of this machine, measured for a second, against that on which costs were measured.
    """

    n: int
    d: int
    classes: int
    workers: int
    effort: str
    sample_rows: int
    seconds: float
    flops: float
    memory: float
    memory_per_worker: float
    bytes_moved: float
    stages: dict[str, float]
    speed: float

    def __str__(self) -> str:
        where = f"{self.workers} workers of a cluster" if self.workers else "this machine"
        lines = [
            f"{self.n:,} rows x {self.d} columns, {self.classes} classes, effort {self.effort}, on {where}",
            f"time      about {_duration(self.seconds)} (a factor of 2 either way): "
            + ", ".join(f"{name} {_duration(s)}" for name, s in self.stages.items() if s >= 0.05 * self.seconds),
            f"models    trained on {min(EFFORTS[self.effort], self.sample_rows):,} of {self.sample_rows:,} rows at a "
            f"time; {'all rows scored' if self.sample_rows < self.n else 'every row scored by models without it'}",
            f"memory    about {_size(self.memory)} here"
            + (f", {_size(self.memory_per_worker)} on each worker" if self.workers else ""),
            f"work      {self.flops:.1e} operations to score and count"
            + (f"; {_size(self.bytes_moved)} moved between machines" if self.workers else ""),
        ]
        return "\n".join(lines)


def plan(
    n: int,
    d: int,
    classes: int = 2,
    workers: int = 0,
    *,
    effort: str = "balanced",
    n_jobs: int | None = None,
    in_memory: bool = True,
    run: Run | None = None,
    speed: float | None = None,
) -> Plan:
    """Say what an estimate of so many rows will take, from costs measured before and the speed of this machine.

    Parameters
    ----------
    n, d, classes : int
        Rows, columns (after encoding) and classes.
    workers : int
        Of a Dask cluster, one thread each and as fast as this machine's; 0: this machine alone.
    effort : {"fast", "balanced", "thorough"}
    n_jobs : int, optional
        Threads on this machine; None means all cores.
    in_memory : bool
        False: the rows are read in blocks, from a mapped array or a file larger than memory.
    run : Run, optional
        Its `sample_rows` and `block_rows` count.
    speed : float, optional
        Of this machine against that on which costs were measured; by default it is measured for a second.

    Returns
    -------
    Plan

    Examples
    --------
    >>> small, large = plan(10**6, 20, speed=1.0, n_jobs=2), plan(10**7, 20, speed=1.0, n_jobs=2)
    >>> bool(2 < large.seconds / small.seconds < 10)   # the library is trained on a sample in both
    True
    """
    for name, value, least in (("n", n, 30), ("d", d, 1), ("classes", classes, 2), ("workers", workers, 0)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise ParameterError(f"{name} must be a whole number of at least {least}, got {value!r}")
    if not isinstance(effort, str) or effort not in EFFORTS:
        raise ParameterError(f"effort must be one of {', '.join(EFFORTS)}; got {effort!r}")
    if run is not None and not isinstance(run, Run):
        raise ParameterError(f"run must be a bayesfloor.Run, got {run!r}")
    if speed is not None and not (isinstance(speed, numbers.Real) and 0 < speed < np.inf):
        raise ParameterError(f"speed must be a number above 0, got {speed!r}")
    run = run or Run()
    sample = run.n_fitted(int(n), EFFORTS[effort])
    threads = n_threads(n_jobs)
    costs = measured_costs()
    speed = calibrate(threads) / costs["probes_per_second"] if speed is None else speed
    stages = {}
    for name, terms in features(int(n), int(d), int(classes), sample, effort).items():
        seconds = sum(terms[term] * weight for term, weight in costs["seconds"][name].items()) / speed
        # Costs were measured with the threads of one machine; the sample makes eleven tasks, blocks are many.
        if workers and sample < n:  # smaller tables are brought here
            seconds *= costs["threads"] / {
                "training": min(workers, 11),
                "growing forests": min(workers, 8),
                "scoring": workers,
                "counting": workers,
            }.get(name, 1)
        stages[name] = float(seconds)
    block = min(run.block_rows or BLOCK_ROWS, n)
    return Plan(
        n=int(n),
        d=int(d),
        classes=int(classes),
        workers=int(workers),
        effort=effort,
        sample_rows=sample,
        seconds=sum(stages.values()),
        flops=_flops(n, d, classes, sample, effort),
        memory=_memory(n, d, classes, sample, effort, threads, block, in_memory, on_cluster=workers > 0),
        memory_per_worker=_worker_memory(n, d, classes, workers, sample, effort, block) if workers else 0.0,
        bytes_moved=_moved(n, d, classes, workers, sample, effort) if workers else 0.0,
        stages=stages,
        speed=speed,
    )


def _memory(
    n: int, d: int, classes: int, sample: int, effort: str, threads: int, block: int, in_memory: bool, on_cluster: bool
) -> float:
    """Of this process; with a cluster it holds the sample, the rows of both forests, and the models."""
    forests = 8.0 * d * forest_rows(n, sample, d, effort) + _model_bytes(n, d, classes, sample, effort)
    if on_cluster:
        n, threads = sample, 1
    terms = memory_features(n, d, classes, sample, effort, threads, block, in_memory)
    return sum(terms[name] * weight for name, weight in measured_costs()["bytes"].items()) + on_cluster * forests


def _model_bytes(n: int, d: int, classes: int, sample: int, effort: str) -> float:
    """Training rows in several coordinates, and two forests with a node or two for each of their rows."""
    nodes = 2 * 40 * forest_rows(n, sample, d, effort) * 0.4
    return _MODEL_BYTES + _MODEL_ROWS_BYTES * min(4 * sample // 5, EFFORTS[effort]) * d + nodes * (64 + 8 * classes)


def _worker_memory(n: int, d: int, classes: int, workers: int, sample: int, effort: str, block: int) -> float:
    """Its share of the table, scores and coordinates, a block at work, the models or a task of the cross-fit."""
    costs = measured_costs()["bytes"]
    share = 8.0 * n / workers * (d + classes + min(classes - 1, 4))
    task = 8.0 * sample * d + 4.0 * SETTINGS[effort] * sample * classes / 2
    work = _model_bytes(n, d, classes, sample, effort) + 16_000.0 * block
    return float(costs["base"] * 2**20 + share + max(task, work))


def _moved(n: int, d: int, classes: int, workers: int, sample: int, effort: str) -> float:
    """Sample to the client and to all workers, predictions back, models and queries to all, counts up a tree."""
    queries = min(n, MAX_QUERIES)
    to_all = 8.0 * sample * d + _model_bytes(n, d, classes, sample, effort) + 8.0 * queries * min(classes - 1, 4)
    back = 8.0 * sample * d + 4.0 * SETTINGS[effort] * 4 * sample * classes
    counts = 4.0 * queries * classes * _RADII
    reference = 0.0 if n <= LARGE else 8.0 * LARGE * min(classes - 1, 4)
    return workers * (to_all + counts) + back + reference


def _flops(n: int, d: int, classes: int, sample: int, effort: str) -> float:
    """Products with training rows (neighbours, twice) and landmarks, trees, networks; distances of the balls."""
    trained = min(4 * sample // 5, EFFORTS[effort])
    width = min(d, 256)
    per_row = (
        2.0 * (2 * trained * width + 500 * (width + classes) + 64 * (width + 64 + classes) * 2) + 60 * 12 * classes
    )
    return n * per_row + 3.0 * min(n, MAX_QUERIES) * n * min(classes - 1, 4)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _size(n_bytes: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1024:
            return f"{n_bytes:.1f} {unit}" if n_bytes < 10 else f"{n_bytes:.0f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} TB"
