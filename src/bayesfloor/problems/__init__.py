"""Distributions with an exact posterior, and the problems by name."""

from .problems import Problem, from_posterior, get, label_noise, names, simulated_error

__all__ = ["Problem", "from_posterior", "get", "label_noise", "names", "simulated_error"]
