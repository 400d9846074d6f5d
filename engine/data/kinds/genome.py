"""Variants and intervals of a genome."""

from __future__ import annotations

from engine.data.found import Found, guess
from engine.data.kind import Kind, Look
from engine.data.source import plural
from engine.domain.datatypes import DataType


def _vcf(look: Look) -> Found | None:
    if not look.first.startswith("##fileformat=VCF"):
        return None
    header = next((line for line in look.lines if line.startswith("#CHROM")), "")
    samples = header.split("\t")[9:]
    records = sum(bool(line) and not line.startswith("#") for line in look.lines) + look.text.more_lines
    if not header:
        return Found("vcf", [], "A damaged VCF file", [f"{look.name} has no #CHROM header line; export the VCF again."])
    summary = f"{plural(records, 'variant')} in {plural(len(samples), 'sample')}"
    return Found("vcf", guess(DataType.VARIANTS, 0.98), summary, [], records, details={"samples": samples[:5000]})


def _intervals(look: Look) -> Found | None:
    """Recognise gene annotation (GTF, GFF) and genomic intervals (BED, peaks)."""
    rows = [line.split("\t") for line in look.lines[:300] if _is_row(line)][:50]
    if not rows:
        return None
    if all(len(r) == 9 and r[3].isdigit() and r[4].isdigit() and r[6] in "+-.?" for r in rows):
        message = (
            f"{look.name} is gene annotation (GTF or GFF), not measurements; add the count table made with it instead."
        )
        return Found("gtf", [], "Gene annotation", [message])
    if look.suffix not in (".bed", ".narrowpeak", ".broadpeak") or not all(
        len(r) > 2 and r[1].isdigit() and r[2].isdigit() for r in rows
    ):
        return None
    count = sum(map(_is_row, look.lines)) + look.text.more_lines
    return Found("bed", guess(DataType.PEAKS, 0.9), f"{plural(count, 'genomic interval')} (BED)", [], count)


def _is_row(line: str) -> bool:
    return bool(line) and not line.startswith(("#", "track", "browser"))


VARIANTS = Kind(type=DataType.VARIANTS, edam="data_3498", aliases=("vcf", "bcf", "variants"), in_text=_vcf)
PEAKS = Kind(type=DataType.PEAKS, aliases=("bed", "narrowpeak", "broadpeak", "peaks"), in_text=_intervals)
