"""Tables that do not fit into memory: encoded part by part, and written to disk as plain numbers."""

import contextlib
import errno
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._types import Codes, Counts, Floats, RowNumbers
from ..errors import BayesfloorWarning, DataError, ParameterError
from .columns import Column
from .encoder import Surprises, TableEncoding, identifier_warning, learn_encoding
from .label_levels import LabelLevels
from .open import check_fits, n_rows_of, open_table
from .sampling import class_shares
from .selection import ChosenColumns, RawTable, chosen_columns
from .table_file import TableFile
from .target import check_classes, class_notes

__all__ = ["DiskTable", "encode_to_disk"]

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
    classes: NDArray[Any]
    columns: tuple[Column, ...]
    notes: tuple[str, ...]
    n_file_rows: int
    target: str
    unlabelled: RowNumbers

    def open_X(self) -> Floats:
        """The features, read from disk as they are used."""
        return np.memmap(self.X_path, dtype="<f8", mode="r", shape=(self.n_rows, self.n_features))

    def open_labels(self) -> RowNumbers:
        """The labels, read from disk as they are used."""
        return np.memmap(self.labels_path, dtype="<i8", mode="r", shape=(self.n_rows,))


def encode_to_disk(
    path: str | Path,
    folder: str | Path,
    *,
    target: str | int | None,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    random_state: int = 0,
    sample_rows: int = 65_536,
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
    target, drop, keep
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
    ...     table.open_X().shape, np.bincount(table.open_labels()).tolist(), table.classes.tolist()
    ((333, 11), [165, 168], ['female', 'male'])
    """
    if isinstance(sample_rows, bool) or not isinstance(sample_rows, int) or sample_rows < 2:
        raise ParameterError(f"sample_rows must be a whole number of at least 2, got {sample_rows!r}")
    path, folder = Path(path), Path(folder)
    X_path, labels_path = folder / "X.f8", folder / "labels.i8"
    for exists in (X_path, labels_path):
        if exists.exists():
            raise ParameterError(f"{exists} exists already: choose another folder, or remove it")
    check_fits(path, max_rows=sample_rows)
    file = open_table(path)
    columns = chosen_columns(file, path.name, target, drop, keep)
    tell = progress or (lambda stage, done, total: None)
    labels = _counted_labels(file, columns.label, path, tell)
    sample = _sample(file, columns, labels, path.name, sample_rows, random_state, tell)
    encoding = learn_encoding(sample, keep)
    identifiers = identifier_warning(encoding.columns)
    if identifiers:
        warnings.warn(identifiers, BayesfloorWarning, stacklevel=2)
    like = dict(sample.frame.dtypes)
    del sample
    with _whole_or_not_at_all(X_path, labels_path, 8 * labels.n_labelled * (len(encoding.features) + 1)) as files:
        surprises, unlabelled = _write(file, columns, labels, encoding, like, files, tell)
    accounts, notes = encoding.counted(surprises, labels.n_labelled)
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


@dataclass(frozen=True, eq=False)
class _Labels:
    """What the first pass found: levels, the class of each, how many rows have each class, and all rows."""

    levels: LabelLevels
    class_of_level: Codes
    classes: NDArray[Any]
    counts: Counts
    n_rows: int

    @property
    def n_labelled(self) -> int:
        return int(self.counts.sum())

    def codes(self, part: "pd.Series[Any]") -> RowNumbers:
        """Class of each row, -1 where there is no label."""
        return self.class_of_level[self.levels.find(part)]


def _counted_labels(file: TableFile, label: str, path: Path, tell: Progress) -> _Labels:
    """First pass: distinct labels and their rows."""
    levels = LabelLevels(label)
    counts = np.zeros(0, dtype=np.int64)
    n_rows, total = 0, n_rows_of(path)
    tell("counting labels", 0, total or 1)
    for part in file.chunks([label], [label]):
        numbers = levels.add(part[label])
        counts = np.pad(counts, (0, len(levels) - len(counts)))
        counts += np.bincount(numbers[numbers >= 0], minlength=len(levels))
        n_rows += len(part)
        if total:
            tell("counting labels", n_rows, total)
    if not total:
        tell("counting labels", 1, 1)
    if not n_rows:
        raise DataError(f"{path.name} has column names but no rows")
    classes, class_of_level = levels.classes(file)
    of_class = np.zeros(len(classes), dtype=np.int64)
    is_label = class_of_level[:-1] >= 0
    np.add.at(of_class, class_of_level[:-1][is_label], counts[is_label])
    check_classes(classes, int(of_class.sum()), label, n_rows)
    return _Labels(levels, class_of_level, classes, of_class, n_rows)


def _sample(
    file: TableFile,
    columns: ChosenColumns,
    labels: _Labels,
    name: str,
    sample_rows: int,
    random_state: int,
    tell: Progress,
) -> RawTable:
    """Second pass: rows drawn within each class, by their number among the rows of that class."""
    rng = np.random.default_rng(random_state)
    shares = class_shares(labels.counts, sample_rows)
    drawn = [
        np.sort(rng.choice(count, share, replace=False, shuffle=False)) if share < count else np.arange(count)
        for count, share in zip(labels.counts.tolist(), shares.tolist(), strict=True)
    ]
    before = np.zeros(len(drawn), dtype=np.int64)  # rows of each class in the parts that are done
    kept, rows, codes, start = [], [], [], 0
    for part in file.chunks(columns.used, [columns.label]):
        own = labels.codes(part[columns.label])
        counts = np.bincount(own[own >= 0], minlength=len(drawn))
        by_class = np.split(np.argsort(own, kind="stable")[int((own < 0).sum()) :], np.cumsum(counts)[:-1])
        picked = []
        for c in np.flatnonzero(counts):
            low, high = np.searchsorted(drawn[c], [before[c], before[c] + counts[c]])
            picked.append(by_class[c][drawn[c][low:high] - before[c]])
        at = np.sort(np.concatenate([*picked, np.empty(0, dtype=np.int64)]))
        if len(at):
            kept.append(part.iloc[at])
            rows.append(start + at)
            codes.append(own[at])
        before += counts
        start += len(part)
        tell("finding kinds", start, labels.n_rows)
    frame = file.settled(pd.concat(kept, ignore_index=True), [columns.label])
    notes = list(file.notes)
    n_unlabelled = labels.n_rows - labels.n_labelled
    if n_unlabelled:
        notes.append(f"{n_unlabelled:,} of {labels.n_rows:,} rows without a label dropped")
    notes += class_notes(labels.classes, labels.counts, columns.label)
    return RawTable(
        name,
        frame[columns.features],
        labels.classes[np.concatenate(codes)],
        None,
        np.concatenate(rows) + 1,
        tuple(notes),
        labels.n_rows,
        n_unlabelled,
        columns.label,
        "",
        columns.left_out,
    )


def _write(
    file: TableFile,
    columns: ChosenColumns,
    labels: _Labels,
    encoding: TableEncoding,
    like: dict[Any, Any],
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
        raise DataError(f"the target {columns.label!r} changed while the file was read: read it again")
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
