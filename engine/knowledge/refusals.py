"""What the knowledge graph says when it cannot do what was asked, or did more than was asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.domain.knowledge import GraphSource
from engine.errors import NotFoundError, UserError
from engine.knowledge.graph.node_table import NamedNode
from engine.knowledge.importers.formats import FORMATS
from engine.knowledge.importers.reading.text import shown

_TOLD = 5
"""Entities that a message about an ambiguous name lists."""


def ambiguous(text: str, found: Sequence[NamedNode]) -> NotFoundError:
    """Return the error for a text that several nodes fit equally well."""
    named = "; ".join(f"{node.name[:60]} ({node.type.value.replace('_', ' ')}, {node.id})" for node in found[:_TOLD])
    more = f" and {len(found) - _TOLD:,} more" if len(found) > _TOLD else ""
    return NotFoundError(
        f"{shown(text)} can be {len(found):,} entities of the knowledge graph: {named}{more}.",
        advice="Give the id of the one that is meant.",
        details={"choices": [node.id for node in found[:100]]},
    )


def refuse_twice(source: GraphSource, others: Iterable[GraphSource]) -> None:
    """Refuse files that another source holds, all of them: what they state would count as said by two.

    A table of nodes may come again with edges that need it.

    Raises:
        UserError: naming a file and the source that has it.
    """
    hashes = {digest: name for name, digest in source.files.items()}
    for other in others:
        # An id's third part is the organism: read as another's, the same file states something else.
        same_kind = other.id.split(":")[2:] == source.id.split(":")[2:]
        if other.id == source.id or other.kind not in FORMATS or other.state != "complete" or not same_kind:
            continue
        if hashes and hashes.keys() <= set(other.files.values()):
            first = next(iter(hashes.values()))
            raise UserError(
                f"{first} is in the graph already, as part of the source {other.id} ({other.name}): read again as "
                f"{source.id}, everything in it would count as stated by two sources. Nothing was imported.",
                advice=f"Take the other one back first (`biodesk kg remove {other.id}`), or repeat the import with "
                "--even-so.",
                details={"file": first, "source": other.id},
            )


def no_source(source_id: str) -> NotFoundError:
    """Return the error for an id that is no source's."""
    return NotFoundError(
        f"There is no source {shown(source_id)} in the knowledge graph.",
        advice="`biodesk kg sources` lists those there are.",
    )


def replaced(before: GraphSource, *, again: bool) -> str:
    """Say that a source was stored in place of what it had stated before; `again`: from the same files."""
    held = f"{before.nodes:,} entities and {before.edges:,} relations"
    if again:
        return f"Other sources changed since these files were read, so they were read again. Before, they gave {held}."
    return (
        f"These files replaced what the source {before.id} had stated before ({held}). To keep both, import them "
        "under another name."
    )
