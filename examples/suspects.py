"""
Rows whose label looks wrong
============================

Five per cent of the labels are swapped. Which rows should be looked at again first? The list is an order in which to
look, not a count of mistakes: a row that is ambiguous and one that is mislabelled look alike.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import bayesfloor as bf

X, truth = load_breast_cancer(return_X_y=True)
swapped = np.random.default_rng(0).choice(len(truth), size=28, replace=False)
y = truth.copy()
y[swapped] = 1 - y[swapped]

result = bf.estimate(X, y, effort="fast")
print(f"Floor with swapped labels: {result.floor:.1%}, {len(swapped)} of {len(y)} labels are wrong\n")
suspects = [row for row, _, _ in result.suspect_rows(n=None)]
print(f"{len(suspects)} rows are listed; {len(set(suspects) & set(swapped))} of the {len(swapped)} are among them")

# %%
# Swapped labels found, by how many rows of the list have been looked at. At random one would need nearly all rows.

found = np.cumsum(np.isin(suspects, swapped))
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.step(range(len(suspects) + 1), [0, *found], where="post", label="by suspect_rows")
ax.plot([0, len(y)], [0, len(swapped)], color="grey", ls=":", label="at random")
ax.axhline(len(swapped), color="tab:green", lw=1, label="all of them")
ax.set_xlim(0, 2 * len(swapped))
ax.set_xlabel("rows looked at")
ax.set_ylabel("swapped labels found")
ax.legend()
