"""Ball counts -> density ratios, and the class shares around each point."""

import numpy as np

from .._types import BallCounts, Codes, Floats

__all__ = ["density_ratios", "neighbour_shares"]


def density_ratios(counts: BallCounts, own: Codes, weights: Floats) -> Floats:
    """Ensemble estimate of p_c f_c(x) / (p_k f_k(x)) at samples x of class k.

    Parameters
    ----------
    counts : ndarray of shape (n, C, L)
        Points of each class within each radius, the centre left out.
    own : ndarray of shape (n,)
        Class k of each centre.
    weights : ndarray of shape (L,)
        One radius with weight 1 is the paper's base learner.

    Returns
    -------
    ndarray of shape (n, C)
        The own column holds the ratio of the class to itself, 1.

    Notes
    -----
    R_c(x; r) = n_c / (n_k + 1), averaged over the radii *before* the kink of the error is applied. The
    centre itself is the "+ 1": for Poisson counts E[n_c / (n_k + 1)] = (l_c / l_k)(1 - exp(-l_k)), nearly
    unbiased. The counts carry the priors already; the paper's Algorithm 1 leaves out eta = N_2 / N_1 where
    it needs it, and the published codes multiply by the priors a second time.

    Examples
    --------
    >>> density_ratios(np.array([[[3, 5], [2, 4]]], dtype=np.int32), np.array([0]), np.array([1.0, 0.0]))
    array([[1. , 0.5]])
    """
    row = np.arange(len(own))
    ratios = np.einsum("ncl,nl->nc", counts, weights / (counts[row, own] + 1.0))
    ratios[row, own] = 1.0
    return np.asarray(ratios)


def neighbour_shares(counts: BallCounts, weights: Floats) -> Floats:
    """Ensemble estimate of the class probabilities around each centre, the centre left out.

    Returns
    -------
    ndarray of shape (n, C)
        Not negative; sums to about 1, or to 0 where all balls are empty.

    Examples
    --------
    >>> neighbour_shares(np.array([[[3], [1]]], dtype=np.int32), np.array([1.0]))
    array([[0.75, 0.25]])
    """
    everyone = np.maximum(counts.sum(axis=1), 1)
    return np.maximum(np.einsum("ncl,nl->nc", counts, weights / everyone), 0.0)
