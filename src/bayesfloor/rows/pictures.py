"""Arrays of pictures, checked: what is a picture, and where its channels are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, DataTypeError
from .dataset import as_array

__all__ = ["LARGEST_SIDE", "SMALLEST_SIDE", "check_pictures", "reduce_pictures"]

SMALLEST_SIDE, LARGEST_SIDE = 5, 64  # pixels
_CHANNELS = (1, 3)
_AT_A_TIME = 256


def check_pictures(X: Any) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Pictures as an array of shape (N, H, W, channels), and remarks.

    Pictures of more than 64 pixels on a side are made smaller by means over blocks of pixels; that is said.

    Parameters
    ----------
    X : array-like of shape (N, H, W), (N, H, W, 1 or 3) or (N, 1 or 3, H, W)
        uint8, or other numbers, which must be finite.

    Examples
    --------
    >>> check_pictures(np.arange(384).reshape(2, 3, 8, 8))[0].shape
    (2, 8, 8, 3)
    """
    array = as_array(X)
    shape = array.shape
    if array.ndim == 4 and shape[3] not in _CHANNELS and shape[1] in _CHANNELS:
        array = array.transpose(0, 2, 3, 1)
    elif array.ndim == 3:
        array = array[..., None]
    if array.ndim != 4 or array.shape[3] not in _CHANNELS:
        raise DataError(
            f"pictures must be an array of shape (N, H, W), (N, H, W, 3) or (N, 3, H, W), got shape {shape}: "
            "rows of pixels are X.reshape(N, H, W)"
        )
    if array.dtype.kind not in "biuf":
        raise DataTypeError(f"pictures must be numbers, got values of type {array.dtype}")
    n, height, width, _ = array.shape
    if n == 0:
        raise DataError("there are 0 pictures: at least two of two classes are needed")
    if min(height, width) < SMALLEST_SIDE:
        raise DataError(
            f"pictures of {height} x {width} pixels are too small for patches: pass their pixels as columns, "
            "X.reshape(len(X), -1), without kind"
        )
    if array.dtype != np.uint8:
        array = _as_singles(array)
    if all((array[start : start + _AT_A_TIME] == array[0]).all() for start in range(0, n, _AT_A_TIME)):
        raise DataError(f"all {n} pictures are alike: there is nothing to tell them apart by")
    if max(height, width) <= LARGEST_SIDE:
        return np.ascontiguousarray(array), ()
    step = -(-max(height, width) // LARGEST_SIDE)
    small = reduce_pictures(array, step)
    if min(small.shape[1:3]) < SMALLEST_SIDE:
        raise DataError(f"pictures of {height} x {width} pixels are too narrow: cut or resize them first")
    note = (
        f"pictures of {height} x {width} pixels were made {small.shape[1]} x {small.shape[2]} by means of {step} x "
        f"{step} pixels: the floor is that of the smaller ones"
    )
    return small, (note,)


def _as_singles(array: NDArray[Any]) -> NDArray[np.float32]:
    """In single precision, as wide as their range: what is not finite is named by its picture."""
    with np.errstate(over="ignore"):
        singles = np.ascontiguousarray(array, dtype=np.float32)
    finite = np.isfinite(singles)
    if not finite.all():
        bad = np.flatnonzero(~finite.all(axis=(1, 2, 3)))
        raise DataError(
            f"{len(bad)} of {len(singles)} pictures hold NaN, infinity or numbers beyond single precision; the first "
            f"is picture {bad[0]}. Mend or drop them"
        )
    return singles


def reduce_pictures(array: NDArray[Any], step: int) -> NDArray[np.float32]:
    """Means over blocks of so many pixels on a side; what is left over at the edges is cut off."""
    n, height, width, channels = array.shape
    high, wide = height // step, width // step
    small = np.empty((n, high, wide, channels), dtype=np.float32)
    for start in range(0, n, _AT_A_TIME):
        part = array[start : start + _AT_A_TIME, : high * step, : wide * step].astype(np.float32)
        blocks = part.reshape(len(part), high, step, wide, step, channels)
        small[start : start + _AT_A_TIME] = blocks.mean(axis=(2, 4))
    return small
