"""
The paper in small
==================

"Learning to Benchmark" by Noshad, Xu and Hero counts the points of each class in balls around each point, for several
radii, and averages with weights that cancel the bias. Here are two of its figures in small; all its experiments, with
many samples and a judgement of each, are in :doc:`/paper`.
"""

import matplotlib.pyplot as plt
import numpy as np

import bayesfloor as bf
from bayesfloor import bounds, classical

# %%
# **Weights.** Both kinds cancel as many terms of the bias. At equally spaced radii the weights are much larger, and so
# is the noise that they carry.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for ax, (name, rule) in zip(
    axes, {"arithmetic": bf.arithmetic_weights, "Chebyshev": bf.chebyshev_weights}.items(), strict=True
):
    nodes, weights = rule(8, order=4)
    ax.stem(nodes, weights)
    ax.axhline(0, color="grey", lw=0.8)
    ax.set_title(f"{name}: sum of squares {np.sum(weights**2):.3g}")
    ax.set_xlabel("radius")
    ax.set_ylabel("weight")

# %%
# **Against the Henze-Penrose bounds**, in four dimensions and in ten. The printed rule has no unit of length: its
# balls are all but empty here, and the estimate is near 0 whatever the truth. The bounds hold in the limit of many
# rows; with few the lower one may lie above the truth.

sizes, n_samples = (125, 250, 500, 1000), 3
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for ax, name in zip(axes, ("gaussians_4d", "gaussians_10d"), strict=True):
    problem = bf.problems.get(name, shift=2)
    lines = {"adaptive learner": [], "printed rule": [], "lower bound": [], "upper bound": []}
    for n in sizes:
        samples = [problem.sample(n, random_state=seed) for seed in range(n_samples)]
        limits = [bounds.henze_penrose(*sample) for sample in samples]
        lines["adaptive learner"].append(np.mean([classical.benchmark_learner(*sample) for sample in samples]))
        lines["printed rule"].append(np.mean([classical.paper_learner(*sample) for sample in samples]))
        lines["lower bound"].append(np.mean([limit.lower for limit in limits]))
        lines["upper bound"].append(np.mean([limit.upper for limit in limits]))
    for label, values in lines.items():
        dashes = ":" if "bound" in label else "-"
        ax.semilogx(sizes, 100 * np.array(values), dashes, marker="o", label=label)
    ax.axhline(100 * problem.bayes_error, color="black", lw=1, label="truth")
    ax.set_title(f"two Gaussians, {problem.n_features} dimensions")
    ax.set_xlabel("rows")
    ax.set_ylabel("floor, %")
    print(f"Floor {problem.bayes_error:.1%} in {problem.n_features} dimensions, with {sizes[-1]:,} rows: ", end="")
    print(", ".join(f"{label} {values[-1]:.1%}" for label, values in lines.items()))
axes[1].legend()
# sphinx_gallery_thumbnail_number = 2
