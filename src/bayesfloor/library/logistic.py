"""Logistic regression for a path of penalties, each fit starting where the one before it ended.

The objective is that of scikit-learn: C times the summed log-loss plus half the squared weights, the offset free; with
three classes or more one column of weights per class (the symmetric softmax). The columns of the library are often all
but collinear (hinges of one distance), which costs plain L-BFGS hundreds of steps. So the first guess of the inverse
Hessian here is the inverse of one d x d matrix that all classes share: the Gram matrix of the rows, each weighted by
its mean curvature p (1 - p), plus the penalty. With two classes that is the Hessian where the fit starts, so that the
first step is Newton's; with more it has the right shape in the columns, and the steps learn how the classes interact.
What they learn holds under the next penalty too, but for a part that is known.

Sparse columns, of which there are tens of thousands on one scale, are left to scikit-learn: that matrix and the steps
remembered would take too much memory, and the columns cannot be centred.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs
from scipy.sparse import csr_array
from scipy.special import expit, softmax

from .._types import Codes, Floats, RowNumbers
from ..utils.parallel import no_warnings

__all__ = ["Logistic", "fit_path"]

_GAP = 2e-5  # nats per row above the least objective, as the next step foretells it: a fit may stop here
_MOST_STEPS, _MOST_KEPT = 40, 30  # of a fit, and of those before it that it remembers
_EVEN = 0.7  # below this share of rows that count, the Gram matrix is made anew
_LEAST_WEIGHT = 1e-3  # of a row, by the mean of all: one that is certain may not stay so
_GRAM_ROWS, _LEAST_GRAM_ROWS = 6, 500  # per column, and in all: with two classes a Gram matrix costs many steps
_SPARSE_STEPS, _SLOPE = 15, 0.15  # of a fit to sparse columns; of the summed objective where it may stop before
_WIDEST = 512  # columns whose Gram matrix is worth its cost; of more its diagonal has to do


@dataclass(frozen=True, eq=False)
class Logistic:
    """A fitted logistic regression.

    Attributes
    ----------
    weights : ndarray of shape (d, C), or (d, 1) for two classes
    offset : ndarray of shape (C,), or (1,) for two classes
    classes : ndarray of shape (C,)
        Those that the training rows have, ascending.
    """

    weights: Floats
    offset: Floats
    classes: RowNumbers

    def predict(self, A: Floats | csr_array) -> Floats:
        """Probabilities of `classes` for these rows."""
        scores = A @ self.weights + self.offset
        if len(self.classes) != 2:
            return np.asarray(softmax(scores, axis=1))
        return np.hstack([expit(-scores), expit(scores)])


def fit_path(A: Floats | csr_array, y: Codes, strengths: Sequence[float]) -> list[Logistic]:
    """Fit the same rows under several penalties.

    Parameters
    ----------
    A : ndarray or scipy.sparse.csr_array of shape (n, d)
        Columns on about one scale, which is what a penalty shared by them takes for granted.
    y : ndarray of shape (n,)
    strengths : sequence of float
        scikit-learn's C: the smaller, the stronger the penalty.

    Returns
    -------
    list of Logistic
        In the order of `strengths`. Which others are on the path matters little: a fit mostly ends 1e-6 to 1e-5
        nats per row above its least objective; with two classes hardly ever more than 1e-4 above it, with more up to
        3e-4 nine times in ten. The weakest penalties, whose fits may take more than 40 steps, are the rest.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> A = rng.normal(size=(2000, 3))
    >>> y = (rng.random(2000) < 1 / (1 + np.exp(-2 * A[:, 0]))).astype(np.int64)
    >>> strong, weak = fit_path(A, y, [0.001, 10.0])
    >>> strong.weights[0].round(1), weak.weights[0].round(1)
    (array([0.4]), array([1.9]))
    >>> weak.predict(np.zeros((1, 3))).round(1)
    array([[0.5, 0.5]])
    """
    if not isinstance(A, np.ndarray):
        return _fit_sparse(A, y, strengths)
    classes, codes = np.unique(y, return_inverse=True)
    descent = _Descent(A, codes, len(classes))
    fits = {c: Logistic(*descent.minimize(1 / (c * len(y))), classes) for c in sorted(set(strengths))}
    return [fits[c] for c in strengths]


def _fit_sparse(A: csr_array, y: Codes, strengths: Sequence[float]) -> list[Logistic]:
    from sklearn.linear_model import LogisticRegression

    model, fits = LogisticRegression(tol=_SLOPE / len(y), max_iter=_SPARSE_STEPS, warm_start=True), {}
    with no_warnings:  # of fits that end before
        for c in sorted(set(strengths)):
            model.set_params(C=c).fit(A, y)
            fits[c] = Logistic(model.coef_.T.copy(), model.intercept_.copy(), model.classes_)
    return [fits[c] for c in strengths]


class _Descent:
    """Where the path stands: parameters, the scores they give the rows, the log-loss and its slope. Classes come first.

    Reductions over the classes then run along the rows, which is several times faster than over a few adjacent numbers.
    """

    def __init__(self, A: Floats, codes: RowNumbers, n_classes: int) -> None:
        n, d = A.shape
        self.mean = A.mean(axis=0)
        self.A = np.empty((n, d + 1))  # the last column is the offset's
        np.subtract(A, self.mean, out=self.A[:, :d])
        self.A[:, d] = 1
        self.two = n_classes == 2
        self.own, self.signs = codes * n + np.arange(n), 1.0 - 2 * codes  # of each row's class: its place, and its side
        share = np.bincount(codes) / n
        offset = np.log(share[1:] / share[0]) if self.two else np.log(share)
        self.W = np.zeros((len(offset), d + 1))
        self.W[:, d] = offset
        self.scores = np.repeat(offset[:, None], n, axis=1)
        # Arrays of this size that come and go cost more than what is done with them: fresh memory has to be mapped.
        self.trial, self.along, self.residual = (np.empty_like(self.scores) for _ in range(3))
        self.loss = self._evaluate(self.scores)
        self.slope = self.residual @ self.A / n
        self.some = slice(None, None, max(1, n // max(_GRAM_ROWS * d, _LEAST_GRAM_ROWS)) if self.two else 1)
        sample = self.A[self.some]
        self.weights, self.scale = np.ones(len(sample)), 1.0  # where the path starts all rows are alike
        self.gram = _gram(sample) / len(sample)
        self.memory, self.ridge = _Memory(self.W.size), np.zeros(d + 1)

    def minimize(self, penalty: float) -> tuple[Floats, Floats]:
        """Go on to the least of the mean log-loss plus penalty / 2 times the squared weights: weights and offset."""
        n, d = len(self.A), len(self.mean)
        before, self.ridge = self.ridge, np.append(np.full(d, penalty), 0.0)
        self._weigh()
        factor = self._factor()
        self.memory.carry(self.ridge - before, factor)
        value = self.loss + float((self.ridge * self.W**2).sum()) / 2
        G = self.slope + self.ridge * self.W
        HG = _solve(factor, G)
        unseen, gap = np.zeros_like(G), _GAP if self.gram.ndim > 1 else _GAP / 20  # which a diagonal understates
        for _ in range(_MOST_STEPS):
            D = self.memory.direction(G.ravel(), HG.ravel()).reshape(G.shape)
            decrement = float((G * D).sum())  # twice what the step gains if the objective is as quadratic as it seems
            if decrement < 2 * gap:
                # Worth taking, but not worth the product with all rows that would check it.
                unseen = D if decrement > 0 else unseen
                break
            step, value = self._search(D, decrement, value)
            self.slope = self.residual @ self.A / n
            G_before, HG_before = G, HG
            G = self.slope + self.ridge * self.W
            HG = _solve(factor, G)
            self.memory.add(-step * D.ravel(), (G - G_before).ravel(), (HG - HG_before).ravel())
        W = self.W - unseen
        weights = np.ascontiguousarray(W[:, :d].T)
        return weights, W[:, d] - self.mean @ weights

    def _search(self, D: Floats, decrement: float, value: float) -> tuple[float, float]:
        """Go against D, half as far until the objective falls (Armijo): how far, and the objective there."""
        np.matmul(D, self.A.T, out=self.along)
        step = 1.0
        while True:
            W = self.W - step * D
            np.subtract(self.scores, self.along, out=self.trial)
            loss = self._evaluate(self.trial)
            after = loss + float((self.ridge * W**2).sum()) / 2
            if after <= value - 1e-4 * step * decrement or step < 1e-6:
                break
            step /= 2
            self.along /= 2
        self.W, self.loss = W, loss
        self.scores, self.trial = self.trial, self.scores
        return step, after

    def _evaluate(self, scores: Floats) -> float:
        """Mean log-loss; `residual` becomes its slope in the scores, times the number of rows."""
        P = self.residual
        if self.two:
            wrong = np.multiply(self.signs, scores[0], out=P[0])  # log-odds of the other class
            tail = np.exp(-np.abs(wrong))
            loss = np.log(1 + tail).sum() + np.maximum(wrong, 0).sum()
            np.divide(self.signs * np.where(wrong >= 0, 1.0, tail), 1 + tail, out=P[0])
            return float(loss) / len(tail)
        np.subtract(scores, scores.max(axis=0), out=P)
        flat = P.reshape(-1)
        own = flat[self.own].sum()
        np.exp(P, out=P)
        total = P.sum(axis=0)
        P *= 1 / total
        flat[self.own] -= 1
        return float(np.log(total).sum() - own) / len(total)

    def _weigh(self) -> None:
        """Weigh the rows of the Gram matrix by their curvature, unless that would change little but its scale."""
        R = np.abs(self.residual[:, self.some])
        weights = (R - R * R).mean(axis=0)  # p (1 - p), of the row's own class or another
        weights += _LEAST_WEIGHT * weights.mean() + 1e-12
        ratio = weights / self.weights
        self.scale = float(ratio.mean())
        # Kish's effective share of rows, as if they had been weighted by how much their weights have changed.
        if self.scale**2 <= _EVEN * (ratio @ ratio) / ratio.size:
            root = self.A[self.some] * np.sqrt(weights / len(weights))[:, None]
            self.weights, self.gram, self.scale = weights, _gram(root), 1.0

    def _factor(self) -> Floats:
        """Cholesky factor of the matrix that stands for the Hessian of each class, or that matrix if it is diagonal."""
        M = self.gram * self.scale
        if M.ndim == 1:
            return np.asarray(M + self.ridge)
        M[np.diag_indices_from(M)] += self.ridge + 1e-10 * M.diagonal().mean()
        return np.asarray(dpotrf(M, lower=1)[0])


def _gram(rows: Floats) -> Floats:
    return rows.T @ rows if rows.shape[1] <= _WIDEST else np.asarray(np.einsum("ij,ij->j", rows, rows))


def _solve(factor: Floats, G: Floats) -> Floats:
    return np.asarray(G / factor if factor.ndim == 1 else dpotrs(factor, G.T, lower=1)[0].T)


class _Memory:
    """Steps S and the changes T of the slope along them: BFGS in the compact form of Byrd, Nocedal and Schnabel (1994).

    Their theorem 2.2, the first guess H0 being a matrix: a handful of products instead of two loops.
    """

    def __init__(self, size: int) -> None:
        most = _MOST_KEPT + _MOST_STEPS
        self.count = 0
        self.S, self.T, self.HT = (np.empty((most, size)) for _ in range(3))
        self.ST, self.THT = np.zeros((most, most)), np.zeros((most, most))  # of the first, the upper triangle

    def carry(self, change: Floats, factor: Floats) -> None:
        """Keep the last steps under a changed penalty, whose part in T is known, and another H0."""
        k = min(self.count, _MOST_KEPT)
        kept = slice(self.count - k, self.count)
        S, T = self.S[kept].copy(), self.T[kept].copy()
        T += (S.reshape(-1, len(change)) * change).reshape(T.shape)
        self.S[:k], self.T[:k], self.HT[:k] = S, T, _solve(factor, T.reshape(-1, len(change))).reshape(T.shape)
        self.ST[:k, :k], self.THT[:k, :k] = np.triu(S @ T.T), self.HT[:k] @ T.T
        self.count = k

    def add(self, s: Floats, t: Floats, Ht: Floats) -> None:
        """A step, the change of the slope, and that change times H0."""
        k = self.count
        if s @ t <= 0:  # the objective is convex: this is rounding
            return
        self.S[k], self.T[k], self.HT[k] = s, t, Ht
        self.ST[: k + 1, k] = self.S[: k + 1] @ t
        self.THT[: k + 1, k] = self.THT[k, : k + 1] = self.HT[: k + 1] @ t
        self.count = k + 1

    def direction(self, g: Floats, Hg: Floats) -> Floats:
        """The inverse Hessian, as far as it is known, times the slope."""
        k = self.count
        if k == 0:
            return Hg
        S, HT, R = self.S[:k], self.HT[:k], self.ST[:k, :k]
        scale = R[-1, -1] / self.THT[k - 1, k - 1]  # of H0, by the last step
        # LAPACK reads columns first, so that R.T is what it takes without a copy: lower, and to be transposed for R.
        u = dtrtrs(R.T, S @ g, lower=1, trans=1)[0]
        v = dtrtrs(R.T, R.diagonal() * u + scale * (self.THT[:k, :k] @ u - HT @ g), lower=1)[0]
        return np.asarray(scale * (Hg - u @ HT) + v @ S)
