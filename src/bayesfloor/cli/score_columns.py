"""Columns of a file of scores: which of them belong to which class."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from .._types import Floats
from ..errors import DataError
from ..utils.checks import listed

__all__ = ["columns_of_classes", "scores_by_class", "scores_from"]


def columns_of_classes(names: Sequence[str], classes: Sequence[str]) -> list[str] | None:
    """Columns named after the classes, one for each, where there are others besides; None if there are not.

    Examples
    --------
    >>> columns_of_classes(["row", "p_no", "p_yes"], ["no", "yes"])
    ['p_no', 'p_yes']
    >>> columns_of_classes(["row", "p_no"], ["no", "yes"])
    """
    if len(names) <= len(classes):
        return None
    for spelt in (list(names), [_bare(name) for name in names]):
        if all(spelt.count(label) == 1 for label in classes):
            return [names[spelt.index(label)] for label in classes]
    return None


def _bare(name: str) -> str:
    return re.sub(r"^(p|prob|proba|probability|logit|score)[ _:.-]+", "", name.strip(), flags=re.IGNORECASE)


def scores_by_class(scores: Floats, names: Sequence[str], classes: Sequence[str]) -> tuple[Floats, str]:
    """Scores in the order of the classes, and a sentence on how that was found.

    Examples
    --------
    >>> scores_by_class(np.array([[0.1, 0.9]]), ["p_no", "p_yes"], ["no", "yes"])[1]
    'scores of the classes by the names of their columns: no = p_no, yes = p_yes'
    >>> scores_by_class(np.array([[0.1]]), ["p_no"], ["no", "yes"])[0].tolist()
    [[0.9]]
    """
    bare = [_bare(name) for name in names]
    for spelt in (list(names), bare):
        if set(spelt) == set(classes):
            pairs = [f"{label} = {names[spelt.index(label)]}" for label in classes]
            order = [spelt.index(label) for label in classes]
            return scores[:, order], f"scores of the classes by the names of their columns: {listed(pairs)}"
    matched = [name for name, plain_name in zip(names, bare, strict=True) if {name, plain_name} & set(classes)]
    if len(names) == 1:
        if {names[0], bare[0]} & {classes[0]}:
            probable = bool(((scores >= 0) & (scores <= 1)).all())
            return (1 - scores if probable else -scores), f"{names[0]!r} is taken for the score of class {classes[0]!r}"
        return scores, f"{names[0]!r} is taken for the score of class {classes[1]!r}"
    if matched:
        others = [repr(name) for name in names if name not in matched]
        raise DataError(
            f"the columns {listed(others)} have the name of no class ({listed(list(classes))}): name each column of "
            "scores after its class, leave others out (--drop), or name none"
        )
    pairs = [f"{label} = {name}" for label, name in zip(classes, names, strict=True)]
    return scores, f"no column is named like a class; taken in the order of the sorted labels: {listed(pairs)}"


def scores_from(frame: pd.DataFrame, rows: Any) -> Floats:
    """Columns that are all numbers, none missing, as they are."""
    values = np.empty(frame.shape)
    for j, name in enumerate(frame.columns):
        column = pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        bad = np.flatnonzero(~np.isfinite(column))
        if len(bad):
            raise DataError(
                f"column {name!r} holds {str(frame[name].iloc[bad[0]])[:40]!r} in row {rows[bad[0]]}, which is no "
                "score: leave the column out (--drop) or correct it"
            )
        values[:, j] = column
    return values
