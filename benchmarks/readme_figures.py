"""Put measured tables between their marks in the README: python benchmarks/readme_figures.py README.md."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
_ROWS = 7  # of the leaderboard
_SUMS = ("random problems", "teachers", "flat curves", "all")


def cells(path: Path) -> list[list[str]]:
    """Cells of the lines of a page that belong to tables."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def table(rows: list[list[str]], columns: tuple[int, ...]) -> str:
    """Some columns of rows, as a table."""
    return "\n".join("| " + " | ".join(row[j] for j in columns) + " |" for row in rows)


def leaderboard() -> str:
    """The head of the leaderboard."""
    return table(cells(ROOT / "docs" / "leaderboard.md")[: 2 + _ROWS], (0, 1, 2, 5, 6))


def families() -> str:
    """Accuracy on families and tables that the rule was not fitted to, in sums."""
    rows = cells(ROOT / "benchmarks" / "results" / "floor_rule.md")
    return table([*rows[:2], *(row for row in rows[2:] if row[0] in _SUMS)], (0, 1, 2, 3, 8, 9))


def put(readme: Path, name: str, text: str) -> None:
    """Rewrite what is between the marks of this name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    head, rest = readme.read_text(encoding="utf-8").split(begin)
    readme.write_text(f"{head}{begin}\n{text}\n{end}{rest.split(end)[1]}", encoding="utf-8")


if __name__ == "__main__":
    put(Path(sys.argv[1]), "leaderboard", leaderboard())
    put(Path(sys.argv[1]), "families", families())
