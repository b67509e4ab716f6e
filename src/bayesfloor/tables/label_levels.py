"""Labels of a file that comes in parts: distinct ones are remembered, and decided on together at the end."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._types import Codes, RowNumbers
from ..errors import DataError
from ..rows.labels import encode_labels
from .cell_text import text_of
from .table_file import TableFile
from .target import label_text, labels_from, regression_target

__all__ = ["LabelLevels"]


_MOST_LEVELS = 20_000  # far more than classes are allowed; each class may be written in several ways


class LabelLevels:
    """Distinct labels of a column, numbered as they appear.

    Whether NA is a label or a missing one, whether 1 and 1.0 are the same, is known only when all of them are: until
    then every way of writing is a level of its own.

    Examples
    --------
    >>> levels = LabelLevels("won")
    >>> levels.add(pd.Series(["yes", "", "no"])), levels.add(pd.Series(["no", "perhaps"]))
    (array([ 0, -1,  1]), array([1, 2]))
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._places: dict[tuple[str, bool], int] = {}
        self._found: list[pd.Series[Any]] = []
        self._dtypes: set[str] = set()

    def __len__(self) -> int:
        return len(self._places)

    def add(self, part: "pd.Series[Any]") -> RowNumbers:
        """Number of the level in each row, -1 where there is none; new levels are remembered."""
        codes, distinct, keys = _distinct(part)
        is_new = [key not in self._places for key in keys]
        for key in keys:
            self._places.setdefault(key, len(self._places))
        if len(self._places) > _MOST_LEVELS:
            raise regression_target(self._name, len(self._places))
        if any(is_new) or str(distinct.dtype) not in self._dtypes:  # a type matters even where all is missing
            self._dtypes.add(str(distinct.dtype))
            self._found.append(distinct[is_new])
        return self._numbers(codes, keys)

    def find(self, part: "pd.Series[Any]") -> RowNumbers:
        """The same in a later pass over the file."""
        codes, _, keys = _distinct(part)
        if any(key not in self._places for key in keys):
            raise DataError(f"the target {self._name!r} changed while the file was read: read it again")
        return self._numbers(codes, keys)

    def _numbers(self, codes: Codes, keys: Sequence[tuple[str, bool]]) -> RowNumbers:
        return np.array([*(self._places[key] for key in keys), -1], dtype=np.int64)[codes]

    def classes(self, file: TableFile) -> tuple[NDArray[Any], RowNumbers]:
        """Sorted classes, and for each level its class: -1 if it is no label, and once more -1 for rows without one."""
        found = pd.concat(self._found, ignore_index=True) if self._found else pd.Series([], dtype=object)
        settled = file.settled(found.to_frame(self._name), [self._name])[self._name] if len(found) else found
        labels, is_label = labels_from(settled, self._name)
        class_of_level = np.full(len(found) + 1, -1, dtype=np.int64)
        if not len(labels):
            return labels, class_of_level
        classes, codes = encode_labels(labels)
        class_of_level[:-1][is_label] = codes
        return classes, class_of_level


def _distinct(part: "pd.Series[Any]") -> "tuple[RowNumbers, pd.Series[Any], list[tuple[str, bool]]]":
    """Which level each row has, the levels as they are in the file, and what tells them apart."""
    if isinstance(part.dtype, pd.CategoricalDtype):
        part = part.astype(part.cat.categories.dtype)
    is_text = np.zeros(len(part), dtype=bool)
    if pd.api.types.is_object_dtype(part.dtype) or pd.api.types.is_string_dtype(part.dtype):
        # 1 and "1" apart: what a column of objects holds decides whether its labels are numbers.
        is_text = np.array([isinstance(value, str | bytes) for value in part], dtype=bool)
        by_text = pd.factorize(label_text(part))[0].astype(np.int64)
        codes = pd.factorize(pd.Series(np.where(by_text < 0, -1, 2 * by_text + is_text)).where(by_text >= 0))[0]
    else:
        codes = pd.factorize(part)[0]
    present = np.flatnonzero(codes >= 0)
    _, first = np.unique(codes[present], return_index=True)
    distinct = part.iloc[present[first]]
    keys = list(zip(text_of(distinct), is_text[present[first]].tolist(), strict=True))
    return codes.astype(np.int64), distinct, keys
