"""GMT: a gene set in each line, with its name, a description and its genes, tab-separated.

https://software.broadinstitute.org/cancer/software/gsea/wiki/index.php/Data_formats. A set is a pathway and its
genes are involved in it; a signature (`..._UP`, `..._DN`) only lists genes that changed, so they are associated.
"""

from __future__ import annotations

import re

from engine.domain.knowledge import EdgeRows, EdgeType, NodeRows, NodeType
from engine.knowledge.importers.reading.batches import Batches, ImportReading, edge_batches, node_batches
from engine.knowledge.importers.reading.format import Beginning, FormatInfo
from engine.knowledge.importers.reading.text import bad_line, counted, numbered_lines, shown

_COLLECTION = re.compile(r"^(HALLMARK|KEGG|REACTOME|BIOCARTA|PID|WP|GO|GOBP|GOCC|GOMF|HP|SA|SIG|ST|NABA)_")
_GENE = re.compile(r"ENS[A-Z]*G\d{6,}(\.\d+)?|[A-Z][A-Z0-9]+([-.][A-Z0-9]+)*|C[\dXY]+orf\d+|[A-Z][a-z]+\d+[a-z0-9]*")
"""An Ensembl id, a human symbol (EGFR, HLA-A, C1orf112) or a symbol of a mouse that has a number (Trp53)."""
_MOSTLY = 0.8
_SIGNATURE = re.compile(r"_(UP|DN)(\.V\d+.*)?$")


def readable(name: str) -> str:
    """Return a set's name as words: `HALLMARK_TNFA_SIGNALING_VIA_NFKB` -> `tnfa signaling via nfkb`."""
    return _COLLECTION.sub("", name).replace("_", " ").strip().lower() if "_" in name else name


def read(reading: ImportReading) -> Batches:
    """Yield the sets and their genes, then the edges gene -> set.

    Raises:
        DataError: for a line with fewer than three fields or without a name; names it.
    """
    genes = reading.genes()
    nodes, edges = NodeRows(), EdgeRows()
    seen_sets: set[str] = set()
    seen: set[str] = set()
    seen_pairs: set[tuple[str, str]] = set()
    for path in reading.paths:
        for number, line in numbered_lines(path, longest=None):
            if not line.strip():
                continue
            fields = line.split("\t")
            name = fields[0].strip()
            members = [text for text in (field.split(",")[0].strip() for field in fields[2:]) if text]
            if not name or not members:
                problem = f"{counted(len(fields), 'field')}; a name, a description and at least one gene were expected"
                raise bad_line(path, number, f"{problem}, tab-separated (the line starts {shown(line[:40])}).")
            node_id = f"pathway:{name}"
            if name in seen_sets:
                reading.count("gene sets have a name that came before; their genes were joined", name)
            else:
                seen_sets.add(name)
                words = readable(name)
                nodes.add(node_id, NodeType.PATHWAY, name, [words] if words != name else None)
            signature = _SIGNATURE.search(name) is not None
            type = EdgeType.ASSOCIATED_WITH if signature else EdgeType.INVOLVED_IN
            for member in members:
                gene, xrefs, is_symbol = genes.by_any(member)
                if gene not in seen:
                    seen.add(gene)
                    nodes.add(gene, NodeType.GENE, member if is_symbol else gene, None, xrefs)
                if (gene, node_id) not in seen_pairs:
                    seen_pairs.add((gene, node_id))
                    edges.add(gene, type, node_id, "signature" if signature else "member")
    yield from node_batches(nodes)
    yield from edge_batches(edges)


def _looks(beginning: Beginning) -> bool:
    """Say whether lines are gene sets by the file's name or, without it, of different lengths and full of genes."""
    rows = [line.rstrip("\t").split("\t") for line in beginning.lines]
    members = [field.partition(",")[0].strip() for row in rows for field in row[2:]]
    if beginning.ends(".gmt"):
        return True
    if min(map(len, rows)) < 3 or len({len(row) for row in rows}) < 2:
        return False
    return sum(_GENE.fullmatch(member) is not None for member in members) >= _MOSTLY * len(members)


FORMAT = FormatInfo(
    name="gmt",
    title="Gene sets (GMT)",
    description="Pathways with their genes, one in each line.",
    extensions=(".gmt",),
    files="one or several libraries",
    read=read,
    looks=_looks,
    order=10,
)
