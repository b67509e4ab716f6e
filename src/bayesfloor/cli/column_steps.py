"""What the commands `columns` and `diff` do."""

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from ..errors import ParameterError
from ..utils.files import write_file
from ..utils.progress import terminal_progress
from .shared import check_output, confidence, deliver, read_rows, say

__all__ = ["column_groups", "compare_saved", "value_columns"]


def value_columns(options: Namespace) -> None:
    """What each column of a table is worth."""
    from ..floor._column_values import column_values

    report = None if options.report is None else Path(options.report)
    check_output(options)
    if report is not None:
        check_output(options, report)
    groups = column_groups(options.group)
    table = read_rows(options)
    with terminal_progress(options.quiet) as progress:
        values = column_values(
            table,
            columns=groups or None,
            effort=options.effort,
            random_state=options.seed,
            n_jobs=options.jobs,
            confidence_level=confidence(options),
            priors=options.priors,
            progress=progress,
        )
    if report is not None:
        page = values.to_html(title=f"The floor of {table.name}", table=table)
        write_file(report, page, force=options.force)
    deliver(options, str(values) if options.quiet else f"{table}\n\n{values}", values.to_dict())
    if report is not None:
        say(options, f"report: {report}")


def column_groups(texts: Sequence[str]) -> dict[str, list[str]]:
    """Groups of columns from texts such as "address=street,town".

    Examples
    --------
    >>> column_groups(["address=street, town"])
    {'address': ['street', 'town']}
    """
    groups: dict[str, list[str]] = {}
    for text in texts:
        name, sign, members = text.partition("=")
        columns = [column.strip() for column in members.split(",") if column.strip()]
        if not sign or not name.strip() or not columns:
            raise ParameterError(f"--group must be a name and its columns, such as address=street,town; got {text!r}")
        if name.strip() in groups:
            raise ParameterError(f"--group {name.strip()} is given twice: list its columns once")
        groups[name.strip()] = columns
    return groups


def compare_saved(options: Namespace) -> None:
    """Two saved results side by side."""
    from ..floor._compare_results import compare_results
    from .inputs import saved_result

    check_output(options)
    before, after = saved_result(options.before), saved_result(options.after)
    change = compare_results(before, after, confidence_level=options.confidence)
    deliver(options, str(change), change.to_dict())
