"""Families of pictures whose posterior is known exactly: rows are arrays of shape (n, side, side)."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import logsumexp

from .._types import Codes, Floats
from ..utils.checks import check_number, check_positive, check_whole
from .families import Distribution, Generator, draw_labels

__all__ = ["PICTURES", "noisy_blobs", "shifted_templates"]


def shifted_templates(
    side: int = 16, n_classes: int = 4, reach: int = 2, noise: float = 1.0, contrast: float = 1.0, seed: int = 3
) -> Distribution:
    """A template for each class, moved by a random number of pixels in both directions, in Gaussian pixel noise.

    Templates go round at the edges, and pixels are neither clipped nor rounded. With mu_cs the template of class c
    moved by s, one of S shifts that are equally probable, the posterior is a finite sum:

        P(c | x) is proportional to sum_s exp(-|x - mu_cs|^2 / (2 noise^2)).

    Parameters
    ----------
    side : int
        Pixels on a side.
    n_classes : int
    reach : int
        Shifts go from -reach to reach, in both directions.
    noise : float
        Standard deviation of each pixel.
    contrast : float
        Standard deviation of the pixels of a template.
    seed : int
        Of the templates, which are random smooth pictures.
    """
    side, n_classes = check_whole("side", side, 8, 64), check_whole("n_classes", n_classes, 2, 100)
    reach = check_whole("reach", reach, 0, side // 2 - 1)
    noise, contrast = check_positive("noise", noise), check_positive("contrast", contrast)
    templates = contrast * _smooth(n_classes, side, check_whole("seed", seed, 0))
    steps = [(a, b) for a in range(-reach, reach + 1) for b in range(-reach, reach + 1)]
    means = np.stack([np.roll(templates, step, axis=(1, 2)) for step in steps], axis=1).reshape(
        n_classes, len(steps), -1
    )
    half_sizes = (means**2).sum(axis=2) / 2

    def draw(n: int, rng: Generator) -> tuple[Floats, Codes]:
        y, shift = rng.integers(0, n_classes, n), rng.integers(0, len(steps), n)
        X = means[y, shift] + noise * rng.standard_normal((n, side * side))
        return X.reshape(n, side, side), y

    def posterior(X: Floats) -> Floats:
        products = X.reshape(len(X), -1) @ means.reshape(-1, side * side).T
        logs = (products.reshape(len(X), n_classes, len(steps)) - half_sizes) / noise**2
        found = logsumexp(logs, axis=2)
        return np.asarray(np.exp(found - logsumexp(found, axis=1, keepdims=True)))

    return Distribution(side**2, np.full(n_classes, 1 / n_classes), draw, posterior, None, kind="images")


def noisy_blobs(side: int = 16, rho: float = 0.2, grain: float = 0.1) -> Distribution:
    """A bright and a dark blob anywhere; the clean label is their order from left to right, and from top to bottom.

    The four clean labels are functions of the picture; a share `rho` of the labels is replaced by uniform draws, so
    that the floor is rho * 3/4 exactly.

    Parameters
    ----------
    side : int
        Pixels on a side.
    rho : float
        Share of labels that are replaced.
    grain : float
        Standard deviation of pixel noise; it hides no blob: where they are is read off their centres of mass.
    """
    side, rho = check_whole("side", side, 8, 64), check_number("rho", rho, 0, 1)
    grain = check_number("grain", grain, 0, 0.2)
    at = np.arange(side)
    width = side / 12

    line = np.exp(-((at[:, None] - at) ** 2) / (2 * width**2))

    def blob(centres: Floats) -> Floats:
        high, wide = (np.exp(-((at - centres[:, j, None]) ** 2) / (2 * width**2)) for j in (0, 1))
        return np.asarray(high[:, :, None] * wide[:, None, :])

    def draw(n: int, rng: Generator) -> tuple[Floats, Codes]:
        # Whole pixels apart by two at least, so that the clean label can be read off any picture.
        low, high = 2, side - 3
        bright = rng.integers(low, high + 1, (n, 2))
        gap = rng.integers(2, high - low, (n, 2))
        dark = low + (bright - low + gap) % (high - low + 1)
        close = np.abs(dark - bright) < 2
        dark = np.where(close, np.where(bright > (low + high) // 2, bright - 2, bright + 2), dark)
        X = (
            blob(bright.astype(np.float64))
            - blob(dark.astype(np.float64))
            + grain * rng.standard_normal((n, side, side))
        )
        return X, draw_labels(posterior(X), rng)

    def posterior(X: Floats) -> Floats:
        # Products of each picture with a blob at each pixel: largest and smallest where the two are.
        smooth = np.einsum("ai,nij,bj->nab", line, X.reshape(-1, side, side), line, optimize=True)
        bright, dark = smooth.reshape(len(smooth), -1).argmax(axis=1), smooth.reshape(len(smooth), -1).argmin(axis=1)
        clean = 2 * (bright // side > dark // side) + (bright % side > dark % side)
        return np.asarray((1 - rho) * np.eye(4)[clean] + rho / 4)

    return Distribution(side**2, np.full(4, 0.25), draw, posterior, rho * 3 / 4, kind="images")


def _smooth(n: int, side: int, seed: int) -> Floats:
    """Random smooth pictures, of mean 0 and deviation 1, that go round at the edges."""
    frequencies = np.fft.fftfreq(side)
    filter_ = np.exp(-(frequencies[:, None] ** 2 + frequencies**2) * side / 2)
    noise = np.random.default_rng(seed).standard_normal((n, side, side))
    found = np.fft.ifft2(np.fft.fft2(noise) * filter_).real
    found -= found.mean(axis=(1, 2), keepdims=True)
    return np.asarray(found / found.std(axis=(1, 2), keepdims=True))


# Name: family and its parameters.
PICTURES: dict[str, tuple[Callable[..., Distribution], dict[str, Any]]] = {
    "templates": (shifted_templates, {"side": 12, "n_classes": 3, "reach": 1, "noise": 4.0}),
    "many_templates": (shifted_templates, {"n_classes": 6, "reach": 1, "noise": 5.0}),
    "blobs": (noisy_blobs, {}),
}
