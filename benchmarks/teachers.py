"""Teachers: problems with a known floor whose learning curve is that of a real table.

The distinct rows of a table are split into A and B. A teacher is trained on A; its probabilities on B are the
posterior from then on: rows are drawn from B, labels from the posterior, and the floor is the mean of 1 - max over B,
exact for that finite population. On its own training rows a teacher memorises, so A is never drawn from.

python benchmarks/teachers.py fit [--data FOLDER] [--tables NAME ...]   # an hour or two; continues where it stopped
python benchmarks/teachers.py curves     # students of the teachers beside those of the real labels, results/teachers.md
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import brentq
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer
from threadpoolctl import threadpool_limits

from bayesfloor.problems.families import draw_labels
from random_problems import Drawn, log_uniform

ROOT = Path(__file__).parents[1]
DATA = ROOT / "data"
TEACHERS = ROOT / "build" / "teachers"  # not committed: `fit` makes them again
RESULTS = ROOT / "benchmarks" / "results" / "teachers.md"

Generator = np.random.Generator
Rows = tuple[np.ndarray, np.ndarray]
Loader = Callable[[Path], Rows]
FEWEST_IN_TABLE = 20  # rows of a class
MOST_A, MOST_B = 150_000, 100_000
N_VARIANTS = 4  # of each kind of teacher on each table; those with an even number see every column
LEAST_ROWS, MEDIAN_ROWS, MOST_ROWS = 150, 1_500, 10_000
EXPECTED, FEWEST = 8, 5  # rows of each class in a sample: so many expected, so many at least
TEMPERATURES = (0.5, 2.0)
SMALLEST = 1e-7  # probability: a teacher that has never seen a class there does not know it to be impossible


# --- tables -------------------------------------------------------------------------------------------------


def from_file(file: str) -> Loader:
    """Rows of an .npz file with X and y."""

    def load(folder: Path) -> Rows:
        with np.load(folder / f"{file}.npz", allow_pickle=False) as stored:
            return stored["X"].astype(np.float32), np.unique(stored["y"], return_inverse=True)[1]

    return load


def block_means(file: str, side: int = 28) -> Loader:
    """Square images as means of blocks of 2 x 2 pixels."""

    def load(folder: Path) -> Rows:
        X, y = from_file(file)(folder)
        return shrunk(X, side), y

    return load


def shrunk(X: np.ndarray, side: int = 28) -> np.ndarray:
    """Means of blocks of 2 x 2 pixels."""
    half = side // 2
    return X.reshape(len(X), half, 2, half, 2).mean(axis=(2, 4)).reshape(len(X), half * half)


def bundled(load: Callable[..., Any]) -> Loader:
    """Rows that come with scikit-learn."""

    def loaded(_: Path) -> Rows:
        X, y = load(return_X_y=True)
        return X.astype(np.float32), y

    return loaded


STORED: dict[str, Loader] = {
    "covertype": from_file("covertype"),
    "electricity": from_file("electricity"),
    "adult": from_file("adult_train"),
    "satimage": from_file("keel_satimage"),
    "penbased": from_file("keel_penbased"),
    "spambase": from_file("keel_spambase"),
    "shuttle": from_file("shuttle"),
    "wine": from_file("wine_white"),
    "phoneme": from_file("keel_phoneme"),
    "mnist": block_means("mnist"),
    "fashion_mnist": block_means("fashion_mnist"),
}
TABLES: dict[str, Loader] = {**STORED, "digits": bundled(load_digits), "breast_cancer": bundled(load_breast_cancer)}
# The form of the rule is chosen without these; they are opened once, at the end.
LOCKED_TABLES = tuple(np.random.default_rng(18).choice(list(STORED), 3, replace=False).tolist())


def first_of_equals(X: np.ndarray) -> np.ndarray:
    """Numbers of the rows that equal none before them, in their order."""
    X = np.ascontiguousarray(X) + 0  # -0.0 and 0.0 are equal, but not byte by byte
    keys = X.view(np.dtype((np.void, X.dtype.itemsize * X.shape[1]))).ravel()
    return np.sort(np.unique(keys, return_index=True)[1])


def distinct(X: np.ndarray, y: np.ndarray) -> Rows:
    """Distinct rows of classes that have enough of them; of equal rows the first one's label counts."""
    rows = first_of_equals(X)
    X, y = X[rows], y[rows]
    kept = np.flatnonzero(np.bincount(y) >= FEWEST_IN_TABLE)
    rows = np.isin(y, kept)
    return X[rows], np.searchsorted(kept, y[rows])


def distinct_table(key: str, load: Loader, data: Path, folder: Path) -> Rows:
    """`distinct` rows of a table, kept in `folder`: they are read from there without loading the whole table."""
    paths = [folder / "tables" / f"{key}_{part}.npy" for part in "Xy"]
    if not all(path.exists() for path in paths):
        paths[0].parent.mkdir(parents=True, exist_ok=True)
        for path, values in zip(paths, distinct(*load(data)), strict=True):
            write_whole(path, lambda file, values=values: np.save(file, values))
    X, y = (np.load(path, mmap_mode="r") for path in paths)
    return X, np.asarray(y)


def write_whole(path: Path, write: Callable[[Any], None]) -> None:
    """A file that is there is complete, however the run ended."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    with unfinished.open("wb") as file:
        write(file)
    unfinished.replace(path)


# --- teachers -----------------------------------------------------------------------------------------------

Teacher = Callable[[np.ndarray], np.ndarray]  # probabilities of rows, a column for each class


def all_classes(P: np.ndarray, seen: np.ndarray, n_classes: int) -> np.ndarray:
    """Columns for the classes that no training row had."""
    whole = np.zeros((len(P), n_classes))
    whole[:, seen] = P
    return whole


def scaling(A: np.ndarray, rng: Generator) -> Callable[[np.ndarray], np.ndarray]:
    """Columns made comparable: standardised, or as ranks."""
    if rng.random() < 0.4:
        ranks = QuantileTransformer(n_quantiles=min(1000, len(A)), random_state=0).fit(A)
        return lambda X: (12**0.5 * (ranks.transform(X) - 0.5)).astype(np.float32)  # of standard deviation 1
    mean, deviation = A.mean(axis=0, dtype=np.float64), A.std(axis=0, dtype=np.float64)
    # Clipped: otherwise a rare value of a nominal column, or a long tail, is all that distances see.
    return lambda X: np.clip((X - mean) / np.maximum(deviation, 1e-9), -4, 4).astype(np.float32)


def forest(A: np.ndarray, y: np.ndarray, rng: Generator) -> tuple[Teacher, dict]:
    """Extra trees or a random forest."""
    kind = [ExtraTreesClassifier, RandomForestClassifier][int(rng.integers(2))]
    settings = {
        "n_estimators": int(np.clip(4e6 / len(A), 60, 300)),
        "min_samples_leaf": int(rng.integers(1, 6)),
        "max_features": "sqrt" if rng.random() < 0.5 else 0.3,
    }
    model = kind(**settings, random_state=int(rng.integers(2**31)), n_jobs=1).fit(A, y)
    return model.predict_proba, {"model": kind.__name__, **settings}


def boosting(A: np.ndarray, y: np.ndarray, rng: Generator) -> tuple[Teacher, dict]:
    """Boosted trees, until a tenth of the rows says that it is enough; two thousand or so at most."""
    settings = {
        "max_iter": int(np.clip(2000 / (y.max() + 1), 100, 400)),
        "learning_rate": log_uniform(rng, 0.05, 0.3),
        "max_leaf_nodes": int(rng.choice([8, 15, 31, 63])),
        "min_samples_leaf": int(rng.choice([5, 20])),
        "l2_regularization": log_uniform(rng, 0.01, 10),
    }
    seed = int(rng.integers(2**31))
    model = HistGradientBoostingClassifier(**settings, early_stopping=True, random_state=seed).fit(A, y)
    return model.predict_proba, {**settings, "n_iter": int(model.n_iter_)}


def neighbours(A: np.ndarray, y: np.ndarray, rng: Generator) -> tuple[Teacher, dict]:
    """Votes of the nearest rows, the near ones counting more; the class shares vote as a fraction of a row."""
    k, near, prior = int(rng.integers(3, 26)), log_uniform(rng, 0.1, 1), log_uniform(rng, 0.02, 0.5)
    scale, shares = scaling(A, rng), np.bincount(y) / len(y)
    index = NearestNeighbors(n_neighbors=k).fit(scale(A))

    def probabilities(X: np.ndarray) -> np.ndarray:
        distances, at = index.kneighbors(scale(X))
        mean = np.maximum(distances.mean(axis=1, keepdims=True), 1e-9)
        weights = 1 / (distances / mean + near)
        P = np.stack([(weights * (y[at] == c)).sum(axis=1) for c in range(len(shares))], axis=1)
        P += prior * weights.mean(axis=1, keepdims=True) * shares
        return P / P.sum(axis=1, keepdims=True)

    return lambda X: probabilities(X)[:, np.unique(y)], {"k": k, "near": near, "prior": prior}


def network(A: np.ndarray, y: np.ndarray, rng: Generator) -> tuple[Teacher, dict]:
    """One or two hidden layers, trained until a tenth of the rows says that it is enough.

    A network that has fitted its rows says of others what is mostly noise of its own, unlike any real labels.
    """
    settings = {
        "hidden_layer_sizes": [int(rng.choice([32, 64, 128, 256]))] * int(rng.integers(1, 3)),
        "alpha": log_uniform(rng, 1e-4, 1),
        "learning_rate_init": log_uniform(rng, 1e-3, 5e-3),
        "max_iter": int(np.clip(1e6 / len(A), 40, 200)),
    }
    scale, seed = scaling(A, rng), int(rng.integers(2**31))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # stopped early, as some teachers may be
        model = MLPClassifier(**settings, early_stopping=True, n_iter_no_change=20, random_state=seed)
        model.fit(scale(A), y)
    return lambda X: model.predict_proba(scale(X)), settings


def kernel(A: np.ndarray, y: np.ndarray, rng: Generator) -> tuple[Teacher, dict]:
    """Logistic regression on Gaussians around some of the rows."""
    scale = scaling(A, rng)
    some = scale(A[rng.permutation(len(A))[:500]])
    usual = np.median(euclidean_distances(some, squared=True)[np.triu_indices(len(some), 1)])
    gamma, n_centres = log_uniform(rng, 0.5, 8) / float(usual), min(int(rng.choice([500, 1000, 2000])), len(A))
    C, seed = log_uniform(rng, 0.1, 100), int(rng.integers(2**31))
    model = make_pipeline(
        Nystroem(gamma=gamma, n_components=n_centres, random_state=seed), LogisticRegression(C=C, max_iter=150)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(scale(A), y)
    return lambda X: model.predict_proba(scale(X)), {"gamma": gamma, "n_centres": n_centres, "C": C}


# Each with the number of rows that it learns from at most: one or two minutes on a core.
KINDS: dict[str, tuple[Callable[[np.ndarray, np.ndarray, Generator], tuple[Teacher, dict]], int]] = {
    "forest": (forest, MOST_A),
    "boosting": (boosting, 100_000),
    "neighbours": (neighbours, 100_000),
    "network": (network, 100_000),
    "kernel": (kernel, 30_000),
}


def kept_columns(d: int, variant: int, rng: Generator) -> np.ndarray:
    """All columns, or for an odd variant what is left without up to half of them."""
    n_dropped = int(rng.integers(1, d // 2 + 1)) if variant % 2 and d > 2 else 0
    return np.sort(rng.permutation(d)[: d - n_dropped])


def split(X: np.ndarray, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the rows in A and in B: no row of either equals another in these columns."""
    rows = rng.permutation(first_of_equals(X))
    half = len(rows) // 2
    return rows[: min(half, MOST_A)], np.sort(rows[half : half + MOST_B])


def tempered(P: np.ndarray, temperature: float) -> np.ndarray:
    """Probabilities made sharper (below 1) or flatter."""
    logs = np.log(np.maximum(P, 1e-30)) / temperature
    P = np.exp(logs - logs.max(axis=1, keepdims=True))
    return P / P.sum(axis=1, keepdims=True)


def honest_temperature(P: np.ndarray, y: np.ndarray) -> float:
    """The temperature at which a teacher expects as many errors as it makes on real labels.

    Forests are far too modest and networks too sure of themselves; without this, the labels of most teachers would be
    much noisier, or cleaner, than the real ones, and their learning curve another one.
    """
    error = float((P.argmax(axis=1) != y).mean())

    def surplus(log_temperature: float) -> float:
        return float((1 - tempered(P, np.exp(log_temperature)).max(axis=1)).mean()) - error

    low, high = np.log(0.05), np.log(20)
    if surplus(low) >= 0:  # ties remain, or no error at all
        return 0.05
    return 20.0 if surplus(high) <= 0 else float(np.exp(brentq(surplus, low, high, xtol=1e-3)))


def numbers_of(table: str, *others: int) -> list[int]:
    """Seed of a generator that belongs to a table."""
    return [18, crc32(table.encode()), *others]


def fit_teacher(table: str, kind: str, variant: int, data: Path, folder: Path) -> dict[str, Any]:
    """Train one teacher and write what it says of B; returns how it went."""
    started = time.perf_counter()
    X, y = distinct_table(table, TABLES[table], data, folder)
    rng = np.random.default_rng(numbers_of(table, list(KINDS).index(kind), variant))
    columns = kept_columns(X.shape[1], variant, rng)
    X, n_classes = np.asarray(X)[:, columns], int(y.max()) + 1
    # Teachers that see the same columns share their B: their students can be compared.
    in_A, in_B = split(X, np.random.default_rng(numbers_of(table)))
    teach, most = KINDS[kind]
    taught = in_A[:most]
    # Without some columns a class may have few distinct rows left, too few to hold some out.
    taught = taught[np.bincount(y[taught])[y[taught]] >= FEWEST]
    with threadpool_limits(1):
        teacher, settings = teach(X[taught], y[taught], rng)
        P = np.vstack([teacher(X[part]) for part in np.array_split(in_B, -(-len(in_B) // 10_000))])
    P = all_classes(P, np.unique(y[taught]), n_classes)
    temperature = honest_temperature(P, y[in_B])
    P = np.maximum(tempered(P, temperature), SMALLEST)
    P /= P.sum(axis=1, keepdims=True)
    about = {
        "table": table,
        "kind": kind,
        "variant": variant,
        "n_A": len(taught),
        "n_B": len(in_B),
        "n_columns": len(columns),
        "error": float((P.argmax(axis=1) != y[in_B]).mean()),
        "floor": float((1 - P.max(axis=1)).mean()),
        "temperature": temperature,
        "seconds": round(time.perf_counter() - started, 1),
        "settings": settings,
    }
    arrays = {"P": P.astype(np.float32), "rows": in_B, "columns": columns, "about": np.array(json.dumps(about))}
    write_whole(teacher_path(table, kind, variant, folder), lambda file: np.savez_compressed(file, **arrays))
    return about


def teacher_path(table: str, kind: str, variant: int, folder: Path) -> Path:
    """Where a teacher is kept."""
    return folder / f"{table}_{kind}_{variant}.npz"


def read_teacher(table: str, kind: str, variant: int, folder: Path) -> dict[str, np.ndarray]:
    """Posterior P of the rows of B, their numbers in the distinct table, columns, and `about` as JSON."""
    path = teacher_path(table, kind, variant, folder)
    if not path.exists():
        raise FileNotFoundError(f"{path.name} is not there: python benchmarks/teachers.py fit --tables {table}")
    with np.load(path, allow_pickle=False) as stored:
        return dict(stored)


def fit_missing(tables: list[str], variants: list[int], data: Path, folder: Path, n_jobs: int) -> None:
    """Train all teachers that are not there yet."""
    for table in tables:  # made once, before workers would all begin to
        distinct_table(table, TABLES[table], data, folder)
    todo = [
        (table, kind, variant)
        for variant in variants  # one of each first, so that problems can be drawn before all are there
        for table in tables
        for kind in KINDS
        if not teacher_path(table, kind, variant, folder).exists()
    ]
    fits = (delayed(fit_teacher)(*which, data, folder) for which in todo)
    for about in Parallel(n_jobs=n_jobs, return_as="generator_unordered")(fits):
        print(json.dumps(about), flush=True)


# --- problems -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Population:
    """What a problem is drawn from: rows of B by their number in the distinct table, with their posterior."""

    rows: np.ndarray
    columns: np.ndarray
    P: np.ndarray
    n: int  # size of the sample

    @property
    def floor(self) -> float:
        """Exact: the error of naming the most probable class in every row."""
        return float((1 - self.P.max(axis=1)).mean())


def sample_size(rng: Generator, most: int) -> int:
    """Log-uniform on either side of the median, if there are rows enough; at most half of them."""
    top = min(most // 2, MOST_ROWS)
    if top <= MEDIAN_ROWS:
        return round(log_uniform(rng, min(LEAST_ROWS, top), top))
    low, high = (LEAST_ROWS, MEDIAN_ROWS) if rng.random() < 0.5 else (MEDIAN_ROWS, top)
    return round(log_uniform(rng, low, high))


def common_classes(P: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and their posterior, of a population in which `n` rows have enough of each class.

    Classes of which fewer are expected are left out: only rows stay that belong to one of the others with probability
    1/2 at least, and their posterior is the one given that they do.
    """
    kept = np.arange(P.shape[1])
    while True:
        share = P[:, kept].sum(axis=1)
        rows = np.flatnonzero(share >= 0.5)
        posterior = P[rows][:, kept] / share[rows, None]
        enough = n * posterior.mean(axis=0) >= EXPECTED if len(rows) else np.zeros(len(kept), dtype=bool)
        if enough.all():
            return rows, posterior
        kept = kept[enough]


def teacher_population(table: str, kind: str, number: int, folder: Path, rng: Generator) -> Population:
    """What problem `number` is drawn from: a variant of the teacher, its temperature, its classes."""
    stored = read_teacher(table, kind, number % N_VARIANTS, folder)
    P = tempered(stored["P"].astype(np.float64), log_uniform(rng, *TEMPERATURES))
    n = sample_size(rng, len(P))
    while True:
        rows, posterior = common_classes(P, n)
        if posterior.shape[1] < 2:
            raise ValueError(f"{table}, {kind}, {number}: {n} rows have no two classes of {EXPECTED}")
        if n <= len(rows) // 2:
            return Population(stored["rows"][rows], stored["columns"], posterior, n)
        n = len(rows) // 2  # rows of the classes that were left out are gone


def teacher_problem(table: str, kind: str, number: int, folder: Path = TEACHERS) -> Drawn:
    """Problem `number` of a kind of teacher on a table: a sample of B with labels drawn from the posterior.

    Rows are drawn without replacement, and again (with labels) until every class has five.
    """
    rng = np.random.default_rng(numbers_of(table, list(KINDS).index(kind), number, 1))
    population = teacher_population(table, kind, number, folder, rng)
    P, n_classes = population.P, population.P.shape[1]
    while True:
        chosen = rng.choice(len(P), population.n, replace=False)
        y = draw_labels(P[chosen], rng)
        if np.bincount(y, minlength=n_classes).min() >= FEWEST:
            break
    X = np.load(folder / "tables" / f"{table}_X.npy", mmap_mode="r")
    values = {
        "X": X[population.rows[chosen]][:, population.columns].astype(np.float64),
        "y": y,
        "family": f"teacher:{kind}",
        "floor": population.floor,
        "oracle": float((P[chosen].argmax(axis=1) != y).mean()),
        "floor_error": 0.0,  # exact for this population
        "table": table,
    }
    return Drawn(**{field.name: values[field.name] for field in fields(Drawn) if field.name in values})


# --- students -----------------------------------------------------------------------------------------------

REPEATS, MOST_TESTED = 3, 5_000


def sizes_up_to(n: int) -> list[int]:
    """188, 375, 750, 1500 and so on: halves of 12,000."""
    sizes = [round(12_000 / 2**k) for k in range(6, -1, -1)]
    return [size for size in sizes if size <= n]


def student_curve(X: np.ndarray, y: np.ndarray, sizes: list[int], n_tested: int, seed: int) -> list[float]:
    """Error of 120 fully grown extra trees on other rows, the mean over a few draws of the rows."""
    errors = np.zeros((REPEATS, len(sizes)))
    for repeat in range(REPEATS):
        order = np.random.default_rng([seed, repeat]).permutation(len(y))
        tested, free = order[:n_tested], order[n_tested:]
        for i, size in enumerate(sizes):
            model = ExtraTreesClassifier(120, random_state=repeat).fit(X[free[:size]], y[free[:size]])
            errors[repeat, i] = (model.predict(X[tested]) != y[tested]).mean()
    return errors.mean(axis=0).tolist()


def curves_of(table: str, folder: Path) -> list[str]:
    """Lines of the report for one table: real labels, then those of each kind of teacher that saw all columns."""
    X, y = (np.load(folder / "tables" / f"{table}_{part}.npy", mmap_mode="r") for part in "Xy")
    variant = whole_variant(table, folder)
    first = read_teacher(table, next(iter(KINDS)), variant, folder)
    X, y = X[first["rows"]], y[first["rows"]]
    n_tested = min(MOST_TESTED, len(y) // 3)
    sizes = sizes_up_to(len(y) - n_tested)
    lines = [
        f"## {table}{' (locked)' if table in LOCKED_TABLES else ''}",
        "",
        f"| labels | floor | {' | '.join(f'{size:,}' for size in sizes)} | last fall | above the floor |",
        "|---" * (len(sizes) + 4) + "|",
        curve_line("real", None, student_curve(X, y, sizes, n_tested, 0)),
    ]
    for kind in KINDS:
        stored = read_teacher(table, kind, variant, folder)
        P = tempered(stored["P"].astype(np.float64), 1)
        drawn = draw_labels(P, np.random.default_rng(numbers_of(table, 2)))
        floor = float((1 - P.max(axis=1)).mean())
        lines.append(curve_line(kind, floor, student_curve(X, drawn, sizes, n_tested, 0)))
    return [*lines, ""]


def whole_variant(table: str, folder: Path) -> int:
    """The first variant that sees all columns and that every kind has here; 0 if there is none."""
    return next(
        (v for v in range(0, N_VARIANTS, 2) if all(teacher_path(table, kind, v, folder).exists() for kind in KINDS)), 0
    )


def curve_line(name: str, floor: float | None, curve: list[float]) -> str:
    """A row of the table; the falls are the last error by the one before, whole and without the floor."""
    falls = [f"{(curve[-1] - least) / (curve[-2] - least):.2f}" for least in (0.0, floor) if falling(curve, least)]
    known = "" if floor is None else f"{floor:.1%}"
    cells = [known, *(f"{value:.1%}" for value in curve), *falls, *[""] * (2 - len(falls))]
    return f"| {name} | {' | '.join(cells)} |"


def falling(curve: list[float], least: float | None) -> bool:
    """Whether there is something above the floor to fall."""
    return least is not None and len(curve) > 1 and curve[-2] > least


def curves_report(tables: list[str], folder: Path, n_jobs: int) -> str:
    """Every table's curves."""
    head = [
        "# Students of the teachers, beside students of the real labels",
        "",
        "Written by `python benchmarks/teachers.py curves`. Rows of B, which no teacher was trained on; labels are the "
        "real ones or drawn from a teacher (one of each kind, all columns, at the temperature at which it "
        "expects as many errors as it makes on the real labels: its floor). Error of 120 fully grown extra trees on "
        f"other rows of B, mean of {REPEATS} draws, by the number of training rows; the last fall is the error at the "
        "largest size by that at half of it, then the same of what is above the floor.",
        "",
    ]
    parts = Parallel(n_jobs=n_jobs)(delayed(curves_of)(table, folder) for table in tables)
    return "\n".join([*head, *(line for part in parts for line in part)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["fit", "curves"])
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the .npz files")
    parser.add_argument("--folder", type=Path, default=TEACHERS, help="where the teachers are kept")
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--variants", nargs="+", type=int, choices=range(N_VARIANTS), default=list(range(N_VARIANTS)))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.command == "fit":
        fit_missing(options.tables, options.variants, options.data, options.folder, options.jobs)
    else:
        text = curves_report(options.tables, options.folder, options.jobs)
        print(text)
        options.out.write_text(text, encoding="utf-8")
