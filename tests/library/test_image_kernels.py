"""Kernels for pictures: rows left out, responses read as probabilities, labels repaired."""

import numpy as np
import pytest

from bayesfloor.library import image_kernels, kernel_ridge
from bayesfloor.library.fold import Fold, Unseen
from bayesfloor.library.image_kernels import Reading, left_out, part_kernel
from bayesfloor.library.kernel_ridge import Kernel, Regression


@pytest.mark.parametrize("n_landmarks", [10, 40])
@pytest.mark.parametrize("in_units", [False, True])
def test_a_row_left_out_responds_as_if_it_had_never_been_there(n_landmarks, in_units, monkeypatch):
    for module in (image_kernels, kernel_ridge):
        monkeypatch.setattr(module, "_AT_A_TIME", 16)
    monkeypatch.setattr(kernel_ridge, "_SIDE", 7)
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((40, 3)).astype(np.float32)
    targets = np.eye(3)[rng.integers(0, 3, 40)]
    mean = targets.mean(axis=0)
    units = rng.integers(0, 25, 40) if in_units else None  # of one row, and of several
    kernel = Kernel.of(rows[:n_landmarks], 1.0)
    regression = Regression.of(kernel, rows, targets, mean)
    found = left_out(regression, regression.solve(0.5), np.arange(40), units)
    # The same small ridge against rounding, whatever the number of rows.
    rounding = 1e-8 * 40 * np.eye(n_landmarks)
    for i in range(40):
        others = np.arange(40) != i if units is None else units != units[i]
        K = kernel.at(rows[others])
        A = K.T @ K + 0.5 * kernel.at(kernel.landmarks) + rounding
        coefficients = np.linalg.solve(A, K.T @ (targets[others] - mean))
        expected = kernel.at(rows[i : i + 1]) @ coefficients + mean
        # Distances of one row and of many are not rounded alike, in single precision.
        np.testing.assert_allclose(found[i : i + 1], expected, atol=1e-5)


@pytest.mark.parametrize("replaced", [0.0, 0.3, 0.6])
def test_the_reading_finds_the_share_of_labels_replaced(replaced):
    rng = np.random.default_rng(1)
    n, n_classes = 5_000, 4
    truth = Reading(9.0, replaced)
    responses = rng.dirichlet(np.full(n_classes, 0.4), n)
    P = truth.probabilities(responses)
    found = []
    for _ in range(8):
        y = (rng.random((n, 1)) > P.cumsum(axis=1)).sum(axis=1).clip(0, n_classes - 1)
        found.append(Reading.of(responses, y)[0].replaced)
    error = max(np.std(found, ddof=1) / np.sqrt(len(found)), 1e-3)
    # Of a share that cannot be negative, the mean is above 0 by chance alone: half a deviation at most.
    assert abs(np.mean(found) - replaced) < 4 * error + (np.std(found) / 2 if replaced == 0 else 0)


def test_labels_are_repaired_by_bayes_rule():
    responses = np.array([[0.9, 0.1, 0.0]])
    reading = Reading(5.0, 0.3)
    P = np.exp(5 * responses[0]) / np.exp(5 * responses[0]).sum()
    joint = P * [0.1, 0.8, 0.1]  # three classes: a tenth for each, and 0.7 for what the label was
    np.testing.assert_allclose(reading.repair(responses, np.array([1]))[0], joint / joint.sum(), atol=1e-12)
    assert reading.probabilities(responses).sum() == pytest.approx(1)


def noisy(seed, rho, n=1_500, n_test=2_000):
    """Many clusters, some of each class: rows, labels of which a share is replaced; and other rows, labels clean."""
    rng = np.random.default_rng(seed)
    cluster = rng.integers(0, 60, n + n_test)
    centres, spread = rng.standard_normal((60, 10)), 0.6 * rng.standard_normal((n + n_test, 10))
    rows, clean = (centres[cluster] + spread).astype(np.float32), cluster % 3
    y = np.where(rng.random(n + n_test) < rho, rng.integers(0, 3, n + n_test), clean)
    return rows[:n], y[:n], rows[n:], clean[n:]


def trained(rows, y, test, **options):
    """Settings of the kernel, and rows for them to predict."""
    fold = Fold(rows.astype(float), y, 3, seed=0, parts={"patches": rows}, **options)
    return part_kernel(fold, "patches", 2.0, 600), Unseen(fold, test.astype(float), {"patches": test})


def errors(seed, rho):
    """Of each setting, on clean labels."""
    rows, y, test, clean = noisy(seed, rho)
    models, unseen = trained(rows, y, test)
    return {name: float((model(unseen).argmax(axis=1) != clean).mean()) for name, model in models.items()}


def test_repaired_labels_teach_more_than_noisy_ones():
    gains, on_weak_ridge = [], []
    for seed in range(6):
        found = errors(seed, 0.4)
        repaired = found.pop("kernel of patches repaired")
        gains.append(min(found.values()) - repaired)  # the best of four, chosen on the clean labels themselves
        on_weak_ridge.append(found["kernel of patches 0.1"] - repaired)
    assert np.mean(gains) > 0
    assert np.mean(on_weak_ridge) > 4 * np.std(on_weak_ridge, ddof=1) / np.sqrt(len(on_weak_ridge))


def test_clean_labels_are_left_as_they_are():
    rows, y, test, _ = noisy(0, 0.0)
    models, unseen = trained(rows, y, test)
    repaired = models.pop("kernel of patches repaired")(unseen)
    assert any(np.array_equal(repaired, model(unseen)) for model in models.values())


def test_copies_of_a_row_do_not_vouch_for_its_label():
    rows, y, test, clean = noisy(0, 0.4, n=500)
    twice = np.repeat(np.arange(500), 2)
    models, unseen = trained(rows[twice], y[twice], test, units=twice)
    found = {name: -model(unseen)[np.arange(len(clean)), clean].mean() for name, model in models.items()}
    repaired = found.pop("kernel of patches repaired")
    assert repaired < min(found.values())
    alone, rest = trained(rows[twice], y[twice], test)  # as if they were rows of their own
    assert repaired < -alone["kernel of patches repaired"](rest)[np.arange(len(clean)), clean].mean()


def test_one_setting_is_trained_by_itself():
    rows, y, test, _ = noisy(0, 0.4, n=300)
    models, unseen = trained(rows, y, test)
    for name in ("kernel of patches repaired", "kernel of patches 0.6"):
        one, same = trained(rows, y, test, kept=frozenset({name}))
        assert list(one) == [name]
        np.testing.assert_allclose(one[name](same), models[name](unseen), atol=1e-6)
