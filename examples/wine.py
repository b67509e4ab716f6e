"""
Wine: the floor belongs to the columns
======================================

178 wines of three growers, 13 chemical measurements. The floor is that of the columns that are given: with one of
them the growers overlap, with all of them they do not. With so few rows intervals are wide, and results say so: each
doubt has a code for programs and a sentence for people.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

import bayesfloor as bf
from bayesfloor.plots import plot_learning_curve

wine = load_wine()
columns = {"alcohol": [0], "alcohol, colour": [0, 9], "all 13": list(range(13))}
results = {name: bf.estimate(wine.data[:, at], wine.target, effort="fast") for name, at in columns.items()}
for name, result in results.items():
    print(f"Floor with {name}: {result.floor:.1%}, interval {result.interval}")
    for doubt in result.doubts:
        print(f"    {doubt.severity}, {doubt.code}: {doubt.sentence}")

# %%
# The floors with their intervals:

figure, ax = plt.subplots(figsize=(7, 2.4), layout="constrained")
for place, result in enumerate(results.values()):
    ax.plot([100 * result.interval.low, 100 * result.interval.high], [place, place], color="tab:blue")
    ax.plot(100 * result.floor, place, "o", color="tab:blue")
ax.set_yticks(range(len(results)), list(results))
ax.set_ylim(-0.6, 2.6)
ax.set_xlabel("floor, %")

# %%
# How the error fell with the number of rows that models were trained on, with alcohol and colour:

plot_learning_curve(results["alcohol, colour"])
