"""Rows of very many columns, nearly all of them 0: sparse matrices and counted texts, never made dense.

`checked_matrix`, `matrix_of` and `text_rows` check what the user gave; later steps trust them and never check again.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array, csr_array, hstack

from .._types import Codes, Floats, Keys, Mask, RowNumbers
from ..errors import DataError, DataTypeError
from .copies import copied_records, identifiers
from .dataset import as_array, check_shape
from .keys import entry_keys, row_keys
from .texts import count_texts, text_list

__all__ = [
    "PARTS",
    "Section",
    "SparseRows",
    "check_structure",
    "checked_matrix",
    "columns_of",
    "join_columns",
    "matrix_of",
    "sparse_rows",
    "text_rows",
]

FEW_COLUMNS = 100  # a sparse matrix of so many columns is read as a table, which takes no more memory than others
_SMALL = 2**24  # numbers that any machine has room for
_FILLED = 20  # numbers for each entry that is stored
_RAREST = 3  # entries of a row that say whether another could have them by chance
_IMPLAUSIBLE = 10  # times less than one row that chance would make


@dataclass(frozen=True, eq=False)
class Section:
    """Columns of one kind.

    Attributes
    ----------
    kind : {"words", "pairs", "runs", "counts", "numbers"}
        Counts of words, pairs of words and runs of characters in a text; counts, or any numbers, of a sparse matrix.
    matrix : scipy.sparse.csr_array
        Sorted, without duplicates and stored zeros.
    """

    kind: str
    matrix: csr_array

    def __getitem__(self, rows: RowNumbers | slice) -> "Section":
        return replace(self, matrix=self.matrix[rows])


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Rows in sections of sparse columns, and dense columns beside them.

    Attributes
    ----------
    sections : tuple of Section
    dense : ndarray of shape (N, m)
        Finite numbers that vary; there may be none.
    given : ndarray or scipy.sparse.csr_array
        What classifiers of the user see: texts, a sparse matrix, or both kinds of columns as one.
    n_columns : int
        That came in.
    notes : tuple of str
        What a reader should know of them.
    texts : tuple of ndarray
        Columns of texts, as they came.
    """

    sections: tuple[Section, ...]
    dense: Floats
    given: Any
    n_columns: int
    notes: tuple[str, ...] = ()
    texts: tuple[NDArray[Any], ...] = ()

    def __len__(self) -> int:
        return len(self.dense)

    def __getitem__(self, rows: RowNumbers | slice | int) -> "SparseRows":
        if isinstance(rows, int | np.integer):
            rows = slice(int(rows), int(rows) + 1)
        sections = tuple(section[rows] for section in self.sections)
        texts = tuple(column[rows] for column in self.texts)
        return replace(self, sections=sections, dense=self.dense[rows], given=self.given[rows], texts=texts)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of all kinds."""
        return len(self), self.dense.shape[1] + sum(section.matrix.shape[1] for section in self.sections)

    @property
    def is_text(self) -> bool:
        """Whether there are texts among the columns."""
        return bool(self.texts)

    @property
    def n_entries(self) -> int:
        """Numbers that are stored, those of dense columns not among them."""
        return sum(section.matrix.nnz for section in self.sections)

    @property
    def n_bytes(self) -> int:
        """Memory that they take."""
        return self.dense.nbytes + sum(_bytes(section.matrix) for section in self.sections)

    def keys(self, salt: int = 0) -> Keys:
        """64-bit hash of each row, the same for equal rows."""
        keys = row_keys(np.ascontiguousarray(self.dense))
        for number, section in enumerate(self.sections):
            matrix = section.matrix
            # Sums wrap around, and so do their differences.
            sums = np.zeros(matrix.nnz + 1, dtype=np.uint64)
            np.cumsum(entry_keys(matrix.data, matrix.indices, salt * 64 + number), out=sums[1:])
            keys += np.diff(sums[matrix.indptr])
        return keys

    def fingerprints(self) -> Floats:
        """Four columns that tell rows apart, for whatever goes by the content of rows: halves of two hashes."""
        halves = []
        for salt in (0, 1):
            keys = self.keys(salt)
            halves += [keys >> np.uint64(32), keys & np.uint64(2**32 - 1)]
        return np.stack(halves, axis=1).astype(np.float64)

    def records(self, labels: Codes) -> tuple[float, Codes | None]:
        """Share of rows that repeat an earlier one, and the record of each row if there are copies (else None)."""
        keys = self.keys()
        _, first = np.unique(keys, return_index=True)
        share = 1 - len(first) / len(keys)
        if not share:
            return 0.0, None
        found = identifiers(self.dense[first], len(keys)) if self.dense.shape[1] else []
        identified = [(entry, row_keys(self.dense[:, list(entry.columns)])) for entry in found]
        records = copied_records(keys, identified, self.shape[1], labels, self._implausible(first))
        return share, records

    def _implausible(self, first: RowNumbers) -> Mask:
        """Rows whose rarest entries no second row would have by chance; `first` are the distinct rows.

        As if the three rarest were independent: words of a text that three others have each meet in one text of
        millions. Rows of few, common values are left alone: they coincide.
        """
        logs = np.zeros(len(self))
        for section in self.sections:
            if section.kind in ("pairs", "runs"):  # they are no news beside the words
                continue
            matrix = section.matrix
            seen = np.bincount(matrix[first].indices, minlength=matrix.shape[1])
            rarity = np.log(np.maximum(seen, 1) / len(first))[matrix.indices]
            row = np.repeat(np.arange(len(self)), np.diff(matrix.indptr))
            order = np.lexsort((rarity, row))
            place = np.arange(matrix.nnz) - np.repeat(matrix.indptr[:-1], np.diff(matrix.indptr))
            leading = order[place < _RAREST]
            logs += np.bincount(row[leading], weights=rarity[leading], minlength=len(self))
        return np.asarray(logs + np.log(len(self) * _IMPLAUSIBLE) < 0)


def _bytes(matrix: csr_array) -> int:
    return int(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes)


# --- sparse matrices ----------------------------------------------------------------------------------------

PARTS = {"csr": ("data", "indices", "indptr"), "csc": ("data", "indices", "indptr"), "coo": ("data", "row", "col")}


def checked_matrix(X: Any, what: str = "X", n_labels: int | None = None) -> csr_array:
    """Sparse matrix of any format as rows of finite numbers; the one given is not changed.

    The result is in canonical form: sorted, without duplicates and stored zeros. Every sparse matrix comes in through
    this function or `matrix_of`, and nothing follows its indices before: they may be damaged, and scipy's compiled
    loops would read and write wherever they point.

    Parameters
    ----------
    X : scipy.sparse array or matrix
    what : str
        What messages call it.
    n_labels : int, optional
        Refuse another number of rows, before there is a place in memory for each of them.

    Raises
    ------
    DataError
        No rows or columns, NaN or infinity, indices outside the shape, parts that do not fit together.
    DataTypeError
        Values that are not numbers.

    Examples
    --------
    >>> checked_matrix(csr_array(np.array([[0, 2], [1, 0]]))).data.tolist()
    [2.0, 1.0]
    """
    kind, shape, parts = _parts_of(X, what, n_labels)
    return matrix_of(kind, shape, parts, what)


def check_structure(X: Any, what: str = "X") -> None:
    """Refuse a sparse matrix whose indices point outside it; its numbers may be anything."""
    kind, shape, parts = _parts_of(X, what)
    with _refusing(what, shape):
        _check_parts(kind, shape, *parts)


def matrix_of(kind: str, shape: tuple[int, ...], parts: Sequence[Any], what: str = "X") -> csr_array:
    """The same of the parts of a matrix, in the order of `PARTS`.

    Examples
    --------
    >>> matrix_of("csr", (2, 3), ([5, 7], [0, 2], [0, 1, 2])).toarray().tolist()
    [[5.0, 0.0, 0.0], [0.0, 0.0, 7.0]]
    """
    check_shape(shape)
    with _refusing(what, shape):
        data, first, second = _check_parts(kind, shape, *parts)
    if data.dtype.kind == "c":
        raise DataError(f"Complex data not supported: split {what} into real and imaginary columns")
    if data.dtype.kind not in "biuf":
        raise DataTypeError(f"{what} is a sparse matrix of {data.dtype}: convert it to numbers first")
    with np.errstate(over="ignore"):  # a number that is too large becomes infinite, and is named below
        data = data.astype(np.float64)
    first, second = first.astype(np.int64), second.astype(np.int64)
    with _refusing(what, shape):  # memory for each row may be too much
        if kind == "coo":
            matrix = csr_array(coo_array((data, (first, second)), shape=shape))
        else:
            matrix = csr_array((csr_array if kind == "csr" else csc_array)((data, first, second), shape=shape))
    matrix.sum_duplicates()
    wrong = np.flatnonzero(~np.isfinite(matrix.data))
    if len(wrong):
        row = int(np.searchsorted(matrix.indptr, wrong[0], "right")) - 1
        n_nan = int(np.isnan(matrix.data).sum())
        counts = ((n_nan, "NaN"), (len(wrong) - n_nan, "infinity"))
        raise DataError(
            f"{what} contains {' and '.join(f'{n} {name}' for n, name in counts if n)} (values that are missing, "
            f"infinite or too large for float64); the first is in row {row}, column {matrix.indices[wrong[0]]}. Impute "
            "or drop them"
        )
    matrix.eliminate_zeros()
    return matrix


def _parts_of(X: Any, what: str, n_labels: int | None = None) -> tuple[str, tuple[int, ...], list[Any]]:
    """Format, shape and parts of a matrix, not checked yet."""
    shape = getattr(X, "shape", None)
    if not isinstance(shape, tuple):
        raise DataError(f"{what} is a damaged sparse matrix (it has no shape): create it again")
    check_shape(shape)
    if n_labels is not None and shape[0] != n_labels:
        raise DataError(f"{what} has {shape[0]} rows but y has {n_labels} labels: they must have equal length")
    with _refusing(what, shape):
        if X.format in PARTS:
            return X.format, shape, [getattr(X, part) for part in PARTS[X.format]]
        return "coo", shape, _coordinates(X)


def _coordinates(X: Any) -> list[Any]:
    """Numbers, rows and columns of the entries, by nothing that would follow a damaged index."""
    if X.format == "dia":
        numbers, offsets = as_array(X.data, "data"), as_array(X.offsets, "offsets")
        if numbers.ndim != 2 or offsets.shape != numbers.shape[:1]:
            raise ValueError(f"it has {offsets.shape} offsets for diagonals of shape {numbers.shape}")
        col = np.broadcast_to(np.arange(numbers.shape[1]), numbers.shape)
        row = col - offsets[:, None]
        inside = (row >= 0) & (row < X.shape[0]) & (col < X.shape[1])
        return [numbers[inside], row[inside], col[inside]]
    if X.format == "lil":
        sizes = [len(own) for own in X.rows]
        if sizes != [len(own) for own in X.data]:
            raise ValueError("its rows differ in length from their numbers")
        row = np.repeat(np.arange(len(sizes)), sizes)
        if not len(row):
            return [np.empty(0), row, row]
        return [list(chain.from_iterable(X.data)), row, list(chain.from_iterable(X.rows))]
    found = X.tocoo()  # of BSR and DOK by numpy, which checks itself
    return [found.data, found.row, found.col]


@contextmanager
def _refusing(what: str, shape: tuple[int, ...]) -> Iterator[None]:
    """Whatever a damaged matrix raises, as an error that names it."""
    try:
        yield
    except Exception as error:
        raise DataError(f"{what} is a damaged sparse matrix of shape {shape} ({error}): create it again") from None


def _check_parts(kind: str, shape: tuple[int, ...], *parts: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Parts as arrays that fit each other and the shape."""
    arrays = data, first, second = tuple(as_array(part, name) for part, name in zip(parts, PARTS[kind], strict=True))
    for array, name in zip(arrays, PARTS[kind], strict=True):
        if array.ndim != 1:
            raise ValueError(f"{name} has {array.ndim} dimensions instead of one")
        if name != "data" and array.dtype.kind not in "iu":
            raise ValueError(f"{name} holds values of type {array.dtype} instead of whole numbers")
    if min(shape) < 0 or max(shape) > np.iinfo(np.int64).max:
        raise ValueError("rows and columns must be between 0 and 2**63")
    entries = arrays if kind == "coo" else arrays[:2]
    if len({len(array) for array in entries}) > 1:
        sizes = ", ".join(f"{len(array)} {name}" for array, name in zip(entries, PARTS[kind], strict=False))
        raise ValueError(f"its parts differ in length ({sizes})")
    if kind == "coo":
        _check_range(first, shape[0], "row")
        _check_range(second, shape[1], "col")
        return data, first, second
    major, minor = shape if kind == "csr" else shape[::-1]
    if len(second) != major + 1:
        raise ValueError(f"indptr has {len(second)} values instead of {major + 1}")
    if second[0] != 0 or second[-1] != len(first) or (second[1:] < second[:-1]).any():
        raise ValueError(f"indptr must grow from 0 to {len(first)}, the number of entries")
    _check_range(first, minor, "indices")
    return data, first, second


def _check_range(array: NDArray[Any], size: int, name: str) -> None:
    if len(array) and (int(array.min()) < 0 or int(array.max()) >= size):
        raise ValueError(f"{name} below 0 or above {size - 1}")


def columns_of(matrix: csr_array) -> "Floats | SparseRows":
    """A checked matrix of few columns as the table that it is, any other as sparse rows."""
    n, d = matrix.shape
    # A packed file may claim millions of rows with nothing in them.
    is_small = d <= FEW_COLUMNS and n * d <= max(_SMALL, _FILLED * matrix.nnz)
    return np.asarray(matrix.toarray()) if is_small else sparse_rows(matrix)


def sparse_rows(matrix: csr_array) -> SparseRows:
    """Columns of a checked matrix that vary, with notes about the others.

    Raises
    ------
    DataError
        No column varies.

    Examples
    --------
    >>> rows = sparse_rows(csr_array(np.array([[0, 2, 0, 5], [1, 0, 0, 5]])))
    >>> rows.sections[0].kind, rows.sections[0].matrix.shape, rows.notes
    ('counts', (2, 2), ('2 of 4 columns are constant, and left out',))
    """
    n, d = matrix.shape
    # First the columns that occur: a file of sixty rows can claim 2**40 of them, and each would take memory.
    columns, places = np.unique(matrix.indices, return_inverse=True)
    size = np.int32 if max(len(columns), matrix.nnz) < 2**31 else np.int64
    narrow = csr_array((matrix.data, places.astype(size), matrix.indptr.astype(size)), shape=(n, len(columns)))
    varies = _varying(narrow)
    if not varies.any():
        raise DataError(f"all {d:,} columns are constant: there is nothing to learn from")
    notes = []
    gone = d - int(varies.sum())
    if gone:
        notes.append(f"{gone:,} of {d:,} columns {'is' if gone == 1 else 'are'} constant, and left out")
    kept = narrow if varies.all() else csr_array(narrow[:, np.flatnonzero(varies)])
    empty = int((np.diff(matrix.indptr) == 0).sum())
    if empty:
        notes.append(f"{empty:,} of {n:,} rows hold nothing but zeros")
    repeated = _repeated_columns(kept)
    if repeated:
        notes.append(f"{repeated:,} of {d:,} columns repeat another")
    section = Section("counts" if _are_counts(kept) else "numbers", kept)
    return SparseRows((section,), np.empty((n, 0)), kept, d, tuple(notes))


def _varying(matrix: csr_array) -> Mask:
    """Columns that are not constant: not empty, and not full of one number."""
    n, d = matrix.shape
    filled = np.bincount(matrix.indices, minlength=d)
    low, high = np.full(d, np.inf), np.full(d, -np.inf)
    np.minimum.at(low, matrix.indices, matrix.data)
    np.maximum.at(high, matrix.indices, matrix.data)
    return (filled > 0) & ~((filled == n) & (low == high))


def _repeated_columns(matrix: csr_array) -> int:
    """Columns that repeat an earlier one."""
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    keys = np.zeros(matrix.shape[1], dtype=np.uint64)
    np.add.at(keys, matrix.indices, entry_keys(matrix.data, row))
    return len(keys) - len(np.unique(keys))


def _are_counts(matrix: csr_array) -> bool:
    """Whether numbers count something: whole, not negative, and mostly small, as those of words are."""
    data = matrix.data
    return bool(len(data) and (data >= 0).all() and (data == np.rint(data)).all() and np.median(data) <= 3)


# --- texts --------------------------------------------------------------------------------------------------


def text_rows(X: Any) -> SparseRows:
    """Texts, one per row, checked and counted.

    Raises
    ------
    DataError
        A text is missing, or none holds a word.
    DataTypeError
        What is no text.

    Examples
    --------
    >>> [section.matrix.shape for section in text_rows(["a red wine", "a white wine", ""]).sections]
    [(3, 2), (3, 0), (3, 15)]
    """
    texts = text_list(X)
    if not len(texts):
        raise DataError("X has 0 rows (found array with 0 sample(s)): at least two samples of two classes are needed")
    return join_columns(np.empty((len(texts), 0)), [texts])


def join_columns(dense: Floats, texts: Sequence[NDArray[Any]]) -> SparseRows:
    """Dense columns, finite and without constant ones, and columns of texts, counted.

    Classifiers of the user see the texts if there is one column of them and nothing else; otherwise dense columns and
    counts of words in one sparse matrix.
    """
    sections: list[Section] = []
    notes = []
    for column in texts:
        counts = count_texts(column)
        sections += [Section(kind, getattr(counts, kind)) for kind in ("words", "pairs", "runs")]
        if counts.n_empty:
            notes.append(f"{counts.n_empty:,} of {len(column):,} texts hold no letter or digit")
    if not dense.shape[1] and not any(section.matrix.nnz for section in sections):
        raise DataError("no two texts have a word or a run of characters in common: there is nothing to learn from")
    given: Any = texts[0]
    if dense.shape[1] or len(texts) > 1:
        words = [section.matrix for section in sections if section.kind == "words"]
        given = csr_array(hstack([csr_array(dense), *words], format="csr"))
    return SparseRows(tuple(sections), dense, given, dense.shape[1] + len(texts), tuple(notes), tuple(texts))
