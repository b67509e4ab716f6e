"""Rows with their labels, wherever they are, and the sample of them that the library learns from."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._types import Codes, Counts, Mask, RowNumbers, Values
from ..errors import DataError
from ..library.arrangement import EFFORTS, Arrangement, check_groups, join_groups
from ..library.representation import RawRows
from ..rows.blocks import ArrayBlocks, Blocks, draw_rows, rows_at
from ..rows.copies import copies_in_blocks
from ..rows.dataset import Dataset, dataset_of
from ..rows.draws import Draws, one_of_each
from ..rows.gaps import Gaps
from ..rows.keys import row_keys
from ..rows.labels import check_class_sizes
from ..utils.parallel import Pieces, Threads, Workers, n_threads
from .settings import Request, Run

__all__ = ["LabelledRows", "Sample", "one_block"]


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows in blocks, and what is known about them.

    Attributes
    ----------
    blocks : Blocks
        Finite numbers; codes into `classes`.
    classes : ndarray
    names : tuple of str
        Of the columns.
    notes : tuple of str
    data : Dataset, optional
        All rows as they came, if they are in memory; `blocks` may be without copies.
    groups : ndarray, optional
        Group of each row, as a code.
    row_numbers : ndarray, optional
        In the file, if not all its rows are here.
    index : pandas.Index, optional
        Of the frame that was given.
    source : Table, frame or array, optional
        What the rows were taken from, if it is in memory.
    client : distributed.Client, optional
        Of the cluster on which models are trained, if not on this machine.
    n_repeated, n_copies : int
        Rows that repeat an earlier one; rows that were left out as copies.
    raw : RawRows, optional
        Pictures or texts: then rows of `blocks` only tell them apart (see `fingerprints`).
    gaps : Gaps, optional
        How missing values of an array were filled: some columns of `blocks` mark them.
    """

    blocks: Blocks
    classes: Values
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    data: Dataset | None = None
    groups: Codes | None = None
    row_numbers: RowNumbers | None = None
    index: Any = None
    source: Any = None
    client: Any = None
    n_repeated: int = 0
    n_copies: int = 0
    raw: RawRows | None = None
    gaps: Gaps | None = None

    def n_fitted(self, request: Request, run: Run) -> int:
        """Rows that the library is cross-fitted on: of groups all of them."""
        n = self.blocks.n_samples
        limits = EFFORTS if self.raw is None else self.raw.representation.max_rows
        return n if self.groups is not None else run.n_fitted(n, limits[request.effort])

    def workers(self, n_jobs: int | None, pieces: Pieces | None) -> Workers:
        """Who trains models: threads of this machine, or the workers of the cluster."""
        if self.client is None:
            return Threads(n_threads(n_jobs), pieces)
        from ..rows.dask_workers import DaskWorkers

        return DaskWorkers(self.client, pieces)

    def without_copies(self, seed: int, varies: Mask, draws: Draws | None) -> "LabelledRows":
        """Each record once, by a random one of its rows; groups that have copies of one record are one group.

        Parameters
        ----------
        seed : int
        varies : ndarray
            Which columns vary.
        draws : Draws or None
            Of rows by their numbers. None where the library learns from all rows, which are in memory then: which row
            of a record is kept does not depend on their order.
        """
        n = self.blocks.n_samples
        if self.data is not None:
            records, n_repeated = self.data.records, self.data.n_duplicate_rows
        else:
            share, records = copies_in_blocks(self.blocks, varies)
            n_repeated = round(share * n)
        if records is None:
            return replace(self, n_repeated=n_repeated)
        order, whole = np.arange(n), self.data if draws is None else None
        if whole is not None:
            arrangement = Arrangement.of(whole, self.groups, as_given=self.raw is not None)
            order, draws = arrangement.order.copy(), Draws(seed, arrangement.digest)
            # Near-copies are there in the order they came in. In each record's places they go by their values.
            own, keys = records[order], row_keys(whole.X[:, arrangement.columns])
            order[np.argsort(own, kind="stable")] = order[np.lexsort((keys[order], own))]
        assert draws is not None
        kept = np.sort(order[one_of_each(records[order], draws.rng("copies"))])
        groups = self.groups
        if groups is not None:
            try:
                groups = check_groups(join_groups(groups, records)[kept], len(kept))
            except DataError as error:
                raise DataError(f"{error}; groups that have copies of one row count as one group") from None
        data = self.data if whole is None else whole.rows(kept)
        return replace(
            self,
            blocks=self.blocks.pick(kept) if whole is None or data is None else one_block(data),
            data=data,
            groups=groups,
            row_numbers=kept if self.row_numbers is None else self.row_numbers[kept],
            n_repeated=n_repeated,
            n_copies=n - len(kept),
            raw=None if self.raw is None else self.raw[kept],
        )

    def sample(self, n: int, draws: Draws | None) -> "Sample":
        """Draw the rows that the library learns from; without `draws` all of them, which are in memory then."""
        if draws is None:
            assert self.data is not None
            columns = np.arange(self.blocks.n_columns)
            added = np.zeros(self.blocks.n_classes, dtype=np.int64)
            return Sample(self.data, np.arange(self.blocks.n_samples), columns, added, self.raw)
        numbers, counts, added = draw_rows(self.blocks, n, draws.rng("sample"))
        check_class_sizes(self.classes, counts)
        X, codes = rows_at(self.blocks, numbers)
        drawn = dataset_of(X, list(self.names), self.classes, codes)
        drawn = replace(drawn, class_counts=counts, n_duplicate_rows=self.n_repeated, n_copies=self.n_copies)
        if self.data is not None:  # what is known of all rows
            drawn = replace(
                drawn,
                n_columns=self.data.n_columns,
                feature_names=self.data.feature_names,
                constant_columns=(*self.data.constant_columns, *drawn.constant_columns),
                duplicate_columns=self.data.duplicate_columns,
            )
        columns = np.flatnonzero((X[:1] != X).any(axis=0))  # by place: two columns may have one name
        return Sample(drawn, numbers, columns, added, None if self.raw is None else self.raw[numbers])


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows that the library learns from.

    Attributes
    ----------
    data : Dataset
        Its `X` holds the rows drawn, `class_counts` are those of all rows.
    numbers : ndarray
        Of the rows drawn, ascending.
    columns : ndarray
        Those that vary among them, by their place in the blocks.
    added : ndarray of shape (C,)
        Rows of rare classes that were taken besides the plain draw.
    raw : RawRows, optional
        Of the rows drawn.
    """

    data: Dataset
    numbers: RowNumbers
    columns: RowNumbers
    added: Counts
    raw: RawRows | None = None

    @property
    def is_all(self) -> bool:
        """Whether all rows were drawn."""
        return len(self.numbers) == self.data.n_samples


def one_block(data: Dataset) -> ArrayBlocks:
    """A dataset as the single block that it is."""
    return ArrayBlocks(data.X, data.labels, data.n_classes, block_rows=data.n_samples)
