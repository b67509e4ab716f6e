"""Tables of unusual shape: labels of many characters, rows of many columns."""

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
