"""
A check on your own data: label noise
=====================================

If a share of the labels is replaced at random, the floor rises along a line that is known exactly. An estimator that
cannot follow it should not be trusted on these data. The check needs no known floor.
"""

import matplotlib.pyplot as plt
import numpy as np

import bayesfloor as bf

X, y = bf.problems.get("moons").sample(500, random_state=0)
check = bf.noise_check(X, y, effort="fast")
print(f"Floor with the labels as they are: {check.clean.floor:.1%}\n")
print(check)

# %%
# The line, and the estimates with two standard errors of their distance from it.

figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
ax.plot([0, *check.rhos], 100 * np.array([check.clean.floor, *check.expected]), color="tab:green", label="exact line")
ax.errorbar(
    check.rhos,
    100 * np.array(check.estimated),
    yerr=200 * np.array(check.standard_errors),
    fmt="o",
    capsize=4,
    label="estimated",
)
ax.set_xlabel("share of labels replaced")
ax.set_ylabel("floor, %")
ax.set_title(f"verdict: {check.verdict}")
ax.legend()
