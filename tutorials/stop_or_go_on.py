"""
From a model to "stop or go on"
===============================

Ten minutes. You are training a model and wonder when to stop: too early, and you leave something on the table; too
late, and you pay for nothing. Here the data are drawn from two overlapping classes, so that the right answer is
known.
"""

# %%
# Before you train: the floor
# ---------------------------
#
# 3,000 rows to train on, and 3,000 for validation. The floor is estimated from the training rows alone.

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier

import bayesfloor as bf

problem = bf.problems.get("gaussians_4d")
X, y = problem.sample(3000, random_state=0)
X_val, y_val = problem.sample(3000, random_state=1)

result = bf.estimate(X, y, effort="fast")
print(f"Floor {result.floor:.1%}, interval {result.interval}; the truth is {problem.bayes_error:.1%}")

# %%
# Is the validation set large enough?
# -----------------------------------
#
# The rule stops if the model is within ``min_delta`` of the floor. How many rows does it take to see that?

from bayesfloor.stopping import validation_rows_needed

min_delta = 0.02
print(validation_rows_needed(result, min_delta=min_delta))

# %%
# Train, and ask after each round
# -------------------------------
#
# ``update`` takes the error and the number of rows it was counted on. It asks for more than a small error: three
# rounds in a row near the floor, and a curve that no longer falls, since a floor may have been estimated too high.

model = MLPClassifier(32, learning_rate_init=0.005, random_state=0)
stopping = bf.FloorStopping(result, min_delta=min_delta)
for _ in range(200):
    model.partial_fit(X, y, classes=[0, 1])
    if stopping.update(1 - model.score(X_val, y_val), len(y_val)):
        break
print(stopping)

# %%
# The rounds up to the stop:

import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
rounds = range(1, len(stopping.history) + 1)
ax.plot(rounds, [100 * one.error for one in stopping.history], "o-", label="validation error")
ax.axhspan(100 * result.interval.low, 100 * result.interval.high, color="tab:green", alpha=0.2, lw=0)
ax.axhline(100 * result.floor, color="tab:green", label="floor")
ax.set_xlabel("round")
ax.set_ylabel("error, %")
ax.legend()

# %%
# What the model has kept
# -----------------------
#
# A model that stays above the floor may be of the wrong kind, or have good scores and a poor threshold. The floor of
# its scores tells the two apart; ``from_scores`` trains nothing. Here for a logistic regression:

scores = cross_val_predict(LogisticRegression(), X, y, cv=5, method="predict_proba")
of_scores = bf.from_scores(scores, y)
print(f"floor of the scores {of_scores.floor:.1%} {of_scores.interval}")

# %%
# Or more rows?
# -------------
#
# Training longer is one way down, more rows another. From the errors of one model, nearest neighbours, say, on
# growing numbers of rows:

curve = []
for n in (100, 300, 1000, 3000):
    neighbours = KNeighborsClassifier(n_neighbors=max(3, n // 50)).fit(X[:n], y[:n])
    curve.append((n, 1 - neighbours.score(X_val, y_val), len(y_val)))
print(bf.samples_needed(result, curve, within=0.01))

# %%
# It says "cannot tell" rather than guess: if the curve hardly falls, or if it seems to level off above the floor,
# more rows are not what is missing.
#
# Callbacks for Lightning, Keras, XGBoost, LightGBM and scikit-learn do the asking for you:
# :doc:`/howto/early_stopping`.
