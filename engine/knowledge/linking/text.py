"""Words and identifiers as entity linking compares them: folded tokens, name variants, patterns of identifiers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from engine.domain.knowledge import NodeType
from engine.text.letters import american, plain

_TOKEN = re.compile(r"['\u2019\u02bc\u2032]s\b|[^\W\d_\u0370-\u03ff]+|\d+|[\u0370-\u03ff]")
_NUMBER = re.compile(r"\W*\d+(?:[.,]\d+)*\W*")
_FOLDED: dict[str, str] = {}
_FOLDED_LIMIT = 200_000


def tokens(text: str) -> list[tuple[str, int, int]]:
    """Return (folded token, start, end) of a text.

    Letters and digits are separate tokens, so `IL-6`, `IL 6` and `IL6` are the same two; a possessive `'s` is none.
    """
    found: list[tuple[str, int, int]] = []
    for match in _TOKEN.finditer(text):
        word = match.group()
        if word[0] in "'\u2019\u02bc\u2032":
            continue
        folded = _FOLDED.get(word)
        if folded is None:
            folded = _remember(word)
        found.append((folded, match.start(), match.end()))
    return found


def _remember(word: str) -> str:
    if len(_FOLDED) >= _FOLDED_LIMIT:
        _FOLDED.clear()
    folded = _FOLDED[word] = fold(word)
    return folded


def fold(word: str) -> str:
    """Return a token in lower case, without accents, Greek spelt out, British spellings as American ones."""
    return american(plain(word, micro=False))


def key(name: str) -> str:
    """Return a name as folded tokens, each with a space before and after, for matching whole tokens only."""
    return " " + " ".join(token for token, _, _ in tokens(name)) + " "


def is_number(name: str) -> bool:
    """Say whether a name is nothing but a number (`1956`, `2,024`), which in a text means a number.

    Several numbers that are no single one (`14-3-3`) are a name.
    """
    return _NUMBER.fullmatch(name) is not None


def variants(name: str, kind: NodeType) -> Iterator[str]:
    """Yield other ways of writing a name that is not a symbol: plural or singular, inverted, rephrased."""
    yield from _numbers(name)
    if name.count(", ") == 1 and kind in {NodeType.SYMPTOM, NodeType.DISEASE, NodeType.SIDE_EFFECT}:
        head, rest = name.split(", ")
        yield f"{rest} {head}"
    if kind is NodeType.DISEASE:
        yield from _disease_variants(name)
    if kind is NodeType.ANATOMY and name.endswith(" of body"):
        yield name.removesuffix(" of body")
    if kind is NodeType.PATHWAY:
        without = re.sub(r"\s+(signaling|signalling)?\s*pathway$", "", name, flags=re.IGNORECASE)
        if without != name and len(without.split()) > 1:
            yield without
        yield f"{name} pathway"


def _numbers(name: str) -> Iterator[str]:
    last = re.search(r"[A-Za-z]{3,}$", name)
    if last is None:
        return
    word = last.group().lower()
    if word.endswith("ies") and len(word) > 4:
        yield name[:-3] + "y"
    elif word.endswith(("sses", "xes", "ches")):
        yield name[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "is", "us")):
        yield name[:-1]
    elif word.endswith("y") and word[-2] not in "aeiou":
        yield name[:-1] + "ies"
    elif not word.endswith("s"):
        yield name + "s"


def _disease_variants(name: str) -> Iterator[str]:
    cancer = re.fullmatch(r"(.+) cancer", name, re.IGNORECASE)
    if cancer:
        yield f"cancer of the {cancer.group(1)}"
        yield f"cancer of {cancer.group(1)}"
    for digit, roman in (("1", "I"), ("2", "II"), ("3", "III")):
        if f"type {digit}" not in name:
            continue
        for spelt in (name, name.replace(f"type {digit}", f"type {roman}")):
            yield spelt
            yield spelt.replace(" diabetes mellitus", " diabetes")
            yield re.sub(r"type (\w+) (diabetes)(?: mellitus)?", r"\2 type \1", spelt)
            yield re.sub(r"type (\w+) (diabetes mellitus)", r"\2 type \1", spelt)


@dataclass(frozen=True, slots=True)
class FoundId:
    """An identifier in a text, with the spellings to look it up by and the type its authority is for."""

    start: int
    end: int
    keys: tuple[str, ...]
    type: NodeType
    certain: bool
    """True when nothing but an identifier looks like this, so it is reported even when the graph lacks it."""


_AUTHORITIES: dict[str, NodeType] = {
    "DOID": NodeType.DISEASE, "MONDO": NodeType.DISEASE, "EFO": NodeType.DISEASE, "OMIM": NodeType.DISEASE,
    "ORPHA": NodeType.DISEASE, "ORPHANET": NodeType.DISEASE, "MESH": NodeType.SYMPTOM, "GO": NodeType.GO_TERM,
    "UBERON": NodeType.ANATOMY, "CL": NodeType.CELL_TYPE, "CHEBI": NodeType.DRUG, "CHEMBL": NodeType.DRUG,
    "DRUGBANK": NodeType.DRUG, "PUBCHEM": NodeType.DRUG, "HP": NodeType.PHENOTYPE, "MP": NodeType.PHENOTYPE,
    "UMLS": NodeType.SIDE_EFFECT, "NCIT": NodeType.DISEASE, "ENTREZ": NodeType.GENE, "NCBIGENE": NodeType.GENE,
    "GENEID": NodeType.GENE, "HGNC": NodeType.GENE, "ENSEMBL": NodeType.GENE, "UNIPROT": NodeType.PROTEIN,
    "UNIPROTKB": NodeType.PROTEIN, "PDB": NodeType.PROTEIN, "KEGG": NodeType.PATHWAY, "REACTOME": NodeType.PATHWAY,
    "REACT": NodeType.PATHWAY, "WP": NodeType.PATHWAY, "NDFRT": NodeType.DRUG_CLASS, "ATC": NodeType.DRUG_CLASS,
    "NCBITAXON": NodeType.ORGANISM, "PMID": NodeType.PUBLICATION,
}  # fmt: skip
_SAME_AUTHORITY = {
    "NCBIGENE": "ENTREZ", "GENEID": "ENTREZ", "UNIPROTKB": "UNIPROT", "ORPHANET": "ORPHA", "REACT": "REACTOME",
}  # fmt: skip

_LOCAL = re.compile(r"(?::\s?|_)(?=([A-Za-z0-9][\w.\-]*\w|\w))")
_AUTHORITY = re.compile(r"\b(" + "|".join(sorted(_AUTHORITIES, key=len, reverse=True)) + r")\Z", re.IGNORECASE)
_AUTHORITY_REACH = max(map(len, _AUTHORITIES)) + 1
_ENTREZ = re.compile(
    r"\b(?:(?:entrez|ncbi)\s*(?:gene)?\s*(?:id|identifier|number|no\.?)?|gene\s*id(?:entifier)?|gene::?)[\s:#=]*(\d{1,9})\b",
    re.IGNORECASE,
)
_SPACED = re.compile(r"\b(DOID|UBERON|CHEBI|MONDO) (\d{3,8})\b")
_PLAIN: tuple[tuple[re.Pattern[str], str, NodeType, bool], ...] = (
    (re.compile(r"\b(?:Compound::)?(DB\d{5})\b"), "DRUGBANK", NodeType.DRUG, True),
    (re.compile(r"\bENS[A-Z]{0,4}G\d{11}\b"), "ENSEMBL", NodeType.GENE, True),
    (re.compile(r"\bENS[A-Z]{0,4}[TP]\d{11}\b"), "ENSEMBL", NodeType.PROTEIN, True),
    (re.compile(r"\bCHEMBL\d{1,8}\b"), "CHEMBL", NodeType.DRUG, True),
    (re.compile(r"\bR-[A-Z]{3}-\d{3,9}\b"), "REACTOME", NodeType.PATHWAY, True),
    (re.compile(r"\bPC7_\d{1,6}\b"), "", NodeType.PATHWAY, True),
    (re.compile(r"\bWP\d{1,5}(?:_r\d+)?\b"), "WP", NodeType.PATHWAY, False),
    (re.compile(r"\bhsa\d{5}\b"), "KEGG", NodeType.PATHWAY, True),
    (re.compile(r"\brs\d{3,12}\b"), "DBSNP", NodeType.GENE, True),
    (re.compile(r"\bN\d{10}\b"), "NDFRT", NodeType.DRUG_CLASS, True),
    (re.compile(r"\bC\d{7}\b"), "UMLS", NodeType.SIDE_EFFECT, False),
    (re.compile(r"\bD\d{6}\b"), "MESH", NodeType.SYMPTOM, False),
    (re.compile(r"\b(?:PDB|pdb)\s+(?:entry\s+|id\s+)?([1-9][A-Za-z0-9]{3})\b"), "PDB", NodeType.PROTEIN, True),
    (re.compile(r"\b(?:[OPQ]\d[A-Z0-9]{3}\d|[A-NR-Z]\d(?:[A-Z][A-Z0-9]{2}\d){1,2})\b"), "UNIPROT",
     NodeType.PROTEIN, False),
)  # fmt: skip


def find_ids(text: str) -> Iterator[FoundId]:
    """Yield the identifiers of a text, those with their authority's prefix first; spans may overlap."""
    for match in _LOCAL.finditer(text):  # the sign between the two is rare, so it is looked for first
        local, place = match.group(1), match.start()
        named = _AUTHORITY.search(text[max(0, place - _AUTHORITY_REACH) : place])
        if named is None or not any(c.isdigit() for c in local):
            continue
        authority = named.group(1).upper()
        keys = id_keys(f"{authority}:{local}")
        yield FoundId(place - len(authority), match.end(1), keys, _AUTHORITIES[authority], certain=True)
    for match in _SPACED.finditer(text):
        keys = id_keys(f"{match.group(1)}:{match.group(2)}")
        yield FoundId(match.start(), match.end(), keys, _AUTHORITIES[match.group(1)], certain=True)
    for match in _ENTREZ.finditer(text):
        keys = (f"ENTREZ:{match.group(1)}",)
        yield FoundId(match.start(), match.end(), keys, NodeType.GENE, certain=True)
    for pattern, authority, kind, certain in _PLAIN:
        for match in pattern.finditer(text):
            local = match.group(match.lastindex or 0).upper()
            keys = (f"{authority}:{local}", local) if authority else (local,)
            yield FoundId(match.start(), match.end(), keys, kind, certain)


def id_keys(identifier: str) -> tuple[str, ...]:
    """Return the upper-case spellings an identifier is looked up by: `PREFIX:LOCAL`, and a telling LOCAL alone."""
    spelt = identifier.strip().upper()
    prefix, colon, local = spelt.partition(":")
    if not colon:
        return (spelt,) if spelt else ()
    prefix = _SAME_AUTHORITY.get(prefix, prefix)
    keys = [f"{prefix}:{local}"]
    if len(local) >= 4 and not local.isdigit() and any(c.isdigit() for c in local):
        keys.append(local)
    return tuple(keys)


def node_id_keys(node_id: str, kind: NodeType) -> tuple[str, ...]:
    """Return the spellings of a node's own id: `Gene::1956` is `ENTREZ:1956`, `Compound::DB00331` also `DB00331`."""
    _, marker, local = node_id.rpartition("::")
    if not marker:
        return id_keys(node_id)
    if local.isdigit():
        return (f"ENTREZ:{local}", node_id.upper()) if kind is NodeType.GENE else (node_id.upper(),)
    return (*id_keys(local), node_id.upper())
