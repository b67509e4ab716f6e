"""The estimator of Noshad, Xu and Hero: radii, weights, density ratios, risk, occupancy, `BenchmarkLearner`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
