"""Dask frames with columns of any kind: kinds found from a sample of the rows, numbers made where the rows lie."""

import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._types import Codes, Counts, Floats, RowNumbers, Values
from ..errors import BayesfloorWarning, DataError, DataTypeError
from ..rows.cluster import dask_module
from .columns import Column, quoted
from .encoder import Surprises, TableEncoding, identifier_warning
from .on_disk import check_sample_rows, learn_from_sample
from .selection import (
    ChosenColumns,
    DrawnRows,
    chosen_columns,
    draw_by_class,
    factorize_groups,
    number_groups,
    places_between,
    rows_at_places,
)
from .table import plain_frame
from .table_file import InMemory, report_damage
from .target import Labels, PartLabels, check_labels, count_labels, settle_labels
from .text import DelimitedFile

__all__ = ["DaskTable", "encode_file_on_dask", "encode_on_dask"]


@dataclass(frozen=True, eq=False)
class DaskTable:
    """A table whose rows stay in the partitions of a Dask frame.

    Attributes
    ----------
    partitions : list of Delayed
        For each partition a pair (features, float64 of shape (n, m); positions in `classes`, int64), of the rows that
        have a label.
    sizes : ndarray
        Rows of each partition that have a label.
    features : tuple of str
        Names of the columns of the features.
    classes : ndarray
        Sorted distinct labels.
    columns : tuple of Column
        Every column of the frame and what became of it. Distinct values are counted in the rows that the kinds were
        found from, and so are missing ones without `persist`.
    notes : tuple of str
        What a reader should know, in words.
    groups : ndarray or None
        Codes of the groups of all rows that have a label, in their order.
    row_numbers : ndarray or None
        Numbers in the frame, from 0, of the rows that have a label; None if all have one.
    n_rows : int
        Rows of the frame, those without a label included.
    """

    partitions: list[Any]
    sizes: Counts
    features: tuple[str, ...]
    classes: Values
    columns: tuple[Column, ...]
    notes: tuple[str, ...]
    groups: Codes | None
    row_numbers: RowNumbers | None
    n_rows: int


def encode_file_on_dask(path: Path, *, header: bool | None = None, **options: Any) -> DaskTable:
    """`encode_on_dask` of a file that the workers read; `header` as in `read_table`.

    Dask converts Parquet without validating it, but offsets of text are not stored there, and indices of
    dictionaries are checked in the conversion: damage is an error of pyarrow's.
    """
    with report_damage(path.name, kinds=_damage_kinds()):
        frame, settle = _read_on_dask(path, header)
        return encode_on_dask(frame, **options, settle=settle, name=path.name)


def _damage_kinds() -> tuple[type[Exception], ...]:
    """What pyarrow raises of a damaged file: workers raise other errors, too. Names of columns come as bytes."""
    import pyarrow as pa

    return pa.ArrowException, OSError, EOFError, UnicodeDecodeError


def _read_on_dask(path: Path, header: bool | None) -> tuple[Any, Callable[[pd.DataFrame], pd.DataFrame] | None]:
    """A Dask frame of a file that the workers read, and what settles the type of labels that are read as text."""
    frames = dask_module("dask.dataframe")
    suffix = path.suffix.lower()
    if not path.exists():  # a folder of Parquet files will do
        raise DataError(f"there is no file {path} here: this machine and the workers must be able to read it")
    if suffix in (".parquet", ".pq"):
        return frames.read_parquet(str(path)), None
    if suffix not in (".csv", ".tsv"):
        raise DataError(f"workers of a cluster read Parquet and CSV: save {path.name} as one of them")
    # As text, as `read_table` does: "01" is a code, and kinds are found from all parts together.
    sep, file = "\t" if suffix == ".tsv" else ",", DelimitedFile(path, header=header)
    names: dict[str, Any] = {} if file.has_header else {"header": None, "names": list(file.names)}
    if file.n_above:
        names = {"header": None, "names": list(file.names), "skiprows": file.n_above}
    frame = frames.read_csv(str(path), sep=sep, dtype=str, keep_default_na=False, **names)
    return frame, lambda levels: file.settle(levels, list(levels.columns))


def encode_on_dask(
    frame: Any,
    *,
    target: str | int | None,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    groups: str | None = None,
    dtypes: Mapping[str, str] | None = None,
    random_state: int = 0,
    ask: Callable[[list[Any]], Sequence[Any]],
    persist: Callable[[list[Any]], list[Any]] | None = None,
    settle: Callable[[pd.DataFrame], pd.DataFrame] | None = None,
    sample_rows: int = 65_536,
    name: str = "frame",
) -> DaskTable:
    """Encode a Dask frame of labelled rows like `table_from_frame`, each partition where it lies.

    The frame is read three times, each time only the columns that are needed: its labels are counted, a sample of the
    rows says what the columns are, and all rows are encoded, when the result is computed. What comes here is the
    distinct labels, the sample, and for each row its group and whether it has a label.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
    target : str or int
        Column of the labels, by name or position.
    drop, keep, groups, dtypes
        As in `read_table`.
    random_state : int
        Draws the sample.
    ask : callable
        Computes a list of small delayed results.
    persist : callable, optional
        Keeps delayed partitions where they are made: then what the sample did not show is counted, too.
    settle : callable, optional
        Gives the distinct labels, a frame of one column, the type that they have in all rows together: for files that
        are read as text.
    sample_rows : int
        Rows that kinds, levels and medians of the columns are found from, drawn at random within each class. If the
        frame has no more, the numbers are those of `table_from_frame`.
    name : str
        What the table is called in messages.

    Returns
    -------
    DaskTable

    Raises
    ------
    DataError
        For anything about the sample or the labels that prevents an estimate. What cannot be read in other rows is
        told when the partitions are computed.

    Warns
    -----
    BayesfloorWarning
        If identifiers are left out.

    Examples
    --------
    >>> import dask
    >>> import dask.dataframe
    >>> rows = pd.DataFrame({"age": [20, 30, 40, 50], "home": ["own", "rent", "own", "own"], "buys": list("abab")})
    >>> frame = dask.dataframe.from_pandas(rows, npartitions=2)
    >>> table = encode_on_dask(frame, target="buys", ask=lambda parts: dask.compute(*parts))
    >>> table.features, table.partitions[0].compute()
    (('age', 'home=rent'), (array([[20.,  0.],
           [30.,  1.]]), array([0, 1])))
    """
    check_sample_rows(sample_rows)
    dask = dask_module("dask")
    if not hasattr(frame, "to_delayed") or not hasattr(frame, "columns") or getattr(frame, "ndim", 0) != 2:
        raise DataTypeError(f"a Dask frame is needed, got {type(frame).__name__}")
    lazily = functools.partial(dask.delayed, pure=False, traverse=False)
    as_text = plain_frame(frame._meta)
    columns = chosen_columns(InMemory(as_text), name, target, drop, keep, groups, dtypes=dtypes)
    own_names = dict(zip(as_text.columns, frame.columns, strict=True))

    def read(names: Sequence[str]) -> list[Any]:
        return list(frame[[own_names[column] for column in names]].to_delayed())

    surveys = ask([lazily(_count_labels)(part, columns.label) for part in read([columns.label])])
    labels = settle_labels(surveys, columns.label, settle or _same)
    if not labels.n_rows:
        raise DataError(f"{name} has column names but no rows")
    check_labels(labels.classes, labels.n_labelled, labels.name, labels.n_rows)
    starts = np.cumsum([0, *(survey.n_rows for survey in surveys)])[:-1].tolist()
    of_class = np.array([labels.counts_in(survey) for survey in surveys])
    sizes = of_class.sum(axis=1)

    known = lazily(labels)
    drawn = _split_draw(draw_by_class(labels.counts, sample_rows, random_state), of_class)
    asked = {}
    for number, part in enumerate(read(columns.used)):
        has_gaps = sizes[number] < surveys[number].n_rows
        if columns.group or has_gaps or any(len(places) for places in drawn[number]):
            look = functools.partial(_look, columns=columns, counts=of_class[number], drawn=drawn[number])
            asked[number] = lazily(look)(part, known)
    looks: dict[int, _Look] = dict(zip(asked, ask(list(asked.values())), strict=True))
    belonging = [look.groups for look in looks.values()] if columns.group else []
    group_codes = number_groups(belonging) if columns.group else None
    encoding = learn_from_sample(
        _join_sample(looks, starts), name, columns, labels, keep, ungrouped=belonging, groups=group_codes
    )
    identifiers = identifier_warning(encoding.columns)
    if identifiers:
        warnings.warn(identifiers, BayesfloorWarning, stacklevel=2)

    recipes = lazily(encoding)
    needed = [column for column in columns.used if column in {*encoding.used, columns.label}]
    encoded = [
        lazily(_encode)(part, known, recipes, start, size)
        for part, start, size in zip(read(needed), starts, sizes.tolist(), strict=True)
    ]
    surprises = None
    if persist is not None:
        encoded = persist(encoded)
        surprises = sum(ask([lazily(_surprises)(part) for part in encoded]), Surprises())
    unlabelled = [starts[number] + look.unlabelled for number, look in looks.items()]
    accounts, notes = encoding.count(labels.n_labelled, surprises)
    n_empty = sum(not survey.n_rows for survey in surveys)
    empty = (f"{n_empty} of {len(surveys)} partitions are empty",) if n_empty else ()
    return DaskTable(
        [lazily(_numbers)(part) for part in encoded],
        sizes,
        encoding.features,
        labels.classes,
        accounts,
        (*notes, *empty),
        group_codes,
        np.delete(np.arange(labels.n_rows), np.concatenate(unlabelled)) if sizes.sum() < labels.n_rows else None,
        labels.n_rows,
    )


def _split_draw(drawn: Sequence[RowNumbers], of_class: Counts) -> list[list[RowNumbers]]:
    """For each partition, places among its rows of each class."""
    after = np.cumsum(of_class, axis=0)
    return [places_between(drawn, high - own, high) for own, high in zip(of_class, after, strict=True)]


def _join_sample(looks: "dict[int, _Look]", starts: Sequence[int]) -> DrawnRows:
    """The rows that were drawn from all partitions, as they would lie in one frame."""
    some = {number: look for number, look in looks.items() if len(look.rows)}
    frames = _share_categories([look.frame for look in some.values()])
    return DrawnRows(
        pd.concat(frames, ignore_index=True),
        np.concatenate([starts[number] + look.rows for number, look in some.items()]),
        np.concatenate([look.codes for look in some.values()]),
    )


def _share_categories(frames: list[pd.DataFrame]) -> list[pd.DataFrame]:
    """Categories that differ between partitions made one: pandas would forget that they are categories."""
    for name, dtype in frames[0].dtypes.items():
        dtypes = [frame[name].dtype for frame in frames]
        if all(other == dtype for other in dtypes) or not all(isinstance(d, pd.CategoricalDtype) for d in dtypes):
            continue
        if any(d.ordered for d in dtypes):
            raise DataError(
                f"column {quoted(str(name))} has ordered categories that differ between partitions: give all "
                "partitions the same (set_categories)"
            )
        union = pd.CategoricalDtype(list(dict.fromkeys(level for d in dtypes for level in d.categories)))
        frames = [frame.assign(**{str(name): frame[name].astype(union)}) for frame in frames]
    return frames


# --- on the workers -----------------------------------------------------------------------------------------


def _count_labels(part: pd.DataFrame, label: str) -> PartLabels:
    return count_labels(plain_frame(part)[label], label)


@dataclass(frozen=True, eq=False)
class _Look:
    """What comes back of a partition: rows drawn, their numbers in it and classes; rows without a label; groups."""

    frame: pd.DataFrame
    rows: RowNumbers
    codes: Codes
    unlabelled: RowNumbers
    groups: tuple[Codes, list[str]]


def _look(
    part: pd.DataFrame, labels: Labels, *, columns: ChosenColumns, counts: Counts, drawn: Sequence[RowNumbers]
) -> _Look:
    part = plain_frame(part)
    codes = labels.codes(part[columns.label])
    has_label = codes >= 0
    if (np.bincount(codes[has_label], minlength=len(counts)) != counts).any():
        raise labels.changed()
    at = rows_at_places(codes, drawn)
    groups = factorize_groups(part[columns.group][has_label]) if columns.group else (codes[:0], [])
    return _Look(part.iloc[at], at, codes[at], np.flatnonzero(~has_label), groups)


def _encode(
    part: pd.DataFrame, labels: Labels, encoding: TableEncoding, start: int, size: int
) -> tuple[Floats, Codes, Surprises]:
    """Numbers and classes of the rows that have a label, the first row of the partition being the `start`-th."""
    part = plain_frame(part)
    codes = labels.codes(part[labels.name])
    at = np.flatnonzero(codes >= 0)
    if len(at) != size:
        raise labels.changed()
    surprises = Surprises()
    if not size:
        return np.empty((0, len(encoding.features))), codes[at], surprises
    return encoding.encode(part.iloc[at], start + at + 1, surprises), codes[at], surprises


def _same(levels: pd.DataFrame) -> pd.DataFrame:
    return levels


def _numbers(encoded: tuple[Floats, Codes, Surprises]) -> tuple[Floats, Codes]:
    return encoded[0], encoded[1]


def _surprises(encoded: tuple[Floats, Codes, Surprises]) -> Surprises:
    return encoded[2]
