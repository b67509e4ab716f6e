"""For whom: the error that the best rule cannot avoid within each subgroup, and what a model has left there."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import ndtri

from .._text import printable, printed
from .._types import Codes, Floats, Mask, Values
from ..errors import DataError, DataTypeError, ParameterError
from ..library.cross_fit import STAGES
from ..rows.dataset import as_array
from ..rows.labels import plain
from ..utils.checks import brief, check_whole
from ..utils.intervals import ConfidenceInterval
from .curve import FRACTIONS, PAIRS, confirmed_share, row_stakes
from .decisions import NAME_ONE
from .rule import Evidence, doubt_arms, unsettled_weight

__all__ = ["RowFigures", "Subgroup", "Subgroups", "column_values", "rows_of", "subgroups"]

_MOST = 60  # subgroups
_FEW_VALUES = 12  # up to so many different numbers each is a subgroup


@dataclass(frozen=True, eq=False)
class RowFigures:
    """What a row adds to the figures that the floor is judged from, rows as in `FloorResult.posterior`.

    Attributes
    ----------
    errors : ndarray of shape (N,)
        Share of the choices of folds in which the pooled models of all rows miss its label.
    claimed : ndarray of shape (N,)
        What is at stake between models of half and of all rows.
    weights : ndarray of shape (N,)
        Of rows, for the wanted class shares; their mean is 1.
    confirmed : float
        Share of it that labels confirm, over all rows.
    n : float
        Independent rows by rows.
    evidence : Evidence
        Of all rows.
    """

    errors: Floats
    claimed: Floats
    weights: Floats
    confirmed: float
    n: float
    evidence: Evidence

    @classmethod
    def of(
        cls, P: Sequence[Sequence[Floats]], y: Codes, weights: Floats, order: Any, evidence: Evidence
    ) -> "RowFigures":
        """Of pooled probabilities by choice of folds and stage; `order` puts the rows as they came."""
        whole, half = next((i, j) for i, j in PAIRS if STAGES[i][0] == FRACTIONS[0])
        errors = np.mean([repeat[0].argmax(axis=1) != y for repeat in P], axis=0)
        stakes = [row_stakes(repeat[whole], repeat[half], y, NAME_ONE) for repeat in P]
        claimed = np.mean([np.abs(margin) for _, margin, _ in stakes], axis=0)
        rows = weights * (len(y) / weights.sum())
        confirmed = float(np.mean([confirmed_share(margin, seen, rows) for _, margin, seen in stakes]))
        return cls(errors[order], claimed[order], rows[order], confirmed, evidence.n / len(y), evidence)


@dataclass(frozen=True)
class Subgroup:
    """A subgroup.

    Attributes
    ----------
    name : object
    rows : int
    floor : float
        Estimated error within the subgroup of the best rule that sees the columns, shrunk toward that of all by as much
        as chance could have made of equal ones.
    raw_floor : float
        The same, not shrunk.
    interval : ConfidenceInterval
        Around the figure that is not shrunk; those of all subgroups hold together.
    model_error, room : float or None
        Of the model whose predictions were given; what it errs more than the figure that is not shrunk.
    room_interval : ConfidenceInterval or None
        Those of all subgroups hold together.
    """

    name: Any
    rows: int
    floor: float
    raw_floor: float
    interval: ConfidenceInterval
    model_error: float | None = None
    room: float | None = None
    room_interval: ConfidenceInterval | None = None

    @property
    def title(self) -> str:
        """Its name as it is printed."""
        return printable(self.name)


@dataclass(frozen=True)
class Subgroups:
    """All subgroups of a column.

    Attributes
    ----------
    by : str
        The column.
    groups : tuple of Subgroup
    floor : float
        Of all rows.
    confidence_level : float
        Of all intervals together.
    n_left_out : int
        Rows without a value.
    """

    by: str
    groups: tuple[Subgroup, ...]
    floor: float
    confidence_level: float
    n_left_out: int = 0

    def __iter__(self) -> Any:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def __getitem__(self, name: Any) -> Subgroup:
        for group in self.groups:
            if group.name == name or str(group.name) == str(name):
                return group
        raise ParameterError(f"there is no subgroup {brief(name)}: there are {brief([g.name for g in self.groups])}")

    @property
    def sentence(self) -> str:
        """Whether the gap between subgroups is the data's or the model's, in words."""
        worst, best = (pick(self.groups, key=lambda g: g.raw_floor) for pick in (max, min))
        apart = worst.interval.low > best.interval.high
        gap = worst.floor - best.floor
        if len(self.groups) < 2:
            return "There is one subgroup: nothing to compare."
        if self.groups[0].model_error is None:
            if not apart:
                return "No two subgroups are shown to have different floors."
            return (
                f"The floor is shown to differ: about {worst.floor:.1%} for {worst.title} and {best.floor:.1%} for "
                f"{best.title}. No model that sees these columns closes that gap."
            )
        most, least = (pick(self.groups, key=lambda g: g.model_error or 0.0) for pick in (max, min))
        seen = (most.model_error or 0.0) - (least.model_error or 0.0)
        own = most.floor - least.floor
        left = [g for g in self.groups if g.room_interval is not None and g.room_interval.low > 0]
        named = ", ".join(g.title for g in left)
        model = f"The model is shown to have room left for {named}." if left else "No room is shown to be left in any."
        return (
            f"The model errs {100 * seen:.1f} points more for {most.title} than for {least.title}; about "
            f"{100 * own:.1f} of them are the data's, by the floors of the two. {model}"
            + ("" if apart or gap == 0 else " The floors themselves are not shown to differ.")
        )

    def __str__(self) -> str:
        has_model = self.groups[0].model_error is not None
        by = printable(self.by)
        width = max(len(by), *(len(group.title) for group in self.groups))
        head = f"{by:{width}}  rows     floor    interval"
        lines = [head + ("            model    room     interval" if has_model else "")]
        for group in self.groups:
            low, high = group.interval.low, group.interval.high
            line = f"{group.title:{width}}  {group.rows:<7,}  {group.floor:<7.2%}  {low:.2%} to {high:.2%}"
            if group.room_interval is not None:
                room = group.room_interval
                ends = f"{room.low:.2%} to {room.high:.2%}"
                line = f"{line:<{width + 40}} {group.model_error:<7.2%}  {group.room:<7.2%}  {ends}"
            lines.append(line)
        level = f"{100 * self.confidence_level:g}%"
        lines += ["", self.sentence, f"Floors are shrunk toward that of all; the intervals hold together, at {level}."]
        if self.n_left_out:
            lines.append(f"{self.n_left_out:,} rows have no value, and are left out.")
        return printed(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        values = asdict(self)
        for group in values["groups"]:
            group["name"] = group["name"] if isinstance(group["name"], int | float | str | bool) else str(group["name"])
        return {**values, "sentence": self.sentence}

    def to_frame(self) -> Any:
        """As a pandas frame, a row for each subgroup."""
        import pandas as pd

        rows = []
        for group in self.groups:
            row = {
                self.by: group.name,
                "rows": group.rows,
                "floor": group.floor,
                "raw_floor": group.raw_floor,
                "low": group.interval.low,
                "high": group.interval.high,
            }
            if group.room_interval is not None:
                row |= {
                    "model_error": group.model_error,
                    "room": group.room,
                    "room_low": group.room_interval.low,
                    "room_high": group.room_interval.high,
                }
            rows.append(row)
        return pd.DataFrame(rows)

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the floor of each subgroup with its interval, and the model.

        Parameters
        ----------
        ax : matplotlib axes, optional

        Returns
        -------
        matplotlib axes
        """
        from ..report.pictures import plot_subgroups

        return plot_subgroups(self, ax=ax)


def subgroups(
    values: Values,
    name: str,
    figures: RowFigures,
    floor: float,
    confidence_level: float,
    *,
    bins: int = 4,
    model_wrong: Mask | None = None,
) -> Subgroups:
    """Floors of the rows that have each value; see `FloorResult.by`."""
    codes, names = _codes(values, check_whole("bins", bins, 2), name)
    n_groups, known = len(names), codes >= 0
    counts = np.bincount(codes[known], minlength=n_groups)

    def total(of: Floats) -> Floats:
        return np.asarray(np.bincount(codes[known], (figures.weights * of)[known], n_groups), dtype=np.float64)

    sizes = total(np.ones(len(codes)))

    def mean(of: Floats) -> Floats:
        return total(of) / sizes

    # Each row's share of the floor by the rule; all together they are the floor, whatever else has limited it.
    terms = figures.errors - unsettled_weight() * figures.confirmed * figures.claimed
    together = float((figures.weights * terms).mean())
    terms = terms * (floor / together) if together > 0 else np.full(len(terms), floor)
    raw = np.clip(mean(terms), 0.0, 1.0)
    n = np.maximum(2, counts * figures.n)
    shrunk = _shrink(raw, n, sizes)
    # Bonferroni, over the ends of all intervals.
    z = float(ndtri(1 - (1 - confidence_level) / (2 * n_groups)))
    error, claimed = mean(figures.errors), mean(figures.claimed)
    below, above = np.array(
        [
            doubt_arms(figures.evidence, float(e), float(c), float(figures.confirmed * c))
            for e, c in zip(error, claimed, strict=True)
        ]
    ).T
    noise = [_wilson_reach(float(e), float(k), z) for e, k in zip(raw, n, strict=True)]
    if model_wrong is not None:
        missed = model_wrong.astype(np.float64)
        model, gap = mean(missed), mean(missed) - raw
        spread = np.sqrt(np.maximum(mean((missed - figures.errors) ** 2) - (model - error) ** 2, 1 / n) / n)
    found = []
    for g in range(n_groups):
        low, high = max(0.0, raw[g] - noise[g][0] - below[g]), min(1.0, raw[g] + noise[g][1] + above[g])
        about: dict[str, Any] = {}
        if model_wrong is not None:
            ends = gap[g] - z * spread[g] - above[g], gap[g] + z * spread[g] + below[g]
            about = {
                "model_error": float(model[g]),
                "room": float(gap[g]),
                "room_interval": ConfidenceInterval(float(ends[0]), float(ends[1]), confidence_level),
            }
        interval = ConfidenceInterval(float(low), float(high), confidence_level)
        found.append(Subgroup(names[g], int(counts[g]), float(shrunk[g]), float(raw[g]), interval, **about))
    return Subgroups(name, tuple(found), floor, confidence_level, int((~known).sum()))


def _wilson_reach(share: float, n: float, z: float) -> tuple[float, float]:
    """How far the score interval of a share reaches below and above it."""
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return max(0.0, share - float(centre - half)), max(0.0, float(centre + half) - share)


def _shrink(raw: Floats, n: Floats, sizes: Floats) -> Floats:
    """Empirical Bayes: toward the mean of all rows by the share of the spread that sampling noise explains.

    The variance of the true figures is that of the observed ones less the mean of their own; variances of shares are
    those of figures drawn to the common mean by five rows' worth, so that no error counted is not taken for certainty.
    """
    if len(raw) < 3:  # with two the spread cannot be told from noise
        return raw
    centre = float(raw @ sizes / sizes.sum())
    likely = (n * raw + 5 * centre) / (n + 5)
    own = likely * (1 - likely) / n
    between = max(0.0, float(raw.var(ddof=1)) - float(own.mean()))
    kept = between / (between + own) if between > 0 else np.zeros(len(raw))
    return np.asarray(centre + kept * (raw - centre))


def _codes(values: Values, bins: int, name: str) -> tuple[Codes, list[Any]]:
    """Subgroup of each row, -1 where there is no value, and what the subgroups are called."""
    import pandas as pd

    series = pd.Series(values)
    missing = series.isna().to_numpy()
    if missing.all():
        raise DataError(f"{printable(name)} has no values")
    numeric = pd.api.types.is_numeric_dtype(series) and not pd.api.types.is_bool_dtype(series)
    if numeric and series.nunique() > _FEW_VALUES:
        numbers = series.to_numpy(dtype=np.float64)
        cuts = np.unique(np.quantile(numbers[~missing], np.linspace(0, 1, bins + 1)[1:-1]))
        codes = np.searchsorted(cuts, numbers, side="left")
        edges = [f"{cut:.6g}" for cut in cuts]
        between = [f"over {a} to {b}" for a, b in pairwise(edges)]
        names: list[Any] = [f"up to {edges[0]}", *between, f"over {edges[-1]}"]
    else:
        codes, distinct = pd.factorize(series)
        found = list(plain(np.asarray(distinct, dtype=object)))
        order = sorted(range(len(found)), key=found.__getitem__ if _sorts(found) else lambda i: str(found[i]))
        names = [found[i] for i in order]
        codes = np.where(codes < 0, -1, np.argsort(order)[np.maximum(codes, 0)])
    codes = np.where(missing, -1, codes)
    present = np.unique(codes[codes >= 0])
    if len(present) > _MOST:
        raise ParameterError(
            f"{printable(name)} has {len(present)} different values, too many for subgroups: {_MOST} are the most. "
            "Merge some"
        )
    again = np.full(len(names), -1)
    again[present] = np.arange(len(present))
    return np.where(codes < 0, -1, again[np.maximum(codes, 0)]), [names[i] for i in present]


def _sorts(values: Any) -> bool:
    try:
        sorted(values)
    except TypeError:
        return False
    return True


def column_values(source: Any, column: Any, n: int, row_numbers: Any) -> tuple[Values, str]:
    """Values of a column of what was estimated, or of an array with a value for each row, and a name."""
    if isinstance(column, str) or (isinstance(column, int | np.integer) and not isinstance(column, bool)):
        return _column(source, column, n, row_numbers), str(column)
    name = str(getattr(column, "name", None) or "subgroup")
    return rows_of(as_array(column, "subgroups"), n, row_numbers, "subgroups"), name


def rows_of(values: Values, n: int, row_numbers: Any, what: str) -> Values:
    """Of one value for each row of the table: those of the rows that were used."""
    if values.ndim != 1:
        raise DataError(f"{what} must be one value per row, got shape {values.shape}")
    if len(values) == n:
        return values
    if row_numbers is not None and len(values) > int(np.max(row_numbers)):
        return np.asarray(values[row_numbers])
    raise DataError(f"there are {n} rows but {len(values)} values of {what}: one for each row is needed")


def _column(source: Any, column: Any, n: int, row_numbers: Any) -> Values:
    numbers = np.arange(n) if row_numbers is None else row_numbers
    frame = getattr(source, "frame", None) if hasattr(source, "rows") and hasattr(source, "features") else source
    if frame is None:
        raise DataError(
            f"the columns of this result are not at hand: give the values of {brief(column)} as an array, one per row"
        )
    if hasattr(source, "features") and hasattr(source, "rows"):
        numbers = np.searchsorted(source.rows, numbers + 1)
    if hasattr(frame, "columns") and hasattr(frame, "__getitem__"):
        columns = list(frame.columns)
        if isinstance(column, int | np.integer) and column not in columns and -len(columns) <= column < len(columns):
            column = columns[column]
        if column not in columns:
            raise ParameterError(f"there is no column {brief(column)}; there are {brief(columns)}")
        return (
            np.asarray(frame[column], dtype=object)[numbers]
            if not _is_number(frame[column])
            else np.asarray(frame[column])[numbers]
        )
    if isinstance(column, str):
        raise DataTypeError(f"an array has no column named {brief(column)}: give its number, or the values")
    table = np.asarray(frame)
    if not -table.shape[1] <= column < table.shape[1]:
        raise ParameterError(f"there is no column {column}: there are {table.shape[1]}")
    return np.asarray(table[numbers, column])


def _is_number(values: Any) -> bool:
    return getattr(getattr(values, "dtype", None), "kind", "O") in "iufb"
