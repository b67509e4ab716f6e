"""Imported once, by the process that others are forked from; and two cheap learners in place of the library."""

import pandas  # noqa: F401

import bayesfloor as bf
from bayesfloor.library import cross_fit
from bayesfloor.library.learners import LIBRARY
from bayesfloor.tables import on_disk  # noqa: F401

for _name in bf.__all__:
    getattr(bf, _name)
cross_fit.LIBRARY = {name: LIBRARY[name] for name in ("gaussian", "additive")}
# Compiled code is loaded once, too.
_X, _y = bf.problems.get("moons").sample(60, 0)
bf.estimate(_X, _y, effort="fast", n_jobs=1)
bf.nearest_labels(_X, _y, 3, n_jobs=1)
bf.spanning_tree(_X, n_jobs=1)
