"""Tasks on the workers of a Dask cluster: one thread for each, and training through joblib."""

import contextlib
import operator
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial, reduce
from importlib import import_module
from typing import Any

from threadpoolctl import ThreadpoolController

from ..errors import DataError
from ..utils.parallel import Pieces, Progress, no_warnings, one_blas_thread
from .cluster import CANCELLED, BlockFailed, address_of, dask_module, lost, reported, wait_for

__all__ = ["DaskWorkers", "add_up", "alone", "same", "send_once"]

_AT_ONCE = 4  # results that are added in one task: all of them lie in a worker's memory


@contextmanager
def alone() -> Iterator[None]:
    """One BLAS and OpenMP thread, and no warnings, while tasks run.

    Threads of a worker share both settings: the first task makes them and the last one takes them back.
    """
    import joblib

    openmp = _libraries()  # loads scipy's BLAS, too
    # OpenMP counts threads for each thread; joblib would send what a model does in parallel to the cluster.
    with (
        one_blas_thread,
        no_warnings,
        openmp.limit(limits=1, user_api="openmp"),
        joblib.parallel_config("threading", n_jobs=1),
    ):
        yield


@cache
def _libraries() -> ThreadpoolController:
    """Looking for the loaded libraries takes milliseconds, and finds those alone that are there."""
    for module in ("scipy.linalg", "sklearn.utils"):
        import_module(module)
    return ThreadpoolController()


def send_once(client: Any, values: Sequence[Any], stage: str) -> list[Any]:
    """Futures of what many tasks need: sent to the cluster once, and then from worker to worker."""
    try:
        with reported(client, stage), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that much is sent; no task is running that would set filters too
            # As tasks, and not scattered: if workers are lost with it, the scheduler can make it again.
            sent = [client.submit(same, value, pure=False, key=f"shared-{uuid.uuid4().hex}") for value in values]
            wait_for(client, list(sent), stage)
            # Otherwise all work would be drawn to where it is. A worker that dies meanwhile is no harm: it is fetched.
            with contextlib.suppress(Exception):
                client.replicate(sent)
    except BlockFailed as failed:
        raise failed.error(stage, "what all tasks need") from failed.cause
    return sent


def same(value: Any) -> Any:
    """What it is given: a task that only passes something on."""
    return value


def _vanished() -> Any:
    raise DataError("a piece of the checkpoint has been removed while it was used: start again")


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    # For a cluster of a single thread joblib prefers this process, and nobody has fetched what was sent.
    here = [value.result() if type(value).__name__ == "Future" else value for value in arguments]
    with alone():
        return function(*here)


def add_up(terms: Sequence[Any], submit: Callable[..., Any]) -> Any:
    """Sum of futures or of delayed results, in order; `submit` makes a task of a function and its arguments.

    Not a fold of Dask's bags: there a result goes through three tasks, and is let go three messages later.
    """
    while len(terms) > 1:
        terms = [submit(_sum_of, *terms[i : i + _AT_ONCE]) for i in range(0, len(terms), _AT_ONCE)]
    return terms[0]


def _sum_of(*terms: Any) -> Any:
    return reduce(operator.add, terms)


class DaskWorkers:
    """Workers of a cluster, through joblib's Dask backend; see `utils.parallel.Workers`.

    Parameters
    ----------
    client : distributed.Client
    pieces : Pieces, optional
        Keeps here what is done there, so that an interrupted run can go on.
    """

    def __init__(self, client: Any, pieces: Pieces | None = None) -> None:
        self.client, self._pieces = client, pieces

    def without_pieces(self) -> "DaskWorkers":
        """The same workers without a checkpoint."""
        return DaskWorkers(self.client)

    def map(
        self,
        function: Callable[..., Any],
        shared: tuple[Any, ...],
        items: Sequence[Any],
        stage: str,
        progress: Progress | None = None,
    ) -> list[Any]:
        """``function(*shared, item)`` for each item, in order."""
        import joblib

        dask_module("distributed")
        names = [f"{stage} {number}" for number in range(len(items))]
        todo = [number for number, name in enumerate(names) if self._pieces is None or not self._pieces.has(name)]
        made: dict[int, Any] = {}
        told = 0.0
        if todo:
            # The function too, though it is not used: joblib would wait for ever for workers that cannot load it.
            sent = send_once(self.client, [*shared, function], stage)[:-1]
            with joblib.parallel_config(backend="dask", client=self.client):
                calls = (joblib.delayed(_call)(function, *sent, items[number]) for number in todo)
                # Not in batches: a task is a model's training.
                found = joblib.Parallel(return_as="generator", batch_size=1, pre_dispatch="all")(calls)
                for number in todo:
                    made[number] = self._next(found, stage)
                    if self._pieces is not None:
                        self._pieces.get(names[number], partial(same, made[number]))
                    done = len(items) - len(todo) + len(made)
                    if progress is not None and (done == len(items) or time.monotonic() - told > 0.1):
                        told = time.monotonic()
                        progress(stage, done, len(items))
        if self._pieces is not None:
            made |= {n: self._pieces.get(name, _vanished) for n, name in enumerate(names) if n not in made}
        return [made[number] for number in range(len(items))]

    def _next(self, found: Iterator[Any], stage: str) -> Any:
        address = address_of(self.client)
        try:
            return next(found)
        except CANCELLED as error:
            raise lost(address, stage) from error
        except Exception as error:
            if self.client.status != "running":
                raise lost(address, stage) from error
            failed = BlockFailed(None, error).error(stage, "the training of a model")
            if failed is error:
                raise
            raise failed from error
