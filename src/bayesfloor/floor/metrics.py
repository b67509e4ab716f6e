"""The best value that any classifier could reach by other yardsticks than the error.

What decides (balanced accuracy, F1, the top two) goes by the rule of the floor. What scores (log-loss, Brier score,
AUC) is counted on rows that the pooled classifiers had not seen, at four sizes of the training set, and carried on:
with L_f the loss of models of a fraction f of the rows, L_1 - w (L_1/2 - L_1). Where errors of estimation fall with the
number n of rows w = 1 takes away all of them, where they fall with its square root w = 2.4 does: w = 1.5 lies between.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtri, xlogy

from .._text import printable
from .._types import Codes, Floats
from ..errors import ParameterError
from ..library.cross_fit import STAGES
from ..problems.best_values import best_brier_score
from ..utils.checks import brief
from ..utils.intervals import ConfidenceInterval
from .curve import FRACTIONS
from .decisions import NAME_ONE, ByGain, NameTwo
from .lowest_loss import mean_deviation
from .predictions import Predictions

__all__ = ["Metric", "Metrics", "auc", "metrics_of", "score_figures"]

_LEAST = 1e-6  # of probabilities, in a log-loss
_MOST_CLASSES = 50  # whose F1 is found
_SURELY = 3.0  # standard errors
_WEIGHT = 1.5  # of the last fall
# Weights of the signs that the arms of an interval of 95 % are made of, chosen on random problems with known values;
# what is hidden weighs as in the rule of the floor (benchmarks/parts.py).
_BELOW = {"sampling": 1.96, "fall": 2.0, "falls": 1.0, "hidden": 0.86}
_ABOVE = {"sampling": 1.96, "fall": 1.5, "falls": 0.5}


@dataclass(frozen=True)
class Metric:
    """The best value by one yardstick.

    Attributes
    ----------
    name : str
        "balanced accuracy", "top-2 error", "log-loss", "Brier score", "AUC" or "F1". The Brier score of two classes is
        the mean of (p - y)^2, as in scikit-learn; of more it is summed over classes.
    value : float
        Estimated best value that any classifier could reach.
    interval : ConfidenceInterval
    reached : float or None
        What a classifier that was trained on the other rows was seen to reach on held-out rows.
    trivial : float
        Of the best answer that is the same for all rows.
    higher_is_better : bool
    label : object
        Of F1: the class it is of.
    figures : dict
        Counted on rows not seen in training, by the share of the training rows that models had.

    Examples
    --------
    >>> from bayesfloor import estimate, problems
    >>> problem = problems.get("gaussians_4d")
    >>> X, y = problem.sample(400, random_state=0)
    >>> auc = estimate(X, y, effort="fast", n_jobs=1).metrics()["AUC"]
    >>> problem.metrics()["AUC"][0] in auc.interval, auc.trivial, auc.higher_is_better
    (True, 0.5, True)
    """

    name: str
    value: float
    interval: ConfidenceInterval
    reached: float | None
    trivial: float
    higher_is_better: bool
    label: Any = None
    figures: dict[str, float] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Its name, with the class it is of."""
        return printable(self.name if self.label is None else f"{self.name} of {self.label}")


class Metrics(tuple[Metric, ...]):
    """The metrics of a result; by name, such as ``metrics["AUC"]`` or ``metrics["F1 of yes"]``.

    Examples
    --------
    >>> from bayesfloor import estimate, problems
    >>> X, y = problems.get("gaussians_4d").sample(400, random_state=0)
    >>> metrics = estimate(X, y, effort="fast", n_jobs=1).metrics()
    >>> [metric.title for metric in metrics]
    ['balanced accuracy', 'log-loss', 'Brier score', 'AUC', 'F1 of 0', 'F1 of 1']
    """

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        for metric in self:
            if printable(key) == metric.title:
                return metric
        raise ParameterError(f"there is no metric {brief(key)}: there are {', '.join(metric.title for metric in self)}")

    def __str__(self) -> str:
        width = max((len(metric.title) for metric in self), default=0)
        lines = [f"{'':{width}}  best    interval            seen on held-out rows"]
        for metric in self:
            low, high = metric.interval.low, metric.interval.high
            reached = "-" if metric.reached is None else f"{metric.reached:.4f}"
            lines.append(f"{metric.title:{width}}  {metric.value:.4f}  {low:.4f} to {high:.4f}    {reached}")
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """As a pandas frame, a row for each metric."""
        import pandas as pd

        rows = [
            {
                "metric": metric.title,
                "best": metric.value,
                "low": metric.interval.low,
                "high": metric.interval.high,
                "reached": metric.reached,
                "trivial": metric.trivial,
            }
            for metric in self
        ]
        return pd.DataFrame(rows)


def metrics_of(said: Predictions, classes: Sequence[Any]) -> Metrics:
    """All of them; of F1 one for each class, if there are not too many."""
    return Metrics(_each(said, classes))


def _each(said: Predictions, classes: Sequence[Any]) -> Iterator[Metric]:
    yield _balanced(said)
    if said.n_classes > 2:
        yield _top_two(said)
    for name in SCORES:
        yield _scored(name, said)
    if said.n_classes <= _MOST_CLASSES:
        yield from (_f1(said, c, label) for c, label in enumerate(classes))


# --- what decides -------------------------------------------------------------------------------------------


def _balanced(said: Predictions) -> Metric:
    """Mean over classes of the share that is named rightly: the floor for classes of equal share."""
    n_classes, shares = said.n_classes, said.shares
    even = said.with_shares(np.full(n_classes, 1 / n_classes))
    evidence, judged = even.lowest(NAME_ONE, np.eye(n_classes), 1 - 1 / n_classes)
    test = said.test
    named = _even(test.held, shares).argmax(axis=1) == test.y_held
    right = [named[test.y_held == c].mean() for c in range(n_classes) if (test.y_held == c).any()]
    return Metric(
        "balanced accuracy",
        1 - judged.floor,
        ConfidenceInterval(1 - judged.high, 1 - judged.low, said.confidence_level),
        float(np.mean(right)) if right else None,
        1 / n_classes,
        True,
        figures=_sizes(*(1 - loss for loss in evidence.losses)),
    )


def _even(P: Floats, shares: Floats) -> Floats:
    weighed = P / np.maximum(shares, 1e-300)
    return np.asarray(weighed / weighed.sum(axis=1, keepdims=True))


def _top_two(said: Predictions) -> Metric:
    n_classes, rule = said.n_classes, NameTwo(said.n_classes)
    pairs = [(a, b) for a in range(n_classes) for b in range(a + 1, n_classes)]
    gains = np.zeros((len(pairs), n_classes))
    gains[np.repeat(np.arange(len(pairs)), 2), np.ravel(pairs)] = 1
    evidence, judged = said.lowest(rule, gains, 1 - 2 / n_classes)
    test = said.test
    missed = 1 - rule.gain(rule.choose(test.held), test.y_held)
    return Metric(
        "top-2 error",
        judged.floor,
        ConfidenceInterval(judged.low, judged.high, said.confidence_level),
        float(test.held_weights @ missed) if len(missed) else None,
        evidence.majority,
        False,
        figures=_sizes(*evidence.losses),
    )


def _f1(said: Predictions, c: int, label: Any) -> Metric:
    r"""F1 of a class: its best value F solves 2 E(eta - F/2)_+ = F pi, and the rule names the rows with eta > F/2.

    At a given F the rule loses 1 - F/2 for a row of the class that it does not name, and F/2 for another that it does.
    Where the lowest such loss is r times the counted one, both kinds of errors are taken to be r times as frequent.
    """
    p, is_own, weights = said.mean[:, c], said.y == c, said.weights
    share = float(weights @ is_own)
    at = _plug_in_f1(p, weights)
    gains = np.array([[1.0, at / 2], [1 - at / 2, 1.0]])  # to name it not, or to name it: of other rows, of its own
    rule = ByGain(gains)
    two = [[np.column_stack([1 - P[:, c], P[:, c]]) for P in repeat] for repeat in said.P]
    own = is_own.astype(np.int64)
    named = [rule.choose(repeat[0]) for repeat in two]
    adds = [1 - rule.gain(decision, own) - (1 - at) * own for decision in named]
    reduced = Predictions(
        two,
        own,
        weights,
        said.test,
        said.n,
        said.n_features,
        np.array([1 - share, share]),
        np.array([1 - share, share]),
        None,
        said.confidence_level,
    )
    evidence, judged = reduced.lowest(rule, gains, 1.0, deviation=mean_deviation(adds, weights))
    missed, extra = (
        float(np.mean([weights @ ((decision == kind) & (own != kind)) for decision in named])) for kind in (0, 1)
    )

    def f1(loss: float) -> float:
        if missed + extra == 0:  # none was counted: as Newton's method has it
            return float(np.clip(at + (share * (1 - at) - loss) / share, 0.0, 1.0))
        ratio = loss / evidence.error
        right = max(0.0, share - ratio * missed)
        return float(2 * right / (2 * right + ratio * (missed + extra)))

    test = said.test
    seen, truth, held = test.held[:, c] > _plug_in_f1(test.free[:, c], test.free_weights) / 2, test.y_held == c, None
    if (seen | truth).any():
        held = float(2 * (test.held_weights @ (seen & truth)) / (test.held_weights @ (seen.astype(float) + truth)))
    value = f1(judged.floor)
    return Metric(
        "F1",
        value,
        ConfidenceInterval(min(value, f1(judged.high)), max(value, f1(judged.low)), said.confidence_level),
        held,
        2 * share / (1 + share),
        True,
        label,
        _sizes(*(f1(loss) for loss in evidence.losses)),
    )


def _plug_in_f1(p: Floats, weights: Floats) -> float:
    """F1 that these probabilities expect of naming the rows where they are largest."""
    order = np.argsort(-p, kind="stable")
    mass = weights[order] * p[order]
    best = 2 * np.cumsum(mass) / (np.cumsum(weights[order]) + mass.sum())
    return float(best.max()) if mass.sum() > 0 else 0.0


def _sizes(*values: float) -> dict[str, float]:
    return dict(zip(("all", "half", "quarter", "eighth"), values, strict=True))


# --- what scores --------------------------------------------------------------------------------------------


def log_loss(P: Floats, y: Codes, weights: Floats) -> tuple[float, Floats]:
    """Mean log-loss, and what each row adds."""
    each = -np.log(np.maximum(P[np.arange(len(y)), y], _LEAST))
    return float(weights @ each), each


def brier_score(P: Floats, y: Codes, weights: Floats) -> tuple[float, Floats]:
    """Mean squared distance of probabilities and labels, and what each row adds.

    Of two classes the mean of (p - y)^2, as scikit-learn's `brier_score_loss` has it; of more, the sum over classes.
    """
    each = _residual_products(P, P, y)
    return float(weights @ each), each


def _residual_products(first: Floats, second: Floats, y: Codes) -> Floats:
    """Products of the residuals of two forecasts of each row, summed over classes; of two classes one is enough."""
    truth = np.eye(first.shape[1])[y]
    products = (truth - first) * (truth - second)
    return np.asarray(products[:, 1] if first.shape[1] == 2 else products.sum(axis=1))


def ranking_loss(P: Floats, y: Codes, weights: Floats) -> tuple[float, Floats]:
    """1 - AUC, mean over classes (of two classes one is enough), and what each row adds (DeLong et al., 1988)."""
    classes = [1] if P.shape[1] == 2 else range(P.shape[1])
    found = [auc(P[:, c], y == c, weights) for c in classes if 0 < (y == c).sum() < len(y)]
    return 1 - float(np.mean([value for value, _ in found])), -np.mean([adds for _, adds in found], axis=0)


def auc(scores: Floats, is_own: Any, weights: Floats) -> tuple[float, Floats]:
    """Share of pairs, of a row of the class and another, that the scores put right, and what each row adds to it.

    The variance over samples is that of what rows add, by their number (DeLong, DeLong and Clarke-Pearson, 1988).

    Examples
    --------
    >>> value, adds = auc(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True]), np.full(4, 0.25))
    >>> value, adds.round(2)
    (0.75, array([ 0.5, -0.5, -0.5,  0.5]))
    """
    values, at = np.unique(scores, return_inverse=True)
    own, other = (np.bincount(at, weights=weights * rows, minlength=len(values)) for rows in (is_own, ~is_own))
    own, other = own / own.sum(), other / other.sum()
    below = np.cumsum(other) - other / 2  # shares of the others below each score, and of its own above: ties are halves
    above = 1 - (np.cumsum(own) - own / 2)
    value = float(own @ below)
    shares = np.where(is_own, weights @ is_own, weights @ ~is_own)
    return value, np.where(is_own, below[at] - value, above[at] - value) / shares


# Name: the loss, and what always answering with the class shares loses; equal ones lose most.
SCORES: dict[str, tuple[Callable[..., tuple[float, Floats]], Callable[[Floats], float]]] = {
    "log-loss": (log_loss, lambda shares: float(-xlogy(shares, shares).sum())),
    "Brier score": (brier_score, lambda shares: best_brier_score(shares[None])),
    "AUC": (ranking_loss, lambda _: 0.5),
}


@dataclass(frozen=True)
class ScoreFigures:
    """A loss at the sizes of the training set, and what the rule needs beside it.

    Attributes
    ----------
    losses : tuple of float
        With all, half, a quarter and an eighth of the training rows.
    sampling : float
        Standard error of the first.
    trivial, shrunk_trivial, most : float
        Loss of the class shares, of shrunk ones, and of equal ones.
    """

    losses: tuple[float, ...]
    sampling: float
    trivial: float
    shrunk_trivial: float
    most: float

    @property
    def fall(self) -> float:
        """From half to all rows."""
        return max(0.0, self.losses[1] - self.losses[0])

    @property
    def signal(self) -> float:
        """From 0, nothing beats the class shares, to 1, it surely does."""
        return float(np.clip((self.trivial - self.losses[0]) / (_SURELY * self.sampling), 0, 1))

    def signs(self) -> dict[str, float]:
        """What the interval widens with.

        - sampling: standard error;
        - fall: from half to all rows;
        - falls: mean fall of three doublings of the rows;
        - hidden: the part of the loss where nothing surely beats the class shares.
        """
        return {
            "sampling": self.sampling,
            "fall": self.fall,
            "falls": max(0.0, self.losses[3] - self.losses[0]) / 3,
            "hidden": (1 - self.signal) * self.losses[0],
        }

    def point(self, weight: float = _WEIGHT) -> float:
        """The lowest loss: that of all rows less `weight` times the last fall; fading where nothing was learned."""
        found = self.signal * (self.losses[0] - weight * self.fall) + (1 - self.signal) * self.shrunk_trivial
        return float(np.clip(found, 0.0, self.shrunk_trivial))


def score_figures(name: str, said: Predictions) -> ScoreFigures:
    """Of the loss with this name."""
    loss, trivial = SCORES[name]
    found = [[loss(P, said.y, said.weights) for P in repeat] for repeat in said.P]
    values = np.array([[value for value, _ in repeat] for repeat in found]).mean(axis=0)
    at = tuple(float(np.mean([values[i] for i, (f, _) in enumerate(STAGES) if f == size])) for size in FRACTIONS)
    deviation = mean_deviation([repeat[0][1] for repeat in found], said.weights)
    sampling = float(np.sqrt(max(deviation**2, 1 / said.n) / said.n))
    even = np.full(said.n_classes, 1 / said.n_classes)
    return ScoreFigures(at, sampling, *(trivial(shares) for shares in (said.shares, said.shrunk_shares, even)))


def _scored(name: str, said: Predictions) -> Metric:
    figures, level = score_figures(name, said), said.confidence_level
    signs, lowest = figures.signs(), figures.point()
    z = float(ndtri((1 + level) / 2))
    # Arms of other levels are taken to be as a normal law has them.
    scale = z / float(ndtri(0.975))
    arms = [scale * sum(weight * signs[key] for key, weight in side.items()) for side in (_BELOW, _ABOVE)]
    low, high = max(0.0, lowest - arms[0]), min(figures.most, lowest + arms[1])
    test, reached = said.test, None
    if len(np.unique(test.y_held)) == said.n_classes:
        reached = SCORES[name][0](test.held, test.y_held, test.held_weights)[0]
    details, trivial, is_auc = _sizes(*figures.losses), figures.trivial, name == "AUC"
    if is_auc:
        lowest, low, high, trivial = 1 - lowest, 1 - high, 1 - low, 1 - trivial
        reached = None if reached is None else 1 - reached
        details = {key: 1 - value for key, value in details.items()}
    if name == "Brier score":
        details["disjoint models"] = _disjoint(said)
    return Metric(name, lowest, ConfidenceInterval(low, high, level), reached, trivial, is_auc, figures=details)


def _disjoint(said: Predictions) -> float:
    """Brier score with the residuals of two models of different quarters in place of squares: free of their variance.

    What is left beside the lowest Brier score is the square of their common bias: a check, for models of a quarter.
    """
    first, second = (i for i, (fraction, _) in enumerate(STAGES) if fraction == 0.25)
    products = [_residual_products(repeat[first], repeat[second], said.y) for repeat in said.P]
    return float(np.mean([said.weights @ product for product in products]))
