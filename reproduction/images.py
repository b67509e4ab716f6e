"""MNIST (Table 1) and Fashion-MNIST: one ball size after another, the authors' code, and the floor of the images."""

import math
import warnings
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from bayesfloor.balls.authors_code import authors_code
from bayesfloor.balls.learner import BenchmarkLearner
from bayesfloor.counting._nearest import nearest_labels
from bayesfloor.errors import BayesfloorWarning, DataError
from bayesfloor.floor._estimate import estimate
from bayesfloor.floor.result import FloorResult
from bayesfloor.utils.checks import listed

from .experiment import Experiment, Line, Results, Settings
from .wording import ADAPTIVE, AUTHORS, LEARNED, PRINTED, percent, reproduced, table

__all__ = ["EXPERIMENT", "check_files", "crossing"]

_SETS = {"MNIST": ("mnist", "mnist_784"), "Fashion-MNIST": ("fashion_mnist", "Fashion-MNIST")}
_PAPERS_FLOOR = 0.0014
# Table 1: errors on the 10,000 test images that the paper cites.
_PUBLISHED = (
    ("Ciresan et al. 2010", "single 6-layer network", 0.0035),
    ("Ciresan et al. 2011", "7 convolutional networks, expanded training data", 0.0027),
    ("Ciresan et al. 2012", "35 convolutional networks", 0.0023),
    ("Wan et al. 2013", "5 convolutional networks with DropConnect", 0.0021),
)
_NEIGHBOUR = 9


def run(settings: Settings) -> Results:
    """Estimates at each radius, and the learned floor, on the training images."""
    shares = np.linspace(0.5, 1.5, 3) if settings.quick else np.linspace(0.4, 1.6, 13)
    results: Results = {
        "sets": {},
        "notes": [],
        "published": [list(row) for row in _PUBLISHED],
        "papers_floor": _PAPERS_FLOOR,
    }
    kept = {} if settings.kept is None else settings.kept["sets"]
    for title, X, y in _images(settings, results["notes"]):
        found = dict(kept[title]) if title in kept else _balls(title, X, y, shares, settings)
        if LEARNED not in found:
            found[LEARNED] = _floor(X, y, settings)
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
    settings.tell(f"{title}, authors' code", 0, 1)
    found[AUTHORS] = {"estimate": authors_code(X, y, random_state=settings.seed, n_jobs=settings.n_jobs)}
    settings.tell(f"{title}, authors' code", 1, 1)
    for name, learner in ((PRINTED, printed), (ADAPTIVE, adaptive)):
        found[name] = {
            "estimate": learner.bayes_error_,
            "empty": learner.occupancy_.empty_share,
            "same_balls": learner.leave_one_out_error_,
            "reliable": learner.reliable_,
        }
    return found


def _floor(X: NDArray[Any], y: NDArray[Any], settings: Settings) -> Results:
    """The learned floor of the images."""
    side = math.isqrt(X.shape[1])
    result = estimate(
        X.reshape(-1, side, side),
        y,
        kind="images",
        effort="fast" if settings.quick else "balanced",
        random_state=settings.seed,
        n_jobs=settings.n_jobs,
        progress=settings.progress,
    )
    return _figures(result)


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

    return ball_by_ball(results["sets"], results["papers_floor"], results["published"])


def judge(results: Results) -> str:
    """Table 1 in full, and for both sets the figures with what each rests on."""
    parts = [f"- {note}" for note in results["notes"]]
    for title, found in results["sets"].items():
        if title == "MNIST":
            rows = [[paper, method, percent(error, 2)] for paper, method, error in results["published"]]
            rows.append(["Noshad, Xu and Hero 2019", "ensemble of epsilon-ball estimators", _papers(results)])
            parts += ["**Table 1**, as printed", table(["paper", "method", "error"], rows)]
        parts += [f"**{title}**, {found['n']:,} images", table(["figure", "value", "rests on"], _rows(found))]
        if found[LEARNED]["reasons"]:
            parts.append(f"Caveats of the learned floor: {'; '.join(found[LEARNED]['reasons'])}.")
        parts.append(_on_radii(title, found, results))
    return "\n\n".join(parts)


def _papers(results: Results) -> str:
    return percent(results["papers_floor"], 2)


def _rows(found: Results) -> list[list[str]]:
    """A row per estimate, with what it rests on."""
    rows = []
    for name in (PRINTED, ADAPTIVE):
        balls = found[name]
        rests_on = (
            f"{percent(balls['empty'], 0)} of balls empty; classifying by the same balls has an error of "
            f"{percent(balls['same_balls'], 1)}; calls itself {'' if balls['reliable'] else 'un'}reliable"
        )
        rows.append([name, percent(balls["estimate"], 3), rests_on])
    rows.append([AUTHORS, percent(found[AUTHORS]["estimate"], 2), "all pixels as they are, three radii"])
    floor = found[LEARNED]
    interval = f"[{percent(floor['low'], 2)}, {percent(floor['high'], 2)}]"
    best = f"best single model ({floor['best_learner']}) {percent(floor['best_error'], 2)}"
    certified = "one model reached this on test images it had never seen"
    return [
        *rows,
        [LEARNED, f"{percent(floor['estimate'], 2)} {interval}", best],
        ["certified", percent(floor["ceiling"], 2), certified],
    ]


def _on_radii(title: str, found: Results, results: Results) -> str:
    """How much the radius decides, and the paper's figure on that curve."""
    text = (
        f"Between {found['share'][0]:g} and {found['share'][-1]:g} times the mean distance to the {_NEIGHBOUR}th "
        f"neighbour, the unit of the authors' code, the single-ball estimate moves from "
        f"{percent(found['estimate'][0], 3)} to {percent(found['estimate'][-1], 1)}: the radius decides, not the data."
    )
    if title != "MNIST":
        return text
    at_one = min(range(len(found["share"])), key=lambda i: abs(found["share"][i] - 1.0))
    text += (
        f" At {found['share'][at_one]:g}, the smallest radius of the authors' code, it says "
        f"{percent(found['estimate'][at_one], 2)} where the paper prints {_papers(results)}."
    )
    met = crossing(found["share"], found["estimate"], found["empty"], results["papers_floor"])
    if met is not None:
        text += (
            f" The printed {_papers(results)} lies on this curve at {met[0]:.2f}, where {percent(met[1], 0)} of all "
            "balls are empty; any other value could be had from another radius."
        )
    return f"{text} {_beside_published(found[LEARNED], min(row[-1] for row in results['published']))}"


def index(results: Results) -> list[Line]:
    """Whether the printed 0.14 % is met, within two standard errors of a count on so many images."""
    found = results["sets"].get("MNIST")
    if found is None:
        return []
    claimed = results["papers_floor"]
    near = 2 * (claimed * (1 - claimed) / found["n"]) ** 0.5
    holds = [
        found[name]["estimate"] > 0 and abs(found[name]["estimate"] - claimed) <= near
        for name in (PRINTED, AUTHORS, LEARNED)
    ]
    floor = found[LEARNED]
    interval = f"[{percent(floor['low'], 2)}, {percent(floor['high'], 2)}]"
    return [
        Line(
            "Table 1",
            f"MNIST: the benchmark learner answers {_papers(results)}, below the errors of four published networks",
            percent(found[PRINTED]["estimate"], 2),
            percent(found[AUTHORS]["estimate"], 2),
            f"{percent(floor['estimate'], 2)} {interval}",
            reproduced(*holds),
        )
    ]


def _beside_published(learned: Results, lowest: float) -> str:
    """The learned floor against the lowest error that anyone has shown."""
    start = f"The learned floor's interval {{}} the lowest published error, {percent(lowest, 2)}: "
    if learned["low"] > lowest:
        return start.format("lies above") + (
            "convolutional networks find more in the images than the models of the reference ensemble, and the "
            "estimate is too high here."
        )
    if learned["high"] < lowest:
        return start.format("lies below") + "it claims that there is more to gain than anyone has shown."
    return start.format("contains") + (
        f"the two agree, but from {percent(learned['low'], 2)} to {percent(learned['high'], 2)} is too wide to say "
        "whether anything is left to gain."
    )


EXPERIMENT = Experiment(
    "mnist",
    "MNIST (Table 1) and Fashion-MNIST",
    "On the 60,000 training images of MNIST the benchmark learner answers 0.14 %, below published classifiers with "
    "0.35, 0.27, 0.23 and 0.21 %.",
    run,
    draw,
    judge,
    index,
    goes_on=True,
)
