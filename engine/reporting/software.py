"""Who wrote the software that produced a number: the papers its authors ask to be cited (`software.tsv`).

Only packages with a published paper stand there; the others are named with their version and no reference.
"""

from __future__ import annotations

import csv
from pathlib import Path

from engine.domain.toolspec import Citation


def _papers() -> dict[str, Citation]:
    text = Path(__file__).with_name("software.tsv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines(), delimiter="\t")
    return {
        row["package"]: Citation(
            title=row["title"], authors=row["authors"], year=int(row["year"]), doi=row["doi"], url=row["url"]
        )
        for row in rows
    }


PAPERS = _papers()
"""Distribution name -> the paper its authors ask to be cited."""
