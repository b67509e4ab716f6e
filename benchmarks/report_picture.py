"""Picture of a report, for the README: the first screens of the page in headless Chromium.

python benchmarks/report_picture.py [--html FILE] [--out docs/report.png]

Without --html a report is made of simulated data: digits of a seven-segment display, one segment in ten wrong.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sklearn.tree import DecisionTreeClassifier

from bayesfloor import estimate, problems
from bayesfloor.floor._compare import compare

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def write_report(path: Path) -> None:
    """Report of the digits, with a decision tree as the user's model."""
    problem = problems.get("led")
    X, y = problem.sample(2000, random_state=0)
    X_test, y_test = problem.sample(2000, random_state=1)
    result = estimate(X, y)
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    comparison = compare(result, y_true=y_test, y_pred=tree.predict(X_test))
    result.save(path, title="The floor of a noisy digital display", comparison=comparison, force=True)


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--html", type=Path, help="an existing report")
    parser.add_argument("--out", type=Path, default=Path("docs/report.png"))
    parser.add_argument("--size", default="1280,700", help="width,height in pixels (1280,700)")
    options = parser.parse_args()
    browser = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit("there is no Chromium: install it, or set CHROMIUM to its path")
    with tempfile.TemporaryDirectory() as folder:
        page = options.html or Path(folder) / "report.html"
        if options.html is None:
            write_report(page)
        command = [
            browser,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--window-size={options.size}",
            f"--screenshot={options.out.resolve()}",
            page.resolve().as_uri(),
        ]
        subprocess.run(command, check=True, timeout=120, stderr=subprocess.DEVNULL)
    print(f"{options.out}: {options.out.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
