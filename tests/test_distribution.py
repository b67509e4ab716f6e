"""What is in the wheel and in the source distribution: those in the folder DIST, or built here."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
LARGEST_WHEEL = 1_500_000
# What the wheel has besides Python: every file of it is read by something.
DATA = {
    "bayesfloor/data/README.md",
    "bayesfloor/data/penguins.csv",
    "bayesfloor/floor/floor_rule.json",
    "bayesfloor/floor/plan_costs.json",
    "bayesfloor/problems/problem_truths.json",
    "bayesfloor/py.typed",
}
TOP_OF_SDIST = {
    ".gitignore",
    "CHANGELOG.md",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "PKG-INFO",
    "README.md",
    "SECURITY.md",
    "VISION.md",
    "benchmarks",
    "docs",
    "examples",
    "pyproject.toml",
    "recipe",
    "reproduction",
    "src",
    "tests",
    "tutorials",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if "DIST" in os.environ:
        return Path(os.environ["DIST"])
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], check=True, cwd=ROOT)
    return folder


def test_wheel_has_the_package_and_nothing_else(folder: Path) -> None:
    (wheel,) = folder.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    about = f"bayesfloor-{VERSION}.dist-info"
    assert {name.partition("/")[0] for name in names} == {"bayesfloor", about}, "no tests, benchmarks, reproduction"
    source = {file.relative_to(ROOT / "src").as_posix() for file in (ROOT / "src" / "bayesfloor").rglob("*.py*")}
    code = {name for name in source if name.endswith((".py", ".pyi"))}
    templates = {name for name in names if name.startswith("bayesfloor/report/templates/")}
    assert templates == {
        file.relative_to(ROOT / "src").as_posix() for file in (ROOT / "src/bayesfloor/report/templates").iterdir()
    }
    assert {name for name in names if not name.startswith(about)} == code | DATA | templates
    assert {f"{about}/licenses/LICENSE", f"{about}/entry_points.txt", f"{about}/METADATA"} <= names
    assert wheel.stat().st_size < LARGEST_WHEEL


def test_wheel_tells_what_it_needs(folder: Path) -> None:
    (wheel,) = folder.glob("*.whl")
    text = zipfile.ZipFile(wheel).read(f"bayesfloor-{VERSION}.dist-info/METADATA").decode()
    needed = {match.lower().replace("_", "-") for match in re.findall(r"^Requires-Dist: ([\w.-]+)[^;\n]*$", text, re.M)}
    assert needed == {
        *("numpy", "scipy", "scikit-learn", "joblib", "numba", "threadpoolctl"),
        *("pandas", "matplotlib", "jinja2", "rich", "lazy-loader"),
    }


def test_source_distribution_has_what_builds_and_tests_it(folder: Path) -> None:
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    assert {name.partition("/")[0] for name in names} == TOP_OF_SDIST
    assert {"src/bayesfloor/__init__.pyi", "tests/conftest.py", "docs/conf.py", "examples/digits.py"} <= names
    leftovers = re.compile(r"__pycache__|^docs/(gallery|tutorial|evidence)/|^docs/reference/(api|command|doubts)/")
    assert [name for name in names if leftovers.search(name)] == []


def test_recipe_and_citation_say_the_same_as_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (ROOT / "recipe" / "meta.yaml").read_text(encoding="utf-8")
    assert f'{{% set version = "{VERSION}" %}}' in recipe
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    runs = recipe.partition("  run:\n")[2].partition("\ntest:")[0]
    listed = dict(re.findall(r"^    - ([\w-]+) (>=[\d.]+)$", runs, re.M))
    needed = dict(re.fullmatch(r"([\w-]+)(>=[\d.]+)", line).groups() for line in project["dependencies"])
    as_in_conda = {"matplotlib": "matplotlib-base", "lazy_loader": "lazy-loader"}
    assert listed == {"python": project["requires-python"], **{as_in_conda.get(n, n): v for n, v in needed.items()}}
