"""Gradient boosting of small trees on histograms, compiled: a fit of a thousand rows takes milliseconds.

The sizes of the library are small (some thousand rows, some tens of columns), and there scikit-learn's boosting spends
its time between the trees, in Python. Here a whole fit is one compiled call that does not hold the interpreter's lock.

A bin of a histogram is one 64-bit integer that holds a sum of gradients, one of second derivatives and a count: one
addition per row and column. Sums of integers are exact, so that a node minus one child is precisely the other child.
They only choose the splits; values of leaves come from the gradients as they are.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._types import Codes, Counts, Floats, RowNumbers
from ..utils.compiled import compiled

__all__ = ["BoostedTrees", "fit_boosting"]

Bins = NDArray[np.uint8]
Packed = NDArray[np.int64]  # gradients, second derivatives and counts, see _pack
# By row (what is packed, their order, and a spare one), histograms, by leaf (two), by bin (two).
Room = tuple[Packed, Packed, RowNumbers, Floats, Packed, Floats]

_BITS = 7  # of a bin's number; with 6, classes that hardly overlap were told apart less well
_BINS = 1 << _BITS
_LEAST_CURVATURE = 1e-3  # sum of second derivatives of a leaf
_LANES = 8  # loops over bins take whole registers
_BLOCK = 256  # rows that go through the trees together
_MOST_ROWS = 2**18  # then gradients are rounded to about 1/20; of 10,000 rows, to less than 1/1000


@dataclass(frozen=True, eq=False)
class BoostedTrees:
    """Trees whose values add up to the scores of the classes.

    Attributes
    ----------
    classes : ndarray
        Codes of the classes that were in the training set, ascending.
    start : ndarray
        Score of each class before the first tree; one score, of the second class, where there are two.
    leaf, column, threshold : ndarray
        The splits of each tree, in the order it grew. Split number s takes from a leaf the rows whose value is above
        the threshold, and they are leaf s + 1; where a tree has fewer splits, leaf is -1.
    value : ndarray
        What the leaves of each tree add. Trees of one round, one per score, follow one another.
    """

    classes: Codes
    start: Floats
    leaf: RowNumbers
    column: RowNumbers
    threshold: Floats
    value: Floats

    def predict_proba(self, X: Floats) -> Floats:
        """Probabilities of `classes`; those of a row do not depend on the rows it comes with."""
        columns = np.ascontiguousarray(X.T, dtype=np.float64)
        scores = np.zeros((len(X), len(self.classes)))
        _add_trees(columns, self.start, self.leaf, self.column, self.threshold, self.value, scores)
        P = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(P / P.sum(axis=1, keepdims=True))


def fit_boosting(
    X: Floats,
    y: Codes,
    *,
    n_rounds: int = 60,
    shrinkage: float = 0.1,
    n_leaves: int = 10,
    min_rows: int = 20,
    penalty: float = 1.0,
) -> BoostedTrees:
    """Boost small trees: one per round where there are two classes, else one per class and round.

    Trees grow where the loss falls most, by Newton steps of the logistic or softmax loss.

    Parameters
    ----------
    X : ndarray
        Training rows, finite. Columns are cut into at most 128 bins of about as many rows each.
    y : ndarray
        Codes of the classes; some may be missing.
    n_rounds : int, default 60
    shrinkage : float, default 0.1
        Of each tree's values.
    n_leaves : int, default 10
        Of a tree, at most.
    min_rows : int, default 20
        Of a leaf, at least.
    penalty : float, default 1.0
        On the squares of a leaf's values, before they are shrunk; above 0.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> y = 2 * (X[:, 0] * X[:, 1] > 0).astype(np.int64)
    >>> model = fit_boosting(X, y)
    >>> model.classes
    array([0, 2])
    >>> model.predict_proba(np.array([[1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]])).round(1)
    array([[0., 1.],
           [1., 0.]])
    """
    if len(y) > _MOST_ROWS:
        raise ValueError(f"boosting takes up to {_MOST_ROWS} rows, not {len(y)}")
    rows = np.ascontiguousarray(X, dtype=np.float64)
    classes, labels = np.unique(y, return_inverse=True)
    shares = np.bincount(labels) / len(labels)
    start = np.log(shares[1:] / shares[0]) if len(classes) <= 2 else np.log(shares)
    cuts, n_cuts = np.full((rows.shape[1], _BINS - 1), np.inf), np.zeros(rows.shape[1], dtype=np.int64)
    _cut(np.sort(rows.T, axis=1), cuts, n_cuts)
    bins = np.empty(rows.shape, dtype=np.uint8)
    _encode(rows, cuts, bins)
    splits = (n_rounds * len(start), n_leaves - 1)
    leaf, column, cut = np.full(splits, -1), np.zeros(splits, dtype=np.int64), np.zeros(splits, dtype=np.int64)
    value = np.zeros((n_rounds * len(start), n_leaves))
    if len(start):  # of one class there is nothing to learn
        labels, least = labels.astype(np.int64), max(1, min_rows)
        n, d = len(rows), rows.shape[1]
        by_leaf = np.empty((n_leaves, d, _BINS), dtype=np.int64), np.empty((5, n_leaves), dtype=np.int64)
        by_bin = np.empty((2, _BINS + _LANES), dtype=np.int64), np.empty(_BINS + _LANES)
        room = (np.empty((3, n), dtype=np.int64), *by_leaf, np.empty(n_leaves), *by_bin)
        by_row = np.tile(start, (2, n, 1)), np.empty((2, n))
        _boost(bins, n_cuts, labels, start, least, penalty, shrinkage, leaf, column, cut, value, by_row, room)
    return BoostedTrees(classes, start, leaf, column, cuts[column, cut], value)


# --- bins ---------------------------------------------------------------------------------------------------


@compiled
def _cut(ordered: Floats, cuts: Floats, n_cuts: Counts) -> None:
    """Cut sorted columns between all their values, or where they are many into bins of about as many rows each."""
    d, n = ordered.shape
    most = cuts.shape[1] + 1
    for j in range(d):
        distinct, found, i = 1, 0, 0
        for r in range(1, n):
            distinct += ordered[j, r] > ordered[j, r - 1]
        n_bins = n if distinct <= most else most
        for b in range(1, n_bins):
            if b * n // n_bins <= i:  # equal values reached beyond it
                continue
            i = b * n // n_bins
            while i < n and ordered[j, i] == ordered[j, i - 1]:
                i += 1
            if i == n:
                break
            cuts[j, found] = ordered[j, i - 1] / 2 + ordered[j, i] / 2
            found += 1
        n_cuts[j] = found


@compiled
def _encode(rows: Floats, cuts: Floats, bins: Bins) -> None:
    """Number of cuts below each value; there is one fewer than a power of two, unused ones are infinite."""
    n, d = rows.shape
    for i in range(n):
        for j in range(d):
            below = 0
            for bit in range(_BITS - 1, -1, -1):
                is_above = int(cuts[j, below + (1 << bit) - 1] < rows[i, j])
                below += is_above << bit  # no branch, which would be taken at random
            bins[i, j] = below


# --- rounds -------------------------------------------------------------------------------------------------


@compiled
def _boost(
    bins: Bins,
    n_cuts: Counts,
    labels: Codes,
    start: Floats,
    min_rows: int,
    penalty: float,
    shrinkage: float,
    leaf: RowNumbers,
    column: RowNumbers,
    cut: RowNumbers,
    value: Floats,
    by_row: tuple[Floats, Floats],
    room: Room,
) -> None:
    """Fill the arrays of the trees, each of which is grown on what the rounds before it left.

    `by_row` holds the start for every row, and room. numpy makes room: for numba to make it, it would first have to
    compile how.
    """
    n, n_scores, n_trees = bins.shape[0], start.size, value.shape[0]
    scores, shares, gradients, curvatures = by_row[0][0], by_row[0][1], by_row[1][0], by_row[1][1]
    packed, order, first, last = room[0][0], room[0][1], room[2][0], room[2][1]
    for tree in range(n_trees):
        k = tree % n_scores
        if k == 0:
            _share(scores, shares)
        own = k if n_scores > 1 else 1
        for i in range(n):
            gradients[i] = shares[i, k] - (labels[i] == own)
            curvatures[i] = shares[i, k] * (1.0 - shares[i, k])
            order[i] = i
        fields = _pack(gradients, curvatures, packed)
        limits = (min_rows, penalty * fields[2], _LEAST_CURVATURE * fields[2])
        grown = _grow(bins, n_cuts, fields, limits, room, leaf[tree], column[tree], cut[tree])
        for new in range(grown):
            rows = order[first[new] : last[new]]
            slope, curvature = 0.0, penalty
            for r in rows:
                slope += gradients[r]
                curvature += curvatures[r]
            value[tree, new] = -shrinkage * slope / curvature
            for r in rows:
                scores[r, k] += value[tree, new]


@compiled
def _share(scores: Floats, shares: Floats) -> None:
    """Probabilities of the scores: logistic of one, softmax of several."""
    n, n_scores = scores.shape
    for i in range(n):
        if n_scores == 1:
            shares[i, 0] = 1.0 / (1.0 + np.exp(-scores[i, 0]))
            continue
        largest = scores[i, 0]
        for k in range(1, n_scores):
            largest = max(largest, scores[i, k])
        total = 0.0
        for k in range(n_scores):
            shares[i, k] = np.exp(scores[i, k] - largest)
            total += shares[i, k]
        for k in range(n_scores):
            shares[i, k] /= total


@compiled
def _pack(gradients: Floats, curvatures: Floats, packed: Packed) -> tuple[int, int, float]:
    """Write a gradient, a second derivative and a count of one into each integer, from its highest bits to its lowest.

    Units are such that no sum over rows overflows its bits. Returns how many bits the two lower fields have, and the
    second derivative's unit.
    """
    n = gradients.size
    slopes, curves = 1e-9 * n, 1e-9 * n
    for i in range(n):
        slopes += abs(gradients[i])
        curves += curvatures[i]
    count_bits = 1
    while n >> count_bits > 0:
        count_bits += 1
    curvature_bits = (64 - count_bits) >> 1
    gradient_bits = 63 - count_bits - curvature_bits  # and a sign
    # Rounding adds up to half a unit per row.
    slope_unit, curve_unit = ((1 << gradient_bits) - n) / slopes, ((1 << curvature_bits) - n) / curves
    for i in range(n):
        slope, curve = np.int64(np.floor(gradients[i] * slope_unit + 0.5)), np.int64(curvatures[i] * curve_unit + 0.5)
        packed[i] = (((slope << curvature_bits) + curve) << count_bits) + 1
    return count_bits, curvature_bits, curve_unit


# --- trees --------------------------------------------------------------------------------------------------


@compiled
def _grow(
    bins: Bins,
    n_cuts: Counts,
    fields: tuple[int, int, float],
    limits: tuple[int, float, float],
    room: Room,
    leaf: RowNumbers,
    column: RowNumbers,
    cut: RowNumbers,
) -> int:
    """Grow one tree, each time at the leaf whose split gains most, and return how many leaves it has.

    Rows of a leaf are neighbours in `order`; `by_leaf` begins with from where to where.
    """
    by_row, histograms, by_leaf, gains, by_bin, bin_gains = room
    packed, order, spare = by_row[0], by_row[1], by_row[2]
    most, min_rows = gains.size, limits[0]
    starts, stops, columns, cuts = by_leaf[0], by_leaf[1], by_leaf[2], by_leaf[3]
    slots = by_leaf[4]  # in which of the histograms a leaf's is
    for new in range(most):
        gains[new], slots[new] = 0.0, 0
    starts[0], stops[0] = 0, order.size
    if most > 1 and order.size >= 2 * min_rows:
        _count(bins, packed, order, histograms[0])
        gains[0], columns[0], cuts[0] = _best_split(histograms[0], n_cuts, fields, limits, by_bin, bin_gains)
    grown = 1
    while grown < most:
        old, new = 0, grown
        for other in range(1, grown):
            if gains[other] > gains[old]:
                old = other
        if gains[old] <= 0.0:
            break
        leaf[new - 1], column[new - 1], cut[new - 1] = old, columns[old], cuts[old]
        first, last = starts[old], stops[old]
        middle = first + _part(bins, columns[old], cuts[old], order[first:last], spare)
        stops[old], starts[new], stops[new] = middle, middle, last
        gains[old] = 0.0
        grown += 1
        if grown == most or max(middle - first, last - middle) < 2 * min_rows:
            continue
        # The larger part has what both had and the smaller one has not.
        small, large = (old, new) if middle - first <= last - middle else (new, old)
        slots[large], slots[small] = slots[old], new
        fewer, more = histograms[slots[small]], histograms[slots[large]]
        _count(bins, packed, order[starts[small] : stops[small]], fewer)
        for j in range(fewer.shape[0]):
            for b in range(fewer.shape[1]):
                more[j, b] -= fewer[j, b]
        for part in (small, large):
            if stops[part] - starts[part] >= 2 * min_rows:
                gains[part], columns[part], cuts[part] = _best_split(
                    histograms[slots[part]], n_cuts, fields, limits, by_bin, bin_gains
                )
    return grown


@compiled
def _count(bins: Bins, packed: Packed, rows: RowNumbers, histogram: Packed) -> None:
    """Sums of the rows in each bin of each column."""
    for j in range(histogram.shape[0]):
        for b in range(histogram.shape[1]):
            histogram[j, b] = 0
    for r in rows:
        of_row = packed[r]
        for j in range(bins.shape[1]):
            histogram[j, bins[r, j]] += of_row


@compiled
def _best_split(
    histogram: Packed,
    n_cuts: Counts,
    fields: tuple[int, int, float],
    limits: tuple[int, float, float],
    by_bin: Packed,
    gains: Floats,
) -> tuple[float, int, int]:
    """Gain, column and cut of the split after which the loss is least; no gain where none is allowed."""
    count_bits, curvature_bits, _ = fields
    min_rows, penalty, least = limits
    gradient_shift = count_bits + curvature_bits
    high_shift = np.int32(gradient_shift - 32)
    count_mask, curvature_mask = (1 << count_bits) - 1, (1 << curvature_bits) - 1
    total = np.int64(0)
    for b in range(n_cuts[0] + 1):
        total += histogram[0, b]
    rows, fewest = np.int32(total & count_mask), np.int32(min_rows)
    slope, curve = float(total >> gradient_shift), float((total >> count_bits) & curvature_mask)
    least, most = least + penalty, curve - least + penalty
    best, column, cut = slope * slope / (curve + penalty), -1, -1
    nothing = best
    # A register longer than there are bins: after the last nothing is on the right, and no split there fits.
    below, places = by_bin[0], by_bin[1]
    for j in range(histogram.shape[0]):
        so_far, filled = np.int64(0), 0
        for b in range(n_cuts[j]):
            so_far += histogram[j, b]
            below[filled], places[filled] = so_far, b
            filled += histogram[j, b] != 0  # where a bin is empty the next one takes its place
        for b in range(filled, filled + _LANES):
            below[b] = total
        width = (filled + _LANES) & -_LANES
        for b in range(width):
            count = np.int32(below[b] & count_mask)  # 32 bits, which turn into floats four at a time
            left = float(np.int32(np.int32(below[b] >> 32) >> high_shift))
            under = float(np.int32((below[b] >> count_bits) & curvature_mask)) + penalty
            right, over = slope - left, curve + 2.0 * penalty - under
            gain = (left * left * over + right * right * under) / (under * over)
            fits = (count >= fewest) & (count <= rows - fewest) & (under >= least) & (under <= most)
            gains[b] = gain if fits else -1.0
        # Four maxima, none of which waits for the others.
        g0, g1, g2, g3 = gains[0], gains[1], gains[2], gains[3]
        for b in range(4, width, 4):
            g0, g1 = max(g0, gains[b]), max(g1, gains[b + 1])
            g2, g3 = max(g2, gains[b + 2]), max(g3, gains[b + 3])
        top = max(max(g0, g1), max(g2, g3))
        if top > best:
            best, column, cut = top, j, 0
            while gains[cut] < top:
                cut += 1
            cut = places[cut]
    return best - nothing, column, cut


@compiled
def _part(bins: Bins, column: int, cut: int, rows: RowNumbers, spare: RowNumbers) -> int:
    """Put rows up to a cut before the others, both in the order they had, and return how many they are."""
    left, right = 0, 0
    for r in rows:
        is_left = bins[r, column] <= cut
        rows[left] = r  # overwritten by the next one if it belongs to the others
        spare[right] = r
        left += is_left
        right += not is_left
    for i in range(right):
        rows[left + i] = spare[i]
    return left


@compiled
def _add_trees(
    columns: Floats,
    start: Floats,
    leaf: RowNumbers,
    column: RowNumbers,
    threshold: Floats,
    value: Floats,
    scores: Floats,
) -> None:
    """Scores of rows: what their leaves add to the start; of two classes the first has score 0."""
    n, n_scores = columns.shape[1], start.size
    own = np.empty(_BLOCK, np.int64)
    offset = scores.shape[1] - n_scores
    for i in range(n):
        for k in range(n_scores):
            scores[i, offset + k] = start[k]
    for first in range(0, n, _BLOCK):
        size = min(_BLOCK, n - first)
        for tree in range(leaf.shape[0]):
            for i in range(size):
                own[i] = 0
            # All rows through one split after the other: no branches, and four rows in a register.
            for s in range(leaf.shape[1]):
                values, of, above = columns[column[tree, s], first : first + size], leaf[tree, s], threshold[tree, s]
                for i in range(values.size):
                    own[i] = s + 1 if (own[i] == of) & (values[i] > above) else own[i]
            k = offset + tree % n_scores
            for i in range(size):
                scores[first + i, k] += value[tree, own[i]]
