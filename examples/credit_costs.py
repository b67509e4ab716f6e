"""
Credit: what the best rule would cost
=====================================

A bad loan costs five times as much as a good customer who is turned away: the costs that come with OpenML's table
*credit-g*. Its rows are used if ``FROM_OPENML`` is set, which needs a network; otherwise rows like them are made up.
Asking a clerk, a third decision, costs half as much as turning a good customer away.
"""

import numpy as np
import pandas as pd

import bayesfloor as bf

FROM_OPENML = False
N_ROWS = 1000


def credit() -> pd.DataFrame:
    """Rows of the table credit-g, or rows like them."""
    if FROM_OPENML:
        from sklearn.datasets import fetch_openml

        return fetch_openml("credit-g", version=1, as_frame=True).frame
    rng = np.random.default_rng(0)
    duration = np.clip(rng.gamma(3, 7, N_ROWS).round(), 4, 72)
    amount = np.exp(rng.normal(7.0, 0.5, N_ROWS) + 0.02 * duration).round()
    checking = rng.choice(["<0", "0<=X<200", "no checking"], N_ROWS, p=[0.3, 0.3, 0.4])
    age = rng.integers(19, 75, N_ROWS)
    odds = -1.6 + 0.04 * (duration - 20) + 0.4 * (np.log(amount) - 7.4) - 0.015 * (age - 35)
    odds += np.select([checking == "<0", checking == "no checking"], [1.1, -1.0], 0.5)
    risk = np.where(rng.random(N_ROWS) < 1 / (1 + np.exp(-odds)), "bad", "good")
    return pd.DataFrame({"duration": duration, "amount": amount, "checking": checking, "age": age, "class": risk})


frame = credit()
costs = pd.DataFrame({"bad": [0.0, 5.0, 0.5], "good": [1.0, 0.0, 0.5]}, index=["bad", "good", "ask a clerk"])
result = bf.estimate(frame, target="class", costs=costs, effort="fast")
print(f"Floor of the cost of a case: {result.cost.floor:.2f}")
print(result.cost)

# %%
# The error rate alone would hide that: its floor is hardly below that of granting every loan.

print(f"floor of the error {result.floor:.1%}; granting all errs {result.majority_error:.1%}")

# %%
# What declining would bring if errors cost the same, and the best values by other yardsticks:

print(result.abstention())
result.abstention().plot()

# %%

print(result.metrics())
