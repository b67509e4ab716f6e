"""How the user's model did: its error, or a file of its predictions, checked before the long part begins."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import DataError, ParameterError
from ..tables.selection import raw_table
from ..tables.table import Table
from ..tables.target import labels_from
from ..utils.checks import listed

__all__ = ["check_model_options", "model_figures"]


def check_model_options(options: Namespace, *, needed: bool) -> None:
    """Refuse options that do not say how a model did, or say it twice."""
    if options.predictions is not None and (options.error is not None or options.n_test is not None):
        raise ParameterError("give either --predictions, or --error and --n-test")
    if options.predictions is None and (options.error is None) != (options.n_test is None):
        raise ParameterError(
            "--error and --n-test belong together: the error, and the number of rows it was counted on"
        )
    if needed and options.predictions is None and options.error is None:
        raise ParameterError("say how the model did: --error and --n-test, or --predictions FILE")
    if options.error is not None and not 0 <= options.error <= 1:
        percent = f" ({options.error / 100:g} for {options.error:g} %?)" if 1 < options.error <= 100 else ""
        raise ParameterError(f"--error must be a share between 0 and 1, got {options.error:g}{percent}")
    if options.n_test is not None and options.n_test < 1:
        raise ParameterError(f"--n-test must be a whole number of at least 1, got {options.n_test}")


def model_figures(options: Namespace, table: Table) -> dict[str, Any]:
    """How the model did, as `compare` wants it."""
    if options.predictions is None:
        return {"error": options.error, "n_test": options.n_test}
    raw = raw_table(options.predictions, needs_target=False, holds_labels=True)
    frame, name = raw.frame, Path(options.predictions).name
    if {"y_true", "y_pred"} <= set(frame.columns):
        of = {"y_true": "y_true", "y_pred": "y_pred"}
    elif frame.shape[1] == 1 or "y_pred" in frame.columns:
        of = {"y_pred": "y_pred" if "y_pred" in frame.columns else str(frame.columns[0])}
    else:
        raise DataError(
            f"{name} has the columns {listed([repr(c) for c in frame.columns])}: it needs y_true and y_pred, or one "
            f"column with a prediction for each of the {table.n_file_rows:,} rows of {table.name}"
        )
    _refuse_probabilities(frame[of["y_pred"]], table, f"{name}: {of['y_pred']}")
    columns = {what: labels_from(frame[column], column) for what, column in of.items()}
    for column, (_, present) in columns.items():
        if not present.all():
            raise DataError(f"{name}: {column} is empty in row {int(np.flatnonzero(~present)[0]) + 1}: fill it")
    y_pred = columns["y_pred"][0]
    if "y_true" in columns:
        y_true = columns["y_true"][0]
    elif len(y_pred) != table.n_file_rows:
        hint = "one for each row, in the same order, is needed (or columns y_true and y_pred)"
        if len(y_pred) == table.n_file_rows - 1 and of["y_pred"] in {str(label) for label in np.unique(table.y)}:
            hint = f"its first line, {of['y_pred']!r}, was taken for the name of the column: put a line y_pred above it"
        raise DataError(
            f"{name} has {len(y_pred):,} predictions but {table.name} has {table.n_file_rows:,} rows: {hint}"
        )
    else:
        y_true, y_pred = table.y, y_pred[table.rows - 1]
    return {"y_true": _alike(y_true, table, f"{name}: y_true"), "y_pred": _alike(y_pred, table, f"{name}: y_pred")}


def _refuse_probabilities(column: "pd.Series[Any]", table: Table, where: str) -> None:
    if not pd.api.types.is_float_dtype(column.dtype):
        return
    values = column.dropna().to_numpy(dtype=np.float64)
    fractions = values[values != np.rint(values)]
    if not len(fractions) or ((values < 0) | (values > 1)).any():
        return
    if table.y.dtype.kind == "f" and np.isin(fractions, table.y).all():
        return
    raise DataError(
        f"{where} holds probabilities ({fractions[0]:g}, say), not labels: give the class that the model names, one of "
        f"{listed([str(label) for label in np.unique(table.y)])}; for the probabilities there is bayesfloor scores"
    )


def _alike(values: NDArray[Any], table: Table, where: str) -> NDArray[Any]:
    """Labels of another file as those of the table, by how they are written."""
    own = np.unique(table.y)
    known = {str(label): i for i, label in enumerate(own.tolist())}
    written, codes = np.unique(values, return_inverse=True)
    for label in written.tolist():
        if str(label) not in known:
            raise DataError(
                f"{where} holds {str(label)[:40]!r}, which is no label of {table.name} ({listed(list(known))}): spell "
                "the labels alike"
            )
    return own[[known[str(label)] for label in written.tolist()]][codes]
