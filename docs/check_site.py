"""Look through the built site: python docs/check_site.py build/site.

Every link inside it leads somewhere, every picture is there, pages of the gallery have pictures, and every public name,
command and doubt's code has its page.
"""

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import generated_pages

ROOT = Path(__file__).parents[1]
_FEWEST_EXAMPLES = 12


class Page(HTMLParser):
    """Places in a page that links may lead to, and the links and pictures that it has."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note ids and addresses."""
        given = dict(attrs)
        self.places |= {place for place in (given.get("id"), given.get("name") if tag == "a" else None) if place}
        link = given.get("href" if tag in ("a", "link") else "src")
        if link:
            self.links.append(link)


def html_pages(site: Path) -> list[Path]:
    """All pages; templates among the theme's files are none."""
    return [file for file in site.rglob("*.html") if "_static" not in file.relative_to(site).parts]


def dead_links(site: Path) -> Iterator[str]:
    """Links to files or places that are not there."""
    pages = {file.resolve(): Page(file) for file in html_pages(site)}
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link == "#":
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            name = file.relative_to(site.resolve())
            if not target.is_file():
                yield f"{name}: {link}: no such file"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places:
                yield f"{name}: {link}: no such place on that page"


def missing_pages(site: Path) -> Iterator[str]:
    """Public names, commands and codes without a page that describes them."""
    api = site / "reference" / "api"
    for name, page in generated_pages.public_names().items():
        file = api / f"{page}.html"
        place = f"module-bayesfloor.{name}" if page.startswith("modules/") else f"bayesfloor.{name}"
        if not file.is_file() or place not in Page(file).places:
            yield f"bayesfloor.{name} has no page"
        elif not any(
            example in file.read_text(encoding="utf-8") for example in ("&gt;&gt;&gt;", "sphx-glr-thumbcontainer")
        ):
            yield f"the page of bayesfloor.{name} has no example"
    for name, parser in generated_pages.commands().items():
        file = site / "reference" / "command" / f"{name}.html"
        options = {
            option for action in parser._actions if action.help != "==SUPPRESS==" for option in action.option_strings
        }
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        yield from (f"the page of bayesfloor {name} lacks {option}" for option in sorted(options) if option not in text)
        if not text:
            yield f"bayesfloor {name} has no page"
    for code in generated_pages.SEVERITIES:
        if not (site / "reference" / "doubts" / f"{code}.html").is_file():
            yield f"the doubt {code} has no page"


def missing_pictures(site: Path) -> Iterator[str]:
    """Pages of the gallery and of the tutorial without a picture."""
    for folder, gallery in (("examples", "gallery"), ("tutorials", "tutorial")):
        scripts = sorted((ROOT / folder).glob("*.py"))
        if folder == "examples" and len(scripts) < _FEWEST_EXAMPLES:
            yield f"the gallery has {len(scripts)} examples, fewer than {_FEWEST_EXAMPLES}"
        for script in scripts:
            page = site / gallery / f"{script.stem}.html"
            if not page.is_file():
                yield f"{folder}/{script.name} has no page"
            elif not any("_images/sphx_glr_" in link and "thumb" not in link for link in Page(page).links):
                yield f"{gallery}/{script.stem}.html has no picture"


def main(site: Path) -> int:
    """Print what is wrong; 0 if nothing is."""
    wrong = [*dead_links(site), *missing_pages(site), *missing_pictures(site)]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    n_pages = len(html_pages(site))
    print(f"{site}: {n_pages} pages, {len(wrong) or 'no'} complaint{'' if len(wrong) == 1 else 's'}")
    return 1 if wrong or not n_pages else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
