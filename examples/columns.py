"""
What the columns are worth
==========================

A floor belongs to the columns. Which of them make it? Here the label is that of two columns together (the sign of their
product), a third tells a little by itself, a fourth is that one measured again, and the last is noise.
"""

import numpy as np
import pandas as pd

import bayesfloor as bf

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (800, 3))
together = np.sign(X[:, 0] * X[:, 1])
y = np.where(rng.random(800) < 1 / (1 + np.exp(-2.5 * together - 2 * X[:, 2])), "yes", "no")
frame = pd.DataFrame(X, columns=["left", "right", "third"])
frame["third again"] = frame["third"] + rng.normal(0, 0.1, 800)
frame["noise"] = rng.normal(size=800)

values = bf.column_values(frame, y, effort="fast")
print(f"Floor of all columns: {values.result.floor:.1%}\n")
print(values)

# %%
# What the floor loses without each column, with 95 % intervals.

values.plot()

# %%
# A column that knows the answer is golden: alone it is nearly as good as all of them. Ask where it comes from.

leaked = frame.assign(outcome=(y == "yes") ^ (rng.random(800) < 0.02))
print(bf.column_values(leaked, y, columns=["outcome", "left"], effort="fast"))

# %%
# Does a new column lower the floor? Both sets are estimated in the same folds, and errors are paired.

print(bf.compare_features(frame[["left", "third"]], frame[["left", "right", "third"]], y, effort="fast"))
