from .learner import BenchmarkLearner as BenchmarkLearner
from .radii import AdaptiveRadii as AdaptiveRadii
from .radii import GivenRadii as GivenRadii
from .radii import PaperRadii as PaperRadii
from .weights import arithmetic_weights as arithmetic_weights
from .weights import chebyshev_weights as chebyshev_weights
from .weights import uniform_weights as uniform_weights
