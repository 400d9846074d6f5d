"""What a step is given: found in the plan's files and in results of earlier steps, and copied to where it works."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.domain.plan import DATA_PREFIX, TaskDag, TaskNode
from engine.domain.results import NodeResult
from engine.domain.toolspec import ToolSpec
from engine.errors import DataError, IntegrityError, StorageError
from engine.ports.artifacts import ArtifactStore
from engine.toolbox.registry import ToolRegistry
from engine.toolbox.script import StepInput, file_input, stored_input


@dataclass(frozen=True, slots=True)
class Given:
    """A file that a step is given."""

    name: str
    """The input's name in the tool."""
    sha256: str
    source: Path
    """Where it is stored."""
    step: StepInput
    """Where the step finds it and how it is read."""


def given_to(
    plan: TaskDag,
    node: TaskNode,
    spec: ToolSpec,
    results: Mapping[str, NodeResult],
    registry: ToolRegistry,
    artifacts: ArtifactStore,
) -> list[Given]:
    """Return the files a step is given, in the order of the tool's inputs.

    Raises:
        DataError: when an earlier step did not give what this one needs.
    """
    found: list[Given] = []
    for port in spec.inputs:
        ref = node.inputs.get(port.name)
        if ref is None:
            continue
        if ref.startswith(DATA_PREFIX):
            dataset = plan.dataset(ref.removeprefix(DATA_PREFIX))
            assert dataset is not None
            path = _free_path(safe_name(dataset.path), port.name, found)
            step, sha256 = file_input(path, dataset, spec), dataset.sha256
        else:
            upstream, _, output = ref.partition(".")
            artifact = next((a for a in results[upstream].artifacts if a.output == output), None)
            if artifact is None:
                if port.optional:
                    continue
                raise DataError(f"Step {upstream} gave no {output}, which step {node.id} needs.")
            kind = next(o.type for o in registry.get(results[upstream].tool).outputs if o.name == output)
            path = _free_path(artifact.name, port.name, found)
            step, sha256 = stored_input(path, kind), artifact.sha256
        found.append(Given(port.name, sha256, artifacts.path(sha256), step))
    return found


def copy_into(workdir: Path, given: Sequence[Given], node: TaskNode) -> None:
    """Make the folder a step works in and copy its files there.

    Raises:
        StorageError: when there is no room for them.
        IntegrityError: when one is not what was stored.
    """
    try:
        (workdir / "inputs").mkdir(parents=True)
        for item in given:
            # A copy, not a link: code in the sandbox must not be able to change what is stored.
            shutil.copyfile(item.source, workdir / item.step.path)
            _require_unchanged(node, item, workdir / item.step.path)
    except OSError as err:
        message = f"Inputs of step {node.id} could not be copied: {err.strerror or err}."
        raise StorageError(message, advice="Free some disk space, then resume the run.") from err


def safe_name(path: str) -> str:
    """Return a file name that stays in its folder and suits every platform, keeping the suffix."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", Path(path).name).lstrip(".") or "file"


def _require_unchanged(node: TaskNode, item: Given, copy: Path) -> None:
    # The record will say that the step read exactly these bytes, so that is made sure of.
    with copy.open("rb") as handle:
        found = hashlib.file_digest(handle, "sha256").hexdigest()
    if found != item.sha256:
        message = (
            f"Input {item.name!r} of step {node.id} is not what was stored: its SHA-256 is {found[:12]}..., "
            f"{item.sha256[:12]}... was recorded."
        )
        advice = f"Remove {item.source} and run the analysis again from the original data."
        raise IntegrityError(message, advice=advice)


def _free_path(name: str, port: str, others: Sequence[Given]) -> str:
    """Return where an input is put; files of the same name from different folders must not replace each other."""
    path, number = f"inputs/{name}", 1
    while any(path.lower() == other.step.path.lower() for other in others):
        path, number = f"inputs/{port}_{'' if number == 1 else number}{name}", number + 1
    return path
