"""What an estimate was asked for, apart from data and place."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from .._types import Codes
from ..balls.settings import target_priors
from ..errors import ParameterError
from ..library.arrangement import EFFORTS
from ..rows.blocks import ArrayBlocks
from ..rows.dataset import Dataset
from ..rows.labels import plain
from ..utils.checks import check_seed
from ..utils.intervals import check_level
from ..utils.parallel import Progress
from .checkpoint import Checkpoint, fingerprint
from .rule import check_carried
from .run import Run

__all__ = ["Request"]


@dataclass(frozen=True, eq=False)
class Request:
    """Arguments of `estimate`.

    Attributes
    ----------
    classifiers : mapping
        The user's, by name.
    priors, effort, confidence_level, seed, n_jobs, progress
        As in `estimate`.
    started : float
        When.
    """

    classifiers: Mapping[str, Any]
    priors: Any
    effort: str
    confidence_level: float
    seed: int
    n_jobs: int | None
    progress: Progress | None
    started: float

    def __post_init__(self) -> None:
        check_settings(self.effort, self.confidence_level, self.seed)

    def tell(self, stage: str, done: int, total: int = 1) -> None:
        """Report progress, if anyone listens."""
        if self.progress is not None:
            self.progress(stage, done, total)

    def settings(self) -> dict[str, Any]:
        """For the result."""
        return {"effort": self.effort, "random_state": int(self.seed)}

    def pieces(self, data: Dataset, run: Run, groups: Codes | None = None) -> Checkpoint | None:
        """The checkpoint of a run on rows at hand."""
        if run.checkpoint is None:
            return None
        extra = data.labels if groups is None else data.labels * (int(groups.max()) + 1) + groups
        return self.checkpoint(ArrayBlocks(data.X, extra, data.n_classes), run, data)

    def checkpoint(self, blocks: ArrayBlocks, run: Run, data: Dataset) -> Checkpoint | None:
        """The checkpoint of a run on rows in blocks."""
        if run.checkpoint is None:
            return None
        about = {
            "version": version("bayesfloor"),
            "data": fingerprint(blocks),
            "rows": blocks.n_samples,
            "columns": blocks.n_columns,
            "classes": [str(label) for label in plain(data.classes)],
            **self.settings(),
            "priors": None if self.priors is None else target_priors(self.priors, data).tolist(),
            "classifiers": {name: _described(model) for name, model in self.classifiers.items()},
            "sample_rows": None if run.sample_rows is None else int(run.sample_rows),
        }
        return Checkpoint(run.checkpoint, about)


def check_settings(effort: Any, confidence_level: Any, random_state: Any) -> None:
    """Refuse settings out of their range."""
    if not isinstance(effort, str) or effort not in EFFORTS:
        raise ParameterError(f"effort must be one of {', '.join(EFFORTS)}; got {effort!r}")
    check_level(confidence_level)
    if confidence_level < 0.5:
        raise ParameterError(f"confidence_level must be at least 0.5, got {confidence_level!r}")
    check_carried(confidence_level)
    check_seed(random_state)


def _described(model: Any) -> Any:
    """Class and settings of a classifier, the same in every process.

    `repr` would not do: scikit-learn's leaves out the middle of a long one, and others are addresses in memory.
    """
    settings = model.get_params(deep=False) if hasattr(model, "get_params") else getattr(model, "__dict__", {})
    name = f"{type(model).__module__}.{type(model).__qualname__}"
    return {name: {key: _described_value(value) for key, value in sorted(settings.items())}}


def _described_value(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        content = repr(value.tolist()).encode() if value.dtype.kind == "O" else value.tobytes()
        return [str(value.dtype), value.shape, hashlib.blake2b(content, digest_size=16).hexdigest()]
    if isinstance(value, list | tuple):
        return [_described_value(entry) for entry in value]
    if isinstance(value, dict):
        return {str(key): _described_value(entry) for key, entry in value.items()}
    if hasattr(value, "get_params") and not isinstance(value, type):
        return _described(value)
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
