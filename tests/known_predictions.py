"""Rows with a known posterior, as pooled classifiers would see them that know it, or are wrong in a known way."""

import numpy as np

from bayesfloor import problems
from bayesfloor.floor.ceiling import Test
from bayesfloor.floor.predictions import Predictions
from bayesfloor.floor.rule import shrunk_shares


def predictions(
    name: str, n: int, seed: int, *, says=None, priors: np.ndarray | None = None, groups: np.ndarray | None = None
) -> Predictions:
    """A sample of a problem; `says` makes of the exact posterior what the classifiers say."""
    problem = problems.get(name)
    X, y = problem.sample(n, seed)
    P = problem.posterior(X)
    P = P if says is None else says(P)
    counts = np.bincount(y, minlength=problem.n_classes)
    weights = np.full(n, 1 / n)
    if priors is not None:
        P = P * priors / problem.priors
        P /= P.sum(axis=1, keepdims=True)
        weights = (priors / counts)[y]
    held = np.arange(n) < n // 5
    parts = [weights[rows] / weights[rows].sum() for rows in (~held, held)]
    group = None if groups is None else np.unique(groups[held], return_inverse=True)[1]
    largest = 1.0 if groups is None else float(np.bincount(groups).max())
    return Predictions(
        P=[[P] * 5],
        y=y,
        weights=weights,
        test=Test(P[~held], y[~held], parts[0], P[held], y[held], parts[1], group, largest, 0.3),
        n=n,
        n_features=problem.n_features,
        shares=counts / n if priors is None else priors,
        shrunk_shares=shrunk_shares(counts) if priors is None else priors,
        priors=priors,
        confidence_level=0.95,
    )


def posterior(name: str, n: int = 100_000) -> np.ndarray:
    """The exact posterior of many rows."""
    problem = problems.get(name)
    return problem.posterior(problem.sample(n, 99)[0])
