"""
How many rows would be enough?
==============================

The learning curve of a model, carried on to the floor: how many rows does it need to come within a point? The
classes are two Gaussians in ten dimensions, whose floor is known.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import KNeighborsClassifier

import bayesfloor as bf

problem = bf.problems.get("gaussians_10d", shift=2)
X, y = problem.sample(2000, random_state=0)
X_test, y_test = problem.sample(5000, random_state=1)
result = bf.estimate(X, y, effort="fast")
print(f"Floor {result.floor:.1%}, the truth is {problem.bayes_error:.1%}\n")

# %%
# The same model, trained on more and more rows.

curve = []
for n in (60, 125, 250, 500, 1000):
    model = KNeighborsClassifier(n_neighbors=max(5, n // 25)).fit(X[:n], y[:n])
    curve.append((n, 1 - model.score(X_test, y_test), len(y_test)))
needed = bf.samples_needed(result, curve, within=0.01)
print(needed)

# %%
# The curve, the floor with its interval, and the line to be reached.

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
sizes, errors, _ = np.array(curve).T
ax.semilogx(sizes, 100 * errors, "o-", label="nearest neighbours")
ax.axhspan(100 * result.interval.low, 100 * result.interval.high, color="tab:green", alpha=0.2, lw=0)
ax.axhline(100 * result.floor, color="tab:green", label="floor")
ax.axhline(100 * (result.floor + needed.within), color="tab:green", ls=":", label="within a point")
ax.set_xlabel("training rows")
ax.set_ylabel("error, %")
ax.legend()
