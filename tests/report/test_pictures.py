"""Pictures of a result and the frames behind them: whatever the labels, the number of classes and what is missing."""

from dataclasses import replace

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from bayesfloor import DataError, ParameterError, estimate, from_scores, problems
from bayesfloor import frames as f
from bayesfloor.floor._compare import compare
from bayesfloor.floor.result import CurvePoint, FloorResult
from bayesfloor.report import pictures as p
from bayesfloor.report.pictures import page_svg
from bayesfloor.utils.intervals import Bound

HOSTILE = ("<script>alert(1)</script>", "$x_1^{2$ & \\frac", "long " * 3000, "a\nb\x00\x1b]", "")


@pytest.fixture(scope="module")
def result(two_learners) -> FloorResult:
    return estimate(*problems.get("mixture_2d").sample(300, random_state=1), effort="fast", n_jobs=1)


@pytest.fixture(scope="module")
def of_scores() -> FloorResult:
    problem = problems.get("gaussians_4d")
    X, y = problem.sample(400, random_state=0)
    return from_scores(problem.posterior(X), y)


def many_classes(result: FloorResult, n: int) -> FloorResult:
    rng = np.random.default_rng(0)
    table = rng.random((n, n)) ** 8
    np.fill_diagonal(table, 0)
    table *= result.floor / table.sum()
    labels = rng.integers(0, n, 200)
    return replace(
        result,
        classes=tuple(f"class {i}" for i in range(n)),
        priors=(1 / n,) * n,
        pair_error=tuple(map(tuple, table.tolist())),
        posterior=rng.dirichlet(np.ones(n), 200),
        labels=labels,
    )


def hostile(result: FloorResult) -> FloorResult:
    other = many_classes(result, len(HOSTILE))
    return replace(other, classes=HOSTILE)


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


DRAWN = (p.plot_floor, p.plot_learning_curve, p.plot_estimates, p.plot_pairs)


@pytest.mark.parametrize("draw", DRAWN)
def test_axes_given_are_the_axes_returned(result: FloorResult, draw) -> None:
    _, ax = plt.subplots()
    assert draw(result, ax=ax) is ax
    own = draw(result)
    assert own is not ax
    own.figure.canvas.draw()


@pytest.mark.parametrize("draw", DRAWN)
def test_hostile_labels_are_drawn(result: FloorResult, draw) -> None:
    with plt.rc_context({"text.parse_math": True}):
        draw(hostile(result)).figure.canvas.draw()  # $ and _ are no mathematics here, or this raises


@pytest.mark.parametrize("draw", DRAWN)
def test_many_classes_and_no_floor(result: FloorResult, draw) -> None:
    draw(many_classes(result, 1000)).figure.canvas.draw()
    nothing = replace(
        result,
        floor=0.0,
        pair_error=tuple((0.0,) * 3 for _ in range(3)),
        learning_curve=tuple(CurvePoint(n, 0.0, 0.0) for n in (240, 120, 60)),
    )
    draw(nothing).figure.canvas.draw()


def test_scale_shows_all_figures(result: FloorResult) -> None:
    comparison = compare(result, error=0.6, n_test=200)
    texts = " ".join(text.get_text() for text in p.plot_floor(result, comparison).texts)
    for figure in (f"floor {result.floor:.1%}", f"ceiling {result.ceiling:.1%}", "your model 60.0%"):
        assert figure in texts
    low, high = p.plot_floor(result, comparison).get_xlim()
    assert low <= 0
    assert high >= comparison.error_interval.high


def test_results_of_scores_have_no_curve(of_scores: FloorResult) -> None:
    with pytest.raises(DataError, match="no learning curve"):
        p.plot_learning_curve(of_scores)
    p.plot_estimates(of_scores)
    p.plot_pairs(of_scores)
    assert f.learning_curve_frame(of_scores).empty


def test_curve_is_that_of_the_points(result: FloorResult) -> None:
    exact = tuple(CurvePoint(n, 0.1 + 2.0 * n**-0.5, 0.1) for n in (400, 200, 100))
    a, b = f.extrapolation(replace(result, floor=0.1, learning_curve=exact))
    assert (a, b) == pytest.approx((2.0, 0.5), abs=1e-9)
    rising = tuple(CurvePoint(n, 0.1 + n / 1000, 0.1) for n in (400, 200, 100))
    assert f.extrapolation(replace(result, floor=0.1, learning_curve=rising)) is None
    below = tuple(CurvePoint(n, 0.05, 0.05) for n in (400, 200, 100))
    assert f.extrapolation(replace(result, floor=0.1, learning_curve=below)) is None


def test_contradictions_are_flagged(result: FloorResult) -> None:
    result = replace(result, interval=replace(result.interval, low=result.floor / 2))
    wrong = (
        Bound("too high", result.ceiling + 0.01, 0.9, "?"),
        Bound("too low", 0.0, result.interval.low / 2, "?"),
        Bound("fine", 0.0, 0.9, "?"),
    )
    frame = f.estimates_frame(replace(result, bounds=wrong)).set_index("name")
    assert "does not hold" in frame.conflict["too high"]
    assert "below the floor's interval" in frame.conflict["too low"]
    assert not frame.conflict["fine"]
    ax = p.plot_estimates(replace(result, bounds=wrong))
    assert [text.get_text().strip() for text in ax.texts] == ["contradicts"] * 2


def test_frames_have_the_figures(result: FloorResult) -> None:
    scale = f.floor_frame(result, compare(result, error=0.5, n_test=100)).set_index("name")
    assert scale.value["floor"] == result.floor
    assert scale.low["floor"] == result.interval.low
    assert scale.value["model"] == 0.5
    assert scale.value["largest class"] == result.majority_error == pytest.approx(1 - max(result.priors), abs=0.02)
    assert f.learning_curve_frame(result).n_train.is_monotonic_increasing
    assert len(f.estimates_frame(result)) == len(result.estimates) + len(result.bounds) + 1
    pairs = f.pairs_frame(result)
    assert pairs.error.sum() == pytest.approx(result.floor)
    assert pairs.share.sum() == pytest.approx(1)
    first = pairs.iloc[0]
    i, j = (result.classes.index(first[name]) for name in ("class", "taken for"))
    assert first.error == max(map(max, result.pair_error)) == result.pair_error[i][j]
    assert f.hardest_frame(result, 7).row.tolist() == [row for row, _ in result.hardest_rows(7)]
    suspects = f.suspects_frame(result, 5)
    for row in suspects.to_dict("records"):
        assert row["label"] == result.classes[result.labels[row["row"]]] != row["looks like"]
        assert row["probability"] < row["its"] == pytest.approx(result.posterior[row["row"]].max())


def test_only_the_classes_that_matter_are_drawn(result: FloorResult) -> None:
    other = many_classes(result, 40)
    table = np.zeros((40, 40))
    table[3, 17] = table[30, 3] = result.floor / 2
    other = replace(other, pair_error=tuple(map(tuple, table.tolist())))
    names = [label.get_text() for label in p.plot_pairs(other, n_classes=3).get_xticklabels()]
    assert names == ["class 3", "class 17", "class 30"]
    with pytest.raises(ParameterError, match="n_classes"):
        p.plot_pairs(other, n_classes=1)
    with pytest.raises(DataError, match="no table of pairs"):
        p.plot_pairs(replace(other, pair_error=()))


def test_page_svg_is_the_same_each_time_and_themed(result: FloorResult) -> None:
    arguments = {"name": "x", "description": 'a "b" <c>', "colours": {p.ACCENT: "var(--accent)", p.INK: "var(--ink)"}}
    drawn = [page_svg(lambda ax: p.plot_pairs(hostile(result), ax=ax), (5, 4), **arguments) for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert "<script" not in drawn[0]
    assert "&lt;script&gt;" in drawn[0]
    assert "var(--accent)" in drawn[0]
    assert p.ACCENT not in drawn[0]
    assert p.INK not in drawn[0]
    assert "http" not in drawn[0].replace('xmlns="http://www.w3.org/2000/svg"', "")
