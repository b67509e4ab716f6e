"""Learners for pictures: kernels at some of them, and moved templates; in convolutions.py a network, by torch."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import LinAlgError, cho_solve
from scipy.special import logsumexp, softmax

from .._types import Codes, Counts, Floats, Singles
from .convolutions import convolutions
from .fold import Fold, Models, Unseen, from_scores
from .learners import Learner

__all__ = ["IMAGE_LEARNERS", "LANDMARKS", "MovedTemplates", "part_kernel"]

# Pictures that kernels stand at, by effort.
LANDMARKS = {"fast": 1_000, "balanced": 4_000, "thorough": 6_000}
_RIDGES = (0.003, 0.1, 3.0)
_ROUNDING = 1e-8  # of Gram matrices, for each row: distances are in single precision
_AT_A_TIME = 2_048  # rows
_REFERENCE = 500  # rows whose distances tell what is near
# Responses lie between 0 and 1: as logarithms of probabilities they would hardly tell classes apart.
_SHARPNESS = 8.0


def part_kernel(fold: Fold, part: str, width: float, most: int) -> Models:
    """Ridge regression of the class indicators on a Gaussian kernel at some of the rows (Nystroem), several ridges.

    Distances are in single precision. The Gram matrix, which is added up over blocks of rows, is not: what its rounding
    would then have to be held down by is far more ridge than classes need that hardly overlap.

    Parameters
    ----------
    fold : Fold
    part : str
        Of the view: what distances are measured in.
    width : float
        In units of the inverse median squared distance.
    most : int
        Rows at which the kernel stands, at most.
    """
    rows: Singles = fold.parts[part]
    ridges = [ridge for ridge in _RIDGES if fold.wants(_setting(part, ridge))]
    if fold.n < 4 or not ridges:
        return {}
    rng = np.random.default_rng([fold.seed, 2])
    landmarks = rows[np.sort(rng.permutation(fold.n)[: min(most, fold.n)])]
    sizes = (landmarks**2).sum(axis=1)

    def distances(some: Singles) -> Singles:
        return np.maximum((some**2).sum(axis=1)[:, None] + sizes - 2 * some @ landmarks.T, np.float32(0))

    near = distances(landmarks[:: max(1, len(landmarks) // _REFERENCE)])
    scale = np.float32(width / (float(np.median(near[near > 0])) if near.any() else 1.0))
    targets = np.eye(fold.n_classes)[fold.y] - fold.prior
    m = len(landmarks)
    gram, products = np.zeros((m, m)), np.zeros((m, fold.n_classes))
    for start in range(0, fold.n, _AT_A_TIME):
        K = np.exp(-scale * distances(rows[start : start + _AT_A_TIME])).astype(np.float64)
        gram += K.T @ K  # half the work, as numpy sees; scipy's routines for it would hold Python's lock
        products += K.T @ targets[start : start + _AT_A_TIME]
    penalty = np.exp(-scale * distances(landmarks)).astype(np.float64)

    def responses(some: Singles) -> Floats:
        blocks = [some[start : start + _AT_A_TIME] for start in range(0, len(some), _AT_A_TIME)]
        return np.concatenate([np.exp(-scale * distances(block)).astype(np.float64) @ everything for block in blocks])

    everything = np.hstack([_solve(gram + ridge * penalty, products, fold.n) for ridge in ridges])

    def predict(unseen: Unseen, at: int) -> Floats:
        found = unseen.once(f"kernel of {part}", lambda: responses(unseen.parts[part]))
        own = found[:, at * fold.n_classes : (at + 1) * fold.n_classes]
        return from_scores(_SHARPNESS * (own + fold.prior))

    return {_setting(part, ridge): partial(predict, at=at) for at, ridge in enumerate(ridges)}


def _solve(A: Floats, products: Floats, n: int) -> Floats:
    """Coefficients; the diagonal is raised by what the rounding of so many rows may have taken from it."""
    at = np.diag_indices(len(A))
    for raised in (1, 9, 90):
        A[at] += raised * _ROUNDING * n
        try:
            return np.asarray(cho_solve((np.linalg.cholesky(A), True), products, check_finite=False))
        except LinAlgError:  # narrow kernels of rows that are all alike
            continue
    raise LinAlgError("the kernel matrix is singular")


def _setting(part: str, ridge: float) -> str:
    return f"kernel of {part} {ridge:g}"


def kernel_of_patches(fold: Fold) -> Models:
    """A kernel in the leading directions of patches."""
    return part_kernel(fold, "patches", 0.7, LANDMARKS[fold.effort])


def kernel_of_pixels(fold: Fold) -> Models:
    """A kernel in the leading directions of the pixels."""
    return part_kernel(fold, "pixels", 2.0, LANDMARKS[fold.effort] // 3)


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
