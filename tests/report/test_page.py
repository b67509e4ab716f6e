"""The page: complete, self-contained, small, and nothing of the user's text in it is markup."""

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

from bayesfloor import DataTypeError, ParameterError, estimate, from_scores, problems
from bayesfloor.floor._compare import compare
from bayesfloor.floor.doubts import SEVERITIES, Doubt
from bayesfloor.floor.result import FloorResult
from bayesfloor.report.advice import ADVICE, n_suspects, next_steps
from bayesfloor.report.page import render
from bayesfloor.utils.intervals import Bound, ConfidenceInterval

ATTACK = "<script>alert(1)</script>"
VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """Elements in order, text of each kind of element, and a check that all are closed."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, str] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.text[self.open[-1]] = self.text.get(self.open[-1], "") + data

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def result(two_learners) -> FloorResult:
    X, y = problems.get("mixture_2d").sample(300, random_state=1)
    return estimate(X, np.array([ATTACK, "b&b", "$c_1$"])[y], effort="fast", n_jobs=1)


@pytest.fixture(scope="module")
def table() -> SimpleNamespace:
    def column(name, **changes):
        values = {"kind": "numeric", "n_missing": 2, "n_distinct": 164, "use": "as it is", "note": ""}
        return SimpleNamespace(name=name, **{**values, **changes})

    columns = [column("x"), column(ATTACK, kind="categorical", note="rare values merged: " + ATTACK)]
    return SimpleNamespace(name=f"{ATTACK}.csv", rows=np.arange(300) * 2 + 1001, columns=columns)


@pytest.fixture(scope="module")
def page(result: FloorResult, table: SimpleNamespace) -> str:
    return render(result, comparison=compare(result, error=0.4, n_test=500), table=table)


def embedded(text: str) -> str:
    return re.search(r'<script type="application/json" id="result">(.*?)</script>', text, re.DOTALL)[1]


def check(text: str) -> Page:
    """What holds for every page."""
    page = Page(text)
    assert len(text.encode()) < 2_000_000
    rest = text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "http://" not in rest
    assert "https://" not in rest
    assert [a["href"] for a in page.all("link")] == ["data:,"]
    assert not page.all("img")
    assert not page.all("iframe")
    assert len(page.all("script")) == 3
    policy = next(a["content"] for a in page.all("meta") if a.get("http-equiv"))
    scripts = re.findall("<script>(.*?)</script>", text, re.DOTALL)
    sums = [b64encode(sha256(script.encode()).digest()).decode() for script in scripts]
    assert len(sums) == 2
    assert policy == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{sums[0]}' 'sha256-{sums[1]}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    identifiers = [a["id"] for _, a in page.elements if a.get("id")]
    assert len(identifiers) == len(set(identifiers))
    for _, attributes in page.elements:
        assert not any(name.startswith("on") for name in attributes)
        if attributes.get("aria-labelledby"):
            assert attributes["aria-labelledby"] in identifiers
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    assert used <= set(identifiers)
    headings = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(headings))
    assert all(a.get("role") == "img" and a.get("aria-label") for a in page.all("svg"))
    assert len(page.all("caption")) == len(page.all("table"))
    for tag in ("header", "main", "footer"):
        assert len(page.all(tag)) == 1
    return page


def test_page_is_well_formed_and_in_order(page: str, result: FloorResult) -> None:
    parsed = check(page)
    sections = [a["aria-labelledby"] for a in parsed.all("section")]
    assert sections == [
        "title",
        "rests",
        "curve",
        "estimates",
        "pairs",
        "declining",
        "metrics",
        "rows",
        "columns",
        "diagnostics",
        "next",
        "computed",
    ]
    assert f"{result.floor:.1%}" in parsed.text["dd"]
    assert "oom of" in parsed.text["p"]
    for part in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(part)


def test_hostile_text_stays_text(page: str) -> None:
    assert ATTACK not in page
    assert "alert(1)" in Page(page).text["td"]
    assert "\\u003cscript\\u003e" in embedded(page)
    assert "b&amp;b" in page
    assert "$c_1$" in page


def test_embedded_json_is_the_result(page: str, result: FloorResult) -> None:
    assert FloorResult.from_json(embedded(page)) == result
    assert result.classes[0] == "$c_1$"


@pytest.mark.usefixtures("without_pictures")
def test_rows_have_the_numbers_of_the_file(page: str, result: FloorResult, table: SimpleNamespace) -> None:
    body = page.split('id="hardest"')[1].split("</table>")[0]
    shown = [int(number) for number in re.findall(r'<tr><td class="n" data-name="row" data-value="(\d+)"', body)]
    assert shown == [int(table.rows[row]) for row, _ in result.hardest_rows(50)]
    plain = render(result).split('id="hardest"')[1].split("</table>")[0]
    shown = [int(number) for number in re.findall(r'<tr><td class="n" data-name="row" data-value="(\d+)"', plain)]
    assert shown == [row for row, _ in result.hardest_rows(50)]


@pytest.mark.usefixtures("without_pictures")
def test_numbers_of_rows_are_mapped_once(result: FloorResult, table: SimpleNamespace) -> None:
    numbered = replace(result, row_numbers=table.rows - 1)
    body = render(numbered, table=table).split('id="hardest"')[1].split("</table>")[0]
    shown = [int(number) for number in re.findall(r'<tr><td class="n" data-name="row" data-value="(\d+)"', body)]
    assert shown == [int(table.rows[at]) for at in result.hardest_positions(50)]
    assert [row + 1 for row, _ in numbered.hardest_rows(50)] == shown


@pytest.mark.usefixtures("without_pictures")
def test_learners_that_were_left_behind_are_named(result: FloorResult) -> None:
    page = render(replace(result, settings={**result.settings, "left_behind": ["additive", "linear"]}))
    assert "where they were hopeless: additive, linear." in page
    assert "hopeless" not in render(replace(result, settings={**result.settings, "left_behind": []}))


def test_widths_are_points(result: FloorResult) -> None:
    width = 100 * (result.interval.high - result.interval.low)
    wide = next(doubt for doubt in result.doubts if doubt.code == "wide-interval")
    assert re.fullmatch(r"the interval is ([\d.]+) points wide: .* to about [\d.]+ points", wide.sentence)
    assert f" {width:.1f} points wide" in wide.sentence
    assert 100 * wide.figures["width"] == pytest.approx(width)


@pytest.mark.usefixtures("without_pictures")
def test_titles_are_cleaned(result: FloorResult) -> None:
    page = check(render(result, title="caf\udce9\x1b[31m.csv" + "x" * 500))
    assert page.text["title"].startswith("caf\ufffd\ufffd[31m.csvxx")
    assert len(page.text["title"]) == 200


@pytest.mark.usefixtures("without_pictures")
def test_the_answer_does_not_contradict_itself(result: FloorResult) -> None:
    def said(pool: float, best: float) -> str:
        learner = replace(result.learners[0], name="kernel 0.3 1", learner="kernel", error=best)
        changed = replace(
            result, floor=0.264, learners=(learner,), evidence={**result.evidence, "error": pool}, ceiling=0.4
        )
        assert ("by the chance of these rows" in render(changed)) == (pool < 0.264)
        return str(changed)

    usual = said(0.28, 0.29)
    assert "pooled, err 28.0% on rows they had not seen; the best of them alone (kernel) 29.0%." in usual
    assert "0.3 1" not in usual
    lucky = said(0.28, 0.205)
    assert "pooled, err 28.0% on rows they had not seen." in lucky
    assert "20.5%" not in lucky
    both = said(0.25, 0.205)
    assert "err 25.0% on rows they had not seen: that is less than the floor by the chance of these rows" in both
    assert "20.5%" not in both
    assert all(score.plain_name == score.learner != "" for score in result.learners)


def test_results_of_scores_and_of_json(result: FloorResult) -> None:
    again = render(FloorResult.from_json(result.to_json()), title="A & B <i>")
    parsed = check(again)
    assert "A & B <i>" in parsed.text["h1"]
    assert "Single rows are not kept" in parsed.text["p"]
    assert not re.search('id="hardest"', again)
    problem = problems.get("gaussians_4d")
    X, y = problem.sample(300, random_state=0)
    of_scores = from_scores(problem.posterior(X), y)
    parsed = check(render(of_scores, comparison=compare(of_scores, error=0.02, n_test=5000)))
    assert "There is none" in parsed.text["p"]
    assert "Most likely the floor was estimated too high" in parsed.text["p"]


def test_large_results_stay_small(result: FloorResult) -> None:
    n, rng = 1000, np.random.default_rng(0)
    P = rng.random((5_000, n), dtype=np.float32)
    P /= P.sum(axis=1, keepdims=True)
    table = rng.random((n, n)) * result.floor * 2 / n**2
    large = replace(
        result,
        classes=tuple(f"{i} " + "x" * 300 for i in range(n)),
        priors=(1 / n,) * n,
        pair_error=tuple(map(tuple, table.tolist())),
        evidence={**result.evidence, "n_classes": n},
        yardsticks=(),
        posterior=P,
        labels=rng.integers(0, n, len(P)),
    )
    columns = [
        SimpleNamespace(name=f"c{i}" * 100, kind="numeric", n_missing=0, n_distinct=9, use="x", note="y" * 1000)
        for i in range(3000)
    ]
    text = render(large, table=SimpleNamespace(name="n" * 5000, rows=np.arange(len(P)), columns=columns))
    check(text)
    kept = FloorResult.from_json(embedded(text))
    assert (kept.floor, kept.classes, kept.pair_error) == (large.floor, large.classes, ())
    assert "would make the page too large" in text
    endless = replace(large, classes=tuple(f"{i} " + "x" * 30_000 for i in range(n)))
    text = render(endless)
    check(text)
    assert embedded(text) == "{}"
    check(render(kept))


def test_no_errors_at_all(result: FloorResult) -> None:
    none = replace(
        result,
        floor=0.0,
        interval=ConfidenceInterval(0.0, 0.01, 0.95),
        ceiling=0.02,
        pair_error=tuple((0.0,) * 3 for _ in range(3)),
    )
    text = render(none)
    check(text)
    assert "No pair of classes is mixed up" in text


@pytest.mark.usefixtures("without_pictures")
def test_contradictions_are_flagged(result: FloorResult) -> None:
    wrong = replace(result, bounds=(Bound("Cover-Hart", result.ceiling + 0.05, 0.9, "asymptotic"),))
    text = render(wrong)
    assert "1 of them contradict" in text
    assert "does not hold: its lower limit is above the ceiling" in text
    # What is known not to apply contradicts nothing.
    text = render(replace(wrong, bounds=tuple(replace(bound, applies=False) for bound in wrong.bounds)))
    assert "contradict" not in text
    assert "does not hold: its lower limit" not in text


def test_the_same_page_each_time(result: FloorResult) -> None:
    assert result.to_html() == result.to_html()


@pytest.mark.usefixtures("without_pictures")
def test_save_writes_whole_files(result: FloorResult, tmp_path) -> None:
    path = tmp_path / "report.html"
    assert result.save(path) == path
    assert path.read_text(encoding="utf-8") == result.to_html()
    with pytest.raises(ParameterError, match="exists already"):
        result.save(path, title="again")
    assert path.read_text(encoding="utf-8") == result.to_html()
    path.write_text("<html>mine</html>")
    with pytest.raises(ParameterError, match="exists already"):
        result.save(path)
    assert path.read_text() == "<html>mine</html>"
    result.save(path, title="other", force=True)
    assert "<title>other</title>" in path.read_text(encoding="utf-8")
    with pytest.raises(ParameterError, match="does not exist"):
        result.save(tmp_path / "nowhere" / "report.html")
    with pytest.raises(DataTypeError, match="what compare returns"):
        result.save(tmp_path / "b.html", comparison=0.1)
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_advice_follows_the_result(result: FloorResult) -> None:
    def advised(changed: FloorResult, comparison=None) -> str:
        return " | ".join(what for what, _ in next_steps(changed, comparison))

    calm = replace(result, doubts=(), posterior=np.eye(3)[result.labels])
    certain = replace(calm, interval=ConfidenceInterval(calm.floor - 0.005, calm.floor + 0.005, 0.95))
    assert n_suspects(calm) == 0
    assert "Put your model on the scale" in advised(calm)
    assert "Work on the model" in advised(calm, compare(certain, error=calm.floor + 0.2, n_test=5000))
    assert "Stop tuning" in advised(calm, compare(certain, error=calm.floor, n_test=5000))
    assert "clearer answer" in advised(calm, compare(certain, error=calm.floor, n_test=50))
    assert "which of the two is wrong" in advised(calm, compare(certain, error=calm.floor / 4, n_test=5000))
    falling = replace(certain, doubts=(Doubt("still-falling", "caution", {}, "in any words"),))
    near = advised(falling, compare(falling, error=calm.floor, n_test=5000))
    assert "Go on while the model still gains" in near
    [what, why] = next_steps(falling, compare(falling, error=calm.floor, n_test=50))[0]
    assert "clearer answer" in what
    assert "The floor itself may be too high" in why
    assert "Stop tuning" not in near
    assert "labels" not in advised(calm)
    wrong = np.eye(3)[result.labels]
    wrong[:3] = np.roll(wrong[:3], 1, axis=1)
    assert n_suspects(replace(calm, posterior=wrong)) == 3
    assert "labels that look wrong" in advised(replace(calm, posterior=wrong))
    one_pair = np.zeros((3, 3))
    one_pair[0, 1] = result.floor
    assert f"Tell {result.classes[0]} from {result.classes[1]}" in advised(
        replace(calm, pair_error=tuple(map(tuple, one_pair.tolist())))
    )


FALL = {"half_error": 0.25, "error": 0.2}
ALL_USED = {"training_rows": 2_000, "training_rows_possible": 2_000, "all_rows_used": True}
PART_USED = {"training_rows": 2_000, "training_rows_possible": 32_000, "all_rows_used": False}
MOST_USED = {"training_rows": 50_000, "training_rows_possible": 50_000, "all_rows_used": False}  # of a million


@pytest.mark.parametrize(
    ("code", "figures", "others", "expected"),
    [
        ("scores-of-training-rows", {}, (), ["Score rows that the model has not seen"]),
        ("still-falling", {**FALL, **ALL_USED}, (), ["Collect more rows"]),
        ("still-falling", {**FALL, **PART_USED}, (), ["Train on more of the rows: effort='thorough'"]),
        ("still-falling", {**FALL, **MOST_USED}, (), []),  # nothing here trains on more
        ("still-falling", {"half_error": 0.205, "error": 0.2, **ALL_USED}, (), []),  # hardly falls
        ("wide-interval", {"width": 0.1, "width_with_more": 0.05}, (), ["Narrow the interval"]),
        ("wide-interval", {"width": 0.1, "width_with_more": None}, (), []),  # nothing narrows it
        # The curve says the same.
        ("wide-interval", {"width": 0.1, "width_with_more": 0.05}, ("still-falling",), ["Collect more rows"]),
        ("few-rows-per-column", {}, (), ["Leave out columns"]),
        ("few-rows-in-class", {"class": 2, "rows": 20}, (), ["Get more rows of the rare class"]),
        ("few-rows-in-class", {"class": 0, "rows": 20}, (), []),  # loses nothing
        ("rare-class", {"class": 2}, (), ["Ask for the floor of all classes alike"]),
        ("floor-of-scores", {}, (), ["Estimate from the features as well"]),
        ("floor-of-scores", {}, ("scores-of-training-rows",), ["Score rows that the model has not seen"]),
        ("bound-above-ceiling", {}, (), []),
        ("no-ceiling", {}, (), []),
    ],
)
def test_advice_is_given_where_it_helps(
    result: FloorResult, code: str, figures: dict, others: tuple, expected: list[str]
) -> None:
    # Class 2 and class 1 make the floor between them.
    calm = replace(
        result,
        floor=0.1,
        interval=ConfidenceInterval(0.05, 0.15, 0.95),
        classes=(0, 1, 2),
        pair_error=((0.0, 0.0, 0.0), (0.0, 0.0, 0.05), (0.0, 0.05, 0.0)),
        posterior=np.eye(3)[result.labels],
        doubts=(),
    )
    doubts = (Doubt(code, "caution", figures, "words"), *(Doubt(other, "caution", {}, "words") for other in others))
    usual = [what for what, _ in next_steps(calm)]
    found = [what for what, _ in next_steps(replace(calm, doubts=doubts)) if what not in usual]
    assert found == expected


def test_few_rows_per_column_with_a_narrow_interval_asks_for_nothing(result: FloorResult) -> None:
    doubts = (Doubt("few-rows-per-column", "caution", {}, "words"),)
    narrow = replace(result, interval=ConfidenceInterval(result.floor - 0.01, result.floor + 0.01, 0.95), doubts=doubts)
    assert "Leave out columns" not in [what for what, _ in next_steps(narrow)]


def test_the_manual_lists_all_advice() -> None:
    manual = (Path(__file__).parents[2] / "docs" / "method.md").read_text(encoding="utf-8")
    table = manual.partition("| code | given if | advice |\n|---|---|---|\n")[2].partition("\n\n")[0]
    assert table.splitlines() == [f"| `{advice.code}` | {advice.condition} | {advice.what} |" for advice in ADVICE]
    assert {advice.code for advice in ADVICE} <= set(SEVERITIES)


@pytest.mark.usefixtures("without_pictures")
def test_rewording_a_doubt_changes_nothing_else(result: FloorResult) -> None:
    doubts = tuple(Doubt(code, severity, {}, f"words of {code}") for code, severity in SEVERITIES.items())
    said = replace(result, doubts=doubts)
    reworded = replace(result, doubts=tuple(replace(doubt, sentence="quite different") for doubt in doubts))
    assert next_steps(said) == next_steps(reworded)
    assert len(next_steps(said)) > len(next_steps(replace(result, doubts=())))
    before, after = render(said), render(reworded)
    items = re.findall(r'<li data-code="([a-z-]+)" data-severity="([a-z]+)">', before)
    assert sorted(items) == sorted(SEVERITIES.items())
    severities = [severity for _, severity in items]
    assert severities == sorted(severities, key=["serious", "caution", "note"].index)
    for code in SEVERITIES:
        before = before.replace(f"words of {code}", "quite different")
    assert before == after


def test_what_is_not_installed_is_named(result: FloorResult, monkeypatch) -> None:
    monkeypatch.setattr("bayesfloor.report.page.find_spec", lambda name: None)
    with pytest.raises(ParameterError, match="needs jinja2 and matplotlib: pip install jinja2 matplotlib"):
        result.to_html()
