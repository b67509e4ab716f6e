"""A small neural network, trained by a compiled loop in single precision."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from .._types import Codes, Floats, RowNumbers, Singles
from ..utils.compiled import compiled

__all__ = ["Network", "train_network"]

_WIDTH = 64  # of both hidden layers
_BATCH = 100
_RATE, _MEAN, _SQUARE, _TINY = 8e-3, 0.9, 0.999, 1e-8  # of Adam (Kingma and Ba, 2015)


@dataclass(frozen=True, eq=False)
class Network:
    """Two hidden layers of rectified units.

    Attributes
    ----------
    layers : tuple of ndarray
        Weights of each layer, inputs by outputs, the biases in the last row. Two classes have one output.
    """

    layers: tuple[Floats, ...]

    def predict(self, X: Floats) -> Floats:
        """Probabilities; in double precision, so that a row's do not depend on the rows it comes with."""
        for W in self.layers[:-1]:
            X = np.maximum(X @ W[:-1] + W[-1], 0)
        scores = X @ self.layers[-1][:-1] + self.layers[-1][-1]
        if scores.shape[1] > 1:
            return np.asarray(softmax(scores, axis=1))
        second = expit(scores)
        return np.hstack([1 - second, second])


def train_network(X: Floats, y: Codes, n_classes: int, *, decay: float, rounds: int, seed: int) -> Network:
    """Minimise the log-loss and a penalty on squared weights by Adam, in batches of 100 rows.

    Parameters
    ----------
    X, y : ndarray
        Standardized rows; codes.
    n_classes : int
    decay : float
        Penalty of a batch: half of this by its number of rows, times the sum of squared weights.
    rounds : int
        Passes over the rows.
    seed : int
        Of the starting weights and of the order of rows.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> y = (X[:, 0] * X[:, 1] > 0).astype(np.int64)
    >>> P = train_network(X, y, 2, decay=0.6, rounds=15, seed=0).predict(X)
    >>> bool(((P[:, 1] > 0.5) == y).mean() > 0.9)
    True
    """
    rng = np.random.default_rng(seed)
    sizes = [X.shape[1], _WIDTH, _WIDTH, 1 if n_classes == 2 else n_classes]
    layers = tuple(_start(rng, a, b) for a, b in pairwise(sizes))
    orders = np.stack([rng.permutation(len(y)) for _ in range(rounds)])
    _train(np.ascontiguousarray(X, dtype=np.float32), y, *layers, np.float32(decay), orders, *_room(layers, len(y)))
    return Network(tuple(W.astype(np.float64) for W in layers))


def _start(rng: np.random.Generator, n_inputs: int, n_outputs: int) -> Singles:
    bound = np.sqrt(6 / (n_inputs + n_outputs))  # Glorot and Bengio (2010)
    return rng.uniform(-bound, bound, (n_inputs + 1, n_outputs)).astype(np.float32)


def _room(layers: tuple[Singles, ...], n: int) -> tuple[Singles, ...]:
    """For each layer its gradient and Adam's two averages, then units and slopes of a batch, inputs and outputs too."""
    sizes = [len(layers[0]) - 1, *(W.shape[1] for W in layers)]
    batch = [np.empty((min(_BATCH, n), k), dtype=np.float32) for k in (*sizes[:-1], *sizes[1:])]
    return *(np.zeros((3, *W.shape), dtype=np.float32) for W in layers), *batch


# --- compiled -----------------------------------------------------------------------------------------------


@compiled
def _apply(A: Singles, W: Singles, H: Singles) -> None:
    """H = A W + bias."""
    last = W.shape[0] - 1
    np.dot(A, W[:last], H)
    for i in range(H.shape[0]):
        for j in range(H.shape[1]):
            H[i, j] += W[last, j]


@compiled
def _rectify(H: Singles) -> None:
    for i in range(H.shape[0]):
        for j in range(H.shape[1]):
            H[i, j] = max(H[i, j], np.float32(0))


@compiled
def _pass_back(D: Singles, W: Singles, A: Singles, E: Singles) -> None:
    """E = D W', where the unit was active."""
    np.dot(D, W[: W.shape[0] - 1].T, E)
    for i in range(E.shape[0]):
        for q in range(E.shape[1]):
            if A[i, q] <= 0:
                E[i, q] = 0


@compiled
def _step(A: Singles, D: Singles, W: Singles, room: Singles, shrink: Any, t: int) -> None:
    """One step of Adam on the weights of a layer: their gradient is A' D, and the penalty's."""
    G, M, V = room[0], room[1], room[2]
    last, k = W.shape[0] - 1, W.shape[1]
    np.dot(A.T, D, G[:last])
    for q in range(last):
        for j in range(k):
            G[q, j] += shrink * W[q, j]
    for j in range(k):
        G[last, j] = 0
    for i in range(D.shape[0]):
        for j in range(k):
            G[last, j] += D[i, j]
    rate = np.float32(_RATE * np.sqrt(1 - _SQUARE**t) / (1 - _MEAN**t))
    b1, b2, tiny, one = np.float32(_MEAN), np.float32(_SQUARE), np.float32(_TINY), np.float32(1)
    for q in range(last + 1):
        for j in range(k):
            g = G[q, j]
            M[q, j] = b1 * M[q, j] + (one - b1) * g
            V[q, j] = b2 * V[q, j] + (one - b2) * g * g
            W[q, j] -= rate * M[q, j] / (np.sqrt(V[q, j]) + tiny)


@compiled
def _residuals(S: Singles, y: Codes, rows: RowNumbers) -> None:
    """Scores become probabilities less what was seen, by the number of rows."""
    (m, k), one = S.shape, np.float32(1)
    for i in range(m):
        if k == 1:
            S[i, 0] = one / (one + np.exp(-S[i, 0])) - np.float32(y[rows[i]])
        else:
            most, total = S[i, 0], np.float32(0)
            for j in range(1, k):
                most = max(most, S[i, j])
            for j in range(k):
                S[i, j] = np.exp(S[i, j] - most)
                total += S[i, j]
            for j in range(k):
                S[i, j] /= total
            S[i, y[rows[i]]] -= one
        for j in range(k):
            S[i, j] /= np.float32(m)


@compiled
def _train(
    X: Singles,
    y: Codes,
    W1: Singles,
    W2: Singles,
    W3: Singles,
    decay: Any,
    orders: RowNumbers,
    room_1: Singles,
    room_2: Singles,
    room_3: Singles,
    rows_in: Singles,
    active_1: Singles,
    active_2: Singles,
    slope_1: Singles,
    slope_2: Singles,
    slope_3: Singles,
) -> None:
    (n, d), batch, t = X.shape, rows_in.shape[0], 0
    for turn in range(orders.shape[0]):
        for start in range(0, n, batch):
            rows = orders[turn, start : start + batch]
            m = rows.size
            for i in range(m):
                for q in range(d):  # as a whole row, numba would compile a message about shapes that differ
                    rows_in[i, q] = X[rows[i], q]
            A0, A1, A2 = rows_in[:m], active_1[:m], active_2[:m]
            D1, D2, D3 = slope_1[:m], slope_2[:m], slope_3[:m]
            _apply(A0, W1, A1)
            _rectify(A1)
            _apply(A1, W2, A2)
            _rectify(A2)
            _apply(A2, W3, D3)
            _residuals(D3, y, rows)
            _pass_back(D3, W3, A2, D2)
            _pass_back(D2, W2, A1, D1)
            t += 1
            shrink = decay / np.float32(m)
            _step(A2, D3, W3, room_3, shrink, t)
            _step(A1, D2, W2, room_2, shrink, t)
            _step(A0, D1, W1, room_1, shrink, t)
