"""A self-check on the user's own data: the estimate must follow label noise along its exact line."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from .._types import RandomSeed
from ..errors import DataError, ParameterError
from ..rows.labels import encode_labels, plain, present_labels
from ..utils.checks import brief, numbers_from, seed_from
from ..utils.parallel import Progress
from ._estimate import estimate
from .result import FloorResult
from .settings import check_settings

__all__ = ["SPREAD", "FeeBeeScores", "NoiseCheck", "feebee_score", "labels_noise", "noise_check"]

_FEWEST = 10  # rows per class, on average twice that many: chance must not empty a class
_LEVEL = 0.95
_ON = 0.02  # an estimate that is surely within two points of the line is on it
# Estimates vary more than replaced labels alone explain: so many times as much on problems with a known floor
# (benchmarks/results/noise_line.md).
SPREAD = 1.5


@dataclass(frozen=True)
class FeeBeeScores:
    """The two scores of FeeBee, and that of the estimate between: 0 is best.

    Attributes
    ----------
    upper, lower : float
        How far an estimator's upper and lower estimates lie outside of what the floor can be, on average over the
        shares of labels replaced.
    point : float
        The same of the estimate itself.
    """

    upper: float
    lower: float
    point: float


@dataclass(frozen=True)
class NoiseCheck:
    """Estimates after label noise, beside the exact line, with what chance does to the difference.

    Attributes
    ----------
    clean : FloorResult
        The estimate on the labels as they are.
    rhos, expected, estimated : tuple of float
        Shares of labels replaced; R + rho (1 - 1/C - R) with R the clean floor; what was estimated.
    standard_errors : tuple of float
        Of the gaps between the two.
    lows, highs : tuple of float
        Ends of the intervals of what was estimated.
    """

    clean: FloorResult
    rhos: tuple[float, ...]
    expected: tuple[float, ...]
    estimated: tuple[float, ...]
    standard_errors: tuple[float, ...]
    lows: tuple[float, ...] = ()
    highs: tuple[float, ...] = ()

    @property
    def gaps(self) -> tuple[float, ...]:
        """Estimated less expected."""
        return tuple(found - line for found, line in zip(self.estimated, self.expected, strict=True))

    @property
    def largest_gap(self) -> float:
        """How far off the line the farthest estimate is."""
        return max(map(abs, self.gaps))

    def feebee(self, best_error: float | None = None) -> FeeBeeScores:
        """Scores of FeeBee (Renggli et al., arXiv 2108.13034), with the ends of the intervals as the two estimates.

        Parameters
        ----------
        best_error : float, optional
            The lowest error that anyone is known to reach on the labels as they are. Default: the ceiling.

        Notes
        -----
        With s that error, the floor after replacing a share rho of the labels is between rho (1 - 1/C) and
        s + rho (1 - 1/C - s), whatever it is. The scores need no knowledge of the floor, and so cannot see an
        estimate that is wrong within these limits: the larger s, the less they see.
        """
        known = self.clean.ceiling if best_error is None else best_error
        if known is None:
            raise ParameterError("there is no ceiling to go by: give best_error, the lowest error known to be reached")
        n_classes = self.clean.evidence["n_classes"]
        ends = self.clean.interval
        point, low, high = (self.clean.floor, *self.estimated), (ends.low, *self.lows), (ends.high, *self.highs)
        return FeeBeeScores(*(feebee_score((0.0, *self.rhos), curve, n_classes, known) for curve in (high, low, point)))

    @property
    def verdict(self) -> str:
        """How the estimates lie to the line: "off", "on" or "cannot tell".

        "off": some gap is larger than chance explains (95 %, divided among the shares by Bonferroni's rule). "on":
        every estimate is within two points of the line, with 95 % confidence each.
        """
        sizes = [(abs(gap), error) for gap, error in zip(self.gaps, self.standard_errors, strict=True)]
        limit, sure = float(ndtri(1 - (1 - _LEVEL) / (2 * len(sizes)))), float(ndtri(_LEVEL))
        if any(gap > limit * error for gap, error in sizes):
            return "off"
        return "on" if all(gap + sure * error < _ON for gap, error in sizes) else "cannot tell"

    @property
    def sentence(self) -> str:
        """The verdict, and what it means."""
        if self.verdict == "off":
            return (
                "Off the line by more than chance explains: at least one of these estimates is wrong by about that "
                "much, perhaps the one on your labels as they are."
            )
        if self.verdict == "on":
            return "On the line: every estimate is within two points of it."
        return "Cannot tell: no gap is larger than chance explains, but chance alone may be two points here."

    def __str__(self) -> str:
        lines = ["share of labels replaced   exact line   estimated      off   standard error"]
        lines.append(f"{0:>24.0%} {self.clean.floor:>12.2%} {self.clean.floor:>11.2%}")
        for rho, line, found, gap, error in zip(
            self.rhos, self.expected, self.estimated, self.gaps, self.standard_errors, strict=True
        ):
            lines.append(f"{rho:>24.0%} {line:>12.2%} {found:>11.2%} {gap:>+8.2%} {error:>16.2%}")
        lines += [
            self.sentence,
            "What this cannot see: the error of any fixed classifier lies on the same line. A floor that is too high "
            "because no learner has found the structure stays on it.",
        ]
        return "\n".join(lines)


def noise_check(
    X: Any,
    y: Any,
    *,
    rhos: Sequence[float] = (0.2, 0.4, 0.6),
    kind: str | None = None,
    groups: Any = None,
    effort: str = "balanced",
    random_state: RandomSeed = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> NoiseCheck:
    """Estimate again after replacing a share rho of the labels by uniform draws over all classes.

    The floor must move to R + rho (1 - 1/C - R), exactly, whatever R is. What was estimated differs from that by
    chance: of the rows that the best classifier gets wrong a share rho/C is made right, of the others q = rho (1 - 1/C)
    are made wrong, so that the errors that it makes on these rows vary by

        SE^2 = [R (1 - rho/C) rho/C + (1 - R) q (1 - q)] / N,

    and an estimate by more, as measured on problems with a known floor.

    Parameters
    ----------
    X, y, kind, groups, effort, random_state, n_jobs, progress
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
    >>> check.verdict in ("on", "cannot tell")
    True
    """
    check_settings(effort, _LEVEL)
    seed = seed_from(random_state)
    shares = tuple(np.ravel(numbers_from("rhos", rhos)).tolist())
    if not shares or np.ndim(rhos) > 1 or not all(0 < rho <= 1 for rho in shares):
        raise ParameterError(f"rhos must be shares between 0 and 1, got {brief(rhos)}")
    options: dict[str, Any] = {
        "kind": kind,
        "groups": groups,
        "effort": effort,
        "random_state": seed,
        "n_jobs": n_jobs,
        "progress": progress,
    }
    present, labelled, n_rows = present_labels(y)
    classes, codes = encode_labels(present)
    n_classes = len(classes)
    if n_classes * _FEWEST > len(codes) / 2:
        raise DataError(f"{len(codes)} rows of {n_classes} classes are too few to check with replaced labels")
    clean = estimate(X, y, **options)
    found = []
    for rho in shares:
        rng = np.random.default_rng([seed, int(1e6 * rho)])
        replaced = np.where(rng.random(len(codes)) < rho, rng.integers(0, n_classes, len(codes)), codes)
        noisy: Any = classes[replaced]
        if labelled is not None:  # rows without a label stay without one
            noisy = [None] * n_rows
            for row, label in zip(labelled.tolist(), plain(classes[replaced]), strict=True):
                noisy[row] = label
        found.append(estimate(X, noisy, **options))
    most = 1 - 1 / n_classes
    expected = tuple(clean.floor + rho * (most - clean.floor) for rho in shares)
    errors = tuple(SPREAD * labels_noise(clean.floor, rho, n_classes, clean.evidence["n"]) for rho in shares)
    return NoiseCheck(
        clean,
        shares,
        expected,
        tuple(result.floor for result in found),
        errors,
        tuple(result.interval.low for result in found),
        tuple(result.interval.high for result in found),
    )


def feebee_score(rhos: Sequence[float], estimates: Sequence[float], n_classes: int, best_error: float) -> float:
    """Mean distance of estimates from what the floor can be after replacing these shares of the labels.

    The floor then is between rho (1 - 1/C) and s + rho (1 - 1/C - s), s being an error that was reached. One curve of
    estimates has one score; FeeBee takes that of upper and that of lower estimates.

    Examples
    --------
    >>> feebee_score([0.0, 0.5, 1.0], [0.1, 0.3, 0.5], n_classes=2, best_error=0.1)  # on the upper limit
    0.0
    >>> round(feebee_score([0.0, 0.5, 1.0], [0.0, 0.0, 0.0], n_classes=2, best_error=0.1), 6)  # always 0
    0.25
    """
    most = 1 - 1 / n_classes
    shares, values = np.asarray(rhos, dtype=float), np.clip(np.asarray(estimates, dtype=float), 0, most)
    if shares.shape != values.shape or shares.ndim != 1 or not len(shares):
        raise ParameterError(f"there must be one estimate per share, got {len(values)} for {len(shares)}")
    if not 0 <= best_error <= 1:
        raise ParameterError(f"best_error must be in [0, 1], got {brief(best_error)}")
    lowest, highest = shares * most, best_error + shares * (most - best_error)
    return float((np.maximum(values - highest, 0) + np.maximum(lowest - values, 0)).mean())


def labels_noise(floor: float, rho: float, n_classes: int, n: int) -> float:
    """Standard deviation of the best classifier's share of errors, given the rows, when labels are replaced."""
    mended, spoilt = rho / n_classes, rho * (1 - 1 / n_classes)
    return math.sqrt((floor * (1 - mended) * mended + (1 - floor) * spoilt * (1 - spoilt)) / n)
