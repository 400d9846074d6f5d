"""What `kg` prints for people, and the JSON document of `kg check`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.cli.show_words import counted, short


def _entities(count: int) -> str:
    return counted(count, "entity", "entities")


def _stated(edge: Any, source: str, target: str) -> str:
    """Return a relation as it is stated, without an arrow head when it says the same in both directions."""
    return f"{source} -[{edge.type.value}]-{_head(edge)} {target}"


def _head(edge: Any) -> str:
    from engine.domain.knowledge import SYMMETRIC

    return "" if edge.type in SYMMETRIC else ">"


def stats_text(stats: Any) -> str:
    """Return the graph's size and sources."""
    lines = [f"{_entities(stats.nodes)}, {counted(stats.edges, 'relation')} (version {stats.version})", "", "Entities"]
    lines += [f"  {name:<20} {count:>10,}" for name, count in sorted(stats.nodes_by_type.items(), key=lambda i: -i[1])]
    lines += ["Relations"]
    lines += [f"  {name:<20} {count:>10,}" for name, count in sorted(stats.edges_by_type.items(), key=lambda i: -i[1])]
    return "\n".join([*lines, "Sources", sources_text(stats.sources)])


def sources_text(found: list[Any]) -> str:
    """Return one line a source."""
    if not found:
        return "  none"
    return "\n".join(
        f"  {s.id:<28} {s.name}: {_entities(s.nodes)}, {counted(s.edges, 'relation')}"
        f"{f', {s.license}' if s.license else ''}"
        for s in found
    )


def taught_text(found: Any, source: str) -> str:
    """Return the entities that a source was the first to name and the relations it states; 200 of each at most."""
    named, stated = _entities(len(found.nodes)), counted(len(found.edges), "relation")
    lines = [f"{source}: {named} it was the first to name, {stated}"]
    if found.nodes:
        lines += ["", "Entities", *[f"  {n.id}  {n.name} ({n.type.value})" for n in found.nodes[:200]]]
        lines += [f"  and {len(found.nodes) - 200:,} more"] if len(found.nodes) > 200 else []
    if found.edges:
        lines += [
            "",
            "Relations",
            *[f"  {line}" for line in edges_text(found.edges[:200], {n.id: n.name for n in found.nodes}).splitlines()],
        ]
        lines += [f"  and {len(found.edges) - 200:,} more"] if len(found.edges) > 200 else []
    return "\n".join(lines)


def hits_text(hits: list[Any]) -> str:
    """Return found entities."""
    if not hits:
        return "Nothing of that name is in the graph."
    lines = []
    for hit in hits:
        matched = f", matched {hit.matched}" if hit.matched not in (hit.node.name, hit.node.id) else ""
        lines.append(
            f"{hit.node.id:<32} {hit.node.name} ({hit.node.type.value}, {counted(hit.degree, 'relation')}{matched})"
        )
    return "\n".join(lines)


def neighbourhood_text(found: Any) -> str:
    """Return a neighbourhood: the edges of the nearest nodes, then what was left out."""
    names = {node.id: node.name for node in found.nodes}
    if found.reached <= len(found.seeds) and not found.edges:
        return "Nothing is linked to this." if len(found.seeds) == 1 else "Nothing is linked to these."
    among = f"{counted(len(found.edges), 'relation')} among them"
    lines = [f"{len(found.nodes):,} of {_entities(found.reached)} shown, {among}", ""]
    ordered = sorted(found.nodes, key=lambda node: (found.hops.get(node.id, 0), -found.degrees.get(node.id, 0)))
    for node in ordered:
        hops, degree = found.hops.get(node.id, 0), found.degrees.get(node.id, 0)
        lines.append(f"  {hops}  {node.name} ({node.type.value}, {counted(degree, 'relation')})  {node.id}")
    lines += ["", "Relations"]
    for edge in found.edges[:200]:
        ends = names.get(edge.source, edge.source), names.get(edge.target, edge.target)
        lines.append(f"  {_stated(edge, *ends)}")
    if len(found.edges) > 200:
        lines.append(f"  and {len(found.edges) - 200:,} more")
    return "\n".join(lines)


def path_line(path: Any) -> str:
    """Return a path on one line, each edge pointing as it is stated, or neither way when it says the same in both."""
    return path.line


def paths_text(found: list[Any], a: str, b: str, longest: int) -> str:
    """Return paths, best supported first."""
    if not found:
        return f"No path of at most {counted(longest, 'relation')} joins {a} and {b}."
    return "\n".join(f"{path.score:.3f}  {path_line(path)}" for path in found)


def edges_text(found: list[Any], names: Mapping[str, str] | None = None) -> str:
    """Return stated relations with who states them; entities by name where it is known, else by id."""
    if not found:
        return "The graph states nothing of the two together."

    def called(key: str) -> str:
        return names[key] if names is not None and key in names else key

    return "\n".join(
        f"{_stated(e, called(e.source), called(e.target))}  "
        f"({e.relation or e.type.value}; {e.origin}, confidence {e.confidence:.2f})"
        for e in found
    )


def check_document(found: Any) -> dict[str, Any]:
    """Return a check as the JSON document of `kg check`."""
    claims = []
    for claim in found.claims:
        document = claim.model_dump(mode="json")
        document["entities"] = [
            {
                "id": m.node.id,
                "name": m.node.name,
                "type": m.node.type.value,
                "text": m.text,
                "start": m.start,
                "end": m.end,
                "alternatives": [node.id for node in m.alternatives],
                "why": m.why,
            }
            for m in claim.entities
        ]
        claims.append(document)
    return {
        "claims": claims,
        "unclaimed": [one.model_dump(mode="json") for one in found.unclaimed],
        "score": found.score,
        "read_by": found.read_by,
        "graph_version": found.graph_version,
        "seconds": found.seconds,
    }


def check_text(found: Any) -> str:
    """Return each claim with its label and evidence."""
    passed = [f"{'NO CLAIM':<13} {short(one.text, 160)}\n{'':<14}{one.why}" for one in found.unclaimed]
    passed += [f"The text was read by {found.read_by}; what the graph says was looked up."] if found.read_by else []
    if not found.claims:
        text = "The text makes no claim that could be checked: it states no relation between entities of the graph."
        return "\n".join([text, *passed])
    lines: list[str] = []
    for claim in found.claims:
        lines += [f"{claim.label.upper():<13} {short(claim.text, 160)}", f"              {claim.why}"]
        for item in claim.evidence[:6]:
            against = "AGAINST: " if item.kind == "opposite" and claim.label != "contradicted" else ""
            lines.append(f"              {against}{item.edge}  ({item.source}, confidence {item.confidence:.2f})")
    return "\n".join([*lines, *passed, "", f"Score {found.score:.2f} (1 all grounded, -1 all contradicted)"])


def graph_import_text(done: Any) -> str:
    """Return what an import did."""
    if done.unchanged:
        head = f"{done.source.name} is the same as before, so nothing was done."
    else:
        entities = counted(done.nodes_added, "new entity", "new entities")
        added = f"{entities}, {counted(done.edges_added, 'new relation')}"
        head = f"{done.source.name}: {added} in {done.seconds:.1f} s."
    return "\n".join([head, *[f"  note: {text}" for text in done.warnings]])


def preview_text(seen: Any) -> str:
    """Return the first nodes and edges of files."""
    lines = ["Entities"] + [f"  {node.id}  {node.name} ({node.type.value})" for node in seen.nodes]
    lines += ["Relations"] + [f"  {_stated(edge, edge.source, edge.target)}" for edge in seen.edges]
    return "\n".join([*lines, *[f"note: {text}" for text in seen.warnings]])


def public_sources_text(listed: list[dict[str, Any]]) -> str:
    """Return what can be fetched."""
    return "\n".join(
        f"{item['name']:<14} {item['title']}: {item['description']} ({item['license']})" for item in listed
    )


def enriched_text(found: list[Any]) -> str:
    """Return enriched neighbourhoods."""
    if not found:
        return (
            "None of the neighbourhoods tested holds one of these genes. Those of 3 to 500 genes are tested: larger "
            "ones say little, and from smaller ones nothing can be concluded."
        )
    return "\n".join(
        f"{item.p_adj:.1e}  {item.node.name} ({item.node.type.value}): "
        f"{item.overlap} of {item.size}, fold {item.fold_enrichment:.1f}"
        for item in found
    )
