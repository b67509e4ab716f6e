import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

import teachers
from bayesfloor.problems.families import draw_labels


def made_up(_: Path) -> tuple[np.ndarray, np.ndarray]:
    """700 rows of three classes and a rare one, a hundred copies; without column 4, many more rows are equal."""
    rng = np.random.default_rng(3)
    y = rng.choice([0, 1, 2, 3], 700, p=[0.5, 0.29, 0.2, 0.01])
    X = np.column_stack([np.round(2 * rng.normal(size=(700, 4)) + y[:, None]), rng.normal(size=700) + y])
    X, y = X.astype(np.float32), y.astype(np.int64)
    return np.vstack([X, X[:100]]), np.concatenate([y, (y[:100] + 1) % 3])


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Teachers of every kind on a small made-up table."""
    folder = tmp_path_factory.mktemp("teachers")
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(teachers.TABLES, "made_up", made_up)
        patched.setattr(teachers, "N_VARIANTS", 2)
        teachers.fit_missing(["made_up"], list(range(teachers.N_VARIANTS)), folder, folder, n_jobs=1)
    return folder


@pytest.fixture
def two_variants(monkeypatch) -> None:
    monkeypatch.setattr(teachers, "N_VARIANTS", 2)


def write_posterior(folder: Path, table: str, P: np.ndarray) -> None:
    """A teacher of which nothing is known but what it says."""
    (folder / "tables").mkdir()
    np.save(folder / "tables" / f"{table}_X.npy", np.arange(3.0 * len(P), dtype=np.float32).reshape(-1, 3))
    for kind in teachers.KINDS:
        for variant in range(teachers.N_VARIANTS):
            path = teachers.teacher_path(table, kind, variant, folder)
            np.savez(path, P=P.astype(np.float32), rows=np.arange(len(P)), columns=np.array([0, 2]))


# --- tables -------------------------------------------------------------------------------------------------


def test_three_stored_tables_are_locked() -> None:
    assert teachers.LOCKED_TABLES == ("phoneme", "satimage", "adult")
    assert set(teachers.LOCKED_TABLES) <= set(teachers.STORED)


def test_equal_rows_are_one_with_the_label_of_the_first() -> None:
    X, y = made_up(Path())
    distinct, codes = teachers.distinct(X, y)
    assert len(np.unique(distinct, axis=0)) == len(distinct)
    assert np.bincount(codes).min() >= teachers.FEWEST_IN_TABLE
    assert codes.max() == 2  # the rare class is gone
    first = {tuple(row): label for row, label in zip(X[::-1], y[::-1], strict=True)}
    assert [first[tuple(row)] for row in distinct] == codes.tolist()
    assert len(distinct) == sum(label < 3 for label in first.values())


def test_zeros_of_either_sign_are_equal() -> None:
    assert teachers.first_of_equals(np.array([[0.0, 1], [-0.0, 1], [2, 1]])).tolist() == [0, 2]


def test_images_become_means_of_blocks() -> None:
    image = np.arange(16.0).reshape(1, 16)
    assert teachers.shrunk(image, 4).tolist() == [[2.5, 4.5, 10.5, 12.5]]


# --- teachers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", teachers.KINDS)
@pytest.mark.parametrize("variant", [0, 1])
def test_what_a_teacher_says(folder: Path, kind: str, variant: int) -> None:
    stored = teachers.read_teacher("made_up", kind, variant, folder)
    P, about = stored["P"], json.loads(str(stored["about"]))
    y = np.load(folder / "tables" / "made_up_y.npy")[stored["rows"]]
    assert P.dtype == np.float32
    assert P.shape == (len(stored["rows"]), 3)
    assert P.sum(axis=1) == pytest.approx(np.ones(len(P)), abs=1e-5)
    assert P.min() > 0
    assert (len(stored["columns"]) == 5) if variant == 0 else (3 <= len(stored["columns"]) < 5)
    assert about["error"] == (P.argmax(axis=1) != y).mean() < 0.45  # naming the largest class errs half of the time
    assert about["floor"] == pytest.approx((1 - P.max(axis=1)).mean(), abs=1e-6)
    if 0.05 < about["temperature"] < 20:  # it expects as many errors as it makes
        assert about["floor"] == pytest.approx(about["error"], abs=2e-3)


@pytest.mark.parametrize("columns", [slice(None), slice(0, 3)])
def test_the_two_halves_are_disjoint_and_distinct(columns: slice) -> None:
    X = teachers.distinct(*made_up(Path()))[0][:, columns]
    in_A, in_B = teachers.split(X, np.random.default_rng(0))
    both = X[np.concatenate([in_A, in_B])]
    assert len(np.unique(both, axis=0)) == len(both) == len(np.unique(X, axis=0))
    assert abs(len(in_A) - len(in_B)) <= 1


def test_halves_of_a_large_table_are_limited(monkeypatch) -> None:
    monkeypatch.setattr(teachers, "MOST_A", 30)
    monkeypatch.setattr(teachers, "MOST_B", 20)
    in_A, in_B = teachers.split(np.arange(200.0)[:, None], np.random.default_rng(0))
    assert (len(in_A), len(in_B), len(np.intersect1d(in_A, in_B))) == (30, 20, 0)


def test_teachers_of_the_same_columns_share_their_rows(folder: Path) -> None:
    rows = [teachers.read_teacher("made_up", kind, 0, folder)["rows"].tolist() for kind in teachers.KINDS]
    assert all(some == rows[0] for some in rows)


def test_teachers_that_are_there_are_not_trained_again(folder: Path, two_variants, monkeypatch) -> None:
    def refuse(*_):
        raise AssertionError

    monkeypatch.setitem(teachers.TABLES, "made_up", refuse)
    monkeypatch.setattr(teachers, "fit_teacher", refuse)
    teachers.fit_missing(["made_up"], list(range(teachers.N_VARIANTS)), folder, folder, n_jobs=1)


def test_a_missing_teacher_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="fit --tables wine"):
        teachers.read_teacher("wine", "forest", 0, tmp_path)


def test_classes_that_a_teacher_never_saw_have_probability_0() -> None:
    P = teachers.all_classes(np.array([[0.3, 0.7]]), np.array([0, 2]), 4)
    assert P.tolist() == [[0.3, 0, 0.7, 0]]


def test_temperature() -> None:
    P = np.array([[0.8, 0.2], [0.5, 0.5]])
    assert teachers.tempered(P, 0.5) == pytest.approx(np.array([[0.64 / 0.68, 0.04 / 0.68], [0.5, 0.5]]))
    assert teachers.tempered(P, 1) == pytest.approx(P)


def test_a_modest_teacher_is_made_to_expect_its_errors() -> None:
    rng = np.random.default_rng(0)
    P = teachers.tempered(rng.dirichlet(np.ones(3), 4000), 0.3)
    y = draw_labels(P, rng)
    error = (P.argmax(axis=1) != y).mean()
    modest = teachers.tempered(P, 4)
    temperature = teachers.honest_temperature(modest, y)
    assert (1 - teachers.tempered(modest, temperature).max(axis=1)).mean() == pytest.approx(error, abs=1e-3)
    assert temperature == pytest.approx(1 / 4, rel=0.15)
    assert teachers.honest_temperature(modest, modest.argmax(axis=1)) == 0.05  # no error: as sharp as allowed


# --- problems -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", teachers.KINDS)
def test_the_floor_is_that_of_the_finite_population(folder: Path, two_variants, kind: str) -> None:
    for number in (0, 1):
        problem = teachers.teacher_problem("made_up", kind, number, folder)
        stored = teachers.read_teacher("made_up", kind, number, folder)
        # The same draw, by hand: it is the generator's first.
        rng = np.random.default_rng(teachers.numbers_of("made_up", list(teachers.KINDS).index(kind), number, 1))
        temperature = np.exp(rng.uniform(np.log(0.5), np.log(2)))
        P = stored["P"].astype(float) ** (1 / temperature)
        P /= P.sum(axis=1, keepdims=True)
        if len(np.unique(problem.y)) == P.shape[1]:
            assert problem.floor == pytest.approx(np.mean(1 - P.max(axis=1)), abs=1e-12)
        assert problem.family == f"teacher:{kind}"
        assert problem.X.shape == (len(problem.y), len(stored["columns"]))
        assert getattr(problem, "floor_error", 0.0) == 0
        table = np.load(folder / "tables" / "made_up_X.npy")
        of_B = {tuple(row) for row in table[stored["rows"]][:, stored["columns"]].astype(float)}
        drawn = [tuple(row) for row in problem.X]
        assert set(drawn) <= of_B
        assert len(set(drawn)) == len(drawn)  # without replacement
        assert len(drawn) <= len(of_B) // 2
        assert np.bincount(problem.y).min() >= teachers.FEWEST


def test_no_decision_is_better_than_the_floor(folder: Path, two_variants) -> None:
    population = teachers.teacher_population("made_up", "forest", 0, folder, np.random.default_rng(0))
    rng, P = np.random.default_rng(1), population.P
    best = np.array([(P.argmax(axis=1) != draw_labels(P, rng)).mean() for _ in range(2000)])
    spread = best.std() / np.sqrt(len(best))
    assert abs(best.mean() - population.floor) < 4 * spread
    other = np.array([(P[:, ::-1].argmax(axis=1) != draw_labels(P, rng)).mean() for _ in range(200)])
    assert other.mean() > population.floor


def test_the_same_number_is_the_same_problem(folder: Path, two_variants) -> None:
    first, again, other = (teachers.teacher_problem("made_up", "kernel", number, folder) for number in (2, 2, 4))
    assert np.array_equal(first.X, again.X)
    assert np.array_equal(first.y, again.y)
    assert first.floor != other.floor


def test_labels_follow_the_posterior(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(teachers, "TEMPERATURES", (1.0, 1.0))
    p = np.linspace(0.05, 0.95, 4000)
    write_posterior(tmp_path, "line", np.column_stack([p, 1 - p]))
    drawn = [teachers.teacher_problem("line", "network", number, tmp_path) for number in range(30)]
    at = np.concatenate([d.X[:, 0] for d in drawn]) / 3  # the row's number
    y = np.concatenate([d.y for d in drawn])
    assert np.concatenate([d.X[:, 1] for d in drawn]) == pytest.approx(3 * at + 2)  # columns 0 and 2
    expected = p[at.astype(int)]
    for low in np.arange(0.05, 0.95, 0.15):
        some = (expected >= low) & (expected < low + 0.15)
        z = (np.sum(y[some] == 0) - expected[some].sum()) / np.sqrt((expected * (1 - expected))[some].sum())
        assert abs(z) < 4
    assert [d.floor for d in drawn] == pytest.approx([np.minimum(p, 1 - p).mean()] * len(drawn), abs=1e-7)
    wrong = sum(round(d.oracle * len(d.y)) for d in drawn)
    assert binom.ppf(1e-5, len(y), drawn[0].floor) <= wrong <= binom.ppf(1 - 1e-5, len(y), drawn[0].floor)


def test_classes_too_rare_for_the_sample_are_left_out() -> None:
    rng = np.random.default_rng(0)
    P = rng.dirichlet([5, 3, 0.01, 0.01], 3000)
    P[:20] = [0.01, 0.01, 0.97, 0.01]
    rows, posterior = teachers.common_classes(P, 300)  # 300 * 0.01 rows of the last two
    assert posterior.shape[1] == 2
    assert (P[rows][:, :2].sum(axis=1) >= 0.5).all()
    assert len(rows) == (P[:, :2].sum(axis=1) >= 0.5).sum() < 3000
    assert posterior == pytest.approx(P[rows][:, :2] / P[rows][:, :2].sum(axis=1, keepdims=True))
    whole, same = teachers.common_classes(P, 30_000)
    assert len(whole) == len(P)
    assert same == pytest.approx(P)


def test_problems_of_many_rare_classes_have_five_rows_of_each(tmp_path: Path) -> None:
    shares = np.array([0.6, 0.2, 0.1, 0.05, 0.03, 0.01, 0.009, 0.001])
    write_posterior(tmp_path, "rare", np.random.default_rng(0).dirichlet(20 * shares, 4000))
    for number in range(12):
        problem = teachers.teacher_problem("rare", "forest", number, tmp_path)
        counts = np.bincount(problem.y)
        assert 2 <= len(counts) <= 8
        assert counts.min() >= teachers.FEWEST


def test_one_class_alone_is_no_problem(tmp_path: Path) -> None:
    write_posterior(tmp_path, "constant", np.tile([1.0, 0.0], (2000, 1)))
    with pytest.raises(ValueError, match="no two classes"):
        teachers.teacher_problem("constant", "forest", 0, tmp_path)


@pytest.mark.parametrize(("most", "top"), [(285, 142), (2700, 1350), (5000, 2500), (100_000, 10_000)])
def test_sizes_have_the_median_that_was_asked(most: int, top: int) -> None:
    rng = np.random.default_rng(0)
    sizes = np.array([teachers.sample_size(rng, most) for _ in range(2000)])
    assert sizes.max() <= top
    assert sizes.min() >= min(150, top)
    if top > 1500:  # as many below as above, but for chance
        assert binom.ppf(1e-4, 2000, 0.5) <= (sizes < 1500).sum() <= binom.ppf(1 - 1e-4, 2000, 0.5)


# --- students -----------------------------------------------------------------------------------------------


def test_sizes_of_curves() -> None:
    assert teachers.sizes_up_to(3500) == [188, 375, 750, 1500, 3000]


def test_curves_are_printed_for_real_labels_and_every_kind(folder: Path, monkeypatch) -> None:
    monkeypatch.setattr(teachers, "REPEATS", 1)
    text = teachers.curves_report(["made_up"], folder, n_jobs=1)
    lines = text.split("## made_up")[1].splitlines()
    assert [line.split(" | ")[0] for line in lines[4:10]] == [f"| {name}" for name in ("real", *teachers.KINDS)]
    assert "188" in lines[2]
