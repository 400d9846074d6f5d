"""The reviewer: a model doubts a finished run. It can add doubts; it can never pass what a rule failed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from engine.agents.asks import Asks
from engine.agents.describe import files_text
from engine.agents.prompt_files import load_prompt
from engine.domain.base import Value
from engine.domain.report import Doubt, Report
from engine.domain.run_view import RunView

MOST_POINTS = 5
MEETS = "A good answer meets: "
"""Begins the notes of a plan that say so."""


class Point(Value):
    """Something that a reader must know."""

    kind: Literal["wrong", "doubt"]
    step: str = ""
    text: str = Field(min_length=1)


class Review(Value):
    """What the model answers."""

    points: list[Point] = Field(default=[], max_length=MOST_POINTS)


@dataclass(frozen=True, slots=True)
class RunReviewer:
    """Has finished runs reviewed by the model of the role `judge`."""

    models: Asks
    levels: bool = True

    def doubts(self, view: RunView, report: Report) -> list[Doubt]:
        """Return what a model doubts of a run that has a plan.

        Raises:
            ModelUnavailable: when no model gave an answer.
        """
        if view.plan is None:
            return []
        steps = [
            f"{node.id} {node.tool} {json.dumps(node.params, ensure_ascii=False)}: {view.results[node.id].status}"
            for node in view.plan.order()
            if node.id in view.results
        ]
        system, user = load_prompt("review_run").filled(
            question=report.question,
            files=files_text(view.profiles, levels=self.levels),
            steps="\n".join(steps),
            criteria="\n".join(note.removeprefix(MEETS) for note in view.plan.notes if note.startswith(MEETS)),
            findings="\n".join(f"{finding.node}: {finding.text}" for finding in report.findings),
            caveats="\n".join(report.limitations),
        )
        run_id = view.record.run_id
        asked = self.models.ask("judge", system, user, Review, purpose="review the result", run_id=run_id)
        known = {node.id for node in view.plan.nodes}
        return [
            Doubt(kind=point.kind, node=point.step if point.step in known else "", text=point.text, model=asked.model)
            for point in asked.value.points
        ]
