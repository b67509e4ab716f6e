"""Stop training, and stop collecting rows, at the floor."""

import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from bayesfloor import problems
from bayesfloor.balls.learner import BenchmarkLearner
from bayesfloor.errors import BayesfloorWarning
from bayesfloor.floor._estimate import estimate
from bayesfloor.floor.result import FloorResult
from bayesfloor.stopping.rule import FloorStopping, validation_rows_needed

from .experiment import Experiment, Results, Settings
from .measure import Entrant, Task, drop_values, measure, missing_frameworks, sample
from .network import errors_by_epoch
from .wording import at_end, percent, table

__all__ = ["EXPERIMENT"]

_PROBLEM = "rayleigh_30d"
_TASKS: dict[str, Task] = {"three Rayleigh classes (0.7, 1.0, 1.3), 30-d": (_PROBLEM, {})}
_HIDDEN = (100, 64, 10)  # the paper's [30, 100, 64, 10, 3]
_BALLS = {"printed rule": "printed rule", "adaptive learner": "adaptive"}  # the paper's own estimator, twice
_DELTAS = (0.005, 0.01, 0.02, 0.03, 0.05)
_PATIENCE = 20
# The rule needs ten looks.
_SIZES = (100, 150, 200, 300, 400, 550, 700, 1000, 1400, 1700, 2000, 2400, 2800, 3400, 4000)
_N_VALIDATION = 10_000


def run(settings: Settings) -> Results:
    """The network over rows and over epochs, with the rule looking on; then the paper's own estimator beside it."""
    results = _network(settings) if settings.kept is None else settings.kept
    sizes = results["over_rows"]["rows"]
    repetitions = next(iter(results["tasks"].values()))["curves"]["learned floor"]["repetitions"]
    entrants = {label: Entrant(method, sizes, repetitions) for label, method in _BALLS.items()}
    added = measure(settings, "the paper's estimator", _TASKS, entrants, raw=True)
    train = sample(problems.get(_PROBLEM), results["n_rows"], (settings.seed, 0))
    results["balls"] = {label: _fitted(learner, *train) for label, learner in _learners(settings).items()}
    over_rows, over_epochs = results["over_rows"], results["over_epochs"]
    for title, task in added.items():
        curves = task["curves"]
        over_rows["meeting"] = {
            label: _meeting(
                over_rows["errors"],
                *([values[0] for values in curve[figure]["values"]] for figure in ("value", "interval high")),
            )
            for label, curve in curves.items()
        }
        drop_values(added)
        results["tasks"][title]["curves"] |= curves
    n_epochs = len(over_epochs["errors"])
    over_epochs["meeting"] = {
        label: _meeting(over_epochs["errors"], [ball["estimate"]] * n_epochs, [ball["high"]] * n_epochs)
        for label, ball in results["balls"].items()
    }
    return results


def _network(settings: Settings) -> Results:
    """The network's errors, the learned floor, and what the rule makes of both."""
    sizes = (100, 200) if settings.quick else _SIZES
    n_rows = 200 if settings.quick else 2000
    epochs_rows, epochs_time = (3, 5) if settings.quick else (150, 80)
    repetitions = 1 if settings.quick else 3
    entrants = {"learned floor": Entrant("learned floor", sizes[-1:] if settings.quick else sizes, repetitions)}
    has_torch = find_spec("torch") is not None
    if has_torch:
        entrants["network"] = Entrant("network", sizes, repetitions, {"hidden": _HIDDEN, "n_epochs": epochs_rows})
    tasks = measure(settings, "stopping", _TASKS, entrants, raw=True)
    curves = next(iter(tasks.values()))["curves"]
    first = [values[0] for values in curves["network"]["value"]["values"]] if has_torch else []
    drop_values(tasks)

    problem, seed = problems.get(_PROBLEM), (settings.seed, 0)
    train = sample(problem, n_rows, seed)
    floor = estimate(
        *train, effort="fast" if settings.quick else "balanced", random_state=settings.seed, n_jobs=settings.n_jobs
    )
    errors: list[float] = []
    if has_torch:
        validation = sample(problem, _N_VALIDATION, seed, part=1)
        errors = errors_by_epoch(train, validation, _HIDDEN, n_epochs=epochs_time, seed=settings.seed, every_epoch=True)
    return {
        "tasks": tasks,
        "truth": problem.bayes_error,
        "n_rows": n_rows,
        "n_epochs": epochs_rows,
        "n_validation": _N_VALIDATION,
        "floor": {
            "estimate": floor.floor,
            "low": floor.interval.low,
            "high": floor.interval.high,
            "ceiling": floor.ceiling,
        },
        "undecidable": _undecidable(floor),
        "over_rows": {"rows": list(sizes), "errors": first, "rules": _watched(first, floor)},
        "over_epochs": {"errors": errors, "rules": _watched(errors, floor, _PATIENCE)},
        "notes": [note for note in missing_frameworks() if "torch" in note],
    }


def _learners(settings: Settings) -> dict[str, BenchmarkLearner]:
    return {
        "printed rule": BenchmarkLearner.paper(n_jobs=settings.n_jobs),
        "adaptive learner": BenchmarkLearner(n_jobs=settings.n_jobs),
    }


def _fitted(learner: BenchmarkLearner, X: Any, y: Any) -> Results:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesfloorWarning)  # what it says of itself is kept
        learner.fit(X, y)
    return {
        "estimate": learner.bayes_error_,
        "low": learner.interval_.low,
        "high": learner.interval_.high,
        "empty": learner.occupancy_.empty_share,
        "reliable": learner.reliable_,
    }


def _meeting(errors: Sequence[float], estimates: Sequence[float], highs: Sequence[float]) -> Results:
    """Round (from 1) at which the error first is at or below the estimate, and below the interval's upper end.

    Examples
    --------
    >>> _meeting([0.5, 0.2, 0.1], [0.1, 0.1, 0.1], [0.2, 0.2, 0.2])
    {'estimate': 3, 'interval': 2}
    """

    def reached(targets: Sequence[float]) -> int | None:
        pairs = zip(errors, targets, strict=False)  # no errors without torch
        return next((i for i, (error, target) in enumerate(pairs, start=1) if error <= target), None)

    return {"estimate": reached(estimates), "interval": reached(highs)}


def _undecidable(floor: FloorResult) -> dict[str, str]:
    """What keeps the rule from deciding each min_delta, if anything does."""
    found = {}
    for delta in _DELTAS:
        fewest = validation_rows_needed(floor, min_delta=delta).fewest
        if fewest is None:
            found[f"{delta:g}"] = "the floor's interval is too wide"
        elif fewest > _N_VALIDATION:
            found[f"{delta:g}"] = f"it takes {fewest:,} validation rows"
    return found


def _watched(errors: list[float], floor: FloorResult, patience: int | None = None) -> list[Results]:
    """What the rule does for each min_delta, and with patience: the round (from 1) at which it stops, or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesfloorWarning)  # the status is kept
        rules = [FloorStopping(floor, min_delta=delta) for delta in _DELTAS]
        if patience is not None:
            rules.append(FloorStopping(floor, min_delta=_DELTAS[1], patience=patience))
    found = []
    for rule in rules:
        stop = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BayesfloorWarning)  # the status is kept
            for number, error in enumerate(errors, start=1):
                if rule.update(error, _N_VALIDATION):
                    stop = number
                    break
        found.append(
            {
                "min_delta": rule.min_delta,
                "patience": rule.patience,
                "stop": stop,
                "status": rule.status,
                "reason": rule.reason,
            }
        )
    return found


def draw(results: Results) -> Any:
    """Error over rows, and over epochs."""
    from .figures import stopping_points

    return stopping_points(results)


def judge(results: Results) -> str:
    """Where the rule stops, and what going on would have gained."""
    floor, truth = results["floor"], results["truth"]
    covered = "contains" if floor["low"] <= truth <= floor["high"] else "misses"
    parts = [f"- {note}" for note in results["notes"]]
    text = (
        f"From {results['n_rows']:,} rows the learned floor is {percent(floor['estimate'], 2)} "
        f"[{percent(floor['low'], 2)}, {percent(floor['high'], 2)}], ceiling {percent(floor['ceiling'], 2)}; the "
        f"interval {covered} the truth, {percent(truth, 2)}. The rule watches {results['n_validation']:,} validation "
        "rows."
    )
    for delta, why in results["undecidable"].items():
        text += f" A min_delta of {100 * float(delta):g} points cannot be decided: {why}."
    parts.append(text)
    over_rows, over_epochs = results["over_rows"], results["over_epochs"]
    watched = (
        ("rows", f"rows, {results['n_epochs']} epochs each", over_rows, over_rows["rows"]),
        ("epochs", f"epochs, {results['n_rows']:,} rows", over_epochs, range(1, len(over_epochs["errors"]) + 1)),
    )
    rows = [
        _row(title, rule, part["errors"], places, truth)
        for _, title, part, places in watched
        for rule in part["rules"]
        if part["errors"]
    ]
    header = ["over", "min_delta", "stops at", "status", "error there", "above the truth", "above the lowest seen"]
    if rows:
        parts += [table(header, rows), "Distances in points; where the rule does not stop, of the last error."]
    verdicts = [_verdict(unit, part, truth) for unit, _, part, _ in watched if part["errors"]]
    (task,) = results["tasks"].values()
    curve = task["curves"]["learned floor"]
    parts_of_balls = _judge_balls(results, watched, task)
    last = f"The learned floor at N = {curve['n'][-1]:,} is {percent(at_end(curve), 2)} on average."
    parts.append(" ".join([*verdicts, last]))
    return "\n\n".join([*parts, *parts_of_balls])


def _judge_balls(results: Results, watched: Any, task: Results) -> list[str]:
    """The rule as the paper has it: stop where the error meets the estimate of the balls."""
    truth, rows, sentences = results["truth"], [], []
    for label in _BALLS:
        ball, curve = results["balls"][label], task["curves"][label]
        for _, title, part, places in watched:
            if part["errors"]:
                rows += [
                    _row_of_balls(label, title, target, part["meeting"][label][target], part["errors"], places, truth)
                    for target in ("estimate", "interval")
                ]
        covered = "contains" if ball["low"] <= truth <= ball["high"] else "misses"
        off = 100 * (ball["estimate"] - truth)
        sentence = (
            f"The {label} answers {percent(ball['estimate'], 2)} [{percent(ball['low'], 2)}, "
            f"{percent(ball['high'], 2)}] from {results['n_rows']:,} rows, {off:+.2f} points from the truth, which "
            f"its interval {covered}; "
            f"{percent(ball['empty'], 0)} of its balls are empty, and it calls itself "
            f"{'reliable' if ball['reliable'] else 'unreliable'}. At {curve['n'][-1]:,} rows it answers "
            f"{percent(at_end(curve), 2)} on average."
        )
        stops = [part["meeting"][label]["estimate"] for _, _, part, _ in watched if part["errors"]]
        if stops and all(stop is None for stop in stops):
            sentence += " Nothing ever meets it: as a rule for stopping it never stops."
        elif off > 0 and any(stop is not None for stop in stops):
            sentence += (
                " An estimate that is too high is met too early, and the network then goes below it: the rule as "
                "printed takes that for the floor."
            )
        sentences.append(sentence)
    found = ["**The paper's own estimator**, and its rule: stop where the error meets the estimate"]
    if rows:
        header = ["estimator", "over", "meets", "stops at", "error there", "above the truth", "above the lowest seen"]
        found.append(table(header, rows))
    return [*found, " ".join(sentences)]


def _row_of_balls(
    label: str, title: str, target: str, stop: int | None, errors: list[float], places: Sequence[int], truth: float
) -> list[str]:
    met = "the estimate" if target == "estimate" else "its interval"
    if stop is None:
        return [label, title, met, "never", "", "", ""]
    error = errors[stop - 1]
    above = f"{100 * (error - truth):+.2f}"
    return [label, title, met, f"{places[stop - 1]:,}", percent(error, 2), above, f"{100 * (error - min(errors)):.2f}"]


def _row(title: str, rule: Results, errors: list[float], places: Sequence[int], truth: float) -> list[str]:
    stop = rule["stop"]
    error = errors[-1 if stop is None else stop - 1]
    patience = "" if rule["patience"] is None else f", patience {rule['patience']}"
    return [
        title,
        f"{100 * rule['min_delta']:g} point{'' if rule['min_delta'] == 0.01 else 's'}{patience}",
        "does not stop" if stop is None else f"{places[stop - 1]:,}",
        rule["status"],
        percent(error, 2),
        f"{100 * (error - truth):+.2f}",
        f"{100 * (error - min(errors)):.2f}",
    ]


def _verdict(unit: str, part: Results, truth: float) -> str:
    """Whether the rule keeps its promise: no more than twice min_delta above the floor."""
    stopped = [rule for rule in part["rules"] if rule["status"] == "at the floor"]
    early = [r for r in stopped if part["errors"][r["stop"] - 1] - truth > 2 * r["min_delta"]]
    if not stopped:
        least = 100 * (min(part["errors"]) - truth)
        return (
            f"Over {unit} the rule never finds the network at the floor: it stays {least:.2f} points above the truth."
        )
    smallest = f"{100 * min(rule['min_delta'] for rule in stopped):g}"
    kept = f"broken by {len(early)} of {len(stopped)}" if early else "kept by all that stop"
    return (
        f"Over {unit} the rule finds the network at the floor for a min_delta of {smallest} points and more; its "
        f"promise, at most twice min_delta above the truth, is {kept}."
    )


EXPERIMENT = Experiment(
    "stopping",
    "The stopping rule",
    "On three Rayleigh classes (0.7, 1.0, 1.3) in 30 dimensions the error of a network [30, 100, 64, 10, 3] falls with "
    "the number of rows, and over the epochs at 2,000 rows, until it meets the benchmark learner's estimate: there one "
    "can stop.",
    run,
    draw,
    judge,
    goes_on=True,
)
