"""Where and how an estimate runs, and what was asked for."""

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..balls.settings import target_priors
from ..errors import ParameterError
from ..library.arrangement import EFFORTS
from ..rows.block_dataset import fingerprint
from ..rows.blocks import BLOCK_ROWS, LARGE
from ..rows.labels import plain
from ..utils.checks import MOST, brief, check_whole, real_from
from ..utils.intervals import check_level
from ..utils.parallel import Progress, available_memory
from ..utils.sources import source_key
from .checkpoint import Checkpoint
from .raw import check_kind
from .rule import check_carried

if TYPE_CHECKING:
    from .labelled_rows import LabelledRows

__all__ = ["ROW_BYTES", "Request", "Run", "bytes_of"]

_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
# Rows that the library is cross-fitted on if there are more than `LARGE`; the others are only scored.
_SAMPLE_ROWS = 20_000
_FEWEST = 100
# Bytes that scoring a row takes, measured: a kernel at 500 rows and candidates for 135 neighbours are most of it.
ROW_BYTES = 16_000


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
        Folder on this machine for finished pieces of a run: the same call goes on where it was interrupted, to the same
        result. Other data or settings are refused. On a cluster it keeps what was trained, not the scores of all rows.
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
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), least)
        if self.checkpoint is not None and (not isinstance(self.checkpoint, str | Path) or not str(self.checkpoint)):
            raise ParameterError(f"checkpoint must be the name of a folder, got {brief(self.checkpoint)}")

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
        fitting = self.memory // 4 // (threads * (ROW_BYTES + 80 * n_columns))
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
    size = real_from(text)
    if size is None:
        found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([kmgt]?)i?b?\s*", text.lower() if isinstance(text, str) else "-")
        if found is None:
            raise ParameterError(f"memory_limit must be a number of bytes or a text like '3 GB', got {brief(text)}")
        size = float(found[1]) * _UNITS[found[2]]
    if not 2**20 <= size <= MOST:
        raise ParameterError(f"memory_limit must be at least 1 MB, and no more than there can be; got {brief(text)}")
    return int(size)


@dataclass(frozen=True, eq=False)
class Request:
    """Arguments of `estimate`.

    Attributes
    ----------
    classifiers : mapping
        The user's, by name.
    priors, costs, effort, confidence_level, seed, n_jobs, progress
        As in `estimate`.
    started : float
        When.
    kind : str, optional
        Of rows that are no columns yet.
    """

    classifiers: Mapping[str, Any]
    priors: Any
    effort: str
    confidence_level: float
    seed: int
    n_jobs: int | None
    progress: Progress | None
    started: float
    kind: str | None = None
    costs: Any = None

    def __post_init__(self) -> None:
        check_settings(self.effort, self.confidence_level)
        check_kind(self.kind)

    def tell(self, stage: str, done: int, total: int = 1) -> None:
        """Report progress, if anyone listens."""
        if self.progress is not None:
            self.progress(stage, done, total)

    def settings(self) -> dict[str, Any]:
        """For the result."""
        return {"effort": self.effort, "random_state": self.seed}

    def checkpoint(self, rows: "LabelledRows", run: Run) -> Checkpoint | None:
        """The checkpoint of a run on these rows."""
        if run.checkpoint is None:
            return None
        blocks, labels = rows.blocks, plain(rows.classes)
        about = {
            "version": version("bayesfloor"),
            "code": source_key(),
            "data": fingerprint(blocks, rows.groups),
            "rows": blocks.n_samples,
            "columns": blocks.n_columns,
            "classes": [str(label) for label in labels],
            **self.settings(),
            "priors": None if self.priors is None else target_priors(self.priors, rows.classes).tolist(),
            "classifiers": {name: _description(model) for name, model in self.classifiers.items()},
            "sample_rows": None if run.sample_rows is None else int(run.sample_rows),
        }
        if rows.raw is not None:
            about["representation"] = rows.raw.representation.name
        return Checkpoint(run.checkpoint, about)


def check_settings(effort: Any, confidence_level: Any) -> None:
    """Refuse settings out of their range."""
    if not isinstance(effort, str) or effort not in EFFORTS:
        raise ParameterError(f"effort must be one of {', '.join(EFFORTS)}; got {brief(effort)}")
    check_level(confidence_level)
    if confidence_level < 0.5:
        raise ParameterError(f"confidence_level must be at least 0.5, got {brief(confidence_level)}")
    check_carried(confidence_level)


def _description(model: Any) -> Any:
    """Class and settings of a classifier, the same in every process.

    `repr` would not do: scikit-learn's leaves out the middle of a long one, and others are addresses in memory.
    """
    settings = model.get_params(deep=False) if hasattr(model, "get_params") else getattr(model, "__dict__", {})
    name = f"{type(model).__module__}.{type(model).__qualname__}"
    return {name: {key: _value_description(value) for key, value in sorted(settings.items())}}


def _value_description(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        content = repr(value.tolist()).encode() if value.dtype.kind == "O" else value.tobytes()
        return [str(value.dtype), value.shape, hashlib.blake2b(content, digest_size=16).hexdigest()]
    if isinstance(value, list | tuple):
        return [_value_description(entry) for entry in value]
    if isinstance(value, dict):
        return {str(key): _value_description(entry) for key, entry in value.items()}
    if hasattr(value, "get_params") and not isinstance(value, type):
        return _description(value)
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
