"""
An estimator of your own in the arena
=====================================

Do you have a better idea? A function of the rows and labels is enough. The arena draws samples of problems whose
floor is known, and ranks all entrants on the same ones. *The oracle* knows the best possible classifier and counts
its errors.
"""

import bayesfloor as bf


def half_the_nearest_neighbour_error(X, y, random_state=0):
    """In the limit of many rows the floor is at least half of the nearest neighbour's error."""
    labels, _ = bf.nearest_labels(X, y, k=1)
    return (labels[:, 0] != y).mean() / 2


def shrunken_forest(X, y, random_state=0):
    """A tenth off the error of a forest: a guess, but is it a bad one? It may also return (estimate, low, high)."""
    from sklearn.ensemble import ExtraTreesClassifier

    return 0.9 * bf.classical.cross_validated_error(
        X, y, classifier=ExtraTreesClassifier(50, random_state=random_state)
    )


entrants = {
    "1-NN / 2": half_the_nearest_neighbour_error,
    "0.9 x forest": shrunken_forest,
    "Cover-Hart midpoint": bf.classical.cover_hart_midpoint,
    "benchmark learner": bf.classical.benchmark_learner,
}
problems = ["gaussians_4d", "moons", "mixture_2d", "twonorm"]
result = bf.arena.run(entrants, problems, sizes=[400], n_seeds=3, n_jobs=1)
print("Floors of four problems, three samples of 400 rows each\n")
print(result)

# %%
# Estimate minus truth. The learned floor, ``bf.estimate``, and a dozen others take part if no entrants are given.

result.plot()
