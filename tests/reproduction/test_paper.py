import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from bayesfloor import BayesfloorWarning, BenchmarkLearner, problems
from reproduction import measure, reproduce
from reproduction.experiment import Settings
from reproduction.images import crossing
from reproduction.reproduce import NAMES, main, page
from reproduction.smooth_cube import smooth_cube
from reproduction.unit_of_length import PaperRadiiWithUnit
from reproduction.weights_compared import saving

pytest.importorskip("matplotlib")
QUICK = ["--quick", "--jobs", "1"]

pytestmark = pytest.mark.usefixtures("two_learners")


@pytest.fixture(scope="module")
def done(two_learners, few_patches, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("docs")
    assert main(["all", *QUICK, "--quiet", "--out", str(out)]) == 0
    return out


def copied(done: Path, target: Path) -> Path:
    (target / "paper").mkdir()
    for file in (done / "paper").iterdir():
        (target / "paper" / file.name).write_bytes(file.read_bytes())
    (target / "paper.md").write_bytes((done / "paper.md").read_bytes())
    return target


def test_every_experiment_has_results_figures_and_a_place_on_the_page(done: Path) -> None:
    text = (done / "paper.md").read_text()
    for name in NAMES:
        record = json.loads((done / "paper" / f"{name}.json").read_text())
        assert record["name"] == name
        assert record["settings"] == {"quick": True, "seed": 0}
        assert record["seconds"] >= 0
        assert (done / "paper" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (done / "paper" / f"{name}.svg").read_bytes()
        assert f"(paper/{name}.png)" in text
        assert f"(paper/{name}.json)" in text
    assert {file.suffix for file in (done / "paper").iterdir()} == {".json", ".png", ".svg"}
    assert len(list((done / "paper").iterdir())) == 3 * len(NAMES)
    assert "Quick run" in text
    assert "digits stand in for MNIST" in text
    assert "nan" not in re.findall(r"[a-z]+", text)


PLACES = [
    *("Figure 1", "Figure 2", "Figure 3(a)", "Figure 3(b)", "Figure 4", "Figure 5", "Figure 6(a)", "Figure 6(b)"),
    *("Figure 7", "Figure 8", "Figure 9(a)", "Figure 9(b), caption", "Figure 9(b), text", "Figure 10", "Figure 11"),
    *("Figure 12", "Theorem 4", "Theorem 4, ties", "Theorem 8", "Theorem 10"),
]


def index_rows(text: str) -> list[list[str]]:
    """Cells of the table of who reproduces what."""
    section = text.split("## Who reproduces what")[1].split("\n## ")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if "](#" in line]


def test_the_index_has_a_verdict_for_every_figure_and_links_that_lead_somewhere(done: Path) -> None:
    text = (done / "paper.md").read_text()
    rows = index_rows(text)
    places = [re.match(r"\[(.*)\]\(#", row[0])[1] for row in rows]
    # Table 1 is of MNIST, for which a quick run has other digits.
    assert places == [place for place in PLACES if place != "Table 1"]
    assert all(row[-1] for row in rows)
    headings = {
        re.sub(r"[^\w\- ]", "", line[3:].lower()).replace(" ", "-") for line in text.splitlines() if line[:3] == "## "
    }
    assert {re.search(r"\(#(.*)\)$", row[0])[1] for row in rows} <= headings


def test_the_committed_page_is_written_from_the_committed_results() -> None:
    docs = Path(__file__).parents[2] / "docs"
    text = (docs / "paper.md").read_text(encoding="utf-8")
    assert text == page(docs / "paper")
    assert "[Table 1](#" in text
    assert "Quick run" not in text


def _leaves(tree, path=()):
    if isinstance(tree, dict | list):
        entries = tree.items() if isinstance(tree, dict) else enumerate(tree)
        for key, value in entries:
            yield from _leaves(value, (*path, key))
    elif isinstance(tree, float):
        yield path


def test_every_number_in_the_index_comes_from_the_files(done: Path, tmp_path: Path) -> None:
    """Each line with numbers changes when those of its experiment do."""
    before = {row[0]: row for row in index_rows((done / "paper.md").read_text())}
    out = copied(done, tmp_path)
    for name in (name for name in NAMES if name != "units"):  # which has no line
        file = out / "paper" / f"{name}.json"
        record = json.loads(file.read_text())
        for path in _leaves(record["results"]):
            inner = record["results"]
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = inner[path[-1]] * 0.5 + 0.0123
        file.write_text(json.dumps(record))
    after = {row[0]: row for row in index_rows(page(out / "paper"))}
    numbered = [place for place, row in before.items() if re.search(r"\d \%|points", " ".join(row[2:]))]
    assert len(numbered) > 8
    for place in numbered:
        assert before[place][2:5] != after[place][2:5], place


def test_the_page_is_plain_about_a_rule_that_answers_nothing(done: Path) -> None:
    record = json.loads((done / "paper" / "bounds.json").read_text())
    for task in record["results"]["tasks"].values():
        curve = task["curves"]["as printed"]
        assert curve["value"]["mean"] == [0.0] * len(curve["n"])
        assert min(curve["empty"]["mean"]) > 0.99
        assert task["truth"] > 0
    assert "As printed the method answers 0 at every N" in (done / "paper.md").read_text()


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("bounds", ("tasks", "two Gaussians, 10-d, 5 apart", "truth")),
        ("classifiers", ("tasks", "four Gaussians in a row, 100-d, 5 apart", "truth")),
        ("weights", ("weights", "Chebyshev, d = 10", "norm")),
        ("ensembles", ("tasks", "two Gaussians, 4-d, 2 apart", "truth")),
        ("scaling", ("tasks", "three beta classes, 50-d", "truth")),
        ("mnist", ("sets", "8 x 8 digits", "learned floor", "ceiling")),
        ("mnist", ("sets", "8 x 8 digits", "authors' code", "estimate")),
        ("units", ("tasks", "three beta classes, 50-d", "truth")),
        ("stopping", ("truth",)),
        ("convergence", ("tasks", "d = 4", "curves", "adaptive learner", "slope")),
        ("single_radius", ("tasks", "d = 4", "curves", "one ball", "slope")),
        ("many_classes", ("tasks", "5 classes, d = 2", "curves", "adaptive learner", "slope")),
    ],
)
def test_numbers_on_the_page_come_from_the_files(done: Path, tmp_path: Path, name: str, place: tuple) -> None:
    out = copied(done, tmp_path)
    file = out / "paper" / f"{name}.json"
    record = json.loads(file.read_text())
    inner = record["results"]
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = 0.4321
    file.write_text(json.dumps(record))
    assert main(["page", "--quiet", "--out", str(out)]) == 0
    before, after = (done / "paper.md").read_text(), (out / "paper.md").read_text()
    assert before != after
    assert "43.2" in after or "0.43" in after
    assert "43.2" not in before


def test_the_page_alone_is_the_same_again(done: Path, tmp_path: Path) -> None:
    out = copied(done, tmp_path)
    (out / "paper.md").unlink()
    assert main(["page", "--quiet", "--out", str(out)]) == 0
    assert (out / "paper.md").read_text() == (done / "paper.md").read_text()


def test_what_is_done_is_kept_and_a_lost_figure_drawn_again(done: Path, tmp_path: Path, monkeypatch, capsys) -> None:
    out = copied(done, tmp_path)
    (out / "paper" / "weights.svg").unlink()
    monkeypatch.setattr(reproduce, "_record", lambda *_: pytest.fail("ran again"))
    assert main(["all", *QUICK, "--out", str(out)]) == 0
    assert (out / "paper" / "weights.svg").read_bytes() == (done / "paper" / "weights.svg").read_bytes()
    said = capsys.readouterr().out
    assert "weights: drawn again" in said
    assert said.count(": kept") == len(NAMES) - 1


def test_other_settings_need_force(done: Path, tmp_path: Path, capsys) -> None:
    out = copied(done, tmp_path)
    before = (out / "paper" / "weights.json").read_bytes()
    assert main(["weights", "--quick", "--seed", "1", "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert "other settings" in error
    assert error.count("\n") == 1
    assert (out / "paper" / "weights.json").read_bytes() == before
    assert main(["weights", "--quick", "--seed", "1", "--force", "--quiet", "--out", str(out)]) == 0
    assert json.loads((out / "paper" / "weights.json").read_text())["settings"]["seed"] == 1
    assert "seed 0, 1" in (out / "paper.md").read_text()


def test_a_page_of_someone_else_is_left_alone(tmp_path: Path, capsys) -> None:
    (tmp_path / "paper.md").write_text("mine")
    assert main(["weights", *QUICK, "--out", str(tmp_path)]) == 2
    assert "--force" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["paper.md"]
    assert (tmp_path / "paper.md").read_text() == "mine"


def test_a_figure_of_someone_else_is_left_alone(tmp_path: Path, capsys) -> None:
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper" / "weights.svg").write_text("mine")
    assert main(["weights", *QUICK, "--out", str(tmp_path)]) == 2
    assert "weights.svg exists" in capsys.readouterr().err
    assert [file.name for file in (tmp_path / "paper").iterdir()] == ["weights.svg"]
    assert main(["weights", *QUICK, "--force", "--quiet", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "paper" / "weights.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bound"], "did you mean bounds?"),
        (["xyz"], "there are: drawings, bounds,"),
        (["weights", "--seed", "-1"], "seed must be 0 or more"),
        (["weights", "--jobs", "0"], "jobs must not be 0"),
        (["mnist", "--data", "nowhere"], "no directory nowhere"),
        (["page"], "no results"),
    ],
)
def test_bad_arguments_are_one_line(arguments: list[str], message: str, tmp_path: Path, capsys) -> None:
    assert main([*arguments, "--out", str(tmp_path / "docs")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arrays", [None, {"Z": np.zeros(3)}, {"X": np.zeros((3, 2))}])
def test_bad_data_files_are_named(arrays: dict | None, tmp_path: Path, capsys) -> None:
    data = tmp_path / "data"
    data.mkdir()
    if arrays is not None:
        np.savez(data / "mnist.npz", **arrays)
        np.savez(data / "fashion_mnist.npz", **arrays)
    assert main(["mnist", *QUICK, "--data", str(data), "--out", str(tmp_path / "docs")]) == 2
    error = capsys.readouterr().err
    assert "mnist.npz" in error
    assert "X and y" in error or "X, y" in error


def test_a_damaged_data_file_is_named(tmp_path: Path, capsys) -> None:
    for name in ("mnist", "fashion_mnist"):
        np.savez(tmp_path / f"{name}.npz", X=np.zeros((3, 2)), y=np.zeros(3))
    whole = (tmp_path / "mnist.npz").read_bytes()
    (tmp_path / "mnist.npz").write_bytes(whole[: len(whole) // 2])
    assert main(["mnist", *QUICK, "--data", str(tmp_path), "--out", str(tmp_path / "docs")]) == 2
    assert "mnist.npz cannot be read as arrays" in capsys.readouterr().err


def test_a_missing_data_file_is_named_before_anything_runs(tmp_path: Path, capsys) -> None:
    np.savez(tmp_path / "mnist.npz", X=np.zeros((3, 2)), y=np.zeros(3))
    assert main(["weights", "mnist", *QUICK, "--data", str(tmp_path), "--out", str(tmp_path / "docs")]) == 2
    assert "there is no fashion_mnist.npz" in capsys.readouterr().err
    assert not (tmp_path / "docs").exists()


def test_images_that_cannot_be_had_do_not_stop_the_others(tmp_path: Path, monkeypatch, capsys) -> None:
    """Without a network `all` would end at MNIST, with neither the rest nor a page."""

    def no_network(*_, **__):
        raise OSError("no route to host")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", no_network)
    monkeypatch.setattr(reproduce, "NAMES", ("mnist", "weights"))
    assert main(["all", "--jobs", "1", "--quiet", "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert "mnist was left out: mnist_784 cannot be fetched from OpenML (no route to host)" in error
    assert error.count("\n") == 1
    text = (tmp_path / "paper.md").read_text()
    assert "Written by `python -m reproduction weights`" in text
    assert "Not run yet: mnist" in text


def test_the_command_calls_itself_by_its_name(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert capsys.readouterr().out.startswith("usage: python -m reproduction ")


@pytest.mark.parametrize("text", ["", "[1]", '{"schema": 0}', '{"schema": 1, "settings": {}}'])
def test_files_that_hold_no_results_are_named(text: str, tmp_path: Path, capsys) -> None:
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper" / "weights.json").write_text(text)
    assert main(["weights", *QUICK, "--out", str(tmp_path)]) == 2
    assert "weights.json" in capsys.readouterr().err
    assert (tmp_path / "paper" / "weights.json").read_text() == text


def test_results_that_lack_something_are_named(done: Path, tmp_path: Path) -> None:
    out = copied(done, tmp_path)
    file = out / "paper" / "stopping.json"
    record = json.loads(file.read_text())
    del record["results"]["truth"]
    file.write_text(json.dumps(record))
    with pytest.raises(ValueError, match=r"stopping\.json lacks"):
        page(out / "paper")


def test_missing_frameworks_are_named(monkeypatch) -> None:
    monkeypatch.setattr(measure, "find_spec", lambda name: None)
    notes = measure.missing_frameworks()
    assert [word in note for word, note in zip(("xgboost", "torch"), notes, strict=True)] == [True, True]


def test_the_stopping_experiment_does_without_torch(monkeypatch) -> None:
    from reproduction import stopping_rule

    monkeypatch.setattr(stopping_rule, "find_spec", lambda name: None)
    monkeypatch.setattr(measure, "find_spec", lambda name: None)
    results = stopping_rule.run(Settings(quick=True, n_jobs=1))
    assert "network" not in next(iter(results["tasks"].values()))["curves"]
    assert "pip install torch" in stopping_rule.judge(results)
    assert stopping_rule.draw(results).axes


def test_the_same_seed_gives_the_same_figures_whatever_the_number_of_processes() -> None:
    tasks = {"a": ("gaussians_4d", {})}
    entrants = {"adaptive": measure.Entrant("adaptive", (100, 200), 2), "oracle": measure.Entrant("oracle", (100,), 2)}
    one, again, other = (
        measure.measure(Settings(seed=seed, n_jobs=jobs), "test", tasks, entrants, raw=True)
        for seed, jobs in ((0, 1), (0, 2), (1, 1))
    )
    assert one == again
    assert one != other
    values = one["a"]["curves"]["oracle"]["value"]
    assert values["mean"][0] == pytest.approx(np.mean(values["values"][0]))
    assert values["mse"][0] == pytest.approx(np.mean((np.array(values["values"][0]) - one["a"]["truth"]) ** 2))


def test_a_network_is_seeded_and_leaves_the_global_state_alone() -> None:
    torch = pytest.importorskip("torch")
    from reproduction.network import errors_by_epoch

    problem = problems.get("gaussians_10d")
    train, test = problem.sample(300, random_state=0), problem.sample(500, random_state=1)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    first, second, other = (
        errors_by_epoch(train, test, (20, 10), n_epochs=10, seed=seed, every_epoch=True) for seed in (0, 0, 1)
    )
    assert torch.equal(state, torch.get_rng_state())
    assert torch.get_num_threads() == threads
    assert first == second != other
    assert len(first) == 10
    assert first[-1] < 0.1 < first[0]


def test_the_printed_rule_has_no_unit_of_length() -> None:
    X, y = problems.get("gaussians_4d").sample(500, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesfloorWarning)
        printed = {scale: BenchmarkLearner.paper().fit(scale * X, y).bayes_error_ for scale in (0.01, 1.0, 1000.0)}
        unit = PaperRadiiWithUnit(0.5)
        with_unit = [BenchmarkLearner.paper(radii=unit).fit(s * X, y).bayes_error_ for s in (0.01, 1.0, 1000.0)]
        high = BenchmarkLearner.paper().fit(*problems.get("gaussians_10d").sample(500, random_state=0))
    assert printed[1000.0] == 0 != printed[1.0]  # the same data, in other units
    assert abs(printed[1.0]) < 0.01
    assert abs(printed[0.01] - printed[1.0]) > 0.02
    assert np.ptp(with_unit) < 1e-12
    assert high.bayes_error_ == 0
    assert high.occupancy_.empty.min() == 1


def test_crossing_of_a_curve_that_never_gets_there() -> None:
    assert crossing([0.5, 1.0], [0.0, 0.001], [1.0, 0.9], 0.01) is None
    share, empty = crossing([0.5, 1.0, 1.5], [0.0, 0.01, 0.1], [1.0, 0.5, 0.0], 0.01)
    assert (share, empty) == (1.0, 0.5)


def test_a_floor_of_images_is_added_to_what_balls_have_said(done: Path, tmp_path: Path, monkeypatch, capsys) -> None:
    out = copied(done, tmp_path)
    file = out / "paper" / "mnist.json"
    before = json.loads(file.read_text())
    record = json.loads(file.read_text())
    for found in record["results"]["sets"].values():
        del found["learned floor"]
    file.write_text(json.dumps(record))
    monkeypatch.setattr("reproduction.images.BenchmarkLearner", lambda *_, **__: pytest.fail("ran again"))
    assert main(["mnist", "weights", "--add", *QUICK, "--out", str(out)]) == 0
    assert "weights: kept" in capsys.readouterr().out  # which cannot go on from what is there
    after = json.loads(file.read_text())["results"]["sets"]
    for title, found in before["results"]["sets"].items():
        assert after[title]["learned floor"]["estimate"] == found["learned floor"]["estimate"]
        assert after[title]["authors' code"] == found["authors' code"]


def test_the_cube_has_the_floor_it_says() -> None:
    problem = smooth_cube(2)
    X, y = problem.sample(100_000, random_state=0)
    shares = problem.posterior(X)
    errors = 1 - shares.max(axis=1)
    assert shares.min() > 0.04  # densities are bounded from below
    assert errors.mean() == pytest.approx(problem.bayes_error, abs=4 * errors.std() / 100_000**0.5)
    wrong = shares.argmax(axis=1) != y
    assert wrong.mean() == pytest.approx(problem.bayes_error, abs=4 * wrong.std() / 100_000**0.5)


def one_ball(n: int, n_samples: int, class_order: str = "sorted") -> tuple[np.ndarray, np.ndarray]:
    """Estimates of a single ball on the unit interval, and the variance of the terms of each over N."""
    problem = smooth_cube(1)
    found, spread = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesfloorWarning)
        for seed in range(n_samples):
            learner = BenchmarkLearner(radii=[n**-0.5], standardize=False, class_order=class_order, n_jobs=1)
            learner.fit(*problem.sample(n, random_state=seed))
            found.append(learner.bayes_error_)
            spread.append(np.var(learner.sample_error_) / n)
    return np.array(found), np.array(spread)


def test_the_spread_of_the_terms_is_too_small_a_variance() -> None:
    """The cross terms that the proofs of Theorems 4 and 5 drop are of the order of what they keep."""
    found, spread = one_ball(300, 200, "symmetric")
    variance = found.var(ddof=1)
    noise = variance * (2 / 199) ** 0.5  # of a variance from 200 draws that are nearly normal
    assert variance - 4 * noise > spread.mean()


def test_one_ball_converges_on_a_cube() -> None:
    truth = smooth_cube(1).bayes_error
    small, large = (((one_ball(n, 60)[0] - truth) ** 2) for n in (100, 1600))
    # Theorem 4 at d = 1: N^-1, so a 16th. Of 60 squares of normal figures each mean is known to one part in sqrt(30).
    assert large.mean() < small.mean() / 16 * (1 + 4 * (2 / 30) ** 0.5)


def test_saving_is_of_paired_samples() -> None:
    rng = np.random.default_rng(0)
    other = rng.exponential(size=200)
    share, low, high = saving(0.9 * other, other)
    assert (share, low, high) == pytest.approx((0.1, 0.1, 0.1))
    share, low, high = saving(rng.exponential(size=200), other)
    assert low < share < high
    assert high - low > 0.2


def test_tests_named_in_the_theory_exist() -> None:
    root = Path(__file__).parents[2]
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (root / "docs" / "theory.md").read_text(encoding="utf-8"))
    assert len(named) > 15
    for file, test in named:
        assert f"def {test}(" in (root / file).read_text(encoding="utf-8"), (file, test)
