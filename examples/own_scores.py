"""
The floor of your own model's scores
====================================

What does a model keep of the data? The floor of its out-of-sample probabilities is estimated from the probabilities
and labels alone: nothing is trained. It cannot be lower than that of the features.
"""

import matplotlib.pyplot as plt
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

import bayesfloor as bf

problem = bf.problems.get("gaussians_10d", shift=2)
X, y = problem.sample(2000, random_state=0)

# Out-of-sample: each row is scored by a model that has not seen it.
scores = cross_val_predict(LogisticRegression(), X, y, cv=10, method="predict_proba")

result = bf.from_scores(scores, y)
print(f"Floor of the scores {result.floor:.1%}; that of the features is {problem.bayes_error:.1%}\n")
print(result)

# %%
# A model that has seen half of the columns has lost something, and its scores say how much.

less = cross_val_predict(LogisticRegression(), X[:, ::2], y, cv=10, method="predict_proba")
results = {"all columns": result, "every second column": bf.from_scores(less, y)}
figure, ax = plt.subplots(figsize=(7, 2.2), layout="constrained")
for place, one in enumerate(results.values()):
    ax.plot([100 * one.interval.low, 100 * one.interval.high], [place, place], color="tab:blue")
    ax.plot(100 * one.floor, place, "o", color="tab:blue")
ax.axvline(100 * problem.bayes_error, color="black", lw=1, ls=":")
ax.set_yticks(range(2), list(results))
ax.set_ylim(-0.6, 1.6)
ax.set_xlabel("floor of the scores, %")
