"""Stop training, and stop collecting rows, at the floor."""

import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from bayesfloor import problems
from bayesfloor.errors import BayesfloorWarning
from bayesfloor.floor._estimate import estimate
from bayesfloor.floor.result import FloorResult
from bayesfloor.stopping.rule import FloorStopping, validation_rows_needed

from .experiment import Experiment, Results, Settings
from .measure import Entrant, Task, measure, missing_frameworks, sample
from .network import errors_by_epoch
from .wording import at_end, percent, table

__all__ = ["EXPERIMENT"]

_PROBLEM = "rayleigh_30d"
_TASKS: dict[str, Task] = {"three Rayleigh classes (0.7, 1.0, 1.3), 30-d": (_PROBLEM, {})}
_HIDDEN = (100, 64, 10)  # the paper's [30, 100, 64, 10, 3]
_DELTAS = (0.005, 0.01, 0.02, 0.03, 0.05)
_PATIENCE = 20
# The rule needs ten looks.
_SIZES = (100, 150, 200, 300, 400, 550, 700, 1000, 1400, 1700, 2000, 2400, 2800, 3400, 4000)
_N_VALIDATION = 10_000


def run(settings: Settings) -> Results:
    """The network over rows and over epochs, with the rule looking on."""
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
    for curve in curves.values():
        for figure in curve.values():
            if isinstance(figure, dict):
                figure.pop("values", None)

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
    last = f"The learned floor at N = {curve['n'][-1]:,} is {percent(at_end(curve), 2)} on average."
    parts.append(" ".join([*verdicts, last]))
    return "\n\n".join(parts)


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
)
