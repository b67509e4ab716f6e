"""What is asked for, settled: refusals before any work, an order of rows, columns and classes, groups, classifiers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._types import Codes, Floats, RowNumbers
from ..counting._ball_counts import group_codes
from ..errors import DataError, DataTypeError, ParameterError
from ..rows.blocks import LARGE, reference_rows
from ..rows.dataset import Dataset
from ..rows.keys import column_order, digest, row_keys
from ..rows.labels import plain, refuse_measurements
from ..rows.scaling import Standard, class_keys, order_by_content
from .learners import FOREST, LIBRARY

__all__ = [
    "EFFORTS",
    "Arrangement",
    "check_groups",
    "check_size",
    "independent_rows",
    "join_groups",
    "n_repeats",
    "name_classifiers",
    "near_points",
    "read_groups",
]


# Rows that a model is trained on at most.
EFFORTS = {"fast": 2_000, "balanced": 10_000, "thorough": 50_000}
# Choices of folds, for so many rows at most: with more rows the choice of folds matters less, and costs more.
_REPEATS = {"fast": (), "balanced": ((3_000, 2),), "thorough": ((3_000, 4), (10_000, 2))}
_FAR = 100.0  # standardized values are clipped here: a single entry of 1e20 must not flatten its column
_FEWEST_ROWS, _FEWEST_PER_CLASS, _FEWEST_GROUPS = 30, 5, 10


def read_groups(groups: Any, n: int) -> Codes:
    """Group of each row, as a code; errors say that they are about groups."""
    try:
        codes = group_codes(groups, n)
    except (DataError, DataTypeError) as error:
        raise type(error)(f"groups: {error}") from None
    assert codes is not None
    return codes


def check_groups(groups: Any, n: int) -> Codes:
    """Group of each row, as a code; refused if there are too few, or one is too large."""
    codes = read_groups(groups, n)
    most = int(np.bincount(codes).max())
    if most > n / 2:
        raise DataError(
            f"one group holds {most} of the {n} rows, more than half: the others are too few to train and test on; "
            "split it, or leave it out"
        )
    if codes.max() + 1 < _FEWEST_GROUPS:
        raise DataError(
            f"{codes.max() + 1} groups are too few: they are split between training and test, and kept whole; "
            f"{_FEWEST_GROUPS} at least are needed"
        )
    return codes


def independent_rows(data: Dataset, priors: Floats | None, groups: Codes | None) -> int:
    """Number of rows that would carry as much: changed class shares and groups of several rows cost some (Kish)."""
    n = float(data.n_samples if priors is None else 1 / (priors**2 / data.class_counts).sum())
    if groups is not None:
        sizes = np.bincount(groups)
        n *= float(sizes.sum() / (sizes**2).sum())
    return max(2, round(n))


def n_repeats(n: int, effort: str) -> int:
    """How often the library is cross-fitted on so many rows, with other folds.

    Examples
    --------
    >>> n_repeats(1_500, "balanced"), n_repeats(1_500, "fast"), n_repeats(50_000, "balanced")
    (2, 1, 1)
    """
    return next((repeats for most, repeats in _REPEATS[effort] if n <= most), 1)


def check_size(data: Dataset) -> None:
    """Refuse data that nothing can be learned from."""
    apart = " besides copies" if data.n_copies else ""
    if data.n_samples < _FEWEST_ROWS:
        raise DataError(f"{data.n_samples} rows{apart} are too few to learn from: {_FEWEST_ROWS} at least are needed")
    refuse_measurements(data.classes, data.class_counts, _FEWEST_PER_CLASS)
    if data.class_counts.min() < _FEWEST_PER_CLASS:
        rare = plain(data.classes)[data.class_counts.argmin()]
        raise DataError(
            f"class {rare!r} has {data.class_counts.min()} rows{apart}; {_FEWEST_PER_CLASS} at least are needed of "
            "each, so that every model sees some: merge it with another class, or drop it"
        )


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Rows, columns and classes in an order that depends on their content alone, not on units or names.

    Attributes
    ----------
    columns : ndarray
        Order of the columns: see `rows.keys.column_order`.
    standard : Standard
        Medians and deviations of the columns, in this order.
    near : ndarray
        Standardized rows, in the order they came in; their columns are in order.
    order : ndarray
        Of the rows.
    codes : ndarray
        Of the classes.
    digest : int
        Of rows and classes.
    """

    columns: RowNumbers
    standard: Standard
    near: Floats
    order: RowNumbers
    codes: Codes
    digest: int

    @classmethod
    def of(cls, data: Dataset, groups: Codes | None = None, *, as_given: bool = False) -> "Arrangement":
        """Of the rows of `data`, equal ones by their groups; `as_given`: columns stay where they are."""
        X = data.X if len(data.X) <= LARGE else data.X[reference_rows(len(data.X))]
        standard = Standard.of(X, unit_variance=True)
        points = standard.apply(data.X)
        near = np.clip(points, -_FAR, _FAR)
        columns = np.arange(near.shape[1]) if as_given else column_order(near, data.labels)
        standard, points, near = standard[columns], points.take(columns, axis=1), near.take(columns, axis=1)
        spread = ((near - near.mean(axis=0)) ** 2).sum(axis=1)
        mean_spread = np.bincount(data.labels, weights=spread) / np.bincount(data.labels)
        keys = row_keys(np.round(near, 6))  # rounded: in other units the last bits differ
        of_class = class_keys(keys, data.labels, data.n_classes)  # only where the others tie
        by_content = np.lexsort((of_class, np.round(mean_spread / mean_spread.max(), 6), data.class_counts))
        codes = np.argsort(by_content)
        own = codes[data.labels]
        order = order_by_content(points, own, data.n_classes, groups)
        return cls(columns, standard, near, order, codes, digest(keys, own))

    @property
    def back(self) -> RowNumbers:
        """Where the arranged rows were."""
        return np.argsort(self.order)


def join_groups(groups: Codes, records: Codes) -> RowNumbers:
    """Groups made one wherever a record has rows in several."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n_groups, n_records = int(groups.max()) + 1, int(records.max()) + 1
    size = n_groups + n_records
    links = coo_array((np.ones(len(groups), dtype=np.int8), (groups, n_groups + records)), shape=(size, size))
    return connected_components(links, directed=False)[1][groups].astype(np.int64)


def near_points(standard: Standard, X: Floats) -> Floats:
    """Rows as the library sees them."""
    return np.clip(standard.apply(X), -_FAR, _FAR)


def name_classifiers(classifiers: Any) -> dict[str, Any]:
    """The user's classifiers by name; one, several, or a mapping."""
    if isinstance(classifiers, Mapping):
        named = {str(name): model for name, model in classifiers.items()}
    else:
        models = [classifiers] if hasattr(classifiers, "fit") else list(classifiers)
        named = {}
        for model in models:
            name = type(model).__name__
            named[name if name not in named else f"{name} {len(named) + 1}"] = model
    for name, model in named.items():
        if not hasattr(model, "fit"):
            raise ParameterError(f"classifiers must be scikit-learn classifiers, got {model!r}")
        if name in LIBRARY or name == FOREST:
            raise ParameterError(f"the library has a learner {name!r} already: choose another name")
    return named
