import multiprocessing
import sys
import threading
import time
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from bayesfloor import ParameterError
from bayesfloor.utils import parallel as workers_module
from bayesfloor.utils.parallel import available_memory, check_memory, n_threads, run_tasks
from waiting import PATIENCE


def test_one_thread_inside_a_worker_of_someone_else():
    assert n_threads(3) == 3
    assert n_threads(-1) == n_threads(None) >= 1
    found = []
    thread = threading.Thread(target=lambda: found.append(n_threads(None)))
    thread.start()
    thread.join()
    assert found == [1]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(n_threads, (None,)) == 1


@pytest.mark.parametrize("threads", [1, 3])
def test_every_task_runs_once_and_progress_is_told(threads):
    done, told = [], []
    run_tasks(done.append, range(50), threads, lambda *news: told.append(news), "testing")
    assert sorted(done) == list(range(50))
    assert told[-1] == ("testing", 50, 50)


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_an_error_stops_the_rest(error, monkeypatch):
    begun, done, stop = [], [], threading.Event()
    monkeypatch.setattr(workers_module, "threading", SimpleNamespace(Event=lambda: stop))

    def work(task):
        begun.append(task)
        if task == 1:
            raise error
        assert stop.wait(PATIENCE), "the other thread was not told"  # it is at work until then
        done.append(task)

    before = threading.enumerate()
    with pytest.raises(error):
        run_tasks(work, range(1000), 2)
    assert sorted(begun) == [0, 1], "no further task is begun"
    assert done == [0]
    assert threading.enumerate() == before, "nothing goes on in the background"


def test_what_cannot_fit_is_refused_with_both_sizes():
    assert check_memory("it", 100, 1000) == 900
    with pytest.raises(ParameterError, match=r"the result needs 2,000 bytes .* memory_limit, 1,000 bytes"):
        check_memory("the result", 2000, 1000)
    with pytest.raises(ParameterError, match="a quarter of the free memory"):
        check_memory("the result", 2**60, None)
    assert available_memory() > 2**20


def test_free_memory_where_there_is_no_file_of_it(monkeypatch):
    pages = {"SC_AVPHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(workers_module.os, "sysconf", pages.__getitem__, raising=False)
    monkeypatch.setattr(workers_module, "open", Mock(side_effect=FileNotFoundError), raising=False)
    monkeypatch.setattr(sys, "platform", "freebsd14")
    assert available_memory() == 1000 * 4096
    monkeypatch.setattr(workers_module.os, "sysconf", Mock(side_effect=ValueError("unrecognized configuration name")))
    assert available_memory() == 4 * 2**30, "nobody knows: a guess"


@pytest.mark.parametrize(("status", "expected"), [(0, (70 + 30) * 16384), (5, 4 * 2**30)])
def test_free_memory_of_macos(monkeypatch, status, expected):
    class System:
        mach_host_self = Mock(return_value=7)

        def host_statistics64(self, host, flavour, figures, n_figures):
            assert (host, flavour, n_figures._obj.value, len(figures)) == (7, 4, 38, 38)
            figures[:3] = 70, 50, 30  # free, active, inactive
            return status

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(workers_module.ctypes, "CDLL", lambda _: System())
    monkeypatch.setattr(workers_module.os, "sysconf", {"SC_PAGE_SIZE": 16384}.__getitem__, raising=False)
    assert available_memory() == expected


@pytest.mark.parametrize(("answer", "expected"), [(1, 5 * 2**30), (0, 4 * 2**30)])
def test_free_memory_of_windows(monkeypatch, answer, expected):
    def fill(reference):
        assert reference._obj.length == 64, "the size that Windows asks for"
        reference._obj.total, reference._obj.available = 16 * 2**30, 5 * 2**30
        return answer

    monkeypatch.setattr(sys, "platform", "win32")
    kernel = SimpleNamespace(GlobalMemoryStatusEx=fill)
    monkeypatch.setattr(workers_module.ctypes, "windll", SimpleNamespace(kernel32=kernel), raising=False)
    assert available_memory() == expected


def test_overlapping_runs_leave_the_process_as_they_found_it():
    from threadpoolctl import threadpool_info

    def settings():
        return sys.getswitchinterval(), [
            pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"
        ]

    before = settings()
    begun = threading.Barrier(2)

    def run(wait):
        begun.wait(10)
        run_tasks(lambda _: time.sleep(wait), range(4), 2)

    threads = [threading.Thread(target=run, args=(wait,)) for wait in (0.02, 0.08)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert settings() == before
