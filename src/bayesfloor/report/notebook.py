"""A result as notebooks show it: the picture of floor, interval, ceiling and model, and the answer in words."""

import re
import zlib
from collections.abc import Callable
from html import escape
from typing import Any

from ..floor._compare import Comparison
from ..floor.result import FloorResult
from . import pictures

__all__ = ["boxed", "comparison_html", "result_html"]

# Of its own colours, whatever those of the notebook are: pictures have dark letters.
_BOX = (
    f"max-width: 50rem; padding: .75rem 1rem; border-radius: .5rem; background: {pictures.PAPER}; "
    f"color: {pictures.INK}; font-family: sans-serif; line-height: 1.5; overflow-wrap: anywhere"
)
_QUIET = f"color: {pictures.MUTED}; font-size: .9em"


def result_html(result: FloorResult) -> str:
    """HTML of a result, without scripts; all text of the user's is escaped."""
    return _box(result, None, str(result))


def comparison_html(comparison: Comparison) -> str:
    """HTML of a model beside the floor."""
    if comparison.result is None:
        return f'<div style="{_BOX}">{_paragraphs(str(comparison))}</div>'
    return _box(comparison.result, comparison, str(comparison))


def _box(result: FloorResult, comparison: Comparison | None, text: str) -> str:
    size = (7.6, 1.75 if comparison is None else 2.4)
    description = pictures.describe_floor(result, comparison)
    return boxed(lambda ax: pictures.plot_floor(result, comparison, ax=ax), size, description, text)


def boxed(draw: Callable[[Any], Any], size: tuple[float, float], description: str, text: str) -> str:
    """A picture, and text below it."""
    # Identifiers in the picture must differ between the outputs of a notebook.
    name = f"bayesfloor-{zlib.crc32(text.encode('utf-8', 'backslashreplace')):08x}"
    picture = pictures.page_svg(draw, size, name=name, description=description, colours={})
    return f'<div style="{_BOX}">{picture}{_paragraphs(text)}</div>'


def _paragraphs(text: str) -> str:
    """Lines as paragraphs, which wrap; those of doubts and notes as a list."""
    lines = [line for line in text.splitlines() if line.strip()]
    plain = "".join(
        f'<p style="margin: .3rem 0">{escape(_sentence(line))}</p>' for line in lines if not line.startswith("- ")
    )
    listed = "".join(f"<li>{escape(line[2:])}</li>" for line in lines if line.startswith("- "))
    return plain + (f'<ul style="margin: .3rem 0; {_QUIET}">{listed}</ul>' if listed else "")


def _sentence(line: str) -> str:
    """A line whose columns are set apart by spaces, with signs instead."""
    name, *others = re.split(" {2,}", line.strip())
    return f"{name}: {', '.join(others)}" if others else name
