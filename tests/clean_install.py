"""Install the wheel of a folder by itself in an environment of its own, and run the demo from outside the checkout.

python tests/clean_install.py dist
"""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

CHECK = """
import bayesfloor, sys
assert bayesfloor.__file__.startswith(sys.prefix), bayesfloor.__file__
bayesfloor.show_versions()
"""


def main(folder: Path) -> None:
    """Stop at the first command that fails."""
    (wheel,) = folder.resolve().glob("*.whl")
    with tempfile.TemporaryDirectory() as place:
        venv.create(Path(place) / "env", with_pip=True)
        programs = Path(place) / "env" / ("Scripts" if os.name == "nt" else "bin")
        surroundings = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

        def run(program: str, *arguments: str) -> None:
            subprocess.run([str(programs / program), *arguments], check=True, cwd=place, env=surroundings)

        run("python", "-m", "pip", "install", "--quiet", str(wheel))
        run("python", "-c", CHECK)
        run("bayesfloor", "demo", "--effort", "fast", "--quiet")
        page = Path(place) / "bayesfloor-demo.html"
        assert "</html>" in page.read_text(encoding="utf-8"), "the demo has written no report"
    print(f"{wheel.name}: installed by itself, and the demo runs")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
