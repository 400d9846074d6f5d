"""Sequences, alignments, structures and compounds."""

from __future__ import annotations

import re

from engine.data.found import Found, guess
from engine.data.kind import Kind, Look
from engine.data.source import plural
from engine.domain.datatypes import DataType


def _fasta(look: Look) -> Found:
    names = [line[1:].split(" ")[0].strip() for line in look.lines if line.startswith(">")]
    residues = "".join(line.strip() for line in look.lines[:20_000] if not line.startswith((">", ";"))).upper()[
        :200_000
    ]
    if not residues:
        return Found(
            "fasta",
            [],
            "FASTA names without sequences",
            [f"{look.name} has FASTA names but no sequences; export it again."],
        )
    letters = set(residues) - set("-.*")
    nucleotides = sum(residues.count(letter) for letter in "ACGTUN") / max(1, len(residues) - residues.count("-"))
    alphabet = "protein" if nucleotides < 0.9 else "RNA" if "U" in letters and "T" not in letters else "DNA"
    warnings = []
    repeated = len(names) - len(set(names))
    if repeated:
        warnings.append(f"{look.name}: {plural(repeated, 'sequence name')} occurs more than once.")
    types = guess(DataType.SEQUENCES, 0.98)
    lengths = _lengths(look.lines)
    if len(lengths) > 1 and len(set(lengths)) == 1 and "-" in residues:
        types += guess(DataType.ALIGNMENT, 0.9)
    summary = f"{plural(len(names), f'{alphabet} sequence')} of {min(lengths):,} to {max(lengths):,} letters"
    return Found(
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


def _fastq(look: Look) -> Found:
    reads = (len(look.lines) + look.text.more_lines) // 4
    message = f"{look.name} holds raw reads; count-based analyses need a table of reads per gene made from them first."
    return Found("fastq", guess(DataType.SEQUENCES, 0.9), f"About {plural(reads, 'read')} (FASTQ)", [message], reads)


def _structure(look: Look) -> Found | None:
    head = look.lines[:3000]
    if look.first.startswith("data_") and any(line.startswith("_atom_site.") for line in look.lines):
        atoms = sum(line.startswith(("ATOM ", "HETATM")) for line in look.lines)
        return Found(
            "mmcif", guess(DataType.STRUCTURE, 0.98), f"A structure of {plural(atoms, 'atom')} (mmCIF)", rows=atoms
        )
    atom = re.compile(r"(ATOM  |HETATM)\s*\d+ .{5}[ A-Z0-9]{4,5}")
    if sum(atom.match(line) is not None for line in head) < 1 or not re.match(
        r"(HEADER|ATOM|HETATM|TITLE|REMARK|CRYST1|MODEL|COMPND)", look.first
    ):
        return None
    atoms = sum(line.startswith(("ATOM  ", "HETATM")) for line in look.lines)
    chains = {line[21] for line in look.lines if line.startswith("ATOM  ") and len(line) > 21}
    summary = f"A structure of {plural(atoms, 'atom')} in {plural(len(chains), 'chain')} (PDB)"
    return Found("pdb", guess(DataType.STRUCTURE, 0.98), summary, rows=atoms)


def _sequences(look: Look) -> Found | None:
    if look.first.startswith(">"):
        return _fasta(look)
    is_fastq = look.first.startswith("@") and len(look.lines) > 3 and look.lines[2].startswith("+")
    return _fastq(look) if is_fastq else None


SEQUENCES = Kind(
    type=DataType.SEQUENCES, edam="data_2044", aliases=("fastq", "fasta", "fastqsanger", "sequences", "reads"),
    in_text=_sequences,
)  # fmt: skip
ALIGNMENT = Kind(type=DataType.ALIGNMENT, edam="data_0863", aliases=("bam", "cram", "sam", "alignment"))
STRUCTURE = Kind(
    type=DataType.STRUCTURE, edam="data_0883", aliases=("pdb", "cif", "mmcif", "structure"), in_text=_structure
)
COMPOUNDS = Kind(type=DataType.COMPOUNDS, aliases=("smiles", "sdf", "mol", "mol2", "compounds"))
