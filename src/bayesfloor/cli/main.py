"""The command ``bayesfloor``: what can be asked for, and how it ends."""

import argparse
import errno
import os
import re
import signal
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

from .._text import printable
from ..errors import BayesfloorWarning, ClusterError
from ..utils.checks import SEEDS

__all__ = ["main", "parser"]

_ABOUT = """The lowest error any classifier could reach on your data (the floor), estimated from the data alone.

FILE is a table with one row per sample: CSV, TSV, JSON lines or ARFF (also with .gz), Parquet, Feather, Arrow,
NPY, or NPZ with arrays X and y; sparse rows: svmlight, or NPZ of scipy.sparse (--target names a file of labels); or a
folder with one sub-folder of pictures for each class. What its columns are is found out, and shown; free text is
counted.
"""
_EXAMPLES = """start here:
  bayesfloor demo                                            # a report of a bundled table
  bayesfloor estimate data.csv --target label                # the floor, in the terminal
  bayesfloor report data.csv --target label -o report.html   # the same as a page to send around
  bayesfloor compare data.csv --target label --error 0.143 --n-test 2000     # is my model at the floor?
  bayesfloor gate data.csv --target label --error 0.143 --n-test 2000        # the same as an exit status, for pipelines

Each command explains itself: bayesfloor estimate --help
Exit status: 0 done, 2 bad input (a line for each problem), 130 interrupted, 143 terminated; of gate also 3, 4 and 5.
"""
_EXAMPLES_OF = {
    "estimate": """examples:
  bayesfloor estimate data.csv --target label
  bayesfloor estimate data.parquet --target -1 --drop id,name     # -1 is the last column, 0 the first
  bayesfloor estimate visits.csv --target outcome --groups patient
  bayesfloor estimate data.csv --target label --categorical zip,ward --text notes   # what columns are, if not found out
  bayesfloor estimate data.csv --target label --json > floor.json # to be used again: compare --result floor.json
  bayesfloor estimate embeddings.npz                              # arrays X and y
  bayesfloor estimate photos/ --size 32                           # a sub-folder of pictures for each class
  bayesfloor estimate old.data --target -1 --no-header            # the first line is data
  bayesfloor estimate data.csv --target label --ignore rare-class # a doubt that you know of, by its code
  bayesfloor estimate data.csv --target label --by sex             # the floor within each subgroup
  bayesfloor estimate data.csv --target label --costs costs.csv    # the lowest cost; a last row may be to decline
  bayesfloor estimate huge.csv --target label --max-rows 50000
  bayesfloor estimate huge.parquet --target label --memory-limit 3GB --checkpoint run1     # in blocks; can be resumed
  bayesfloor estimate huge.parquet --target label --scheduler tcp://10.0.0.1:8786          # on a Dask cluster
""",
    "metrics": """Each with an interval, and what a classifier was seen to reach on held-out rows.

examples:
  bayesfloor metrics data.csv --target label
  bayesfloor metrics --result floor.json --json
""",
    "abstain": """The best rule declines the cases whose likeliest class is least likely. What is certified holds
for all shares together.

examples:
  bayesfloor abstain data.csv --target label
  bayesfloor abstain --result floor.json --shares 0.1 0.2
""",
    "report": """examples:
  bayesfloor report data.csv --target label -o report.html
  bayesfloor report data.csv --target label --error 0.143 --n-test 2000     # with your model on the scale
  bayesfloor report --result floor.json -o report.html                      # of what estimate --json has saved
""",
    "compare": """The model must not have seen the rows that it is judged by. Say how it did in one of three ways:
  --error and --n-test            its error as a share, and the number of test rows
  --predictions preds.csv         with columns y_true and y_pred
  --predictions preds.csv         with one column: a prediction for every row of FILE, in its order

examples:
  bayesfloor compare data.csv --target label --error 0.143 --n-test 2000
  bayesfloor compare data.csv --target label --predictions preds.csv
  bayesfloor compare --result floor.json --error 0.143 --n-test 2000        # of what estimate --json has saved
""",
    "gate": """The verdict is that of compare. The model passes if its gap to the floor is shown to be at most --within.
Exit status:
  0  passed           3  room left     4  cannot tell     5  below the floor (too high, or the test has leaked)
  2  bad input        1  something that should not have happened
How the model did is said as in compare: --error and --n-test, or --predictions.

examples:
  bayesfloor gate data.csv --target label --error 0.12 --n-test 2000 --within 0.02
  bayesfloor gate --result floor.json --predictions preds.csv --junit gate.xml
  bayesfloor gate --result floor.json --error 0.12 --n-test 2000 --ignore still-falling --json
""",
    "columns": """What the floor loses without each column, and what it is with it alone. Verdicts:
  golden          alone nearly as good as all columns: often a leak of the label
  useful          the floor rises without it
  only together   so it does, though alone the column tells nothing, or far less; pairs are tried
  helps probabilities only   without it probabilities get worse, but hardly any decision
  redundant       nothing is lost without it while the other columns stay; without several such columns it may be
  useless         nothing is lost without all useless columns together, in errors or probabilities
  cannot tell     the interval of the loss is too wide

examples:
  bayesfloor columns data.csv --target label
  bayesfloor columns data.csv --target label --group address=street,town,zip     # left out together; repeat for more
  bayesfloor columns data.csv --target label --report columns.html
  bayesfloor plan data.csv --target label --column-values                        # what it will take
""",
    "diff": """Did the floor move: with new data, cleaned labels, other columns? Saved results keep no single rows, so
that the two are treated as independent; bayesfloor.compare_results and compare_features pair rows that are common.

examples:
  bayesfloor estimate old.csv --target label --json > before.json
  bayesfloor estimate new.csv --target label --json > after.json
  bayesfloor diff before.json after.json
""",
    "plan": """Rows and columns as numbers, or a table to take them from. Time is right within a factor of two.

examples:
  bayesfloor plan --rows 1000000 --columns 50 --classes 3
  bayesfloor plan data.csv --target label --effort thorough
  bayesfloor plan --rows 10000000 --columns 50 --workers 8     # on a Dask cluster
""",
    "scores": """FILE holds the labels and your model's out-of-sample probabilities or logits, one column per class.
Columns named like the classes (yes, p_yes) are matched to them; otherwise they are taken in the order of the sorted
labels. For two classes one column is enough. Other numbers of columns are taken for an embedding. Scores can only lose
information: the floor of the data may be lower than that of the scores.

examples:
  bayesfloor scores scores.csv --target label
""",
    "labels": """VOTES has one row per item, and more than one opinion on it:
  soft         class probabilities, one column per class; with --target (one label per item) they are calibrated first
  votes        whole numbers: how many votes each class got
  annotators   one column per annotator, with labels; empty where there is none
Which of them it is, is found out if it can be. No features are needed.

examples:
  bayesfloor labels votes.csv
  bayesfloor labels ratings.csv --kind annotators --drop item
""",
    "noise": """Labels are replaced at random, and the floor is estimated again: it must rise along a line that is known
exactly. Takes four times as long as an estimate.

examples:
  bayesfloor noise data.csv --target label --effort fast
""",
    "problems": """examples:
  bayesfloor problems                                  # the list
  bayesfloor problems moons --rows 1000 -o moons.csv   # a sample, to try things on
""",
    "demo": """The table is that of the Palmer penguins (Horst, Hill and Gorman 2020, CC0): which sex is the bird?

examples:
  bayesfloor demo
  bayesfloor demo --effort fast -o penguins.html
""",
    "completion": """examples:
  source <(bayesfloor completion)                          # bash; in zsh first: autoload bashcompinit && bashcompinit
""",
}


class _Help(argparse.RawDescriptionHelpFormatter):
    """Examples as they are written, and room for the names of options."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=110)


class _Parser(argparse.ArgumentParser):
    """Errors take one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"bayesfloor: error: {_one_line(message)} (see {self.prog} --help)\n")


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    top = _Parser(prog="bayesfloor", description=_ABOUT, epilog=_EXAMPLES, formatter_class=_Help)
    top.add_argument("--version", action="store_true", help="print the version")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", title="commands")

    def command(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(
            name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}.",
            epilog=_EXAMPLES_OF.get(name),
            formatter_class=_Help,
        )

    for name, text in (
        ("estimate", "the floor of a table"),
        ("report", "the floor of a table as a page (HTML, one file)"),
        ("compare", "how far a model is from the floor"),
        ("gate", "is a model at the floor? The answer is the exit status, for pipelines"),
    ):
        one = command(name, text)
        _table_options(one, needed=name == "estimate")
        _picture_options(one)
        if name != "estimate":
            one.add_argument("--result", metavar="JSON", help="instead of FILE: what estimate --json has saved")
            _model_options(one)
        if name == "gate":
            within = "largest gap to the floor that passes, as a share (2 points or a quarter of the floor)"
            one.add_argument("--within", type=float, metavar="W", help=within)
            one.add_argument("--junit", metavar="XML", help="write the check as JUnit XML, for build servers")
        _estimate_options(one)
        if name in ("estimate", "report"):
            _part_options(one)
        if name == "estimate":
            one.add_argument("--abstain", action="store_true", help="what declining cases would bring")
        _run_options(one, in_blocks=name == "estimate")
    for name, text in (
        ("metrics", "the best AUC, log-loss, Brier score, F1, balanced accuracy and top-2 error"),
        ("abstain", "the lowest error on accepted cases, if some may be declined"),
    ):
        one = command(name, text)
        _table_options(one, needed=False)
        one.add_argument("--result", metavar="JSON", help="instead of FILE: what estimate --json has saved")
        if name == "abstain":
            one.add_argument(
                "--shares", type=float, nargs="+", metavar="S", help="shares to decline (0.05 0.1 0.2 0.3 0.5)"
            )
        _estimate_options(one)
        _run_options(one, in_blocks=False)
    one = command("columns", "what each column is worth: the floor without it, and with it alone")
    _table_options(one)
    one.add_argument(
        "--group", action="append", default=[], metavar="NAME=COL,COL", help="columns left out together (repeat)"
    )
    one.add_argument("--report", metavar="HTML", help="write the report, with a section on the columns")
    _setting(one, "effort", "confidence", "seed", "jobs")
    one.add_argument("--priors", choices=("balanced",), help="floor for classes of equal share")
    one = command("diff", "did the floor move? Two results that estimate --json has saved")
    one.add_argument("before", metavar="BEFORE", help="JSON of the first estimate")
    one.add_argument("after", metavar="AFTER", help="JSON of the second")
    _setting(one, "confidence")
    one = command("scores", "the floor from your own model's out-of-sample scores")
    _table_options(one, types=False)
    _estimate_options(one, priors=False)
    one = command("labels", "the floor from soft labels, votes or several annotators")
    one.add_argument("file", metavar="VOTES", help="table with one row per item")
    one.add_argument("--kind", choices=("soft", "votes", "annotators"), help="what the columns hold, if not clear")
    one.add_argument("--target", metavar="COL", help="one label per item, to calibrate soft labels with")
    one.add_argument("--classes", type=int, metavar="N", help="number of classes that can occur, seen or not")
    _column_options(one)
    _setting(one, "confidence", "seed")
    one = command("noise", "does the estimate follow label noise along its exact line?")
    _table_options(one)
    _picture_options(one)
    _setting(one, "effort", "seed", "jobs")
    one = command("plan", "what an estimate will take: time and memory, before it starts")
    _table_options(one, needed=False)
    _picture_options(one)
    for name, metavar, text in (
        ("rows", "N", "rows of the table"),
        ("columns", "D", "columns, after categories have become one column for each value"),
        ("classes", "C", "classes (2)"),
        ("workers", "W", "of a Dask cluster, one thread each (0: this machine alone)"),
    ):
        one.add_argument(f"--{name}", type=int, metavar=metavar, help=text)
    one.add_argument("--column-values", action="store_true", help="with what bayesfloor columns takes besides")
    _setting(one, "effort", "seed", "jobs")
    one = command("demo", "a report of a bundled table")
    _setting(one, "effort", "seed", "jobs")
    command("problems", "problems whose floor is known exactly").add_argument(
        "name", nargs="?", help="draw a sample of it"
    )
    commands.choices["problems"].add_argument("--rows", type=int, default=1000, metavar="N", help="rows to draw (1000)")
    _setting(commands.choices["problems"], "seed")
    commands.add_parser("arena", help="every estimator on every such problem (bayesfloor arena --help)", add_help=False)
    command("completion", "a script that completes commands and options in bash and zsh")
    for name, one in commands.choices.items():
        if name not in ("arena", "completion"):
            _output_options(one)
    return top


def _table_options(one: argparse.ArgumentParser, *, needed: bool = True, types: bool = True) -> None:
    one.add_argument("file", metavar="FILE", help="the table", nargs=None if needed else "?")
    one.add_argument("--target", metavar="COL", help="column of the labels: name or position (0, 1, ... or -1)")
    _column_options(one)
    if types:
        for name, text in (
            ("categorical", "these columns are categories, whatever they look like (repeat, or join by commas)"),
            ("text", "these are free text, to be counted by words"),
            ("numeric", "these are numbers, also where they look like an identifier"),
            ("date", "these are dates"),
        ):
            one.add_argument(f"--{name}", action="append", default=[], metavar="COL", help=text)
    one.add_argument("--groups", metavar="COL", help="rows with the same value belong together (one patient, say)")
    one.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="the first line of a CSV or TSV file has names, or has none; found out if not said",
    )
    one.add_argument("--max-rows", type=int, metavar="N", help="read a sample of N rows with the same class shares")


def _picture_options(one: argparse.ArgumentParser) -> None:
    one.add_argument("--kind", choices=("images",), help="FILE is an NPZ with pictures; folders are found out")
    one.add_argument("--size", type=int, metavar="PIXELS", help="make pictures of a folder this wide and high")
    one.add_argument("--skip-bad", action="store_true", help="leave out pictures that cannot be read")


def _column_options(one: argparse.ArgumentParser) -> None:
    one.add_argument("--drop", action="append", default=[], metavar="COL", help="leave out (repeat, or join by commas)")
    one.add_argument("--keep", action="append", default=[], metavar="COL", help="use these columns only")


def _estimate_options(one: argparse.ArgumentParser, *, priors: bool = True) -> None:
    _setting(one, "effort", "confidence", "seed", "jobs")
    one.add_argument(
        "--ignore", action="append", default=[], metavar="CODE", help="mute a doubt (repeat, or join by commas)"
    )
    if priors:
        one.add_argument("--priors", choices=("balanced",), help="floor for classes of equal share")


def _part_options(one: argparse.ArgumentParser) -> None:
    one.add_argument(
        "--costs", metavar="FILE", help="costs of decisions (rows) by true class (columns): CSV or JSON; lowest cost"
    )
    one.add_argument("--by", metavar="COL", help="the floor within each subgroup of this column")


def _run_options(one: argparse.ArgumentParser, *, in_blocks: bool) -> None:
    larger = "larger tables are read in blocks" if in_blocks else "larger tables are refused"
    one.add_argument("--memory-limit", metavar="SIZE", help=f"such as 3GB; {larger}")
    one.add_argument("--checkpoint", metavar="DIR", help="keep finished pieces here: run again to go on")
    scheduler = "of a Dask cluster, whose workers can read FILE" if in_blocks else argparse.SUPPRESS
    one.add_argument("--scheduler", metavar="ADDRESS", help=scheduler)


def _setting(one: argparse.ArgumentParser, *names: str) -> None:
    if "effort" in names:
        one.add_argument(
            "--effort",
            choices=("fast", "balanced", "thorough"),
            default="balanced",
            help="rows that a model is trained on at most: 2,000, 10,000 or 50,000 (balanced)",
        )
    if "confidence" in names:
        one.add_argument("--confidence", type=float, metavar="P", help="of interval and ceiling (0.95)")
    if "seed" in names:
        one.add_argument("--seed", type=_seed, default=0, metavar="N", help="same seed, same answer (0)")
    if "jobs" in names:
        one.add_argument("--jobs", type=int, metavar="N", help="threads (all cores)")


def _seed(text: str) -> int:
    if not text.strip().isdecimal() or int(text) >= SEEDS:
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 to {SEEDS - 1}, got {text!r}")
    return int(text)


def _model_options(one: argparse.ArgumentParser) -> None:
    one.add_argument("--error", type=float, metavar="E", help="the model's error on test rows, as a share (0.143)")
    one.add_argument("--n-test", type=int, metavar="N", help="the number of those rows")
    one.add_argument("--predictions", metavar="FILE", help="predictions for rows that the model has not seen")


def _output_options(one: argparse.ArgumentParser) -> None:
    one.add_argument("-o", "--output", metavar="FILE", help="write to this file")
    one.add_argument("--force", action="store_true", help="overwrite the file if it exists")
    one.add_argument("--json", action="store_true", help="print JSON, for machines")
    one.add_argument("--quiet", action="store_true", help="no progress, no notes")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 if done, 2 for bad input, 130 if interrupted, and what `gate` has found.

    Examples
    --------
    >>> main(["problems", "gaussians_4d"])
    gaussians_4d: d = 4, 2 classes, floor 0.1587 exactly
    0
    """
    if sys.stderr is None:  # closed: what goes there is lost, the answer is not
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        return _refuse("standard output is closed: there is nowhere to print to")
    if arguments is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    if arguments is None and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _interrupt)
    try:
        status = _run(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
        return status
    except SystemExit as stop:  # argparse: help, or bad options
        return stop.code if isinstance(stop.code, int) else 2
    except BrokenPipeError:  # whoever was reading has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, _Interrupted) as stop:
        print("\nbayesfloor: interrupted, nothing was written", file=sys.stderr)
        return 128 + (stop.args[0] if stop.args else signal.SIGINT)
    except MemoryError:
        return _refuse("out of memory: use fewer rows (--max-rows) or columns (--drop)")
    except OSError as error:
        where = error.filename or ("standard output" if error.errno == errno.ENOSPC else "")
        return _refuse(
            _lacks_memory(error) or (f"{where}: {error.strerror}" if where and error.strerror else str(error))
        )
    except (ValueError, TypeError, ClusterError) as error:
        return _refuse(str(error), getattr(error, "lines", ()))
    except Exception as error:  # nobody who asks for a floor should have to read a traceback
        if isinstance(error, ImportError) and _lacks_memory(error):
            return _refuse(_lacks_memory(error))
        _refuse(f"this should not have happened: {type(error).__name__}: {error}")
        return 1


def _lacks_memory(error: BaseException) -> str:
    """What to say of a compiled library that did not get the memory to be loaded; empty if that is not the matter."""
    said = f"{error} {error.__cause__ or ''} {error.__context__ or ''}"
    if not re.search("failed to map segment|cannot allocate memory|out of memory", said, re.IGNORECASE):
        return ""
    library = re.search(r"[\w.-]+\.(so|dll|dylib)\b", said)
    return (
        f"too little memory to load {library[0] if library else 'a compiled library'}: allow the process more "
        "(ulimit -v, or the limit of the container)"
    )


class _Interrupted(BaseException):
    """Ctrl-C, or a polite request to end: temporary files are removed on the way out.

    Not a KeyboardInterrupt: scikit-learn's network takes that for the end of its own training.
    """


def _interrupt(number: int, frame: Any) -> NoReturn:
    signal.signal(number, signal.SIG_DFL)  # threads end their task first; who is in a hurry may ask again
    raise _Interrupted(number)


def _run(arguments: list[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a label must not stop the output of a narrow terminal
            stream.reconfigure(errors="backslashreplace")
    if arguments[:1] == ["arena"]:
        from ..arena.__main__ import main as arena

        return arena(arguments[1:], prog="bayesfloor arena")
    top = parser()
    options = top.parse_args(arguments)
    if options.version:
        from importlib.metadata import version

        print(f"bayesfloor {version('bayesfloor')}")
        return 0
    if options.command is None:
        top.print_help()
        return 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if getattr(options, "quiet", False) else "always", BayesfloorWarning)
        warnings.showwarning = _show_warning
        from .steps import STEPS

        return STEPS[options.command](options) or 0


def _show_warning(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
    """Ours as one line; what libraries say to programmers is not for here."""
    if issubclass(category, BayesfloorWarning):
        print(f"bayesfloor: note: {_one_line(str(message))}", file=sys.stderr)


def _refuse(message: str, lines: Sequence[str] = ()) -> int:
    """Say what is wrong on one line; several problems, which come as lines, on one line each."""
    first, *others = lines or [message]
    print("\n  ".join([f"bayesfloor: error: {_one_line(first)}", *map(_one_line, others)]), file=sys.stderr)
    return 2


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))
