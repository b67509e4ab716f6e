"""What the columns of a table are worth: the record of it, its verdicts, and how it prints itself."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .._text import printable, printed
from ..library.reduced import LITTLE
from ..utils.checks import listed
from ..utils.files import save_text
from ..utils.intervals import ConfidenceInterval
from .paired import Difference
from .result import FloorResult

__all__ = ["GOLDEN", "NOTHING", "VERDICTS", "ColumnPair", "ColumnSet", "ColumnValue", "ColumnValues", "Loss", "verdict"]

NOTHING = 0.02  # a loss that may be none, and is surely less than two points, counts as none
GOLDEN = 0.1  # of what all columns tell, a golden one may lack so much
_SHOWN = 25  # columns that are printed

VERDICTS = {
    "golden": "alone nearly as good as all columns together: often a leak of the label",
    "useful": "the floor rises without it",
    "only together": "the floor rises without it, though alone it was not seen to tell anything, or far less",
    "helps probabilities only": "without it probabilities get worse, but hardly any decision",
    "redundant": "nothing is lost without it while the other columns stay; without several such columns it may be",
    "useless": "no loss was seen, in errors or probabilities, without all of these together",
    "cannot tell": "neither a loss without it nor that there is none is shown: more rows would tell",
}


@dataclass(frozen=True)
class Loss:
    """What is lost without some columns, in errors and in mean log-loss."""

    errors: Difference
    log_loss: Difference

    @property
    def is_hardly_any(self) -> bool:
        """Whether the loss in errors may be none, and is surely less than two points."""
        return not self.errors.is_above_zero and self.errors.interval.high <= NOTHING

    @property
    def is_none(self) -> bool:
        """... and none in log-loss is seen: it may be 0, and is estimated at 0.002 at most."""
        return self.is_hardly_any and not self.log_loss.is_above_zero and self.log_loss.value <= LITTLE


@dataclass(frozen=True)
class ColumnValue:
    """What a column, or a group of columns, is worth.

    Attributes
    ----------
    name : str
    features : tuple of str
        The columns of numbers that it is made of.
    loss, loss_interval
        What the floor loses without it: a signed estimate; the interval ends at 0.
    log_loss, log_loss_interval
        What the mean log-loss loses without it: as `loss`.
    alone, alone_interval
        The floor with it alone; never above the error of naming the largest class.
    gain, gain_interval
        What it gains alone on naming the largest class: a signed estimate; the interval ends at 0.
    distance, distance_interval
        How far the floor with it alone is above that with all columns; as the others.
    verdict : str
        One of "golden", "useful", "only together", "helps probabilities only", "redundant", "useless" and "cannot
        tell". Useless are the columns of `ColumnValues.useless`, which were left out together without loss.
    partners : tuple of str
        Of "only together": columns with which it was seen to tell something, by two.
    """

    name: str
    features: tuple[str, ...]
    loss: float
    loss_interval: ConfidenceInterval
    log_loss: float
    log_loss_interval: ConfidenceInterval
    alone: float
    alone_interval: ConfidenceInterval
    gain: float
    gain_interval: ConfidenceInterval
    distance: float
    distance_interval: ConfidenceInterval
    verdict: str
    partners: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The verdict, and what it means."""
        said = f"{self.verdict}: {VERDICTS[self.verdict]}"
        if self.verdict != "only together":
            return said
        return f"{said}; {f'with {listed(self.partners)} it does' if self.partners else 'no pair was seen to do'}"


@dataclass(frozen=True)
class ColumnPair:
    """Two columns that tell nothing alone, and what they tell together: gain on naming the largest class."""

    names: tuple[str, str]
    floor: float
    gain: float
    gain_interval: ConfidenceInterval


@dataclass(frozen=True)
class ColumnSet:
    """Columns that were left out together, and what was lost: in errors, and in mean log-loss."""

    names: tuple[str, ...]
    loss: float
    loss_interval: ConfidenceInterval
    log_loss: float
    log_loss_interval: ConfidenceInterval


@dataclass(frozen=True)
class ColumnValues:
    """What each column of a table is worth, beside the floor of all of them.

    Attributes
    ----------
    result : FloorResult
        Of all columns.
    columns : tuple of ColumnValue
        Those first that the floor loses most without.
    pairs : tuple of ColumnPair
        Pairs of columns that tell nothing alone and matter in the whole table.
    useless : ColumnSet or None
        The columns that were left out together without loss.
    learners : tuple of str
        Which classifiers the differences rest on.
    rows : int
        ... and on how many rows.
    majority : float
        Error of naming the largest class, as counted on them.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesfloor import column_values
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 500)
    >>> X = np.column_stack([rng.normal(size=500) + 3 * y, rng.normal(size=500)])
    >>> values = column_values(X, y, effort="fast", n_jobs=1)
    >>> values.columns[0].name, values.columns[0].verdict
    ('column 0', 'golden')
    """

    result: FloorResult
    columns: tuple[ColumnValue, ...]
    pairs: tuple[ColumnPair, ...]
    useless: ColumnSet | None
    learners: tuple[str, ...]
    rows: int
    majority: float

    def __getitem__(self, name: str) -> ColumnValue:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"there is no column {name!r}: {listed([repr(column.name) for column in self.columns])}")

    def named(self, verdict: str) -> tuple[str, ...]:
        """Columns with this verdict."""
        return tuple(column.name for column in self.columns if column.verdict == verdict)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the verdicts come to."""
        found = []
        for pair in self.pairs:
            if pair.gain_interval.low > 0:
                first, second = pair.names
                found.append(
                    f"{first} and {second} matter only together: alone they tell little or nothing, the two err "
                    f"{pair.floor:.1%}."
                )
        for name, about in VERDICTS.items():
            if self.named(name) and name != "useful":
                found.append(f"{name}: {listed(list(self.named(name)), 8)} ({about}).")
        if self.useless is not None and len(self.useless.names) > 1:
            low, high = (100 * end for end in (self.useless.loss_interval.low, self.useless.loss_interval.high))
            found.append(
                f"The {len(self.useless.names)} useless columns were left out together: {100 * self.useless.loss:+.2f} "
                f"points lost ({low:.2f} to {high:.2f})."
            )
        return tuple(map(printable, found))

    @property
    def floor(self) -> float:
        """Floor of all columns, not above the counted error of naming the largest class, as those of single columns."""
        return min(self.result.floor, self.majority)

    def __str__(self) -> str:
        interval = self.result.interval
        level = f"{100 * interval.confidence_level:g}%"
        shown = self.columns[:_SHOWN]
        cells = [("column", "lost without it", f"{level} interval", "floor alone", f"{level} interval", "verdict")]
        cells += [
            (
                _clean(column.name),
                f"{100 * column.loss:+.2f}",
                f"{100 * column.loss_interval.low:.2f} to {100 * column.loss_interval.high:.2f}",
                f"{column.alone:.1%}",
                f"{column.alone_interval.low:.1%} to {column.alone_interval.high:.1%}",
                column.verdict,
            )
            for column in shown
        ]
        widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
        lines = [
            f"floor of all columns  {self.floor:.2%}   {level} interval {interval.low:.2%} to {interval.high:.2%}",
            "",
            *(
                "  ".join((row[0].ljust(widths[0]), *(row[i].rjust(widths[i]) for i in range(1, 5)), row[5]))
                for row in cells
            ),
        ]
        if len(self.columns) > len(shown):
            lines.append(f"and {len(self.columns) - len(shown)} more")
        lines += ["", "Lost without it: points of the floor, paired on the same rows; below 0 by chance alone."]
        return printed([*lines, *(f"- {sentence}" for sentence in self.sentences)])

    def __repr__(self) -> str:
        counts = {name: len(self.named(name)) for name in VERDICTS if self.named(name)}
        told = ", ".join(f"{count} {name}" for name, count in counts.items())
        return f"ColumnValues(floor={self.result.floor:.4f}, {len(self.columns)} columns: {told})"

    def _repr_html_(self) -> str:
        from ..report.columns import columns_html

        return columns_html(self)

    def frame(self) -> Any:
        """A pandas frame with a row for each column, indexed by its name."""
        from ..report.columns import columns_frame

        return columns_frame(self)

    def plot(self, *, n_columns: int = 30, ax: Any = None) -> Any:
        """Draw what the floor loses without each column: bars with intervals.

        Parameters
        ----------
        n_columns : int
            Of more columns only so many are drawn: those that matter most.
        ax : matplotlib axes, optional

        Returns
        -------
        matplotlib axes
        """
        from ..report.columns import plot_columns

        return plot_columns(self, n_columns=n_columns, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; single rows are left out."""
        return {
            "columns": [{**asdict(column), "sentence": column.sentence} for column in self.columns],
            "pairs": [asdict(pair) for pair in self.pairs],
            "useless": None if self.useless is None else asdict(self.useless),
            "sentences": list(self.sentences),
            "learners": list(self.learners),
            "rows": self.rows,
            "majority": self.majority,
            "result": self.result.to_dict(),
        }

    def to_json(self) -> str:
        """JSON text; `save` writes it to a file."""
        return json.dumps(self.to_dict())

    def to_html(self, **options: Any) -> str:
        """The report of the floor with a section on its columns, as text; `save` writes it to a file.

        Parameters
        ----------
        **options
            `title`, `comparison` and `table` of `FloorResult.to_html`.
        """
        return self.result.to_html(column_values=self, **options)

    def save(self, path: str | Path, *, force: bool = False, **page: Any) -> Path:
        """Write the values to a JSON file, or the report to an HTML file: see `FloorResult.save`.

        Parameters
        ----------
        path : str or Path
            Ends with ``.json`` or ``.html``.
        force : bool
            Overwrite the file if it exists.
        **page
            Parameters of `to_html`, for the report.

        Returns
        -------
        Path
        """
        texts = {".html": lambda: self.to_html(**page)}
        if not page:  # those are not for JSON
            texts[".json"] = lambda: self.to_json() + "\n"
        return save_text(path, texts, force=force)


def verdict(loss: Loss, gain: Difference, distance: Difference, told: float) -> str:
    """What a column is, from intervals: of its loss, its gain alone and its distance from all columns.

    `told` is what all columns gain on naming the largest class. Whether a redundant column is useless shows only when
    it is left out with others.
    """
    if gain.is_above_zero and distance.interval.high <= GOLDEN * told:
        return "golden"
    if loss.errors.is_above_zero:
        # By chance one of forty columns that tell nothing alone is seen to tell something: less than half, then.
        together = not gain.is_above_zero or gain.interval.high < loss.errors.interval.low / 2
        return "only together" if together else "useful"
    if not loss.is_hardly_any:
        return "cannot tell"
    return "helps probabilities only" if loss.log_loss.is_above_zero else "redundant"


def _clean(name: str) -> str:
    text = name if name.isprintable() else repr(name)
    return text if len(text) <= 30 else f"{text[:27]}..."
