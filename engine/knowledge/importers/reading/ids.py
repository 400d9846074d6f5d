"""How identifiers are written, so that what different sources say of one thing meets at one node.

A gene is `Gene::<Entrez>`, a compound `Compound::<DrugBank>` and a disease of the Disease Ontology stays as its
source writes it (Hetionet `Disease::DOID:1612`, an OBO file `DOID:1612`); every node carries its identifiers as
`PREFIX:LOCAL` in its xrefs, by which a resolver finds nodes that are already there. A gene of which only the
symbol is known is `symbol:EGFR` (`symbol:mouse:Egfr` for other organisms than human).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache

from engine.domain.encoding.hashing import sha256_text
from engine.domain.knowledge import NodeType
from engine.text.names import one_word

Resolve = Callable[[str, NodeType], str | None]
"""(symbol or xref, type) -> id of a node that exists, or None."""

PREFIXES: dict[str, str] = {
    "CHEMBL.COMPOUND": "CHEMBL",
    "DRUGBANK": "DRUGBANK",
    "ENTREZGENE": "ENTREZ",
    "GENEID": "ENTREZ",
    "HGNC_ID": "HGNC",
    "MESHD": "MESH",
    "MIM": "OMIM",
    "MSH": "MESH",
    "NCBI_GENE": "ENTREZ",
    "NCBIGENE": "ENTREZ",
    "NCBI_TAXON": "NCBITaxon",
    "NCBITAXON": "NCBITaxon",
    "NCI": "NCIT",
    "ORPHA": "ORPHANET",
    "ORDO": "ORPHANET",
    "SCTID": "SNOMEDCT",
    "UMLS_CUI": "UMLS",
    "UNIPROTKB": "UNIPROT",
}
"""Other spellings of a prefix, in capitals, and the one used here; prefixes not named are put in capitals."""

TYPE_OF_PREFIX: dict[str, NodeType] = {
    "GO": NodeType.GO_TERM,
    "HP": NodeType.PHENOTYPE,
    "MP": NodeType.PHENOTYPE,
    "DOID": NodeType.DISEASE,
    "MONDO": NodeType.DISEASE,
    "ORPHANET": NodeType.DISEASE,
    "OMIM": NodeType.DISEASE,
    "CL": NodeType.CELL_TYPE,
    "CLO": NodeType.CELL_TYPE,
    "UBERON": NodeType.ANATOMY,
    "FMA": NodeType.ANATOMY,
    "BTO": NodeType.ANATOMY,
    "MA": NodeType.ANATOMY,
    "EMAPA": NodeType.ANATOMY,
    "ZFA": NodeType.ANATOMY,
    "FBBT": NodeType.ANATOMY,
    "WBBT": NodeType.ANATOMY,
    "XAO": NodeType.ANATOMY,
    "PO": NodeType.ANATOMY,
    "CHEBI": NodeType.DRUG,
    "DRUGBANK": NodeType.DRUG,
    "CHEMBL": NodeType.DRUG,
    "NCBITaxon": NodeType.ORGANISM,
    "SYMP": NodeType.SYMPTOM,
    "PW": NodeType.PATHWAY,
    "REACTOME": NodeType.PATHWAY,
    "PR": NodeType.PROTEIN,
    "UNIPROT": NodeType.PROTEIN,
    "HGNC": NodeType.GENE,
    "ENTREZ": NodeType.GENE,
    "ENSEMBL": NodeType.GENE,
    "ECTO": NodeType.EXPOSURE,
    "EXO": NodeType.EXPOSURE,
    "SYMBOL": NodeType.GENE,
    "GENE": NodeType.GENE,
    "COMPOUND": NodeType.DRUG,
    "DISEASE": NodeType.DISEASE,
    "PATHWAY": NodeType.PATHWAY,
    "TOOL": NodeType.TOOL,
    "CELL_TYPE": NodeType.CELL_TYPE,
    "PMID": NodeType.PUBLICATION,
    "DOI": NodeType.PUBLICATION,
}
"""What a node is, by the prefix of its id."""

TAXA: dict[str, str] = {
    "9606": "human",
    "10090": "mouse",
    "10116": "rat",
    "7955": "zebrafish",
    "7227": "fly",
    "6239": "worm",
    "4932": "yeast",
    "559292": "yeast",
    "3702": "arabidopsis",
}
"""NCBI taxon -> the organism's name in ids."""

_ENSEMBL = re.compile(r"ENS[A-Z]{0,4}G\d{11}(\.\d+)?")
_UNIPROT = re.compile(r"([OPQ][0-9][A-Z0-9]{3}[0-9]|[A-NR-Z][0-9]([A-Z][A-Z0-9]{2}[0-9]){1,2})(-\d+)?")
_MOUSE = re.compile(r"[A-Z](?=[a-z0-9-]*[a-z])[a-z0-9]+(-[a-z0-9]+)*|\d+Rik|LOC\d+|Gm\d+|[A-Z]\d{4,}[A-Z]\d+Rik")
"""`Trp53`, `Egfr`, `H2-k1`, `1700001C02Rik`; not `TP53`. `C1orf112` fits too, which is why the share counts."""
_FEW = 3
"""Fewer symbols than this say nothing of the organism."""
_XREF = re.compile(r"([A-Za-z][\w.]*):(\S+)")
_DATED = re.compile(r"SNOMEDCT_US(_\d{4}_\d{2}_\d{2})?")


@lru_cache(maxsize=4096)
def known_prefix(prefix: str) -> str:
    """Return a prefix as it is written here: `UMLS_CUI` -> `UMLS`, `SNOMEDCT_US_2025_09_01` -> `SNOMEDCT`."""
    upper = prefix.upper()
    if _DATED.fullmatch(upper):
        return "SNOMEDCT"
    return PREFIXES.get(upper, upper)


def xref(text: str) -> str | None:
    """Return an identifier elsewhere as `PREFIX:LOCAL`, or None for a web address or free text."""
    match = _XREF.match(text)
    if match is None or match[2].startswith(("//", ":")) or match[1].lower() in ("http", "https", "url", "wikipedia"):
        return None
    return f"{known_prefix(match[1])}:{match[2]}"


def type_of_id(node_id: str) -> NodeType | None:
    """Return what a node is by its id's prefix (`Gene::1956`, `GO:0006915`, `R-HSA-109581`), or None."""
    if node_id.startswith("R-HSA-"):
        return NodeType.PATHWAY
    prefix, colon, local = node_id.partition(":")
    if not colon or not local.strip(":"):
        return None
    return TYPE_OF_PREFIX.get(known_prefix(prefix))


def is_ensembl_gene(text: str) -> bool:
    """Say whether the text is an Ensembl gene id, with or without a version."""
    return _ENSEMBL.fullmatch(text) is not None


def is_uniprot(text: str) -> bool:
    """Say whether the text has the form of a UniProt accession."""
    return _UNIPROT.fullmatch(text) is not None


def without_version(ensembl: str) -> str:
    """Return an Ensembl id without its version: `ENSG00000146648.18` -> `ENSG00000146648`."""
    return ensembl.partition(".")[0]


@lru_cache(maxsize=256)
def normal_organism(organism: str) -> str:
    """Return an organism's name as it is used in ids: `Homo sapiens` and `9606` are `human`."""
    text = organism.strip().lower().replace("_", " ")
    latin = {
        "homo sapiens": "human",
        "mus musculus": "mouse",
        "rattus norvegicus": "rat",
        "danio rerio": "zebrafish",
        "drosophila melanogaster": "fly",
        "caenorhabditis elegans": "worm",
        "saccharomyces cerevisiae": "yeast",
        "arabidopsis thaliana": "arabidopsis",
    }
    return latin.get(text) or TAXA.get(text.removeprefix("taxon:")) or text.replace(" ", "-") or "human"


class Genes:
    """Gives genes their ids: Entrez where it is known, then a node that exists, then what is known of it.

    Symbols are looked up for human genes only: a mouse's `Trp53` must not become the human TP53.
    """

    def __init__(self, resolve: Resolve | None, organism: str = "human") -> None:
        self._resolve = resolve
        self._organism = normal_organism(organism)
        self._symbols: dict[str, str] = {}
        self._taken_for_human: list[str] = []

    def by_symbol(self, symbol: str, *, xrefs: Iterable[str] = (), organism: str | None = None) -> str:
        """Return the id of a gene that is known by its symbol and perhaps by identifiers elsewhere."""
        said = organism
        organism = self._organism if organism is None else normal_organism(organism)
        key = f"{organism}\t{symbol}"
        found = self._symbols.get(key)
        if found is None:
            plain = f"symbol:{symbol}" if organism == "human" else f"symbol:{organism}:{symbol}"
            found = self.existing(xrefs) or (self.of_symbol(symbol) if organism == "human" else None) or plain
            self._symbols[key] = found
            if said is None and organism == "human":
                self._taken_for_human.append(symbol)
        return found

    def of_symbol(self, symbol: str) -> str | None:
        """Return the human gene that exists under a symbol, or None."""
        found = self.existing([symbol])
        return None if found is not None and found.startswith("symbol:") and found.count(":") > 1 else found

    def mouse_like(self) -> str:
        """Return a symbol that is written as a mouse's are, if most of those taken for human ones are; else ""."""
        symbols = self._taken_for_human
        odd = [symbol for symbol in symbols if _MOUSE.fullmatch(symbol)]
        return odd[0] if len(odd) >= _FEW and len(odd) > len(symbols) / 2 else ""

    def existing(self, names: Iterable[str], type: NodeType = NodeType.GENE) -> str | None:
        """Return the first node that exists under one of the names, or None."""
        if self._resolve is None:
            return None
        return next((found for name in names if (found := self._resolve(name, type))), None)

    def by_any(self, text: str) -> tuple[str, list[str], bool]:
        """Return (id, xrefs, whether the text is a symbol) for an Entrez number, Ensembl id or symbol."""
        text = text.strip()
        if is_number(text):
            entrez = f"ENTREZ:{text}"
            return self.existing([f"Gene::{text}", entrez]) or f"Gene::{text}", [entrez], False
        if is_ensembl_gene(text):
            ensembl = f"ENSEMBL:{without_version(text)}"
            return self.existing([ensembl]) or ensembl, [ensembl], False
        return self.by_symbol(text), [], True


def is_number(text: str) -> bool:
    """Say whether a text is nothing but digits, which is an identifier (Entrez's, mostly) and no name of a gene."""
    return text.isascii() and text.isdecimal()


def slug(text: str) -> str:
    """Return a text as part of an id: lower case letters of any script, digits and dashes."""
    return one_word(unicodedata.normalize("NFKC", text).lower(), "-") or sha256_text(text)[:8]
