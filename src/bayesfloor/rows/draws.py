"""Random draws of rows, as a certificate needs them: of any rows alike, whatever their values."""

import zlib
from dataclasses import dataclass

import numpy as np

from .._types import Codes, RowNumbers

__all__ = ["Draws", "one_of_each"]


@dataclass(frozen=True)
class Draws:
    """Random draws that know nothing of the rows.

    Seeded by `random_state` alone, a draw of positions among sorted rows would take the same ranks out of every data
    set: no random sample, and no certificate. A digest of all rows and labels, whatever their order, makes it one.
    """

    seed: int
    digest: int

    def rng(self, purpose: str) -> np.random.Generator:
        """A generator for one purpose."""
        return np.random.default_rng([self.seed, self.digest, zlib.crc32(purpose.encode())])


def one_of_each(groups: Codes, rng: np.random.Generator) -> RowNumbers:
    """A row of each group, whichever chance puts first; ascending."""
    drawn = rng.permutation(len(groups))
    return np.sort(drawn[np.unique(groups[drawn], return_index=True)[1]])
