"""Put measured figures between their marks in the README: python benchmarks/readme_figures.py README.md."""

import sys
from pathlib import Path

from bayesfloor.problems import names

ROOT = Path(__file__).parents[1]
DOCS, RESULTS = ROOT / "docs", ROOT / "benchmarks" / "results"
_OURS = ("oracle", "learned floor", "benchmark learner", "benchmark learner, paper's radii")


def cells(path: Path, heading: str = "") -> list[list[str]]:
    """Cells of the lines of a page, or of what is below a heading, that belong to tables."""
    text = path.read_text(encoding="utf-8")
    if heading:
        text = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def row_of(path: Path, name: str) -> list[str]:
    """The row of a page that begins with this name."""
    return next(row for row in cells(path) if row[0] == name)


def line(*values: str) -> str:
    """Of a table."""
    return f"| {' | '.join(values)} |"


def public(path: Path, about: str, kind: str | None = None) -> list[str]:
    """The learned floor on the public problems, and the best of the other estimators, where they were run."""
    rows = cells(path, (kind or "").capitalize())[2:]
    board = rows[: next((i for i, row in enumerate(rows) if row[0] == "problem"), None)]
    ours = next(row for row in board if row[0] == "learned floor")
    others = [row for row in board if row[0] not in _OURS]
    named = [(about, ours), *((f"the same, next best: {row[0]}", row) for row in others[:1])]
    return [line(name, str(len(names(kind))), row[1], row[2], row[6]) for name, row in named]


def grouped(path: Path, name: str, about: str) -> str:
    """A sum of problems that the rule was not fitted to."""
    row = row_of(path, name)
    return line(about, row[1], row[2], row[3], row[8])


def real() -> list[str]:
    """What is found on real tables, whose floor is not known but is at most what any classifier reaches."""
    rows = {row[0]: row[1].split(" of ") for row in cells(RESULTS / "real_tables.md")[2:6]}

    def held(name: str) -> str:
        wrong, n = map(int, rows[name])
        return f"{n - wrong} of {n} not provably wrong"

    low, n = rows["floor at most what is reached"]
    return [
        line("real tables, 500 to 5,000 rows", n, f"at most what is reached: {low}", "", held("provably wrong")),
        *(
            line(f"the same, {about}", n, "", "", held(f"provably wrong, {about}"))
            for about in ("20% of the labels replaced", "40% of the labels replaced")
        ),
    ]


def accuracy() -> str:
    """The table."""
    families, locked = RESULTS / "floor_rule.md", RESULTS / "floor_locked.md"
    return "\n".join(
        [
            line("", "problems", "mean abs. error", "x oracle", "95 % interval holds"),
            "|---" * 5 + "|",
            *public(DOCS / "leaderboard.md", "public problems, 1,500 rows"),
            *public(DOCS / "leaderboard_5000.md", "public problems, 5,000 rows"),
            *public(DOCS / "leaderboard_images_texts.md", "pictures, 1,500", "images"),
            *public(DOCS / "leaderboard_images_texts.md", "texts, 1,500", "texts"),
            grouped(families, "random problems", "random families, each left out"),
            grouped(families, "teachers", "teachers, each table left out"),
            grouped(families, "flat curves", "of both, where the learning curve is flat"),
            grouped(locked, "all", "locked families and tables"),
            *real(),
        ]
    )


def put(readme: Path, name: str, text: str) -> None:
    """Rewrite what is between the marks of this name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    head, rest = readme.read_text(encoding="utf-8").split(begin)
    readme.write_text(f"{head}{begin}\n{text}\n{end}{rest.split(end)[1]}", encoding="utf-8")


if __name__ == "__main__":
    put(Path(sys.argv[1]), "accuracy", accuracy())
