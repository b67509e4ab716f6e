"""Other yardsticks against exact values; formulas against plain loops and scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, f1_score, roc_auc_score

import bayesfloor as bf
from bayesfloor import ParameterError
from bayesfloor.floor import metrics
from bayesfloor.problems import best_values
from known_predictions import posterior, predictions


def test_auc_is_scikit_learns_and_its_variance_delongs() -> None:
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.3
    scores = np.round(rng.normal(y), 1)  # with ties
    value, adds = metrics.auc(scores, y, np.full(400, 1 / 400))
    assert value == pytest.approx(roc_auc_score(y, scores), abs=1e-12)
    own, other = scores[y], scores[~y]
    table = (own[:, None] > other) + (own[:, None] == other) / 2
    delong = table.mean(axis=1).var() / y.sum() + table.mean(axis=0).var() / (~y).sum()
    assert (adds**2).mean() / 400 == pytest.approx(delong, rel=1e-9)


def test_weights_are_rows_counted_several_times() -> None:
    rng = np.random.default_rng(1)
    P, y, times = rng.dirichlet([1, 1, 1], 60), rng.integers(0, 3, 60), rng.integers(1, 4, 60)
    for loss, _ in metrics.SCORES.values():
        weighed = loss(P, y, times / times.sum())[0]
        repeated = loss(np.repeat(P, times, axis=0), np.repeat(y, times), np.full(times.sum(), 1 / times.sum()))[0]
        assert weighed == pytest.approx(repeated, abs=1e-12)


@pytest.mark.parametrize("name", ["gaussians_4d", "rayleigh_10d", "unequal_gaussians"])
def test_who_knows_the_posterior_is_near_the_exact_values(name) -> None:
    P, n, seeds = posterior(name), 2000, range(5)
    exact = dict(best_values._values(P))
    found = [metrics.metrics_of(predictions(name, n, seed), range(P.shape[1])) for seed in seeds]
    for title, value in exact.items():
        own = [one[title] for one in found]
        # An interval of 95 % is at least 2 x 1.96 standard errors wide.
        error = np.mean([metric.interval.high - metric.interval.low for metric in own]) / 3.92
        assert abs(np.mean([metric.value for metric in own]) - value) <= 4 * error / np.sqrt(len(seeds)), title
        assert sum(value in metric.interval for metric in own) >= 4, title


def test_figures_are_counted_values() -> None:
    said = predictions("rayleigh_10d", 900, 0)
    found = metrics.metrics_of(said, "abc")
    P, y = said.mean, said.y
    assert found["top-2 error"].figures["all"] == pytest.approx(
        1 - np.mean([label in np.argsort(p)[-2:] for p, label in zip(P, y, strict=True)]), abs=1e-12
    )
    named = P / said.shares
    right = [(named[y == c].argmax(axis=1) == c).mean() for c in range(3)]
    assert found["balanced accuracy"].figures["all"] == pytest.approx(np.mean(right), abs=1e-12)
    at = metrics._plug_in_f1(P[:, 0], said.weights)
    assert found["F1 of a"].figures["all"] == pytest.approx(f1_score(y == 0, P[:, 0] > at / 2), abs=1e-12)
    assert found["Brier score"].figures["disjoint models"] == pytest.approx(found["Brier score"].figures["all"])


def test_brier_score_of_two_classes_is_scikit_learns() -> None:
    said = predictions("unequal_gaussians", 900, 0)
    (found,) = (metric for metric in metrics.metrics_of(said, "ab") if metric.name == "Brier score")
    assert found.figures["all"] == pytest.approx(brier_score_loss(said.y, said.mean[:, 1]), abs=1e-12)
    assert found.figures["disjoint models"] == pytest.approx(found.figures["all"], abs=1e-12)
    held = said.test
    assert found.reached == pytest.approx(brier_score_loss(held.y_held, held.held[:, 1]), abs=1e-12)
    assert found.trivial == pytest.approx(said.shares.prod(), abs=1e-12)
    assert found.interval.high <= 0.25, "of answering 1/2 everywhere"


def test_brier_score_of_three_classes_is_summed_over_them() -> None:
    said = predictions("rayleigh_10d", 900, 0)
    found = metrics.metrics_of(said, "abc")["Brier score"]
    by_class = [brier_score_loss(said.y == c, said.mean[:, c]) for c in range(3)]
    assert found.figures["all"] == pytest.approx(sum(by_class), abs=1e-12)


def test_noise_has_nothing_to_offer() -> None:
    found = metrics.metrics_of(predictions("pure_noise", 1500, 0), range(3))
    assert found["AUC"].value == pytest.approx(0.5, abs=0.01)
    assert found["log-loss"].interval.high >= np.log(3) - 1e-9


def test_a_learning_curve_is_carried_on() -> None:
    """A loss that falls as 1/n: with weight 1 all of the excess is taken away."""
    figures = metrics.ScoreFigures((0.31, 0.32, 0.34, 0.38), 0.001, 0.69, 0.69, 0.69)
    assert figures.point(1.0) == pytest.approx(0.30)
    assert metrics.ScoreFigures((0.69,) * 4, 0.001, 0.69, 0.69, 0.69).point(1.0) == 0.69


def test_a_result_has_them(parts_result) -> None:
    found = parts_result.metrics()
    assert [metric.name for metric in found][:4] == ["balanced accuracy", "log-loss", "Brier score", "AUC"]
    assert found["AUC"] is found[3]
    assert all(metric.interval.low <= metric.value <= metric.interval.high for metric in found)
    assert all(metric.reached is not None for metric in found)
    assert bf.FloorResult.from_json(parts_result.to_json()).metrics() == found
    assert list(found.to_frame()["metric"])[-1] == "F1 of 1"
    assert "held-out" in str(found)
    with pytest.raises(ParameterError, match="there are balanced accuracy"):
        found["kappa"]
