"""Single figures of a result."""

from dataclasses import dataclass

__all__ = ["CurvePoint", "Estimate", "LearnerScore"]


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
