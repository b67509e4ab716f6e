"""
Other class shares than in the data
===================================

In the sample one row in ten is of the rare class; where the model will be used, it may be every second. The floor
depends on the shares, and ``priors`` estimates it for those that you expect. Here the truth is known: two normal
distributions, two standard deviations apart.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

import bayesfloor as bf

rng = np.random.default_rng(0)
y = np.where(rng.random(1500) < 0.1, "rare", "common")
X = rng.normal(size=(len(y), 2))
X[y == "rare", 0] += 2


def true_floor(share):
    """The best cut is where both classes are equally likely."""
    cut = 1 + np.log((1 - share) / share) / 2
    return share * norm.cdf(cut - 2) + (1 - share) * norm.sf(cut)


shares = (0.1, 0.3, 0.5)
results = [bf.estimate(X, y, priors={"common": 1 - s, "rare": s}, effort="fast") for s in shares]
for share, result in zip(shares, results, strict=True):
    print(f"Floor if {share:.0%} are rare: {result.floor:.1%} {result.interval}, the truth is {true_floor(share):.1%}")

# %%
# ``priors="balanced"`` is short for equal shares.

grid = np.linspace(0.02, 0.98, 200)
figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
ax.plot(grid, 100 * true_floor(grid), color="black", lw=1, label="truth")
for share, result in zip(shares, results, strict=True):
    ax.plot([share, share], [100 * result.interval.low, 100 * result.interval.high], color="tab:blue")
ax.plot(shares, [100 * result.floor for result in results], "o", color="tab:blue", label="estimated")
ax.set_xlabel("share of the rare class")
ax.set_ylabel("floor, %")
ax.legend()
