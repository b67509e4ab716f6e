"""What columns are worth, as a table, as a picture, and as notebooks show it."""

from typing import Any

from ..errors import ParameterError
from ..floor.columns import ColumnValues
from . import pictures
from .frames import Record, _frame
from .notebook import boxed
from .pictures import _axes, _hide_spines, _percent_axis, short_label

__all__ = ["columns_frame", "columns_html", "columns_rows", "describe_columns", "plot_columns"]


def columns_rows(values: ColumnValues) -> list[Record]:
    """A row for each column, those first that the floor loses most without."""
    return [
        {
            "column": column.name,
            "loss": column.loss,
            "loss low": column.loss_interval.low,
            "loss high": column.loss_interval.high,
            "log-loss": column.log_loss,
            "log-loss low": column.log_loss_interval.low,
            "log-loss high": column.log_loss_interval.high,
            "alone": column.alone,
            "alone low": column.alone_interval.low,
            "alone high": column.alone_interval.high,
            "gain": column.gain,
            "gain low": column.gain_interval.low,
            "gain high": column.gain_interval.high,
            "verdict": column.verdict,
            "partners": ", ".join(column.partners),
        }
        for column in values.columns
    ]


def columns_frame(values: ColumnValues) -> Any:
    """The same as a pandas frame, indexed by the name of the column."""
    rows = columns_rows(values)
    return _frame(rows, list(rows[0])).set_index("column")


def plot_columns(values: ColumnValues, *, n_columns: int = 30, label_length: int = 24, ax: Any = None) -> Any:
    """Draw what the floor loses without each column: bars with intervals.

    Parameters
    ----------
    values : ColumnValues
    n_columns : int
        Of more columns only so many are drawn: those that matter most.
    label_length : int
        Longer names are cut.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    if isinstance(n_columns, bool) or not isinstance(n_columns, int) or n_columns < 1:
        raise ParameterError(f"n_columns must be a whole number, at least 1; got {n_columns!r}")
    shown = values.columns[:n_columns]
    ax = _axes(ax, (7.6, 1.0 + 0.3 * len(shown)))
    colours = {"golden": pictures.MODEL, "useful": pictures.ACCENT, "only together": pictures.ACCENT}
    for y, column in enumerate(shown):
        colour = colours.get(column.verdict, pictures.MUTED)
        interval = column.loss_interval
        ax.barh(y, max(0.0, column.loss), height=0.62, color=colour, alpha=0.45, linewidth=0)
        ax.plot([interval.low, interval.high], [y, y], color=colour, linewidth=2, solid_capstyle="butt")
        place = {"xytext": (5, 0), "textcoords": "offset points", "va": "center", "fontsize": "small"}
        ax.annotate(column.verdict, (interval.high, y), color=colour, **place)
    names = [short_label(column.name, label_length) for column in shown]
    ax.set_yticks(range(len(shown)), names, parse_math=False)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    longest = max(column.loss_interval.high for column in shown)
    ax.set_xlim(0, 1.3 * longest or 0.01)
    _percent_axis(ax.xaxis)
    ax.set_xlabel("lost without the column")
    _hide_spines(ax, "bottom")
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=pictures.LINE, linewidth=0.5, alpha=0.6)
    return ax


def describe_columns(values: ColumnValues) -> str:
    """What stands for the picture of `plot_columns` where it is read aloud."""
    first = ", ".join(f"{column.name} {100 * column.loss:.1f} points" for column in values.columns[:5])
    return f"Bars of what the floor loses without each column: {first}. The table below has all of them."


def columns_html(values: ColumnValues) -> str:
    """HTML for notebooks, without scripts; all text of the user's is escaped."""
    shown = min(len(values.columns), 30)
    interval = values.result.interval
    text = "\n".join(
        [
            f"floor of all columns  {values.floor:.2%}, interval {interval.low:.2%} to {interval.high:.2%}",
            *(f"- {sentence}" for sentence in values.sentences),
        ]
    )
    return boxed(lambda ax: plot_columns(values, ax=ax), (7.6, 1.0 + 0.3 * shown), describe_columns(values), text)
