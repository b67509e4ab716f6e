"""
Breast cancer: three models on one scale
========================================

569 tumours, 30 measurements, benign or malignant. Three models are cross-validated and put beside the floor: who has
room left, and who is as good as can be told from 569 rows?
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import bayesfloor as bf

data = load_breast_cancer()
X, y = data.data, data.target_names[data.target]
result = bf.estimate(X, y, effort="fast")
print(f"Floor {result.floor:.1%}, interval {result.interval}; certified: at most {result.ceiling:.1%}")

# %%
# Each tumour is judged by a model that has not seen it.

models = {
    "a single question": DecisionTreeClassifier(max_depth=1, random_state=0),
    "a tree": DecisionTreeClassifier(random_state=0),
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
}
comparisons = {
    name: bf.compare(result, y_true=y, y_pred=cross_val_predict(model, X, y, cv=10)) for name, model in models.items()
}
for name, comparison in comparisons.items():
    print(f"{name}: {comparison.sentence}")

# %%
# The band is the interval of the floor, the bars are those of the models.

figure, ax = plt.subplots(figsize=(8, 2.6), layout="constrained")
ax.axvspan(100 * result.interval.low, 100 * result.interval.high, color="tab:green", alpha=0.2, lw=0)
ax.axvline(100 * result.floor, color="tab:green", label="floor")
for place, comparison in enumerate(comparisons.values()):
    interval = comparison.error_interval
    ax.plot([100 * interval.low, 100 * interval.high], [place, place], color="tab:blue")
    ax.plot(100 * comparison.error, place, "o", color="tab:blue")
ax.set_yticks(range(len(models)), list(models))
ax.set_xlim(left=0)
ax.set_xlabel("error, %")
ax.legend(loc="upper right")
