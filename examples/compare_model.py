"""
How far is a model from the floor?
==================================

Noisy digits of a seven-segment display, and two trees: one that is too small, and one that is not.
"""

from sklearn.tree import DecisionTreeClassifier

import bayesfloor as bf
from bayesfloor.plots import plot_floor

problem = bf.problems.get("led")
X, y = problem.sample(1000, random_state=0)
X_test, y_test = problem.sample(2000, random_state=1)

result = bf.estimate(X, y, effort="fast")
print(f"Floor {result.floor:.1%}, the truth is {problem.bayes_error:.1%}\n")

for depth in (4, 8):
    tree = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, y)
    comparison = bf.compare(result, y_true=y_test, y_pred=tree.predict(X_test))
    print(f"A tree of depth {depth}:")
    print(comparison, end="\n\n")

# %%
# Floor, ceiling and the larger tree on one scale:

plot_floor(result, comparison)

# %%
# A figure from elsewhere will do as well.

print(bf.compare(result, error=0.05, n_test=2000).sentence)
