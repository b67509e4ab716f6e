import numpy as np
import pytest

from bayesfloor import arena, problems
from bayesfloor.arena.rivals import distort, isotonic_plug_in
from bayesfloor.bounds.soft_labels import calibrated_soft_label_error


def drawn(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Posteriors whose floor is 1/4, and a label each."""
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return np.stack([1 - p, p], axis=1), (rng.random(n) < p).astype(np.int64)


def test_distortion_is_known_without_noise() -> None:
    P, _ = drawn(500, 0)
    sharp = distort(P, 0, sharpness=3.0, noise=0.0)
    np.testing.assert_allclose(sharp[:, 1], P[:, 1] ** 3 / (P[:, 1] ** 3 + P[:, 0] ** 3), atol=1e-9)
    np.testing.assert_array_equal(np.argsort(sharp[:, 1]), np.argsort(P[:, 1]))
    np.testing.assert_allclose(distort(P, 0, sharpness=1.0, noise=0.0), P, atol=1e-9)
    noisy = distort(P, 3)
    assert (noisy != distort(P, 4)).any()
    np.testing.assert_array_equal(noisy, distort(P, 3))
    np.testing.assert_allclose(noisy.sum(axis=1), 1)


def test_isotonic_by_hand() -> None:
    P = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.2, 0.8]])
    assert isotonic_plug_in(P, np.array([0, 0, 1, 1])) == 0
    assert isotonic_plug_in(P, np.array([0, 1, 0, 1])) == 0.25
    assert isotonic_plug_in(P, np.array([1, 1, 0, 0])) == 0.5  # falls where it should rise: all are pooled


def test_isotonic_calibration_undoes_what_keeps_the_order() -> None:
    errors, plain = [], []
    for seed in range(20):
        P, y = drawn(2000, seed)
        sharp = distort(P, 0, sharpness=3.0, noise=0.0)
        errors.append(isotonic_plug_in(sharp, y))
        assert errors[-1] == pytest.approx(isotonic_plug_in(P, y))  # the order is all it sees
        plain.append((1 - sharp.max(axis=1)).mean())
    errors = np.array(errors)
    # The published rate is n^(-1/3): the bias is there, but small beside what overconfidence does.
    assert abs(errors.mean() - 0.25) < 4 * errors.std(ddof=1) / 20**0.5 + 2000 ** (-1 / 3) / 4
    assert np.mean(plain) < 0.15


def test_fitted_to_its_own_labels_it_is_low_and_cross_fitting_is_not() -> None:
    published, ours = [], []
    for seed in range(40):
        P, y = drawn(150, seed)
        published.append(isotonic_plug_in(P, y))
        ours.append(calibrated_soft_label_error(P, y).error)
    noise = 4 * np.std(ours, ddof=1) / 40**0.5
    assert np.mean(published) < 0.25 - noise / 2
    assert abs(np.mean(ours) - 0.25) < noise


def test_estimators_get_soft_labels_by_name() -> None:
    seen = []

    def curious(X, y, random_state=0, *, soft_labels):
        seen.append((X.shape, soft_labels.shape, float(soft_labels.sum(axis=1).mean())))
        return 0.1

    def plain(X, y, random_state=0):
        return 0.1

    result = arena.run({"curious": curious, "plain": plain}, ["rayleigh_10d"], sizes=[50], n_seeds=1, n_jobs=1)
    assert seen == [((50, 10), (50, 3), pytest.approx(1))]
    assert not result.failures()


def test_soft_label_rivals_in_the_arena() -> None:
    result = arena.run(arena.soft_label_rivals(), ["gaussians_4d", "rayleigh_10d"], sizes=[2000], n_seeds=3, n_jobs=1)
    assert not result.failures()
    rows = {row.estimator: row for row in result.leaderboard()}
    assert rows["soft labels"].mean_absolute_error > 2 * rows["soft labels, isotonic"].mean_absolute_error
    assert rows["soft labels"].bias < 0  # overconfident
    truth = problems.get("gaussians_4d").bayes_error
    offs = [
        r.off for r in result.records if r.estimator == "soft labels, calibrated here" and r.problem == "gaussians_4d"
    ]
    assert abs(np.mean(offs)) < 4 * (truth * (1 - truth) / 6000) ** 0.5 + 0.005  # what the noise takes away
