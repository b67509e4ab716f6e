"""What each command does, from the table to the answer."""

import json
import time
from argparse import Namespace
from collections.abc import Callable
from dataclasses import asdict
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np

from .._text import printed
from ..errors import ParameterError
from ..tables.selection import DTYPES
from ..tables.table import Table, read_table
from ..utils.checks import listed
from ..utils.files import write_file
from ..utils.progress import terminal_progress
from .completion import complete
from .parts import check_by, parts_of, subgroups_of
from .shared import (
    check_output,
    confidence,
    deliver,
    floor_in_blocks,
    floor_of,
    pictures_of,
    print_line,
    read_rows,
    reads_in_blocks,
    refuse_blocks,
    say,
    stem,
)

__all__ = ["STEPS"]


def _estimate(options: Namespace) -> None:
    check_output(options)
    if reads_in_blocks(options):
        if options.by is not None:
            raise ParameterError("--by needs single rows, which are not kept of tables that are read in blocks")
        result = floor_in_blocks(options)
        texts, parts = parts_of(options, result, None)
        deliver(options, "\n\n".join([str(result), *texts]), {**result.to_dict(), **parts})
        return
    table = read_rows(options)
    check_by(options.by, table)
    result = floor_of(options, table)
    texts, parts = parts_of(options, result, table)
    answer = "\n\n".join([str(result), *texts])
    deliver(options, answer if options.quiet else f"{table}\n\n{answer}", {**result.to_dict(), **parts})


def _metrics(options: Namespace) -> None:
    result = _result_only(options)
    found = result.metrics()
    deliver(options, str(found), {"metrics": [asdict(metric) for metric in found], "result": result.to_dict()})


def _abstain(options: Namespace) -> None:
    result = _result_only(options)
    found = result.abstention(options.shares or None)
    deliver(options, str(found), {"abstention": found.to_dict(), "result": result.to_dict()})


def _result_only(options: Namespace) -> Any:
    """The floor, of a table or as it was saved."""
    check_output(options)
    return _judge(Namespace(**vars(options), error=None, predictions=None))[0]


def _report(options: Namespace) -> None:
    from .inputs import check_model_options

    source = options.file if options.result is None else options.result
    default = f"{stem(source or '')}-floor.html" if options.result is None else f"{stem(source)}.html"
    path = Path(options.output or default)
    check_model_options(options, needed=False)
    if options.result is None:
        _check_file(options)
    check_output(options, path)
    result, table, comparison = _judge(options)
    _page(options, path, result, table, comparison)


def _compare(options: Namespace) -> None:
    from .inputs import check_model_options

    check_output(options)
    check_model_options(options, needed=True)
    result, _, comparison = _judge(options)
    about = {"comparison": comparison.to_dict(), "result": result.to_dict()}
    deliver(options, f"{result}\n\n{comparison}", about)


def _gate(options: Namespace) -> int:
    from ..floor._compare import check_within
    from ..floor._gate import Gate
    from .inputs import check_model_options

    started = time.monotonic()
    check_output(options)
    within = None if options.within is None else check_within(options.within)
    junit = None if options.junit is None else Path(options.junit)
    if junit is not None:
        check_output(options, junit)
    check_model_options(options, needed=True)
    result, table, comparison = _judge(options, within=within)
    gate = Gate(comparison)
    if junit is not None:
        name = f"model of {table.name if table is not None else Path(options.result).name}"
        write_file(junit, gate.to_junit(name, time.monotonic() - started), force=options.force)
    deliver(options, str(gate), {**gate.to_dict(), "result": result.to_dict()})
    return gate.exit_code


def _judge(options: Namespace, **settings: Any) -> tuple[Any, Table | None, Any]:
    """The floor, of a table or as it was saved, the table, and the model beside the floor, if there is one."""
    from ..floor._compare import compare
    from .inputs import model_figures, saved_result

    has_model = options.error is not None or options.predictions is not None
    if options.result is not None:
        _refuse_options_of_files(options)
        result, table = saved_result(options.result).mute(options.ignore), None
        settings["confidence_level"] = options.confidence
        model = model_figures(options, result.classes, None) if has_model else {}
    else:
        _check_file(options)
        refuse_blocks(options)
        table = read_rows(options)
        check_by(getattr(options, "by", None), table)
        # Before the long part: what is wrong with the model's figures is said at once.
        model = model_figures(options, np.unique(table.y).tolist(), table) if has_model else {}
        result = floor_of(options, table)
    return result, table, compare(result, ignore=options.ignore, **settings, **model) if has_model else None


def _check_file(options: Namespace) -> None:
    if options.file is None:
        raise ParameterError("name a table (FILE), or what estimate --json has saved (--result)")


def _refuse_options_of_files(options: Namespace) -> None:
    given = {
        "FILE": options.file,
        "--target": options.target,
        "--drop": options.drop,
        "--keep": options.keep,
        "--groups": options.groups,
        **{f"--{kind}": getattr(options, kind, []) for kind in DTYPES},
        "--header": options.header,
        "--max-rows": options.max_rows,
        "--priors": options.priors,
        "--costs": getattr(options, "costs", None),
        "--by": getattr(options, "by", None),
        "--memory-limit": options.memory_limit,
        "--checkpoint": options.checkpoint,
        "--scheduler": options.scheduler,
    }
    wrong = [name for name, value in given.items() if value not in (None, [])]
    if wrong:
        raise ParameterError(f"--result is an estimate that is done: leave out {', '.join(wrong)}, or --result")


def _plan(options: Namespace) -> None:
    from ..floor._plan import plan

    check_output(options)
    rows, columns, classes, kind, entries = options.rows, options.columns, options.classes, options.kind, 0
    if options.file is not None:
        if rows is not None or columns is not None or classes is not None:
            raise ParameterError("give a table, or its --rows, --columns and --classes; not both")
        sample = options.max_rows if options.max_rows is not None else _PLAN_ROWS
        table = pictures_of(options) or read_rows(Namespace(**{**vars(options), "max_rows": sample}))
        rows = table.n_file_rows if options.max_rows is None else min(options.max_rows, table.n_file_rows)
        columns, classes = len(getattr(table, "features", ())), len(np.unique(table.y).tolist())
        if getattr(table, "sparse", None) is not None:
            columns, entries = table.sparse.shape[1], round(table.sparse.n_entries * rows / len(table.y))
        elif not columns:
            columns, kind = int(np.prod(table.images.shape[1:])), "images"
    elif rows is None or columns is None:
        raise ParameterError("say how large the table is (--rows and --columns), or name it (FILE)")
    found = plan(
        rows,
        columns,
        2 if classes is None else classes,
        options.workers or 0,
        effort=options.effort,
        n_jobs=options.jobs,
        column_values=options.column_values,
        kind=kind,
        entries=entries,
    )
    deliver(options, str(found), asdict(found))


def _columns(options: Namespace) -> None:
    from .column_steps import value_columns

    value_columns(options)


def _diff(options: Namespace) -> None:
    from .column_steps import compare_saved

    compare_saved(options)


_PLAN_ROWS = 20_000  # that say what becomes of the columns


def _demo(options: Namespace) -> None:
    path = Path(options.output or "bayesfloor-demo.html")
    check_output(options, path)
    with as_file(files("bayesfloor") / "data" / "penguins.csv") as file:
        table = read_table(file, target="sex")
    say(options, f"{table}\n")
    result = floor_of(options, table)
    _page(options, path, result, table, None)


def _page(options: Namespace, path: Path, result: Any, table: Table | None, comparison: Any) -> None:
    title = None if table is None else f"The floor of {table.name}"
    by = subgroups_of(options, result, table)
    page = result.to_html(title=title, comparison=comparison, table=table, by=by)
    write_file(path, page, force=options.force)
    if options.json:
        about = {**({"comparison": comparison.to_dict()} if comparison else {}), **({"by": by.to_dict()} if by else {})}
        print_line(json.dumps({**result.to_dict(), **about}, default=str))
        return
    say(options, f"{result}\n" if comparison is None else f"{result}\n\n{comparison}\n")
    if getattr(options, "result", None) is None:
        say(options, f"estimated in {result.settings['seconds']:.1f} s")
    print_line(f"report: {path}")


def _scores(options: Namespace) -> None:
    from ..floor._from_scores import from_scores
    from ..rows.labels import encode_labels, plain
    from ..tables.selection import raw_table
    from .inputs import columns_of_classes, scores_by_class, scores_from

    check_output(options)
    if options.groups is not None:
        raise ParameterError("scores are not trained on: --groups has no meaning here")
    raw = raw_table(
        options.file,
        target=options.target,
        drop=options.drop,
        keep=options.keep,
        max_rows=options.max_rows,
        random_state=options.seed,
        header=options.header,
    )
    assert raw.y is not None
    classes = [str(label) for label in plain(encode_labels(raw.y)[0])]
    names, left_out = list(raw.frame.columns), []
    named = columns_of_classes(names, classes)
    if named is not None:
        names, left_out = named, [repr(name) for name in names if name not in named]
    scores = scores_from(raw.frame[names], raw.rows)
    settings = {"confidence_level": confidence(options), "random_state": options.seed, "n_jobs": options.jobs}
    settings["ignore"] = options.ignore
    if len(names) == len(classes) or (len(names), len(classes)) == (1, 2):
        scores, how = scores_by_class(scores, names, classes)
        how += f"; left out: {listed(left_out)}" if left_out else ""
        result = from_scores(scores, raw.y, **settings)
    else:
        how = f"{len(names)} columns for {len(classes)} classes are no scores of them: taken for an embedding"
        with terminal_progress(options.quiet) as progress:
            result = from_scores(scores, raw.y, effort=options.effort, progress=progress, **settings)
    about = printed([how, *(f"- note: {note}" for note in raw.notes)])
    deliver(options, f"{about}\n\n{result}", {"columns": how, **result.to_dict()})


def _labels(options: Namespace) -> None:
    from .inputs import floor_of_labels

    check_output(options)
    text, about = floor_of_labels(
        options.file,
        kind=options.kind,
        target=options.target,
        n_classes=options.classes,
        drop=options.drop,
        keep=options.keep,
        confidence_level=confidence(options),
        random_state=options.seed,
    )
    deliver(options, text, about)


def _noise(options: Namespace) -> None:
    from ..floor.noise import noise_check

    check_output(options)
    table = read_rows(options)
    with terminal_progress(options.quiet) as progress:
        is_table = hasattr(table, "X")
        check = noise_check(
            table.features_of_rows if is_table else table.images,
            table.y,
            kind=None if is_table else "images",
            groups=table.groups,
            effort=options.effort,
            random_state=options.seed,
            n_jobs=options.jobs,
            progress=progress,
        )
    about = {
        **asdict(check),
        "clean": check.clean.to_dict(),
        "gaps": check.gaps,
        "largest_gap": check.largest_gap,
        "verdict": check.verdict,
    }
    deliver(options, str(check), about)


def _problems(options: Namespace) -> None:
    from .. import problems

    chosen = [problems.get(name) for name in ([options.name] if options.name else problems.names())]
    if options.output:
        check_output(options)
    if options.name and options.output:
        if Path(options.output).suffix.lower() != ".csv":
            raise ParameterError(f"a sample is written as CSV: name it {Path(options.output).with_suffix('.csv')}")
        X, y = chosen[0].sample(options.rows, random_state=options.seed)
        # Texts of problems are words with spaces between them: nothing to be quoted.
        rows = [[text] for text in X] if chosen[0].kind == "texts" else X.reshape(len(X), -1).tolist()
        names = ["text"] if chosen[0].kind == "texts" else [f"x{j}" for j in range(len(rows[0]))]
        lines = [",".join([*names, "label"])]
        lines += [",".join([*map(str, row), f"class {label}"]) for row, label in zip(rows, y.tolist(), strict=True)]
        write_file(options.output, "\n".join(lines) + "\n", force=options.force)
        say(options, str(chosen[0]))
        print_line(f"sample: {options.output}, target label")
        return
    about = {
        problem.name: {
            "n_features": problem.n_features,
            "n_classes": problem.n_classes,
            "floor": round(problem.bayes_error, 5),
            "standard_error": problem.bayes_error_std,
        }
        for problem in chosen
    }
    deliver(options, "\n".join(map(str, chosen)), about)


# What each gives back is the exit status; None is 0.
STEPS: dict[str, Callable[[Namespace], int | None]] = {
    "estimate": _estimate,
    "metrics": _metrics,
    "abstain": _abstain,
    "report": _report,
    "compare": _compare,
    "gate": _gate,
    "columns": _columns,
    "diff": _diff,
    "plan": _plan,
    "scores": _scores,
    "labels": _labels,
    "noise": _noise,
    "problems": _problems,
    "demo": _demo,
    "completion": complete,
}
