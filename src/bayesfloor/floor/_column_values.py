"""What each column of a table is worth: the floor without it, and with it alone."""

import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._types import Floats, RandomSeed, RowNumbers
from ..errors import ParameterError
from ..library.arrangement import independent_rows
from ..library.reduced import ALONE, TOGETHER, Reduced
from ..library.training import Learned
from ..rows.cluster import is_dask
from ..utils.checks import brief, check_callable, listed, seed_from
from ..utils.intervals import score_interval, share_error
from ..utils.parallel import Progress, Threads, Workers, n_threads, one_blas_thread
from ._estimate import estimate_rows
from .columns import ColumnPair, ColumnSet, ColumnValue, ColumnValues, Loss, verdict
from .curve import stakes
from .labelled_rows import LabelledRows, Sample
from .metrics import log_loss
from .paired import Difference, Errors, RowWeights, difference, mean_difference
from .result import FloorResult
from .rows import named_labels, open_rows
from .settings import Request, Run

__all__ = ["column_values"]

_MOST_TOGETHER = 5  # columns that are tried by two
_SURELY = 3.0  # standard errors by which a pool is better than naming the largest class
_DOUBTFUL = 1.0  # standard errors of a loss from which on what is unsettled is looked at

Units = dict[str, RowNumbers]  # columns of the rows that a column of the table was made into, or a group of them


def column_values(
    X: Any,
    y: Any = None,
    *,
    target: Any = None,
    columns: Sequence[Any] | Mapping[str, Any] | None = None,
    groups: Any = None,
    priors: str | Mapping[Hashable, float] | ArrayLike | None = None,
    effort: str = "balanced",
    confidence_level: float = 0.95,
    random_state: RandomSeed = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> ColumnValues:
    """Say what each column is worth: what the floor loses without it, and what the floor is with it alone.

    The library is cross-fitted on all columns, as `estimate` does it; then again without each column, on the same rows
    and folds, with the learners that its pool cannot do without; and on each column alone. So differences are paired
    row by row: with d the share of rows on which exactly one of the two errs, a difference D has the variance
    (d - D^2)/N. Columns that seem to tell nothing are left out together, then the half of them that matters least, and
    so on: useless are those of the first set without which nothing is lost. `plan` says what it takes, which is far
    below an estimate per column. See `docs/howto/columns.md`.

    Parameters
    ----------
    X, y, target, groups, priors, effort, random_state, n_jobs, progress
        As in `estimate`. Categories, dates and other columns that become several columns of numbers count as one.
        Of more than 65,536 rows the differences are those of the sample that the library learns from.
    columns : sequence or mapping, optional
        Of a sequence only these columns are valued, by name or position. A mapping has groups of columns that are left
        out together, by name; all columns that are in no group are valued by themselves.
    confidence_level : float
        Of every interval by itself.

    Returns
    -------
    ColumnValues

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 500)
    >>> X = np.column_stack([rng.normal(size=500) + 3 * y, rng.normal(size=(500, 2))])
    >>> values = column_values(X, y, columns={"noise": [1, 2]}, effort="fast", n_jobs=1)
    >>> values["noise"].verdict, values["column 0"].verdict
    ('useless', 'golden')
    """
    check_callable("progress", progress)
    n_threads(n_jobs)
    seed = seed_from(random_state)
    request = Request({}, priors, effort, confidence_level, seed, n_jobs, progress, time.perf_counter())
    if is_dask(X):
        raise ParameterError("column_values works on rows in memory: give it a sample of the Dask collection")
    asked = _check_columns(columns)
    y, target = named_labels(X, y, target)
    sources: dict[str, str] = {}
    left_out: dict[str, str] = {}
    if hasattr(X, "columns") or isinstance(X, str) or hasattr(X, "__fspath__"):
        from ..tables.table import as_table  # pandas: only where there is a table

        table = as_table(X, y, target, groups)
        if table is not None:
            X, y, target = table, None, None
            sources = dict(zip(table.features, table.sources, strict=False))
            left_out = {column.name: column.note for column in table.columns if column.use == "left out"}
    with open_rows(X, y, target, groups, request, Run()) as rows, one_blas_thread:
        if rows.raw is not None:
            raise ParameterError("column_values needs numbers and categories: leave out free text and sparse columns")
        if rows.gaps is not None:  # a mark of missing values belongs to its column
            sources = dict(zip(rows.gaps.names, rows.gaps.sources, strict=True))
        units = _units(rows, sources, left_out, asked)
        result, learned, sample = estimate_rows(rows, request, Run())
        result = replace(result, index=rows.index)
        seen = sample.columns[learned.arrangement.columns]
        names = [rows.names[int(column)] for column in seen]
        workers = Threads(n_threads(n_jobs))
        return _Values.of(result, learned, sample, rows, request).all(_in_order(units, seen), names, workers)


# --- which columns -----------------------------------------------------------------------------------------


def _check_columns(columns: Any) -> list[Any] | dict[str, list[Any]] | None:
    """Names or positions, one by one or in groups."""
    if columns is None:
        return None
    about = "columns must be a list of columns, by name or position, or a mapping of names to such lists"
    if isinstance(columns, Mapping):
        if not columns or not all(isinstance(name, str) and name for name in columns):
            raise ParameterError(f"{about}; got {brief(columns)}")
        return {name: _column_list(members, about) for name, members in columns.items()}
    return _column_list(columns, about)


def _column_list(columns: Any, about: str) -> list[Any]:
    if isinstance(columns, np.ndarray) and columns.ndim == 1:
        columns = columns.tolist()
    if isinstance(columns, str | bytes) or not isinstance(columns, Sequence) or not columns:
        raise ParameterError(f"{about}; got {brief(columns)}")
    members = list(columns)
    if not all(isinstance(member, str | int | np.integer) and not isinstance(member, bool) for member in members):
        raise ParameterError(f"{about}; got {brief(columns)}")
    return members


def _units(
    rows: LabelledRows, sources: Mapping[str, str], left_out: Mapping[str, str], asked: Any
) -> dict[str, list[int]]:
    """Places of the columns to value, by name."""
    by_source: dict[str, list[int]] = {}
    for place, name in enumerate(rows.names):
        by_source.setdefault(sources.get(name, name), []).append(place)
    if asked is None:
        return by_source
    dropped = () if rows.data is None else rows.data.constant_columns
    every = _given_names(rows)

    known = listed([repr(name) for name in by_source])

    def places(column: Any) -> list[int]:
        if isinstance(column, int | np.integer):
            if sources and rows.gaps is None:
                raise ParameterError(f"columns of a table have names: got {column!r}; there are {known}")
            if not -len(every) <= column < len(every):
                raise ParameterError(f"there is no column {column}: there are {len(every)}, counted from 0")
            column = every[int(column)]
        if column in by_source:
            return by_source[column]
        if column in rows.names:
            return [rows.names.index(column)]
        if column in dropped or column in every:
            return []  # constant
        if column in left_out:
            raise ParameterError(f"column {column!r} is left out of the table ({left_out[column]}): it has no value")
        raise ParameterError(f"there is no column {column!r}; there are {known}")

    if isinstance(asked, list):
        at = [places(column) for column in asked]
        found = {_unit_name(column, every): own for column, own in zip(asked, at, strict=True)}
    else:
        found = {name: sorted({p for column in members for p in places(column)}) for name, members in asked.items()}
        grouped = {p for group in found.values() for p in group}
        for name, own in by_source.items():
            left = [p for p in own if p not in grouped]
            if left and name in found:
                raise ParameterError(f"the group {name!r} has the name of a column that is not in it: rename it")
            if left:
                found[name] = left
    constant = [repr(name) for name, own in found.items() if not own]
    if constant:
        raise ParameterError(f"constant, and so worth nothing: {listed(constant)}; leave out of columns")
    return found


def _given_names(rows: LabelledRows) -> list[str]:
    if rows.gaps is not None:
        return list(rows.gaps.given)
    return list(rows.names) if rows.data is None else list(rows.data.feature_names)


def _unit_name(column: Any, every: Sequence[str]) -> str:
    return every[int(column)] if isinstance(column, int | np.integer) else str(column)


def _in_order(units: Mapping[str, Sequence[int]], columns: RowNumbers) -> Units:
    """Places among the columns that were learned from, in their order."""
    at = {int(column): place for place, column in enumerate(columns)}
    found = {name: np.array([at[p] for p in own if p in at], dtype=np.int64) for name, own in units.items()}
    return {name: own for name, own in found.items() if len(own)}


# --- what they are worth -------------------------------------------------------------------------------------


class _Values:
    """Differences between the floors of all columns and of some of them."""

    def __init__(self, result: FloorResult, reduced: Reduced, rows: RowWeights, n: int, request: Request) -> None:
        self.result, self.reduced, self.rows, self.n, self.request = result, reduced, rows, n, request
        self.level = request.confidence_level
        self.labels = reduced.trained.labels
        # The class that is named where nothing is known: the largest by what rows count.
        shares = np.bincount(self.labels, weights=rows.weights)
        unknowing = self.labels != int(shares.argmax())
        self.constant = Errors(unknowing, missing=result.majority_error - rows.mean(unknowing))
        # What is named alone is never worse than that, as it is counted and as it is corrected.
        self.majority = min(rows.mean(unknowing), 1 - max(result.priors), result.majority_error)
        self.shares = shares
        self.whole = self._errors(reduced.whole(), reduced.whole(0.5))
        self.whole_log_loss = self._log_loss(reduced.whole())

    @classmethod
    def of(
        cls, result: FloorResult, learned: Learned, sample: Sample, rows: LabelledRows, request: Request
    ) -> "_Values":
        """Of an estimate on all columns."""
        priors = None if request.priors is None else np.array(result.priors)
        counts = np.bincount(learned.labels)
        data = replace(sample.data, class_counts=counts[learned.arrangement.codes])
        n = independent_rows(data, priors, learned.groups)
        weights = RowWeights(learned.row_weights / learned.row_weights.sum(), learned.groups)
        return cls(result, Reduced.of(learned), weights, n, request)

    def all(self, units: Units, names: Sequence[str], workers: Workers) -> ColumnValues:
        """Every column without, alone and, where it is only together that they matter, by two."""
        without, alone = self._without(units, workers), self._alone(units, workers)
        told = max(0.0, self.result.majority_error - self.result.floor)
        found = []
        for name, places in units.items():
            loss, only = without[name], alone[name]
            gain = self._gain(only)
            distance = difference(only, self.whole, self.rows, self.level)
            error = min(self.rows.mean(only.wrong) + only.missing, self.majority)
            interval = score_interval(error, self.n, self.level)
            highest = 1 - 1 / len(self.result.classes)
            found.append(
                ColumnValue(
                    name=name,
                    features=tuple(names[int(p)] for p in places),
                    loss=loss.errors.value,
                    loss_interval=loss.errors.interval,
                    log_loss=loss.log_loss.value,
                    log_loss_interval=loss.log_loss.interval,
                    alone=error,
                    alone_interval=replace(interval, high=min(interval.high, highest)),
                    gain=gain.value,
                    gain_interval=gain.interval,
                    distance=distance.value,
                    distance_interval=distance.interval,
                    verdict=verdict(loss, gain, distance, told),
                )
            )
        pairs = self._pairs(found, units, workers)
        useless = self._useless(found, units, without, workers)
        if useless is not None:
            found = [replace(c, verdict="useless") if c.name in useless.names else c for c in found]
        return ColumnValues(
            result=self.result,
            columns=tuple(sorted((_with_partners(column, pairs) for column in found), key=lambda c: -c.loss)),
            pairs=pairs,
            useless=useless,
            learners=self.reduced.learners,
            rows=len(self.labels),
            majority=self.rows.mean(self.constant.wrong),
        )

    def _without(self, units: Units, workers: Workers, stage: str = "columns left out") -> dict[str, Loss]:
        """What is lost without each."""
        every = np.arange(self.reduced.trained.rows.shape[1])
        tables = {name: np.setdiff1d(every, places) for name, places in units.items()}
        nothing_left = {name: self.constant for name, table in tables.items() if not len(table)}
        tables = {name: table for name, table in tables.items() if len(table)}
        P = self._learn(tables, workers, stage)
        errors = {**nothing_left, **{name: self._errors(p) for name, p in P.items()}}
        uncorrected = replace(self.whole, unsettled=0.0)
        found = {name: difference(errors[name], uncorrected, self.rows, self.level) for name in units}
        found.update({name: self._gain(uncorrected) for name in nothing_left})
        # What is unsettled matters where something is lost: models of half of the rows, for those alone.
        lost = {
            name: tables[name]
            for name, loss in found.items()
            if name in tables and loss.value > _DOUBTFUL * loss.standard_error
        }
        for name, half in self._learn(lost, workers, "columns that matter", 0.5).items():
            settled = self._errors(P[name], half)
            found[name] = difference(settled, self.whole, self.rows, self.level)
        P.update({name: np.tile(self.shares, (len(self.labels), 1)) for name in nothing_left})
        return {
            name: Loss(loss, mean_difference(self._log_loss(P[name]), self.whole_log_loss, self.rows, self.level))
            for name, loss in found.items()
        }

    def _useless(
        self, found: Sequence[ColumnValue], units: Units, without: Mapping[str, Loss], workers: Workers
    ) -> ColumnSet | None:
        """Columns that can be left out together: all that seem to tell nothing, or the half that matters least of them.

        The others may replace each of these columns by itself, so that only a set that was left out together is known
        to be useless. There are as many refits at most as the columns can be halved.
        """
        mute = [c for c in found if c.verdict == "redundant" and c.gain_interval.low <= 0 and without[c.name].is_none]
        names = tuple(c.name for c in sorted(mute, key=lambda c: c.log_loss))
        while names:
            if len(names) == 1:
                loss = without[names[0]]
            else:
                together = {"": np.unique(np.concatenate([units[name] for name in names]))}
                loss = self._without(together, workers, "columns left out together")[""]
            if loss.is_none:
                errors, probabilities = loss.errors, loss.log_loss
                return ColumnSet(names, errors.value, errors.interval, probabilities.value, probabilities.interval)
            names = names[: len(names) // 2]
        return None

    def _learn(
        self, tables: Mapping[str, RowNumbers], workers: Workers, stage: str, fraction: float = 1.0
    ) -> dict[str, Floats]:
        found = self.reduced.without(list(tables.values()), workers, stage, self.request.progress, fraction)
        return dict(zip(tables, found, strict=True))

    def _alone(self, units: Units, workers: Workers) -> dict[str, Errors]:
        """What is wrong with each alone."""
        found = self.reduced.alone(list(units.values()), ALONE, workers, "columns alone", self.request.progress)
        return {name: self._errors(P) for name, P in zip(units, found, strict=True)}

    def _gain(self, errors: Errors) -> Difference:
        """On naming the largest class."""
        return difference(self.constant, errors, self.rows, self.level)

    def _log_loss(self, P: Floats) -> Floats:
        """Of each row."""
        return log_loss(P, self.labels, self.rows.weights)[1]

    def _errors(self, P: Floats, half: Floats | None = None) -> Errors:
        """Of cross-fitted probabilities, and of those by models of half of the rows."""
        wrong = P.argmax(axis=1) != self.labels
        # Pools that know nothing name the largest class: as in the rule, by how surely they know something.
        error = self.rows.mean(wrong)
        better = self.rows.mean(self.constant.wrong) - error
        sure = float(np.clip(better / (_SURELY * share_error(error, self.n)), 0.0, 1.0))
        unsettled = 0.0 if half is None else stakes(P, half, self.labels, self.rows.weights)[1]
        return Errors(wrong, unsettled, (1 - sure) * self.constant.missing)

    def _pairs(self, found: Sequence[ColumnValue], units: Units, workers: Workers) -> tuple[ColumnPair, ...]:
        """Columns that tell nothing alone and matter in the whole table, by two."""
        mute = sorted((column for column in found if column.verdict == "only together"), key=lambda c: -c.loss)
        pairs = list(combinations([column.name for column in mute[:_MOST_TOGETHER]], 2))
        tables = [np.union1d(units[first], units[second]) for first, second in pairs]
        learned = self.reduced.alone(tables, TOGETHER, workers, "pairs of columns", self.request.progress)
        made = []
        for names, P in zip(pairs, learned, strict=True):
            errors = self._errors(P)
            gain = self._gain(errors)
            error = min(self.rows.mean(errors.wrong), self.majority)
            made.append(ColumnPair(names, error, gain.value, gain.interval))
        return tuple(sorted(made, key=lambda pair: -pair.gain))


def _with_partners(column: ColumnValue, pairs: Sequence[ColumnPair]) -> ColumnValue:
    with_it = [pair.names for pair in pairs if column.name in pair.names and pair.gain_interval.low > 0]
    return replace(column, partners=tuple(other for names in with_it for other in names if other != column.name))
