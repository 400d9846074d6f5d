"""Commands of tools that models wrote: list them, approve, take back, write out."""

from __future__ import annotations

import argparse
from pathlib import Path

from engine.cli.know.output import open_with
from engine.cli.say import emit
from engine.domain.toolspec import WrittenRecord


def tools_written(options: argparse.Namespace) -> int:
    """List the written tools, newest first."""
    with open_with(options) as engine:
        known = engine.written.records()
    text = "\n".join(map(_line, known)) or "No model has written a tool in this workspace."
    return emit(options, [record.model_dump(mode="json") for record in known], text)


def tools_approve(options: argparse.Namespace) -> int:
    """Let a written tool be planned like any other."""
    with open_with(options) as engine:
        record = engine.written.approve(options.name, by=engine.settings.user)
    return emit(
        options, record.model_dump(mode="json"), f"{record.tool.name} ({record.tool.title}) is planned from now on."
    )


def tools_retire(options: argparse.Namespace) -> int:
    """Take a written tool from those that are planned."""
    with open_with(options) as engine:
        record = engine.written.retire(options.name, by=engine.settings.user)
    return emit(options, record.model_dump(mode="json"), f"{record.tool.name} is not planned any more.")


def tools_export(options: argparse.Namespace) -> int:
    """Write a written tool as a module."""
    with open_with(options) as engine:
        path = engine.written.export(options.name, Path(options.out))
    return emit(options, {"written": str(path)}, f"Written to {path}; docs/add-a-tool.md says what else it takes.")


def written_text(record: WrittenRecord) -> str:
    """Return a written tool with its code."""
    tool = record.tool
    lines = [_line(record), tool.description, f"Written by {tool.model or 'a person'} for: {tool.question}"]
    lines += ["A good result meets:", *(f"- {item}" for item in tool.criteria)] if tool.criteria else []
    return "\n".join([*lines, "", tool.source])


def _line(record: WrittenRecord) -> str:
    return f"{record.tool.name}  {record.state:<9} {record.tool.title}"
