"""Other yardsticks than the error on every problem: a table per metric."""

import json
import warnings
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._text import printed
from .._types import Codes, Floats
from ..errors import DataError, ParameterError
from ..floor.metrics import SCORES
from ..problems.problems import Problem, get, names
from ..utils.checks import brief, check_whole
from ..utils.parallel import Progress
from .arena import ORACLE

__all__ = ["MetricBoard", "MetricRecord", "oracle_metrics", "run_metrics"]


@dataclass(frozen=True)
class MetricRecord:
    """What an estimator has said of a metric on one sample, and the truth."""

    estimator: str
    problem: str
    n: int
    seed: int
    metric: str
    truth: float
    estimate: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class MetricBoard:
    """Records of all metrics; prints as a table for each."""

    records: tuple[MetricRecord, ...]

    def table(self, metric: str) -> str:
        """Markdown: mean absolute error, its ratio to the oracle's, coverage and width of intervals."""
        own = [record for record in self.records if record.metric.split(" of ")[0] == metric]
        if not own:
            raise ParameterError(f"there is no metric {brief(metric)}: there are {', '.join(self.metrics)}")
        lines = ["| estimator | samples | mean abs. error | x oracle | coverage | width |", "|---|---|---|---|---|---|"]
        known = _mean_error(own, ORACLE)
        for name in dict.fromkeys(record.estimator for record in own):
            records = [record for record in own if record.estimator == name]
            ends = [(r.low, r.truth, r.high) for r in records if r.low is not None and r.high is not None]
            hits = f"{np.mean([a - 1e-9 <= t <= b + 1e-9 for a, t, b in ends]):.0%}" if ends else ""
            width = f"{np.mean([b - a for a, _, b in ends]):.3f}" if ends else ""
            error = _mean_error(own, name)
            ratio = f"{error / known:.2f}" if known > 0 else ""
            lines.append(f"| {name} | {len(records)} | {error:.4f} | {ratio} | {hits} | {width} |")
        return printed(lines)

    @property
    def metrics(self) -> list[str]:
        """Names; F1 of all classes together."""
        return list(dict.fromkeys(record.metric.split(" of ")[0] for record in self.records))

    def __str__(self) -> str:
        return "\n\n".join(f"{metric}\n\n{self.table(metric)}" for metric in self.metrics)


def _mean_error(records: Iterable[MetricRecord], name: str) -> float:
    return float(np.mean([abs(r.estimate - r.truth) for r in records if r.estimator == name]))


def run_metrics(
    problems: Iterable[str | Problem] | None = None,
    *,
    estimators: Mapping[str, Callable[..., Mapping[str, Any]]] | None = None,
    n: int = 1500,
    n_seeds: int = 5,
    path: str | Path | None = None,
    progress: Progress | None = None,
) -> MetricBoard:
    """Compare what is said of AUC, log-loss, Brier score, F1, balanced accuracy and top-2 error with the truth.

    The oracle knows the posterior and counts on the labels of the sample; it is always a row.

    Parameters
    ----------
    problems : iterable of names or `Problem`, optional
        Default: all.
    estimators : mapping of name to function, optional
        Functions ``(X, y, random_state) -> mapping`` from names of metrics ("AUC", "F1 of 0") to a value or
        ``(value, low, high)``. Default: `FloorResult.metrics` of `estimate`.
    n, n_seeds : int
        Rows of a sample, and samples of each problem.
    path : str or Path, optional
        File of records, one JSON object per line: what it has is not run again.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    MetricBoard

    Examples
    --------
    >>> def coin(X, y, random_state=0):
    ...     return {"AUC": 0.5}
    >>> board = run_metrics(["gaussians_4d"], estimators={"coin": coin}, n=300, n_seeds=1)
    >>> [record.estimator for record in board.records if record.metric == "AUC"]
    ['oracle', 'coin']
    """
    check_whole("n", n, 10)
    check_whole("n_seeds", n_seeds, 1)
    entrants = {"learned": _learned} if estimators is None else dict(estimators)
    chosen = [problems] if isinstance(problems, str | Problem) else names() if problems is None else list(problems)
    arena = [get(problem) if isinstance(problem, str) else problem for problem in chosen]
    file = None if path is None else Path(path)
    done = [] if file is None or not file.exists() else _read(file)
    tasks = [(name, problem, seed) for seed in range(n_seeds) for problem in arena for name in (ORACLE, *entrants)]
    truths: dict[str, dict[str, tuple[float, float]]] = {}
    records: list[MetricRecord] = []
    for k, (name, problem, seed) in enumerate(tasks, start=1):
        found = [r for r in done if (r.estimator, r.problem, r.n, r.seed) == (name, problem.name, n, seed)]
        if not found:
            if problem.name not in truths:
                truths[problem.name] = problem.metrics()
            found = _one(name, entrants.get(name), problem, truths[problem.name], n, seed)
            if file is not None:
                with file.open("a", encoding="utf-8") as handle:
                    handle.writelines(json.dumps(asdict(record)) + "\n" for record in found)
        records += found
        if progress is not None:
            progress("arena", k, len(tasks))
    return MetricBoard(tuple(records))


def _read(file: Path) -> list[MetricRecord]:
    try:
        return [MetricRecord(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError, TypeError) as error:
        raise DataError(f"{file} does not hold metrics of the arena ({error}): choose another file") from None


def _learned(X: Any, y: Any, random_state: int = 0) -> dict[str, tuple[float, float, float]]:
    from ..floor._estimate import estimate

    found = estimate(X, y, random_state=random_state).metrics()
    return {metric.title: (metric.value, metric.interval.low, metric.interval.high) for metric in found}


def _one(
    name: str, estimator: Any, problem: Problem, truth: dict[str, tuple[float, float]], n: int, seed: int
) -> list[MetricRecord]:
    X, y = problem.sample(n, [seed, n, zlib.crc32(problem.name.encode("utf-8", "replace"))])
    if estimator is None:
        best = {metric: value for metric, (value, _) in truth.items()}
        says: Mapping[str, Any] = oracle_metrics(problem.posterior(X), y, problem.priors, best)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            says = estimator(X, y, random_state=seed)
    records = []
    for metric, (value, _) in truth.items():
        if metric in says:
            said = says[metric] if isinstance(says[metric], tuple) else (says[metric],)
            if len(said) not in (1, 3) or not np.isfinite(said).all():
                raise ParameterError(f"{name} must give a number or (value, low, high) for {metric}, got {brief(said)}")
            records.append(MetricRecord(name, problem.name, n, seed, metric, value, *map(float, said)))
    return records


def oracle_metrics(P: Floats, y: Codes, priors: Floats, best: Mapping[str, float]) -> dict[str, float]:
    """What someone says of each metric of `best` who knows the posterior and counts on the labels of a sample."""
    P, weights = np.maximum(P, 1e-12), np.full(len(y), 1 / len(y))
    present = [c for c in range(P.shape[1]) if (y == c).any()]
    even = (P / priors).argmax(axis=1) == y
    found = {
        "balanced accuracy": float(np.mean([even[y == c].mean() for c in present])),
        "top-2 error": float(1 - (np.argsort(-P, axis=1)[:, :2] == y[:, None]).any(axis=1).mean()),
    }
    for name, (loss, _) in SCORES.items():
        value = loss(P, y, weights)[0]
        found[name] = 1 - value if name == "AUC" else value
    for title, value in best.items():
        if title.startswith("F1 of "):
            c = int(title.removeprefix("F1 of "))
            named, own = P[:, c] > value / 2, y == c
            found[title] = float(2 * (named & own).sum() / max(1, named.sum() + own.sum()))
    return {title: found[title] for title in best}
