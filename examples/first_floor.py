"""
The floor of an array
=====================

Fisher's iris: three species, four measurements, 150 flowers.
"""

from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

import bayesfloor as bf
from bayesfloor.plots import plot_floor

iris = load_iris()
X, y = iris.data, iris.target_names[iris.target]

result = bf.estimate(X, y)
print("Floor of the iris data\n")
print(result)

# %%
# A model of one's own beside it. Each flower is named by a model that has not seen it.

named = cross_val_predict(LogisticRegression(max_iter=1000), X, y, cv=10)
comparison = bf.compare(result, y_true=y, y_pred=named)
print(f"A logistic regression: {comparison.sentence}")
plot_floor(result, comparison)
