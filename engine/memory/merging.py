"""Brings records of memory into a workspace beside what is there: nothing newer is overwritten, nothing is doubled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from engine.domain.memory import Episode, Fact, MemoryImport, Message, Summary
from engine.memory.reading import MemoryRecords, changed_at, read_memory
from engine.ports.conversations import ConversationStore
from engine.ports.memory import EpisodeStore, FactStore

R = TypeVar("R", Episode, Fact)


def import_memory(
    path: Path,
    episodes: EpisodeStore | None = None,
    facts: FactStore | None = None,
    conversations: ConversationStore | None = None,
) -> MemoryImport:
    """Import a file of memory (see `engine.memory.reading`) into the stores given.

    A record that is there already is skipped. One of the same id and other content replaces it when it was made or
    changed later, and is left out with a warning otherwise. Whether a fact is in the graph is known by this workspace
    only and never comes from a file; where an episode was read from does not make it another. A conversation is
    continued when the file's begins with the very messages that are there, and left out with a warning when it does
    not.

    Whoever keeps an index of these stores must read them again afterwards (`SemanticMemory.refresh`).

    Raises:
        NotFoundError: when there is no such file.
        DataError: when it cannot be read or a line is malformed; nothing is stored then.
        StorageError: when the workspace cannot be written.
    """
    return merge_memory(read_memory(path), episodes, facts, conversations)


def merge_memory(
    records: MemoryRecords,
    episodes: EpisodeStore | None = None,
    facts: FactStore | None = None,
    conversations: ConversationStore | None = None,
) -> MemoryImport:
    """Store records that were read, by the rules of `import_memory`; kinds without a store are left out."""
    warnings = list(records.warnings)
    skipped = records.repeated
    new_episodes: list[Episode] = []
    new_facts: list[Fact] = []
    if episodes is not None:
        new_episodes, same, kept = _sorted_out(records.episodes, episodes.episodes())
        episodes.save(new_episodes)
        skipped += same + len(kept)
        warnings += _kept(kept, "episode")
    if facts is not None:
        new_facts, same, kept = _sorted_out(records.facts, facts.facts())
        facts.save(new_facts)
        skipped += same + len(kept)
        warnings += _kept(kept, "fact")
    messages = 0
    if conversations is not None:
        for name, turns in records.messages.items():
            added, warning = _continue(conversations, name, turns, records.summaries.get(name, []))
            messages += added
            skipped += len(turns) - added
            warnings += [warning] if warning else []
    return MemoryImport(
        episodes=len(new_episodes), facts=len(new_facts), messages=messages, skipped=skipped, warnings=warnings
    )


def _sorted_out(incoming: Sequence[R], there: Sequence[R]) -> tuple[list[R], int, list[str]]:
    """Return the records to store, how many are there already, and the ids whose own version is kept."""
    known = {record.id: record for record in there}
    wanted: list[R] = []
    kept: list[str] = []
    same = 0
    for given in incoming:
        before = known.get(given.id)
        record = _of_this_workspace(given, before)
        if before is not None and _same(record, before):
            same += 1
        elif before is None or _newer(record, before):
            wanted.append(record)
        else:
            kept.append(record.id)
    return wanted, same, kept


def _of_this_workspace(record: R, before: R | None) -> R:
    """Return a record with what only this workspace knows of it: whether it is in its graph."""
    if isinstance(record, Fact):
        there = isinstance(before, Fact) and before.in_graph
        return record if record.in_graph == there else record.model_copy(update={"in_graph": there})
    return record


def _same(one: Episode | Fact, other: Episode | Fact) -> bool:
    """Say whether two records say the same; where an episode was read from does not matter."""
    if isinstance(one, Episode) and one.source != other.source:
        one = one.model_copy(update={"source": other.source})
    return one == other


def _newer(one: Episode | Fact, other: Episode | Fact) -> bool:
    try:
        return changed_at(one) > changed_at(other)
    except ValueError:
        return one.at > other.at  # what is stored may have come with a time of another form


def _kept(ids: list[str], kind: str) -> list[str]:
    if not ids:
        return []
    one = len(ids) == 1
    return [
        f"{len(ids):,} {kind}{'' if one else 's'} of this workspace {'differs' if one else 'differ'} from the file, "
        f"which is not newer, and {'was' if one else 'were'} kept: {_named(ids)}."
    ]


def _continue(
    store: ConversationStore, name: str, turns: Sequence[Message], summaries: Sequence[Summary]
) -> tuple[int, str]:
    """Add what a conversation lacks; return how many messages were added, and a warning when it differs."""
    there = store.messages(name)
    for own, other in zip(there, turns, strict=False):
        if (own.role, own.text, own.at) != (other.role, other.text, other.at):
            return 0, (
                f"Conversation {name!r} differs from message {own.number} on and was left as it is; "
                "the file's version was not imported."
            )
    fresh = list(turns[len(there) :])
    store.extend(name, fresh)
    if not there and _follow(summaries, len(turns)):
        store.save_summaries(name, summaries)
    return len(fresh), ""


def _follow(summaries: Sequence[Summary], count: int) -> bool:
    """Say whether summaries cover messages from the first on without a gap, and no more than there are."""
    through = 0
    for summary in summaries:
        if summary.first != through + 1 or not summary.first <= summary.last <= count:
            return False
        through = summary.last
    return bool(summaries)


def _named(ids: Iterable[str], shown: int = 5) -> str:
    """Return the first of many ids and how many more there are."""
    listed = list(ids)
    more = len(listed) - shown
    return ", ".join(listed[:shown]) + (f" and {more:,} more" if more > 0 else "")
