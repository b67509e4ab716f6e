"""
More than one opinion per item
==============================

Where people have labelled the same items more than once, their disagreement says what features cannot: no classifier
agrees with the next opinion more often than the opinions allow. Two labels per item even give a lower limit that
holds for finite samples.
"""

import matplotlib.pyplot as plt
import numpy as np

import bayesfloor as bf

problem = bf.problems.get("mixture_2d")
X, _ = problem.sample(3000, random_state=0)
P = problem.posterior(X)  # what a crowd would say of each item
rng = np.random.default_rng(1)
votes = np.array([rng.multinomial(10, p) for p in P])
first, second = ((rng.random((len(P), 1)) > P.cumsum(axis=1)).sum(axis=1) for _ in range(2))

soft = bf.soft_label_error(P)
counted = bf.soft_label_error(votes, 10)
pairs = bf.repeated_label_bounds(first, second)
print(f"Floor {problem.bayes_error:.1%} exactly")
print(f"from class probabilities: {soft.error:.1%} {soft.interval}")
print(f"from ten votes per item: {counted.error:.1%} {counted.interval}; without a correction {counted.plain:.1%}")
print(f"from two labels per item: at least {pairs.lower:.1%}, at most {pairs.upper:.1%}")

# %%
# Each kind of label with what it allows to say.

figure, ax = plt.subplots(figsize=(8, 2.4), layout="constrained")
spans = {
    "two labels": (pairs.lower, pairs.upper),
    "ten votes": (counted.interval.low, counted.interval.high),
    "probabilities": (soft.interval.low, soft.interval.high),
}
for place, (low, high) in enumerate(spans.values()):
    ax.plot([100 * low, 100 * high], [place, place], lw=5, solid_capstyle="butt")
ax.axvline(100 * problem.bayes_error, color="black", lw=1, ls=":")
ax.set_yticks(range(3), list(spans))
ax.set_ylim(-0.6, 2.6)
ax.set_xlabel("floor, %")
