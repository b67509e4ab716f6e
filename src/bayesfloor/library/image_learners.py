"""Learners for pictures: moved templates; kernels are in image_kernels.py, a network, by torch, in convolutions.py."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import logsumexp, softmax

from .._types import Codes, Counts, Floats
from .convolutions import convolutions
from .fold import Fold, Models, Unseen, from_scores
from .image_kernels import kernel_of_patches, kernel_of_pixels
from .learners import Learner

__all__ = ["IMAGE_LEARNERS", "MovedTemplates"]

_REACHES = (1, 2)  # pixels in both directions
_EM_ROWS, _EM_ROUNDS = 10_000, 12


@dataclass(frozen=True, eq=False)
class MovedTemplates:
    """A picture for each class, moved by some pixels, in white noise; what leaves at an edge comes in at the other.

    A mixture over the moves, whose probabilities are learned, by the EM algorithm: transformed mixtures of Gaussians
    (Frey and Jojic, 2003) with one component for each class. Templates are shrunk frequency by frequency, as Wiener's
    filter does: of few rows most of what is fine in a mean is noise.

    Attributes
    ----------
    templates : ndarray of shape (C, H, W, channels)
    chances : ndarray of shape (C, moves)
        Of each move.
    variance : float
        Of the noise.
    reach : int
        Moves go so far, in both directions.
    """

    templates: Floats
    chances: Floats
    variance: float
    reach: int

    @property
    def moves(self) -> list[tuple[int, int]]:
        """Pixels down and to the right."""
        steps = range(-self.reach, self.reach + 1)
        return [(down, right) for down in steps for right in steps]

    @classmethod
    def start(cls, images: Floats, y: Codes, n_classes: int) -> "MovedTemplates":
        """The mean picture of each class, not moved."""
        overall = images.mean(axis=0)
        means = np.stack([images[y == c].mean(axis=0) if (y == c).any() else overall for c in range(n_classes)])
        variance = float(((images - means[y]) ** 2).mean()) or 1.0
        return cls(_shrunk(means, variance, np.bincount(y, minlength=n_classes)), np.ones((n_classes, 1)), variance, 0)

    def reaching(self, reach: int) -> "MovedTemplates":
        """The same templates, moved farther; all moves alike at first."""
        n_moves = (2 * reach + 1) ** 2
        return MovedTemplates(
            self.templates, np.full((len(self.templates), n_moves), 1 / n_moves), self.variance, reach
        )

    def improved(self, images: Floats, y: Codes) -> "MovedTemplates":
        """After a round of EM."""
        templates, chances, left = self.templates.copy(), self.chances.copy(), 0.0
        for c in range(len(templates)):
            own = images[y == c].reshape(-1, templates[c].size)
            if not len(own):
                continue
            shares = softmax(self._logs(own, c), axis=1)
            sums = (shares.T @ own).reshape(-1, *templates[c].shape)
            back = [
                np.roll(total, (-down, -right), axis=(0, 1))
                for total, (down, right) in zip(sums, self.moves, strict=True)
            ]
            templates[c] = sum(back) / len(own)
            chances[c] = (shares.sum(axis=0) + 1) / (len(own) + len(self.moves))
            left += float((own**2).sum() - len(own) * (templates[c] ** 2).sum())
        variance = max(left / images.size, 1e-3 * self.variance)
        templates = _shrunk(templates, variance, np.bincount(y, minlength=len(templates)))
        return MovedTemplates(templates, chances, variance, self.reach)

    def scores(self, images: Floats) -> Floats:
        """Logarithms of the densities of the classes, but for what is common to them."""
        rows = images.reshape(len(images), -1)
        return np.stack([logsumexp(self._logs(rows, c), axis=1) for c in range(len(self.templates))], axis=1)

    def _logs(self, rows: Floats, c: int) -> Floats:
        moved = np.stack([np.roll(self.templates[c], move, axis=(0, 1)).ravel() for move in self.moves])
        return np.asarray((rows @ moved.T - (moved**2).sum(axis=1) / 2) / self.variance + np.log(self.chances[c]))


def _shrunk(templates: Floats, variance: float, counts: Counts) -> Floats:
    """Means of so many pictures of this noise, each frequency times the share of its power that is not noise.

    Powers are those of all classes together, over nine neighbouring frequencies.
    """
    waves = np.fft.fft2(templates, axes=(1, 2))
    height, width = templates.shape[1:3]
    noise = (variance * height * width / np.maximum(counts, 1))[:, None, None, None]
    ratio = (np.abs(waves) ** 2 / noise).mean(axis=(0, 3))
    near = (-1, 0, 1)
    ratio = sum(np.roll(ratio, (down, right), axis=(0, 1)) for down in near for right in near) / 9
    power = np.maximum(0, ratio - 1)[None, :, :, None] / (1 / noise).mean()
    return np.asarray(np.fft.ifft2(waves * (power / (power + noise)), axes=(1, 2)).real)


def moved_templates(fold: Fold) -> Models:
    """Templates that reach one, and two, pixels far."""
    height, width = fold.parts["images"].shape[1:3]
    reaches = [reach for reach in _REACHES if 4 * reach <= min(height, width)]
    wanted = [reach for reach in reaches if fold.wants(_templates(reach))]
    if not wanted:
        return {}
    some = np.sort(np.random.default_rng([fold.seed, 4]).permutation(fold.n)[:_EM_ROWS])
    images, y = fold.parts["images"][some].astype(np.float64), fold.y[some]
    prior = np.log(fold.prior)

    def predict(unseen: Unseen, model: MovedTemplates) -> Floats:
        return from_scores(model.scores(unseen.parts["images"].astype(np.float64)) + prior)

    found = MovedTemplates.start(images, y, fold.n_classes)
    models: Models = {}
    for reach in range(1, max(wanted) + 1):  # each begins where the one before has ended
        found = found.reaching(reach)
        for _ in range(_EM_ROUNDS):
            found = found.improved(images, y)
        if reach in wanted:
            models[_templates(reach)] = partial(predict, model=found)
    return models


def _templates(reach: int) -> str:
    return f"moved templates {reach}"


IMAGE_LEARNERS: dict[str, Learner] = {
    "kernel of patches": kernel_of_patches,
    "kernel of pixels": kernel_of_pixels,
    "moved templates": moved_templates,
    "convolutions": convolutions,
}
