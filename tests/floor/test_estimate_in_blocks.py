"""Large tables: a sample is learned from, all rows are scored in blocks; the same answer however they are cut."""

import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler

import bayesfloor as bf
from bayesfloor import DataError, ParameterError, problems
from bayesfloor.cli.main import main
from bayesfloor.floor.checkpoint import Checkpoint
from bayesfloor.floor.result import FloorResult
from bayesfloor.floor.scorer import Scorer
from bayesfloor.floor.settings import Run, _description, bytes_of
from bayesfloor.library.arrangement import near_points
from bayesfloor.library.forest import forest_rows
from bayesfloor.library.learners import FOREST, LIBRARY
from bayesfloor.library.representation import View
from bayesfloor.rows.block_dataset import block_digest
from bayesfloor.rows.blocks import LARGE, ArrayBlocks, RowFile, draw_rows, reference_rows, rows_at

PROBLEM = problems.get("mixture_2d")

pytestmark = pytest.mark.usefixtures("two_learners")


def estimate(X, y, **run) -> FloorResult:
    n_jobs = run.pop("n_jobs", 1)
    return bf.estimate(X, y, effort="fast", n_jobs=n_jobs, run=Run(sample_rows=600, **run))


@pytest.fixture(scope="module")
def sample():
    return PROBLEM.sample(4000, random_state=3)


@pytest.fixture(scope="module")
def result(two_learners, sample) -> FloorResult:
    return estimate(*sample)


def test_all_rows_are_scored(whole_library, sample) -> None:
    X, y = sample
    result = estimate(X, y)
    assert PROBLEM.bayes_error in result.interval
    assert PROBLEM.bayes_error <= result.ceiling
    assert result.posterior.shape == (4000, 3)
    np.testing.assert_allclose(result.posterior.sum(axis=1), 1, atol=1e-8)
    error = (result.posterior.argmax(axis=1) != y).mean()
    assert result.evidence["error"] == pytest.approx(error, abs=1e-12)
    assert result.evidence["n"] == 4000
    # Scores of the rows that no model has seen are as good as those of the sample.
    assert error == pytest.approx(PROBLEM.oracle_error(X, y), abs=0.02)
    assert sum(result.class_error) == pytest.approx(result.floor)
    assert any("all 4,000 rows were scored" in note for note in result.notes)
    assert result.settings["sample_rows"] == 600


def test_ceiling_rests_on_the_rows_outside_the_sample(sample, result: FloorResult) -> None:
    # 3,400 rows test it instead of a fifth of 600: within two points of the error, not within four.
    assert result.evidence["error"] < result.ceiling < result.evidence["error"] + 0.02


@pytest.mark.parametrize(
    "run",
    [
        {"block_rows": 333},
        {"block_rows": 4000, "n_jobs": 2},
        pytest.param({"memory_limit": "100 MB"}, marks=pytest.mark.slow),
    ],
)
def test_blocks_and_threads_do_not_matter(sample, result: FloorResult, run) -> None:
    other = estimate(*sample, **run)
    assert other.floor == result.floor
    assert other.interval == result.interval
    assert other.ceiling == result.ceiling
    np.testing.assert_array_equal(other.posterior, result.posterior)


def test_mapped_arrays_are_read_in_blocks(sample, result: FloorResult, tmp_path: Path) -> None:
    X, y = sample
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert estimate(mapped, y).floor == result.floor
    part = RowFile.of_map(mapped[1000:])  # a slice begins further on in the same file
    np.testing.assert_array_equal(part[5:9], X[1005:1009])
    assert RowFile.of_map(mapped[:, ::-1]) is None


def test_private_and_nameless_maps_are_not_read_from_their_file(sample, tmp_path: Path) -> None:
    X, _ = sample
    np.save(tmp_path / "X.npy", X)
    private = np.load(tmp_path / "X.npy", mmap_mode="c")
    private[:] += 1  # in memory alone
    np.testing.assert_array_equal(ArrayBlocks(private, np.zeros(4000, np.int64), 1).part(0).X, X + 1)
    nameless = np.load(tmp_path / "X.npy", mmap_mode="r")
    (tmp_path / "X.npy").rename(tmp_path / "elsewhere.npy")
    np.testing.assert_array_equal(ArrayBlocks(nameless, np.zeros(4000, np.int64), 1).part(0).X, X)


@pytest.mark.parametrize("make", [np.asfortranarray, np.float32, lambda X: X[:, :1], lambda X: X[:, :1] > 0])
def test_maps_of_any_layout_are_read(sample, tmp_path: Path, make) -> None:
    X = make(sample[0])
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    blocks = ArrayBlocks(mapped, sample[1], 3, block_rows=333)
    found, _ = rows_at(blocks, np.array([0, 332, 333, 3999]))
    np.testing.assert_array_equal(found, X[[0, 332, 333, 3999]].astype(np.float64))


def test_the_sample_is_drawn_by_a_digest_of_all_rows(sample) -> None:
    # Drawn by the seed alone, the same positions would be left to test on in every file of this size, sorted or not.
    X, y = sample

    def drawn(X, block_rows: int = 4000):
        with (
            patch("bayesfloor.floor._estimate.check_size", side_effect=KeyboardInterrupt) as taken,
            pytest.raises(KeyboardInterrupt),
        ):
            estimate(X, y, block_rows=block_rows)
        return taken.call_args.args[0].X[:, 0]  # no two rows agree there

    first = drawn(X)
    np.testing.assert_array_equal(drawn(X, 333), first)
    moved = X.copy()
    moved[17, 1] += 1e-9
    assert len(np.intersect1d(drawn(moved), first)) < 200  # of 600, 90 by chance
    order = np.random.default_rng(0).permutation(4000)
    blocks = [ArrayBlocks(X[rows], y[rows], 3, block_rows=size) for rows, size in ((order, 77), (slice(None), 4000))]
    assert len({block_digest(block, np.ones(2, dtype=bool)) for block in blocks}) == 1


@pytest.mark.parametrize("noise", [0, 1e-9])
def test_copies_in_mapped_files_are_seen(sample, tmp_path: Path, noise: float) -> None:
    # A sample of a tenth holds both of a pair once in a hundred pairs.
    X, y = np.repeat(sample[0][:2000], 2, axis=0), np.repeat(sample[1][:2000], 2)
    X[1::2] *= 1 + noise * np.random.default_rng(0).normal(size=(2000, 2))
    np.save(tmp_path / "X.npy", X)
    mapped = bf.estimate(
        np.load(tmp_path / "X.npy", mmap_mode="r"), y, effort="fast", n_jobs=1, run=Run(sample_rows=400)
    )
    assert any("2000 of 4000 rows (50.0%) are copies of another" in note for note in mapped.notes)
    assert mapped.posterior.shape == (2000, 3)
    assert sorted(mapped.row_numbers // 2) == list(range(2000))
    np.testing.assert_array_equal(mapped.labels, y[mapped.row_numbers])


def test_gaps_of_mapped_arrays_are_filled_as_in_memory(sample, tmp_path: Path) -> None:
    X, y = sample[0].copy(), sample[1].astype(float)
    X[::5, 1], y[[7, 3000]] = np.nan, np.nan
    np.save(tmp_path / "X.npy", X)
    mapped, here = estimate(np.load(tmp_path / "X.npy", mmap_mode="r"), y), estimate(X, y)
    assert (mapped.floor, mapped.interval, mapped.notes) == (here.floor, here.interval, here.notes)
    assert "2 of 4,000 rows without a label dropped" in mapped.notes
    assert any("marked by a column of their own: 'column 1' 20.0%" in note for note in mapped.notes)
    np.testing.assert_array_equal(mapped.row_numbers, np.delete(np.arange(4000), [7, 3000]))


def test_mapped_arrays_are_checked(sample, tmp_path: Path) -> None:
    X, y = sample[0].copy(), sample[1]
    X[3210, 1], X[3500, 0] = -np.inf, np.inf
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    with pytest.raises(DataError, match=r"2 infinity .* row 3210, column 1"):
        estimate(mapped, y)
    with pytest.raises(DataError, match="4000 rows but y has 3999"):
        estimate(mapped, y[:-1])
    with pytest.raises(DataError, match=r"one class|at least two"):
        estimate(mapped, np.zeros(4000))
    np.save(tmp_path / "words.npy", np.full((4000, 2), "a"))
    with pytest.raises(TypeError, match="convert every column to numbers"):
        estimate(np.load(tmp_path / "words.npy", mmap_mode="r"), y)


def test_rare_classes_and_constant_columns(sample) -> None:
    X, y = sample
    rare = y.copy()
    rare[[100, 900, 1700, 2500, 3300]] = 7
    X = np.column_stack([X, np.zeros(4000)])
    X[17, 2] = 1e-3  # varies, but hardly in any sample
    result = estimate(X, rare)
    assert result.classes == (0, 1, 2, 7)
    assert any("constant columns dropped: column 2" in note for note in result.notes)
    with pytest.raises(DataError, match="class 7"):
        estimate(X, np.where(np.arange(4000) == 5, 7, y))


def test_rare_classes_keep_their_share() -> None:
    # Ten classes of five rows each: 9 % of a sample of 550 rows, but 1 % of all.
    rng = np.random.default_rng(0)
    y = np.where(rng.random(5000) < 0.5, 10, 11)
    y[:50] = np.arange(50) // 5
    X = rng.normal(size=(5000, 2)) + 3 * (y == 11)[:, None]
    result = bf.estimate(X, y, effort="fast", n_jobs=1, run=Run(sample_rows=500))
    # Their columns say nothing: nobody names them, and they get about as much probability as they have rows among the
    # 500 drawn plainly (five, give or take two; half a row where there is none), not the 9 % of the sample.
    assert result.posterior[:, :10].sum(axis=1).mean() == pytest.approx(0.01, abs=0.015)
    # All fifty are in the sample, so that no test row has such a class: they count as errors all the same.
    errors = (result.posterior.argmax(axis=1) != np.unique(y, return_inverse=True)[1]).mean()
    assert result.ceiling > errors


def test_columns_of_one_name(sample) -> None:
    X, y = sample
    frame = pd.DataFrame(np.column_stack([X, np.zeros(4000)]), columns=["a", "b", "a"])
    assert estimate(frame, y).evidence["n_features"] == 2


def test_rows_of_a_forest_without_weight_certify_nothing() -> None:
    scorer = SimpleNamespace(numbers=np.array([1]), forests=SimpleNamespace(numbers=np.array([2])), grown=None)
    assert [rows.tolist() for rows in Scorer.used.fget(scorer)] == [[1], [2]]


def test_forests_of_many_rows_join_the_library_and_do_not_score_their_own_rows(monkeypatch) -> None:
    problem = problems.get("checkerboard")
    X, y = problem.sample(12_000, random_state=0)
    seen = []

    def of(learned, *rest):
        seen.append((Scorer.of(learned, *rest), learned.arrangement.codes))
        return seen[0][0]

    monkeypatch.setattr("bayesfloor.floor._estimate.Scorer", SimpleNamespace(of=of))
    learners = {name: LIBRARY[name] for name in ("gaussian", "neighbours")}
    monkeypatch.setattr("bayesfloor.library.cross_fit.LIBRARY", learners)
    result = estimate(X, y)
    assert any("forests of 5,700 rows" in note for note in result.notes)
    # What some hundred rows of the sample cannot show, 5,700 can.
    error = result.evidence["error"]
    others = min(score.error for score in result.learners if score.learner != FOREST)
    assert others - error > 3 * np.sqrt(error * (1 - error) / 600)  # of the sample
    assert error < 0.14
    assert problem.bayes_error in result.interval
    assert result.ceiling > problem.bayes_error
    ((scorer, codes),) = seen
    own, given = scorer.forests.numbers, result.posterior[np.arange(12_000), y]
    others = np.setdiff1d(np.arange(12_000), np.concatenate([own, scorer.numbers]))
    noise = given.std() * np.sqrt(1 / len(own) + 1 / len(others))
    assert given[own].mean() == pytest.approx(given[others].mean(), abs=4 * noise)
    # The first forest itself knows its rows: had it scored them, their labels would have looked more probable.
    rows = near_points(scorer.standard, X[own][:, scorer.columns])
    first, second = (np.exp(scorer.forests.logs(forest, rows)) for forest in scorer.grown)
    at = np.arange(len(own)), codes[y[own]]
    more = first[at] - second[at]
    assert more.mean() > 5 * more.std() / np.sqrt(len(own))
    by_second, by_first = (scorer._of_new(View(rows), np.full(len(own), is_own)) for is_own in (True, False))
    np.testing.assert_allclose(result.posterior[own], by_second, atol=2e-9)
    assert np.abs(result.posterior[own] - by_first).max() > 0.01


def test_forest_rows() -> None:
    assert forest_rows(70_000, 20_000, 20, "balanced") == 25_000
    assert forest_rows(10**7, 20_000, 20, "balanced") == 200_000
    assert forest_rows(10**7, 20_000, 1000, "balanced") == 2**28 // 16_000
    assert forest_rows(3_000, 600, 5, "fast") == 0


def test_given_class_shares(sample) -> None:
    X, y = sample[0][:1500], sample[1][:1500]
    result = bf.estimate(X, y, effort="fast", n_jobs=1, priors="balanced", run=Run(sample_rows=600))
    whole = bf.estimate(X, y, effort="fast", n_jobs=1, priors="balanced")
    assert result.floor == pytest.approx(whole.floor, abs=0.02)
    assert result.priors == pytest.approx([1 / 3] * 3)


def test_what_is_too_large_for_memory_goes_to_disk(sample) -> None:
    X, y = sample
    blocks = ArrayBlocks(X, y, 3, threads=2, block_rows=300, most_bytes=1000)
    doubled = blocks.derive(lambda part: 2 * part.X, 2)
    assert isinstance(doubled.X, RowFile)
    np.testing.assert_array_equal(doubled.X[:4000], 2 * X)
    again = doubled.derive(lambda part: part.X[:, :1] / 2, 1)
    np.testing.assert_array_equal(rows_at(again, np.array([5, 3999]))[0], X[[5, 3999], :1])
    files = [doubled.X.path, again.X.path]
    doubled.close()
    again.close()
    assert not any(file.exists() for file in files)


def test_a_failed_block_leaves_no_file(sample, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    blocks = ArrayBlocks(*sample, 3, threads=2, block_rows=300, most_bytes=1000)
    with pytest.raises(ZeroDivisionError):
        blocks.derive(lambda part: part.X * (1 // (5 - part.number)), 2)
    assert not list(tmp_path.iterdir())


def test_tables_larger_than_memory(sample, result: FloorResult, tmp_path: Path, monkeypatch) -> None:
    X, y = sample
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(label=y)
    frame.to_parquet(tmp_path / "table.parquet")
    monkeypatch.setattr("bayesfloor.tables.open.table_bytes", lambda path: 10**12)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    found = bf.estimate(tmp_path / "table.parquet", target="label", effort="fast", n_jobs=1, run=Run(sample_rows=600))
    assert found.floor == result.floor
    assert found.interval == result.interval
    assert not list((tmp_path / "temporary").iterdir())
    with_gaps = frame.assign(label=np.where(np.arange(4000) % 4 == 0, None, y.astype(str)))
    with_gaps.to_parquet(tmp_path / "gaps.parquet")
    found = bf.estimate(tmp_path / "gaps.parquet", target="label", effort="fast", n_jobs=1, run=Run(sample_rows=300))
    np.testing.assert_array_equal(found.row_numbers, np.flatnonzero(np.arange(4000) % 4))
    with pytest.raises(DataError, match="no column 'labl'"):
        bf.estimate(tmp_path / "table.parquet", target="labl", run=Run(sample_rows=600))


def test_reports_do_not_read_beyond_the_limit(sample, tmp_path: Path, capsys) -> None:
    np.savetxt(tmp_path / "table.csv", np.column_stack(sample), delimiter=",", header="a,b,label", comments="")
    (tmp_path / "big.csv").write_text((tmp_path / "table.csv").read_text() * 3)
    command = ["report", str(tmp_path / "big.csv"), "--target", "label", "-o", str(tmp_path / "report.html")]
    assert main([*command, "--memory-limit", "1 MB"]) == 2
    assert "big.csv is too large for --memory-limit 1 MB" in capsys.readouterr().err


# --- rows by number -----------------------------------------------------------------------------------------


def test_sample_does_not_depend_on_blocks(sample) -> None:
    X, y = sample
    drawn = [
        draw_rows(ArrayBlocks(X, y, 3, block_rows=size), 500, np.random.default_rng(1)) for size in (100, 777, 4000)
    ]
    numbers, counts, _ = drawn[0]
    for other, other_counts, _ in drawn[1:]:
        np.testing.assert_array_equal(other, numbers)
        np.testing.assert_array_equal(other_counts, np.bincount(y))
    shares = counts / 4000
    assert (np.abs(np.bincount(y[numbers]) / 500 - shares) < 4 * np.sqrt(shares * (1 - shares) / 500)).all()
    found, codes = rows_at(ArrayBlocks(X, y, 3, block_rows=777), numbers)
    np.testing.assert_array_equal(found, X[numbers])
    np.testing.assert_array_equal(codes, y[numbers])


def test_reference_rows() -> None:
    np.testing.assert_array_equal(reference_rows(LARGE), np.arange(LARGE))
    rows = reference_rows(LARGE + 1)
    assert len(np.unique(rows)) == LARGE
    assert rows.max() <= LARGE


# --- settings of a run --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "size"), [("3 GB", 3 * 2**30), ("1.5GiB", 3 * 2**29), ("500m", 500 * 2**20)])
def test_bytes(text: str, size: int) -> None:
    assert bytes_of(text) == size


@pytest.mark.parametrize(
    "settings",
    [
        {"memory_limit": "much"},
        {"memory_limit": 12},
        {"sample_rows": 3},
        {"sample_rows": True},
        {"block_rows": 0},
        {"checkpoint": 5},
    ],
)
def test_settings_out_of_range(settings) -> None:
    with pytest.raises(ParameterError):
        Run(**settings)


def test_run_must_be_a_run(sample) -> None:
    with pytest.raises(ParameterError, match=r"bayesfloor\.Run"):
        bf.estimate(*sample, run={"memory_limit": "1 GB"})


def test_too_little_memory_is_refused(sample) -> None:
    with pytest.raises(ParameterError, match="too little to score"):
        estimate(*sample, memory_limit="1 MB")
    with pytest.raises(ParameterError, match="are needed beside the data"):
        bf.estimate(*sample, n_jobs=1, run=Run(sample_rows=3500, memory_limit="4.5 MB"))


def test_too_little_memory_is_refused_for_small_tables(sample) -> None:
    with pytest.raises(ParameterError, match="are needed beside the data"):
        bf.estimate(*sample, n_jobs=1, run=Run(memory_limit="4.5 MB"))


def test_whole_numbers_of_numpy_are_settings() -> None:
    assert Run(sample_rows=np.int64(600)).n_fitted(1000, 2000) == 600


def test_groups_and_a_sample_exclude_each_other(sample) -> None:
    with pytest.raises(ParameterError, match="leave out sample_rows"):
        bf.estimate(*sample, groups=np.arange(4000) // 2, run=Run(sample_rows=600))


# --- checkpoints --------------------------------------------------------------------------------------------

_SCRIPT = """
import os, signal, sys
import bayesfloor as bf
from bayesfloor import problems
from bayesfloor.floor import checkpoint
from bayesfloor.library import cross_fit

cross_fit.LIBRARY = {name: cross_fit.LIBRARY[name] for name in ("gaussian", "additive")}

def write_and_die(file, *arguments, write=checkpoint.write_file, **options):
    write(file, *arguments, **options)
    if file.name == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)

checkpoint.write_file = write_and_die
X, y = problems.get("mixture_2d").sample(4000, random_state=3)
run = bf.Run(sample_rows=600, checkpoint=sys.argv[1], block_rows=200)
bf.estimate(X, y, effort="fast", n_jobs=1, run=run)
"""


@pytest.mark.parametrize("piece", [pytest.param("training-3.npz", marks=pytest.mark.slow), "scores-800-1000.npz"])
def test_killed_and_resumed(sample, result: FloorResult, tmp_path: Path, piece: str) -> None:
    folder = tmp_path / "kept"
    killed = subprocess.run([sys.executable, "-c", _SCRIPT, str(folder), piece], check=False)
    assert killed.returncode == -signal.SIGKILL
    finished = {entry.name: entry.stat().st_mtime_ns for entry in folder.glob("*.npz")}
    assert piece in finished
    resumed = estimate(*sample, checkpoint=folder, block_rows=200)
    assert resumed.floor == result.floor
    assert resumed.interval == result.interval
    np.testing.assert_array_equal(resumed.posterior, result.posterior)
    for name, when in finished.items():  # nothing was done twice
        assert (folder / name).stat().st_mtime_ns == when


def test_resumed_with_other_blocks(sample, result: FloorResult, tmp_path: Path) -> None:
    # How many rows fit depends on the memory that is free just then.
    estimate(*sample, checkpoint=tmp_path / "kept", block_rows=500)
    resumed = estimate(*sample, checkpoint=tmp_path / "kept", block_rows=512)
    assert resumed.floor == result.floor
    np.testing.assert_array_equal(resumed.posterior, result.posterior)
    sizes = {Run(memory_limit=f"{free} MB").rows_at_a_time(8, 20) for free in range(3000, 3500, 10)}
    assert len(sizes) == 1


class _Nameless:
    """Its repr is an address."""

    def __init__(self, power: int) -> None:
        self.power = power


def test_classifiers_are_known_again() -> None:
    def long(last: float):
        steps = [(f"step {i}", MinMaxScaler(feature_range=(0, i + 1.5))) for i in range(40)]
        return Pipeline([*steps, ("model", LogisticRegression(C=last)), *[(f"after {i}", None) for i in range(40)]])

    assert _description(_Nameless(2)) == _description(_Nameless(2)) != _description(_Nameless(3))
    assert _description(long(1.0)) == _description(long(1.0)) != _description(long(2.0))
    priors = [np.array([0.5, 0.5]), np.array([0.4, 0.6])]
    assert _description(GaussianNB(priors=priors[0])) != _description(GaussianNB(priors=priors[1]))


def test_checkpoint_of_another_run_is_refused(sample, tmp_path: Path) -> None:
    X, y = sample
    X, y = X[:1500], y[:1500]
    estimate(X, y, checkpoint=tmp_path / "kept")
    changed = X.copy()
    changed[700, 0] += 1e-9
    with pytest.raises(ParameterError, match="another run: data differ"):
        estimate(changed, y, checkpoint=tmp_path / "kept")
    with pytest.raises(ParameterError, match="random_state differ"):
        bf.estimate(
            X, y, effort="fast", n_jobs=1, random_state=1, run=Run(sample_rows=600, checkpoint=tmp_path / "kept")
        )
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("important")
    with pytest.raises(ParameterError, match=r"other files \(thesis.txt\)"):
        estimate(X, y, checkpoint=tmp_path / "mine")
    with pytest.raises(ParameterError, match="not a folder"):
        estimate(X, y, checkpoint=tmp_path / "mine" / "thesis.txt")
    piece = tmp_path / "kept" / "training-0.npz"
    piece.write_bytes(piece.read_bytes()[:100])
    with pytest.raises(DataError, match="damaged"):
        estimate(X, y, checkpoint=tmp_path / "kept")


def test_checkpoint_keeps_plain_values(tmp_path: Path) -> None:
    value = ({"a b": {"c": np.arange(3, dtype=np.float32)}}, ["text", None, 2.5])
    about = {"data": "x"}
    Checkpoint(tmp_path / "kept", about).get("a piece", lambda: value)
    found = Checkpoint(tmp_path / "kept", about).get("a piece", lambda: pytest.fail("made again"))
    np.testing.assert_array_equal(found[0]["a b"]["c"], value[0]["a b"]["c"])
    assert found[0]["a b"]["c"].dtype == np.float32
    assert found[1] == value[1]


def test_small_tables_can_checkpoint(sample, tmp_path: Path) -> None:
    X, y = sample[0][:300], sample[1][:300]
    first = bf.estimate(X, y, effort="fast", n_jobs=1)
    for _ in range(2):
        kept = bf.estimate(X, y, effort="fast", n_jobs=1, run=Run(checkpoint=tmp_path / "kept"))
        assert kept.floor == first.floor


def test_records_may_be_fewer_than_the_sample(sample, tmp_path: Path) -> None:
    X, y = (np.tile(part[:300], (10, 1) if part.ndim == 2 else 10) for part in sample)
    np.save(tmp_path / "X.npy", X)
    here, there = estimate(X, y), estimate(np.load(tmp_path / "X.npy", mmap_mode="r"), y)
    assert here.posterior.shape == (300, 3)
    assert (here.floor, here.ceiling, here.notes) == (there.floor, there.ceiling, there.notes)
    assert "2700 of 3000 rows (90.0%) are copies of another" in here.notes[-1]
