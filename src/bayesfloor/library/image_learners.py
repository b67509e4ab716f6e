"""Learners for pictures: kernels (image_kernels.py) and, where torch is there, a network (convolutions.py)."""

from .convolutions import convolutions
from .image_kernels import kernel_of_patches, kernel_of_pixels
from .learners import Learner

__all__ = ["IMAGE_LEARNERS"]

IMAGE_LEARNERS: dict[str, Learner] = {
    "kernel of patches": kernel_of_patches,
    "kernel of pixels": kernel_of_pixels,
    "convolutions": convolutions,
}
