"""A small table with a known answer and a plan of quick steps on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from engine.domain.datatypes import DataType
from engine.domain.encoding.hashing import sha256_bytes
from engine.domain.plan import Dataset, TaskDag, TaskNode


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
