"""What an estimate of pictures will take: costs measured on 28 x 28 pixels, carried over by what is counted."""

import math
from importlib.util import find_spec

from ..library.convolutions import ROUNDS
from ..library.cross_fit import STAGES, n_models
from ..library.image_kernels import LANDMARKS, RIDGES, TRIED
from ..library.images import DIRECTIONS, LEARNING_ROWS, Images, patch_side, patch_stride
from ..library.pool import N_FOLDS
from ..rows.pictures import LARGEST_SIDE

__all__ = ["image_memory", "image_stages"]

# Seconds of one thread, on the machine of plan_costs.json.
_PLACE = 2.7e-6  # one patch of a picture against all centres
_PRODUCT = 6e-11  # a multiplication and an addition of a matrix product
_OTHERS = 2.5e-4  # of the small learners, for each picture and class that a model is trained on
_SHOWN = 2.5e-7  # a pixel shown to the convolutional network
_DIRECTIONS_FOUND = 15.0  # eigenvectors of the sums
_BASE = 350 * 2**20  # bytes: Python and its libraries
_MATRICES = 6  # with a row and a column for each landmark: products, penalty, their sum, its factor, two at work
_SETTINGS = 20  # of all learners for pictures
_FEW = 64  # leading directions of patches, and of pixels, that all learners see


def image_stages(n: int, d: int, classes: int, sample: int, effort: str, threads: int) -> dict[str, float]:
    """Seconds of each stage, for pictures of `d` pixels (in colour: times three), without repair of noisy labels."""
    looked_at = _places(d) * _PLACE
    trained = trained_rows(sample, effort)
    rows = trained * sum(fraction * count for fraction, count in n_models(1).items())
    landmarks = min(LANDMARKS[effort], trained)
    kernel = rows * landmarks * (DIRECTIONS + landmarks / 2) + len(STAGES) * sample * landmarks * DIRECTIONS
    solved = sum(n_models(1).values()) * len(RIDGES) * landmarks**2 * (landmarks / 3 + min(TRIED, trained) / 2)
    learning = min(LEARNING_ROWS, sample) * looked_at
    stages = {
        "learning patches": learning / threads + _DIRECTIONS_FOUND,
        "looking at pictures": n * looked_at / threads,
        "training": ((kernel + solved) * _PRODUCT + rows * classes * _OTHERS / 10) / threads,
        "scoring": (n - sample) * landmarks * DIRECTIONS * _PRODUCT / threads,
    }
    if effort == "thorough" and find_spec("torch") is not None:
        stages["networks"] = ROUNDS[0] * rows * d * _SHOWN / threads
    return stages


def image_memory(n: int, d: int, classes: int, sample: int, effort: str, threads: int) -> float:
    """Bytes at the peak: pictures (numbers of four bytes at most), directions, predictions; rows and kernels at work.

    A thread has copies of the rows that it trains on and predicts, their pixels twice, and the matrices of a kernel.
    """
    trained = trained_rows(sample, effort)
    landmarks = min(LANDMARKS[effort], trained)
    directions = 4.0 * (DIRECTIONS + _FEW) + 8.0 * 2 * _FEW
    work = (
        (trained + sample) * (directions + 2 * 4.0 * d) + 8.0 * _MATRICES * landmarks**2 + 4.0 * 4_096 * landmarks * 3
    )
    rows = 4.0 * n * d + sample * directions + 2 * 4.0 * _SETTINGS * sample * classes * len(STAGES)
    return _BASE + rows + threads * work


def trained_rows(sample: int, effort: str) -> int:
    """Pictures that a model of full size is trained on."""
    return min((N_FOLDS - 1) * sample // N_FOLDS, Images.max_rows[effort])


def _places(d: int) -> int:
    """Patches of a picture of so many numbers: a square, in grey or in colour."""
    side = math.isqrt(d)
    if side * side != d and d % 3 == 0:
        side = math.isqrt(d // 3)
    step = -(-side // LARGEST_SIDE)
    side = max(5, side // step)
    per_side = max(1, (side - patch_side(side, side)) // patch_stride(side) + 1)
    return per_side**2
