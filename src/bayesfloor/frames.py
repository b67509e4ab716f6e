"""Tables for plots of one's own, under the name they are imported by."""

from .report.frames import *  # noqa: F403
from .report.frames import __all__ as __all__
