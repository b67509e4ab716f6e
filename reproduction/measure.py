"""Estimators and classifiers by name, run over problems, sizes and repetitions."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from bayesfloor import bounds, problems
from bayesfloor.balls.authors_code import authors_code
from bayesfloor.balls.learner import BenchmarkLearner
from bayesfloor.errors import BayesfloorWarning
from bayesfloor.floor._estimate import estimate
from bayesfloor.utils.intervals import score_interval
from bayesfloor.utils.parallel import n_threads

from .experiment import Results, Settings
from .network import errors_by_epoch
from .smooth_cube import smooth_cube
from .unit_of_length import PaperRadiiWithUnit

__all__ = ["Entrant", "Task", "drop_values", "measure", "missing_frameworks", "problem_of", "sample"]

_N_TEST = 10_000

Task = tuple[str, dict[str, Any]]  # name of a problem and its parameters


@dataclass(frozen=True)
class Entrant:
    """An estimator or classifier with its options, and at which sizes and how often it is run."""

    method: str
    sizes: Sequence[int]
    repetitions: int
    options: Mapping[str, Any] = field(default_factory=dict)


def measure(
    settings: Settings, stage: str, tasks: Mapping[str, Task], entrants: Mapping[str, Entrant], *, raw: bool = False
) -> Results:
    """Run every entrant on every task.

    Returns
    -------
    dict
        For each task its name, `truth`, `n_features`, and `curves`: for each entrant `n`, `repetitions`, and for each
        figure it gives the mean, the 95 % band and the mean squared error over the repetitions (`values` too if `raw`).
    """
    trials = [
        (task, label, n, repetition)
        for task in tasks
        for label, entrant in entrants.items()
        for n in entrant.sizes
        for repetition in range(entrant.repetitions)
    ]
    jobs = (
        delayed(_trial)(tasks[task], entrants[label], n, (settings.seed, repetition))
        for task, label, n, repetition in trials
    )
    found: dict[tuple[str, str, int], list[dict[str, float]]] = {}
    settings.tell(stage, 0, len(trials))
    answers = Parallel(n_jobs=n_threads(settings.n_jobs), return_as="generator")(jobs)
    for done, ((task, label, n, _), figures) in enumerate(zip(trials, answers, strict=True), start=1):
        found.setdefault((task, label, n), []).append(figures)
        settings.tell(stage, done, len(trials))
    results = {}
    for task, (name, parameters) in tasks.items():
        problem = problem_of((name, parameters))
        curves = {}
        for label, entrant in entrants.items():
            by_size = [found[task, label, n] for n in entrant.sizes]
            curve: Results = {"n": list(entrant.sizes), "repetitions": entrant.repetitions}
            for figure in by_size[0][0]:
                values = [[one[figure] for one in same] for same in by_size]
                curve[figure] = _over_repetitions(values, problem.bayes_error)
                if raw:
                    curve[figure]["values"] = values
            curves[label] = curve
        results[task] = {
            "problem": problem.name,
            "truth": problem.bayes_error,
            "n_features": problem.n_features,
            "curves": curves,
        }
    return results


def drop_values(tasks: Results) -> None:
    """Take the single repetitions out of results that were asked for `raw`."""
    for task in tasks.values():
        for curve in task["curves"].values():
            for figure in curve.values():
                if isinstance(figure, dict):
                    figure.pop("values", None)


def _over_repetitions(values: list[list[float]], truth: float) -> Results:
    return {
        "mean": [float(np.mean(v)) for v in values],
        "low": [float(np.percentile(v, 2.5)) for v in values],
        "high": [float(np.percentile(v, 97.5)) for v in values],
        "mse": [float(np.mean((np.array(v) - truth) ** 2)) for v in values],
    }


def problem_of(task: Task) -> problems.Problem:
    """The problem of a task: one of bayesfloor's, or the smooth cube."""
    name, parameters = task
    return smooth_cube(**parameters) if name == "smooth_cube" else problems.get(name, **parameters)


def sample(problem: problems.Problem, n: int, seed: tuple[int, int], part: int = 0) -> tuple[Any, Any]:
    """Rows of this repetition; `part` 0 trains, 1 tests."""
    return problem.sample(n, random_state=[*seed, n, part])


def missing_frameworks() -> list[str]:
    """Optional frameworks that are not installed, as notes for the results."""
    asked = {"xgboost": "XGBoost", "torch": "the network (PyTorch)"}
    return [f"{name} is left out: pip install {module}" for module, name in asked.items() if find_spec(module) is None]


def _trial(task: Task, entrant: Entrant, n: int, seed: tuple[int, int]) -> dict[str, float]:
    problem = problem_of(task)
    with warnings.catch_warnings():
        # What a warning would say is measured here: empty balls, weights beyond all digits.
        warnings.simplefilter("ignore", BayesfloorWarning)
        return _METHODS[entrant.method](problem, n, seed, **entrant.options)


# --- the methods --------------------------------------------------------------------------------------------


def _balls(
    learner: BenchmarkLearner,
    problem: problems.Problem,
    n: int,
    seed: tuple[int, int],
    rows: tuple[Any, Any] | None = None,
) -> dict[str, float]:
    learner.fit(*(sample(problem, n, seed) if rows is None else rows))
    interval = learner.interval_
    return {
        "value": learner.bayes_error_,
        # Each radius counted by the size of its weight: what is large where the balls are empty makes the estimate.
        "empty": learner.occupancy_.empty_share,
        "interval low": interval.low,
        "interval high": interval.high,
        "covered": float(problem.bayes_error in interval),
    }


def _printed(problem: problems.Problem, n: int, seed: tuple[int, int], alpha: float = 0.5, **options: Any) -> Any:
    return _balls(BenchmarkLearner.paper(alpha, n_jobs=1, **options), problem, n, seed)


def _authors(problem: problems.Problem, n: int, seed: tuple[int, int], **options: Any) -> dict[str, float]:
    value = authors_code(*sample(problem, n, seed), random_state=seed[1], n_jobs=1, **options)
    # Their code has no interval: the one of Theorem 5, with its variance repaired.
    interval = score_interval(min(max(value, 0.0), 1.0), n, 0.95)
    covered = float(problem.bayes_error in interval)
    return {"value": value, "interval low": interval.low, "interval high": interval.high, "covered": covered}


def _with_unit(problem: problems.Problem, n: int, seed: tuple[int, int], alpha: float = 0.5, **options: Any) -> Any:
    return _balls(BenchmarkLearner.paper(radii=PaperRadiiWithUnit(alpha), n_jobs=1, **options), problem, n, seed)


def _adaptive(problem: problems.Problem, n: int, seed: tuple[int, int], **options: Any) -> Any:
    return _balls(BenchmarkLearner(n_jobs=1, **options), problem, n, seed)


def _one_ball(problem: problems.Problem, n: int, seed: tuple[int, int]) -> Any:
    """The base estimator of Theorem 4: one radius, N^(-1/(d+1)) as that theorem's bound wants it."""
    radius = float(n) ** (-1 / (problem.n_features + 1))
    learner = BenchmarkLearner(radii=[radius], class_order="sorted", standardize=False, n_jobs=1)
    return _balls(learner, problem, n, seed)


def _with_a_small_class(problem: problems.Problem, n: int, seed: tuple[int, int], smallest: int) -> Any:
    """The first class held at so many rows, n of each other one; floor for equal shares."""
    rows = _by_class(problem, n, seed, smallest)
    return _balls(BenchmarkLearner(priors="balanced", n_jobs=1), problem, n, seed, rows)


def _oracle_with_a_small_class(
    problem: problems.Problem, n: int, seed: tuple[int, int], smallest: int
) -> dict[str, float]:
    X, y = _by_class(problem, n, seed, smallest)
    wrong = problem.posterior(X).argmax(axis=1) != y
    return {"value": float(np.mean([wrong[y == c].mean() for c in range(problem.n_classes)]))}


def _by_class(problem: problems.Problem, n: int, seed: tuple[int, int], smallest: int) -> tuple[Any, Any]:
    """So many rows of the first class and n of each other one, in the order in which they were drawn."""
    X, y = sample(problem, int(2 * problem.n_classes * max(n, smallest)), seed)
    kept = np.concatenate([np.flatnonzero(y == c)[: smallest if c == 0 else n] for c in range(problem.n_classes)])
    return X[kept], y[kept]


def _learned(problem: problems.Problem, n: int, seed: tuple[int, int]) -> dict[str, float]:
    result = estimate(*sample(problem, n, seed), effort="fast", random_state=seed[1], n_jobs=1)
    covered = float(problem.bayes_error in result.interval)
    return {
        "value": result.floor,
        "interval low": result.interval.low,
        "interval high": result.interval.high,
        "covered": covered,
        "ceiling": float("nan") if result.ceiling is None else result.ceiling,
    }


def _henze_penrose(problem: problems.Problem, n: int, seed: tuple[int, int]) -> dict[str, float]:
    bound = bounds.henze_penrose(*sample(problem, n, seed), standardize=False, n_jobs=1)
    found = {"lower": bound.lower, "upper": bound.upper}
    if problem.n_classes == 2:
        # Equation (5) as printed, without the second 1/2: u is the square of what the right lower bound takes off.
        X, y = sample(problem, n, seed)
        p = float(np.mean(y == y[0]))
        u = 4 * p * (1 - p) * bounds.henze_penrose_divergence(X, y, standardize=False, n_jobs=1) + (2 * p - 1) ** 2
        found["printed lower"] = 0.5 - max(0.0, u) ** 0.5
    return found


def _oracle(problem: problems.Problem, n: int, seed: tuple[int, int]) -> dict[str, float]:
    return {"value": problem.oracle_error(*sample(problem, n, seed))}


def _forest(problem: problems.Problem, n: int, seed: tuple[int, int], n_trees: int) -> dict[str, float]:
    from sklearn.ensemble import RandomForestClassifier

    return _classifier(RandomForestClassifier(n_trees, random_state=seed[1], n_jobs=1), problem, n, seed)


def _xgboost(problem: problems.Problem, n: int, seed: tuple[int, int]) -> dict[str, float]:
    model = import_module("xgboost").XGBClassifier(random_state=seed[1], n_jobs=1)
    return _classifier(model, problem, n, seed)


def _classifier(model: Any, problem: problems.Problem, n: int, seed: tuple[int, int]) -> dict[str, float]:
    model.fit(*sample(problem, n, seed))
    X, y = sample(problem, _N_TEST, seed, part=1)
    return {"value": float((model.predict(X) != y).mean())}


def _net(
    problem: problems.Problem, n: int, seed: tuple[int, int], hidden: Sequence[int], n_epochs: int
) -> dict[str, float]:
    train, test = sample(problem, n, seed), sample(problem, _N_TEST, seed, part=1)
    return {"value": errors_by_epoch(train, test, hidden, n_epochs=n_epochs, seed=seed[1])[-1]}


_METHODS: dict[str, Callable[..., dict[str, float]]] = {
    "as printed": _printed,
    "authors' code": _authors,
    "printed radii with a unit": _with_unit,
    "adaptive": _adaptive,
    "one ball": _one_ball,
    "small class": _with_a_small_class,
    "oracle, small class": _oracle_with_a_small_class,
    "learned floor": _learned,
    "Henze-Penrose": _henze_penrose,
    "oracle": _oracle,
    "random forest": _forest,
    "XGBoost": _xgboost,
    "network": _net,
}
