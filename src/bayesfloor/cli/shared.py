"""What several commands share: reading rows, estimating, and giving the answer."""

import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from .._text import printed
from ..errors import ParameterError
from ..tables.selection import DTYPES
from ..tables.table import read_table
from ..utils.files import check_writable, write_file
from ..utils.progress import terminal_progress
from .parts import costs_from

__all__ = [
    "check_output",
    "confidence",
    "deliver",
    "dtypes_of",
    "floor_in_blocks",
    "floor_of",
    "pictures_of",
    "print_line",
    "read_rows",
    "reads_in_blocks",
    "refuse_blocks",
    "say",
    "stem",
]


def read_rows(options: Namespace) -> Any:
    """The table, or the pictures, that the options name."""
    pictures = pictures_of(options)
    if pictures is not None:
        return pictures
    with terminal_progress(options.quiet) as progress:
        return read_table(
            options.file,
            target=options.target,
            drop=options.drop,
            keep=options.keep,
            groups=options.groups,
            max_rows=options.max_rows,
            random_state=options.seed,
            header=options.header,
            dtypes=dtypes_of(options),
            progress=progress,
        )


def dtypes_of(options: Namespace) -> dict[str, str] | None:
    """What the options say that columns are; None if nothing."""
    found: dict[str, str] = {}
    for kind in DTYPES:
        for column in getattr(options, kind, ()):
            if found.setdefault(column, kind) != kind:
                raise ParameterError(f"{column!r} is stated to be {found[column]} and {kind}: state it once")
    return found or None


def pictures_of(options: Namespace) -> Any:
    """Pictures that the options name; None where they name a table."""
    from .inputs import read_pictures_of

    with terminal_progress(options.quiet) as progress:
        return read_pictures_of(options, progress)


def confidence(options: Namespace) -> float:
    """The level that was asked for, or 95 %."""
    given = getattr(options, "confidence", None)
    return 0.95 if given is None else float(given)


def floor_of(options: Namespace, table: Any, groups: str | None = None) -> Any:
    """The estimate of these rows."""
    from ..floor._estimate import estimate

    with terminal_progress(options.quiet) as progress:
        return estimate(
            table,
            groups=groups,
            effort=options.effort,
            random_state=options.seed,
            n_jobs=options.jobs,
            confidence_level=confidence(options),
            ignore=getattr(options, "ignore", ()),
            priors=getattr(options, "priors", None),
            costs=costs_from(getattr(options, "costs", None)),
            progress=progress,
            run=_run(options),
        )


def _run(options: Namespace) -> Any:
    from ..floor.settings import Run

    return Run(
        cluster=getattr(options, "scheduler", None),
        memory_limit=getattr(options, "memory_limit", None),
        checkpoint=getattr(options, "checkpoint", None),
    )


def _file_rows(options: Namespace) -> Any:
    """The rows of the file, not read yet."""
    from ..floor.rows import FileRows

    return FileRows(Path(options.file), options.target, options.drop, options.keep, options.header, dtypes_of(options))


def reads_in_blocks(options: Namespace) -> bool:
    """Whether the file is read in blocks: by workers of a cluster, or because it is too large."""
    if options.scheduler is not None:
        if options.kind is not None or Path(options.file).is_dir():
            raise ParameterError("pictures are worked on by this machine alone: leave out --scheduler")
        if options.max_rows is not None:
            raise ParameterError("a cluster works on all rows: leave out --max-rows, or --scheduler")
        return True
    if options.kind is not None or Path(options.file).is_dir():
        return False
    return options.groups is None and options.max_rows is None and _file_rows(options).is_large(_run(options))


def floor_in_blocks(options: Namespace) -> Any:
    """The estimate of a file that is read in blocks."""
    return floor_of(options, _file_rows(options), options.groups)


def refuse_blocks(options: Namespace) -> None:
    """Say what would have to be read in blocks, where that cannot be done."""
    if options.scheduler is not None:
        raise ParameterError("on a cluster there is only bayesfloor estimate, which prints its result (--json)")
    if Path(options.file).is_dir():
        return
    if options.memory_limit is not None and options.max_rows is None and _file_rows(options).is_large(_run(options)):
        raise ParameterError(
            f"{Path(options.file).name} is too large for --memory-limit {options.memory_limit}, and only bayesfloor "
            "estimate reads it in blocks: raise the limit, or take a sample (--max-rows)"
        )


def check_output(options: Namespace, path: Path | None = None) -> None:
    """Refuse, before any work is done, to write where it cannot be done or would destroy what is read."""
    path = Path(options.output) if path is None and options.output is not None else path
    if path is None:
        return
    if str(path) == "-":
        raise ParameterError("- is no name of a file: give one, or leave out -o")
    for name in ("file", "predictions", "result", "costs", "before", "after"):
        given = getattr(options, name, None)
        if given is not None and path.exists() and Path(given).exists() and path.samefile(given):
            raise ParameterError(f"{path} is the file that is read: give the output another name")
    check_writable(path, force=options.force)


def deliver(options: Namespace, text: str, about: Any) -> None:
    """The answer: to a file if one was named, otherwise printed."""
    content = json.dumps(about, default=str) if options.json else printed(text.split("\n"))
    if options.output is not None:
        write_file(options.output, content + "\n", force=options.force)
        say(options, f"written: {options.output}")
    else:
        print(content)


def say(options: Namespace, text: str) -> None:
    """What is said beside the answer: not to machines."""
    if not options.quiet and not options.json:
        print_line(text)


def print_line(text: str) -> None:
    """At once, and without what steers a terminal."""
    print(printed(text.split("\n")))
    sys.stdout.flush()


def stem(path: str) -> str:
    """The name of a file without its endings."""
    name = Path(path).name
    return name.split(".")[0] or "table"
