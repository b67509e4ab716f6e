"""Inputs of the kinds that people pass by mistake, drawn at random: arrays, frames, scores, results, options."""

import contextlib
import io
import json
import string
import tempfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bayesfloor as bf
from bayesfloor.cli.main import main
from fuzz.files import FORMATS, damage, read_damaged, whole_file
from fuzz.keywords import BAD_VALUES, functions, random_call
from fuzz.outcomes import attempt
from fuzz.sparse_rows import damaged_lines, damaged_matrix, damaged_npz

__all__ = ["AREAS", "try_inputs"]

_CELLS = [0.0, -0.0, 1e308, -1e308, 5e-324, 1e-310, 2.0**53, np.nan, np.inf, None, True, "7", "", 1j, 10**400]
_LABELS = [0, 1, "0", "a", "a ", None, np.nan, True, 1.5, b"a", (1,), [1], Decimal("sNaN"), 10**30, "x" * 300, "\0"]
_MESSY = ["", "NA", "?", "$1,200.50", "7%", "1e999", "-", "2024-02-30", "31.12.2024", "nan", "0x10", "١٢", "\t", "yes"]


def _columns(rng: np.random.Generator, n: int) -> np.ndarray:
    """Numbers of usual and unusual sizes, with ties, copies and constant columns."""
    d = int(rng.integers(1, 6))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.choice([0, 0, 0, -320, -300, 300, 308, 16], size=d)
    if rng.random() < 0.3:
        X = np.round(X, int(rng.integers(0, 3)))
    if rng.random() < 0.2:
        X[:, rng.integers(d)] = X[0, 0]
    if rng.random() < 0.2:
        X = X[rng.integers(0, max(1, n // 3), n)]
    return X


def _labels(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.choice(int(rng.integers(2, 5)), n, p=None) if rng.random() < 0.8 else np.arange(n) // 2


def _spoil(X: Any, rng: np.random.Generator) -> Any:
    """The same array in another form, or with something in it that does not belong there."""
    kind = rng.integers(7)
    if kind == 0 and X.size:
        X = X.astype(object)
        X[tuple(rng.integers(0, size) for size in X.shape)] = _CELLS[rng.integers(len(_CELLS))]
        return X
    if kind == 1:
        return np.ma.masked_array(X, mask=rng.random(X.shape) < 0.02)
    if kind == 2:
        return X.tolist()
    if kind == 3:
        return X.astype(rng.choice(["f2", "f4", ">f8", "i8", "c16", "U20", "M8[s]", "?"]))
    return X


def _data(rng: np.random.Generator) -> tuple[Any, Any]:
    n = int(rng.choice([0, 1, 2, 5, 40, 60, 80], p=[0.02, 0.02, 0.04, 0.07, 0.35, 0.3, 0.2]))
    with np.errstate(all="ignore"):
        X, y = _columns(rng, max(n, 1))[:n], _labels(rng, n)
        X = _spoil(X, rng)
    if rng.random() < 0.2 and n:
        y = y.tolist()
        y[rng.integers(n)] = _LABELS[rng.integers(len(_LABELS))]
    elif rng.random() < 0.1:
        y = y[:-1]
    elif rng.random() < 0.1:
        y = np.ma.masked_array(y, mask=rng.random(n) < 0.05)
    return X, y


def _arrays(rng: np.random.Generator) -> Any:
    X, y = _data(rng)
    way = rng.integers(6)
    if way == 0:
        return bf.bounds.all_bounds(X, y, n_jobs=1)
    if way <= 2:
        distances = bf.spanning_tree(X, n_jobs=1)[1] if way == 1 else bf.nearest_labels(X, y, 1, n_jobs=1)[1]
        return np.minimum(distances, np.finfo(float).max)  # numbers of opposite ends are farther apart than that
    return bf.BenchmarkLearner(n_jobs=1, standardize=bool(way % 2)).fit(X, y)


def _estimates(rng: np.random.Generator) -> Any:
    X, y = _data(rng)
    groups = None if rng.random() < 0.8 else rng.integers(0, 15, len(y))
    return bf.estimate(X, y, groups=groups, effort="fast", n_jobs=1)


def _scores(rng: np.random.Generator) -> Any:
    n, classes = int(rng.choice([2, 40, 100])), int(rng.integers(2, 5))
    y = rng.integers(0, classes, n)
    P = rng.dirichlet(np.full(classes, 10.0 ** rng.integers(-3, 2)), n)
    if rng.random() < 0.3:
        P = np.log(np.maximum(P, 1e-300)) * 10.0 ** rng.integers(-300, 300)
    with np.errstate(all="ignore"):
        P = _spoil(P if rng.random() < 0.7 or classes > 2 else P[:, 1], rng)
    way = rng.integers(4)
    if way == 0:
        return bf.soft_label_error(P)
    if way == 1:
        return bf.soft_label_error(rng.multinomial(5, np.full(classes, 1 / classes), n), rng.choice([5, 2**64, 0, -1]))
    if way == 2:
        return bf.calibrated_soft_label_error(P, y)
    return bf.from_scores(P, y, n_jobs=1)


def _frames(rng: np.random.Generator) -> Any:
    n = int(rng.choice([3, 40, 60]))
    frame = pd.DataFrame({f"x{j}": column for j, column in enumerate(_columns(rng, n).T)}).astype(object)
    frame["kind"] = pd.Series(rng.choice(["red", "green", "blue"], n), dtype=object)
    for _ in range(rng.integers(0, 4)):
        words = [*_MESSY, *_CELLS]
        frame.iloc[rng.integers(n), rng.integers(frame.shape[1])] = words[rng.integers(len(words))]
    frame["label"] = rng.choice(["yes", "no"], n)
    if rng.random() < 0.5:
        frame = frame.infer_objects()
    if rng.random() < 0.3:
        table = bf.table_from_frame(frame, target="label")
        return table.X, str(table)
    return bf.estimate(frame, target="label", effort="fast", n_jobs=1)


def _results(rng: np.random.Generator) -> Any:
    text = _saved()
    for _ in range(rng.integers(1, 4)):
        start = int(rng.integers(len(text)))
        new = rng.choice([*string.digits, "-", "null", "[", "]", "{}", '"', "1e999", "NaN", "9" * 400, ""])
        text = text[:start] + str(new) + text[start + int(rng.integers(0, 6)) :]
    result = bf.FloorResult.from_json(text)
    str(result), result._repr_html_()
    return bf.compare(result, error=0.3, n_test=100)


def _saved() -> str:
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    return bf.from_scores(np.clip(rng.normal(0.3 + 0.4 * y, 0.2), 0.01, 0.99), y, n_jobs=1).to_json()


def _keywords(rng: np.random.Generator) -> Any:
    names = [name for name in functions() if name not in ("classical.cross_validated_error", "noise_check")]
    values = list(BAD_VALUES.values())
    return random_call(names[rng.integers(len(names))], [values[i] for i in rng.integers(0, len(values), 2)], rng)


def _command(rng: np.random.Generator) -> Any:
    """The command ends with 0 or 2, says one line if it is 2, and never shows a traceback."""
    words = ["--effort", "fast", "--jobs", "1", "--seed", "3", "--confidence", "0.9", "--priors", "balanced", "--json"]
    words += ["--max-rows", "50", "--groups", "n", "--drop", "size", "--keep", "colour", "nan", "-1", "9" * 400, ""]
    commands = [*["estimate"] * 4, "scores", "labels", "compare", "problems", "plan", "nonsense"]
    name = rng.choice(["table.csv", "table.jsonl", "table.npz"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(damage(whole_file(name), rng) if rng.random() < 0.3 else whole_file(name))
        chosen = [words[i] for i in rng.integers(0, len(words), rng.choice([0, 0, 1, 2, 4]))]
        target = "y" if name == "table.npz" else "label"
        usual = ["--target", target, "--effort", "fast", "--jobs", "1", "--quiet"]
        arguments = [str(rng.choice(commands)), str(path), *usual, *chosen]
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(arguments)
    said = err.getvalue()
    if status not in (0, 2) or "Traceback" in said or (status == 2 and said.count("\n") != 1):
        raise AssertionError(f"status {status} and {said[:200]!r} for {arguments}")
    if status == 2:
        raise bf.DataError(said.strip())
    return json.loads(out.getvalue(), parse_constant=float) and None if "--json" in arguments else None


def _file(name: str) -> Callable[[np.random.Generator], Any]:
    def read(rng: np.random.Generator) -> None:
        outcome = read_damaged(name, damage(whole_file(name), rng), rng)
        if outcome != "answer":
            raise AssertionError(outcome)

    return read


# What is tried, and which share of all inputs it gets.
AREAS: dict[str, tuple[Callable[[np.random.Generator], Any], float]] = {
    **{f"damaged {name}": (_file(name), 0.04) for name in FORMATS},
    "arrays": (_arrays, 0.14),
    "estimates of arrays": (_estimates, 0.04),
    "scores and votes": (_scores, 0.1),
    "messy frames": (_frames, 0.05),
    "saved results": (_results, 0.08),
    "pairs of bad values": (_keywords, 0.1),
    "the command": (_command, 0.05),
    "damaged sparse matrices": (damaged_matrix, 0.04),
    "damaged sparse files": (damaged_npz, 0.06),
    "damaged svmlight": (damaged_lines, 0.04),
}


def try_inputs(area: str, seed: int, start: int, stop: int) -> Iterator[tuple[str, str, str]]:
    """Inputs by their numbers: the same number is the same input."""
    call = AREAS[area][0]
    for number in range(start, stop):
        case = f"{area} {number}"
        yield case, "begun", ""
        rng = np.random.default_rng([seed, list(AREAS).index(area), number])
        yield case, *attempt(lambda rng=rng: call(rng))
