"""What an experiment is: settings in, plain results out; a figure and a judgement made from the results alone."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bayesfloor.utils.parallel import Progress

__all__ = ["Experiment", "Line", "Results", "Settings"]

Results = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """How to run an experiment.

    Attributes
    ----------
    quick : bool
        Small samples and few repetitions: shows that it runs, not what holds.
    seed : int
        Every sample is drawn from this seed, the number of the repetition and the size.
    n_jobs : int, optional
        Processes; None means all cores.
    data : Path, optional
        Directory with mnist.npz and fashion_mnist.npz; None: fetched from OpenML.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.
    kept : dict, optional
        Results of an earlier run: what they hold is not run again. Only for experiments that can go on from there.
    """

    quick: bool = False
    seed: int = 0
    n_jobs: int | None = None
    data: Path | None = None
    progress: Progress | None = None
    kept: Results | None = None

    def tell(self, stage: str, done: int, total: int) -> None:
        """Report progress, if anyone listens."""
        if self.progress is not None:
            self.progress(stage, done, total)


@dataclass(frozen=True)
class Line:
    """A line of the index: an item of the paper, its claim, and who reproduces it.

    Attributes
    ----------
    place : str
        Figure, table or theorem, by its number in the PDF.
    claim : str
        What the paper says, in numbers where it has any.
    printed, authors, here : str
        What the method as printed, the authors' code and this package give.
    verdict : str
    """

    place: str
    claim: str
    printed: str
    authors: str
    here: str
    verdict: str


@dataclass(frozen=True)
class Experiment:
    """An item of the paper.

    Attributes
    ----------
    name, title : str
    paper_shows : str
        What the paper reports, in a sentence or two.
    run : callable
        Settings -> results that JSON can hold.
    draw : callable
        Results -> matplotlib figure.
    judge : callable
        Results -> Markdown: tables, and a judgement computed from them.
    index : callable
        Results -> lines of the index.
    goes_on : bool
        Whether `run` can go on from kept results.
    """

    name: str
    title: str
    paper_shows: str
    run: Callable[[Settings], Results]
    draw: Callable[[Results], Any]
    judge: Callable[[Results], str]
    index: Callable[[Results], list[Line]]
    goes_on: bool = False
