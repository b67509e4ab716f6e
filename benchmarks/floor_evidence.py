"""Evidence for the rule of the learned floor: what the library says of problems whose floor is known.

python benchmarks/floor_evidence.py collect --minutes 90    # some ten hours in all; goes on where it stopped
python benchmarks/floor_evidence.py pack                    # what has come goes to the committed file
python benchmarks/floor_evidence.py check                   # some again: does the library still say the same of them?
PYTHONPATH=OTHER/src python benchmarks/floor_evidence.py before    # another version's answers to locked problems;
                                                            # those committed are of commit 8a0c7ec

A line per problem has the figures of every stage and choice of folds, and those of every learner with the first choice,
so that the form of the rule can change without collecting again. Problems come in rounds, one of each family and
teacher a round: what is there is balanced at any time. Teachers take part that `teachers.py fit` has trained.
"""

import argparse
import gzip
import json
import time
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np
from joblib import Parallel, delayed

import bayesfloor
import random_problems
import teachers

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "floor_evidence.jsonl"
RECORDS = ROOT / "benchmarks" / "results" / "floor_evidence.jsonl.gz"
BEFORE = ROOT / "benchmarks" / "results" / "floor_before.jsonl.gz"
ROUNDS = 61  # problems of each family
LIBRARY = 3  # raised when the library's figures change: those of another one say nothing of this one; see `check`
CHECKED = 40  # every so many problems are collected again by `check`
TEACHER_ROUNDS = 10  # problems of each table and kind of teacher
Key = tuple[str, str, int]  # family or kind of teacher, table or nothing, number


def keys() -> Iterator[Key]:
    """All problems, in rounds."""
    for number in range(ROUNDS):
        yield from ((family, "", number) for family in random_problems.ALL)
        number_of_teachers, left = divmod(number, ROUNDS // TEACHER_ROUNDS)
        for kind, table in product(teachers.KINDS, teachers.TABLES):
            variant = number_of_teachers % teachers.N_VARIANTS
            if left == 0 and teachers.teacher_path(table, kind, variant, teachers.TEACHERS).exists():
                yield f"teacher:{kind}", table, number_of_teachers


def draw(key: Key) -> random_problems.Drawn:
    """The problem of a key."""
    family, table, number = key
    if table:
        return teachers.teacher_problem(table, family.removeprefix("teacher:"), number)
    return random_problems.draw_problem(family, number)


# --- what is kept of a problem ------------------------------------------------------------------------------


def collect_one(key: Key) -> dict:
    """Figures of one problem, and its truth."""
    problem = draw(key)
    return {**_identity(key, problem), **collect_figures(problem.X, problem.y)}


def collect_figures(X: np.ndarray, y: np.ndarray) -> dict:
    """What the library says of these rows: all that a rule could ask."""
    from bayesfloor.floor import conclusion

    warnings.simplefilter("ignore")
    seen: dict = {}

    def conclude(given, learned, counted, **options):
        seen.update(learned=learned, counted=counted)
        return conclusion.conclude(given, learned, counted, **options)

    started = time.process_time()
    with patch("bayesfloor.floor._estimate.conclude", conclude):
        result = bayesfloor.estimate(X, y, n_jobs=1)
    seconds = time.process_time() - started
    held = seen["counted"].held_out
    return {
        "library": LIBRARY,
        "seconds": round(seconds, 2),
        "wrong": int(held.wrong.sum()),
        "tested": int(held.tested.sum()),
        **{name: _short(value) for name, value in result.evidence.items()},
        "curve": {name: _short(np.asarray(value).tolist()) for name, value in vars(seen["counted"].curve).items()},
        "learners": _of_learners(seen["learned"]),
        "left_behind": seen["learned"].fitted.left_behind,
    }


def check_some(records: dict[Key, dict], n_jobs: int) -> str:
    """How far the library's figures have moved from stored ones: errors of all stages, by the noise of counting.

    The same code moves them a little from one processor to the next, where a tie falls otherwise.
    """
    from bayesfloor.utils.intervals import share_error  # older versions, which `before` asks, have none

    keys = [key for key in list(records)[::CHECKED] if not key[1]]
    lines, moved = [], []
    for key, new in zip(keys, Parallel(n_jobs=n_jobs)(delayed(collect_one)(key) for key in keys), strict=True):
        off = np.abs(np.subtract(new["curve"]["errors"], records[key]["curve"]["errors"])).max()
        moved.append(off / share_error(new["error"], new["rows"]))
        lines.append(f"{' '.join(map(str, key))}: {moved[-1]:.2f} standard errors")
    return "\n".join([*lines, f"{len(moved)} problems, largest {max(moved):.2f}, median {np.median(moved):.2f}"])


def _identity(key: Key, problem: random_problems.Drawn) -> dict:
    counts = np.bincount(problem.y)
    return {
        "key": list(key),
        "family": key[0],
        "table": key[1],
        "number": key[2],
        "rows": len(problem.y),
        "columns": problem.X.shape[1],
        "classes": len(counts),
        "rarest": int(counts[counts > 0].min()),
        "floor": problem.floor,
        "oracle": problem.oracle,
    }


def _of_learners(learned) -> dict[str, list[list[float]]]:
    """Error and log-loss of each learner's best setting, by stage; first choice of folds."""
    y, at = learned.labels, np.arange(len(learned.labels))
    found: dict[str, list[list[float]]] = {}
    for stage in learned.fitted.stages:
        losses = [-float(logs[at, y].mean()) for logs in stage.logs]
        for learner in dict.fromkeys(stage.learner):
            j = min((j for j, owner in enumerate(stage.learner) if owner == learner), key=lambda j: losses[j])
            error = float(learned.row_weights @ ((stage.logs[j] + np.log(learned.change)).argmax(axis=1) != y))
            found.setdefault(learner, []).append(_short([error, losses[j]]))
    return found


def _short(value):
    if isinstance(value, list):
        return [_short(item) for item in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def answer_one(key: Key) -> dict:
    """What the package that is imported answers: floor, interval and ceiling."""
    warnings.simplefilter("ignore")
    problem = draw(key)
    result = bayesfloor.estimate(problem.X, problem.y, n_jobs=1)
    figures = {"answer": result.floor, "low": result.interval.low, "high": result.interval.high}
    return {**_identity(key, problem), **figures, "ceiling": result.ceiling, "error": result.evidence["error"]}


# --- files --------------------------------------------------------------------------------------------------


def read(*paths: Path) -> dict[Key, dict]:
    """Records of these files by key, in the order of keys."""
    found = {}
    for path in paths:
        if path.exists():
            with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
                found.update({tuple(record["key"]): record for record in map(json.loads, lines)})
    return dict(sorted(found.items()))


def pack(work: Path, packed: Path) -> int:
    """Add what is in the one file to the other; the same records make the same bytes."""
    records = read(packed, work)
    lines = "".join(json.dumps(record) + "\n" for record in records.values())
    if records:
        packed.write_bytes(gzip.compress(lines.encode(), mtime=0))
    return len(records)


def run(function, todo: list[Key], work: Path, minutes: float, n_jobs: int) -> None:
    """Add records of these problems as they come, for so many minutes."""
    stop = time.monotonic() + 60 * minutes
    work.parent.mkdir(parents=True, exist_ok=True)
    tasks = (delayed(_careful)(function, key) for key in todo if time.monotonic() < stop)
    with work.open("a", encoding="utf-8") as file:
        parallel = Parallel(n_jobs=n_jobs, batch_size=1, pre_dispatch=n_jobs, return_as="generator_unordered")
        for done, record in enumerate(parallel(tasks), start=1):
            if "refused" in record:
                print("refused", *record["key"], record["refused"], flush=True)
                continue
            file.write(json.dumps(record) + "\n")
            file.flush()
            print(done, "of", len(todo), *record["key"], record["rows"], record.get("seconds", ""), flush=True)


def _careful(function, key: Key) -> dict:
    try:
        return function(key)
    except ValueError as error:  # said and passed over: the other problems must not wait for it
        return {"key": list(key), "refused": str(error)}


def is_locked(key: Key) -> bool:
    """Whether the form of the rule was chosen without problems like this one."""
    return key[0] in random_problems.LOCKED or key[1] in teachers.LOCKED_TABLES


def main() -> None:
    """Collect, pack, check, or ask another version."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["collect", "pack", "check", "before"])
    parser.add_argument("--minutes", type=float, default=24 * 60)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.command == "pack":
        print(pack(WORK, RECORDS), "problems;", pack(WORK.with_name("floor_before.jsonl"), BEFORE), "answers before")
        return
    if options.command == "check":
        print(check_some(read(RECORDS, WORK), options.jobs))
        return
    function, work, packed = collect_one, WORK, RECORDS
    wanted = list(keys())
    if options.command == "before":
        function, work, packed = answer_one, WORK.with_name("floor_before.jsonl"), BEFORE
        wanted = [key for key in wanted if is_locked(key)]
    done = read(packed, work)
    if options.command == "collect":
        done = {key: record for key, record in done.items() if record["library"] == LIBRARY}
    run(function, [key for key in wanted if key not in done], work, options.minutes, options.jobs)


if __name__ == "__main__":
    main()
