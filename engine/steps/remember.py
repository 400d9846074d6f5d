"""Keeps what a finished run taught: an episode for the next similar question, and what it states for the graph."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from engine.domain.events import EngineEvent, NodeRetried, PlanEdited, TalkShortened
from engine.domain.knowledge import Node, NodeType
from engine.domain.memory import Episode
from engine.domain.plan import TaskDag
from engine.domain.report import RunView
from engine.domain.results import RunRecord
from engine.errors import EngineError, NotFoundError
from engine.knowledge.entities import Entities
from engine.knowledge.learning import learn_run
from engine.knowledge.service import KnowledgeBase
from engine.memory.episodes.lessons import Changer, episode_of, lessons_of, repair_sentences
from engine.memory.service import Memory
from engine.settings import Settings

_log = logging.getLogger(__name__)
_KEPT = ("succeeded", "partial", "failed")
"""A run that its user gave up teaches nothing."""
_NOT_BIOLOGY = frozenset(
    {NodeType.TOOL, NodeType.DATASET, NodeType.PROTOCOL, NodeType.PUBLICATION, NodeType.DOMAIN, NodeType.ORGANISM}
)


@dataclass(slots=True)
class Remembering:
    """Turns finished runs into memory."""

    settings: Settings
    memory: Memory
    knowledge: KnowledgeBase
    titles: Mapping[str, str]
    """Tool -> its title."""

    def note_question(self, record: RunRecord) -> list[TalkShortened]:
        """Put a question into its conversation; its run must start whether or not that can be stored.

        Returns:
            What came of old turns since the question before: the run that had them shortened may be over by then.
        """
        try:
            self.memory.working.add(record.conversation, "user", record.question, run_id=record.run_id)
        except EngineError as err:
            _log.warning("The question of run %s could not be kept in its conversation: %s", record.run_id, err)
        return [
            TalkShortened(run_id=record.run_id, first=told.first, last=told.last, by=told.by, problems=[*told.problems])
            for told in self.memory.working.retold(record.conversation)
        ]

    def remember(self, view: RunView, events: Sequence[EngineEvent]) -> Episode | None:
        """Store the episode of a run and what it adds to the graph; the same run again replaces both.

        Returns:
            The episode, or None when the run is not one to remember.
        """
        record = view.record
        worth_keeping = record.status in _KEPT and view.plan is not None
        episode = self._keep(view, events) if worth_keeping else None
        answer = " ".join(view.report.summary) if view.report else record.error
        conversation = record.conversation or record.run_id
        if answer and not self._said(conversation, answer, record.run_id):
            self.memory.working.add(conversation, "assistant", answer, run_id=record.run_id)
        return episode

    def forget(self, run_id: str) -> None:
        """Forget for good what was remembered of a run and what it taught."""
        for episode in [e for e in self.memory.episodic.store.episodes() if (e.run_id or e.id) == run_id]:
            with suppress(NotFoundError):  # forgotten meanwhile
                self.memory.remove(episode.id)
        self.memory.working.forget_run(run_id)

    def _said(self, conversation: str, answer: str, run_id: str) -> bool:
        """Say whether a run's answer stands in its conversation: killed after that, a run comes to its end again."""
        said = self.memory.working.store.messages(conversation)
        return any((m.role, m.text, m.run_id) == ("assistant", answer, run_id) for m in said)

    def _keep(self, view: RunView, events: Sequence[EngineEvent]) -> Episode:
        record = view.record
        assert view.plan is not None
        asked = asked_about(self.knowledge.entities, record.question)
        episode = self._episode(view, events)
        names = [node.name for node in asked]
        kept = self.memory.episodic.store.episode(episode.id)  # a run that was resumed comes here again
        episode = episode.model_copy(
            update={
                "entities": list(dict.fromkeys([*names, *episode.entities])),
                "pinned": kept.pinned if kept is not None else False,
            }
        )
        if self.settings.remember:
            self.memory.episodic.add(episode)
        if self.settings.learn and record.status != "failed" and view.report is not None:
            learned = learn_run(
                episode,
                view.plan,
                view.results,
                resolve=self.knowledge.recognising.lookup(),
                titles=self.titles,
                asked=[node.id for node in asked],
            )
            self.knowledge.sources.learn(learned.source, [learned.nodes, learned.edges])
            self.knowledge.graph.view()  # so that the next question does not wait for it
        return episode

    def _episode(self, view: RunView, events: Sequence[EngineEvent]) -> Episode:
        assert view.plan is not None
        edits = [
            change
            for event in events
            if isinstance(event, PlanEdited) and event.by == "person"
            for change in event.changes
        ]
        retried = [event for event in events if isinstance(event, NodeRetried)]
        repairs = repair_sentences(retried, view.plan)
        repaired: dict[tuple[str, str], Changer] = {
            (event.node, name): "repair" for event in retried for name in event.changed
        }
        by_hand = edited_params(events) | set_with_the_question(view) | settled_by_a_user(view.plan)
        edited: dict[tuple[str, str], Changer] = dict.fromkeys(by_hand, "edit")
        routed = view.route.domains if view.route else []
        return episode_of(
            view.record,
            view.plan,
            view.results,
            view.report,
            view.profiles,
            domains=list(dict.fromkeys([*routed, *(node.domain for node in view.plan.nodes)])),
            edits=edits,
            repairs=repairs,
            changed={**edited, **repaired},
            learned=lessons_of(retried),
        )


def asked_about(entities: Entities, question: str) -> list[Node]:
    """Return the biological entities that a question names, each once; of a name with several meanings none."""
    clear = {
        m.node.id: m.node for m in entities.link(question) if not m.alternatives and m.node.type not in _NOT_BIOLOGY
    }
    return list(clear.values())


def set_with_the_question(view: RunView) -> set[tuple[str, str]]:
    """Return (step, parameter) for what came with the question as `NODE.PARAM=VALUE`."""
    assert view.plan is not None
    changed: set[tuple[str, str]] = set()
    for key in view.record.changes:
        target, _, name = key.rpartition(".")
        changed |= {(node.id, name) for node in view.plan.nodes if target in (node.id, node.tool)}
    return changed


def settled_by_a_user(plan: TaskDag) -> set[tuple[str, str]]:
    """Return (step, parameter) for what users decided, in this plan or in the one it was made from."""
    return {(n.id, name) for n in plan.nodes for name, who in n.settled.items() if who in ("edit", "set")}


def edited_params(events: Sequence[EngineEvent]) -> set[tuple[str, str]]:
    """Return (step, parameter) for everything a user changed between the proposed plan and the approved one."""
    proposed = next((event.plan for event in events if event.kind == "plan_proposed"), None)
    last = next(
        (event.plan for event in reversed(events) if isinstance(event, PlanEdited) and event.by == "person"), None
    )
    if proposed is None or last is None:
        return set()
    changed: set[tuple[str, str]] = set()
    for node in last.nodes:
        old = proposed.node(node.id)
        if old is not None and old.tool == node.tool:
            names = {*old.params, *node.params}
            changed |= {(node.id, name) for name in names if old.params.get(name) != node.params.get(name)}
    return changed
