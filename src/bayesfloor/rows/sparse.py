"""Rows of very many columns, nearly all of them 0: sparse matrices and counted texts, never made dense.

`sparse_rows` and `text_rows` check what the user gave; later steps trust a `SparseRows` and never check again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from .._types import Codes, Floats, Keys, Mask, RowNumbers
from ..errors import DataError, DataTypeError
from .copies import copied_records, identifiers
from .keys import entry_keys, row_keys
from .texts import count_texts, text_list

__all__ = [
    "FEW_COLUMNS",
    "Section",
    "SparseRows",
    "dense_if_few",
    "is_sparse",
    "join_columns",
    "sparse_rows",
    "text_rows",
]

FEW_COLUMNS = (
    100  # a sparse matrix of so many columns is the table that it says: it takes no more memory than others do
)
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
    first, second : ndarray, optional
        Of pairs: which columns of the section of words before it have their two words.
    """

    kind: str
    matrix: csr_array
    first: RowNumbers | None = None
    second: RowNumbers | None = None

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


def is_sparse(X: Any) -> bool:
    """Whether this is a sparse matrix."""
    return hasattr(X, "toarray") and hasattr(X, "nnz")


def sparse_rows(X: Any, what: str = "X") -> SparseRows:
    """Check a sparse matrix; the one given is not changed.

    Raises
    ------
    DataError
        No rows or columns, NaN or infinity, indices that point nowhere.
    DataTypeError
        What is no number.

    Examples
    --------
    >>> rows = sparse_rows(csr_array(np.array([[0, 2, 0, 5], [1, 0, 0, 5]])))
    >>> rows.sections[0].kind, rows.sections[0].matrix.shape, rows.notes
    ('counts', (2, 2), ('2 of 4 columns are constant, and left out',))
    """
    matrix = _canonical(X, what)
    n, d = matrix.shape
    varies = _varying(matrix)
    notes = []
    if not varies.all():
        gone = d - int(varies.sum())
        notes.append(f"{gone:,} of {d:,} columns {'is' if gone == 1 else 'are'} constant, and left out")
    kept = matrix if varies.all() else csr_array(matrix[:, np.flatnonzero(varies)])
    empty = int((np.diff(matrix.indptr) == 0).sum())
    if empty:
        notes.append(f"{empty:,} of {n:,} rows hold nothing but zeros")
    repeated = _repeated_columns(kept)
    if repeated:
        notes.append(f"{repeated:,} of {d:,} columns repeat another")
    section = Section("counts" if _are_counts(kept) else "numbers", kept)
    return SparseRows((section,), np.empty((n, 0)), kept, d, tuple(notes))


def dense_if_few(X: Any) -> Any:
    """A sparse matrix of few columns as the table it is; anything else as it came."""
    return np.asarray(X.toarray()) if len(X.shape) == 2 and X.shape[1] <= FEW_COLUMNS else X


def _canonical(X: Any, what: str) -> csr_array:
    """A matrix of finite float64 numbers, rows first, sorted, without duplicates and stored zeros."""
    from .dataset import check_shape

    check_shape(tuple(X.shape))
    kind = np.dtype(X.dtype).kind
    if kind == "c":
        raise DataError(f"Complex data not supported: split {what} into real and imaginary columns")
    if kind not in "biuf":
        raise DataTypeError(f"{what} is a sparse matrix of {X.dtype}: convert it to numbers first")
    try:
        _check_indices(X)
        matrix = csr_array(X.tocsr(), dtype=np.float64, copy=True)
        matrix.sum_duplicates()
    except (ValueError, IndexError, TypeError, AttributeError) as error:
        raise DataError(f"{what} is a sparse matrix whose indices do not fit its shape {X.shape}: {error}") from None
    wrong = np.flatnonzero(~np.isfinite(matrix.data))
    if len(wrong):
        row = int(np.searchsorted(matrix.indptr, wrong[0], "right")) - 1
        n_nan = int(np.isnan(matrix.data).sum())
        counts = ((n_nan, "NaN"), (len(wrong) - n_nan, "infinity"))
        raise DataError(
            f"{what} contains {' and '.join(f'{n} {kind}' for n, kind in counts if n)} (values that are missing, "
            f"infinite or too large for float64); the first is in row {row}, column {matrix.indices[wrong[0]]}. Impute "
            "or drop them"
        )
    matrix.eliminate_zeros()
    if max(matrix.shape[1], matrix.nnz) < 2**31:
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return matrix


def _check_indices(X: Any) -> None:
    """Refuse indices that point outside: scipy's compiled loops would follow them."""
    if getattr(X, "format", "") not in ("csr", "csc"):
        return
    major, minor = X.shape if X.format == "csr" else X.shape[::-1]
    indptr, indices = np.asarray(X.indptr), np.asarray(X.indices)
    if len(indptr) != major + 1 or indptr[0] != 0 or (np.diff(indptr) < 0).any() or indptr[-1] > len(indices):
        raise ValueError("indptr does not divide the entries among them")
    if len(X.data) < indptr[-1]:
        raise ValueError("there are fewer numbers than indices")
    if indptr[-1] and (indices[: indptr[-1]].min() < 0 or indices[: indptr[-1]].max() >= minor):
        raise ValueError(f"an index is below 0 or above {minor - 1}")


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
        sections += [
            Section("words", counts.words),
            Section("pairs", counts.pairs, counts.first, counts.second),
            Section("runs", counts.runs),
        ]
        if counts.n_empty:
            notes.append(f"{counts.n_empty:,} of {len(column):,} texts hold no letter or digit")
    if not dense.shape[1] and not any(section.matrix.nnz for section in sections):
        raise DataError("no two texts have a word or a run of characters in common: there is nothing to learn from")
    given: Any = texts[0]
    if dense.shape[1] or len(texts) > 1:
        words = [section.matrix for section in sections if section.kind == "words"]
        given = csr_array(hstack([csr_array(dense), *words], format="csr"))
    return SparseRows(tuple(sections), dense, given, dense.shape[1] + len(texts), tuple(notes), tuple(texts))
