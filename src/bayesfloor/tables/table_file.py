"""What every file of a table offers: columns by name, whole or some rows at a time."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pandas as pd

from ..errors import DataError, DataTypeError, ParameterError
from ..utils.parallel import Progress

__all__ = ["CHUNK_ROWS", "InMemory", "TableFile", "chunk_rows", "first_line", "report_damage"]

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
    categories: tuple[str, ...] = ()  # columns that the file declares to be categories, and hands out as other types
    as_text: tuple[str, ...] = ()  # columns of a text file whose types are not to be inferred: 007 is not 7

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
        place = {name: at for at, name in reversed([*enumerate(self.names)])}  # of two, the first
        return self._frame.iloc[:, [place[column] for column in columns]].set_axis(list(columns), axis=1)

    def chunks(
        self, columns: Sequence[str], labels: Sequence[str] = (), like: Mapping[str, Any] | None = None
    ) -> Iterator[pd.DataFrame]:
        yield self.frame(columns)


@contextmanager
def report_damage(
    name: str, finding: str = "is damaged or cut short", kinds: tuple[type[Exception], ...] = (Exception,)
) -> Iterator[None]:
    """Raise whatever a library says of a file that it cannot read as an error that names the file.

    Of damaged files libraries raise anything: AttributeError, RuntimeError and RecursionError have been seen.

    Examples
    --------
    >>> with report_damage("a.npz"):
    ...     raise NotImplementedError("that compression method is not supported")
    Traceback (most recent call last):
    ...
    bayesfloor.errors.DataError: a.npz is damaged or cut short (that compression method is not supported)
    """
    try:
        yield
    except (DataError, DataTypeError, ParameterError, PermissionError, FileNotFoundError):
        raise  # these say what is wrong, and of which file
    except MemoryError:
        raise DataError(f"{name} asks for more memory than there is: it is too large, or damaged") from None
    except kinds as error:
        raise DataError(f"{name} {finding} ({first_line(error)})") from None


def first_line(error: BaseException) -> str:
    """What another library said, short enough to quote."""
    return str(error).strip().splitlines()[0][:100] if str(error).strip() else type(error).__name__
