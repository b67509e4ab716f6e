"""The experiments of "Learning to Benchmark" (arXiv 1909.07192), one short file each, run and judged.

``python -m reproduction all`` runs them; `reproduce.py` has the list.
"""
