"""What is wrong with a table, collected: people should not have to run a command once for every column."""

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import DataError, ParameterError

__all__ = ["Problems"]

_SHOWN = 12


class Problems:
    """Errors of a table, to be told together.

    Parameters
    ----------
    name : str
        Of the table.

    Examples
    --------
    >>> problems = Problems("data.csv")
    >>> for column in ("age", "notes"):
    ...     with problems.collect(column):
    ...         raise DataError(f"column {column!r} is odd")
    >>> problems.tell()
    Traceback (most recent call last):
    ...
    bayesfloor.errors.DataError: data.csv has 2 problems:
    1. column 'age' is odd;
    2. column 'notes' is odd;
    to leave out all of these columns: --drop age,notes (in Python drop=['age', 'notes'])
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._errors: list[DataError | ParameterError] = []
        self._columns: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._errors)

    @contextmanager
    def collect(self, column: str | None = None) -> Iterator[None]:
        """Keep an error for later; `column` is one that could be left out instead."""
        try:
            yield
        except (DataError, ParameterError) as error:
            self._errors.append(error)
            if column is not None:
                self._columns.append(column)

    def tell(self) -> None:
        """Raise what was collected: one error as it is, several as a numbered list."""
        if not self._errors:
            return
        if len(self._errors) == 1:
            raise self._errors[0] from None
        lines = [f"{number}. {error};" for number, error in enumerate(self._errors[:_SHOWN], start=1)]
        if len(self._errors) > _SHOWN:
            lines.append(f"and {len(self._errors) - _SHOWN} more;")
        if len(self._columns) > 1 and not any("," in column or '"' in column for column in self._columns):
            joined = ",".join(self._columns)
            quoted = joined if all(column.isidentifier() for column in self._columns) else f'"{joined}"'
            lines.append(f"to leave out all of these columns: --drop {quoted} (in Python drop={self._columns!r})")
        lines.insert(0, f"{self.name} has {len(self._errors)} problems:")
        several = DataError("\n".join(lines))
        several.lines = tuple(lines)
        raise several
