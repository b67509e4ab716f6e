"""Radius rules: small strategy objects that say which balls to count in.

A rule names the interval its nodes lie in, the defaults that suit it, and turns nodes into radii.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from .._types import BallCounts, Codes, Counts, Floats, RowNumbers
from ..counting._nearest import nearest_labels
from ..errors import ParameterError
from ..rows.blocks import LARGE
from ..utils.checks import brief, check_choice, check_fraction, check_number, check_positive, check_whole, numbers_from
from ..utils.parallel import Progress
from .error import neighbour_shares
from .weights import minimum_norm_weights

__all__ = [
    "AdaptiveRadii",
    "Counter",
    "GivenRadii",
    "NeighbourRadii",
    "PaperRadii",
    "RadiusRule",
    "mean_neighbour_distance",
]


# Candidate radii grow by this factor; eight steps double the radius.
_STEP = 2 ** (1 / 8)
_SPAN = 2.0**14  # of the candidates at most
_HARDLY = 1e-3  # difference in mean log likelihood that does not matter: that of balls with some 500 points


class Counter(Protocol):
    """What a rule asks of the points: `BallCounter`, or `BlockCounter` where they lie in blocks."""

    n_classes: int

    @property
    def n_samples(self) -> int:
        """Number of points."""

    @property
    def n_features(self) -> int:
        """Number of coordinates."""

    @property
    def class_counts(self) -> Counts:
        """Points of each class."""

    def spread_out(self, n: int) -> RowNumbers:
        """Up to `n` rows, evenly spaced over the rows sorted by their distance from the mean."""

    def rows_at(self, rows: RowNumbers) -> tuple[Floats, Codes]:
        """Points and labels of these rows."""

    def blocks(
        self, radii: Floats, rows: RowNumbers | None = None, progress: Progress | None = None
    ) -> Iterator[tuple[RowNumbers, BallCounts]]:
        """Counts around `rows` (default all) in blocks of bounded memory, as pairs (rows, counts)."""


@runtime_checkable
class RadiusRule(Protocol):
    """What `BenchmarkLearner` asks of a rule."""

    def node_interval(self) -> tuple[float, float]:
        """Interval [low, high] of the nodes."""

    def defaults(self, n_features: int) -> tuple[int, int]:
        """Number of nodes and of vanishing moments if the user names none."""

    def radii(self, nodes: Floats, counter: Counter, order: int, unit: float) -> Floats:
        """Radius of each node, in units of the counter's points; `unit` is their length in the data's."""


@dataclass(frozen=True)
class AdaptiveRadii:
    """Radii from the data: the largest by leave-one-out likelihood, the others a fixed share of it.

    Parameters
    ----------
    smallest : float, default 0.5
        Smallest radius as a share of the largest.
    shrink : float, default 0.77
        The largest radius as a share of the one at which the class shares around each point, that point
        left out, predict its label best (highest mean log likelihood). That radius balances bias and noise
        of the *posterior*; the error estimate averages the noise away but not the bias, so smaller balls
        serve it better.
    max_probes : int, default 2048
        Points at which the likelihood is evaluated: all of them up to this number, otherwise that many,
        evenly spread over the points sorted by their distance from the mean (no randomness, and no
        dependence on the order of the rows).

    Notes
    -----
    A ball is symmetric, so the bias of a ratio has only even powers of the radius away from the edges of
    the support: the nodes are squared radii, in [smallest^2, 1] times the largest squared.

    Examples
    --------
    >>> from bayesfloor import BenchmarkLearner, problems
    >>> X, y = problems.get("moons").sample(300, random_state=0)
    >>> learner = BenchmarkLearner(radii=AdaptiveRadii(shrink=0.5)).fit(X, y)
    >>> 0 < learner.bayes_error_ < 0.2   # the true floor is 0.0856
    True
    """

    smallest: float = 0.5
    shrink: float = 0.77
    max_probes: int = 2048

    def __post_init__(self) -> None:
        check_fraction("smallest", self.smallest)
        check_number("smallest", self.smallest, 1e-3)
        check_positive("shrink", self.shrink)
        check_number("shrink", self.shrink, 1e-6, 1)
        check_whole("max_probes", self.max_probes, 2)

    def node_interval(self) -> tuple[float, float]:
        """Squared shares of the largest radius."""
        return self.smallest**2, 1.0

    def defaults(self, n_features: int) -> tuple[int, int]:
        """Twelve nodes, one vanishing moment."""
        return 12, 1

    def radii(self, nodes: Floats, counter: Counter, order: int, unit: float) -> Floats:
        """Nodes are squared shares of the largest radius; on discrete data all radii hold the same points."""
        largest, is_discrete = self.largest(counter, order)
        # Where distances come in steps a ratio is no smooth function of the radius: nothing to extrapolate.
        return largest * (1 - 1e-9 * (1 - nodes)) if is_discrete else largest * np.sqrt(nodes)

    def largest(self, counter: Counter, order: int) -> tuple[float, bool]:
        """Largest radius, by leave-one-out likelihood over a grid of candidates; whether rows mostly have equals."""
        probes = counter.spread_out(self.max_probes)
        candidates, closest = self._candidates(counter)
        if len(candidates) == 0:  # all points coincide: any radius holds all of them
            return 1.0, True
        below = max(1, round(np.log(1 / self.smallest) / np.log(_STEP)))
        window = np.arange(-below, 1)
        weights = minimum_norm_weights(_STEP ** (2.0 * window), min(order, below))
        # The first radius holds equal rows only: it is smaller than any distance between different ones.
        smaller = candidates[0] * _STEP ** window[:-1]
        grid = np.concatenate([[min(closest * 1e-3, smaller[0] / 2)], smaller, candidates])
        windows = [slice(i, i + below + 1) for i in range(1, len(candidates) + 1)]
        priors = counter.class_counts / counter.n_samples
        single = np.zeros(len(grid))
        ensemble = np.zeros(len(candidates))
        n_alone, everyone = 0, len(probes) == counter.n_samples
        for rows, counts in counter.blocks(grid, None if everyone else probes):
            own = counter.rows_at(rows)[1]
            prior = priors[own]
            n_alone += int((counts[:, :, 0].sum(axis=1) == 0).sum())
            single += [_log_likelihood(counts[:, :, [i]], own, np.ones(1), prior) for i in range(len(grid))]
            ensemble += [_log_likelihood(counts[:, :, part], own, weights, prior) for part in windows]
        # Rounded: where candidates tie, the order of the sums must not choose.
        single, ensemble = np.round(single / len(probes), 10), np.round(ensemble / len(probes), 10)
        if n_alone < 0.1 * len(probes):
            return float(grid[np.argmax(single)]), True
        best = ensemble.max()
        if counter.n_samples > LARGE:
            # With so many points nothing is gained by large balls, and what they lose the probes can hardly see.
            best -= _HARDLY
        return self.shrink * float(candidates[np.argmax(ensemble >= best)]), False

    def _candidates(self, counter: Counter) -> tuple[Floats, float]:
        """From about four neighbours on average to everyone, by a constant factor; and the closest distance."""
        sample, _ = counter.rows_at(counter.spread_out(512))
        squared = [((sample[i + 1 :] - sample[i]) ** 2).sum(axis=1) for i in range(len(sample) - 1)]
        distances = np.sqrt(np.sort(np.concatenate(squared)))
        distances = distances[distances > 0]
        if len(distances) == 0:
            return distances, 0.0
        share = min(1.0, max(4 / counter.n_samples, 1e-3))
        # A far-off point must not stretch the grid: twice what holds 99 % of all pairs is enough.
        reach = 2 * distances[int(0.99 * (len(distances) - 1))]
        low, high = distances[int(share * (len(distances) - 1))], min(distances[-1], reach)
        low = max(low, high / _SPAN)  # rows that nearly coincide must not stretch it either
        n_steps = int(np.ceil(np.log(high / low) / np.log(_STEP)))
        # Off the distances themselves: rounding would decide a candidate that ties with them on a lattice.
        return low * (1 + 1e-6) * _STEP ** np.arange(n_steps + 1), float(distances[0])


@dataclass(frozen=True)
class PaperRadii:
    """The printed rule: radius = xi n^(-1 / 2d) with xi in (0, alpha].

    Parameters
    ----------
    alpha : float, default 0.5
        Upper end of the nodes xi; the paper recommends 0.3 to 0.5.
    class_size : {"mean", "first"}, default "mean"
        What n is. "first": the rows N_1 of the first class in sorted order, as printed, which makes the radius depend
        on which class is called the first. "mean": N / C, the mean class size.

    Notes
    -----
    The rule has no unit of length: for unit-variance data nearly all balls are empty from four features on,
    and the estimate is 0 whatever the truth.

    Examples
    --------
    >>> PaperRadii(alpha=0.3).node_interval()
    (0.0, 0.3)
    """

    alpha: float = 0.5
    class_size: str = "mean"

    def __post_init__(self) -> None:
        check_positive("alpha", self.alpha)
        check_choice("class_size", self.class_size, ("mean", "first"))

    def node_interval(self) -> tuple[float, float]:
        """The paper's xi."""
        return 0.0, self.alpha

    def defaults(self, n_features: int) -> tuple[int, int]:
        """L = d + 1 nodes, d vanishing moments (the paper asks for L > d)."""
        return n_features + 1, n_features

    def radii(self, nodes: Floats, counter: Counter, order: int, unit: float) -> Floats:
        """Radius of each xi."""
        size = counter.class_counts[0] if self.class_size == "first" else counter.n_samples / counter.n_classes
        return nodes * float(size) ** (-1 / (2 * max(1, counter.n_features))) / unit


@dataclass(frozen=True)
class GivenRadii:
    """The user's own radii, in units of the data (of the standardized data if those are standardized).

    Parameters
    ----------
    values : array-like of shape (L,)
        Positive, distinct.
    power : {1, 2}, default 2
        The weights cancel powers of r^power: 1 cancels r, r^2, ..., as printed; 2 cancels r^2, r^4, ..., enough away
        from the edges of the support, since a ball is symmetric.

    Examples
    --------
    >>> GivenRadii([0.5, 0.2]).values
    (0.2, 0.5)
    """

    values: tuple[float, ...]
    power: int

    def __init__(self, values: ArrayLike, power: int = 2) -> None:
        array = numbers_from("radii", values)
        if array.ndim != 1 or array.size == 0:
            raise ParameterError(f"radii must be a non-empty list of numbers, got {brief(values)}")
        if not np.isfinite(array).all() or (array <= 0).any():
            raise ParameterError(f"radii must be positive and finite, got {brief(array.tolist())}")
        if len(np.unique(array)) < array.size:
            raise ParameterError(f"radii must be distinct, got {brief(array.tolist())}")
        object.__setattr__(self, "values", tuple(np.sort(array).tolist()))
        object.__setattr__(self, "power", check_whole("power", power, 1, 2))

    def node_interval(self) -> tuple[float, float]:
        """Powers of the share of the largest radius."""
        return 0.0, 1.0

    def defaults(self, n_features: int) -> tuple[int, int]:
        """One vanishing moment if there are two radii or more."""
        return len(self.values), min(1, len(self.values) - 1)

    def nodes(self) -> Floats:
        """Powers of the share of the largest radius."""
        return np.asarray((np.array(self.values) / self.values[-1]) ** self.power)

    def radii(self, nodes: Floats, counter: Counter, order: int, unit: float) -> Floats:
        """The radii as given."""
        return np.array(self.values) / unit


@dataclass(frozen=True)
class NeighbourRadii:
    """Radii in units of the mean distance to the k-th neighbour, the unit of the authors' published code.

    Parameters
    ----------
    k : int, default 9
        Which neighbour; a row is not its own.
    low, high : float, default 1.0 and 1.5
        Ends of the interval that the radii lie in. The weights extrapolate to radius 0; those of the authors' code
        (`classical.authors_code`) extrapolate to `low`.
    max_probes : int, default 1000
        Rows whose distances are averaged, spread evenly over the rows sorted by their distance from the mean.

    Examples
    --------
    >>> from bayesfloor import BenchmarkLearner, problems
    >>> X, y = problems.get("moons").sample(300, random_state=0)
    >>> learner = BenchmarkLearner(radii=NeighbourRadii(k=20)).fit(X, y)
    >>> learner.reliable_, len(learner.radii_)
    (True, 3)
    """

    k: int = 9
    low: float = 1.0
    high: float = 1.5
    max_probes: int = 1000

    def __post_init__(self) -> None:
        check_whole("k", self.k, 1)
        check_number("low", self.low, 0)
        check_positive("high", self.high)
        if not self.low < self.high:
            raise ParameterError(f"low and high must satisfy 0 <= low < high, got low={self.low}, high={self.high}")
        check_whole("max_probes", self.max_probes, 1)

    def node_interval(self) -> tuple[float, float]:
        """Multiples of the mean distance."""
        return self.low, self.high

    def defaults(self, n_features: int) -> tuple[int, int]:
        """Three nodes, one vanishing moment, as in the authors' code."""
        return 3, 1

    def radii(self, nodes: Floats, counter: Counter, order: int, unit: float) -> Floats:
        """Nodes times the mean distance."""
        points = getattr(counter, "points", None)
        if points is None:
            raise ParameterError("NeighbourRadii needs rows in memory, not a Dask collection: use AdaptiveRadii()")
        distance = mean_neighbour_distance(points, self.k, counter.spread_out(self.max_probes))
        if distance == 0:
            raise ParameterError(f"k={self.k}: most rows have {self.k} copies or more, at distance 0. Use a larger k")
        return nodes * distance


def mean_neighbour_distance(points: Floats, k: int, rows: RowNumbers, n_jobs: int | None = None) -> float:
    """Mean distance of these rows to their k-th neighbour (the farthest where there are fewer)."""
    labels = np.zeros(len(points), dtype=np.int64)
    found = nearest_labels(points, labels, min(k, len(points) - 1), queries=rows, n_jobs=n_jobs)
    return float(found[1][:, -1].mean())


def _log_likelihood(counts: BallCounts, own: Codes, weights: Floats, prior: Floats) -> float:
    """Log likelihood of the labels under the class shares in the balls around them, themselves left out."""
    n_neighbours = counts[:, :, -1].sum(axis=1)
    shares = neighbour_shares(counts, weights)
    # One neighbour's worth of prior keeps empty balls from a likelihood of zero.
    p_own = shares[np.arange(len(own)), own] * n_neighbours + prior
    return float(np.log(p_own / (shares.sum(axis=1) * n_neighbours + 1)).sum())
