"""Limits from the literature, from votes of neighbours, from soft and repeated labels."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
