"""Plans as files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.domain.brief import GoalBrief
from engine.domain.encoding.plain_json import plain
from engine.domain.events import EngineEvent
from engine.domain.models import ModelEstimate
from engine.domain.plan import TaskDag
from engine.domain.profile import Profile
from engine.errors import PlanError


def plan_document(
    plan: TaskDag,
    profiles: Sequence[Profile] = (),
    goals: Sequence[GoalBrief] = (),
    estimate: ModelEstimate | None = None,
) -> dict[str, Any]:
    """Return a plan as the document of `biodesk plan --json`: with its files' structure, goals in words and models."""
    structure = [{"file": p.name, **p.structure.model_dump(mode="json")} for p in profiles]
    told = [{"says": goal.sentence(), **goal.model_dump(mode="json")} for goal in goals]
    asked = None if estimate is None else {"says": estimate.says, **estimate.model_dump(mode="json")}
    document = {**plan.model_dump(mode="json", by_alias=True), "structure": structure, "goals": told}
    return plain({**document, "model_estimate": asked})


def read_plan(path: Path | str) -> TaskDag:
    """Read a plan file.

    Raises:
        PlanError: when it is not a plan this version understands; the message says where.
    """
    from pydantic import ValidationError

    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
        if isinstance(document, dict):
            # What was found in the files, what it means and what it may cost: no part of the plan.
            for told in ("structure", "goals", "model_estimate"):
                document.pop(told, None)
        plan = TaskDag.model_validate(document)
        # An exported plan has its files beside it.
        found = {d.name: Path(path).absolute().parent / d.path for d in plan.datasets}
        datasets = [
            d.model_copy(update={"path": str(found[d.name])}) if found[d.name].is_file() else d for d in plan.datasets
        ]
        return plan.model_copy(update={"datasets": datasets})
    except OSError as err:
        raise PlanError(f"The plan {path} cannot be read: {err.strerror}.") from err
    except (ValueError, ValidationError) as err:
        reason = str(err).splitlines()[0]
        if isinstance(err, ValidationError):
            first = err.errors()[0]
            reason = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
        message = f"{path} is not a Biodesk plan: {reason}."
        raise PlanError(message, advice="`biodesk plan QUESTION --data ... --out PLAN.json` makes one.") from err


def event_json(event: EngineEvent) -> str:
    """Return an event as one line of JSON."""
    return event.model_dump_json()
