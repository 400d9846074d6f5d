"""Memory, tool search and the graph are companions of a run: whatever breaks in them, the run has its result."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest

from engine.errors import StorageError

QUESTION = "Is growth higher in treated than in control?"


class Broken:
    """Stands in for a part of which one method fails; the others are the real ones."""

    def __init__(self, real: Any, method: str, error: Exception) -> None:
        self._real, self._method, self._error = real, method, error

    def __getattr__(self, name: str) -> Any:
        if name == self._method:
            return self._fail
        return getattr(self._real, name)

    def _fail(self, *_: object, **__: object) -> Any:
        raise self._error


@pytest.mark.parametrize(
    ("part", "method", "error"),
    [
        pytest.param("memory.recalling", "context", RuntimeError("a defect"), marks=pytest.mark.slow),
        pytest.param("finder", "search", StorageError("no room left"), marks=pytest.mark.slow),
        pytest.param("claims", "check_findings", RuntimeError("a defect"), marks=pytest.mark.slow),
        ("remembering", "remember", StorageError("no room left")),
    ],
)
def test_a_fault_in_a_companion_is_a_warning(open_engine, growth_csv, part, method, error):
    engine = open_engine()
    orchestrator = engine._parts.orchestrator
    holder = orchestrator.proposing.maker if part in ("memory.recalling", "finder") else orchestrator.ending
    *way, last = part.split(".")
    holder = functools.reduce(getattr, way, holder)
    object.__setattr__(holder, last, Broken(getattr(holder, last), method, error))
    run_id = engine.ask(QUESTION, [growth_csv], auto_approve=True)
    assert engine.wait(run_id, 120).status == "succeeded"
    warnings = [event.message for event in engine.events(run_id) if event.kind == "warning"]
    assert any(str(error) in message for message in warnings)
    assert engine.view(run_id).report is not None


@pytest.mark.slow
def test_a_run_starts_though_its_conversation_cannot_be_kept(open_engine, growth_csv):
    engine = open_engine()
    memory = engine._parts.memory
    memory.working = Broken(memory.working, "add", StorageError("no room left"))
    run_id = engine.ask(QUESTION, [growth_csv], auto_approve=True)
    assert engine.wait(run_id, 120).status == "succeeded"
    assert engine.memory.episodes()[0].run_id == run_id


def test_a_finished_run_is_remembered_learned_from_and_used_by_the_next_plan(open_engine, growth_csv):
    engine = open_engine()
    run_id = engine.ask(QUESTION, [growth_csv], auto_approve=True)
    engine.wait(run_id, 120)
    episode = engine.memory.episodes()[0]
    assert (episode.run_id, episode.success) == (run_id, True)
    assert "compare_groups" in episode.tools
    assert any(source.id == run_id for source in engine.knowledge.stats().sources)
    plan = engine.plan("is the growth different between treated and controls", [growth_csv])
    assert any(note.startswith("You ran these steps") for note in plan.notes)
    engine.memory.doubt(run_id)
    doubted = engine.plan("is the growth different between treated and controls", [growth_csv])
    assert not any(note.startswith("You ran") for note in doubted.notes)
    engine.memory.doubt(run_id, wrong=False)
    messages = engine.memory.messages(engine.record(run_id).conversation)
    assert [message.role for message in messages] == ["user", "assistant"]
    assert not [e.message for e in engine.events(run_id) if e.kind == "warning" and "could not be" in e.message]
    kinds = [event.kind for event in engine.events(run_id)]
    assert kinds[-1] == "run_finished"
    assert {"memory_recalled", "tools_retrieved", "claim_checked"} <= set(kinds)
    report = engine.view(run_id).report
    assert report is not None
    assert report.claims is not None
    assert report.claims.claims == []  # treated and control plants are nothing that the graph could state
    assert any(text.startswith("Postconditions of the 1 step") for text in report.checked)


@pytest.mark.slow
def test_a_setting_that_was_edited_is_proposed_again(open_engine, growth_csv):
    engine = open_engine()
    run_id = engine.ask(QUESTION, [growth_csv])
    engine.wait(run_id, 60)
    plan = engine.view(run_id).plan
    assert plan is not None
    node = plan.nodes[0]
    changed = node.model_copy(update={"params": {**node.params, "test": "mann_whitney"}})
    engine.edit_plan(run_id, plan.model_copy(update={"nodes": [changed]}))
    engine.approve(run_id)
    assert engine.wait(run_id, 120).status == "succeeded"
    again = engine.plan(QUESTION, [growth_csv]).nodes[0]
    assert again.params["test"] == "mann_whitney"
    assert any("you set it" in reason and run_id not in reason for reason in again.reasons)


@pytest.mark.slow
def test_a_setting_given_with_the_question_is_proposed_again(open_engine, growth_csv):
    engine = open_engine()
    run_id = engine.ask(QUESTION, [growth_csv], auto_approve=True, changes={"compare_groups.test": "mann_whitney"})
    assert engine.wait(run_id, 120).status == "succeeded"
    again = engine.plan("is growth different in treated and control", [growth_csv]).nodes[0]
    assert again.params["test"] == "mann_whitney"


@pytest.mark.parametrize(("remember", "learn"), [(False, True), (True, False), (False, False)])
@pytest.mark.slow
def test_remembering_and_learning_are_switched_off_apart(open_engine, growth_csv, remember, learn):
    engine = open_engine(remember=remember, learn=learn)
    run_id = engine.ask(QUESTION, [growth_csv], auto_approve=True)
    engine.wait(run_id, 120)
    assert bool(engine.memory.episodes()) is remember
    assert any(source.id == run_id for source in engine.knowledge.stats().sources) is learn


def test_what_is_imported_or_forgotten_counts_for_the_ranking_of_tools_at_once(open_engine, tmp_path):
    engine = open_engine()

    def success() -> float:
        found = engine.search_tools("compare a measurement between two groups", explain=True)
        return next(hit.parts["success"] for hit in found.tools if hit.name == "compare_groups")

    assert success() == 0.0
    records = tmp_path / "past.jsonl"
    lines = [
        {
            "kind": "episode",
            "id": f"past{n}",
            "at": "2026-01-01T00:00:00Z",
            "task": f"growth {n}",
            "tools": ["compare_groups"],
        }
        for n in range(8)
    ]
    records.write_text("\n".join(json.dumps(line) for line in lines))
    engine.memory.import_file(records)
    assert success() == pytest.approx(0.8)  # 2 x (8 + 1) / (8 + 2) - 1
    for line in lines:
        engine.memory.remove(str(line["id"]))
    assert success() == 0.0


@pytest.mark.slow
def test_an_episode_that_is_remembered_again_stays_pinned(open_engine, growth_csv):
    engine = open_engine()
    run_id = engine.ask(QUESTION, [growth_csv], auto_approve=True)
    assert engine.wait(run_id, 120).status == "succeeded"
    engine.memory.pin(engine.memory.episodes()[0].id)
    engine._parts.orchestrator.ending.remembering.remember(engine.view(run_id), engine.events(run_id))
    again = engine.memory.episodes()
    assert [episode.pinned for episode in again] == [True]


@pytest.mark.slow
def test_the_biology_a_question_names_is_kept_with_its_episode(open_engine, growth_csv):
    engine = open_engine()
    question = "Is growth higher in treated than in control? The treated plants got dexamethasone."
    run_id = engine.ask(question, [growth_csv], auto_approve=True)
    assert engine.wait(run_id, 120).status == "succeeded"
    assert "dexamethasone" in engine.memory.episodes()[0].entities
    stated = {(edge.type.value, edge.target) for edge in engine.knowledge.taught(run_id).edges}
    assert ("related_to", engine.knowledge.node("dexamethasone").id) in stated
