"""The floor on a cluster of two processes: the local answer, from arrays, frames and files, and when a worker dies."""

import threading
import warnings
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
from bayesfloor.floor.rows import FileRows  # noqa: E402
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


@pytest.mark.parametrize("labels_here", [True, False])
def test_gaps_are_filled_as_here(client, sample, labels_here: bool) -> None:
    X, y = sample[0].copy(), sample[1].astype(float)
    X[::5, 1], y[[7, 1999, 5000]] = np.nan, np.nan
    here = estimate(X, y, n_jobs=1)
    labels = y if labels_here else da.from_array(y, chunks=1111)
    found = estimate(da.from_array(X, chunks=(UNEVEN, 1)), labels, run={"cluster": client})
    same(found, here)
    for note in here.notes[:2]:
        assert note in found.notes
    assert "3 of 6,000 rows without a label dropped" in found.notes
    X[3000, 0] = np.inf
    with pytest.raises(DataError, match=r"X contains 1 infinity .*row 3000 \(row 1000 of partition 4\), column 0"):
        estimate(da.from_array(X, chunks=(UNEVEN, 1)), labels, run={"cluster": client})


def test_frames_of_unknown_length(client, sample, local) -> None:
    X, y = sample
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(label=y)
    there = dd.from_pandas(frame, npartitions=4)
    there = there[there.a > -1e9]  # nobody knows how many rows that leaves
    same(estimate(there, target="label", run={"cluster": client}), local)


def test_rows_at_hand_on_a_cluster(client, sample, local) -> None:
    same(estimate(*sample, run={"cluster": client}), local)


@pytest.mark.parametrize("noise", [0, 1e-9])
def test_copies_count_once_on_a_cluster(client, sample, noise: float) -> None:
    X, y = (np.concatenate([part[:2000], part[500:1500]]) for part in sample)
    X[2000:] *= 1 + noise * np.random.default_rng(0).normal(size=(1000, 2))
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
    waits = held_back(distributed_module._derive, "scoring", 11, flag)
    monkeypatch.setattr(distributed_module, "_derive", waits)

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
    assert main([*arguments, "--scheduler", address, "--groups", "name"]) == 2
    assert "one group holds" in capsys.readouterr().err
    assert main([*arguments, "--scheduler", address, "--max-rows", "100"]) == 2
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


def mixed(n: int, sample) -> pd.DataFrame:
    """Numbers with gaps, categories, codes as text, groups, labels of text, one of them missing."""
    rng = np.random.default_rng(5)
    X, y = sample[0][:n], sample[1][:n]
    frame = pd.DataFrame(
        {
            "number": np.where(rng.random(n) < 0.05, np.nan, X[:, 0]),
            "colour": pd.Categorical(np.where(X[:, 1] > 0, "red", rng.choice(["blue", "green"], n))),
            "code": rng.choice(["01", "02", "10"], n),
            "patient": [f"p{i}" for i in rng.integers(0, n // 3, n)],
            "label": np.array(["no", "yes", "maybe"], dtype=object)[y],
        }
    )
    frame.loc[7, "label"] = None
    return frame


@pytest.mark.parametrize("groups", [None, "patient"])
def test_columns_of_any_kind_and_groups(client, sample, groups: str | None) -> None:
    frame = mixed(500, sample)
    there = dd.from_pandas(frame, npartitions=3)
    run = Run(cluster=client)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a column looks like an identifier
        here = bf.estimate(frame, target="label", groups=groups, effort="fast", n_jobs=1)
        found = bf.estimate(there, target="label", groups=groups, effort="fast", n_jobs=1, run=run)
    same(found, here)
    assert found.notes == here.notes
    np.testing.assert_array_equal(found.row_numbers, here.row_numbers)


def test_columns_of_any_kind_beyond_the_sample(client, sample) -> None:
    frame = mixed(3000, sample).drop(columns="patient")
    here = estimate(frame, target="label", n_jobs=1)
    there = estimate(dd.from_pandas(frame, npartitions=4), target="label", run={"cluster": client})
    same(there, here)


def test_files_are_read_as_text_by_the_workers(client, sample, tmp_path: Path) -> None:
    mixed(500, sample).drop(columns="patient").to_csv(tmp_path / "table.csv", index=False)
    here = bf.estimate(tmp_path / "table.csv", target="label", effort="fast", n_jobs=1)
    run = Run(cluster=client)
    same(bf.estimate(tmp_path / "table.csv", target="label", effort="fast", n_jobs=1, run=run), here)


def test_numbers_in_a_file_are_labels_as_here(client, sample, tmp_path: Path) -> None:
    X, y = sample[0][:300], sample[1][:300] + 9  # as text, 10 would come before 9
    pd.DataFrame(X, columns=["a", "b"]).assign(id=np.arange(300), label=y).to_csv(tmp_path / "table.csv", index=False)
    given = FileRows(tmp_path / "table.csv", "label", keep=("a", "b", "id"))
    here = bf.estimate(given, effort="fast", n_jobs=1)
    there = bf.estimate(given, effort="fast", n_jobs=1, run=Run(cluster=client))
    same(there, here)
    assert there.classes == (9, 10, 11)
    assert there.evidence["n_features"] == 3


def test_groups_of_an_array(client, sample) -> None:
    X, y, groups = sample[0][:400], sample[1][:400], np.arange(400) // 4
    here = bf.estimate(X, y, groups=groups, effort="fast", n_jobs=1)
    for given in (groups, da.from_array(groups, chunks=100)):
        there = da.from_array(X, chunks=(150, 2))
        same(bf.estimate(there, y, groups=given, effort="fast", n_jobs=1, run=Run(cluster=client)), here)


def test_a_checkpoint_on_a_cluster_goes_on(client, sample, local, tmp_path: Path) -> None:
    X, y = sample
    there, run = da.from_array(X, chunks=(1000, 2)), {"cluster": client, "checkpoint": tmp_path / "kept"}

    def stop(stage: str, done: int, total: int) -> None:
        if stage == "training on quarters":  # the first that is told of is the first that is done
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        estimate(there, y, run=run, progress=stop)
    kept = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "kept").glob("training*")}
    assert len(kept) == 1
    same(estimate(there, y, run=run), local)
    assert all((tmp_path / "kept" / name).stat().st_mtime_ns == when for name, when in kept.items())
    with pytest.raises(ParameterError, match="another run: data"):
        estimate(there + 1e-9, y, run=run)


def test_what_a_cluster_cannot_do(client, sample, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("bayesfloor.rows.cluster._CONNECT_SECONDS", 1)
    X, y = sample
    there = da.from_array(X, chunks=(1000, 2))
    with pytest.raises(ParameterError, match="groups need all rows"):
        estimate(there, y, groups=np.arange(6000) // 2, run={"cluster": client})
    frame = dd.from_pandas(mixed(400, sample), npartitions=2)
    with pytest.raises(DataError, match="there are 400 rows but 399 groups"):
        bf.estimate(frame, target="label", groups=np.arange(399) // 2, run=Run(cluster=client))
    with pytest.raises(ParameterError, match="give the labels once"):
        bf.estimate(frame, y[:400], target="label", run=Run(cluster=client))
    with pytest.raises(DataError, match="a Dask array has no names: pass y"):
        bf.estimate(there, target="label", run=Run(cluster=client))
    with pytest.raises(ParameterError, match="name the labels with target"):
        bf.estimate(there, y, groups="patient", run=Run(cluster=client))
    bad = X.copy()
    bad[3456, 1] = np.inf
    with pytest.raises(DataError, match=r"row 3456 \(row 456 of partition 3\)"):
        estimate(da.from_array(bad, chunks=(1000, 2)), y, run={"cluster": client})
    frame = dd.from_pandas(pd.DataFrame({"a": X[:, 0], "word": ["x"] * 6000}), npartitions=2)
    with pytest.raises(DataTypeError, match="'word'"):
        estimate(frame, y, run={"cluster": client})
    for name in ("none.parquet", "none.csv"):
        with pytest.raises(DataError, match=f"no file .*{name}"):
            bf.estimate(tmp_path / name, target="label", run=Run(cluster=client))
    (tmp_path / "no.parquet").write_bytes(b"PAR1 and nothing of the kind PAR1")
    with pytest.raises(DataError, match=r"no\.parquet is damaged or cut short"):
        bf.estimate(tmp_path / "no.parquet", target="label", run=Run(cluster=client))
    with pytest.raises(ParameterError, match="'model' cannot be sent to the workers"):
        estimate(there, y, classifiers={"model": Unsendable()}, run={"cluster": client})
    (tmp_path / "table.jsonl").write_text('{"a": 1, "label": 2}\n')
    with pytest.raises(DataError, match="Parquet and CSV"):
        bf.estimate(tmp_path / "table.jsonl", target="label", run=Run(cluster=client))
    with pytest.raises(ClusterError):
        estimate(there, y, run={"cluster": "tcp://127.0.0.1:1"})
