"""Point estimators of the literature, under the name they are imported by."""

from .bounds.classical import *  # noqa: F403
from .bounds.classical import __all__ as __all__
