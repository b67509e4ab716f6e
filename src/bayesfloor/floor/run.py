"""Where and how an estimate runs, apart from what is estimated: cluster, memory, checkpoint."""

import math
import numbers
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ParameterError
from ..rows.blocks import BLOCK_ROWS, LARGE
from ..utils.parallel import available_memory

__all__ = ["Run", "bytes_of"]

_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
# Rows that the library is cross-fitted on if there are more than `LARGE`; the others are only scored.
_SAMPLE_ROWS = 20_000
_FEWEST = 100
# Bytes that scoring a row takes, measured: a kernel at 500 rows and candidates for 135 neighbours are most of it.
_ROW_BYTES = 16_000


@dataclass(frozen=True)
class Run:
    """Where and how an estimate runs.

    Parameters
    ----------
    cluster : str, distributed.Client or Cluster, optional
        Address of a Dask scheduler, or a client of one. Default: the current client for Dask collections, and this
        machine for everything else.
    memory_limit : int or str, optional
        Bytes, or a text such as "3 GB", that the run may use beside the data it is given; by default half of what
        is free. It sets the size of blocks; what cannot fit is refused before work begins. On a cluster the limits of
        its workers count instead.
    checkpoint : str or Path, optional
        Folder for finished pieces of a run on this machine: the same call goes on where it was interrupted, to the same
        result. Other data or settings are refused.
    sample_rows : int, optional
        Rows that the library is cross-fitted on; the others are only scored, in blocks. By default all of them up to
        65,536 rows, then 20,000 (62,500 with ``effort="thorough"``).
    block_rows : int, optional
        Rows scored at a time, at most.

    Examples
    --------
    >>> Run(memory_limit="3 GB").memory
    3221225472
    """

    cluster: Any = None
    memory_limit: int | str | None = None
    checkpoint: str | Path | None = None
    sample_rows: int | None = None
    block_rows: int | None = None

    def __post_init__(self) -> None:
        if self.memory_limit is not None:
            bytes_of(self.memory_limit)
        for name, least in (("sample_rows", _FEWEST), ("block_rows", 1)):
            value = getattr(self, name)
            whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
            if value is not None and (not whole or value < least):
                raise ParameterError(f"{name} must be a whole number of at least {least}, got {value!r}")
        if self.checkpoint is not None and not isinstance(self.checkpoint, str | Path):
            raise ParameterError(f"checkpoint must be the name of a folder, got {self.checkpoint!r}")
        if self.checkpoint is not None and self.cluster is not None:
            raise ParameterError(
                "a checkpoint is of a run on this machine: on a cluster lost work is done again by the others"
            )

    @property
    def memory(self) -> int:
        """Bytes that may be used."""
        return available_memory() // 2 if self.memory_limit is None else bytes_of(self.memory_limit)

    def n_fitted(self, n: int, max_rows: int) -> int:
        """Rows that the library is cross-fitted on, of `n`."""
        if self.sample_rows is not None:
            return min(n, self.sample_rows)
        return n if n <= LARGE else min(n, max(_SAMPLE_ROWS, max_rows * 5 // 4))

    def rows_at_a_time(self, threads: int, n_columns: int) -> int:
        """Rows of a block, so that all threads together stay within a quarter of the memory."""
        most = BLOCK_ROWS if self.block_rows is None else self.block_rows
        fitting = self.memory // 4 // (threads * (_ROW_BYTES + 80 * n_columns))
        if fitting < 64:
            raise ParameterError(
                f"memory_limit of {self.memory:,} bytes is too little to score rows of {n_columns} columns in "
                f"{threads} threads: raise it, or lower n_jobs"
            )
        # A power of 2: free memory changes all the time, and with it the pieces of a checkpoint would.
        return int(min(most, 2 ** int(math.log2(fitting))))


def bytes_of(text: int | str) -> int:
    """Number of bytes in a text such as "500 MB" or "3 GiB"; a unit is a power of 1024.

    Examples
    --------
    >>> bytes_of("1.5 GB"), bytes_of(5 * 2**20)
    (1610612736, 5242880)
    """
    if isinstance(text, int) and not isinstance(text, bool):
        size = float(text)
    else:
        found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([kmgt]?)i?b?\s*", str(text).lower())
        if found is None:
            raise ParameterError(f"memory_limit must be a number of bytes or a text like '3 GB', got {text!r}")
        size = float(found[1]) * _UNITS[found[2]]
    if size < 2**20:
        raise ParameterError(f"memory_limit must be at least 1 MB, got {text!r}")
    return int(size)
