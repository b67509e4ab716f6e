"""What the files of `compare`, `scores` and `labels` hold: predictions, class scores, several opinions per item."""

import re
import warnings
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._text import printable
from .._types import Floats
from ..bounds.soft_labels import (
    LabelBounds,
    SoftLabelResult,
    calibrated_soft_label_error,
    repeated_label_bounds,
    soft_label_error,
)
from ..errors import BayesfloorWarning, DataError, ParameterError
from ..floor.result import FloorResult
from ..rows.gaps import unlabelled_note
from ..tables.columns import is_identifier, present_text
from ..tables.selection import DTYPES, RawTable, raw_table
from ..tables.table import Table
from ..tables.target import labels_from
from ..utils.checks import listed

__all__ = [
    "check_model_options",
    "columns_of_classes",
    "floor_of_labels",
    "kind_of_labels",
    "model_figures",
    "read_pictures_of",
    "saved_result",
    "scores_by_class",
    "scores_from",
    "two_labels",
]

_SUM_TOLERANCE = 1e-3
# What arrays of these names hold; those that say most come first.
_KIND_OF_ARRAY = {
    "counts": "votes",
    "votes": "votes",
    "probs": "soft",
    "P": "soft",
    "labels": "annotators",
    "annotators": "annotators",
}


# --- how the user's model did, checked before the long part begins ------------------------------------------


def check_model_options(options: Namespace, *, needed: bool) -> None:
    """Refuse options that do not say how a model did, or say it twice."""
    if options.predictions is not None and (options.error is not None or options.n_test is not None):
        raise ParameterError("give either --predictions, or --error and --n-test")
    if options.predictions is None and (options.error is None) != (options.n_test is None):
        raise ParameterError(
            "--error and --n-test belong together: the error, and the number of rows it was counted on"
        )
    if needed and options.predictions is None and options.error is None:
        raise ParameterError("say how the model did: --error and --n-test, or --predictions FILE")
    if options.error is not None and not 0 <= options.error <= 1:
        percent = f" ({options.error / 100:g} for {options.error:g} %?)" if 1 < options.error <= 100 else ""
        raise ParameterError(f"--error must be a share between 0 and 1, got {options.error:g}{percent}")
    if options.n_test is not None and options.n_test < 1:
        raise ParameterError(f"--n-test must be a whole number of at least 1, got {options.n_test}")


def saved_result(path: str | Path) -> FloorResult:
    """What `estimate`, `report`, `compare`, `gate` or `scores` have written with --json."""
    try:
        return FloorResult.load(path)
    except DataError as error:
        raise DataError(f"{error}; --result takes what estimate --json has saved") from None


def read_pictures_of(options: Namespace, progress: Any) -> Any:
    """Pictures, if the file is a folder of them or is said to hold some; None for a table."""
    from ..tables.open import path_of
    from ..tables.pictures import has_pictures, read_pictures

    if getattr(options, "kind", None) != "images" and not has_pictures(path_of(options.file)):
        if getattr(options, "size", None) is not None or getattr(options, "skip_bad", False):
            raise ParameterError("--size and --skip-bad are for folders of pictures")
        return None
    given = {"--target": options.target, "--drop": options.drop, "--keep": options.keep, "--groups": options.groups}
    given |= {"--header": options.header, "--max-rows": options.max_rows}
    given |= {f"--{kind}": getattr(options, kind, []) for kind in DTYPES}
    wrong = [name for name, value in given.items() if value not in (None, [])]
    if wrong:
        raise ParameterError(f"{Path(options.file).name} holds pictures, not columns: leave out {', '.join(wrong)}")
    return read_pictures(options.file, size=options.size, skip_bad=options.skip_bad, progress=progress)


def model_figures(options: Namespace, classes: Sequence[Any], table: Table | None) -> dict[str, Any]:
    """How the model did, as `compare` wants it; without a table predictions need their labels beside them."""
    if options.predictions is None:
        return {"error": options.error, "n_test": options.n_test}
    raw = raw_table(options.predictions, needs_target=False, holds_labels=True)
    frame, name = raw.frame, Path(options.predictions).name
    if {"y_true", "y_pred"} <= set(frame.columns):
        of = {"y_true": "y_true", "y_pred": "y_pred"}
    elif frame.shape[1] == 1 or "y_pred" in frame.columns:
        of = {"y_pred": "y_pred" if "y_pred" in frame.columns else str(frame.columns[0])}
    else:
        alone = "" if table is None else f", or one column with a prediction for each row of {table.name}"
        raise DataError(
            f"{name} has the columns {listed([repr(c) for c in frame.columns])}: it needs y_true and y_pred{alone}"
        )
    if table is None and "y_true" not in of:
        raise DataError(f"{name} has no column y_true: with --result it needs y_true and y_pred")
    _refuse_probabilities(frame[of["y_pred"]], classes, f"{name}: {printable(of['y_pred'])}")
    y_pred, present = labels_from(frame[of["y_pred"]], of["y_pred"])
    if not present.all():
        raise DataError(f"{name}: {of['y_pred']} is empty in row {int(np.flatnonzero(~present)[0]) + 1}: fill it")
    if "y_true" in of:
        y_true, labelled = labels_from(frame["y_true"], "y_true")
        y_pred = y_pred[labelled]
        if not labelled.all():
            n = len(labelled)
            warnings.warn(f"{name}: {unlabelled_note(n - len(y_true), n)[0]}", BayesfloorWarning, stacklevel=2)
    elif table is not None and len(y_pred) != table.n_file_rows:
        hint = "one for each row, in the same order, is needed (or columns y_true and y_pred)"
        if len(y_pred) == table.n_file_rows - 1 and of["y_pred"] in {str(label) for label in np.unique(table.y)}:
            hint = f"its first line, {of['y_pred']!r}, was taken for the name of the column: put a line y_pred above it"
        raise DataError(
            f"{name} has {len(y_pred):,} predictions but {table.name} has {table.n_file_rows:,} rows: {hint}"
        )
    else:
        assert table is not None
        y_true, y_pred = table.y, y_pred[table.rows - 1]
    where = Path(options.result).name if table is None else table.name
    return {
        "y_true": _spell_alike(y_true, classes, f"{name}: y_true", where),
        "y_pred": _spell_alike(y_pred, classes, f"{name}: y_pred", where),
    }


def _refuse_probabilities(column: "pd.Series[Any]", classes: Sequence[Any], where: str) -> None:
    if not pd.api.types.is_float_dtype(column.dtype):
        return
    values = column.dropna().to_numpy(dtype=np.float64)
    fractions = values[values != np.rint(values)]
    if not len(fractions) or ((values < 0) | (values > 1)).any():
        return
    if any(isinstance(label, float) for label in classes) and np.isin(fractions, np.asarray(classes)).all():
        return
    raise DataError(
        f"{where} holds probabilities ({fractions[0]:g}, say), not labels: give the class that the model names, one of "
        f"{listed([str(label) for label in classes])}; for the probabilities there is bayesfloor scores"
    )


def _spell_alike(values: NDArray[Any], classes: Sequence[Any], where: str, known_from: str) -> NDArray[Any]:
    """Labels of another file as those of the table, by how they are written."""
    own = np.asarray(classes)
    known = {str(label): i for i, label in enumerate(own.tolist())}
    written, codes = np.unique(values, return_inverse=True)
    for label in written.tolist():
        if str(label) not in known:
            raise DataError(
                f"{where} holds {str(label)[:40]!r}, which is no label of {known_from} ({listed(list(known))}): spell "
                "the labels alike"
            )
    return own[[known[str(label)] for label in written.tolist()]][codes]


# --- columns of a file of scores: which of them belong to which class ---------------------------------------


def columns_of_classes(names: Sequence[str], classes: Sequence[str]) -> list[str] | None:
    """Columns named after the classes, one for each, where there are others besides; None if there are not.

    Examples
    --------
    >>> columns_of_classes(["row", "p_no", "p_yes"], ["no", "yes"])
    ['p_no', 'p_yes']
    >>> columns_of_classes(["row", "p_no"], ["no", "yes"])
    """
    if len(names) <= len(classes):
        return None
    for spelt in (list(names), [_strip_prefix(name) for name in names]):
        if all(spelt.count(label) == 1 for label in classes):
            return [names[spelt.index(label)] for label in classes]
    return None


def _strip_prefix(name: str) -> str:
    return re.sub(r"^(p|prob|proba|probability|logit|score)[ _:.-]+", "", name.strip(), flags=re.IGNORECASE)


def scores_by_class(scores: Floats, names: Sequence[str], classes: Sequence[str]) -> tuple[Floats, str]:
    """Scores in the order of the classes, and a sentence on how that was found.

    Examples
    --------
    >>> scores_by_class(np.array([[0.1, 0.9]]), ["p_no", "p_yes"], ["no", "yes"])[1]
    'scores of the classes by the names of their columns: no = p_no, yes = p_yes'
    >>> scores_by_class(np.array([[0.1]]), ["p_no"], ["no", "yes"])[0].tolist()
    [[0.9]]
    """
    bare = [_strip_prefix(name) for name in names]
    for spelt in (list(names), bare):
        if set(spelt) == set(classes):
            pairs = [f"{label} = {names[spelt.index(label)]}" for label in classes]
            order = [spelt.index(label) for label in classes]
            return scores[:, order], f"scores of the classes by the names of their columns: {listed(pairs)}"
    matched = [name for name, plain_name in zip(names, bare, strict=True) if {name, plain_name} & set(classes)]
    if len(names) == 1:
        if {names[0], bare[0]} & {classes[0]}:
            probable = bool(((scores >= 0) & (scores <= 1)).all())
            return (1 - scores if probable else -scores), f"{names[0]!r} is taken for the score of class {classes[0]!r}"
        return scores, f"{names[0]!r} is taken for the score of class {classes[1]!r}"
    if matched:
        others = [repr(name) for name in names if name not in matched]
        raise DataError(
            f"the columns {listed(others)} have the name of no class ({listed(list(classes))}): name each column of "
            "scores after its class, leave others out (--drop), or name none"
        )
    pairs = [f"{label} = {name}" for label, name in zip(classes, names, strict=True)]
    return scores, f"no column is named like a class; taken in the order of the sorted labels: {listed(pairs)}"


def scores_from(frame: pd.DataFrame, rows: Any) -> Floats:
    """Columns that are all numbers, none missing, as they are."""
    values = np.empty(frame.shape)
    for j, name in enumerate(frame.columns):
        column = pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        bad = np.flatnonzero(~np.isfinite(column))
        if len(bad):
            raise DataError(
                f"column {name!r} holds {str(frame[name].iloc[bad[0]])[:40]!r} in row {rows[bad[0]]}, which is no "
                "score: leave the column out (--drop) or correct it"
            )
        values[:, j] = column
    return values


# --- more than one opinion per item: which kind it is, and the floor it gives -------------------------------


def floor_of_labels(
    path: str | Path,
    *,
    kind: str | None = None,
    target: str | None = None,
    n_classes: int | None = None,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    confidence_level: float = 0.95,
    random_state: int = 0,
) -> tuple[str, dict[str, Any]]:
    """Floor from soft labels, votes or annotators, in words and as plain values.

    Parameters
    ----------
    path : str or Path
    kind : {"soft", "votes", "annotators"}, optional
        Default: found out; an error says so if it cannot be.
    target : str, optional
        Column with one label per item, to calibrate soft labels with.
    n_classes : int, optional
        Classes that can occur, for annotators.
    drop, keep : sequence of str
        Columns to leave out; columns to use.
    confidence_level, random_state
        As in `soft_label_error` and `calibrated_soft_label_error`.

    Returns
    -------
    str, dict
    """
    raw, kind = _opinions(path, target, drop, keep, kind)
    columns = raw.frame.drop(columns=_identifiers(raw)) if not keep else raw.frame
    left_out = [str(name) for name in raw.frame.columns if name not in columns]
    if columns.shape[1] < 2:
        raise DataError(f"{raw.name} needs at least two columns: one per class, or one per annotator")
    found = kind or kind_of_labels(columns, raw.name)
    if target is not None and found != "soft":
        raise ParameterError(f"--target calibrates soft labels, but {raw.name} holds {found}: leave it out")
    lines, about = [], {"kind": found}  # type: tuple[list[str], dict[str, Any]]
    if left_out:
        lines.append(f"left out, as they number or name the items: {', '.join(left_out)}")
    if found == "annotators":
        first, second, n_dropped = two_labels(columns, random_state)
        bounds = repeated_label_bounds(first, second, n_classes, confidence_level=confidence_level)
        lines.insert(0, _annotators_in_words(columns.shape[1], n_dropped, bounds))
        about |= {"function": "repeated_label_bounds", **asdict(bounds)}
    else:
        table = _matrix(columns, raw)
        if found == "votes":
            name, result = (
                "soft_label_error",
                soft_label_error(table, table.sum(axis=1).astype(np.int64), confidence_level=confidence_level),
            )
        elif raw.y is None:
            name, result = "soft_label_error", soft_label_error(table, confidence_level=confidence_level)
        else:
            name, result = (
                "calibrated_soft_label_error",
                calibrated_soft_label_error(
                    table,
                    raw.y,
                    classes=_classes(columns, raw.y),
                    confidence_level=confidence_level,
                    random_state=random_state,
                ),
            )
        lines.insert(0, _soft_in_words(found, name, result))
        about |= {"function": name, **asdict(result)}
    return "\n".join([*lines, *(f"- note: {note}" for note in raw.notes)]), about


def _opinions(
    path: str | Path, target: str | None, drop: Sequence[str], keep: Sequence[str], kind: str | None
) -> tuple[RawTable, str | None]:
    """The file's columns, of an NPZ file the array that is meant; and what they hold, if the array's name says it."""
    path = Path(path)
    if path.suffix.lower() == ".npz" and path.is_file():
        from ..tables.open import open_arrays

        arrays = open_arrays(path)
        tables = [name for name, array in arrays.items() if array.ndim == 2]
        wanted = [name for name, its_kind in _KIND_OF_ARRAY.items() if kind in (None, its_kind)]
        main = next((name for name in wanted if name in tables), tables[0] if len(tables) == 1 else None)
        if main is None:
            raise DataError(f"{path.name} holds {', '.join(arrays)}: one table named counts, probs or labels is needed")
        frame = pd.DataFrame(arrays[main]).add_prefix("column ")
        labels = None
        if target is not None:
            if target not in arrays or arrays[target].shape != (len(frame),):
                raise DataError(f"{path.name} has no array {target!r} with one label per row (target)")
            labels = arrays[target]
        rows = np.arange(1, len(frame) + 1)
        raw = RawTable(f"{path.name}[{main}]", frame, labels, None, rows, (), len(frame), 0, target or "", "", ())
        return raw, kind or _KIND_OF_ARRAY.get(main)
    return raw_table(path, target=target, needs_target=False, drop=drop, keep=keep), kind


def kind_of_labels(columns: pd.DataFrame, name: str) -> str:
    """Soft labels, votes or annotators.

    Examples
    --------
    >>> kind_of_labels(pd.DataFrame({"a": [0.2, 0.9], "b": [0.8, 0.1]}), "f")
    'soft'
    >>> kind_of_labels(pd.DataFrame({"a": [4, 0], "b": [1, 5]}), "f")
    'votes'
    >>> kind_of_labels(pd.DataFrame({"ann": ["x", "y"], "bob": ["x", "x"]}), "f")
    'annotators'
    """
    if not all(
        pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype) for dtype in columns.dtypes
    ):
        return "annotators"
    values = columns.to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isnan(values).any():
        return "annotators"
    sums = values.sum(axis=1)
    whole = bool((values == np.rint(values)).all())
    if (values >= 0).all() and not whole and np.abs(sums - 1).max() <= _SUM_TOLERANCE:
        return "soft"
    if whole and (values >= 0).all() and (sums == sums[0]).all() and sums[0] >= 2:
        return "votes"
    if whole and (values >= 0).all():
        raise DataError(
            f"the whole numbers in {name} may be votes per class or labels of annotators: say which (--kind votes, "
            "--kind annotators)"
        )
    row = int(np.abs(sums - 1).argmax())
    raise DataError(
        f"{name} holds neither class probabilities (row {row + 1} adds up to {sums[row]:g}, not 1) nor whole votes nor "
        "labels: leave out other columns (--drop), or say what they are (--kind)"
    )


def two_labels(columns: pd.DataFrame, random_state: int) -> tuple[list[str], list[str], int]:
    """Two labels of each item that has so many, drawn at random where it has more; and how many items have not.

    Examples
    --------
    >>> frame = pd.DataFrame({"a": ["x", "y", "x"], "b": ["x", None, "y"], "c": [None, None, None]})
    >>> two_labels(frame.iloc[:2], 0)
    (['x'], ['x'], 1)
    """
    text = np.stack([present_text(columns[name]).to_numpy(dtype=object) for name in columns], axis=1)
    present = np.array([[value is not None and value == value for value in row] for row in text])
    draw = np.random.default_rng(random_state).random(text.shape)
    order = np.argsort(np.where(present, draw, 2.0), axis=1)[:, :2]
    enough = present.sum(axis=1) >= 2
    if not enough.any():
        raise DataError("no item has two labels: one opinion cannot show whether another would differ")
    picked = np.take_along_axis(text, order, axis=1)[enough]
    return picked[:, 0].tolist(), picked[:, 1].tolist(), int((~enough).sum())


def _identifiers(raw: RawTable) -> list[str]:
    found = []
    for name in raw.frame.columns:
        column = raw.frame[name]
        if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype):
            if is_identifier(column.to_numpy(dtype=np.float64, na_value=np.nan), str(name), raw.rows):
                found.append(name)
        elif len(column) > 10 and column.nunique() == len(column):
            found.append(name)
    return found


def _matrix(columns: pd.DataFrame, raw: RawTable) -> Floats:
    try:
        return columns.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        bad = next(name for name in columns if not pd.api.types.is_numeric_dtype(columns[name].dtype))
        raise DataError(f"column {bad!r} of {raw.name} is not numeric: leave it out (--drop)") from None


def _classes(columns: pd.DataFrame, y: NDArray[Any]) -> list[Any] | None:
    """Labels of the columns by their names, if these match."""
    by_name = {str(label): label for label in np.unique(y).tolist()}
    names = [str(name).removeprefix("p_") for name in columns]
    return [by_name[name] for name in names] if set(by_name) == set(names) else None


def _soft_in_words(kind: str, function: str, result: SoftLabelResult) -> str:
    level = f"{100 * result.interval.confidence_level:g}%"
    what = {"soft": "class probabilities", "votes": "votes per class"}[kind]
    return "\n".join(
        [
            f"floor    {result.error:.2%}   {level} interval {result.interval.low:.2%} to {result.interval.high:.2%}",
            "",
            f"{result.n_items:,} items with {what} ({function}); as they stand, they say {result.plain:.2%}.",
            f"It rests on this: {result.rests_on}.",
        ]
    )


def _annotators_in_words(n_columns: int, n_dropped: int, bounds: LabelBounds) -> str:
    level = f"{100 * bounds.confidence_level:g}%"
    drawn = " (two drawn at random for each item)" if n_columns > 2 else ""
    gone = f"; {n_dropped:,} items with fewer than two labels are left out" if n_dropped else ""
    return "\n".join(
        [
            f"floor    at least {bounds.lower:.2%} and at most {bounds.upper:.2%}, each with {level} confidence",
            "",
            f"{bounds.n_pairs:,} items with labels of {n_columns} annotators{drawn} (repeated_label_bounds): two "
            f"labels of an item differ in {bounds.disagreement:.2%}{gone}.",
            f"It rests on this: {bounds.rests_on}.",
        ]
    )
