"""The floor of real tables, against what plain classifiers reach when they are trained on all other rows.

The true floor of a real table is not known, but no classifier errs less. An interval is provably wrong if its lower end
is above the 99 % limit of an error that was counted on held-out rows. So that a floor of 0 does not win, the same with
labels replaced by uniform draws, where the floor cannot be below what the draws alone cost.

python benchmarks/real_tables.py reached [--data FOLDER]   # an hour or two; continues where it stopped
python benchmarks/real_tables.py run [--data FOLDER]       # likewise: what the library says, which no rule has touched
python benchmarks/real_tables.py report                    # benchmarks/results/real_tables.md
"""

import argparse
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.linalg import solve
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayesfloor.utils.intervals import upper_limit
from floor_evidence import LIBRARY, collect_figures
from records import Record, drop_other_libraries, read_records, run_missing
from teachers import DATA, TABLES, TEACHERS, Loader, distinct_table, from_file, shrunk
from train_floor import ceiling, fit_without, judged

RECORDS = Path(__file__).parent / "results" / "real_tables.jsonl"  # committed as it grows
REPORT = RECORDS.with_suffix(".md")
# Whole images here: teachers see block means.
IMAGES: dict[str, Loader] = {"mnist": from_file("mnist"), "fashion_mnist": from_file("fashion_mnist")}
REAL: dict[str, Loader] = {**{name: TABLES[name] for name in TABLES if name != "breast_cancer"}, **IMAGES}
SIZES, REPLACED = (500, 1_500, 5_000), (0.0, 0.2, 0.4)
FEWEST = 5  # rows of a class in a sample
LEVEL, MOST_HELD_OUT = 0.99, 10_000
ALLOWED, OUT_OF, AT_MOST_REACHED = 2, 36, 0.75  # provably wrong ones among so many; share of floors not above reached
REACHED = 1_000  # numbers of records from here on are classifiers

# --- what is reached ----------------------------------------------------------------------------------------

Predict = Callable[[np.ndarray, np.ndarray, np.ndarray, bool], np.ndarray]  # (A, labels of A, B, images) -> labels of B


def scaled(A: np.ndarray, B: np.ndarray, images: bool) -> tuple[np.ndarray, np.ndarray]:
    """Columns made comparable; pixels already are."""
    if images:
        return A / np.float32(255), B / np.float32(255)
    mean, deviation = A.mean(axis=0, dtype=np.float64), A.std(axis=0, dtype=np.float64)
    deviation[deviation == 0] = 1
    return ((A - mean) / deviation).astype(np.float32), ((B - mean) / deviation).astype(np.float32)


def n_trees(A: np.ndarray) -> int:
    """300, fewer where a tree takes long."""
    return 300 if len(A) <= 100_000 else 100


def extra_trees(A: np.ndarray, y: np.ndarray, B: np.ndarray, images: bool) -> np.ndarray:
    """Fully grown, every split chosen among all columns (of images, among their root)."""
    model = ExtraTreesClassifier(n_trees(A), max_features="sqrt" if images else None, random_state=0)
    return model.fit(A, y).predict(B)


def random_forest(A: np.ndarray, y: np.ndarray, B: np.ndarray, images: bool) -> np.ndarray:
    """With scikit-learn's settings."""
    return RandomForestClassifier(n_trees(A), random_state=0).fit(A, y).predict(B)


def boosting(A: np.ndarray, y: np.ndarray, B: np.ndarray, images: bool) -> np.ndarray:
    """As many rounds as a tenth of the rows ask for; images as block means, which takes a quarter of the time."""
    if images:
        A, B = shrunk(A), shrunk(B)
    rounds = 3_000 // (int(y.max()) + 1)
    model = HistGradientBoostingClassifier(
        max_iter=min(rounds, 600), max_leaf_nodes=63, early_stopping=True, n_iter_no_change=20, random_state=0
    )
    return model.fit(A, y).predict(B)


def neighbours(k: int, A: np.ndarray, y: np.ndarray, B: np.ndarray, images: bool) -> np.ndarray:
    """Vote of the k nearest rows."""
    A, B = scaled(A, B, images)
    return KNeighborsClassifier(k).fit(A, y).predict(B)


SVM_ROWS = 20_000


def support_vectors(A: np.ndarray, y: np.ndarray, B: np.ndarray, images: bool) -> np.ndarray:
    """Gaussian kernel, C = 10."""
    A, B = scaled(A[:SVM_ROWS], B, images)
    return SVC(C=10, cache_size=1000).fit(A, y[:SVM_ROWS]).predict(B)


def blocks(X: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """Rows, so many at a time."""
    return (X[start : start + size] for start in range(0, len(X), size))


def kernel_ridge(
    A: np.ndarray, y: np.ndarray, B: np.ndarray, images: bool, most_centres: int = 6_000, ridge: float = 1e-7
) -> np.ndarray:
    """Least squares on exp(-distance) to some of the rows."""
    A, B = scaled(A, B, images)
    n_centres = most_centres if len(A) <= 100_000 else most_centres // 2
    centres, Y = A[:n_centres], np.eye(int(y.max()) + 1, dtype=np.float32)[y]  # rows are in random order
    usual = float(np.median(euclidean_distances(centres[:500], centres[-500:])))

    def near(X: np.ndarray) -> np.ndarray:
        # In double precision: a rounded product of the matrix with itself is not positive definite.
        return np.exp(-euclidean_distances(X, centres) / usual).astype(np.float64)

    gram, target = np.zeros((len(centres),) * 2), np.zeros((len(centres), Y.shape[1]))
    for X, T in zip(blocks(A, 4_000), blocks(Y, 4_000), strict=True):
        K = near(X)
        gram += K.T @ K
        target += K.T @ T
    # The identity is there for centres that coincide.
    penalty = near(centres) + np.eye(len(centres))
    weights = solve(gram + ridge * len(A) * penalty, target, assume_a="pos")
    return np.concatenate([(near(X) @ weights).argmax(axis=1) for X in blocks(B, 4_000)])


PATCH, N_FILTERS, GRID = 6, 300, 3


def patch_features(X: np.ndarray, filters: np.ndarray, side: int = 28) -> np.ndarray:
    """How much each part of an image looks like each filter, or its negative, less a threshold."""
    windows = sliding_window_view(X.reshape(-1, side, side), (PATCH, PATCH), axis=(1, 2))
    n, places = len(X), side - PATCH + 1
    similar = contrasts(windows.reshape(-1, PATCH**2)) @ filters.T
    similar = similar.reshape(n, places, places, len(filters))
    starts = np.linspace(0, places, GRID, endpoint=False).astype(int)
    parts = [
        np.add.reduceat(np.add.reduceat(np.maximum(sign * similar - 0.5, 0), starts, axis=1), starts, axis=2)
        for sign in (1, -1)
    ]
    return np.concatenate([part.reshape(n, -1) for part in parts], axis=1)


def contrasts(patches: np.ndarray) -> np.ndarray:
    """Patches without their mean and, unless they are nearly flat, of length 1."""
    patches = patches - patches.mean(axis=1, keepdims=True)
    return patches / np.sqrt((patches**2).sum(axis=1, keepdims=True) + 0.1)


def patches(A: np.ndarray, y: np.ndarray, B: np.ndarray, images: bool) -> np.ndarray:
    """Kernel ridge on how often patches of the training images occur in each part of an image."""
    A, B = scaled(A, B, images=True)
    side, rng = int(A.shape[1] ** 0.5), np.random.default_rng(0)
    pictures = A[rng.integers(len(A), size=20 * N_FILTERS)].reshape(-1, side, side)
    corners = rng.integers(side - PATCH + 1, size=(len(pictures), 2))
    cut = np.stack([p[i : i + PATCH, j : j + PATCH].ravel() for p, (i, j) in zip(pictures, corners, strict=True)])
    filters = contrasts(cut)
    filters = filters[np.argsort(-(filters**2).sum(axis=1))[: 10 * N_FILTERS]]  # not the flat ones
    filters = filters[rng.permutation(len(filters))[:N_FILTERS]]
    A, B = (np.vstack([patch_features(X, filters, side) for X in blocks(part, 250)]) for part in (A, B))
    return kernel_ridge(np.sqrt(A), y, np.sqrt(B), images=False)


CLASSIFIERS: dict[str, Predict] = {
    "extra trees": extra_trees,
    "random forest": random_forest,
    "boosting": boosting,
    "nearest neighbour": partial(neighbours, 1),
    "5 nearest neighbours": partial(neighbours, 5),
    "support vectors": support_vectors,
    "kernel ridge": kernel_ridge,
    "patches": patches,
}


# By the time they take, before any result was seen. Of pixels, patches see more than rows of pixels do.
QUICK_ON_IMAGES = ("extra trees", "nearest neighbour", "patches")
QUICK_ON_MANY = ("extra trees", "random forest", "boosting", "nearest neighbour", "5 nearest neighbours")
MANY_ROWS = 100_000


def classifiers_for(table: str, n_rows: int) -> list[str]:
    """Classifiers that are tried on a table of so many training rows."""
    if table in IMAGES:
        return list(QUICK_ON_IMAGES)
    if n_rows > MANY_ROWS:
        return list(QUICK_ON_MANY)
    return [name for name in CLASSIFIERS if name != "patches" and (name != "support vectors" or n_rows <= SVM_ROWS)]


def held_out_rows(table: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """All other rows, in random order, and a fifth of the table."""
    order = np.random.default_rng([6, crc32(table.encode())]).permutation(n)
    n_held = min(n // 5, MOST_HELD_OUT)
    return order[n_held:], order[:n_held]


def rows_of(table: str, data: Path, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows of a table: a copy of a training row is no test of what a classifier knows of new ones."""
    return distinct_table(f"{table}_784" if table in IMAGES else table, REAL[table], data, folder)


def reach(number: int, data: Path, folder: Path) -> Record:
    """Errors of one classifier on the held-out rows, class by class."""
    which, at = divmod(number - REACHED, len(CLASSIFIERS))
    table, name = list(REAL)[which], list(CLASSIFIERS)[at]
    X, y = rows_of(table, data, folder)
    others, held = held_out_rows(table, len(y))
    started, n_classes = time.perf_counter(), int(y.max()) + 1
    with threadpool_limits(1):
        named = CLASSIFIERS[name](X[others], y[others], X[held], table in IMAGES)
    wrong = named != y[held]
    return {
        "number": number,
        "table": table,
        "classifier": name,
        "trained": len(others),
        "wrong": np.bincount(y[held][wrong], minlength=n_classes).tolist(),
        "tested": np.bincount(y[held], minlength=n_classes).tolist(),
        "seconds": round(time.perf_counter() - started, 1),
    }


def reach_numbers(tables: Iterable[str], data: Path, folder: Path) -> list[int]:
    """Numbers of the classifiers to try, the quick tables first."""
    rows = {table: len(rows_of(table, data, folder)[1]) for table in tables}
    return [
        REACHED + list(REAL).index(table) * len(CLASSIFIERS) + list(CLASSIFIERS).index(name)
        for table in sorted(rows, key=lambda table: rows[table])
        for name in classifiers_for(table, rows[table] - min(rows[table] // 5, MOST_HELD_OUT))
    ]


# --- what is estimated --------------------------------------------------------------------------------------


def sample(y: np.ndarray, table: str, size: int) -> np.ndarray:
    """Numbers of so many rows, half the table at most, without those of classes that have fewer than five."""
    rng = np.random.default_rng([66, crc32(table.encode()), size])
    rows = np.sort(rng.choice(len(y), min(size, len(y) // 2), replace=False))
    return rows[np.bincount(y[rows])[y[rows]] >= FEWEST]


def with_draws(codes: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Labels, each with this probability replaced by a uniform draw among all classes (its own included)."""
    return np.where(rng.random(len(codes)) < share, rng.integers(codes.max() + 1, size=len(codes)), codes)


def cases(tables: Iterable[str]) -> list[tuple[str, int, float]]:
    """Table, size and share of replaced labels of every estimate."""
    return list(product(tables, SIZES, REPLACED))


def collect_one(number: int, data: Path, folder: Path) -> Record:
    """What the library says of one sample."""
    table, size, share = cases(REAL)[number]
    X, y = rows_of(table, data, folder)
    rows = sample(y, table, size)
    classes, codes = np.unique(y[rows], return_inverse=True)
    labels = with_draws(codes, share, np.random.default_rng([666, number]))
    figures = collect_figures(np.asarray(X[rows], dtype=np.float64), labels)
    return {"number": number, "table": table, "size": size, "replaced": share, "classes": classes.tolist(), **figures}


def collect_missing(records: Path, tables: list[str], data: Path, folder: Path, n_jobs: int) -> None:
    """Collect what is not there yet, or of another library."""
    wanted = [number for number, (table, *_) in enumerate(cases(REAL)) if table in tables]
    for table in tables:  # made once, before workers would all begin to
        rows_of(table, data, folder)
    drop_other_libraries(records, LIBRARY)
    run_missing(records, partial(collect_one, data=data, folder=folder), wanted, n_jobs)


def with_answers(records: list[Record], rule_without: Callable[[str], dict] = fit_without) -> list[Record]:
    """Records with floor, interval and ceiling, by rules that were fitted without the teachers of the table."""
    answered = [r for r in records if "curve" not in r]
    for table in dict.fromkeys(r["table"] for r in records if "curve" in r):
        own = [r for r in records if "curve" in r and r["table"] == table]
        for r, (floor, low, high) in zip(own, judged(own, rule_without(table)), strict=True):
            answered.append({**r, "floor": floor, "low": low, "high": high, "ceiling": ceiling(r, 0.95)})
    return answered


# --- what is proved -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reach:
    """What a table's best classifier errs on held-out rows of some classes, and the limit of its error."""

    classifier: str
    error: float
    limit: float


def reached(tried: list[Record], classes: list[int]) -> Reach:
    """The least error on held-out rows of these classes; the least limit, all of which hold at once with 99 %.

    A classifier that names another class errs, so this is the error on the population that has only these classes.
    """
    level = 1 - (1 - LEVEL) / len(tried)  # Bonferroni
    found = []
    for record in tried:
        wrong, tested = (int(np.array(record[key])[classes].sum()) for key in ("wrong", "tested"))
        found.append(Reach(record["classifier"], wrong / tested, upper_limit(wrong, tested, level)))
    return min(found, key=lambda reach: reach.limit)


@dataclass(frozen=True)
class Verdict:
    """An estimate, and where the floor must lie: from `least` to `limit`, with 99 %; `reached` is what was counted."""

    record: Record
    least: float
    reached: float
    limit: float
    classifier: str

    @property
    def provably_wrong(self) -> bool:
        """The interval lies wholly above, or below, where the floor must be."""
        return self.record["low"] > self.limit or self.record["high"] < self.least

    @property
    def at_most_reached(self) -> bool:
        """The floor is not above what a classifier errs."""
        return self.record["floor"] <= self.reached


def verdict(record: Record, tried: list[Record]) -> Verdict:
    """Where the floor must lie.

    If a share rho of the labels is a uniform draw among C classes, the posterior is (1 - rho) p + rho / C, and the
    floor rho (1 - 1 / C) + (1 - rho) times that of the real labels.
    """
    reach, share = reached(tried, record["classes"]), record["replaced"]
    least = share * (1 - 1 / len(record["classes"]))
    return Verdict(
        record, least, least + (1 - share) * reach.error, least + (1 - share) * reach.limit, reach.classifier
    )


def verdicts(records: list[Record]) -> list[Verdict]:
    """Of every estimate whose table has been tried."""
    tried: dict[str, list[Record]] = {}
    for record in records:
        if "classifier" in record:
            tried.setdefault(record["table"], []).append(record)
    return [verdict(r, tried[r["table"]]) for r in records if "floor" in r and r["table"] in tried]


# --- report -------------------------------------------------------------------------------------------------


def demand(name: str, found: int, n: int, held: bool, asked: str) -> str:
    """One line: what was asked, and what was found."""
    answer = ("held" if held else "**missed**") if n else "not run"
    return f"| {name} | {found} of {n} | {asked} | {answer} |"


def demands(found: list[Verdict]) -> list[str]:
    """What the issue asks, and whether it is so."""
    lines = ["| | found | asked | |", "|---|---|---|---|"]
    for share in REPLACED:
        some = [v for v in found if v.record["replaced"] == share]
        wrong = sum(v.provably_wrong for v in some)
        what = f"provably wrong, {share:.0%} of the labels replaced" if share else "provably wrong"
        lines.append(demand(what, wrong, len(some), wrong * OUT_OF <= ALLOWED * len(some), f"at most {ALLOWED} in 36"))
    plain = [v for v in found if v.record["replaced"] == 0]
    low = sum(v.at_most_reached for v in plain)
    asked = "at least three of four"
    lines.append(demand("floor at most what is reached", low, len(plain), low >= AT_MOST_REACHED * len(plain), asked))
    return lines


def verdict_line(v: Verdict) -> str:
    """One row of the table."""
    r = v.record
    ceiling = "" if r["ceiling"] is None else f"{100 * r['ceiling']:.1f}"
    figures = [f"{100 * r['floor']:.1f}", f"{100 * r['low']:.1f} to {100 * r['high']:.1f}", ceiling]
    figures += [f"{100 * value:.1f}" for value in (r["error"], v.least, v.reached, v.limit)]
    signs = ["**yes**" if v.provably_wrong else "no", "yes" if v.at_most_reached else "no"]
    return f"| {r['table']} | {r['n']:,} | {len(r['classes'])} | {' | '.join([*figures, v.classifier, *signs])} |"


def report(records: list[Record]) -> str:
    """What was asked, then every estimate."""
    found = verdicts(records)
    lines = [
        "# The floor of real tables, against what is reached with all rows",
        "",
        f"Written by `python benchmarks/real_tables.py report` from {len(found)} estimates at default effort, each "
        "by a rule that was fitted without teachers on its table. Samples of 500, 1,500 and 5,000 of the "
        "distinct rows (half the table at most, another draw for each size; classes "
        "with fewer than five rows in the sample are left out). *Reached*: what the best of several plain classifiers "
        "errs on held-out rows (a fifth of the table, at most 10,000) of the same classes, trained on all others; "
        "*limit*: its Clopper-Pearson limit, 99 % for all the classifiers at once. The floor is at most that. "
        "*Provably wrong*: the interval's lower end is above the limit or, with labels replaced by uniform draws, its "
        "upper end below *least*, what the draws alone cost. Per cent throughout.",
        "",
        *demands(found),
    ]
    for share in REPLACED:
        lines += [
            "",
            f"## {share:.0%} of the labels replaced" if share else "## The labels as they are",
            "",
            "| table | rows | classes | floor | interval | ceiling | library | least | reached | limit | by "
            "| provably wrong | floor <= reached |",
            "|---" * 13 + "|",
            *(verdict_line(v) for v in found if v.record["replaced"] == share),
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["reached", "run", "report"])
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the .npz files")
    parser.add_argument("--folder", type=Path, default=TEACHERS, help="where the distinct rows are kept")
    parser.add_argument("--tables", nargs="+", choices=list(REAL), default=list(REAL))
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--out", type=Path, default=REPORT)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    places = {"data": options.data, "folder": options.folder}
    if options.command == "reached":
        numbers = reach_numbers(options.tables, **places)
        run_missing(options.records, partial(reach, **places), numbers, options.jobs)
    elif options.command == "run":
        collect_missing(options.records, options.tables, **places, n_jobs=options.jobs)
    else:
        text = report(with_answers(read_records(options.records)))
        print(text)
        options.out.write_text(text + "\n", encoding="utf-8")
