"""Ridge regression of the class indicators on kernels: a Gaussian one in weighted columns, and a Laplace one."""

from functools import partial

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .._types import Floats
from .fold import WIDE, Fold, Models, Unseen, from_scores, log_probabilities
from .pool import spaced

__all__ = ["MOST_CENTRES", "kernel", "laplace", "n_landmarks", "squared_distances"]

# Of kernels, relative to the median squared distance of landmarks; each is four times the one before.
_WIDTHS, _RIDGES = (0.3, 1.2, 4.8), (10.0, 1.0, 0.1)
_JITTER = 1e-5  # of the landmarks' kernel matrix, which is close to singular where the kernel is wide


def kernel(fold: Fold) -> Models:
    """Ridge regression of the class indicators on a Gaussian kernel at some of the rows (Nystroem), several widths."""
    Z = fold.own.weighted
    rng = np.random.default_rng(fold.seed)
    landmarks = Z[rng.permutation(fold.n)[: n_landmarks(*fold.X.shape)]]
    between = squared_distances(landmarks, landmarks)
    scale = float(np.median(between[np.triu_indices(len(landmarks), 1)])) if len(landmarks) > 1 else 1.0
    scale = scale or 1.0  # rows may be alike
    targets = np.eye(fold.n_classes)[fold.y] - fold.prior
    widths = [w for w in _WIDTHS if any(fold.wants(f"kernel {w:g} {ridge:g}") for ridge in _RIDGES)]

    def responses(unseen: Unseen, width: float) -> Floats:
        def of_narrower() -> Floats:
            if width / 4 in widths:
                K = unseen.once(f"kernel {width / 4:g}", lambda: responses(unseen, width / 4))
                return np.square(np.square(K))
            return np.exp(-width / scale * squared_distances(unseen.weighted, landmarks))

        return unseen.once(f"kernel {width:g}", of_narrower)

    def predict(unseen: Unseen, width: float, coefficients: Floats, offset: Floats) -> Floats:
        return log_probabilities(np.clip(responses(unseen, width) @ coefficients + offset, 3e-3, 1))

    found: Models = {}
    for width in widths:
        K = responses(fold.own, width)
        centre = K.mean(axis=0)
        gram = K.T @ K - fold.n * np.outer(centre, centre)
        products = K.T @ targets - np.outer(centre, targets.sum(axis=0))
        penalty = np.exp(-width / scale * between) + _JITTER * np.eye(len(landmarks))
        for ridge in _RIDGES:
            solved = cho_solve(cho_factor(gram + ridge * penalty), products)
            found[f"kernel {width:g} {ridge:g}"] = partial(
                predict, width=width, coefficients=solved, offset=fold.prior - centre @ solved
            )
    return found


def n_landmarks(n: int, d: int) -> int:
    """Rows at which the kernel of so many training rows and columns stands."""
    return min(n // 2, int(np.clip(n // 8, 200, 500 if d <= WIDE else 1000)))


def squared_distances(A: Floats, B: Floats) -> Floats:
    """Of each row of A from each of B."""
    return np.maximum((A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2 * A @ B.T, 0)


# Of the Laplace kernel, relative to the median distance. Ridges for few errors and for many.
_NEAR, _LAPLACE_RIDGES = 1.0, (0.1, 1.0)
_REFERENCE = 200  # rows whose distances from all others tell what is near
MOST_CENTRES = 1_000  # rows that it stands at; of fewer rows at every one
_SHARPNESS = 4.0  # responses lie between 0 and 1: as logarithms they would hardly tell classes apart
_ROUNDING = 1e-12  # of squared distances, relative to the rows: equal rows must not be apart


def laplace(fold: Fold) -> Models:
    """Ridge regression of the class indicators on a Laplace kernel, which follows finer structure than a Gaussian."""
    if fold.effort == "fast":
        return {}
    Z, ridges = fold.own.standard, [r for r in _LAPLACE_RIDGES if fold.wants(f"laplace {r:g}")]
    rng = np.random.default_rng([fold.seed, 1])
    at = np.sort(rng.permutation(fold.n)[:MOST_CENTRES])
    centres, targets = Z[at], np.eye(fold.n_classes)[fold.y] - fold.prior

    def distances(rows: Floats) -> Floats:
        squared = squared_distances(rows, centres)
        sizes = (rows**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1)
        return np.sqrt(np.where(squared > _ROUNDING * sizes, squared, 0.0))

    between = distances(centres)
    apart = between[spaced(np.arange(len(at)), _REFERENCE)]
    scale = _NEAR / float(np.median(apart[apart > 0])) if apart.any() else 1.0
    penalty = np.exp(-scale * between)
    gram, products = penalty, targets[at]
    if len(at) < fold.n:
        K = np.exp(-scale * distances(Z))
        gram, products = K.T @ K, K.T @ targets

    def predict(unseen: Unseen, coefficients: Floats) -> Floats:
        K = unseen.once("laplace", lambda: np.exp(-scale * distances(unseen.standard)))
        return from_scores(_SHARPNESS * (K @ coefficients + fold.prior))

    found: Models = {}
    for ridge in ridges:
        added = np.eye(len(at)) if len(at) == fold.n else penalty + _JITTER * np.eye(len(at))
        solved = cho_solve(cho_factor(gram + ridge * added, overwrite_a=True, check_finite=False), products)
        found[f"laplace {ridge:g}"] = partial(predict, coefficients=solved)
    return found
