"""MNIST and Fashion-MNIST: one ball size after another, and the learned floor, of pixels and of pictures."""

import math
import warnings
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from bayesfloor.balls.learner import BenchmarkLearner
from bayesfloor.counting._nearest import nearest_labels
from bayesfloor.errors import BayesfloorWarning, DataError
from bayesfloor.floor._estimate import estimate
from bayesfloor.floor.result import FloorResult
from bayesfloor.utils.checks import listed

from .experiment import Experiment, Results, Settings
from .wording import percent, table

__all__ = ["EXPERIMENT", "check_files", "crossing"]

_SETS = {"MNIST": ("mnist", "mnist_784"), "Fashion-MNIST": ("fashion_mnist", "Fashion-MNIST")}
_PAPERS_FLOOR = 0.0014
# Errors on the 10,000 test images, as cited in the paper's table.
_PUBLISHED = (0.0035, 0.0027, 0.0023, 0.0021)
_NEIGHBOUR = 9
_AS_PICTURES = "learned floor of pictures"


def run(settings: Settings) -> Results:
    """Estimates at each radius, and the learned floor, on the training images."""
    shares = np.linspace(0.5, 1.5, 3) if settings.quick else np.linspace(0.4, 1.6, 13)
    results: Results = {"sets": {}, "notes": [], "published": list(_PUBLISHED), "papers_floor": _PAPERS_FLOOR}
    kept = {} if settings.kept is None else settings.kept["sets"]
    for title, X, y in _images(settings, results["notes"]):
        found = dict(kept[title]) if title in kept else _balls(title, X, y, shares, settings)
        _add_floors(found, X, y, settings)
        results["sets"][title] = found
    return results


def _balls(title: str, X: NDArray[Any], y: NDArray[Any], shares: NDArray[Any], settings: Settings) -> Results:
    """The paper's estimator, one ball size after another and as printed."""
    n_queries = min(len(X), 200 if settings.quick else 5_000)
    queries = np.random.default_rng(settings.seed).choice(len(X), min(len(X), 2_000), replace=False)
    distances = nearest_labels(X, y, _NEIGHBOUR, queries=np.sort(queries), n_jobs=settings.n_jobs)[1]
    unit = float(distances[:, -1].mean())
    common: dict[str, Any] = {"max_queries": n_queries, "random_state": settings.seed, "n_jobs": settings.n_jobs}
    found: Results = {
        "n": len(X),
        "n_features": X.shape[1],
        "n_classes": len(np.unique(y)),
        "n_queries": n_queries,
        "unit": unit,
        "share": shares.tolist(),
        "estimate": [],
        "empty": [],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesfloorWarning)  # the share of empty balls is what is shown
        for done, share in enumerate(shares):
            settings.tell(f"{title}, ball by ball", done, len(shares))
            learner = BenchmarkLearner(radii=[share * unit], standardize=False, **common).fit(X, y)
            found["estimate"].append(learner.bayes_error_)
            found["empty"].append(float(learner.occupancy_.empty[0]))
        settings.tell(f"{title}, ball by ball", len(shares), len(shares))
        # d + 1 = 785 radii: a few hundred centres are enough to see that their balls are empty.
        printed = BenchmarkLearner.paper(**common | {"max_queries": min(n_queries, 500)}).fit(X, y)
        adaptive = BenchmarkLearner(standardize=False, **common).fit(X, y)
    for name, learner in (("printed rule", printed), ("adaptive learner", adaptive)):
        found[name] = {
            "estimate": learner.bayes_error_,
            "empty": learner.occupancy_.empty_share,
            "same_balls": learner.leave_one_out_error_,
            "reliable": learner.reliable_,
        }
    return found


def _add_floors(found: Results, X: NDArray[Any], y: NDArray[Any], settings: Settings) -> None:
    """The learned floors that are not there yet."""
    options: dict[str, Any] = {
        "effort": "fast" if settings.quick else "balanced",
        "random_state": settings.seed,
        "n_jobs": settings.n_jobs,
        "progress": settings.progress,
    }
    side = math.isqrt(X.shape[1])
    if "learned floor" not in found:
        found["learned floor"] = _figures(estimate(X, y, **options))
    if _AS_PICTURES not in found:
        found[_AS_PICTURES] = _figures(estimate(X.reshape(-1, side, side), y, kind="images", **options))


def _figures(result: FloorResult) -> Results:
    best = min(result.learners, key=lambda learner: learner.error)
    return {
        "estimate": result.floor,
        "low": result.interval.low,
        "high": result.interval.high,
        "ceiling": result.ceiling,
        "effort": result.settings.get("effort"),
        "reasons": list(result.reasons),
        "best_learner": best.name,
        "best_error": best.error,
        "seconds": result.settings.get("seconds"),
    }


def _images(settings: Settings, notes: list[str]) -> Any:
    """Title, pixels and labels of each set."""
    if settings.quick and settings.data is None:
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        notes.append("quick run without data: scikit-learn's 8 x 8 digits stand in for MNIST")
        yield "8 x 8 digits", X[:300], y[:300]
        return
    for title, (file, name) in _SETS.items():
        X, y = _fetched(name) if settings.data is None else _stored(settings.data / f"{file}.npz")
        if settings.quick:
            X, y = X[:300], y[:300]
        yield title, X, y


def check_files(folder: Path) -> None:
    """Refuse a folder that lacks a file, before anything is run."""
    missing = [f"{file}.npz" for file, _ in _SETS.values() if not (folder / f"{file}.npz").is_file()]
    if missing:
        raise DataError(
            f"there is no {' and no '.join(missing)} in {folder}: each must hold X and y, and is_train if it has test "
            "images too"
        )


def _stored(path: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    """Training images of a file with X, y and, if it has test images too, is_train."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            found = {key: arrays[key] for key in arrays.files}
    except FileNotFoundError:
        raise DataError(
            f"there is no {path.name} in {path.parent}: it must hold X and y, and is_train if any"
        ) from None
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        raise DataError(f"{path} cannot be read as arrays: {error}") from None
    if not {"X", "y"} <= found.keys():
        raise DataError(f"{path} must hold X and y; it has {listed(sorted(found))}")
    X, y = found["X"].reshape(len(found["X"]), -1), found["y"]
    used = found["is_train"].astype(bool) if "is_train" in found else np.ones(len(X), dtype=bool)
    return X[used].astype(np.float64), y[used]


def _fetched(name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """The first 60,000 images from OpenML: the training set."""
    from sklearn.datasets import fetch_openml

    try:
        X, y = fetch_openml(name, version=1, return_X_y=True, as_frame=False, parser="liac-arff")
    except (OSError, ValueError) as error:
        raise DataError(f"{name} cannot be fetched from OpenML ({error}): give its file by --data DIR") from None
    return np.asarray(X[:60_000], dtype=np.float64), np.asarray(y[:60_000])


def crossing(
    shares: list[float], estimates: list[float], empty: list[float], level: float
) -> tuple[float, float] | None:
    """Where a rising curve meets the level, and the share of empty balls there; log scale between the points.

    Examples
    --------
    >>> crossing([0.5, 1.0], [0.001, 0.1], [0.9, 0.5], 0.01)
    (0.75, 0.7)
    """
    for i in range(1, len(shares)):
        if estimates[i - 1] < level <= estimates[i]:
            low = math.log(max(estimates[i - 1], 1e-6))
            part = (math.log(level) - low) / (math.log(estimates[i]) - low)
            return (
                round(shares[i - 1] + part * (shares[i] - shares[i - 1]), 6),
                round(empty[i - 1] + part * (empty[i] - empty[i - 1]), 6),
            )
    return None


def draw(results: Results) -> Any:
    """A panel per set: estimate and share of empty balls over the radius."""
    from .figures import ball_by_ball

    floors = {title: found.get(_AS_PICTURES, found["learned floor"]) for title, found in results["sets"].items()}
    return ball_by_ball(results["sets"], floors, results["papers_floor"], results["published"])


def judge(results: Results) -> str:
    """Figures side by side with what each rests on."""
    parts = [f"- {note}" for note in results["notes"]]
    for title, found in results["sets"].items():
        learned, printed, adaptive = found["learned floor"], found["printed rule"], found["adaptive learner"]
        rows = [
            [
                name,
                percent(balls["estimate"], 3),
                f"{percent(balls['empty'], 0)} of balls empty; classifying by the same balls errs at "
                f"{percent(balls['same_balls'], 1)}; calls itself {'' if balls['reliable'] else 'un'}reliable",
            ]
            for name, balls in (("printed rule", printed), ("adaptive learner", adaptive))
        ]
        for name, floor in (("learned floor", learned), (_AS_PICTURES, found.get(_AS_PICTURES))):
            if floor is None:
                continue
            rows += [
                [
                    name,
                    f"{percent(floor['estimate'], 2)} [{percent(floor['low'], 2)}, {percent(floor['high'], 2)}]",
                    f"best single learner ({floor['best_learner']}) {percent(floor['best_error'], 2)}",
                ],
                ["ceiling", percent(floor["ceiling"], 2), "certified: a classifier was seen to do this well"],
            ]
        learned = found.get(_AS_PICTURES, learned)
        if title == "MNIST":
            rows.append(["the paper's estimate", percent(results["papers_floor"], 2), "as printed"])
            published = ", ".join(percent(e, 2) for e in results["published"])
            rows.append(["published classifiers", published, "errors on the 10,000 test images, cited in the paper"])
        parts += [f"**{title}**, {found['n']:,} images", table(["figure", "value", "rests on"], rows)]
        if learned["reasons"]:
            parts.append(f"Doubts of the learned floor about itself: {'; '.join(learned['reasons'])}.")
        first, last = found["estimate"][0], found["estimate"][-1]
        text = (
            f"Between {found['share'][0]:g} and {found['share'][-1]:g} times the mean distance to the {_NEIGHBOUR}th "
            f"neighbour the single-ball estimate moves from {percent(first, 3)} to {percent(last, 1)}: the radius "
            "decides, not the data."
        )
        met = crossing(found["share"], found["estimate"], found["empty"], results["papers_floor"])
        if title == "MNIST" and met is not None:
            text += (
                f" The paper's {percent(results['papers_floor'], 2)} lies on this curve at {met[0]:.2f}, where "
                f"{percent(met[1], 0)} of all balls are empty; any other value could be had from another radius."
            )
        if title == "MNIST":
            text += f" {_beside_published(learned, min(results['published']))}"
        parts.append(text)
    return "\n\n".join(parts)


def _beside_published(learned: Results, lowest: float) -> str:
    """The learned floor against the lowest error that anyone has shown."""
    start = f"The learned floor's interval {{}} the lowest published error, {percent(lowest, 2)}: "
    if learned["low"] > lowest:
        return start.format("lies above") + (
            "convolutional networks know more about images than a library of general classifiers finds in the pixels, "
            "and an estimate that can only see what some learner has found is too high here."
        )
    if learned["high"] < lowest:
        return start.format("lies below") + "it claims that there is more to gain than anyone has shown."
    return start.format("contains") + (
        f"the two agree, but from {percent(learned['low'], 2)} to {percent(learned['high'], 2)} is too wide to say "
        "whether anything is left to gain."
    )


EXPERIMENT = Experiment(
    "mnist",
    "MNIST and Fashion-MNIST",
    "On the 60,000 training images of MNIST the benchmark learner answers 0.14 %, below published classifiers with "
    "0.35, 0.27, 0.23 and 0.21 %.",
    run,
    draw,
    judge,
    goes_on=True,
)
