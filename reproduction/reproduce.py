"""Run experiments, keep their results, and write the page from them: ``python -m reproduction``."""

import argparse
import difflib
import json
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bayesfloor.errors import DataError, ParameterError
from bayesfloor.utils.files import check_writable, write_file
from bayesfloor.utils.progress import TerminalProgress

from .experiment import Experiment, Line, Settings
from .wording import ADAPTIVE, AUTHORS, LEARNED, PRINTED, table

__all__ = ["NAMES", "add_arguments", "main", "page", "run"]

# Name: module; in the order of the page.
_MODULES = {
    "drawings": "drawings",
    "bounds": "against_bounds",
    "classifiers": "against_classifiers",
    "weights": "ensemble_weights",
    "ensembles": "weights_compared",
    "scaling": "radius_scale",
    "units": "unit_scan",
    "mnist": "images",
    "stopping": "stopping_rule",
    "convergence": "convergence",
    "single_radius": "single_radius",
    "pure_noise": "pure_noise",
    "many_classes": "many_classes",
}
NAMES = tuple(_MODULES)
_SCHEMA = 1
_MARK = "<!-- Written by `python -m reproduction` from the JSON files in paper/: do not edit. -->"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    listed = f"{', '.join(NAMES)}; all; or page: write the page again"
    parser.add_argument("names", nargs="+", metavar="NAME", help=listed)
    parser.add_argument("--quick", action="store_true", help="small samples, few repetitions: to see that it runs")
    parser.add_argument("--out", type=Path, default=Path("docs"), metavar="DIR", help="for paper.md and paper/ (docs)")
    parser.add_argument("--data", type=Path, metavar="DIR", help="has mnist.npz and fashion_mnist.npz; default: OpenML")
    parser.add_argument("--seed", type=int, default=0, help="of all samples (0)")
    parser.add_argument("--jobs", type=int, help="processes; default: all cores")
    parser.add_argument("--force", action="store_true", help="run again, and overwrite, what is there already")
    parser.add_argument("--add", action="store_true", help="add what results that are there lack, and keep the rest")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as told by the command line; 0 if done, 2 for bad input, 130 if interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduction",
        description="Run the experiments of the paper, and write down what holds. What is done already is kept.",
    )
    add_arguments(parser)
    return run(parser.parse_args(arguments))


def run(options: argparse.Namespace) -> int:
    """Do what the parsed options say; errors are one line on stderr."""
    try:
        return _run(options)
    except (ValueError, TypeError, OSError) as error:
        print(f"bayesfloor: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nbayesfloor: interrupted; run again to continue with what is missing", file=sys.stderr)
        return 130


def _run(options: argparse.Namespace) -> int:
    names = _chosen(options.names)
    if options.seed < 0:
        raise ParameterError(f"seed must be 0 or more, got {options.seed}")
    if options.jobs == 0:
        raise ParameterError("jobs must not be 0: leave it out for all cores")
    if options.data is not None and not options.data.is_dir():
        raise ParameterError(f"there is no directory {options.data} with data")
    if find_spec("matplotlib") is None:
        raise ParameterError("the figures need matplotlib: pip install matplotlib")
    folder = options.out / "paper"
    target = _page_file(options.out, force=options.force)
    done = {name: not options.force and _is_done(folder / f"{name}.json", options) for name in names}
    todo = [name for name in names if not done[name] or (options.add and _experiment(name).goes_on)]
    if "mnist" in todo and options.data is not None:
        from .images import check_files

        check_files(options.data)  # now, not when the experiments before it have taken hours
    if names:
        folder.mkdir(parents=True, exist_ok=True)
        check_writable(folder / "any.json", force=True)
    settings = Settings(
        options.quick, options.seed, options.jobs, options.data, None if options.quiet else TerminalProgress()
    )
    failed = []
    for name in names:
        file = folder / f"{name}.json"
        if name in todo:
            try:
                earlier = _read(file) if done[name] else None
                record = _record(name, settings, earlier)
            except DataError as error:  # images that cannot be fetched must not keep the others from running
                failed.append(f"{name} was left out: {error}")
                _say(options, failed[-1])
                continue
            write_file(file, json.dumps(record, indent=1) + "\n", force=True)
            _draw(name, record, folder)
            _say(options, f"{name}: {record['seconds']:.0f} s, {file}")
        elif not all(file.with_suffix(f".{kind}").exists() for kind in ("png", "svg")):
            _draw(name, _read(file), folder)
            _say(options, f"{name}: drawn again from {file}")
        else:
            _say(options, f"{name}: kept, {file}")
    if not failed or any((folder / f"{name}.json").exists() for name in NAMES):
        write_file(target, page(folder), force=True)
        _say(options, f"page: {target}")
    if failed:
        raise DataError("; ".join(failed))
    return 0


def _say(options: argparse.Namespace, text: str) -> None:
    if not options.quiet:
        print(text, flush=True)


def _chosen(names: Sequence[str]) -> list[str]:
    """Experiments in the order of the page; none for "page"."""
    for name in names:
        if name not in (*NAMES, "all", "page"):
            near = difflib.get_close_matches(name, NAMES, n=1, cutoff=0.4)
            hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(NAMES)}, all and page"
            raise ParameterError(f"there is no experiment named {name!r}: {hint}")
    return [name for name in NAMES if name in names or "all" in names]


def _page_file(out: Path, *, force: bool) -> Path:
    """The page, if it may be written: our own may, another file of that name only by force."""
    target = out / "paper.md"
    if out.exists() and not out.is_dir():
        raise ParameterError(f"cannot write to {out}: it is not a directory")
    if target.is_file() and not force and _MARK not in target.read_text(encoding="utf-8"):
        raise ParameterError(f"{target} exists and was not written by this command: use --force to overwrite it")
    return target


def _is_done(file: Path, options: argparse.Namespace) -> bool:
    """Whether results of the same settings are there; others are not overwritten unasked."""
    if not file.exists():
        for figure in (file.with_suffix(".png"), file.with_suffix(".svg")):
            if figure.exists():
                raise ParameterError(f"{figure} exists, without its results: use --force to overwrite it")
        return False
    kept = _read(file)["settings"]
    if kept != {"quick": options.quick, "seed": options.seed}:
        raise ParameterError(f"{file} holds results of other settings {kept}: use --force, or another --out")
    return True


def _read(file: Path) -> dict[str, Any]:
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
        if record["schema"] != _SCHEMA or not {"settings", "seconds", "versions", "results"} <= record.keys():
            raise KeyError("schema")
    except (OSError, json.JSONDecodeError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise DataError(f"{file} does not hold results of this command ({error!r}): delete it") from None
    return dict(record)


def _experiment(name: str) -> Experiment:
    return import_module(f"{__package__}.{_MODULES[name]}").EXPERIMENT


def _record(name: str, settings: Settings, earlier: dict[str, Any] | None = None) -> dict[str, Any]:
    started = time.perf_counter() - (0.0 if earlier is None else earlier["seconds"])
    results = _experiment(name).run(replace(settings, kept=None if earlier is None else earlier["results"]))
    return {
        "schema": _SCHEMA,
        "name": name,
        "settings": {"quick": settings.quick, "seed": settings.seed},
        "seconds": round(time.perf_counter() - started, 1),
        "versions": _versions(),
        "results": results,
    }


def _versions() -> dict[str, str]:
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for package in ("bayesfloor", "numpy", "scipy", "scikit-learn", "torch", "xgboost", "xgboost-cpu"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _draw(name: str, record: dict[str, Any], folder: Path) -> None:
    from .figures import as_files

    for kind, content in as_files(_experiment(name).draw(record["results"])).items():
        write_file(folder / f"{name}.{kind}", content, force=True)


def page(folder: Path) -> str:
    """The page, from the JSON files in the folder alone."""
    records = {name: _read(folder / f"{name}.json") for name in NAMES if (folder / f"{name}.json").exists()}
    if not records:
        raise DataError(f"there are no results in {folder}: run the experiments first")
    total = sum(record["seconds"] for record in records.values())
    quick = [name for name, record in records.items() if record["settings"]["quick"]]
    seeds = sorted({record["settings"]["seed"] for record in records.values()})
    command = "all" if len(records) == len(NAMES) else " ".join(records)
    duration = "under a minute" if total < 60 else f"{total / 60:.0f} minutes"
    lines = [_MARK, "", *_introduction(command, ", ".join(map(str, seeds)), duration), ""]
    if quick:
        lines += [f"**Quick run of {', '.join(quick)}: samples too small to judge anything by.**", ""]
    index: list[tuple[str, Line]] = []
    sections: list[str] = []
    for name, record in records.items():
        experiment = _experiment(name)
        try:
            judgement = experiment.judge(record["results"])
            index += [(experiment.title, line) for line in experiment.index(record["results"])]
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise DataError(f"{name}.json lacks what the page needs ({error!r}): run it again with --force") from None
        sections += [
            f"## {experiment.title}",
            "",
            f"**The paper.** {experiment.paper_shows}",
            "",
            f"![{experiment.title}](paper/{name}.png)",
            "",
            judgement,
            "",
            f"`python -m reproduction {name}`: {record['seconds']:.0f} s; [figure as SVG](paper/{name}.svg), "
            f"[results](paper/{name}.json).",
            "",
        ]
    lines += [*_index(index), "", *sections]
    missing = [name for name in NAMES if name not in records]
    if missing:
        lines += [f"Not run yet: {', '.join(missing)}.", ""]
    return "\n".join(lines)


def _index(found: Sequence[tuple[str, Line]]) -> list[str]:
    """The first table of the page: who reproduces what."""
    kinds = ("Figure", "Table", "Theorem")

    def number(entry: tuple[str, Line]) -> tuple[int, int, str]:
        kind, _, rest = entry[1].place.partition(" ")
        return kinds.index(kind), int(re.match(r"\d+", rest)[0]), rest  # type: ignore[index]

    rows = [
        [f"[{line.place}](#{_anchor(title)})", line.claim, line.printed, line.authors, line.here, line.verdict]
        for title, line in sorted(found, key=number)
    ]
    header = ["in the paper", "the paper's claim", "as printed", "authors' code", "here", "reproduced"]
    return [
        "## Who reproduces what",
        "",
        table(header, rows),
        "",
        'An estimate "reproduces" a floor if its mean at the largest N is within two standard errors of someone who '
        "knows the Bayes classifier and counts its errors on as many rows, and if not most of its balls are empty.",
    ]


def _anchor(title: str) -> str:
    """Anchor of a heading, as GitHub and the site make it.

    Examples
    --------
    >>> _anchor("MNIST (Table 1) and Fashion-MNIST")
    'mnist-table-1-and-fashion-mnist'
    """
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _introduction(command: str, seeds: str, duration: str) -> list[str]:
    return [
        "# The experiments of the paper, run and judged",
        "",
        'M. Noshad, L. Xu and A. Hero, "Learning to Benchmark: Determining Best Achievable Misclassification Error '
        'from Training Data", [arXiv 1909.07192](https://arxiv.org/abs/1909.07192). For each experiment: what the '
        "paper shows, what comes out, and a judgement computed from the figures. Figures, tables and theorems have the "
        "numbers of the PDF. The theory and its errata: [theory.md](theory.md).",
        "",
        f"Written by `python -m reproduction {command}`, seed {seeds}, {duration} in all. Every result below comes "
        "from the JSON files in [paper/](paper/).",
        "",
        f"- **{PRINTED}**: `BenchmarkLearner.paper()`, radii xi N_1^(-1/2d) with xi up to alpha = 0.5, features as "
        "they are, misprints corrected;",
        f"- **{AUTHORS}**: `bayesfloor.classical.authors_code`, the estimator of the authors' "
        "[published code](https://github.com/mrtnoshad/Bayes_Error_Estimator), written anew from its description; it "
        "is not the printed method (radii of 1 to 1.5 times the mean distance to the 9th neighbour, averages of errors "
        "instead of ratios, class shares applied twice);",
        f"- **{ADAPTIVE}**: `BenchmarkLearner()`, the printed estimator with radii from the data, on standardized "
        "features;",
        f'- **{LEARNED}**: `bayesfloor.estimate`, what this package recommends (effort "fast" in curves, the default '
        "where it stands alone).",
        "",
        "The first three on 25 problems with a known floor: [leaderboard](leaderboard_paper.md).",
        "",
        "An empty ball gives the ratio 0, which counts as no error: so the share of empty balls, each radius counted "
        "by the size of its weight, stands beside every such estimate. Bands are the middle 95 % of the samples.",
    ]
