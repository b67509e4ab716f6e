"""The paper's networks: fully connected, ReLU, dropout 0.1, Adam; one thread, seeded."""

from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np

__all__ = ["errors_by_epoch"]

_BATCH, _DROPOUT, _STEP = 64, 0.1, 1e-3


def errors_by_epoch(
    train: tuple[Any, Any],
    test: tuple[Any, Any],
    hidden: Sequence[int],
    *,
    n_epochs: int,
    seed: int,
    every_epoch: bool = False,
) -> list[float]:
    """Train [d, *hidden, C] and return its error on the test rows: after each epoch, or after the last alone.

    The paper lists five widths and speaks of five hidden layers; we take the list to count input and output.
    """
    torch = import_module("torch")
    (X, y), (X_test, y_test) = train, test
    centre, spread = X.mean(axis=0), X.std(axis=0) + 1e-12
    inputs = torch.from_numpy(((X - centre) / spread).astype(np.float32))
    test_inputs = torch.from_numpy(((X_test - centre) / spread).astype(np.float32))
    labels, test_labels = torch.from_numpy(np.asarray(y)), torch.from_numpy(np.asarray(y_test))
    sizes = [X.shape[1], *hidden, int(max(y.max(), y_test.max())) + 1]
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = _network(torch, sizes)
            optimiser = torch.optim.Adam(model.parameters(), lr=_STEP)
            errors = []
            for epoch in range(n_epochs):
                model.train()
                for rows in torch.randperm(len(inputs)).split(_BATCH):
                    optimiser.zero_grad()
                    torch.nn.functional.cross_entropy(model(inputs[rows]), labels[rows]).backward()
                    optimiser.step()
                if every_epoch or epoch == n_epochs - 1:
                    model.eval()
                    with torch.no_grad():
                        guess = model(test_inputs).argmax(dim=1)
                    errors.append(float((guess != test_labels).float().mean()))
    finally:
        torch.set_num_threads(n_threads)
    return errors


def _network(torch: Any, sizes: Sequence[int]) -> Any:
    layers: list[Any] = []
    for n_in, n_out in pairwise(sizes[:-1]):
        layers += [torch.nn.Linear(n_in, n_out), torch.nn.ReLU(), torch.nn.Dropout(_DROPOUT)]
    return torch.nn.Sequential(*layers, torch.nn.Linear(sizes[-2], sizes[-1]))
