"""Results and checkpoints that were damaged on the way: refused in one sentence, whatever they hold."""

import json
from pathlib import Path

import numpy as np
import pytest

import bayesfloor as bf
from bayesfloor import DataError, ParameterError
from bayesfloor.floor.checkpoint import Checkpoint


@pytest.fixture(scope="module")
def result() -> bf.FloorResult:
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    return bf.from_scores(np.clip(rng.normal(0.3 + 0.4 * y, 0.2), 0.01, 0.99), y)


def test_a_result_comes_back(result) -> None:
    assert bf.FloorResult.from_json(result.to_json()) == result


_NONSENSE = [None, True, -1, 2, 1e400, float("nan"), 10**400, "text", [], [1], {}, {"a": 1}, [[]], [None], [{"a": 1}]]


def _values(result) -> list[tuple[str, str | None]]:
    values = json.loads(result.to_json())
    inside = [(name, key) for name, value in values.items() if isinstance(value, dict) for key in value]
    return [(name, None) for name in values] + inside


def test_nonsense_in_any_field_is_refused_or_harmless(result) -> None:
    for name, key in _values(result):
        for nonsense in _NONSENSE:
            values = json.loads(result.to_json())
            if key is None:
                values[name] = nonsense
            else:
                values[name][key] = nonsense
            try:
                read = bf.FloorResult.from_json(json.dumps(values))
            except DataError:
                continue
            # What is let through can be printed, and compared with.
            assert "floor" in str(read)
            assert 0 <= read.interval.low <= read.floor <= read.interval.high <= 1
            bf.compare(read, error=0.4, n_test=100)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"schema":' * 5000 + "3" + "}" * 5000, "", "null", "3", '{"schema": 3}', '{"schema": [3]}']
)
def test_texts_that_are_no_results(text: str) -> None:
    with pytest.raises(DataError, match="this is not a result of bayesfloor"):
        bf.FloorResult.from_json(text)


@pytest.mark.parametrize("text", ["", "[1, 2]", "null", "{", "[" * 100_000, "\udcff", "7"])
def test_damaged_manifests(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "kept"
    Checkpoint(folder, {"data": 1})
    folder.joinpath("bayesfloor-run.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ParameterError, match="cannot be read: delete the folder to begin anew"):
        Checkpoint(folder, {"data": 1})


def test_damaged_pieces(tmp_path: Path) -> None:
    kept = Checkpoint(tmp_path / "kept", {"data": 1})
    kept.get("a piece", lambda: {"x": np.arange(5.0)})
    file = next((tmp_path / "kept").glob("*.npz"))
    whole = file.read_bytes()
    for at in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[at] ^= 0x11
        file.write_bytes(damaged)
        try:
            found = kept.get("a piece", lambda: None)
        except DataError:
            continue
        assert set(found) == {"x"}


def test_a_killed_first_write_leaves_the_folder_usable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_: object) -> None:
        raise SystemExit

    folder = tmp_path / "kept"
    with monkeypatch.context() as patch:
        patch.setattr("bayesfloor.utils.files.os.replace", die)
        patch.setattr("bayesfloor.utils.files.Path.unlink", lambda *_, **__: None)  # killed: nothing is tidied up
        with pytest.raises(SystemExit):
            Checkpoint(folder, {"data": 1})
    assert len(list(folder.iterdir())) == 1
    Checkpoint(folder, {"data": 1}).get("piece", lambda: 5)
    assert Checkpoint(folder, {"data": 1}).has("piece")


def test_results_without_parts_are_read_and_say_so(parts_result) -> None:
    values = json.loads(parts_result.to_json())
    for name in ("cost", "yardsticks", "declining"):
        values.pop(name)
    old = bf.FloorResult.from_json(json.dumps({**values, "schema": 3}))
    assert (old.floor, old.cost) == (parts_result.floor, None)
    for ask in (old.metrics, old.abstention):
        with pytest.raises(DataError, match="older version"):
            ask()


def test_nonsense_in_any_part_is_refused_or_harmless(parts_result) -> None:
    for part in ("cost", "yardsticks", "declining"):
        record = json.loads(parts_result.to_json())[part]
        for key in record if part == "cost" else record[0]:
            for nonsense in _NONSENSE:
                values = json.loads(parts_result.to_json())
                (values[part] if part == "cost" else values[part][0])[key] = nonsense
                try:
                    read = bf.FloorResult.from_json(json.dumps(values))
                except DataError:
                    continue
                assert "floor" in str(read)
                str(read.metrics())
                str(read.abstention())
