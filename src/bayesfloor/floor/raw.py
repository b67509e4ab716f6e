"""Rows that are no columns yet, told by their kind: what makes columns of them."""

from typing import Any

from ..errors import ParameterError
from ..library.representation import RawRows
from ..rows.sparse import SparseRows, is_sparse, sparse_rows, text_rows
from ..rows.texts import is_text_list
from ..utils.checks import brief

__all__ = ["KINDS", "check_kind", "open_raw"]

KINDS = ("images",)


def check_kind(kind: Any) -> None:
    """Refuse a kind of rows that there is not."""
    if kind is not None and (not isinstance(kind, str) or kind not in KINDS):
        raise ParameterError(f"kind must be None or one of {', '.join(KINDS)}; got {brief(kind)}")


def open_raw(X: Any, kind: str | None) -> tuple[RawRows, tuple[str, ...]] | None:
    """Raw rows, checked, with remarks about them; None if `X` are columns."""
    if kind == "images":
        from ..library.images import open_images

        return open_images(X)
    if is_sparse(X):
        X = sparse_rows(X)
    elif is_text_list(X):
        X = text_rows(X)
    if isinstance(X, SparseRows):
        from ..library.sparse_columns import open_sparse

        return open_sparse(X)
    return None
