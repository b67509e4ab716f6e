"""Certified ceilings: a classifier was seen to do this well, so the Bayes error is no higher."""

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import BayesfloorWarning, DataError, ParameterError
from ..rows.dataset import validate
from ..rows.draws import Draws, one_of_each
from ..rows.keys import digest, row_keys
from ..utils.checks import brief, check_fraction, check_whole, seed_from
from ..utils.intervals import Bound, check_level, upper_limit

__all__ = ["certified_upper_limit", "held_out_bound"]


def certified_upper_limit(
    errors: int, n_tested: int, *, confidence_level: float = 0.95, n_candidates: int = 1
) -> Bound:
    """Upper limit of the Bayes error from a classifier's errors on rows that it has not seen.

    The limit of Clopper and Pearson for the classifier's own error rate, which no Bayes error exceeds. For the best
    of several classifiers on the same rows each must keep its limit, at level 1 - (1 - level) / n_candidates
    (Bonferroni): the smallest of many error counts is optimistic.

    Parameters
    ----------
    errors, n_tested : int
        Errors of the classifier, fixed before the test rows were seen, among so many of them.
    confidence_level : float
    n_candidates : int
        Classifiers that this one was chosen from by these same rows.

    Returns
    -------
    Bound
        With lower limit 0: no data can give another with certainty (Antos, Devroye and Gyorfi 1999).

    Examples
    --------
    >>> print(certified_upper_limit(30, 1000))
    Certified ceiling: at most 4.05%
      holds with 95% confidence at any sample size, for independent test rows: 30 errors among 1000 that the classifier had not seen
    """  # noqa: E501
    check_whole("n_candidates", n_candidates, 1)
    check_level(confidence_level)
    limit = upper_limit(errors, n_tested, 1 - (1 - confidence_level) / n_candidates)
    rests_on = (
        f"holds with {100 * confidence_level:g}% confidence at any sample size, for independent test rows: "
        f"{errors} errors among {n_tested} that the classifier had not seen"
    )
    if n_candidates > 1:
        rests_on += f", corrected for the choice among {n_candidates}"
    return Bound("Certified ceiling", 0.0, limit, rests_on)


def held_out_bound(
    X: Any, y: Any, classifiers: Any, *, test_size: float = 0.3, confidence_level: float = 0.95, random_state: Any = 0
) -> Bound:
    """Fit classifiers on a part of the rows and certify the best one on the rest.

    Parameters
    ----------
    X, y : array-like
    classifiers : classifier, iterable of classifiers, or mapping of names to classifiers
        Of scikit-learn's kind. They see the numeric columns that vary, and labels as codes 0..C-1.
    test_size : float
        Share of the rows held out: a plain random sample, since rows drawn per class may never hold a rare one. Of
        copies of one record one random row counts.
    confidence_level : float
    random_state : int, RandomState or None
        Draws the rows.

    Returns
    -------
    Bound
        Corrected for the number of classifiers given.

    Warns
    -----
    BayesfloorWarning
        Names a classifier that failed and is left out.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 2000)
    >>> X = rng.normal(size=(2000, 2)) + 2 * y[:, None] * [1, 0]
    >>> round(held_out_bound(X, y, [LogisticRegression()]).upper, 3)  # the true floor is 0.159
    0.203
    """
    data = validate(X, y)
    candidates = _by_name(classifiers)
    check_fraction("test_size", test_size)
    draws = Draws(seed_from(random_state), digest(row_keys(data.X), data.labels))
    rows = np.arange(data.n_samples) if data.records is None else one_of_each(data.records, draws.rng("copies"))
    n_test = math.ceil(test_size * len(rows))
    if n_test >= len(rows):
        raise DataError(f"{len(rows)} rows cannot be split with test_size={test_size}: none is left to train on")
    rows = draws.rng("held out").permutation(rows)
    test, train = rows[:n_test], rows[n_test:]
    errors: dict[str, int] = {}
    for name, classifier in candidates.items():
        try:
            errors[name] = _errors(classifier, data.X, data.labels, train, test)
        except Exception as error:  # whatever a foreign classifier may raise
            warnings.warn(
                f"{name} failed and is left out: {type(error).__name__}: {error}", BayesfloorWarning, stacklevel=2
            )
    if not errors:
        raise DataError(f"all classifiers failed ({', '.join(candidates)}): the warnings say why")
    best = min(errors, key=lambda name: errors[name])
    # Those that failed count: what makes them fail may be the test rows.
    bound = certified_upper_limit(
        errors[best], len(test), confidence_level=confidence_level, n_candidates=len(candidates)
    )
    copies = f"; {data.copied_share:.1%} of the rows are copies and left out"
    return replace(bound, name=f"Held-out {best}", rests_on=bound.rests_on + (copies if data.copied_share else ""))


def _errors(classifier: Any, X: Any, labels: Any, train: Any, test: Any) -> int:
    from sklearn.base import clone

    predicted = clone(classifier).fit(X[train], labels[train]).predict(X[test])
    return int((np.asarray(predicted) != labels[test]).sum())


def _by_name(classifiers: Any) -> dict[str, Any]:
    if isinstance(classifiers, Mapping):
        named = {str(name): classifier for name, classifier in classifiers.items()}
    else:
        try:
            given = list(classifiers) if isinstance(classifiers, Iterable) else [classifiers]
        except TypeError:
            raise ParameterError(f"classifiers must be a list of classifiers, got {brief(classifiers)}") from None
        kinds = [type(classifier).__name__ for classifier in given]
        named = {
            kind if kinds.count(kind) == 1 else f"{kind} {i}": classifier
            for i, (kind, classifier) in enumerate(zip(kinds, given, strict=True), start=1)
        }
    if not named:
        raise ParameterError("classifiers is empty: give at least one, for example [LogisticRegression()]")
    for model in named.values():
        if not hasattr(model, "fit"):
            raise ParameterError(f"classifiers must be scikit-learn classifiers, got {brief(model)}")
    return named
