"""Tables that do not fit into memory: encoded part by part, and written to disk as plain numbers."""

import contextlib
import errno
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from .._types import Codes, RowNumbers, Values
from ..errors import BayesfloorWarning, DataError, ParameterError
from ..rows.gaps import unlabelled_note
from ..utils.checks import brief
from .columns import Column
from .encoder import Surprises, TableEncoding, identifier_warning, learn_encoding
from .open import check_fits, n_rows_of, open_table
from .selection import ChosenColumns, DrawnRows, RawTable, chosen_columns, draw_rows, labels_of_file, ungrouped_note
from .table_file import TableFile
from .target import Labels, check_labels, class_notes

__all__ = ["DiskTable", "check_sample_rows", "encode_to_disk", "learn_from_sample"]

Progress = Callable[[str, int, int], None]

_BLOCK_BYTES = 2**25  # encoded at a time
_GIB = 2**30


@dataclass(frozen=True, eq=False)
class DiskTable:
    """A table of numbers on disk, and its labels.

    Attributes
    ----------
    X_path : Path
        Encoded features: float64, little-endian, row after row, nothing else.
    labels_path : Path
        Positions in `classes`: int64, little-endian.
    n_rows, n_features : int
    features : tuple of str
        Names of the columns of the features.
    classes : ndarray
        Sorted distinct labels.
    columns : tuple of Column
        Every column of the file and what became of it. Distinct values, and all about columns that are left out, are
        counted in the rows that the kinds were found from.
    notes : tuple of str
        What a reader should know, in words.
    n_file_rows : int
        Rows in the file, those without a label included.
    target : str
    unlabelled : ndarray
        Those without a label, counted from 0.
    """

    X_path: Path
    labels_path: Path
    n_rows: int
    n_features: int
    features: tuple[str, ...]
    classes: Values
    columns: tuple[Column, ...]
    notes: tuple[str, ...]
    n_file_rows: int
    target: str
    unlabelled: RowNumbers


def encode_to_disk(
    path: str | Path,
    folder: str | Path,
    *,
    target: str | int | None,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    random_state: int = 0,
    sample_rows: int = 65_536,
    header: bool | None = None,
    dtypes: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> DiskTable:
    """Encode a file of labelled rows like `read_table`, but write the numbers to disk, with a part in memory at a time.

    The file is read three times: its labels are counted, a sample of the rows says what the columns are, and all rows
    are encoded. ARFF and NPZ are held whole.

    Parameters
    ----------
    path : str or Path
        The file, in any format of `read_table`.
    folder : str or Path
        Where ``X.f8`` and ``labels.i8`` are written; it is made if it is not there.
    target, drop, keep, header, dtypes
        As in `read_table`.
    random_state : int
        Draws the sample.
    sample_rows : int
        Rows that kinds, levels and medians of the columns are found from, drawn at random within each class. If the
        file has no more, the numbers are those of `read_table`.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    DiskTable

    Raises
    ------
    DataError
        For anything about the file that prevents an estimate, and if the disk has too little room. Nothing is left
        in the folder then.

    Warns
    -----
    BayesfloorWarning
        If identifiers are left out.

    Examples
    --------
    >>> from importlib.resources import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     penguins = files("bayesfloor") / "data" / "penguins.csv"
    ...     table = encode_to_disk(penguins, folder, target="sex")
    ...     (table.n_rows, table.n_features), table.features[:2], table.classes.tolist()
    ((333, 11), ('species=Adelie', 'species=Chinstrap'), ['female', 'male'])
    """
    check_sample_rows(sample_rows)
    path, folder = Path(path), Path(folder)
    X_path, labels_path = folder / "X.f8", folder / "labels.i8"
    for exists in (X_path, labels_path):
        if exists.exists():
            raise ParameterError(f"{exists} exists already: choose another folder, or remove it")
    check_fits(path, max_rows=sample_rows)
    file = open_table(path, header=header)
    columns = chosen_columns(file, path.name, target, drop, keep, dtypes=dtypes)
    tell = progress or (lambda stage, done, total: None)
    labels = _count_labels(file, columns.label, path, tell)
    sample = draw_rows(
        file, columns, labels, sample_rows, random_state, lambda done: tell("finding kinds", done, labels.n_rows)
    )
    encoding = learn_from_sample(sample, path.name, columns, labels, keep, file.notes)
    identifiers = identifier_warning(encoding.columns)
    if identifiers:
        warnings.warn(identifiers, BayesfloorWarning, stacklevel=2)
    like = dict(sample.frame.dtypes)
    del sample
    with _whole_or_not_at_all(X_path, labels_path, 8 * labels.n_labelled * (len(encoding.features) + 1)) as files:
        surprises, unlabelled = _write(file, columns, labels, encoding, like, files, tell)
    accounts, notes = encoding.count(labels.n_labelled, surprises)
    return DiskTable(
        X_path,
        labels_path,
        labels.n_labelled,
        len(encoding.features),
        encoding.features,
        labels.classes,
        accounts,
        notes,
        labels.n_rows,
        columns.label,
        unlabelled,
    )


def check_sample_rows(sample_rows: int) -> None:
    """Refuse what is no number of rows to learn from."""
    if isinstance(sample_rows, bool) or not isinstance(sample_rows, int) or sample_rows < 2:
        raise ParameterError(f"sample_rows must be a whole number of at least 2, got {brief(sample_rows)}")


def _count_labels(file: TableFile, label: str, path: Path, tell: Progress) -> Labels:
    """First pass: distinct labels and their rows."""
    total = n_rows_of(path)
    tell("counting labels", 0, total or 1)
    labels = labels_of_file(file, label, lambda done: tell("counting labels", done, total) if total else None)
    if not total:
        tell("counting labels", 1, 1)
    if not labels.n_rows:
        raise DataError(f"{path.name} has column names but no rows")
    check_labels(labels.classes, labels.n_labelled, label, labels.n_rows)
    return labels


def learn_from_sample(
    sample: DrawnRows,
    name: str,
    columns: ChosenColumns,
    labels: Labels,
    keep: Sequence[str] = (),
    notes: Sequence[str] = (),
    ungrouped: Sequence[tuple[Codes, list[str]]] = (),
    groups: Codes | None = None,
) -> TableEncoding:
    """Second pass: how the columns of a table become numbers, from some of its rows; `groups` are those of all rows."""
    n_unlabelled = labels.n_rows - labels.n_labelled
    raw = RawTable(
        name,
        sample.frame[columns.features],
        labels.classes[sample.codes],
        groups,
        sample.rows + 1,
        (
            *notes,
            *unlabelled_note(n_unlabelled, labels.n_rows),
            *class_notes(labels.classes, labels.counts, labels.name),
            *ungrouped_note(ungrouped, columns.group),
        ),
        labels.n_rows,
        n_unlabelled,
        labels.name,
        columns.group,
        columns.left_out,
        columns.dtypes,
    )
    return learn_encoding(raw, keep)


def _write(
    file: TableFile,
    columns: ChosenColumns,
    labels: Labels,
    encoding: TableEncoding,
    like: Mapping[Any, Any],
    files: tuple[IO[bytes], IO[bytes]],
    tell: Progress,
) -> tuple[Surprises, RowNumbers]:
    """Third pass: every row that has a label, encoded and written; and the numbers of those without one."""
    surprises, unlabelled = Surprises(), [np.empty(0, dtype=np.int64)]
    needed = {*encoding.used, columns.label}
    block = max(1, _BLOCK_BYTES // (8 * len(encoding.features)))
    start = n_written = 0
    for part in file.chunks([n for n in columns.used if n in needed], [columns.label], like):
        codes = labels.codes(part[columns.label])
        at = np.flatnonzero(codes >= 0)
        for first in range(0, len(at), block):
            some = at[first : first + block]
            X = encoding.encode(part.iloc[some], start + some + 1, surprises)
            files[0].write(np.ascontiguousarray(X, dtype="<f8").data)
            files[1].write(np.ascontiguousarray(codes[some], dtype="<i8").data)
        unlabelled.append(start + np.flatnonzero(codes < 0))
        start += len(part)
        n_written += len(at)
        tell("encoding rows", start, labels.n_rows)
    if (start, n_written) != (labels.n_rows, labels.n_labelled):
        raise labels.changed()
    return surprises, np.concatenate(unlabelled)


@contextlib.contextmanager
def _whole_or_not_at_all(X_path: Path, labels_path: Path, needed: int) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Two files to write that get their names when all is well, and leave nothing behind when it is not."""
    folder = X_path.parent
    is_new = not folder.exists()
    written: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
        if needed > free:
            raise DataError(
                f"the encoded table needs {needed / _GIB:.1f} GiB in {folder} and {free / _GIB:.1f} GiB are free: "
                "choose a folder on another disk, or drop columns"
            )
        with contextlib.ExitStack() as opened:
            files = []
            for path in (X_path, labels_path):
                file = opened.enter_context(
                    tempfile.NamedTemporaryFile(dir=folder, prefix=f".{path.name}.", delete=False)
                )
                written.append(Path(file.name))
                files.append(file)
            yield files[0], files[1]
        umask = os.umask(0)
        os.umask(umask)
        for temporary, path in zip(tuple(written), (X_path, labels_path), strict=True):
            os.chmod(temporary, 0o666 & ~umask)  # temporary files are private
            os.replace(temporary, path)
            written.append(path)
    except BaseException as error:
        for path in written:
            path.unlink(missing_ok=True)
        if is_new and folder.is_dir():
            with contextlib.suppress(OSError):  # someone else put something into it
                folder.rmdir()
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise DataError(f"the disk of {folder} is full: {needed / _GIB:.1f} GiB are needed") from None
        if isinstance(error, PermissionError | FileExistsError | NotADirectoryError):
            raise ParameterError(f"cannot write in {folder}: {error.strerror}") from None
        raise
