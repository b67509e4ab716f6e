"""Folders of pictures: what is read, and what is refused by name."""

import os
import struct
import zlib

import numpy as np
import pytest

import bayesfloor as bf

Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def photos(tmp_path):
    """Two classes of six grey pictures of 8 x 8 pixels."""
    rng = np.random.default_rng(0)
    for label in ("cat", "dog"):
        (tmp_path / "photos" / label).mkdir(parents=True)
        for i in range(6):
            save(tmp_path / "photos" / label / f"{i}.png", rng.integers(0, 256, (8, 8)))
    return tmp_path / "photos"


def save(path, values, mode="L"):
    Image.fromarray(np.asarray(values, dtype=np.uint8), mode=None).convert(mode).save(path)


def test_labels_are_the_names_of_the_sub_folders(photos):
    pictures = bf.read_pictures(photos)
    assert pictures.images.shape == (12, 8, 8, 1)
    assert pictures.images.dtype == np.uint8
    assert pictures.y.tolist() == ["cat"] * 6 + ["dog"] * 6
    assert pictures.files[7] == "dog/1.png"
    np.testing.assert_array_equal(pictures.images[7, :, :, 0], np.asarray(Image.open(photos / "dog" / "1.png")))
    assert "12 pictures of 8 x 8 pixels, in grey" in str(pictures)


def test_pictures_of_unequal_size_are_named_and_made_alike(photos):
    save(photos / "cat" / "wide.png", np.zeros((8, 12)))
    with pytest.raises(bf.DataError, match=r"12 of 13 have 8 x 8 pixels, cat/wide.png has 8 x 12.*--size 32"):
        bf.read_pictures(photos)
    assert bf.read_pictures(photos, size=16).images.shape == (13, 16, 16, 1)


def test_damaged_files_are_named_and_counted_or_skipped(photos):
    whole = (photos / "cat" / "0.png").read_bytes()
    (photos / "cat" / "cut.png").write_bytes(whole[: len(whole) // 2])
    (photos / "dog" / "text.jpg").write_text("no picture")
    (photos / "dog" / "empty.png").write_bytes(b"")
    with pytest.raises(bf.DataError, match=r"3 of 15 pictures in photos cannot be used; the first is cat/cut.png"):
        bf.read_pictures(photos)
    pictures = bf.read_pictures(photos, skip_bad=True)
    assert len(pictures.images) == 12
    (note,) = pictures.notes
    assert note.startswith("3 of 15 pictures were left out")
    assert "dog/text.jpg (it is no picture that can be read)" in note


def bomb(side: int) -> bytes:
    """A PNG that claims to have so many pixels on a side."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


@pytest.mark.parametrize("side", [10_000, 60_000])
def test_decompression_bombs_are_refused(photos, side):
    (photos / "cat" / "bomb.png").write_bytes(bomb(side))
    with pytest.raises(bf.DataError, match=r"cat/bomb.png: it has so many pixels"):
        bf.read_pictures(photos)
    assert len(bf.read_pictures(photos, skip_bad=True).images) == 12


def test_links_out_of_the_folder_are_refused(photos, tmp_path):
    save(tmp_path / "secret.png", np.zeros((8, 8)))
    try:
        (photos / "cat" / "link.png").symlink_to(tmp_path / "secret.png")
    except OSError:
        pytest.skip("no links here")
    with pytest.raises(bf.DataError, match=r"cat/link.png: a link out of the folder"):
        bf.read_pictures(photos)
    assert len(bf.read_pictures(photos, skip_bad=True).images) == 12
    os.remove(photos / "cat" / "link.png")
    (photos / "cat" / "inside.png").symlink_to(photos / "cat" / "0.png")
    assert len(bf.read_pictures(photos).images) == 13
    (tmp_path / "elsewhere").mkdir()
    (photos / "bird").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    with pytest.raises(bf.DataError, match="bird in photos is a link to another folder"):
        bf.read_pictures(photos)


def test_animated_deep_coloured_and_transparent_pictures(photos):
    frames = [Image.fromarray(np.full((8, 8), v, dtype=np.uint8)) for v in (10, 200)]
    frames[0].save(photos / "cat" / "moving.gif", save_all=True, append_images=frames[1:])
    deep = np.arange(64, dtype=np.uint16).reshape(8, 8) * 1000
    Image.fromarray(deep).save(photos / "cat" / "deep.png")
    Image.fromarray(np.zeros((8, 8, 4), dtype=np.uint8)).save(photos / "dog" / "clear.png")
    pictures = bf.read_pictures(photos)
    assert pictures.images.shape == (15, 8, 8, 3)
    at = pictures.files.index("cat/deep.png")
    np.testing.assert_allclose(pictures.images[at, :, :, 1], deep / 257, rtol=1e-6)  # nothing is rounded away
    said = " ".join(pictures.notes)
    for word in ("animated", "16 bits", "transparent", "grey"):
        assert word in said


def test_large_pictures_are_made_smaller_and_that_is_said(tmp_path):
    for label in ("a", "b"):
        (tmp_path / label).mkdir()
        save(tmp_path / label / "1.png", np.kron(np.arange(16).reshape(4, 4), np.ones((40, 40))))
    pictures = bf.read_pictures(tmp_path)
    assert max(pictures.images.shape[1:3]) <= 64
    assert "the floor is that of the smaller ones" in pictures.notes[0]


def test_folders_that_are_not_as_they_should_be(photos, tmp_path):
    (tmp_path / "one" / "cat").mkdir(parents=True)
    save(tmp_path / "one" / "cat" / "1.png", np.zeros((8, 8)))
    with pytest.raises(bf.DataError, match="one class alone, 'cat'"):
        bf.read_pictures(tmp_path / "one")
    save(photos / "stray.png", np.zeros((8, 8)))
    with pytest.raises(bf.DataError, match=r"1 pictures beside its sub-folders, the first is stray.png"):
        bf.read_pictures(photos)
    (tmp_path / "none").mkdir()
    with pytest.raises(bf.DataError, match="no pictures in its sub-folders"):
        bf.read_pictures(tmp_path / "none")
    with pytest.raises(bf.DataError, match="there is no folder or file"):
        bf.read_pictures(tmp_path / "nowhere")


def test_other_files_are_counted_and_hidden_ones_are_not(photos):
    (photos / "cat" / "readme.txt").write_text("hello")
    (photos / "cat" / ".DS_Store").write_bytes(b"x")
    assert bf.read_pictures(photos).notes == ("1 files that are no pictures were left out",)


def test_arrays_in_a_file(tmp_path):
    images = np.random.default_rng(0).integers(0, 255, (6, 3, 8, 9)).astype(np.uint8)
    np.savez(tmp_path / "images.npz", X=images, y=[0, 1] * 3)
    pictures = bf.read_pictures(tmp_path / "images.npz")
    np.testing.assert_array_equal(pictures.images, images.transpose(0, 2, 3, 1))
    np.savez(tmp_path / "flat.npz", X=images.reshape(6, -1), y=[0, 1] * 3)
    with pytest.raises(bf.DataError, match=r"must be an array of shape \(N, H, W\)"):
        bf.read_pictures(tmp_path / "flat.npz")
    np.savez(tmp_path / "short.npz", X=images, y=[0, 1])
    with pytest.raises(bf.DataError, match="X has 6 pictures but y has shape"):
        bf.read_pictures(tmp_path / "short.npz")


def test_pillow_that_is_missing_is_named(photos, monkeypatch):
    monkeypatch.setattr("bayesfloor.tables.pictures.find_spec", lambda name: None)
    with pytest.raises(bf.ParameterError, match=r"pip install 'bayesfloor\[images\]'"):
        bf.read_pictures(photos)
