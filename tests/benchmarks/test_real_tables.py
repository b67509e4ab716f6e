from pathlib import Path

import numpy as np
import pytest

import real_tables
from bayesfloor.utils.intervals import upper_limit


def tried(table: str, *wrong: list[int], tested: list[int]) -> list[dict]:
    """Records of classifiers that made these errors, class by class."""
    return [
        {"number": 1000 + i, "table": table, "classifier": f"classifier {i}", "wrong": errors, "tested": tested}
        for i, errors in enumerate(wrong)
    ]


def estimated(table: str = "some", replaced: float = 0.0, classes: tuple = (0, 1), **figures) -> dict:
    """Record of an estimate."""
    given = {"floor": 0.05, "low": 0.02, "high": 0.08, "ceiling": 0.1, "error": 0.06}
    record = {"number": 0, "table": table, "size": 500, "n": 500, "replaced": replaced, "classes": list(classes)}
    return {**record, **given, **figures}


# --- what is reached ----------------------------------------------------------------------------------------


def test_the_limit_holds_for_all_classifiers_at_once() -> None:
    reach = real_tables.reached(tried("some", [30, 10], [20, 5], [40, 40], tested=[600, 400]), [0, 1])
    assert reach.classifier == "classifier 1"
    assert reach.error == 0.025
    assert reach.limit == upper_limit(25, 1000, 1 - 0.01 / 3)


def test_only_the_classes_of_the_sample_count() -> None:
    records = tried("some", [0, 10, 50], [9, 9, 9], tested=[100, 100, 100])
    assert real_tables.reached(records, [0, 1]).classifier == "classifier 0"
    assert real_tables.reached(records, [0, 1]).limit == upper_limit(10, 200, 0.995)
    assert real_tables.reached(records, [0, 1, 2]).classifier == "classifier 1"


def test_held_out_rows_are_a_fifth_and_the_others_are_the_rest() -> None:
    others, held = real_tables.held_out_rows("some", 1003)
    assert len(held) == 200
    assert sorted([*others, *held]) == list(range(1003))
    assert len(real_tables.held_out_rows("some", 200_000)[1]) == real_tables.MOST_HELD_OUT


@pytest.mark.parametrize("name", [name for name in real_tables.CLASSIFIERS if name != "patches"])
def test_every_classifier_learns(name: str, monkeypatch) -> None:
    monkeypatch.setattr(real_tables, "n_trees", lambda A: 30)
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=500)
    X = (100 * rng.normal(size=(500, 6)) + 300 * y[:, None]).astype(np.float32)
    named = real_tables.CLASSIFIERS[name](X[:350], y[:350], X[350:], False)
    assert (named != y[350:]).mean() < 0.05


def test_patches_find_a_shape_wherever_it_is() -> None:
    rng = np.random.default_rng(0)
    y, X = rng.integers(2, size=200), np.zeros((200, 28, 28), dtype=np.float32)
    for image, label in zip(X, y, strict=True):  # bars that lie or stand
        i, j = rng.integers(4, 16, 2)
        image[(slice(i, i + 8), slice(j, j + 2)) if label else (slice(i, i + 2), slice(j, j + 8))] = 255
    named = real_tables.patches(X[:150].reshape(150, -1), y[:150], X[150:].reshape(50, -1), True)
    assert (named != y[150:]).mean() < 0.1


def test_which_classifiers_are_tried() -> None:
    assert "patches" in real_tables.classifiers_for("mnist", 60_000)
    assert "support vectors" in real_tables.classifiers_for("wine", 4_000)
    assert not {"support vectors", "patches"} & set(real_tables.classifiers_for("covertype", 500_000))


def made_up(_: Path) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [600, 370, 30])
    return (rng.normal(size=(1000, 3)) + 2 * y[:, None]).astype(np.float32), y


def test_a_classifier_is_counted_class_by_class(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(real_tables, "REAL", {"some": made_up})
    numbers = real_tables.reach_numbers(["some"], tmp_path, tmp_path)
    names = [list(real_tables.CLASSIFIERS)[number - real_tables.REACHED] for number in numbers]
    assert names == real_tables.classifiers_for("some", 800)
    record = real_tables.reach(numbers[names.index("5 nearest neighbours")], tmp_path, tmp_path)
    assert record["classifier"] == "5 nearest neighbours"
    assert sum(record["tested"]) == 200
    assert record["trained"] == 800
    assert 0 < sum(record["wrong"]) < 40
    assert all(wrong <= tested for wrong, tested in zip(record["wrong"], record["tested"], strict=True))


# --- what is estimated --------------------------------------------------------------------------------------


def test_twelve_tables_at_three_sizes() -> None:
    assert len(real_tables.REAL) == 12
    plain = [case for case in real_tables.cases(real_tables.REAL) if case[2] == 0]
    assert len(plain) == real_tables.OUT_OF == 36


def test_samples_have_half_the_table_at_most_and_five_rows_of_each_class() -> None:
    y = np.repeat([0, 1, 2], [1000, 500, 6])
    rows = real_tables.sample(y, "some", 5_000)
    assert 740 <= len(rows) <= 753
    assert len(np.unique(rows)) == len(rows)
    counts = np.bincount(y[rows])
    assert counts[counts > 0].min() >= real_tables.FEWEST
    assert not np.array_equal(real_tables.sample(y, "some", 1_500), rows)  # another draw, though of as many rows


def test_replaced_labels_are_uniform_draws() -> None:
    codes = np.repeat([0, 1, 2, 3], 10_000)
    given = real_tables.with_draws(codes, 0.4, np.random.default_rng(0))
    expected = np.full((4, 4), 0.1) + 0.6 * np.eye(4)
    seen = np.stack([np.bincount(given[codes == c], minlength=4) / 10_000 for c in range(4)])
    assert np.abs(seen - expected).max() < 4.5 * np.sqrt(0.7 * 0.3 / 10_000)
    assert np.array_equal(real_tables.with_draws(codes, 0.0, np.random.default_rng(0)), codes)


def test_a_sample_leaves_a_record_and_is_not_asked_again(tmp_path: Path, monkeypatch) -> None:
    asked = []

    def collect_figures(X: np.ndarray, y: np.ndarray) -> dict:
        asked.append((X, y))
        return {"library": real_tables.LIBRARY, "n": len(y)}

    monkeypatch.setattr(real_tables, "REAL", {"some": made_up})
    monkeypatch.setattr(real_tables, "collect_figures", collect_figures)
    path = tmp_path / "records.jsonl"
    for _ in range(2):
        real_tables.collect_missing(path, ["some"], tmp_path, tmp_path, n_jobs=1)
    records = real_tables.read_records(path)
    assert len(asked) == len(records) == 9
    assert [r["replaced"] for r in records[:3]] == [0.0, 0.2, 0.4]
    assert all(r["n"] == 500 and r["classes"] == [0, 1, 2] for r in records)  # half of the table
    assert np.array_equal(asked[0][0], asked[1][0])  # the same rows
    assert not np.array_equal(asked[0][1], asked[1][1])  # with other labels
    path.write_text(path.read_text().replace(f'"library": {real_tables.LIBRARY}', '"library": 0', 1))
    real_tables.collect_missing(path, ["some"], tmp_path, tmp_path, n_jobs=1)
    assert len(asked) == 10
    assert len(real_tables.read_records(path)) == 9


def test_each_table_is_judged_by_the_rule_without_its_teachers(monkeypatch) -> None:
    used = []

    def judged(records: list[dict], rule: dict) -> np.ndarray:
        used.append(([r["number"] for r in records], rule))
        return np.array([[0.2, 0.1, 0.3]] * len(records))

    monkeypatch.setattr(real_tables, "judged", judged)
    figures = {"curve": {}, "wrong": 10, "tested": 100, "n_classes": 2}
    given = [{"number": i, "table": table, **figures} for i, table in enumerate(["a", "b", "a"])]
    found = real_tables.with_answers([*tried("a", [1], tested=[9]), *given], lambda table: {"without": table})
    assert used == [([0, 2], {"without": "a"}), ([1], {"without": "b"})]
    assert [r.get("floor") for r in found] == [None, 0.2, 0.2, 0.2]
    assert found[1]["ceiling"] == upper_limit(10, 100, 0.95)


# --- what is proved -----------------------------------------------------------------------------------------


def test_provably_wrong_is_above_the_limit() -> None:
    records = tried("some", [10, 10], tested=[500, 500])
    limit = upper_limit(20, 1000, 0.99)
    above, at = (
        real_tables.verdict(estimated(low=low, floor=0.02, high=0.2), records) for low in (limit + 1e-9, limit)
    )
    assert above.provably_wrong
    assert not at.provably_wrong
    assert (at.least, at.reached, at.limit) == (0, 0.02, limit)
    assert at.at_most_reached
    assert not real_tables.verdict(estimated(low=0.0, floor=0.0, high=0.0), records).provably_wrong


def test_the_floor_of_replaced_labels_is_in_the_range() -> None:
    P = np.random.default_rng(0).dirichlet(np.full(4, 0.3), 5000)
    floor = np.mean(1 - P.max(axis=1))
    wrong = round(floor * 10_000)  # a classifier that reaches it
    v = real_tables.verdict(
        estimated(replaced=0.4, classes=range(4)), tried("some", [wrong, 0, 0, 0], tested=[2500] * 4)
    )
    replaced = np.mean(1 - (0.6 * P + 0.4 / 4).max(axis=1))
    assert v.least == 0.4 * 0.75
    assert v.least <= replaced <= v.limit
    assert v.reached == pytest.approx(replaced, abs=1e-4)


@pytest.mark.parametrize(
    ("low", "high", "wrong"), [(0.0, 0.09, True), (0.05, 0.11, False), (0.11, 0.3, False), (0.2, 0.3, True)]
)
def test_the_interval_of_replaced_labels_must_meet_the_range(low: float, high: float, wrong: bool) -> None:
    records = tried("some", [10, 10], tested=[500, 500])
    v = real_tables.verdict(estimated(replaced=0.2, low=low, high=high), records)
    assert v.least == pytest.approx(0.1)
    assert v.limit == pytest.approx(0.1 + 0.8 * upper_limit(20, 1000, 0.99))
    assert v.provably_wrong is wrong


# --- report -------------------------------------------------------------------------------------------------


def test_report() -> None:
    reach = [*tried("good", [30, 10], tested=[500, 500]), *tried("bad", [1, 0], [9, 9], tested=[500, 500])]
    records = [
        *reach,
        estimated("good", floor=0.03),
        estimated("bad", floor=0.05, low=0.04, ceiling=None),
        estimated("good", replaced=0.2, floor=0.12, low=0.11, high=0.2),
        estimated("bad", replaced=0.2, floor=0.0, low=0.0, high=0.05),
        estimated("not tried", floor=0.5),
    ]
    text = real_tables.report(records)
    assert "from 4 estimates" in text
    assert "| provably wrong | 1 of 2 | at most 2 in 36 | **missed** |" in text
    assert "| provably wrong, 20% of the labels replaced | 1 of 2 | at most 2 in 36 | **missed** |" in text
    assert "| provably wrong, 40% of the labels replaced | 0 of 0 | at most 2 in 36 | not run |" in text
    assert "| floor at most what is reached | 1 of 2 | at least three of four | **missed** |" in text
    limit = 100 * upper_limit(1, 1000, 0.995)
    assert (
        f"| bad | 500 | 2 | 5.0 | 4.0 to 8.0 |  | 6.0 | 0.0 | 0.1 | {limit:.1f} | classifier 0 | **yes** | no |" in text
    )
    assert "| good | 500 | 2 | 3.0 | 2.0 to 8.0 | 10.0 | 6.0 | 0.0 | 4.0 |" in text


@pytest.mark.parametrize(("n_wrong", "held"), [(2, "held"), (3, "**missed**")])
def test_two_in_36_may_be_wrong(n_wrong: int, held: str) -> None:
    records = [estimated(low=0.5, floor=0.5, high=0.6)] * n_wrong + [estimated(floor=0.01, low=0.0)] * (36 - n_wrong)
    lines = real_tables.demands(real_tables.verdicts([*tried("some", [10, 10], tested=[500, 500]), *records]))
    assert lines[2] == f"| provably wrong | {n_wrong} of 36 | at most 2 in 36 | {held} |"
    assert lines[5] == f"| floor at most what is reached | {36 - n_wrong} of 36 | at least three of four | held |"
