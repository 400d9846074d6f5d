"""Forgetting across the tiers: what was forgotten leaves the knowledge graph as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.adapters.fakes import CountingIds, FrozenClock
from engine.domain.knowledge import EdgeRows, EdgeType, GraphSource, NodeRows, NodeType
from engine.domain.memory import Episode, Fact
from engine.errors import NotFoundError, StorageError
from engine.knowledge.service import open_knowledge
from engine.memory.episodes.memory import EpisodicMemory
from engine.memory.facts.memory import SemanticMemory
from engine.memory.service import Memory
from engine.memory.transfer import export_memory
from engine.memory.working.memory import WorkingMemory
from engine.settings import Settings
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
    return Memory(
        settings=Settings(),
        episodic=EpisodicMemory(episodes, clock=clock),
        semantic=SemanticMemory(facts, clock, CountingIds()),
        working=WorkingMemory(talks, budget=1000, model=None, clock=clock),
        episode_store=episodes,
        fact_store=facts,
        conversation_store=talks,
        knowledge=open_knowledge(store, tmp_path / "graph", clock, starter_wanted=False),
    )


def label(memory: Memory, sentence: str) -> str:
    return memory.knowledge.claims.check(sentence).claims[0].label


def source_ids(memory: Memory) -> list[str]:
    return [source.id for source in memory.knowledge.graph.store.sources()]


def test_a_forgotten_fact_no_longer_grounds_a_claim_and_its_sources_others_do(memory: Memory) -> None:
    first = memory.semantic.add("IL6", "activates", "STAT3", PAPER)
    second = memory.semantic.add("EGFR", "interacts with", "GRB2", PAPER)
    memory.to_graph()
    assert label(memory, "IL6 activates STAT3.") == label(memory, "EGFR interacts with GRB2.") == "grounded"
    assert memory.forget(first.id) == "fact"
    assert label(memory, "IL6 activates STAT3.") == "ungrounded"
    assert label(memory, "EGFR interacts with GRB2.") == "grounded"
    assert memory.semantic.fact(second.id).in_graph
    assert memory.forget(second.id) == "fact"
    assert label(memory, "EGFR interacts with GRB2.") == "ungrounded"
    assert source_ids(memory) == ["genes"]
    with pytest.raises(NotFoundError):
        memory.forget(second.id)


def test_a_fact_another_source_states_too_stays_in_the_graph(memory: Memory) -> None:
    one = memory.semantic.add("IL6", "activates", "STAT3", PAPER)
    memory.semantic.add("IL6", "activates", "STAT3", "ada lovelace")
    memory.to_graph()
    memory.forget(one.id)
    assert label(memory, "IL6 activates STAT3.") == "grounded"
    assert source_ids(memory) == ["genes", "facts:name:ada_lovelace"]


def test_a_fact_that_was_retracted_but_not_yet_taken_out_leaves_when_forgotten(memory: Memory) -> None:
    fact = memory.semantic.add("IL6", "activates", "STAT3", PAPER)
    memory.to_graph()
    memory.semantic.retract(fact.id)
    memory.forget(fact.id)
    assert label(memory, "IL6 activates STAT3.") == "ungrounded"


def test_retracting_takes_a_fact_out_of_the_graph_and_restoring_does_not_send_it(memory: Memory) -> None:
    fact = memory.semantic.add("IL6", "activates", "STAT3", PAPER)
    other = memory.semantic.add("EGFR", "interacts with", "GRB2", PAPER)
    memory.to_graph()
    after = memory.retract(fact.id)
    assert after.retracted
    assert not after.in_graph
    assert label(memory, "IL6 activates STAT3.") == "ungrounded"
    assert label(memory, "EGFR interacts with GRB2.") == "grounded"
    assert memory.semantic.fact(other.id).in_graph
    memory.semantic.restore(fact.id)
    assert label(memory, "IL6 activates STAT3.") == "ungrounded"
    memory.to_graph([fact.id])
    assert label(memory, "IL6 activates STAT3.") == "grounded"
    with pytest.raises(NotFoundError):
        memory.retract("fact_of_nobody")


def test_forgetting_a_fact_sends_nothing_that_was_not_in_the_graph(memory: Memory) -> None:
    sent = memory.semantic.add("IL6", "activates", "STAT3", PAPER)
    kept = memory.semantic.add("EGFR", "interacts with", "GRB2", PAPER)
    memory.to_graph([sent.id])
    version = memory.knowledge.graph.store.version()
    memory.forget(sent.id)
    assert source_ids(memory) == ["genes"]
    assert not memory.semantic.fact(kept.id).in_graph
    after = memory.knowledge.graph.store.version()
    assert after > version
    memory.forget(kept.id)
    assert memory.knowledge.graph.store.version() == after


def test_a_fact_marked_as_sent_that_the_graph_lacks_can_be_forgotten(memory: Memory) -> None:
    one = memory.semantic.add("IL6", "activates", "STAT3", PAPER)
    other = memory.semantic.add("EGFR", "interacts with", "GRB2", PAPER)
    memory.to_graph()
    memory.knowledge.sources.remove("facts:pmid:1234567")
    memory.forget(one.id)
    assert source_ids(memory) == ["genes"]  # what was taken back by hand does not come in again
    assert memory.semantic.facts() == [memory.semantic.fact(other.id)]


def test_when_the_graph_cannot_be_written_the_fact_is_kept(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    fact = memory.semantic.add("IL6", "activates", "STAT3", PAPER)
    memory.to_graph()

    def fail(_source: str) -> None:
        message = "The disk is full."
        raise StorageError(message)

    with monkeypatch.context() as patch:
        patch.setattr(memory.knowledge.graph.store, "remove_source", fail)
        with pytest.raises(StorageError):
            memory.forget(fact.id)
    assert memory.semantic.fact(fact.id).in_graph
    assert memory.forget(fact.id) == "fact"
    assert label(memory, "IL6 activates STAT3.") == "ungrounded"


@pytest.mark.parametrize(("episode_id", "run_id"), [("ep_1", "run_1"), ("run_1", "")])
def test_a_forgotten_episode_takes_what_its_run_taught_with_it(memory: Memory, episode_id: str, run_id: str) -> None:
    edges = EdgeRows()
    edges.add("Gene::3569", EdgeType.ACTIVATES, "Gene::6774")
    memory.knowledge.sources.learn(GraphSource(id="run_1", name="Run", kind="run"), [edges])
    memory.episodic.add(Episode(id=episode_id, at="2026-11-21T08:00:00.000Z", task="Signalling", run_id=run_id))
    memory.episodic.add(Episode(id="ep_2", at="2026-11-21T08:00:00.000Z", task="Never learned from", run_id="genes"))
    assert label(memory, "IL6 activates STAT3.") == "grounded"
    assert memory.forget(episode_id) == "episode"
    assert label(memory, "IL6 activates STAT3.") == "ungrounded"
    assert memory.forget("ep_2") == "episode"
    assert source_ids(memory) == ["genes"]  # an import that happens to have that id is not a run's


def test_what_was_said_in_a_run_is_forgotten_with_its_episode_and_the_answer_says_what_went(
    memory: Memory, tmp_path: Path
) -> None:
    edges = EdgeRows()
    edges.add("Gene::3569", EdgeType.ACTIVATES, "Gene::6774")
    memory.knowledge.sources.learn(GraphSource(id="run_1", name="Run", kind="run"), [edges])
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
    fact = memory.semantic.add("IL6", "activates", "STAT3", PAPER)
    memory.to_graph()
    assert memory.remove(fact.id).sources == ["facts:pmid:1234567"]
    kept = memory.semantic.add("IL6", "activates", "STAT3", PAPER)
    assert memory.remove(kept.id).sources == []
    memory.working.add("talk", "user", "Hello")
    assert memory.remove("talk").model_dump(exclude_defaults=True) == {
        "id": "talk", "kind": "conversation", "messages": 1, "conversations": ["talk"],
    }  # fmt: skip


def test_an_unknown_conversation_is_not_an_empty_one(memory: Memory) -> None:
    memory.working.add("talk", "user", "Hello")
    assert len(memory.view("talk").messages) == 1
    with pytest.raises(NotFoundError, match="no conversation 'nope'") as refused:
        memory.view("nope")
    assert "memory working" in refused.value.advice


def test_an_episode_or_a_fact_is_pinned_by_its_id(memory: Memory) -> None:
    fact = memory.semantic.add("IL6", "activates", "STAT3", PAPER)
    memory.episodic.add(Episode(id="ep_1", at="2026-11-21T08:00:00.000Z", task="Signalling"))
    assert isinstance(memory.pin(fact.id), Fact)
    assert memory.pin("ep_1").pinned
    assert memory.semantic.fact(fact.id).pinned
    assert not memory.unpin(fact.id).pinned
    assert not memory.unpin("ep_1").pinned
    for action in (memory.pin, memory.unpin):
        with pytest.raises(NotFoundError, match="no episode and no fact 'nope'"):
            action("nope")


def test_ids_that_are_whole_texts_are_shortened_in_messages(memory: Memory) -> None:
    for action in (memory.forget, memory.pin, memory.retract, memory.semantic.restore, memory.view):
        with pytest.raises(NotFoundError) as refused:
            action("x" * 300_000)
        assert len(refused.value.message) < 200


def test_another_confidence_is_another_one_in_the_graph(memory: Memory) -> None:
    def confidence() -> float:
        return memory.knowledge.reading.edges_between("IL6", "STAT3")[0].confidence

    memory.semantic.add("IL6", "activates", "STAT3", PAPER, 0.8)
    memory.to_graph()
    assert confidence() == pytest.approx(0.8, abs=1e-6)
    fact = memory.semantic.add("IL6", "activates", "STAT3", PAPER, 0.3)
    assert confidence() == pytest.approx(0.3, abs=1e-6)
    assert memory.semantic.fact(fact.id).in_graph
    memory.knowledge.sources.remove("facts:pmid:1234567")
    memory.semantic.add("IL6", "activates", "STAT3", PAPER, 0.5)
    assert source_ids(memory) == ["genes"]  # what was taken back by hand does not come in again
    assert not memory.semantic.fact(fact.id).in_graph


def test_sending_again_names_only_what_is_new(memory: Memory) -> None:
    one = memory.semantic.add("IL6", "activates", "STAT3", PAPER)
    assert memory.to_graph().new == [one.id]
    two = memory.semantic.add("EGFR", "interacts with", "GRB2", PAPER)
    done = memory.to_graph()
    assert (sorted(done.sent), done.new) == (sorted([one.id, two.id]), [two.id])
    assert memory.to_graph().new == []


def test_a_fact_that_comes_retracted_or_changed_leaves_or_changes_in_the_graph(memory: Memory, tmp_path: Path) -> None:
    one = memory.semantic.add("IL6", "activates", "STAT3", PAPER)
    two = memory.semantic.add("EGFR", "interacts with", "GRB2", PAPER)
    memory.to_graph()
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
    assert memory.knowledge.reading.edges_between("EGFR", "GRB2")[0].confidence == pytest.approx(0.2, abs=1e-6)
    assert [(f.id, f.in_graph) for f in memory.semantic.facts()] == [
        (one.id, False), (two.id, True), ("fact_new", False),
    ]  # fmt: skip


def test_facts_are_joined_by_the_entity_that_the_graph_knows_under_several_names(memory: Memory) -> None:
    nodes = NodeRows()
    nodes.add("Gene::7157", NodeType.GENE, "TP53", aliases=["tumor protein p53"])
    nodes.add("Gene::4193", NodeType.GENE, "MDM2")
    memory.semantic.add("tumor protein p53", "activates", "MDM2", "a paper")
    memory.semantic.add("TP53", "inhibits", "MDM2", "a notebook")
    assert memory.semantic.contradictions() == []
    memory.knowledge.graph.store.add(GraphSource(id="more", name="More", kind="generic"), [nodes])
    ((one, other),) = memory.semantic.contradictions()
    assert {one.fact.subject, other.fact.subject} == {"tumor protein p53", "TP53"}
    assert len(memory.facts("tumor protein p53")) == 2
    same = memory.semantic.add("Gene::7157", "blocks", "MDM2", "another paper")
    assert next(view for view in memory.facts() if same in view.facts).support > same.confidence


def test_a_fact_whose_opposite_the_graph_states_is_sent_with_a_warning(memory: Memory) -> None:
    memory.semantic.add("IL6", "activates", "STAT3", PAPER)
    assert memory.to_graph().opposed == []
    memory.semantic.add("IL6", "inhibits", "STAT3", "a rumour", confidence=0.2)
    (warning, *_) = [text for text in memory.to_graph().opposed if text.startswith("IL6 inhibits STAT3")]
    assert "confidence 0.2" in warning
    assert "the opposite, that IL6 activates STAT3" in warning
    assert label(memory, "IL6 activates STAT3.") == "grounded"
    assert label(memory, "IL6 inhibits STAT3.") == "contradicted"
