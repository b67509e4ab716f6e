"""Stop training, and stop collecting rows, at the floor: Figures 4 and 5."""

import math
import statistics
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from joblib import Parallel, delayed

from bayesfloor import first_round_within, problems
from bayesfloor.errors import BayesfloorWarning
from bayesfloor.stopping.rule import FloorStopping
from bayesfloor.utils.parallel import n_threads

from .experiment import Experiment, Line, Results, Settings
from .measure import Entrant, Task, measure, missing_frameworks, sample
from .network import errors_by_epoch
from .wording import ADAPTIVE, AUTHORS, LEARNED, PRINTED, percent, plural, reproduced, table

__all__ = ["EXPERIMENT"]

_PROBLEM = "rayleigh_30d"
_TITLE = "three Rayleigh classes (0.7, 1.0, 1.3), 30-d"
_TASKS: dict[str, Task] = {_TITLE: (_PROBLEM, {})}
_HIDDEN = (100, 64, 10)  # the paper's [30, 100, 64, 10, 3]
_ESTIMATORS = {PRINTED: PRINTED, AUTHORS: AUTHORS, ADAPTIVE: "adaptive", LEARNED: LEARNED}
_SIZES = (100, 150, 200, 300, 400, 500, 700, 1000, 1400, 2000, 2800, 4000)
_N_VALIDATION = 10_000
_CLAIMED = {"rows": 500, "epochs": 80}
_PLACES = {"rows": "Figure 4", "epochs": "Figure 5"}
_DELTAS = (0.01, 0.02, 0.03, 0.05)


def run(settings: Settings) -> Results:
    """The network over rows and over epochs, and every estimator beside it, over several samples."""
    sizes = (100, 200) if settings.quick else _SIZES
    n_rows, n_epochs, repetitions = (200, 5, 2) if settings.quick else (2000, 150, 20)
    entrants = {label: Entrant(method, sizes, repetitions) for label, method in _ESTIMATORS.items()}
    has_torch = find_spec("torch") is not None
    if has_torch:
        entrants["network"] = Entrant("network", sizes, repetitions, {"hidden": _HIDDEN, "n_epochs": n_epochs})
    tasks = measure(settings, "stopping", _TASKS, entrants, raw=True)
    curves = tasks[_TITLE]["curves"]
    seeds = [(settings.seed, repetition) for repetition in range(repetitions)]
    over_epochs = _over_epochs(seeds, n_rows, n_epochs, settings) if has_torch else []
    results: Results = {
        "tasks": tasks,
        "truth": tasks[_TITLE]["truth"],
        "sizes": list(sizes),
        "n_rows": n_rows,
        "n_epochs": n_epochs,
        "n_validation": _N_VALIDATION,
        "repetitions": repetitions,
        "over_epochs": over_epochs,
        "notes": [note for note in missing_frameworks() if "torch" in note],
    }
    if has_torch:
        of_runs = {label: _of_runs(curves[label]) for label in _ESTIMATORS}
        errors = list(zip(*curves["network"]["value"]["values"], strict=True))
        at = sizes.index(n_rows)
        results["stops"] = {
            label: {
                "rows": [_stop_over_rows(run, own) for run, own in zip(errors, of_run, strict=True)],
                "epochs": [first_round_within(run, own[at][1:]) for run, own in zip(over_epochs, of_run, strict=True)],
            }
            for label, of_run in of_runs.items()
        }
        results["rule"] = {
            f"{delta:g}": [
                _watched(run, own[at], delta) for run, own in zip(over_epochs, of_runs[LEARNED], strict=True)
            ]
            for delta in _DELTAS
        }
    return results


def _over_epochs(seeds: Sequence[tuple[int, int]], n_rows: int, n_epochs: int, settings: Settings) -> list[list[float]]:
    """Error after each epoch, a list per sample."""
    jobs = (delayed(_training)(seed, n_rows, n_epochs) for seed in seeds)
    found = []
    for errors in Parallel(n_jobs=n_threads(settings.n_jobs), return_as="generator")(jobs):
        found.append(errors)
        settings.tell("over epochs", len(found), len(seeds))
    return found


def _training(seed: tuple[int, int], n_rows: int, n_epochs: int) -> list[float]:
    problem = problems.get(_PROBLEM)
    train, test = sample(problem, n_rows, seed), sample(problem, _N_VALIDATION, seed, part=1)
    return errors_by_epoch(train, test, _HIDDEN, n_epochs=n_epochs, seed=seed[1], every_epoch=True)


def _of_runs(curve: Results) -> list[list[tuple[float, float, float]]]:
    """Estimate and interval of each sample at each size."""
    figures = [curve[figure]["values"] for figure in ("value", "interval low", "interval high")]
    by_size = [list(zip(*of_size, strict=True)) for of_size in zip(*figures, strict=True)]
    return [list(of_run) for of_run in zip(*by_size, strict=True)]


def _stop_over_rows(errors: Sequence[float], own: list[tuple[float, float, float]]) -> int | None:
    """First size (from 1) at which the error is within the interval that was estimated from as many rows."""
    rounds = zip(errors, own, strict=True)
    return next((i for i, (e, (_, low, high)) in enumerate(rounds, 1) if first_round_within([e], (low, high))), None)


def _watched(errors: list[float], own: tuple[float, float, float], delta: float) -> Results:
    """What `FloorStopping` does with the same errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesfloorWarning)  # the status is kept
        rule = FloorStopping(min(max(own[0], own[1]), own[2]), own[1:], min_delta=delta)
        stop = next((i for i, error in enumerate(errors, start=1) if rule.update(error, _N_VALIDATION)), None)
    return {"stop": stop, "status": rule.status}


def draw(results: Results) -> Any:
    """Error over rows, and over epochs."""
    from .figures import stopping_points

    return stopping_points(results, tuple(_ESTIMATORS), _CLAIMED)


def judge(results: Results) -> str:
    """Where each rule stops, and how far above the floor that is."""
    parts = [f"- {note}" for note in results["notes"]]
    truth, n = results["truth"], results["repetitions"]
    curves = results["tasks"][_TITLE]["curves"]
    rows = []
    for label in _ESTIMATORS:
        at = curves[label]["n"].index(results["n_rows"])
        value, covered = curves[label]["value"], curves[label]["covered"]["mean"][at]
        empty = percent(curves[label]["empty"]["mean"][at], 0) if "empty" in curves[label] else ""
        rows.append([label, percent(value["mean"][at], 2), f"{round(covered * n)} of {n}", empty])
    header = ["estimator", f"mean at {results['n_rows']:,} rows", "95 % interval holds", "empty balls"]
    parts += [f"**{_TITLE}**, floor {percent(truth, 2)}, {plural(n, 'sample')}", table(header, rows)]
    if "stops" not in results:
        return "\n\n".join(parts)
    parts.append(
        f"**The paper's rule**: stop once the network's error, on {results['n_validation']:,} fresh rows, is within "
        "the estimator's interval"
    )
    rows = [[label, unit, *_stopped(results, label, unit)] for label in _ESTIMATORS for unit in _CLAIMED]
    header = ["estimator", "over", "stops", "median stop", "network there, mean", "points above the floor"]
    parts += [table(header, rows), _on_claims(results)]
    parts.append("**`FloorStopping`**, over epochs, with the learned floor of the same rows")
    parts += [table(["min_delta", "finds the network at the floor", "of these within twice min_delta"], _kept(results))]
    network = curves["network"]["value"]["mean"][-1]
    parts.append(
        f"With {results['sizes'][-1]:,} rows and {results['n_epochs']} epochs the network still has an error of "
        f"{percent(network, 2)} on average, {100 * (network - truth):.2f} points above the floor: a rule that calls it "
        "the floor is wrong by that much."
    )
    return "\n\n".join(parts)


def _errors_at(results: Results, label: str, unit: str) -> list[float]:
    """Errors of the network where the paper's rule stops, of the samples in which it does."""
    values = results["tasks"][_TITLE]["curves"]["network"]["value"]["values"]
    stops = results["stops"][label][unit]
    if unit == "rows":
        return [values[stop - 1][run] for run, stop in enumerate(stops) if stop is not None]
    return [results["over_epochs"][run][stop - 1] for run, stop in enumerate(stops) if stop is not None]


def _places(results: Results, label: str, unit: str) -> list[float]:
    """Rows or epochs at which the paper's rule stops, infinity where it never does."""
    stops = results["stops"][label][unit]
    return [math.inf if s is None else float(results["sizes"][s - 1] if unit == "rows" else s) for s in stops]


def _median(results: Results, label: str, unit: str) -> str:
    middle = statistics.median_low(_places(results, label, unit))
    return "never" if math.isinf(middle) else f"{middle:,.0f} {unit}"


def _stopped(results: Results, label: str, unit: str) -> list[str]:
    errors = _errors_at(results, label, unit)
    share = f"{len(errors)} of {results['repetitions']}"
    if not errors:
        return [share, "never", "", ""]
    mean = statistics.mean(errors)
    return [share, _median(results, label, unit), percent(mean, 2), f"{100 * (mean - results['truth']):+.2f}"]


def _agrees(results: Results, label: str, unit: str) -> bool:
    """Whether the printed place lies among the middle nine tenths of the stops."""
    places = sorted(_places(results, label, unit))
    cut = int(0.05 * len(places))
    return places[cut] <= _CLAIMED[unit] <= places[len(places) - 1 - cut] < math.inf


def _on_claims(results: Results) -> str:
    sentences = []
    for unit, claimed in _CLAIMED.items():
        agreeing = [label for label in _ESTIMATORS if _agrees(results, label, unit)]
        sentences.append(
            f"The paper stops at around {claimed} {unit}. That lies among the middle nine tenths of the stops for: "
            f"{', '.join(agreeing) or 'no estimator'}."
        )
    return " ".join(sentences)


def _kept(results: Results) -> list[list[str]]:
    rows = []
    for delta, runs in results["rule"].items():
        found = [
            results["over_epochs"][i][run["stop"] - 1] - results["truth"]
            for i, run in enumerate(runs)
            if run["status"] == "at the floor"
        ]
        kept = sum(above <= 2 * float(delta) for above in found)
        rows.append(
            [
                f"{100 * float(delta):g} point{'' if delta == '0.01' else 's'}",
                f"{len(found)} of {len(runs)}",
                str(kept) if found else "",
            ]
        )
    return rows


def index(results: Results) -> list[Line]:
    """The printed stops beside the medians here."""
    lines = []
    for unit, claimed in _CLAIMED.items():
        claim = f"a network comes within the interval at around {claimed} {unit}"
        if "stops" not in results:
            lines.append(Line(_PLACES[unit], claim, *["not run: needs PyTorch"] * 3, "not run"))
            continue
        cells = []
        for label in (PRINTED, AUTHORS, LEARNED):
            share, median, _, above = _stopped(results, label, unit)
            cells.append(f"{median} ({share} stop" + (f", {above} points from the floor)" if above else ")"))
        holds = [_agrees(results, label, unit) for label in (PRINTED, AUTHORS, LEARNED)]
        lines.append(Line(_PLACES[unit], claim, *cells, reproduced(*holds)))
    return lines


EXPERIMENT = Experiment(
    "stopping",
    "The stopping rule (Figures 4 and 5)",
    "On three Rayleigh classes (0.7, 1.0, 1.3) in 30 dimensions the error of a network [30, 100, 64, 10, 3] comes "
    "within the benchmark learner's confidence interval at around 500 rows, and with 2,000 rows at around 80 epochs: "
    "there one can stop.",
    run,
    draw,
    judge,
    index,
)
