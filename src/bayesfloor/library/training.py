"""The library trained on rows at hand: cross-fitted at several sizes, and pooled."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._types import Codes, Floats, RowNumbers
from ..errors import ParameterError
from ..rows.dataset import Dataset
from ..rows.draws import Draws
from ..utils.parallel import Progress, Threads, Workers
from .arrangement import EFFORTS, Arrangement
from .cross_fit import CrossFit, assign_folds, cross_fit
from .pool import Stage, pool_stage
from .representation import Encoder, RawRows, View

__all__ = ["Learned", "Trained", "reweight", "train"]


@dataclass(frozen=True, eq=False)
class Trained:
    """The library trained on rows at hand, in their order by content; columns and classes by their content, too.

    Attributes
    ----------
    view, labels : View, ndarray
        Standardized rows, or what a representation makes of the raw ones; codes by content.
    arrangement : Arrangement
    groups : ndarray or None
    row_weights : ndarray
        Of each row in an average over the (wanted) class shares.
    change : ndarray of shape (C,)
        Wanted class shares by those of the rows.
    fitted : CrossFit
    draws : Draws
        For every choice among these rows.
    encoder : Encoder, optional
        What a representation has learned from the rows that are not held out.
    """

    view: View
    labels: Codes
    arrangement: Arrangement
    groups: Codes | None
    row_weights: Floats
    change: Floats
    fitted: CrossFit
    draws: Draws
    encoder: Encoder | None

    @property
    def rows(self) -> Floats:
        """Columns that the library has seen."""
        return self.view.columns

    def pool(self, threads: int, progress: Progress | None) -> "Learned":
        """Pool what the library says."""
        stages = [stage for repeat in self.fitted.repeats for stage in repeat]
        pools = Threads(threads).map(_pool, (self,), stages, "pooling", progress)
        everything = iter([reweight(P, self.change) for P, _ in pools])
        P = [[next(everything) for _ in repeat] for repeat in self.fitted.repeats]
        return Learned(**{name: getattr(self, name) for name in self.__dataclass_fields__}, P=P, weights=pools[0][1])


@dataclass(frozen=True, eq=False)
class Learned(Trained):
    """What the library has learned, pooled.

    Attributes
    ----------
    P : list of list of ndarray
        For each choice of folds and each stage (see `cross_fit.STAGES`) pooled probabilities under the wanted class
        shares.
    weights : dict
        Mean weight of each learner in the pool of all rows.
    """

    P: list[list[Floats]]
    weights: dict[str, float]

    @cached_property
    def mean(self) -> Floats:
        """Probabilities by models of all rows, the mean over the choices of folds."""
        return np.asarray(sum(repeat[0] for repeat in self.P) / len(self.P))

    def posterior(self) -> Floats:
        """The same, rows and classes in the order they came in."""
        return self.mean[self.arrangement.back][:, self.arrangement.codes]


def _pool(trained: Trained, stage: Stage) -> tuple[Floats, dict[str, float]]:
    return pool_stage(stage, trained.labels, trained.draws.rng("pooling"), trained.groups)


def train(
    data: Dataset,
    *,
    groups: Codes | None,
    shares: Floats,
    classifiers: Mapping[str, Any],
    effort: str,
    repeats: int,
    seed: int,
    workers: Workers,
    progress: Progress | None,
    arrangement: Arrangement | None = None,
    raw: RawRows | None = None,
) -> Trained:
    """Cross-fit the library on the rows of `data`; what is learned is for classes of these shares.

    `arrangement` is that of another table with the same rows: its order of rows and classes, and its draws. With `raw`
    rows, columns are learned from those of them that are not held out; `data.X` only tells rows apart.
    """
    own = Arrangement.of(data, groups, as_given=raw is not None)
    if arrangement is None:
        arrangement = own
    else:
        arrangement = replace(arrangement, columns=own.columns, standard=own.standard, near=own.near)
    draws = Draws(seed, arrangement.digest)
    order, codes = arrangement.order, arrangement.codes
    labels = codes[data.labels[order]]
    in_groups = None if groups is None else groups[order]
    here = np.bincount(data.labels, minlength=data.n_classes)
    rng = draws.rng("folds")
    fold = assign_folds(labels, in_groups, rng)
    representation = None if raw is None else raw.representation
    if raw is None:
        near = arrangement.near[order]
        # Those of the user may choose columns by place.
        given = {"given": near.take(np.argsort(arrangement.columns), axis=1)} if classifiers else {}
        view, encoder = View(near, given), None
    else:
        _check_names(classifiers, raw)
        view, encoder = _encode(raw[order], np.flatnonzero(fold != 0), draws, workers.without_pieces(), progress)
    fitted = cross_fit(
        view,
        labels,
        data.n_classes,
        groups=in_groups,
        extra=classifiers,
        effort=effort,
        max_rows=(EFFORTS if representation is None else representation.max_rows)[effort],
        repeats=repeats,
        seed=seed,
        rng=rng,
        fold=fold,
        representation=representation,
        workers=workers,
        progress=progress,
    )
    # A sample holds more of the rarest classes than their share: what models say of it is carried over to all rows.
    change = (shares / (here / here.sum()))[np.argsort(codes)]
    return Trained(
        view=view,
        labels=labels,
        arrangement=arrangement,
        groups=in_groups,
        row_weights=(shares / here)[data.labels[order]],
        change=change,
        fitted=fitted,
        draws=draws,
        encoder=encoder,
    )


def _check_names(classifiers: Mapping[str, Any], raw: RawRows) -> None:
    taken = next((name for name in classifiers if name in raw.representation.learners), None)
    if taken is not None:
        raise ParameterError(
            f"the library has a learner {taken!r} for {raw.representation.name} already: choose another name"
        )


def _encode(
    raw: RawRows, free: RowNumbers, draws: Draws, workers: Workers, progress: Progress | None
) -> tuple[View, Encoder]:
    """Learn columns from rows that are not held out, and make them of all."""
    encoder = raw.representation.learn(raw[free].rows, draws.rng("representation"), workers, progress)
    return encoder.apply(raw.rows, workers, progress), encoder


def reweight(P: Floats, change: Floats) -> Floats:
    """Posteriors under changed class shares."""
    changed = P * change
    return np.asarray(changed / changed.sum(axis=1, keepdims=True))
