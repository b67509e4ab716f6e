"""How full the balls are, and whether an estimate that rests on them can be believed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._types import Floats
from ..rows.dataset import Dataset
from ..rows.labels import plain

__all__ = ["Occupancy", "doubts"]


# An empty ball gives the ratio 0, "no error here": above this weighted share of them the estimate is
# mostly made of silence.
_MOST_EMPTY = 0.10
# Standard errors by which two estimates from the same balls may differ before one of them must be biased.
_MOST_STANDARD_ERRORS = 4.0
# Factor by which the weights may multiply the noise of a ratio.
_MOST_NOISE = 100.0
_MOST_COPIED = 0.05
_FEWEST = 10


@dataclass(frozen=True, eq=False)
class Occupancy:
    """Neighbours per ball, one entry per radius.

    Attributes
    ----------
    radii, weights : ndarray of shape (L,)
        Radii in the units the learner reports, and their ensemble weights.
    mean, median : ndarray of shape (L,)
        Points in a ball, the centre left out.
    empty : ndarray of shape (L,)
        Share of balls that hold nobody but their centre.
    """

    radii: Floats
    weights: Floats
    mean: Floats
    median: Floats
    empty: Floats

    @classmethod
    def of(cls, n_neighbours: NDArray[np.int64], radii: Floats, weights: Floats) -> "Occupancy":
        """Summarise neighbour totals of shape (n, L)."""
        return cls(
            radii=radii,
            weights=weights,
            mean=n_neighbours.mean(axis=0),
            median=np.median(n_neighbours, axis=0),
            empty=(n_neighbours == 0).mean(axis=0),
        )

    @property
    def empty_share(self) -> float:
        """Share of empty balls, each radius counted by the size of its weight."""
        size = np.abs(self.weights)
        return float((size * self.empty).sum() / size.sum())

    def __str__(self) -> str:
        lines = ["     radius     weight  mean neighbours  median   empty"]
        lines += [
            f"{radius:11.4g} {weight:+10.3g} {mean:16.1f} {median:7.0f} {empty:7.1%}"
            for radius, weight, mean, median, empty in zip(
                self.radii, self.weights, self.mean, self.median, self.empty, strict=True
            )
        ]
        return "\n".join(lines)


def doubts(
    occupancy: Occupancy, estimate: float, leave_one_out_error: float, standard_error: float, data: Dataset
) -> tuple[str, ...]:
    """Reasons not to believe an estimate, in words; none if it can be believed.

    Parameters
    ----------
    occupancy : Occupancy
    estimate : float
        The floor.
    leave_one_out_error : float
        Error of classifying each point by the same balls, itself left out. Noise in the class shares
        pushes this one up as much as it pushes the estimate down.
    standard_error : float
        Sampling noise of the two, the larger one.
    data : Dataset
    """
    found = []
    if occupancy.empty_share > _MOST_EMPTY:
        found.append(
            f"{occupancy.empty_share:.0%} of the balls are empty, and an empty ball counts as 'no error here': "
            "the estimate is too low. Use larger radii, fewer features, or more data"
        )
    norm = float(np.linalg.norm(occupancy.weights))
    if norm > _MOST_NOISE:
        found.append(
            f"the weights multiply the noise of a ratio by up to {norm:.1g}: lower the order or use Chebyshev nodes"
        )
    gap = leave_one_out_error - estimate
    if gap > _MOST_STANDARD_ERRORS * standard_error:
        found.append(
            f"classifying each point by the same balls errs at {leave_one_out_error:.3f}, the estimate is "
            f"{estimate:.3f}: the balls hold too few or too unlike neighbours, and the floor may lie well away. "
            "Use fewer features or more data"
        )
    smallest = int(data.class_counts.argmin())
    if data.class_counts[smallest] < _FEWEST:
        found.append(f"class {plain(data.classes)[smallest]!r} has only {data.class_counts[smallest]} samples")
    if data.copied_share > _MOST_COPIED:
        found.append(
            f"{data.copied_share:.0%} of the rows are copies of another although the columns are continuous: copies "
            "of one record share its label and vouch for each other, so the estimate is too low. Drop them"
        )
    return tuple(found)
