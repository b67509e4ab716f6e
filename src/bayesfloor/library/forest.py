"""Forests of many rows: where there are hundreds of thousands of them, trees alone can use them at little cost.

The library's other learners are trained on some ten thousand rows of a sample. Trees are trained on other rows of the
table besides, the more the better, and join the library: on the sample, which they have not seen, the pool finds out
what they are worth. Rows that trained the first forest are scored by a second one, of other rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Codes, Floats, RowNumbers
from ..rows.blocks import Blocks, rows_at
from ..rows.draws import Draws
from ..utils.parallel import Progress, Threads, Workers
from .cross_fit import STAGES, limit_fit_threads
from .extra_trees import Forest
from .fold import log_probabilities
from .learners import FOREST
from .pool import Stage

__all__ = ["FOREST_ROWS", "LEAVES", "TREES", "Forests", "forest_rows"]


# Rows of one forest at most.
FOREST_ROWS = {"fast": 50_000, "balanced": 200_000, "thorough": 500_000}
TREES = {"fast": 25, "balanced": 40, "thorough": 60}
_MOST_BYTES = 2**28  # of the rows of both forests
_FEWEST = 2_000  # with fewer the library's own trees are as good
LEAVES = (1, 5)  # rows: pure leaves where classes hardly overlap, larger ones where they do
_SETTINGS = {f"{FOREST} {leaf}": leaf for leaf in LEAVES}


def forest_rows(n: int, n_sample: int, d: int, effort: str) -> int:
    """Rows of one forest; 0 if there are too few for it to be worth while."""
    m = min(FOREST_ROWS[effort], (n - n_sample) // 2, _MOST_BYTES // (16 * max(1, d)))
    return m if m >= _FEWEST else 0


@dataclass(frozen=True, eq=False)
class Forests:
    """Trees of many rows.

    Attributes
    ----------
    X, y : ndarray
        Rows as the library sees them, codes by content; the first half trains the first forest, the rest the second.
    numbers : ndarray
        Of the rows of the first, ascending.
    n_classes, seed, effort
    """

    X: NDArray[np.float32]
    y: Codes
    numbers: RowNumbers
    n_classes: int
    seed: int
    effort: str

    @classmethod
    def draw(
        cls, blocks: Blocks, sample: RowNumbers, m: int, view: Any, codes: Codes, draws: Draws, effort: str
    ) -> "Forests":
        """Draw twice `m` rows that are not in the sample; `view` turns columns into what the library sees."""
        rng = draws.rng("forests")
        n = blocks.n_samples
        drawn = rng.choice(n, min(n, 2 * m + len(sample)), replace=False)
        drawn = drawn[~np.isin(drawn, sample)][: 2 * m]
        first, everyone = np.sort(drawn[:m]), np.sort(drawn)
        X, y = rows_at(blocks, everyone, view)
        is_first = np.isin(everyone, first, assume_unique=True)
        order = np.concatenate([np.flatnonzero(is_first), np.flatnonzero(~is_first)])
        return cls(X[order], codes[y[order]], first, blocks.n_classes, draws.seed, effort)

    @property
    def size(self) -> int:
        """Rows of one forest."""
        return len(self.numbers)

    def join(self, stages: Sequence[Stage], rows: Floats, workers: Workers, progress: Progress | None) -> list[Stage]:
        """Stages with the forests among their learners, each of its fraction of the rows; copies of other rows."""
        rng = np.random.default_rng([self.seed, 8])
        order = rng.permutation(self.size)
        sizes = [round(fraction * self.size) for fraction, _ in STAGES]
        parts = [order[copy * m : (copy + 1) * m] for m, (_, copy) in zip(sizes, STAGES, strict=True)]
        logs = workers.map(_forest_logs, (self, rows), [np.sort(part) for part in parts], "growing forests", progress)
        return [
            replace(
                stage,
                names=(*stage.names, *_SETTINGS),
                learner=(*stage.learner, *(FOREST for _ in LEAVES)),
                logs=np.concatenate([stage.logs, own]),
            )
            for stage, own in zip(stages, logs, strict=True)
        ]

    def grow(self, name: str, threads: int, progress: Progress | None) -> tuple[Forest, Forest]:
        """Both forests of one setting."""
        halves = [np.arange(self.size), np.arange(self.size, len(self.y))]
        grown = Threads(threads).map(_grow, (self,), halves, "growing forests", progress)
        first, second = (replace(forest, leaf=_SETTINGS[name]) for forest in grown)
        return first, second

    def logs(self, forest: Forest, X: Floats) -> Floats:
        """Log-probabilities of rows as the library sees them."""
        return log_probabilities(forest.predict(X)[0], forest.classes, self.n_classes)

    def without_rows(self) -> "Forests":
        """The same without what trained them."""
        return replace(self, X=self.X[:0], y=self.y[:0])


def _grow(forests: Forests, rows: RowNumbers) -> Forest:
    with limit_fit_threads():
        return Forest.grow(forests.X[rows], forests.y[rows], TREES[forests.effort], forests.seed)


def _forest_logs(forests: Forests, rows: Floats, part: RowNumbers) -> NDArray[np.float32]:
    """What a forest of some of the rows says about the sample, by the size of its leaves."""
    forest = _grow(forests, part)
    logs = [log_probabilities(P, forest.classes, forests.n_classes) for P in forest.predict(rows, LEAVES)]
    return np.stack(logs).astype(np.float32)
