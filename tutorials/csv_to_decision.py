"""
From a CSV file to a decision
=============================

Ten minutes. You have a table in a file and a model that errs a certain share of the time. Is it worth working on the
model, or is the rest noise? We take the penguins of the Palmer archipelago, whose sex is to be told from their
measurements. The file comes with bayesfloor.

On the command line the whole lesson is three lines:

.. code-block:: console

    $ bayesfloor estimate penguins.csv --target sex
    $ bayesfloor compare penguins.csv --target sex --error 0.18 --n-test 333
    $ bayesfloor report penguins.csv --target sex --error 0.18 --n-test 333 -o penguins.html
"""

# %%
# Read the table
# --------------
#
# Text, categories, dates and missing values are turned into numbers, and you are told how. Look at it: a column that
# gives the answer away, or a number that names the row, would make every figure below meaningless.

from importlib.resources import files

import bayesfloor as bf

path = files("bayesfloor") / "data" / "penguins.csv"
table = bf.read_table(str(path), target="sex")
print(table)

# %%
# Rows without a label are left out. A column that should not take part goes with ``drop=["year"]``, on the command
# line with ``--drop year``. A column whose type was not found out as you mean it gets it by
# ``dtypes={"year": "categorical"}``, on the command line with ``--categorical year``.
#
# Estimate the floor
# ------------------
#
# A library of unlike classifiers is trained and tested on rows that it has not seen. ``effort="fast"`` is enough for
# so small a table.

result = bf.estimate(table, effort="fast")
print(result)

# %%
# Read it from the top: the floor with its interval; the *ceiling*, which is certified; then what speaks against
# taking it at face value. A doubt of severity "serious" has to be put right first. Here they are again, by code:

for doubt in result.doubts:
    print(f"{doubt.severity}: {doubt.code}")

# %%
# Put your model beside it
# ------------------------
#
# Say that your model errs 18 % on 333 birds that it has not seen. Both figures are uncertain; ``compare`` counts both
# uncertainties and says what follows.

comparison = bf.compare(result, error=0.18, n_test=333)
print(comparison)

# %%
# On one scale:

from bayesfloor.plots import plot_floor

plot_floor(result, comparison)

# %%
# And a model that errs less?

print(bf.compare(result, error=result.floor + 0.01, n_test=333).sentence)

# %%
# Decide
# ------
#
# ``comparison.verdict`` is one of four:
#
# - *room*: the model is above the floor beyond doubt. Better models, tuning or more training can win up to the excess.
# - *at the floor*: no classifier on these columns does noticeably better. Look for other columns, or cleaner labels:
#   ``result.pairs()`` says which classes are taken for each other, ``result.suspect_rows()`` which labels to check
#   first.
# - *cannot tell*: the test or the table is too small, or the floor may be too high. The sentence says what would help.
# - *below the floor*: the floor was estimated too high, or test rows have leaked into training.
#
# The page to send around is ``result.save("penguins.html", comparison=comparison, table=table)``.
