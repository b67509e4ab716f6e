"""The experiments of "Learning to Benchmark" (arXiv 1909.07192), one short file each, run and judged.

``python -m bayesfloor.paper all`` runs them; `reproduce.py` has the list.
"""
