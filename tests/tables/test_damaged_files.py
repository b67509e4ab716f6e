"""Files with flipped bits: an answer, or an error that names the file; in a process of its own for each format."""

from collections.abc import Iterator

import numpy as np
import pytest

from bayesfloor import DataError, read_table
from fuzz.files import FORMATS, flip, read_damaged, whole_file
from fuzz.outcomes import BAD, attempt, in_a_child


def _flipped(name: str, n: int, seed: int) -> Iterator[tuple[str, str, str]]:
    data = whole_file(name)
    for number in range(n):
        rng = np.random.default_rng([seed, number])
        damaged = flip(data, rng)
        yield f"{name} {number}", "begun", ""
        outcome, remark = attempt(lambda damaged=damaged, rng=rng: read_damaged(name, damaged, rng))
        yield f"{name} {number}", outcome, remark


def _assert_none_bad(found: list[tuple[str, str, str]], n: int) -> None:
    bad = [f"{case}: {outcome}, {remark}" for case, outcome, remark in found if outcome in BAD]
    assert not bad, "\n".join(bad)
    assert len(found) == n


@pytest.mark.parametrize("name", FORMATS)
def test_flipped_bits(name: str) -> None:
    assert read_damaged(name, whole_file(name), np.random.default_rng(0)) == "answer"
    _assert_none_bad(in_a_child(_flipped, name, 20, 1), 20)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_many_flipped_bits(name: str) -> None:
    _assert_none_bad(in_a_child(_flipped, name, 300, 2), 300)


@pytest.mark.parametrize("kind", ["BadZipFile", "NotImplementedError", "no array"])
def test_archives_that_numpy_stumbles_over(tmp_path, kind: str) -> None:
    data = bytearray(whole_file("table.npz"))
    central = data.rindex(b"PK\x01\x02")  # the entry of the last array in the list of contents
    if kind == "BadZipFile":
        data[data.rindex(b"PK\x03\x04")] ^= 1  # which marks its beginning
    elif kind == "NotImplementedError":
        data[central + 10] = data[data.rindex(b"PK\x03\x04") + 8] = 77  # its compression
    else:
        data[data.index(b"\x93NUMPY")] ^= 1  # which marks an array
    path = tmp_path / "table.npz"
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"table\.npz is (no file of numpy arrays, or it is cut short|damaged)"):
        read_table(path)
