"""Kinds of arrays, by what they mean."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["BallCounts", "Codes", "Counts", "Floats", "Keys", "Mask", "RandomSeed", "RowNumbers", "Singles", "Values"]

Floats: TypeAlias = NDArray[np.float64]
Singles: TypeAlias = NDArray[np.float32]
Mask: TypeAlias = NDArray[np.bool_]
Values: TypeAlias = NDArray[Any]  # as the user gave them: labels, cells
Codes: TypeAlias = NDArray[np.int64]  # class, group, fold or record of each row, from 0
RowNumbers: TypeAlias = NDArray[np.int64]  # which rows, or columns
Counts: TypeAlias = NDArray[np.int64]  # how many rows: of each class, group or block
BallCounts: TypeAlias = NDArray[np.int32]  # how many rows are in each ball
Keys: TypeAlias = NDArray[np.uint64]  # hashes of rows
RandomSeed: TypeAlias = int | np.random.RandomState | None  # as in scikit-learn: see `utils.checks.seed_from`
