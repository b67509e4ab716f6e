"""Command line of the arena: ``python -m bayesfloor.arena``."""

import argparse
import difflib
import shlex
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from .._text import printable
from ..errors import ParameterError
from ..problems.problems import KINDS, get, names
from ..utils.checks import brief
from ..utils.files import check_writable, write_file
from ..utils.progress import terminal_progress
from .arena import default_estimators, run
from .leaderboard import ArenaResult
from .metrics import run_metrics

__all__ = ["main", "parser"]

_EXAMPLES = """examples:
  {prog} --problems moons twonorm --n-seeds 2
  {prog} --results run.jsonl --leaderboard board.md    # again to continue after a stop
  {prog} --metrics --problems moons --n-seeds 1        # AUC, log-loss, F1 and others
"""


class _Parser(argparse.ArgumentParser):
    """Errors take one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"bayesfloor: error: {printable(' '.join(message.split()))} (see {self.prog} --help)\n")


def parser(prog: str = "python -m bayesfloor.arena") -> argparse.ArgumentParser:
    """All options."""
    top = _Parser(
        prog=prog,
        description="Run estimators of the floor on problems whose floor is known, and rank them.",
        epilog=_EXAMPLES.format(prog=prog),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--list", action="store_true", help="list problems and estimators, and stop")
    top.add_argument("--problems", nargs="+", metavar="NAME", help="see --list; default: all but images and texts")
    top.add_argument("--estimators", nargs="+", metavar="NAME", help="default: all that are installed")
    top.add_argument("--metrics", action="store_true", help="a table for each other metric, of the learned floor")
    top.add_argument("--sizes", nargs="+", type=int, default=[1500], metavar="N", help="sample sizes (1500)")
    top.add_argument("--n-seeds", type=int, default=5, help="samples per problem and size (5)")
    top.add_argument("--jobs", type=int, help="processes; default: all cores")
    top.add_argument("--results", type=Path, help="file of results (JSON lines); if it exists, the run continues")
    top.add_argument("--leaderboard", type=Path, help="write tables here (Markdown), with a picture beside it")
    top.add_argument("--json", type=Path, help="write leaderboard and records here")
    top.add_argument("--force", action="store_true", help="overwrite existing output files")
    top.add_argument("--quiet", action="store_true", help="no progress bar")
    return top


def main(arguments: Sequence[str] | None = None, *, prog: str = "python -m bayesfloor.arena") -> int:
    """Run the arena as told by the command line; 0 if done, 2 for bad input, 130 if interrupted."""
    options = parser(prog).parse_args(arguments)
    command = shlex.join(["python", "-m", "bayesfloor.arena", *(sys.argv[1:] if arguments is None else arguments)])
    try:
        return _run(options, command)
    except (ValueError, TypeError, OSError) as error:
        print(f"bayesfloor: error: {printable(' '.join(str(error).split()))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        hint = f"; run again to continue from {options.results}" if options.results else ""
        print(f"\nbayesfloor: interrupted{hint}", file=sys.stderr)
        return 130


def _run(options: argparse.Namespace, command: str) -> int:
    estimators = default_estimators()
    if options.list:
        for kind in KINDS:
            heading = "problems:" if kind is None else f"problems, {kind}:"
            print(heading, *(f"  {get(name)}" for name in names(kind)), "", sep="\n")
        print("estimators:", *(f"  {name}" for name in estimators), sep="\n")
        return 0
    if options.metrics:
        with terminal_progress(options.quiet) as progress:
            board = run_metrics(
                options.problems, n=options.sizes[0], n_seeds=options.n_seeds, path=options.results, progress=progress
            )
        print(board)
        return 0
    if options.estimators:
        for name in options.estimators:
            if name not in estimators:
                near = difflib.get_close_matches(name, estimators, n=3, cutoff=0.3)
                raise ParameterError(
                    f"there is no estimator named {brief(name)}; near ones: {', '.join(near) or ', '.join(estimators)}"
                )
        estimators = {name: estimators[name] for name in options.estimators}
    picture = None if options.leaderboard is None else options.leaderboard.with_suffix(".svg")
    outputs = [path for path in (options.leaderboard, picture, options.json) if path is not None]
    for path in outputs:
        check_writable(path, force=options.force)
    together = [path.resolve() for path in (*outputs, options.results) if path is not None]
    if len(set(together)) < len(together):
        raise ParameterError("results, leaderboard, its picture (.svg) and JSON need names of their own")
    if picture is not None and find_spec("matplotlib") is None:
        raise ParameterError("the picture beside the leaderboard needs matplotlib: pip install matplotlib")
    with terminal_progress(options.quiet) as progress:
        result = run(
            estimators,
            options.problems,
            sizes=options.sizes,
            n_seeds=options.n_seeds,
            path=options.results,
            n_jobs=options.jobs,
            progress=progress,
        )
    print(result)
    if options.json is not None:
        write_file(options.json, result.to_json(), force=options.force)
    if picture is not None:
        drawn = _drawn(result)
        write_file(options.leaderboard, _page(result, command, picture.name), force=options.force)
        write_file(picture, drawn, force=options.force)
    return 0


def _page(result: ArenaResult, command: str, picture: str) -> str:
    sizes = ", ".join(f"{n:,}" for n in dict.fromkeys(r.n for r in result.records))
    n_seeds = len({r.seed for r in result.records})
    failures = result.failures()
    return "\n".join(
        [
            "# Leaderboard",
            "",
            f"Written by `{command}`. {len({r.problem for r in result.records})} problems with known floor, "
            f"N = {sizes}, {n_seeds} samples each, the same for every estimator. The oracle knows the true Bayes "
            "classifier and counts its errors on the sample; in the limit, no regular nonparametric estimator "
            "varies less. "
            "Errors are of the estimated floor; *worst problem* is the largest mean absolute error on one problem; "
            "coverage and width are of 95 % intervals, where an estimator gives one; s is the median time of one "
            "estimate in seconds, one thread. Whoever failed on a sample stands below all who did not."
            f"{_given(result)}",
            "",
            *_tables(result),
            f"![Estimate minus true floor, estimators by problems]({picture})",
            "",
            "## Estimate minus truth, per problem, in points",
            "",
            result.problem_table(),
            "",
            "## Failures",
            "",
            *([f"- {failure}" for failure in failures] or ["None."]),
            "",
        ]
    )


def _given(result: ArenaResult) -> str:
    """What estimators are given of rows that are no columns."""
    if set(_by_kind(result)) == {None}:
        return ""
    return (
        " The learned floor is given images and texts as they are; the others, which take columns, are given pixels "
        "and counts of words."
    )


def _tables(result: ArenaResult) -> list[str]:
    """A leaderboard for each kind of rows; those that are no columns under a heading of their own."""
    lines = []
    for kind, own in _by_kind(result).items():
        heading = [] if kind is None else [f"## {kind.capitalize()}", ""]
        lines += [*heading, own.to_markdown(), ""]
    return lines


def _by_kind(result: ArenaResult) -> dict[str | None, ArenaResult]:
    """Results on problems of each kind that there are; problems of the user's own have columns."""
    kinds = {name: kind for kind in KINDS for name in names(kind)}
    found = {kind: tuple(r for r in result.records if kinds.get(r.problem) == kind) for kind in KINDS}
    return {kind: ArenaResult(own) for kind, own in found.items() if own}


def _drawn(result: ArenaResult) -> bytes:
    from ..report.pictures import svg

    return svg(result.plot())


if __name__ == "__main__":
    sys.exit(main())
