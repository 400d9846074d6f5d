"""Forgetting across the tiers: what was forgotten leaves the knowledge graph as well."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from engine.adapters.fakes import CountingIds, FrozenClock
from engine.api.know.memory import MemoryCalls
from engine.bootstrap import EngineParts
from engine.domain.knowledge import EdgeRows, EdgeType, GraphSource, NodeRows, NodeType
from engine.domain.memory import Episode, Fact
from engine.errors import NotFoundError, StorageError
from engine.knowledge.service import open_knowledge
from engine.memory.door import MemoryDoor
from engine.memory.episodes.memory import EpisodicMemory
from engine.memory.episodes.recalling import Recalling
from engine.memory.facts.memory import SemanticMemory
from engine.memory.facts.statements import Statements
from engine.memory.service import Memory
from engine.memory.transfer import export_memory
from engine.memory.working.memory import WorkingMemory
from storage.graph.twin import GraphStoreTwin
from storage.memory.conversations_twin import ConversationsTwin
from storage.memory.episodes_twin import EpisodesTwin
from storage.memory.facts_twin import FactsTwin

PAPER = "PMID:1234567"


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """An empty memory beside a graph of four genes without a relation."""
    nodes = NodeRows()
    for number, name in ((3569, "IL6"), (6774, "STAT3"), (1956, "EGFR"), (2885, "GRB2")):
        nodes.add(f"Gene::{number}", NodeType.GENE, name)
    store = GraphStoreTwin()
    store.add(GraphSource(id="genes", name="Genes", kind="generic"), [nodes])
    clock, episodes, facts, talks = FrozenClock(), EpisodesTwin(), FactsTwin(), ConversationsTwin()
    past, semantic = EpisodicMemory(episodes, clock), SemanticMemory(facts, clock, CountingIds())
    return Memory(
        episodic=past,
        recalling=Recalling(past, clock=clock),
        semantic=semantic,
        statements=Statements(semantic),
        working=WorkingMemory(talks, budget=1000, clock=clock),
        door=MemoryDoor(semantic, open_knowledge(store, tmp_path / "graph", clock, starter_wanted=False)),
    )


def calls(memory: Memory) -> MemoryCalls:
    return MemoryCalls(cast(EngineParts, SimpleNamespace(memory=memory)))


def label(memory: Memory, sentence: str) -> str:
    return memory.door.knowledge.claims.check(sentence).claims[0].label


def source_ids(memory: Memory) -> list[str]:
    return [source.id for source in memory.door.knowledge.graph.store.sources()]


def test_a_forgotten_fact_no_longer_grounds_a_claim_and_its_sources_others_do(memory: Memory) -> None:
    first = memory.semantic.state("IL6", "activates", "STAT3", PAPER).fact
    second = memory.semantic.state("EGFR", "interacts with", "GRB2", PAPER).fact
    memory.door.to_graph()
    assert label(memory, "IL6 activates STAT3.") == label(memory, "EGFR interacts with GRB2.") == "grounded"
    assert memory.remove(first.id).kind == "fact"
    assert label(memory, "IL6 activates STAT3.") == "ungrounded"
    assert label(memory, "EGFR interacts with GRB2.") == "grounded"
    assert memory.semantic.fact(second.id).in_graph
    assert memory.remove(second.id).kind == "fact"
    assert label(memory, "EGFR interacts with GRB2.") == "ungrounded"
    assert source_ids(memory) == ["genes"]
    with pytest.raises(NotFoundError):
        memory.remove(second.id)


def test_a_fact_another_source_states_too_stays_in_the_graph(memory: Memory) -> None:
    one = memory.semantic.state("IL6", "activates", "STAT3", PAPER).fact
    memory.semantic.state("IL6", "activates", "STAT3", "ada lovelace")
    memory.door.to_graph()
    memory.remove(one.id)
    assert label(memory, "IL6 activates STAT3.") == "grounded"
    assert source_ids(memory) == ["genes", "facts:name:ada_lovelace"]


def test_a_fact_that_was_retracted_but_not_yet_taken_out_leaves_when_forgotten(memory: Memory) -> None:
    fact = memory.semantic.state("IL6", "activates", "STAT3", PAPER).fact
    memory.door.to_graph()
    memory.semantic.retract(fact.id)
    memory.remove(fact.id)
    assert label(memory, "IL6 activates STAT3.") == "ungrounded"


def test_retracting_takes_a_fact_out_of_the_graph_and_restoring_does_not_send_it(memory: Memory) -> None:
    fact = memory.semantic.state("IL6", "activates", "STAT3", PAPER).fact
    other = memory.semantic.state("EGFR", "interacts with", "GRB2", PAPER).fact
    memory.door.to_graph()
    after = memory.door.retract(fact.id)
    assert after.retracted
    assert not after.in_graph
    assert label(memory, "IL6 activates STAT3.") == "ungrounded"
    assert label(memory, "EGFR interacts with GRB2.") == "grounded"
    assert memory.semantic.fact(other.id).in_graph
    memory.semantic.restore(fact.id)
    assert label(memory, "IL6 activates STAT3.") == "ungrounded"
    memory.door.to_graph([fact.id])
    assert label(memory, "IL6 activates STAT3.") == "grounded"
    with pytest.raises(NotFoundError):
        memory.door.retract("fact_of_nobody")


def test_forgetting_a_fact_sends_nothing_that_was_not_in_the_graph(memory: Memory) -> None:
    sent = memory.semantic.state("IL6", "activates", "STAT3", PAPER).fact
    kept = memory.semantic.state("EGFR", "interacts with", "GRB2", PAPER).fact
    memory.door.to_graph([sent.id])
    version = memory.door.knowledge.graph.store.version()
    memory.remove(sent.id)
    assert source_ids(memory) == ["genes"]
    assert not memory.semantic.fact(kept.id).in_graph
    after = memory.door.knowledge.graph.store.version()
    assert after > version
    memory.remove(kept.id)
    assert memory.door.knowledge.graph.store.version() == after


def test_a_fact_marked_as_sent_that_the_graph_lacks_can_be_forgotten(memory: Memory) -> None:
    one = memory.semantic.state("IL6", "activates", "STAT3", PAPER).fact
    other = memory.semantic.state("EGFR", "interacts with", "GRB2", PAPER).fact
    memory.door.to_graph()
    memory.door.knowledge.sources.remove("facts:pmid:1234567")
    memory.remove(one.id)
    assert source_ids(memory) == ["genes"]  # what was taken back by hand does not come in again
    assert memory.semantic.facts() == [memory.semantic.fact(other.id)]


def test_when_the_graph_cannot_be_written_the_fact_is_kept(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    fact = memory.semantic.state("IL6", "activates", "STAT3", PAPER).fact
    memory.door.to_graph()

    def fail(_source: str) -> None:
        message = "The disk is full."
        raise StorageError(message)

    with monkeypatch.context() as patch:
        patch.setattr(memory.door.knowledge.graph.store, "remove_source", fail)
        with pytest.raises(StorageError):
            memory.remove(fact.id)
    assert memory.semantic.fact(fact.id).in_graph
    assert memory.remove(fact.id).kind == "fact"
    assert label(memory, "IL6 activates STAT3.") == "ungrounded"


@pytest.mark.parametrize(("episode_id", "run_id"), [("ep_1", "run_1"), ("run_1", "")])
def test_a_forgotten_episode_takes_what_its_run_taught_with_it(memory: Memory, episode_id: str, run_id: str) -> None:
    edges = EdgeRows()
    edges.add("Gene::3569", EdgeType.ACTIVATES, "Gene::6774")
    memory.door.knowledge.sources.learn(GraphSource(id="run_1", name="Run", kind="run"), [edges])
    memory.episodic.add(Episode(id=episode_id, at="2026-11-21T08:00:00.000Z", task="Signalling", run_id=run_id))
    memory.episodic.add(Episode(id="ep_2", at="2026-11-21T08:00:00.000Z", task="Never learned from", run_id="genes"))
    assert label(memory, "IL6 activates STAT3.") == "grounded"
    assert memory.remove(episode_id).kind == "episode"
    assert label(memory, "IL6 activates STAT3.") == "ungrounded"
    assert memory.remove("ep_2").kind == "episode"
    assert source_ids(memory) == ["genes"]  # an import that happens to have that id is not a run's


def test_what_was_said_in_a_run_is_forgotten_with_its_episode_and_the_answer_says_what_went(
    memory: Memory, tmp_path: Path
) -> None:
    edges = EdgeRows()
    edges.add("Gene::3569", EdgeType.ACTIVATES, "Gene::6774")
    memory.door.knowledge.sources.learn(GraphSource(id="run_1", name="Run", kind="run"), [edges])
    memory.episodic.add(Episode(id="ep_1", at="2026-11-21T08:00:00.000Z", task="Signalling", run_id="run_1"))
    for run in ("run_1", "run_2"):
        memory.working.add("talk", "user", f"What about {run}?", run_id=run)
        memory.working.add("talk", "assistant", f"3,896 genes in {run}.", run_id=run)
    gone = memory.remove("ep_1")
    assert gone.model_dump() == {
        "id": "ep_1", "kind": "episode", "messages": 2, "conversations": ["talk"], "sources": ["run_1"],
    }  # fmt: skip
    path = tmp_path / "memory.jsonl"
    assert memory.export(path)["messages"] == 2
    assert "run_1" not in path.read_text()


def test_forgetting_says_what_went_with_a_fact_and_a_conversation(memory: Memory) -> None:
    fact = memory.semantic.state("IL6", "activates", "STAT3", PAPER).fact
    memory.door.to_graph()
    assert memory.remove(fact.id).sources == ["facts:pmid:1234567"]
    kept = memory.semantic.state("IL6", "activates", "STAT3", PAPER).fact
    assert memory.remove(kept.id).sources == []
    memory.working.add("talk", "user", "Hello")
    assert memory.remove("talk").model_dump(exclude_defaults=True) == {
        "id": "talk", "kind": "conversation", "messages": 1, "conversations": ["talk"],
    }  # fmt: skip


def test_an_unknown_conversation_is_not_an_empty_one(memory: Memory) -> None:
    memory.working.add("talk", "user", "Hello")
    assert len(calls(memory).view("talk").messages) == 1
    with pytest.raises(NotFoundError, match="no conversation 'nope'") as refused:
        calls(memory).view("nope")
    assert "memory working" in refused.value.advice


def test_an_episode_or_a_fact_is_pinned_by_its_id(memory: Memory) -> None:
    fact = memory.semantic.state("IL6", "activates", "STAT3", PAPER).fact
    memory.episodic.add(Episode(id="ep_1", at="2026-11-21T08:00:00.000Z", task="Signalling"))
    assert isinstance(memory.pin(fact.id), Fact)
    assert memory.pin("ep_1").pinned
    assert memory.semantic.fact(fact.id).pinned
    assert not memory.pin(fact.id, pinned=False).pinned
    assert not memory.pin("ep_1", pinned=False).pinned
    with pytest.raises(NotFoundError, match="no episode and no fact 'nope'"):
        memory.pin("nope")


def test_ids_that_are_whole_texts_are_shortened_in_messages(memory: Memory) -> None:
    for action in (memory.remove, memory.pin, memory.door.retract, memory.semantic.restore, calls(memory).view):
        with pytest.raises(NotFoundError) as refused:
            action("x" * 300_000)
        assert len(refused.value.message) < 200


def test_another_confidence_is_another_one_in_the_graph(memory: Memory) -> None:
    def confidence() -> float:
        return memory.door.knowledge.reading.edges_between("IL6", "STAT3")[0].confidence

    memory.semantic.state("IL6", "activates", "STAT3", PAPER, 0.8)
    memory.door.to_graph()
    assert confidence() == pytest.approx(0.8, abs=1e-6)
    fact = memory.semantic.state("IL6", "activates", "STAT3", PAPER, 0.3).fact
    assert confidence() == pytest.approx(0.3, abs=1e-6)
    assert memory.semantic.fact(fact.id).in_graph
    memory.door.knowledge.sources.remove("facts:pmid:1234567")
    memory.semantic.state("IL6", "activates", "STAT3", PAPER, 0.5)
    assert source_ids(memory) == ["genes"]  # what was taken back by hand does not come in again
    assert not memory.semantic.fact(fact.id).in_graph


def test_sending_again_names_only_what_is_new(memory: Memory) -> None:
    one = memory.semantic.state("IL6", "activates", "STAT3", PAPER).fact
    assert memory.door.to_graph().new == [one.id]
    two = memory.semantic.state("EGFR", "interacts with", "GRB2", PAPER).fact
    done = memory.door.to_graph()
    assert (sorted(done.sent), done.new) == (sorted([one.id, two.id]), [two.id])
    assert memory.door.to_graph().new == []


def test_a_fact_that_comes_retracted_or_changed_leaves_or_changes_in_the_graph(memory: Memory, tmp_path: Path) -> None:
    one = memory.semantic.state("IL6", "activates", "STAT3", PAPER).fact
    two = memory.semantic.state("EGFR", "interacts with", "GRB2", PAPER).fact
    memory.door.to_graph()
    later = "2027-01-01T00:00:00Z"
    coming = FactsTwin()
    coming.save([one.model_copy(update={"retracted": True, "updated": later})])
    coming.save([two.model_copy(update={"confidence": 0.2, "at": later})])
    coming.save([one.model_copy(update={"id": "fact_new", "source": "ada", "in_graph": True})])
    path = tmp_path / "m.jsonl"
    export_memory(path, None, coming)
    done = memory.import_file(path)
    assert (done.facts, done.warnings) == (3, [])
    assert label(memory, "IL6 activates STAT3.") == "ungrounded"
    assert memory.door.knowledge.reading.edges_between("EGFR", "GRB2")[0].confidence == pytest.approx(0.2, abs=1e-6)
    assert [(f.id, f.in_graph) for f in memory.semantic.facts()] == [
        (one.id, False), (two.id, True), ("fact_new", False),
    ]  # fmt: skip


def test_facts_are_joined_by_the_entity_that_the_graph_knows_under_several_names(memory: Memory) -> None:
    nodes = NodeRows()
    nodes.add("Gene::7157", NodeType.GENE, "TP53", aliases=["tumor protein p53"])
    nodes.add("Gene::4193", NodeType.GENE, "MDM2")
    memory.semantic.state("tumor protein p53", "activates", "MDM2", "a paper")
    memory.semantic.state("TP53", "inhibits", "MDM2", "a notebook")
    assert memory.statements.contradictions() == []
    memory.door.knowledge.graph.store.add(GraphSource(id="more", name="More", kind="generic"), [nodes])
    ((one, other),) = memory.statements.contradictions()
    assert {one.fact.subject, other.fact.subject} == {"tumor protein p53", "TP53"}
    assert len(memory.statements.about("tumor protein p53")) == 2
    same = memory.semantic.state("Gene::7157", "blocks", "MDM2", "another paper").fact
    assert next(view for view in memory.statements.about() if same in view.facts).support > same.confidence


def test_a_fact_whose_opposite_the_graph_states_is_sent_with_a_warning(memory: Memory) -> None:
    memory.semantic.state("IL6", "activates", "STAT3", PAPER)
    assert memory.door.to_graph().opposed == []
    memory.semantic.state("IL6", "inhibits", "STAT3", "a rumour", confidence=0.2)
    (warning, *_) = [text for text in memory.door.to_graph().opposed if text.startswith("IL6 inhibits STAT3")]
    assert "confidence 0.2" in warning
    assert "the opposite, that IL6 activates STAT3" in warning
    assert label(memory, "IL6 activates STAT3.") == "grounded"
    assert label(memory, "IL6 inhibits STAT3.") == "contradicted"
