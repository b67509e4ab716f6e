"""What an estimate has found, and how it prints itself."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from .._text import printed
from ..errors import DataError
from ..rows.dataset import as_array
from ..utils.files import save_text
from ..utils.intervals import Bound, ConfidenceInterval, share_error
from .abstention import Abstention, DeclinePoint, abstain
from .ceiling import Certificate
from .costs import CostFloor
from .doubts import Doubt, check_codes
from .figures import CurvePoint, Estimate, LearnerScore
from .metrics import Metric, Metrics
from .predictions import Predictions
from .records import Noted, write_record
from .subgroups import RowFigures, Subgroups, column_values, rows_of, subgroups
from .suspects import find_suspects

__all__ = ["CurvePoint", "Estimate", "FloorResult", "LearnerScore"]

_SCHEMA = 5
_NOT_KEPT = "the result was made from scores, or saved by an older version. Estimate again from the table"


@dataclass(frozen=True)
class FloorResult(Noted):
    """The floor, with all it rests on.

    Attributes
    ----------
    floor : float
        Estimated lowest error that any classifier could reach.
    interval : ConfidenceInterval
        Covers sampling noise and what was left unfound on problems with a known floor.
    ceiling : float or None
        Certified: with this confidence a classifier that was tested on held-out rows errs no more, and so the floor is
        no higher. None where no limit can be given; `doubts` then say why.
    certificate : Certificate or None
        What the ceiling was counted on: which classifier, how many errors among how many rows.
    estimates, bounds, learners, learning_curve : tuple
        Every figure side by side with what it rests on.
    classes, priors : tuple
    pair_error : tuple of tuples
        Share of the floor that class k (row) loses to class c (column); adds up to the floor.
    posterior : ndarray of shape (N, C), optional
        Pooled class probabilities of each row; not kept in JSON.
    row_numbers : ndarray of shape (N,), optional
        Where the rows stand in the table that was given, counted from 0, if some of its rows may have been dropped;
        not kept in JSON.
    index : pandas.Index, optional
        Of the frame that was given; not kept in JSON.
    predictions : Predictions, optional
        Out-of-fold predictions at all training sizes; not kept in JSON.
    excerpts : dict
        Pictures (as inline PNG data) or texts of the most suspect and the most ambiguous rows, by row number; empty for
        rows of columns, and not kept in JSON.
    doubts : tuple of Doubt
        What speaks against taking the estimate at face value.
    cost : CostFloor or None
        The lowest expected cost, if `costs` were given.
    yardsticks, declining : tuple
        What `metrics` and `abstention` are made of.
    muted : tuple of Doubt
        Doubts that the user has muted: see `mute`.
    notes : tuple of str
        Remarks on the data.
    evidence, settings : dict

    Examples
    --------
    >>> from bayesfloor import from_scores, problems
    >>> problem = problems.get("gaussians_4d")   # the true floor is 0.1587
    >>> X, y = problem.sample(1000, random_state=0)
    >>> result = from_scores(problem.posterior(X), y)
    >>> 0.1587 in result.interval, result.floor <= result.ceiling
    (True, True)
    >>> [doubt.code for doubt in result.doubts]
    ['floor-of-scores']
    >>> FloorResult.from_json(result.to_json()).floor == result.floor
    True
    """

    floor: float
    interval: ConfidenceInterval
    ceiling: float | None
    estimates: tuple[Estimate, ...]
    bounds: tuple[Bound, ...]
    learners: tuple[LearnerScore, ...]
    learning_curve: tuple[CurvePoint, ...]
    classes: tuple[Any, ...]
    priors: tuple[float, ...]
    pair_error: tuple[tuple[float, ...], ...]
    doubts: tuple[Doubt, ...]
    notes: tuple[str, ...]
    evidence: dict[str, Any]
    settings: dict[str, Any]
    certificate: Certificate | None = None
    posterior: NDArray[np.float64] | None = field(default=None, compare=False, repr=False)
    labels: NDArray[np.int64] | None = field(default=None, compare=False, repr=False)
    row_numbers: NDArray[np.int64] | None = field(default=None, compare=False, repr=False)
    index: Any = field(default=None, compare=False, repr=False)
    muted: tuple[Doubt, ...] = ()
    cost: CostFloor | None = None
    yardsticks: tuple[Metric, ...] = ()
    declining: tuple[DeclinePoint, ...] = ()
    row_figures: RowFigures | None = field(default=None, compare=False, repr=False)
    source: Any = field(default=None, compare=False, repr=False)
    excerpts: dict[int, str] = field(default_factory=dict, compare=False, repr=False)
    predictions: Predictions | None = field(default=None, compare=False, repr=False)

    def mute(self, codes: Iterable[str] | str) -> "FloorResult":
        """The same result without the doubts that have these codes: you know of them, and they are not to count.

        They are kept in `muted`; `compare`, the report and its advice leave them out.

        Parameters
        ----------
        codes : sequence of str
            Such as ``["still-falling"]``; docs/method.md lists them.

        Returns
        -------
        FloorResult
        """
        codes = check_codes(codes)
        gone = tuple(doubt for doubt in self.doubts if doubt.code in codes)
        if not gone:
            return self
        kept = tuple(doubt for doubt in self.doubts if doubt.code not in codes)
        return replace(self, doubts=kept, muted=(*self.muted, *gone))

    @property
    def reasons(self) -> tuple[str, ...]:
        """The doubts in words."""
        return tuple(doubt.sentence for doubt in self.doubts)

    @property
    def majority_error(self) -> float:
        """Error of always naming the largest class; no floor is above it.

        The largest of several counted shares is too large on average: it is shrunk by what chance makes of equal ones.
        """
        return float(self.evidence.get("shrunk_majority", 1 - max(self.priors)))

    @property
    def headline(self) -> str:
        """What has to be said before any figure; mostly nothing."""
        if self.certificate is None or self.certificate.classifier != "constant":
            return ""
        seen = "no classifier was seen to err less on these columns."
        if self.evidence["error"] < self.evidence["majority"]:  # with all rows, in which a choice was made
            seen = "with half of the rows no classifier was seen to err less."
        return (
            f"No better than always answering {self.certificate.label!r}, which errs about "
            f"{self.majority_error:.1%}: {seen}"
        )

    @property
    def class_error(self) -> tuple[float, ...]:
        """Share of the floor that each class loses; adds up to the floor."""
        return tuple(sum(row) for row in self.pair_error)

    def pairs(self) -> list[tuple[Any, Any, float]]:
        """Pairs of classes by their share of the floor, both directions together, largest first."""
        table = np.array(self.pair_error)
        both = [
            (self.classes[i], self.classes[j], float(table[i, j] + table[j, i]))
            for i in range(len(table))
            for j in range(i)
        ]
        return sorted(both, key=lambda pair: -pair[2])

    def hardest_rows(self, n: int = 20) -> list[tuple[int, float]]:
        """The most ambiguous rows: number, from 0, and probability that the best guess is wrong."""
        doubt = 1 - self._rows().max(axis=1)
        return [(self.row_number(i), float(doubt[i])) for i in self.hardest_positions(n)]

    def hardest_positions(self, n: int = 20) -> list[int]:
        """Where `posterior` and `labels` have the most ambiguous rows."""
        return [int(i) for i in np.argsort(self._rows().max(axis=1), kind="stable")[:n]]

    def suspect_rows(self, n: int | None = 20) -> list[tuple[int, Any, float]]:
        """Rows whose label looks wrong, the least probable label first.

        Listed are rows whose label has less than half of the probability that it has on average in the rows with that
        label, where another class, or the others together, are at or above their own average (`find_suspects`). An
        ambiguous row and a mislabelled one look alike.

        Parameters
        ----------
        n : int or None
            How many at most; None for all.

        Returns
        -------
        list of tuple
            Number of the row, from 0, the class that looks right, probability of the label given.
        """
        P, labels = self.label_posterior(), self.labels
        assert labels is not None
        found = self.suspect_positions(n)
        return [(self.row_number(i), self.classes[P[i].argmax()], float(P[i, labels[i]])) for i in found]

    def suspect_positions(self, n: int | None = 20) -> list[int]:
        """Where `posterior` and `labels` have the rows whose label looks wrong."""
        P = self.label_posterior()
        assert self.labels is not None
        return [int(i) for i in find_suspects(P, self.labels)[:n]]

    def label_posterior(self) -> NDArray[np.float64]:
        """`posterior` for the class shares that the rows have, whichever the floor was asked for by `priors`.

        How probable a label is depends on how frequent its class is among these rows. With equal shares the rows of a
        large class that lie near a rare one would all look mislabelled.
        """
        P = self._rows()
        assert self.labels is not None
        shares = np.bincount(self.labels, minlength=len(self.classes)) / len(self.labels)
        if np.allclose(shares, self.priors, rtol=0, atol=1e-9):
            return P
        weighted = P * (shares / np.array(self.priors))
        return np.asarray(weighted / weighted.sum(axis=1, keepdims=True))

    def by(self, column: Any, *, predictions: Any = None, bins: int = 4) -> Subgroups:
        """For whom: the error that the best rule cannot avoid within each subgroup of the rows.

        Parameters
        ----------
        column : str, int or array-like of shape (N,)
            A column of the table that was given, by name or position, or one value for each of its rows. Numbers with
            more than twelve different values are cut into ranges with equally many rows.
        predictions : array-like of shape (N,), optional
            Of a model that has not seen these rows (cross-validated ones, say): gives its room in each subgroup.
        bins : int
            Ranges of numbers.

        Returns
        -------
        Subgroups

        Notes
        -----
        Needs single rows: not for results that were read from JSON or estimated from a sample of a large table.
        """
        if self.row_figures is None or self.labels is None:
            raise DataError(
                "subgroups need single rows, and this result has none: it was read from JSON, made from scores, or the "
                "table was too large to keep them. Estimate again, from at most 65,536 rows, and call by() on that"
            )
        n, wrong = len(self.labels), None
        values, name = column_values(self.source, column, n, self.row_numbers)
        if predictions is not None:
            given = rows_of(as_array(predictions, "predictions"), n, self.row_numbers, "predictions")
            wrong = np.array([str(label) for label in given]) != np.array([str(c) for c in self.classes])[self.labels]
        level = self.interval.confidence_level
        return subgroups(values, name, self.row_figures, self.floor, level, bins=bins, model_wrong=wrong)

    def abstention(self, shares: Any = None) -> Abstention:
        """If it may decline: the lowest error on accepted cases over the share of cases that are declined.

        Parameters
        ----------
        shares : sequence of float, optional
            Shares to decline: 0.05, 0.1, 0.2, 0.3 and 0.5 if none are given. What is certified holds for all of them
            together, and is the tighter the fewer there are.

        Returns
        -------
        Abstention
        """
        if not self.declining:
            raise DataError(f"nothing was kept about declining: {_NOT_KEPT}")
        given = np.array(self.priors) if self.settings.get("priors") else None
        return abstain(self.declining, shares, self.floor, given, self.interval.confidence_level)

    def metrics(self) -> Metrics:
        """Other yardsticks: the best balanced accuracy, top-2 error, log-loss, Brier score, AUC and F1 of each class.

        Returns
        -------
        Metrics
            Each with an interval, and what a classifier was seen to reach on held-out rows.
        """
        if not self.yardsticks:
            raise DataError(f"no other metrics were kept: {_NOT_KEPT}")
        return Metrics(self.yardsticks)

    def row_number(self, position: int) -> int:
        """Number, from 0, in the table that was given, of a row of `posterior`."""
        return position if self.row_numbers is None else int(self.row_numbers[position])

    def _rows(self) -> NDArray[np.float64]:
        if self.posterior is None:
            raise DataError(
                "this result has no single rows: it was read from JSON, or the table was too large to keep them"
            )
        return self.posterior

    def __str__(self) -> str:
        level = f"{100 * self.interval.confidence_level:g}%"
        best, pool = self.learners[0], self.evidence["error"]
        if self.learning_curve:
            about = (
                f"As far as can be seen, no classifier errs less than about {self.floor:.1%} on data like these. The "
                f"classifiers that were tried, pooled, err {pool:.1%} on rows they had not seen"
            )
            about += f": {self.chance}." if self.chance else "."
            if not self._is_below(best.error):
                about = f"{about[:-1]}; the best of them alone ({best.plain_name}) {best.error:.1%}."
        else:
            about = (
                f"As far as can be seen, no rule errs less than about {self.floor:.1%} by these scores alone. Naming "
                f"the class with the largest, once calibrated, errs {pool:.1%}"
            )
            about += f": {self.chance}." if self.chance else "."
        certified = "none     no limit can be certified: the doubts say why"
        if self.ceiling is not None:
            seen = "a classifier was seen to do this well"
            if self.certificate is not None and self.certificate.classifier == "scores":
                seen = "your scores do this well, if their model has not seen these rows"
            certified = f"{self.ceiling:.2%}   certified with {level} confidence: {seen}"
            if self.ceiling >= 1 - 1 / len(self.classes):
                certified = f"{self.ceiling:.2%}   no classifier was certified to do better than guessing"
        lines = [
            *([self.headline, ""] if self.headline else []),
            f"floor    {self.floor:.2%}   {level} interval {self.interval.low:.2%} to {self.interval.high:.2%}",
            f"ceiling  {certified}",
            "",
            about,
            *([self.interval_parts] if self.interval_parts else []),
            "The interval is no proof: no method can certify a lower limit from labelled data alone.",
        ]
        pairs = [p for p in self.pairs() if p[2] > 0][:3]
        if pairs and len(self.classes) > 2 and self.floor > 0:
            listed = ", ".join(f"{a} and {b} {share / self.floor:.0%}" for a, b, share in pairs)
            lines.append(f"Pairs that make the floor: {listed}.")
        if self.cost is not None:
            lines += ["", *str(self.cost).split("\n"), ""]
        lines += [f"- doubt ({doubt.severity}, {doubt.code}): {doubt.sentence}" for doubt in self.doubts]
        if self.muted:
            lines.append(f"- muted: {', '.join(doubt.code for doubt in self.muted)}")
        lines += [f"- note: {note}" for note in self.notes]
        return printed(lines)

    @property
    def interval_parts(self) -> str:
        """How much of the interval is sampling noise, and how much is doubt, in words; empty for scores."""
        points, noise = 100 * (self.interval.high - self.interval.low), 100 * self.sampling_width
        # An interval that ends at 0 or at the ceiling would be wider: of what is left nothing can be said.
        if not self.learning_curve or self.interval.low <= 0 or noise > 0.95 * points:
            return ""
        return (
            f"Of the interval's {points:.1f} points {noise:.1f} are sampling noise; the others allow for structure "
            "that was perhaps not found."
        )

    @property
    def sampling_width(self) -> float:
        """Width that the interval would have if all structure were found, and only the number of rows limited it."""
        z = float(ndtri((1 + self.interval.confidence_level) / 2))
        noise = 2 * z * share_error(self.evidence["error"], self.evidence["n"])
        return min(noise, self.interval.high - self.interval.low)

    @property
    def chance(self) -> str:
        """Why fewer errors than the floor were counted, in words; empty if there were not."""
        if not self._is_below(self.evidence["error"]):
            return ""
        return "that is less than the floor by the chance of these rows, and would not last on new ones"

    def _is_below(self, error: float) -> bool:
        return bool(round(error, 3) < round(self.floor, 3))  # as they are printed

    def __repr__(self) -> str:
        low, high = self.interval.low, self.interval.high
        ceiling = "none" if self.ceiling is None else f"{self.ceiling:.4f}"
        many = f"{len(self.classes)} classes, {int(self.evidence.get('n', 0)):,} rows"
        doubts = f", {len(self.doubts)} doubt{'s' if len(self.doubts) > 1 else ''}" if self.doubts else ""
        return (
            f"FloorResult(floor={self.floor:.4f}, interval=({low:.4f}, {high:.4f}), ceiling={ceiling}, {many}{doubts})"
        )

    def _repr_html_(self) -> str:
        from ..report.notebook import result_html

        return result_html(self)

    def plot(self, comparison: Any = None, *, ax: Any = None) -> Any:
        """Draw the floor with its interval and the ceiling on one scale; with a `Comparison` the model, too.

        Parameters
        ----------
        comparison : Comparison, optional
            Of `compare`.
        ax : matplotlib axes, optional

        Returns
        -------
        matplotlib axes
        """
        from ..report.pictures import plot_floor

        return plot_floor(self, comparison, ax=ax)

    def pairs_frame(self, n: int | None = None) -> Any:
        """Pairs of classes that are mixed up, as a pandas frame: a row per direction, the largest share first.

        Parameters
        ----------
        n : int, optional
            How many at most.
        """
        from ..report.frames import pairs_frame

        return pairs_frame(self, n)

    def hardest_rows_frame(self, n: int = 20) -> Any:
        """The most ambiguous rows as a pandas frame with the index of the frame that was given.

        Parameters
        ----------
        n : int
            How many at most.
        """
        from ..report.frames import hardest_frame

        return hardest_frame(self, n)

    def suspect_rows_frame(self, n: int | None = 20) -> Any:
        """Rows whose label looks wrong as a pandas frame with the index of the frame that was given.

        Parameters
        ----------
        n : int or None
            How many at most; None for all.

        Examples
        --------
        ``frame.loc[result.suspect_rows_frame().index]`` shows them with all their columns.
        """
        from ..report.frames import suspects_frame

        return suspects_frame(self, n)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; single rows are left out."""
        return {"schema": _SCHEMA, **write_record(self)}

    def to_json(self) -> str:
        """JSON text that `from_json` reads back; `save` writes it to a file."""
        return json.dumps(self.to_dict())

    def to_html(
        self,
        *,
        title: str | None = None,
        comparison: Any = None,
        column_values: Any = None,
        table: Any = None,
        by: Any = None,
    ) -> str:
        """The report as text of one HTML page that needs no network; `save` writes it to a file.

        Parameters
        ----------
        title : str, optional
        comparison : Comparison, optional
            Of `compare`: draws the model beside the floor.
        column_values : ColumnValues, optional
            Of `column_values`: adds what each column is worth.
        table : Table or pandas.DataFrame, optional
            What the data were read from: gives row numbers of the file, its columns, and the values of single rows.
        by : Subgroups, optional
            Of `by`: shows for whom the floor is how high.

        Returns
        -------
        str
        """
        from ..report.page import render

        return render(self, title=title, comparison=comparison, column_values=column_values, table=table, by=by)

    def save(self, path: str | Path, *, force: bool = False, **page: Any) -> Path:
        """Write the result to a file, whole or not at all: as JSON for `load`, or as the report.

        Parameters
        ----------
        path : str or Path
            Ends with ``.json`` for the result, or with ``.html`` for the report.
        force : bool
            Overwrite the file if it exists.
        **page
            Parameters of `to_html`, for the report.

        Returns
        -------
        Path

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from bayesfloor import from_scores, problems
        >>> problem = problems.get("gaussians_4d")
        >>> X, y = problem.sample(300, random_state=0)
        >>> result = from_scores(problem.posterior(X), y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = result.save(Path(folder) / "floor.json")
        ...     FloorResult.load(path) == result
        True
        """
        texts = {".html": lambda: self.to_html(**page)}
        if not page:  # those are not for JSON
            texts[".json"] = lambda: self.to_json() + "\n"
        return save_text(path, texts, force=force)

    @classmethod
    def from_json(cls, text: str) -> "FloorResult":
        """Read a result written by `to_json`, of this version or an older one."""
        from .saved import read_result

        return read_result(text)

    @classmethod
    def load(cls, path: str | Path) -> "FloorResult":
        """Read a result that `save` has written to a JSON file; `--result` of the command reads such files, too."""
        from .saved import read_file

        return read_file(path)
