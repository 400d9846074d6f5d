"""What is kept: runs and conversations, listed, named and deleted."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from engine.cli import show
from engine.cli.plans import opened
from engine.cli.say import emit, say
from engine.errors import UserError


def runs(options: argparse.Namespace) -> int:
    """List runs, delete some, or show what one searched."""
    with opened(options) as engine:
        if options.action == "tree":
            engine.record(options.run_id)
            trees = engine.search_trees(options.run_id)
            text = show.trees_text(trees if options.all else [tree.in_short() for tree in trees])
            return emit(options, [tree.model_dump(mode="json") for tree in trees], text)
        if options.action == "delete":
            chosen = list(dict.fromkeys(options.run_ids))
            for run_id in chosen:
                engine.record(run_id)
            what = "1 run" if len(chosen) == 1 else f"{len(chosen)} runs"
            return _deleted(engine, options, what, chosen, lambda: engine.delete_runs(chosen))
        records, damaged = engine.runs(limit=options.limit), engine.damaged_runs()
    emit(options, [record.model_dump(mode="json") for record in records], show.runs_text(records))
    for sentence in damaged.values():
        say(sentence, to=sys.stderr)
    return 0


def conversations(options: argparse.Namespace) -> int:
    """List conversations, name one or delete one with its runs."""
    with opened(options) as engine:
        if options.action == "rename":
            found = engine.rename_conversation(options.id, options.title)
            return emit(options, _document(found), f"{found.id}  {found.title}")
        if options.action == "delete":
            found = engine.conversation(options.id)
            turns = [record.run_id for record in found.runs]
            what = (
                f"the conversation {found.title[:80]!r} with {'its run' if len(turns) == 1 else f'{len(turns)} runs'}"
            )
            return _deleted(engine, options, what, turns, lambda: engine.delete_conversation(found.id))
        listed = engine.conversations(getattr(options, "text", ""))
    lines = [f"{c.id}  {c.runs[-1].created_at[:16]}  {len(c.runs):>3}  {c.title[:80]}" for c in listed]
    none = "No conversation yet. `biodesk ask QUESTION --data FILE` starts one; `--after RUN_ID` goes on with it."
    return emit(options, [_document(c) for c in listed], "\n".join(lines) or none)


def _document(found: Any) -> dict[str, Any]:
    turns = [{"run_id": r.run_id, "question": r.question, "status": r.status} for r in found.runs]
    return {"id": found.id, "title": found.title, "named": found.named, "runs": turns}


def _deleted(engine: Any, options: argparse.Namespace, what: str, turns: list[str], delete: Any) -> int:
    """Ask once, delete and say what is free.

    Raises:
        UserError: when nobody can be asked and `--yes` is not given.
    """
    space = _in_words(engine.space(turns))
    if not options.yes:
        if options.json or not sys.stdin.isatty():
            message = f"This deletes {what} for good and frees {space}."
            raise UserError(message, advice="Give --yes to delete.")
        say(f"Delete {what} for good? This frees {space}. [y/N] ", end="", to=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            say("Nothing was deleted.", to=sys.stderr)
            return 4
    freed = delete()
    return emit(options, {"deleted": turns, "bytes": freed}, f"Deleted {what}; {_in_words(freed)} freed.")


def _in_words(count: int) -> str:
    value = float(count)
    for unit in ("bytes", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
