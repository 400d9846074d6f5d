"""OBO 1.2 and 1.4 ontologies: GO, HPO, Disease Ontology, Mondo, Cell Ontology, Uberon, ChEBI and others.

The flat-file format's guide: https://owlcollab.github.io/oboformat/doc/GO.format.obo-1_4.html. A term becomes a node
whose type follows from its id's prefix, else from its namespace; obsolete terms are left out and counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from engine.domain.knowledge import EdgeRows, EdgeType, NodeRows, NodeType
from engine.errors import DataError
from engine.knowledge.importers.reading.batches import BATCH, Batches, ImportReading, edge_batches
from engine.knowledge.importers.reading.format import FormatInfo
from engine.knowledge.importers.reading.ids import type_of_id, xref
from engine.knowledge.importers.reading.text import bad_line, numbered_lines, shown

NAMESPACES: dict[str, NodeType] = {
    "biological_process": NodeType.GO_TERM,
    "molecular_function": NodeType.GO_TERM,
    "cellular_component": NodeType.GO_TERM,
    "disease_ontology": NodeType.DISEASE,
    "human_phenotype": NodeType.PHENOTYPE,
    "cell": NodeType.CELL_TYPE,
    "uberon": NodeType.ANATOMY,
    "chebi_ontology": NodeType.DRUG,
    "ncbi_taxonomy": NodeType.ORGANISM,
    "protein": NodeType.PROTEIN,
    "symptoms": NodeType.SYMPTOM,
    "pathway_ontology": NodeType.PATHWAY,
}

RELATIONS: dict[str, tuple[EdgeType, bool]] = {
    "is_a": (EdgeType.SUBCLASS_OF, False),
    "part_of": (EdgeType.PART_OF, False),
    "has_part": (EdgeType.PART_OF, True),
    "regulates": (EdgeType.REGULATES, False),
    "positively_regulates": (EdgeType.ACTIVATES, False),
    "negatively_regulates": (EdgeType.INHIBITS, False),
    "located_in": (EdgeType.LOCATED_IN, False),
    "occurs_in": (EdgeType.LOCATED_IN, False),
    "disease_has_location": (EdgeType.LOCATED_IN, False),
    "has_phenotype": (EdgeType.PRESENTS, False),
    "has_symptom": (EdgeType.PRESENTS, False),
    "disease_has_feature": (EdgeType.PRESENTS, False),
}
"""Relationship -> canonical type, and whether source and target change places; others are `related_to`."""

_NUMBERED = {
    "BFO:0000050": "part_of",
    "BFO:0000051": "has_part",
    "RO:0002211": "regulates",
    "RO:0002213": "positively_regulates",
    "RO:0002212": "negatively_regulates",
    "RO:0001025": "located_in",
    "BFO:0000066": "occurs_in",
    "RO:0004026": "disease_has_location",
    "RO:0002200": "has_phenotype",
    "RO:0004029": "disease_has_feature",
}
_SYNONYM = re.compile(r'"((?:[^"\\]|\\.)*)"(?:\s*(EXACT|RELATED|BROAD|NARROW)\b)?\s*([^\s\[{]*)')
_SYNONYM_TAGS = {
    "synonym": "",
    "exact_synonym": "EXACT",
    "related_synonym": "RELATED",
    "broad_synonym": "BROAD",
    "narrow_synonym": "NARROW",
}
"""Tag -> the scope it implies; `synonym` states its own, and means RELATED where it does not."""
_ACRONYMS = {"OMO:0003012", "abbreviation", "ABBREVIATION", "acronym"}
"""Types of synonyms that are the term's own short form, whatever their scope."""
_NAMED_BY_RELATED = (NodeType.DISEASE, NodeType.DRUG)
"""Types whose RELATED synonyms are mostly other names: `adenocarcinoma of breast`, ChEBI's trade names.

Elsewhere they are words from the same field (`phosphatase` for dephosphorylation). BROAD and NARROW ones name
something else by definition and are left out everywhere.
"""
_STANZA = re.compile(r"\[(\w+)\]\s*(!.*)?")
_TAG = re.compile(r"([A-Za-z_][\w.-]*)\s*:\s?(.*)")
_ENTRY = re.compile(r'(\S+?)(?:\s+(?:"|\{|!).*)?')


@dataclass(slots=True)
class _Term:
    line: int
    id: str = ""
    name: str = ""
    namespace: str = ""
    aliases: list[str] = field(default_factory=list)
    related: list[str] = field(default_factory=list)
    """Synonyms that are names of terms of some types only (see `_NAMED_BY_RELATED`)."""
    alternatives: list[str] = field(default_factory=list)
    xrefs: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    """Identifiers that mean exactly this: Mondo's equivalents in the Disease Ontology, ChEBI's in DrugBank."""
    links: list[tuple[str, str]] = field(default_factory=list)
    obsolete: bool = False


_ONTOLOGIES: dict[str, tuple[str, str]] = {
    "go": ("Gene Ontology", "CC BY 4.0"),
    "doid": ("Disease Ontology", "CC0 1.0"),
    "mondo": ("Mondo Disease Ontology", "CC BY 4.0"),
    "cl": ("Cell Ontology", "CC BY 4.0"),
    "uberon": ("Uberon", "CC BY 3.0"),
    "chebi": ("ChEBI", "CC BY 4.0"),
    "hp": ("Human Phenotype Ontology", "HPO licence (free with attribution, unaltered)"),
}
"""The header's ontology -> (name for people, licence where the header gives none)."""


def header_of(path: Path) -> dict[str, str]:
    """Return the tags before the first stanza, the first value of each."""
    tags: dict[str, str] = {}
    for _, line in numbered_lines(path):
        if line.startswith("["):
            break
        match = _TAG.fullmatch(line.strip())
        if match is None:
            continue
        property, _, rest = match[2].strip().partition(" ")
        if match[1] == "property_value" and "license" in property and rest.strip():
            tags.setdefault("license", rest.split()[0].strip('"'))
        tags.setdefault(match[1], match[2].strip())
    return tags


def read(reading: ImportReading) -> Batches:
    """Yield the terms, then their relations.

    A term that exists under its own, an alternative or (in Mondo) an equivalent identifier keeps that node's id.

    Raises:
        DataError: for a line outside the format, a term without an id, no term of a known type; names the line.
    """
    ids: dict[str, str] = {}
    links: list[tuple[str, str, str]] = []
    genes = reading.genes()
    nodes = NodeRows()
    terms = 0
    for path in reading.paths:
        before = terms
        for term in _terms(path):
            terms += 1
            if term.obsolete:
                reading.count("obsolete terms were left out", term.id)
                continue
            type = type_of_id(term.id) or NAMESPACES.get(term.namespace)
            if type is None:
                prefix = term.id.partition(":")[0]
                reading.count(
                    f"terms with the prefix {shown(prefix)} were left out, as what they are is not known", term.id
                )
                continue
            own = _plain(term.id)
            node_id = genes.existing([own, *term.alternatives, *term.same], type) or own
            ids[term.id] = node_id
            aliases = [*term.aliases, *(term.related if type in _NAMED_BY_RELATED else [])]
            nodes.add(node_id, type, term.name or term.id, aliases, [own, *term.alternatives, *term.xrefs])
            links.extend((term.id, relation, target) for relation, target in term.links)
            if len(nodes) == BATCH:
                yield nodes
                nodes = NodeRows()
        if terms == before:
            raise DataError(f"{path.name} has no [Term]: it is no OBO ontology.", advice="Choose the .obo file.")
    if not ids:
        message = f"{reading.paths[0].name} has {terms:,} terms, none of a kind that the graph knows."
        raise DataError(message, advice="Import it as tables of nodes and edges, which name the types.")
    if len(nodes):
        yield nodes
    yield from edge_batches(_edges(links, ids, reading))


def _edges(links: list[tuple[str, str, str]], ids: dict[str, str], reading: ImportReading) -> EdgeRows:
    edges = EdgeRows()
    genes = reading.genes()
    for source, relation, target in links:
        at = ids.get(target)
        if at is None:  # a term of another ontology, which may be in the graph
            type = type_of_id(target)
            plain = _plain(target)
            at = ids[target] = (genes.existing([plain], type) if type else None) or plain
        name = _NUMBERED.get(relation, relation)
        type, turned = (
            (EdgeType.SUBCLASS_OF, False) if name == "is_a" else RELATIONS.get(name, (EdgeType.RELATED_TO, False))
        )
        first, second = (at, ids[source]) if turned else (ids[source], at)
        edges.add(first, type, second, name)
    return edges


def _plain(term: str) -> str:
    return xref(term) or term


def _terms(path: Path) -> Iterator[_Term]:
    term: _Term | None = None
    inside = False  # in a stanza of another kind, or in a term
    for number, raw in numbered_lines(path):
        line = raw.strip()
        if not line or line[0] == "!":
            continue
        if line[0] == "[":
            stanza = _STANZA.fullmatch(line)
            if stanza is None:
                raise bad_line(path, number, f"{shown(line)} is no stanza; `[Term]` was expected.")
            if term is not None:
                yield _complete(path, term)
            term = _Term(number) if stanza[1] == "Term" else None
            inside = True
            continue
        match = _TAG.fullmatch(line)
        if match is None:
            where = "in a stanza" if inside else "in the header"
            raise bad_line(path, number, f"{shown(line)} {where} is no `tag: value` of an OBO file.")
        if term is not None:
            _add(path, number, term, match[1], match[2])
    if term is not None:
        yield _complete(path, term)


def _complete(path: Path, term: _Term) -> _Term:
    if not term.id:
        raise bad_line(path, term.line, "the [Term] that starts here has no id.", "The file may be cut short.")
    return term


def _add(path: Path, number: int, term: _Term, tag: str, value: str) -> None:
    if tag == "id":
        term.id = _entry(value)
    elif tag == "name":
        term.name = _unescaped(value)
    elif tag == "namespace":
        term.namespace = value.strip().lower()
    elif tag in _SYNONYM_TAGS:
        _add_synonym(path, number, term, tag, value)
    elif tag == "alt_id":
        term.alternatives.append(_plain(_entry(value)))
    elif tag in ("xref", "xref_analog"):
        _add_xref(term, value)
    elif tag == "is_a":
        term.links.append(("is_a", _entry(value)))
    elif tag == "relationship":
        term.links.append(_relationship(path, number, value))
    elif tag == "is_obsolete":
        term.obsolete = value.strip().lower().startswith("true")


def _relationship(path: Path, number: int, value: str) -> tuple[str, str]:
    parts = value.split("!")[0].split()
    if len(parts) < 2:
        raise bad_line(path, number, f"the relationship {shown(value)} names no target.")
    return parts[0], parts[1]


def _add_synonym(path: Path, number: int, term: _Term, tag: str, value: str) -> None:
    quoted = _SYNONYM.match(value)
    if quoted is None:
        raise bad_line(path, number, f"the synonym {shown(value)} is not in quotes.")
    scope = _SYNONYM_TAGS[tag] or quoted[2] or "RELATED"
    if scope == "EXACT" or quoted[3] in _ACRONYMS:
        term.aliases.append(_unescaped(quoted[1]))
    elif scope == "RELATED":
        term.related.append(_unescaped(quoted[1]))


def _add_xref(term: _Term, value: str) -> None:
    known = xref(_entry(value))
    if known is None:
        return
    prefix = known.partition(":")[0]
    if prefix == "DOID" and term.id.startswith("MONDO:"):
        if "equivalentTo" not in value:
            return  # a related or narrower disease: as an xref it would make the two one node
        term.same.append(known)
    elif prefix == "DRUGBANK" and term.id.startswith("CHEBI:"):
        term.same.append(known)
    term.xrefs.append(known)


def _entry(value: str) -> str:
    """Return an identifier without the comment, description or modifiers behind it."""
    match = _ENTRY.fullmatch(value.strip())
    return (match[1] if match else value.strip()).replace("\\:", ":")


def _unescaped(value: str) -> str:
    return re.sub(r"\\(.)", lambda match: {"n": " ", "W": " ", "t": " "}.get(match[1], match[1]), value).strip()


def _called(paths: list[Path], names: str) -> tuple[str, str]:
    header = header_of(paths[0])
    ontology = header.get("ontology", "").strip().lower().removesuffix(".obo")
    if not ontology or len(paths) > 1:
        return names, header.get("license", "")
    family, _, part = ontology.partition("/")
    title, license = _ONTOLOGIES.get(family, (ontology, ""))
    title = f"{title}: {part}" if part and family in _ONTOLOGIES else title
    version = header.get("data-version", "").strip()
    return (f"{title} ({version})" if version else title), header.get("license") or license


FORMAT = FormatInfo(
    name="obo",
    title="OBO ontology",
    description="Terms with synonyms and their hierarchy: GO, HPO, DO, Mondo, CL, Uberon...",
    extensions=(".obo",),
    files="one or several ontologies",
    read=read,
    looks=lambda beginning: beginning.first.startswith("format-version:") or "[Term]" in "\n".join(beginning.lines),
    order=2,
    also=("go",),
    called=_called,
)
