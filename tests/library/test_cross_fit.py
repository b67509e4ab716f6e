"""Who is trained on which rows, and who predicts which."""

import numpy as np
import pytest

from bayesfloor.library.cross_fit import (
    N_MODELS,
    STAGES,
    _assign_eighths,
    _divide,
    assign_folds,
    assign_parts,
    cross_fit,
    n_models,
)


def labels(n: int = 900) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 3, n)


@pytest.mark.parametrize("grouped", [False, True])
def test_every_row_is_predicted_once_by_models_that_have_not_seen_it(grouped):
    y = labels()
    groups = np.arange(900) // 3 if grouped else None
    fold = assign_folds(y, groups, np.random.default_rng(1))
    tasks = _divide(y, groups, fold, 10_000, np.random.default_rng(2))
    held = set(np.flatnonzero(fold == 0))
    for fraction, copy in STAGES:
        own = [task for task in tasks if task.fraction == fraction]
        assert len(own) == N_MODELS[fraction]
        predicted = np.concatenate([task.predict[copy] for task in own])
        np.testing.assert_array_equal(np.sort(predicted), np.arange(900))
        for task in own:
            trained, unseen = set(task.train), set(np.concatenate(task.predict))
            assert not trained & unseen
            if fraction < 1:
                assert not trained & held
                assert len(trained) == pytest.approx(fraction * (900 - len(held)), rel=0.1)
            if grouped:
                assert not set(np.asarray(groups)[task.train]) & set(np.asarray(groups)[list(unseen)])


def test_repeats_share_the_held_out_rows_and_the_models_that_predict_them(use_learners):
    use_learners("gaussian", "trees")
    y = labels(400)
    X = np.random.default_rng(3).normal(size=(400, 3)) + y[:, None]
    fitted = cross_fit(X, y, 3, effort="fast", repeats=3)
    assert len(fitted.repeats) == 3
    assert fitted.stages is fitted.repeats[0]
    held = fitted.fold == 0
    for again in fitted.repeats[1:]:
        for stage, first in zip(again, fitted.stages, strict=True):
            same = [first.names.index(name) for name in stage.names]  # those that carry weight
            assert 0 < len(same) < len(first.names)
            assert (stage.logs[:, ~held] != first.logs[same][:, ~held]).any()
            if stage.fraction == 1:
                np.testing.assert_array_equal(stage.logs[:, held], first.logs[same][:, held])
    alone = cross_fit(X, y, 3, effort="fast", repeats=1)
    for stage, first in zip(alone.stages, fitted.stages, strict=True):
        np.testing.assert_array_equal(stage.logs, first.logs)


def test_models_are_counted():
    fold = assign_folds(labels(), None, np.random.default_rng(0))
    tasks = _divide(labels(), None, fold, 10_000, np.random.default_rng(0))
    assert {f: sum(task.fraction == f for task in tasks) for f in N_MODELS} == n_models(1)


def test_parts_are_balanced():
    part = assign_parts(labels(), None, 8, np.random.default_rng(0))
    counts = np.bincount(part * 3 + labels()).reshape(8, 3)
    assert (counts.max(axis=0) - counts.min(axis=0) <= 1).all()


def test_what_an_eighth_is_too_small_for_stays_in_the_larger_stages():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    fitted = cross_fit(rng.normal(size=(120, 3)) + y[:, None], y, 2, effort="fast")
    assert not fitted.dropped
    whole, eighth = fitted.stages[0], fitted.stages[-1]
    assert "neighbours" in whole.learner
    assert set(eighth.names) < set(whole.names)
    assert np.isfinite(eighth.logs).all()
    for stage in fitted.stages[:-1]:
        assert stage.names == whole.names


def test_groups_of_rare_classes_are_divided():
    y = np.repeat(np.arange(6), 7)
    groups = np.arange(42) // 2
    part = _assign_eighths(y, groups, np.random.default_rng(0))
    assert set(part) <= set(range(8))
    for number in np.unique(groups):
        assert len(set(part[groups == number])) == 1
    quarters = [part % 4 == k for k in range(4)]
    assert all(
        len(np.unique(groups[q & (part < 4)])) - len(np.unique(groups[q & (part >= 4)])) in (0, 1) for q in quarters
    )
