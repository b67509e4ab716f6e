"""Two sets of columns of the same rows, and whether the new one lowers the floor."""

import json
import time
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._types import Floats, RandomSeed, RowNumbers
from ..errors import DataError, ParameterError
from ..library.arrangement import Arrangement, check_groups
from ..rows.blocks import LARGE
from ..rows.cluster import is_dask
from ..rows.dataset import Dataset, dataset_of, validate
from ..rows.keys import column_keys
from ..utils.checks import check_callable, seed_from
from ..utils.files import JsonRecord
from ..utils.intervals import ConfidenceInterval
from ..utils.parallel import Progress, n_threads, one_blas_thread
from ._estimate import estimate_rows
from .labelled_rows import LabelledRows
from .paired import Errors, RowWeights, difference
from .raw import is_sparse_or_text
from .result import FloorResult
from .rows import frame_index, number_rows, rows_of
from .settings import Request, Run

__all__ = ["FeatureComparison", "compare_features"]

_LITTLE = 0.02  # a gain that may be none, and is surely less than two points, is none


@dataclass(frozen=True)
class FeatureComparison(JsonRecord):
    """The floor of two sets of columns of the same rows.

    Attributes
    ----------
    old, new : FloorResult
        Each with its own floor and interval.
    gain : float
        How much lower the floor of the new columns is: a signed estimate, paired row by row.
    interval : ConfidenceInterval
        Of the gain; it ends at 0 where the new columns have all the old ones, since the floor cannot rise then.
    discordant : float
        Share of rows on which exactly one of the two errs.
    contains : bool
        Whether the new columns have all the old ones.
    verdict : str
        "lower", "no lower" (surely by less than two points), "higher" or "cannot tell".

    Examples
    --------
    >>> from bayesfloor import compare_features, problems
    >>> X, y = problems.get("gaussians_4d").sample(1200, random_state=0)   # columns 1 to 3 tell nothing
    >>> found = compare_features(X[:, :1], X, y, effort="fast", n_jobs=1)
    >>> found.contains, found.verdict, found.interval.low
    (True, 'no lower', 0.0)
    """

    old: FloorResult
    new: FloorResult
    gain: float
    interval: ConfidenceInterval
    discordant: float
    contains: bool
    verdict: str

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        low, high = 100 * self.interval.low, 100 * self.interval.high
        about = {
            "lower": f"The new columns lower the floor by {100 * self.gain:.1f} points",
            "no lower": "The new columns do not lower the floor by two points",
            "higher": f"With the new columns the floor is higher by {-100 * self.gain:.1f} points",
            "cannot tell": f"Whether the new columns lower the floor cannot be told: {100 * self.gain:+.1f} points",
        }[self.verdict]
        return f"{about} (interval {low:.1f} to {high:.1f})."

    def to_dict(self) -> dict[str, Any]:
        """Plain values; single rows are left out."""
        return {
            "gain": self.gain,
            "interval": {**vars(self.interval)},
            "discordant": self.discordant,
            "contains": self.contains,
            "verdict": self.verdict,
            "sentence": self.sentence,
            "old": self.old.to_dict(),
            "new": self.new.to_dict(),
        }

    def to_json(self) -> str:
        """JSON text; `save` writes it to a file."""
        return json.dumps(self.to_dict())

    def __str__(self) -> str:
        level = f"{100 * self.interval.confidence_level:g}%"
        lines = [
            f"{name} columns  {floor:.2%}   {level} interval {interval.low:.2%} to {interval.high:.2%}"
            for name, floor, interval in (
                ("old", self.old.floor, self.old.interval),
                ("new", self.new.floor, self.new.interval),
            )
        ]
        paired = f"Paired on the same rows and folds: exactly one of the two errs on {self.discordant:.1%} of the rows."
        return "\n".join([*lines, "", self.sentence, paired])


def compare_features(
    X_old: Any,
    X_new: Any,
    y: Any,
    *,
    groups: Any = None,
    priors: str | Mapping[Hashable, float] | ArrayLike | None = None,
    effort: str = "balanced",
    confidence_level: float = 0.95,
    random_state: RandomSeed = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> FeatureComparison:
    """Say whether a new set of columns lowers the floor, and by how much.

    Both are estimated on the same rows, in the same order, folds and draws, and errors are compared row by row: see
    `column_values`. Takes two estimates.

    Parameters
    ----------
    X_old, X_new : array-like of shape (N, d) or frame
        The same rows in the same order; columns as `estimate` takes them.
    y : array-like of shape (N,)
        Labels; rows without one are dropped.
    groups, priors, effort, confidence_level, random_state, n_jobs, progress
        As in `estimate`; groups are values, one per row.

    Returns
    -------
    FeatureComparison

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 400)
    >>> X = np.column_stack([rng.normal(size=400) + y, rng.normal(size=400) + 2 * y])
    >>> found = compare_features(X[:, :1], X, y, effort="fast", n_jobs=1)
    >>> found.verdict, found.contains
    ('lower', True)
    """
    check_callable("progress", progress)
    n_threads(n_jobs)
    seed = seed_from(random_state)
    request = Request({}, priors, effort, confidence_level, seed, n_jobs, progress, time.perf_counter())
    if is_dask(X_old) or is_dask(X_new):
        raise ParameterError("compare_features works on rows in memory: give it a sample of the Dask collection")
    if isinstance(y, str) or isinstance(X_old, str) or isinstance(X_new, str):
        raise ParameterError("compare_features needs arrays or frames, and one label per row: read files first")
    old, new = _numbers("X_old", X_old, y, groups), _numbers("X_new", X_new, y, groups)
    if not np.array_equal(old.numbers, new.numbers):
        raise DataError(
            f"X_old has {len(old.numbers)} rows with a label and X_new {len(new.numbers)}, or not the same ones: both "
            "must be of the same rows"
        )
    if len(old.numbers) > LARGE:
        raise DataError(
            f"{len(old.numbers):,} rows are more than the {LARGE:,} that are compared row by row: take a sample"
        )
    both = validate(np.hstack([old.X, new.X]), old.y)
    codes = None if old.groups is None else check_groups(old.groups, both.n_samples)
    kept_rows = rows_of(both, codes).without_copies(request.seed, np.ones(both.X.shape[1], dtype=bool), None)
    assert kept_rows.data is not None
    kept = np.arange(both.n_samples) if kept_rows.row_numbers is None else kept_rows.row_numbers
    arrangement = Arrangement.of(kept_rows.data, kept_rows.groups)
    found = []
    with one_blas_thread:
        for side, X in ((old, X_old), (new, X_new)):
            data = replace(dataset_of(side.X[kept], side.names, both.classes, both.labels[kept].copy()), records=None)
            if not data.X.shape[1]:
                raise DataError("all columns of one of the two are constant: there is nothing to compare")
            rows = replace(_labelled(data, kept_rows), row_numbers=side.numbers[kept], notes=side.notes)
            result, learned, _ = estimate_rows(rows, request, Run(), arrangement)
            wrong = learned.mean.argmax(axis=1) != learned.labels
            errors = Errors(wrong, float(result.evidence["unsettled"]))
            found.append((replace(result, index=frame_index(X)), errors, learned))
    weights = found[0][2].row_weights
    contains = bool(np.isin(column_keys(old.X), column_keys(new.X)).all())
    gain = difference(
        found[0][1],
        found[1][1],
        RowWeights(weights / weights.sum(), found[0][2].groups),
        confidence_level,
        least=0.0 if contains else -1.0,
    )
    return FeatureComparison(
        old=found[0][0],
        new=found[1][0],
        gain=gain.value,
        interval=gain.interval,
        discordant=gain.discordant,
        contains=contains,
        verdict=_verdict(gain.interval),
    )


@dataclass(frozen=True, eq=False)
class _Side:
    X: Floats
    names: list[str]
    y: Any
    groups: Any
    notes: tuple[str, ...]
    numbers: RowNumbers


def _numbers(name: str, X: Any, y: Any, groups: Any) -> _Side:
    """One of the two as numbers; errors say which."""
    notes: tuple[str, ...] = ()
    numbers = None
    try:
        if hasattr(X, "columns"):
            from ..tables.table import as_arrays  # pandas: only where there is a table

            X, y, groups, notes, numbers = as_arrays(X, y, None, groups)
        if is_sparse_or_text(X):
            raise ParameterError("only numbers and categories are compared: leave out free text and sparse columns")
        found = number_rows(X, y, groups, gaps=numbers is None)
    except (DataError, ParameterError, TypeError) as error:
        raise type(error)(f"{name}: {error}") from None
    if numbers is None:
        numbers = np.arange(len(found.X)) if found.labelled is None else found.labelled
    return _Side(found.X, found.names, found.y, found.groups, (*notes, *found.notes), numbers)


def _labelled(data: Dataset, like: LabelledRows) -> LabelledRows:
    return replace(rows_of(data, like.groups), n_repeated=like.n_repeated, n_copies=like.n_copies)


def _verdict(interval: ConfidenceInterval) -> str:
    if interval.low > 0:
        return "lower"
    if interval.high < 0:
        return "higher"
    return "no lower" if interval.high <= _LITTLE else "cannot tell"
