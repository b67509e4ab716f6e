"""What an estimate will take, before it starts: time and memory, as sums of costs measured before."""

import json
import time
import warnings
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from ..errors import ParameterError
from ..library.arrangement import EFFORTS, n_repeats
from ..library.cross_fit import STAGES, limit_fit_threads, n_models
from ..library.extra_trees import columns_tried
from ..library.fold import WIDE, Fold, Unseen
from ..library.forest import TREES, forest_rows
from ..library.kernel_ridge import MOST_CENTRES, n_landmarks
from ..library.learners import LIBRARY, MOST_SETTINGS
from ..library.pool import N_FOLDS
from ..library.sparse_columns import DIRECTIONS
from ..rows.blocks import BLOCK_ROWS
from ..utils.checks import brief, check_flag, check_number, check_whole
from ..utils.parallel import n_threads, run_tasks
from .balls import FEW_FEATURES, MAX_QUERIES
from .raw import check_kind
from .rule import BALL_CLASSES, DIMENSIONS
from .settings import ROW_BYTES, Run

__all__ = ["Plan", "calibrate", "features", "measured_costs", "memory_features", "plan", "sparse_bytes"]

_MODEL_ROWS_BYTES = 24  # per training row and column: rows as they are, standardized, weighted
_MODEL_BYTES = 12 * 2**20  # trees, landmarks, networks
_NODES = 0.4  # of a tree, for each row of its forest
_WITHOUT, _ALONE = 0.25, 0.06  # of the library's time, on a table without a column and on one alone
_ENTRY_BYTES, _COPIES = 12, 6  # of a number in a sparse matrix and its column; copies that a task makes
_CALIBRATION_SECONDS = 1.0
_PROBES = ("trees", "kernel", "neighbours", "boosting", "network")  # learners that tell how fast the machine is


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
    memory : float
        Bytes at the peak, of the process that calls (with one machine: of all).
    memory_per_worker : float
        Bytes at the peak on each worker of a cluster; 0 without one.
    stages : dict
        Seconds of each stage.
    speed : float
        Of this machine, measured for a second, against that on which costs were measured.
    trained_rows : int, optional
        Rows that a model is trained on at most, where they are not columns.
    kind : str, optional
        Of the rows.

    Examples
    --------
    >>> from bayesfloor import plan
    >>> expected = plan(10**7, 20)
    >>> expected.sample_rows, expected.seconds > 0, expected.memory > 0
    (20000, True, True)
    """

    n: int
    d: int
    classes: int
    workers: int
    effort: str
    sample_rows: int
    seconds: float
    memory: float
    memory_per_worker: float
    stages: dict[str, float]
    speed: float
    trained_rows: int | None = None
    kind: str | None = None

    def __str__(self) -> str:
        where = f"{self.workers} workers of a cluster" if self.workers else "this machine"
        rows = f"rows x {self.d} columns" if self.kind is None else f"{self.kind} of {self.d} pixels"
        trained = min(EFFORTS[self.effort], self.sample_rows) if self.trained_rows is None else self.trained_rows
        lines = [
            f"{self.n:,} {rows}, {self.classes} classes, effort {self.effort}, on {where}",
            f"time      about {_duration(self.seconds)} (a factor of 2 either way): "
            + ", ".join(f"{name} {_duration(s)}" for name, s in self.stages.items() if s >= 0.05 * self.seconds),
            f"models    trained on {trained:,} of {self.sample_rows:,} rows at a "
            f"time; {'all rows scored' if self.sample_rows < self.n else 'every row scored by models without it'}",
            f"memory    about {_size(self.memory)} here"
            + (f", {_size(self.memory_per_worker)} on each worker" if self.workers else ""),
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
    column_values: bool = False,
    entries: int = 0,
    kind: str | None = None,
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
    column_values : bool
        With what `column_values` takes besides: all columns but one, each alone, and sets of them left out together.
    entries : int
        Numbers that a sparse matrix of `d` columns stores (`X.nnz`); of texts two or three for each character.
        Their memory counts; the time of the few learners that look at them is not in the plan.
    kind : {None, "images"}
        "images": `d` is the number of pixels of a picture, in colour times three.

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
        check_whole(name, value, least, 2**40)  # so that no product of them is beyond counting
    if not isinstance(effort, str) or effort not in EFFORTS:
        raise ParameterError(f"effort must be one of {', '.join(EFFORTS)}; got {brief(effort)}")
    if run is not None and not isinstance(run, Run):
        raise ParameterError(f"run must be a bayesfloor.Run, got {brief(run)}")
    if speed is not None:
        speed = check_number("speed", speed, 1e-6, 1e6)
    check_flag("in_memory", in_memory)
    check_flag("column_values", column_values)
    check_whole("entries", entries, 0, 2**50)
    if entries and workers:
        raise ParameterError("sparse rows and texts are worked on by this machine alone: leave out the workers")
    check_kind(kind)
    run = run or Run()
    if kind == "images":
        return _plan_images(int(n), int(d), int(classes), workers, effort, n_threads(n_jobs), run, speed)
    columns = d
    d = min(d, DIRECTIONS) if entries else d  # what most learners see
    sample = run.n_fitted(int(n), EFFORTS[effort])
    threads = n_threads(n_jobs)
    costs = measured_costs()
    speed = calibrate(threads) / costs["probes_per_second"] if speed is None else speed
    stages = {}
    for name, terms in features(int(n), int(d), int(classes), sample, effort).items():
        seconds = sum(terms[term] * weight for term, weight in costs["seconds"][name].items()) / speed
        # Costs were measured with the threads of one machine; the sample makes a task for each model, blocks are many.
        if workers and sample < n:  # smaller tables are brought here
            seconds *= costs["threads"] / {
                "training": min(workers, 2 * sum(n_models(1).values())),
                "growing forests": min(workers, len(STAGES)),
                "scoring": workers,
                "counting": workers,
            }.get(name, 1)
        stages[name] = float(seconds)
    if column_values:
        stages["columns"] = _column_seconds(stages["training"], int(d), sample, effort, is_all=sample == n)
    block = min(run.block_rows or BLOCK_ROWS, n)
    return Plan(
        n=int(n),
        d=int(columns),
        classes=int(classes),
        workers=int(workers),
        effort=effort,
        sample_rows=sample,
        seconds=sum(stages.values()),
        memory=_memory(n, d, classes, sample, effort, threads, block, in_memory, on_cluster=workers > 0)
        + sparse_bytes(entries, threads),
        memory_per_worker=_worker_memory(n, d, classes, workers, sample, effort, block) if workers else 0.0,
        stages=stages,
        speed=speed,
    )


def _column_seconds(training: float, d: int, sample: int, effort: str, *, is_all: bool) -> float:
    """Tables without a column have the five models of full size, and half ones where it matters; all but few learners.

    Sets of columns are left out, too: as many at most as the number of columns can be halved. All are shares of what
    training takes on all columns, measured by benchmarks/columns.py.
    """
    models = n_models(n_repeats(sample, effort) if is_all else 1)
    whole = sum(fraction * count for fraction, count in models.items())
    return training * ((d + np.log2(d)) * _WITHOUT + d * _ALONE) * N_FOLDS / whole


def sparse_bytes(entries: int, threads: int) -> float:
    """Numbers stored with their columns: as given, checked, in order of content, and as each thread weighs them."""
    return float(_ENTRY_BYTES) * entries * (4 + _COPIES * threads)


def _plan_images(
    n: int, d: int, classes: int, workers: int, effort: str, threads: int, run: Run, speed: float | None
) -> Plan:
    from ..library.images import Images
    from .image_plan import image_memory, image_stages, trained_rows

    if workers:
        raise ParameterError("pictures are worked on by this machine alone: leave out the workers")
    sample = run.n_fitted(n, Images.max_rows[effort])
    speed = calibrate(threads) / measured_costs()["probes_per_second"] if speed is None else speed
    stages = {name: s / speed for name, s in image_stages(n, d, classes, sample, effort, threads).items()}
    memory = image_memory(n, d, classes, sample, effort, threads)
    total = sum(stages.values())
    return Plan(
        n, d, classes, 0, effort, sample, total, memory, 0.0, stages, speed, trained_rows(sample, effort), "images"
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
    nodes = 2 * TREES[effort] * forest_rows(n, sample, d, effort) * _NODES
    return _MODEL_BYTES + _MODEL_ROWS_BYTES * _trained_rows(sample, effort) * d + nodes * (64 + 8 * classes)


def _worker_memory(n: int, d: int, classes: int, workers: int, sample: int, effort: str, block: int) -> float:
    """Its share of the table, scores and coordinates, a block at work, the models or a task of the cross-fit."""
    costs = measured_costs()["bytes"]
    share = 8.0 * n / workers * (d + classes + min(classes - 1, 4))
    task = 8.0 * sample * d + 4.0 * MOST_SETTINGS[effort] * sample * classes / 2
    work = _model_bytes(n, d, classes, sample, effort) + float(ROW_BYTES) * block
    return float(costs["base"] * 2**20 + share + max(task, work))


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


# --- what time and memory are sums of, and how fast this machine is ---------------------------------------------------


def features(n: int, d: int, classes: int, sample: int, effort: str) -> dict[str, dict[str, float]]:
    """What each stage's time is a sum of: rows, and rows times columns or classes."""
    from ._estimate import BOUND_ROWS

    trained = _trained_rows(sample, effort)
    is_all = sample == n
    narrow, wide = min(d, WIDE), max(0, d - WIDE)
    repeats = n_repeats(sample, effort) if is_all else 1
    models = n_models(repeats)
    fits = trained * sum(fraction * count for fraction, count in models.items())
    scored = float(repeats * len(STAGES) * sample)
    new = 0.0 if is_all else float(n - sample)
    near = trained * narrow / 1e4  # neighbours look at every training row
    dimensions = min(classes - 1, DIMENSIONS)
    in_scores = n if classes <= BALL_CLASSES else sample  # rows among which the balls on the scores count
    bounded = min(sample, BOUND_ROWS) ** 2 * 1e-6
    final = 0.0 if is_all else float(trained)
    m = 0 if is_all else forest_rows(n, sample, d, effort)
    # A forest of each stage, and in the end two of all their rows.
    grown = m * (sum(fraction for fraction, _ in STAGES) + 2)
    level = grown * np.log2(max(2, m))  # a level of a tree looks at every row
    return {
        "training": {
            "task": float(sum(models.values())),
            "fit": fits,
            "fit d": fits * narrow,
            "fit C": fits * classes,
            "fit d C": fits * narrow * classes,
            "fit wide": fits * wide,
            "row": scored,
            "row d": scored * narrow,
            "row C": scored * classes,
            "row near": scored * near,
        },
        "pooling": {"row": float(repeats * sample), "row C": float(repeats * sample * classes)},
        "growing forests": {"row": grown, "level": level, "level d": level * columns_tried(d)},
        "final models": {"fit": final, "fit d C": final * narrow * classes},
        "scoring": {
            "row": new,
            "row d": new * narrow,
            "row C": new * classes,
            "row near": new * near,
            "row forest": new * np.log2(max(1, m)),
        },
        "counting": {
            "row": float(n),
            "query": _queries(in_scores) * dimensions,
            "raw": _queries(n) * d if d <= FEW_FEATURES else 0.0,
        },
        "bounds": {"pair": bounded, "pair d": bounded * narrow},
    }


def _trained_rows(sample: int, effort: str) -> int:
    """Rows that a model of fraction 1 is trained on."""
    return min((N_FOLDS - 1) * sample // N_FOLDS, EFFORTS[effort])


def _queries(n: int) -> float:
    """Balls among so many rows, each as deep as their tree."""
    return float(min(n, MAX_QUERIES) * np.log2(n))


def calibrate(threads: int) -> float:
    """Probes per second, in so many threads: a small part of the library's own work, for about a second."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400)
    X = rng.normal(size=(400, 10)) + y[:, None]

    def probe(_: int) -> None:
        fold = Fold(X, y, 3, 0)
        unseen = Unseen(fold, X)
        with limit_fit_threads():
            for name in _PROBES:
                for model in LIBRARY[name](fold).values():
                    model(unseen)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        probe(0)  # loads and compiles
        started, done = time.perf_counter(), 0
        while time.perf_counter() - started < _CALIBRATION_SECONDS:
            run_tasks(probe, range(threads), threads)
            done += threads
        return done / (time.perf_counter() - started)


@cache
def measured_costs() -> dict[str, Any]:
    """Seconds per feature, measured by benchmarks/plan_costs.py."""
    return dict(json.loads(files(__package__).joinpath("plan_costs.json").read_text(encoding="utf-8")))


def memory_features(
    n: int, d: int, classes: int, sample: int, effort: str, threads: int, block: int, in_memory: bool = True
) -> dict[str, float]:
    """What the peak of memory is a sum of, in bytes as far as they can be counted."""
    m = forest_rows(n, sample, d, effort) if sample < n else 0
    trained, repeats = _trained_rows(sample, effort), n_repeats(sample, effort) if sample == n else 1
    at_once = threads * min(sample, EFFORTS[effort] * 2)  # rows that tasks predict at the same time
    return {
        "base": 2.0**20,
        "table": 8.0 * n * (d * in_memory + classes + 6),
        "predictions": 8.0 * MOST_SETTINGS[effort] * sample * classes * len(STAGES) * repeats,
        "kernels": 16.0 * threads * max(n_landmarks(trained, d), min(trained, MOST_CENTRES)) ** 2,
        "sample": 8.0 * d * at_once,
        "block": float(ROW_BYTES) * threads * block if sample < n else 0.0,
        "forest": float(TREES[effort]) * m * (64 + 8 * classes),
    }
