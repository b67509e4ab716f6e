"""Callbacks for frameworks, under the name they are imported by."""

from .stopping.callbacks import *  # noqa: F403
from .stopping.callbacks import __all__ as __all__
