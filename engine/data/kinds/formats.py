"""Recognises files that are no tables: by their first bytes, then by how their lines look."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from engine.data.columns.genes import GeneIds, describe, identify
from engine.data.reading.textfile import Text
from engine.data.source import TableSource, UnusableFile, plural
from engine.domain.datatypes import DataType
from engine.domain.profile import TypeGuess

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


class Recognised(NamedTuple):
    """What a file that is no table is."""

    format: str
    types: list[TypeGuess]
    summary: str
    warnings: list[str] = []
    rows: int | None = None
    feature_ids: list[str] = []
    genes: GeneIds = GeneIds(None)
    details: dict[str, Any] = {}


def _unusable(name: str, kind: str, what: str) -> Recognised:
    advice = _ADVICE.get(what, "unpack or export it and add the files with the data")
    summary = f"{what[0].upper()}{what[1:]}"
    return Recognised(kind, [], summary, [f"{name} is {what}, which cannot be used as data; {advice}."])


def by_magic(name: str, head: bytes, inner: bytes = b"") -> Recognised | None:
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


def zip_profile(name: str, kind: str) -> Recognised:
    """Describe a zip file that is no workbook."""
    return _unusable(name, kind, "a Word document" if kind == "docx" else "a zip archive")


def by_text(name: str, text: Text) -> Recognised | None:
    """Recognise a text format that is no table; None leaves the text to the table reader."""
    lines = text.lines()
    first = next((line for line in lines if line.strip()), "")
    suffix = Path(name.lower().removesuffix(".gz")).suffix
    for check in (_vcf, _structure, _matrix_market, _newick, _markup, _obo, _intervals):
        found = check(name, text, lines, first, suffix)
        if found is not None:
            return found
    if first.startswith(">"):
        return _fasta(name, lines)
    if first.startswith("@") and len(lines) > 3 and any(line.startswith("+") for line in lines[2:3]):
        return _fastq(name, lines, text)
    if first.lstrip().startswith(("{", "[")) and not _newick_like(first):
        return _json(name, text, lines)
    return _gmt(name, lines, suffix) or _prose(name, text, lines, suffix)


def _guess(kind: DataType, confidence: float) -> list[TypeGuess]:
    return [TypeGuess(type=kind, confidence=confidence)]


def _vcf(name: str, text: Text, lines: list[str], first: str, suffix: str) -> Recognised | None:
    if not first.startswith("##fileformat=VCF"):
        return None
    header = next((line for line in lines if line.startswith("#CHROM")), "")
    samples = header.split("\t")[9:]
    records = sum(bool(line) and not line.startswith("#") for line in lines) + text.more_lines
    if not header:
        return Recognised("vcf", [], "A damaged VCF file", [f"{name} has no #CHROM header line; export the VCF again."])
    summary = f"{plural(records, 'variant')} in {plural(len(samples), 'sample')}"
    return Recognised("vcf", _guess(DataType.VARIANTS, 0.98), summary, [], records, details={"samples": samples[:5000]})


def _structure(name: str, text: Text, lines: list[str], first: str, suffix: str) -> Recognised | None:
    head = lines[:3000]
    if first.startswith("data_") and any(line.startswith("_atom_site.") for line in lines):
        atoms = sum(line.startswith(("ATOM ", "HETATM")) for line in lines)
        return Recognised(
            "mmcif", _guess(DataType.STRUCTURE, 0.98), f"A structure of {plural(atoms, 'atom')} (mmCIF)", rows=atoms
        )
    atom = re.compile(r"(ATOM  |HETATM)\s*\d+ .{5}[ A-Z0-9]{4,5}")
    if sum(atom.match(line) is not None for line in head) < 1 or not re.match(
        r"(HEADER|ATOM|HETATM|TITLE|REMARK|CRYST1|MODEL|COMPND)", first
    ):
        return None
    atoms = sum(line.startswith(("ATOM  ", "HETATM")) for line in lines)
    chains = {line[21] for line in lines if line.startswith("ATOM  ") and len(line) > 21}
    summary = f"A structure of {plural(atoms, 'atom')} in {plural(len(chains), 'chain')} (PDB)"
    return Recognised("pdb", _guess(DataType.STRUCTURE, 0.98), summary, rows=atoms)


def _matrix_market(name: str, text: Text, lines: list[str], first: str, suffix: str) -> Recognised | None:
    if not first.startswith("%%MatrixMarket"):
        return None
    message = (
        f"{name} is one of the three files of a 10x matrix, which is not read directly yet; save the data as .h5ad "
        "(scanpy.read_10x_mtx, then write_h5ad) and add that."
    )
    return Recognised("mtx", [], "A sparse matrix (Matrix Market)", [message])


def _newick_like(first: str) -> bool:
    return first.lstrip().startswith(("(", "[&"))


def _newick(name: str, text: Text, lines: list[str], first: str, suffix: str) -> Recognised | None:
    if first.upper().startswith("#NEXUS"):
        return (
            Recognised("nexus", _guess(DataType.TREE, 0.7), "A NEXUS file")
            if "BEGIN TREES" in text.text.upper()
            else None
        )
    body = text.text.strip()
    if not _newick_like(first) or not body.endswith(";"):
        return None
    if body.count("(") != body.count(")"):
        message = f"{name} looks like a tree (Newick) but its brackets do not match; export it again."
        return Recognised("newick", [], "A damaged tree", [message])
    tips = len(re.findall(r"[(,]\s*[^(),;]+", body))
    return Recognised("newick", _guess(DataType.TREE, 0.97), f"A tree with {plural(tips, 'tip')}", rows=tips)


def _markup(name: str, text: Text, lines: list[str], first: str, suffix: str) -> Recognised | None:
    if not re.match(r"\s*<(!doctype|html|\?xml|svg)", first, re.IGNORECASE):
        return None
    message = (
        f"{name} is a web page or XML, not data; if it came from a download, the link may have led to an error page."
    )
    return Recognised("markup", [], "A web page or XML file", [message])


def _obo(name: str, text: Text, lines: list[str], first: str, suffix: str) -> Recognised | None:
    if not first.startswith("format-version:") or "[Term]" not in text.text:
        return None
    terms = sum(line.strip() == "[Term]" for line in lines)
    message = f"{name} is an ontology (OBO) of {terms:,} terms, not data to analyse; import it in the Knowledge Graph."
    return Recognised("obo", [], f"An ontology of {plural(terms, 'term')}", [message], terms)


def _intervals(name: str, text: Text, lines: list[str], first: str, suffix: str) -> Recognised | None:
    """Recognise gene annotation (GTF, GFF) and genomic intervals (BED, peaks)."""
    rows = [line.split("\t") for line in lines[:300] if line and not line.startswith(("#", "track", "browser"))][:50]
    if not rows:
        return None
    if all(len(r) == 9 and r[3].isdigit() and r[4].isdigit() and r[6] in "+-.?" for r in rows):
        message = f"{name} is gene annotation (GTF or GFF), not measurements; add the count table made with it instead."
        return Recognised("gtf", [], "Gene annotation", [message])
    if suffix not in (".bed", ".narrowpeak", ".broadpeak") or not all(
        len(r) > 2 and r[1].isdigit() and r[2].isdigit() for r in rows
    ):
        return None
    count = sum(bool(line) and not line.startswith(("#", "track", "browser")) for line in lines) + text.more_lines
    return Recognised("bed", _guess(DataType.PEAKS, 0.9), f"{plural(count, 'genomic interval')} (BED)", [], count)


def _fasta(name: str, lines: list[str]) -> Recognised:
    names = [line[1:].split(" ")[0].strip() for line in lines if line.startswith(">")]
    residues = "".join(line.strip() for line in lines[:20_000] if not line.startswith((">", ";"))).upper()[:200_000]
    if not residues:
        return Recognised(
            "fasta", [], "FASTA names without sequences", [f"{name} has FASTA names but no sequences; export it again."]
        )
    letters = set(residues) - set("-.*")
    nucleotides = sum(residues.count(letter) for letter in "ACGTUN") / max(1, len(residues) - residues.count("-"))
    alphabet = "protein" if nucleotides < 0.9 else "RNA" if "U" in letters and "T" not in letters else "DNA"
    warnings = []
    repeated = len(names) - len(set(names))
    if repeated:
        warnings.append(f"{name}: {plural(repeated, 'sequence name')} occurs more than once.")
    types = _guess(DataType.SEQUENCES, 0.98)
    lengths = _lengths(lines)
    if len(lengths) > 1 and len(set(lengths)) == 1 and "-" in residues:
        types.append(TypeGuess(type=DataType.ALIGNMENT, confidence=0.9))
    summary = f"{plural(len(names), f'{alphabet} sequence')} of {min(lengths):,} to {max(lengths):,} letters"
    return Recognised(
        "fasta", types, summary, warnings, len(names), details={"alphabet": alphabet.lower(), "names": names[:200]}
    )


def _lengths(lines: list[str]) -> list[int]:
    lengths: list[int] = []
    for line in lines:
        if line.startswith(">"):
            lengths.append(0)
        elif lengths:
            lengths[-1] += len(line.strip())
    return lengths or [0]


def _fastq(name: str, lines: list[str], text: Text) -> Recognised:
    reads = (len(lines) + text.more_lines) // 4
    message = f"{name} holds raw reads; count-based analyses need a table of reads per gene made from them first."
    return Recognised(
        "fastq", _guess(DataType.SEQUENCES, 0.9), f"About {plural(reads, 'read')} (FASTQ)", [message], reads
    )


def _json(name: str, text: Text, lines: list[str]) -> Recognised | None:
    try:
        value = json.loads(text.text)
    except RecursionError:
        message = f"{name} is JSON nested too deeply to be data; export the records in it as CSV."
        return Recognised("json", [], "A JSON file", [message])
    except ValueError as error:
        records = _json_lines(lines)
        if records is None:
            if text.text.lstrip().startswith("[") and "{" not in text.text[:200]:
                return None
            message = f"{name} is not valid JSON ({error}); export it again."
            return Recognised("json", [], "A damaged JSON file", [message])
        value = records
    if isinstance(value, dict) and value.get("format") == "biodesk-plan":
        message = f"{name} is a plan, not data; open it in Plan & Run."
        return Recognised("plan", [], f"A plan: {str(value.get('question', ''))[:80]}", [message])
    if flat_records(value):
        return None
    message = (
        f"{name} is JSON but not a list of records with plain values, so it cannot be used as a table; "
        f"export it as CSV."
    )
    return Recognised("json", [], "A JSON file", [message])


def _json_lines(lines: list[str]) -> list[Any] | None:
    try:
        return [json.loads(line) for line in lines if line.strip()]
    except (ValueError, RecursionError):
        return None


def flat_records(value: Any) -> bool:
    """Say whether a JSON value is a list of records whose values are all plain."""
    return (
        isinstance(value, list) and len(value) > 0
        and all(isinstance(r, dict) and not any(isinstance(v, (dict, list)) for v in r.values()) for r in value)
        and any(value)
    )  # fmt: skip


def json_table(path: Path, text: Text) -> TableSource:
    """Read JSON records as a table, the way `read_table` does.

    Raises:
        UnusableFile: when the file's name would make it be read as something else.
    """
    import io

    import pandas as pd

    base = path.name.lower().removesuffix(".gz")
    lines = not base.endswith(".json")
    if not base.endswith((".json", ".jsonl", ".ndjson")):
        message = f"{path.name} holds JSON records; rename it to end in .json (or .jsonl for one record a line)."
        raise UnusableFile(message)
    try:
        frame = pd.read_json(io.StringIO(text.text), lines=lines, dtype=False, convert_dates=False)  # pyright: ignore[reportArgumentType] - False is documented
    except ValueError as error:
        message = (
            f"{path.name} does not hold what its ending says ({error}); use .jsonl for one record a line, else .json."
        )
        raise UnusableFile(message) from error
    return TableSource(frame=frame, read={}, rows=len(frame), format="json", headers=[str(c) for c in frame.columns])


def _gmt(name: str, lines: list[str], suffix: str) -> Recognised | None:
    rows = [line.split("\t") for line in lines if line.strip()]
    if not rows or suffix not in (".gmt", ".gmx", ".txt", ".tsv", ""):
        return None
    sizes = [len([g for g in row[2:] if g.strip()]) for row in rows]
    if suffix != ".gmt":
        ragged = len({len(row) for row in rows}) > 1
        if len(rows) < 2 or min(sizes) < 1 or not ragged:
            return None
        if any(re.match(r"-?\d+(\.\d+)?$", row[2]) for row in rows[:50]):
            return None
    good = [row for row, size in zip(rows, sizes, strict=True) if size]
    if not good:
        message = (
            f"{name} ends in .gmt but no line has a set name, a description and genes separated by tabs; "
            f"export it again."
        )
        return Recognised("gmt", [], "Not a gene set library", [message])
    genes = list(dict.fromkeys(g.strip() for row in good for g in row[2:] if g.strip()))
    kind = identify(genes)
    warnings = []
    if len(good) < len(rows):
        warnings.append(f"{name}: {plural(len(rows) - len(good), 'line')} without genes, which are left out.")
    repeated = len(good) - len({row[0] for row in good})
    if repeated:
        warnings.append(
            f"{name}: {plural(repeated, 'gene set name')} occurs more than once; only the last of each is kept."
        )
    note = describe(kind)
    summary = f"{plural(len(good), 'gene set')} with {len(genes):,} different genes" + (f" ({note})" if note else "")
    kept = sorted(size for size in sizes if size)
    details = {"sizes": {"smallest": kept[0], "median": kept[len(kept) // 2], "largest": kept[-1]}}
    return Recognised(
        "gmt", _guess(DataType.GENE_SET_LIBRARY, 0.98), summary, warnings, len(good), genes[:200], kind, details
    )


def _prose(name: str, text: Text, lines: list[str], suffix: str) -> Recognised | None:
    """Recognise running text: long lines of words, or a Markdown file."""
    body = [line for line in lines[:200] if line.strip()]
    wordy = sum(len(line.split()) >= 6 and re.search(r"[a-z]{3} [a-z]{2}", line) is not None for line in body)
    if suffix not in (".md", ".txt", ".rst", "") or not body:
        return None
    tabular = sum("\t" in line for line in body) > 0.5 * len(body)
    if suffix == ".md" or (wordy >= 0.5 * len(body) and not tabular):
        words = sum(len(line.split()) for line in lines)
        types = _guess(DataType.TEXT, 0.8) if text.encoding in ("utf-8", "utf-8-sig") and not text.compressed else []
        warnings = [] if types else [f"{name} is a text that is not plain UTF-8; save it as UTF-8 to use it."]
        return Recognised("text", types, f"A text of {plural(words, 'word')}", warnings)
    return None
