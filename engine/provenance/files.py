"""What the files of an exported folder are called, so that the notebook, the report and the record agree.

Names come from plans and file systems; none of them may lead out of the folder or hide another file.
"""

from __future__ import annotations

import json
import re
from typing import Any

from engine.domain.plan import TaskDag
from engine.domain.report import RunView
from engine.domain.results import Artifact

ARTIFACTS = "artifacts"
DATA = "data"
CODE = "code"
PROVENANCE = "provenance.json"
FORMAT = "biodesk-provenance"


def safe_name(name: str) -> str:
    """Return a file name that stays in its folder on every platform."""
    base = file_name(name)
    return re.sub(r"[^\w.+ ()-]", "_", base).strip(" .") or "file"


def artifact_files(view: RunView) -> list[tuple[str, Artifact]]:
    """Return (path in an exported folder, artifact) for every artifact, each path once."""
    taken: set[str] = set()
    files: list[tuple[str, Artifact]] = []
    for result in view.results.values():
        for artifact in result.artifacts:
            name = safe_name(artifact.name)
            if name.lower() in taken:
                name = f"{artifact.sha256[:8]}_{name}"
            taken.add(name.lower())
            files.append((f"{ARTIFACTS}/{name}", artifact))
    return files


def code_file(node_id: str) -> str:
    """Return where a step's code lies in an exported folder."""
    return f"{CODE}/{safe_name(node_id)}.py"


def data_files(plan: TaskDag | None) -> dict[str, str]:
    """Return dataset name -> file name in the `data` folder; different files never share a name."""
    names: dict[str, str] = {}
    owner: dict[str, str] = {}
    for dataset in plan.datasets if plan else []:
        name = safe_name(dataset.path)
        if owner.setdefault(name.lower(), dataset.sha256) != dataset.sha256:
            name = f"{dataset.sha256[:8]}_{name}"
            owner[name.lower()] = dataset.sha256
        names[dataset.name] = name
    return names


def file_name(path: str) -> str:
    """Return the last part of a path of any system: what a report says of where data lay."""
    return re.split(r"[\\/]", path)[-1]


def for_others(plan: TaskDag) -> dict[str, Any]:
    """Return a plan as plain JSON data that says of no folder of this machine: its files lie in `data/` beside it."""
    document = json.loads(plan.model_dump_json())
    names = data_files(plan)
    for dataset in document["datasets"]:
        dataset["path"] = f"data/{names[dataset['name']]}"
    return document
