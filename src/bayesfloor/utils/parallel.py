"""Threads and memory: how many tasks run at once, how much they may hold."""

import ctypes
import multiprocessing
import numbers
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any, Protocol, TypeVar

from threadpoolctl import ThreadpoolController

from ..errors import ParameterError
from .checks import MOST, brief, check_number

__all__ = [
    "ForAll",
    "Pieces",
    "Progress",
    "Threads",
    "Workers",
    "available_memory",
    "check_memory",
    "n_threads",
    "no_warnings",
    "one_blas_thread",
    "run_tasks",
]

Progress = Callable[[str, int, int], None]
Task = TypeVar("Task")

_GIB = 2**30
_SWITCH = 5e-4  # seconds
_MOST_THREADS = 1024


def n_threads(n_jobs: int | None) -> int:
    """Threads to use: all cores for None, but one inside a worker of someone else's pool."""
    if n_jobs is None:
        in_worker = (
            multiprocessing.parent_process() is not None
            or multiprocessing.current_process().name.startswith("Loky")
            or threading.current_thread() is not threading.main_thread()
        )
        return 1 if in_worker else _cores()
    is_whole = isinstance(n_jobs, numbers.Integral)
    if not is_whole or n_jobs == 0 or n_jobs > _MOST_THREADS:
        limit = f", at most {_MOST_THREADS}" if is_whole and n_jobs else ""
        raise ParameterError(f"n_jobs must be None or a whole number other than 0{limit}; got {brief(n_jobs)}")
    return int(n_jobs) if n_jobs > 0 else max(1, _cores() + 1 + int(n_jobs))


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # not on macOS or Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def available_memory() -> int:
    """Bytes that can be had without swapping, as far as the system tells; otherwise 4 GiB."""
    ask = {"darwin": _free_on_macos, "win32": _free_on_windows}.get(sys.platform, _free_on_linux)
    try:
        return ask()
    except (OSError, ValueError, AttributeError):  # the file, the figure or the function is not there
        return 4 * _GIB


def _free_on_linux() -> int:
    """What the kernel calls available; of other Unix systems the free pages."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _free_on_macos() -> int:
    """Free pages and those not used lately, as the activity monitor counts them."""
    system = ctypes.CDLL(None)
    system.mach_host_self.restype = ctypes.c_uint32
    n_figures = ctypes.c_uint32(38)  # of vm_statistics64, in units of 32 bits: free, active, inactive, ...
    figures = (ctypes.c_uint32 * n_figures.value)()
    if system.host_statistics64(system.mach_host_self(), 4, figures, ctypes.byref(n_figures)) != 0:
        raise OSError("host_statistics64")
    return (figures[0] + figures[2]) * os.sysconf("SC_PAGE_SIZE")


class _MemoryStatus(ctypes.Structure):
    """MEMORYSTATUSEX of the Windows API."""

    _fields_ = (
        ("length", ctypes.c_uint32),
        ("load", ctypes.c_uint32),
        ("total", ctypes.c_uint64),
        ("available", ctypes.c_uint64),
        ("others", ctypes.c_uint64 * 5),
    )


def _free_on_windows() -> int:
    status = _MemoryStatus(length=ctypes.sizeof(_MemoryStatus))
    kernel = ctypes.windll.kernel32  # type: ignore[attr-defined]  # on other systems
    if not kernel.GlobalMemoryStatusEx(ctypes.byref(status)):
        raise OSError("GlobalMemoryStatusEx")
    return int(status.available)


def check_memory(what: str, needed: int, memory_limit: int | None) -> int:
    """Refuse what cannot fit, naming both sizes; return the bytes left over."""
    if memory_limit is not None:
        memory_limit = int(check_number("memory_limit", memory_limit, 0, MOST))
    limit = available_memory() // 4 if memory_limit is None else memory_limit
    if needed > limit:
        source = "a quarter of the free memory" if memory_limit is None else "memory_limit"
        raise ParameterError(
            f"{what} needs {needed:,} bytes ({needed / _GIB:.1f} GiB), more than {source}, {limit:,} bytes. "
            "Use fewer queries, classes or radii, or raise memory_limit"
        )
    return limit - needed


@cache
def _blas(with_scipy: bool) -> ThreadpoolController:
    """Looking for the loaded libraries takes milliseconds; numpy's is there from the start, scipy has another."""
    return ThreadpoolController()


class ForAll:
    """A change of the whole process: the first of overlapping runs makes it, the last one takes it back."""

    def __init__(self, change: Callable[[], AbstractContextManager[Any]]) -> None:
        self._change, self._lock, self._users = change, threading.Lock(), 0

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._made = self._change()
                self._made.__enter__()
            self._users += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._made.__exit__(None, None, None)


@contextmanager
def _switch_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, _SWITCH))
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def _ignore_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# Matrix products in one thread: several wait for each other longer than small products take.
one_blas_thread = ForAll(lambda: _blas("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas"))
# Threads hand over Python's lock ten times as often: one that comes back from compiled code waits less for it.
_quick_switches = ForAll(_switch_often)
no_warnings = ForAll(_ignore_warnings)  # threads share the filters


def run_tasks(
    work: Callable[[Task], None],
    tasks: Iterable[Task],
    threads: int,
    progress: Progress | None = None,
    stage: str = "counting",
) -> None:
    """Run `work` on every task in threads, with one BLAS thread each.

    Progress is told at most ten times a second. On Ctrl-C, or the first error, no further task starts.
    """
    tasks = list(tasks)
    with one_blas_thread:
        if threads <= 1 or len(tasks) <= 1:
            told = 0.0
            for done, task in enumerate(tasks, start=1):
                work(task)
                if progress is not None and (done == len(tasks) or time.monotonic() - told > 0.1):
                    told = time.monotonic()
                    progress(stage, done, len(tasks))
            return
        remaining, stop, n_done = iter(tasks), threading.Event(), [0] * threads

        def worker(number: int) -> None:
            while not stop.is_set():
                try:
                    task = next(remaining)  # one step of a list's iterator: safe between threads
                except StopIteration:
                    return
                work(task)
                n_done[number] += 1

        with _quick_switches, ThreadPoolExecutor(threads) as pool:
            try:
                pending = {pool.submit(worker, number) for number in range(threads)}
                while pending:
                    finished, pending = wait(pending, timeout=0.1, return_when=FIRST_EXCEPTION)
                    for future in finished:
                        future.result()
                    if progress is not None:
                        progress(stage, sum(n_done), len(tasks))
            except BaseException:
                stop.set()
                raise


class Pieces(Protocol):
    """Keeps finished pieces of a run: a checkpoint."""

    def has(self, name: str) -> bool:
        """Whether the piece of this name is kept already."""

    def get(self, name: str, make: Callable[[], Any]) -> Any:
        """The piece of this name: kept already, or made and kept."""


class Workers(Protocol):
    """Where tasks are done: threads here, or the workers of a cluster."""

    def map(
        self,
        function: Callable[..., Any],
        shared: tuple[Any, ...],
        items: Sequence[Any],
        stage: str,
        progress: Progress | None = None,
    ) -> list[Any]:
        """``function(*shared, item)`` for each item, in order."""

    def without_pieces(self) -> "Workers":
        """The same workers, who keep nothing: for what is done again sooner than it is stored."""


class Threads:
    """Threads of this process.

    Parameters
    ----------
    n : int
    pieces : Pieces, optional
        Keeps what is done, so that an interrupted run can go on.
    """

    def __init__(self, n: int, pieces: "Pieces | None" = None) -> None:
        self.n, self._pieces = n, pieces

    def without_pieces(self) -> "Threads":
        """The same threads without a checkpoint."""
        return Threads(self.n)

    def map(
        self,
        function: Callable[..., Any],
        shared: tuple[Any, ...],
        items: Sequence[Any],
        stage: str,
        progress: Progress | None = None,
    ) -> list[Any]:
        """``function(*shared, item)`` for each item, in order."""
        results: list[Any] = [None] * len(items)

        def work(number: int) -> None:
            if self._pieces is None:
                results[number] = function(*shared, items[number])
            else:
                results[number] = self._pieces.get(f"{stage} {number}", lambda: function(*shared, items[number]))

        with no_warnings:
            run_tasks(work, range(len(items)), self.n, progress, stage)
        return results
