"""Memory as a file: exact, repeatable, and refused as a whole when a line is wrong."""

from __future__ import annotations

import errno
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.domain.memory import Episode, EpisodeStep, Fact, Message, Summary
from engine.errors import DataError, NotFoundError, StorageError, UserError
from engine.memory.merging import import_memory
from engine.memory.reading import read_memory
from engine.memory.transfer import export_memory
from storage.memory.conversations_twin import ConversationsTwin
from storage.memory.facts_twin import FactsTwin

RECALL = Path(__file__).parents[3] / "shared" / "data" / "recall_dev.jsonl"


class Episodes:
    """An `EpisodeStore` in a dictionary."""

    def __init__(self, episodes=()) -> None:
        self.kept: dict[str, Episode] = {episode.id: episode for episode in episodes}
        self.saves = 0

    def save(self, episodes) -> None:
        self.saves += 1
        self.kept.update({episode.id: episode for episode in episodes})

    def episode(self, episode_id: str) -> Episode | None:
        return self.kept.get(episode_id)

    def episodes(self) -> list[Episode]:
        return list(self.kept.values())

    def forget(self, episode_id: str) -> bool:
        return self.kept.pop(episode_id, None) is not None


def an_episode(episode_id: str = "ep1", **changes) -> Episode:
    values = {"at": "2026-11-21T08:00:00.000Z", "task": "Cluster the cells", "source": "run", "quality": 0.9}
    return Episode(id=episode_id, **(values | changes))


def a_fact(fact_id: str = "fact_1", **changes) -> Fact:
    values = {
        "subject": "TP53", "predicate": "regulates", "object": "CDKN1A", "source": "ada", "confidence": 0.8,
        "at": "2026-11-21T08:00:00.000Z",
    }  # fmt: skip
    return Fact(id=fact_id, **(values | changes))


def said(number: int, text: str = "Hello", **changes) -> Message:
    return Message(
        **({"number": number, "role": "user", "text": text, "at": f"2026-11-21T08:00:{number:02d}Z"} | changes)
    )


@pytest.fixture
def stores() -> tuple[Episodes, FactsTwin, ConversationsTwin]:
    return Episodes(), FactsTwin(), ConversationsTwin()


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def one(*lines: object, name: str = "memory.jsonl") -> Path:
        path = tmp_path / name
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        path.write_text("\n".join(texts) + "\n", encoding="utf-8")
        return path

    return one


EPISODE = {"kind": "episode", "id": "ep1", "task": "Cluster", "at": "2025-01-24T14:03:40Z"}
FACT = {"kind": "fact", **a_fact().model_dump()}


# ==== round trip ====


@pytest.mark.parametrize("name", ["memory.jsonl", "memory.jsonl.gz"])
def test_everything_comes_back_equal(tmp_path: Path, stores, name) -> None:
    episodes, facts, talk = stores
    step = EpisodeStep(tool="leiden", params={"resolution": 0.5, "seed": 1, "key": None, "flag": True, "list": ["a"]})
    episodes.save([an_episode(steps=[step], lessons="Größe zählt."), an_episode("ep2", source="")])
    facts.save([a_fact(), a_fact("fact_2", retracted=True, pinned=True)])
    talk.extend(
        "chat",
        [said(1), said(2, "研究\n\U0001f9ec", pinned=True, tokens=7), said(3, "", role="assistant", run_id="run_1")],
    )
    talk.save_summaries("chat", [Summary(level=1, first=1, last=2, text="short", tokens=1, tokens_before=9)])
    talk.append("another", said(1))
    path = tmp_path / name
    counts = export_memory(path, episodes, facts, talk)
    assert counts == {"episodes": 2, "facts": 2, "messages": 4, "summaries": 1}
    assert path.read_bytes().startswith(b"\x1f\x8b") == name.endswith(".gz")
    others = Episodes(), FactsTwin(), ConversationsTwin()
    done = import_memory(path, *others)
    assert (done.episodes, done.facts, done.messages, done.skipped, done.warnings) == (2, 2, 4, 0, [])
    assert others[0].episodes() == episodes.episodes()
    assert others[1].facts() == facts.facts()
    for name in ("chat", "another"):
        assert others[2].messages(name) == talk.messages(name)
        assert others[2].summaries(name) == talk.summaries(name)
    second = tmp_path / f"again_{path.name}"
    export_memory(second, *others)
    assert second.read_bytes() == path.read_bytes()


WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
TIMES = st.datetimes().map(lambda moment: moment.isoformat() + "Z")
FRACTIONS = st.floats(0, 1)
PARAMS = st.dictionaries(
    WORDS,
    st.none() | st.booleans() | st.integers() | WORDS | st.floats(-1e6, 1e6) | st.lists(WORDS, max_size=2),
    max_size=3,
)
STEPS = st.builds(EpisodeStep, tool=WORDS, params=PARAMS, inputs=st.dictionaries(WORDS, WORDS, max_size=2))
EPISODES = st.lists(
    st.builds(
        Episode, id=IDS, at=TIMES, task=WORDS, tools=st.lists(WORDS, max_size=3), quality=FRACTIONS, success=st.booleans(),
        lessons=WORDS, source=WORDS, updated=st.just("") | TIMES, steps=st.lists(STEPS, max_size=2), pinned=st.booleans(),
    ), max_size=4, unique_by=lambda e: e.id,
)  # fmt: skip
FACTS = st.lists(
    st.builds(Fact, id=IDS, subject=WORDS, predicate=WORDS, object=WORDS, source=WORDS, confidence=FRACTIONS, at=TIMES,
              retracted=st.booleans(), run_id=WORDS), max_size=4, unique_by=lambda f: f.id,
)  # fmt: skip
TALKS = st.dictionaries(
    IDS,
    st.lists(st.builds(Message, number=st.just(0), role=st.sampled_from(["user", "assistant", "system"]), text=WORDS,
                       at=TIMES, pinned=st.booleans(), tokens=st.integers(0, 9)), min_size=1, max_size=4), max_size=3,
)  # fmt: skip


@settings(max_examples=80, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(EPISODES, FACTS, TALKS, st.booleans())
def test_any_memory_survives_the_way_through_a_file(tmp_path, episodes, facts, talks, packed) -> None:
    stores = Episodes(episodes), FactsTwin(), ConversationsTwin()
    stores[1].save(facts)
    for name, messages in talks.items():
        stores[2].extend(name, messages)
    path = tmp_path / ("m.jsonl.gz" if packed else "m.jsonl")
    export_memory(path, *stores)
    if not (episodes or facts or talks):
        with pytest.raises(DataError, match="is empty"):
            read_memory(path)
        return
    records = read_memory(path)
    assert records.episodes == episodes
    assert records.facts == facts
    assert records.messages == {name: stores[2].messages(name) for name in talks}
    again = import_memory(path, *stores)
    assert (again.episodes, again.facts, again.messages) == (0, 0, 0)
    assert again.skipped == len(episodes) + len(facts) + sum(len(m) for m in talks.values())
    assert [w for w in again.warnings if "holds no" not in w] == []


# ==== what others wrote ====


@pytest.mark.skipif(not RECALL.is_file(), reason="needs the development data beside the checkout")
def test_the_development_episodes_are_read_as_they_are() -> None:
    records = read_memory(RECALL)
    assert len(records.episodes) == 110
    assert records.warnings == ["12 lines of kind 'query' passed over: not part of memory."]
    episode = next(e for e in records.episodes if e.id == "ep0016")
    assert episode.tools == ["glmm", "dharma"]
    assert episode.source == "recall_dev.jsonl"
    stores = Episodes(), FactsTwin()
    assert import_memory(RECALL, *stores).episodes == 110
    again = import_memory(RECALL, *stores)
    assert (again.episodes, again.skipped) == (0, 110)


def test_an_episode_with_few_fields_gets_the_file_as_its_source_and_kinds_that_are_not_memory_are_counted(
    write, stores
) -> None:
    path = write(EPISODE, {"kind": "query", "id": "q1"}, {"kind": "query"}, {"kind": "picture"}, "", "   ")
    done = import_memory(path, *stores)
    assert done.episodes == 1
    assert done.warnings == [
        "1 line of kind 'picture' passed over: not part of memory.",
        "2 lines of kind 'query' passed over: not part of memory.",
    ]
    assert stores[0].episodes() == [
        an_episode(task="Cluster", at="2025-01-24T14:03:40Z", source="memory.jsonl", quality=0.0)
    ]


def test_a_mark_of_the_byte_order_windows_lines_and_no_last_line_end_are_no_trouble(tmp_path, stores) -> None:
    path = tmp_path / "m.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(EPISODE).encode() + b"\r\n" + json.dumps(FACT).encode())
    done = import_memory(path, *stores)
    assert (done.episodes, done.facts) == (1, 1)


def test_a_file_without_memory_says_so(write, stores) -> None:
    path = write({"kind": "query"}, name="queries.jsonl")
    done = import_memory(path, *stores)
    assert done.warnings[-1] == f"{path.name} holds no episodes, facts or messages."


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b" \n\t\r\n", b"\xef\xbb\xbf\n", gzip.compress(b"", mtime=0), gzip.compress(b"\n \n", mtime=0)],
)
def test_an_empty_file_is_refused(tmp_path, stores, content) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"empty\.jsonl is empty") as refused:
        import_memory(path, *stores)
    assert "one JSON object a line" in refused.value.advice


# ==== what was changed later travels ====


def test_a_retraction_a_pin_and_a_correction_replace_the_earlier_state_and_not_the_other_way_round(
    tmp_path, stores
) -> None:
    episodes, facts, _ = stores
    there = Episodes([an_episode()]), FactsTwin()
    there[1].save([a_fact()])
    later = "2026-11-22T08:00:00.000Z"
    episodes.save([an_episode(pinned=True, lessons="Corrected.", updated=later)])
    facts.save([a_fact(retracted=True, updated=later)])
    path, old = tmp_path / "later.jsonl", tmp_path / "old.jsonl"
    export_memory(old, *there)
    export_memory(path, episodes, facts)
    done = import_memory(path, *there)
    assert (done.episodes, done.facts, done.warnings) == (1, 1, [])
    assert there[0].episodes() == episodes.episodes()
    assert there[1].facts() == facts.facts()
    again = import_memory(old, *there)
    assert (again.episodes, again.facts, again.skipped) == (0, 0, 2)
    assert len(again.warnings) == 2
    assert there[1].facts()[0].retracted


def test_a_statement_made_anew_after_a_retraction_is_the_newer_one(tmp_path) -> None:
    there, coming = FactsTwin(), FactsTwin()
    there.save([a_fact(retracted=True, updated="2026-11-22T08:00:00Z")])
    coming.save([a_fact(at="2026-11-23T08:00:00Z", confidence=0.9)])
    path = tmp_path / "m.jsonl"
    export_memory(path, None, coming)
    assert import_memory(path, None, there).facts == 1
    assert not there.facts()[0].retracted


def test_of_two_records_in_a_file_the_one_that_was_changed_later_counts(write, stores) -> None:
    changed = {"kind": "fact", **a_fact(retracted=True, updated="2026-11-22T08:00:00Z").model_dump()}
    import_memory(write(changed, FACT), *stores)
    assert stores[1].facts()[0].retracted


def test_that_a_fact_is_in_the_graph_stays_true_of_its_own_workspace_only(tmp_path) -> None:
    here, there = FactsTwin(), FactsTwin()
    here.save([a_fact(in_graph=True)])
    path = tmp_path / "m.jsonl"
    export_memory(path, None, here)
    assert import_memory(path, None, there).facts == 1
    assert there.facts() == [a_fact()]
    assert import_memory(path, None, there).warnings == []
    export_memory(path, None, there)
    assert import_memory(path, None, here).warnings == []
    there.save([a_fact(confidence=0.3, at="2026-12-01T00:00:00Z")])
    export_memory(path, None, there)
    assert import_memory(path, None, here).facts == 1
    assert (here.facts()[0].confidence, here.facts()[0].in_graph) == (0.3, True)


def test_the_same_episodes_under_another_file_name_are_there_already(write, stores) -> None:
    import_memory(write(EPISODE, name="one.jsonl"), *stores)
    path = write(EPISODE, name="two.jsonl")
    done = import_memory(path, *stores)
    assert (done.episodes, done.skipped, done.warnings) == (0, 1, [])
    assert stores[0].episodes()[0].source == "one.jsonl"


@pytest.mark.parametrize("name", ["", ".", "a\0b"])
def test_an_export_to_what_is_no_file_name_is_refused_in_a_sentence(name, stores, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="not the name of a file") as refused:
        export_memory(Path(name), *stores)
    assert "memory.jsonl" in refused.value.advice
    with pytest.raises(UserError):
        import_memory(Path(name), *stores)


def test_a_full_disk_is_told_as_such(tmp_path, stores, monkeypatch) -> None:
    def full(_fd: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("engine.memory.transfer.os.fsync", full)
    with pytest.raises(StorageError, match="No space left") as refused:
        export_memory(tmp_path / "m.jsonl", *stores)
    assert "room on the disk" in refused.value.advice
    assert list(tmp_path.iterdir()) == []


# ==== the same again, and other content ====


def test_a_newer_record_replaces_the_older_and_an_older_one_is_left_out_with_a_warning(write, stores) -> None:
    episodes, facts, _ = stores
    episodes.save([an_episode("ep1"), an_episode("ep2"), an_episode("ep3")])
    facts.save([a_fact("f1"), a_fact("f2")])
    path = write(
        {"kind": "episode", **an_episode("ep1", task="Newer", at="2026-11-21T09:30:00+01:00").model_dump()},
        {"kind": "episode", **an_episode("ep2", task="Older", at="2025-11-21T09:00:00Z").model_dump()},
        {"kind": "episode", **an_episode("ep3", task="Same time").model_dump()},
        {"kind": "fact", **a_fact("f1", confidence=0.1, at="2027-01-01T00:00:00Z").model_dump()},
        {"kind": "fact", **a_fact("f2", pinned=True).model_dump()},
    )
    done = import_memory(path, *stores)
    assert (done.episodes, done.facts, done.skipped) == (1, 1, 3)
    assert done.warnings == [
        "2 episodes of this workspace differ from the file, which is not newer, and were kept: ep2, ep3.",
        "1 fact of this workspace differs from the file, which is not newer, and was kept: f2.",
    ]
    assert [e.task for e in episodes.episodes()] == ["Newer", "Cluster the cells", "Cluster the cells"]
    assert [(f.confidence, f.pinned) for f in facts.facts()] == [(0.1, False), (0.8, False)]


def test_a_record_twice_in_a_file_counts_once_and_the_newer_wins(write, stores) -> None:
    newer = EPISODE | {"task": "Newer", "at": "2026-01-01T00:00:00Z"}
    done = import_memory(write(newer, EPISODE, newer, FACT, FACT), *stores)
    assert (done.episodes, done.facts, done.skipped) == (1, 1, 3)
    assert stores[0].episodes()[0].task == "Newer"


def test_a_conversation_is_continued_but_never_mixed_with_another(write, stores) -> None:
    talk = stores[2]
    talk.extend("same", [said(1, "one"), said(2, "two")])
    talk.extend("other", [said(1, "mine")])
    turns = [{"kind": "message", "conversation": c, **said(n, t).model_dump()} for c, n, t in [
        ("same", 1, "one"), ("same", 3, "three"), ("same", 2, "two"), ("other", 1, "theirs"), ("other", 2, "more"), ("new", 1, "x"),
    ]]  # fmt: skip
    done = import_memory(write(*turns), *stores)
    assert (done.messages, done.skipped) == (2, 4)
    assert len(done.warnings) == 1
    assert "'other' differs from message 1 on" in done.warnings[0]
    assert [m.text for m in talk.messages("same")] == ["one", "two", "three"]
    assert [m.text for m in talk.messages("other")] == ["mine"]
    assert [m.text for m in talk.messages("new")] == ["x"]


def test_kinds_without_a_store_are_left_out(write) -> None:
    facts = FactsTwin()
    done = import_memory(write(EPISODE, FACT), None, facts)
    assert (done.episodes, done.facts) == (0, 1)


def test_summaries_that_do_not_follow_each_other_are_left_out(write, stores) -> None:
    gap = {
        "kind": "summary",
        "conversation": "c",
        **Summary(level=1, first=2, last=9, text="x", tokens=1, tokens_before=2).model_dump(),
    }
    import_memory(write({"kind": "message", "conversation": "c", **said(1).model_dump()}, gap), *stores)
    assert stores[2].summaries("c") == []


# ==== what cannot be used ====


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", r"it is not JSON"),
        ("gene,p\nTP53,0.1", r"it is not JSON"),
        ("[1]", r"it is a list, but a JSON object was expected"),
        ("null", r"it is a NoneType, but a JSON object"),
        ('{"kind": "fact", "confidence": NaN}', r"NaN is not a JSON number"),
        ("[" * 100_000, r"it is not JSON"),
        ('{"a": ' + "9" * 5000 + "}", r"it is not JSON"),
        ({"id": "ep1"}, r"`kind` is None"),
        ({"kind": 3}, r"`kind` is 3"),
        ({"kind": "episode", "id": "x", "at": "2026-01-01T00:00:00Z"}, r"`task` of the episode is missing"),
        (EPISODE | {"mood": "fine"}, r"`mood` of the episode cannot be 'fine': extra inputs are not permitted"),
        (EPISODE | {"tools": "leiden"}, r"`tools` of the episode cannot be 'leiden'"),
        (EPISODE | {"quality": 1.5}, r"`quality` is 1.5, but a number from 0 to 1 was expected"),
        ('{"kind": "episode", "id": "x", "task": "t", "at": "2026", "quality": 1e999}', r"`quality` is inf"),
        (EPISODE | {"at": "yesterday"}, r"`at` is 'yesterday', but a time such as"),
        (EPISODE | {"at": ""}, r"`at` is ''"),
        (EPISODE | {"updated": "later"}, r"`updated` is 'later', but a time such as"),
        (EPISODE | {"id": ""}, r"`id` is empty"),
        (FACT | {"confidence": -1}, r"`confidence` is -1.0"),
        (FACT | {"subject": None}, r"`subject` of the fact cannot be 'None'"),
        ('{"kind": "episode", "id": "x", "task": "\\ud800", "at": "2026-01-01T00:00:00Z"}', r"half of a character"),
        ({"kind": "message", **said(1).model_dump()}, r"`conversation` is None"),
        ({"kind": "message", "conversation": "c", **said(2).model_dump()}, r"a message 2 but none of number 1"),
        (
            {"kind": "message", "conversation": "c", **said(1).model_dump(), "role": "god"},
            r"`role` of the message cannot be 'god'",
        ),
        ({"kind": "summary", "conversation": "c"}, r"`level` of the summary is missing"),
    ],
)
def test_a_line_that_cannot_be_used_is_named_by_its_number_and_nothing_is_stored(write, stores, line, why) -> None:
    path = write({"kind": "episode", **an_episode("good").model_dump()}, "", line, FACT)
    with pytest.raises(DataError, match=rf"memory\.jsonl, line 3: .*{why}") as refused:
        import_memory(path, *stores)
    assert refused.value.details["line"] == 3
    assert "nothing of it was stored" in refused.value.advice
    assert "\n" not in refused.value.message
    assert stores[0].saves == 0
    assert stores[1].facts() == []
    assert stores[2].conversations() == []


def test_two_different_messages_of_one_number_are_refused(write, stores) -> None:
    turns = [{"kind": "message", "conversation": "c", **said(1, text).model_dump()} for text in ("one", "two")]
    with pytest.raises(DataError, match=r"line 2: message 1 of conversation 'c' differs from that of line 1"):
        import_memory(write(*turns), *stores)


def test_bytes_that_are_no_text_are_named(tmp_path, stores) -> None:
    path = tmp_path / "m.jsonl"
    path.write_bytes(json.dumps(EPISODE).encode() + b'\n{"kind": "\xff"}\n')
    with pytest.raises(DataError, match=r"line 2: it is not UTF-8 text .* at byte 11"):
        import_memory(path, *stores)


def test_a_compressed_file_that_is_cut_off_or_damaged_is_refused(tmp_path, stores) -> None:
    whole = gzip.compress(b"\n".join(json.dumps(EPISODE | {"id": f"e{n}"}).encode() for n in range(5000)))
    for name, data in (("cut.gz", whole[:-2000]), ("bad.gz", whole[:200] + b"\x00" * 300 + whole[500:])):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(DataError, match=r"ends too early or is damaged|not JSON|not UTF-8"):
            import_memory(tmp_path / name, *stores)
    assert stores[0].saves == 0


def test_files_that_are_not_there_or_no_files_are_refused(tmp_path, stores) -> None:
    with pytest.raises(NotFoundError, match="There is no file"):
        import_memory(tmp_path / "absent.jsonl", *stores)
    with pytest.raises(DataError, match="cannot be read"):
        import_memory(tmp_path, *stores)


def test_an_export_that_cannot_be_written_says_so_and_leaves_the_old_file(tmp_path, stores) -> None:
    with pytest.raises(StorageError, match="cannot be written"):
        export_memory(tmp_path / "no" / "folder" / "m.jsonl", *stores)
    path = tmp_path / "m.jsonl"
    path.write_text("mine")

    class Broken(FactsTwin):
        def facts(self) -> list[Fact]:
            raise StorageError("The store was closed.")

    with pytest.raises(StorageError, match="closed"):
        export_memory(path, None, Broken())
    assert path.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]


def test_a_large_memory_goes_through(tmp_path) -> None:
    facts = FactsTwin()
    facts.save([a_fact(f"f{n}", subject=f"G{n}") for n in range(20_000)])
    path = tmp_path / "m.jsonl.gz"
    export_memory(path, None, facts)
    other = FactsTwin()
    assert import_memory(path, None, other).facts == 20_000
    assert other.facts() == facts.facts()


def test_records_from_elsewhere_that_do_not_say_what_they_are_are_told_by_their_fields(tmp_path) -> None:
    path = tmp_path / "elsewhere.jsonl"
    records = [
        {"id": "a1", "task": "cluster PBMC", "at": "2026-01-01T00:00:00Z"},
        {"id": "f1", "subject": "IL6", "predicate": "activates", "object": "STAT3", "source": "ada",
         "confidence": 0.8, "at": "2026-01-01T00:00:00Z"},
    ]  # fmt: skip
    path.write_text("\n".join(json.dumps(record) for record in records))
    read = read_memory(path)
    assert [episode.id for episode in read.episodes] == ["a1"]
    assert [fact.id for fact in read.facts] == ["f1"]
