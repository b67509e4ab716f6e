"""What the time and memory of an estimate are sums of, and how fast this machine is."""

import json
import time
import warnings
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from ..library.arrangement import EFFORTS
from ..library.forest import forest_rows
from ..utils.parallel import run_tasks
from .balls import FEW_FEATURES, MAX_QUERIES

__all__ = ["SETTINGS", "calibrate", "features", "measured_costs", "memory_features"]

SETTINGS = {"fast": 34, "balanced": 36, "thorough": 36}  # of all learners: each has its predictions
_CALIBRATION_SECONDS = 1.0


def features(n: int, d: int, classes: int, sample: int, effort: str) -> dict[str, dict[str, float]]:
    """What each stage's time is a sum of: rows, and rows times columns or classes."""
    trained = min(4 * sample // 5, EFFORTS[effort])
    whole = sample == n
    narrow, wide = min(d, 256), max(0, d - 256)
    fits, scored = 7.0 * trained, 4.0 * sample  # five whole, two half, four quarter models; three stages and a copy
    new = 0.0 if whole else float(n - sample)
    near = trained * narrow / 1e4  # neighbours look at every training row
    dimensions = min(classes - 1, 4)
    deep = float(min(n, MAX_QUERIES) * np.log2(n))
    final = 0.0 if whole else float(trained)
    m = 0 if whole else forest_rows(n, sample, d, effort)
    split = m * np.log2(max(2, m))  # a level of a tree looks at every row
    tried = max(1, min(d // 3, 40))
    return {
        "training": {
            "task": 11.0,
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
        "pooling": {"row": float(sample), "row C": float(sample * classes)},
        "growing forests": {"row": 6.0 * m, "level": 6.0 * split, "level d": 6.0 * split * tried},
        "final models": {"fit": final, "fit d C": final * narrow * classes},
        "scoring": {
            "row": new,
            "row d": new * narrow,
            "row C": new * classes,
            "row near": new * near,
            "row forest": new * np.log2(max(1, m)),
        },
        "counting": {"row": float(n), "query": deep * dimensions, "raw": deep * d if d <= FEW_FEATURES else 0.0},
        "bounds": {"pair": min(sample, 10_000) ** 2 * 1e-6, "pair d": min(sample, 10_000) ** 2 * 1e-6 * narrow},
    }


def calibrate(threads: int) -> float:
    """Probes per second, in so many threads: a small part of the library's own work, for about a second."""
    from ..library.cross_fit import training
    from ..library.fold import Fold, Unseen
    from ..library.learners import boosting, kernel, neighbours, network, trees

    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400)
    X = rng.normal(size=(400, 10)) + y[:, None]

    def probe(_: int) -> None:
        fold = Fold(X, y, 3, 0)
        unseen = Unseen(fold, X)
        with training():
            for learner in (trees, kernel, neighbours, boosting, network):
                for model in learner(fold).values():
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
    at_once = threads * min(sample, EFFORTS[effort] * 2)  # rows that tasks predict at the same time
    return {
        "base": 2.0**20,
        "table": 8.0 * n * (d * in_memory + classes + 6),
        "predictions": 4.0 * SETTINGS[effort] * sample * classes * 8,
        "kernels": 8.0 * 500 * at_once,
        "sample": 8.0 * d * at_once,
        "block": 16_000.0 * threads * block if sample < n else 0.0,
        "forest": 40.0 * m * (64 + 8 * classes),
    }
