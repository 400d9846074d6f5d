"""The reviewer: a model doubts a finished run. It can add doubts; it can never pass what a rule failed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from engine.agents.asks import Asks
from engine.agents.describe import files_text
from engine.agents.prompt_files import load_prompt
from engine.domain.base import Value
from engine.domain.plan import TaskDag
from engine.domain.report import Doubt, InWords, Report, RunView
from engine.toolbox.registry import ToolRegistry
from engine.toolbox.written import WRITTEN

MOST_POINTS = 5
MOST_CODE = 12_000
"""So many characters of a step's code are shown."""
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
    words: str = Field(
        default="", description="What the plain words say otherwise than the findings; empty if nothing."
    )


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What a model doubts of a run, and what it holds against the plain words, "" for nothing."""

    doubts: list[Doubt]
    words: str = ""


@dataclass(frozen=True, slots=True)
class RunReviewer:
    """Has finished runs reviewed by the model of the role `judge`."""

    models: Asks
    registry: ToolRegistry
    levels: bool = True

    def review(self, view: RunView, report: Report, words: InWords | None = None) -> Reviewed:
        """Return what a model doubts of a run that has a plan, and of the plain words for it.

        Raises:
            ModelUnavailable: when no model gave an answer.
        """
        if view.plan is None:
            return Reviewed([])
        steps = [
            f"{node.id} {node.tool} ({node.name}) {json.dumps(node.params, ensure_ascii=False)}: "
            f"{view.results[node.id].status}"
            for node in view.plan.order()
            if node.id in view.results
        ]
        system, user = load_prompt("review_run").filled(
            question=report.question,
            files=files_text(view.profiles, levels=self.levels),
            steps="\n".join(steps),
            criteria="\n".join(note.removeprefix(MEETS) for note in view.plan.notes if note.startswith(MEETS)),
            code="\n\n".join(self._code(view.plan)),
            findings="\n".join(f"{finding.node}: {finding.text}" for finding in report.findings),
            caveats="\n".join(report.limitations),
            words=words.text if words else "",
        )
        run_id = view.record.run_id
        asked = self.models.ask("judge", system, user, Review, purpose="review the result", run_id=run_id)
        known = {node.id for node in view.plan.nodes}
        doubts = [
            Doubt(kind=point.kind, node=point.step if point.step in known else "", text=point.text, model=asked.model)
            for point in asked.value.points
        ]
        return Reviewed(doubts, asked.value.words.strip() if words else "")

    def _code(self, plan: TaskDag) -> Iterator[str]:
        """Yield the code of steps that no checked tool carries out."""
        for node in plan.order():
            if node.tool in self.registry and WRITTEN in self.registry.get(node.tool).answers:
                code = self.registry.get(node.tool).source
                left = f"\n... {len(code) - MOST_CODE:,} further characters" if len(code) > MOST_CODE else ""
                yield f"{node.id}:\n{code[:MOST_CODE]}{left}"
