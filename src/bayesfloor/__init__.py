"""bayesfloor: the lowest error any classifier could reach on your data."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import BayesfloorWarning, DataError, DataTypeError, ParameterError
    from .interval import ConfidenceInterval
    from .learner import BenchmarkLearner
    from .mst import spanning_tree
    from .nearest import nearest_labels
    from .neighbours import ball_counts
    from .radii import AdaptiveRadii, GivenRadii, PaperRadii
    from .weights import arithmetic_weights, chebyshev_weights, uniform_weights

# Public names load on first use: `import bayesfloor` alone costs neither numba nor scikit-learn.
_HOME = {
    "AdaptiveRadii": "radii",
    "BayesfloorWarning": "errors",
    "BenchmarkLearner": "learner",
    "ConfidenceInterval": "interval",
    "DataError": "errors",
    "DataTypeError": "errors",
    "GivenRadii": "radii",
    "PaperRadii": "radii",
    "ParameterError": "errors",
    "arithmetic_weights": "weights",
    "ball_counts": "neighbours",
    "chebyshev_weights": "weights",
    "nearest_labels": "nearest",
    "spanning_tree": "mst",
    "uniform_weights": "weights",
}

__all__ = [
    "AdaptiveRadii",
    "BayesfloorWarning",
    "BenchmarkLearner",
    "ConfidenceInterval",
    "DataError",
    "DataTypeError",
    "GivenRadii",
    "PaperRadii",
    "ParameterError",
    "arithmetic_weights",
    "ball_counts",
    "chebyshev_weights",
    "nearest_labels",
    "spanning_tree",
    "uniform_weights",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version("bayesfloor")
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
