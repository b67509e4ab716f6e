"""Subgroups, costs, declining and metrics on the command line."""

import json

import pytest

from bayesfloor.cli.main import main


@pytest.fixture(scope="module")
def csv(tmp_path_factory):
    """A small table with a column of subgroups."""
    import numpy as np

    from bayesfloor import problems

    X, y = problems.get("gaussians_4d").sample(240, random_state=0)
    side = np.where(X[:, 0] > 1, "right", "left")
    rows = [
        f"{a:.4f},{b:.4f},{s},{'yes' if label else 'no'}" for (a, b), s, label in zip(X[:, :2], side, y, strict=True)
    ]
    path = tmp_path_factory.mktemp("parts") / "data.csv"
    path.write_text("\n".join(["a,b,side,label", *rows]) + "\n")
    return path


@pytest.fixture(scope="module")
def saved(csv, two_learners, tmp_path_factory):
    """What estimate --json prints, with all parts."""
    folder = tmp_path_factory.mktemp("saved")
    costs, out = folder / "costs.csv", folder / "floor.json"
    costs.write_text("decision,yes,no\nno,5,0\nyes,0,1\nask,0.3,0.3\n")
    asked = ["--by", "side", "--abstain", "--costs", str(costs), "--json", "-o", str(out)]
    assert main(["estimate", str(csv), "--target", "label", "--effort", "fast", "--quiet", *asked]) == 0
    return out


def test_estimate_has_all_parts(saved) -> None:
    about = json.loads(saved.read_text())
    assert about["cost"]["matrix"] == [[0.0, 5.0], [1.0, 0.0], [0.3, 0.3]]
    assert [group["name"] for group in about["by"]["groups"]] == ["left", "right"]
    assert about["abstention"]["points"][0]["share"] == 0.05


@pytest.mark.parametrize("command", ["metrics", "abstain"])
def test_saved_results_answer(command, saved, capsys) -> None:
    assert main([command, "--result", str(saved), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[{"metrics": "metrics", "abstain": "abstention"}[command]]
    assert main([command, "--result", str(saved)]) == 0
    assert "held-out" in (out := capsys.readouterr().out) or "Declining" in out


def test_shares_are_chosen(saved, capsys) -> None:
    assert main(["abstain", "--result", str(saved), "--shares", "0.1", "0.2"]) == 0
    assert capsys.readouterr().out.count("declines at most") == 2
    assert main(["abstain", "--result", str(saved), "--shares", "0.11"]) == 2
    assert "choose among" in capsys.readouterr().err


@pytest.mark.usefixtures("without_pictures")
def test_the_page_has_the_sections(csv, two_learners, tmp_path, capsys) -> None:
    page, predictions = tmp_path / "page.html", tmp_path / "preds.csv"
    predictions.write_text("y_pred\n" + "yes\n" * 240)
    asked = ["--by", "side", "--predictions", str(predictions), "-o", str(page), "--quiet"]
    assert main(["report", str(csv), "--target", "label", "--effort", "fast", *asked]) == 0
    text = page.read_text()
    for section in ("For whom: side", "If it may decline", "Other yardsticks", "room"):
        assert section in text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0,1\n1\n", "same length"),
        ("0,1\n1,x\n", "where a cost should be"),
        ("0,1,2\n1,0,2\n", "got shape"),
        ("a,b\n0,1\n1,0\n", "named like the classes"),
    ],
)
def test_bad_costs_take_one_line(content, message, csv, two_learners, tmp_path, capsys) -> None:
    costs = tmp_path / "costs.csv"
    costs.write_text(content)
    assert main(["estimate", str(csv), "--target", "label", "--effort", "fast", "--quiet", "--costs", str(costs)]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_bad_columns_and_files_take_one_line(csv, saved, capsys, tmp_path) -> None:
    assert main(["estimate", str(csv), "--target", "label", "--by", "age", "--quiet"]) == 2
    assert "no column 'age'" in capsys.readouterr().err
    assert main(["report", "--result", str(saved), "--by", "side"]) == 2
    assert "leave out --by" in capsys.readouterr().err
    assert main(["estimate", str(csv), "--target", "label", "--costs", str(tmp_path / "none.csv"), "--quiet"]) == 2
    assert "cannot be read" in capsys.readouterr().err
