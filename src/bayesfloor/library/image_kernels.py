"""Kernels for pictures: ridge regression at some of the rows, read as probabilities, and again on repaired labels."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from .._types import Codes, Floats, RowNumbers, Singles
from .fold import Fold, Models, log_probabilities
from .kernel_ridge import Kernel, Read, Regression, Solution, blocks, models_on, solve_lower

__all__ = [
    "LANDMARKS",
    "RIDGES",
    "TRIED",
    "Reading",
    "kernel_of_patches",
    "kernel_of_pixels",
    "left_out",
    "part_kernel",
]

# Pictures that kernels stand at, by effort.
LANDMARKS = {"fast": 1_000, "balanced": 4_000, "thorough": 6_000}
RIDGES, _REPAIRED_RIDGE = (0.003, 0.1, 0.6, 3.0), 0.1
_AT_A_TIME = 2_048  # rows of whole units
TRIED = 1_000  # rows, each left out, that decide how responses are read
_SHARPEST, _MOST_REPLACED = 100.0, 0.95
_REPAIR_FROM = 0.03  # share of labels replaced: with less there is nothing to repair


def left_out(regression: Regression, solution: Solution, own: RowNumbers, units: Codes | None = None) -> Floats:
    """Responses of some of the rows, each as if it had been left out; the mean of the targets is as it was.

    With h the leverage of a row, f its response and t its target, that is (f - h t) / (1 - h), exactly. Rows of one
    unit, as copies of a picture are, are left out together: t - (I - H)^-1 (t - f), with H the unit's part of the
    matrix whose diagonal are the leverages.

    Parameters
    ----------
    regression, solution : Regression, Solution
    own : ndarray
        Numbers of rows; with units, whole ones.
    units : ndarray, optional
        Of all rows: what is independent, where rows are not.
    """
    found = np.empty((len(own), regression.targets.shape[1]))
    for block in blocks(len(own)) if units is None else _whole_units(units[own]):
        K, targets = regression.kernel.at(regression.rows[own[block]]), regression.targets[own[block]] - regression.mean
        roots = solve_lower(solution.factor, K.T)
        leverage = np.minimum((roots**2).sum(axis=0), 1 - 1e-6)[:, None]
        responses = K @ solution.coefficients
        left = (responses - leverage * targets) / (1 - leverage)
        if units is not None:
            for rows in _several(units[own[block]]):
                H = roots[:, rows].T @ roots[:, rows]
                # Held off from singular, as above: a unit may be all that a landmark has.
                slack = (1 + 1e-6) * np.eye(len(rows)) - H
                left[rows] = targets[rows] - np.linalg.solve(slack, targets[rows] - responses[rows])
        found[block] = left + regression.mean
    return found


def _whole_units(units: Codes) -> Iterator[RowNumbers]:
    """Rows of whole units, some at a time: about as many as in other blocks."""
    order = np.argsort(units, kind="stable")
    borders = np.append(np.flatnonzero(np.diff(units[order])) + 1, len(order))  # where units end
    ends = borders[np.searchsorted(borders, np.arange(_AT_A_TIME, len(order), _AT_A_TIME))]
    return (rows for rows in np.split(order, np.unique(ends)) if len(rows))


def _several(units: Codes) -> Iterator[RowNumbers]:
    """Rows of each unit that has more than one."""
    _, places, counts = np.unique(units, return_inverse=True, return_counts=True)
    order = np.argsort(places, kind="stable")
    return (rows for rows in np.split(order, np.cumsum(counts)[:-1]) if len(rows) > 1)


@dataclass(frozen=True)
class Reading:
    """How responses, which lie between 0 and 1, are read as probabilities.

    As logarithms of probabilities they would hardly tell classes apart: they are made sharper. Where a share of the
    labels was replaced by uniform draws, every class has its part of that share, whatever the responses.

    Attributes
    ----------
    sharpness, replaced : float
    """

    sharpness: float
    replaced: float

    @classmethod
    def of(cls, responses: Floats, y: Codes, replaced: float | None = None) -> tuple["Reading", float]:
        """The best for responses of rows that were left out, and its log-loss; `replaced` may be known."""
        at = np.arange(len(y)), y

        def loss(theta: Floats) -> float:
            P = cls(float(np.exp(theta[0])), float(theta[1])).probabilities(responses)
            return float(-np.log(np.maximum(P[at], 1e-12)).mean())

        shares = (0.0, _MOST_REPLACED) if replaced is None else (replaced, replaced)
        start = np.array([2.0, np.clip(0.1, *shares)])
        found = minimize(loss, start, bounds=[(0.0, np.log(_SHARPEST)), shares], method="L-BFGS-B")
        return cls(float(np.exp(found.x[0])), float(found.x[1])), float(found.fun)

    def clean(self, responses: Floats) -> Floats:
        """Probabilities of what the labels were before any were replaced."""
        return np.asarray(softmax(self.sharpness * responses, axis=1))

    def probabilities(self, responses: Floats) -> Floats:
        """Of the labels as they are."""
        return (1 - self.replaced) * self.clean(responses) + self.replaced / responses.shape[1]

    def repair(self, responses: Floats, y: Codes) -> Floats:
        """Probabilities of what the labels were, given what they are; by Bayes' rule.

        Responses are of rows that were left out: others have learned the label that is in doubt.
        """
        P = self.clean(responses)
        drawn = self.replaced / responses.shape[1]
        given = np.full_like(P, drawn)  # probability of the label, by what it was
        given[np.arange(len(y)), y] += 1 - self.replaced
        joint = P * given
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def part_kernel(fold: Fold, part: str, width: float, most: int) -> Models:
    """Regression of the class indicators on a kernel, with several ridges and, as a setting, on repaired labels.

    On noisy labels, a ridge that is weak enough for the pictures follows the noise, and one that does not is too strong
    for them. Where, by readings of rows that are left out, labels look replaced, the setting "repaired" is trained on
    what the labels probably were; where they do not, it is the best of the others.

    Parameters
    ----------
    fold : Fold
    part : str
        Of the view: what distances are measured in.
    width : float
        In units of the inverse median squared distance.
    most : int
        Rows at which the kernel stands, at most.
    """
    rows: Singles = fold.parts[part]
    repaired = f"kernel of {part} repaired"
    names = {f"kernel of {part} {ridge:g}": ridge for ridge in RIDGES}
    if not fold.wants(repaired):
        names = {name: ridge for name, ridge in names.items() if fold.wants(name)}
    if fold.n < 4 or not names:
        return {}
    rng = np.random.default_rng([fold.seed, 2])
    kernel = Kernel.of(rows[np.sort(rng.permutation(fold.n)[: min(most, fold.n)])], width)
    regression = Regression.of(kernel, rows, np.eye(fold.n_classes)[fold.y], fold.prior)
    tried = _draw(fold, rng)
    found: dict[str, tuple[Floats, Floats, Reading]] = {}  # coefficients, what is added to responses, reading
    losses: dict[str, float] = {}
    for name, ridge in names.items():
        solution = regression.solve(ridge)
        reading, losses[name] = Reading.of(left_out(regression, solution, tried, fold.units), fold.y[tried])
        found[name] = solution.coefficients, regression.mean, reading
    if fold.wants(repaired):
        best = min(losses, key=lambda name: losses[name])
        found[repaired] = found[best]
        reading = found[best][2]
        if reading.replaced > _REPAIR_FROM:
            # Solved again: the factors of all ridges together would be most of the memory that pictures take.
            solution = regression.solve(names[best])
            responses = left_out(regression, solution, np.arange(fold.n), fold.units)
            regression = regression.with_targets(reading.repair(responses, fold.y))
            solution = regression.solve(_REPAIRED_RIDGE)
            # Neighbours' repaired labels have seen the label of a row left out: sharpness is a little too high.
            responses = left_out(regression, solution, tried, fold.units)
            reading, _ = Reading.of(responses, fold.y[tried], reading.replaced)
            found[repaired] = solution.coefficients, regression.mean, reading
    return models_on(
        kernel,
        lambda unseen: unseen.parts[part],
        {name: (own, mean, _reader(reading)) for name, (own, mean, reading) in found.items() if fold.wants(name)},
    )


def _reader(reading: Reading) -> Read:
    return lambda responses: log_probabilities(reading.probabilities(responses))


def _draw(fold: Fold, rng: np.random.Generator) -> RowNumbers:
    """Rows, in whole units, that decide how responses are read."""
    drawn = rng.permutation(fold.n)
    if fold.units is None:
        return np.sort(drawn[:TRIED])
    own = fold.units[drawn]
    return np.flatnonzero(np.isin(fold.units, np.unique(own[:TRIED])))


def kernel_of_patches(fold: Fold) -> Models:
    """A kernel in the leading directions of patches."""
    return part_kernel(fold, "patches", 0.7, LANDMARKS[fold.effort])


def kernel_of_pixels(fold: Fold) -> Models:
    """A kernel in the leading directions of the pixels."""
    return part_kernel(fold, "pixels", 2.0, LANDMARKS[fold.effort] // 3)
