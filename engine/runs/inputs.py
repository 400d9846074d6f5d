"""The data a run starts from, kept under their hash: a run can be repeated when the user's file has changed or gone."""

from __future__ import annotations

from pathlib import Path

from engine.domain.plan import TaskDag
from engine.errors import DataError
from engine.ports.artifacts import ArtifactStore


def keep_inputs(plan: TaskDag, artifacts: ArtifactStore) -> None:
    """Store a copy of every file the plan uses that is not stored yet.

    Raises:
        DataError: when a file is gone or is not the one the plan was made for.
    """
    for dataset in plan.datasets:
        if artifacts.has(dataset.sha256):
            continue
        path = Path(dataset.path).expanduser()
        if not path.is_file():
            message = f"The data file {dataset.path} is not there any more."
            raise DataError(message, advice="Put it back or give it with --data.")
        if artifacts.put_file(path) != dataset.sha256:
            message = f"The data file {dataset.name} has changed since the plan was made."
            raise DataError(message, advice="Make the plan again from the file as it is now.")
