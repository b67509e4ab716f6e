"""Compiled loops over contiguous arrays: no checks, no options. The only module that imports numba."""

import numba as nb
import numpy as np
from numpy.typing import NDArray

__all__ = ["count_within"]

_TILE = 512


@nb.njit(
    "void(float64[:, ::1], int64[::1], float64[:, ::1], int64[::1], float64[::1], int32[:, :, ::1])",
    nogil=True,
    cache=True,
)
def count_within(
    centres: NDArray[np.float64],
    own_column: NDArray[np.int64],
    columns: NDArray[np.float64],
    class_starts: NDArray[np.int64],
    squared_radii: NDArray[np.float64],
    counts: NDArray[np.int32],
) -> None:
    """Count, for each centre, class and radius, the points within that radius.

    A point counts if and only if the float64 sum of squared differences, taken in the order of the
    features, is at most the squared radius.

    Parameters
    ----------
    centres : (n, d)
    own_column : (n,) position of each centre among the points, which is skipped; -1 for none.
    columns : (d, N) the points, feature by feature, sorted by class.
    class_starts : (C + 1,) where each class begins among the points.
    squared_radii : (L,) ascending.
    counts : (n, C, L) added to.
    """
    n_features, n_radii = columns.shape[0], squared_radii.size
    squared = np.empty(_TILE)
    for i in range(centres.shape[0]):
        for c in range(class_starts.size - 1):
            for start in range(class_starts[c], class_starts[c + 1], _TILE):
                width = min(_TILE, class_starts[c + 1] - start)
                tile = squared[:width]
                tile[:] = 0.0
                for feature in range(n_features):
                    x = centres[i, feature]
                    row = columns[feature, start : start + width]
                    for j in range(width):
                        difference = row[j] - x
                        tile[j] += difference * difference
                if start <= own_column[i] < start + width:
                    tile[own_column[i] - start] = np.inf
                for r in range(n_radii - 1, -1, -1):
                    limit, inside = squared_radii[r], np.int32(0)
                    for j in range(width):
                        inside += np.int32(tile[j] <= limit)
                    if inside == 0:
                        break
                    counts[i, c, r] += inside
