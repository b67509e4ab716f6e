"""The map and the walk in CONTRIBUTING.md lead to files that are there, and that a real call goes through."""

import re
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayesfloor import estimate

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "bayesfloor"


def text() -> str:
    return (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_rooms_of_the_map_are_those_of_the_package() -> None:
    table = text().partition("## The map")[2].partition("### The walk")[0]
    named = {room for line in table.splitlines() if line.startswith("| `") for room in re.findall(r"`(\w+)/`", line)}
    rooms = {file.parent.name for file in SOURCE.glob("*/__init__.py")}
    assert named == rooms


@pytest.mark.usefixtures("two_learners", "without_pictures")
def test_the_walk_is_the_way_of_a_call(tmp_path: Path) -> None:
    walk = re.findall(r"^\d+\. `([\w/]+\.py)`", text(), flags=re.MULTILINE)
    assert 8 <= len(walk) <= 11
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    pd.DataFrame({"a": rng.normal(size=120) + y, "label": y}).to_csv(tmp_path / "x.csv", index=False)
    seen = set()

    def note(frame, event: str, _) -> None:
        if event == "call":
            seen.add(frame.f_code.co_filename)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        estimate(tmp_path / "x.csv", target="label", effort="fast", n_jobs=1).to_html()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert {str(SOURCE / file) for file in walk} <= seen
