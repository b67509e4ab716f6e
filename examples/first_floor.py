"""How low can the error go on Fisher's iris? Three species, four measurements, 150 flowers.

Run with `make demo`.
"""

from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from bayesfloor import BenchmarkLearner

iris = load_iris()
X, y = iris.data, iris.target_names[iris.target]

learner = BenchmarkLearner().fit(X, y)
print(learner)

model = LogisticRegression(max_iter=1000)
error = 1 - cross_val_score(model, X, y, cv=10).mean()
low, high = learner.interval_.low, learner.interval_.high
print(f"\nA logistic regression errs at {error:.2%} (10-fold cross-validation).")
if error > high:
    print("That is above the interval of the floor: there is room for a better model.")
elif error < low:
    print("That is below the interval of the floor: check the model for leakage, or the floor's reasons.")
else:
    print("That is inside the interval of the floor: on these measurements a better model has little to gain.")
