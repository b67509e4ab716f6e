"""What the floor is made of, on the command line: costs, subgroups, declining, other metrics."""

import csv
import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError, ParameterError
from ..tables.table import Table
from ..utils.checks import listed

__all__ = ["check_by", "costs_from", "parts_of", "subgroups_of"]


def costs_from(path: str | None) -> Any:
    """A matrix of costs in a file: JSON (a list of rows), or CSV, with names of the classes above it or without."""
    if path is None:
        return None
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(
            f"the costs cannot be read from {file}: {getattr(error, 'strerror', None) or error}"
        ) from None
    if file.suffix.lower() == ".json":
        try:
            return json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            raise DataError(f"{file.name} is no JSON with a list of rows of costs: {error}") from None
    rows = [
        [cell.strip() for cell in row] for row in csv.reader(text.splitlines()) if any(cell.strip() for cell in row)
    ]
    if not rows or len({len(row) for row in rows}) > 1:
        raise DataError(f"{file.name} must be a table of costs, each row of the same length")
    if all(_is_number(cell) for row in rows for cell in row):
        return [[float(cell) for cell in row] for row in rows]
    import pandas as pd

    # Names of classes above; those of decisions, if there are any, on the left.
    named = not all(_is_number(row[0]) for row in rows[1:])
    cells = [row[named:] for row in rows[1:]]
    wrong = [cell for row in cells for cell in row if not _is_number(cell)]
    if wrong or not cells:
        raise DataError(
            f"{file.name} has {wrong[0]!r} where a cost should be" if wrong else f"{file.name} has no costs"
        )
    index = [row[0] for row in rows[1:]] if named else None
    return pd.DataFrame([[float(cell) for cell in row] for row in cells], columns=rows[0][named:], index=index)


def _is_number(cell: str) -> bool:
    try:
        return bool(np.isfinite(float(cell)))
    except ValueError:
        return False


def check_by(column: str | None, table: Table) -> str | int | None:
    """The column that --by names, before the long part."""
    if column is None:
        return None
    if table.frame is None:
        raise ParameterError("--by needs single rows: the table is too large to keep them, take a sample (--max-rows)")
    names = list(table.frame.columns)
    if column in names:
        return column
    if column.lstrip("-").isdigit() and -len(names) <= int(column) < len(names):
        return int(column)
    raise ParameterError(f"--by: there is no column {column!r}; there are {listed(list(map(str, names)), 20)}")


def subgroups_of(options: Namespace, result: Any, table: Table | None) -> Any:
    """What --by asks for, with the model's predictions, if there is one for each row."""
    if getattr(options, "by", None) is None:
        return None
    if table is None:
        return result.by(options.by)  # says why that cannot be
    predictions = None
    if getattr(options, "predictions", None) is not None:
        predictions = _predictions(options, table)
    return result.by(check_by(options.by, table), predictions=predictions)


def _predictions(options: Namespace, table: Table) -> Any:
    """One prediction for every row of the table; None if the file holds something else."""
    from .inputs import model_figures

    figures = model_figures(options, np.unique(table.y).tolist(), table)
    given = figures.get("y_pred")
    if given is None or len(given) != len(table.y):
        return None
    every = np.full(table.n_file_rows, None, dtype=object)  # rows of the file that have no label are not asked for
    every[table.rows - 1] = given
    return every


def parts_of(options: Namespace, result: Any, table: Table | None) -> tuple[list[str], dict[str, Any]]:
    """Texts and plain values of what was asked for besides the floor."""
    texts, values = [], {}
    by = subgroups_of(options, result, table)
    if by is not None:
        texts.append(str(by))
        values["by"] = by.to_dict()
    if getattr(options, "abstain", False):
        texts.append(str(result.abstention()))
        values["abstention"] = result.abstention().to_dict()
    return texts, values
