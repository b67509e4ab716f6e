import subprocess
import sys

import bayesfloor


def test_exported_names_are_pinned():
    assert sorted(bayesfloor.__all__) == [
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
    for name in bayesfloor.__all__:
        assert getattr(bayesfloor, name).__name__.removeprefix("bayesfloor.") == name
    assert set(bayesfloor.__all__) < set(dir(bayesfloor))
    assert bayesfloor.__version__.count(".") == 2


def test_import_loads_nothing_heavy():
    code = "import sys, bayesfloor; print(*{'numba', 'sklearn', 'scipy', 'pandas', 'numpy'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""


def test_unknown_names_are_attribute_errors():
    assert not hasattr(bayesfloor, "predict")


def test_errors_are_the_builtin_kinds():
    assert issubclass(bayesfloor.DataError, ValueError)
    assert issubclass(bayesfloor.DataTypeError, TypeError)
    assert issubclass(bayesfloor.ParameterError, ValueError)
