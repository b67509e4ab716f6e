"""Results and checkpoints that were damaged on the way: refused in one sentence, whatever they hold."""

import datetime
import json
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
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


_STEER = "\x1b[2J\r\nfloor 0.00%"
_HOSTILE = [None, True, -1, 0, 0.5, 2, 1e300, 1e400, float("nan"), 10**400, "x", _STEER, [], [1], {}, {"a": 1}, [[]]]


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where values stand in a saved result; of long lists the first two and the last."""
    yield at
    inside = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in inside:
        if isinstance(value, dict) or key < 2 or key == len(value) - 1:
            yield from _places(value[key], (*at, key))


def _with(values: Any, place: tuple[Any, ...], hostile: Any) -> str:
    """The same as JSON with one value replaced."""
    if not place:
        return json.dumps(hostile)
    values = json.loads(json.dumps(values))
    inside = values
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = hostile
    return json.dumps(values)


@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize("name", ["result", "parts_result"])
def test_a_hostile_value_anywhere_is_refused_or_harmless(name: str, request) -> None:
    saved = request.getfixturevalue(name).mute("floor-of-scores")
    values = json.loads(saved.to_json())
    accepted = 0
    for place in _places(values):
        for hostile in _HOSTILE:
            try:
                read = bf.FloorResult.from_json(_with(values, place, hostile))
            except DataError:
                continue
            accepted += 1
            comparison = bf.compare(read, error=0.4, n_test=100)
            texts = [str(read), repr(read), str(comparison), str(bf.gate(read, error=0.4, n_test=100))]
            texts += [str(bf.compare_results(read, saved))]
            texts += [str(read.metrics())] if read.yardsticks else []
            texts += [str(read.abstention())] if read.declining else []
            assert all(character.isprintable() or character == "\n" for character in "".join(texts)), (place, hostile)
            assert not any(line.startswith("floor 0.00%") for text in texts for line in text.splitlines())
            assert bf.FloorResult.from_json(read.to_json()) == read
            assert "</html>" in read.to_html(comparison=comparison)
            assert "\x1b" not in read._repr_html_()
    assert accepted > 50, "names and figures within their limits can be others"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ceiling": 0.0}, "the ceiling 0.0 is below the floor"),
        ({"classes": ["a", "a"]}, "two or more different classes"),
        ({"classes": [1, 1.0]}, "two or more different classes"),
        ({"priors": [0.9, 0.9]}, "priors must add up to 1"),
        ({"new": 1}, "FloorResult has no 'new'"),
        ({"evidence": {}}, "evidence must have n, error"),
        ({"settings": {"seconds": "x"}}, "seconds must be a number"),
        ({"settings": {"a": [[1]]}}, "a must be a number"),
    ],
)
def test_figures_that_contradict_each_other(result, change: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        bf.FloorResult.from_json(json.dumps({**json.loads(result.to_json()), **change}))


@pytest.mark.parametrize("n", [0, 1e300, -5, "x", 10**400, 1.5])
def test_rows_that_nobody_can_have_counted(result, n: object) -> None:
    with pytest.raises(DataError, match="n must be a whole number"):
        bf.FloorResult.from_json(_with(json.loads(result.to_json()), ("evidence", "n"), n))


def test_values_that_are_missing_are_named(result) -> None:
    values = json.loads(result.to_json())
    del values["priors"]
    with pytest.raises(DataError, match="FloorResult needs priors"):
        bf.FloorResult.from_json(json.dumps(values))


_DAY = pd.Timestamp("2024-02-29 12:00:00.123456789")
_LABELS = {
    "numbers": [1, 2],
    "truth values": [False, True],
    "fractions of numbers": [0.1, 1 / 3],
    "long numbers": [2**63, 10**30],
    "text": ["yes", _STEER],
    "half a character": ["\udcff", "b"],
    "bytes": [b"a", b"b\x00\xff"],
    "tuples": [(1, "a"), (1, ("b", b"c"), None)],
    "sets": [frozenset("ab"), frozenset()],
    "text and numbers": ["1", 1],
    "dates": [datetime.date(2024, 2, 28), datetime.date(2024, 2, 29)],
    "times": [datetime.datetime(2024, 2, 28, 1), datetime.datetime(2024, 2, 28, 1, 0, 0, 5)],
    "times with a zone": [datetime.datetime(2024, 2, 28, tzinfo=datetime.UTC), _DAY.tz_localize("Asia/Tokyo")],
    "hours": [datetime.time(1), datetime.time(2, 3)],
    "spans": [datetime.timedelta(1), datetime.timedelta(-1, 5, 7)],
    "numpy's numbers": [np.float32(0.1), np.float32(0.2)],
    "numpy's days": np.array(["2024-02-28", "2024-02-29"], dtype="datetime64[D]"),
    "numpy's nanoseconds": np.array([5, 7], dtype="datetime64[ns]"),
    "numpy's spans": np.array([5, 7], dtype="timedelta64[ns]"),
    "pandas' times": pd.Series([_DAY, _DAY + pd.Timedelta(1)]),
    "pandas' times with a zone": pd.Series([_DAY, _DAY + pd.Timedelta(1)]).dt.tz_localize("Europe/Berlin"),
    "pandas' spans": [pd.Timedelta("1 day 3ns"), pd.Timedelta("-1 day")],
    "periods": pd.Series([pd.Period("2024-01", "M"), pd.Period("2024-02", "M")]),
    "weeks": [pd.Period("2024-01-03", "W"), pd.Period("2024-02-03", "W")],
    "intervals": pd.Series(pd.interval_range(0, 2)),
    "intervals of time": [pd.Interval(_DAY, _DAY + pd.Timedelta(1), "left"), pd.Interval(_DAY, _DAY, "both")],
    "categories": pd.Series(["a", "b"], dtype="category"),
    "money": [Decimal("1.10"), Decimal("2.5")],
    "ratios": [Fraction(1, 3), Fraction(2, 3)],
    "complex numbers": [1 + 2j, 1j],
    "identifiers": [UUID(int=1), UUID(int=2)],
}


@pytest.mark.parametrize("kind", _LABELS)
def test_every_kind_of_label_comes_back(kind: str) -> None:
    labels = _LABELS[kind]
    places = np.arange(200) % 2
    y = [labels[i] for i in places] if isinstance(labels, list) else labels[places]
    scores = np.clip(np.random.default_rng(0).normal(0.3 + 0.4 * places, 0.2), 0.01, 0.99)
    result = bf.from_scores(scores, y)
    again = bf.FloorResult.from_json(result.to_json())
    assert again == result
    assert list(map(str, again.classes)) == list(map(str, result.classes))
    assert bf.compare(again, y_true=y, y_pred=y).error == 0


def test_labels_of_all_parts_come_back(parts_result) -> None:
    classes = ((1, "a"), datetime.date(2024, 2, 29))
    result = replace(
        parts_result,
        classes=classes,
        cost=replace(parts_result.cost, classes=classes),
        certificate=replace(parts_result.certificate, classifier="constant", label=classes[1]),
        yardsticks=tuple(
            metric
            if metric.label is None
            else replace(metric, label=classes[list(parts_result.classes).index(metric.label)])
            for metric in parts_result.yardsticks
        ),
    )
    assert bf.FloorResult.from_json(result.to_json()) == result


def test_labels_and_brier_scores_of_older_results(parts_result) -> None:
    values = {**json.loads(parts_result.to_json()), "schema": 4}
    values["classes"] = values["cost"]["classes"] = [[1, 2], [3, 4]]  # tuples, as they were written
    for metric in values["yardsticks"]:
        metric["label"] = None
    old = bf.FloorResult.from_json(json.dumps(values))
    assert old.classes == ((1, 2), (3, 4)) == old.cost.classes
    for before, now in zip(values["yardsticks"], old.yardsticks, strict=True):
        factor = 0.5 if now.name == "Brier score" else 1.0
        assert now.value == factor * before["value"]
        assert now.interval.high == factor * before["interval"]["high"]


def test_saved_and_loaded(result, tmp_path: Path) -> None:
    path = result.save(tmp_path / "floor.json")
    assert bf.FloorResult.load(path) == bf.FloorResult.load(str(path)) == result
    assert bf.FloorResult.from_json(path.read_text(encoding="utf-8")) == result
    page = result.save(str(tmp_path / "floor.html"), title="A page")
    assert "A page" in page.read_text(encoding="utf-8")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["floor.html", "floor.json"]


def test_existing_files_are_overwritten_only_if_asked(result, tmp_path: Path) -> None:
    change = bf.compare_results(result, result)
    for saved, name in ((result, "a.json"), (result, "a.html"), (change, "b.json")):
        saved.save(tmp_path / name)
        written = (tmp_path / name).read_text()
        with pytest.raises(ParameterError, match=r"exists already: .*force=True"):
            saved.save(tmp_path / name)
        (tmp_path / name).write_text("mine")
        with pytest.raises(ParameterError, match="exists already"):
            saved.save(tmp_path / name, force=False)
        assert (tmp_path / name).read_text() == "mine"
        saved.save(tmp_path / name, force=True)
        assert (tmp_path / name).read_text() == written


def test_what_cannot_be_saved_or_loaded(result, tmp_path: Path) -> None:
    for name, options, message in (
        ("a.pkl", {}, "its name must end with .html or .json"),
        ("a", {}, r"its name must end with"),
        ("nowhere/a.json", {}, "does not exist"),
        ("a.json", {"title": "A page"}, "its name must end with .html"),
        ("a.json", {"force": "yes"}, "force must be True or False"),
    ):
        with pytest.raises(ParameterError, match=message):
            result.save(tmp_path / name, **options)
    with pytest.raises(ParameterError, match="name of a file"):
        result.save(3)
    assert not list(tmp_path.iterdir())
    with pytest.raises(DataError, match="there is no file"):
        bf.FloorResult.load(tmp_path / "a.json")
    for content, message in ((b"\xff\xfe", "is no JSON"), (b"[1]", "not a result of bayesfloor"), (b"{", "is no JSON")):
        (tmp_path / "a.json").write_bytes(content)
        with pytest.raises(DataError, match=rf"a\.json.*{message}"):
            bf.FloorResult.load(tmp_path / "a.json")
    for call in (lambda: result.to_json("a.json"), lambda: result.to_html("a.html")):
        with pytest.raises(TypeError):
            call()


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


def test_bounds_that_cross_a_newer_schema_and_a_path_are_refused(parts_result) -> None:
    values = json.loads(parts_result.to_json())
    values["bounds"] = [{**bound, "lower": 0.9, "upper": 0.1} for bound in values["bounds"]]
    with pytest.raises(bf.DataError, match="above the upper one"):
        bf.FloorResult.from_json(json.dumps(values))
    with pytest.raises(bf.DataError, match="newer version"):
        bf.FloorResult.from_json(json.dumps({**json.loads(parts_result.to_json()), "schema": 99}))
    with pytest.raises(bf.DataError, match=r"FloorResult\.load"):
        bf.FloorResult.from_json("floor.json")


@pytest.mark.parametrize("n_classes", [5, 10])
def test_results_of_estimate_come_back(use_learners, n_classes: int) -> None:
    """Shares are sums, off by rounding: an error of 1.0000000000000002, a figure a hair beyond its interval."""
    use_learners("gaussian", "neighbours")
    for seed in range(12):
        rng = np.random.default_rng(seed)
        result = bf.estimate(rng.normal(size=(60, 2)), np.arange(60) % n_classes, effort="fast", n_jobs=1)
        assert bf.FloorResult.from_json(result.to_json()) == result


def test_a_huge_number_of_rows_does_not_hold_up_compare(parts_result) -> None:
    values = json.loads(parts_result.to_json())
    values["evidence"]["n"] = 2**53
    labels = list(parts_result.classes) * 20
    found = bf.compare(bf.FloorResult.from_json(json.dumps(values)), y_true=labels, y_pred=labels)
    assert found.error == 0
