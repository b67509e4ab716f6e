"""Single figures of a result, and how they are written as plain values."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

__all__ = ["CurvePoint", "Estimate", "LearnerScore", "plain_value"]


@dataclass(frozen=True)
class Estimate:
    """A figure and what it rests on."""

    name: str
    value: float
    rests_on: str


@dataclass(frozen=True)
class LearnerScore:
    """A learner with its best settings: error and log-loss on rows it had not seen, weight in the pool."""

    name: str  # with the settings
    error: float
    log_loss: float
    weight: float
    learner: str = ""  # without them

    @property
    def plain_name(self) -> str:
        """What to call it in a sentence."""
        return self.learner or self.name


@dataclass(frozen=True)
class CurvePoint:
    """All classifiers, pooled, trained on so many rows: what they err, and what they expect to (their plug-in)."""

    n_train: int
    error: float
    plugin: float


def plain_value(value: Any) -> Any:
    """Numbers, texts, lists and dicts, for JSON."""
    if hasattr(value, "__dataclass_fields__"):
        return {name: plain_value(entry) for name, entry in asdict(value).items()}
    if isinstance(value, tuple):
        return [plain_value(v) for v in value]
    if value is None or isinstance(value, bool | int | float | str | dict):
        return value
    if isinstance(value, np.generic) and value.dtype.kind not in "mM":  # JSON has no dates
        return value.item()
    return str(value)
