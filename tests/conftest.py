import os

# Before numpy is loaded: tests run side by side, and threads that wait for each other cost half of their time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # of scikit-learn's boosting

from collections.abc import Callable, Iterator
from typing import Any

import hypothesis
import pytest

# Examples are judged by what they compute; how long that takes is up to the machine.
hypothesis.settings.register_profile("untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("untimed")

collect_ignore = ["fuzz/preloaded.py"]  # it changes the library of the process that imports it
_LIBRARY = "bayesfloor.library.cross_fit.LIBRARY"


@pytest.fixture(scope="module")
def two_learners() -> Iterator[None]:
    """Two cheap learners in place of the library, in the tests of a file: where it does not matter how good they are.

    A fixture of the file that estimates has to ask for it, too, to come after it.
    """
    from bayesfloor.library.learners import LIBRARY

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_LIBRARY, {name: LIBRARY[name] for name in ("gaussian", "additive")})
        yield


@pytest.fixture(scope="module")
def few_patches() -> Iterator[None]:
    """Pictures are seen by kinds of patches from few of them, and by the cheapest of their own learners."""
    from bayesfloor.library import images

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(images, "_PATCHES", 4_000)
        patch.setattr(images.Images, "learners", {"kernel of pixels": images.IMAGE_LEARNERS["kernel of pixels"]})
        yield


@pytest.fixture(scope="module")
def naive_texts() -> Iterator[None]:
    """Texts have naive Bayes beside the library, and not the learners that take longer."""
    from bayesfloor.library import sparse_columns

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse_columns, "LEARNERS", {"naive bayes": sparse_columns.LEARNERS["naive bayes"]})
        yield


@pytest.fixture
def use_learners(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Says which learners the library has in one test; called without names, it has all of them."""
    from bayesfloor.library.learners import LIBRARY

    return lambda *names: monkeypatch.setattr(_LIBRARY, {name: LIBRARY[name] for name in names or LIBRARY})


@pytest.fixture
def whole_library(use_learners: Callable[..., None]) -> None:
    """For one test of a file with two learners: all of them."""
    use_learners()


@pytest.fixture
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages with empty pictures, for tests of their words: drawing those of one page takes a second."""

    def empty(*_: Any, name: str, **__: Any) -> str:
        return f'<svg role="img" aria-label="{name}"></svg>'

    monkeypatch.setattr("bayesfloor.report.pictures.page_svg", empty)


@pytest.fixture(scope="session")
def patient_loops() -> Iterator[None]:
    """distributed fails where the thread of an event loop takes over ten seconds to start; busy machines need more."""
    utils = pytest.importorskip("distributed.utils")
    start_loop = utils.LoopRunner._start_unlocked

    def start_patiently(self: Any) -> None:
        for _ in range(5):
            try:
                return start_loop(self)
            except AssertionError:
                self._loop_thread = None
        return start_loop(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(utils.LoopRunner, "_start_unlocked", start_patiently)
        yield


@pytest.fixture(scope="session")
def client(patient_loops: None) -> Iterator[Any]:
    """Of a Dask cluster of two processes, for all tests: starting one costs as much as what most of them do on it."""
    distributed = pytest.importorskip("distributed")
    import bayesfloor

    with (
        distributed.LocalCluster(
            n_workers=2, processes=True, threads_per_worker=1, dashboard_address=None, memory_limit="2GB"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        where = client.run(lambda: __import__("bayesfloor").__file__)
        assert set(where.values()) == {bayesfloor.__file__}, "the workers must test the same code"
        yield client


@pytest.fixture(scope="module")
def two_learners_on_workers(two_learners: None, client: Any) -> Iterator[None]:
    """The two learners in place of the library on the workers, too, and on those that replace them."""
    from distributed import WorkerPlugin

    class TwoLearners(WorkerPlugin):  # defined here, so that it is sent whole: workers cannot import this file
        def setup(self, worker: Any) -> None:
            from bayesfloor.library import cross_fit

            self.all = cross_fit.LIBRARY
            cross_fit.LIBRARY = {name: self.all[name] for name in ("gaussian", "additive")}

        def teardown(self, worker: Any) -> None:
            from bayesfloor.library import cross_fit

            cross_fit.LIBRARY = self.all

    client.register_plugin(TwoLearners(), name="two learners")
    yield
    client.unregister_worker_plugin("two learners")


@pytest.fixture(scope="session")
def parts_rows() -> tuple[Any, Any]:
    """A small sample of two Gaussians."""
    from bayesfloor import problems

    return problems.get("gaussians_4d").sample(400, random_state=0)


@pytest.fixture(scope="session")
def parts_result(parts_rows: tuple[Any, Any]) -> Any:
    """Its floor by two learners, with the costs of plain errors."""
    import bayesfloor
    from bayesfloor.library.learners import LIBRARY

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_LIBRARY, {name: LIBRARY[name] for name in ("gaussian", "additive")})
        return bayesfloor.estimate(*parts_rows, effort="fast", n_jobs=1, costs=[[0, 1], [1, 0]])
