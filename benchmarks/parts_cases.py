"""What the library says of problems whose posterior is known: the cases of parts.py, kept so that rules can be tried.

Each case is an .npz file in a work folder: pooled probabilities of all sizes of the training set and choices of folds,
those of the classifier that is certified, the labels, and the exact posterior of the rows and of many more.
"""

import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np

import bayesfloor
import random_problems
from bayesfloor.floor import conclusion
from bayesfloor.library.pool import Pool
from bayesfloor.problems import problems

MORE = 60_000  # rows of a random problem by which its exact values are found
LARGEST = 3000  # rows of the random problems that are taken
REPEATED = ("moons", "gaussians_4d", "mixture_2d", "mixed_columns")  # of which many samples are drawn
REPEATED_ROWS = 1000


@dataclass(frozen=True)
class Case:
    """A sample: of a public problem, of a random one, or one of many of the same problem."""

    kind: str
    name: str
    number: int

    @property
    def file(self) -> str:
        return f"{self.kind}-{self.name}-{self.number}.npz"


def cases(seeds: int, rounds: int, samples: int) -> Iterator[Case]:
    """All of them, in rounds, so that a run that is stopped has seen all problems."""
    for number in range(max(seeds, rounds, samples)):
        if number < seeds:
            yield from (Case("public", name, number) for name in problems.names())
        if number < rounds:
            yield from (Case("random", family, number) for family in random_problems.FAMILIES)
        if number < samples:
            yield from (Case("repeated", name, number) for name in REPEATED)


def draw(case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Rows, labels, their exact posterior, and that of many more rows where the problem is a random one."""
    if case.kind == "random":
        rows = random_problems.some_rows(random_problems.start(case.name, case.number))
        if rows > LARGEST:
            raise ValueError(f"{rows} rows are too many")
        drawn = random_problems.family_draw(case.name, case.number)
        rng = np.random.default_rng([case.number, zlib.crc32(case.name.encode()), 21])
        X, eta = drawn(rows, rng)
        y = random_problems.draw_labels(eta, rng)
        block = max(500, min(10_000, 5_000_000 // X.shape[1]))
        return X, y, eta, np.concatenate([drawn(block, rng)[1] for _ in range(-(-MORE // block))])
    problem = problems.get(case.name)
    n = 1500 if case.kind == "public" else REPEATED_ROWS
    X, y = problem.sample(n, [case.number, n, zlib.crc32(case.name.encode())])
    return X, y, problem.posterior(X), None


def collect(case: Case, folder: Path) -> None:
    """Train, and keep what was said."""
    X, y, eta, more = draw(case)
    if len(np.unique(y)) < eta.shape[1]:
        raise ValueError("a class has no row")
    seen: dict = {}

    def conclude(given, learned, counted, **options):
        seen.update(learned=learned, data=given)
        return conclusion.conclude(given, learned, counted, **options)

    with warnings.catch_warnings(), patch("bayesfloor.floor._estimate.conclude", conclude):
        warnings.simplefilter("ignore")
        effort = "fast" if case.kind == "repeated" else "balanced"
        result = bayesfloor.estimate(X, y, effort=effort, n_jobs=1)
    learned = seen["learned"]
    if len(learned.labels) != len(y):
        raise ValueError("rows were taken for copies")
    back, codes = learned.arrangement.back, learned.arrangement.codes
    labels, fold, stages = learned.labels, learned.fitted.fold, learned.fitted.stages
    free, held = np.flatnonzero(fold != 0), np.flatnonzero(fold == 0)
    pool = Pool.fit(stages[1], labels, free)
    certified = np.empty((len(y), len(codes)))
    certified[free], certified[held] = pool.predict(stages[1], free), pool.predict(stages[0], held)
    kept = {
        "P": np.stack([np.stack(repeat) for repeat in learned.P])[:, :, back][..., codes].astype(np.float32),
        "certified": certified[back][:, codes].astype(np.float32),
        "held": (fold == 0)[back],
        "y": y.astype(np.int16),
        "eta": eta,
        "n_features": X.shape[1],
        "floor": np.array([result.floor, result.interval.low, result.interval.high, result.ceiling]),
    }
    if more is not None:
        kept["more"] = more.astype(np.float32)
    if case.kind == "repeated":
        kept["X"] = X
    temporary = folder / f"{case.file}.part.npz"
    np.savez(temporary, **kept)
    temporary.rename(folder / case.file)
