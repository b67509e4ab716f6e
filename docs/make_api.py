"""Write the reference of all functions, from their docstrings: python docs/make_api.py FOLDER."""

import sys
from pathlib import Path

import pdoc

import bayesfloor


def main(folder: Path) -> None:
    """HTML pages, one per module that users meet."""
    for name in bayesfloor.__all__:  # names load on first use, and pdoc looks only at those that are there
        vars(bayesfloor)[name] = getattr(bayesfloor, name)
    pdoc.render.configure(docformat="numpy")
    pdoc.pdoc("bayesfloor", output_directory=folder)
    print(f"written: {folder / 'index.html'}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
