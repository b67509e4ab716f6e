"""
Pictures on axes of your own
============================

Every picture of the report can be drawn on axes of your own; the data behind it are in ``bayesfloor.frames``.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import bayesfloor as bf
from bayesfloor.frames import pairs_frame
from bayesfloor.plots import plot_estimates, plot_floor, plot_learning_curve, plot_pairs

X, y = bf.problems.get("mixture_10d").sample(800, random_state=0)
result = bf.estimate(X, y, effort="fast")
comparison = bf.compare(result, error=result.floor + 0.06, n_test=1500)
print(f"Floor {result.floor:.1%}; the model: {comparison.headline}")

# %%
# Four pictures in one figure:

figure, axes = plt.subplots(2, 2, figsize=(13, 7), layout="constrained")
plot_floor(result, comparison, ax=axes[0, 0])
plot_learning_curve(result, ax=axes[0, 1])
plot_estimates(result, ax=axes[1, 0])
plot_pairs(result, ax=axes[1, 1])

# %%
# The data, as a pandas frame:

print(pairs_frame(result).head())

# %%
# All of it as a page:

folder = Path(tempfile.mkdtemp(prefix="bayesfloor-"))
result.save(folder / "report.html", title="Four classes in ten dimensions", comparison=comparison, force=True)
print(f"Written: {folder.name}/report.html")
