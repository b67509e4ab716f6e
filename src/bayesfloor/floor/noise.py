"""A self-check on the user's own data: the estimate must follow label noise along its exact line."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DataError, ParameterError
from ..rows.labels import encode_labels
from ..utils.checks import numbers_from
from ..utils.parallel import Progress
from ._estimate import estimate
from .result import FloorResult

__all__ = ["NoiseCheck", "noise_check"]

_FEWEST = 10  # rows per class, on average twice that many: chance must not empty a class


@dataclass(frozen=True)
class NoiseCheck:
    """Estimates after label noise, beside the exact line.

    Attributes
    ----------
    clean : FloorResult
        The estimate on the labels as they are.
    rhos, expected, estimated : tuple of float
        Shares of labels replaced; R + rho (1 - 1/C - R) with R the clean floor; what was estimated.
    """

    clean: FloorResult
    rhos: tuple[float, ...]
    expected: tuple[float, ...]
    estimated: tuple[float, ...]

    @property
    def largest_gap(self) -> float:
        """How far off the line the farthest estimate is."""
        return float(np.abs(np.subtract(self.estimated, self.expected)).max())

    def __str__(self) -> str:
        lines = ["share of labels replaced   exact line   estimated   off"]
        for rho, line, found in zip(
            (0.0, *self.rhos), (self.clean.floor, *self.expected), (self.clean.floor, *self.estimated), strict=True
        ):
            lines.append(f"{rho:>24.0%} {line:>12.2%} {found:>11.2%} {found - line:>+7.2%}")
        lines.append(
            "A necessary test, not a sufficient one: the error of any fixed classifier lies on the same line. An "
            "estimate that leaves it is wrong; one that stays may still be too high."
        )
        return "\n".join(lines)


def noise_check(
    X: Any,
    y: Any,
    *,
    rhos: Sequence[float] = (0.2, 0.4, 0.6),
    groups: Any = None,
    effort: str = "balanced",
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> NoiseCheck:
    """Estimate again after replacing a share rho of the labels by uniform draws over all classes.

    The floor must move to R + rho (1 - 1/C - R), exactly, whatever R is.

    Parameters
    ----------
    X, y, groups, effort, random_state, n_jobs, progress
        As in `estimate`.
    rhos : sequence of float
        Between 0 and 1.

    Returns
    -------
    NoiseCheck

    Examples
    --------
    >>> from bayesfloor import problems
    >>> X, y = problems.get("moons").sample(250, random_state=0)
    >>> check = noise_check(X, y, rhos=[0.5], effort="fast", n_jobs=1)
    >>> check.largest_gap < 0.1
    True
    """
    shares = tuple(np.atleast_1d(numbers_from("rhos", rhos)).tolist())
    if not shares or not all(0 < rho <= 1 for rho in shares):
        raise ParameterError(f"rhos must be shares between 0 and 1, got {rhos!r}")
    options: dict[str, Any] = {
        "groups": groups,
        "effort": effort,
        "random_state": random_state,
        "n_jobs": n_jobs,
        "progress": progress,
    }
    clean = estimate(X, y, **options)
    classes, codes = encode_labels(y)
    n_classes = len(classes)
    if n_classes * _FEWEST > len(codes) / 2:
        raise DataError(f"{len(codes)} rows of {n_classes} classes are too few to check with replaced labels")
    estimated = []
    for rho in shares:
        rng = np.random.default_rng([random_state, int(1e6 * rho)])
        replaced = np.where(rng.random(len(codes)) < rho, rng.integers(0, n_classes, len(codes)), codes)
        noisy = estimate(
            X,
            classes[replaced],
            groups=groups,
            effort=effort,
            random_state=random_state,
            n_jobs=n_jobs,
            progress=progress,
        )
        estimated.append(noisy.floor)
    most = 1 - 1 / n_classes
    expected = tuple(clean.floor + rho * (most - clean.floor) for rho in shares)
    return NoiseCheck(clean, shares, expected, tuple(estimated))
