"""Rows whose label looks wrong."""

import numpy as np

from .._types import Codes, Floats, RowNumbers

__all__ = ["find_suspects"]

WELL_BELOW = 0.5  # of the mean of a class; docs/method.md says why


def find_suspects(posterior: Floats, labels: Codes, well_below: float = WELL_BELOW) -> RowNumbers:
    """Rows whose label looks wrong, the least probable label first.

    The mean of a class is that of its probability over the rows that it is the label of: the threshold of confident
    learning [1]_. A row is listed if its label is not the likeliest class and has less than half of the mean of its
    class, and the other classes are at or above theirs: one alone, or several together, P_1/mean_1 + P_2/mean_2 + ...
    being 1 at least. In a rare class correct labels are improbable, too: there the mean is low, and what is usual for
    the class is not listed. That one class alone must be at its mean would leave out rows that are ambiguous between
    two classes, neither of which is their label.

    Parameters
    ----------
    posterior : ndarray of shape (N, C)
    labels : ndarray of shape (N,)
        Columns of `posterior`.
    well_below : float
        Share of the mean of its class that the label must be below.

    Returns
    -------
    ndarray

    References
    ----------
    .. [1] C. G. Northcutt, L. Jiang and I. L. Chuang, "Confident learning: estimating uncertainty in dataset labels",
       Journal of Artificial Intelligence Research 70, 2021.

    Examples
    --------
    >>> posterior = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.4, 0.6], [0.2, 0.8]])
    >>> find_suspects(posterior, np.array([0, 0, 0, 0, 1])).tolist()
    [2]

    Sure not to be of class 0, whichever of the two others it is:

    >>> posterior = np.array([[0.9, 0.1, 0.0], [0.0, 0.9, 0.1], [0.0, 0.1, 0.9], [0.0, 0.5, 0.5]])
    >>> find_suspects(posterior, np.array([0, 1, 2, 0])).tolist()
    [3]
    """
    at = labels[:, None]
    n_classes = posterior.shape[1]
    own = np.take_along_axis(posterior, at, axis=1)[:, 0]
    means = np.bincount(labels, own, n_classes) / np.maximum(np.bincount(labels, minlength=n_classes), 1)
    # A class that is nobody's label has no mean, and cannot be at it.
    standing = np.divide(posterior, means, out=np.zeros_like(posterior), where=means > 0)
    np.put_along_axis(standing, at, 0, axis=1)
    is_listed = (own < well_below * means[labels]) & (standing.sum(axis=1) >= 1) & (own < posterior.max(axis=1))
    order = np.argsort(own, kind="stable")
    return order[is_listed[order]]
