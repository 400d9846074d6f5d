"""Two changes of memory at the same moment: the store, the index and the graph agree afterwards, and none is lost.

A store that waits in the middle of a write for the other change stands for the unlucky moment. Where the other change
has to wait its turn, as it should, the pause ends by itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from test_memory_service import PAPER, label, source_ids
from test_memory_service import memory as memory

from engine.domain.memory import Episode
from engine.memory.episodes.memory import EpisodicMemory
from engine.memory.episodes.recalling import Recalling
from engine.memory.service import Memory
from engine.memory.transfer import export_memory
from storage.memory.episodes_twin import EpisodesTwin
from storage.memory.facts_twin import FactsTwin

PAUSE = 0.4
"""Seconds a write waits for the other change that must not come in between."""


class Meanwhile:
    """Does one thing in another thread in the middle of something else."""

    def __init__(self, action: Callable[[], object]) -> None:
        self._thread = threading.Thread(target=action)
        self._started = False

    def now(self) -> None:
        """Begin, the first time this is called, and wait a moment for the end."""
        if not self._started:
            self._started = True
            self._thread.start()
            self._thread.join(PAUSE)

    def finish(self) -> None:
        self._thread.join(20)
        assert self._started
        assert not self._thread.is_alive()


def an_episode(**changes: object) -> Episode:
    values = {"id": "ep1", "at": "2026-11-21T08:00:00Z", "task": "Cluster the lupus cells"}
    return Episode.model_validate(values | changes)


def agree(memory: EpisodicMemory, store: EpisodesTwin) -> list[Episode]:
    """Return the episodes, having made sure that the index and the store have the same."""
    listed = memory.episodes()
    assert listed == store.episodes()
    return listed


@pytest.mark.parametrize("change", ["pin", "edit"])
def test_an_episode_forgotten_while_it_is_changed_does_not_come_back(change: str) -> None:
    store = EpisodesTwin()
    recalling = Recalling(EpisodicMemory(store))
    memory = recalling.memory
    memory.add(an_episode())
    recalling.recall("lupus cells")
    meanwhile = Meanwhile(lambda: memory.forget("ep1"))
    save = store.save

    def slow(episodes: Sequence[Episode]) -> None:
        meanwhile.now()
        save(episodes)

    store.save = slow  # pyright: ignore[reportAttributeAccessIssue]
    memory.pin("ep1") if change == "pin" else memory.edit("ep1", lessons="Look twice.")
    meanwhile.finish()
    assert agree(memory, store) == []


def test_of_two_states_saved_at_once_the_store_and_the_index_keep_the_same() -> None:
    store = EpisodesTwin()
    recalling = Recalling(EpisodicMemory(store))
    memory = recalling.memory
    memory.add(an_episode())
    recalling.recall("lupus cells")
    meanwhile = Meanwhile(lambda: memory.add(an_episode(lessons="two")))
    save = store.save

    def slow(episodes: Sequence[Episode]) -> None:
        save(episodes)
        meanwhile.now()

    store.save = slow  # pyright: ignore[reportAttributeAccessIssue]
    memory.add(an_episode(lessons="one"))
    meanwhile.finish()
    assert len(agree(memory, store)) == 1


def test_a_recall_does_not_wait_for_the_disk() -> None:
    store = EpisodesTwin()
    recalling = Recalling(EpisodicMemory(store))
    memory = recalling.memory
    memory.add(an_episode())
    recalling.recall("lupus cells")
    release, writing = threading.Event(), threading.Event()
    save = store.save

    def slow(episodes: Sequence[Episode]) -> None:
        writing.set()
        release.wait(20)
        save(episodes)

    store.save = slow  # pyright: ignore[reportAttributeAccessIssue]
    writer = threading.Thread(target=lambda: memory.pin("ep1"))
    writer.start()
    try:
        assert writing.wait(20)
        reader = threading.Thread(target=lambda: recalling.recall("lupus cells"))
        reader.start()
        reader.join(20)
        assert not reader.is_alive()
        assert not release.is_set()
    finally:
        release.set()
        writer.join(20)
    assert memory.episode("ep1").pinned


@pytest.mark.parametrize("action", ["retract", "remove"])
def test_a_fact_taken_back_while_it_is_sent_leaves_the_graph(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    fact = memory.semantic.state("IL6", "activates", "STAT3", PAPER).fact
    graph = memory.door.knowledge.graph.store
    add = graph.add
    meanwhile = Meanwhile(lambda: getattr(memory if action == "remove" else memory.door, action)(fact.id))

    def slow(*given: object, **options: object) -> object:
        done = add(*given, **options)  # pyright: ignore[reportArgumentType]
        meanwhile.now()
        return done

    monkeypatch.setattr(graph, "add", slow)
    memory.door.to_graph([fact.id])
    meanwhile.finish()
    assert source_ids(memory) == ["genes"]
    assert label(memory, "IL6 activates STAT3.") == "ungrounded"
    assert not any(known.in_graph for known in memory.semantic.facts())


def test_a_pin_set_during_an_import_is_kept_with_what_came(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.episodic.add(an_episode())
    newer = EpisodesTwin()
    newer.save([an_episode(task="Cluster all cells", at="2026-11-22T08:00:00Z")])
    path = tmp_path / "m.jsonl"
    export_memory(path, newer)
    meanwhile = Meanwhile(lambda: memory.episodic.pin("ep1"))
    store = memory.episodic.store
    save = store.save

    def slow(episodes: Sequence[Episode]) -> None:
        meanwhile.now()
        save(episodes)

    monkeypatch.setattr(store, "save", slow)
    assert memory.import_file(path).episodes == 1
    meanwhile.finish()
    (found,) = memory.episodic.episodes()
    assert (found.task, found.pinned) == ("Cluster all cells", True)


def test_a_fact_restated_while_it_is_sent_is_in_the_graph_as_stated_last(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact = memory.semantic.state("IL6", "activates", "STAT3", PAPER, 0.8).fact
    memory.door.to_graph([fact.id])
    other = memory.semantic.state("EGFR", "interacts with", "GRB2", PAPER).fact
    graph = memory.door.knowledge.graph.store
    add = graph.add
    meanwhile = Meanwhile(lambda: memory.semantic.state("IL6", "activates", "STAT3", PAPER, 0.3))

    def slow(*given: object, **options: object) -> object:
        done = add(*given, **options)  # pyright: ignore[reportArgumentType]
        meanwhile.now()
        return done

    monkeypatch.setattr(graph, "add", slow)
    memory.door.to_graph([other.id])
    meanwhile.finish()
    (edge,) = memory.door.knowledge.reading.edges_between("IL6", "STAT3")
    assert edge.confidence == pytest.approx(0.3, abs=1e-6)


def test_threads_that_state_retract_send_and_forget_leave_facts_and_graph_in_step(memory: Memory) -> None:
    pairs = [("IL6", "STAT3"), ("EGFR", "GRB2"), ("IL6", "GRB2"), ("EGFR", "STAT3")]
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(6):
                subject, target = pairs[(number + turn) % len(pairs)]
                fact = memory.semantic.state(subject, "activates", target, f"lab {number}", 0.5 + turn / 20).fact
                memory.door.to_graph([fact.id])
                if (number + turn) % 3 == 0:
                    memory.door.retract(fact.id)
                elif (number + turn) % 3 == 1:
                    memory.remove(fact.id)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert failures == []
    sent = [fact for fact in memory.semantic.facts() if fact.in_graph]
    assert not any(fact.retracted for fact in sent)
    assert isinstance(memory.semantic.store, FactsTwin)
    assert {fact.id: fact for fact in memory.semantic.store.facts()} == {f.id: f for f in memory.semantic.facts()}
    stated = {
        (subject, target): {
            round(e.confidence, 4) for e in memory.door.knowledge.reading.edges_between(subject, target)
        }
        for subject, target in pairs
    }
    believed: dict[tuple[str, str], set[float]] = {pair: set() for pair in pairs}
    for fact in sent:
        believed[fact.subject, fact.object].add(round(fact.confidence, 4))
    assert {pair: bool(found) for pair, found in stated.items()} == {pair: bool(f) for pair, f in believed.items()}
    assert all(stated[pair] <= believed[pair] for pair in pairs)
