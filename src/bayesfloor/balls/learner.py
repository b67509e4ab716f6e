"""The benchmark learner of Noshad, Xu and Hero as a scikit-learn estimator."""

import contextlib
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from .._text import printed
from .._types import Codes, Floats, RowNumbers
from ..counting.block_counts import counter_of
from ..errors import BayesfloorWarning
from ..rows.block_dataset import open_blocks
from ..rows.blocks import LARGE, Blocks, Part, draw_rows, reference_rows, rows_at
from ..rows.dataset import Dataset
from ..rows.keys import row_keys
from ..rows.scaling import Standard, class_keys, order_by_content
from ..utils.checks import seed_from
from ..utils.intervals import ConfidenceInterval, sampling_variance, score_interval
from .error import apply_floor, change_priors, density_ratios, error_terms, neighbour_shares
from .occupancy import Occupancy, doubts
from .radii import Counter, PaperRadii, RadiusRule
from .settings import check_numbers, class_sequence, ensemble, radius_rule, target_priors

__all__ = ["BenchmarkLearner"]


# Centres where the rows lie in blocks and nobody says how many: their number, not that of the rows, then decides how
# long it takes, and twenty thousand leave a standard error of 0.3 % at most.
_BLOCK_QUERIES = 20_000
_TINY = -996  # exponent of 1e-300


class BenchmarkLearner(BaseEstimator):
    """Estimate the Bayes error rate, the lowest error any classifier could reach, from labelled data.

    Counts the points of each class in balls around each point, turns the counts into density ratios,
    averages the ratios over an ensemble of radii with weights that cancel their bias, and adds up
    the error they imply [1]_. It works where balls work: up to about five informative features. In more
    dimensions `reliable_` turns False and says why.

    Parameters
    ----------
    weights : {"chebyshev", "arithmetic", "uniform"}, default "chebyshev"
        Nodes and weights of the ensemble. With given radii, both of the first two mean the
        minimum-norm weights at those radii.
    n_nodes : int, optional
        Number of radii; default 12, or d + 1 for the paper's rule.
    order : int, optional
        Number of vanishing moments; default 1, or d for the paper's rule.
    radii : {"adaptive", "paper"}, radius rule or array, default "adaptive"
        ``AdaptiveRadii(...)`` takes them from the data, ``PaperRadii(alpha=...)`` is the printed rule; an
        array is taken as it is, in units of the (standardized) data.
    class_order : "symmetric", "sorted", "paper" or sequence of labels, default "symmetric"
        "symmetric" averages over all class orders in closed form. A sequence of all labels, or
        "sorted", gives the paper's ordered form (one-sided for two classes); "paper" its
        symmetrised form for two classes.
    priors : None, "balanced", mapping or array, default None
        Class shares to estimate the floor for, in the order of the sorted labels or by label. None:
        those of the data.
    ratio_floor : float or None, default 0.0
        C_L / C_U: the densities' lower bound as a share of their upper bound. Each density ratio is raised
        to at least this. None leaves the negative ratios that signed weights produce, as the paper's ensemble F does:
        the estimate may then be negative.
    standardize : bool, default True
        Divide each column by its standard deviation, so that units do not matter.
    confidence_level : float, default 0.95
        Level of `interval_`.
    max_queries : int, optional
        Use only about so many points as ball centres (drawn at random per class, two at least of each), all
        points as neighbours; the interval widens accordingly. None means all points, or 20,000 for a Dask
        collection of more than 65,536 rows.
    random_state : int, RandomState or None, default 0
        Draws the centres if there are `max_queries`; nothing else is random.
    n_jobs : int, optional
        Threads; None means all cores. The result does not depend on it.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Attributes
    ----------
    bayes_error_ : float
        The floor, in [0, 1 - largest prior]; below 0 only if `ratio_floor` is None.
    interval_ : ConfidenceInterval
        Covers sampling noise, not the bias of the estimate; inside [0, 1 - 1/C].
    standard_error_ : float
        Its standard error.
    subsample_error_ : float
        The part of it that is due to using only some points as centres: its square is a part of the square. 0.0
        if all points are.
    centres_ : ndarray of int
        Rows that were ball centres.
    radii_, weights_ : ndarray of shape (L,)
        The ensemble, radii ascending.
    occupancy_ : Occupancy
        For each radius the mean and median number of neighbours and the share of empty balls.
    reliable_ : bool
        False if the balls cannot carry the estimate; `reasons_` says why, and `fit` warns.
    reasons_, notes_ : tuple of str
        Doubts about the estimate; remarks on the data (duplicates, constant columns).
    leave_one_out_error_ : float
        Error of classifying each centre by the same balls, itself left out.
    density_ratios_ : ndarray of shape (n_centres, C)
        Estimate of p_c f_c(x) / (p_k f_k(x)) at each of `centres_`, a row of class k. Divide by p_c / p_k for the
        paper's U = f_c / f_k.
    sample_error_ : ndarray of shape (N,)
        Each row's term; their mean is the estimate. NaN for rows that were no centres. 1/2 (for two
        classes) can mean an ambiguous point as well as a mislabelled one: this figure cannot tell.
        For Dask collections of more than 65,536 rows the terms of `centres_` only.
    class_error_ : ndarray of shape (C,)
        Each class's share; they add up to the estimate. A symmetric split, not the error rate of the best
        classifier within the class.
    pair_error_ : ndarray of shape (C, C)
        Share that samples of class k (row) owe to class c (column); adds up to the estimate.
    classes_ : ndarray of shape (C,)
        The labels, sorted.
    priors_ : ndarray of shape (C,)
        The class shares the floor is for.
    n_features_in_ : int
        Columns seen by `fit`, constant ones included.

    References
    ----------
    .. [1] M. Noshad, L. Xu, A. Hero, "Learning to Benchmark: Determining Best Achievable
       Misclassification Error from Training Data", arXiv 1909.07192.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 2000)
    >>> X = rng.normal(size=(2000, 2)) + 2 * y[:, None] * [1, 0]   # the true floor is 0.1587
    >>> learner = BenchmarkLearner().fit(X, y)
    >>> 0.1587 in learner.interval_, learner.reliable_
    (True, True)
    """

    sample_error_: Floats
    standard_error_: float

    def __init__(
        self,
        *,
        weights: str = "chebyshev",
        n_nodes: int | None = None,
        order: int | None = None,
        radii: str | RadiusRule | ArrayLike = "adaptive",
        class_order: str | Sequence[Hashable] = "symmetric",
        priors: str | Mapping[Hashable, float] | ArrayLike | None = None,
        ratio_floor: float | None = 0.0,
        standardize: bool = True,
        confidence_level: float = 0.95,
        max_queries: int | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        self.weights = weights
        self.n_nodes = n_nodes
        self.order = order
        self.radii = radii
        self.class_order = class_order
        self.priors = priors
        self.ratio_floor = ratio_floor
        self.standardize = standardize
        self.confidence_level = confidence_level
        self.max_queries = max_queries
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    @classmethod
    def paper(cls, alpha: float = 0.5, **parameters: Any) -> Self:
        """Return the learner with the settings as printed: Definition 6 with the weights of Theorem 9.

        Radii xi N_1^(-1/2d) with Chebyshev nodes xi in (0, alpha], L = d + 1, d vanishing moments, no t-tilde,
        classes in sorted order, features as they are. On most data the balls are empty and `fit` says so.

        It differs from the print in three points: misprints are corrected (docs/theory.md lists them), the
        estimate is at most 1 - the largest prior, and the centre of a ball counts for its own class, which Definition 1
        leaves open and without which an empty ball would be 0 / 0.

        Parameters
        ----------
        alpha : float, default 0.5
            Largest node; the paper recommends 0.3 to 0.5.
        **parameters
            Any other parameter of the class, in place of the printed one.

        Examples
        --------
        >>> learner = BenchmarkLearner.paper(alpha=0.3)
        >>> learner.radii, learner.ratio_floor, learner.standardize
        (PaperRadii(alpha=0.3, class_size='first'), None, False)
        """
        settings: dict[str, Any] = {
            "radii": PaperRadii(alpha=alpha, class_size="first"),
            "class_order": "sorted",
            "ratio_floor": None,
            "standardize": False,
        }
        return cls(**(settings | parameters))

    def fit(self, X: Any, y: Any) -> Self:
        """Estimate the floor of (X, y).

        Parameters
        ----------
        X : array-like of shape (N, d)
            Lists, numpy arrays, or a frame with numeric columns; or a Dask array or DataFrame, whose rows then stay
            on the workers of the cluster that is connected to.
        y : array-like of shape (N,)
            Labels of any hashable kind. For Dask also a Series, or the name of a column of `X`.
        """
        check_numbers(self.get_params(deep=False))
        with open_blocks(X, y, self.progress) as (blocks, data):
            standard = self._fit(blocks, data)
        if standard.exponents.min(initial=0) < _TINY:
            self.reasons_ += (
                "a column varies by less than 1e-300, where float64 runs out of digits: multiply it by a power of 10",
            )
            self.reliable_ = False
        return self._set_names(hasattr(X, "columns"), data)._warn()

    def fit_blocks(self, blocks: Blocks, data: Dataset) -> Self:
        """Estimate the floor of rows that lie in blocks.

        Parameters
        ----------
        blocks : Blocks
            Finite rows, no column of them constant, and the codes of their classes.
        data : Dataset
            What is known of them: `classes`, and `class_counts` of all rows. Its own rows are not looked at.
        """
        check_numbers(self.get_params(deep=False))
        self._fit(blocks, data)
        return self._set_names(False, data)._warn()

    def _fit(self, blocks: Blocks, data: Dataset) -> Standard:
        self._settle(data)
        reference = rows_at(blocks, reference_rows(blocks.n_samples))[0]
        standard = Standard.of(reference, unit_variance=self.standardize)
        del reference
        points = blocks.derive(partial(_standardize, standard=standard), blocks.n_columns)
        with contextlib.closing(points):
            self._estimate(counter_of(points, self.n_jobs), self._centres(points), standard.unit, data)
        if points.whole is not None:
            terms = self.sample_error_
            self.sample_error_ = np.full(data.n_samples, np.nan)
            self.sample_error_[self.centres_] = terms
        return standard

    def _settle(self, data: Dataset) -> tuple[RadiusRule, Floats, str | list[int]]:
        """Rule, target priors and class order; refused before anything takes long."""
        priors = data.priors if self.priors is None else target_priors(self.priors, data.classes)
        return radius_rule(self.radii), priors, class_sequence(self.class_order, data)

    def _estimate(self, counter: Counter, centres: RowNumbers, unit: float, data: Dataset) -> None:
        """All figures, from balls around the centres; `sample_error_` in their order."""
        rule, priors, class_order = self._settle(data)
        nodes, weights, order = ensemble(rule, self.weights, self.n_nodes, self.order, counter.n_features)
        self._tell("choosing radii", 0, 1)
        radii = rule.radii(nodes, counter, order, unit)
        self._tell("choosing radii", 1, 1)
        own = counter.rows_at(centres)[1]
        terms, errors, loo_errors, n_neighbours, self.density_ratios_ = self._count(
            counter, centres, own, radii, weights, data, priors, class_order
        )
        self.centres_ = centres
        self._set_errors(terms, own, data, priors)
        self._set_interval(errors, own, data, priors)
        self.leave_one_out_error_ = float(_class_means(loo_errors, own, data.n_classes) @ priors)
        with np.errstate(over="ignore"):  # balls that hold everything may reach beyond the largest number
            self.radii_, self.weights_ = np.minimum(radii * unit, np.finfo(np.float64).max), weights
        self.occupancy_ = Occupancy.of(n_neighbours, self.radii_, weights)
        self.classes_, self.priors_ = data.classes, priors
        self.n_features_in_, self.notes_ = data.n_columns, data.notes
        self._n_rows = data.n_samples
        self.reasons_ = doubts(
            self.occupancy_,
            self.bayes_error_,
            # Where classes are balanced and features say nothing, leaving a point out tips its own ball
            # against it: the error of always guessing the largest class is all that can be held against us.
            min(self.leave_one_out_error_, 1 - float(priors.max())),
            max(self.standard_error_, float(np.sqrt(loo_errors.var() / len(centres)))),
            data,
        )
        self.reliable_ = not self.reasons_

    def _set_names(self, has_names: bool, data: Dataset) -> Self:
        if has_names:
            self.feature_names_in_ = np.array(data.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def _warn(self) -> Self:
        if not self.reliable_:
            warnings.warn(f"unreliable estimate: {'; '.join(self.reasons_)}", BayesfloorWarning, stacklevel=3)
        return self

    def _centres(self, points: Blocks) -> RowNumbers:
        """All rows, or `max_queries` of them drawn at random, two at least of each class."""
        n, limit, seed = points.n_samples, self.max_queries, seed_from(self.random_state)
        if limit is None and points.whole is None:
            limit = _BLOCK_QUERIES
        if limit is None or limit >= n:
            return np.arange(n)
        if n > LARGE:  # an order by content would need all rows in one place
            return draw_rows(points, limit, np.random.default_rng([seed, 1]))[0]
        X, labels = rows_at(points, np.arange(n))
        keys = class_keys(row_keys(X), labels, points.n_classes)
        order = order_by_content(X, labels, points.n_classes)
        chosen = []
        for c, n_class in enumerate(np.bincount(labels, minlength=points.n_classes)):
            # Seeded by the class's content, so that the draws do not depend on how the classes are called.
            rng = np.random.default_rng([seed, int(keys[c])])
            chosen.append(rng.choice(order[labels[order] == c], max(2, round(limit / n * n_class)), replace=False))
        return np.sort(np.concatenate(chosen))

    # --- the estimate -----------------------------------------------------------------------------------

    def _count(
        self,
        counter: Counter,
        centres: RowNumbers,
        labels: Codes,
        radii: Floats,
        weights: Floats,
        data: Dataset,
        priors: Floats,
        class_order: str | list[int],
    ) -> tuple[Floats, Floats, Floats, NDArray[np.int64], Floats]:
        """Terms (n, C), error indicators with and without the centre (n,), neighbour totals (n, L), ratios (n, C)."""
        terms = np.empty((len(centres), data.n_classes))
        found = np.empty_like(terms)
        errors, loo_errors = np.empty(len(centres)), np.empty(len(centres))
        n_neighbours = np.empty((len(centres), len(radii)), dtype=np.int64)
        start = 0
        wanted = None if len(centres) == data.n_samples else centres
        for rows, counts in counter.blocks(radii, wanted, self.progress):
            block = slice(start, start + len(rows))
            start += len(rows)
            own = labels[block]
            ratios = apply_floor(density_ratios(counts, own, weights), own, data.priors, self.ratio_floor)
            found[block] = ratios = change_priors(ratios, own, data.priors, priors)
            terms[block] = error_terms(ratios, own, priors, class_order)
            errors[block] = _lost(ratios, own)
            # Reweighted shares; an empty ball says nothing, so the priors decide.
            shares = neighbour_shares(counts, weights) * (priors / data.priors)
            shares[shares.sum(axis=1) == 0] = priors
            loo_errors[block] = _lost(shares, own)
            n_neighbours[block] = counts.sum(axis=1)
        return terms, errors, loo_errors, n_neighbours, found

    def _set_errors(self, terms: Floats, own: Codes, data: Dataset, priors: Floats) -> None:
        """Estimate and its attribution, each adding up to it; rescaled where the upper limit cuts it."""
        n_centres = np.bincount(own, minlength=data.n_classes)
        # Each class counts by its (target) prior: for given priors, and for centres drawn per class.
        terms = terms * (priors * len(own) / n_centres)[own][:, None]
        raw = float(terms.sum(axis=1).mean())
        limit = 1 - float(priors.max())
        self.bayes_error_ = min(raw, limit)
        if raw > limit:
            terms *= limit / raw
        self.sample_error_ = terms.sum(axis=1)
        pair = np.zeros((data.n_classes, data.n_classes))
        np.add.at(pair, own, terms)
        self.pair_error_ = pair / len(own)
        self.class_error_ = self.pair_error_.sum(axis=1)

    def _set_interval(self, errors: Floats, own: Codes, data: Dataset, priors: Floats) -> None:
        """Standard error and interval; with `max_queries` both pay for the centres left out."""
        estimate, left_out = max(0.0, self.bayes_error_), 0.0
        target = None if self.priors is None else priors
        class_errors = _class_means(errors, own, data.n_classes)
        variance, n_equivalent = sampling_variance(estimate, class_errors, data.class_counts, target)
        if len(own) < data.n_samples:
            n_centres = np.bincount(own, minlength=data.n_classes)
            weighted = self.sample_error_  # carries q_k n / n_k already, and so does its spread
            spread = np.array([weighted[own == c].var(ddof=1) for c in range(data.n_classes)])
            spread *= (n_centres / len(own)) ** 2
            left_out = float((spread * (1 / n_centres - 1 / data.class_counts)).sum())
            variance += left_out
            n_equivalent = min(n_equivalent, float(len(own)))
        self.subsample_error_ = float(np.sqrt(left_out))
        self.standard_error_ = float(np.sqrt(variance))
        n_effective = estimate * (1 - estimate) / variance if variance > 0 and estimate > 0 else n_equivalent
        interval = score_interval(estimate, n_effective, self.confidence_level)
        most = 1 - 1 / data.n_classes
        self.interval_ = ConfidenceInterval(interval.low, min(interval.high, most), self.confidence_level)

    # --- for people -------------------------------------------------------------------------------------

    def _tell(self, stage: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(stage, done, total)

    def __str__(self) -> str:
        if not hasattr(self, "bayes_error_"):
            return repr(self)
        interval, occupancy = self.interval_, self.occupancy_
        lines = [
            f"Floor (Bayes error rate): {self.bayes_error_:.2%}, {100 * interval.confidence_level:g}% interval "
            f"{interval.low:.2%} to {interval.high:.2%}{'' if self.reliable_ else ', NOT RELIABLE'}",
            f"  the lowest error that any classifier could reach on data like these "
            f"({self._n_rows} rows, {self.n_features_in_} columns, {len(self.classes_)} classes);",
            "  an estimate: its interval covers sampling noise, not bias",
            f"  balls of radius {self.radii_[0]:.3g} to {self.radii_[-1]:.3g} hold {occupancy.mean[0]:.0f} to "
            f"{occupancy.mean[-1]:.0f} neighbours on average; {occupancy.empty_share:.1%} are empty",
            f"  reliable: {'yes' if self.reliable_ else 'NO'}",
        ]
        if self.subsample_error_:
            lines.insert(
                3,
                f"  from balls around {len(self.centres_)} of the rows: that makes {self.subsample_error_:.2%} of the "
                f"standard error of {self.standard_error_:.2%}",
            )
        lines += [f"    - {reason}" for reason in self.reasons_]
        lines += [f"  note: {note}" for note in self.notes_]
        pairs = [
            (self.pair_error_[a, b] + self.pair_error_[b, a], self.classes_[a], self.classes_[b])
            for a in range(len(self.classes_))
            for b in range(a)
        ]
        if len(self.classes_) > 2 and self.bayes_error_ > 0:
            largest = sorted(pairs, key=lambda pair: -pair[0])[:3]
            shares = ", ".join(f"{b} / {a} {share / self.bayes_error_:.0%}" for share, a, b in largest if share > 0)
            lines.append(f"  pairs of classes that make the floor: {shares}")
        return printed(lines)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _lost(scores: Floats, own: Codes) -> Floats:
    """1 where another class scores higher than the own one, 0 where none does, shares where they tie."""
    best = scores == scores.max(axis=1, keepdims=True)
    return 1 - best[np.arange(len(own)), own] / best.sum(axis=1)


def _class_means(values: Floats, own: Codes, n_classes: int) -> Floats:
    return np.bincount(own, weights=values, minlength=n_classes) / np.bincount(own, minlength=n_classes)


def _standardize(part: Part, standard: Standard) -> Floats:
    return standard.apply(part.X)
