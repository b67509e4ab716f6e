"""Which equal rows are copies of one record, and which coincide because their columns have few values.

Two rows that agree in a value which no different row shares, in a column where values hardly ever meet by chance, are
one record written down twice. Rows of discrete columns, or pixels with many zeros, agree by chance. A single value that
very many rows have, such as 0 or a limit of detection, is no record either. Rows that differ by rounding alone count as
equal (`near_copies.py`).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from .._types import Codes, Floats, Keys, Mask, RowNumbers
from .blocks import LARGE, Blocks, Part, rows_at
from .keys import row_keys
from .near_copies import Projection, cell_keys, join_near_copies

__all__ = ["Identifier", "copied_records", "copies_in_blocks", "identifiers", "varying"]


_IMPLAUSIBLE = 10  # times as many repeated records as chance would make
_FEWEST = 5  # records that are repeated: fewer may be special values
_SAME = 1e-8  # of the range: values nearer than that differ by rounding
_OFTEN = 10  # times as often as the other repeated ones: a special value
_ALIKE = 10  # records, all of them there equally often: so many are no coincidence
_TOGETHER = 3  # columns that may identify a record together
_TRIED = 8  # columns, those with most values
_LOOKED_AT = 8192  # rows that tell, of many, which columns identify a record
_IDENTIFIERS = 3  # that are tried on many rows


@dataclass(frozen=True)
class Identifier:
    """Columns by which records can be told apart, and the number of cells that their values fall into."""

    columns: tuple[int, ...]
    cells: float

    def coincidences(self, n: int, times: int = 2) -> float:
        """Pairs (or more) among `n` rows that chance puts into one cell."""
        return math.comb(n, times) / self.cells ** (times - 1)


def identifiers(distinct: Floats, n: int, tolerance: float = 0.0) -> list[Identifier]:
    """Columns, or sets of two or three, in which fewer than one in ten of `n` rows meets another by chance.

    Parameters
    ----------
    distinct : ndarray of shape (m, d)
        The distinct rows, or a part of them: how often different rows agree does not depend on copies.
    n : int
        Rows in all, copies included.
    tolerance : float
        Of near-copies. The values are rounded to multiples of it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> [found.columns for found in identifiers(np.stack([rng.normal(size=50), rng.integers(0, 9, 50)], axis=1), 100)]
    [(0,)]
    >>> identifiers(rng.integers(0, 9, (50, 2)) + 0.0, 100)
    []
    """
    if len(distinct) < 2:
        return []
    d = distinct.shape[1]
    scaled = np.ldexp(distinct, -2)  # the span of the largest floats would overflow
    span = np.ptp(scaled, axis=0)
    # Pixels and codes: no need to look closer.
    whole = (distinct == np.round(distinct)).all(axis=0) & (span < n / 4)
    columns: list[tuple[int, float, RowNumbers]] = []
    for j in np.flatnonzero(span > 0):
        values, code = np.unique(scaled[:, j], return_inverse=True)
        cells = 4 * float(span[j]) + 1 if whole[j] else _cells(values, scaled[:, j], tolerance / 4)
        columns.append((int(j), cells, code))
    columns.sort(key=lambda column: -(column[2].max() + 1))
    found = [Identifier((j,), cells) for j, cells, _ in columns] + _together(columns[:_TRIED], d)
    rarely = [entry for entry in found if entry.coincidences(n) * _IMPLAUSIBLE < n]
    return sorted(rarely, key=lambda entry: -entry.cells)[:_TRIED]


def _cells(values: Floats, column: Floats, tolerance: float) -> float:
    """Steps of the smallest size between values that fit into their central range.

    m continuous values come as near as a part of m^2 of their range; those of a grid, even or not, no nearer than its
    narrowest step.
    """
    gaps = np.diff(values)
    same = max(1.5 * tolerance, _SAME * (values[-1] - values[0]))  # rounding may put equal values one step apart
    step = float(gaps[gaps > same].min(initial=np.inf))
    low, high = np.quantile(column, [0.05, 0.95])
    return float(high - low) / step / 0.9 + 1


def _together(columns: Sequence[tuple[int, float, RowNumbers]], d: int) -> list[Identifier]:
    """Two and three columns together, each further one the best at telling apart pairs that agree in the others.

    How many cells it adds is estimated from such pairs alone, so that a column that repeats another adds none. All
    columns together would prove nothing: distinct rows never agree there.
    """
    if not columns:
        return []
    j, cells, code = columns[0]
    chosen, rest, pairs, found = [j], list(columns[1:]), _agreeing(code), []
    while rest and len(chosen) < min(_TOGETHER, d - 1):
        joint = [np.unique(code * (other.max() + 1) + other, return_inverse=True)[1] for _, _, other in rest]
        left = [_agreeing(both) for both in joint]
        best = int(np.argmin(left))
        cells *= max(1.0, pairs / (left[best] + 1))
        chosen.append(rest.pop(best)[0])
        code, pairs = joint[best], left[best]
        found.append(Identifier(tuple(chosen), cells))
    return found


def _agreeing(code: RowNumbers) -> float:
    """Pairs of rows with the same code."""
    counts = np.bincount(code).astype(np.float64)
    return float((counts * (counts - 1) / 2).sum())


def copied_records(
    keys: Keys,
    identified: Sequence[tuple[Identifier, Keys]],
    n_columns: int,
    labels: Codes | None = None,
    implausible: Mask | None = None,
) -> RowNumbers | None:
    """Record of each row, 0 or more; copies of one record share it. None if there are no copies.

    A record is one that is there several times and has, in some identifying columns, values that no different row has;
    provided such records are many more than chance would make. Where all rows are there equally often, with their
    labels, all are records, whatever the columns.

    Parameters
    ----------
    keys : ndarray of shape (N,)
        Equal for equal rows.
    identified : sequence of (Identifier, ndarray of shape (N,))
        With a key of each row's values in those columns.
    n_columns : int
        Of the table.
    labels : ndarray of shape (N,), optional
    implausible : ndarray of shape (N,), optional
        Rows that hold what no second one would by chance, as a long text does.

    Examples
    --------
    >>> keys = np.repeat(np.arange(8, dtype=np.uint64), [2, 2, 2, 2, 2, 1, 1, 2])
    >>> column = np.where(keys < 6, keys, 6)  # 6 and 7 agree here: 7 may be there twice by chance
    >>> copied_records(keys, [(Identifier((0,), 1e6), column)], n_columns=2)
    array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8])
    """
    n = len(keys)
    _, first, record, times = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    if len(first) == n:
        return None
    copied = np.zeros(len(first), dtype=bool)
    if labels is not None and len(first) >= _ALIKE and times.min() == times.max():
        copied[:] = (labels == labels[first][record]).all()
    if implausible is not None:
        alone = (times > 1) & implausible[first]
        if alone.sum() >= _FEWEST:
            copied |= alone & (times <= _OFTEN * np.median(times[alone]))
    for identifier, values in identified:
        _, value, shared = np.unique(values[first], return_inverse=True, return_counts=True)
        alone = (times > 1) & (shared[value] == 1)
        if alone.any():
            alone &= times <= _OFTEN * np.median(times[alone])
        # Of a single column nothing but its own values says how often they meet.
        for least in (2, 3) if len(identifier.columns) < n_columns else (2,):
            if (alone & (times >= least)).sum() >= max(_FEWEST, _IMPLAUSIBLE * identifier.coincidences(n, least)):
                copied |= alone
    if not copied.any():
        return None
    # Rows that are no copies become records of their own.
    own = np.where(copied[record], record, len(first) + np.arange(n))
    return np.unique(own, return_inverse=True)[1].astype(np.int64)


# --- of rows in blocks --------------------------------------------------------------------------------------


def copies_in_blocks(blocks: Blocks, varies: Mask) -> tuple[float, Codes | None]:
    """Share of rows that repeat an earlier one, and the record of each row if there are copies (else None).

    Rows that differ by rounding alone are copies as equal rows are.
    """
    near = _near_copies(blocks, varies)
    share, exact = _exact_copies(blocks, varies)
    return share, exact if near is None else near


def _near_copies(blocks: Blocks, varies: Mask) -> Codes | None:
    """Record of each row if some rows are copies up to rounding (else None)."""
    n = blocks.n_samples
    looked_at = np.concatenate(blocks.each(partial(_hashed_rows, varies=varies, every=-(-n // _LOOKED_AT))))
    if not len(looked_at):
        return None
    projection = Projection.of(looked_at)
    if projection.is_decimal.all():
        return None
    place = partial(_placed, varies=varies, projection=projection)
    every = -(-n // LARGE)
    # First among about `LARGE` rows, chosen by where they lie: of near-copies nearly always all are seen or none.
    if every > 1 and join_near_copies(*_stacked(blocks.each(partial(place, every=every)))) is None:
        return None
    keys, points = _stacked(blocks.each(partial(place, every=1)))
    near = join_near_copies(keys, points)
    if near is None:
        return None
    joined, tolerance = near
    # Of each record the row whose key it has: which one that is does not depend on the order of the rows.
    own = np.flatnonzero(keys == joined)
    rows = np.sort(own[np.unique(joined[own], return_index=True)[1]])
    some = rows[_is_chosen(keys[rows], -(-len(rows) // _LOOKED_AT))]
    view = partial(_rounded, varies=varies, projection=projection, tolerance=tolerance)
    found = identifiers(rows_at(blocks, some, view)[0], n, tolerance)[:_IDENTIFIERS]
    values = rows_at(blocks, rows, partial(_keys_of, view=view, columns=[entry.columns for entry in found]))[0]
    place_of = np.argsort(joined[rows])[np.unique(joined, return_inverse=True)[1]]
    identified = [(entry, values[place_of, i]) for i, entry in enumerate(found)]
    return copied_records(joined, identified, int(varies.sum()), np.concatenate(blocks.each(_codes)))


def _exact_copies(blocks: Blocks, varies: Mask) -> tuple[float, Codes | None]:
    """Share of rows that repeat an earlier one, and the record of each row if some are copies (else None).

    Both are first looked for among about `LARGE` rows. Which ones depends on a hash of their values, so that of copies
    either all are seen or none.
    """
    every = -(-blocks.n_samples // LARGE)
    keys = np.concatenate(blocks.each(partial(_hashed, varies=varies, every=every)))
    distinct = len(np.unique(keys))
    if distinct == len(keys):
        return 0.0, None
    share = 1 - distinct / len(keys)
    few = every == 1
    fewer = 1 if few else every * (LARGE // _LOOKED_AT)
    rows = np.concatenate(blocks.each(partial(_hashed_rows, varies=varies, every=fewer)))
    first = np.unique(row_keys(rows), return_index=True)[1]
    found = identifiers(rows[first], blocks.n_samples)[: None if few else _IDENTIFIERS]
    if not found and not share > 0.3:  # rows that are all there equally often need no identifying column
        return share, None
    all_keys = np.concatenate(blocks.each(partial(_keys, varies=varies, columns=[entry.columns for entry in found])))
    labels = np.concatenate(blocks.each(_codes))
    share = 1 - len(np.unique(all_keys[:, 0])) / blocks.n_samples
    return share, copied_records(
        all_keys[:, 0], [(entry, all_keys[:, 1 + i]) for i, entry in enumerate(found)], int(varies.sum()), labels
    )


def varying(part: Part, varies: Mask) -> Floats:
    """The columns of a block that vary: the block itself if all do."""
    return part.X if varies.all() else np.ascontiguousarray(part.X[:, varies])


def _is_chosen(keys: Keys, every: int) -> Mask:
    # By the upper bits: the lowest ones of a sum of products are not as well mixed.
    return np.asarray((keys >> np.uint64(20)) % np.uint64(every) == 0)


def _hashed(part: Part, varies: Mask, every: int) -> Keys:
    keys = row_keys(varying(part, varies))
    return keys[_is_chosen(keys, every)]


def _hashed_rows(part: Part, varies: Mask, every: int) -> Floats:
    X = varying(part, varies)
    return X[_is_chosen(row_keys(X), every)]


def _keys(part: Part, varies: Mask, columns: list[tuple[int, ...]]) -> Keys:
    """Keys of whole rows and of some of their columns."""
    X = varying(part, varies)
    return np.stack([row_keys(X), *(row_keys(X[:, list(some)]) for some in columns)], axis=1)


def _codes(part: Part) -> Codes:
    return part.codes


def _placed(part: Part, varies: Mask, projection: Projection, every: int) -> tuple[Keys, Floats]:
    """Keys and points of the rows, or of those in some cells."""
    X = varying(part, varies)
    points = projection.points(X)
    chosen = _is_chosen(cell_keys(points), every)
    return row_keys(X[chosen]), points[chosen]


def _stacked(found: list[tuple[Keys, Floats]]) -> tuple[Keys, Floats]:
    return np.concatenate([keys for keys, _ in found]), np.concatenate([points for _, points in found])


def _rounded(X: Floats, varies: Mask, projection: Projection, tolerance: float) -> Floats:
    return projection.values(X[:, varies], tolerance)


def _keys_of(X: Floats, view: Callable[[Floats], Floats], columns: list[tuple[int, ...]]) -> Keys:
    """Keys of some of the columns that `view` makes."""
    seen = view(X)
    keys = [row_keys(seen[:, list(some)]) for some in columns]
    return np.array(keys, dtype=np.uint64).reshape(len(columns), len(X)).T
