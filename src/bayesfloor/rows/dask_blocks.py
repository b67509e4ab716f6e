"""Blocks of rows on the workers of a Dask cluster: work goes to the rows, and sums are made where they are."""

import functools
import itertools
import operator
import uuid
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._types import Counts, Floats, RowNumbers
from ..errors import ClusterError
from ..utils.parallel import Progress
from .blocks import BLOCK_ROWS, Blocks, Part
from .cluster import BlockFailed, close_client, dask_module, open_client, reported, wait_for
from .dask_rows import delayed_rows
from .dask_workers import add_up, alone, same, send_once

__all__ = ["DaskBlocks", "Reader", "blocks_from_dask"]

Held = tuple[NDArray[Any], NDArray[Any]]
Result = TypeVar("Result")

_PIECES = 8  # into which a block is cut that was too much for its worker


class DaskBlocks(Blocks):
    """Rows that lie on the workers of a cluster; work goes where they are, and sums are made there.

    Parameters
    ----------
    client : distributed.Client
    held : list of futures
        Each of a pair (rows of numbers, codes of their classes).
    sizes : ndarray
        Rows of each.
    n_columns, n_classes : int
    owns_client : bool
        Whether `close` closes the client.
    """

    def __init__(
        self,
        client: Any,
        held: Sequence[Any],
        sizes: Counts,
        n_columns: int,
        n_classes: int,
        *,
        owns_client: bool = False,
    ) -> None:
        self._client, self._held, self.owns_client = client, list(held), owns_client
        self.sizes, self.n_columns, self.n_classes = np.asarray(sizes, dtype=np.int64), n_columns, n_classes

    @property
    def client(self) -> Any:
        """Client of the cluster."""
        return self._client

    def each(self, work: Callable[[Part], Result], stage: str = "", progress: Progress | None = None) -> list[Result]:
        """Results of `work` for every block, in order."""
        futures = self._submit(_on_part, work, stage)
        try:
            wait_for(self._client, list(futures), stage, progress)
        except BlockFailed as failed:
            raise self._error(failed, stage) from failed.cause
        with reported(self._client, stage):
            return list(self._client.gather(futures))

    def total(self, work: Callable[[Part], Any], stage: str = "", progress: Progress | None = None) -> Any:
        """Sum of the results of `work`; the results themselves stay on the workers."""
        return self._with_less_memory(functools.partial(self._total, work, stage, progress), _add_pieces, stage)

    def _total(self, work: Any, stage: str, progress: Progress | None, run: Callable[..., Any]) -> Any:
        leaves = self._submit(run, work, stage)
        root = self._sum_later(leaves, stage)
        try:
            # Only the sums know of the results from here on: each is let go as soon as it was added.
            wait_for(self._client, leaves, stage, progress)
            wait_for(self._client, [root], stage)
            with reported(self._client, stage):
                return root.result()
        finally:
            root.release()

    def derive(
        self, work: Callable[[Part], Floats], n_columns: int, stage: str = "", progress: Progress | None = None
    ) -> "DaskBlocks":
        """Blocks with other columns, on the same workers."""
        stage = stage or "deriving columns"

        def make(run: Callable[..., Any]) -> DaskBlocks:
            held = self._submit(run, work, stage)
            wait_for(self._client, list(held), stage, progress)
            return DaskBlocks(self._client, held, self.sizes, n_columns, self.n_classes)

        return self._with_less_memory(make, _stack_pieces, stage, first=_derive)

    def pick(self, numbers: RowNumbers) -> "DaskBlocks":
        """Some of the rows, on the same workers."""
        edges = np.append(self.starts, self.n_samples)
        bounds = np.searchsorted(numbers, edges)
        wanted = [numbers[a:b] - start for a, b, start in zip(bounds[:-1], bounds[1:], edges[:-1], strict=True)]
        held = self._submit(_pick, wanted, "leaving out copies")
        wait_for(self._client, list(held), "leaving out copies")
        return DaskBlocks(self._client, held, np.diff(bounds), self.n_columns, self.n_classes)

    def close(self) -> None:
        """Let go of the rows, and of the client if it was opened for them."""
        self._held = []
        if self.owns_client:
            self.owns_client = False
            close_client(self._client)

    def _submit(self, run: Callable[..., Any], work: Any, stage: str) -> list[Any]:
        """A task for each block, by `run`; what they share is sent once."""
        if not self._held:
            raise ClusterError("these blocks were closed")
        name = f"{stage.replace(' ', '-') or 'block'}-{uuid.uuid4().hex}"
        (shared,) = send_once(self._client, [work], stage)
        with reported(self._client, stage):
            return [
                self._client.submit(run, held, number, start, shared, key=f"{name}-{number}", pure=False)
                for number, (held, start) in enumerate(zip(self._held, self.starts.tolist(), strict=True))
            ]

    def _sum_later(self, leaves: Sequence[Any], stage: str) -> Any:
        """Future of the sum, in the order of the blocks."""
        with reported(self._client, stage):
            # Before further results are made, so that each is let go soon; a single one as a future of its own.
            submit = functools.partial(self._client.submit, pure=False, priority=10)
            return add_up(leaves, submit) if len(leaves) > 1 else submit(same, leaves[0])

    def _with_less_memory(
        self, do: Callable[..., Any], smaller: Callable[..., Any], stage: str, first: Callable[..., Any] | None = None
    ) -> Any:
        """Do it, and if blocks were too large for their workers once more with pieces of them."""
        try:
            return do(first or _on_part)
        except BlockFailed as failed:
            if not failed.lacks_memory:
                raise self._error(failed, stage) from failed.cause
        try:
            return do(smaller)
        except BlockFailed as failed:
            raise self._error(failed, stage) from failed.cause

    def _error(self, failed: BlockFailed, stage: str) -> BaseException:
        if failed.number is None:
            return failed.error(stage)
        start, size = self.starts[failed.number], self.sizes[failed.number]
        return failed.error(stage, f"block {failed.number} (rows {start} to {start + size - 1})")


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads partitions on the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
    progress : callable, optional
    """

    client: Any
    progress: Progress | None = None

    def ask(self, delayed: list[Any]) -> list[Any]:
        """Small results of delayed work, in order."""
        with reported(self.client, "reading"):
            futures = self.client.compute(delayed)
        try:
            wait_for(self.client, list(futures), "reading", self.progress)
        except BlockFailed as failed:
            raise failed.error("reading", f"partition {failed.number}") from failed.cause
        with reported(self.client, "reading"):
            return list(self.client.gather(futures))

    def keep(self, delayed: list[Any]) -> list[Any]:
        """The same partitions, kept on the workers: for what is needed more than once."""
        with reported(self.client, "reading"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that much is sent: rows that were in memory here
            return list(self.client.persist(delayed))

    def hold(
        self, rows: list[Any], sizes: Counts, n_columns: int, n_classes: int, block_rows: int = BLOCK_ROWS
    ) -> DaskBlocks:
        """Delayed pairs (rows of numbers, codes) as blocks of a number of rows at most, made once and kept."""
        cut, sizes = _cut(rows, sizes, block_rows)
        with reported(self.client, "reading"):
            held = self.client.compute(cut)
        try:
            wait_for(self.client, list(held), "reading")
        except BlockFailed as failed:
            raise failed.error("reading") from failed.cause
        return DaskBlocks(self.client, held, sizes, n_columns, n_classes)


def blocks_from_dask(
    X: Any,
    y: Any = None,
    *,
    target: str | None = None,
    client: Any = None,
    progress: Progress | None = None,
    block_rows: int = BLOCK_ROWS,
) -> tuple[DaskBlocks, NDArray[Any], list[str], tuple[str, ...]]:
    """Rows of a Dask array or frame of numbers, checked and labelled, as blocks on the cluster.

    Rows are read once and kept on the workers, in the type they come in; of their labels the distinct ones come here.

    Parameters
    ----------
    X : dask array of shape (n, d), or dask DataFrame
        Numbers. The chunks of the rows become the blocks, larger ones several; their lengths need not be known.
    y : dask array or Series, array-like of n labels, or name of a column of the frame
    target : str, optional
        The same name, if `y` is left out.
    client : distributed.Client, optional
        Default: the open one; if there is none, threads of this process until the blocks are closed.
    progress : callable, optional
    block_rows : int
        Rows of a block at most: what is done with a block takes memory in proportion.

    Returns
    -------
    blocks : DaskBlocks
        To be closed.
    classes : ndarray
        The labels, sorted.
    names : list of str
        Of the columns.
    notes : tuple of str

    Raises
    ------
    DataError
        Values or labels that are missing or infinite, with partition and row; lengths that differ; fewer than two
        classes, or more than 1,000.
    DataTypeError
        A column that is not numeric, with its name and partition.
    ClusterError
    """
    client, is_own = open_client(client)
    reader = Reader(client, progress)
    try:
        found = delayed_rows(X, y, target, reader.keep, reader.ask)
        blocks = reader.hold(found.rows, found.sizes, len(found.names), len(found.classes), block_rows)
    except BaseException:
        if is_own:
            close_client(client)
        raise
    blocks.owns_client = is_own
    return blocks, found.classes, found.names, found.notes


def _cut(rows: list[Any], sizes: Counts, most: int) -> tuple[list[Any], RowNumbers]:
    """Delayed blocks of a number of rows at most, and their sizes."""
    lazily = functools.partial(dask_module("dask").delayed, pure=False)
    blocks, found = [], []
    for part, size in zip(rows, sizes.tolist(), strict=True):
        n = max(1, -(-size // most))
        edges = np.linspace(0, size, n + 1).astype(np.int64).tolist()
        found += np.diff(edges).tolist()
        blocks += [part] if n == 1 else [lazily(_slice)(part, a, b) for a, b in itertools.pairwise(edges)]
    return blocks, np.array(found, dtype=np.int64)


# --- on the workers -----------------------------------------------------------------------------------------


def _slice(held: Held, start: int, stop: int) -> Held:
    return held[0][start:stop], held[1][start:stop]


def _pick(held: Held, number: int, start: int, wanted: Sequence[RowNumbers]) -> Held:
    rows = wanted[number]
    return held[0][rows], held[1][rows]


def _part(held: Held, number: int, start: int, rows: slice = slice(None)) -> Part:
    X, codes = held
    first = rows.start or 0
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(X[rows], dtype=np.float64)
    return Part(number, start + first, values, codes[rows].astype(np.int64))


def _on_part(held: Held, number: int, start: int, work: Callable[[Part], Any]) -> Any:
    with alone():
        return work(_part(held, number, start))


def _derive(held: Held, number: int, start: int, work: Callable[[Part], Any]) -> Held:
    return np.asarray(_on_part(held, number, start, work)), held[1]


def _piecewise(held: Held, number: int, start: int, work: Callable[[Part], Any]) -> Any:
    """Results for slices of a block, one after the other."""
    edges = np.unique(np.linspace(0, len(held[1]), _PIECES + 1).astype(np.int64)).tolist()
    for a, b in itertools.pairwise(edges if len(edges) > 1 else [0, 0]):
        with alone():
            yield work(_part(held, number, start, slice(a, b)))


def _add_pieces(held: Held, number: int, start: int, work: Callable[[Part], Any]) -> Any:
    return functools.reduce(operator.add, _piecewise(held, number, start, work))


def _stack_pieces(held: Held, number: int, start: int, work: Callable[[Part], Any]) -> Held:
    return np.concatenate(list(_piecewise(held, number, start, work))), held[1]
