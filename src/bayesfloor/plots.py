"""Pictures. Each function draws on the axes it is given and returns them.

Only this module and `result_plots` import matplotlib.
"""

import io
from collections.abc import Callable, Mapping
from typing import Any
from xml.etree import ElementTree

import numpy as np

from .leaderboard import ArenaResult
from .result_plots import plot_estimates, plot_floor, plot_learning_curve, plot_pairs

__all__ = [
    "page_svg",
    "plot_estimates",
    "plot_floor",
    "plot_leaderboard",
    "plot_learning_curve",
    "plot_pairs",
    "svg",
]


def plot_leaderboard(result: ArenaResult, *, ax: Any = None) -> Any:
    """Mean of estimate minus truth: a row per estimator, best on top, a column per problem.

    Red is too high, blue too low, white right; cells over 3 points off carry the figure. What failed has a cross.

    Parameters
    ----------
    result : ArenaResult
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    import matplotlib.pyplot as plt

    rows, cells = result.leaderboard(), result.by_problem()
    several = len({n for _, n in cells}) > 1
    table = np.array([[100 * cell.get(row.estimator, np.nan) for cell in cells.values()] for row in rows])
    if ax is None:
        size = (3.5 + 0.42 * len(cells), 1.8 + 0.36 * len(rows))
        _, ax = plt.subplots(figsize=size, layout="constrained")
    limit = 15.0
    ax.set_facecolor("0.85")
    image = ax.imshow(table, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
    for i, j in np.argwhere(np.abs(table) >= 3):
        colour = "white" if abs(table[i, j]) > 0.6 * limit else "black"
        ax.text(j, i, f"{table[i, j]:+.0f}", ha="center", va="center", fontsize=7, color=colour)
    for i, j in np.argwhere(np.isnan(table)):
        ax.text(j, i, "x", ha="center", va="center", fontsize=7, color="0.3")
    ax.set_xticks(
        range(len(cells)), [f"{name}, {n}" if several else name for name, n in cells], rotation=55, ha="right"
    )
    labels = [f"{row.estimator}  ({100 * row.mean_absolute_error:.1f})" for row in rows]
    ax.set_yticks(range(len(rows)), labels)
    ax.tick_params(length=0, labelsize=8)
    ax.set_title("Estimate minus true floor, in points (in brackets: mean absolute error)", fontsize=10)
    ax.figure.colorbar(image, ax=ax, shrink=0.6, extend="both", label="points")
    return ax


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
