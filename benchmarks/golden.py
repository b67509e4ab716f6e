"""Figures of small inputs of every kind, so that a change of the code that should not change them can be checked.

``golden.py write`` stores them in results/golden.json; ``golden.py compare`` computes them anew and names what differs.
"""

import argparse
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn.datasets import dump_svmlight_file

import bayesfloor as bf

GOLDEN = Path(__file__).parent / "results" / "golden.json"
SEEDS = (0, 1)


def gaussians(n: int, d: int, n_classes: int = 2, shift: float = 1.5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Standard normal classes, each moved along a column of its own."""
    rng = np.random.default_rng([7, seed])
    y = rng.integers(0, n_classes, n)
    X = rng.normal(size=(n, d))
    X[np.arange(n), y % d] += shift
    return X, y


def mixed_frame(n: int) -> pd.DataFrame:
    """Numbers, categories, codes as text, missing values, dates, groups and a label of text."""
    rng = np.random.default_rng(11)
    y = rng.integers(0, 2, n)
    number = rng.normal(size=n) + y
    colour = np.where(rng.random(n) < 0.3 + 0.4 * y, "red", rng.choice(["blue", "green"], n))
    frame = pd.DataFrame(
        {
            "number": np.where(rng.random(n) < 0.05, np.nan, number),
            "colour": colour,
            "code": rng.choice(["01", "02", "10"], n),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
            "patient": [f"p{i}" for i in rng.integers(0, n // 3, n)],
            "label": np.where(y == 1, "yes", "no"),
        }
    )
    frame.loc[rng.random(n) < 0.03, "colour"] = None
    return frame


def sparse_counts(n: int, d: int) -> tuple[Any, np.ndarray]:
    """Counts, nearly all of them 0; one column tells the classes apart."""
    rng = np.random.default_rng(13)
    y = rng.integers(0, 2, n)
    X = rng.integers(1, 4, (n, d)) * (rng.random((n, d)) < 0.03)
    X[:, 0] = rng.random(n) < 0.15 + 0.7 * y
    return csr_array(X.astype(float)), y


def mapped(folder: Path, X: np.ndarray) -> np.ndarray:
    """The same rows in a file."""
    path = folder / f"rows_{len(X)}_{X.shape[1]}.npy"
    np.save(path, X)
    return np.load(path, mmap_mode="r")


def estimates(folder: Path) -> Iterator[tuple[str, Callable[[int], Any]]]:
    """Name and call of each estimate."""
    X, y = gaussians(400, 3)
    many, many_y = gaussians(600, 8, 5, 3.0)
    large, large_y = gaussians(3000, 4)
    frame = mixed_frame(500)
    csv, parquet = folder / "mixed.csv", folder / "mixed.parquet"
    frame.to_csv(csv, index=False)
    frame.to_parquet(parquet)
    fast: dict[str, Any] = {"effort": "fast", "n_jobs": 2}

    def estimate(*args: Any, **more: Any) -> Callable[[int], Any]:
        return lambda seed: bf.estimate(*args, **fast, **more, random_state=seed)

    sample = bf.Run(sample_rows=800)
    yield "array", estimate(X, y)
    yield "five classes", estimate(many, many_y)
    yield "labels of text", estimate(X, np.where(y == 1, "b", "a"))
    yield "priors", estimate(X, y, priors={0: 0.8, 1: 0.2})
    yield "balanced, five classes", estimate(many, many_y, priors="balanced")
    yield "equal groups", estimate(X, y, groups=np.repeat(np.arange(100), 4))
    yield "unequal groups", estimate(X, y, groups=np.sort(np.random.default_rng(3).integers(0, 60, 400)))
    yield "copies", estimate(np.repeat(X[:150], 3, axis=0), np.repeat(y[:150], 3))
    yield "discrete", estimate(np.round(X), y)
    yield "rare class", estimate(X, (X[:, 0] > 1.9).astype(int))
    yield "CSV with categories", estimate(csv, target="label")
    yield "CSV with groups", estimate(csv, target="label", groups="patient")
    yield "frame", estimate(frame.drop(columns="patient"), target="label")
    yield "sample in memory", estimate(large, large_y, run=sample)
    yield "sample of a mapped array", estimate(mapped(folder, large), large_y, run=sample)
    yield "sample with priors", estimate(large, large_y, priors="balanced", run=sample)
    in_blocks = estimate(parquet, target="label", run=bf.Run(sample_rows=200))
    yield "Parquet in blocks", lambda seed: _as_if_large(in_blocks, seed)
    yield "own classifier", estimate(X, y, classifiers=[_centroids()])
    texts, texts_y = bf.problems.get("words").sample(300, random_state=0)
    yield "texts", estimate(texts, texts_y)
    beside = pd.DataFrame({"text": texts, "number": np.arange(len(texts)) % 7 + texts_y, "label": texts_y})
    yield "text beside a column", estimate(beside, target="label")
    counts, counts_y = sparse_counts(300, 500)
    yield "sparse rows", estimate(counts, counts_y)
    yield "few sparse columns", estimate(counts[:, :20], counts_y)
    svmlight = folder / "counts.svm"
    dump_svmlight_file(counts, counts_y, str(svmlight))
    yield "svmlight", estimate(svmlight)
    images, images_y = bf.problems.get("blobs").sample(150, random_state=0)
    yield "images", estimate(images, images_y, kind="images")
    import dask.array
    import dask.dataframe

    dask_X, dask_y = dask.array.from_array(large, chunks=(700, 4)), dask.array.from_array(large_y, chunks=700)
    yield "Dask array, gathered", estimate(dask_X[:700], dask_y[:700])
    yield "Dask array, sample", estimate(dask_X, dask_y, run=sample)
    numbers = pd.DataFrame(large, columns=list("abcd")).assign(label=large_y)
    yield "Dask frame, sample", estimate(dask.dataframe.from_pandas(numbers, npartitions=4), target="label", run=sample)


def _as_if_large(call: Callable[[int], Any], seed: int) -> Any:
    """Read in blocks, as a file that is too large for memory."""
    with patch("bayesfloor.floor.rows.FileRows.is_large", return_value=True):
        return call(seed)


def _centroids() -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis()


def learners(folder: Path) -> Iterator[tuple[str, Callable[[int], Any]]]:
    """Name and call of each fit of the benchmark learner."""
    X, y = gaussians(500, 2)
    many, many_y = gaussians(500, 3, 4, 3.0)
    large, large_y = gaussians(70_000, 2)

    def fit(*args: Any, **settings: Any) -> Callable[[int], Any]:
        return lambda seed: bf.BenchmarkLearner(**settings, random_state=seed).fit(*args)

    yield "learner", fit(X, y)
    yield "learner, four classes", fit(many, many_y)
    yield "learner, centres", fit(many, many_y, max_queries=200)
    yield "learner, priors", fit(X, y, priors="balanced")
    yield "learner, class order", fit(many, many_y, class_order="sorted", weights="arithmetic")
    yield "learner, frame", fit(pd.DataFrame(X, columns=["a", "b"]).assign(c=1.0), y)
    yield "learner, many rows", fit(large, large_y, max_queries=500)
    import dask.array

    array = dask.array.from_array(np.column_stack([large, np.ones(len(large))]), chunks=(20_000, 3))
    yield "learner, Dask", fit(array, dask.array.from_array(large_y, chunks=20_000), max_queries=500)


def of_result(result: Any) -> dict[str, Any]:
    """What is kept of a result."""
    interval = result.interval
    return {
        "floor": result.floor,
        "interval": [interval.low, interval.high],
        "ceiling": result.ceiling,
        "estimates": {figure.name: figure.value for figure in result.estimates},
        "pairs": [list(row) for row in result.pair_error],
        "curve": [[point.n_train, point.error, point.plugin] for point in result.learning_curve],
        "reasons": list(result.reasons),
        "notes": list(result.notes),
    }


def of_learner(learner: Any) -> dict[str, Any]:
    """What is kept of a fitted learner."""
    interval = learner.interval_
    return {
        "floor": learner.bayes_error_,
        "interval": [interval.low, interval.high],
        "pairs": learner.pair_error_.tolist(),
        "radii": learner.radii_.tolist(),
        "leave one out": learner.leave_one_out_error_,
        "terms": float(np.nansum(learner.sample_error_)),
        "reasons": list(learner.reasons_),
        "notes": list(learner.notes_),
    }


def compute(only: str | None = None) -> dict[str, Any]:
    """All figures, by input and seed."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for calls, of in ((estimates, of_result), (learners, of_learner)):
            for name, call in calls(Path(folder)):
                if only is not None and only not in name:
                    continue
                for seed in SEEDS:
                    found[f"{name} / {seed}"] = of(call(seed))
                print(name, file=sys.stderr)
    return found


def differences(old: Any, new: Any, where: str = "") -> Iterator[str]:
    """Every place where two records differ by more than rounding."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from differences(old.get(key), new.get(key), f"{where} > {key}" if where else key)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (a, b) in enumerate(zip(old, new, strict=True)):
            yield from differences(a, b, f"{where}[{i}]")
    elif isinstance(old, float) and isinstance(new, float):
        if not np.isclose(old, new, rtol=0, atol=1e-12):
            yield f"{where}: {old!r} -> {new!r}"
    elif old != new:
        yield f"{where}: {old!r} -> {new!r}"


def main() -> None:
    """Write or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["write", "compare"])
    parser.add_argument("--file", type=Path, default=GOLDEN)
    parser.add_argument("--only", help="names that hold this text")
    options = parser.parse_args()
    found = json.loads(json.dumps(compute(options.only)))
    if options.action == "write":
        if options.only is not None:
            found = json.loads(options.file.read_text(encoding="utf-8")) | found
        options.file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        return
    stored = json.loads(options.file.read_text(encoding="utf-8"))
    if options.only is not None:
        stored = {key: value for key, value in stored.items() if options.only in key}
    lines = list(differences(stored, found))
    print("\n".join(lines) or f"{len(found)} records, no difference")
    raise SystemExit(1 if lines else 0)


if __name__ == "__main__":
    main()
