"""Pictures of a result. Each function draws on the axes it is given, or on new ones, and returns them.

The data of each are in `bayesfloor.frames` under the same name: `plot_floor` draws `floor_frame`, and so on.
"""

import io
import math
from collections.abc import Callable, Mapping
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ..errors import DataError, ParameterError
from ..floor._compare import Comparison
from ..floor.abstention import Abstention
from ..floor.result import FloorResult
from ..floor.subgroups import Subgroups
from .frames import estimates_rows, extrapolation, floor_rows, learning_curve_rows

__all__ = [
    "classes_that_matter",
    "describe_floor",
    "page_svg",
    "plot_abstention",
    "plot_estimates",
    "plot_floor",
    "plot_learning_curve",
    "plot_pairs",
    "plot_subgroups",
    "short_label",
    "svg",
]

# The report puts these under names of its style sheet, so that they follow light and dark: one use, one colour.
INK, MUTED, LINE, ACCENT, MODEL, ALARM, PAPER = (
    "#1d2530",
    "#5a6472",
    "#c9d0d8",
    "#0b6e75",
    "#a8480b",
    "#b3261e",
    "#fefefe",
)


def plot_floor(result: FloorResult, comparison: Comparison | None = None, *, ax: Any = None) -> Any:
    """Draw the answer: a scale from 0 to the error of naming the largest class, with all that is known on it.

    Parameters
    ----------
    result : FloorResult
    comparison : Comparison, optional
        The model to draw beside the floor.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    ax = _axes(ax, (7.6, 2.0 if comparison is None else 2.5))
    rows = {row["name"]: row for row in floor_rows(result, comparison)}
    floor, worst = rows["floor"], rows["largest class"]["value"]
    ceiling = rows["ceiling"]["value"] if "ceiling" in rows else math.inf
    end = max(worst, floor["high"], min(ceiling, 1.2 * worst), rows.get("model", floor)["high"])
    top = 1.75 if comparison is not None else 1.0
    ax.plot([0, end], [0, 0], color=LINE, linewidth=3, solid_capstyle="round", zorder=1)
    ax.plot(
        [floor["low"], floor["high"]], [0, 0], color=ACCENT, alpha=0.45, linewidth=13, solid_capstyle="butt", zorder=2
    )
    ax.plot([floor["value"]], [0], marker="o", markersize=11, color=ACCENT, markeredgecolor=PAPER, zorder=4)
    _note(ax, floor["value"], 0.42, end, f"floor {_percent(floor['value'])}", ACCENT, "bold")
    if ceiling <= end:
        ax.plot([ceiling, ceiling], [-0.28, 0.28], color=INK, linewidth=2, zorder=3)
        _note(ax, ceiling, -0.72, end, f"ceiling {_percent(ceiling)}", INK)
    if comparison is not None:
        model = rows["model"]
        ax.plot([model["low"], model["high"]], [1.1, 1.1], color=MODEL, linewidth=3, solid_capstyle="butt")
        ax.plot([model["value"]], [1.1], marker="D", markersize=8, color=MODEL, markeredgecolor=PAPER, zorder=4)
        ax.plot([model["value"]] * 2, [0, 1.1], color=MODEL, linewidth=1, linestyle=":", zorder=1)
        _note(ax, model["value"], 1.42, end, f"your model {_percent(model['value'])}", MODEL, "bold")
    if worst <= end:
        ax.plot([worst, worst], [-0.14, 0.14], color=MUTED, linewidth=1.5, zorder=1)
    ax.set_xlim(-0.02 * end, 1.02 * end)
    ax.set_ylim(-1.05, top)
    ax.set_yticks([])
    _hide_spines(ax, "bottom")
    _percent_axis(ax.xaxis)
    name = short_label(result.classes[int(np.argmax(result.priors))])
    ax.set_xlabel(f"error; always naming {name} gives {_percent(worst)}", parse_math=False)
    return ax


def describe_floor(result: FloorResult, comparison: Comparison | None = None) -> str:
    """What stands for the picture of `plot_floor` where it is read aloud."""
    floor = floor_rows(result, comparison)[0]
    model = "" if comparison is None else f"your model {comparison.error:.1%}, "
    certified = "" if result.ceiling is None else f"ceiling {result.ceiling:.1%}, "
    return (
        f"A scale of error rates: floor {floor['value']:.1%}, interval {floor['low']:.1%} to {floor['high']:.1%}, "
        f"{certified}{model}always naming the largest class {result.majority_error:.1%}."
    )


def plot_learning_curve(result: FloorResult, *, ax: Any = None) -> Any:
    """Draw what the pooled classifiers err, and what they expect to, against their training rows.

    Beside them is the curve that leads to the floor.

    The dashed curve is floor + a n^-b through the errors: the floor is given to it, so that it shows whether the
    points agree with the floor and proves nothing by itself.

    Parameters
    ----------
    result : FloorResult
        With a learning curve: results of `from_scores` have none.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    rows = learning_curve_rows(result)
    if not rows:
        raise DataError("this result has no learning curve: it was made from scores, and nothing was trained")
    ax = _axes(ax, (7.6, 3.6))
    n = np.array([row["n_train"] for row in rows], dtype=float)
    x = np.geomspace(n[0] * 0.8, n[-1] * 8, 100)
    ax.fill_between(x, result.interval.low, result.interval.high, color=ACCENT, alpha=0.15, linewidth=0)
    ax.axhline(result.floor, color=ACCENT, linewidth=2)
    expected, found = ([row[key] for row in rows] for key in ("plugin", "error"))
    ax.plot(n, expected, color=MUTED, marker="s", markersize=5, linewidth=1, label="error they expect")
    ax.plot(n, found, color=INK, marker="o", markersize=7, linewidth=2, label="pooled classifiers' error")
    curve = extrapolation(result)
    if curve is not None:
        a, b = curve
        label = f"floor + a n^-{b:.2f}, drawn through the errors"
        ax.plot(x, result.floor + a * x**-b, color=INK, linewidth=1.5, linestyle="--", label=label)
    ax.set_xscale("log")
    ax.set_xlim(x[0], x[-1])
    ticks = [*n, n[-1] * 4]
    ax.set_xticks(ticks, [f"{tick:,.0f}" for tick in ticks])
    ax.set_xticks([], minor=True)
    ax.set_xlabel("training rows")
    highest = max([result.interval.high, *(row["error"] for row in rows), *(row["plugin"] for row in rows)])
    lowest = min([result.interval.low, *(row["plugin"] for row in rows), *(row["error"] for row in rows)])
    margin = 0.12 * (highest - lowest) or 0.01
    bottom = max(0.0, lowest - margin)
    ax.set_ylim(bottom, highest + 2.5 * margin)
    under = result.floor - bottom > margin  # below its line, where the curve never is, if there is a place
    place = {"xytext": (-4, -4 if under else 4), "textcoords": "offset points", "va": "top" if under else "bottom"}
    ax.annotate(
        f"floor {_percent(result.floor)}", (x[-1], result.floor), color=ACCENT, weight="bold", ha="right", **place
    )
    _percent_axis(ax.yaxis)
    ax.set_ylabel("error")
    _hide_spines(ax, "bottom", "left")
    ax.grid(axis="y", color=LINE, linewidth=0.5, alpha=0.6)
    # Above the axes, where no curve can be.
    columns = 3 if ax.figure.get_figwidth() > 6 else 1
    ax.legend(
        frameon=False,
        labelcolor=INK,
        fontsize="small",
        ncols=columns,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        borderaxespad=0,
    )
    return ax


def plot_estimates(result: FloorResult, *, ax: Any = None) -> Any:
    """Draw estimates, ceiling and bounds side by side; what contradicts the rest is marked.

    Parameters
    ----------
    result : FloorResult
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    rows = estimates_rows(result)
    ax = _axes(ax, (7.6, 0.9 + 0.32 * len(rows)))
    ax.axvspan(result.interval.low, result.interval.high, color=ACCENT, alpha=0.12, linewidth=0)
    ax.axvline(result.floor, color=ACCENT, linewidth=1.2)
    for y, row in enumerate(rows):
        colour = ALARM if row["conflict"] else ACCENT if row["name"] == "floor" else INK
        if row["high"] > row["low"]:
            ends = {} if row["kind"] != "bound" else {"marker": "|", "markersize": 8}
            ax.plot([row["low"], row["high"]], [y, y], color=colour, linewidth=2, solid_capstyle="butt", **ends)
        if row["value"] is not None:
            shape = "<" if row["kind"] == "certified" else "o"
            ax.plot([row["value"]], [y], color=colour, marker=shape, markersize=7, markeredgecolor=PAPER)
        if row["conflict"]:
            ax.text(row["high"], y, "  contradicts", color=ALARM, va="center", fontsize="small", weight="bold")
    ax.set_yticks(range(len(rows)), [short_label(row["name"], 32) for row in rows], parse_math=False)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlim(left=0)
    if any(row["conflict"] for row in rows):
        ax.set_xlim(right=1.18 * max(row["high"] for row in rows))
    _percent_axis(ax.xaxis)
    ax.set_xlabel("error")
    _hide_spines(ax, "bottom")
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=LINE, linewidth=0.5, alpha=0.6)
    return ax


def plot_pairs(result: FloorResult, *, n_classes: int = 15, label_length: int = 18, ax: Any = None) -> Any:
    """Draw which class loses to which: points of error, that add up to the floor, as a heat map.

    Parameters
    ----------
    result : FloorResult
    n_classes : int
        Of more classes only so many are drawn: those that lose and take most.
    label_length : int
        Longer labels are cut.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    from matplotlib.patches import Rectangle

    if isinstance(n_classes, bool) or not isinstance(n_classes, int) or n_classes < 2:
        raise ParameterError(f"n_classes must be a whole number, at least 2; got {n_classes!r}")
    chosen = classes_that_matter(result, n_classes)
    if not chosen:
        raise DataError("this result has no table of pairs: it was read from a page that left it out")
    table = np.array(result.pair_error)[np.ix_(chosen, chosen)]
    size = len(chosen)
    ax = _axes(ax, (min(7.6, 2.6 + 0.42 * size), 1.5 + 0.36 * size))
    largest = table.max() or 1.0
    letters = "x-small" if size > 10 else "small"
    for i, j in np.ndindex(size, size):
        if i == j:
            ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=LINE, alpha=0.35, linewidth=0))
            continue
        strength = table[i, j] / largest
        ax.add_patch(Rectangle((j - 0.47, i - 0.47), 0.94, 0.94, facecolor=ACCENT, alpha=strength, linewidth=0))
        if table[i, j] >= 0.0005:
            colour = PAPER if strength > 0.6 else INK
            ax.text(j, i, f"{100 * table[i, j]:.1f}", ha="center", va="center", color=colour, fontsize=letters)
    names = [short_label(result.classes[c], label_length) for c in chosen]
    slant = {} if sum(map(len, names)) < 30 else {"rotation": 50, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(range(size), names, parse_math=False, **slant)
    ax.set_yticks(range(size), names, parse_math=False)
    ax.set_xlim(-0.5, size - 0.5)
    ax.set_ylim(size - 0.5, -0.5)
    ax.tick_params(length=0)
    ax.set_xlabel("taken for")
    ax.set_ylabel("class")
    _hide_spines(ax)
    return ax


def plot_abstention(abstention: Abstention, *, ax: Any = None) -> Any:
    """Draw the lowest error on accepted cases over the share declined, and the certified pairs.

    Parameters
    ----------
    abstention : Abstention
        Of `FloorResult.abstention`.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    ax = _axes(ax, (7.6, 3.4))
    points = abstention.points
    shares = [point.share for point in points]
    ax.fill_between(
        shares,
        [point.interval.low for point in points],
        [point.interval.high for point in points],
        color=ACCENT,
        alpha=0.15,
        linewidth=0,
    )
    ax.plot([0.0, *shares], [abstention.floor, *(point.error for point in points)], color=ACCENT, linewidth=2)
    ax.plot(shares, [point.error for point in points], "o", color=ACCENT, markersize=7, markeredgecolor=PAPER)
    certified = [point for point in points if point.certified_share is not None]
    ax.plot(
        [point.certified_share for point in certified],
        [point.certified_error for point in certified],
        "s",
        color=MODEL,
        markersize=6,
        markeredgecolor=PAPER,
        label="certified together",
    )
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    for axis in (ax.xaxis, ax.yaxis):
        _percent_axis(axis)
    ax.set_xlabel("cases declined")
    ax.set_ylabel("error on the others")
    ax.grid(color=LINE, linewidth=0.5, alpha=0.6)
    if certified:
        ax.legend(frameon=False, labelcolor=INK)
    _hide_spines(ax, "bottom", "left")
    return ax


def plot_subgroups(subgroups: Subgroups, *, label_length: int = 24, ax: Any = None) -> Any:
    """Draw the floor of each subgroup with its interval, and the error of the model.

    Parameters
    ----------
    subgroups : Subgroups
        Of `FloorResult.by`.
    label_length : int
        Longer names are cut.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    groups = subgroups.groups
    ax = _axes(ax, (7.6, 1.0 + 0.34 * len(groups)))
    ax.axvline(subgroups.floor, color=ACCENT, linewidth=1.2)
    for y, group in enumerate(groups):
        ax.plot([group.interval.low, group.interval.high], [y, y], color=ACCENT, linewidth=2, solid_capstyle="butt")
        ax.plot([group.floor], [y], "o", color=ACCENT, markersize=7, markeredgecolor=PAPER)
        if group.model_error is not None:
            ax.plot([group.model_error], [y], "D", color=MODEL, markersize=6, markeredgecolor=PAPER)
    ax.set_yticks(range(len(groups)), [short_label(group.name, label_length) for group in groups], parse_math=False)
    ax.set_ylim(len(groups) - 0.5, -0.5)
    ax.set_xlim(left=0)
    _percent_axis(ax.xaxis)
    ax.set_xlabel("error within the subgroup")
    _hide_spines(ax, "bottom")
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=LINE, linewidth=0.5, alpha=0.6)
    return ax


def classes_that_matter(result: FloorResult, n: int) -> list[int]:
    """Codes of the classes that lose and take most of the floor, in the order of the classes."""
    table = np.array(result.pair_error)
    if table.ndim != 2:
        return []
    weight = table.sum(axis=0) + table.sum(axis=1)
    return sorted(int(c) for c in np.argsort(-weight, kind="stable")[:n])


def short_label(label: Any, limit: int = 24) -> str:
    r"""Text of a label that can be drawn: one line, printable, not too long.

    Examples
    --------
    >>> short_label("a label\nthat goes on and on and on")
    'a label that goes on an…'
    """
    text = " ".join(str(label)[: 20 * limit].split())
    text = "".join(c if c.isprintable() else "\ufffd" for c in text) or repr(str(label))
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "\u2026"


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ParameterError("pictures need matplotlib: pip install matplotlib") from None
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def _note(ax: Any, x: float, y: float, end: float, text: str, colour: str, weight: str = "normal") -> None:
    """Text at x that stays inside a scale from 0 to `end`."""
    side = "left" if x < 0.15 * end else "right" if x > 0.85 * end else "center"
    box = {"facecolor": PAPER, "edgecolor": "none", "pad": 1}  # over the line that leads down from the model
    ax.text(x, y, text, color=colour, ha=side, va="center", weight=weight, bbox=box)


def _percent(share: float) -> str:
    return f"{share:.1%}"


def _percent_axis(axis: Any) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.6g}%"))


def _hide_spines(ax: Any, *kept: str) -> None:
    for side, spine in ax.spines.items():
        spine.set_visible(side in kept)
        spine.set_color(MUTED)
    ax.tick_params(color=MUTED, labelcolor=INK)
    ax.xaxis.label.set_color(INK)
    ax.yaxis.label.set_color(INK)


# --- as files and for the page ------------------------------------------------------------------------------


def svg(ax: Any) -> bytes:
    """The figure of these axes as an SVG file, the same bytes each time; the figure is closed."""
    import matplotlib.pyplot as plt

    buffer = io.BytesIO()
    with plt.rc_context({"svg.hashsalt": "bayesfloor"}):
        ax.figure.savefig(buffer, format="svg", metadata={"Date": None})
    plt.close(ax.figure)
    return buffer.getvalue()


_SVG = "http://www.w3.org/2000/svg"
_REM_PER_INCH = 6.25
_LINK = "{http://www.w3.org/1999/xlink}href"


def page_svg(
    draw: Callable[[Any], Any],
    size: tuple[float, float],
    *,
    name: str,
    description: str,
    colours: Mapping[str, str],
    font_size: float = 9.0,
) -> str:
    """SVG to be put into a page: its text is text, its colours are the page's, its identifiers its own.

    Parameters
    ----------
    draw : callable
        Draws on the axes it is given.
    size : tuple of float
        In inches.
    name : str
        Distinguishes the identifiers in this picture from those of the others on the page.
    description : str
        Stands for the picture where it is read aloud.
    colours : mapping
        Colour that was drawn -> what the page calls it.
    font_size : float
    """
    from matplotlib import style
    from matplotlib.figure import Figure

    buffer = io.BytesIO()
    settings = {"svg.hashsalt": "bayesfloor", "svg.fonttype": "none", "font.size": font_size}
    with style.context(["default", settings]):  # whatever style the notebook has chosen
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots())
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    # Parsed, not searched: a label may look like anything.
    root = ElementTree.fromstring(buffer.getvalue())
    for element in list(root.iter()):
        for child in list(element):
            if child.tag.endswith(("metadata", "}style")):
                element.remove(child)
        _adapt(element, name, colours)
    for attribute in ("width", "height", "version"):
        root.attrib.pop(attribute, None)
    width = f"max-width: {size[0] * _REM_PER_INCH:.2f}rem"  # so that all pictures have letters of one size
    root.attrib.update({"role": "img", "aria-label": description, "style": width})
    ElementTree.register_namespace("", _SVG)
    return ElementTree.tostring(root, encoding="unicode")


def _adapt(element: ElementTree.Element, name: str, colours: Mapping[str, str]) -> None:
    attributes = element.attrib
    if "id" in attributes:
        attributes["id"] = f"{name}-{attributes['id']}"
    if _LINK in attributes:
        attributes["href"] = attributes.pop(_LINK).replace("#", f"#{name}-", 1)
    for key in ("clip-path", "style"):
        if key in attributes:
            attributes[key] = attributes[key].replace("url(#", f"url(#{name}-")
    for drawn, called in colours.items():
        if drawn in attributes.get("style", ""):
            attributes["style"] = attributes["style"].replace(drawn, called)
