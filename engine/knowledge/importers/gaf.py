"""Gene annotations: GAF 2.1 and 2.2, and the plain association files that GOATOOLS reads (`gene<TAB>GO:1;GO:2`).

http://geneontology.org/docs/go-annotation-file-gaf-format-2.2/. What an annotation's evidence is worth is our own
ordering (`CONFIDENCE`): experiments above curators' statements above orthology above untouched electronic inference;
it is a judgement, nothing measured. Of several annotations of a gene with a term the best counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from engine.domain.knowledge import EdgeRows, EdgeType, NodeRows, NodeType
from engine.errors import DataError
from engine.knowledge.importers.reading.batches import Batches, ImportReading, edge_batches, node_batches
from engine.knowledge.importers.reading.format import Beginning, FormatInfo
from engine.knowledge.importers.reading.ids import TAXA, Genes, xref
from engine.knowledge.importers.reading.text import bad_line, counted, line_blocks, numbered_lines, shown

CONFIDENCE: dict[str, float] = {
    **dict.fromkeys(("EXP", "IDA", "IPI", "IMP", "IGI"), 0.95),
    "IEP": 0.85,
    **dict.fromkeys(("TAS", "IC"), 0.9),
    **dict.fromkeys(("HTP", "HDA", "HMP", "HGI", "HEP"), 0.8),
    **dict.fromkeys(("IBA", "IBD", "IKR", "IRD"), 0.8),
    **dict.fromkeys(("ISS", "ISO", "ISA", "ISM", "IGC", "RCA"), 0.7),
    "NAS": 0.6,
    "IEA": 0.5,
}
"""Evidence code -> confidence; ND (no data) is left out."""

ASPECTS: dict[str, tuple[EdgeType, str]] = {
    "P": (EdgeType.INVOLVED_IN, "involved_in"),
    "F": (EdgeType.HAS_FUNCTION, "enables"),
    "C": (EdgeType.LOCATED_IN, "located_in"),
}
"""Aspect -> canonical type and the relation where the file (2.1) gives none."""

_ASSOCIATION = re.compile(r"[^\t]+\tGO:\d{7}(;GO:\d{7})*;?")
_TERM = re.compile(r"GO:\d{7}")
_HETIONET = {
    "Biological Process": EdgeType.INVOLVED_IN,
    "Molecular Function": EdgeType.HAS_FUNCTION,
    "Cellular Component": EdgeType.LOCATED_IN,
}


@dataclass(slots=True)
class _Collected:
    """Genes, terms and the best annotation of each pair."""

    genes: dict[str, tuple[str, NodeType, set[str], set[str]]] = field(default_factory=dict)
    products: dict[tuple[str, str, str, str], str] = field(default_factory=dict)
    """(database, id, symbol, taxon) -> node."""
    terms: dict[str, str] = field(default_factory=dict)
    pairs: dict[tuple[str, str, EdgeType], tuple[str, float | None]] = field(default_factory=dict)

    def gene(self, node_id: str, name: str, type: NodeType) -> tuple[set[str], set[str]]:
        """Return the aliases and xrefs of a gene, to be added to."""
        _, _, aliases, xrefs = self.genes.setdefault(node_id, (name, type, set(), set()))
        return aliases, xrefs

    def term(self, term: str, genes: Genes) -> str:
        """Return the node of a term: one that exists, or a new one."""
        found = self.terms.get(term)
        if found is None:
            found = self.terms[term] = genes.existing([term], NodeType.GO_TERM) or term
        return found

    def pair(self, gene: str, term: str, type: EdgeType, relation: str, confidence: float | None) -> None:
        """Keep an annotation unless a better one of the pair is known."""
        known = self.pairs.get((gene, term, type))
        if known is None or (confidence or 0) > (known[1] or 0):
            self.pairs[gene, term, type] = (relation, confidence)

    def batches(self) -> Batches:
        """Yield everything. A term that no ontology named yet has its id for a name."""
        nodes = NodeRows()
        for node_id, (name, type, aliases, xrefs) in self.genes.items():
            nodes.add(node_id, type, name, sorted(aliases - {name}), sorted(xrefs))
        for term, node_id in self.terms.items():
            nodes.add(node_id, NodeType.GO_TERM, term, None, [term])
        yield from node_batches(nodes)
        edges = EdgeRows()
        for (gene, term, type), (relation, confidence) in self.pairs.items():
            edges.add(gene, type, term, relation, confidence)
        yield from edge_batches(edges)


def read(reading: ImportReading) -> Batches:
    """Yield the annotated genes and terms, then one edge for a gene and a term.

    Annotations with the qualifier NOT state that something does not hold; they are left out and counted, as are
    those without data (ND). The organism comes from the file's taxon column.

    Raises:
        DataError: for a row that is no annotation; names the line.
    """
    found = _Collected()
    genes = reading.genes()
    for path in reading.paths:
        rows = 0
        for number, line in numbered_lines(path):
            if line.startswith("!") or not line.strip():
                continue
            rows += 1
            fields = line.split("\t")
            if not 15 <= len(fields) <= 17:
                raise _no_annotation(path, number, line, len(fields))
            _annotation(path, number, fields, found, genes, reading)
        if not rows:
            raise DataError(f"{path.name} has no annotation, only comments.", advice="Download it again.")
    yield from found.batches()


def _no_annotation(path: Path, number: int, line: str, fields: int) -> DataError:
    advice = ""
    if fields == 2 and _TERM.search(line):
        advice = "Lines of `gene<TAB>GO:1;GO:2` are read with the format `associations`; `auto` finds that out."
    return bad_line(path, number, f"{counted(fields, 'field')} where GAF has 17 (at least 15), tab-separated.", advice)


def _annotation(
    path: Path, number: int, fields: list[str], found: _Collected, genes: Genes, reading: ImportReading
) -> None:
    database, local, symbol, qualifier, term = (text.strip() for text in fields[:5])
    evidence, aspect, name, synonyms, kind, taxon = fields[6], fields[8], fields[9], fields[10], fields[11], fields[12]
    if not _TERM.fullmatch(term):
        raise bad_line(path, number, f"the term is {shown(term)}; an id such as GO:0006915 was expected.")
    if aspect not in ASPECTS:
        raise bad_line(path, number, f"the aspect is {shown(aspect)}; P, F or C was expected.")
    if not local or not symbol:
        raise bad_line(path, number, "the object's id or symbol is missing.")
    qualifiers = qualifier.split("|") if qualifier else []
    if "NOT" in qualifiers:
        reading.count("annotations with the qualifier NOT were left out", f"{symbol}, {term}")
        return
    if evidence == "ND":
        reading.count("annotations without data (ND) were left out", f"{symbol}, {term}")
        return
    if evidence not in CONFIDENCE:
        reading.count("annotations have an evidence code that is not known; their confidence is 0.5", shown(evidence))
    product = (database, local, symbol, taxon)
    node_id = found.products.get(product)
    if node_id is None:
        node_id = found.products[product] = _product(product, kind, [name, *synonyms.split("|")], found, genes)
    type, relation = _meaning(aspect, qualifiers)
    found.pair(node_id, found.term(term, genes), type, relation, CONFIDENCE.get(evidence, 0.5))


def _product(product: tuple[str, str, str, str], kind: str, names: list[str], found: _Collected, genes: Genes) -> str:
    """Return the node of an annotated gene product, which is its gene's, or the complex itself."""
    database, local, symbol, taxon = product
    identifier = xref(local) if ":" in local else xref(f"{database}:{local}")
    organism = taxon.split("|")[0].removeprefix("taxon:")
    organism = TAXA.get(organism, f"taxon{organism}" if organism.isdigit() else "human")
    if kind == "protein_complex" or database == "ComplexPortal":
        node_id, type = identifier or f"complex:{symbol}", NodeType.PROTEIN
    else:
        node_id = genes.by_symbol(symbol, xrefs=[identifier] if identifier else [], organism=organism)
        type = NodeType.GENE
    aliases, xrefs = found.gene(node_id, symbol, type)
    aliases.update(text for text in (name.strip() for name in names) if text)
    if identifier:
        xrefs.add(identifier)
    return node_id


def _meaning(aspect: str, qualifiers: list[str]) -> tuple[EdgeType, str]:
    type, relation = ASPECTS[aspect]
    relation = qualifiers[-1] if qualifiers else relation
    if relation.startswith("acts_upstream_of") and not relation.startswith("acts_upstream_of_or_within"):
        type = EdgeType.RELATED_TO  # outside the process: not involved in it
    return type, relation


def read_associations(reading: ImportReading) -> Batches:
    """Yield genes, terms and edges of a file with `gene<TAB>GO:1;GO:2` in each line.

    Such a file does not say what a term is: where the term is in the graph with its branch the edge follows it
    (a process, a function, a component), otherwise it is `associated_with`.

    Raises:
        DataError: for a line of another form; names it.
    """
    found = _Collected()
    genes = reading.genes()
    for path in reading.paths:
        associations = 0
        for start, lines in line_blocks(path):
            for number, line in enumerate(lines, start):
                if line.strip() and not line.startswith(("#", "!")):
                    associations += _association(path, number, line, found, genes, reading)
        if not associations:
            raise DataError(
                f"{path.name} has no association.", advice="Lines look like `gene<TAB>GO:0006915;GO:0008150`."
            )
    if any(type is EdgeType.ASSOCIATED_WITH for _, _, type in found.pairs):
        reading.warnings.append(
            "What the terms are (process, function, component) is not in such a file, so genes are `associated_with` "
            "terms that the graph does not know by branch; a GAF file says more."
        )
    yield from found.batches()


def _association(path: Path, number: int, line: str, found: _Collected, genes: Genes, reading: ImportReading) -> int:
    """Take a line's associations and return how many they are."""
    name, tab, rest = line.partition("\t")
    terms = [term.strip() for term in rest.split(";") if term.strip()]
    name = name.strip()
    if tab and name and not terms:
        reading.count("genes without a term were left out", name)
        return 0
    if not tab or not name:
        raise bad_line(path, number, f"{shown(line)} is not `gene<TAB>GO:0006915;GO:0008150`.")
    node_id, known, is_symbol = genes.by_any(name)
    _, xrefs = found.gene(node_id, name if is_symbol else node_id, NodeType.GENE)
    xrefs.update(known)
    for term in terms:
        if not _TERM.fullmatch(term):
            raise bad_line(path, number, f"the term is {shown(term)}; an id such as GO:0006915 was expected.")
        at = found.term(term, genes)
        type = _HETIONET.get(at.partition("::")[0], EdgeType.ASSOCIATED_WITH)
        found.pair(node_id, at, type, "annotated", None)
    return len(terms)


def _looks_gaf(beginning: Beginning) -> bool:
    if beginning.first.startswith("!"):
        return any("gaf-version" in line or "\tGO:" in line for line in beginning.lines)
    return len(beginning.lines[0].split("\t")) in (15, 16, 17) and "\tGO:" in beginning.lines[0]


def _looks_associations(beginning: Beginning) -> bool:
    data = [_ASSOCIATION.fullmatch(line.strip()) for line in beginning.lines if not line.startswith("#")]
    return bool(data and data[0]) and len(list(filter(None, data))) >= 0.5 * len(data)


GAF = FormatInfo(
    name="gaf",
    title="GO annotations (GAF)",
    description="Which gene has which function, takes part in which process, lies in which component.",
    extensions=(".gaf",),
    license="CC BY 4.0",
    url="http://current.geneontology.org",
    read=read,
    looks=_looks_gaf,
    order=3,
)
ASSOCIATIONS = FormatInfo(
    name="associations",
    title="GO associations",
    description="A gene and its GO terms in each line: gene<TAB>GO:0006915;GO:0008150.",
    extensions=(".txt", ".tsv"),
    read=read_associations,
    looks=_looks_associations,
    order=9,
)
