"""Calls about what is remembered: past analyses, facts, conversations."""

from __future__ import annotations

from engine.api.calls import Calls, passed_on
from engine.domain.memory import WorkingView
from engine.errors import NotFoundError
from engine.memory.door import MemoryDoor
from engine.memory.episodes.memory import EpisodicMemory
from engine.memory.episodes.recalling import Recalling
from engine.memory.facts.memory import SemanticMemory
from engine.memory.facts.statements import Statements
from engine.memory.service import Memory
from engine.memory.working.memory import WorkingMemory
from engine.ports.conversations import ConversationStore
from engine.text.prose import quoted

_ALL, _DOOR = "memory", "memory.door"
_EPISODES, _RECALL = "memory.episodic", "memory.recalling"
_FACTS, _STATEMENTS = "memory.semantic", "memory.statements"
_WORKING, _MESSAGES = "memory.working", "memory.working.store"


class MemoryCalls(Calls):
    """What a workspace remembers."""

    recall = passed_on(Recalling.recall, _RECALL)
    context = passed_on(Recalling.context, _RECALL)
    episode_of = passed_on(EpisodicMemory.episode_of, _EPISODES)
    episodes = passed_on(EpisodicMemory.episodes, _EPISODES)
    episode_count = passed_on(EpisodicMemory.count, _EPISODES)
    edit_episode = passed_on(EpisodicMemory.edit, _EPISODES)
    doubt = passed_on(EpisodicMemory.doubt, _EPISODES)
    doubted_runs = passed_on(EpisodicMemory.doubted_runs, _EPISODES)

    facts = passed_on(Statements.about, _STATEMENTS)
    facts_near = passed_on(Statements.near, _STATEMENTS)
    contradictions = passed_on(Statements.contradictions, _STATEMENTS)
    fact = passed_on(SemanticMemory.fact, _FACTS)
    state = passed_on(SemanticMemory.state, _FACTS)
    restore = passed_on(SemanticMemory.restore, _FACTS)
    retract = passed_on(MemoryDoor.retract, _DOOR)
    to_graph = passed_on(MemoryDoor.to_graph, _DOOR)

    conversations = passed_on(ConversationStore.conversations, _MESSAGES)
    titles = passed_on(ConversationStore.titles, _MESSAGES)
    messages = passed_on(ConversationStore.messages, _MESSAGES)
    budget_in_words = passed_on(WorkingMemory.budget_in_words, _WORKING)
    pin_message = passed_on(WorkingMemory.pin, _WORKING)
    unpin_message = passed_on(WorkingMemory.unpin, _WORKING)

    pin = passed_on(Memory.pin, _ALL)
    remove = passed_on(Memory.remove, _ALL)
    export = passed_on(Memory.export, _ALL)
    import_file = passed_on(Memory.import_file, _ALL)

    def view(self, conversation: str) -> WorkingView:
        """Return the working memory of a conversation.

        Raises:
            NotFoundError: when there is no conversation of this id.
        """
        view = self._parts.memory.working.view(conversation)
        if not (view.messages or view.pinned or view.summaries):
            raise NotFoundError(
                f"There is no conversation {quoted(conversation)}.",
                advice="`biodesk memory working` lists those there are.",
            )
        return view
