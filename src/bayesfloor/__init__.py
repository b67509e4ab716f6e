"""bayesfloor: the lowest error any classifier could reach on your data."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import arena, bounds, callbacks, classical, frames, plots, problems
    from .bounds import Bound
    from .comparison import Comparison, compare
    from .errors import BayesfloorWarning, ClusterError, DataError, DataTypeError, ParameterError
    from .floor import estimate
    from .how_much_data import samples_needed
    from .interval import ConfidenceInterval
    from .learner import BenchmarkLearner
    from .mst import spanning_tree
    from .nearest import nearest_labels
    from .neighbours import ball_counts
    from .noise import noise_check
    from .own_scores import from_scores
    from .planning import Plan, plan
    from .radii import AdaptiveRadii, GivenRadii, PaperRadii
    from .result import FloorResult
    from .run import Run
    from .soft_labels import calibrated_soft_label_error, duplicate_bounds, repeated_label_bounds, soft_label_error
    from .stopping import FloorStopping
    from .tables import Table, read_table, table_from_frame
    from .weights import arithmetic_weights, chebyshev_weights, uniform_weights

# Public names load on first use: `import bayesfloor` alone costs neither numba nor scikit-learn.
_MODULES = {"arena", "bounds", "callbacks", "classical", "frames", "plots", "problems"}
_HOME = {
    "AdaptiveRadii": "radii",
    "BayesfloorWarning": "errors",
    "BenchmarkLearner": "learner",
    "Bound": "bounds",
    "ClusterError": "errors",
    "Comparison": "comparison",
    "ConfidenceInterval": "interval",
    "DataError": "errors",
    "DataTypeError": "errors",
    "FloorResult": "result",
    "FloorStopping": "stopping",
    "GivenRadii": "radii",
    "PaperRadii": "radii",
    "ParameterError": "errors",
    "Plan": "planning",
    "Run": "run",
    "Table": "tables",
    "arithmetic_weights": "weights",
    "ball_counts": "neighbours",
    "calibrated_soft_label_error": "soft_labels",
    "chebyshev_weights": "weights",
    "compare": "comparison",
    "duplicate_bounds": "soft_labels",
    "estimate": "floor",
    "from_scores": "own_scores",
    "nearest_labels": "nearest",
    "noise_check": "noise",
    "plan": "planning",
    "read_table": "tables",
    "repeated_label_bounds": "soft_labels",
    "samples_needed": "how_much_data",
    "soft_label_error": "soft_labels",
    "spanning_tree": "mst",
    "table_from_frame": "tables",
    "uniform_weights": "weights",
}

__all__ = [
    "AdaptiveRadii",
    "BayesfloorWarning",
    "BenchmarkLearner",
    "Bound",
    "ClusterError",
    "Comparison",
    "ConfidenceInterval",
    "DataError",
    "DataTypeError",
    "FloorResult",
    "FloorStopping",
    "GivenRadii",
    "PaperRadii",
    "ParameterError",
    "Plan",
    "Run",
    "Table",
    "arena",
    "arithmetic_weights",
    "ball_counts",
    "bounds",
    "calibrated_soft_label_error",
    "callbacks",
    "chebyshev_weights",
    "classical",
    "compare",
    "duplicate_bounds",
    "estimate",
    "frames",
    "from_scores",
    "nearest_labels",
    "noise_check",
    "plan",
    "plots",
    "problems",
    "read_table",
    "repeated_label_bounds",
    "samples_needed",
    "soft_label_error",
    "spanning_tree",
    "table_from_frame",
    "uniform_weights",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version("bayesfloor")
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
