"""The convolutional network, where torch is installed."""

import numpy as np
import pytest

from bayesfloor.library.convolutions import Convolutions, _move, convolutions
from bayesfloor.library.fold import Fold, Unseen

torch = pytest.importorskip("torch")


def stripes(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Stripes that go down or across, at any phase, in noise: no pixel tells anything by itself."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    wave = np.sin(np.arange(12) * 1.5 + rng.uniform(0, 6.3, n)[:, None])
    X = np.where(y[:, None, None] == 1, wave[:, :, None], wave[:, None, :]) + rng.normal(size=(n, 12, 12))
    return X[..., None].astype(np.float32), y


def test_it_learns_what_no_pixel_tells():
    X, y = stripes(400)
    new, truth = stripes(400, seed=1)
    network = Convolutions.train(X, y, 2, rounds=12, seed=0)
    assert (network.scores(new).argmax(axis=1) != truth).mean() < 0.1


def test_the_seed_alone_decides_and_torchs_own_generator_is_left_alone():
    X, y = stripes(150)
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    first = Convolutions.train(X, y, 2, rounds=2, seed=1).scores(X)
    assert torch.equal(before, torch.random.get_rng_state())
    torch.manual_seed(6)
    np.testing.assert_array_equal(first, Convolutions.train(X, y, 2, rounds=2, seed=1).scores(X))
    assert (first != Convolutions.train(X, y, 2, rounds=2, seed=2).scores(X)).any()


def test_only_at_effort_thorough_and_only_with_torch(monkeypatch):
    X, y = stripes(60)

    def trained(effort: str) -> dict:
        return convolutions(Fold(X.reshape(60, -1), y, 2, 0, effort, parts={"images": X}))

    assert trained("balanced") == {}
    models = trained("thorough")
    fold = Fold(X.reshape(60, -1), y, 2, 0)
    found = models["convolutions"](Unseen(fold, fold.X, {"images": X}))
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1, atol=1e-9)
    monkeypatch.setattr("bayesfloor.library.convolutions.find_spec", lambda name: None)
    assert trained("thorough") == {}


def test_moved_pictures_repeat_their_edges():
    picture = np.arange(6).reshape(1, 2, 3, 1)
    assert _move(picture, 1, 0)[0, :, :, 0].tolist() == [[0, 1, 2], [0, 1, 2]]
    assert _move(picture, 0, -1)[0, :, :, 0].tolist() == [[1, 2, 2], [4, 5, 5]]
