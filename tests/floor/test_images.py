"""Pictures, from arrays to the page."""

import re
from base64 import b64decode

import numpy as np
import pytest

import bayesfloor as bf
from bayesfloor import problems
from bayesfloor.floor.raw import open_raw
from bayesfloor.library import images


@pytest.fixture(scope="module")
def blobs():
    X, y = problems.get("blobs").sample(400, random_state=0)
    return X, y, bf.estimate(X, y, kind="images", effort="fast", n_jobs=1)


@pytest.fixture
def cheap(use_learners, monkeypatch) -> None:
    """Two learners, one of pictures, and few patches: where it does not matter how good they are."""
    use_learners("gaussian", "additive")
    monkeypatch.setattr(images, "_PATCHES", 4_000)
    monkeypatch.setattr(images.Images, "learners", {"kernel of pixels": images.IMAGE_LEARNERS["kernel of pixels"]})


def test_the_floor_of_blobs(blobs):
    _, _, result = blobs
    assert problems.get("blobs").bayes_error == pytest.approx(0.15)
    assert 0.15 in result.interval
    assert result.floor <= result.ceiling
    assert result.settings["representation"] == "images"
    assert any("were learned without labels from the 320 pictures that are not held out" in n for n in result.notes)


def test_pixels_as_columns_tell_less():
    X, y = problems.get("many_templates").sample(600, 0)
    images, columns = (
        bf.estimate(rows, y, kind=kind, effort="fast", n_jobs=1).evidence["error"]
        for rows, kind in ((X, "images"), (X.reshape(len(X), -1), None))
    )
    assert columns - images > 3 * np.sqrt((images * (1 - images) + columns * (1 - columns)) / len(y))


def test_every_layout_gives_the_same_answer(blobs):
    X, y, result = blobs
    order = np.random.default_rng(1).permutation(len(y))
    again = bf.estimate(X[order, None], y[order], kind="images", effort="fast", n_jobs=2)  # (N, 1, H, W)
    assert again.floor == pytest.approx(result.floor, abs=1e-6)
    assert again.certificate == result.certificate
    np.testing.assert_allclose(again.posterior, result.posterior[order], atol=1e-3)


@pytest.mark.usefixtures("cheap")
def test_units_of_pixels_do_not_matter():
    X = np.random.default_rng(0).integers(0, 256, (60, 9, 7)).astype(np.uint8)
    raw, _ = open_raw(X, "images")
    assert raw.rows.shape == (60, 9, 7, 1)
    from bayesfloor.utils.parallel import Threads

    views = []
    for rows in (raw.rows, raw.rows.astype(np.float32) / 255):
        encoder = raw.representation.learn(rows, np.random.default_rng(0), Threads(1), None)
        views.append(encoder.apply(rows, Threads(1), None))
    pixels = [np.abs(view.parts["pixels"]) for view in views]
    np.testing.assert_allclose(*pixels, atol=1e-3)
    assert views[0].columns.shape == views[1].columns.shape


@pytest.mark.usefixtures("cheap")
def test_colour_takes_part():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, 8, 8, 3))
    X[np.arange(200), :, :, y] += 1.5  # red or green
    assert bf.estimate(X, y, kind="images", effort="fast", n_jobs=1).evidence["error"] < 0.02


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((40, 64)), r"must be an array of shape \(N, H, W\)"),
        (np.zeros((40, 8, 8, 2)), r"got shape \(40, 8, 8, 2\)"),
        (np.zeros((40, 3, 9)), "too small for patches"),
        (np.full((40, 8, 8), np.nan), "40 of 40 pictures hold NaN, infinity .* the first is picture 0"),
        (np.zeros((0, 8, 8)), "there are 0 pictures"),
        (np.zeros((40, 8, 8)), "all 40 pictures are alike"),
    ],
)
def test_what_is_no_picture_is_refused(X, message):
    with pytest.raises(bf.DataError, match=message):
        bf.estimate(X, np.arange(len(X)) % 2, kind="images")


def test_other_refusals():
    X, y = np.zeros((40, 8, 8)), np.arange(40) % 2
    with pytest.raises(bf.DataError, match="kind='images'"):
        bf.estimate(X, y)
    with pytest.raises(bf.DataTypeError, match="must be numbers"):
        bf.estimate(X.astype(str), y, kind="images")
    with pytest.raises(bf.DataError, match="40 rows but y has 39"):
        bf.estimate(np.random.default_rng(0).random((40, 8, 8)), y[1:], kind="images")


@pytest.mark.usefixtures("cheap")
@pytest.mark.usefixtures("cheap")
def test_pictures_without_a_label_are_dropped(blobs):
    X, y = blobs[0][:80], blobs[1][:80].astype(float)
    y[[3, 30]] = np.nan
    found = bf.estimate(X, y, kind="images", effort="fast", n_jobs=1)
    assert "2 of 80 rows without a label dropped" in found.notes
    np.testing.assert_array_equal(found.row_numbers, np.delete(np.arange(80), [3, 30]))


def test_large_pictures_become_smaller(blobs):
    X, y, _ = blobs
    large = np.kron(X[:60], np.ones((1, 6, 6)))
    result = bf.estimate(large, y[:60], kind="images", effort="fast", n_jobs=1)
    assert any("96 x 96 pixels were made 48 x 48" in note for note in result.notes)


@pytest.mark.usefixtures("cheap")
def test_pictures_that_are_all_alike():
    with pytest.raises(bf.DataError, match="all 60 pictures are alike"):
        bf.estimate(np.ones((60, 8, 8)), np.arange(60) % 2, kind="images", effort="fast", n_jobs=1)
    X = np.ones((60, 8, 8))
    X[0, 0, 0] = 2
    assert bf.estimate(X, np.arange(60) % 2, kind="images", effort="fast", n_jobs=1).floor > 0.3


def test_the_page_shows_the_rows_to_look_at(blobs):
    _, _, result = blobs
    assert 20 <= len(result.excerpts) <= 40
    page = result.to_html()
    shown = re.findall(r'<img src="data:image/png;base64,([^"]+)"', page)
    assert len(shown) >= 20
    assert all(b64decode(text).startswith(b"\x89PNG") for text in shown)
    assert "excerpts" not in result.to_dict()
    Image = pytest.importorskip("PIL.Image")
    from io import BytesIO

    assert Image.open(BytesIO(b64decode(shown[0]))).size == (16, 16)


@pytest.mark.usefixtures("cheap")
def test_a_folder_names_its_files(tmp_path, blobs):
    Image = pytest.importorskip("PIL.Image")
    X, y, _ = blobs
    for i in range(80):
        folder = tmp_path / f"kind {y[i]}"
        folder.mkdir(exist_ok=True)
        Image.fromarray(np.clip(128 + 100 * X[i], 0, 255).astype(np.uint8)).save(folder / f"{i}.png")
    result = bf.estimate(tmp_path, effort="fast", n_jobs=1)
    assert result.classes == ("kind 0", "kind 1", "kind 2", "kind 3")
    assert str(result.hardest_rows_frame(3).index[0]).startswith("kind ")


def test_plan_of_pictures():
    small, large = (bf.plan(n, 784, 10, kind="images", n_jobs=2, speed=1.0) for n in (5_000, 60_000))
    assert large.trained_rows == 40_000
    assert "60,000 images of 784 pixels" in str(large)
    assert "trained on 40,000 of 60,000" in str(large)
    assert small.seconds < large.seconds < 20 * small.seconds
    assert small.memory < large.memory < 5 * 2**30
    with pytest.raises(bf.ParameterError, match="this machine alone"):
        bf.plan(5_000, 784, 10, workers=2, kind="images", speed=1.0)
