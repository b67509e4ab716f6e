"""
Several rows per patient
========================

200 patients come four times each. Whoever has seen a patient's first visit recognises the second one, and can repeat
the diagnosis. That is no skill that helps with a new patient: rows of one patient belong together, and ``groups``
says so.
"""

import matplotlib.pyplot as plt
import numpy as np

import bayesfloor as bf

rng = np.random.default_rng(0)
n_patients, n_visits = 200, 4
patient = np.repeat(np.arange(n_patients), n_visits)
nature = rng.normal(size=(n_patients, 8))
# The first measurement tells the diagnosis, but for one patient in five, who has the other one.
diagnosis = (nature[:, 0] > 0) ^ (rng.random(n_patients) < 0.2)
X = nature[patient] + rng.normal(scale=0.05, size=(n_patients * n_visits, 8))
y = np.where(diagnosis[patient], "ill", "well")

results = {
    "rows taken for independent": bf.estimate(X, y, effort="fast"),
    "one group per patient": bf.estimate(X, y, groups=patient, effort="fast"),
}
print("Floor for a new patient: a bit over 20 %, by construction")
for name, result in results.items():
    print(f"{name}: {result.floor:.1%}, interval {result.interval}")

# %%
# Without groups the estimate is that of an easier task: a new visit of a known patient.

figure, ax = plt.subplots(figsize=(7, 2.2), layout="constrained")
for place, result in enumerate(results.values()):
    ax.plot([100 * result.interval.low, 100 * result.interval.high], [place, place], color="tab:blue")
    ax.plot(100 * result.floor, place, "o", color="tab:blue")
ax.axvline(20, color="black", lw=1, ls=":")
ax.set_yticks(range(len(results)), list(results))
ax.set_ylim(-0.6, 1.6)
ax.set_xlim(left=-1)
ax.set_xlabel("floor, %")
