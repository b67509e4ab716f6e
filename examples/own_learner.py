"""
A learner of your own in the library
====================================

What no learner has found, the floor cannot see. Here the class is whether an odd number of six switches is on, and
there are twelve switches: in 600 rows that looks like noise. Whoever suspects something of the kind can say so.
"""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import bayesfloor as bf

rng = np.random.default_rng(0)
X = rng.integers(0, 2, size=(600, 12))
y = (X[:, :6].sum(axis=1) % 2) ^ (rng.random(600) < 0.1)  # one label in ten is wrong: the true floor is 10 %


def parities(X):
    """A column for every six switches: 1 if an even number of them is off, otherwise -1."""
    return np.column_stack([np.sign(X[:, six]).prod(axis=1) for six in combinations(range(X.shape[1]), 6)])


# Learners see each column less its median, in a unit of its spread; the scaler makes that -1 and 1 again.
own = make_pipeline(StandardScaler(), FunctionTransformer(parities), SelectKBest(k=1), LogisticRegression())
results = {
    "library": bf.estimate(X, y, effort="fast"),
    "library and own learner": bf.estimate(X, y, effort="fast", classifiers={"parities": own}),
}
print("Floor 10.0% by construction")
for name, result in results.items():
    print(f"{name}: {result.floor:.1%}, interval {result.interval}")

# %%
# The library by itself knows that it has found nothing: its interval says so. With the learner it is another answer.

figure, ax = plt.subplots(figsize=(7, 2.2), layout="constrained")
for place, result in enumerate(results.values()):
    ax.plot([100 * result.interval.low, 100 * result.interval.high], [place, place], color="tab:blue")
    ax.plot(100 * result.floor, place, "o", color="tab:blue")
ax.axvline(10, color="black", lw=1, ls=":")
ax.set_yticks(range(len(results)), list(results))
ax.set_ylim(-0.6, 1.6)
ax.set_xlabel("floor, %")
