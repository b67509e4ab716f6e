"""Rows on a real cluster of two processes: the same numbers as here, whatever happens to the workers."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402

import bayesfloor  # noqa: E402
from bayesfloor import BenchmarkLearner, DataError, DataTypeError, ParameterError, ball_counts  # noqa: E402
from bayesfloor.counting.block_counts import BlockCounter, count_in_part  # noqa: E402
from bayesfloor.counting.dask_counts import distributed_ball_counts  # noqa: E402
from bayesfloor.errors import ClusterError  # noqa: E402
from bayesfloor.library.cross_fit import cross_fit  # noqa: E402
from bayesfloor.rows import cluster as cluster_module  # noqa: E402
from bayesfloor.rows import dask_blocks as distributed_module  # noqa: E402
from bayesfloor.rows.block_dataset import block_dataset  # noqa: E402
from bayesfloor.rows.blocks import ArrayBlocks, class_counts, draw_rows, reference_rows, rows_at  # noqa: E402
from bayesfloor.rows.cluster import connect, is_dask  # noqa: E402
from bayesfloor.rows.dask_blocks import DaskBlocks, blocks_from_dask  # noqa: E402
from bayesfloor.rows.dask_workers import DaskWorkers, alone  # noqa: E402
from bayesfloor.rows.dataset import validate  # noqa: E402
from bayesfloor.rows.labels import encode_labels  # noqa: E402
from bayesfloor.utils.parallel import Threads  # noqa: E402
from waiting import PATIENCE, has_started, held_back, kill_worker, until, until_replaced  # noqa: E402

pytestmark = pytest.mark.usefixtures("patient_loops")

SOURCE = str(Path(bayesfloor.__file__).parents[1])
UNEVEN = (70, 0, 1, 129, 60, 40)  # 300 rows


def two_gaussians(n=300, d=3, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    X = rng.normal(size=(n, d))
    X[:, 0] += 1.5 * y
    return X, y


@pytest.fixture(scope="module")
def both(client):
    """The same rows here and on the cluster, cut differently."""
    X, y = two_gaussians()
    there, *_ = blocks_from_dask(da.from_array(X, chunks=(UNEVEN, 3)), da.from_array(y, chunks=100), client=client)
    return ArrayBlocks(X, y, 2, block_rows=64), there


def everything(blocks):
    return rows_at(blocks, np.arange(blocks.n_samples))


# --- blocks -------------------------------------------------------------------------------------------------


def test_blocks_hold_the_rows_in_their_order(both):
    here, there = both
    assert isinstance(there, DaskBlocks)
    assert there.sizes.tolist() == list(UNEVEN)
    for mine, theirs in zip(everything(here), everything(there), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    drawn = (draw_rows(blocks, 50, np.random.default_rng(7)) for blocks in both)
    for mine, theirs in zip(*drawn, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_each_comes_in_order_and_knows_its_block(both):
    _, there = both

    def where(part):
        return part.number, part.start, len(part.X), part.X.dtype.str, part.codes.dtype.str

    starts = np.cumsum((0, *UNEVEN)[:-1]).tolist()
    assert there.each(where) == [(i, starts[i], size, "<f8", "<i8") for i, size in enumerate(UNEVEN)]


@pytest.mark.parametrize("n_blocks", [1, 2, 4, 5, 23])
def test_totals_are_sums_over_blocks(client, n_blocks):
    X, y = two_gaussians()
    there, *_ = blocks_from_dask(da.from_array(X, chunks=(-(-300 // n_blocks), -1)), y, client=client)
    np.testing.assert_array_equal(there.total(partial(class_counts, n_classes=2)), [np.bincount(y)])
    # Addition in the order of the blocks: text shows it.
    assert there.total(lambda part: f"{part.number} ").split() == [str(i) for i in range(len(there.sizes))]


def test_large_chunks_become_several_blocks(client):
    X, y = two_gaussians()
    there, *_ = blocks_from_dask(da.from_array(X, chunks=(UNEVEN, 3)), y, client=client, block_rows=50)
    assert there.sizes.tolist() == [35, 35, 0, 1, 43, 43, 43, 30, 30, 40]
    for mine, theirs in zip((X, y), everything(there), strict=True):
        np.testing.assert_array_equal(mine, theirs)


class _Order(distributed.WorkerPlugin):
    """Which results a worker of one thread has made, which of them it was told to add, which it has added."""

    def setup(self, worker):
        self.tasks, self.news = worker.state.tasks, threading.Condition()
        self.made, self.to_add, self.added, self.terms = set(), set(), set(), {}
        self.most = 0

    def transition(self, key, start, finish, **_):
        key = str(key)
        with self.news:
            if key.startswith("adding-") and finish == "memory":
                self.made.add(_number(key))
            if key.startswith("_sum_of-") and finish == "ready":
                terms = (task.key for task in self.tasks[key].dependencies)
                self.terms[key] = {_number(term) for term in terms if term.startswith("adding-")}
                self.to_add |= self.terms[key]
            if key.startswith("_sum_of-") and finish == "memory":
                self.added |= self.terms[key]
            self.most = max(self.most, len(self.due() - self.added))
            self.news.notify_all()

    def due(self):
        """Results all three companions of which are made: the four can be added."""
        return {number for number in self.made if {*range(number // 4 * 4, number // 4 * 4 + 4)} <= self.made}

    def knows_what_to_add(self):
        return self.due() <= self.to_add


def _number(key):
    return int(key.rpartition("-")[2])


def test_results_are_added_while_others_are_made():
    """A sum of many large results must not need the memory of all of them."""
    X, y = two_gaussians()

    def patient(part):
        # A sum reaches the worker some time after its last term was made. With every result waiting for that, the order
        # in which things are done is that of their priorities, however slow messages are.
        order = distributed.get_worker().plugins["order"]
        with order.news:
            assert order.news.wait_for(order.knows_what_to_add, PATIENCE), "not told to add what was made"
        return np.ones(5)

    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        connect(cluster) as client,
    ):
        order = _Order()
        cluster.sync(cluster.workers[0].plugin_add, order, "order")
        there, *_ = blocks_from_dask(da.from_array(X, chunks=(5, 3)), y, client=client)
        total = there.total(patient, "adding")
        assert (total == 60).all()
        assert order.added == set(range(60))
        # Four are added at a time. The next result may have been begun before, and may make four others complete.
        assert 4 <= order.most <= 8


def test_results_that_were_made_are_not_held_from_here(client, tmp_path):
    """What nobody asks for any more is let go on the workers as soon as it was added."""
    X, y = two_gaussians()
    there, *_ = blocks_from_dask(da.from_array(X, chunks=(5, 3)), y, client=client)
    seen, flag = [], tmp_path / "seen"

    def wait_at_last(part):
        import time

        while part.number == 59 and not flag.exists():
            time.sleep(0.01)
        return 1

    def look(stage, done, total):
        client.sync(asyncio.sleep, 0)  # whatever was let go is taken note of in a thread of the client
        held = [key.partition("-")[0] for key in client.futures]
        seen.append((done, held.count("adding"), held.count("_sum_of")))
        flag.touch()

    assert there.total(wait_at_last, "adding", look) == 60
    assert seen[0][0] < 60
    assert seen == [(done, 60 - done, 1) for done, *_ in seen]


def test_counts_around_rows_are_exact(both):
    here, _ = both
    radii, rows = np.array([0.3, 0.9, 2.0]), np.array([250, 3, 299, 70])
    for wanted in (None, rows):
        (numbers, mine), (_, theirs) = (next(BlockCounter(blocks).blocks(radii, wanted)) for blocks in both)
        np.testing.assert_array_equal(mine, theirs)
        np.testing.assert_array_equal(theirs, ball_counts(here.X, here.codes, radii)[numbers])


def test_derived_blocks_stay_there_and_are_let_go(client, both):
    _, there = both
    made = there.derive(lambda part: part.X[:, :1] * 2 + part.start, 1)
    again = made.derive(lambda part: part.X + 1, 1)
    shift = np.repeat(there.starts, there.sizes)
    np.testing.assert_array_equal(everything(again)[0][:, 0], everything(there)[0][:, 0] * 2 + shift + 1)
    n_keys = _keys_in_memory(client)
    made.close()
    again.close()
    until(lambda: _keys_in_memory(client) <= n_keys - 2 * len(UNEVEN))
    with pytest.raises(ClusterError, match="closed"):
        again.each(len)


def _keys_in_memory(client):
    return sum(len(keys) for keys in client.has_what().values())


def test_what_tasks_share_is_sent_once(both):
    _, there = both
    sent = []

    class Work:
        def __call__(self, part):
            return len(part.X)

        def __reduce__(self):
            sent.append(1)
            return _length_of_rows, ()

    assert there.total(Work()) == 300
    assert 1 <= len(sent) < len(UNEVEN)


def _length_of_rows():
    return lambda part: len(part.X)


@pytest.mark.parametrize("method", ["each", "total"])
def test_progress_is_told_and_ends_with_all(both, method):
    told = []
    getattr(both[1], method)(lambda part: 1, "looking", lambda *news: told.append(news))
    assert told[-1] == ("looking", 6, 6)
    assert [done for _, done, _ in told] == sorted({done for _, done, _ in told})


def test_an_error_of_the_callback_comes_back_as_it_is(both):
    def closed(*news):
        raise BrokenPipeError("the terminal is gone")

    with pytest.raises(BrokenPipeError, match="terminal"):
        both[1].total(lambda part: 1, "looking", closed)


def test_an_error_of_the_work_comes_back_as_it_is(both):
    _, there = both

    def fail(part):
        raise FileNotFoundError("no such table")  # an OSError, as a lost connection is

    for method in (there.each, there.total, partial(there.derive, n_columns=1)):
        with pytest.raises(FileNotFoundError, match="no such table"):
            method(fail)


def test_one_thread_of_blas_and_no_warnings_on_workers(both):
    _, there = both

    def look(part):
        import warnings

        from threadpoolctl import threadpool_info

        warnings.warn("nobody should see this", stacklevel=1)
        return {library["num_threads"] for library in threadpool_info()}, warnings.filters[0][0]

    assert {(tuple(threads), action) for threads, action in there.each(look)} == {((1,), "ignore")}


def test_threads_of_a_worker_share_what_is_set_and_restored():
    before, seen = list(warnings.filters), []
    inside, may_leave = ([threading.Event() for _ in range(3)] for _ in range(2))

    def task(number):
        with alone():
            inside[number].set()
            may_leave[number].wait()
            seen.append(warnings.filters[0][0])

    threads = [threading.Thread(target=task, args=(number,)) for number in range(3)]
    for thread, is_inside in zip(threads, inside, strict=True):
        thread.start()
        is_inside.wait()
    for number in (
        0,
        2,
        1,
    ):  # the first one leaves while others are at work, and the last to come is not the last to go
        may_leave[number].set()
        threads[number].join()
    assert seen == ["ignore"] * 3
    assert list(warnings.filters) == before


# --- what may be passed -------------------------------------------------------------------------------------


def _frame(X, labels):
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=labels)


def _unknown(X, chunks):
    """A Dask array that does not know how many rows its chunks have."""
    array = da.from_array(X, chunks=chunks)
    return array[da.from_array(np.ones(len(X), dtype=bool), chunks=array.chunks[0])]


SOURCES = {
    "arrays": lambda X, y: (da.from_array(X, chunks=(UNEVEN, 3)), da.from_array(y, chunks=(UNEVEN,))),
    "cut along columns": lambda X, y: (da.from_array(X, chunks=(90, 2)), da.from_array(y, chunks=90)),
    "labels cut otherwise": lambda X, y: (da.from_array(X, chunks=(UNEVEN, 3)), da.from_array(y, chunks=77)),
    "labels in one column": lambda X, y: (da.from_array(X, chunks=100), da.from_array(y[:, None], chunks=100)),
    "unknown lengths": lambda X, y: (_unknown(X, (90, 3)), _unknown(y, 90)),
    "unknown and cut along columns": lambda X, y: (_unknown(X, (90, 2)), _unknown(y, 90)),
    "unknown lengths, otherwise": lambda X, y: (_unknown(X, (90, 3)), _unknown(y, 50)),
    "labels here": lambda X, y: (da.from_array(X, chunks=(UNEVEN, 3)), y),
    "labels here, lengths unknown": lambda X, y: (_unknown(X, (90, 3)), pd.Series(y)),
    "frame and series": lambda X, y: (
        dd.from_pandas(_frame(X, y)[["a", "b", "c"]], npartitions=4),
        dd.from_pandas(pd.Series(y), npartitions=4),
    ),
    "frame and array": lambda X, y: (
        dd.from_pandas(_frame(X, y)[["a", "b", "c"]], npartitions=4),
        da.from_array(y, 70),
    ),
    "frame and name": lambda X, y: (dd.from_pandas(_frame(X, y), npartitions=5), "label"),
    "filtered frame": lambda X, y: (_filtered(X, y), "label"),
}


def _filtered(X, y):
    """A frame some partitions of which are empty."""
    rows = pd.concat([_frame(X, y), _frame(X[:200] + 1e6, y[:200])], ignore_index=True)
    frame = dd.from_pandas(rows, npartitions=10)
    return frame[frame["a"] < 1e5]


def text_labels(y):
    """Text of several lengths; the last class comes in the last rows only."""
    labels = np.array(["no", "perhaps"])[y].astype(object)
    labels[-4:] = "at last"
    return labels


@pytest.mark.parametrize("labels", ["codes", "text"])
@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_rows_and_the_classes(client, source, labels):
    X, y = two_gaussians()
    y = text_labels(y) if labels == "text" else y - 7
    expected_classes, expected_codes = encode_labels(y)
    blocks, classes, names, _ = blocks_from_dask(*SOURCES[source](X, y), client=client)
    assert classes.tolist() == expected_classes.tolist()
    assert blocks.n_classes == len(classes)
    assert names == (["a", "b", "c"] if "frame" in source else ["column 0", "column 1", "column 2"])
    rows, codes = everything(blocks)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(codes, expected_codes)


@pytest.mark.parametrize(
    "labels",
    [
        [1, "1", (1, 2), b"1", 1.5] * 6,
        [True, False] * 15,
        [(1, 2), (1, 3)] * 15,
        np.array(["2024-01-02", "2023-05-06"] * 15, dtype="datetime64[D]"),
        np.array([0.5, -1.0] * 15),
        np.array([b"x", b"yy"] * 15),
        [2**70, 1] * 15,
    ],
    ids=["mixed", "truth", "tuples", "dates", "fractions", "bytes", "huge"],
)
def test_labels_of_any_kind_are_sorted_as_here(labels):
    y = labels
    if not isinstance(labels, np.ndarray):
        y = np.empty(len(labels), dtype=object)
        for i, label in enumerate(labels):
            y[i] = label
    X = np.arange(30.0)[:, None]
    expected_classes, expected_codes = encode_labels(y)
    with connect() as client:
        # Asked of each partition: the first holds a single label.
        blocks, classes, _, _ = blocks_from_dask(
            da.from_array(X, chunks=(1, 1)) if len(y) > 30 else da.from_array(X, chunks=((1, 0, 9, 20), 1)),
            da.from_array(y, chunks=((1, 9, 20),)),
            client=client,
        )
        assert list(classes) == list(expected_classes)
        assert classes.dtype.kind == expected_classes.dtype.kind
        np.testing.assert_array_equal(everything(blocks)[1], expected_codes)


def _spoiled(value, row=130, column=1):
    X, y = two_gaussians()
    X[row, column] = value
    X[-1, 2] = value
    return da.from_array(X, chunks=(UNEVEN, 3)), y


def _spoiled_labels(value, kind=np.float64):
    X, y = two_gaussians()
    y = y.astype(kind)
    y[[130, 299]] = value
    return da.from_array(X, chunks=(UNEVEN, 3)), da.from_array(y, chunks=(UNEVEN,))


def _spoiled_frame(as_object):
    X, y = two_gaussians()
    frame = _frame(X, y).astype({"b": object if as_object else "float64"})
    if not as_object:
        frame["b"] = frame["b"].map(str)
    return dd.from_pandas(frame, npartitions=3), "label"


def _text_array():
    X, y = two_gaussians()
    X = X.astype(object)
    X[200, 1] = "seven"
    return da.from_array(X, chunks=(UNEVEN, 3)), y


def _no_rows():
    array = da.ones((9, 2), chunks=(3, 2))
    return array[array[:, 0] > 2]


def _labelled(y):
    y = np.asarray(y)
    size = max(7, len(y) // 4)
    return da.from_array(np.arange(2.0 * len(y)).reshape(-1, 2), chunks=size), da.from_array(y, chunks=size)


REFUSED = {
    "NaN": (lambda: _spoiled(np.nan), DataError, r"2 NaN .*row 130 \(row 59 of partition 3\), column 1"),
    "infinity": (lambda: _spoiled(-np.inf), DataError, r"2 infinity .*row 130 \(row 59 of partition 3\), column 1"),
    "missing labels": (lambda: _spoiled_labels(np.nan), DataError, r"2 missing labels .*row 130 \(row 59 of partit"),
    "None labels": (lambda: _spoiled_labels(None, object), DataError, r"2 missing labels .*row 130 \(row 59 of part"),
    "infinite labels": (lambda: _spoiled_labels(np.inf), DataError, r"2 infinite labels, the first at row 130"),
    "text column": (lambda: _spoiled_frame(False), DataTypeError, r"partition 0 of X: column 'b' has type .*encode it"),
    "object column": (lambda: _spoiled_frame(True), DataTypeError, r"partition 0 of X: column 'b' has type (obj|str)"),
    "text in an array": (_text_array, DataTypeError, r"partition 4 of X: X holds text, 'seven' in row 0, 'column 1'"),
    "lengths": (lambda: (_labelled(range(20))[0], _labelled(range(21))[1]), DataError, "20 rows but y has 21 labels"),
    "lengths, labels here": (lambda: (_labelled(range(20))[0], list(range(21))), DataError, "20 rows but y has 21"),
    "no rows": (lambda: (_no_rows(), da.zeros(0, chunks=1)), DataError, "0 rows"),
    "one class": (lambda: _labelled(["a"] * 20), DataError, "only one class, 'a'"),
    "one sample": (lambda: _labelled([0] * 20 + [1]), DataError, "class 1 has only one sample"),
    "measurements": (lambda: _labelled(np.random.default_rng(0).normal(size=3000)), DataError, "regression target"),
    "measurements here": (lambda: (_labelled(range(3000))[0], np.arange(3000)), DataError, "regression target"),
    "one dimension": (lambda: (da.ones(20, chunks=5), da.ones(20, chunks=5)), DataError, "Expected 2D array"),
    "a series": (lambda: (_spoiled_frame(True)[0]["a"], [1] * 300), DataError, "Expected 2D"),
    "two columns of labels": (lambda: (da.ones((20, 2)), da.ones((20, 2))), DataError, "one label per row"),
    "no such column": (lambda: (_spoiled_frame(True)[0], "missing"), DataError, "no column 'missing'; the columns are"),
    "name for an array": (lambda: (da.ones((20, 2)), "label"), DataError, "has no names: pass y"),
    "unhashable": (lambda: _labelled(pd.Series([[1], [2]] * 10).to_numpy()), DataTypeError, "row 0 holds a list"),
    "not Dask": (lambda: (np.ones((20, 2)), np.ones(20)), DataTypeError, "must be a Dask array or DataFrame"),
    "no labels": (lambda: (da.ones((20, 2)), None), DataError, "y is missing"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_used_is_refused_with_its_place(client, name):
    make, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        blocks_from_dask(*make(), client=client)


def test_empty_partitions_are_remarked_upon_and_types_are_kept(client):
    X, y = two_gaussians()
    small = X.astype(np.float32)
    blocks, *_, notes = blocks_from_dask(da.from_array(small, chunks=(UNEVEN, 3)), y, client=client)
    assert notes == ("1 of 6 partitions are empty",)
    np.testing.assert_array_equal(everything(blocks)[0], small.astype(np.float64))


def test_a_data_set_is_described_block_by_block():
    X, y = two_gaussians(n=1000)
    X = np.column_stack([X, np.full(1000, 3.0), X[:, 1]])
    X[100:150] = X[200:250]
    names = [f"column {j}" for j in range(5)]
    data, varies = block_dataset(ArrayBlocks(X, y, 2, block_rows=130), np.array([0, 1]), names)
    expected = validate(X, y)
    assert varies.tolist() == [True, True, True, False, True]
    for field in ("constant_columns", "duplicate_columns", "n_duplicate_rows", "feature_names", "n_columns", "notes"):
        assert getattr(data, field) == getattr(expected, field), field
    assert data.copied_share == pytest.approx(expected.copied_share)
    np.testing.assert_array_equal(data.X, expected.X)
    np.testing.assert_array_equal(data.class_counts, expected.class_counts)


# --- training on workers ------------------------------------------------------------------------------------


def test_cross_fit_on_workers_is_cross_fit_here(client):
    X, y = two_gaussians(n=200)
    options = {"effort": "fast", "max_rows": 120, "seed": 3}
    told, killed = [], []

    def tell(*news):
        told.append(news)
        if not killed:  # whatever was sent to this worker has to be sent again
            killed.append(kill_worker(client))

    here = cross_fit(X, y, 2, **options, workers=Threads(1))
    there = cross_fit(X, y, 2, **options, workers=DaskWorkers(client), progress=tell)
    assert here.dropped == there.dropped
    for mine, theirs in zip(here.stages, there.stages, strict=True):
        assert (mine.fraction, mine.n_train, mine.names, mine.learner) == (
            theirs.fraction,
            theirs.n_train,
            theirs.names,
            theirs.learner,
        )
        np.testing.assert_array_equal(mine.logs, theirs.logs)
    assert told[0][1] < 11
    assert told[-1] == ("training", 22, 22)
    until_replaced(client, killed[0])


def test_training_on_a_cluster_of_one_thread():
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        connect(cluster) as client,
    ):
        assert DaskWorkers(client).map(np.dot, (np.arange(3.0),), [np.ones(3)] * 2, "training") == [3.0, 3.0]


def test_an_error_in_training_comes_back(client):
    def fail(shared, item):
        raise KeyError(item)

    with pytest.raises(KeyError, match="b"):
        DaskWorkers(client).map(fail, (np.zeros(5),), ["b"], "training")


# --- counts around the rows of a Dask array -----------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 3, 20])
@pytest.mark.parametrize("on_lattice", [False, True])
def test_ball_counts_of_dask_arrays_are_exact(d, on_lattice):
    X, y = two_gaussians(d=d, n_classes=3)
    X = np.round(X) if on_lattice else X
    radii = np.array([1.0, np.sqrt(2), 2.0, 5.0]) if on_lattice else np.array([0.1, 0.7, 3.0])
    counts = ball_counts(da.from_array(X, chunks=(UNEVEN, d)), da.from_array(y, chunks=80), radii)
    assert is_dask(counts)
    assert counts.chunks[0] == UNEVEN
    assert counts.dtype == np.int32
    np.testing.assert_array_equal(counts.compute(), ball_counts(X, y, radii))


def test_ball_counts_around_chosen_rows_and_new_points(client):
    X, y = two_gaussians()
    Xd, labels = da.from_array(X, chunks=(UNEVEN, 3)), text_labels(y)
    rows, points = np.array([299, 5, 5, 70, 71]), np.random.default_rng(1).normal(size=(9, 3))
    for queries in (rows, points, points.tolist()):
        counts = distributed_ball_counts(Xd, labels, np.array([0.5, 1.5]), queries=queries, client=client)
        expected = ball_counts(X, labels, [0.5, 1.5], queries=queries)
        np.testing.assert_array_equal(client.compute(counts).result(), expected)


def test_ball_counts_refuse_what_they_cannot_do():
    X, y = two_gaussians()
    Xd = da.from_array(X, chunks=100)
    with pytest.raises(ParameterError, match="exclude_groups"):
        ball_counts(Xd, y, [1.0], exclude_groups=y)
    with pytest.raises(ParameterError, match="300 is no row of X"):
        ball_counts(Xd, y, [1.0], queries=[300])
    with pytest.raises(DataError, match="2 columns but X has 3"):
        ball_counts(Xd, y, [1.0], queries=np.ones((4, 2)))
    with pytest.raises(ParameterError, match="ascend"):
        ball_counts(Xd, y, [2.0, 1.0])


# --- the benchmark learner ----------------------------------------------------------------------------------

FIGURES = [
    "bayes_error_",
    "standard_error_",
    "subsample_error_",
    "interval_",
    "radii_",
    "weights_",
    "class_error_",
    "pair_error_",
    "centres_",
    "priors_",
    "leave_one_out_error_",
    "reliable_",
    "reasons_",
    "n_features_in_",
]


def same_figures(a, b):
    for name in FIGURES:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    assert str(a) == str(b)


@pytest.fixture(scope="module")
def large():
    X, y = two_gaussians(n=70_000, d=2)
    return X, y, BenchmarkLearner(max_queries=2000).fit(X, y)


def test_a_small_dask_frame_is_fitted_here(client):
    X, y = two_gaussians()
    frame = _frame(X, text_labels(y))
    frame.loc[frame["label"] == "at last", "label"] = "no"
    with client.as_current():
        there = BenchmarkLearner().fit(dd.from_pandas(frame, npartitions=4), "label")
    here = BenchmarkLearner().fit(frame[["a", "b", "c"]], frame["label"])
    same_figures(here, there)
    np.testing.assert_array_equal(here.sample_error_, there.sample_error_)
    assert there.feature_names_in_.tolist() == ["a", "b", "c"]


def test_without_a_cluster_threads_of_this_process_do_it(both):
    X, y = both[0].X, both[0].codes
    before = list(warnings.filters)
    there = BenchmarkLearner().fit(da.from_array(X, chunks=(100, 3)), da.from_array(y, chunks=100))
    same_figures(BenchmarkLearner().fit(X, y), there)
    assert list(warnings.filters) == before
    with pytest.raises(ValueError, match=r"[Nn]o"):
        distributed.get_client()


def test_a_large_array_on_a_cluster_survives_a_killed_worker(client, large, tmp_path, monkeypatch):
    X, y, here = large
    killed, flag = [], tmp_path / "wait"
    waits = held_back(distributed_module._on_part, "counting", 34, flag)
    monkeypatch.setattr(distributed_module, "_on_part", waits)

    def kill(stage, done, total):
        if (stage, done) == ("choosing radii", 1):  # from here on, what is counted is told
            flag.touch()
        if stage == "counting" and not killed:
            assert (done < total, total) == (True, 35), "the kill must come in the middle of counting"
            killed.append(kill_worker(client))
            flag.unlink()

    learner = BenchmarkLearner(max_queries=2000, progress=kill)
    with client.as_current():
        learner.fit(da.from_array(X, chunks=(2000, 1)), da.from_array(y, chunks=7000))
    until_replaced(client, killed[0])
    same_figures(here, learner)
    np.testing.assert_array_equal(here.sample_error_[here.centres_], learner.sample_error_)
    assert 0 < learner.subsample_error_ < learner.standard_error_
    assert f"from balls around {len(learner.centres_)} of the rows" in str(learner)


def test_constant_columns_are_left_out_on_a_cluster(client, large):
    X, y, here = large
    frame = pd.DataFrame({"a": X[:, 0], "same": 1.0, "b": X[:, 1], "label": y})
    with client.as_current():
        there = BenchmarkLearner(max_queries=2000).fit(dd.from_pandas(frame, npartitions=6), "label")
    assert there.bayes_error_ == here.bayes_error_
    assert there.notes_[0] == "constant columns dropped: same"
    assert there.feature_names_in_.tolist() == ["a", "same", "b"]
    assert there.n_features_in_ == 3


def test_blocks_in_memory_give_the_same_as_arrays(large):
    X, y, here = large
    there = BenchmarkLearner(max_queries=2000).fit_blocks(ArrayBlocks(X, y, 2, block_rows=9000), validate(X, y))
    same_figures(here, there)


def test_all_rows_are_centres_without_a_limit():
    X, y = two_gaussians()
    here = BenchmarkLearner(standardize=False).fit(X, y)
    there = BenchmarkLearner(standardize=False).fit_blocks(ArrayBlocks(X, y, 2, block_rows=64), validate(X, y))
    same_figures(here, there)
    assert here.centres_.tolist() == list(range(300))
    assert here.subsample_error_ == 0.0
    assert "from balls around" not in str(here)


def test_the_part_of_the_error_due_to_few_centres_adds_up():
    X, y = two_gaussians(n=2000)
    full, part = (BenchmarkLearner(max_queries=n).fit(X, y) for n in (None, 200))
    assert part.subsample_error_ > full.standard_error_
    assert part.standard_error_**2 - part.subsample_error_**2 == pytest.approx(full.standard_error_**2, rel=0.3)
    assert np.isfinite(part.sample_error_[part.centres_]).all()
    assert np.isnan(part.sample_error_).sum() == 2000 - len(part.centres_)


def test_a_column_that_varies_in_hardly_any_row_does_no_harm(large):
    """All rows that stand for the others may have one value of it."""
    X, y, here = large
    seldom = np.zeros(len(X))
    seldom[np.setdiff1d(np.arange(len(X)), reference_rows(len(X)))[0]] = 1.0
    there = BenchmarkLearner(max_queries=2000).fit(np.column_stack([X, seldom]), y)
    assert there.bayes_error_ == here.bayes_error_
    both = BenchmarkLearner(max_queries=2000, standardize=False).fit(np.column_stack([X, seldom]), y)
    assert both.bayes_error_ == pytest.approx(here.bayes_error_, abs=3 * here.standard_error_)


# --- when things go wrong -----------------------------------------------------------------------------------


def quick_to_start(client):
    """Workers do not load scikit-learn, to limit its threads, before their first task: it takes them two seconds."""

    class Quick(distributed.WorkerPlugin):  # defined here, so that it is sent whole: workers cannot import this file
        def setup(self, worker):
            from threadpoolctl import ThreadpoolController

            from bayesfloor.rows import dask_workers

            dask_workers._libraries = ThreadpoolController

    client.register_plugin(Quick(), name="quick")


@pytest.fixture
def fragile(tmp_path):
    """Blocks on a cluster of their own, given up as soon as they have killed two workers."""
    over = threading.Event()
    with (
        distributed.LocalCluster(
            n_workers=2, processes=True, threads_per_worker=1, dashboard_address=None, memory_limit="1GB"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        killer = threading.Thread(target=_kill_the_doomed, args=(cluster.workers, tmp_path, over))
        killer.start()
        try:
            quick_to_start(client)
            X, y = two_gaussians()
            there, *_ = blocks_from_dask(da.from_array(X, chunks=(UNEVEN, 3)), y, client=client)
            client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 1))
            yield there
        finally:
            over.set()
            killer.join()


def _kill_the_doomed(nannies, folder, over):
    """Kill the processes that have left their numbers in a folder, each once it has started and can be replaced."""
    while not over.wait(0.02):
        for file in folder.iterdir():
            if any(has_started(nanny, int(file.name)) for nanny in nannies.values()):
                file.unlink()
                os.kill(int(file.name), signal.SIGKILL)


def _deadly_above(limit, folder):
    """Work that ends its worker, as one out of memory is ended, if it is given more rows of block 3 than this."""

    def work(part):
        import os
        import threading

        if part.number == 3 and len(part.X) > limit:
            (folder / str(os.getpid())).touch()
            threading.Event().wait()
        return part.X[:, :1]

    return work


def test_blocks_too_large_for_their_worker_are_done_in_pieces(fragile, both, tmp_path):
    here, _ = both
    np.testing.assert_array_equal(everything(fragile.derive(_deadly_above(100, tmp_path), 1))[0], here.X[:, :1])
    # Sums, too, by the workers that have taken their place.
    counting = partial(count_in_part, queries=here.X[:20], radii=np.array([0.5, 1.0]), n_classes=2)
    deadly = _deadly_above(100, tmp_path)

    def count(part):
        deadly(part)
        return counting(part)

    np.testing.assert_array_equal(fragile.total(count, "counting"), here.total(counting))


def test_blocks_that_kill_even_in_pieces_are_named(fragile, tmp_path):
    found = (
        r"(block \d \(rows \d+ to \d+\)|what all tasks need) was lost with each worker .* while counting.*smaller ch"
    )
    with pytest.raises(ClusterError, match=found):
        fragile.derive(_deadly_above(10, tmp_path), 1, "counting")


def test_a_task_out_of_memory_is_done_in_pieces(both):
    def greedy(part):
        if len(part.X) > 100:
            raise MemoryError
        return len(part.X)

    assert both[1].total(greedy) == 300


def test_an_unreachable_scheduler_is_told_soon(monkeypatch):
    monkeypatch.setattr(cluster_module, "_CONNECT_SECONDS", 1)
    with (
        pytest.raises(ClusterError, match=r"no scheduler answers at tcp://127\.0\.0\.1:1:"),
        connect("tcp://127.0.0.1:1"),
    ):
        pass


@pytest.mark.parametrize("address", ["nonsense://x", "127.0.0.1:notaport"])
def test_a_bad_address_is_named(address):
    with pytest.raises(ClusterError, match=re.escape(address)), connect(address):
        pass


def test_connecting_by_address_client_cluster_or_default(client, monkeypatch):
    monkeypatch.setattr("bayesfloor.rows.cluster._CONNECT_SECONDS", PATIENCE)
    for cluster in (client.scheduler.address, client.cluster):
        with connect(cluster) as found:
            assert found is not client
            assert found.submit(int, "7").result() == 7
        assert found.status == "closed"
    with connect(client) as found:
        assert found is client
    with client.as_current(), connect() as found:
        assert found is client
    assert client.status == "running"
    with pytest.raises(ParameterError, match="cluster must be"), connect(7):
        pass


@pytest.mark.parametrize("cluster", [None, "tcp://127.0.0.1:1"])
def test_an_event_loop_that_starts_late_is_started_again(monkeypatch, cluster):
    tries = []

    def open_(*given, **options):
        tries.append(options)
        assert len(tries) > 2
        return "a client"

    monkeypatch.setattr(distributed, "get_client", lambda **options: (_ for _ in ()).throw(ValueError("none is open")))
    with monkeypatch.context() as patch:
        patch.setattr(distributed, "Client", type("Client", (), {"__new__": lambda cls, *a, **o: open_(*a, **o)}))
        assert cluster_module.open_client(cluster) == ("a client", True)
        tries.clear()
        patch.setattr(cluster_module, "_TRIES", 2)
        with pytest.raises(ClusterError, match=r"^Dask's event loop"):
            cluster_module.open_client(cluster)


def _started(tmp_path, *arguments):
    code = tmp_path if (tmp_path / "bayesfloor").exists() else SOURCE
    environment = {**os.environ, "PYTHONPATH": str(code)}
    command = [sys.executable, "-m", "dask", *arguments, "--scheduler-file", str(tmp_path / "scheduler.json")]
    log = open(tmp_path / f"{arguments[0]}.log", "w")  # noqa: SIM115
    return subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=tmp_path)


@pytest.fixture
def doomed(tmp_path):
    """A scheduler and a worker in processes of their own."""
    scheduler = _started(tmp_path, "scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1")
    worker = _started(tmp_path, "worker", "--no-nanny", "--nthreads", "2", "--no-dashboard", "--host", "127.0.0.1")
    client = None
    try:
        until(lambda: (tmp_path / "scheduler.json").exists())
        file = str(tmp_path / "scheduler.json")
        client = distributed.Client(scheduler_file=file, set_as_default=False, timeout=PATIENCE)
        client.wait_for_workers(1, timeout=PATIENCE)
        yield client, scheduler
    finally:
        for process in (worker, scheduler):
            process.kill()
            process.wait()
        if client is not None:
            cluster_module.close_client(client)


@pytest.fixture
def other_code(tmp_path):
    """Scheduler and worker have another bayesfloor than we."""
    (tmp_path / "bayesfloor").mkdir()
    (tmp_path / "bayesfloor" / "__init__.py").write_text("")
    return str(tmp_path)


def test_workers_with_other_code_are_named(other_code, doomed):
    X, y = two_gaussians()
    with pytest.raises(ClusterError, match="the same version of bayesfloor"):
        blocks_from_dask(da.from_array(X, chunks=(30, 3)), y, client=doomed[0])
    with pytest.raises(ClusterError, match="the same version of bayesfloor"):
        DaskWorkers(doomed[0]).map(count_in_part, (np.zeros(3),), [1, 2], "training")


def test_a_lost_scheduler_is_named_with_the_stage(doomed):
    client, scheduler = doomed
    address = client.scheduler.address
    quick_to_start(client)
    X, y = two_gaussians()
    blocks, *_ = blocks_from_dask(da.from_array(X, chunks=(30, 3)), y, client=client)

    def first_only(part):
        import threading

        if part.number > 0:
            threading.Event().wait()  # until its process is killed: when the first one is told of, no other is done
        return 1

    with pytest.raises(ClusterError, match=f"cluster at {address} was lost while counting; nothing was written"):
        blocks.total(first_only, "counting", lambda *news: scheduler.kill())
    with pytest.raises(ClusterError):
        blocks.each(first_only, "looking")
    with pytest.raises(ClusterError):
        DaskWorkers(client).map(np.dot, (np.zeros(3),), [1, 2], "training")


def test_a_lost_scheduler_ends_training(doomed):
    client, scheduler = doomed
    quick_to_start(client)

    def first_only(shared, item):
        import threading

        if item > 0:
            threading.Event().wait()  # until its process is killed
        return item

    with pytest.raises(ClusterError, match="was lost while training"):
        DaskWorkers(client).map(first_only, (np.zeros(3),), range(30), "training", lambda *news: scheduler.kill())


def test_a_cluster_without_workers_is_given_up(monkeypatch):
    monkeypatch.setattr(cluster_module, "_WITHOUT_WORKERS", 0.5)
    monkeypatch.setattr(cluster_module, "_LOOK_AFTER", 0.2)
    X, y = two_gaussians()
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        connect(cluster) as client,
        pytest.raises(ClusterError, match=r"has had no worker for 0\.5 s while reading"),
    ):
        blocks_from_dask(da.from_array(X, chunks=100), y, client=client)


def test_dask_is_not_needed_and_asked_for_by_name(monkeypatch):
    code = "import sys, bayesfloor.balls.learner; print(*{'dask', 'distributed'} & set(sys.modules))"
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert run.stdout.strip() == ""
    assert not is_dask(np.ones(3))
    assert is_dask(da.ones(3))
    assert is_dask(dd.from_pandas(pd.DataFrame({"a": [1]}), npartitions=1))

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(cluster_module, "import_module", missing)
    with pytest.raises(ParameterError, match=r"pip install 'bayesfloor\[dask\]'"), connect():
        pass
