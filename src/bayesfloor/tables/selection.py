"""Which columns and rows of a table are used, and their labels."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._types import Codes, RowNumbers
from ..errors import DataError, ParameterError
from ..utils.checks import listed
from .columns import present_text, quoted
from .open import check_fits, open_table
from .sampling import chosen_rows, label_codes, picked
from .table_file import TableFile
from .target import label_notes, labels_from

__all__ = ["ChosenColumns", "RawTable", "chosen_columns", "raw_table", "select"]


@dataclass(frozen=True, eq=False)
class RawTable:
    """Columns as they are in the file, for the rows that have a label."""

    name: str
    frame: pd.DataFrame
    y: NDArray[Any] | None
    groups: Codes | None
    rows: RowNumbers
    notes: tuple[str, ...]
    n_file_rows: int
    n_unlabelled: int
    target: str
    group_column: str
    left_out: tuple[str, ...]


def raw_table(
    path: str | Path,
    *,
    target: str | int | None = None,
    needs_target: bool = True,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    groups: str | None = None,
    max_rows: int | None = None,
    random_state: int = 0,
    holds_labels: bool = False,
) -> RawTable:
    """Columns of a file as they are; parameters as in `read_table`. `holds_labels`: all its columns are labels."""
    if max_rows is not None and (isinstance(max_rows, bool) or not isinstance(max_rows, int) or max_rows < 2):
        raise ParameterError(f"max_rows must be a whole number of at least 2, got {max_rows!r}")
    check_fits(path, max_rows=max_rows)
    file = open_table(path)
    return select(file, Path(path).name, target, drop, keep, groups, max_rows, random_state, needs_target, holds_labels)


def select(
    file: TableFile,
    name: str,
    target: str | int | None,
    drop: Sequence[str],
    keep: Sequence[str],
    groups: str | None,
    max_rows: int | None,
    random_state: int,
    needs_target: bool = True,
    holds_labels: bool = False,
) -> RawTable:
    """Settle which columns and rows are used, and read them."""
    columns = chosen_columns(file, name, target, drop, keep, groups, needs_target)
    label, group, used = columns.label, columns.group, columns.used
    notes = list(file.notes)
    if max_rows is not None and label:
        codes = label_codes(part[label] for part in file.chunks([label], [label]))
        at = chosen_rows(codes, max_rows, random_state)
        frame = file.settled(picked(file.chunks(used, [label]), at, used), [label])
        n_rows, n_unlabelled = len(codes), int((codes < 0).sum())
        if len(at) < n_rows - n_unlabelled:
            notes.append(f"a sample of {len(at):,} of {n_rows:,} rows, drawn within each class")
    else:
        frame = file.frame(used, [label] if label else used if holds_labels else ())
        at, n_rows, n_unlabelled = np.arange(len(frame)), len(frame), 0
    if not n_rows:
        raise DataError(f"{name} has column names but no rows")
    y = None
    if label:
        y, has_label = labels_from(frame[label], label)
        frame, at = frame[has_label].reset_index(drop=True), at[has_label]
        n_unlabelled += int((~has_label).sum())
        if n_unlabelled:
            notes.append(f"{n_unlabelled:,} of {n_rows:,} rows without a label dropped")
        notes += label_notes(y, label)
    group_numbers = None
    if group:
        # A row whose group is not known stands alone.
        codes = pd.factorize(present_text(frame[group]))[0].astype(np.int64)
        unknown = np.flatnonzero(codes < 0)
        codes[unknown] = codes.max(initial=0) + 1 + np.arange(len(unknown))
        group_numbers = codes
    return RawTable(
        name,
        frame[columns.features],
        y,
        group_numbers,
        at.astype(np.int64) + 1,
        tuple(notes),
        n_rows,
        n_unlabelled,
        label,
        group,
        columns.left_out,
    )


class ChosenColumns(NamedTuple):
    """Columns by name: labels and groups (or ""), features, all that are read, and those that are not."""

    label: str
    group: str
    features: list[str]
    used: list[str]
    left_out: tuple[str, ...]


def chosen_columns(
    file: TableFile,
    name: str,
    target: str | int | None,
    drop: Sequence[str],
    keep: Sequence[str],
    groups: str | None = None,
    needs_target: bool = True,
) -> ChosenColumns:
    """Settle which columns are used, and what for."""
    twice = sorted({n for n in file.names if file.names.count(n) > 1})
    if twice:
        raise DataError(f"{name} has more than one column named {listed([quoted(n) for n in twice])}: rename them")
    if target is None and needs_target and "y" in file.side_columns:
        target = "y"
    if target is None and needs_target:
        shown = listed([quoted(n) for n in file.names], 12)
        raise ParameterError(f"say which column of {name} holds the labels (target, --target): it has {shown}")
    label = "" if target is None else _found(file.names, target, "target", name)
    group = "" if groups is None else _found(file.names, groups, "groups", name)
    dropped = _names(file.names, drop, "drop", name)
    kept = _names(file.names, keep, "keep", name)
    if label and label in dropped:
        raise ParameterError(f"{quoted(label)} is the target: it cannot be dropped")
    if label and group == label:
        raise ParameterError(f"{quoted(label)} is the target: it cannot be the groups as well")
    side = [n for n in file.side_columns if n not in (label, group, *kept)]
    features = [n for n in file.names if n not in (label, group, *dropped, *side) and (not kept or n in kept)]
    if not features:
        raise DataError(
            f"no column of {name} is left to learn from: it has only {listed([quoted(n) for n in file.names])}"
        )
    used = [n for n in file.names if n in {*features, label, group}]
    return ChosenColumns(label, group, features, used, tuple(n for n in file.names if n not in used))


def _found(names: Sequence[str], wanted: str | int, what: str, where: str) -> str:
    """Column of this name, or at this position."""
    text = str(wanted)
    if text in names:
        return text
    try:
        position = int(text)
    except ValueError:
        near = difflib.get_close_matches(text, names, n=3, cutoff=0.5)
        near += [n for n in names if n.lower() == text.lower() and n not in near]
        hint = f"did you mean {' or '.join(quoted(n) for n in near)}?" if near else "it has "
        listing = "" if near else listed([quoted(n) for n in names], 12)
        raise DataError(f"{where} has no column {quoted(text)} ({what}): {hint}{listing}") from None
    if not -len(names) <= position < len(names):
        raise DataError(f"{where} has no column at position {position} ({what}): it has {len(names)} columns, from 0")
    return names[position]


def _names(names: Sequence[str], wanted: Sequence[str], what: str, where: str) -> list[str]:
    found = []
    for name in [wanted] if isinstance(wanted, str) else wanted:
        parts = str(name).split(",")
        if name not in names and len(parts) > 1 and all(part.strip() in names for part in parts):
            found += [part.strip() for part in parts]
        else:
            found.append(_found(names, name, what, where))
    return found
