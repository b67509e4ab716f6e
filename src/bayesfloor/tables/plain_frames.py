"""Frames of pandas or polars as plain pandas frames, and labels that come beside them."""

from typing import Any

import numpy as np
import pandas as pd

from ..errors import DataError, DataTypeError
from ..rows.labels import is_missing

__all__ = ["is_complete", "plain_frame", "plain_labels"]


def is_complete(frame: Any, y: Any) -> bool:
    """Whether a frame holds numbers alone and nothing is missing, in it or in the labels."""
    empty = plain_frame(frame.head(0))
    if not all(pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_bool_dtype(kind) for kind in empty.dtypes):
        return False
    if bool(plain_frame(frame).isna().to_numpy().any()):
        return False
    if isinstance(y, list | tuple):
        return not any(is_missing(label) for label in y)
    return not (hasattr(y, "__array__") and bool(pd.isna(np.asarray(y)).any()))


def plain_frame(frame: Any) -> pd.DataFrame:
    """A pandas frame with text for names; polars comes over column by column, which needs no pyarrow."""
    if isinstance(frame, pd.DataFrame):
        return frame.set_axis(pd.Index([str(name) for name in frame.columns], dtype=object), axis=1).reset_index(
            drop=True
        )
    if not (hasattr(frame, "columns") and hasattr(frame, "get_column")):
        raise DataTypeError(f"a pandas or polars frame is needed, got {type(frame).__name__}")
    columns = {}
    for name in frame.columns:
        column = frame.get_column(name)
        numeric = column.dtype.is_numeric() or column.dtype.is_temporal() or str(column.dtype) == "Boolean"
        values = column.to_numpy() if numeric and not str(column.dtype).startswith("Decimal") else column.to_list()
        columns[name] = pd.Series(values) if numeric else pd.Series(values, dtype=object)
    return pd.DataFrame(columns)


def plain_labels(y: Any, n_rows: int) -> "pd.Series[Any]":
    """Labels as a column, one for each row."""
    if isinstance(y, str | bytes) or not hasattr(y, "__len__"):
        raise DataTypeError(f"y must be a list or an array of labels, got {type(y).__name__}: give list(y)")
    if hasattr(y, "columns") and len(y.columns) == 1:
        y = y[y.columns[0]]
    if np.ndim(y) == 2 and getattr(y, "shape", (0, 0))[1] == 1:
        y = np.asarray(y)[:, 0]
    if hasattr(y, "columns") or (isinstance(y, np.ndarray) and y.ndim != 1):
        raise DataError(f"y must be one label per row, got an array of shape {y.shape}")
    if len(y) != n_rows:
        raise DataError(f"X has {n_rows} rows but y has {len(y)} labels: they must have equal length")
    values = y.to_list() if hasattr(y, "to_list") else y.tolist() if isinstance(y, np.ndarray) else list(y)
    for row, label in enumerate(values):
        if isinstance(label, list | tuple | set | dict | np.ndarray):
            raise DataTypeError(
                f"y must hold one plain label per row; row {row} holds a {type(label).__name__}: make it one text"
            )
    # Beside a missing label pandas would turn whole numbers into rounded ones.
    rounds = any(isinstance(label, int) for label in values) and any(is_missing(label) for label in values)
    return pd.Series(values, dtype=object if rounds else None)
