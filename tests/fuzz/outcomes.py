"""What a call came to: an answer, a refusal in our own words, or what must not happen."""

import json
import math
import multiprocessing
import os
import re
import resource
import signal
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

import numpy as np

import bayesfloor as bf

__all__ = ["BAD", "attempt", "in_a_child", "nonsense_in"]

OWN = (bf.DataError, bf.DataTypeError, bf.ParameterError, bf.ClusterError)
BAD = ("raw exception", "wrong and silent", "too slow", "crash")
_MEMORY = 6 * 2**30  # address space of a child beside what it has: what is larger is no answer but an accident
_SECONDS = 60  # for one call; the longest takes a second or two, on a machine that is not busy


_MOST_LINES = 14  # a dozen problems of a table, how many more there are, and how to leave all of them out


class _TooSlow(BaseException):
    pass


def attempt(call: Callable[[], Any], seconds: int = _SECONDS) -> tuple[str, str]:
    """Outcome of a call, and what is to be said about it."""

    def stop(*_: Any) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = nonsense_in(call())
        return ("wrong and silent", found) if found else ("answer", "")
    except OWN as error:
        said = str(error)
        return ("refused", said) if _is_short(said) else ("wrong and silent", said[:200])
    except _TooSlow:
        return "too slow", f"not done in {seconds} s"
    except (Exception, SystemExit) as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(at.filename).name}:{at.lineno}"
        return "raw exception", f"{type(error).__name__} in {where}: {str(error)[:100]}"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _is_short(said: str) -> bool:
    """One line, or one for each of several problems of a table."""
    first, *others = said.splitlines() or [""]
    is_list = re.search(r" has \d+ problems:$", first) is not None and len(others) <= _MOST_LINES
    return bool(said) and (is_list or (not others and len(said) < 2000))


def nonsense_in(answer: Any) -> str:
    """What is wrong with an answer; empty if nothing is."""
    if isinstance(answer, bf.FloorResult):
        return _nonsense_in_result(answer)
    if isinstance(answer, bf.BenchmarkLearner):
        most = 1 - 1 / len(answer.classes_)
        inside = answer.interval_.low - 1e-12 <= answer.bayes_error_ <= answer.interval_.high + 1e-12
        ok = 0 <= answer.bayes_error_ <= most and inside and np.isfinite(answer.radii_).all()
        return "" if ok else f"estimate {answer.bayes_error_} with {answer.interval_}"
    if isinstance(answer, float | np.floating) and not math.isfinite(answer):
        return f"{answer} as an answer"
    if isinstance(answer, np.ndarray) and answer.dtype.kind == "f" and not np.isfinite(answer).all():
        return "an array that is not finite"
    if isinstance(answer, tuple | list):
        return next((found for entry in answer if (found := nonsense_in(entry))), "")
    if is_dataclass(answer) and not isinstance(answer, type):
        return next((found for f in fields(answer) if (found := nonsense_in(getattr(answer, f.name)))), "")
    return ""


def _nonsense_in_result(result: bf.FloorResult) -> str:
    """A floor within its interval, not above its ceiling or the error of naming the largest class; and printable."""
    low, high = result.interval.low, result.interval.high
    slack = 1e-9
    if not 0 <= result.floor <= 1 - 1 / len(result.classes) + slack:
        return f"floor {result.floor} of {len(result.classes)} classes"
    if not 0 <= low <= result.floor + slack <= high + 2 * slack or high > 1:
        return f"floor {result.floor} outside {result.interval}"
    if result.ceiling is not None and result.floor > result.ceiling + slack:
        return f"floor {result.floor} above its ceiling {result.ceiling}"
    if result.floor > result.majority_error + slack:
        return f"floor {result.floor} above the error {result.majority_error} of naming the largest class"
    if abs(sum(result.class_error) - result.floor) > 1e-6:
        return f"shares of the classes add up to {sum(result.class_error)}, not to {result.floor}"
    if re.search(r"\bnan\b", str(result)) and "nan" not in map(str, result.classes):
        return "nan in print"
    json.loads(result.to_json(), parse_constant=_refuse_constant)
    return ""


def _refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} in JSON")


# --- in a process of its own: a crash, or memory that is asked for without end, must not end the tests ----------------

_FINISHED = ("", "finished", "")
_context, _starting = multiprocessing.get_context("forkserver"), threading.Lock()


def _start_server() -> None:
    """Start the process that others are forked from: it imports everything once."""
    with _starting:  # several threads may ask for it
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        before = os.environ.get("PYTHONPATH")
        # It looks for what it is to import nowhere else.
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path(__file__).parents[1]), *sys.path]))
        try:
            _context.set_forkserver_preload(["fuzz.preloaded", "fuzz.inputs"])
            forkserver.ensure_running()
        finally:
            os.environ.pop("PYTHONPATH")
            if before is not None:
                os.environ["PYTHONPATH"] = before


def in_a_child(work: Callable[..., Iterable[tuple[str, str, str]]], *arguments: Any) -> list[tuple[str, str, str]]:
    """What `work` yields, (input, outcome, remark), from a process of its own; the last is a crash if it dies."""
    _start_server()
    with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile("r", suffix=".jsonl") as file:
        process = _context.Process(target=_report, args=(work, arguments, file.name, folder))
        process.start()
        process.join()
        found = [tuple(json.loads(line)) for line in file]
    finished = bool(found) and found[-1] == _FINISHED
    if finished:
        found.pop()
    # 255: the exit status got lost, which happens where several threads start processes.
    if not finished or process.exitcode not in (0, 255):
        begun = found.pop()[0] if found and found[-1][1] == "begun" else "before the first input"
        found.append((begun, "crash", f"exit status {process.exitcode}"))
    return [entry for entry in found if entry[1] != "begun"]  # type: ignore[misc]


def _report(
    work: Callable[..., Iterable[tuple[str, str, str]]], arguments: tuple[Any, ...], name: str, folder: str
) -> None:
    os.chdir(folder)  # a bad value may be a good name for a file
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + _MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    with open(name, "w", buffering=1) as file:
        for entry in work(*arguments):
            file.write(json.dumps(entry) + "\n")
        file.write(json.dumps(_FINISHED) + "\n")
