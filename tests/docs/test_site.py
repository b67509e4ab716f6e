"""The site: pages made from the code, and, where `make docs` has built it, what a reader sees in headless Chromium."""

import argparse
import re
import sys
from pathlib import Path

import pytest

import bayesfloor
import chromium
from bayesfloor.floor.doubts import SEVERITIES

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "site"
sys.path.insert(0, str(ROOT / "docs"))

import check_site  # noqa: E402
import generated_pages  # noqa: E402

built = pytest.mark.skipif(not (SITE / "index.html").is_file(), reason="no site: make docs builds it")
in_browser = pytest.mark.skipif(chromium.path() is None, reason="no Chromium: install it, or set CHROMIUM to its path")


def test_every_public_name_has_a_page() -> None:
    pages = dict(generated_pages.api_pages())
    for name in bayesfloor.__all__:
        (page,) = (page for page in pages if page.endswith(f"/{name}.rst"))
        assert pages[page].startswith(f"{name}\n==")
        assert f":doc:`{name} <{page.removesuffix('.rst')}>`" in pages["index.rst"]
    assert len({page.lower() for page in pages}) == len(pages), "some systems do not tell Plan from plan"


def test_every_command_has_a_page_with_all_its_options() -> None:
    from bayesfloor.cli.steps import STEPS

    pages = dict(generated_pages.command_pages())
    assert {*STEPS, "arena"} <= {page.removesuffix(".md") for page in pages}
    for name, parser in generated_pages.commands().items():
        for action in parser._actions:
            if action.help != argparse.SUPPRESS:
                assert all(f"`{option}" in pages[f"{name}.md"] for option in action.option_strings)
        assert f"({name}.md)" in pages["index.md"]


def test_every_doubt_has_a_page() -> None:
    pages = dict(generated_pages.doubt_pages())
    for code, severity in SEVERITIES.items():
        assert f"**Severity:** {severity}." in pages[f"{code}.md"]
        assert f"({code}.md)" in pages["index.md"]
    assert "| Collect more rows |" in pages["still-falling.md"], "with what the report advises"


def test_a_dead_link_a_missing_page_and_a_missing_picture_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="top">a</h1><a href="b.html#here">b</a><a href="b.html#gone">c</a><a href="c.html">d</a>'
        '<img src="no.png"><a href="https://example.org/x">e</a><a href="#top">f</a>'
    )
    (tmp_path / "b.html").write_text('<p id="here">b</p>')
    assert [line.split(": ")[1] for line in check_site.dead_links(tmp_path)] == ["b.html#gone", "c.html", "no.png"]
    assert "bayesfloor.estimate has no page" in list(check_site.missing_pages(tmp_path))
    assert "examples/digits.py has no page" in list(check_site.missing_pictures(tmp_path))
    assert check_site.main(tmp_path) == 1


@built
def test_built_site_is_whole() -> None:
    assert check_site.main(SITE) == 0


@built
@pytest.mark.parametrize("page", ["theory", "howto/paper_exactly"])
def test_formulas_need_no_network(page: str) -> None:
    file = SITE / f"{page}.html"
    scripts = re.findall(r'<script[^>]* src="([^"?]*)', file.read_text(encoding="utf-8"))
    (mathjax,) = (script for script in scripts if "mathjax" in script)
    assert (file.parent / mathjax).resolve().is_file()
    assert not any(script.startswith("http") for script in scripts)


@pytest.fixture(scope="module")
def browser():
    browser = chromium.Browser(chromium.path())
    yield browser
    browser.close()


PAGES = (
    "index",
    "tutorial/csv_to_decision",
    "tutorial/pictures",
    "tutorial/texts",
    "howto/groups",
    "gallery/index",
    "gallery/abstention",
    "gallery/digits",
    "reference/api/functions/estimate",
    "reference/command/estimate",
    "reference/doubts/index",
    "method",
    "explanation/glossary",
)


@built
@in_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("page", PAGES)
def test_pages_fit_and_are_silent(browser, page: str, width: int, scheme: str) -> None:
    browser.show(SITE / f"{page}.html", width, scheme=scheme)
    assert browser.run("document.documentElement.dataset.theme") == scheme
    assert browser.run("document.documentElement.scrollWidth <= innerWidth"), "the page does not scroll sideways"
    assert browser.run("[...document.images].every(image => image.complete && image.naturalWidth > 0)")
    assert browser.complaints() == []
    assert browser.requests() == [], "nothing is fetched from elsewhere"


@built
@in_browser
@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("noise_check", "reference/api/functions/noise_check.html"),
        ("still-falling", "reference/doubts/still-falling.html"),
        ("checkpoint", "howto/clusters.html"),
    ],
)
def test_search_finds(browser, words: str, page: str) -> None:
    browser.show(SITE / "search.html", 1280)
    browser.run(f"location.search = '?q=' + encodeURIComponent({words!r})")
    found = """new Promise(resolve => { const look = () => {
      const links = [...document.querySelectorAll('#search-results li a')].map(a => a.getAttribute('href'));
      const done = /found/.test(document.querySelector('.search-summary, #search-results p')?.textContent ?? '');
      links.length && done ? resolve(links) : setTimeout(look, 50); }; look(); })"""
    links = [re.sub(r"[?#].*", "", link) for link in wait_for(browser, found)]
    assert page in links
    assert browser.complaints() == []


def wait_for(browser, script: str):
    """Value of a promise in a page that may only just be loading."""
    for _ in range(50):
        try:
            return browser.run(script)
        except RuntimeError:  # the page before it has gone in the middle
            continue
    raise AssertionError("the page never came")
