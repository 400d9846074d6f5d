"""Tables of a quantification program, where the samples of one quantity stand among columns of many others.

A search engine writes peptides, coverage and intensities of the same samples side by side. Taken together they would be
three times the samples; so the columns of the quantity that compares samples best are found by their common words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.data.source import Frame

_QUANTITIES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?P<head>LFQ[ _.]?intensity[ _.]+)(?P<name>.+)(?P<tail>)",
        r"(?P<head>)(?P<name>.+?)(?P<tail>[ _.]+MaxLFQ[ _.]?intensity)",
        r"(?P<head>iBAQ[ _.]+)(?P<name>.+)(?P<tail>)",
        r"(?P<head>reporter[ _.]intensity[ _.]corrected[ _.]+)(?P<name>.+)(?P<tail>)",
        r"(?P<head>abundances?[ _.]\((?:normalized|scaled)\)[ _.:]+)(?P<name>.+)(?P<tail>)",
        r"(?P<head>)(?P<name>.+?)(?P<tail>[ _.]+(?:PG|PEP|FG)\.Quantity)",
        r"(?P<head>(?:LFQ|intensity|abundances?|peak[ _.]area)[ _.:]+)(?P<name>.+)(?P<tail>)",
        r"(?P<head>)(?P<name>.+?)(?P<tail>[ _.]+(?:LFQ|intensity|abundance|peak[ _.]area))",
    )
)
"""How the samples of a quantity are headed, the one that compares samples best first."""
_PLAIN_WORDS = _QUANTITIES[-2:]
"""What other tables have columns of as well (the intensity of two dyes in a cell)."""
_OF_A_SEARCH = re.compile(
    r"(majority[ _.])?protein[ _.]?(ids?|groups?|accessions?|names?)|protein|accession|uniprot\w*|"
    r"only identified by site|potential contaminant|reverse|PG\.\w+|mol(ecular|\.)? ?weight.*|peptides?|m/?z|"
    r"retention[ _.]?time|metabolites?|compounds?|modified[ _.]sequence|probe(set)?[ _.]?(id)?",
    re.IGNORECASE,
)
_MARKS = re.compile(r"reverse|(potential[ _.])?contaminant|only[ _.]identified[ _.]by[ _.]site|decoy", re.IGNORECASE)
_GENES = re.compile(r"(PG\.)?gene(s|[ _.]?names?|[ _.]?symbols?)?|symbols?", re.IGNORECASE)


@dataclass(frozen=True)
class Block:
    """The columns of one quantity, and what is common to their headings."""

    columns: list[str]
    head: str
    tail: str


def block_of(names: Sequence[str], others: Sequence[str]) -> Block | None:
    """Return the columns that hold the intensities of samples, of which there are at least two; None without any.

    Args:
        names: the columns of numbers.
        others: all the columns, which may tell that a search engine wrote the table.
    """
    for quantity in _QUANTITIES:
        if quantity in _PLAIN_WORDS and not of_a_search(others):
            continue
        found: dict[tuple[str, str], list[str]] = {}
        for name in names:
            match = quantity.fullmatch(name)
            head, tail = (match["head"] or "", match["tail"] or "") if match else ("", "")
            if head or tail:
                found.setdefault((head, tail), []).append(name)
        if found:
            (head, tail), columns = max(found.items(), key=lambda item: len(item[1]))
            if len(columns) >= 2:
                return Block(columns, head, tail)
    return None


def of_a_search(names: Sequence[str]) -> bool:
    """Say whether columns beside the samples name proteins, metabolites or probes, which are measured by intensity."""
    return any(_OF_A_SEARCH.fullmatch(str(name).strip()) for name in names)


def marked_rows(frame: Frame) -> tuple[dict[str, int], Any]:
    """Return how many rows each column marks as no finding (a decoy, a contaminant) by a plus, and which these are."""
    import pandas as pd

    marked, counts = pd.Series(data=False, index=frame.index), dict[str, int]()
    for column in frame.columns:
        if _MARKS.fullmatch(str(column).strip()):
            plus = frame[column].astype(str).str.strip() == "+"
            if plus.any():
                counts[str(column)] = int(plus.sum())
                marked |= plus
    return counts, marked.to_numpy()


def gene_column(frame: Frame, other: str | None) -> str | None:
    """Return the column of text that gives the genes of rows which another column names, if there is one."""
    able = [c for c in frame.columns if c != other and frame[c].dtype == object and _GENES.fullmatch(str(c).strip())]
    return next((str(c) for c in able if frame[c].notna().mean() >= 0.3), None)
