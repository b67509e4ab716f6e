"""Names and labels cannot steer a terminal or forge a line, whatever prints them."""

import json
import warnings
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesfloor as bf

pytestmark = pytest.mark.usefixtures("two_learners")

FAST = {"effort": "fast", "n_jobs": 1}
# Each carries what terminals act on: escapes, C1, line breaks of every kind, and marks that turn text around.
_STEER = "\x1b[2J\x9b31m\x07\u2028\u202e\u2066\x7f\t\r\n"
_FORGED = "floor    0.00%   forged"
_NAMES = [f"{name}{_STEER}{_FORGED}" for name in ("a", "b", "c")]


def check(text: str) -> None:
    unsafe = sorted({character for character in text if not character.isprintable() and character != "\n"})
    assert not unsafe, text
    assert not any(line.startswith(_FORGED) for line in text.splitlines()), text


def texts_of(value: Any) -> list[str]:
    """What it prints, and its sentences."""
    found = [str(value), repr(value)]
    for name in ("sentence", "sentences", "headline", "title", "notes"):
        said = getattr(value, name, None)
        found += [said] if isinstance(said, str) else list(said or ())
    return found


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    columns = {
        _NAMES[0]: rng.normal(size=120) + 2 * y,
        _NAMES[1]: rng.normal(size=120),
        _NAMES[2]: np.array(_NAMES)[rng.integers(0, 3, 120)],
        "constant" + _STEER: 1.0,
    }
    return pd.DataFrame(columns).assign(**{f"label{_STEER}": np.array(_NAMES)[y]})


@pytest.fixture(scope="module")
def result(frame, two_learners) -> bf.FloorResult:
    costs = pd.DataFrame(np.vstack([1 - np.eye(3), np.full((1, 3), 0.3)]), columns=_NAMES, index=[*_NAMES, _STEER])
    return bf.estimate(frame, frame.columns[-1], costs=costs, **FAST)


def test_results(result, frame) -> None:
    y = frame[frame.columns[-1]]
    by = [result.by(frame[_NAMES[2]]), result.by(_NAMES[2], predictions=np.roll(y, 1))]
    comparison = bf.compare(result, y_true=y, y_pred=np.roll(y, 1))
    skewed = bf.compare(result, y_true=[_NAMES[0]] * 100, y_pred=[_NAMES[1]] * 100)
    assert skewed.doubts, "of class shares that differ"
    everything = [result, result.cost, result.metrics(), result.abstention(), comparison, skewed, *by]
    everything += [*result.doubts, *result.bounds, *result.metrics(), bf.gate(result, y_true=y, y_pred=np.roll(y, 1))]
    everything += [bf.compare_results(result, bf.FloorResult.from_json(result.to_json()))]
    everything += [bf.compare_results(result, replace(result, classes=("p", "q", _NAMES[0])))]
    everything += [bf.samples_needed(result, [(20, 0.5, 100), (40, 0.4, 100), (80, 0.35, 100)])]
    everything += [bf.FloorStopping(result, min_delta=0.2)]
    for value in everything:
        for text in texts_of(value):
            check(text)
    for value in (result, comparison):
        assert "\x1b" not in value._repr_html_()
    assert result.metrics()[f"F1 of {_NAMES[0]}"].label == _NAMES[0]
    assert by[0][_NAMES[1]].name == _NAMES[1]


def test_columns_and_features(frame) -> None:
    X, y = frame.iloc[:, :3], frame[frame.columns[-1]].tolist()
    for value in (bf.column_values(X, y, **FAST), bf.compare_features(X.iloc[:, :1], X, y, **FAST)):
        for text in texts_of(value):
            check(text)


def test_tables_pictures_and_learners(frame, result) -> None:
    table = bf.table_from_frame(frame, target=frame.columns[-1])
    pictures = bf.Pictures(np.zeros((6, 8, 8, 1)), np.array(_NAMES * 2), _NAMES[0], notes=(_NAMES[1],))
    X = frame.iloc[:, [0, 1, 3]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = bf.BenchmarkLearner().fit(X, frame[frame.columns[-1]])
    for value in (table, pictures, learner):
        check(str(value))
    check(repr(table))
    check(str(bf.noise_check(X, frame[frame.columns[-1]], rhos=[0.5], **FAST)))


def test_errors_and_warnings(result, frame) -> None:
    rest = frame.iloc[:, :2]
    for call in (
        lambda: bf.estimate(
            frame.assign(**{_NAMES[0]: ["1", _STEER, "2"] * 40}),
            frame.columns[-1],
            dtypes={_NAMES[0]: "numeric"},
            **FAST,
        ),
        lambda: bf.estimate(frame, _NAMES[0] + "?", **FAST),
        lambda: bf.estimate(rest, [*_NAMES[:2]] * 59 + [_STEER, _NAMES[0]], **FAST),
        lambda: bf.compare(result, y_true=[_STEER] * 9, y_pred=[_STEER] * 9),
        lambda: result.by([None] * 120),
        lambda: result.by(_STEER),
        lambda: result.by(frame[_NAMES[2]])[_STEER],
        lambda: result.metrics()[_STEER],
        lambda: result.mute(_STEER),
        lambda: bf.FloorResult.load(f"{_STEER}.json"),
        lambda: bf.read_table(f"{_STEER}.csv", target="a"),
    ):
        with pytest.raises((ValueError, TypeError, KeyError)) as caught:
            call()
        check(str(caught.value))
    check(str(bf.BayesfloorWarning(_NAMES[0].replace("\n", ""))))


def test_every_text_of_a_saved_result(result) -> None:
    values = json.loads(result.to_json())

    def hostile(value: Any) -> Any:
        if isinstance(value, dict):
            # Codes and kinds are no free text.
            fixed = ("code", "severity", "classifier", "units", "figures", "settings", "constant", "decisions")
            return {name: entry if name in fixed else hostile(entry) for name, entry in value.items()}
        if isinstance(value, list):
            return list(map(hostile, value))
        return f"x{_STEER}{_FORGED}{value}" if isinstance(value, str) else value

    values["notes"].append("a note")
    read = bf.FloorResult.from_json(json.dumps(hostile(values)))
    for value in (read, bf.compare(read, error=0.4, n_test=100), *read.doubts, *read.bounds, read.cost):
        for text in texts_of(value):
            check(text)
    for record in (*read.estimates, *read.learners, *read.bounds, *read.doubts):
        assert is_dataclass(record)
        for field in fields(record):
            check(str(getattr(record, field.name)))


def test_the_arena() -> None:
    def failing(X: Any, y: Any, random_state: int) -> float:
        raise ValueError(_NAMES[1])

    found = bf.arena.run({_NAMES[0]: failing}, ["moons"], sizes=[50], n_seeds=1)
    check(str(found))
    for text in (*found.failures(), found.problem_table()):
        check(text)
