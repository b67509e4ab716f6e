"""The estimator of Noshad, Xu and Hero: radii, weights, density ratios, risk, occupancy, `BenchmarkLearner`."""
