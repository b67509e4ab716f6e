"""The report as a reader sees it, in headless Chromium; skipped where there is none."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import chromium
from bayesfloor import estimate, problems
from bayesfloor.floor._compare import compare
from bayesfloor.report.page import render

pytestmark = pytest.mark.skipif(
    chromium.path() is None, reason="no Chromium: install Debian's package chromium, or set CHROMIUM to its path"
)

ATTACK = "<script>document.title = 'taken'</script><img src=x onerror=\"document.title = 'taken'\">"
WIDTHS = (320, 360, 390, 1280)


@pytest.fixture(scope="module")
def browser():
    browser = chromium.Browser(chromium.path())
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def page(two_learners, tmp_path_factory):
    """A page with the labels and names that a reader might meet at worst."""
    X, y = problems.get("mixture_2d").sample(300, random_state=1)
    labels = np.array([ATTACK, "unbroken" * 40, "$c_1$"])[y]
    result = estimate(X, labels, effort="fast", n_jobs=1, costs=np.vstack([1 - np.eye(3), [0.2, 0.3, 0.4]]))
    by = result.by(pd.Series(np.roll(labels, 1), name=ATTACK), predictions=labels)
    columns = [
        SimpleNamespace(name=name, kind="numeric", n_missing=0, n_distinct=9, use="as it is", note=name)
        for name in (ATTACK, "wide" * 60, "x")
    ]
    frame = pd.DataFrame({ATTACK: ["wide" * 20] * 300, **{f"a column {j}": X[:, 0] for j in range(20)}})
    table = SimpleNamespace(name=f"{'long' * 40}.csv", rows=np.arange(300) + 1, columns=columns, frame=frame)
    path = tmp_path_factory.mktemp("page") / "report.html"
    comparison = compare(result, error=0.4, n_test=500)
    path.write_text(render(result, comparison=comparison, table=table, by=by), encoding="utf-8")
    return path


def column(browser, table: str, number: int) -> list[float]:
    cells = f"[...document.querySelectorAll('#{table} tbody tr')].map(r => Number(r.cells[{number}].dataset.value))"
    return list(browser.run(cells))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_fits_and_is_silent(browser, page, width: int, scheme: str) -> None:
    browser.show(page, width, scheme=scheme)
    browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    # Nothing that does not scroll by itself sticks out.
    wide = """[...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll') && !e.closest('svg'))
      .filter(e => e.getBoundingClientRect().right > innerWidth + 1).length"""
    assert browser.run(wide) == 0
    # Nor does a table of rows have to be scrolled sideways: its right column would be lost.
    lost = """[...document.querySelectorAll('#hardest, #suspects, .records')]
      .filter(t => t.scrollWidth > t.parentNode.clientWidth + 1
      || [...t.querySelectorAll('td, th')].some(c => c.getBoundingClientRect().right > innerWidth + 1)).length"""
    assert browser.run(lost) == 0
    assert browser.run("document.querySelectorAll('section').length") == 14
    assert browser.complaints() == []
    assert browser.requests() == []


def test_short_words_are_not_broken(browser, page) -> None:
    # A word breaks if it takes more than one line; names and labels of the user's may.
    browser.show(page, 390)
    browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    broken = """[...document.querySelectorAll('th button, td:not(.label):not(.why)')].filter(cell => {
      const text = [...cell.childNodes].find(n => n.nodeType === 3 && n.data.trim() && !/[\\s-]/.test(n.data.trim()));
      if (!text) return false;
      const range = document.createRange();
      range.selectNodeContents(text);
      return range.getClientRects().length > 1;
    }).map(cell => cell.textContent)"""
    assert browser.run(broken) == []


def test_noise_would_be_noticed(browser, tmp_path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text("<!DOCTYPE html><img src='http://127.0.0.1:9/x.png'><script>console.error('loud')</script>")
    browser.show(bad, 360)
    assert browser.requests() == ["http://127.0.0.1:9/x.png"]
    assert any("loud" in complaint for complaint in browser.complaints())


def test_pictures_suit_the_width(browser, page) -> None:
    shown = "[...document.querySelectorAll('figure svg')].filter(s => s.getBoundingClientRect().width > 0)"
    smallest = f"""Math.min(...{shown}.map(s => s.getBoundingClientRect().width / s.viewBox.baseVal.width
      * Math.min(...[...s.querySelectorAll('text')].map(t => parseFloat(getComputedStyle(t).fontSize)))))"""
    for width in WIDTHS:
        browser.show(page, width)
        assert browser.run(f"{shown}.length") == 6
        assert browser.run(smallest) >= 7.5, f"letters too small at {width}"


@pytest.mark.parametrize("width", [390, 1280])
def test_no_row_is_cut_in_half(browser, page, width: int) -> None:
    browser.show(page, width)
    cut = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollHeight > e.clientHeight + 1).length"
    rows = "[...document.querySelectorAll('#hardest tbody tr')].filter(r => r.offsetHeight > 0).length"
    assert browser.run(cut) == 0
    assert browser.run(rows) == 10
    browser.run("document.querySelector('#hardest').parentNode.nextElementSibling.click()")
    assert browser.run(rows) == 50
    browser.run("document.querySelectorAll('#hardest th button')[4].click()")
    browser.run("document.querySelector('#hardest').parentNode.nextElementSibling.click()")
    shown = "[...document.querySelectorAll('#hardest tbody tr')].filter(r => r.offsetHeight).map(r => r.rowIndex)"
    assert browser.run(shown) == list(range(1, 11)), "the first ten of the new order"
    browser.show(page, width, media="print")
    assert browser.run(rows) == 50


@pytest.mark.parametrize("width", [390, 1280])
def test_legends_do_not_cover_curves(browser, page, width: int) -> None:
    browser.show(page, width)
    shown = "[...document.querySelectorAll('section[aria-labelledby=curve] svg')].find(s => s.clientWidth > 0)"
    covered = f"""(() => {{
      const svg = {shown};
      const legend = svg.querySelector('[id*="-legend_"]').getBoundingClientRect();
      const curves = [...svg.querySelectorAll('[id*="-line2d_"] path')].filter(p => !p.closest('[id*="-legend_"]'))
        .filter(p => p.getTotalLength() > 40);
      return curves.some(p => {{
        const matrix = p.getScreenCTM();
        for (let at = 0; at <= p.getTotalLength(); at += 2) {{
          const point = p.getPointAtLength(at).matrixTransform(matrix);
          const inside = point.x > legend.left && point.x < legend.right;
          if (inside && point.y > legend.top && point.y < legend.bottom) return true;
        }}
        return false;
      }});
    }})()"""
    assert browser.run(covered) is False


def test_doubts_are_listed_at_the_top(browser, page) -> None:
    browser.show(page, 390)
    assert browser.run("document.querySelectorAll('#answer .doubts li').length") > 0
    assert browser.run("document.querySelectorAll('[data-code]').length") == browser.run(
        "document.querySelectorAll('#answer [data-code]').length"
    )


def test_hostile_text_stays_text(browser, page) -> None:
    browser.show(page, 1280)
    assert browser.run("document.title").startswith("The floor of longlong")
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert browser.run("document.querySelectorAll('script').length") == 3
    assert browser.run("document.querySelector('main').innerText.includes('<script>document.title')")
    assert browser.run("JSON.parse(document.getElementById('result').textContent).classes.length") == 3


def test_tables_sort_by_mouse_and_keyboard(browser, page) -> None:
    browser.show(page, 1280)
    before = column(browser, "hardest", 0)
    browser.run("document.querySelector('#hardest th button').click()")
    assert column(browser, "hardest", 0) == sorted(before) != before
    assert browser.run("document.querySelector('#hardest th').getAttribute('aria-sort')") == "ascending"
    browser.run("document.querySelector('#hardest th button').focus()")
    browser.press("Enter")
    assert column(browser, "hardest", 0) == sorted(before, reverse=True)
    assert browser.run("document.querySelector('#hardest th').getAttribute('aria-sort')") == "descending"
    browser.run("document.querySelectorAll('#hardest th button')[4].click()")
    doubts = column(browser, "hardest", 4)
    assert doubts == sorted(doubts)
    assert browser.run("document.querySelectorAll('#hardest [aria-sort]').length") == 1
    labels = "[...document.querySelectorAll('#hardest tbody tr')].map(r => r.cells[1].textContent)"
    browser.run("document.querySelectorAll('#hardest th button')[1].click()")
    assert browser.run(f"{labels}.every((t, i, all) => !i || all[i - 1].localeCompare(t) <= 0)")
    assert browser.complaints() == []


def brightness(browser, what: str, name: str = "color") -> float:
    colour = browser.run(f"getComputedStyle(document.querySelector('{what}')).{name}")
    return sum(map(float, colour[colour.index("(") + 1 : -1].split(",")[:3])) / 3


def test_dark_mode_by_system_and_by_button(browser, page) -> None:
    text = "figure .wide svg text"
    browser.show(page, 1280, scheme="light")
    browser.run("localStorage.clear()")
    browser.show(page, 1280, scheme="light")
    assert brightness(browser, "body", "backgroundColor") > 240
    assert brightness(browser, text, "fill") < 120
    browser.show(page, 1280, scheme="dark")
    assert brightness(browser, "body", "backgroundColor") < 40
    assert brightness(browser, text, "fill") > 120
    browser.run("document.getElementById('theme').click()")
    assert brightness(browser, "body", "backgroundColor") > 240
    browser.run("document.getElementById('theme').click()")
    assert brightness(browser, "body", "backgroundColor") < 40
    browser.show(page, 1280, scheme="light")  # what was chosen is remembered
    assert brightness(browser, "body", "backgroundColor") < 40
    browser.show(page, 1280, scheme="dark", media="print")
    assert brightness(browser, "body", "backgroundColor") == 255
    assert brightness(browser, "body") == 0
    browser.run("localStorage.clear()")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(browser, page, scheme: str) -> None:
    # WCAG 2.1 AA: 4.5 for text, against the page and the cards.
    browser.show(page, 1280, scheme=scheme)
    ratio = """(() => {
      const style = getComputedStyle(document.documentElement);
      const light = name => {
        const hex = style.getPropertyValue(name).trim();
        const [r, g, b] = [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16) / 255)
          .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      return Math.min(...['--ink', '--muted', '--accent', '--model', '--alarm'].flatMap(ink => ['--page', '--card']
        .map(paper => [light(ink), light(paper)].sort((a, b) => b - a)).map(([a, b]) => (a + 0.05) / (b + 0.05))));
    })()"""
    assert browser.run(ratio) >= 4.5
