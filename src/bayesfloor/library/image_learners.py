"""Learners for pictures: kernels at some of them; and, in convolutions.py, a network where torch is there."""

from functools import partial

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dsyrk

from .._types import Floats, Singles
from .convolutions import convolutions
from .fold import Fold, Models, Unseen, from_scores
from .learners import Learner

__all__ = ["IMAGE_LEARNERS", "LANDMARKS", "part_kernel"]

# Pictures that kernels stand at, by effort.
LANDMARKS = {"fast": 1_000, "balanced": 4_000, "thorough": 6_000}
_RIDGES = (0.003, 0.1, 3.0)
_ROUNDING = 1e-8  # of Gram matrices, for each row: distances are in single precision
_AT_A_TIME = 2_048  # rows
_REFERENCE = 500  # rows whose distances tell what is near
# Responses lie between 0 and 1: as logarithms of probabilities they would hardly tell classes apart.
_SHARPNESS = 8.0


def part_kernel(fold: Fold, part: str, width: float, most: int) -> Models:
    """Ridge regression of the class indicators on a Gaussian kernel at some of the rows (Nystroem), several ridges.

    Distances are in single precision. The Gram matrix, which is added up over blocks of rows, is not: what its rounding
    would then have to be held down by is far more ridge than classes need that hardly overlap.

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
    ridges = [ridge for ridge in _RIDGES if fold.wants(_setting(part, ridge))]
    if fold.n < 4 or not ridges:
        return {}
    rng = np.random.default_rng([fold.seed, 2])
    landmarks = rows[np.sort(rng.permutation(fold.n)[: min(most, fold.n)])]
    sizes = (landmarks**2).sum(axis=1)

    def distances(some: Singles) -> Singles:
        return np.maximum((some**2).sum(axis=1)[:, None] + sizes - 2 * some @ landmarks.T, np.float32(0))

    near = distances(landmarks[:: max(1, len(landmarks) // _REFERENCE)])
    scale = np.float32(width / (float(np.median(near[near > 0])) if near.any() else 1.0))
    targets = np.eye(fold.n_classes)[fold.y] - fold.prior
    m = len(landmarks)
    gram, products = np.zeros((m, m), order="F"), np.zeros((m, fold.n_classes))
    for start in range(0, fold.n, _AT_A_TIME):
        K = np.exp(-scale * distances(rows[start : start + _AT_A_TIME])).astype(np.float64)
        gram = dsyrk(1.0, K.T, beta=1.0, c=gram, lower=1, overwrite_c=1)
        products += K.T @ targets[start : start + _AT_A_TIME]
    penalty = np.exp(-scale * distances(landmarks)).astype(np.float64)

    def responses(some: Singles) -> Floats:
        blocks = [some[start : start + _AT_A_TIME] for start in range(0, len(some), _AT_A_TIME)]
        return np.concatenate([np.exp(-scale * distances(block)).astype(np.float64) @ everything for block in blocks])

    everything = np.hstack([_solve(gram + ridge * penalty, products, fold.n) for ridge in ridges])

    def predict(unseen: Unseen, at: int) -> Floats:
        found = unseen.once(f"kernel of {part}", lambda: responses(unseen.parts[part]))
        own = found[:, at * fold.n_classes : (at + 1) * fold.n_classes]
        return from_scores(_SHARPNESS * (own + fold.prior))

    return {_setting(part, ridge): partial(predict, at=at) for at, ridge in enumerate(ridges)}


def _solve(A: Floats, products: Floats, n: int) -> Floats:
    """Coefficients; the diagonal is raised by what the rounding of so many rows may have taken from it."""
    at = np.diag_indices(len(A))
    for raised in (1, 9, 90):
        A[at] += raised * _ROUNDING * n
        try:
            return np.asarray(cho_solve(cho_factor(A, lower=True, check_finite=False), products))
        except LinAlgError:  # narrow kernels of rows that are all alike
            continue
    raise LinAlgError("the kernel matrix is singular")


def _setting(part: str, ridge: float) -> str:
    return f"kernel of {part} {ridge:g}"


def kernel_of_patches(fold: Fold) -> Models:
    """A kernel in the leading directions of patches."""
    return part_kernel(fold, "patches", 0.7, LANDMARKS[fold.effort])


def kernel_of_pixels(fold: Fold) -> Models:
    """A kernel in the leading directions of the pixels."""
    return part_kernel(fold, "pixels", 2.0, LANDMARKS[fold.effort] // 3)


IMAGE_LEARNERS: dict[str, Learner] = {
    "kernel of patches": kernel_of_patches,
    "kernel of pixels": kernel_of_pixels,
    "convolutions": convolutions,
}
