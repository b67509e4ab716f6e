"""Waiting for what must come about. No clock decides whether a test passes, however busy the machine is."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PATIENCE = 600.0  # seconds; only so that what never comes about is told, and nobody waits for ever


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "did not come about"
        time.sleep(0.02)


def held_back(run: Callable[..., Any], stage: str, block: int, flag: Path) -> Callable[..., Any]:
    """`run` of `bayesfloor.rows.dask_blocks`, but in this stage one block waits as long as a file is there.

    Until it is removed the stage cannot end: what is to happen in the middle of it does.
    """

    def wait_and_run(held: Any, number: int, start: int, work: Any) -> Any:
        import time

        from distributed import get_worker

        if number == block and get_worker().get_current_task().startswith(f"{stage}-"):
            while flag.exists():
                time.sleep(0.01)
        return run(held, number, start, work)

    return wait_and_run


def has_started(nanny: Any, pid: int | None = None) -> bool:
    """Whether the process of a Dask worker is up, and its nanny knows: if it dies sooner, no other is started."""
    process = nanny.process
    return process is not None and process.status.name == "running" and nanny.pid == (pid or nanny.pid)


def kill_worker(client: Any) -> int:
    """Kill the process of a worker of a local cluster, as the system does when memory runs out."""
    nanny = next(iter(client.cluster.workers.values()))
    until(lambda: has_started(nanny))
    pid = int(nanny.pid)
    os.kill(pid, signal.SIGKILL)
    return pid


def until_replaced(client: Any, pid: int) -> None:
    """Wait until another process has taken the place of the one that was killed."""
    nannies = client.cluster.workers.values()
    until(lambda: all(has_started(nanny) and nanny.pid != pid for nanny in nannies))
    until(lambda: len(client.nthreads()) == len(nannies))
    assert pid not in client.run(os.getpid).values(), "the worker must really have died"
