"""Memory as a text file: one JSON object a line, to back up, to hand over, to read with any other tool.

Every line has a `kind`: `episode`, `fact`, `message` (with its `conversation`) or `summary`. A file is read and
checked to its end before anything of it is stored, so a line that cannot be used stops the import and leaves
memory as it was. Importing the same file twice changes nothing.
"""

from __future__ import annotations

import errno
import gzip
import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from engine.domain.base import Value
from engine.errors import StorageError, UserError
from engine.ports.conversations import ConversationStore
from engine.ports.memory import EpisodeStore, FactStore
from engine.text.prose import quoted


def export_memory(
    path: Path,
    episodes: EpisodeStore | None = None,
    facts: FactStore | None = None,
    conversations: ConversationStore | None = None,
) -> dict[str, int]:
    """Write memory to a file, compressed when its name ends with .gz; an existing file is replaced at the end.

    Args:
        path: where to write.
        episodes: past analyses to write, or None for none.
        facts: statements to write, or None for none.
        conversations: conversations to write, or None for none.

    Returns:
        How many there are of each: `episodes`, `facts`, `messages`, `summaries`.

    Raises:
        UserError: when `path` is not the name of a file.
        StorageError: when the file cannot be written.
    """
    if not path.name or "\0" in str(path) or os.path.isdir(path):  # noqa: PTH112
        raise UserError(
            f"Memory cannot be written to {quoted(str(path))}: a folder, or not the name of a file.",
            advice="Give the file to write, such as memory.jsonl or memory.jsonl.gz.",
        )
    counts = {"episodes": 0, "facts": 0, "messages": 0, "summaries": 0}
    with _replacing(path) as file:
        for episode in episodes.episodes() if episodes is not None else ():
            file.write(_line("episode", episode))
            counts["episodes"] += 1
        for fact in facts.facts() if facts is not None else ():
            file.write(_line("fact", fact))
            counts["facts"] += 1
        listed = conversations.conversations() if conversations is not None else []
        for conversation, _, _ in sorted(listed):
            assert conversations is not None
            for message in conversations.messages(conversation):
                file.write(_line("message", message, conversation))
                counts["messages"] += 1
            for summary in conversations.summaries(conversation):
                file.write(_line("summary", summary, conversation))
                counts["summaries"] += 1
    return counts


def _line(kind: str, value: Value, conversation: str = "") -> bytes:
    record: dict[str, Any] = {"kind": kind}
    if conversation or kind in ("message", "summary"):
        record["conversation"] = conversation
    head = json.dumps(record, ensure_ascii=False)[:-1]
    return f"{head}, {value.model_dump_json()[1:]}\n".encode()


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """Give a file to write that takes the place of `path` once all of it is on the disk."""
    part = path.with_name(f".{uuid.uuid4().hex[:12]}.part")
    try:
        with part.open("wb") as raw:
            if path.name.endswith(".gz"):
                # No name and no time inside, so that the same memory gives the same bytes.
                with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=6) as file:
                    yield file  # pyright: ignore[reportReturnType]
            else:
                yield raw
            raw.flush()
            os.fsync(raw.fileno())
        part.replace(path)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        raise StorageError(
            f"Memory cannot be written to {path}: {error.strerror or error}.",
            advice="Make room on the disk, or give a file on another one; what was at that place before is still there."
            if full
            else "Give a file in a folder that exists and in which you may write.",
        ) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
