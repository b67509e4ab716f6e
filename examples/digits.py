"""
Handwritten digits: who makes the floor
=======================================

1,797 digits of 8 x 8 pixels from scikit-learn. Hardly any error is left to the best classifier. What there is sits in
a few pairs of digits and in a few images, and both can be looked at.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import bayesfloor as bf
from bayesfloor.plots import plot_pairs

digits = load_digits()
result = bf.estimate(digits.data, digits.target, effort="fast")
print(f"Floor of the digits: {result.floor:.1%}, interval {result.interval}")

# %%
# Which digit is taken for which? Shares add up to the floor.

plot_pairs(result)
for digit, taken_for, share in result.pairs()[:3]:
    print(f"{digit} taken for {taken_for}: {share:.2%} of all rows")

# %%
# The images that leave the most doubt, with the digit they are labelled as and the chance that the best guess is wrong.

figure, axes = plt.subplots(2, 6, figsize=(9, 3.6), layout="constrained")
for ax, (row, doubt) in zip(axes.flat, result.hardest_rows(12), strict=True):
    ax.imshow(digits.images[row], cmap="gray_r")
    ax.set_title(f"{digits.target[row]}, doubt {doubt:.0%}", fontsize=9)
    ax.set_axis_off()
# sphinx_gallery_thumbnail_number = 2
