"""What an estimate will take, foretold: grows with the rows, falls with the workers, refuses nonsense."""

import numpy as np
import pytest

import bayesfloor as bf
from bayesfloor import ParameterError, Run
from bayesfloor.floor._plan import calibrate, features, measured_costs, memory_features
from bayesfloor.library.fold import Fold
from bayesfloor.library.learners import LIBRARY, MOST_SETTINGS


def plan(n, d=20, classes=2, workers=0, **options) -> bf.Plan:
    return bf.plan(n, d, classes, workers, speed=1.0, n_jobs=2, **options)


def test_time_grows_with_rows_columns_classes_and_effort() -> None:
    assert plan(1000).seconds < plan(10_000).seconds < plan(10**6).seconds < plan(10**7).seconds
    assert plan(5000, d=5).seconds < plan(5000, d=50).seconds
    assert plan(5000, classes=2).seconds < plan(5000, classes=10).seconds
    assert plan(50_000, effort="fast").seconds < plan(50_000).seconds < plan(50_000, effort="thorough").seconds
    # Only scoring and counting grow with the rows of a large table.
    large, larger = plan(10**6), plan(10**7)
    assert larger.stages["training"] == large.stages["training"]
    assert larger.stages["scoring"] == pytest.approx(10 * large.stages["scoring"], rel=0.05)


def test_workers_share_the_rows() -> None:
    few, many = plan(10**9, workers=10), plan(10**9, workers=100)
    assert many.stages["scoring"] == pytest.approx(few.stages["scoring"] / 10)
    assert many.memory_per_worker < few.memory_per_worker
    assert plan(10**6).memory_per_worker == 0
    assert few.memory < 10**10  # the client holds a sample, not the table


def test_a_faster_machine_takes_less_time_and_as_much_memory() -> None:
    slow, fast = plan(10**6), bf.plan(10**6, 20, 2, speed=2.0, n_jobs=2)
    assert fast.seconds == pytest.approx(slow.seconds / 2)
    assert fast.memory == slow.memory


def test_settings_of_the_run_count() -> None:
    assert plan(10**6, run=Run(sample_rows=5000)).sample_rows == 5000
    assert plan(10**6, run=Run(sample_rows=5000)).seconds < plan(10**6).seconds


def test_it_prints_itself() -> None:
    text = str(plan(10**9, workers=100))
    assert "1,000,000,000 rows x 20 columns" in text
    assert "100 workers" in text
    assert "on each worker" in text
    assert "this machine" in str(plan(1000))


@pytest.mark.parametrize(
    "arguments", [(10, 5), (1000, 0), (1000, 5, 1), (1000, 5, 2, -1), (1e6, 5), (True, 5), ("many", 5)]
)
def test_nonsense_is_refused(arguments) -> None:
    with pytest.raises(ParameterError, match="must be a whole number"):
        bf.plan(*arguments, speed=1.0)
    with pytest.raises(ParameterError, match="effort"):
        bf.plan(1000, 5, effort="heroic", speed=1.0)


@pytest.mark.parametrize("options", [{"run": "fast"}, {"speed": 0}, {"speed": -1.0}, {"speed": "high"}, {"n_jobs": 0}])
def test_nonsensical_options_are_refused(options) -> None:
    with pytest.raises(ParameterError, match=next(iter(options))):
        bf.plan(1000, 5, **{"speed": 1.0, **options})
    with pytest.raises(ParameterError, match="effort"):
        bf.plan(1000, 5, effort=["fast"], speed=1.0)


def test_small_tables_are_not_shared() -> None:
    assert plan(5000, workers=10).seconds == plan(5000).seconds


def test_speed_is_measured() -> None:
    assert calibrate(1) > 0


def test_costs_fit_what_is_asked_of_them() -> None:
    costs = measured_costs()
    terms = features(10**6, 20, 2, 20_000, "balanced")
    assert {name: set(weights) for name, weights in costs["seconds"].items()} == {
        name: set(stage) for name, stage in terms.items()
    }
    assert set(costs["bytes"]) == set(memory_features(10**6, 20, 2, 20_000, "balanced", 2, 16_384))
    assert all(weight >= 0 for weights in costs["seconds"].values() for weight in weights.values())
    assert np.isfinite([weight for weights in costs["seconds"].values() for weight in weights.values()]).all()


@pytest.mark.parametrize("effort", MOST_SETTINGS)
def test_settings_are_as_many_as_the_library_has(effort) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 500)
    fold = Fold(rng.normal(size=(500, 6)) + y[:, None], y, 2, 0, effort)
    assert sum(len(learner(fold)) for learner in LIBRARY.values()) == MOST_SETTINGS[effort]


def test_the_plan_is_about_right_for_a_small_estimate(two_learners) -> None:
    # No test of time: that the stages foretold are those that run.
    seen = []
    X, y = bf.problems.get("moons").sample(400, random_state=0)
    bf.estimate(X, y, effort="fast", n_jobs=1, progress=lambda stage, *_: seen.append(stage))
    assert {"training", "pooling", "bounds"} <= set(seen) & set(plan(400, 2).stages)
