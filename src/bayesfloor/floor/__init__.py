"""The job: `estimate`, the rule, the result, `compare`, `from_scores`, `noise_check`, `plan`, checkpoints."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
