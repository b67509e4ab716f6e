"""
A problem whose floor is known
==============================

25 problems come with their exact posterior: to test an estimator, or to see what a floor is. Two half-moons with
noise: where they overlap, even someone who knows the distribution has to guess.
"""

import matplotlib.pyplot as plt
import numpy as np

import bayesfloor as bf

problem = bf.problems.get("moons")
X, y = problem.sample(600, random_state=0)
result = bf.estimate(X, y, effort="fast")
print(f"Floor of {problem}")
print(f"estimated from {len(y)} rows: {result.floor:.1%}, interval {result.interval}")
print(f"errors of the best possible classifier on these rows: {problem.oracle_error(X, y):.1%}")

# %%
# The probability of being wrong, if one answers as well as can be. Its mean is the floor.

(left, low), (right, high) = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
across, up = np.meshgrid(np.linspace(left, right, 240), np.linspace(low, high, 160))
doubt = 1 - problem.posterior(np.column_stack([across.ravel(), up.ravel()])).max(axis=1)
figure, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
image = ax.pcolormesh(across, up, 100 * doubt.reshape(across.shape), cmap="magma_r", shading="auto")
ax.scatter(*X.T, c=y, cmap="coolwarm", s=8, edgecolors="white", linewidths=0.3)
figure.colorbar(image, label="chance that the best answer is wrong, %")
