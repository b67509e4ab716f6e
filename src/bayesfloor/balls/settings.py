"""What the user asked for, checked, and settled against the data."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._types import Floats
from ..errors import ParameterError
from ..rows.dataset import Dataset
from ..rows.labels import plain
from ..utils.checks import (
    MOST,
    brief,
    check_callable,
    check_flag,
    check_fraction,
    check_number,
    check_whole,
    numbers_from,
)
from ..utils.parallel import n_threads
from .radii import AdaptiveRadii, GivenRadii, PaperRadii, RadiusRule
from .weights import MOST_NODES, arithmetic_weights, chebyshev_weights, minimum_norm_weights, uniform_weights

__all__ = ["check_numbers", "class_sequence", "ensemble", "radius_rule", "target_priors"]


_WEIGHTS = ("chebyshev", "arithmetic", "uniform")


def check_numbers(parameters: Mapping[str, Any]) -> None:
    """Refuse parameters of `BenchmarkLearner` that are out of range whatever the data."""
    if not isinstance(parameters["weights"], str) or parameters["weights"] not in _WEIGHTS:
        raise ParameterError(f"weights must be one of {_WEIGHTS}, got {brief(parameters['weights'])}")
    if parameters["weights"] == "uniform" and parameters["order"]:
        raise ParameterError(f"uniform weights have no vanishing moments: leave out order={parameters['order']}")
    check_fraction("confidence_level", parameters["confidence_level"])
    if parameters["ratio_floor"] is not None:
        check_number("ratio_floor", parameters["ratio_floor"], 0, 1)
    for name, least, most in (("n_nodes", 1, MOST_NODES), ("order", 0, MOST_NODES), ("max_queries", 1, MOST)):
        if parameters[name] is not None:
            check_whole(name, parameters[name], least, most)
    check_flag("standardize", parameters["standardize"])
    check_callable("progress", parameters["progress"])
    n_threads(parameters["n_jobs"])


def radius_rule(radii: str | RadiusRule | ArrayLike) -> RadiusRule:
    """Rule behind a name, a rule object, or an array of radii."""
    if isinstance(radii, str):
        if radii not in ("adaptive", "paper"):
            raise ParameterError(f"radii must be 'adaptive', 'paper', a rule or an array, got {brief(radii)}")
        return AdaptiveRadii() if radii == "adaptive" else PaperRadii()
    if isinstance(radii, type):
        raise ParameterError(f"radii must be a rule such as {radii.__name__}(), with its brackets")
    return radii if isinstance(radii, RadiusRule) else GivenRadii(radii)


def ensemble(
    rule: RadiusRule, kind: str, n_nodes: int | None, order: int | None, n_features: int
) -> tuple[Floats, Floats, int]:
    """Nodes ascending, their weights, and the number of vanishing moments.

    Examples
    --------
    >>> nodes, weights, order = ensemble(GivenRadii([1.0, 2.0]), "chebyshev", None, None, 3)
    >>> nodes.tolist(), order
    ([0.25, 1.0], 1)
    """
    default_nodes, default_order = rule.defaults(n_features)
    if isinstance(rule, GivenRadii) and n_nodes not in (None, default_nodes):
        raise ParameterError(f"n_nodes is {n_nodes} but {default_nodes} radii were given: leave n_nodes out")
    n_nodes = default_nodes if n_nodes is None else int(n_nodes)
    order = min(default_order, n_nodes - 1) if order is None else int(order)
    if kind == "uniform":
        order = 0
    if order > n_nodes - 1:
        raise ParameterError(f"order {order} needs at least {order + 1} nodes, there are {n_nodes}")
    if isinstance(rule, GivenRadii):
        return rule.nodes(), minimum_norm_weights(rule.nodes(), order), order
    low, high = rule.node_interval()
    if kind == "uniform":
        return *uniform_weights(n_nodes, low, high), order
    make = chebyshev_weights if kind == "chebyshev" else arithmetic_weights
    return *make(n_nodes, order, low, high), order


def target_priors(priors: str | Mapping[Hashable, float] | ArrayLike, classes: NDArray[Any]) -> Floats:
    """Class shares to estimate the floor for, in the order of the sorted labels."""
    if isinstance(priors, str):
        if priors != "balanced":
            raise ParameterError(f"priors must be None, 'balanced' or numbers, got {brief(priors)}")
        return np.full(len(classes), 1 / len(classes))
    labels = plain(classes)
    if hasattr(priors, "items"):  # a mapping, or a pandas Series with the labels as its index
        by_label = dict(priors.items())
        if set(by_label) != set(labels):
            raise ParameterError(f"priors must name exactly the classes {brief(labels)}, got {brief(list(by_label))}")
        priors = [by_label[label] for label in labels]
    values = numbers_from("priors", priors)
    if values.shape != (len(classes),):
        raise ParameterError(f"priors must hold {len(classes)} numbers, one per class of {brief(labels)}")
    if not (values > 0).all() or abs(values.sum() - 1) > 1e-6:
        raise ParameterError(f"priors must be positive and add up to 1, got {brief(values.tolist())}")
    return values / values.sum()


def class_sequence(class_order: str | Sequence[Hashable], data: Dataset) -> str | list[int]:
    """Either "symmetric" or "paper", or a class order as codes."""
    if isinstance(class_order, str):
        if class_order == "sorted":
            return list(range(data.n_classes))
        if class_order == "paper" and data.n_classes != 2:
            raise ParameterError(f"class_order='paper' is for two classes, the data have {data.n_classes}")
        if class_order not in ("symmetric", "paper"):
            raise ParameterError(
                "class_order must be 'symmetric', 'sorted', 'paper' or a sequence of all labels, got "
                f"{brief(class_order)}"
            )
        return class_order
    position = {label: i for i, label in enumerate(plain(data.classes))}
    try:
        given = list(class_order)
        known = len(given) == len(position) and set(given) == set(position)
    except TypeError:  # no list, or labels that cannot be looked up
        known = False
    if not known:
        raise ParameterError(f"class_order must hold each of {brief(list(position))} once, got {brief(class_order)}")
    return [position[label] for label in given]
