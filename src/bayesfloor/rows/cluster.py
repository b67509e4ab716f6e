"""Dask clusters: connecting, waiting, and words for what goes wrong."""

import time
import warnings
from asyncio import CancelledError as AsyncCancelled
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from ..errors import ClusterError, ParameterError
from ..utils.checks import brief
from ..utils.parallel import Progress, n_threads

__all__ = ["CANCELLED", "BlockFailed", "close_client", "connect", "dask_module", "is_dask", "reported", "wait_for"]

_CONNECT_SECONDS = 10
_TRIES = 4  # of starting a client's event loop
_LOOK_AFTER = 5.0  # seconds without news after which workers are counted
_WITHOUT_WORKERS = 120.0  # seconds without a single worker after which nobody is expected to come
_UNLIKE = "scheduler and workers need the same version of bayesfloor as here: install it on each of them"
CANCELLED = (CancelledError, AsyncCancelled)
_GONE = (*CANCELLED, OSError, EOFError)  # OSError: CommClosedError, TimeoutError and their like


def is_dask(X: Any) -> bool:
    """Whether this is a collection of Dask; does not import it.

    Examples
    --------
    >>> is_dask([[1.0]])
    False
    """
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def dask_module(name: str) -> Any:
    """A module of Dask, or an error that says how to get it."""
    try:
        return import_module(name)
    except ImportError:
        raise ParameterError("this needs Dask: pip install 'bayesfloor[dask]'") from None


# --- connecting ---------------------------------------------------------------------------------------------


@contextmanager
def connect(cluster: Any = None) -> Iterator[Any]:
    """A client of a cluster; closed at the end if it was opened here.

    Parameters
    ----------
    cluster : None, str, distributed.Client or a cluster object
        None: the client that is open already, or else threads of this process. A string is a scheduler's address.

    Raises
    ------
    ClusterError
        No scheduler answers within ten seconds.
    """
    client, is_own = open_client(cluster)
    try:
        yield client
    finally:
        if is_own:
            close_client(client)


def open_client(cluster: Any) -> tuple[Any, bool]:
    """Client, and whether it was opened here."""
    distributed = dask_module("distributed")
    if isinstance(cluster, distributed.Client):
        if cluster.status != "running":
            raise ClusterError(f"the client of {address_of(cluster)} is {cluster.status}: open a new one")
        return cluster, False
    if cluster is None:
        with suppress(ValueError):
            return distributed.get_client(timeout=_CONNECT_SECONDS), False
        options = {"processes": False, "n_workers": 1, "threads_per_worker": n_threads(-1), "dashboard_address": None}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the port of another cluster's pages is in use
            return _start(lambda: distributed.Client(**options, set_as_default=False)), True
    address = cluster if isinstance(cluster, str) else getattr(cluster, "scheduler_address", None)
    if not isinstance(address, str):
        raise ParameterError(
            f"cluster must be a scheduler's address, a distributed.Client or a cluster, got {type(cluster).__name__}"
        )
    given = cluster.strip() if isinstance(cluster, str) else cluster
    if isinstance(given, str):
        _check_address(given)
    try:
        return _start(lambda: distributed.Client(given, timeout=_CONNECT_SECONDS, set_as_default=False)), True
    except ClusterError:
        raise
    except (*_GONE, ValueError, RuntimeError) as error:
        why = " ".join(str(error).split())[:200]
        raise ClusterError(
            f"no scheduler answers at {address}: is it running, and reachable from here? ({why})"
        ) from None


def _check_address(address: str) -> None:
    """Refuse what is no address: a client that was opened with it would complain when it is thrown away."""
    addressing, registry = (dask_module(f"distributed.comm.{name}") for name in ("addressing", "registry"))
    try:
        scheme, place = addressing.parse_address(address)
        registry.get_backend(scheme)
        if scheme != "inproc" and not 0 < addressing.parse_host_port(place)[1] < 2**16:
            raise ValueError("a port is a number from 1 to 65535")
    except ValueError as error:
        raise ClusterError(
            f"{brief(address)} is no address of a scheduler, such as tcp://10.0.0.1:8786 ({brief(str(error), 150)})"
        ) from None


def _start(open_: Callable[[], Any]) -> Any:
    """A client; tried again where its thread did not start in time.

    distributed gives the thread of a client's event loop ten seconds and then fails with a bare assertion: a machine
    with more to do than it can may need longer.
    """
    for _ in range(_TRIES - 1):
        with suppress(AssertionError):
            return open_()
    try:
        return open_()
    except AssertionError:
        raise ClusterError("Dask's event loop did not start in time: is this machine overloaded?") from None


def close_client(client: Any) -> None:
    """Close without ado, whatever is left of the cluster."""
    with suppress(*_GONE, RuntimeError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client.close(timeout=_CONNECT_SECONDS)


def address_of(client: Any) -> str:
    """Address of a client's scheduler, for messages."""
    return str(getattr(getattr(client, "scheduler", None), "address", None) or "an unknown address")


# --- waiting ------------------------------------------------------------------------------------------------


class BlockFailed(Exception):
    """What a task raised, or what became of it; `number` is None if it belongs to no single block."""

    def __init__(self, number: int | None, cause: BaseException) -> None:
        super().__init__(number, cause)
        self.number, self.cause = number, cause

    @property
    def lacks_memory(self) -> bool:
        """Whether less work at a time might help."""
        return isinstance(self.cause, MemoryError) or type(self.cause).__name__ == "KilledWorker"

    def error(self, stage: str, what: str = "") -> BaseException:
        """What to raise to the user."""
        where = what or ("a block" if self.number is None else f"block {self.number}")
        if self.lacks_memory:
            return ClusterError(
                f"{where} was lost with each worker it was given to while {stage or 'working'}, most likely because "
                "their memory is too small: use smaller chunks (X.rechunk, df.repartition), or workers with more memory"
            )
        if isinstance(self.cause, ModuleNotFoundError) and "bayesfloor" in str(self.cause):
            return ClusterError(_UNLIKE)
        if type(self.cause) is RuntimeError and "deserialization of the task graph" in str(self.cause):
            return ClusterError(_UNLIKE)
        return self.cause


@contextmanager
def reported(client: Any, stage: str) -> Iterator[None]:
    """Name a lost cluster as such."""
    address = address_of(client)
    if client.status != "running":  # it may come back, but all that was on it is gone
        raise lost(address, stage)
    try:
        yield
    except _GONE as error:
        raise lost(address, stage) from error
    except Exception as error:
        if type(error).__name__ == "KilledWorker":
            raise BlockFailed(None, error).error(stage) from error
        if client.status == "running" or isinstance(error, BlockFailed | ClusterError):
            raise
        raise lost(address, stage) from error


def lost(address: str, stage: str) -> ClusterError:
    """The error for a cluster that is gone."""
    return ClusterError(
        f"the cluster at {address} was lost while {stage or 'working'}; nothing was written. Look at the scheduler's "
        "log, then start again"
    )


def wait_for(client: Any, futures: list[Any], stage: str, progress: Progress | None = None) -> None:
    """Wait until all are done; takes them out of the list, so that nothing is kept that nobody else keeps.

    Raises
    ------
    BlockFailed
        A task failed.
    ClusterError
        There is no cluster any more.
    """
    distributed = dask_module("distributed")
    waiting = {future.key: (number, future) for number, future in enumerate(futures)}
    try:
        with reported(client, stage):
            pending = distributed.as_completed(futures, loop=client.loop)
        futures.clear()
        _wait(client, pending, waiting, stage, progress)
    except BaseException:
        for _, future in waiting.values():  # nothing goes on in the background
            future.release()
        raise


def _wait(
    client: Any, pending: Any, waiting: dict[Any, tuple[int, Any]], stage: str, progress: Progress | None
) -> None:
    total, told, pause = len(waiting), 0.0, 0.001
    looked = with_workers = time.monotonic()
    while waiting:
        with reported(client, stage):
            has_news = _taken(client, pending, waiting, stage)
            now = time.monotonic()
            if has_news:
                looked = with_workers = now
            elif now - looked > _LOOK_AFTER:
                looked, with_workers = now, now if client.nthreads() else with_workers
        if now - with_workers > _WITHOUT_WORKERS:
            raise ClusterError(
                f"the cluster at {address_of(client)} has had no worker for {_WITHOUT_WORKERS:g} s while "
                f"{stage or 'working'}"
            )
        if has_news and progress is not None and (not waiting or now - told > 0.1):
            told = now
            progress(stage, total - len(waiting), total)
        if not has_news:
            time.sleep(pause)
        pause = 0.001 if has_news else min(2 * pause, 0.05)


def _taken(client: Any, pending: Any, waiting: dict[Any, tuple[int, Any]], stage: str) -> bool:
    """Take those that are done from those that are waited for, whether there are any; nothing holds them then."""
    batch = pending.next_batch(block=False) if pending.has_ready() else []
    n_waiting = len(waiting)
    for future in batch:
        status, number = future.status, waiting[future.key][0]
        if status == "error":
            raise BlockFailed(number, future.exception())
        if status == "cancelled":
            raise lost(address_of(client), stage)
        if status == "finished":
            del waiting[future.key]
        else:  # its worker has died since: it is being made again
            pending.add(future)
    return len(waiting) < n_waiting
