"""Compiled loops over contiguous arrays: no checks, no options.

One definition of "within" holds everywhere: the float64 sum of squared differences, taken in the order of
the features, is at most the squared radius. Products and boxes only decide where they are certain.

All in one file: numba's cache looks at the file of a function alone, and would not notice an edit of what it inlines
from another one.
"""

import numpy as np
from numpy.typing import NDArray

from .._types import BallCounts, Codes, Counts, Floats, Keys, Mask, RowNumbers, Singles
from ..utils.compiled import compiled

__all__ = [
    "build_tree",
    "collect_near",
    "count_around_leaves",
    "count_in_tile",
    "count_in_tile_both_ways",
    "leave_out_groups",
    "measure_candidates",
    "nearest_foreign_in_tile",
    "nearest_foreign_in_tree",
    "rank_candidates",
]

ShortCodes = NDArray[np.int16]
Places = NDArray[np.int32]  # of candidates among the points as they are sorted

_CHUNK = 512  # entries of a tile row that are scanned for all radii while they are in the first-level cache
_CODE_RANGE, _CODE_LIMIT = np.float32(30_000), np.float32(32_000)  # codes of the radii, and of what is beyond them
_BLOCK = 64  # entries that are looked at one by one once one of them is known to be undecided
_STACK = 128  # deeper than any tree of 2^60 points


# --- one pair -----------------------------------------------------------------------------------------------


@compiled
def _squared_distance(x: Floats, y: Floats) -> float:
    total = 0.0
    for q in range(x.size):
        difference = y[q] - x[q]
        total += difference * difference
    return total


# The same lines again: numba's cache cannot tell one function compiled with two sets of options apart.
@compiled(fastmath={"reassoc", "contract"})
def _squared_distance_any_order(x: Floats, y: Floats) -> float:
    total = 0.0
    for q in range(x.size):
        difference = y[q] - x[q]
        total += difference * difference
    return total


@compiled
def _is_within(x: Floats, y: Floats, squared_radius: float) -> bool:
    # Vector instructions add in another order: a relative difference of at most 2 (d + 2) 2^-53.
    quick = _squared_distance_any_order(x, y)
    if abs(quick - squared_radius) > (x.size + 4) * 2.3e-16 * quick:
        return quick <= squared_radius
    return _squared_distance(x, y) <= squared_radius


# --- tiles: counting ----------------------------------------------------------------------------------------
# A tile holds products S = x_i . y_j in float32. With h_j = |y_j|^2 / 2 a pair is within the radius if
# S - h_j >= (|x_i|^2 - r^2) / 2 = limit; `slack` bounds the error of the left side, so above limit + slack
# it certainly is, below limit - slack it certainly is not, and the few between are computed directly.


@compiled
def _scan(values: Singles, upper: np.float32, lower: np.float32) -> tuple[np.int32, np.int32]:
    certain, possible = np.int32(0), np.int32(0)
    for j in range(values.size):
        certain = np.int32(certain + np.int32(values[j] >= upper))
        possible = np.int32(possible + np.int32(values[j] >= lower))
    return certain, possible


@compiled
def _scan_codes(codes: ShortCodes, lower: np.int16, upper: np.int16, columns: ShortCodes) -> tuple[np.int16, np.int16]:
    certain, possible = np.int16(0), np.int16(0)
    for j in range(codes.size):
        inside = np.int16(codes[j] < lower)
        certain = np.int16(certain + inside)
        possible = np.int16(possible + np.int16(codes[j] <= upper))
        columns[j] = np.int16(columns[j] + inside)
    return certain, possible


@compiled
def _scan_four_codes(
    c0: ShortCodes,
    c1: ShortCodes,
    c2: ShortCodes,
    c3: ShortCodes,
    lower: np.int16,
    upper: np.int16,
    columns: ShortCodes,
) -> tuple[np.int16, np.int16, np.int16, np.int16, np.int16]:
    k0, k1, k2, k3 = np.int16(0), np.int16(0), np.int16(0), np.int16(0)
    possible = np.int16(0)
    for j in range(columns.size):
        # numba adds 16-bit integers as 64-bit ones; each cast back keeps sixteen of them in a register.
        m0, m1, m2, m3 = (
            np.int16(c0[j] < lower),
            np.int16(c1[j] < lower),
            np.int16(c2[j] < lower),
            np.int16(c3[j] < lower),
        )
        k0, k1, k2, k3 = np.int16(k0 + m0), np.int16(k1 + m1), np.int16(k2 + m2), np.int16(k3 + m3)
        p = np.int16(np.int16(c0[j] <= upper) + np.int16(c1[j] <= upper))
        q = np.int16(np.int16(c2[j] <= upper) + np.int16(c3[j] <= upper))
        possible = np.int16(possible + np.int16(p + q))
        columns[j] = np.int16(columns[j] + np.int16(np.int16(m0 + m1) + np.int16(m2 + m3)))
    return k0, k1, k2, k3, possible


@compiled
def _encode(
    row: Singles, half: Singles, own_half: np.float32, base: np.float32, scale: np.float32, codes: ShortCodes
) -> None:
    """Subtract `half` from the row's products, and write half squared distances as 16-bit codes.

    Every step is monotone in the distance, rounding included, so codes compare like what they stand for.
    """
    for j in range(codes.size):
        row[j] -= half[j]
        codes[j] = _code(own_half - row[j], base, scale)


@compiled
def _code(value: np.float32, base: np.float32, scale: np.float32) -> np.int16:
    steps = (value - base) * scale - _CODE_RANGE
    return np.int16(np.int32(min(max(steps, -_CODE_LIMIT), _CODE_LIMIT)))


@compiled
def _limits(limit: float, slack: float) -> tuple[np.float32, np.float32]:
    """Above the first a product is certainly within, below the second it certainly is not."""
    width = slack + abs(limit) * 1.2e-7  # the cast to float32 rounds by at most 2^-24 of the value
    return np.float32(limit + width), np.float32(limit - width)


@compiled
def _decide_codes(
    codes: ShortCodes,
    low_code: np.int16,
    high_code: np.int16,
    values: Singles,
    limit: float,
    slack: float,
    x: Floats,
    Y: Floats,
    rows: RowNumbers,
    squared_radius: float,
    columns: ShortCodes,
) -> int:
    """Count the pairs within among those whose codes do not tell; add them to `columns`."""
    found = 0
    upper, lower = _limits(limit, slack)
    for start in range(0, codes.size, _BLOCK):
        block = codes[start : start + _BLOCK]
        undecided = np.int16(0)
        for j in range(block.size):
            undecided = np.int16(undecided | np.int16(np.int16(block[j] >= low_code) & np.int16(block[j] <= high_code)))
        if undecided == 0:
            continue
        for j in range(start, start + block.size):
            if codes[j] < low_code or codes[j] > high_code or values[j] < lower:
                continue
            if values[j] >= upper or _is_within(x, Y[rows[j]], squared_radius):
                found += 1
                columns[j] += np.int16(1)
    return found


@compiled
def _decide(
    values: Singles, upper: np.float32, lower: np.float32, x: Floats, Y: Floats, rows: RowNumbers, squared_radius: float
) -> int:
    """Count the undecided pairs that are within."""
    found = 0
    for start in range(0, values.size, _BLOCK):
        block = values[start : start + _BLOCK]
        certain, possible = _scan(block, upper, lower)
        if certain == possible:
            continue
        for j in range(block.size):
            if lower <= block[j] < upper and _is_within(x, Y[rows[start + j]], squared_radius):
                found += 1
    return found


@compiled
def _set_limits(limits: Floats, slack: float, upper: Singles, lower: Singles) -> None:
    for r in range(limits.size):
        upper[r], lower[r] = _limits(limits[r], slack)


@compiled
def count_in_tile(
    S: Singles,
    half: Singles,
    own: RowNumbers,
    limits: Floats,
    slack: Floats,
    segments: RowNumbers,
    squared_radii: Floats,
    X: Floats,
    x_rows: RowNumbers,
    Y: Floats,
    y_rows: RowNumbers,
    counts: BallCounts,
) -> None:
    """Add the counts of a tile to its rows.

    Parameters
    ----------
    S : (n, m) products; overwritten.
    half : (m,) half squared norms of the columns.
    own : (n,) the column that is the row's own point, or -1.
    limits : (n, L); slack : (n,)
    segments : (k + 1,) where each class begins among the columns.
    squared_radii : (L,) ascending.
    X, x_rows, Y, y_rows : the points themselves and which of them the rows and columns are.
    counts : (n, k, L) added to.
    """
    n, n_radii = S.shape[0], squared_radii.size
    upper, lower = np.empty(n_radii, np.float32), np.empty(n_radii, np.float32)
    for i in range(n):
        _set_limits(limits[i], slack[i], upper, lower)
        row = S[i]
        for j in range(row.size):
            row[j] -= half[j]
        if own[i] >= 0:
            row[own[i]] = np.nan  # never at least anything
        for c in range(segments.size - 1):
            for start in range(segments[c], segments[c + 1], _CHUNK):
                stop = min(start + _CHUNK, segments[c + 1])
                values = row[start:stop]
                for r in range(n_radii - 1, -1, -1):
                    certain, possible = _scan(values, upper[r], lower[r])
                    if possible == 0:
                        break
                    counts[i, c, r] += certain
                    if possible != certain:
                        counts[i, c, r] += _decide(
                            values, upper[r], lower[r], X[x_rows[i]], Y, y_rows[start:stop], squared_radii[r]
                        )


@compiled
def count_in_tile_both_ways(
    S: Singles,
    half: Singles,
    row_class: Codes,
    row_half: Floats,
    half_radii: Floats,
    slack: Floats,
    segments: RowNumbers,
    squared_radii: Floats,
    X: Floats,
    x_rows: RowNumbers,
    y_rows: RowNumbers,
    codes: ShortCodes,
    columns: ShortCodes,
    reach: float,
    widest: float,
    counts: BallCounts,
    column_counts: BallCounts,
) -> None:
    """As `count_in_tile`, for rows and columns of the same matrix that have no point in common.

    Half the squared distances are first written as 16-bit codes, 60,000 steps over the range of the radii: twice as
    many go into a register, and all rows have the same thresholds. What a code leaves open the product decides, what
    that leaves open the points themselves. Four rows of one class go together, which saves most of the traffic to
    the columns' counts.

    Parameters
    ----------
    row_class : (n,) class of each row, ascending.
    row_half : (n,) half squared norms; half_radii : (L,) half squared radii in the units of the products.
    codes : (n, m) room, overwritten; columns : (L, m) zeros, which they are again in the end.
    reach : the largest half squared norms of a row and of a column, added; widest : the largest slack.
    column_counts : (C, L, m) takes what the rows add to the columns' own counts.
    """
    n, n_radii = S.shape[0], squared_radii.size
    most = min(half_radii[n_radii - 1], 2.1 * reach)  # no pair is farther: (|x| + |y|)^2 / 2
    # Error of a half squared distance: of its product, of its three terms as float32, of the two sums.
    width = widest + 4.1 * 2.0**-24 * (reach + most)
    base = np.float32(half_radii[0] - width)
    scale = np.float32(min(2 * _CODE_RANGE / (max(most - half_radii[0], 0.0) + 2 * width), 1e30))
    low_codes, high_codes = np.empty(n_radii, np.int16), np.empty(n_radii, np.int16)
    for r in range(n_radii):
        margin = width + half_radii[r] * 1.2e-7  # the cast to float32 rounds by at most 2^-24 of the value
        low_codes[r] = _code(np.float32(half_radii[r] - margin), base, scale)
        high_codes[r] = _code(np.float32(half_radii[r] + margin), base, scale)
    for i in range(n):
        _encode(S[i], half, np.float32(row_half[i]), base, scale, codes[i])
    i = 0
    while i < n:
        together = 4 if i + 4 <= n and row_class[i + 3] == row_class[i] else 1
        for c in range(segments.size - 1):
            for start in range(segments[c], segments[c + 1], _CHUNK):
                stop = min(start + _CHUNK, segments[c + 1])
                for r in range(n_radii - 1, -1, -1):
                    if together == 4:
                        k0, k1, k2, k3, possible = _scan_four_codes(
                            codes[i, start:stop],
                            codes[i + 1, start:stop],
                            codes[i + 2, start:stop],
                            codes[i + 3, start:stop],
                            low_codes[r],
                            high_codes[r],
                            columns[r, start:stop],
                        )
                        counts[i, c, r] += k0
                        counts[i + 1, c, r] += k1
                        counts[i + 2, c, r] += k2
                        counts[i + 3, c, r] += k3
                        certain = np.int16(k0 + k1 + k2 + k3)
                    else:
                        certain, possible = _scan_codes(
                            codes[i, start:stop], low_codes[r], high_codes[r], columns[r, start:stop]
                        )
                        counts[i, c, r] += certain
                    if possible == 0:
                        break
                    if possible != certain:
                        for k in range(i, i + together):
                            counts[k, c, r] += _decide_codes(
                                codes[k, start:stop],
                                low_codes[r],
                                high_codes[r],
                                S[k, start:stop],
                                row_half[k] - half_radii[r],
                                slack[k],
                                X[x_rows[k]],
                                X,
                                y_rows[start:stop],
                                squared_radii[r],
                                columns[r, start:stop],
                            )
        i += together
        if i == n or row_class[i] != row_class[i - 1]:
            total = column_counts[row_class[i - 1]]
            for r in range(n_radii):
                for j in range(half.size):
                    total[r, j] += np.int32(columns[r, j])
                    columns[r, j] = np.int16(0)


@compiled
def leave_out_groups(
    X: Floats,
    rows: RowNumbers,
    groups: Codes,
    members: RowNumbers,
    starts: RowNumbers,
    labels: Codes,
    squared_radii: Floats,
    counts: BallCounts,
) -> None:
    """Take the pairs within a group out of the counts around `rows`.

    Group g holds rows ``members[starts[g] : starts[g + 1]]``.
    """
    for i in range(rows.size):
        a = rows[i]
        for b in members[starts[groups[a]] : starts[groups[a] + 1]]:
            if b != a:
                squared = _squared_distance(X[a], X[b])
                for r in range(squared_radii.size - 1, -1, -1):
                    if squared > squared_radii[r]:
                        break
                    counts[i, labels[b], r] -= 1


# --- trees: counting ----------------------------------------------------------------------------------------


@compiled
def build_tree(X: Floats, leaf_size: int) -> tuple[RowNumbers, RowNumbers, Floats, Floats]:
    """Balanced kd-tree with children 2k+1 and 2k+2: order of the rows, bounds of the nodes, their boxes.

    Node k holds rows ``order[bounds[k, 0] : bounds[k, 1]]``; all leaves are on one level.
    """
    n, d = X.shape
    levels = 0
    while (n >> levels) > leaf_size:
        levels += 1
    n_nodes = (1 << (levels + 1)) - 1
    bounds = np.zeros((n_nodes, 2), np.int64)
    bounds[0, 1] = n
    low, high = np.empty((n_nodes, d)), np.empty((n_nodes, d))
    order = np.arange(n)
    first_leaf = (1 << levels) - 1
    for k in range(n_nodes):
        a, b = bounds[k, 0], bounds[k, 1]
        for q in range(d):
            low[k, q], high[k, q] = np.inf, -np.inf
        for i in range(a, b):
            for q in range(d):
                value = X[order[i], q]
                low[k, q], high[k, q] = min(low[k, q], value), max(high[k, q], value)
        if k < first_leaf:
            widest = 0
            for q in range(1, d):
                if high[k, q] - low[k, q] > high[k, widest] - low[k, widest]:
                    widest = q
            middle, left, right = (a + b) // 2, a, b - 1
            while left < right:  # quickselect: the lower half of the widest feature to the front
                pivot, i, j = X[order[(left + right) // 2], widest], left, right
                while i <= j:
                    while X[order[i], widest] < pivot:
                        i += 1
                    while X[order[j], widest] > pivot:
                        j -= 1
                    if i <= j:
                        order[i], order[j] = order[j], order[i]
                        i += 1
                        j -= 1
                if middle <= j:
                    right = j
                elif middle >= i:
                    left = i
                else:
                    break
            bounds[2 * k + 1, 0], bounds[2 * k + 1, 1] = a, middle
            bounds[2 * k + 2, 0], bounds[2 * k + 2, 1] = middle, b
    return order, bounds, low, high


@compiled
def _leaf_distances(columns: Floats, a: int, b: int, x: Floats, squared: Floats) -> None:
    """Squared distances from x to points a..b, stored feature by feature, summed in the order of features."""
    out = squared[: b - a]
    if x.size == 2:
        u, v, x0, x1 = columns[0, a:b], columns[1, a:b], x[0], x[1]
        for j in range(out.size):
            e, f = u[j] - x0, v[j] - x1
            out[j] = e * e + f * f
        return
    if x.size == 3:
        u, v, w, x0, x1, x2 = columns[0, a:b], columns[1, a:b], columns[2, a:b], x[0], x[1], x[2]
        for j in range(out.size):
            e, f, g = u[j] - x0, v[j] - x1, w[j] - x2
            out[j] = e * e + f * f + g * g
        return
    u, x0 = columns[0, a:b], x[0]
    for j in range(out.size):
        e = u[j] - x0
        out[j] = e * e
    for q in range(1, x.size):
        u, x0 = columns[q, a:b], x[q]
        for j in range(out.size):
            e = u[j] - x0
            out[j] += e * e


@compiled
def _count_at_most(values: Floats, limit: float) -> np.int64:
    found = np.int64(0)
    for j in range(values.size):
        found += np.int64(values[j] <= limit)
    return found


@compiled
def count_around_leaves(
    points: Floats,
    bounds: RowNumbers,
    low: Floats,
    high: Floats,
    first: int,
    last: int,
    ref_columns: Floats,
    ref_bounds: RowNumbers,
    ref_low: Floats,
    ref_high: Floats,
    squared_radii: Floats,
    counts: BallCounts,
    only_estimate: bool,
) -> int:
    """Count reference points around the points in leaves first..last of another tree; returns pairs computed.

    Box distances bound the pairs' *computed* squared distances, not only the true ones: subtracting,
    squaring and adding round monotonically, and the order of the sum is the same. So whole nodes
    can be counted, or left out, exactly.

    points : (n, d) in tree order; counts : (points in those leaves, L) in the same order, added to.
    ref_columns : (d, m) reference points in tree order, feature by feature.
    """
    d, n_radii = points.shape[1], squared_radii.size
    ref_first_leaf = ref_bounds.shape[0] // 2
    stack, whole = np.empty(_STACK, np.int64), np.empty(n_radii, np.int64)
    squared = np.empty(ref_columns.shape[1] // (ref_first_leaf + 1) + 1)  # leaves differ by one point at most
    n_pairs, base = 0, bounds[first, 0]
    for leaf in range(first, last):
        begin, end = bounds[leaf, 0], bounds[leaf, 1]
        for r in range(n_radii):
            whole[r] = 0
        stack[0], depth = 0, 1
        while depth > 0:
            depth -= 1
            k = stack[depth]
            a, b = ref_bounds[k, 0], ref_bounds[k, 1]
            if a == b:
                continue
            nearest, farthest = 0.0, 0.0
            for q in range(d):
                gap = max(0.0, ref_low[k, q] - high[leaf, q], low[leaf, q] - ref_high[k, q])
                span = max(ref_high[k, q] - low[leaf, q], high[leaf, q] - ref_low[k, q])
                nearest += gap * gap
                farthest += span * span
            if nearest > squared_radii[n_radii - 1]:
                continue
            undecided = n_radii  # radii from `undecided` on hold the whole node
            while undecided > 0 and squared_radii[undecided - 1] >= farthest:
                undecided -= 1
            smallest = 0  # radii below `smallest` hold nothing of it
            while squared_radii[smallest] < nearest:
                smallest += 1
            if smallest < undecided and k < ref_first_leaf:
                stack[depth], stack[depth + 1] = 2 * k + 1, 2 * k + 2
                depth += 2
                continue
            for r in range(undecided, n_radii):
                whole[r] += b - a
            if smallest >= undecided:
                continue
            n_pairs += (b - a) * (end - begin)
            if only_estimate:
                continue
            for i in range(begin, end):
                x = points[i]
                gaps = 0.0
                for q in range(d):
                    gap = max(0.0, ref_low[k, q] - x[q], x[q] - ref_high[k, q])
                    gaps += gap * gap
                if gaps > squared_radii[undecided - 1]:
                    continue
                _leaf_distances(ref_columns, a, b, x, squared)
                values = squared[: b - a]
                for r in range(undecided - 1, smallest - 1, -1):
                    found = _count_at_most(values, squared_radii[r])
                    if found == 0:
                        break
                    counts[i - base, r] += found
        if not only_estimate:
            for i in range(begin, end):
                for r in range(n_radii):
                    counts[i - base, r] += whole[r]
    return n_pairs


# --- nearest points -----------------------------------------------------------------------------------------


@compiled
def collect_near(
    S: Singles,
    half: Singles,
    own: RowNumbers,
    lower: Singles,
    first_column: int,
    candidates: Places,
    values: Singles,
    n_found: Counts,
    passes: NDArray[np.uint8],
    eights: Keys,
) -> None:
    """Append the columns with S - half >= lower to each row's candidates; past the buffer only count.

    `passes` is room for a row's answers, zero beyond its columns; `eights` are the same bytes, eight to a number.
    """
    capacity, width = candidates.shape[1], S.shape[1]
    for i in range(S.shape[0]):
        row, limit, at = S[i], lower[i], n_found[i]
        if own[i] >= 0:
            row[own[i]] = np.nan
        for j in range(width):
            passes[j] = np.uint8(row[j] - half[j] >= limit)
        mine, theirs = candidates[i], values[i]
        for e in range(eights.size):  # most eights have none
            if eights[e] == 0:
                continue
            if at + 8 > capacity or 8 * e + 8 > width:
                for j in range(8 * e, min(8 * e + 8, width)):
                    if at < capacity:
                        mine[at], theirs[at] = first_column + j, row[j] - half[j]
                    at += np.int64(passes[j])
            else:
                for j in range(8 * e, 8 * e + 8):  # written always, kept if it counts: no branch to predict
                    mine[at] = first_column + j
                    theirs[at] = row[j] - half[j]
                    at += np.int64(passes[j])
        n_found[i] = at


@compiled
def measure_candidates(
    Q: Floats,
    q_rows: RowNumbers,
    Y: Floats,
    candidates: Places,
    values: Singles,
    least: Singles,
    n_found: Counts,
    y_rows: RowNumbers,
    index_bits: int,
    rows: RowNumbers,
    squared: Floats,
    bits: Keys,
    keys: Keys,
) -> None:
    """Squared distances of each query's candidates, and keys that sort like them.

    A key is a distance's bits (those of positive numbers sort like the numbers) with the lowest replaced by the
    candidate's place: sorting keys sorts places, up to distances that agree in all other bits. Candidates whose
    value is below `least` are passed over (`values` may be empty); `n_found` becomes the number left. `bits` is
    `squared`, seen as integers.
    """
    places = np.uint64((1 << index_bits) - 1)
    for i in range(candidates.shape[0]):
        x, n = Q[q_rows[i]], 0
        for c in range(n_found[i]):  # written always, kept if it counts: no branch to predict
            j = y_rows[candidates[i, c]]
            rows[i, n] = j
            n += int(values.size == 0 or values[i, c] >= least[i])
        n_found[i] = n
        for c in range(0, n - 7, 8):  # eight sums at once: one addition need not wait for the other
            a0, a1, a2, a3 = Y[rows[i, c]], Y[rows[i, c + 1]], Y[rows[i, c + 2]], Y[rows[i, c + 3]]
            b0, b1, b2, b3 = Y[rows[i, c + 4]], Y[rows[i, c + 5]], Y[rows[i, c + 6]], Y[rows[i, c + 7]]
            s0, s1, s2, s3, t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for q in range(x.size):
                z = x[q]
                e, f, g, h = a0[q] - z, a1[q] - z, a2[q] - z, a3[q] - z
                s0, s1, s2, s3 = s0 + e * e, s1 + f * f, s2 + g * g, s3 + h * h
                e, f, g, h = b0[q] - z, b1[q] - z, b2[q] - z, b3[q] - z
                t0, t1, t2, t3 = t0 + e * e, t1 + f * f, t2 + g * g, t3 + h * h
            squared[i, c], squared[i, c + 1], squared[i, c + 2], squared[i, c + 3] = s0, s1, s2, s3
            squared[i, c + 4], squared[i, c + 5], squared[i, c + 6], squared[i, c + 7] = t0, t1, t2, t3
        for c in range(n - n % 8, n):
            squared[i, c] = _squared_distance(x, Y[rows[i, c]])
        for c in range(n):
            keys[i, c] = (bits[i, c] & ~places) | np.uint64(c)
        for c in range(n, keys.shape[1]):
            keys[i, c] = np.uint64(0xFFFFFFFFFFFFFFFF)


@compiled
def _sort_ties(keys: Keys, places: np.uint64, squared: Floats, rows: RowNumbers) -> None:
    """Replace keys by their places, sorted by distance and row (Shell's method; numba's own takes long to compile)."""
    for c in range(keys.size):
        keys[c] &= places
    gap = keys.size // 2
    while gap > 0:
        for c in range(gap, keys.size):
            key, at = keys[c], c
            distance, row = squared[np.int64(key)], rows[np.int64(key)]
            while at >= gap:
                other = np.int64(keys[at - gap])
                if squared[other] < distance or (squared[other] == distance and rows[other] < row):
                    break
                keys[at] = keys[at - gap]
                at -= gap
            keys[at] = key
        gap //= 2


@compiled
def rank_candidates(
    keys: Keys,
    index_bits: int,
    n_found: Counts,
    rows: RowNumbers,
    squared: Floats,
    complete_below: Floats,
    neighbours: RowNumbers,
    distances: Floats,
    settled: Mask,
) -> None:
    """Write each query's k nearest from its sorted keys, ties by row.

    All points with a squared distance below `complete_below` must be among the candidates; a query whose k-th
    is not below it is not `settled`.
    """
    places, k = np.uint64((1 << index_bits) - 1), neighbours.shape[1]
    for i in range(keys.shape[0]):
        settled[i] = False
        if n_found[i] < k:
            continue
        start = 0
        while start < k:
            stop = start + 1
            while stop < n_found[i] and (keys[i, stop] & ~places) == (keys[i, start] & ~places):
                stop += 1
            if stop == start + 1:
                place = np.int64(keys[i, start] & places)
                neighbours[i, start], distances[i, start] = rows[i, place], squared[i, place]
                start = stop
                continue
            _sort_ties(keys[i, start:stop], places, squared[i], rows[i])
            for c in range(start, min(stop, k)):
                place = np.int64(keys[i, c])
                neighbours[i, c], distances[i, c] = rows[i, place], squared[i, place]
            start = stop
        settled[i] = distances[i, k - 1] < complete_below[i]


# --- spanning tree ------------------------------------------------------------------------------------------


@compiled
def nearest_foreign_in_tile(
    S: Singles,
    half: Singles,
    slack: Floats,
    X: Floats,
    x_rows: RowNumbers,
    y_rows: RowNumbers,
    component: Codes,
    best_product: Floats,
    best_squared: Floats,
    best_row: RowNumbers,
) -> None:
    """Improve each row's nearest point of another component; ties go to the smaller row."""
    for i in range(S.shape[0]):
        row, mine, a = S[i], component[x_rows[i]], x_rows[i]
        for j in range(row.size):
            row[j] -= half[j]
        for start in range(0, row.size, _BLOCK):
            block = row[start : start + _BLOCK]
            limit = np.float32(best_product[i] - 2 * slack[i])
            possible = np.int32(0)
            for j in range(block.size):
                possible = np.int32(possible + np.int32(block[j] >= limit))
            if possible == 0:
                continue
            for j in range(block.size):
                if block[j] < limit:
                    continue
                b = y_rows[start + j]
                if component[b] == mine:
                    continue
                squared = _squared_distance(X[a], X[b])
                if squared < best_squared[a] or (squared == best_squared[a] and b < best_row[a]):
                    best_squared[a], best_row[a] = squared, b
                if block[j] > best_product[i]:
                    best_product[i] = block[j]


@compiled
def nearest_foreign_in_tree(
    queries: RowNumbers,
    X: Floats,
    order: RowNumbers,
    bounds: RowNumbers,
    low: Floats,
    high: Floats,
    node_component: Codes,
    component: Codes,
    component_best: Floats,
    best_squared: Floats,
    best_row: RowNumbers,
) -> None:
    """Find, for each query row, its nearest point of another component; ties go to the smaller row.

    Gives up on what is farther than the best its component has already (`component_best`, lowered on the way): then
    `best_squared` is a lower bound and `best_row` is -1.
    """
    d, first_leaf = X.shape[1], bounds.shape[0] // 2
    stack, stack_gap = np.empty(_STACK, np.int64), np.empty(_STACK)
    for a in queries:
        x, mine = X[a], component[a]
        found, found_row = np.inf, np.int64(-1)
        stack[0], stack_gap[0], depth = 0, 0.0, 1
        while depth > 0:
            depth -= 1
            k = stack[depth]
            if stack_gap[depth] > min(found, component_best[mine]) or node_component[k] == mine:
                continue
            if k >= first_leaf:
                for i in range(bounds[k, 0], bounds[k, 1]):
                    b = order[i]
                    if component[b] != mine:
                        squared = _squared_distance(x, X[b])
                        if squared < found or (squared == found and b < found_row):
                            found, found_row = squared, b
                continue
            gaps = np.zeros(2)
            for side in range(2):
                child = 2 * k + 1 + side
                for q in range(d):
                    gap = max(0.0, low[child, q] - x[q], x[q] - high[child, q])
                    gaps[side] += gap * gap
            near = 0 if gaps[0] <= gaps[1] else 1
            stack[depth], stack_gap[depth] = 2 * k + 2 - near, gaps[1 - near]
            stack[depth + 1], stack_gap[depth + 1] = 2 * k + 1 + near, gaps[near]
            depth += 2
        if found <= component_best[mine]:
            best_squared[a], best_row[a], component_best[mine] = found, found_row, found
        else:  # given up: all that is known is that nothing foreign is nearer than this
            best_squared[a], best_row[a] = component_best[mine], -1
