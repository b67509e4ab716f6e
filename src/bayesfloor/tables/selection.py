"""Which columns and rows of a table are used, and their labels."""

import contextlib
import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .._types import Codes, Counts, RandomSeed, RowNumbers, Values
from ..errors import DataError, ParameterError
from ..rows.gaps import unlabelled_note
from ..utils.checks import brief, check_whole, listed, seed_from
from ..utils.parallel import Progress
from .columns import present_text, quoted
from .open import check_fits, open_table
from .problems import Problems
from .table_file import TableFile
from .target import Labels, PartLabels, count_labels, label_notes, labels_from, settle_labels

__all__ = [
    "DTYPES",
    "ChosenColumns",
    "DrawnRows",
    "RawTable",
    "check_dtypes",
    "chosen_columns",
    "draw_by_class",
    "draw_rows",
    "factorize_groups",
    "labels_of_file",
    "number_groups",
    "places_between",
    "raw_table",
    "rows_at_places",
    "select",
    "ungrouped_note",
]

DTYPES = ("categorical", "text", "numeric", "date")
_FEWEST = 5  # rows of a class; with fewer nothing can be estimated


@dataclass(frozen=True, eq=False)
class RawTable:
    """Columns as they are in the file, for the rows that have a label."""

    name: str
    frame: pd.DataFrame
    y: Values | None
    groups: Codes | None
    rows: RowNumbers
    notes: tuple[str, ...]
    n_file_rows: int
    n_unlabelled: int
    target: str
    group_column: str
    left_out: tuple[str, ...]
    dtypes: Mapping[str, str] = field(default_factory=dict)


def raw_table(
    path: str | Path,
    *,
    target: str | int | None = None,
    needs_target: bool = True,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    groups: str | None = None,
    max_rows: int | None = None,
    random_state: RandomSeed = 0,
    holds_labels: bool = False,
    header: bool | None = None,
    dtypes: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    problems: Problems | None = None,
) -> RawTable:
    """Columns of a file as they are; parameters as in `read_table`.

    `holds_labels`: all its columns are labels. `problems` collects what is wrong; without it that is raised.
    """
    seed = _check_rows(max_rows, random_state)
    check_fits(path, max_rows=max_rows)
    file = open_table(path, header=header)
    file.progress = progress
    name = Path(path).name
    return select(
        file, name, target, drop, keep, groups, max_rows, seed, needs_target, holds_labels, problems, dtypes=dtypes
    )


def select(
    file: TableFile,
    name: str,
    target: str | int | None,
    drop: Sequence[str],
    keep: Sequence[str],
    groups: str | None,
    max_rows: int | None,
    random_state: RandomSeed,
    needs_target: bool = True,
    holds_labels: bool = False,
    problems: Problems | None = None,
    *,
    dtypes: Mapping[str, str] | None = None,
) -> RawTable:
    """Settle which columns and rows are used, and read them.

    What is wrong is collected in `problems`; what is returned then has no labels, and where columns were named that are
    not there, the first rows only: enough to find out what else is wrong.
    """
    seed = _check_rows(max_rows, random_state)
    columns = chosen_columns(file, name, target, drop, keep, groups, needs_target, problems, dtypes=dtypes)
    label = columns.label
    notes = list(file.notes)
    if problems:
        return _first_rows(file, name, columns)
    if max_rows is not None and label:
        labels = labels_of_file(file, label)
        frame, at, codes = draw_rows(file, columns, labels, max_rows, seed)
        y: Values | None = labels.classes[codes]
        n_rows, n_unlabelled = labels.n_rows, labels.n_rows - labels.n_labelled
        if len(at) < labels.n_labelled:
            notes.append(f"a sample of {len(at):,} of {n_rows:,} rows, drawn within each class")
    else:
        frame = file.frame(columns.used, [label] if label else columns.used if holds_labels else ())
        y, at, n_rows, n_unlabelled = None, np.arange(len(frame)), len(frame), 0
        if label and n_rows:
            with contextlib.nullcontext() if problems is None else problems.collect():
                y, has_label = labels_from(frame[label], label)
                frame, at = frame[has_label].reset_index(drop=True), at[has_label]
                n_unlabelled = int((~has_label).sum())
    if not n_rows:
        raise DataError(f"{name} has column names but no rows")
    notes += unlabelled_note(n_unlabelled, n_rows)
    if y is not None:
        notes += label_notes(y, label)
    group = None
    if columns.group:
        found = [factorize_groups(frame[columns.group])]
        group = number_groups(found)
        notes += ungrouped_note(found, columns.group)
    return RawTable(
        name,
        frame[columns.features],
        y,
        group,
        at.astype(np.int64) + 1,
        tuple(notes),
        n_rows,
        n_unlabelled,
        label,
        columns.group,
        columns.left_out,
        columns.dtypes,
    )


def _first_rows(file: TableFile, name: str, columns: "ChosenColumns") -> RawTable:
    frame = pd.DataFrame({column: [] for column in columns.features}, dtype=object)
    if columns.features:
        part = next(iter(file.chunks(columns.features)), frame)
        frame = file.settle(part[columns.features].reset_index(drop=True)) if len(part) else frame
    rows = np.arange(1, len(frame) + 1)
    return RawTable(
        name, frame, None, None, rows, (), len(frame), 0, columns.label, "", columns.left_out, columns.dtypes
    )


def _check_rows(max_rows: Any, random_state: Any) -> int:
    """The seed."""
    if max_rows is not None:
        check_whole("max_rows", max_rows, 2)
    return seed_from(random_state)


class ChosenColumns(NamedTuple):
    """Columns by name: labels and groups (or ""), features, all that are read, those that are not; stated types."""

    label: str
    group: str
    features: list[str]
    used: list[str]
    left_out: tuple[str, ...]
    dtypes: dict[str, str]


def chosen_columns(
    file: TableFile,
    name: str,
    target: str | int | None,
    drop: Sequence[str],
    keep: Sequence[str],
    groups: str | None = None,
    needs_target: bool = True,
    problems: Problems | None = None,
    *,
    dtypes: Mapping[str, str] | None = None,
) -> ChosenColumns:
    """Settle which columns are used, and what for; what is wrong is told together, or left to the caller."""
    found = Problems(name) if problems is None else problems
    twice = sorted(n for n, times in Counter(file.names).items() if times > 1)
    if twice:
        raise DataError(
            f"{name} has more than one column named {listed([quoted(n) for n in twice])}: rename them, or say that "
            "the first line holds no names (header=False, --no-header)"
        )
    if target is None and needs_target and "y" in file.side_columns:
        target = "y"
    label = group = ""
    with found.collect():
        if target is None and needs_target:
            shown = listed([quoted(n) for n in file.names], 12)
            raise ParameterError(f"say which column of {name} holds the labels (target, --target): it has {shown}")
        label = "" if target is None else _find(file.names, target, "target", name)
    with found.collect():
        group = "" if groups is None else _find(file.names, groups, "groups", name)
        if label and group == label:
            raise ParameterError(f"{quoted(label)} is the target: it cannot be the groups as well")
    dropped = _names(file.names, drop, "drop", name, found)
    kept = _names(file.names, keep, "keep", name, found)
    stated = _stated(file.names, dtypes, name, {label: "target", group: "groups"}, found)
    file.as_text = tuple(column for column, kind in stated.items() if kind != "numeric")
    with found.collect():
        if label and label in dropped:
            raise ParameterError(f"{quoted(label)} is the target: it cannot be dropped")
    # Sets: files may have a hundred thousand columns.
    side = {*file.side_columns} - {label, group, *kept}
    wanted = ({*kept} if kept else {*file.names}) - {label, group, *dropped} - side
    features = [n for n in file.names if n in wanted]
    with found.collect():
        if not features:
            raise DataError(
                f"no column of {name} is left to learn from: it has only {listed([quoted(n) for n in file.names])}"
            )
    if problems is None:
        found.tell()
    read = {*features, label, group}
    used = [n for n in file.names if n in read]
    left_out = tuple(n for n in file.names if n not in read)
    return ChosenColumns(label, group, features, used, left_out, dict.fromkeys(file.categories, "declared") | stated)


def check_dtypes(dtypes: Any) -> dict[Any, str]:
    """What columns are stated to be, by name.

    Examples
    --------
    >>> check_dtypes({"zip": "categorical"}), check_dtypes(None)
    ({'zip': 'categorical'}, {})
    """
    about = f"dtypes must be a mapping of columns to {', '.join(map(repr, DTYPES))}"
    if dtypes is None:
        return {}
    if not isinstance(dtypes, Mapping):
        raise ParameterError(f"{about}; got {brief(dtypes)}")
    for column, kind in dtypes.items():
        if isinstance(column, bool) or not isinstance(column, str | int):
            raise ParameterError(f"{about}; got the column {brief(column)}")
        if not isinstance(kind, str) or kind not in DTYPES:
            raise ParameterError(f"{about}; got {brief(kind)} for {brief(column)}")
    return dict(dtypes)


def _stated(
    names: Sequence[str], dtypes: Any, where: str, taken: Mapping[str, str], problems: Problems
) -> dict[str, str]:
    """Stated types by column."""
    found: dict[str, str] = {}
    for column, kind in check_dtypes(dtypes).items():
        for name in _names(names, [column], f"dtypes, --{kind}", where, problems):
            with problems.collect():
                if name in taken:
                    raise ParameterError(f"{quoted(name)} is the {taken[name]}: leave it out of dtypes")
                if found.setdefault(name, kind) != kind:
                    raise ParameterError(f"{quoted(name)} is stated to be {found[name]} and {kind}: state it once")
    return found


def _find(names: Sequence[str], wanted: str | int, what: str, where: str) -> str:
    """Column of this name, or at this position."""
    text = wanted if isinstance(wanted, str) else brief(wanted, 1000)
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


def _names(names: Sequence[str], wanted: Sequence[str], what: str, where: str, problems: Problems) -> list[str]:
    found = []
    try:
        several = [wanted] if isinstance(wanted, str) else list(wanted)
    except TypeError:
        raise ParameterError(f"{what} must be a list of columns, got {brief(wanted)}") from None
    for name in several:
        parts = [part.strip() for part in name.split(",")] if isinstance(name, str) else []
        for part in parts if name not in names and len(parts) > 1 else [name]:
            with problems.collect():
                found.append(_find(names, part, what, where))
    return found


# --- rows ---------------------------------------------------------------------------------------------------


def labels_of_file(file: TableFile, label: str, tell: Callable[[int], None] | None = None) -> Labels:
    """Read the column of the labels through; `tell` is told how many rows are done."""

    def parts() -> Iterator[PartLabels]:
        n_rows = 0
        for part in file.chunks([label], [label]):
            yield count_labels(part[label], label)
            n_rows += len(part)
            if tell is not None:
                tell(n_rows)

    return settle_labels(parts(), label, lambda frame: file.settle(frame, [label]))


class DrawnRows(NamedTuple):
    """Rows of a sample, ascending: the columns that are read, row numbers from 0, and the class of each."""

    frame: pd.DataFrame
    rows: RowNumbers
    codes: Codes


def draw_rows(
    file: TableFile,
    columns: "ChosenColumns",
    labels: Labels,
    max_rows: int,
    random_state: int,
    tell: Callable[[int], None] | None = None,
) -> DrawnRows:
    """Read a stratified sample of the rows that have a label; all of them if there are no more."""
    drawn = draw_by_class(labels.counts, max_rows, random_state)
    before = np.zeros(len(drawn), dtype=np.int64)  # rows of each class in the parts that are done
    none = pd.DataFrame({column: [] for column in columns.used}, dtype=object)
    found, start = [DrawnRows(none, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))], 0
    for part in file.chunks(columns.used, [columns.label]):
        codes = labels.codes(part[columns.label])
        after = before + np.bincount(codes[codes >= 0], minlength=len(drawn))
        at = rows_at_places(codes, places_between(drawn, before, after))
        if len(at):
            found.append(DrawnRows(part.iloc[at], start + at, codes[at]))
        before, start = after, start + len(part)
        if tell is not None:
            tell(start)
    frames, rows, codes_of = zip(*(found[1:] or found), strict=True)
    frame = file.settle(pd.concat(frames, ignore_index=True), [columns.label]) if len(found) > 1 else none
    return DrawnRows(frame, np.concatenate(rows), np.concatenate(codes_of))


def draw_by_class(counts: Counts, max_rows: int, random_state: int) -> list[RowNumbers]:
    """A stratified sample: for each class, places among its rows, ascending.

    Each class has its share, but five rows where it has so many; all rows are drawn if there are no more.

    Examples
    --------
    >>> [len(places) for places in draw_by_class(np.array([900, 100, 3]), 100, random_state=0)]
    [90, 10, 3]
    """
    rng = np.random.default_rng(random_state)
    return [
        np.sort(rng.choice(count, share, replace=False, shuffle=False)) if share < count else np.arange(count)
        for count, share in zip(counts.tolist(), _shares(counts, max_rows).tolist(), strict=True)
    ]


def _shares(counts: Counts, max_rows: int) -> Counts:
    if counts.sum() <= max_rows:
        return counts
    exact = counts * (max_rows / counts.sum())
    share = np.floor(exact).astype(np.int64)
    largest_remainders = np.argsort(share - exact, kind="stable")[: max_rows - share.sum()]
    share[largest_remainders] += 1
    return np.minimum(np.maximum(share, _FEWEST), counts)


def places_between(drawn: Sequence[RowNumbers], before: Counts, after: Counts) -> list[RowNumbers]:
    """The draw within one part of the table, that comes after so many rows of each class and ends with so many."""
    return [
        places[slice(*np.searchsorted(places, [low, high]))] - low
        for places, low, high in zip(drawn, before.tolist(), after.tolist(), strict=True)
    ]


def rows_at_places(codes: Codes, drawn: Sequence[RowNumbers]) -> RowNumbers:
    """Rows of a part, ascending, by their places among the rows of each class.

    Examples
    --------
    >>> rows_at_places(np.array([1, 0, -1, 1, 1]), [np.array([0]), np.array([0, 2])]).tolist()
    [0, 1, 4]
    """
    order = np.argsort(codes, kind="stable")
    first = np.searchsorted(codes[order], np.arange(len(drawn)))
    chosen = [order[start + places] for start, places in zip(first, drawn, strict=True)]
    return np.sort(np.concatenate([*chosen, np.empty(0, dtype=np.int64)]))


# --- groups -------------------------------------------------------------------------------------------------


def factorize_groups(column: "pd.Series[Any]") -> tuple[Codes, list[str]]:
    """Which group each row has, -1 where it is not known, and the groups in the order in which they appear."""
    codes, found = pd.factorize(present_text(column))
    return codes.astype(np.int64), list(found)


def ungrouped_note(parts: Iterable[tuple[Codes, list[str]]], name: str) -> list[str]:
    """What a reader should know of rows without a group."""
    codes = np.concatenate([np.empty(0, dtype=np.int64), *(codes for codes, _ in parts)])
    n_alone = int((codes < 0).sum())
    missing = f"{n_alone:,} of {len(codes):,} rows have no {quoted(name)}"
    return [f"{missing}: each is a group of its own"] if n_alone else []


def number_groups(parts: Iterable[tuple[Codes, list[str]]]) -> Codes:
    """Numbers of the groups of all parts; a row whose group is not known stands alone."""
    places: dict[str, int] = {}
    numbers = [np.empty(0, dtype=np.int64)]
    for codes, found in parts:
        own = np.array([*(places.setdefault(group, len(places)) for group in found), -1], dtype=np.int64)
        numbers.append(own[codes])
    groups = np.concatenate(numbers)
    unknown = np.flatnonzero(groups < 0)
    groups[unknown] = groups.max(initial=0) + 1 + np.arange(len(unknown))
    return groups
