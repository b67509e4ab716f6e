"""Limits on the floor from pairs of labels: two labels of one item, or rows with equal features.

Two independent labels of one item bound its share of the floor by how often they disagree.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._types import Codes, Keys, RandomSeed, RowNumbers, Values
from ..balls.error import cover_hart_lower
from ..errors import DataError, DataTypeError, ParameterError
from ..rows.dataset import feature_matrix
from ..rows.keys import row_keys
from ..rows.labels import encode_labels, plain
from ..utils.checks import check_whole, seed_from
from ..utils.intervals import check_level, lower_limit, upper_limit

__all__ = ["LabelBounds", "duplicate_bounds", "repeated_label_bounds"]


_MANY_PAIRS = 10  # that so many share no label at all is no chance: the two sides are spelt differently


@dataclass(frozen=True)
class LabelBounds:
    """Limits on the floor from pairs of labels; each is one-sided at `confidence_level` by itself.

    Attributes
    ----------
    lower, upper : float
        The floor is at least `lower` with this confidence, and at most `upper` with the same confidence.
    disagreement : float
        Share of the pairs whose labels differ.
    n_pairs : int
    confidence_level : float
    covers : float
        Share of the data that the limits speak for.
    rests_on : str
        What has to hold for the limits to hold.
    """

    lower: float
    upper: float
    disagreement: float
    n_pairs: int
    confidence_level: float
    covers: float
    rests_on: str


def repeated_label_bounds(
    first: Any, second: Any, n_classes: int | None = None, *, confidence_level: float = 0.95
) -> LabelBounds:
    """Limits on the floor from two independent labels per item, valid at any number of items.

    Two draws from a posterior p disagree with probability 1 - sum p_c^2 <= 2 e - C/(C-1) e^2 where e = 1 - max p
    (Cover and Hart 1967). Averaged over items, the disagreement D limits the floor E on both sides:
    (C-1)/C (1 - sqrt(1 - C/(C-1) D)) <= E <= D. Both take the limit of Clopper and Pearson for D on their side.

    Parameters
    ----------
    first, second : array-like of shape (n,)
        Labels of any kind.
    n_classes : int, optional
        Number of classes that can occur, seen or not. The lower limit falls as it grows, so a number that is too
        large is safe and one that is too small is not. Default: the number of distinct labels seen.
    confidence_level : float, default 0.95
        Of each of the two limits by itself.

    Returns
    -------
    LabelBounds

    Examples
    --------
    >>> bounds = repeated_label_bounds(["a"] * 90 + ["b"] * 110, ["a"] * 110 + ["b"] * 90, n_classes=2)
    >>> bounds.disagreement, round(bounds.lower, 3), round(bounds.upper, 3)
    (0.1, 0.035, 0.142)
    """
    a, b, seen = _pair_codes(first, second)
    return _pair_bounds(
        int((a != b).sum()),
        len(a),
        *_class_number(n_classes, seen),
        confidence_level=confidence_level,
        covers=1.0,
        rests_on="the two labels of an item are independent draws from the same class probabilities: two annotators "
        "with different habits, or one who remembers, break that",
    )


def duplicate_bounds(X: Any, y: Any, *, confidence_level: float = 0.95, random_state: RandomSeed = 0) -> LabelBounds:
    """Limits on the floor from rows that share all their features, valid at any number of rows.

    Two such rows are two labels of one item: see `repeated_label_bounds`. Equal rows are paired at random, each row
    in one pair at most; all pairs of a group would not be independent, and their limits miss far too often.

    Parameters
    ----------
    X : array-like of shape (N, d)
    y : array-like of shape (N,)
        Labels of any kind. Their distinct values are taken for all classes there are.
    confidence_level : float, default 0.95
        Of each of the two limits by itself.
    random_state : int, RandomState or None, default 0
        Draws the pairs. The order of the rows changes nothing.

    Returns
    -------
    LabelBounds
        For the rows that have an equal, each value of the features weighted by its number of pairs; `covers` is
        their share of all rows. About the other rows it says nothing.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, size=(1000, 3))  # eight different rows; a fifth of the labels is wrong
    >>> y = X[:, 0] ^ (rng.random(1000) < 0.2)
    >>> bounds = duplicate_bounds(X, y)
    >>> bounds.lower < 0.2 < bounds.upper, bounds.covers
    (True, 1.0)
    """
    seed = seed_from(random_state)
    matrix, _ = feature_matrix(X)
    classes, codes = encode_labels(y)
    if len(matrix) != len(codes):
        raise DataError(f"X has {len(matrix)} rows but y has {len(codes)} labels: they must have equal length")
    if len(classes) < 2:
        raise DataError(f"y contains only one class, {plain(classes)[0]!r}: a floor needs at least two")
    a, b, covers = _random_pairs(row_keys(matrix), codes, seed)
    if not len(a):
        raise DataError(f"no two of the {len(matrix)} rows of X are equal: there are no pairs of labels to compare")
    return _pair_bounds(
        int((codes[a] != codes[b]).sum()),
        len(a),
        *_class_number(None, len(classes)),
        confidence_level=confidence_level,
        covers=covers,
        rests_on="equal rows are separate records with independent labels (copies of one record agree by themselves, "
        "which makes both limits too low); the limits are for the floor of the rows that have an equal, each value "
        "of the features weighted by its number of pairs",
    )


def _random_pairs(keys: Keys, codes: Codes, seed: int) -> tuple[RowNumbers, RowNumbers, float]:
    """Disjoint random pairs of rows with equal keys, and the share of rows that have an equal."""
    # The draw is seeded by the content as well: with an order by content and a fixed draw, the labels of a row would
    # decide whom it meets; with an order by row number, tables sorted by label would have that fault.
    content = int((keys * (2 * codes + 1).astype(np.uint64)).sum(dtype=np.uint64))
    canonical = np.lexsort((codes, keys))
    draw = np.random.default_rng([seed, content]).random(len(keys))
    order = canonical[np.lexsort((draw, keys[canonical]))]
    _, start, size = np.unique(keys[order], return_index=True, return_counts=True)
    place = np.arange(len(keys)) - np.repeat(start, size)
    head = np.flatnonzero((place % 2 == 0) & (place + 1 < np.repeat(size, size)))
    return order[head], order[head + 1], float(size[size > 1].sum() / len(keys))


def _pair_bounds(
    differ: int, n: int, n_classes: int, note: str, *, confidence_level: float, covers: float, rests_on: str
) -> LabelBounds:
    check_level(confidence_level)
    most = 1 - 1 / n_classes
    # Pairs of unlike items differ with unlike probabilities; their sum is less spread than a binomial with the same
    # mean (Hoeffding 1956), so the limits hold for the mean over these very items too.
    low = min(lower_limit(differ, n, confidence_level), most)
    high = upper_limit(differ, n, confidence_level)
    return LabelBounds(
        lower=cover_hart_lower(low, n_classes),
        upper=high if note else min(high, most),
        disagreement=differ / n,
        n_pairs=n,
        confidence_level=confidence_level,
        covers=covers,
        rests_on=f"{rests_on}; each limit by itself holds with confidence {confidence_level:g}{note}",
    )


def _class_number(given: int | None, seen: int) -> tuple[int, str]:
    """Number of classes to go by, and the caveat where it was not given."""
    if given is None:
        n_classes = max(seen, 2)
        return n_classes, f"; {n_classes} classes are assumed, and one that was never seen would lower the lower limit"
    n_classes = check_whole("n_classes", given, 2)
    if n_classes < seen:
        raise ParameterError(f"n_classes is {given}, but the labels hold {seen} different ones")
    return n_classes, ""


def _pair_codes(first: Any, second: Any) -> tuple[Codes, Codes, int]:
    (some, a), (others, b) = _encode("first", first), _encode("second", second)
    if len(a) != len(b):
        raise DataError(f"first has {len(a)} labels but second has {len(b)}: they must be labels of the same items")
    if not len(a):
        raise DataError("first and second are empty: at least one pair of labels is needed")
    classes, codes = encode_labels([*plain(some), *plain(others)])
    if len(classes) == len(codes) and len(a) >= _MANY_PAIRS:
        raise DataError(
            f"first and second have no label in common (for example {plain(some)[0]!r} and {plain(others)[0]!r}): "
            "spell the labels alike"
        )
    return codes[: len(some)][a], codes[len(some) :][b], len(classes)


def _encode(name: str, labels: Any) -> tuple[Values, Codes]:
    try:
        return encode_labels(labels)
    except (DataError, DataTypeError) as error:
        raise type(error)(f"{name} {str(error).removeprefix('y ')}") from None
