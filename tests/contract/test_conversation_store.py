"""The promises of `ConversationStore`, kept by every implementation of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.domain.memory import Message, Summary
from engine.errors import NotFoundError, StorageError
from engine.memory.working.memory import TalkStore
from engine.ports.conversations import ConversationStore
from storage.database import Database
from storage.memory.conversations import DuckConversations
from storage.memory.conversations_twin import ConversationsTwin


@pytest.fixture(params=["memory", "duckdb"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TalkStore]:
    if request.param == "memory":
        yield ConversationsTwin()
        return
    database = Database(tmp_path / "b.duckdb")
    yield DuckConversations(database)
    database.close()


def said(text: str = "Which genes change?", **changes) -> Message:
    return Message(
        **({"number": 0, "role": "user", "text": text, "at": "2026-11-21T08:00:00.000Z", "tokens": 4} | changes)
    )


def short(level: int, first: int, last: int) -> Summary:
    return Summary(level=level, first=first, last=last, text=f"{first} to {last}", tokens=4, tokens_before=40)


def test_an_unknown_conversation_is_empty(store: ConversationStore) -> None:
    assert store.messages("c") == []
    assert store.summaries("c") == []
    assert store.conversations() == []
    assert store.forget("c") is False


def test_messages_are_numbered_from_one_in_their_conversation(store: ConversationStore) -> None:
    assert store.append("c", said("one")).number == 1
    assert store.append("d", said("other")).number == 1
    assert store.append("c", said("two", number=99)).number == 2
    assert store.messages("c") == [said("one", number=1), said("two", number=2)]
    assert store.messages("d") == [said("other", number=1)]


def test_many_messages_are_appended_at_once(store: ConversationStore) -> None:
    store.append("c", said("first"))
    numbered = store.extend("c", [said(f"m{n}") for n in range(500)])
    assert [m.number for m in numbered] == list(range(2, 502))
    assert store.messages("c")[1:] == numbered
    assert store.extend("c", []) == []


def test_of_many_messages_one_that_cannot_be_stored_keeps_all_out(store: ConversationStore) -> None:
    with pytest.raises(StorageError, match="no JSON form"):
        store.extend("c", [said("good"), said("\udc00")])
    assert store.messages("c") == []
    assert store.append("c", said("good")).number == 1


def test_a_newer_state_of_a_message_replaces_the_older_in_its_place(store: ConversationStore) -> None:
    store.extend("c", [said("one"), said("two")])
    store.update("c", said("one", number=1, pinned=True))
    assert store.messages("c") == [said("one", number=1, pinned=True), said("two", number=2)]
    assert store.append("c", said("three")).number == 3


@pytest.mark.parametrize("number", [-1, 0, 3])
def test_a_message_that_is_not_there_cannot_be_updated(store: ConversationStore, number: int) -> None:
    store.extend("c", [said("one"), said("two")])
    with pytest.raises(NotFoundError, match=f"'c' has no message {number}"):
        store.update("c", said("x", number=number))
    with pytest.raises(NotFoundError, match="'unknown' has no message 1"):
        store.update("unknown", said("x", number=1))
    assert len(store.messages("c")) == 2


def test_summaries_are_replaced_as_a_whole(store: ConversationStore) -> None:
    store.append("c", said())
    store.save_summaries("c", [short(1, 1, 3), short(1, 4, 6)])
    store.save_summaries("d", [short(1, 1, 9)])
    assert store.summaries("c") == [short(1, 1, 3), short(1, 4, 6)]
    store.save_summaries("c", [short(2, 1, 6)])
    assert store.summaries("c") == [short(2, 1, 6)]
    store.save_summaries("c", [])
    assert store.summaries("c") == []
    assert store.summaries("d") == [short(1, 1, 9)]


def test_conversations_are_listed_newest_first_with_their_length(store: ConversationStore) -> None:
    store.append("old", said(at="2026-11-20T08:00:00.000Z"))
    store.append("new", said(at="2026-11-21T08:00:00.000Z"))
    store.append("old", said(at="2026-11-22T08:00:00.000Z"))
    store.update("old", said("x", number=1, at="2026-11-20T08:00:00.000Z", pinned=True))
    assert store.conversations() == [
        ("old", "2026-11-22T08:00:00.000Z", 2),
        ("new", "2026-11-21T08:00:00.000Z", 1),
    ]


def test_conversations_of_the_same_moment_are_listed_latest_begun_first(store: ConversationStore) -> None:
    for name in "abc":
        store.append(name, said())
    assert [name for name, _, _ in store.conversations()] == ["c", "b", "a"]


def test_what_a_run_said_is_removed_and_the_rest_is_numbered_anew(store: TalkStore) -> None:
    for n, run in enumerate(["", "run_a", "run_b", "run_a", "run_b", ""], start=1):
        store.append("c", said(f"{n}", run_id=run))
    store.update("c", said("6", number=6, pinned=True))
    store.append("d", said("only", run_id="run_a"))
    store.save_summaries("d", [short(1, 1, 1)])
    store.save_summaries("c", [short(1, 1, 1), short(1, 2, 3), short(1, 4, 5)])
    assert store.conversations_of("run_a") == ["c", "d"]
    assert store.conversations_of("run_x") == []
    assert store.forget_run("c", "run_x") == 0
    assert store.forget_run("c", "run_a") == 2
    assert [(m.number, m.text, m.pinned) for m in store.messages("c")] == [
        (1, "1", False),
        (2, "3", False),
        (3, "5", False),
        (4, "6", True),
    ]
    assert store.summaries("c") == [short(1, 1, 1)]
    assert store.conversations_of("run_a") == ["d"]
    assert store.append("c", said("next")).number == 5
    assert store.forget_run("d", "run_a") == 1
    assert store.messages("d") == store.summaries("d") == []
    assert [name for name, _, _ in store.conversations()] == ["c"]


def test_a_forgotten_conversation_is_gone_with_its_summaries(store: ConversationStore) -> None:
    store.append("c", said("one"))
    store.update("c", said("one", number=1, pinned=True))
    store.save_summaries("c", [short(1, 1, 1)])
    store.append("d", said("kept"))
    assert store.forget("c") is True
    assert store.forget("c") is False
    assert store.messages("c") == []
    assert store.summaries("c") == []
    assert [name for name, _, _ in store.conversations()] == ["d"]
    assert store.append("c", said("anew")).number == 1


@pytest.mark.parametrize(
    "text", ["", "\x00\t\n", "\U0001f9ec " * 100, "x" * 300_000, "研究表明。", "'; DROP TABLE messages; --"]
)
def test_any_text_comes_back_as_it_was(store: ConversationStore, text: str) -> None:
    store.append("naïve; 'name'", said(text))
    assert store.messages("naïve; 'name'") == [said(text, number=1)]


def test_messages_of_many_threads_get_every_number_once(store: ConversationStore) -> None:
    start = threading.Barrier(6)

    def work(number: int) -> list[int]:
        start.wait()
        return [store.append("c", said(f"{number}")).number for _ in range(12)]

    with ThreadPoolExecutor(6) as pool:
        numbers = [n for done in pool.map(work, range(6)) for n in done]
    assert sorted(numbers) == list(range(1, 73))
    assert [m.number for m in store.messages("c")] == list(range(1, 73))


def test_a_conversation_has_the_name_it_was_given_last(store: TalkStore) -> None:
    store.extend("c", [said("one", run_id="run_1"), said("two", run_id="run_2")])
    assert store.titles() == {}
    store.name("c", "First")
    store.name("c", "Größe & $x$")
    store.name("d", "Other")
    assert store.titles() == {"c": "Größe & $x$", "d": "Other"}
    store.forget_run("c", "run_1")
    assert store.titles()["c"] == "Größe & $x$"
    store.name("d", "")
    store.forget("c")
    assert store.titles() == {}
