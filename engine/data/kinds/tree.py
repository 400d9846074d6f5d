"""Trees."""

from __future__ import annotations

import re

from engine.data.found import Found, guess
from engine.data.kind import Kind, Look
from engine.data.source import plural
from engine.domain.datatypes import DataType


def _newick(look: Look) -> Found | None:
    if look.first.upper().startswith("#NEXUS"):
        return (
            Found("nexus", guess(DataType.TREE, 0.7), "A NEXUS file")
            if "BEGIN TREES" in look.text.text.upper()
            else None
        )
    body = look.text.text.strip()
    if not look.first.lstrip().startswith(("(", "[&")) or not body.endswith(";"):
        return None
    if body.count("(") != body.count(")"):
        message = f"{look.name} looks like a tree (Newick) but its brackets do not match; export it again."
        return Found("newick", [], "A damaged tree", [message])
    tips = len(re.findall(r"[(,]\s*[^(),;]+", body))
    return Found("newick", guess(DataType.TREE, 0.97), f"A tree with {plural(tips, 'tip')}", rows=tips)


TREE = Kind(type=DataType.TREE, edam="data_0872", aliases=("newick", "nhx", "nexus", "tree"), in_text=_newick)
