"""
If the model may decline
========================

A model that hands the hardest cases to a person errs less on the others. How much less could any model err, and how
many cases would that take? Two overlapping classes, whose floor is known: 15.9 %.
"""

import bayesfloor as bf

problem = bf.problems.get("gaussians_4d")
X, y = problem.sample(3000, random_state=0)
result = bf.estimate(X, y, effort="fast")
print(f"Floor {result.floor:.1%}; the truth is {problem.bayes_error:.1%}")

# %%
# The line is the lowest error on the cases that are accepted, an estimate with its band. Squares are certified, all of
# them together: a rule declines no larger a share, and errs no more often.

curve = result.abstention()
print(curve)
curve.plot()

# %%
# Other shares, as a table:

print(result.abstention(shares=[0.02, 0.1, 0.25]))
