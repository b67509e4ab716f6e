"""
Pictures: the model's errors, or unreadable digits?
===================================================

Ten minutes. You have pictures with labels and a model that errs a few per cent. Is that the model, or can nobody read
the rest? Here the pictures are the 1,797 handwritten digits that come with scikit-learn, 8 x 8 pixels each.
"""

# %%
# The floor
# ---------
#
# An array of pictures is of shape (N, H, W), (N, H, W, 3) or (N, 3, H, W). ``kind`` says that they are pictures: three
# dimensions may also be time series. A folder with one sub-folder for each class does as well:
# ``bf.estimate("photos/")``.

from sklearn.datasets import load_digits

import bayesfloor as bf

digits = load_digits()
result = bf.estimate(digits.images, digits.target, kind="images", effort="fast")
print(result)

# %%
# Columns were learned from the pictures first, without labels: kinds of small patches, and where they occur. The
# interval says how well 1,797 pictures tell the floor; the ceiling what a classifier was seen to do.

result.plot()

# %%
# A model, compared
# -----------------
#
# Logistic regression on the pixels, tested on pictures it has not seen:

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

model = make_pipeline(StandardScaler(), LogisticRegression())
predicted = cross_val_predict(model, digits.data, digits.target, cv=5)
print(bf.compare(result, y_true=digits.target, y_pred=predicted))

# %%
# Look at them
# ------------
#
# A wrong label and a picture that nobody can read look alike to any estimate. So look: the most suspect pictures, with
# the label that they have and the class that they look like. The page of a result shows them as well.

import matplotlib.pyplot as plt

suspects = result.suspect_rows(8)
figure, axes = plt.subplots(1, 8, figsize=(9, 1.6), layout="constrained")
for ax, (row, looks_like, _) in zip(axes, suspects, strict=False):
    ax.imshow(digits.images[row], cmap="gray_r")
    ax.set_title(f"{digits.target[row]}, or {looks_like}?", fontsize=9)
for ax in axes:
    ax.axis("off")

# %%
# What the floor is of
# --------------------
#
# Of the pixels, as far as the library can see. For photographs a pretrained network sees far more than patches do:
# estimate the floor of its embeddings instead, :doc:`/howto/embeddings`. Files that cannot be read, pictures of several
# sizes, colours, time and memory: :doc:`/howto/images`.
