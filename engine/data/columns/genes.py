"""Recognises gene identifiers, because what the rows of a file are decides what the file is.

Symbols have no fixed form: `CD4` is a gene and `S1` a sample. So a list counts as symbols only when the
form fits, the words are diverse (samples share a prefix, genes do not) and some belong to gene families
that occur in every genome-wide list.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from engine.data.schema import GENE_ID, GENE_SYMBOL, plain
from engine.data.source import plural, some

_ENSEMBL_GENE = re.compile(r"ENS([A-Z]{3})?G\d{11}(\.\d+)?(_PAR_Y)?$")
_OTHER_FEATURE = re.compile(
    r"(ENS[A-Z]{0,4}[TPE]\d{11}|[NX][MRP]_\d+|cg\d{8}$|\d+(_[a-z])?_at$|ILMN_\d+$|AFFX-|FBgn\d{7}$|WBGene\d{8}$|"
    r"AT[1-5MC]G\d{5}$|Y[A-P][LR]\d{3}[WC]|[a-z]{3}-(miR|let|mir)-|ERCC-\d{5}$|[OPQ]\d[A-Z0-9]{3}\d$)"
)
_UPPER = re.compile(r"([A-Z][A-Z0-9]*([-.][A-Z0-9]+)*|C(\d+|X|Y)orf\d+)$")
_CAPITAL = re.compile(r"([A-Z][a-z0-9]+([-.][A-Za-z0-9]+)*|mt-[A-Z][a-z0-9]+|H2-[A-Z][a-z0-9]*|\d{7}[A-Z]\d\dRik)$")
_FAMILIES = re.compile(
    r"(RP[LS]P?\d|MT-|HLA-|CD\d+[A-Z]?$|IL\d|COL\d+A\d|ZNF\d|ZFP\d|SLC\d+A\d|TMEM\d|KRT\d|CCL\d|CXC[LR]\d|FAM\d|KIF\d|"
    r"MIR\d|LINC\d|H[1234]C\d|HIST\d|NDUF|ATP\d|COX\d|EIF\d|PSM[A-D]\d|POLR\d|MRP[LS]\d|UBE2|USP\d|WNT\d|FGF\d|TGFB|TNF|"
    r"BCL2|MAP[23K]|GATA\d|SOX\d|HOX[A-D]\d|FOX[A-Z]\d|STAT\d|SMAD\d|NFKB|JAK\d|IRF\d|PIK3|AKT\d|CDK\d|CCN[A-E]|MMP\d|"
    r"ITG[AB]|S100A|DUSP\d|PER\d|CYP\d|ABC[A-G]\d|ALDH|GPR\d|LRRC|CCDC\d|ANKRD|TRIM\d|RAB\d|PTP[NR]|DNAJ|HSP|SERPIN|TUB[AB]|"
    r"ACT[AB]\d?$|GAPDH$|TP53$|MYC[NL]?$|EGFR$|BRCA\d|[KN]RAS$|VIM$|PTEN$|ERBB\d|ESR\d|LYZ$|NKG7$|GNLY$|MS4A\d|PPBP$|FCGR|"
    r"IFI[T\d]|ISG\d|OAS\d|MX\d$|FKBP\d|KLF\d|CRISPLD|VCAM|ICAM|GM\d{3,5}$|TSPAN|TRAPPC|VEGF|NOTCH\d|FOS[BL]?\d?$|JUN[BD]?$)"
)
_ALPHA_PREFIX = re.compile(r"[A-Za-z]+")
_DATE = re.compile(
    r"(\d{1,2}-(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Mrz|Mai|Okt|Dez|M\u00e4r)|"
    r"(Mar|Sep|Dec|Sept|Oct|Apr|Feb|Nov)-\d{1,2}|\d{4}-\d\d-\d\d( 00:00:00)?|\d{1,2}\.\s?(Mrz|Sep|Dez|M\u00e4r)|"
    r"\d\.\d+E\+\d{2})$",
    re.IGNORECASE,
)
_SUMMARY_ROW = re.compile(
    r"(__(no_feature|ambiguous|too_low_aQual|not_aligned|alignment_not_unique)|N_\w+|(grand )?totals?|sum)$",
    re.IGNORECASE,
)


class GeneIds(NamedTuple):
    """What a list of identifiers is."""

    kind: str | None
    """`ensembl`, `symbol`, `entrez` or None."""
    organism: str | None = None
    fraction: float = 0.0
    feature_like: bool = False
    """True for any identifier of something measured: genes, transcripts, probes, proteins."""
    versioned: bool = False


def is_gene_header(header: str) -> bool:
    """Say whether a column called so holds genes or other measured features."""
    return re.fullmatch(f"{GENE_ID}|{GENE_SYMBOL}", plain(header)) is not None


def identify(ids: Sequence[str], *, header: str | None = None) -> GeneIds:
    """Say what the identifiers are, from at most 2,000 of them spread over the list."""
    step = max(1, len(ids) // 2000)
    sample = [text for text in (str(value).strip() for value in ids[::step]) if text and text != "nan"]
    if not sample:
        return GeneIds(None)
    ensembl = [match for match in map(_ENSEMBL_GENE.match, sample) if match]
    if len(ensembl) >= 0.6 * len(sample):
        species = {match.group(1) for match in ensembl}
        organism = "human" if species == {None} else "mouse" if species == {"MUS"} else None
        versioned = sum(match.group(2) is not None for match in ensembl) > len(ensembl) / 2
        return GeneIds("ensembl", organism, len(ensembl) / len(sample), feature_like=True, versioned=versioned)
    other = sum(_OTHER_FEATURE.match(text) is not None for text in sample) / len(sample)
    if other >= 0.6:
        return GeneIds(None, fraction=other, feature_like=True)
    numeric = sum(text.isdigit() for text in sample) / len(sample)
    if numeric >= 0.9:
        named = header is not None and re.search(r"entrez|gene_?id|ncbi|^genes?$", header, re.IGNORECASE) is not None
        return GeneIds("entrez", None, numeric, feature_like=True) if named else GeneIds(None)
    return _symbols(sample, header)


def _symbols(sample: list[str], header: str | None) -> GeneIds:
    upper = sum(_UPPER.match(text) is not None for text in sample) / len(sample)
    capital = sum(_CAPITAL.match(text) is not None and not text.isupper() for text in sample) / len(sample)
    known = sum(_FAMILIES.match(text.upper()) is not None for text in sample) / len(sample)
    prefixes = {match.group().upper() for match in map(_ALPHA_PREFIX.match, sample) if match}
    diversity = len(prefixes) / len(set(sample))
    named = header is not None and is_gene_header(header)
    enough = 0.01 if named else 0.04
    # Sample names (CTRL1, CTRL2; GSM..) share a prefix; a list of genes hardly ever does.
    if max(upper, capital) < 0.7 or known < enough or (diversity < 0.15 and not named):
        return GeneIds(None, feature_like=named)
    organism = "human" if upper >= 0.8 and upper > capital else "mouse" if capital >= 0.7 else None
    return GeneIds("symbol", organism, max(upper, capital), feature_like=True)


def looks_like_gene(text: str) -> bool:
    """Say whether one word has the form of a gene's name or id."""
    return any(form.match(text.strip()) for form in (_ENSEMBL_GENE, _OTHER_FEATURE, _UPPER, _CAPITAL))


def in_gene_family(text: str) -> bool:
    """Say whether a word begins like the genes that occur in every genome-wide list, whatever its case."""
    return _FAMILIES.match(text.strip().upper()) is not None


def turned_to_dates(ids: Sequence[str]) -> list[str]:
    """Return the identifiers that a spreadsheet turned into dates or powers of ten (SEPT2 -> 2-Sep)."""
    return [text for text in ids if _DATE.match(text)]


def summary_rows(ids: Sequence[str]) -> list[str]:
    """Return the rows that counting programs append and that are no genes (`__no_feature`, `N_unmapped`)."""
    return [text for text in ids if _SUMMARY_ROW.match(text)]


def describe(genes: GeneIds) -> str:
    """Return `Ensembl human gene ids`, `gene symbols (human)`... or an empty text."""
    if genes.kind == "ensembl":
        return f"Ensembl {genes.organism} gene ids" if genes.organism else "Ensembl gene ids"
    if genes.kind == "symbol":
        return f"{genes.organism} gene symbols" if genes.organism else "gene symbols"
    return "Entrez gene ids" if genes.kind == "entrez" else ""


def date_warnings(name: str, names: list[str]) -> list[str]:
    """Return that a spreadsheet turned names of genes into dates, where it did."""
    dates = turned_to_dates(names)
    if not dates:
        return []
    return [
        f"{name}: {plural(len(dates), 'gene name')} turned into dates or numbers by a spreadsheet ({some(dates)}); "
        "restore them from the original file (2-Sep was SEPTIN2, 1-Mar was MARCHF1 or MTARC1)."
    ]


def id_warnings(name: str, ids: list[str]) -> list[str]:
    """Return what is wrong with the feature names, one sentence per problem."""
    warnings = date_warnings(name, ids)
    unnamed = sum(text in ("", "nan") for text in ids)
    if unnamed:
        warnings.append(f"{name}: {plural(unnamed, 'row')} without a name.")
    appended = summary_rows(ids)
    if appended:
        warnings.append(
            f"{name}: {plural(len(appended), 'row')} at the end are totals, not genes ({some(appended)}); remove them."
        )
    extra = len(ids) - len(set(ids))
    if extra:
        seen: set[str] = set()
        twice = list(dict.fromkeys(text for text in ids if text in seen or seen.add(text)))
        warnings.append(
            f"{name}: {plural(len(twice), 'row name')} used more than once ({some(twice)}), "
            f"{plural(extra, 'extra row')} in all."
        )
    return warnings
