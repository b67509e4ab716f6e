"""
When to stop training
=====================

A small network, 3,000 training rows, 2,000 for validation. Training stops once the model is at the floor and no
longer falls.
"""

import matplotlib.pyplot as plt
from sklearn.neural_network import MLPClassifier

import bayesfloor as bf

problem = bf.problems.get("gaussians_4d")
X, y = problem.sample(3000, random_state=0)
X_val, y_val = problem.sample(2000, random_state=1)

result = bf.estimate(X, y, effort="fast")
print(f"Floor {result.floor:.1%} {result.interval}, the truth is {problem.bayes_error:.1%}\n")

model = MLPClassifier(32, learning_rate_init=0.005, random_state=0)
stopping = bf.FloorStopping(result, min_delta=0.02)
for _ in range(200):
    model.partial_fit(X, y, classes=[0, 1])
    if stopping.update(1 - model.score(X_val, y_val), len(y_val)):
        break
print(stopping)

# %%
# The rounds up to the stop. After the first nine there is an upper limit of how far the error may still fall.

figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
rounds = range(1, len(stopping.history) + 1)
ax.plot(rounds, [100 * one.error for one in stopping.history], "o-", label="validation error")
ax.axhspan(100 * result.interval.low, 100 * result.interval.high, color="tab:green", alpha=0.2, lw=0)
ax.axhline(100 * result.floor, color="tab:green", label="floor")
ax.set_xlabel("round")
ax.set_ylabel("error, %")
ax.legend()
