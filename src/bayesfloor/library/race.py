"""Which learners are worth training on more rows: decided by what models of an eighth and of a quarter have shown."""

from collections.abc import Sequence

import numpy as np

from .._types import Codes, Floats, RowNumbers
from .learners import KINDS, steps
from .pool import Stage, pooled_loss, spaced

__all__ = ["survivors"]

_LITTLE = 0.002  # log-loss that the pool may lose, all in all
_ROWS = 2_000  # that decide


def survivors(
    quarters: Sequence[Stage], y: Codes, free: RowNumbers, groups: Codes | None = None, surely: float = 3.0
) -> dict[str, list[str]]:
    """Settings to go on with, by learner.

    Learners are left behind, the worst first, whose log-loss is worse than the best learner's by more than `surely`
    paired standard errors, as long as the pool of these models does as well without them. Of the settings of a learner
    those are left behind that are as much worse than its best one, but not the next more flexible one, which more rows
    may favour. One learner of each kind stays, since structure that many rows show may look hopeless with few, and so
    does everything where nothing beats the class shares.

    Parameters
    ----------
    quarters : sequence of Stage
        Predictions by models of an eighth, or of a quarter, of the rows.
    y : ndarray
        Codes of all rows.
    free : ndarray
        Rows that may decide: not the held-out ones, which test what was chosen.
    groups : ndarray, optional
        Of all rows: what is independent, where rows are not.
    surely : float
        Paired standard errors.
    """
    rows = spaced(free, _ROWS)
    truth = y[rows]
    units = None if groups is None else np.unique(groups[rows], return_inverse=True)[1]
    names, owners = quarters[0].names, quarters[0].learner
    losses = np.stack(
        [-np.mean([stage.logs[j][rows, truth] for stage in quarters], axis=0) for j in range(len(names))]
    ).astype(np.float64)
    order = np.argsort(losses.mean(axis=1), kind="stable")
    shares = np.bincount(truth, minlength=quarters[0].logs.shape[2]) / len(truth)
    if not _is_worse(-np.log(shares[truth]), losses[order[0]], units, surely):
        return {learner: [names[j] for j in _own(owners, learner)] for learner in owners}
    best: dict[str, int] = {}
    for j in order:
        best.setdefault(owners[j], int(j))
    stays = {KINDS.get(learner, learner): learner for learner in reversed(best)}.values()  # the first of each kind
    kept = list(best)
    loss = pooled_loss(quarters[0], y, rows)
    for learner in reversed(best):
        others = [other for other in kept if other != learner]
        if learner in stays or not _is_worse(losses[best[learner]], losses[order[0]], units, surely):
            continue
        if pooled_loss(quarters[0].only(others), y, rows) < loss + _LITTLE:
            kept = others
    return {
        learner: _settings(learner, _own(owners, learner), names, losses, units, surely)
        for learner in dict.fromkeys(owners)
        if learner in kept
    }


def _own(owners: Sequence[str], learner: str) -> list[int]:
    return [j for j, owner in enumerate(owners) if owner == learner]


def _settings(
    learner: str, own: Sequence[int], names: Sequence[str], losses: Floats, units: RowNumbers | None, surely: float
) -> list[str]:
    """Settings of a learner to go on with."""
    best = min(own, key=lambda j: losses[j].mean())
    kept: list[str] = []
    was_best = False
    at = {names[j]: j for j in own}
    for step in steps(learner, list(at)):
        is_best = names[best] in step
        if was_best or is_best or not all(_is_worse(losses[at[name]], losses[best], units, surely) for name in step):
            kept += step
        was_best = is_best
    return kept


def _is_worse(losses: Floats, best: Floats, units: RowNumbers | None, surely: float) -> bool:
    """Whether these losses are larger on average, beyond chance; rows of one unit are one observation."""
    difference = losses - best
    total = float(difference.sum())
    sums = difference - difference.mean() if units is None else np.bincount(units, difference - difference.mean())
    return bool(total > surely * np.sqrt(float(sums @ sums)))
