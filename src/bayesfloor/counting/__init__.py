"""Exact ball counts, nearest labels, spanning tree; the only room that imports numba."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
