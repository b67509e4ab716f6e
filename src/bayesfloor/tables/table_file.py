"""What every file of a table offers: columns by name, whole or some rows at a time."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from ..utils.parallel import Progress

__all__ = ["CHUNK_ROWS", "InMemory", "TableFile", "chunk_rows", "first_line"]

CHUNK_ROWS = 50_000
_CHUNK_CELLS = 2**22


def chunk_rows(n_columns: int) -> int:
    """Rows that are read at a time: fewer if they are wide.

    Examples
    --------
    >>> chunk_rows(10), chunk_rows(10_000)
    (50000, 419)
    """
    return max(1, min(CHUNK_ROWS, _CHUNK_CELLS // max(n_columns, 1)))


class TableFile(ABC):
    """A file with named columns."""

    names: tuple[str, ...]
    side_columns: tuple[str, ...] = ()  # not features unless asked for: labels and groups stored beside the table
    notes: tuple[str, ...] = ()
    progress: Progress | None = None  # told while all rows are read

    # `labels` names those columns that are labels: other words mean a missing value there, and no label may be rounded.

    @abstractmethod
    def frame(self, columns: Sequence[str], labels: Sequence[str] = ()) -> pd.DataFrame:
        """These columns, all rows."""

    @abstractmethod
    def chunks(
        self, columns: Sequence[str], labels: Sequence[str] = (), like: Mapping[str, Any] | None = None
    ) -> Iterator[pd.DataFrame]:
        """These columns, some rows at a time; text has its types still to be settled unless `like` gives them."""

    def settle(self, frame: pd.DataFrame, labels: Sequence[str] = ()) -> pd.DataFrame:
        """Rows picked from chunks, with the types that `frame` would give them."""
        return frame


class InMemory(TableFile):
    """A format that is read in one go.

    Examples
    --------
    >>> InMemory(pd.DataFrame({"a": [1, 2]})).names
    ('a',)
    """

    def __init__(self, frame: pd.DataFrame, side_columns: tuple[str, ...] = ()) -> None:
        self._frame, self.side_columns = frame, side_columns
        self.names = tuple(str(name) for name in frame.columns)

    def frame(self, columns: Sequence[str], labels: Sequence[str] = ()) -> pd.DataFrame:
        return self._frame.iloc[:, [self.names.index(column) for column in columns]].set_axis(list(columns), axis=1)

    def chunks(
        self, columns: Sequence[str], labels: Sequence[str] = (), like: Mapping[str, Any] | None = None
    ) -> Iterator[pd.DataFrame]:
        yield self.frame(columns)


def first_line(error: BaseException) -> str:
    """What another library said, short enough to quote."""
    return str(error).strip().splitlines()[0][:100] if str(error).strip() else type(error).__name__
