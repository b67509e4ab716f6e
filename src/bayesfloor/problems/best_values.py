"""The best value that any classifier can reach by other yardsticks than the error, from the exact posterior.

Each function takes the posterior of rows that were drawn at random, shape (n, C), and averages over them.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from .._types import Floats

__all__ = ["METRICS", "best_auc", "best_brier_score", "best_f1", "best_values", "lowest_cost", "selective_errors"]

METRICS = ("balanced accuracy", "top-2 error", "log-loss", "Brier score", "AUC", "F1")


def balanced_accuracy(P: Floats) -> float:
    """Mean over classes of the share that is named rightly: E max_c (eta_c / pi_c) / C."""
    return float((P / P.mean(axis=0)).max(axis=1).mean() / P.shape[1])


def top_two_error(P: Floats) -> float:
    """Share of rows whose class is not among the two most probable ones."""
    return float(1 - np.sort(P, axis=1)[:, -2:].sum(axis=1).mean())


def log_loss(P: Floats) -> float:
    """Conditional entropy, in nats."""
    return float(-(P * np.log(np.maximum(P, 1e-300))).sum(axis=1).mean())


def best_brier_score(P: Floats) -> float:
    """Lowest Brier score: the mean of p (1 - p) for two classes, as in scikit-learn; the sum over classes for more.

    Examples
    --------
    >>> best_brier_score(np.array([[0.2, 0.8]])).__round__(2)
    0.16
    >>> best_brier_score(np.array([[0.2, 0.8, 0.0]])).__round__(2)
    0.32
    """
    columns = P[:, 1:] if P.shape[1] == 2 else P
    return float((columns * (1 - columns)).sum(axis=1).mean())


def best_auc(P: Floats) -> float:
    """Area under the ROC curve: 1/2 + E|p - p'| / (4 pi (1 - pi)); mean over classes, one against the rest.

    Examples
    --------
    >>> best_auc(np.array([[1.0, 0.0], [0.0, 1.0]] * 5000)).__round__(3)
    1.0
    """
    columns = P[:, 1:] if P.shape[1] == 2 else P
    n, shares = len(P), columns.mean(axis=0)
    # E|p - p'| of two independent draws: Gini's mean difference, from the order statistics.
    ranks = 2 * np.arange(1, n + 1) - n - 1
    apart = 2 * ranks @ np.sort(columns, axis=0) / (n * (n - 1))
    return float(np.mean(np.minimum(1.0, 0.5 + apart / (4 * shares * (1 - shares)))))


def best_f1(p: Floats) -> float:
    """Largest F1 of a class with these probabilities: F solves 2 E(eta - F/2)_+ = F pi.

    Named are the rows with eta > F/2 (Lipton, Elkan and Naryanaswamy, 2014).

    Examples
    --------
    >>> best_f1(np.array([1.0, 0.0, 0.0, 1.0])), round(best_f1(np.full(10, 0.3)), 4)
    (1.0, 0.4615)
    """
    ordered = np.sort(p)[::-1]
    # The left side less the right one falls with F: the solution is the best of naming the k most probable rows.
    named = np.arange(1, len(p) + 1)
    return float((2 * np.cumsum(ordered) / (named + ordered.sum())).max()) if ordered.sum() > 0 else 0.0


def lowest_cost(P: Floats, costs: Floats) -> float:
    """Lowest expected cost; costs of each decision (row) for each class (column)."""
    return float((P @ np.asarray(costs, dtype=np.float64).T).min(axis=1).mean())


def selective_errors(P: Floats, shares: Sequence[float]) -> Floats:
    """Lowest error on accepted rows if such shares of the rows may be declined (Chow, 1970).

    Examples
    --------
    >>> selective_errors(np.array([[1.0, 0.0], [0.6, 0.4]]), [0.0, 0.5, 0.75])
    array([0.2, 0. , 0. ])
    """
    doubt = np.sort(1 - P.max(axis=1))
    kept = len(doubt) * (1 - np.asarray(shares, dtype=np.float64))
    whole = np.floor(kept).astype(np.int64)
    sums = np.concatenate([[0.0], np.cumsum(doubt), [0.0]])
    part = (kept - whole) * doubt[np.minimum(whole, len(doubt) - 1)]  # of a row that is declined at random
    return np.asarray((sums[whole] + part) / kept)


def best_values(draw: Callable[[], Floats], n_blocks: int) -> dict[str, tuple[float, float]]:
    """Each of `METRICS` and its standard error over so many blocks of rows; F1 of each class, as "F1 of 0".

    Parameters
    ----------
    draw : callable
        Gives the posterior of new rows, a block at a time.
    n_blocks : int
    """
    found = [dict(_values(draw())) for _ in range(n_blocks)]
    return {
        name: (float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(n_blocks)))
        for name, values in ((name, [block[name] for block in found]) for name in found[0])
    }


def _values(P: Floats) -> Iterator[tuple[str, float]]:
    yield "balanced accuracy", balanced_accuracy(P)
    if P.shape[1] > 2:
        yield "top-2 error", top_two_error(P)
    yield "log-loss", log_loss(P)
    yield "Brier score", best_brier_score(P)
    yield "AUC", best_auc(P)
    for c in range(P.shape[1]):
        yield f"F1 of {c}", best_f1(P[:, c])
