"""
A learner of your own in the library
====================================

What no learner has found, the floor cannot see. Here the class changes sixty times along one column: with 500 rows
that looks like noise. Whoever suspects a period can say so, and the floor falls to where it belongs.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import bayesfloor as bf

rng = np.random.default_rng(0)
X = rng.uniform(0, 60, size=(500, 3))
y = (np.floor(X[:, 0]).astype(int) % 2) ^ (rng.random(500) < 0.1)  # the true floor is 10 %


def waves(X):
    """Sine and cosine with the period that is suspected."""
    return np.column_stack([np.sin(np.pi * X), np.cos(np.pi * X)])


own = make_pipeline(FunctionTransformer(waves), LogisticRegression())
results = {
    "library": bf.estimate(X, y, effort="fast"),
    "library and own learner": bf.estimate(X, y, effort="fast", classifiers={"waves": own}),
}
print("Floor 10.0% by construction")
for name, result in results.items():
    print(f"{name}: {result.floor:.1%}, interval {result.interval}")

# %%
# Errors of the single learners. Your own takes part in the race and in the pool like any other.

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
learners = sorted(results["library and own learner"].learners, key=lambda learner: learner.error)[:8]
names = [learner.plain_name for learner in learners]
ax.barh(names, [100 * learner.error for learner in learners])
ax.axvline(10, color="black", lw=1, ls=":")
ax.invert_yaxis()
ax.set_xlabel("error, %")
