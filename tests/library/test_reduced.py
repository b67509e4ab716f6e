"""Tables that lack columns, learned as the whole one."""

import numpy as np
import pytest

from bayesfloor.library.reduced import ALONE, Reduced
from bayesfloor.library.training import Trained, train
from bayesfloor.rows.dataset import validate
from bayesfloor.utils.parallel import Threads


@pytest.fixture(scope="module")
def trained(two_learners) -> Trained:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = np.column_stack([rng.normal(size=200) + 2 * y, rng.normal(size=(200, 2))])
    data = validate(X, y)
    return train(
        data,
        groups=None,
        shares=data.priors,
        classifiers={},
        effort="fast",
        repeats=1,
        seed=0,
        workers=Threads(1),
        progress=None,
    )


def test_all_columns_again_are_the_whole_table(two_learners, trained) -> None:
    """Same rows, folds, settings and pool: what is trained again says the same to the last digit."""
    reduced = Reduced.of(trained)
    for fraction in (1.0, 0.5):
        (again,) = reduced.without([np.arange(3)], Threads(1), "again", None, fraction)
        np.testing.assert_array_equal(again, reduced.whole(fraction))


def test_other_columns_say_other_things(two_learners, trained) -> None:
    reduced = Reduced.of(trained)
    without, alone = reduced.without([np.array([1, 2])], Threads(1), "out", None)[0], None
    errors = [(P.argmax(axis=1) != trained.labels).mean() for P in (reduced.whole(), without)]
    assert errors[0] < 0.3 < errors[1]
    (alone,) = reduced.alone([np.array([0])], ALONE, Threads(1), "alone", None)
    assert (alone.argmax(axis=1) != trained.labels).mean() < 0.3
    assert reduced.without([], Threads(1), "none", None) == [] == reduced.alone([], ALONE, Threads(1), "none", None)


def test_importances_are_borrowed_from_the_whole_table(use_learners, trained) -> None:
    """No trees are grown for a table that lacks a column, where they would only weigh columns."""
    from bayesfloor.library.fold import Fold

    rows = trained.rows[:, :2]
    fold = Fold(rows, trained.labels, 2, 0, known_weights=np.array([0.5, 0.25]))
    np.testing.assert_allclose(fold.column_weights, [1.0, 0.5])
    assert "forest" not in vars(fold)
