"""Rows whose label looks wrong: the definition, what it leaves alone, and that everything that lists them agrees."""

import re
from dataclasses import replace

import numpy as np
import pytest

import naive
from bayesfloor import FloorResult, estimate, frames, problems
from bayesfloor.floor.suspects import find_suspects
from bayesfloor.report.advice import n_suspects, next_steps
from bayesfloor.report.page import render


def by_margin(posterior, labels):
    """The list of version 0.1: every row whose label is not the likeliest class."""
    return np.flatnonzero(posterior.argmax(axis=1) != labels)


def flip(labels, n_flipped, n_classes, rng):
    rows = rng.choice(len(labels), n_flipped, replace=False)
    given = labels.copy()
    given[rows] = (labels[rows] + rng.integers(1, n_classes, n_flipped)) % n_classes
    return given, rows


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_the_definition(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    posterior = rng.dirichlet(np.full(n_classes, 0.5), 300)
    labels = np.array([rng.choice(n_classes, p=row) for row in posterior])
    found = find_suspects(posterior, labels).tolist()
    assert found == naive.suspects(posterior, labels)
    assert 0 < len(found) < len(by_margin(posterior, labels))


def test_nothing_is_listed_where_nothing_stands_out() -> None:
    labels = np.repeat([0, 1, 2], [60, 30, 10])
    assert len(find_suspects(np.eye(3)[labels], labels)) == 0
    alike = np.tile([0.6, 0.3, 0.1], (100, 1))
    assert len(by_margin(alike, labels)) == 40
    assert len(find_suspects(alike, labels)) == 0


def test_others_count_alone_or_together() -> None:
    """Of two rows with the label 0 the second is ambiguous between 1 and 2, or between 0 and 1."""
    sure = [[0.9, 0.1, 0.0], [0.1, 0.8, 0.1], [0.0, 0.2, 0.8]]
    labels = np.array([0, 1, 2, 0])
    assert find_suspects(np.array([*sure, [0.02, 0.49, 0.49]]), labels).tolist() == [3]
    assert find_suspects(np.array([*sure, [0.02, 0.9, 0.08]]), labels).tolist() == [3]
    assert find_suspects(np.array([*sure, [0.4, 0.55, 0.05]]), labels).tolist() == []


def test_a_class_that_is_nobodys_label() -> None:
    posterior = np.array([[0.9, 0.1, 0.0], [0.9, 0.1, 0.0], [0.0, 0.1, 0.9]])
    assert find_suspects(posterior, np.array([0, 0, 0])).tolist() == []
    assert find_suspects(posterior, np.array([0, 0, 1])).tolist() == []


@pytest.mark.parametrize("seed", range(3))
def test_correct_rows_of_a_rare_class_are_left_alone(seed: int) -> None:
    problem = problems.get("imbalanced", shift=2.0, prior=83 / 3000)
    X, y = problem.sample(3000, random_state=seed)
    posterior = problem.posterior(X)
    n_rare = np.sum(y == 1)
    assert np.sum(y[by_margin(posterior, y)] == 1) > n_rare / 2
    assert np.sum(y[find_suspects(posterior, y)] == 1) < n_rare / 4


def test_flipped_labels_come_first() -> None:
    """Sorted by the margin, what is ambiguous between two other classes came late."""
    problem = problems.get("twenty_classes")
    gains = []
    for seed in range(5):
        X, y = problem.sample(3000, random_state=seed)
        posterior = problem.posterior(X)
        given, flipped = flip(y, 150, 20, np.random.default_rng(seed))
        noisy = 0.95 * posterior + 0.05 * (1 - posterior) / 19
        margin = np.take_along_axis(noisy, given[:, None], axis=1)[:, 0] - noisy.max(axis=1)
        lists = find_suspects(noisy, given), np.argsort(margin, kind="stable")
        ours, before = (np.isin(rows[:150], flipped).sum() / 150 for rows in lists)
        gains.append(ours - before)
    assert np.mean(gains) > 3 * np.std(gains, ddof=1) / 5**0.5


@pytest.fixture(scope="module")
def result() -> FloorResult:
    X, y = problems.get("mixture_2d").sample(400, random_state=1)
    given, _ = flip(y, 20, 3, np.random.default_rng(0))
    return estimate(X, given, effort="fast", n_jobs=1)


def test_all_that_list_them_agree(result: FloorResult) -> None:
    listed = result.suspect_rows(None)
    assert len(listed) == n_suspects(result) > 5
    assert result.suspect_rows(5) == listed[:5]
    probabilities = [probability for *_, probability in listed]
    assert probabilities == sorted(probabilities)
    for record, (row, looks_like, probability) in zip(frames.suspects_rows(result, 5), listed, strict=False):
        assert (record["row"], record["looks like"], record["probability"]) == (row, looks_like, probability)
        assert record["label"] != looks_like
    assert f">{len(listed)} rows, the least probable label first" in render(result)


def test_class_shares_that_are_asked_for_make_no_label_wrong(result: FloorResult) -> None:
    """The posterior is that of the shares asked for; whether a label is wrong does not depend on them."""
    problem = problems.get("imbalanced", shift=2.0, prior=83 / 3000)
    X, y = problem.sample(3000, random_state=0)
    posterior = problem.posterior(X)
    shares = np.bincount(y) / len(y)
    equal = posterior / shares / (posterior / shares).sum(axis=1, keepdims=True)
    asked = replace(result, classes=(0, 1), priors=(0.5, 0.5), posterior=equal, labels=y, row_numbers=None)
    own = replace(asked, priors=tuple(shares), posterior=posterior)
    assert own.label_posterior() is own.posterior
    assert asked.label_posterior() == pytest.approx(posterior, abs=1e-12)
    assert asked.suspect_positions(None) == own.suspect_positions(None)
    assert 5 * len(own.suspect_positions(None)) < len(find_suspects(equal, y))
    assert frames.suspects_rows(asked, 3)[0]["probability"] == pytest.approx(own.suspect_rows(1)[0][2])
    # Rows of the rare class weigh more in the floor of equal shares, and mistakes among them move it more.
    gains = [
        re.search(r"up to ([\d.]+) points", dict(next_steps(r))["Look again at the labels that look wrong"]).group(1)
        for r in (asked, own)
    ]
    assert float(gains[0]) > 2 * float(gains[1])
