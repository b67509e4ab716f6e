"""Put the head of the leaderboard between its marks in the README: python benchmarks/readme_figures.py README.md."""

import sys
from pathlib import Path

_BEGIN, _END = "<!-- leaderboard: begin -->", "<!-- leaderboard: end -->"
_ROWS, _COLUMNS = 7, (0, 1, 2, 5, 6)


def main(readme: Path) -> None:
    """Rewrite the part between the marks."""
    page = (Path(__file__).parents[1] / "docs" / "leaderboard.md").read_text(encoding="utf-8")
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("|")]
    table = ["| " + " | ".join(row[j] for j in _COLUMNS) + " |" for row in cells[: 2 + _ROWS]]
    head, rest = readme.read_text(encoding="utf-8").split(_BEGIN)
    tail = rest.split(_END)[1]
    readme.write_text(f"{head}{_BEGIN}\n" + "\n".join(table) + f"\n{_END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
