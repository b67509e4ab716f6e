"""bayesfloor: the lowest error any classifier could reach on your data."""

from importlib.metadata import version
from typing import Any

import lazy_loader

# Public names, listed in __init__.pyi, load on first use: `import bayesfloor` costs neither numba nor scikit-learn.
_load, _listed, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    return version("bayesfloor") if name == "__version__" else _load(name)


def __dir__() -> list[str]:
    return [*_listed(), "__version__"]
