"""Ball counts -> density ratios -> error: what each sample contributes to the floor, and against which class.

Functions that end in `terms` return an array of shape (n, C): the part of the error that sample i of class k owes to
class c. Row sums are the samples' terms, the mean over samples is the estimate. `t(u) = max(0, 1 - u)`
of the paper appears as `1 - t(u) = min(1, u)`.
"""

from collections.abc import Sequence

import numpy as np

from .._types import BallCounts, Codes, Floats
from ..utils.checks import check_number, check_whole

__all__ = [
    "apply_floor",
    "change_priors",
    "cover_hart_lower",
    "density_ratios",
    "error_terms",
    "neighbour_shares",
    "ordered_terms",
    "paper_symmetrised_terms",
    "symmetric_terms",
]


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
    R_c(x; r) = n_c / (n_k + 1) (Definition 1 of the paper), averaged over the radii *before* the kink of the error is
    applied (Definition 6). The centre itself is the "+ 1": for Poisson counts E[n_c / (n_k + 1)] = (l_c / l_k)(1 -
    exp(-l_k)), nearly unbiased. The counts carry the priors already; the paper's Algorithm 1 leaves out eta = N_2 / N_1
    where it needs it, and the published code multiplies by the priors a second time.

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


def apply_floor(ratios: Floats, own: Codes, priors: Floats, ratio_floor: float | None) -> Floats:
    """Raise each ratio to at least (p_c / p_k) C_L / C_U, what densities within [C_L, C_U] allow; None raises nothing.

    The paper prints ``t~ = max{t(x), t(C_L/C_U)}`` below equations (10) and (28); as t falls, x >= C_L/C_U
    caps t from *above*, so it must be the minimum (with the maximum the estimate is inconsistent, and 0 for C_L/C_U =
    0). With ``ratio_floor = 0`` this clips the negative ratios that signed weights produce. The paper's ensemble F
    has no t~: that is None.

    Examples
    --------
    >>> apply_floor(np.array([[1.0, -0.3]]), np.array([0]), np.array([0.5, 0.5]), 0.1)
    array([[1. , 0.1]])
    """
    return ratios if ratio_floor is None else np.maximum(ratios, ratio_floor * priors / priors[own][:, None])


def change_priors(ratios: Floats, own: Codes, priors: Floats, target: Floats) -> Floats:
    """Ratios as they would be under the class shares `target` instead of `priors`.

    Examples
    --------
    >>> change_priors(np.array([[1.0, 3.0]]), np.array([0]), np.array([0.25, 0.75]), np.array([0.5, 0.5]))
    array([[1., 1.]])
    """
    change = target / priors
    return ratios * change / change[own][:, None]


def error_terms(ratios: Floats, own: Codes, priors: Floats, class_order: str | Sequence[int]) -> Floats:
    """Terms for "symmetric", "paper", or one class order given as codes."""
    if class_order == "symmetric":
        return symmetric_terms(ratios, own)
    if class_order == "paper":
        return paper_symmetrised_terms(ratios, own, priors)
    return ordered_terms(ratios, own, [int(c) for c in class_order])


def symmetric_terms(ratios: Floats, own: Codes) -> Floats:
    """Average over all C! class orders, in closed form.

    With the other classes' ratios sorted, R_(1) <= ... <= R_(C-1), the class in place j is the deciding
    one (nothing larger before the own class) in a share 1 / ((C-j+1)(C-j)) of all orders. Classes whose
    ratios tie share their places evenly, so the order of the classes shows nowhere.

    Examples
    --------
    >>> symmetric_terms(np.array([[1.0, 0.2, 3.0]]), np.array([0])).round(6)
    array([[0.      , 0.033333, 0.5     ]])
    """
    n, n_classes = ratios.shape
    others = ratios.copy()
    others[np.arange(n), own] = -np.inf
    rank = np.argsort(others, axis=1, kind="stable")[:, 1:]
    sorted_ratios = np.take_along_axis(others, rank, axis=1)
    # First and last place (counted from 1) of the group of equal ratios each entry belongs to.
    place = np.arange(1, n_classes)
    new = np.ones(sorted_ratios.shape, dtype=bool)
    new[:, 1:] = sorted_ratios[:, 1:] != sorted_ratios[:, :-1]
    first = np.maximum.accumulate(np.where(new, place, 0), axis=1)
    ends = np.roll(new, -1, axis=1)
    ends[:, -1] = True
    last = np.minimum.accumulate(np.where(ends, place, n_classes)[:, ::-1], axis=1)[:, ::-1]
    # 1/((C-j+1)(C-j)) telescopes: summed over places first..last it is 1/(C-last) - 1/(C-first+1).
    share = (1 / (n_classes - last) - 1 / (n_classes - first + 1)) / (last - first + 1)
    terms = np.zeros_like(ratios)
    np.put_along_axis(terms, rank, np.minimum(sorted_ratios, 1.0) * share, axis=1)
    return terms


def ordered_terms(ratios: Floats, own: Codes, order: Sequence[int]) -> Floats:
    """Form of the paper's equation (28) for one class order: each sample against the strongest class before its own.

    ``E = 1 - p_1 - (1/N) sum_{k>=2} sum_{y_i=k} t(max_{c<k} R_c(x_i))``; samples of the first class
    contribute nothing. For two classes this is the one-sided ``p_2 mean_2(min(1, R_1))``.

    Examples
    --------
    >>> ordered_terms(np.array([[1.0, 0.2], [0.4, 1.0]]), np.array([0, 1]), [0, 1])
    array([[0. , 0. ],
           [0.4, 0. ]])
    """
    n, n_classes = ratios.shape
    place = np.empty(n_classes, dtype=np.int64)
    place[list(order)] = np.arange(n_classes)
    earlier = np.where(place[None, :] < place[own][:, None], ratios, -np.inf)
    strongest = earlier.argmax(axis=1)
    row = np.arange(n)
    terms = np.zeros_like(ratios)
    highest = earlier[row, strongest]
    # The first class has nothing before it: its maximum stays -inf and its term 0.
    terms[row, strongest] = np.where(np.isneginf(highest), 0.0, np.minimum(highest, 1.0))
    return terms


def paper_symmetrised_terms(ratios: Floats, own: Codes, priors: Floats) -> Floats:
    """Two classes: the one-sided estimators of both classes' points, weighted N_2/N and N_1/N.

    In equation (11) both sums use the same t; p_1 and p_2 have to swap for the points of the first class, which
    is what the ratio to a point's *own* class does. Equal to `symmetric_terms` when N_1 = N_2.

    Examples
    --------
    >>> paper_symmetrised_terms(np.array([[1.0, 0.2]]), np.array([0]), np.array([0.25, 0.75]))
    array([[0.  , 0.05]])
    """
    terms = np.minimum(ratios, 1.0) * priors[own][:, None]
    terms[np.arange(len(own)), own] = 0.0
    return terms


def cover_hart_lower(error: float, n_classes: int) -> float:
    """Smallest Bayes error for which the nearest neighbour may err so often (Cover and Hart 1967).

    Inverts e <= E (2 - C / (C - 1) E), which two independent draws from the same posterior obey: hence the lower
    limit also of any other e that is asymptotically at most the error of the nearest neighbour.

    Examples
    --------
    >>> round(cover_hart_lower(0.42, 2), 12)  # 2 E (1 - E) = 0.42 at E = 0.3
    0.3
    """
    error, n_classes = check_number("error", error, 0, 1), check_whole("n_classes", n_classes, 2)
    most = (n_classes - 1) / n_classes
    return most * (1 - float(np.sqrt(max(0.0, 1 - error / most))))
