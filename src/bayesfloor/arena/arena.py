"""Every estimator on every problem with a known floor: who is right, and by how much.

python -m bayesfloor.arena --help
"""

import inspect
import json
import time
import warnings
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from ..errors import DataError, ParameterError
from ..problems.problems import Problem, get, names
from ..rows.sparse import text_rows
from ..utils.checks import brief, check_whole
from ..utils.parallel import Progress, n_threads
from ..utils.sources import source_key
from .leaderboard import ArenaResult, Record
from .rivals import distort

__all__ = ["default_estimators", "installed_rivals", "run"]

Estimator = Callable[..., Any]

ORACLE = "oracle"
_SCHEMA = 1


def run(
    estimators: Mapping[str, Estimator] | None = None,
    problems: Iterable[str | Problem] | None = None,
    *,
    sizes: Sequence[int] = (1500,),
    n_seeds: int = 5,
    path: str | Path | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> ArenaResult:
    """Run estimators on problems and compare them with the truth.

    Every estimator sees the same samples. The oracle, the true Bayes classifier's errors counted on each
    sample, is always a row. An estimator that fails is a recorded failure with its message.

    Parameters
    ----------
    estimators : mapping of name to function, optional
        Functions ``(X, y, random_state) -> estimate``. An estimate is a number, a tuple ``(estimate, low, high)``,
        or an object with `floor` and `interval`. One with a parameter `soft_labels` is given overconfident, noisy class
        probabilities of the rows too. Pictures and texts go to functions with a parameter `kind` as they are, to
        others as columns of pixels and of counts of words. Default: `default_estimators()`.
    problems : iterable of names or `Problem`, optional
        Default: all of `problems.names()`; pictures and texts are `problems.names("images")` and
        ``("texts")``.
    sizes : sequence of int
        Sample sizes.
    n_seeds : int
        Samples per problem and size.
    path : str or Path, optional
        File of results, one JSON object per line. If it exists, what it has is not run again: an interrupted
        run continues where it stopped. Results go by the estimator's name: if you change your own estimator, choose
        another file. One run at a time.
    n_jobs : int, optional
        Processes; each runs single-threaded. None means all cores.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    ArenaResult

    Examples
    --------
    >>> def half_the_nearest_neighbour_error(X, y, random_state=0):
    ...     from bayesfloor import nearest_labels
    ...     return (nearest_labels(X, y, 1)[0][:, 0] != y).mean() / 2
    >>> result = run({"1-NN / 2": half_the_nearest_neighbour_error}, ["moons"], sizes=[500], n_seeds=2, n_jobs=1)
    >>> [row.estimator for row in result.leaderboard()]
    ['oracle', '1-NN / 2']
    """
    entrants = dict(default_estimators() if estimators is None else estimators)
    if ORACLE in entrants:
        raise ParameterError(f"the name {ORACLE!r} is taken: the true Bayes classifier is always a row")
    known = {ORACLE: None, **entrants}
    wrong = [name for name, function in entrants.items() if not isinstance(name, str) or not callable(function)]
    if wrong:
        raise ParameterError(f"estimators must be functions by name; {wrong[0]!r} is {entrants[wrong[0]]!r}")
    if isinstance(problems, str):
        problems = [problems]
    arena = [get(p) if isinstance(p, str) else p for p in (names() if problems is None else problems)]
    sizes = _check_sizes(arena, sizes, n_seeds)
    file = None if path is None else Path(path)
    done = {} if file is None else _load(file, arena)
    tasks = [
        (name, problem, n, seed)
        for seed in range(n_seeds)  # by seed first: a run that is stopped has seen all problems
        for problem in arena
        for n in sizes
        for name in known
    ]
    wanted = [_key(name, problem.name, n, seed) for name, problem, n, seed in tasks]
    todo = [task for task, key in zip(tasks, wanted, strict=True) if key not in done]
    for n_new, record in enumerate(_records(todo, known, n_jobs), start=1):
        done[record.key] = record
        if file is not None:
            _append(file, record)
        if progress is not None:
            progress("arena", len(tasks) - len(todo) + n_new, len(tasks))
    return ArenaResult(tuple(done[key] for key in wanted))


def default_estimators() -> dict[str, Estimator]:
    """Everything we have, and third-party tools where they are installed."""
    from ..bounds.classical import ESTIMATORS

    return {"learned floor": _learned_floor, **ESTIMATORS, **installed_rivals()}


def _learned_floor(X: Any, y: Any, random_state: int = 0, kind: str | None = None) -> Any:
    from ..floor._estimate import estimate

    return estimate(X, y, kind=kind, random_state=random_state)


def installed_rivals() -> dict[str, Estimator]:
    """Adapters for other people's tools that are installed here."""
    if find_spec("dataeval") is None:
        return {}
    return {
        "dataeval ber_knn, k = 1, midpoint": _dataeval_nearest,
        "dataeval ber_knn, k = sqrt(N), midpoint": _dataeval_root_n,
        "dataeval ber_mst, midpoint": _dataeval_tree,
        "dataeval ber_mst, lower": _dataeval_tree_lower,
    }


def _dataeval_nearest(X: Any, y: Any, random_state: Any = 0) -> float:
    from dataeval.core import ber_knn

    return _middle(ber_knn(X, y, 1))


def _dataeval_root_n(X: Any, y: Any, random_state: Any = 0) -> float:
    from dataeval.core import ber_knn

    return _middle(ber_knn(X, y, int(np.sqrt(len(X))) // 2 * 2 + 1))


def _dataeval_tree(X: Any, y: Any, random_state: Any = 0) -> float:
    from dataeval.core import ber_mst

    return _middle(ber_mst(X, y))


def _dataeval_tree_lower(X: Any, y: Any, random_state: Any = 0) -> float:
    from dataeval.core import ber_mst

    return float(ber_mst(X, y)["lower_bound"])


def _middle(bounds: Any) -> float:
    return float(bounds["lower_bound"] + bounds["upper_bound"]) / 2


# --- one run ------------------------------------------------------------------------------------------------


def _records(todo: Sequence[Any], known: Mapping[str, Estimator | None], n_jobs: int | None) -> Iterable[Record]:
    """Results as they come, in whatever order.

    A tool that takes its process down with it ends the whole pool; what was under way then runs again, one process for
    each, so that the one to blame is recorded and the others go on.
    """
    from joblib.externals.loky.process_executor import BrokenProcessPool

    if n_threads(n_jobs) == 1:
        with threadpool_limits(1):
            yield from (_one(name, known[name], *task) for name, *task in todo)
        return
    left = {_key(name, problem.name, n, seed): (name, problem, n, seed) for name, problem, n, seed in todo}
    careful = 0  # tasks to run by themselves, after a pool has broken
    while left:
        alone = careful > 0
        batch = list(left.values())[: 1 if alone else None]
        try:
            for record in _in_pool(batch, known, 1 if alone else n_threads(n_jobs)):
                del left[record.key]
                yield record
        except BrokenProcessPool:
            if alone:
                name, problem, n, seed = batch[0]
                del left[_key(name, problem.name, n, seed)]
                yield Record(
                    name, problem.name, n, seed, problem.bayes_error, float("nan"), None, None, 0.0, "its process died"
                )
            else:
                careful = 4 * n_threads(n_jobs) + 1  # as many as may have been under way
        careful -= 1


def _in_pool(tasks: Sequence[Any], known: Mapping[str, Estimator | None], processes: int) -> Iterable[Record]:
    from joblib import Parallel, delayed, parallel_config

    with parallel_config("loky", n_jobs=max(2, processes), inner_max_num_threads=1), warnings.catch_warnings():
        # A worker that has grown is replaced by a new one, which is as well.
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given")
        pool = Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="4 * n_jobs")
        yield from pool(delayed(_one)(name, known[name], *task) for name, *task in tasks)


def _one(name: str, estimator: Estimator | None, problem: Problem, n: int, seed: int) -> Record:
    low = high = None
    failure, estimate, started = None, float("nan"), time.perf_counter()
    try:
        # The name takes part in the seed, so that problems do not share their noise.
        X, y = problem.sample(n, [seed, n, zlib.crc32(problem.name.encode("utf-8", "replace"))])
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = problem.oracle_error(X, y) if estimator is None else _ask(estimator, problem, X, y, seed)
        estimate, low, high = _parse(answer)
    except (Exception, SystemExit) as error:  # whatever a third-party tool throws is a result too
        failure = _message(error)
    seconds = round(time.perf_counter() - started, 4)
    return Record(name, problem.name, n, seed, problem.bayes_error, estimate, low, high, seconds, failure)


def _ask(estimator: Estimator, problem: Problem, X: Any, y: Any, seed: int) -> Any:
    """What an estimator says, given what it asks for by name: class probabilities of the rows, and their kind.

    Rows that are no columns go as they are to who says that it knows their kind; to others as columns.
    """
    try:
        wanted = set(inspect.signature(estimator).parameters)
    except (TypeError, ValueError):  # compiled functions may have no signature
        wanted = set()
    given: dict[str, Any] = {}
    if "soft_labels" in wanted:
        given["soft_labels"] = distort(problem.posterior(X), [seed, len(X), 7])
    if problem.kind is not None and "kind" in wanted:
        given["kind"] = problem.kind
    elif problem.kind == "texts":
        X = text_rows(X).sections[0].matrix.toarray()
    elif problem.kind is not None:
        X = np.reshape(X, (len(X), -1))
    return estimator(X, y, random_state=seed, **given)


def _message(error: BaseException) -> str:
    try:
        text = " ".join(str(error).split())
    except Exception:  # an exception that cannot even say what it is
        text = "no message"
    return f"{type(error).__name__}: {text}"[:300]


def _parse(answer: Any) -> tuple[float, float | None, float | None]:
    if hasattr(answer, "floor") and hasattr(answer, "interval"):
        parts: tuple[Any, ...] = (answer.floor, answer.interval.low, answer.interval.high)
    else:
        parts = answer if isinstance(answer, tuple) else (answer,)
    if len(parts) not in (1, 3):
        raise ParameterError(f"an estimator must return a number or (estimate, low, high), got {brief(answer)}")
    numbers = [float(part) for part in parts]
    if not np.isfinite(numbers).all():
        raise ParameterError(f"the estimate is not finite: {answer!r}")
    if len(numbers) == 3 and not numbers[1] <= numbers[2]:
        raise ParameterError(f"the interval ends before it begins: {answer!r}")
    return (numbers[0], None, None) if len(numbers) == 1 else (numbers[0], numbers[1], numbers[2])


def _check_sizes(arena: Sequence[Problem], sizes: Sequence[int], n_seeds: int) -> list[int]:
    """Sizes as plain numbers, each once."""
    repeated = [p.name for i, p in enumerate(arena) if p.name in {q.name for q in arena[:i]}]
    if repeated:
        raise ParameterError(f"two problems are named {brief(repeated[0])}: give them different names")
    wanted = list(sizes) if isinstance(sizes, Iterable) else [sizes]
    if not arena or not wanted:
        raise ParameterError("at least one problem and one size are needed")
    check_whole("n_seeds", n_seeds, 1)
    return list(dict.fromkeys(check_whole("each of sizes", n, 10) for n in wanted))


# --- the file of results ------------------------------------------------------------------------------------


def _key(estimator: str, problem: str, n: int, seed: int) -> tuple[str, str, int, int]:
    return estimator, problem, int(n), int(seed)


def _load(file: Path, arena: Sequence[Problem]) -> dict[tuple[str, str, int, int], Record]:
    """What an earlier run has left; a line that was cut off by an interruption is removed."""
    header = {"arena": _SCHEMA, "bayesfloor": version("bayesfloor"), "code": source_key()}
    if not file.exists():
        try:
            file.write_text(json.dumps(header) + "\n", encoding="utf-8")
        except OSError as error:
            raise ParameterError(f"cannot write {file}: {error.strerror}") from None
        return {}
    try:
        text = file.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file} cannot be read as results of the arena: {error}") from None
    whole = text[: text.rfind("\n") + 1]
    lines = [line for line in whole.split("\n") if line]
    if not lines and json.dumps(header).startswith(text.strip()):  # stopped while the first line was written
        file.write_text(json.dumps(header) + "\n", encoding="utf-8")
        return {}
    try:
        found = json.loads(lines[0]) if lines else None
        records = [Record(**json.loads(line)) for line in lines[1:]]
    except (json.JSONDecodeError, TypeError) as error:
        raise DataError(f"{file} does not hold results of the arena ({error}): choose another file") from None
    if found != header:
        raise DataError(
            f"{file} was written by other code than this (bayesfloor {header['bayesfloor']}, {header['code']}): "
            "results of both must not be mixed. Choose another file, or delete it"
        )
    if len(whole) < len(text):
        with file.open("r+b") as handle:
            handle.truncate(len(whole.encode("utf-8")))
    truths = {problem.name: problem.bayes_error for problem in arena}
    for record in records:
        if abs(truths.get(record.problem, record.truth) - record.truth) > 1e-9:
            raise DataError(
                f"{file} holds {record.problem} with another floor, {record.truth:.6f}: choose another file"
            )
    return {record.key: record for record in records}


def _append(file: Path, record: Record) -> None:
    with file.open("a", encoding="utf-8") as handle:
        handle.write(json.dumps(record.to_dict()) + "\n")
