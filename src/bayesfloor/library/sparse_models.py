"""Learners for rows of very many columns, nearly all of them 0: logistic regression and naive Bayes on sparse matrices.

They look at `parts["sparse"]` of a fold, a `SparseRows`. Which columns are used and what they weigh is learned from the
rows of the fold, as everything else is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array, hstack
from scipy.special import log_softmax

from .._types import Codes, Floats, RowNumbers
from ..rows.sparse import SparseRows
from .fold import Fold, Models, Scale, Unseen, from_scores, log_probabilities
from .logistic import Logistic, fit_path

__all__ = ["LEARNERS", "Weights", "naive_bayes", "sparse_linear"]

_FEWEST_ROWS = 2  # that a column needs to be used
_PENALTIES = (0.3, 3.0, 30.0)


# --- weights ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Weights:
    """Columns that are used, and what they weigh, section by section; learned from some rows, without their labels.

    Counts get tf-idf weights, and the row of a section has length 1. Other numbers are divided by the root mean square
    of those of their column that are not 0.
    """

    kept: tuple[RowNumbers, ...]
    weights: tuple[Any, ...]  # arrays, and fitted transformers

    @classmethod
    def of(cls, rows: SparseRows, most: int = 2**16) -> "Weights":
        """Of training rows; so many columns of a section at most, those that most rows have."""
        from sklearn.feature_extraction.text import TfidfTransformer

        kept: list[RowNumbers] = []
        weights: list[Any] = []
        for section in rows.sections:
            matrix, d = section.matrix, section.matrix.shape[1]
            seen = np.bincount(matrix.indices, minlength=d)
            used = _most_frequent(seen, most)
            kept.append(used)
            if section.kind == "numbers" or not len(used):  # scikit-learn weighs one column at least
                squares = np.bincount(matrix.indices, weights=matrix.data**2, minlength=d)[used]
                weights.append(np.sqrt(seen[used] / np.maximum(squares, np.finfo(np.float64).tiny)))
            else:
                weights.append(TfidfTransformer(sublinear_tf=True).fit(matrix[:, used]))
        return cls(tuple(kept), tuple(weights))

    def apply(self, rows: SparseRows) -> csr_array:
        """Weighted columns of any rows."""
        parts = []
        for section, kept, weights in zip(rows.sections, self.kept, self.weights, strict=True):
            matrix = csr_array(section.matrix[:, kept])
            if isinstance(weights, np.ndarray):
                matrix.data = np.clip(matrix.data * weights[matrix.indices], -_FAR, _FAR)
            else:
                matrix = csr_array(weights.transform(matrix))
            parts.append(matrix)
        return csr_array(hstack(parts, format="csr")) if len(parts) > 1 else parts[0]


_FAR = 100.0  # root mean squares: one entry of 1e20 must not outweigh all others


def _most_frequent(seen: RowNumbers, most: int) -> RowNumbers:
    """Columns that enough rows have; of very many those that most have, ties by their place."""
    used = np.flatnonzero(seen >= _FEWEST_ROWS)
    if not len(used):
        used = np.flatnonzero(seen > 0)
    return np.sort(used[np.argsort(-seen[used], kind="stable")[:most]])


# --- logistic regression ------------------------------------------------------------------------------------


def sparse_linear(fold: Fold) -> Models:
    """Logistic regression on the weighted columns, and the dense ones beside them."""
    rows: SparseRows = fold.parts["sparse"]
    weights, scale = Weights.of(rows), Scale.of(rows.dense)

    def columns(rows: SparseRows) -> csr_array:
        A = weights.apply(rows)
        return csr_array(hstack([A, scale.apply(rows.dense)], format="csr")) if rows.dense.shape[1] else A

    penalties = [c for c in _PENALTIES if fold.wants(f"sparse linear {c:g}")]
    models = fit_path(columns(rows), fold.y, penalties) if penalties else []

    def predict(unseen: Unseen, model: Logistic) -> Floats:
        A = unseen.once("weighted columns", lambda: columns(unseen.parts["sparse"]))
        return log_probabilities(model.predict(A), model.classes, fold.n_classes)

    return {f"sparse linear {c:g}": partial(predict, model=m) for c, m in zip(penalties, models, strict=True)}


# --- naive Bayes --------------------------------------------------------------------------------------------


def naive_bayes(fold: Fold) -> Models:
    """Multinomial naive Bayes on counts of words, and its complement form (Rennie et al. 2003) on all weighted columns.

    Sections with negative numbers have no such model. Scores are divided by one number, found on rows that did not
    train them: what is counted is not independent, and the sums are far too certain.
    """
    rows: SparseRows = fold.parts["sparse"]
    found: Models = {}
    by_kind = {
        "naive bayes words": [at for at, s in enumerate(rows.sections) if s.kind in ("words", "counts")],
        "naive bayes runs": [at for at, s in enumerate(rows.sections) if s.kind == "runs"],
    }
    for name, chosen in by_kind.items():
        if chosen and fold.wants(name):
            matrices = partial(_counts_of, chosen=chosen)
            found[name] = _calibrated(fold, matrices, _multinomial)
    if fold.wants("complement bayes") and all((s.matrix.data >= 0).all() for s in rows.sections):
        weights = Weights.of(rows)
        found["complement bayes"] = _calibrated(fold, weights.apply, _complement)
    return found


def _counts_of(rows: SparseRows, chosen: Sequence[int]) -> csr_array:
    return csr_array(hstack([rows.sections[at].matrix for at in chosen], format="csr"))


Scores = Callable[[csr_array], Floats]


def _multinomial(A: csr_array, y: Codes, n_classes: int) -> Floats:
    """Log-probability of each column in each class, but for what all classes share."""
    counts = _by_class(A, y, n_classes)
    together = counts.sum(axis=1, keepdims=True)
    shares = together / max(float(together.sum()), 1.0)
    logs = _log_ratios(counts, shares * counts.sum(axis=0))
    return np.asarray(logs - np.log(np.maximum((shares * np.exp(logs)).sum(axis=0), 1e-12)))


def _log_ratios(counts: Floats, expected: Floats) -> Floats:
    """How much more often something was counted than expected, shrunk as much as the counts by themselves suggest.

    Counts are Poisson with mean r times what is expected, r has a gamma distribution of mean 1 and variance 1/k: then r
    is (count + k)/(expected + k) on average, and E[(count - expected)^2] = expected + expected^2 / k, which gives k.
    """
    # What is expected comes from the same counts: of all of them a class has a part, and varies by the rest.
    rest = 1 - expected.sum(axis=0) / max(float(expected.sum()), 1.0)
    weights = 1 / (1 + expected) ** 2
    excess = float((weights * ((counts - expected) ** 2 - expected * rest)).sum())
    k = float(np.clip((weights * expected**2 * rest).sum() / max(excess, 1e-12), 0.3, 1e3))
    return np.log((counts + k) / (expected + k))


def _complement(A: csr_array, y: Codes, n_classes: int) -> Floats:
    """Weights of the complement form: what the other classes say, turned round, and brought to one size."""
    counts = _by_class(A, y, n_classes)
    others = counts.sum(axis=1, keepdims=True) - counts + 1.0
    logs = -np.log(others / others.sum(axis=0))
    return np.asarray(logs / np.abs(logs).sum(axis=0))


def _by_class(A: csr_array, y: Codes, n_classes: int) -> Floats:
    """Sums of the columns over the rows of each class; 0 for those that a single row has.

    Such a column would say which words the rows that are predicted have: others are not even among the columns.
    """
    members = csr_array((np.ones(len(y)), (y, np.arange(len(y)))), shape=(n_classes, len(y)))
    seen = np.bincount(A.indices, minlength=A.shape[1]) >= _FEWEST_ROWS
    return np.asarray((members @ A).toarray()).T * seen[:, None]


def _calibrated(
    fold: Fold, matrix: Callable[[SparseRows], csr_array], fit: Callable[[csr_array, Codes, int], Floats]
) -> Callable[[Unseen], Floats]:
    """A model whose scores are sums of weights, times the number that fits them to rows which did not train it."""
    A, log_prior = matrix(fold.parts["sparse"]), np.log(fold.prior)
    scale = _scale(lambda rows: fit(A[rows], fold.y[rows], fold.n_classes), A, fold.y, log_prior)
    weights = fit(A, fold.y, fold.n_classes)

    def predict(unseen: Unseen) -> Floats:
        return from_scores(scale * _centre(matrix(unseen.parts["sparse"]) @ weights) + log_prior)

    return predict


def _scale(fit: Callable[[RowNumbers], Floats], A: csr_array, y: Codes, log_prior: Floats) -> float:
    """The number by which scores are multiplied for the least log-loss on rows of the other half."""
    halves = [np.arange(start, len(y), 2) for start in (0, 1)]
    scores = np.empty((len(y), len(log_prior)))
    for own, others in (halves, halves[::-1]):
        scores[others] = _centre(A[others] @ fit(own))
    spread = float(np.sqrt((scores**2).mean())) or 1.0

    def loss(log_scale: float) -> float:
        logs = log_softmax(np.exp(log_scale) / spread * scores + log_prior, axis=1)
        return float(-logs[np.arange(len(y)), y].mean())

    best = minimize_scalar(loss, bounds=(-6.0, 5.0), method="bounded", options={"xatol": 0.02})
    return float(np.exp(best.x) / spread)


def _centre(scores: Floats) -> Floats:
    return np.asarray(scores - scores.mean(axis=1, keepdims=True))


LEARNERS = {"sparse linear": sparse_linear, "naive bayes": naive_bayes}
