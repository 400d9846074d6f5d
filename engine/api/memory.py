"""Calls about what is remembered: past analyses, facts, conversations."""

from __future__ import annotations

from engine.api.calls import Calls, passed_on
from engine.memory.episodes.memory import EpisodicMemory
from engine.memory.facts.memory import SemanticMemory
from engine.memory.service import Memory
from engine.memory.working.memory import WorkingMemory
from engine.ports.conversations import ConversationStore

_ALL, _EPISODES, _FACTS = "memory", "memory.episodic", "memory.semantic"
_WORKING, _MESSAGES = "memory.working", "memory.conversation_store"


class MemoryCalls(Calls):
    """What a workspace remembers."""

    recall = passed_on(Memory.recall, _ALL)
    context = passed_on(Memory.context, _ALL)
    episode_of = passed_on(Memory.episode_of, _ALL)
    episodes = passed_on(EpisodicMemory.episodes, _EPISODES)
    episode_count = passed_on(EpisodicMemory.count, _EPISODES)
    edit_episode = passed_on(EpisodicMemory.edit, _EPISODES)
    doubt = passed_on(Memory.doubt, _ALL)

    facts = passed_on(Memory.facts, _ALL)
    fact = passed_on(SemanticMemory.fact, _FACTS)
    state = passed_on(SemanticMemory.state, _FACTS)
    retract = passed_on(Memory.retract, _ALL)
    restore = passed_on(SemanticMemory.restore, _FACTS)
    contradictions = passed_on(SemanticMemory.contradictions, _FACTS)
    to_graph = passed_on(Memory.to_graph, _ALL)

    conversations = passed_on(ConversationStore.conversations, _MESSAGES)
    titles = passed_on(ConversationStore.titles, _MESSAGES)
    messages = passed_on(ConversationStore.messages, _MESSAGES)
    view = passed_on(Memory.view, _ALL)
    budget_in_words = passed_on(Memory.budget_in_words, _ALL)
    pin_message = passed_on(WorkingMemory.pin, _WORKING)
    unpin_message = passed_on(WorkingMemory.unpin, _WORKING)

    pin = passed_on(Memory.pin, _ALL)
    unpin = passed_on(Memory.unpin, _ALL)
    forget = passed_on(Memory.forget, _ALL)
    remove = passed_on(Memory.remove, _ALL)
    export = passed_on(Memory.export, _ALL)
    import_file = passed_on(Memory.import_file, _ALL)
