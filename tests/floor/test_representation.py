"""Rows that are no columns yet: what is learned from which of them, and who sees what."""

import numpy as np
import pytest

import bayesfloor as bf
from bayesfloor.floor import rows as floor_rows
from bayesfloor.library.fold import log_probabilities
from bayesfloor.library.representation import RawRows, View, fingerprints


class Centred:
    """Raw rows less the mean of those that were learned from; a learner that looks at the part `signs` alone."""

    name = "centred"
    unused = ("boosting", "network", "trees")
    max_rows = {"fast": 2_000, "balanced": 10_000, "thorough": 50_000}  # noqa: RUF012

    def __init__(self):
        self.learned_from, self.seen = [], []
        self.learners = {"signs": self.signs}

    def learn(self, rows, rng, workers, progress):
        self.learned_from.append(rows.copy())
        return Mean(rows.mean(axis=0))

    def note(self, encoder, n_rows):
        return f"the mean was learned from {n_rows} rows"

    def excerpt(self, row):
        return f"<b>{row[0]:.2f}"

    def signs(self, fold):
        self.seen.append(len(fold.parts["signs"]))
        assert len(fold.parts["signs"]) == len(fold.y)
        share = np.array([fold.y[fold.parts["signs"] == s].mean() for s in (0, 1)])
        return {
            "signs": lambda unseen: log_probabilities(
                np.stack([1 - share, share], axis=1)[unseen.parts["signs"].astype(int)]
            )
        }


class Mean:
    def __init__(self, mean):
        self.mean = mean

    def apply(self, rows, workers, progress):
        return View(rows - self.mean, {"signs": rows[:, 0] > self.mean[0], "given": rows})


@pytest.fixture
def centred(monkeypatch):
    made = Centred()
    monkeypatch.setattr(floor_rows, "open_raw", lambda X, kind: (RawRows(np.asarray(X), made), ("a remark",)))
    return made


def sample(n: int = 400, seed: int = 0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 4))
    X[:, 0] += 2 * y
    return X, y


def test_columns_are_learned_once_from_rows_that_are_not_held_out(centred, use_learners):
    use_learners("gaussian", "linear")
    X, y = sample()
    result = bf.estimate(X, y, effort="fast", n_jobs=1)
    (learned_from,) = centred.learned_from
    assert len(learned_from) == 320  # four fifths
    assert {tuple(row) for row in learned_from} < {tuple(row) for row in X}
    assert result.settings["representation"] == "centred"
    assert "the mean was learned from 320 rows" in result.notes
    assert "a remark" in result.notes
    assert "signs" in {score.learner for score in result.learners}
    assert result.evidence["n_features"] == 4
    # Held-out rows change nothing of what is learned: the certified count is of the other rows' representation.
    assert result.certificate.tested == 80


def test_order_of_rows_and_classes_does_not_show(centred, use_learners):
    use_learners("gaussian", "linear")
    X, y = sample()
    result = bf.estimate(X, y, effort="fast", n_jobs=1)
    order = np.random.default_rng(1).permutation(len(y))
    again = bf.estimate(X[order], 1 - y[order], effort="fast", n_jobs=2)
    assert again.floor == pytest.approx(result.floor, abs=1e-12)
    assert again.ceiling == pytest.approx(result.ceiling, abs=1e-12)
    np.testing.assert_array_equal(*centred.learned_from)


def test_rows_outside_the_sample_go_through_the_same_encoder(centred, use_learners):
    use_learners("gaussian", "linear")
    X, y = sample(3_000)
    result = bf.estimate(X, y, effort="fast", n_jobs=1, run=bf.Run(sample_rows=600, block_rows=500))
    (learned_from,) = centred.learned_from
    assert len(learned_from) == 480
    assert result.settings["rows"] == 3_000
    assert result.certificate.tested == 2_400
    # Two Gaussians two deviations apart: 15.9 % of errors, on 3,000 rows within four standard errors.
    assert result.evidence["error"] == pytest.approx(0.1587, abs=4 * np.sqrt(0.1587 * 0.8413 / 3_000))


def test_classifiers_of_the_user_see_the_part_that_is_given(centred, use_learners):
    from sklearn.naive_bayes import GaussianNB

    use_learners("gaussian")
    X, y = sample()
    seen = []

    class Own(GaussianNB):
        def fit(self, X, y):
            seen.append(X.copy())
            return super().fit(X, y)

    bf.estimate(X, y, effort="fast", n_jobs=1, classifiers={"own": Own()})
    assert all({tuple(row) for row in rows} < {tuple(row) for row in X} for rows in seen)
    with pytest.raises(bf.ParameterError, match="has a learner 'signs' for centred already"):
        bf.estimate(X, y, effort="fast", n_jobs=1, classifiers={"signs": Own()})


def test_copies_of_a_row_count_once(centred, use_learners):
    use_learners("gaussian", "linear")
    X, y = sample()
    result = bf.estimate(np.vstack([X, X[:40]]), np.r_[y, y[:40]], effort="fast", n_jobs=1)
    assert result.settings["rows"] == 400
    assert result.floor == pytest.approx(bf.estimate(X, y, effort="fast", n_jobs=1).floor, abs=0.02)


def test_a_kind_is_refused_where_it_cannot_be():
    X, y = sample(60)
    with pytest.raises(bf.ParameterError, match="kind must be None or one of images"):
        bf.estimate(X, y, kind="sounds")
    with pytest.raises(bf.ParameterError, match="on this machine alone"):
        bf.estimate(X, y, kind="images", run=bf.Run(cluster="tcp://127.0.0.1:1"))


def test_fingerprints_of_equal_rows_are_equal_wherever_they_lie():
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(0)
    rows = rng.random((2_100, 5, 7))
    rows[2_077] = rows[3]
    found = fingerprints(rows)
    np.testing.assert_array_equal(found[2_077], found[3])
    assert len(np.unique(found[:, 0])) == 2_099
    counts = rng.integers(0, 3, (50, 30))
    np.testing.assert_array_equal(fingerprints(csr_matrix(counts)), fingerprints(counts))
