"""Imported once, by the process that others are forked from; and two cheap learners in place of the library."""

import pandas  # noqa: F401

import bayesfloor as bf
from bayesfloor.library import cross_fit
from bayesfloor.library.learners import LIBRARY
from bayesfloor.tables import on_disk  # noqa: F401

for _name in bf.__all__:
    getattr(bf, _name)
cross_fit.LIBRARY = {name: LIBRARY[name] for name in ("gaussian", "additive")}
