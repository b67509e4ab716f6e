"""
Wine: what few rows can tell
============================

178 wines of three growers, 13 chemical measurements. With so few rows the interval is wide, and the result says what
speaks against taking it at face value: each doubt has a code for programs and a sentence for people.
"""

from sklearn.datasets import load_wine

import bayesfloor as bf
from bayesfloor.plots import plot_estimates, plot_learning_curve

wine = load_wine()
result = bf.estimate(wine.data, wine.target, effort="fast")
print(f"Floor {result.floor:.1%}, interval {result.interval}\n")
for doubt in result.doubts:
    print(f"{doubt.severity}, {doubt.code}: {doubt.sentence}")

# %%
# How the error fell with the number of rows that models were trained on:

plot_learning_curve(result)

# %%
# Every figure side by side with the bounds of the literature. Those that rest on neighbours are weak with 13 columns.

plot_estimates(result)
