import subprocess
import sys
from pathlib import Path

import bayesfloor


def test_exported_names_are_pinned():
    assert sorted(bayesfloor.__all__) == [
        "Abstention",
        "AdaptiveRadii",
        "BayesfloorWarning",
        "BenchmarkLearner",
        "Bound",
        "ClusterError",
        "ColumnValues",
        "Comparison",
        "ConfidenceInterval",
        "CostFloor",
        "DataError",
        "DataTypeError",
        "FeatureComparison",
        "FloorChange",
        "FloorResult",
        "FloorStopping",
        "Gate",
        "GivenRadii",
        "Metric",
        "Metrics",
        "NeighbourRadii",
        "PaperRadii",
        "ParameterError",
        "Pictures",
        "Plan",
        "Run",
        "Subgroups",
        "Table",
        "arena",
        "arithmetic_weights",
        "ball_counts",
        "bounds",
        "calibrated_soft_label_error",
        "callbacks",
        "chebyshev_weights",
        "classical",
        "column_values",
        "compare",
        "compare_features",
        "compare_results",
        "duplicate_bounds",
        "estimate",
        "first_round_within",
        "frames",
        "from_scores",
        "gate",
        "minimum_norm_weights",
        "nearest_labels",
        "noise_check",
        "plan",
        "plots",
        "problems",
        "read_pictures",
        "read_table",
        "repeated_label_bounds",
        "samples_needed",
        "show_versions",
        "soft_label_error",
        "spanning_tree",
        "table_from_frame",
        "testing",
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


def test_names_that_people_import_stay() -> None:
    code = """
import bayesfloor as bf
import bayesfloor.callbacks, bayesfloor.classical, bayesfloor.frames, bayesfloor.plots, bayesfloor.problems
from bayesfloor.arena import default_estimators, installed_rivals, run
from bayesfloor.bounds import (
    Bound, all_bounds, bhattacharyya, certified_upper_limit, cover_hart, cover_hart_lower, held_out_bound,
    henze_penrose, mahalanobis, nearest_neighbour_bounds,
)
from bayesfloor.floor import estimate
from bayesfloor.tables import read_table
assert bf.estimate is estimate and bf.read_table is read_table
from bayesfloor.problems import Problem, from_posterior, get, label_noise, names, simulated_error
from bayesfloor.stopping import FloorStopping, RowsNeeded, TrainingRound, validation_rows_needed
assert bf.bounds.henze_penrose is henze_penrose and bf.arena.run is run and bf.problems.get is get
for module in (bf.callbacks, bf.classical, bf.frames, bf.plots, bf.problems):
    assert all(hasattr(module, name) for name in module.__all__), module
assert all(callable(getattr(bf, name)) for name in ("estimate", "compare", "plan", "from_scores", "noise_check"))
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_import_loads_no_more_than_a_few_files() -> None:
    code = "import sys, bayesfloor; print(*sorted(m for m in sys.modules if m.startswith('bayesfloor')))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["bayesfloor"]


def test_versions_of_all_that_is_needed_are_shown(capsys) -> None:
    bayesfloor.show_versions()
    lines = capsys.readouterr().out.splitlines()
    shown = {line[: line.index("  ")] for line in lines if line}
    assert {"bayesfloor", "Python", "numpy", "scikit-learn", "pyarrow", "dask"} <= shown
    assert str(Path.home()) not in "".join(lines), "nothing personal"
