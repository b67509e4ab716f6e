"""Pictures as columns: patches of the rows that are not held out, a dictionary of them, and where each occurs.

Small patches are normalised and whitened, a dictionary of centres is found by k-means, each patch says how much nearer
than usual it is to each centre (the triangle activation), and this is added up over the cells of a grid [1]_. Leading
principal directions of these sums, and of the pixels, are what the library learns from.

References
----------
.. [1] A. Coates, H. Lee and A. Y. Ng, "An analysis of single-layer networks in unsupervised feature learning",
   AISTATS 2011.
"""

import struct
import zlib
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.linalg import eigh

from .._types import Codes, RowNumbers, Singles
from ..utils.compiled import compiled
from ..utils.parallel import Progress, Workers
from .image_learners import IMAGE_LEARNERS
from .learners import LIBRARY
from .pool import spaced
from .representation import View

__all__ = [
    "CENTRES",
    "DIRECTIONS",
    "LEARNING_ROWS",
    "ImageEncoder",
    "Images",
    "grid_cells",
    "patch_side",
    "patch_stride",
    "png",
]

_PATCHES, CENTRES, _ROUNDS = 60_000, 400, 12  # of k-means
_PER_CENTRE = 20  # patches at least
_CONTRAST = 1.6e-3  # added to the variance of a patch, in units of that of all pixels: what is less is noise
_BLANK = 0.06  # patches that deviate by less, in units of all pixels, are no part of the dictionary
_WHITEN = 0.1  # added to the variances of directions of patches
_GRID, _LEAST_GRID = 3, 2  # cells on a side
DIRECTIONS, _COLUMNS, _PIXEL_COLUMNS = 400, 64, 64
LEARNING_ROWS = 8_000  # that directions are found from
_AT_A_TIME = 128  # pictures
_STRIDE_FROM = 40  # pixels on a side from which every second patch is looked at
_KEPT = ("linear", "gaussian", "network")  # of the library's own learners


def patch_side(height: int, width: int) -> int:
    """Pixels on a side of the patches of such pictures.

    Examples
    --------
    >>> patch_side(28, 28), patch_side(8, 8)
    (6, 3)
    """
    return int(np.clip(min(height, width) // 4, 3, 6))


def patch_stride(side: int) -> int:
    """Pixels from one patch to the next, in pictures of so many on their longer side.

    Examples
    --------
    >>> patch_stride(28), patch_stride(64)
    (1, 2)
    """
    return 1 if side < _STRIDE_FROM else 2


class Images:
    """The representation of pictures: arrays of shape (N, H, W, channels)."""

    name = "images"
    learners = IMAGE_LEARNERS
    unused = tuple(name for name in LIBRARY if name not in _KEPT)
    # Kernels at landmarks take so many rows without an N x N matrix.
    max_rows = {"fast": 5_000, "balanced": 40_000, "thorough": 50_000}  # noqa: RUF012

    def learn(
        self, rows: NDArray[Any], rng: np.random.Generator, workers: Workers, progress: Progress | None
    ) -> "ImageEncoder":
        """Dictionary and directions of these pictures."""
        spread = float(np.std(rows[spaced(np.arange(len(rows)), LEARNING_ROWS)], dtype=np.float64)) or 1.0
        dictionary = Dictionary.of(rows, spread, rng)
        some = rows[np.sort(rng.permutation(len(rows))[:LEARNING_ROWS])]
        sums = _in_pieces(dictionary.sums, some, workers, "learning patches", progress)
        pixels = (some.reshape(len(some), -1) / spread).astype(np.float32)
        most = max(2, len(some) // 4)
        return ImageEncoder(
            dictionary,
            Directions.of(sums, min(DIRECTIONS, most), spread_power=_FLATTEN),
            Directions.of(pixels, min(_PIXEL_COLUMNS, most)),
        )

    def excerpt(self, row: NDArray[Any]) -> str:
        """A picture as inline PNG data; numbers other than bytes from black, their smallest, to white."""
        if row.dtype != np.uint8:
            low, high = float(row.min()), float(row.max())
            row = np.round((row - low) * (255 / ((high - low) or 1.0))).astype(np.uint8)
        return "data:image/png;base64," + b64encode(png(row)).decode()

    def note(self, encoder: Any, n_rows: int) -> str:
        """What was learned from so many rows."""
        dictionary, side = encoder.dictionary, encoder.dictionary.side
        return (
            f"{encoder.patches.n} leading directions of what {len(dictionary.centres)} kinds of patches ({side} x "
            f"{side} pixels) tell in a grid of {dictionary.grid} x {dictionary.grid} cells, and {encoder.pixels.n} of "
            f"the pixels, were learned without labels from the {n_rows:,} pictures that are not held out"
        )


_FLATTEN = 0.3


def png(pixels: NDArray[np.uint8]) -> bytes:
    """A PNG file of pixels of shape (H, W, 1 or 3).

    Examples
    --------
    >>> png(np.zeros((2, 2, 1), dtype=np.uint8))[1:4]
    b'PNG'
    """

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    height, width, channels = pixels.shape
    head = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)
    lines = b"".join(b"\0" + line.tobytes() for line in np.ascontiguousarray(pixels))  # each without a filter
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(lines, 9)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@dataclass(frozen=True, eq=False)
class Directions:
    """Leading principal directions, on one scale."""

    mean: Singles
    axes: Singles  # (d, k)

    @property
    def n(self) -> int:
        """How many."""
        return int(self.axes.shape[1])

    @classmethod
    def of(cls, rows: Singles, most: int, *, spread_power: float = 0.0) -> "Directions":
        """Of these rows, the widest first. Each is divided by the given power of its deviation, in units of the widest.

        Signs do not matter to any learner, nor does the basis of equal eigenvalues.
        """
        mean = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
        centred = rows - mean
        n, d = centred.shape
        most = min(most, n - 1, d)
        product = centred @ centred.T if n < d else centred.T @ centred  # the smaller of the two matrices
        size = len(product)
        values, vectors = eigh(product.astype(np.float64), subset_by_index=[max(0, size - most), size - 1])
        values, vectors = values[::-1], vectors[:, ::-1]
        kept = values > 1e-9 * max(values[0], np.finfo(np.float64).tiny)
        if not kept.any():  # rows that are all alike: nothing can be said by any direction
            return cls(mean, np.zeros((d, 1), dtype=np.float32))
        values, vectors = values[kept], vectors[:, kept]
        axes = centred.T @ (vectors / np.sqrt(values)) if n < d else vectors
        widths = np.sqrt(values / n)
        scales = widths[0] ** (1 - spread_power) * widths**spread_power
        return cls(mean, (axes / scales).astype(np.float32))

    def apply(self, rows: Singles) -> Singles:
        """Rows in these coordinates."""
        return np.asarray((rows - self.mean) @ self.axes, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class ImageEncoder:
    """What was learned of pictures."""

    dictionary: "Dictionary"
    patches: Directions
    pixels: Directions

    def apply(self, rows: NDArray[Any], workers: Workers, progress: Progress | None) -> View:
        """Leading directions of patches and pixels for all learners; all those of the patches for kernels."""
        found = _in_pieces(self._both, rows, workers, "looking at pictures", progress)
        patches, pixels = found[:, : self.patches.n], found[:, self.patches.n :]
        columns = np.hstack([patches[:, :_COLUMNS], pixels]).astype(np.float64)
        given = rows.reshape(len(rows), -1)
        return View(columns, {"patches": patches, "pixels": pixels, "images": rows, "given": given})

    def _both(self, rows: NDArray[Any]) -> Singles:
        pixels = (rows.reshape(len(rows), -1) / self.dictionary.spread).astype(np.float32)
        return np.hstack([self.patches.apply(self.dictionary.sums(rows)), self.pixels.apply(pixels)])


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Kinds of patches.

    Attributes
    ----------
    spread : float
        Standard deviation of all pixels: their unit.
    side, stride, grid : int
        Of patches, from patch to patch, and cells on a side of the grid.
    mean, whitening : ndarray
        Of normalised patches.
    centres : ndarray of shape (K, side * side * channels)
    """

    spread: float
    side: int
    stride: int
    grid: int
    mean: Singles
    whitening: Singles
    centres: Singles

    @classmethod
    def of(cls, images: NDArray[Any], spread: float, rng: np.random.Generator) -> "Dictionary":
        """K-means of whitened patches at random places; blank ones have no say."""
        _, height, width, _ = images.shape
        side = patch_side(height, width)
        which, top, left = (
            rng.integers(0, most, _PATCHES) for most in (len(images), height - side + 1, width - side + 1)
        )
        steps = np.arange(side)
        places = (top[:, None, None] + steps[:, None], left[:, None, None] + steps)
        drawn = images[which[:, None, None], *places].reshape(_PATCHES, -1).astype(np.float32) / np.float32(spread)
        telling = drawn[drawn.std(axis=1) > _BLANK]
        patches = _normalise(telling if len(telling) > _PER_CENTRE * 2 else drawn)
        mean = patches.mean(axis=0)
        values, vectors = np.linalg.eigh(np.cov((patches - mean).T, dtype=np.float64))
        whitening = (vectors / np.sqrt(np.maximum(values, 0) + _WHITEN) @ vectors.T).astype(np.float32)
        centres = _k_means((patches - mean) @ whitening, min(CENTRES, len(patches) // _PER_CENTRE), rng)
        stride = patch_stride(max(height, width))
        grid = _GRID if min(height, width) - side + 1 >= 2 * _GRID * stride else _LEAST_GRID
        return cls(spread, side, stride, grid, mean, whitening, centres)

    def sums(self, images: NDArray[Any]) -> Singles:
        """Square roots of the activations of each centre, added up over each cell of the grid."""
        windows = sliding_window_view(images, (self.side, self.side), axis=(1, 2))[:, :: self.stride, :: self.stride]
        n, high, wide = windows.shape[:3]
        cells = grid_cells(high, wide, self.grid)
        # Channels last, as the dictionary's patches have them.
        patches = np.ascontiguousarray(windows.transpose(0, 1, 2, 4, 5, 3), dtype=np.float32)
        patches = _normalise(patches.reshape(n * high * wide, -1) / np.float32(self.spread))
        Z: Singles = np.asarray((patches - self.mean) @ self.whitening, dtype=np.float32)
        found = np.zeros((n, self.grid**2, len(self.centres)), dtype=np.float32)
        products: Singles = np.asarray(Z @ self.centres.T, dtype=np.float32)
        _add_activations(products, (Z**2).sum(axis=1), (self.centres**2).sum(axis=1), cells, found)
        return np.sqrt(found.reshape(n, -1) / np.float32(len(cells)))


def grid_cells(high: int, wide: int, grid: int) -> Codes:
    """Cell of each place, row by row.

    Examples
    --------
    >>> grid_cells(2, 4, 2)
    array([0, 0, 1, 1, 2, 2, 3, 3])
    """
    return np.asarray((np.arange(high) * grid // high)[:, None] * grid + np.arange(wide) * grid // wide).ravel()


def _normalise(patches: Singles) -> Singles:
    """Brightness and contrast taken out."""
    patches = patches - patches.mean(axis=1, keepdims=True)
    return np.asarray(patches / np.sqrt((patches**2).mean(axis=1, keepdims=True) + np.float32(_CONTRAST)))


def _k_means(Z: Singles, k: int, rng: np.random.Generator) -> Singles:
    """Centres; one that has lost all its rows begins anew at a random row."""
    centres = Z[rng.permutation(len(Z))[:k]]
    for _ in range(_ROUNDS):
        nearest = (Z @ centres.T - (centres**2).sum(axis=1) / 2).argmax(axis=1)
        counts = np.bincount(nearest, minlength=k)
        order = np.argsort(nearest, kind="stable")
        starts = np.minimum(np.concatenate([[0], np.cumsum(counts)[:-1]]), len(Z) - 1)
        sums = np.add.reduceat(Z[order].astype(np.float64), starts, axis=0)
        anew = Z[rng.integers(0, len(Z), k)]
        centres = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], anew).astype(np.float32)
    return np.asarray(centres)


@compiled(fastmath=True)
def _add_activations(
    products: Singles, squares: Singles, sizes: Singles, cells: Codes, found: Singles
) -> None:  # pragma: no cover
    """The triangle activation max(0, mean distance - distance), added up over the cells of each picture."""
    n_places, k = len(cells), len(sizes)
    distances = np.empty(k, dtype=np.float32)
    for i in range(len(found)):
        for place in range(n_places):
            row = i * n_places + place
            total = np.float32(0)
            for j in range(k):
                distances[j] = np.sqrt(max(squares[row] + sizes[j] - 2 * products[row, j], np.float32(0)))
                total += distances[j]
            mean = total / np.float32(k)
            for j in range(k):
                found[i, cells[place], j] += max(mean - distances[j], np.float32(0))


def _in_pieces(
    function: Callable[[NDArray[Any]], Singles],
    rows: NDArray[Any],
    workers: Workers,
    stage: str,
    progress: Progress | None,
) -> Singles:
    """The function of all rows, some at a time: always as many, whatever the number of threads."""
    starts = range(0, len(rows), _AT_A_TIME)
    return np.concatenate(workers.map(_piece, (function, rows), starts, stage, progress))


def _piece(function: Callable[[NDArray[Any]], Singles], rows: NDArray[Any], start: RowNumbers) -> Singles:
    return function(rows[start : start + _AT_A_TIME])
