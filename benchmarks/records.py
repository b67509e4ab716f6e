"""Long measurements, one line of JSON per run: interrupted ones go on where they stopped."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from bayesfloor import FloorResult
from bayesfloor.floor.ceiling import cutting_level
from bayesfloor.floor.rule import Evidence, judge
from bayesfloor.utils.intervals import upper_limit

Record = dict[str, Any]


def read_records(path: Path) -> list[Record]:
    """All runs so far, in the order of their numbers."""
    if not path.exists():
        return []
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return sorted(found, key=lambda record: record["number"])


def run_missing(path: Path, run: Callable[[int], Record], numbers: Iterable[int], n_jobs: int) -> None:
    """Make the runs that have no record yet, and add theirs to the file as they end."""
    done = {record["number"] for record in read_records(path)}
    left = [number for number in numbers if number not in done]
    with path.open("a", encoding="utf-8") as file:
        for record in Parallel(n_jobs=n_jobs, return_as="generator_unordered")(delayed(run)(i) for i in left):
            file.write(json.dumps(record) + "\n")
            file.flush()
            print(record, flush=True)


def figures(result: FloorResult) -> Record:
    """What a result says, and all that the rule has judged it from; of rows that are independent."""
    held = result.certificate
    if held is None:
        raise ValueError("nothing was certified")
    return {
        "floor": result.floor,
        "low": result.interval.low,
        "high": result.interval.high,
        "ceiling": result.ceiling,
        "wrong": held.errors,
        "tested": held.tested,
        "error": result.evidence["error"],
        "evidence": result.evidence,
    }


def judge_again(record: Record, level: float = 0.95) -> Record:
    """The same with floor and interval by the rule as it is now, as `estimate` gives them: not above the ceilings."""
    # Earlier libraries had said more than the rule reads now.
    evidence = Evidence(**{k: v for k, v in record["evidence"].items() if k in Evidence.__dataclass_fields__})
    ceiling, most = (
        min(upper_limit(record["wrong"], record["tested"], at), 1 - 1 / evidence.n_classes)
        for at in (level, cutting_level(level))
    )
    judgement = judge(evidence, level)
    floor = min(judgement.floor, ceiling)
    return {**record, "floor": floor, "low": min(judgement.low, floor), "high": max(floor, min(judgement.high, most))}


def drop_other_libraries(path: Path, library: int) -> None:
    """Drop runs that say what another library would say: they are made again."""
    keep_records(path, lambda record: record.get("library", library) == library)


def keep_records(path: Path, is_wanted: Callable[[Record], bool]) -> None:
    """Drop all other runs from the file."""
    records = read_records(path)
    kept = [record for record in records if is_wanted(record)]
    if len(kept) < len(records):
        path.write_text("".join(json.dumps(record) + "\n" for record in kept), encoding="utf-8")
