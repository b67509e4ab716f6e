"""Labelled rows: checked once, then trusted; in blocks in memory, on disk, or on a Dask cluster."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
