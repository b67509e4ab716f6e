"""
From a file to a report
=======================

The Palmer penguins, with strings, categories and missing values: which sex is the bird? On the command line the same
is ``bayesfloor report penguins.csv --target sex``.
"""

import tempfile
from importlib.resources import files
from pathlib import Path

import bayesfloor as bf
from bayesfloor.plots import plot_pairs

path = files("bayesfloor") / "data" / "penguins.csv"
table = bf.read_table(str(path), target="sex")
result = bf.estimate(table, effort="fast")
print(f"Floor of {table.name}: {result.floor:.1%}\n")
print(table)

# %%
# The answer in words, and what it rests on:

print(result)

# %%
# Which sex is taken for which?

plot_pairs(result)

# %%
# The page to send around is one file of HTML.

page = Path(tempfile.mkdtemp(prefix="bayesfloor-")) / "penguins.html"
result.save(page, title="Which sex is the penguin?", table=table, force=True)
print(f"Written: {page.name}")
