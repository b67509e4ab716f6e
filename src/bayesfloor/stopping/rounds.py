"""Training in rounds with scikit-learn, until the rule stops it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import DataError, ParameterError
from ..floor.excess import check_rows
from .callback_checks import check_unused
from .rule import FloorStopping

__all__ = ["fit_until_floor"]


def fit_until_floor(
    model: Any,
    X: Any,
    y: Any,
    X_val: Any,
    y_val: Any,
    stopping: FloorStopping,
    *,
    max_rounds: int = 200,
    step: int = 10,
) -> Any:
    """Train a scikit-learn classifier round by round until the rule stops it.

    A round is one `partial_fit` on all rows where the model has it, and otherwise `step` more trees or iterations with
    `warm_start` (forests, gradient boosting).

    Parameters
    ----------
    model : scikit-learn classifier
        Trained in place; one that grows counts its trees from `step` on.
    X, y : array-like
        Training rows.
    X_val, y_val : array-like
        Validation rows, which training never sees.
    stopping : FloorStopping
        A new one for each training. Afterwards it has the history and the reason; its `stopped` is False if
        `max_rounds` came first.
    max_rounds : int
    step : int

    Returns
    -------
    model

    Examples
    --------
    >>> from bayesfloor import problems
    >>> from sklearn.naive_bayes import GaussianNB
    >>> problem = problems.get("gaussians_10d", shift=2)   # floor 0.1587
    >>> stopping = FloorStopping(0.159, (0.15, 0.168), min_delta=0.03)
    >>> rows, new_rows = problem.sample(2000, random_state=0), problem.sample(2000, random_state=1)
    >>> model = fit_until_floor(GaussianNB(), *rows, *new_rows, stopping)
    >>> stopping.status, len(stopping.history)
    ('at the floor', 3)
    """
    check_rows("max_rounds", max_rounds)
    check_rows("step", step)
    truth = np.asarray(y_val).reshape(-1)
    if len(truth) == 0:
        raise DataError("there are no validation rows: X_val and y_val are empty")
    n_val = X_val.shape[0] if hasattr(X_val, "shape") else len(X_val)
    if n_val != len(truth):
        raise DataError(f"X_val has {n_val} rows and y_val {len(truth)}: they must match")
    seen, asked = set(np.asarray(y).reshape(-1).tolist()), set(truth.tolist())
    if seen.isdisjoint(asked):
        raise DataError(f"y_val has no label of y ({next(iter(asked))!r} is none): are they of the same kind?")
    check_unused(stopping)
    train = _one_round(model, X, y, step)
    for _ in range(max_rounds):
        train()
        guess = np.asarray(model.predict(X_val)).reshape(-1)
        if stopping.update(float((guess != truth).mean()), len(truth)):
            break
    return model


def _one_round(model: Any, X: Any, y: Any, step: int) -> Callable[[], object]:
    if hasattr(model, "partial_fit"):
        classes = np.unique(np.asarray(y))
        return lambda: model.partial_fit(X, y, classes=classes)
    options = model.get_params() if hasattr(model, "get_params") else {}
    # Histogram boosting counts its trees in max_iter; elsewhere max_iter counts steps of a solver, which start anew.
    size = "max_iter" if type(model).__name__.startswith("HistGradientBoosting") else "n_estimators"
    if "warm_start" not in options or size not in options:
        raise ParameterError(
            f"{type(model).__name__} cannot be trained in rounds: it has neither partial_fit nor trees to add with "
            "warm_start"
        )
    trees = 0

    def grow() -> None:
        nonlocal trees
        trees += step
        model.set_params(warm_start=True, **{size: trees}).fit(X, y)

    return grow
