"""Rows that are no columns yet, told by their kind: what makes columns of them."""

import os
import sys
from pathlib import Path
from typing import Any

from ..errors import ParameterError
from ..library.representation import RawRows
from ..rows.dataset import is_sparse
from ..rows.sparse import SparseRows, text_rows
from ..rows.texts import is_text_list
from ..utils.checks import brief
from ..utils.parallel import Progress

__all__ = ["KINDS", "check_kind", "find_pictures", "is_pictures", "is_sparse_or_text", "open_raw"]

KINDS = ("images", "texts")


def check_kind(kind: Any) -> None:
    """Refuse a kind of rows that there is not."""
    if kind is not None and (not isinstance(kind, str) or kind not in KINDS):
        raise ParameterError(f"kind must be None or one of {', '.join(KINDS)}; got {brief(kind)}")


def is_pictures(X: Any) -> bool:
    """Whether these are pictures that `read_pictures` has read."""
    module = sys.modules.get("bayesfloor.tables.pictures")  # not loaded where there are none
    return module is not None and isinstance(X, module.Pictures)


def find_pictures(X: Any, kind: str | None, progress: Progress | None) -> Any:
    """`X`, or the pictures that it names: a folder that has some in its sub-folders, or a file, if the kind says so."""
    if not isinstance(X, str | os.PathLike) or isinstance(os.fspath(X), bytes):
        return X
    from ..tables.open import path_of
    from ..tables.pictures import has_pictures, read_pictures

    path: Path = path_of(X)
    return read_pictures(path, progress=progress) if kind == "images" or has_pictures(path) else X


def is_sparse_or_text(X: Any) -> bool:
    """Whether these are sparse rows or texts, given or in a file."""
    if isinstance(X, Path):
        from ..tables.sparse_files import has_sparse_rows

        return has_sparse_rows(X)
    return (
        is_sparse(X) or is_text_list(X) or any(isinstance(rows, SparseRows) for rows in (X, getattr(X, "sparse", None)))
    )


def open_raw(X: Any, kind: str | None) -> tuple[RawRows, tuple[str, ...]] | None:
    """Raw rows, checked, with remarks about them; None if `X` are columns."""
    if kind == "images":
        from ..library.images import Images
        from ..rows.pictures import check_pictures

        pictures, remarks = check_pictures(X)
        return RawRows(pictures, Images()), remarks
    if not isinstance(X, SparseRows) and (kind == "texts" or is_text_list(X)):
        X = text_rows(X)
    if isinstance(X, SparseRows):
        from ..library.sparse_columns import open_sparse

        return open_sparse(X)
    return None
