"""What many tests need: small data with a known answer, an engine on an empty workspace, and no network."""

from __future__ import annotations

import gc
import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from platformdirs import user_cache_path

# An example that takes long says something of the machine, not of what is tested. Where the tests judge a change, they
# try the same examples each time, so that only the change can make them fail; elsewhere they look for new ones.
settings.register_profile("searching", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "judging", settings.get_profile("searching"), derandomize=True, database=None, print_blob=True, max_examples=40
)
settings.load_profile("judging" if os.environ.get("CI") else "searching")

# Matrices of tests are small: with a thread for each processor these wait for one another, computing all the while (17 s
# for what takes 1). Read when numpy is imported.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

# What was compiled for all steps when the tests were set up (`engine.adapters.warm_up`) serves tools that are called here,
# too; otherwise each process of tests compiles it again, for a minute. Read when numba is imported.
os.environ.setdefault("NUMBA_CACHE_DIR", str(user_cache_path("biodesk", appauthor=False) / "numba"))

_WITH_ENGINES = {"api", "agents", "asking", "cli", "e2e", "models", "pages", "planning", "runs", "strategies"}
_LOCAL = ("127.", "::1", "localhost", "0.0.0.0")


def pytest_configure(config: pytest.Config) -> None:
    """Let each process of tests begin to collect in another room, to read what others have made of a file's assertions.

    In a new clone, where they all began with the same file, each made it anew: half of what collecting took.
    """
    if (worker := os.environ.get("PYTEST_XDIST_WORKER")) and config.args == config.getini("testpaths"):
        rooms = sorted(str(room) for place in config.args for room in (config.rootpath / place).glob("[a-z]*/"))
        first = int(worker[2:]) * len(rooms) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        config.args[:] = rooms[first:] + rooms[:first]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests into the order of their files, which is the same in each process."""
    items.sort(key=lambda item: item.path)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[Any]:
    """Look for no garbage while tests are collected, and never among what stays: it took two fifths of that time.

    From then on it is looked for less often: each look takes longer the more a process of tests has loaded and keeps.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000)
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Let what stayed go at the end; libraries complain of what is left."""
    gc.unfreeze()


@pytest.fixture(autouse=True, scope="session")
def _hang_ups_are_heard() -> None:
    """Let the programs that tests start hear SIGHUP, also where the tests were started with `nohup`."""
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(autouse=True, scope="session")
def _no_network() -> Iterator[None]:
    """Refuse every connection that would leave this machine: Biodesk must work without a network."""
    patch = pytest.MonkeyPatch()
    connect = socket.socket.connect

    def only_local(self: socket.socket, address: Any) -> Any:
        host = str(address[0]) if isinstance(address, tuple) else ""
        if self.family in (socket.AF_INET, socket.AF_INET6) and not host.startswith(_LOCAL):
            message = f"A test tried to connect to {host}: tests run without a network."
            raise OSError(message)
        return connect(self, address)

    patch.setattr(socket.socket, "connect", only_local)
    yield
    patch.undo()


@pytest.fixture(autouse=True, scope="session")
def _shared_parts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Start once what every engine would start for itself, where a room that opens engines is among what is tried."""
    if _WITH_ENGINES.isdisjoint(item.path.parent.name for item in request.session.items):
        yield
        return
    from shared_parts import one_of_each

    with one_of_each(tmp_path_factory.getbasetemp()):
        yield


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the settings of whoever runs the tests out of them."""
    for name in [name for name in os.environ if name.startswith("BIODESK_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def growth_csv(tmp_path: Path) -> Path:
    """Two treatments of 20 plants each; growth is 1.5 larger in the treated by construction (seed 5)."""
    from growth_data import write_growth

    return write_growth(tmp_path / "growth.csv")


@pytest.fixture(scope="session")
def survival_csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The German Breast Cancer Study Group 2 data, as the built-in example writes them."""
    from engine.examples import example_files

    return example_files("breast_cancer_survival", tmp_path_factory.mktemp("survival"))[0]


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The run of `reporting_run` and the store of its files: executed once for all who read it, changed by nobody."""
    from reporting_run import FolderStore, execute, small_plan, small_registry

    folder = tmp_path_factory.mktemp("small_run")
    store = FolderStore(folder / "store")
    return execute(small_plan(folder / "in"), small_registry(), store, folder / "work"), store


@pytest.fixture
def open_engine(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Return a function that opens engines; all are closed at the end. Steps start cold, so opening is quick."""
    from engine.api import open_engine as open_real

    opened: list[Any] = []

    def open_one(workspace: Path | None = None, **settings: Any) -> Any:
        chosen = {"warm_workers": False, **settings}
        opened.append(open_real(workspace=workspace or tmp_path / "workspace", **chosen))
        return opened[-1]

    yield open_one
    for engine in opened:
        engine.close()


@pytest.fixture
def engine(open_engine: Callable[..., Any]) -> Any:
    """Return an engine on an empty workspace."""
    return open_engine()
