"""Recognises names of taxa: what the rows of a file are decides whether it counts genes or organisms."""

from __future__ import annotations

import re
from collections.abc import Sequence

RANKS = ("kingdom", "phylum", "class", "order", "family", "genus", "species")
"""From wide to narrow; each is written by its first letter and two strokes in a lineage (`g__Bacteroides`)."""
_OF_TAXA = re.compile(
    r"#?\s*(otu|zotu|asv|sv|amplicon|clade|lineage|taxon(omy)?|taxa|phyl(um|a)|gen(us|era)|microbes?|bacteri(a|um))"
    r"([\s_.-]*(ids?|names?|tables?|strings?))?",
    re.IGNORECASE,
)
"""Headings that say by themselves that the rows are taxa."""
_MAY_BE = re.compile(
    r"#?\s*(feature|species|family|families|order|class|kingdom|domain|organism|names?)([\s_.-]*(ids?|names?))?",
    re.IGNORECASE,
)
"""Headings that are of taxa where the names below look like them."""
_UNIT = re.compile(r"(z?otu|asv|sv|sp|species|taxon|denovo)[\s_.-]*\d+$|[0-9a-f]{32}$", re.IGNORECASE)
_LINEAGE = re.compile(r"(^|[;|]\s*)[dkpcofgst]_{1,2}[^;|]*|(bacteria|archaea|fungi|eukaryota)\s*[;|]", re.IGNORECASE)
_LATIN = re.compile(
    r"(candidatus[\s_]|\[?[A-Z][a-z]+)\S*?(aceae|ales|bacteri(um|a|aceae)|bacter|bacill(us|i)|cocc(us|i)|ella|monas|vibrio|spira|"
    r"oides|myces|mycetes|ium|plasma|clostridi\w+|mycota|viridae|virus|ota|prevotella|muribacul\w+)(\]|[\s_.-].*)?$"
)
_BINOMIAL = re.compile(
    r"[A-Z][a-z]{2,}[\s_.](spp?\.?|cf\.?|[a-z]{2,}(us|um|a|is|ii|ae|ense|enne|ans|ens|or|oides|ix|ax|ium))([\s_.].*)?$"
)
"""`Poa annua`, and not `Heart rate`."""
_LATIN_WORD = re.compile(r"\[?[A-Z][a-z]{3,}?(a|us|um|is|es|as|er|ix|ns|io|ax|yx)(\]|[\s_.-].*)?$")
"""A word that may be Latin: `Blautia` beside names that surely are."""
_ENOUGH, _HALF = 0.3, 0.5
_ACROSS = 0.6
FEWEST_ACROSS = 5
"""So many columns called like taxa make a table of taxa; fewer are measurements that were made of each sample."""


def is_taxa_header(header: str) -> bool:
    """Say whether a column called so names taxa, whatever stands in it."""
    return _OF_TAXA.fullmatch(header.strip()) is not None


def is_lineage_header(header: str) -> bool:
    """Say whether a column called so holds a rank, or the whole lineage, of each row."""
    name = header.strip().lower()
    return name in (*RANKS, "domain", "taxonomy", "lineage", "taxon", "consensus lineage", "consensuslineage")


def short_name(taxon: str) -> str:
    """Return the last name of a lineage, any other name as it is."""
    parts = [part for part in re.split(r"\s*[;|]\s*", taxon.strip()) if part]
    named = [name for part in parts if (name := re.sub(r"^[a-z]_{1,2}", "", part))]
    return named[-1] if len(parts) > 1 and named else taxon


def _share(ids: Sequence[str], *forms: re.Pattern[str]) -> float:
    step = max(1, len(ids) // 500)
    texts = [text for text in (str(value).strip() for value in ids[::step]) if text and text != "nan"]
    return sum(any(form.match(text) for form in forms) for text in texts) / len(texts) if texts else 0.0


def are_taxa(ids: Sequence[str], header: str = "") -> bool:
    """Say whether row names are taxa: their heading says so, or they are lineages, numbered units or Latin names."""
    if is_taxa_header(header) or _share(ids, _UNIT, _LINEAGE) >= _HALF:
        return True
    named = _MAY_BE.fullmatch(header.strip()) is not None or not header.strip()
    return named and _share(ids, _UNIT, _LINEAGE, _LATIN, _BINOMIAL) >= _ENOUGH


def taxa_across(names: Sequence[str]) -> list[str]:
    """Return the columns of a table of samples that are called like taxa, [] where these are not its content."""
    surely = (_UNIT, _LINEAGE, _LATIN, _BINOMIAL)
    found = [name for name in names if _share([name], *surely) > 0]
    if len(found) > 1:
        found = [name for name in names if name in found or _LATIN_WORD.match(name)]
    return found if len(found) >= FEWEST_ACROSS and len(found) >= _ACROSS * len(names) else []
