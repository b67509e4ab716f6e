"""Tables of unusual shape: labels of many characters, rows of many columns."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayesfloor import bounds, read_table, table_from_frame

_PEAK = """
import resource, sys
import bayesfloor as bf
from bayesfloor.tables.table import read_table
bf.BenchmarkLearner
read_table(sys.argv[1], target="label")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
table = read_table(sys.argv[2], target="label", max_rows=None if sys.argv[3] == "all" else int(sys.argv[3]))
str(table)
classes = bf.BenchmarkLearner(n_jobs=1, max_queries=100).fit(table.X, table.y).classes_
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, len(classes), max(map(len, classes)))
"""


@pytest.mark.parametrize("max_rows", ["all", "9000"])
def test_one_long_label_takes_the_memory_of_one(tmp_path: Path, max_rows: str) -> None:
    """18,000 labels of 20,000 characters each would be 1.4 GB."""
    rng = np.random.default_rng(0)
    rows = [f"{a:.4f},{b:.4f},{'ab'[i % 2]}" for i, (a, b) in enumerate(rng.normal(size=(18_000, 2)))]
    for path, more in (("short.csv", []), ("long.csv", [f"0.5,{i},{c * 20_000}" for c in "xy" for i in range(2)])):
        (tmp_path / path).write_text("\n".join(["u,v,label", *rows, *more]) + "\n")
    command = [sys.executable, "-W", "ignore", "-c", _PEAK, str(tmp_path / "short.csv"), str(tmp_path / "long.csv")]
    said = subprocess.run([*command, max_rows], capture_output=True, text=True, check=True).stdout.split()
    assert said[1:] == ["4", "20000"]
    assert int(said[0]) * (1024 if sys.platform == "linux" else 1) < 200 * 2**20


_WIDE = """
import json, resource, sys
import numpy as np
from scipy import sparse
import bayesfloor as bf
from fuzz.outcomes import attempt

used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
resource.setrlimit(resource.RLIMIT_AS, (used + 6 * 2**30,) * 2)  # an accident must not take all of the machine
options = {"effort": "fast", "n_jobs": 1}
rng = np.random.default_rng(0)
y = np.arange(60) % 2
row, col = np.repeat(np.arange(60), 4), rng.integers(0, 300, 240)
bf.estimate(sparse.csr_array((np.ones(240), (row, col)), shape=(60, 300)), y, **options)

def matrix(kind, shape, row=row, col=col):
    return getattr(sparse, kind)((np.ones(len(row)), (row, col)), shape=shape)

calls = {path: lambda path=path: bf.estimate(path, **options) for path in sys.argv[1:]}
far = rng.integers(0, 2**40, 40)[rng.integers(0, 40, 240)]
calls["CSR"] = lambda: bf.estimate(matrix("csr_array", (60, 2**40), col=far), y, **options)
calls["COO"] = lambda: bf.estimate(matrix("coo_array", (60, 2**40), col=far), y, **options)
calls["one entry"] = lambda: bf.estimate(matrix("coo_array", (60, 2**31), row[4:5], far[4:5] % 2**31), y, **options)
calls["COO of many rows"] = lambda: bf.estimate(matrix("coo_array", (2**40, 8), col=col % 8), y, **options)
found = []
for name, call in calls.items():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcome = attempt(call)
    found.append([name, *outcome, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before])
print(json.dumps(found))
"""


def test_sparse_rows_take_the_memory_of_their_entries(tmp_path: Path) -> None:
    """Sixty rows, whatever the number of columns or rows that they claim."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    answers, refusals = ["CSR", "COO", "one entry"], ["COO of many rows"]

    def save(name: str, kind: str, shape: tuple[int, int], refused: bool, **parts: np.ndarray) -> None:
        np.savez(tmp_path / name, format=kind, shape=shape, y=y, **parts)
        (refusals if refused else answers).append(str(tmp_path / name))

    row, col, data = np.repeat(np.arange(60), 4), rng.integers(0, 2**40, 40)[rng.integers(0, 40, 240)], np.ones(240)
    ends = np.arange(0, 241, 4)
    save("csr.npz", "csr", (60, 2**40), False, data=data, indices=col, indptr=ends)
    save("coo.npz", "coo", (60, 2**40), False, data=data, row=row, col=col)
    save("csc.npz", "csc", (60, 2**40), True, data=data, indices=row, indptr=ends)
    save("rows.npz", "coo", (2**40, 8), True, data=data, row=row, col=col % 8)
    save("csr_rows.npz", "csr", (2**40, 8), True, data=data, indices=col % 8, indptr=ends)
    for name, lines in {
        "constant.svm": [f"{i % 2} 1:0.5 2000000000:1" for i in range(60)],
        "wide.svm": [f"{i % 2} {i % 7 + 1}:0.5 {2 * 10**9 - i % 3}:1" for i in range(60)],
        "wider.svm": [f"{i % 2} {i % 7}:0.5 {2**63 - 2 - i % 3}:1" for i in range(60)],
        "too wide.svm": [f"{i % 2} {i % 7}:0.5 {2**63 - i % 3}:1" for i in range(60)],
    }.items():
        (tmp_path / name).write_text("\n".join(lines))
        (answers if name.startswith("wide") else refusals).append(str(tmp_path / name))
    files = [name for name in (*answers, *refusals) if name.endswith((".npz", ".svm"))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", "-c", _WIDE, *files]
    said = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    found = json.loads(said.splitlines()[-1])
    assert {name: outcome for name, outcome, *_ in found} == {
        **dict.fromkeys(answers, "answer"),
        **dict.fromkeys(refusals, "refused"),
    }, found
    assert max(grown for *_, grown in found) * (1024 if sys.platform == "linux" else 1) < 200 * 2**20


class _Counted(str):
    """A column's name that counts how often it is compared."""

    comparisons = 0

    def __eq__(self, other: object) -> bool:
        _Counted.comparisons += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_names_of_columns_are_not_compared_with_each_other(tmp_path: Path) -> None:
    """Work that grows with the square of the columns: 100,000 of them would never end."""
    from bayesfloor.tables.selection import chosen_columns
    from bayesfloor.tables.table_file import InMemory

    n = 3000
    names = [_Counted(f"x{j}") for j in range(n)]
    file = InMemory(pd.DataFrame(np.zeros((2, n))))
    file.names = tuple(names)
    _Counted.comparisons = 0
    chosen = chosen_columns(file, "wide", "x7", ["x8"], [], None)
    file.frame(chosen.used)
    assert len(chosen.features) == n - 2
    assert _Counted.comparisons < 20 * n


def test_a_wide_file_is_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(12, 2000)).round(3)).add_prefix("x").assign(label=list("ab") * 6)
    frame.to_csv(tmp_path / "wide.csv", index=False)
    table = read_table(tmp_path / "wide.csv", target="label")
    assert np.array_equal(table.X, frame.drop(columns="label").to_numpy())
    assert np.array_equal(table_from_frame(frame, target="label").X, table.X)


def test_more_columns_than_rows_need_no_large_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Covariances of 60 rows fit into 60 coordinates, whatever the number of columns, and say the same there."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 200)) + 0.2 * y[:, None]
    sizes, eigenvalues = [], np.linalg.eigvalsh
    monkeypatch.setattr(np.linalg, "eigvalsh", lambda matrix: (sizes.append(len(matrix)), eigenvalues(matrix))[1])
    few = [bounds.bhattacharyya(X, y), bounds.mahalanobis(X, y)]
    assert max(sizes) == 60
    monkeypatch.setattr("bayesfloor.bounds.bounds._in_their_span", lambda points: points)
    all_columns = [bounds.bhattacharyya(X, y), bounds.mahalanobis(X, y)]
    assert max(sizes) == 200
    for narrow, wide in zip(few, all_columns, strict=True):
        assert narrow.rests_on == wide.rests_on
        assert [narrow.lower, narrow.upper] == pytest.approx([wide.lower, wide.upper], rel=1e-6, abs=1e-12)
