"""
Handwritten digits: who makes the floor
=======================================

1,797 digits from scikit-learn. At 8 x 8 pixels hardly any error is left to the best classifier. Seen from afar, at 4
x 4, some digits look alike, and one can ask which, and in which images.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import bayesfloor as bf
from bayesfloor.plots import plot_pairs

digits = load_digits()
far = digits.images.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4))
near_result = bf.estimate(digits.data, digits.target, effort="fast")
result = bf.estimate(far.reshape(-1, 16), digits.target, effort="fast")
print(f"Floor at 8 x 8 pixels: {near_result.floor:.1%}, interval {near_result.interval}")
print(f"Floor at 4 x 4 pixels: {result.floor:.1%}, interval {result.interval}")

# %%
# Which digit is taken for which? Shares add up to the floor.

plot_pairs(result)
for digit, taken_for, share in result.pairs()[:3]:
    print(f"{digit} taken for {taken_for}: {share:.2%} of all rows")

# %%
# The images that leave the most doubt, with the digit they are labelled as and the chance that the best guess is wrong.

figure, axes = plt.subplots(2, 6, figsize=(9, 3.6), layout="constrained")
for ax, (row, doubt) in zip(axes.flat, result.hardest_rows(12), strict=True):
    ax.imshow(far[row], cmap="gray_r")
    ax.set_title(f"{digits.target[row]}, doubt {doubt:.0%}", fontsize=9)
    ax.set_axis_off()
# sphinx_gallery_thumbnail_number = 2
