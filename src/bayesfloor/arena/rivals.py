"""Estimators that are told more than rows and labels: distorted class probabilities of every row.

In the arena they get the problem's own posterior, made overconfident and noisy, by a parameter named `soft_labels`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._types import Codes, Floats
from ..bounds.soft_labels import calibrated_soft_label_error, soft_label_error

__all__ = ["distort", "isotonic_plug_in", "soft_label_rivals"]

_SHARPNESS, _NOISE = 2.0, 0.25  # log-odds are multiplied by the one; the other is the deviation of what is added


def distort(P: Floats, random_state: Any, *, sharpness: float = _SHARPNESS, noise: float = _NOISE) -> Floats:
    """Posteriors as an overconfident annotator would state them: log-probabilities multiplied, and noise added.

    Without noise the order of a column is kept for two classes, which is all that Ushio, Ishida and Sugiyama
    (arXiv 2505.20761) ask for.

    Examples
    --------
    >>> distort(np.array([[0.75, 0.25]]), 0, noise=0.0).round(3).tolist()
    [[0.9, 0.1]]
    """
    logs = sharpness * np.log(np.maximum(P, 1e-12))
    logs += noise * np.random.default_rng(random_state).standard_normal(P.shape)
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def isotonic_plug_in(P: Floats, codes: Codes) -> float:
    """Mean of 1 - max after isotonic calibration on the same items, as published (Ushio, Ishida and Sugiyama 2025).

    Published for two classes; with more each column is calibrated by itself and rows are made to add up to 1. The fit
    follows the labels that it is judged by: with few items the estimate is low. `calibrated_soft_label_error` is the
    same idea cross-fitted.

    Examples
    --------
    >>> P = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.2, 0.8]])
    >>> isotonic_plug_in(P, np.array([0, 1, 0, 1]))  # the two in the middle are pooled, at 1/2
    0.25
    """
    from sklearn.isotonic import IsotonicRegression

    fits = [
        IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit_transform(column, codes == c)
        for c, column in enumerate(P.T)
    ]
    if P.shape[1] == 2:
        return float(np.minimum(fits[1], 1 - fits[1]).mean())
    calibrated = np.stack(fits, axis=1)
    sums = calibrated.sum(axis=1)
    known = sums > 0  # elsewhere every column says "not this class": the item keeps what it came with
    return float(1 - np.where(known, calibrated.max(axis=1) / np.where(known, sums, 1), P.max(axis=1)).mean())


def soft_label_rivals() -> dict[str, Callable[..., Any]]:
    """Estimators from soft labels, by name, for `run`; they are not among the default ones, which know less.

    Examples
    --------
    >>> from bayesfloor import arena
    >>> result = arena.run(soft_label_rivals(), ["moons"], sizes=[500], n_seeds=1, n_jobs=1)
    >>> sorted(row.estimator for row in result.leaderboard())
    ['oracle', 'soft labels', 'soft labels, calibrated here', 'soft labels, isotonic']
    """
    return {"soft labels": _plain, "soft labels, isotonic": _isotonic, "soft labels, calibrated here": _calibrated}


def _plain(X: Any, y: Any, random_state: Any = 0, *, soft_labels: Floats) -> float:
    """As they came (Ishida et al., arXiv 2202.00395)."""
    return soft_label_error(soft_labels).error


def _isotonic(X: Any, y: Any, random_state: Any = 0, *, soft_labels: Floats) -> float:
    return isotonic_plug_in(soft_labels, np.asarray(y))


def _calibrated(X: Any, y: Any, random_state: int = 0, *, soft_labels: Floats) -> tuple[float, float, float]:
    classes = list(range(soft_labels.shape[1]))
    result = calibrated_soft_label_error(soft_labels, y, classes=classes, random_state=random_state)
    return result.error, result.interval.low, result.interval.high
