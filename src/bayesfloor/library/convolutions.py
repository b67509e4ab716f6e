"""A small convolutional network in torch, which is optional: two layers of convolutions; rows are moved by pixels."""

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Codes, Floats
from .fold import Fold, Models, Unseen, from_scores

__all__ = ["ROUNDS", "Convolutions", "convolutions"]

_FIRST, _SECOND, _HIDDEN = 24, 48, 128  # channels, and units of the layer after them
_BATCH, _RATE, _DECAY = 128, 3e-3, 1e-4
ROUNDS = (8, 30)  # passes over many and over few rows
_SHOWN = 240_000  # rows to be shown in all, within these
_REACH = 0.08  # rows are moved by up to this share of a side
_LOOKS = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))  # pixels down and to the right, by which rows to predict are moved
_AT_A_TIME = 512  # rows to predict


def convolutions(fold: Fold) -> Models:
    """The network, at effort "thorough" and where torch is there; otherwise nothing."""
    if fold.effort != "thorough" or find_spec("torch") is None:
        return {}
    rounds = int(np.clip(_SHOWN // fold.n, *ROUNDS))
    network = Convolutions.train(fold.parts["images"], fold.y, fold.n_classes, rounds=rounds, seed=fold.seed)

    def predict(unseen: Unseen) -> Floats:
        return from_scores(network.scores(unseen.parts["images"]))

    return {"convolutions": predict}


class Convolutions:
    """The trained network; weights are torch tensors, in the order in which they are used.

    Parameters
    ----------
    weights : list of torch.Tensor
    mean, spread : float
        Of all pixels that it was trained on.
    """

    def __init__(self, weights: list[Any], mean: float, spread: float) -> None:
        self._weights, self._mean, self._spread = weights, mean, spread

    @classmethod
    def train(cls, images: NDArray[Any], y: Codes, n_classes: int, *, rounds: int, seed: int) -> "Convolutions":
        """Minimise the log-loss by Adam, with a rate that rises and falls once; all chance comes from the seed."""
        import torch

        rng = np.random.default_rng([seed, 3])
        _, height, width, channels = images.shape
        network = cls(
            _start(torch, channels, height, width, n_classes, rng),
            float(images.mean(dtype=np.float64)),
            float(images.std(dtype=np.float64)) or 1.0,
        )
        batches = -(-len(y) // _BATCH)
        optimizer = torch.optim.AdamW(network._weights, lr=_RATE, weight_decay=_DECAY)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, _RATE, total_steps=rounds * batches)
        reach = [max(1, round(_REACH * side)) for side in (height, width)]
        with _one_thread(torch):
            for _ in range(rounds):
                order = rng.permutation(len(y))
                for start in range(0, len(y), _BATCH):
                    rows = order[start : start + _BATCH]
                    steps = [int(rng.integers(-most, most + 1)) for most in reach]
                    scores = network._forward(torch, _move(images[rows], *steps))
                    loss: Any = torch.nn.functional.cross_entropy(scores, torch.from_numpy(y[rows]))
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    schedule.step()
        for weight in network._weights:
            weight.requires_grad_(False)
        return network

    def scores(self, images: NDArray[Any]) -> Floats:
        """Unnormalised log-probabilities: their mean over pictures as they are and moved by a pixel."""
        import torch

        found = np.zeros((len(images), len(self._weights[-1])))
        with _one_thread(torch), torch.no_grad():
            for start in range(0, len(images), _AT_A_TIME):
                some = slice(start, start + _AT_A_TIME)
                for look in _LOOKS:
                    found[some] += self._forward(torch, _move(images[some], *look)).numpy() / len(_LOOKS)
        return found

    def _forward(self, torch: Any, images: NDArray[Any]) -> Any:
        first, first_bias, second, second_bias, hidden, hidden_bias, last, last_bias = self._weights
        pixels = (images.astype(np.float32) - np.float32(self._mean)) / np.float32(self._spread)
        Z = torch.from_numpy(np.ascontiguousarray(pixels.transpose(0, 3, 1, 2)))
        functional = torch.nn.functional
        Z = functional.relu(functional.conv2d(Z, first, first_bias, stride=2, padding=2))
        Z = functional.relu(functional.conv2d(Z, second, second_bias, stride=2, padding=1))
        Z = functional.relu(Z.flatten(1) @ hidden + hidden_bias)
        return Z @ last + last_bias


def _start(torch: Any, channels: int, height: int, width: int, n_classes: int, rng: np.random.Generator) -> list[Any]:
    """Random weights (He et al., 2015), without torch's own generator, which is the user's."""
    left = ((height + 3) // 4) * ((width + 3) // 4)  # each layer halves both, rounded up
    shapes = [
        ((_FIRST, channels, 5, 5), channels * 25),
        ((_SECOND, _FIRST, 3, 3), _FIRST * 9),
        ((left * _SECOND, _HIDDEN), left * _SECOND),
        ((_HIDDEN, n_classes), 4 * _HIDDEN),
    ]
    weights = []
    for shape, n_inputs in shapes:
        values = rng.standard_normal(shape).astype(np.float32) * np.float32(np.sqrt(2 / n_inputs))
        n_outputs = shape[0] if len(shape) == 4 else shape[1]
        weights += [torch.from_numpy(values), torch.zeros(n_outputs)]
    return [weight.requires_grad_(True) for weight in weights]


def _move(images: NDArray[Any], down: int, right: int) -> NDArray[Any]:
    """Pictures moved by so many pixels; what comes in at the edges repeats the last ones."""
    rows = np.clip(np.arange(images.shape[1]) - down, 0, images.shape[1] - 1)
    columns = np.clip(np.arange(images.shape[2]) - right, 0, images.shape[2] - 1)
    return images[:, rows[:, None], columns]


class _one_thread:  # used as a context
    """One thread for each fit: others run beside it."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def __enter__(self) -> None:
        self._before = self._torch.get_num_threads()
        self._torch.set_num_threads(1)

    def __exit__(self, *error: object) -> None:
        self._torch.set_num_threads(self._before)
