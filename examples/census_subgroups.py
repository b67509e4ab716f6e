"""
For whom is the floor how high?
===============================

Rows like those of a census: who earns over 50,000 a year? A model errs more often for men than for women. Is that the
model's doing, or the data's? The rows are those of OpenML's table *adult* if ``FROM_OPENML`` is set, which needs a
network; otherwise they are made up, with columns, shares and a gap like its own.
"""

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayesfloor as bf

FROM_OPENML = False
N_ROWS = 1500


def census() -> pd.DataFrame:
    """Rows of the table adult, or rows like them."""
    if FROM_OPENML:
        from sklearn.datasets import fetch_openml

        return fetch_openml("adult", version=2, as_frame=True).frame.sample(N_ROWS, random_state=0)
    rng = np.random.default_rng(0)
    age = rng.integers(17, 80, N_ROWS)
    years = np.clip(rng.normal(10, 2.6, N_ROWS).round(), 1, 16)
    hours = np.clip(rng.normal(40, 12, N_ROWS).round(), 1, 99)
    sex = np.where(rng.random(N_ROWS) < 0.67, "Male", "Female")
    married = rng.random(N_ROWS) < np.where(sex == "Male", 0.6, 0.15)
    odds = -5.5 + 0.33 * (years - 10) + 2.4 * married + 0.03 * (hours - 40) + 0.35 * (sex == "Male")
    odds += 2.6 * np.exp(-(((age - 50) / 18) ** 2))
    income = np.where(rng.random(N_ROWS) < 1 / (1 + np.exp(-odds)), ">50K", "<=50K")
    marital = np.where(married, "Married", "Single")
    columns = {"age": age, "education-num": years, "hours-per-week": hours, "sex": sex, "marital-status": marital}
    return pd.DataFrame({**columns, "class": income})


frame = census()
result = bf.estimate(frame, target="class", effort="fast")
print(f"Floor {result.floor:.1%} for all; by sex:")
print(result.by("sex"))

# %%
# With predictions that were made for rows the model had not seen, its room in each subgroup:

numbers = pd.get_dummies(frame.drop(columns="class")).to_numpy(dtype=float)
model = make_pipeline(StandardScaler(), LogisticRegression())
predictions = cross_val_predict(model, np.nan_to_num(numbers), frame["class"].astype(str))
parts = result.by("sex", predictions=predictions)
print(parts.sentence)
parts.plot()

# %%
# Numbers are cut into ranges. Those of middle age are the hardest to tell:

result.by("age").plot()
