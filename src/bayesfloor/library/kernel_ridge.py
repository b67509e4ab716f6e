"""Ridge regression of the class indicators on kernels at some of the rows (Nystroem): a Gaussian and a Laplace kernel.

Kernels for images, in image_kernels.py, are fitted by the same code.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_solve

from .._types import Floats, Singles
from .fold import WIDE, Fold, Models, Unseen, from_scores, log_probabilities

__all__ = [
    "MOST_CENTRES",
    "Kernel",
    "Read",
    "Regression",
    "Solution",
    "blocks",
    "kernel",
    "laplace",
    "models_on",
    "n_landmarks",
    "solve_lower",
    "squared_distances",
]

_AT_A_TIME = 1_024  # rows
_REFERENCE = 200  # rows whose distances from all others tell what is near
_EQUAL = 1e-12  # of squared distances, relative to the rows: equal rows must not be apart
_ROUNDING = 1e-8  # of Gram matrices, for each row: kernels are in single precision
_SIDE = 64  # of the triangles in which a triangular matrix is solved


@dataclass(frozen=True, eq=False)
class Kernel:
    """Of distances from some rows: Gaussian, or Laplace, which falls with the distance instead of its square.

    Attributes
    ----------
    landmarks : ndarray of shape (m, d)
    scale : float
        What (squared) distances are multiplied by.
    is_laplace : bool
    """

    landmarks: Floats | Singles
    scale: float
    is_laplace: bool = False

    @classmethod
    def of(cls, landmarks: Floats | Singles, width: float, is_laplace: bool = False) -> "Kernel":
        """With the width in units of the inverse median (squared) distance."""
        near = squared_distances(landmarks[:: max(1, len(landmarks) // _REFERENCE)], landmarks)
        usual = float(np.median(near[near > 0])) if near.any() else 1.0
        return cls(landmarks, width / (usual**0.5 if is_laplace else usual), is_laplace)

    def at(self, rows: Floats | Singles) -> Floats | Singles:
        """Of these rows, one column for each landmark.

        Exponentials are in single precision, which takes a fraction of the time. So are products of Laplace kernels;
        Gaussian ones are too close to singular.
        """
        squared = squared_distances(rows, self.landmarks)
        if self.is_laplace:
            squared[squared <= _EQUAL * (rows**2).sum(axis=1)[:, None]] = 0
        found: Singles = squared.astype(np.float32, copy=False)
        if self.is_laplace:
            np.sqrt(found, out=found)
        found *= np.float32(-self.scale)
        np.exp(found, out=found)
        return found if self.is_laplace else found.astype(np.float64)


def squared_distances(A: Any, B: Any) -> Any:
    """Of each row of A from each of B, in their precision."""
    found = (-2 * A) @ B.T
    found += (A**2).sum(axis=1)[:, None]
    found += (B**2).sum(axis=1)
    return np.maximum(found, 0, out=found)


@dataclass(frozen=True, eq=False)
class Solution:
    """Of a regression: coefficients, and the factor of its matrix by Cholesky."""

    coefficients: Floats
    factor: Floats


@dataclass(frozen=True, eq=False)
class Regression:
    """Ridge regression on a kernel at some of the rows, for any ridge.

    The Gram matrix, which is added up over blocks of rows, is in double precision: what its rounding would otherwise
    have to be held down by is far more ridge than classes need that hardly overlap. Products of a Laplace kernel, which
    is far from singular, are in single precision. Each ridge takes a factor by
    Cholesky of its own: eigenvectors, which all ridges could share, take as long as some twenty factors.

    Attributes
    ----------
    kernel : Kernel
    rows : ndarray of shape (N, d)
    targets : ndarray of shape (N, C)
    mean : ndarray of shape (C,)
        What targets are taken to be on average.
    gram, penalty : ndarray of shape (m, m)
        Products of the kernel's columns over all rows, and the kernel between landmarks.
    products : ndarray of shape (m, C)
        Of its columns and the targets.
    sums : ndarray of shape (m,)
        Of its columns.
    """

    kernel: Kernel
    rows: Floats | Singles
    targets: Floats
    mean: Floats
    gram: Floats | Singles
    penalty: Floats | Singles
    products: Floats
    sums: Floats | Singles

    @classmethod
    def of(cls, kernel: Kernel, rows: Floats | Singles, targets: Floats, mean: Floats) -> "Regression":
        """Of these targets."""
        m = len(kernel.landmarks)
        gram, products, sums = np.zeros((m, m)), np.zeros((m, targets.shape[1])), np.zeros(m)
        for block in blocks(len(rows)):
            K = kernel.at(rows[block])
            gram += K.T @ K  # half the work, as numpy sees; scipy's routines for it would hold Python's lock
            products += K.T @ (targets[block] - mean)
            sums += K.sum(axis=0)
        return cls(kernel, rows, targets, mean, gram, kernel.at(kernel.landmarks), products, sums)

    @classmethod
    def at_all(cls, kernel: Kernel, targets: Floats, mean: Floats) -> "Regression":
        """The same where every row is a landmark: with less work, K (K + ridge) being the matrix otherwise.

        No eigenvalue of K + ridge is below the ridge: single precision will do.
        """
        K, rows = kernel.at(kernel.landmarks), kernel.landmarks
        return cls(kernel, rows, targets, mean, K, np.eye(len(K), dtype=np.float32), targets - mean, K.sum(axis=0))

    def centred(self) -> tuple["Regression", Floats]:
        """Of the kernel less its mean over the rows, so that no ridge holds the level down; and that mean."""
        centre = self.sums / len(self.rows)
        products = self.products - np.outer(centre, (self.targets - self.mean).sum(axis=0))
        return replace(self, gram=self.gram - np.outer(self.sums, centre), products=products), centre

    def with_targets(self, targets: Floats) -> "Regression":
        """The same of other targets."""
        mean, products = targets.mean(axis=0), np.zeros_like(self.products)
        for block in blocks(len(self.rows)):
            products += self.kernel.at(self.rows[block]).T @ (targets[block] - mean)
        return replace(self, targets=targets, mean=mean, products=products)

    def solve(self, ridge: float) -> Solution:
        """With this ridge; the diagonal is raised by what the rounding of so many rows may have taken from it."""
        A = self.gram + ridge * self.penalty
        at = np.diag_indices(len(A))
        for raised in (1, 9, 90):
            A[at] += raised * _ROUNDING * len(self.rows)
            try:
                factor = np.linalg.cholesky(A)
            except LinAlgError:  # narrow kernels of rows that are all alike
                continue
            found = cho_solve((factor, True), self.products.astype(factor.dtype), check_finite=False)
            return Solution(np.asarray(found, dtype=np.float64), np.asarray(factor, dtype=np.float64))
        raise LinAlgError("the kernel matrix is singular")


def solve_lower(L: Floats, B: Floats | Singles) -> Floats:
    """Solution X of L X = B with L lower triangular; unlike scipy's, it leaves Python's lock to other threads.

    Examples
    --------
    >>> solve_lower(np.array([[2.0, 0], [1, 4]]), np.array([[2.0], [9]])).ravel()
    array([1., 2.])
    """
    X = np.array(B, dtype=np.float64)
    for start in range(0, len(L), _SIDE):
        own = slice(start, start + _SIDE)
        X[own] = np.linalg.solve(L[own, own], X[own] - L[own, :start] @ X[:start])
    return X


def blocks(n: int) -> Iterator[slice]:
    """So many rows, some at a time."""
    return (slice(start, start + _AT_A_TIME) for start in range(0, n, _AT_A_TIME))


Read = Callable[[Floats], Floats]  # log-probabilities of responses


def models_on(
    kernel: Kernel, rows_of: Callable[[Unseen], Any], settings: Mapping[str, tuple[Floats, Floats, Read]]
) -> Models:
    """Settings on one kernel: coefficients, what is added to responses, and how these are read."""
    everything = np.hstack([coefficients for coefficients, _, _ in settings.values()])
    name = f"responses of {', '.join(settings)}"

    def responses(unseen: Unseen) -> Floats:
        rows = rows_of(unseen)
        return np.concatenate([kernel.at(rows[block]) @ everything for block in blocks(len(rows))])

    def predict(unseen: Unseen, at: int, mean: Floats, read: Read) -> Floats:
        own = unseen.once(name, lambda: responses(unseen))[:, at * len(mean) : (at + 1) * len(mean)]
        return read(own + mean)

    return {
        setting: partial(predict, at=at, mean=mean, read=read)
        for at, (setting, (_, mean, read)) in enumerate(settings.items())
    }


# --- of tables ----------------------------------------------------------------------------------------------

# Widths of the Gaussian kernel; ridges, for few errors and for many.
_WIDTHS, _RIDGES = (0.3, 1.2, 4.8), (10.0, 1.0)
_LAPLACE_WIDTH, _LAPLACE_RIDGE = 1.0, 0.1
MOST_CENTRES = 1_200  # rows that the Laplace kernel stands at; of fewer at all
_SHARPNESS = 4.0  # responses lie between 0 and 1: as logarithms they would hardly tell classes apart


def kernel(fold: Fold) -> Models:
    """Ridge regression of the class indicators on a Gaussian kernel in weighted columns, several widths."""
    Z = fold.own.weighted
    found: Models = {}
    landmarks = Z[_some(fold, n_landmarks(*fold.X.shape))]
    for width in _WIDTHS:
        ridges = {f"kernel {width:g} {ridge:g}": ridge for ridge in _RIDGES}
        ridges = {name: ridge for name, ridge in ridges.items() if fold.wants(name)}
        if not ridges:
            continue
        whole = Regression.of(Kernel.of(landmarks, width), Z, np.eye(fold.n_classes)[fold.y], fold.prior)
        regression, centre = whole.centred()
        solved = {name: regression.solve(ridge).coefficients for name, ridge in ridges.items()}
        settings = {name: (own, fold.prior - centre @ own, _read_clipped) for name, own in solved.items()}
        found |= models_on(regression.kernel, lambda unseen: unseen.weighted, settings)
    return found


def laplace(fold: Fold) -> Models:
    """Ridge regression of the class indicators on a Laplace kernel, which follows finer structure than a Gaussian."""
    if fold.effort == "fast":
        return {}
    Z, targets = fold.own.standard, np.eye(fold.n_classes)[fold.y]
    at = _some(fold, MOST_CENTRES)
    kernel = Kernel.of(Z[at], _LAPLACE_WIDTH, is_laplace=True)
    if len(at) == fold.n:
        regression = Regression.at_all(kernel, targets, fold.prior)
    else:
        regression = Regression.of(kernel, Z, targets, fold.prior)
    settings = {"laplace": (regression.solve(_LAPLACE_RIDGE).coefficients, fold.prior, _read_sharp)}
    return models_on(kernel, lambda unseen: unseen.standard, settings)


def _some(fold: Fold, most: int) -> Any:
    return np.sort(np.random.default_rng([fold.seed, 1]).permutation(fold.n)[:most])


def _read_clipped(responses: Floats) -> Floats:
    return log_probabilities(np.clip(responses, 3e-3, 1))


def _read_sharp(responses: Floats) -> Floats:
    return from_scores(_SHARPNESS * responses)


def n_landmarks(n: int, d: int) -> int:
    """Rows at which the Gaussian kernel of so many training rows and columns stands."""
    return min(n // 2, int(np.clip(n // 8, 200, 500 if d <= WIDE else 1000)))
