"""The report: one self-contained HTML page of a result."""

import re
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..errors import DataTypeError, ParameterError
from ..floor._compare import Comparison
from ..floor.columns import ColumnValues
from ..floor.doubts import Doubt
from ..floor.result import FloorResult
from ..floor.subgroups import Subgroups
from . import frames, pictures
from .advice import n_suspects, next_steps
from .columns import describe_columns, plot_columns

__all__ = ["render"]

_ROWS = 50  # single rows listed at most
_COLUMNS = 500  # columns of the table listed at most
_CLASSES = 20  # classes whose shares are listed at most
_LARGEST_JSON = 1_000_000  # characters
_CELLS, _LONGEST_NAME = 12, 30  # values of a row that are shown, and how long they may be
_MOST_SERIOUS_FIRST = ("serious", "caution", "note")
_LONGEST, _LONGEST_LABEL = 200, 60  # characters of a text and of a label
_DRAWN, _DRAWN_NARROW = 15, 7  # classes in the heat map, on a wide and on a narrow screen
_DRAWN_COLUMNS = 20  # columns with a bar

_COLOURS = {
    pictures.INK: "var(--ink)",
    pictures.MUTED: "var(--muted)",
    pictures.LINE: "var(--line)",
    pictures.ACCENT: "var(--accent)",
    pictures.MODEL: "var(--model)",
    pictures.ALARM: "var(--alarm)",
    pictures.PAPER: "var(--paper)",
}


def render(
    result: FloorResult,
    *,
    title: str | None = None,
    comparison: Comparison | None = None,
    column_values: ColumnValues | None = None,
    table: Any = None,
    by: Subgroups | None = None,
) -> str:
    """Text of the page; see `FloorResult.to_html`."""
    if comparison is not None and not isinstance(comparison, Comparison):
        raise DataTypeError(f"comparison must be what compare returns, got {type(comparison).__name__}")
    if column_values is not None and not isinstance(column_values, ColumnValues):
        kind = type(column_values).__name__
        raise DataTypeError(f"column_values must be what column_values returns, got {kind}")
    if by is not None and not isinstance(by, Subgroups):
        raise DataTypeError(f"by must be what FloorResult.by returns, got {type(by).__name__}")
    missing = [name for name in ("jinja2", "matplotlib") if find_spec(name) is None]
    if missing:
        raise ParameterError(f"the report needs {' and '.join(missing)}: pip install {' '.join(missing)}")
    from markupsafe import Markup

    source, template = _template()
    embedded, complete = _embed(result)
    name = None if table is None else str(getattr(table, "name", "the frame"))
    columns = [] if table is None or hasattr(table, "iloc") else list(table.columns)
    hardest, suspects = (_number_rows(rows, result, table) for rows in (frames.hardest_rows, frames.suspects_rows))
    page: str = template.render(
        title=_text(title) if title else f"The floor of {_text(name)}" if name else "The floor",
        policy=_policy(source),
        result=result,
        comparison=comparison,
        level=f"{100 * result.interval.confidence_level:g}%",
        largest=result.classes[int(np.argmax(result.priors))],
        n_rows=_n_rows(result),
        classes=_classes(result),
        n_classes_shown=_CLASSES,
        pictures={key: Markup(svg) for key, svg in _pictures(result, comparison, column_values, by).items()},
        column_values=column_values,
        estimates=frames.estimates_rows(result),
        pairs=frames.pairs_rows(result, 15),
        abstention=result.abstention() if result.declining else None,
        by=by,
        hardest=hardest,
        suspects=suspects,
        has_values=any(row["values"] for row in hardest or ()),
        has_excerpts=bool(result.excerpts),
        has_index=result.index is not None or getattr(table, "index", None) is not None,
        n_suspects=n_suspects(result),
        file_name=name,
        columns=columns[:_COLUMNS],
        n_columns=len(columns),
        steps=next_steps(result, comparison),
        doubts=_doubts(result, comparison),
        embedded=Markup(embedded),
        complete=complete,
    )
    return page


@cache
def _template() -> tuple[str, Any]:
    """The template as it is written, and compiled: that takes longer than to fill it in."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(share=_share, points=_points, text=_text, label=_label, whole=_whole)
    source = files(__package__).joinpath("templates", "report.html.j2").read_text(encoding="utf-8")
    return source, environment.from_string(source)


def _pictures(
    result: FloorResult, comparison: Comparison | None, column_values: ColumnValues | None, by: Subgroups | None
) -> dict[str, str]:
    """Each picture twice, for wide and for narrow screens."""
    n_estimates = len(frames.estimates_rows(result))
    height = 1.75 if comparison is None else 2.4
    shown = len(pictures.classes_that_matter(result, _DRAWN))
    few = min(shown, _DRAWN_NARROW)
    # Name: what draws it, its size in inches on a wide and on a narrow screen.
    drawn: dict[str, tuple[Callable[[Any], Any], tuple[float, float], tuple[float, float]]] = {
        "floor": (lambda ax: pictures.plot_floor(result, comparison, ax=ax), (7.6, height), (4.0, height + 0.1)),
        "estimates": (
            lambda ax: pictures.plot_estimates(result, ax=ax),
            (7.6, 0.7 + 0.3 * n_estimates),
            (4.0, 0.8 + 0.32 * n_estimates),
        ),
    }
    if result.learning_curve:
        drawn["curve"] = (lambda ax: pictures.plot_learning_curve(result, ax=ax), (7.6, 3.3), (4.0, 3.2))
    if shown:
        wide = (min(7.6, 2.4 + 0.6 * shown), 1.2 + 0.34 * shown)
        drawn["pairs"] = (lambda ax: pictures.plot_pairs(result, n_classes=_DRAWN, ax=ax), wide, (4.0, 1.2 + 0.4 * few))
    if result.declining:
        curve = result.abstention()
        drawn["abstention"] = (lambda ax: pictures.plot_abstention(curve, ax=ax), (7.6, 3.3), (4.0, 3.2))
    if by is not None:
        high = 0.8 + 0.34 * len(by)
        drawn["by"] = (lambda ax: pictures.plot_subgroups(by, label_length=16, ax=ax), (7.6, high), (4.0, high))
    heard = _descriptions(result, comparison)
    if column_values is not None:
        height = 1.0 + 0.3 * min(_DRAWN_COLUMNS, len(column_values.columns))
        drawn["column_values"] = (_draw_columns(column_values), (7.6, height), (4.0, height + 0.2))
        heard["column_values"] = describe_columns(column_values)
    found = {}
    for name, (draw, wide, narrow) in drawn.items():
        found[name] = pictures.page_svg(draw, wide, name=name, description=heard[name], colours=_COLOURS)
        if name == "pairs":
            draw = _narrow_pairs(result)
        found[f"{name}_narrow"] = pictures.page_svg(
            draw, narrow, name=f"{name}-narrow", description=heard[name], colours=_COLOURS, font_size=10.5
        )
    return found


def _draw_columns(values: ColumnValues) -> Callable[[Any], Any]:
    return lambda ax: plot_columns(values, n_columns=_DRAWN_COLUMNS, label_length=16, ax=ax)


def _narrow_pairs(result: FloorResult) -> Callable[[Any], Any]:
    return lambda ax: pictures.plot_pairs(result, n_classes=_DRAWN_NARROW, label_length=10, ax=ax)


def _descriptions(result: FloorResult, comparison: Comparison | None) -> dict[str, str]:
    """What stands for each picture where it is read aloud."""
    points = ", ".join(f"{row['error']:.1%} with {row['n_train']:,}" for row in frames.learning_curve_rows(result))
    return {
        "floor": pictures.describe_floor(result, comparison),
        "estimates": "Estimates and bounds as points and lines on one scale; the table below has the same figures.",
        "curve": f"Error of the pooled classifiers against training rows: {points}. "
        f"The floor is drawn at {result.floor:.1%}.",
        "abstention": "The lowest error on accepted cases over the share declined; the table below has the figures.",
        "by": "The floor of each subgroup as a point with its interval; the table below has the figures.",
        "pairs": "Heat map of which class is taken for which; the table below lists the largest.",
    }


def _doubts(result: FloorResult, comparison: Comparison | None) -> list[Doubt]:
    """What speaks against the answer, the model's own signs included; the most serious first."""
    known = {doubt.code for doubt in (*result.doubts, *result.muted)}
    own = () if comparison is None else (doubt for doubt in comparison.doubts if doubt.code not in known)
    return sorted((*result.doubts, *own), key=lambda doubt: _MOST_SERIOUS_FIRST.index(doubt.severity))


def _number_rows(
    rows_of: Callable[[FloorResult, int], list[dict[str, Any]]], result: FloorResult, table: Any
) -> list[dict[str, Any]] | None:
    """Rows with their names or numbers, and their values where there is a table; None if single rows are not kept.

    Numbers of a file count from 1; a frame has its own index.
    """
    if result.posterior is None:
        return None
    rows = rows_of(result, _ROWS)
    index = result.index if result.index is not None else getattr(table, "index", None)
    of_file = getattr(table, "rows", None)
    for row in rows:
        row["excerpt"] = result.excerpts.get(row["row"], "")
        number = row["row"] if result.row_numbers is not None or of_file is None else int(of_file[row["row"]]) - 1
        if index is not None:
            row.update(row=number, name=index[number])
        elif of_file is not None:
            row.update(row=number + 1, name=number + 1)
        else:
            row.update(name=number)
        row["values"] = _values(table, number)
    return rows


def _values(table: Any, number: int) -> str:
    """What a row of a table holds, by row number from 0; empty if that is not at hand."""
    frame = getattr(table, "frame", None) if hasattr(table, "rows") else table
    if frame is None or not hasattr(frame, "iloc"):
        return ""
    at = int(np.searchsorted(table.rows, number + 1)) if hasattr(table, "rows") else number
    cells = [
        f"{pictures.short_label(name, _LONGEST_NAME)} {_cell(value)}"
        for name, value in zip(frame.columns[:_CELLS], frame.iloc[at, :_CELLS], strict=True)
    ]
    more = frame.shape[1] - _CELLS
    return ", ".join(cells) + (f" and {more:,} more" if more > 0 else "")


def _cell(value: Any) -> str:
    if value is None or value != value:
        return "-"
    is_number = isinstance(value, float | np.floating)
    return f"{value:.6g}" if is_number else pictures.short_label(value, _LONGEST_NAME)


def _n_rows(result: FloorResult) -> int:
    return len(result.posterior) if result.posterior is not None else int(result.evidence.get("n", 0))


def _classes(result: FloorResult) -> list[dict[str, Any]]:
    """Classes with their shares of rows and floor, the largest share of the floor first."""
    lost = result.class_error if result.pair_error else [0.0] * len(result.classes)
    order = np.argsort(-np.array(lost), kind="stable")[:_CLASSES]
    return [{"name": result.classes[c], "prior": result.priors[c], "lost": lost[c]} for c in map(int, order)]


def _policy(source: str) -> str:
    """What the page may do: run its own two scripts, draw, and nothing else."""
    scripts = re.findall("<script>(.*?)</script>", source, re.DOTALL)
    sums = [b64encode(sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{total}'" for total in sums)
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def _embed(result: FloorResult) -> tuple[str, bool]:
    """JSON of the result that no parser of HTML takes for markup, and whether it is complete."""
    text = _escape(result.to_json()) if len(result.classes) <= 400 else None
    if text is not None and len(text) <= _LARGEST_JSON:
        return text, True
    # The table of pairs grows with the square of the number of classes.
    text = _escape(replace(result, pair_error=()).to_json())
    return (text if len(text) <= _LARGEST_JSON else "{}"), False


def _escape(text: str) -> str:
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _share(value: float) -> str:
    return f"{value:.1%}" if value >= 0.00995 or value == 0 else f"{value:.2%}"


def _points(value: float) -> str:
    return f"{100 * value:.2f}"


def _whole(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _text(value: Any) -> str:
    """Text of the user's: printable and not too long; the template escapes it."""
    return pictures.short_label(value, _LONGEST)


def _label(value: Any) -> str:
    return pictures.short_label(value, _LONGEST_LABEL)
