"""The floor on a cluster of two processes: the local answer, from arrays, frames and files, and when a worker dies."""

import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

distributed = pytest.importorskip("distributed")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402

import bayesfloor as bf  # noqa: E402
from bayesfloor import DataError, DataTypeError, ParameterError, Run, problems  # noqa: E402
from bayesfloor.cli.main import main  # noqa: E402
from bayesfloor.errors import ClusterError  # noqa: E402
from bayesfloor.rows import dask_blocks as distributed_module  # noqa: E402
from waiting import PATIENCE, held_back, kill_worker, until_replaced  # noqa: E402

UNEVEN = (1700, 0, 3, 297, 4000)


pytestmark = pytest.mark.usefixtures("two_learners_on_workers")


@pytest.fixture(scope="module")
def sample():
    return problems.get("mixture_2d").sample(6000, random_state=3)


def estimate(X, y=None, **options):
    run = Run(sample_rows=600, **options.pop("run", {}))
    return bf.estimate(X, y, effort="fast", run=run, **options)


@pytest.fixture(scope="module")
def local(two_learners, sample):
    return estimate(*sample, n_jobs=1)


def same(found, local) -> None:
    assert found.floor == local.floor
    assert found.interval == local.interval
    assert found.ceiling == local.ceiling
    assert found.classes == local.classes
    assert {k: v for k, v in found.evidence.items() if "plugin" not in k} == {
        k: v for k, v in local.evidence.items() if "plugin" not in k
    }
    assert found.evidence["plugin"] == pytest.approx(local.evidence["plugin"], abs=1e-12)  # order of a sum
    np.testing.assert_allclose(found.pair_error, local.pair_error, atol=1e-12)


def test_arrays(client, sample, local) -> None:
    X, y = sample
    stages = []
    found = estimate(
        da.from_array(X, chunks=(UNEVEN, 1)),
        da.from_array(y, chunks=1111),
        run={"cluster": client},
        progress=lambda stage, done, total: stages.append(stage),
    )
    same(found, local)
    assert any("forests of 2,700 rows" in note for note in found.notes)
    assert {"reading", "training", "growing forests", "scoring", "counting"} <= set(stages)
    with pytest.raises(DataError, match="no single rows"):
        found.hardest_rows()


def test_frames_of_unknown_length(client, sample, local) -> None:
    X, y = sample
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(label=y)
    there = dd.from_pandas(frame, npartitions=4)
    there = there[there.a > -1e9]  # nobody knows how many rows that leaves
    same(estimate(there, target="label", run={"cluster": client}), local)


def test_rows_at_hand_on_a_cluster(client, sample, local) -> None:
    same(estimate(*sample, run={"cluster": client}), local)


def test_copies_count_once_on_a_cluster(client, sample) -> None:
    X, y = (np.concatenate([part[:2000], part[500:1500]]) for part in sample)
    here = estimate(X, y, n_jobs=1)
    there = estimate(da.from_array(X, chunks=(700, -1)), da.from_array(y, chunks=700), run={"cluster": client})
    assert any("1000 of 3000 rows (33.3%) are copies of another" in note for note in here.notes)
    assert any("1000 of 3000 rows (33.3%) are copies of another" in note for note in there.notes)
    same(there, here)


def test_small_tables_come_here(client, sample) -> None:
    X, y = sample[0][:400], np.array(["no", "yes", "maybe"])[sample[1][:400]]
    here = bf.estimate(X, y, effort="fast", n_jobs=1)
    there = bf.estimate(da.from_array(X, chunks=(150, 2)), y, effort="fast", n_jobs=1, run=Run(cluster=client))
    same(there, here)
    np.testing.assert_array_equal(there.posterior, here.posterior)


def test_a_killed_worker_changes_nothing(client, sample, local, tmp_path: Path, monkeypatch) -> None:
    X, y = sample
    killed, flag = [], tmp_path / "wait"
    flag.touch()
    waits = held_back(distributed_module._derived, "scoring", 11, flag)
    monkeypatch.setattr(distributed_module, "_derived", waits)

    def kill(stage: str, done: int, total: int) -> None:
        if stage == "scoring" and not killed:
            assert (done < total, total) == (True, 12), "the kill must come in the middle of scoring"
            killed.append(kill_worker(client))
            flag.unlink()

    there = da.from_array(X, chunks=(500, 2))
    same(estimate(there, y, run={"cluster": client}, progress=kill), local)
    until_replaced(client, killed[0])


def test_the_command(client, sample, local, tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.setattr("bayesfloor.floor.settings._SAMPLE_ROWS", 600)
    monkeypatch.setattr("bayesfloor.floor.settings.LARGE", 1000)
    monkeypatch.setattr("bayesfloor.rows.cluster._CONNECT_SECONDS", PATIENCE)
    X, y = sample
    pd.DataFrame(X, columns=["a", "b"]).assign(name="x", label=y).to_parquet(tmp_path / "table.parquet")
    arguments = ["estimate", str(tmp_path / "table.parquet"), "--target", "label", "--effort", "fast"]
    address = client.scheduler.address
    assert main([*arguments, "--drop", "name", "--scheduler", address, "--json"]) == 0
    # The default sample of so many rows follows the effort, too: at least 1.25 times what a model is trained on.
    assert '"sample_rows": 2500' in capsys.readouterr().out
    assert main([*arguments, "--scheduler", address]) == 2
    assert "'name'" in capsys.readouterr().err
    assert main([*arguments, "--scheduler", address, "--groups", "name"]) == 2
    assert main(["report", *arguments[1:], "--scheduler", address]) == 2
    capsys.readouterr()
    monkeypatch.setattr("bayesfloor.rows.cluster._CONNECT_SECONDS", 1)  # nobody will answer, however long it is waited
    assert main([*arguments, "--scheduler", "tcp://127.0.0.1:1", "--drop", "name"]) == 2
    assert "no scheduler answers at tcp://127.0.0.1:1" in capsys.readouterr().err


class Unsendable(LogisticRegression):
    """Holds what no other process can have."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


def test_a_checkpoint_is_of_rows_here(sample, tmp_path: Path) -> None:
    there = da.from_array(sample[0], chunks=(1000, 2))
    with pytest.raises(ParameterError, match="checkpoint"):
        estimate(there, sample[1], run={"checkpoint": tmp_path / "kept"})
    assert not (tmp_path / "kept").exists()


def test_what_a_cluster_cannot_do(client, sample, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("bayesfloor.rows.cluster._CONNECT_SECONDS", 1)
    X, y = sample
    there = da.from_array(X, chunks=(1000, 2))
    with pytest.raises(ParameterError, match="groups"):
        estimate(there, y, groups=np.arange(6000) // 2, run={"cluster": client})
    bad = X.copy()
    bad[3456, 1] = np.nan
    with pytest.raises(DataError, match=r"row 3456 \(row 456 of partition 3\)"):
        estimate(da.from_array(bad, chunks=(1000, 2)), y, run={"cluster": client})
    frame = dd.from_pandas(pd.DataFrame({"a": X[:, 0], "word": ["x"] * 6000, "label": y}), npartitions=2)
    with pytest.raises(DataTypeError, match="'word'"):
        estimate(frame, target="label", run={"cluster": client})
    for name in ("none.parquet", "none.csv"):
        with pytest.raises(DataError, match=f"no file .*{name}"):
            bf.estimate(tmp_path / name, target="label", run=Run(cluster=client))
    with pytest.raises(ParameterError, match="'model' cannot be sent to the workers"):
        estimate(there, y, classifiers={"model": Unsendable()}, run={"cluster": client})
    table = bf.table_from_frame(
        pd.DataFrame(X).assign(label=y, patient=np.arange(6000) // 2), target="label", groups="patient"
    )
    with pytest.raises(ParameterError, match="groups"):
        estimate(table, run={"cluster": client})
    (tmp_path / "table.jsonl").write_text('{"a": 1, "label": 2}\n')
    with pytest.raises(DataError, match="Parquet and CSV"):
        bf.estimate(tmp_path / "table.jsonl", target="label", run=Run(cluster=client))
    with pytest.raises(ClusterError):
        estimate(there, y, run={"cluster": "tcp://127.0.0.1:1"})
