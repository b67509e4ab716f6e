"""What columns are worth, on problems whose floor is known with any of them left out."""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayesfloor as bf
from bayesfloor.floor.columns import ColumnValue, ColumnValues

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import column_problems

FAST = {"effort": "fast", "n_jobs": 1}


def values_of(name: str, n: int, seed: int) -> tuple[column_problems.ColumnProblem, ColumnValues]:
    problem = column_problems.get(name)
    X, y = problem.sample(n, seed)
    return problem, bf.column_values(X, y, columns={k: list(v) for k, v in problem.units.items()}, **FAST)


def assert_near(column: ColumnValue, truth: float) -> None:
    """Within four standard errors: the arms of the interval are two."""
    arm = max(column.loss_interval.high - column.loss, column.loss - column.loss_interval.low)
    assert abs(column.loss - truth) < 4 / 1.96 * arm


def test_floors_of_the_problems_are_those_of_their_rows() -> None:
    """Each exact floor, against a count of errors of the best rule of large samples (4 standard errors)."""
    n = 40_000
    for name in ("independent", "redundant", "leaked"):
        problem = column_problems.get(name)
        X, y = problem.sample(n, 0)
        half = n // 2
        from sklearn.linear_model import LogisticRegression

        for units in (list(problem.units), ["x1"], ["x1", "x2", "x4"]):
            places = [p for unit in units for p in problem.units[unit]]
            model = LogisticRegression(C=1e6).fit(X[:half][:, places], y[:half])
            error = 1 - model.score(X[half:][:, places], y[half:])
            truth = problem.floor(units)
            assert abs(error - truth) < 4 * np.sqrt(truth * (1 - truth) / half) + 1e-3


def test_exact_floors_of_cells_and_rings() -> None:
    categories, ring = column_problems.get("categories"), column_problems.get("ring")
    X, y = categories.sample(200_000, 0)
    cells = np.unique(X[:, [0, 1, 2]], axis=0, return_inverse=True)[1]  # of a alone
    counted = sum(np.bincount(y[cells == c]).max() for c in range(3)) / len(y)
    assert abs(1 - counted - categories.floor(["a"])) < 4 * np.sqrt(0.25 / len(y))
    X, _ = ring.sample(200_000, 0)
    eta = 1 / (1 + np.exp(-2.0 * (X[:, 0] ** 2 + X[:, 1] ** 2 - 2 * np.log(2))))
    doubt = np.minimum(eta, 1 - eta)
    assert abs(doubt.mean() - ring.floor(list(ring.units))) < 4 * doubt.std() / np.sqrt(len(X)) + 1e-4
    for problem in map(column_problems.get, column_problems.PROBLEMS):
        losses = [problem.loss(unit) for unit in problem.units]
        assert min(losses) > -1e-9, "no column can raise the floor"


def test_a_leaked_label_is_golden_and_other_columns_redundant() -> None:
    problem, values = values_of("leaked", 600, 1)
    assert values.named("golden") == ("leak",)
    assert values["x1"].verdict in ("redundant", "helps probabilities only")
    assert values["x4"].verdict in ("redundant", "useless")
    assert_near(values["leak"], problem.loss("leak"))
    assert values["leak"].alone < 0.05
    assert values.columns[0].name == "leak", "what matters most comes first"


def test_columns_that_matter_together_are_named() -> None:
    problem, values = values_of("exclusive or", 600, 1)
    assert set(values.named("only together")) == {"x1", "x2"}
    assert values["x1"].partners == ("x2",)
    assert values["x2"].partners == ("x1",)
    assert any("x1 and x2 matter only together" in s or "x2 and x1 matter" in s for s in values.sentences)
    assert_near(values["x1"], problem.loss("x1"))
    # Of 600 rows noise is told from a weak column in a third of samples: it must never be said to matter.
    assert values["x4"].verdict in ("useless", "redundant", "cannot tell")
    assert values["x4"].loss_interval.low == 0


def test_copies_that_carry_everything_together_are_not_useless() -> None:
    """Each of two copies is replaced by the other; without both the labels, which depend on a product, are noise."""
    rng = np.random.default_rng(0)
    a, b = rng.uniform(-1, 1, (2, 800))
    y = ((a * b > 0) ^ (rng.random(800) < 0.1)).astype(int)
    names = ["a", "a again", "b", "b again", "noise"]
    X = np.column_stack([a, a + 0.02 * rng.normal(size=800), b, b + 0.02 * rng.normal(size=800), rng.normal(size=800)])
    # Five intervals that hold together.
    values = bf.column_values(pd.DataFrame(X, columns=names), y, confidence_level=0.99, **FAST)
    assert all(values[name].loss_interval.low == 0 for name in names), "none is missed by itself"
    useless = set(values.named("useless"))
    assert not useless >= {"a", "a again"}
    assert not useless >= {"b", "b again"}
    # What is said of the set holds by the tool's own figures.
    assert values.useless is None or useless == set(values.useless.names)
    both = bf.column_values(pd.DataFrame(X, columns=names), y, columns={"copies": ["a", "a again"]}, **FAST)["copies"]
    assert both.loss_interval.low > 0.1


def test_copies_that_tell_something_alone_are_redundant() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 600)
    x, other = rng.normal(size=(2, 600)) + np.array([[1.5], [1.2]]) * y
    frame = pd.DataFrame({"x": x, "copy": x, "other": other})
    values = bf.column_values(frame, y, **FAST)
    assert {values["x"].verdict, values["copy"].verdict} == {"redundant"}
    assert bf.column_values(frame, y, columns={"both": ["x", "copy"]}, **FAST)["both"].verdict == "useful"


def test_noise_is_useless_as_a_set() -> None:
    found = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 1000)
        X = np.column_stack([rng.normal(size=1000) + 1.5 * y, rng.normal(size=(1000, 5))])
        values = bf.column_values(X, y, **FAST)
        assert "column 0" not in values.named("useless")
        found.append(len(values.named("useless")))
    assert np.mean(found) > 2.5, "most of the five columns in most samples"


def test_a_column_that_changes_no_decision_helps_probabilities_only() -> None:
    """x3 of exclusive or says how often labels are flipped: log-loss .42 without it, .35 with it, errors alike."""
    problem, values = values_of("exclusive or", 1000, 0)
    assert problem.loss("x3") == 0
    assert values["x3"].verdict == "helps probabilities only"
    assert values["x3"].log_loss_interval.low > 0
    assert "x3" not in values.named("useless")
    assert set(values.named("only together")) == {"x1", "x2"}


def test_nothing_alone_is_above_the_largest_class(two_learners) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [31, 30, 29])  # nearly equal: the largest share is shrunk most
    values = bf.column_values(rng.normal(size=(90, 3)), y, **FAST)
    assert max(column.alone for column in values.columns) <= 1 - 31 / 90
    assert max(column.alone for column in values.columns) <= values.majority


@pytest.mark.slow
def test_no_column_of_noise_tells_more_than_all(two_learners) -> None:
    rng = np.random.default_rng(104)
    found = bf.column_values(rng.normal(size=(800, 4)), rng.integers(0, 2, 800), **FAST)
    assert f"floor of all columns  {found.floor:.2%}" in str(found)
    assert min(column.alone for column in found.columns) >= found.floor - 1e-12


def test_real_columns_are_useless_as_a_set() -> None:
    """Of the 30 measurements of 569 tumours many repeat each other."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    values = bf.column_values(X, y, **FAST)
    redundant = [c.name for c in values.columns if c.verdict in ("redundant", "useless")]
    assert len(redundant) > 15
    assert len(values.named("useless")) < 10
    (together,) = (c for c in bf.column_values(X, y, columns={"r": redundant}, **FAST).columns if c.name == "r")
    assert together.loss_interval.low > 0 or together.log_loss_interval.low > 0


def test_intervals_of_small_losses_are_narrow() -> None:
    """At most half as wide as the floor's own: the same rows err with and without a column that tells nothing."""
    problem, values = values_of("independent", 600, 0)
    width = values.result.interval.high - values.result.interval.low
    for column in values.columns:
        if problem.loss(column.name) <= 0.01:
            assert column.loss_interval.high - column.loss_interval.low <= width / 2


@pytest.mark.slow
@pytest.mark.usefixtures("whole_library")
@pytest.mark.parametrize("name", list(column_problems.PROBLEMS))
def test_losses_are_held(name: str) -> None:
    held = total = 0
    for seed in range(8):
        problem, values = values_of(name, 1000, 1000 + seed)
        held += sum(problem.loss(c.name) - 1e-9 <= c.loss_interval.high for c in values.columns)
        held -= sum(problem.loss(c.name) + 1e-9 < c.loss_interval.low for c in values.columns)
        total += len(values.columns)
    assert held / total > 0.95 - 4 * np.sqrt(0.95 * 0.05 / total)


# --- with two learners, where it does not matter how good they are ------------------------------------------------


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    colour = np.array(["red", "green", "blue"])[rng.integers(0, 3, 400)]
    size = rng.normal(size=400) + 3 * y
    return pd.DataFrame({"size": size, "colour": colour, "one": 7, "label": np.where(y, "yes", "no")})


@pytest.fixture(scope="module")
def values(two_learners, frame) -> ColumnValues:
    return bf.column_values(frame, "label", **FAST)


def test_encoded_columns_count_as_one(two_learners, values, frame, tmp_path) -> None:
    assert {column.name for column in values.columns} == {"size", "colour"}
    assert values["colour"].features == ("colour=blue", "colour=green", "colour=red")
    assert values["size"].verdict == "golden"
    with pytest.raises(KeyError, match="there is no column 'shape'"):
        values["shape"]
    frame.to_csv(tmp_path / "a.csv", index=False)
    again = bf.column_values(tmp_path / "a.csv", target="label", **FAST)
    assert again.to_dict()["columns"] == values.to_dict()["columns"]


def test_the_order_of_rows_and_threads_do_not_matter(two_learners, values, frame) -> None:
    turned = bf.column_values(frame.sample(frac=1, random_state=1), "label", effort="fast", n_jobs=2)
    for column in values.columns:
        assert turned[column.name].loss == pytest.approx(column.loss, abs=1e-12)
        assert turned[column.name].alone == pytest.approx(column.alone, abs=1e-12)


def test_groups_of_columns(two_learners, frame) -> None:
    X, y = pd.get_dummies(frame[["size", "colour"]]).to_numpy(float), frame["label"]
    grouped = bf.column_values(X, y, columns={"colour": [1, 2, 3]}, **FAST)
    assert {column.name for column in grouped.columns} == {"colour", "column 0"}
    assert len(grouped["colour"].features) == 3
    (only,) = bf.column_values(X, y, columns=["column 2"], **FAST).columns
    assert only.name == "column 2"
    whole = bf.column_values(X, y, columns={"all": [0, 1, 2, 3]}, **FAST)
    assert whole["all"].loss == pytest.approx(whole["all"].gain, abs=0.1), (
        "without any column the largest class is left"
    )
    assert whole["all"].verdict == "golden"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["shape"], "there is no column 'shape'; there are 'size', 'colour'"),
        ([9], "columns of a table have names: got 9"),
        ("size", "columns must be a list of columns"),
        ({}, "columns must be a list of columns"),
        ({"a": "size"}, "columns must be a list of columns"),
        ([True], "columns must be a list of columns"),
        (["one"], "column 'one' is left out of the table"),
        ({"size": ["colour"]}, "the group 'size' has the name of a column that is not in it"),
    ],
)
def test_bad_columns_are_named(two_learners, frame, columns, message) -> None:
    with pytest.raises(bf.ParameterError, match=message):
        bf.column_values(frame, "label", columns=columns, **FAST)


def test_columns_of_an_array_are_counted(two_learners) -> None:
    X = np.column_stack([np.arange(40.0) % 7, np.full(40, 3.0)])
    with pytest.raises(bf.ParameterError, match="there is no column 9: there are 2, counted from 0"):
        bf.column_values(X, np.arange(40) % 2, columns=[9], **FAST)
    with pytest.raises(bf.ParameterError, match="constant, and so worth nothing: 'column 1'"):
        bf.column_values(X, np.arange(40) % 2, columns=[1], **FAST)


def test_missing_values_belong_to_their_column(two_learners) -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = (X[:, 2] + 0.5 * X[:, 0] > 0).astype(int)
    X[::4, 1] = np.nan
    found = bf.column_values(X, y, **FAST)
    assert sorted(column.name for column in found.columns) == ["column 0", "column 1", "column 2"]
    assert found["column 1"].features == ("column 1", "column 1 missing")
    assert [column.name for column in bf.column_values(X, y, columns=[2], **FAST).columns] == ["column 2"]


def test_a_single_column(two_learners) -> None:
    y = np.arange(80) % 2
    X = (np.random.default_rng(0).normal(size=80) + 3 * y)[:, None]
    (column,) = bf.column_values(X, y, **FAST).columns
    assert column.verdict == "golden"
    assert column.loss > 0.3


def test_groups_of_rows_and_priors(two_learners, frame) -> None:
    twice = pd.concat([frame, frame.assign(size=frame["size"] + 1e-3)], ignore_index=True)
    who = np.tile(np.arange(len(frame)), 2)
    values = bf.column_values(twice, "label", groups=who, priors="balanced", **FAST)
    assert values["size"].verdict == "golden"
    assert values.result.priors == (0.5, 0.5)


def test_json_frame_page_and_picture(values, tmp_path, request) -> None:
    import matplotlib.pyplot as plt

    read = json.loads(values.to_json())
    assert [column["name"] for column in read["columns"]] == [column.name for column in values.columns]
    assert read["columns"][0]["sentence"].startswith("golden: alone nearly as good as all columns")
    assert bf.FloorResult.from_json(json.dumps(read["result"])).floor == values.result.floor
    frame = values.frame()
    assert frame.loc["size", "verdict"] == "golden"
    assert frame.loc["size", "loss"] == values["size"].loss
    ax = values.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == [column.name for column in values.columns]
    plt.close(ax.figure)
    with pytest.raises(bf.ParameterError, match="n_columns must be a whole number"):
        values.plot(n_columns=0)
    page = values.to_html()
    assert 'id="worth"' in page
    assert page.count('<td data-name="verdict">golden</td>') == 1
    request.getfixturevalue("without_pictures")  # what follows is about words
    assert 'id="worth"' not in values.result.to_html()
    assert values.save(tmp_path / "a.html").exists()
    assert json.loads(values.save(tmp_path / "a.json").read_text()) == json.loads(values.to_json())
    with pytest.raises(bf.ParameterError, match="exists already"):
        values.save(tmp_path / "a.html")
    with pytest.raises(TypeError, match="column_values must be what column_values returns"):
        values.result.to_html(column_values=3)
    assert "<svg" in values._repr_html_()
    assert "golden: size" in values._repr_html_()
    assert repr(values).startswith("ColumnValues(floor=")
    assert "size" in str(values)
    assert "verdict" in str(values)


def test_hostile_names_are_escaped(two_learners) -> None:
    attack = "<script>alert(1)</script>"
    y = np.arange(80) % 2
    frame = pd.DataFrame({attack: np.random.default_rng(0).normal(size=80) + 2 * y, "b": np.arange(80.0) ** 2 % 7})
    values = bf.column_values(frame, y, **FAST)
    assert attack not in values.to_html()
    assert attack not in values._repr_html_()


def test_progress_is_told_and_plan_knows(two_learners, frame) -> None:
    told = []
    bf.column_values(frame, "label", progress=lambda stage, done, total: told.append(stage), **FAST)
    assert {"columns left out", "columns alone"} <= set(told)
    small, large = (bf.plan(3000, 30, speed=1.0, n_jobs=2, column_values=flag) for flag in (False, True))
    assert 2 < large.seconds / small.seconds < 6
    assert large.stages["columns"] > 0
    with pytest.raises(bf.ParameterError, match="column_values must be"):
        bf.plan(3000, 30, speed=1.0, column_values=2)
