"""Long measurements, one line of JSON per run: interrupted ones go on where they stopped."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

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


def drop_other_libraries(path: Path, library: int) -> None:
    """Drop runs that say what another library would say: they are made again."""
    records = read_records(path)
    kept = [record for record in records if record.get("library", library) == library]
    if len(kept) < len(records):
        path.write_text("".join(json.dumps(record) + "\n" for record in kept), encoding="utf-8")
