"""Exact ball counts, nearest labels, spanning tree; the only room that imports numba."""
