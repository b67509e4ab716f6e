"""From a file to a report: the Palmer penguins, with strings, categories and missing values."""

import tempfile
from importlib.resources import files
from pathlib import Path

import bayesfloor as bf

path = files("bayesfloor") / "data" / "penguins.csv"
table = bf.read_table(str(path), target="sex")
result = bf.estimate(table, effort="fast")
print(f"Floor of {table.name}: {result.floor:.1%}\n")
print(table)
print()
print(result)

page = Path(tempfile.mkdtemp(prefix="bayesfloor-")) / "penguins.html"
result.to_html(page, title="Which sex is the penguin?", table=table)
print(f"\nWritten: {page}")
