"""How loops are compiled: on a new machine numba takes longer to compile them than an estimate takes to run."""

from typing import Any

import numba as nb

__all__ = ["compiled"]


def compiled(function: Any = None, **options: Any) -> Any:
    """Function compiled at its first call, or the first one from compiled code, and kept on disk.

    It does not hold the interpreter's lock. There is less to compile without an entry for C and with numpy's divisions
    by zero, which need no check. Inside such functions loops compile faster than whole-array expressions: assigning a
    row compiles a message about shapes that differ, ``np.argsort`` a sort, ``max()`` a search with an axis.
    """
    options = {"nogil": True, "cache": True, "error_model": "numpy", "no_cfunc_wrapper": True, **options}
    return nb.njit(**options) if function is None else nb.njit(**options)(function)
