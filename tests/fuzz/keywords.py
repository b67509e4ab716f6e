"""Every parameter of every public function, found by itself, with values that are none of its own."""

import ast
import datetime
import inspect
import math
import tempfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from sklearn.naive_bayes import GaussianNB

import bayesfloor as bf
from fuzz.outcomes import attempt

__all__ = ["BAD_VALUES", "functions", "ordinary_call", "random_call", "try_bad_values"]

# Records that functions return: nobody is meant to make one.
_RECORDS = {
    "Abstention",
    "Bound",
    "Comparison",
    "ConfidenceInterval",
    "CostFloor",
    "FloorResult",
    "Metric",
    "Metrics",
    "Subgroups",
    "Pictures",
    "Plan",
    "Table",
    "Problem",
    "ArenaResult",
    "Gate",
    "ColumnValues",
    "FeatureComparison",
    "FloorChange",
}
# Pictures and frames of a result, and callbacks of frameworks, which need those.
_OTHER_MODULES = {"arena", "callbacks", "frames", "plots"}
_WITHOUT = {"problems.get", "problems.simulated_error"}  # parameters and distributions of a problem's own

BAD_VALUES: dict[str, Any] = {
    "-1": -1,
    "-1.5": -1.5,
    "0": 0,
    "1": 1,
    "nan": math.nan,
    "inf": math.inf,
    "-inf": -math.inf,
    "2**31": 2**31,
    "2**64": 2**64,
    "10**400": 10**400,
    "-10**400": -(10**400),
    "10**5000": 10**5000,
    "1e308": 1e308,
    "5e-324": 5e-324,
    "text": "nonsense",
    "no text": "",
    "long text": "9" * 400,
    "bytes": b"x",
    "True": True,
    "complex": 1j,
    "[]": [],
    "{}": {},
    "set": {1, 2},
    "object": object(),
    "a type": int,
    "a module": math,
    "a function": lambda *_: None,
    "ragged": [[1], [1, 2]],
    "tuple with a list": ([1],),
    "texts": ["a", "b"],
    "a mapping": {"a": 10**400},
    "huge in a list": [1, 10**400],
    "array with nan": np.array([1.0, np.nan]),
    "empty array": np.empty((0, 2)),
    "4-d array": np.zeros((1, 1, 1, 1)),
    "masked array": np.ma.masked_array([0.2, 0.5], mask=[True, False]),
    "masked": np.ma.masked,
    "complex array": np.array([1j, 2.0]),
    "dates": np.array(["2024-01-01", "NaT"], dtype="M8[D]"),
    "signalling": Decimal("sNaN"),
    "decimal": Decimal("0.3"),
    "fraction": Fraction(10**400, 3),
    "a date": datetime.date(2024, 1, 1),
    "numpy nan": np.float32("nan"),
    "iterator": iter([1, 2]),
    "Ellipsis": ...,
    "a frame": pd.DataFrame({"a": [1]}),
}


@cache
def functions() -> dict[str, Callable[..., Any]]:
    """Public functions and classes with parameters, by name, from the list of public names."""
    stub = Path(bf.__file__).with_suffix(".pyi")
    names = [
        alias.asname or alias.name
        for node in ast.parse(stub.read_text()).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    found: dict[str, Callable[..., Any]] = {}
    for name in names:
        value = getattr(bf, name)
        if isinstance(value, ModuleType):
            if name not in _OTHER_MODULES:
                found |= {f"{name}.{inner}": getattr(value, inner) for inner in value.__all__}
        else:
            found[name] = value
    return {
        name: function
        for name, function in found.items()
        if callable(function)
        and name not in _WITHOUT
        and name.rpartition(".")[2] not in _RECORDS
        and not (isinstance(function, type) and issubclass(function, Exception))
        and inspect.signature(function).parameters
    }


@cache
def _result() -> bf.FloorResult:
    return bf.from_scores(_scores(), _labels())


def _rows() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.column_stack([rng.normal(size=60) + 2 * _labels(), rng.normal(size=60)])


def _labels() -> np.ndarray:
    return np.arange(60) % 2


def _scores() -> np.ndarray:
    return np.clip(np.random.default_rng(1).normal(0.3 + 0.4 * _labels(), 0.2), 0.01, 0.99)


def _given(folder: Path) -> dict[str, Any]:
    """What every required parameter may be called, and a value for it."""
    table = pd.DataFrame(_rows(), columns=["a", "b"]).assign(label=np.where(_labels(), "yes", "no"))
    path = folder / "table.csv"
    if not path.exists():
        table.to_csv(path, index=False)
    P = np.column_stack([1 - _scores(), _scores()])
    pictures = folder / "pictures.npz"
    if not pictures.exists():
        np.savez(pictures, X=np.random.default_rng(2).random((60, 6, 6)), y=_labels())
    return {
        "X": _rows(),
        "X_old": _rows()[:, :1],
        "X_new": _rows(),
        "before": _result(),
        "after": _result(),
        "y": _labels(),
        "labels": _labels(),
        "radii": [0.5, 1.0],
        "values": [0.5, 1.0],
        "k": 3,
        "P": P,
        "first": _labels(),
        "second": np.roll(_labels(), 3),
        "n_nodes": 6,
        "order": 2,
        "scores": _scores(),
        "result": _result(),
        "floor": _result(),
        "model_curve": [(100, 0.4, 500), (200, 0.35, 500), (400, 0.32, 500), (800, 0.31, 500)],
        "model_errors": [0.4, 0.3, 0.2],
        "interval": (0.1, 0.25),
        "nodes": [0.25, 0.5, 1.0],
        "n": 1000,
        "d": 5,
        "path": path,
        "source": pictures,
        "frame": table,
        "errors": 3,
        "n_tested": 50,
        "error": 0.3,
        "n_classes": 2,
        "classifiers": [],
        "problem": bf.problems.get("moons"),
        "rho": 0.2,
    }


# Parameters that are needed though they have a default, and values that make a call quick.
_ALSO: dict[str, dict[str, Any]] = {
    "estimate": {"y": _labels(), "effort": "fast", "n_jobs": 1},
    "column_values": {"y": _labels(), "effort": "fast", "n_jobs": 1},
    "compare_features": {"effort": "fast", "n_jobs": 1},
    "noise_check": {"rhos": [0.5], "effort": "fast", "n_jobs": 1},
    "classical.cross_validated_error": {"classifier": GaussianNB()},  # the forest it has takes seconds
    "compare": {"error": 0.3, "n_test": 100},
    "gate": {"error": 0.3, "n_test": 100},
    "testing.assert_at_floor": {"error": 0.2, "n_test": 5, "cannot_tell": "pass"},
    "compare, labels": {"y_true": _labels(), "y_pred": np.roll(_labels(), 1)},
    "plan": {"speed": 1.0},
    "read_table": {"target": "label"},
    "table_from_frame": {"target": "label"},
    "duplicate_bounds": {"X": _labels()[:, None] + np.arange(60)[:, None] // 6},
}


def try_bad_values(name: str, folder: str) -> Iterator[tuple[str, str, str]]:
    """Call a function with each bad value in each of its parameters."""
    function = functions()[name]
    parameters = inspect.signature(function).parameters
    good, unknown = _usual(name, Path(folder))
    if unknown:
        yield f"{name}({unknown})", "wrong and silent", "fuzz/keywords.py knows no value for it"
        return
    calls = [{**good, **also} for key, also in _ALSO.items() if key.partition(",")[0] == name] or [good]
    for usual in calls:
        yield f"{name} as it is meant", "begun", ""
        outcome, remark = attempt(lambda usual=usual: _call(function, usual))
        yield f"{name} as it is meant", "wrong and silent" if outcome == "refused" else outcome, remark
        for parameter in parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                continue
            for label, value in BAD_VALUES.items():
                case = f"{name}({parameter.name}={label})"
                yield case, "begun", ""
                arguments = {**usual, parameter.name: value}
                yield case, *attempt(lambda arguments=arguments: _call(function, arguments))


def _usual(name: str, folder: Path) -> tuple[dict[str, Any], str]:
    """Values for the parameters that a function needs; and the first that has none here."""
    known = _given(folder)
    if name == "bounds.held_out_bound":
        known["classifiers"] = [GaussianNB()]
    needed = [
        parameter.name
        for parameter in inspect.signature(functions()[name]).parameters.values()
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    ]
    unknown = next((parameter for parameter in needed if parameter not in known), "")
    return {parameter: known.get(parameter) for parameter in needed}, unknown


def ordinary_call(name: str, folder: Path, **given: Any) -> Any:
    """Call a function with values that it takes, and these."""
    return _call(functions()[name], {**_usual(name, folder)[0], **_ALSO.get(name, {}), **given})


def random_call(name: str, values: list[Any], rng: np.random.Generator) -> Any:
    """Call a function with these values in parameters drawn at random."""
    function = functions()[name]
    parameters = [p.name for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD]
    with tempfile.TemporaryDirectory() as folder:
        usual = {**_usual(name, Path(folder))[0], **_ALSO.get(name, {})}
        for value in values:
            usual[parameters[rng.integers(len(parameters))]] = value
        return _call(function, usual)


def _call(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    made = function(**arguments)
    if isinstance(made, bf.BenchmarkLearner):  # which looks at its parameters when it is fitted
        return made.fit(_rows(), _labels())
    if isinstance(made, bf.Run):
        return bf.estimate(_rows(), _labels(), effort="fast", n_jobs=1, run=made)
    if isinstance(made, bf.AdaptiveRadii | bf.GivenRadii | bf.NeighbourRadii | bf.PaperRadii):
        return bf.BenchmarkLearner(radii=made, n_jobs=1).fit(_rows(), _labels())
    if isinstance(made, bf.FloorStopping):
        made.update(0.3, 200)
    return made
