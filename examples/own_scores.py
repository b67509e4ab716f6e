"""The floor of what your own model keeps of the data, from its out-of-sample probabilities: nothing is trained."""

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
