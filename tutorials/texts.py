"""
A column of texts
=================

Ten minutes. You sort texts into classes, and the model is wrong now and then. Could any model be right? Real texts that
everyone who can run this already has: docstrings. The class of a text is the library it comes from.
"""

# %%
# The texts
# ---------
#
# The opening paragraphs of the docstrings of numpy, scipy and scikit-learn: of the first four, those of more than eight
# words. Names of the libraries are taken out: they would give the answer away, and the floor would say so.

import inspect
import re
from importlib import import_module

MODULES = {
    "numpy": ["numpy", "numpy.linalg", "numpy.fft", "numpy.random", "numpy.ma"],
    "scipy": ["scipy.stats", "scipy.special", "scipy.signal", "scipy.optimize", "scipy.linalg", "scipy.sparse"],
    "sklearn": ["sklearn.metrics", "sklearn.linear_model", "sklearn.ensemble", "sklearn.preprocessing"],
}


def first_texts(name):
    """What the public names of a module say of themselves."""
    for _, thing in sorted(vars(import_module(name)).items()):
        text = inspect.getdoc(thing) if callable(thing) else None
        for paragraph in (text or "").split("\n\n")[:4]:
            words = re.sub(r"(?i)numpy|scipy|sklearn|scikit-learn|\bnp\b", "", paragraph).split()
            if len(words) > 8 and not paragraph.startswith((">>>", "Parameters", "..")):
                yield " ".join(words)


found = {text: package for package, names in MODULES.items() for name in names for text in first_texts(name)}
texts, labels = list(found), list(found.values())
print(len(texts), "texts, such as:", texts[0][:90])

# %%
# The floor
# ---------
#
# A list of texts is all it takes; so is a column of free text in a table.

import bayesfloor as bf

result = bf.estimate(texts, labels, effort="fast")
print(result)

# %%
result.plot()

# %%
# Which classes are mixed up?
# ---------------------------
#
# Which pairs of classes make the floor:

print(result.pairs_frame())

# %%
# Read them
# ---------
#
# Texts whose label is suspect: the library says that they look like those of another class. Some of them are shared by
# two packages, and nobody could tell.

for row, looks_like, _ in result.suspect_rows(5):
    print(f"{labels[row]}, looks like {looks_like}: {texts[row][:80]}")

# %%
# A model, compared
# -----------------
#
# tf-idf and logistic regression, tested on texts that they have not seen:

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline

predicted = cross_val_predict(make_pipeline(TfidfVectorizer(), LogisticRegression(C=10)), texts, labels, cv=5)
print(bf.compare(result, y_true=labels, y_pred=predicted))

# %%
# What the floor is of
# --------------------
#
# Of the words. The library knows no language; estimated from embeddings of a model that does, the floor may come out
# lower, and nearer to that of the texts: :doc:`/howto/embeddings`. Sparse matrices, identifiers, copies, memory:
# :doc:`/howto/texts`.
