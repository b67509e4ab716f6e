"""Limits of the Bayes error that need only means and covariances of the classes."""

from itertools import combinations

import numpy as np

from .._types import Codes, Floats

__all__ = ["bhattacharyya_coefficient", "gaussian_limits", "linear_limit"]


# A covariance whose smallest eigenvalue is a smaller part of the largest is singular but for rounding.
_SINGULAR = 1e-10
# What it then gets added to its diagonal, as a part of the variance of all points.
_RIDGE = 1e-6


def gaussian_limits(points: Floats, labels: Codes, n_classes: int) -> tuple[float, float, bool]:
    """Bhattacharyya's limits, and whether a singular covariance had to be repaired: see `bounds.bhattacharyya`."""
    shares, means, covariances = _moments(points, labels, n_classes)
    made = [_invertible(covariance, points) for covariance in covariances]
    lower = upper = 0.0
    for i, j in combinations(range(n_classes), 2):
        both = shares[i] + shares[j]
        overlap = np.sqrt(shares[i] * shares[j]) * bhattacharyya_coefficient(
            means[i] - means[j], made[i][0], made[j][0]
        )
        # 1/2 - sqrt(1 - 4 u^2) / 2 in the pair's own shares, times the weight p_i + p_j of the pair
        lower += (both - np.sqrt(max(0.0, both**2 - 4 * overlap**2))) / 2
        upper += overlap
    return float(2 / n_classes * lower), float(upper), any(repaired for _, repaired in made)


def linear_limit(points: Floats, labels: Codes, n_classes: int) -> tuple[float, bool]:
    """Upper limit by Mahalanobis distances, and whether a covariance had to be repaired: see `bounds.mahalanobis`."""
    shares, means, covariances = _moments(points, labels, n_classes)
    upper, any_repaired = 0.0, False
    for i, j in combinations(range(n_classes), 2):
        both = shares[i] + shares[j]
        pooled = (shares[i] * covariances[i] + shares[j] * covariances[j]) / both
        pooled, repaired = _invertible(pooled, points)
        any_repaired |= repaired
        difference = means[i] - means[j]
        product = shares[i] * shares[j] / both**2
        upper += both * 2 * product / (1 + product * float(difference @ np.linalg.solve(pooled, difference)))
    return float(upper), any_repaired


def bhattacharyya_coefficient(difference: Floats, first: Floats, second: Floats) -> float:
    """Overlap, the integral of sqrt(f1 f2), of two Gaussians whose means differ by `difference`.

    Examples
    --------
    >>> round(bhattacharyya_coefficient(np.array([2.0, 0.0]), np.eye(2), np.eye(2)), 6)  # exp(-2^2 / 8)
    0.606531
    """
    middle = (first + second) / 2
    logs = [float(np.linalg.slogdet(matrix)[1]) for matrix in (middle, first, second)]
    distance = float(difference @ np.linalg.solve(middle, difference)) / 8 + logs[0] / 2 - (logs[1] + logs[2]) / 4
    return float(np.exp(-max(0.0, distance)))


def _moments(points: Floats, labels: Codes, n_classes: int) -> tuple[Floats, list[Floats], list[Floats]]:
    groups = [points[labels == c] for c in range(n_classes)]
    shares = np.array([len(group) for group in groups]) / len(points)
    covariances = [np.cov(group, rowvar=False).reshape(points.shape[1], -1) for group in groups]
    return shares, [group.mean(axis=0) for group in groups], covariances


def _invertible(covariance: Floats, points: Floats) -> tuple[Floats, bool]:
    values = np.linalg.eigvalsh(covariance)
    if values[0] > _SINGULAR * values[-1]:
        return covariance, False
    return covariance + _RIDGE * (points.var(axis=0).mean() or 1.0) * np.eye(len(covariance)), True
