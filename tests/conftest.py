"""What many tests need: small data with a known answer, an engine on an empty workspace, and no network."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from engine.domain.datatypes import DataType
from engine.domain.hashing import sha256_bytes
from engine.domain.plan import Dataset, TaskDag, TaskNode

_LOCAL = ("127.", "::1", "localhost", "0.0.0.0")


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


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the settings of whoever runs the tests out of them."""
    import os

    for name in [name for name in os.environ if name.startswith("BIODESK_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def growth_csv(tmp_path: Path) -> Path:
    """Two treatments of 20 plants each; growth is 1.5 larger in the treated by construction (seed 5)."""
    return write_growth(tmp_path / "growth.csv")


def write_growth(path: Path) -> Path:
    """Write the growth table; its content is the same on every call."""
    random = np.random.default_rng(5)
    treated = np.repeat([False, True], 20)
    table = pd.DataFrame(
        {
            "sample": [f"p{number}" for number in range(40)],
            "treatment": np.where(treated, "treated", "control"),
            "growth": np.round(random.normal(10, 1, 40) + treated * 1.5, 2),
            "height": np.round(random.normal(50, 4, 40), 1),
        }
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def survival_csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The German Breast Cancer Study Group 2 data, as the built-in example writes them."""
    from engine.examples import example_files

    return example_files("breast_cancer_survival", tmp_path_factory.mktemp("survival"))[0]


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


def dataset_of(path: Path, kind: DataType = DataType.TABLE, **read: Any) -> Dataset:
    """Return a file as the dataset of a plan."""
    content = path.read_bytes()
    return Dataset(
        name=path.name, path=str(path), sha256=sha256_bytes(content), bytes=len(content), type=kind, read=read
    )


def table_plan(path: Path, **params: str) -> TaskDag:
    """Return a plan of five quick steps: n1 -> n2 -> n3, and n4 and n5 beside them.

    Args:
        path: the growth table.
        params: step id -> its expression or condition, in place of the usual one.
    """
    steps = [
        ("n1", "derive_column", {"table": f"data:{path.name}"}, {"name": "ratio", "expression": "growth / height"}),
        ("n2", "filter_rows", {"table": "n1.derived"}, {"condition": "ratio > 0.1"}),
        ("n3", "summarize_table", {"table": "n2.filtered"}, {"columns": ["ratio"], "group_by": "treatment"}),
        ("n4", "filter_rows", {"table": f"data:{path.name}"}, {"condition": "height > 45"}),
        ("n5", "summarize_table", {"table": "n4.filtered"}, {"columns": ["growth"]}),
    ]
    nodes = []
    for node_id, tool, inputs, values in steps:
        if node_id in params:
            key = "expression" if tool == "derive_column" else "condition"
            values = {**values, key: params[node_id]}
        nodes.append(TaskNode(id=node_id, name=node_id, tool=tool, inputs=inputs, params=values))
    return TaskDag(question="How does growth relate to height?", datasets=[dataset_of(path)], nodes=nodes)
