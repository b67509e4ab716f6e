"""The floor of an array: Fisher's iris, three species, four measurements, 150 flowers."""

from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

import bayesfloor as bf

iris = load_iris()
X, y = iris.data, iris.target_names[iris.target]

result = bf.estimate(X, y)
print("Floor of the iris data\n")
print(result)

# Each flower is named by a model that has not seen it.
named = cross_val_predict(LogisticRegression(max_iter=1000), X, y, cv=10)
print(f"\nA logistic regression: {bf.compare(result, y_true=y, y_pred=named).sentence}")
