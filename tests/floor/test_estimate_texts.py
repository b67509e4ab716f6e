"""Texts and sparse matrices all the way to a floor: known answers, order, copies, other columns, refusals."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

import bayesfloor as bf
from bayesfloor import problems


def words(n: int = 400, seed: int = 0):
    return problems.get("words").sample(n, random_state=seed)


def matrix(n: int = 240, d: int = 400, seed: int = 0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.integers(1, 4, (n, d)) * (rng.random((n, d)) < 0.03)
    X[:, 0] = rng.random(n) < 0.15 + 0.7 * y
    return sparse.csr_array(X.astype(float)), y


@pytest.fixture(autouse=True)
def few_learners(use_learners):
    use_learners("linear", "gaussian")


def test_the_floor_of_words_is_found(use_learners) -> None:
    use_learners("linear", "gaussian", "trees", "neighbours")
    problem = problems.get("words")
    texts, y = problem.sample(900, random_state=0)
    result = bf.estimate(texts, y, n_jobs=1, effort="fast")
    assert result.interval.low <= problem.bayes_error <= result.interval.high
    assert result.ceiling >= problem.bayes_error
    assert result.settings["representation"] == "texts"
    assert {"sparse linear", "naive bayes"} & {score.learner for score in result.learners}


def test_order_of_rows_classes_and_threads_does_not_show() -> None:
    texts, y = words()
    order = np.random.default_rng(1).permutation(len(y))
    first = bf.estimate(list(texts), y, effort="fast", n_jobs=1)
    again = bf.estimate(pd.Series(texts[order]), np.where(y == 0, "z", "a")[order], effort="fast", n_jobs=2)
    assert again.floor == pytest.approx(first.floor, abs=1e-12)
    assert again.ceiling == pytest.approx(first.ceiling, abs=1e-12)


@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize("kind", ["texts", "text beside a column", "sparse rows", "images", "a sample of texts"])
def test_rows_that_are_no_columns_have_no_estimate_on_columns(kind: str, monkeypatch) -> None:
    """What tells such rows apart are hashes: balls around them say nothing."""
    texts, y = words(160)
    if kind == "sparse rows":
        X, y = matrix(160)
        result = bf.estimate(X, y, effort="fast", n_jobs=1)
    elif kind == "images":
        from bayesfloor.library import images

        monkeypatch.setattr(images, "_PATCHES", 2_000)
        monkeypatch.setattr(images.Images, "learners", {"kernel of pixels": images.IMAGE_LEARNERS["kernel of pixels"]})
        X, y = problems.get("blobs").sample(60, random_state=0)
        result = bf.estimate(X, y, kind="images", effort="fast", n_jobs=1)
    elif kind == "text beside a column":
        frame = pd.DataFrame({"text": texts, "size": np.arange(160) % 7, "label": y})
        result = bf.estimate(frame, target="label", effort="fast", n_jobs=1)
    else:
        run = bf.Run(sample_rows=100, block_rows=40) if kind == "a sample of texts" else None
        result = bf.estimate(texts, y, effort="fast", n_jobs=1, run=run)
    assert result.evidence["raw"] is None
    assert "labels of like rows" not in {figure.name for figure in result.estimates}
    assert "labels of like scores" in {figure.name for figure in result.estimates}
    assert "labels of like rows" not in result.to_html() + result.to_json() + str(result)
    loaded = bf.FloorResult.from_json(result.to_json())
    assert loaded.estimates == result.estimates
    assert loaded.to_json() == result.to_json()
    for outcome in (bf.compare(loaded, error=0.4, n_test=100), bf.gate(loaded, error=0.4, n_test=100)):
        assert "labels of like rows" not in str(outcome)


def test_notes_name_no_columns_that_rows_do_not_have() -> None:
    texts = ["the same words"] * 40 + ["other words"] * 40
    result = bf.estimate(texts, np.arange(80) % 2, effort="fast", n_jobs=1)
    assert not [note for note in result.notes if "column 0" in note]
    with pytest.raises(bf.DataError) as refused:
        bf.estimate(texts[:40], np.arange(40) % 2, effort="fast", n_jobs=1)
    assert "column" not in str(refused.value)


def test_every_format_of_a_sparse_matrix_has_one_floor() -> None:
    X, y = matrix()
    first = bf.estimate(X, y, effort="fast", n_jobs=1)
    again = bf.estimate(sparse.csc_matrix(X[::-1]), y[::-1], effort="fast", n_jobs=1)
    assert again.floor == pytest.approx(first.floor, abs=1e-12)
    assert first.interval.low <= 0.15 <= first.ceiling  # one column of 400 tells the classes apart, with 15 % of errors


def test_few_sparse_columns_are_the_table_they_are() -> None:
    X, y = matrix()
    few = X[:, :30]
    floors = [bf.estimate(part, y, effort="fast", n_jobs=1).floor for part in (few, few.toarray())]
    assert floors[0] == floors[1]


def test_rows_without_a_label_are_dropped() -> None:
    texts, y = words(120)
    X, labels = matrix(120)
    for rows, own in ((list(texts), y), (X, labels)):
        kept = np.delete(np.arange(120), [4, 50])
        given = [None if row in (4, 50) else label for row, label in enumerate(list(own))]
        some = [rows[row] for row in kept] if isinstance(rows, list) else rows[kept]
        found = bf.estimate(rows, given, effort="fast", n_jobs=1)
        assert found.floor == bf.estimate(some, own[kept], effort="fast", n_jobs=1).floor
        assert "2 of 120 rows without a label dropped" in found.notes
        np.testing.assert_array_equal(found.row_numbers, kept)


def test_copies_of_texts_count_once() -> None:
    texts, y = words(200)
    result = bf.estimate([*texts, *texts[:30]], [*y, *y[:30]], effort="fast", n_jobs=1)
    assert result.settings["rows"] == 200
    assert any("30 of 230 rows" in note for note in result.notes)


def test_rows_outside_the_sample_are_scored_too() -> None:
    texts, y = words(700)
    result = bf.estimate(texts, y, effort="fast", n_jobs=1, run=bf.Run(sample_rows=300, block_rows=100))
    assert result.settings["rows"] == 700
    assert result.certificate.tested == 400


def test_classifiers_of_the_user_see_the_texts() -> None:
    texts, y = words(200)
    model = make_pipeline(CountVectorizer(), MultinomialNB())
    result = bf.estimate(texts, y, effort="fast", n_jobs=1, classifiers={"mine": model})
    assert "mine" in {score.learner for score in result.learners}


@pytest.mark.usefixtures("without_pictures")
def test_text_beside_other_columns_and_what_names_a_row(tmp_path) -> None:
    texts, y = words(200)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "said": texts,
            "size": rng.normal(size=200) + 3 * y,  # tells more than the texts do
            "mail": [f"p{i}@example.org" for i in range(200)],
            "file": [f"/data/{i}/scan {i}.png" for i in range(200)],
            "page": [f"https://example.org/{i}?q=a+b" for i in range(200)],
            "code": [f"{i * 7919:040x}" for i in range(200)],
            "label": np.where(y == 1, "yes", "no"),
        }
    )
    frame.loc[[4, 9], "said"] = None
    with pytest.warns(bf.BayesfloorWarning, match="'mail', 'file', 'page', 'code' look like identifiers"):
        table = bf.table_from_frame(frame, target="label")
    kinds = {column.name: (column.kind, column.note.split(":")[0]) for column in table.columns}
    assert kinds["said"][0] == "text"
    assert [kinds[name] for name in ("mail", "file", "page", "code")] == [
        ("identifier", "e-mail addresses"),
        ("identifier", "paths"),
        ("identifier", "web addresses"),
        ("identifier", "codes"),
    ]
    assert table.features == ("said missing", "size")
    assert any("missing texts taken for empty ones" in note for note in table.notes)
    both = bf.estimate(table, effort="fast", n_jobs=1)
    alone = bf.estimate(list(texts), y, effort="fast", n_jobs=1)
    assert both.evidence["error"] < alone.evidence["error"]
    page = both.to_html(table=table)
    assert next(iter(both.excerpts.values())).strip("“”…") in page


@pytest.mark.usefixtures("without_pictures")
def test_pages_quote_texts_cut_and_escaped() -> None:
    texts, y = words(120)
    texts = [f"<img src=x onerror=alert(1)> {text} " + "tail " * 500 for text in texts]
    result = bf.estimate(texts, y, effort="fast", n_jobs=1)
    page = result.to_html()
    assert "<img src=x" not in page
    assert "&lt;img src=x" in page
    assert all(len(excerpt) <= 210 for excerpt in result.excerpts.values())


def test_what_is_not_supported_is_refused() -> None:
    X, y = matrix(60, 200)
    for rows in (X, ["a text"] * 60):
        with pytest.raises(bf.ParameterError, match="this machine alone"):
            bf.estimate(rows, y, run=bf.Run(cluster="tcp://127.0.0.1:1"))
    with pytest.raises(bf.DataTypeError, match="estimate takes it as it is"):
        bf.bounds.all_bounds(X, y)
    with pytest.raises(bf.DataTypeError, match="texts must be a list"):
        bf.estimate(X, y, kind="texts")
    with pytest.raises(bf.DataError, match="X has 60 rows but y has 59 labels"):
        bf.estimate(X, y[:-1])
    with pytest.raises(bf.DataError, match="only one class"):
        bf.estimate(X, np.zeros(60))
    X, y = matrix(400, 3_000)
    with pytest.raises(bf.ParameterError, match="more than memory_limit"):
        bf.estimate(X, y, run=bf.Run(memory_limit="1 MB"))


def test_plan_states_the_memory_of_what_is_stored() -> None:
    small, large = (bf.plan(10_000, 50_000, entries=n, speed=1.0, n_jobs=2).memory for n in (10**6, 10**8))
    assert large - small == pytest.approx(12 * 16 * 99e6)
    assert large < 8 * 10_000 * 50_000 * 10
    with pytest.raises(bf.ParameterError, match="leave out the workers"):
        bf.plan(10_000, 50_000, workers=2, entries=10**6, speed=1.0)
