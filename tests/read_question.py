"""A planner whose answer is known, so that what shows a plan is tested apart from what makes it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from engine.domain.plan import Alternative, Chosen, Dataset, OpenQuestion, Span, TaskDag, TaskNode
from engine.planning.planner import Planner

QUESTION = "Is growth higher in treated than in control at dawn, and why?"


def span(text: str, taken_as: str, value: str = "", strength: float = 1.0, question: str = QUESTION) -> Span:
    start = question.index(text)
    facts = {"text": text, "start": start, "end": start + len(text), "as": taken_as}
    return Span.model_validate({**facts, "value": value, "strength": strength})


SPANS = [
    span("growth", "column", "growth"),
    span("higher", "direction", "greater"),
    span("treated", "level", "treatment = treated", 0.9),
    span("control", "level", "treatment = control", 0.9),
    span("at dawn", "unused", strength=0.0),
]
ALTERNATIVES = [
    Alternative(id="trend_test", probability=0.1, says="Whether growth rises from control to treated."),
    Alternative(id="compare_paired", probability=0.08, says="Growth in treated and control of the same plants."),
    Alternative(id="group_plot", probability=0.05, says="Growth drawn by treatment."),
    Alternative(id="outliers", probability=0.01, says="A fourth, never shown on a page."),
]


class KnownPlanner:
    """Takes the place of `Planner.plan`; keeps what it was called with."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    def plan(self, question: str, profiles: Any, found: Any = None, **more: Any) -> Any:
        analysis = more["analysis"]
        self.calls.append({"question": question, "profiles": profiles, **more})
        (profile,) = profiles
        guess = profile.serves_as("table") or profile.best
        dataset = Dataset(
            name=profile.name, path=profile.path, sha256=profile.sha256, type=guess.type, read=guess.read
        )  # fmt: skip
        params = {"value": "growth", "group": "treatment"} | ({"test": "mann_whitney"} if analysis else {})
        node = TaskNode(
            id="n1", name="Compare", tool="compare_groups", inputs={"table": f"data:{profile.name}"}, params=params
        )
        plan = TaskDag(
            question=question,
            datasets=[dataset],
            nodes=[node],
            understood=SPANS if question == QUESTION else [],
            analysis=[Chosen(id=analysis or "compare_groups", probability=0.72)],
            alternatives=ALTERNATIVES,
            not_answered=["Why it is higher: the data hold no cause."],
            open_questions=[
                OpenQuestion(id="analysis", text="Is that meant?", why="Others come near.", choices=["trend_test"]),
                OpenQuestion(
                    id="design",
                    text="One plant a row?",
                    why="It decides the test.",
                    choices=["trend_test"],
                    node="n1",
                    param="test",
                ),
            ],
        )
        return SimpleNamespace(plan=plan, retrieved=["compare_groups"])


def known_planner(monkeypatch: pytest.MonkeyPatch) -> KnownPlanner:
    """Put a planner with a known answer in place of the real one."""
    known = KnownPlanner()
    plan = lambda _, *args, **more: known.plan(*args, **more)  # noqa: E731 - a method of the class it is put into
    monkeypatch.setattr(Planner, "plan", plan)
    return known
