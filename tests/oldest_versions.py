"""Print pyproject.toml's lower bounds as constraints of pip: numpy>=1.26 becomes numpy==1.26.*

Of what users install, and of what the tests read with it; test runners may be new.
"""

import re
import tomllib
from itertools import chain
from pathlib import Path

RUNNERS = {"pytest", "pytest-xdist", "hypothesis", "hatchling"}

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
asked = chain(
    project["project"]["dependencies"],
    *project["project"]["optional-dependencies"].values(),
    project["dependency-groups"]["test"],
)
bounds = (re.fullmatch(r"([\w-]+)(?:\[.*\])?>=([\d.]+)", requirement) for requirement in asked)
print(*sorted({f"{found[1]}=={found[2]}.*" for found in bounds if found and found[1] not in RUNNERS}), sep="\n")
