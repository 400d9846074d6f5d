"""Recognises files that are no tables: what cannot be used by its own marks, the rest by asking the kinds of data."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from engine.data.catalogue import KINDS
from engine.data.found import Found
from engine.data.kind import Look
from engine.data.source import UnusableFile, plural

_MAGIC: tuple[tuple[bytes, str, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "png", "an image"),
    (b"\xff\xd8\xff", "jpeg", "an image"),
    (b"GIF8", "gif", "an image"),
    (b"II*\x00", "tiff", "an image"),
    (b"MM\x00*", "tiff", "an image"),
    (b"BM", "bmp", "an image"),
    (b"%PDF", "pdf", "a PDF document"),
    (b"\xd0\xcf\x11\xe0", "xls", "an old Excel (.xls) or Office file"),
    (b"BAM\x01", "bam", "sequence alignments (BAM)"),
    (b"CRAM", "cram", "sequence alignments (CRAM)"),
    (b"PAR1", "parquet", "a Parquet file"),
    (b"RDX", "rdata", "an R workspace"),
    (b"X\n\x00\x00", "rds", "an R object"),
    (b"BZh", "bzip2", "a bzip2 archive"),
    (b"\xfd7zXZ", "xz", "an xz archive"),
    (b"7z\xbc\xaf", "7z", "a 7z archive"),
    (b"SQLite format 3", "sqlite", "a database"),
    (b"\x7fELF", "program", "a program"),
    (b"MZ", "program", "a program"),
)
_ADVICE = {
    "an image": "images cannot be analysed here yet; add the table behind it",
    "a PDF document": "add it to the Library to search it, or export its table as CSV",
    "an old Excel (.xls) or Office file": "save it as .xlsx or CSV",
    "a Parquet file": "export it as CSV",
    "an R workspace": "write the table from R with write.csv()",
    "an R object": "write the table from R with write.csv()",
    "sequence alignments (BAM)": "count reads per gene first (for example with featureCounts) and add the count table",
    "sequence alignments (CRAM)": "count reads per gene first (for example with featureCounts) and add the count table",
}
MOST_WORKBOOK_BYTES = 500_000_000
_MOST_MEMBERS = 10_000


def _unusable(name: str, kind: str, what: str) -> Found:
    advice = _ADVICE.get(what, "unpack or export it and add the files with the data")
    summary = f"{what[0].upper()}{what[1:]}"
    return Found(kind, [], summary, [f"{name} is {what}, which cannot be used as data; {advice}."])


def by_magic(name: str, head: bytes, inner: bytes = b"") -> Found | None:
    """Recognise a binary file from its first bytes; `inner` are those of a gzip file's content."""
    for data in (head, inner):
        for magic, kind, what in _MAGIC:
            # Two letters are too little evidence: texts begin with BM or MZ, too.
            if data.startswith(magic) and (len(magic) > 2 or b"\x00" in data[:64]):
                return _unusable(name, kind, what)
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return _unusable(name, "webp", "an image")
    if inner[257:262] == b"ustar" or head[257:262] == b"ustar":
        return _unusable(name, "tar", "an archive of files (tar)")
    return None


def zip_kind(name: str, path: Path) -> str:
    """Return `xlsx` for a workbook, `zip` or another Office format for any other zip file.

    Raises:
        UnusableFile: when the zip file is damaged.
    """
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            found = archive.infolist()
            members = [member.filename for member in found]
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        message = f"{name} is a damaged zip or Excel file ({error}); copy or save it again."
        raise UnusableFile(message) from error
    if any(member.startswith("xl/workbook") for member in members):
        # Nothing reads more of a member than the size that is stated here, whatever it holds.
        size = sum(member.file_size for member in found if member.filename.endswith((".xml", ".rels")))
        if size > MOST_WORKBOOK_BYTES or len(found) > _MOST_MEMBERS:
            message = (
                f"{name} unpacks to {size / 1e6:,.0f} MB in {plural(len(found), 'part')}, too much for a "
                "workbook to be looked at; save the sheet with the data as CSV."
            )
            raise UnusableFile(message)
        return "xlsx"
    return "docx" if any(member.startswith("word/") for member in members) else "zip"


def zip_profile(name: str, kind: str) -> Found:
    """Describe a zip file that is no workbook."""
    return _unusable(name, kind, "a Word document" if kind == "docx" else "a zip archive")


def _matrix_market(look: Look) -> Found | None:
    if not look.first.startswith("%%MatrixMarket"):
        return None
    message = (
        f"{look.name} is one of the three files of a 10x matrix, which is not read directly yet; save the data as "
        ".h5ad (scanpy.read_10x_mtx, then write_h5ad) and add that."
    )
    return Found("mtx", summary="A sparse matrix (Matrix Market)", warnings=[message])


def _markup(look: Look) -> Found | None:
    if not re.match(r"\s*<(!doctype|html|\?xml|svg)", look.first, re.IGNORECASE):
        return None
    message = (
        f"{look.name} is a web page or XML, not data; if it came from a download, the link may have led to an error "
        "page."
    )
    return Found("markup", summary="A web page or XML file", warnings=[message])


def _obo(look: Look) -> Found | None:
    if not look.first.startswith("format-version:") or "[Term]" not in look.text.text:
        return None
    terms = sum(line.strip() == "[Term]" for line in look.lines)
    message = (
        f"{look.name} is an ontology (OBO) of {terms:,} terms, not data to analyse; import it in the Knowledge Graph."
    )
    return Found("obo", summary=f"An ontology of {plural(terms, 'term')}", warnings=[message], rows=terms)


def _json(look: Look) -> Found | None:
    if not look.is_json:
        return None
    try:
        value = json.loads(look.text.text)
    except RecursionError:
        message = f"{look.name} is JSON nested too deeply to be data; export the records in it as CSV."
        return Found("json", [], "A JSON file", [message])
    except ValueError as error:
        records = _json_lines(look.lines)
        if records is None:
            if look.text.text.lstrip().startswith("[") and "{" not in look.text.text[:200]:
                return None
            message = f"{look.name} is not valid JSON ({error}); export it again."
            return Found("json", [], "A damaged JSON file", [message])
        value = records
    if isinstance(value, dict) and value.get("format") == "biodesk-plan":
        message = f"{look.name} is a plan, not data; open it in Plan & Run."
        return Found("plan", [], f"A plan: {str(value.get('question', ''))[:80]}", [message])
    if _flat_records(value):
        return None
    message = (
        f"{look.name} is JSON but not a list of records with plain values, so it cannot be used as a table; "
        f"export it as CSV."
    )
    return Found("json", [], "A JSON file", [message])


def _json_lines(lines: list[str]) -> list[Any] | None:
    try:
        return [json.loads(line) for line in lines if line.strip()]
    except (ValueError, RecursionError):
        return None


def _flat_records(value: Any) -> bool:
    """Say whether a JSON value is a list of records whose values are all plain: a table."""
    return (
        isinstance(value, list) and len(value) > 0
        and all(isinstance(r, dict) and not any(isinstance(v, (dict, list)) for v in r.values()) for r in value)
        and any(value)
    )  # fmt: skip


_NO_DATA = (_matrix_market, _markup, _obo, _json)


def by_text(look: Look) -> Found | None:
    """Recognise a text that is no table; None leaves it to the reader of tables."""
    kinds = [kind.in_text for kind in KINDS.values() if kind.in_text]
    return next((found for recognise in (*_NO_DATA, *kinds) if (found := recognise(look)) is not None), None)
