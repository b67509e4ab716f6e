"""The command on folders of pictures and on arrays of them."""

import json
from pathlib import Path

import numpy as np
import pytest

from bayesfloor import problems
from bayesfloor.cli.main import main

Image = pytest.importorskip("PIL.Image")
pytestmark = pytest.mark.usefixtures("two_learners", "few_patches")


@pytest.fixture(scope="module")
def photos(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("pictures") / "photos"
    X, y = problems.get("blobs", rho=0.0).sample(80, random_state=0)
    for i in range(80):
        (folder / f"kind{y[i]}").mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.clip(128 + 100 * X[i], 0, 255).astype(np.uint8)).save(folder / f"kind{y[i]}" / f"{i}.png")
    np.savez(folder.parent / "arrays.npz", X=X, y=y)
    return folder


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    status = main(list(arguments))
    out, err = capsys.readouterr()
    return status, out, err


def test_a_folder_is_estimated_and_reported(photos, capsys, tmp_path):
    page = tmp_path / "report.html"
    options = ["--effort", "fast", "--jobs", "1", "--size", "12", "-o", str(page)]
    status, _, err = run(capsys, "report", str(photos), *options)
    assert status == 0, err
    text = page.read_text(encoding="utf-8")
    assert "The floor of photos" in text
    assert "data:image/png;base64," in text
    assert "kind0/" in text  # rows are called as their files


def test_arrays_need_their_kind(photos, capsys):
    arrays = str(photos.parent / "arrays.npz")
    status, out, _ = run(capsys, "plan", arrays, "--kind", "images", "--json", "--quiet")
    assert status == 0
    assert json.loads(out)["kind"] == "images"
    assert json.loads(out)["d"] == 256


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "label"], "photos holds pictures, not columns: leave out --target"),
        (["--size", "2"], "size must be a whole number from 5"),
        (["--scheduler", "tcp://127.0.0.1:1"], "on by this machine alone"),
    ],
)
def test_options_that_do_not_fit_take_one_line(photos, capsys, options, message):
    status, out, err = run(capsys, "estimate", str(photos), *options)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_pictures_options_are_refused_for_tables(tmp_path, capsys):
    (tmp_path / "x.csv").write_text("a,label\n1,x\n2,y\n")
    status, _, err = run(capsys, "estimate", str(tmp_path / "x.csv"), "--target", "label", "--size", "32")
    assert status == 2
    assert "--size and --skip-bad are for folders of pictures" in err


def test_a_bad_file_takes_one_line_or_is_skipped(photos, capsys, tmp_path):
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(photos, copy)
    next(iter((copy / "kind0").iterdir())).write_bytes(b"\x89PNG\r\n\x1a\n")
    status, _, err = run(capsys, "estimate", str(copy), "--effort", "fast", "--quiet")
    assert status == 2
    assert "1 of 80 pictures in copy cannot be used" in err
    assert "--skip-bad" in err
    status, out, err = run(capsys, "plan", str(copy), "--skip-bad", "--quiet")
    assert status == 0, err
    assert out.startswith("79 images of 256 pixels")
